"""Mirror descent on the sequence-form strategies of a decision tree."""

from collections.abc import Mapping
from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util import _validate
from regretkit._util._arrays import segment_sum
from regretkit._util._state import NOT_STATE
from regretkit._util._typing import Vector
from regretkit._util._validate import of_kind, positive, quote, shorten
from regretkit.minimizers._gradient_descent import Proximal
from regretkit.minimizers._magnetic import NO_PROMISE, as_magnet, check_temperature
from regretkit.minimizers._regularizers import Entropy, Regularizer, check_regularizer
from regretkit.sets import DecisionTree


@final
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

    The optimistic form steps once more, from z along the utility m expected, by default the last
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
        Whether it plays against what it expects.

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
    bounds for online learning in extensive-form games", arXiv:2410.23398. The recursion with
    entropy is that of the authors' code in OpenSpiel; with the Euclidean regularizer it has the
    form of a baseline of LiteEFG, whose paper could not be checked; with others it is derived
    from the definition above. Where a decision point is never reached, it continues from the b_j
    that would be played there.
    """

    tree: DecisionTree = field(validator=of_kind(DecisionTree, "game.domains[0]"))
    regularizer: Regularizer = field(factory=Entropy, validator=check_regularizer, kw_only=True)
    weight: float = field(default=1.0, validator=positive, kw_only=True)
    temperature: float = field(default=0.0, validator=_validate.finite, kw_only=True)
    magnet: Vector | None = field(default=None, converter=as_magnet, kw_only=True)
    _pull: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        check_temperature(self.temperature)
        self.domain = self.tree
        self._pull = self._pull_of(self.magnet)
        self._initialize(self._project(np.zeros(self.dimension)))

    @override
    def exemptions(self) -> Mapping[str, str]:
        return NO_PROMISE if self.temperature > 0.0 else {}

    @override
    def _step(self, iterate: Vector, utility: Vector) -> Vector:
        moved = iterate + self.rate * utility + self.rate * self.temperature * self._pull
        return moved / (1.0 + self.rate * self.temperature)

    @override
    def _project(self, iterate: Vector) -> Vector:
        # In the interior an iterate and the gradient at its point differ by nothing that is ever
        # seen, and the iterate keeps its digits where probabilities are too small to.
        return iterate if self.regularizer.interior else self._gradient(self._behavior(iterate))

    @override
    def _point(self, iterate: Vector) -> Vector:
        return self.tree.sequence_form(self._behavior(iterate))

    def _behavior(self, iterate: Vector) -> Vector:
        """Return what maximizes ``<iterate, x> - psi(x)``, as a behavioural strategy."""
        scores, behavior = iterate.copy(), np.empty(self.tree.simplices.dimension)
        for level in reversed(self.tree._levels):
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

    def _pull_of(self, magnet: Vector | None) -> Vector:
        """Return the gradient of psi at the magnet; at its minimizer, zero will do."""
        if magnet is None:
            return np.zeros(self.dimension)
        if not self.tree.contains(magnet) or not (magnet > 0.0).all():
            raise ValueError(
                f"magnet must be a strategy of {quote(self.tree)} that plays every action, got "
                f"{shorten(str(magnet))}"
            )
        return self._gradient(self.tree.behavior(magnet))
