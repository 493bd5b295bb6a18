"""Mirror descent and follow-the-regularized-leader, on simplices and on trees."""

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit._state import NOT_STATE
from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Vector
from regretkit._util._validate import (
    at_least_zero,
    constant_vector,
    of_kind,
    positive,
    quote,
    shorten,
)
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers._convex_sets import Proximal
from regretkit.minimizers._regret_matching import RegretRule
from regretkit.minimizers._regularizers import Entropy, Regularizer, check_regularizer
from regretkit.sets import DecisionTree, Simplices, StrategySet


@define(eq=False)
class _LeaderRule(RegretRule):
    """Rules whose link is the regularized leader: ``argmax over x of <R, x> - phi(x) / rate``."""

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    def link(self, regrets: Vector) -> Vector:
        return self.regularizer.leader(self.simplices, regrets, self.rate)


@define(eq=False)
class FollowTheRegularizedLeader(_LeaderRule):
    """Follow the regularized leader: a best response to all utilities with a penalty.

        x  =  argmax over x of <R, x> - phi(x) / rate
        R <-  R + u - <u, x>

    The optimistic form uses ``R + m - <m, x'>`` for R in the first line, with m the predicted
    utility, by default the last one, and x' the last strategy. With entropy the rule is ``Hedge``,
    and its optimistic form is ``OptimisticHedge``.

    With D the range of phi, and s = u or, in the optimistic form, s = u - m, the regret is at most

    - ``D / rate + rate / 2 sum_t |s_t|^2`` for the Euclidean regularizer;
    - ``D / rate + rate / 8 sum_t (range of s_t)^2`` for entropy.

    Parameters
    ----------
    regularizer
        phi: ``Entropy``, ``Euclidean``, ``Tsallis`` or ``LogBarrier``.
    rate
        Learning rate, positive, in units of 1 / utility.
    optimistic
        Whether to use the optimistic form.

    Examples
    --------
    >>> from regretkit.minimizers import Euclidean
    >>> player = FollowTheRegularizedLeader(2, regularizer=Euclidean(), rate=0.5)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Abernethy, Hazan and Rakhlin (2008), "Competing in the dark: an efficient algorithm for bandit
    linear optimization", COLT. Syrgkanis, Agarwal, Luo and Schapire (2015), "Fast convergence of
    regularized learning in games", NIPS, for the optimistic form.
    """


@define(eq=False)
class OnlineMirrorDescent(_LeaderRule):
    """Online mirror descent: a step along the utility with a penalty on its length.

    From z uniform, with D the Bregman divergence of the regularizer phi,

        x  =  z
        z <-  argmax over z' of <u, z'> - D(z', z) / rate

    The optimistic form plays after another step along the predicted utility m, by default the last
    one:

        x  =  argmax over x' of <m, x'> - D(x', z) / rate

    With the Euclidean regularizer this is projected gradient descent. With a regularizer that keeps
    all probabilities positive, it is bitwise identical to ``FollowTheRegularizedLeader``. With
    others, an action of probability zero returns sooner when its utility rises. The regret bounds
    are those of ``FollowTheRegularizedLeader``, with D the largest divergence from the uniform
    distribution.

    Parameters are those of ``FollowTheRegularizedLeader``.

    Examples
    --------
    >>> from regretkit.minimizers import Euclidean
    >>> player = OnlineMirrorDescent(2, regularizer=Euclidean(), rate=1.0)
    >>> for utility in ([100.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.next_strategy()
    array([0.5, 0.5])

    References
    ----------
    Rakhlin and Sridharan (2013), "Optimization, learning, and games with predictable sequences",
    NIPS. Zinkevich (2003), "Online convex programming and generalized infinitesimal gradient
    ascent", ICML.
    """

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        moved = self.simplices.add(regrets, regret)
        if self.regularizer.interior:
            # The gradient at the leader is rate R up to a constant per block, so R can stay.
            return moved
        return self.regularizer.gradient(self.link(moved)) / self.rate

    def _propose(self) -> Vector:
        if not self.optimistic:
            return super()._propose()
        # The leader of R + v is that of accumulate(R, v), which would compute it twice.
        return self.link(self.simplices.add(self.regrets, self.predicted_regrets))


