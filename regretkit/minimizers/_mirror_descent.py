"""Mirror descent and following the leader: optimistic, reflected, magnetic, and on trees."""

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
    """A rule that plays the regularized leader: ``argmax over x of <R, x> - phi(x) / rate``."""

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    def link(self, regrets: Vector) -> Vector:
        return self.regularizer.leader(self.simplices, regrets, self.rate)


@define(eq=False)
class FollowTheRegularizedLeader(_LeaderRule):
    """Follow the regularized leader: the best response to all utilities so far, less a penalty.

        x  =  argmax over x of <R, x> - phi(x) / rate
        R <-  R + u - <u, x>

    The optimistic form adds ``v = m - <m, x'>`` to R before it plays, with m the predicted utility,
    by default the last one, and x' the last strategy. With entropy it is ``Hedge``, and its
    optimistic form ``OptimisticHedge``.

    Over T iterations with n actions the regret is at most D / rate, with D the range of phi, plus
    what moving costs: for the Euclidean regularizer ``rate / 2`` times the sum of ``|u|^2``, in the
    optimistic form of ``|u - m|^2``; for entropy ``rate / 8`` times that of the squared ranges of
    u, in the optimistic form of u - m.

    Parameters
    ----------
    regularizer
        phi: ``Entropy``, ``Euclidean``, ``Tsallis``, ``LogBarrier``.
    rate
        Learning rate, positive, in one over the unit of utility.
    optimistic
        Whether it plays the optimistic form.

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
    """Online mirror descent: a step along the utility, with a penalty on its length.

        x  =  z
        z <-  argmax over z' of <u, z'> - D(z', z) / rate

    with D the Bregman divergence of the regularizer phi, from the uniform distribution on. With
    the Euclidean regularizer, z moves by ``rate u`` and is projected: gradient descent. The
    optimistic form plays after another step, from z along the predicted utility m:

        x  =  argmax over x' of <m, x'> - D(x', z) / rate

    With a regularizer that keeps every probability positive it is bitwise identical to
    ``FollowTheRegularizedLeader``. With others, an action that is not played returns sooner
    here when its utility rises. The bound on the regret is that of following the leader, with D
    the largest divergence from the uniform distribution.

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
        if self.regularizer.interior:  # where the gradient at the leader is as good as R itself
            return moved
        return self.regularizer.gradient(self.link(moved)) / self.rate

    def _propose(self) -> Vector:
        if not self.optimistic:
            return super()._propose()
        # As of what ``accumulate`` would return, which would search for the same leader twice.
        return self.link(self.simplices.add(self.regrets, self.predicted_regrets))


@define(eq=False)
class ReflectedMirrorDescent(_LeaderRule):
    """Optimistic mirror descent with one step an iteration, from the last strategy played.

    With m the predicted utility, by default the last one, and m' the prediction of u,

        x <-  argmax over x' of <u - m' + m, x'> - D(x', x) / rate

    and D the Bregman divergence of the regularizer phi. ``OnlineMirrorDescent`` in its
    optimistic form makes a second step, from a point that it does not play; a regularizer that
    always gives every action some weight makes them the same. The regret is at most D / rate, with
    D the largest divergence from the uniform distribution, plus for the Euclidean regularizer
    ``rate / 2`` times the sum of ``|u - m|^2``: add up the condition of optimality of every step.

    Parameters are those of ``FollowTheRegularizedLeader``, without ``optimistic``.

    Examples
    --------
    Projected gradient descent along twice the last utility less the one before:

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


_NEAR_MAGNET = "with a temperature above 0 it stays near its magnet, at any utilities"


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

    With temperature alpha and magnet rho, in each block up to a factor that makes it sum to one,

        x <-  (x rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha)),    from uniform x on

    In a two-player zero-sum game where both use it with a rate that is small enough, the strategies
    themselves, not only their averages, converge to a quantal response equilibrium: each plays a
    best response to the other's strategy at a price of alpha times the relative entropy from the
    magnet. With alpha = 0 it is ``Hedge``. With alpha above 0 its regret need not be small.

    In the optimistic form, which adds the predicted utility m, by default the last one, both
    the step of z and the one to the strategy that is played are such steps:

        x  =  (z rho^(rate alpha) exp(rate m))^(1 / (1 + rate alpha))
        z <-  (z rho^(rate alpha) exp(rate u))^(1 / (1 + rate alpha))

    It is computed from the logarithm R of x, scaled so that utilities are added as they are:

        x  =  exp(rate R / (1 + rate alpha)) / their sum
        R <-  R / (1 + rate alpha) + alpha ln rho + u - <u, x>

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility. In a zero-sum game at most
        alpha over the square of the largest payoff is small enough.
    temperature
        alpha, at least 0, in the unit of utility.
    magnet
        rho, shape ``(dimension,)``, a strategy that plays every action; uniform by default.
    optimistic
        Whether it plays the optimistic form.

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
    games", ICLR. The optimistic form is ours: both steps feel the magnet, for otherwise it would
    not rest at the quantal response equilibrium.
    """

    rate: float = field(validator=positive, kw_only=True)
    temperature: float = field(validator=at_least_zero, kw_only=True)
    magnet: Vector | None = field(default=None, converter=_as_magnet, kw_only=True)
    _log_magnet: Vector = field(init=False, repr=False, metadata=NOT_STATE)
    """ln rho; 0 for the uniform magnet, as a constant added to R changes no strategy."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._log_magnet = np.zeros(())
        if self.magnet is not None:
            self._log_magnet = np.log(_checked_magnet(self.magnet, self.simplices))

    @property
    def no_guarantee(self) -> str:
        return _NEAR_MAGNET if self.temperature > 0.0 else ""

    def on_domain(  # type: ignore[override]  # with a magnet of its own it plays nowhere else
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
    """Mirror descent on sequence-form strategies, with a regularizer from every decision point.

    Dilated, a regularizer phi of one simplex becomes one of the tree: with b_j the distribution at
    decision point j and x its parent sequence's probability,

        psi(x)  =  weight times the sum over j of  x[parent of j] phi(b_j)

    Up the tree, that makes a step of mirror descent a recursion. From z, with V of what follows,

        s[a]  =  z[a] + sum of V over the decision points after a
        b_j   =  argmax over b of <s_j, b> - weight phi(b),    V[j]  that maximum

    and the scores move by ``z <- gradient of psi at x + rate u``. With temperature alpha above 0
    and a magnet rho, it is magnetic mirror descent:

        z <-  (gradient of psi + rate u + rate alpha psi'(rho)) / (1 + rate alpha)

    It begins at, and by default is drawn to, the minimizer of psi. With entropy and weight 1 that
    is Hedge over the vertices of the tree, the reduced pure strategies, though it never lists
    them: with N of them the regret is at most ``ln(N) / rate`` plus ``rate / 8`` times the sum of
    the squared ranges of payoffs. In a two-player zero-sum game magnetic mirror descent converges
    itself, not only in the average, to the quantal response equilibrium of the reduced normal
    form; its regret need not be small.

    The optimistic form steps once more, from z along the predicted utility m, by default the last
    one, before it plays; the magnet is in both steps.

    Parameters
    ----------
    tree
        The player's decisions.
    rate
        Learning rate, positive, in one over the unit of utility. In magnetic mirror descent at
        most alpha over the square of the largest payoff is surely small enough.
    regularizer
        phi: entropy by default.
    weight
        What every decision point's regularizer counts, positive.
    temperature
        alpha, at least 0, in the unit of utility.
    magnet
        rho, shape ``(dimension,)``, a strategy in sequence form in which every sequence has a
        positive probability; the minimizer of psi by default.
    optimistic
        Whether it plays the optimistic form.

    Examples
    --------
    Two actions, and after the second of them two more: three reduced pure strategies.

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
        # In the interior an iterate and the gradient at its point differ by nothing that is ever
        # seen, and the iterate keeps its digits where probabilities are too small to.
        return iterate if self.regularizer.interior else self._gradient(self._behavior(iterate))

    def _point(self, iterate: Vector) -> Vector:
        return self.tree.sequence_form(self._behavior(iterate))

    def _behavior(self, iterate: Vector) -> Vector:
        """Return what maximizes ``<iterate, x> - psi(x)``, as a behavioural strategy."""
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
        """Return the gradient of psi at a behavioural strategy, shape ``(dimension,)``.

        weight phi'(b[a])  +  weight times the sum of phi(b_k) - <phi'(b_k), b_k>  over k after a
        """
        simplices, slopes = self.tree.simplices, self.regularizer.gradient(behavior)
        offsets = self.regularizer.value(simplices, behavior) - simplices.dot(slopes, behavior)
        gradient = segment_sum(self.tree.parent_sequence, offsets, self.dimension)
        gradient[1:] += slopes
        return self.weight * gradient