@define(eq=False)
class ReflectedMirrorDescent(_LeaderRule):
    """Optimistic mirror descent with one step per iteration, from the last strategy.

    With u the last utility, m' its prediction, m the predicted next utility, by default u, and D
    the Bregman divergence of the regularizer phi,

        x <-  argmax over x' of <u - m' + m, x'> - D(x', x) / rate

    The optimistic form of ``OnlineMirrorDescent`` makes a second step, from a point that it does
    not play. With a regularizer that keeps all probabilities positive, both are the same.

    With the Euclidean regularizer, the regret is at most ``D / rate + rate / 2 sum_t |u_t -
    m_t|^2``, with D the largest divergence from the uniform distribution. To prove this, sum the
    optimality conditions of the steps.

    Parameters are those of ``FollowTheRegularizedLeader``, without ``optimistic``.

    Examples
    --------
    Projected gradient descent along ``2 u - u'``, with u' the utility before the last:

    >>> from regretkit.minimizers import Euclidean
    >>> player = ReflectedMirrorDescent(2, regularizer=Euclidean(), rate=0.25)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.next_strategy()
    array([0.375, 0.625])

    References
    ----------
    Joulani, Gyorgy and Szepesvari (2017), "A modular analysis of adaptive (non-)convex
    optimization: optimism, composite objectives, and variational bounds", ALT.
    """

    optimistic: bool = field(default=True, init=False, repr=False, metadata=NOT_STATE)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        if self.regularizer.interior:
            self.regrets = self.regrets + regret
        else:
            played = self.regularizer.gradient(strategy) / self.rate
            self.regrets = played + (regret - self.predicted_regrets)
        self.predicted_regrets, self.last_strategy = regret, strategy.copy()


_NEAR_MAGNET = "with a temperature above 0 it stays near its magnet"


def _as_magnet(value: ArrayLike | None) -> Vector | None:
    return None if value is None else constant_vector(value, "magnet")


def _checked_magnet(magnet: Vector, domain: StrategySet) -> Vector:
    if not domain.contains(magnet) or not (magnet > 0.0).all():
        raise ValueError(
            f"magnet must be a strategy of {quote(domain)} that plays every action, got "
            f"{shorten(str(magnet))}"
        )
    return magnet


@define(eq=False)
class MagneticMirrorDescent(RegretRule):
    """Mirror descent with KL regularization towards a reference strategy, the magnet.

    From x uniform, with temperature alpha and magnet rho, up to normalization in each block,

        x <-  (x rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha))

    The optimistic form makes two such steps, with m the predicted utility, by default the last one:

        x  =  (z rho^(rate alpha) exp(rate m))^(1 / (1 + rate alpha))
        z <-  (z rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha))

    In a two-player zero-sum game, if both players use this rule with a small rate, their last
    iterates converge to a quantal response equilibrium. In it, each player maximizes its value
    minus alpha times the relative entropy from the magnet. With alpha = 0 the rule is ``Hedge``.
    With alpha above 0 its regret may grow linearly.

    The code uses the scaled logarithm R of x:

        x  =  exp(rate R / (1 + rate alpha)), normalized
        R <-  R / (1 + rate alpha) + alpha ln rho + u - <u, x>

    Parameters
    ----------
    rate
        Learning rate, positive, in units of 1 / utility. In a zero-sum game
        ``alpha / (largest payoff)^2`` is small enough.
    temperature
        alpha, at least 0, in units of utility.
    magnet
        rho, shape ``(dimension,)``, a strategy with positive probabilities; uniform by default.
    optimistic
        Whether to use the optimistic form.

    Examples
    --------
    >>> player = MagneticMirrorDescent(2, rate=1.0, temperature=1.0)
    >>> for _ in range(60):
    ...     player.observe_utility([np.log(3.0), 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer (2023), "A unified
    approach to reinforcement learning, quantal response equilibria, and two-player zero-sum
    games", ICLR. The optimistic form is new here. It needs the magnet in both steps: otherwise the
    quantal response equilibrium is no fixed point.
    """

    rate: float = field(validator=positive, kw_only=True)
    temperature: float = field(validator=at_least_zero, kw_only=True)
    magnet: Vector | None = field(default=None, converter=_as_magnet, kw_only=True)
    _log_magnet: Vector = field(init=False, repr=False, metadata=NOT_STATE)
    """ln rho. It is 0 for the uniform magnet, because a constant in R changes no strategy."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._log_magnet = np.zeros(())
        if self.magnet is not None:
            self._log_magnet = np.log(_checked_magnet(self.magnet, self.simplices))

    @property
    def no_guarantee(self) -> str:
        return _NEAR_MAGNET if self.temperature > 0.0 else ""

    def on_domain(  # type: ignore[override]  # a given magnet fits only its own simplices
        self, simplices: Simplices
    ) -> RegretMinimizer | None:
        return super().on_domain(simplices) if self.magnet is None else None

    def accumulate(self, regrets: Vector, regret: Vector, t: int) -> Vector:
        pulled = regrets / self._decay + self.temperature * self._log_magnet
        return self.simplices.add(pulled, regret)

    def link(self, regrets: Vector) -> Vector:
        return self.simplices.softmax(regrets, self.rate / self._decay)

    @property
    def _decay(self) -> float:
        return 1.0 + self.rate * self.temperature


@define(eq=False)
class DilatedMirrorDescent(Proximal):
    """Mirror descent on sequence-form strategies, with a dilated regularizer.

    A regularizer phi of simplices gives the dilated regularizer of the tree, with b_j the
    distribution at decision point j:

        psi(x)  =  weight sum over j of  x[parent of j] phi(b_j)

    The strategy for scores z maximizes ``<z, x> - psi(x)``. A recursion up the tree computes it:

        s[a]  =  z[a] + sum of V over the decision points after a
        b_j   =  argmax over b of <s_j, b> - weight phi(b)
        V[j]  =  the maximum

    The update of z, with psi' the gradient, temperature alpha and magnet rho, is

        z <-  (psi'(x) + rate u + rate alpha psi'(rho)) / (1 + rate alpha)

    The first strategy, and the default magnet, is the minimizer of psi. The optimistic form makes
    another such step along the predicted utility m, by default the last one, before it plays.

    With entropy, weight 1 and alpha = 0, this is ``Hedge`` over the N reduced pure strategies,
    without their enumeration. The regret is at most
    ``ln(N) / rate + rate / 8 sum_t (range of payoffs in t)^2``. With alpha above 0 it is magnetic
    mirror descent: in two-player zero-sum games the last iterate converges to the quantal response
    equilibrium of the reduced normal form, and the regret may grow linearly.

    Parameters
    ----------
    tree
        The player's decision tree.
    rate
        Learning rate, positive, in units of 1 / utility. For alpha above 0 in a zero-sum game,
        ``alpha / (largest payoff)^2`` is small enough.
    regularizer
        phi; ``Entropy()`` by default.
    weight
        Weight of the regularizer at each decision point, positive.
    temperature
        alpha, at least 0, in units of utility.
    magnet
        rho, shape ``(dimension,)``, a sequence-form strategy with positive probabilities; the
        minimizer of psi by default.
    optimistic
        Whether to use the optimistic form.

    Examples
    --------
    Two actions, and two more after the second one, give three reduced pure strategies:

    >>> tree = DecisionTree([0, 2], [2, 2])
    >>> player = DilatedMirrorDescent(tree, rate=0.1)
    >>> player.next_strategy()
    array([1.        , 0.33333333, 0.66666667, 0.33333333, 0.33333333])

    References
    ----------
    Hoda, Gilpin, Pena and Sandholm (2010), "Smoothing techniques for computing Nash equilibria of
    sequential games", Mathematics of Operations Research 35(2). Sokota et al. (2023), "A unified
    approach to reinforcement learning, quantal response equilibria, and two-player zero-sum
    games", ICLR. Fan, Kroer and Farina (2024), "On the optimality of dilated entropy and lower
    bounds for online learning in extensive-form games", arXiv:2410.23398.
    """

    tree: DecisionTree = field(validator=of_kind(DecisionTree, "game.domains[0]"))
    regularizer: Regularizer = field(factory=Entropy, validator=check_regularizer, kw_only=True)
    weight: float = field(default=1.0, validator=positive, kw_only=True)
    temperature: float = field(default=0.0, validator=at_least_zero, kw_only=True)
    magnet: Vector | None = field(default=None, converter=_as_magnet, kw_only=True)
    _pull: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        self.domain = self.tree
        self._pull = np.zeros(
            self.dimension
        )  # as it is at the minimizer of psi, but for a constant
        if self.magnet is not None:
            self._pull = self._gradient(self.tree.behavior(_checked_magnet(self.magnet, self.tree)))
        self._initialize(self._project(np.zeros(self.dimension)))

    @property
    def no_guarantee(self) -> str:
        return _NEAR_MAGNET if self.temperature > 0.0 else ""

    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        moved = iterate + self.rate * utility + self.rate * self.temperature * self._pull
        return moved / (1.0 + self.rate * self.temperature)

    def _project(self, iterate: Vector) -> Vector:
        # In the interior, the iterate and the gradient at its point give the same strategies. The
        # iterate stays accurate where probabilities underflow.
        return iterate if self.regularizer.interior else self._gradient(self._behavior(iterate))

    def _point(self, iterate: Vector) -> Vector:
        return self.tree.sequence_form(self._behavior(iterate))

    def _behavior(self, iterate: Vector) -> Vector:
        """Return the maximizer of ``<iterate, x> - psi(x)`` as a behavioral strategy."""
        scores, behavior = iterate.copy(), np.empty(self.tree.simplices.dimension)
        for level in reversed(self.tree.levels):
            level_scores = scores[level.sequences]
            leader = self.regularizer.leader(level.simplices, level_scores, 1.0 / self.weight)
            behavior[level.actions] = leader
            penalty = self.weight * self.regularizer.value(level.simplices, leader)
            values = level.simplices.expectation(level_scores, leader) - penalty
            level.add_to_parents(scores, values)
        return behavior

    def _gradient(self, behavior: Vector) -> Vector:
        """Return the gradient of psi at a behavioral strategy, shape ``(dimension,)``.

        psi'[a]  =  weight (phi'(b)[a]  +  sum over k after a of phi(b_k) - <phi'(b_k), b_k>)
        """
        simplices, slopes = self.tree.simplices, self.regularizer.gradient(behavior)
        offsets = self.regularizer.value(simplices, behavior) - simplices.dot(slopes, behavior)
        gradient = segment_sum(self.tree.parent_sequence, offsets, self.dimension)
        gradient[1:] += slopes
        return self.weight * gradient
