"""Circuits on products, sums, hulls and images of sets, and around one minimizer."""

import abc
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from attrs import define, field, validators
from numpy.typing import ArrayLike

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE, StateDict, generators
from regretkit._util import _validate
from regretkit._util._arrays import sum_cancelling
from regretkit._util._typing import Vector
from regretkit._util._validate import one_space
from regretkit.circuits._base import (
    Circuit,
    LocalRule,
    SingleMinimizerCircuit,
    as_minimizers,
    check_distinct,
    local_minimizer,
)
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices


@define(eq=False)
class _SumOfRegrets(Circuit):
    """A circuit of independent parts whose regret is the sum of their regrets."""

    parts: tuple[RegretMinimizer, ...] = field(converter=as_minimizers)

    @abc.abstractmethod
    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        """Return the utility of each part."""

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        parts = sum(tracker_of(part).external for part in self.parts)
        return RegretBound("R = sum of the parts' R", tracker_of(self).external, parts, exact=True)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        for part, part_utility in zip(self.parts, self._utilities(utility), strict=True):
            part.observe_utility(part_utility)

    def _expect(self, prediction: Vector) -> None:
        for part, part_prediction in zip(self.parts, self._utilities(prediction), strict=True):
            part.expect_utility(part_prediction)


@define(eq=False)
class Product(_SumOfRegrets):
    """Play on a product of sets with one minimizer for each set.

        x  =  (x_1, ..., x_k),    utility of part i  =  coordinates of part i in u

    The regret is the sum of the parts' regrets.

    Parameters
    ----------
    parts
        Minimizers, at least one.
    coordinates
        For each part, its coordinates in the product, a partition. By default the parts are
        concatenated.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Product([RegretMatching(2), RegretMatching(3)])
    >>> player.observe_utility([1.0, 0.0, 0.0, 0.0, 2.0])
    >>> player.next_strategy()
    array([1., 0., 0., 0., 1.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """

    coordinates: Sequence[Iterable[int]] | None = field(default=None, repr=False)
    _layout: sets.ProductSet = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_distinct(self.parts)
        self._layout = sets.ProductSet([part.domain for part in self.parts], self.coordinates)
        self.domain = self._layout.canonical()

    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        return self._layout.split(utility)

    def _propose(self) -> Vector:
        return self._layout.join(part.next_strategy() for part in self.parts)

    def _value(self, utility: Vector) -> float:
        split = zip(self.parts, self._layout.split(utility), strict=True)
        return sum_cancelling(part._value(part_utility) for part, part_utility in split)


@define(eq=False)
class MinkowskiSum(_SumOfRegrets):
    """Play the sum of the parts' strategies, on the Minkowski sum of their sets.

        x  =  x_1 + ... + x_k,    utility of every part  =  u

    The regret is the sum of the parts' regrets.

    Parameters
    ----------
    parts
        Minimizers on sets of one dimension, at least one.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = MinkowskiSum([RegretMatching(2), Point([5.0, -1.0])])
    >>> player.observe_utility([0.0, 1.0])
    >>> player.next_strategy()
    array([5., 0.])
    """

    def __attrs_post_init__(self) -> None:
        one_space(self.parts, "parts")
        check_distinct(self.parts)
        self.domain = sets.MinkowskiSumSet([part.domain for part in self.parts])

    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        return [utility] * len(self.parts)

    def _propose(self) -> Vector:
        total: Vector = np.sum([part.next_strategy() for part in self.parts], axis=0)
        return total

    def _value(self, utility: Vector) -> float:
        return sum_cancelling(part._value(utility) for part in self.parts)


def _mixing(value: RegretMinimizer | LocalRule) -> RegretMinimizer:
    """Declare the type of the attribute after construction, for type checkers."""
    return value  # type: ignore[return-value]


@define(eq=False)
class ConvexHull(Circuit):
    """Play on the convex hull of the members' sets.

    With x_i the strategy of member i, and w the strategy of the mixing minimizer,

        x  =  sum_i w_i x_i
        utility of every member  =  u,    utility of the mixing minimizer  =  <u, x_i> for each i

    The regret is at most the mixing minimizer's regret plus the largest regret of a member.

    If all members play on the same simplices, each block has its own weights, and the bound holds
    in each block, as CFR requires.

    Parameters
    ----------
    members
        Minimizers on sets of one dimension, at least one.
    mixing
        A minimizer on the simplex of weights, or on one simplex for each block. Or a function of
        these simplices that returns it, such as the class ``RegretMatching``.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = ConvexHull([Point([1.0, 0.0]), RegretMatching(2)], mixing=RegretMatching)
    >>> player.next_strategy()
    array([0.75, 0.25])

    Weights by block:

    >>> from regretkit import RegretMatchingPlus
    >>> blocks = Simplices([2, 3])
    >>> player = ConvexHull([RegretMatching(blocks), RegretMatchingPlus(blocks)], RegretMatching)
    >>> player.mixing
    RegretMatching(simplices=Simplices([2] * 2))
    """

    members: tuple[RegretMinimizer, ...] = field(converter=as_minimizers)
    mixing: RegretMinimizer = field(converter=_mixing)

    def __attrs_post_init__(self) -> None:
        one_space(self.members, "members")
        self.domain = sets.Hull([member.domain for member in self.members]).canonical()
        blocks = self.domain.blocks if isinstance(self.domain, Simplices) else 1
        weights = Simplices([len(self.members)] * blocks)
        mixing = self.mixing
        made = (lambda _: mixing) if isinstance(mixing, RegretMinimizer) else mixing
        self.mixing = local_minimizer(made, weights, "mixing")
        check_distinct([*self.members, self.mixing])

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        members = [member.on_domain(simplices) for member in self.members]
        mixing = self.mixing.on_domain(Simplices([len(members)] * simplices.blocks))
        built = [member for member in members if member is not None]
        if mixing is None or len(built) < len(members):
            return None
        return ConvexHull(built, mixing)

    def _member_values(self, utility: Vector) -> Vector:
        """Return the value of each member's strategy, in each block of the mixing minimizer."""
        domain = self.domain
        if not isinstance(domain, Simplices):
            return np.array([member._value(utility) for member in self.members])
        proposals = [member.next_strategy() for member in self.members]
        values = [domain.expectation(utility, proposal) for proposal in proposals]
        return np.stack(values, axis=1).ravel()

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        members = [tracker_of(member).external for member in self.members]
        bound = tracker_of(self.mixing).external + max(members)
        statement = "R <= R of the mixing minimizer + largest R of a member"
        return RegretBound(statement, tracker_of(self).external, bound, exact=False)

    def _propose(self) -> Vector:
        # A fixed order of summation in every coordinate, which @ does not guarantee
        weights = self.mixing.next_strategy().reshape(-1, len(self.members)).T
        mixed = np.zeros(self.dimension)
        for weight, member in zip(weights, self.members, strict=True):
            if isinstance(self.domain, Simplices):
                weight = self.domain.repeat(weight)
            mixed += weight * member.next_strategy()
        return mixed

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # The mixing minimizer first: its utility depends on the members' current strategies
        self.mixing.observe_utility(self._member_values(utility))
        for member in self.members:
            member.observe_utility(utility)

    def _expect(self, prediction: Vector) -> None:
        # The members first: a prediction changes their strategies
        for member in self.members:
            member.expect_utility(prediction)
        self.mixing.expect_utility(self._member_values(prediction))

    def _value(self, utility: Vector) -> float:
        # Computed from the members' values, without rounding errors of the mixed point
        return self.mixing.domain.value(self._member_values(utility), self.mixing.next_strategy())


@define(eq=False)
class AffineImage(SingleMinimizerCircuit):
    """Play the image of a minimizer's strategy under an affine map.

    With z the minimizer's strategy on its set Z,

        x  =  M z + b,    utility of the minimizer  =  M' u

    The regret equals the minimizer's regret, because
    ``<u, M y + b> - <u, M z + b> = <M' u, y - z>``.

    Parameters
    ----------
    minimizer
        A minimizer on the set Z, of dimension n.
    matrix
        M, shape ``(k, n)``, finite, of any rank.
    offset
        b, shape ``(k,)``, finite; zero by default.

    Examples
    --------
    A number between 0 and 10, as 10 times the probability of the first of two actions:

    >>> from regretkit import RegretMatching
    >>> player = AffineImage(RegretMatching(2), [[10.0, 0.0]])
    >>> player.next_strategy()
    array([5.])
    >>> player.observe_utility([3.0])
    >>> player.next_strategy()
    array([10.])
    """

    matrix: ArrayLike
    offset: ArrayLike | None = None
    _image: sets.AffineImageSet = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._image = sets.AffineImageSet(self.minimizer.domain, self.matrix, self.offset)
        self.domain, self.matrix = self._image, self._image.matrix

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return None

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        regret, inner = tracker_of(self).external, tracker_of(self.minimizer).external
        return RegretBound("R = R of the minimizer", regret, inner, exact=True)

    def _inner(self, utility: Vector) -> Vector:
        return utility @ self._image.matrix

    def _transform(self, strategy: Vector) -> Vector:
        return self._image.apply(strategy)

    def _value(self, utility: Vector) -> float:
        offset = float(utility @ self._image.offset)
        return self.minimizer._value(self._inner(utility)) + offset


# Around one minimizer


@define(eq=False)
class Restart(SingleMinimizerCircuit):
    """Reset a minimizer to its first state periodically.

    Random generators keep their state.

    The minimizer's regret bound holds in each period between two restarts. The sum of these regrets
    is the regret against comparators that are constant in each period, and bounds the regret
    against a fixed point. If the minimizer's regret is of order ``sqrt(T)``, periods of length k
    give ``T / sqrt(k)``.

    Parameters
    ----------
    minimizer
        A minimizer.
    every
        The period k, at least 1.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Restart(RegretMatching(2), every=3)
    >>> for _ in range(4):
    ...     print(player.next_strategy())
    ...     player.observe_utility([1.0, 0.0])
    [0.5 0.5]
    [1. 0.]
    [1. 0.]
    [0.5 0.5]
    """

    every: int = field(validator=_validate.at_least_one, kw_only=True)
    _start: StateDict = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._start = self.minimizer.state_dict()

    @property
    def no_guarantee(self) -> str:
        return "its bound is the sum of those of the periods between restarts"

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        regret, inner = tracker_of(self).external, tracker_of(self.minimizer)
        statement = "R <= sum of R over the periods"
        periods = RegretBound(statement, regret, inner.tracking, exact=False)
        statement = "R = R of the minimizer"
        return RegretBound(statement, regret, inner.external, exact=True, also=(periods,))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer.observe_utility(utility)
        if (self.iteration + 1) % self.every == 0:
            kept = [(g, g.bit_generator.state) for g in generators(self.minimizer)]
            self.minimizer.load_state_dict(self._start)
            for generator, state in kept:
                generator.bit_generator.state = state
            if self.minimizer._tracker is not None:
                self.minimizer._tracker.begin_period()

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class Discount(SingleMinimizerCircuit):
    """Multiply the utilities of iterations by weights.

        utility of the minimizer  =  w_t u_t

    The minimizer's regret equals the weighted regret

        max over y of  sum_t w_t <u_t, y - x_t>

    Divided by the sum of the weights, it bounds the gap of averages with the same weights. For
    ``Linear`` averaging use ``weight=float``, which turns regret matching into linear regret
    matching. A minimizer's own predictions are weighted utilities.

    Parameters
    ----------
    minimizer
        A minimizer.
    weight
        A function that maps an iteration t, from 1, to its weight, finite and at least 0.

    Examples
    --------
    >>> from regretkit import LinearRegretMatching, RegretMatching
    >>> player, linear = Discount(RegretMatching(2), weight=float), LinearRegretMatching(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    ...     linear.observe_utility(utility)
    >>> bool((player.next_strategy() == linear.next_strategy()).all())
    True

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI, for linear weights.
    """

    weight: Callable[[int], float] = field(validator=validators.is_callable(), kw_only=True)

    _number_functions = ("_weight_of",)

    @property
    def no_guarantee(self) -> str:
        return "it bounds the weighted regret"

    def _weight_of(self, t: int) -> float:
        return _validate.number(
            self.weight(t), f"weight({t})", minimum=0.0, maximum=_validate.LARGEST
        )

    def _inner(self, utility: Vector) -> Vector:
        return self._weight_of(self.iteration + 1) * utility

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        weighted, inner = tracker_of(self).weighted, tracker_of(self.minimizer).external
        return RegretBound("weighted R = R of the minimizer", weighted, inner, exact=True)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        weight = self._weight_of(self.iteration + 1)
        self.minimizer.observe_utility(weight * utility)
        if self._tracker is not None:
            self._tracker.record_weighted(weight, utility, strategy)

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class ExplorationMixture(SingleMinimizerCircuit):
    """Mix the strategy z of a minimizer with a fixed point rho, for exploration.

        x  =  (1 - gamma) z  +  gamma rho

    The minimizer observes the utility itself. The regret is a mean of the minimizer's regret and of
    the regret of rho:

        R  =  (1 - gamma) R of the minimizer  +  gamma max over y of sum_t <u_t, y - rho>

    Estimates of utilities from the payoff of one action need exploration: EXP3 is ``Hedge`` in this
    circuit, with ``BanditFeedback``. With a model of an opponent as rho, the other player learns a
    restricted Nash response.

    Parameters
    ----------
    minimizer
        A minimizer.
    gamma
        Share of exploration, from 0 to 1.
    reference
        rho, a point of the minimizer's domain. The default is the domain's
        ``relative_interior_point()``, on simplices the uniform distribution.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> player = ExplorationMixture(Hedge(2, rate=1.0), gamma=0.25)
    >>> player.observe_utility([1e3, 0.0])
    >>> player.next_strategy()
    array([0.875, 0.125])

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire (2002), "The nonstochastic multiarmed bandit problem",
    SIAM Journal on Computing 32(1).

    Johanson, Zinkevich and Bowling (2007), "Computing robust counter-strategies", NIPS.
    """

    gamma: float = field(validator=_validate.share, kw_only=True)
    reference: ArrayLike | None = field(default=None, kw_only=True)
    _point: Vector = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        point = self.reference
        point = self.domain.relative_interior_point() if point is None else point
        self._point = _validate.constant_vector(point, "reference", self.dimension)
        if not self.domain.contains(self._point):
            wanted = f"a point of the minimizer's domain, {_validate.quote(self.domain)}"
            raise ValueError(_validate.must_be("reference", wanted, self.reference))

    @property
    def no_guarantee(self) -> str:
        return "exploration costs value in every iteration" if self.gamma > 0.0 else ""

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return super().on_domain(simplices) if self.reference is None else None

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        explored = self.domain.best_response(tracker.utilities)[0]
        explored -= self.domain.value(tracker.utilities, self._point)
        bound = (1.0 - self.gamma) * inner.external + self.gamma * explored
        statement = "R = (1 - gamma) R of the minimizer + gamma R of rho"
        return RegretBound(statement, tracker.external, bound, exact=True)

    def _transform(self, strategy: Vector) -> Vector:
        return (1.0 - self.gamma) * strategy + self.gamma * self._point


@define(eq=False)
class Regularized(SingleMinimizerCircuit):
    """Change a minimizer's utilities by a function of its strategy and of a reference point r.

        x  =  the minimizer's strategy,    utility of the minimizer  =  change(u, x, r)
        r <-  x  after iterations k, 2 k, ...

    At first r is the first strategy. With ``u - mu (x - r)`` and ``CFR`` this is the reward
    transformation of RTCFR+. If ``change`` subtracts the slope of a convex function psi, the
    minimizer's regret bounds the regret of the payoffs ``<u, x> - psi(x)``. The regret of u has no
    bound. Predictions change as if x were r.

    Parameters
    ----------
    minimizer
        A minimizer.
    change
        A function of u, x and r, each of shape ``(dimension,)``, that returns the minimizer's
        utility of this shape.
    every
        The period k, at least 1; by default r never changes.

    Attributes
    ----------
    reference
        r, shape ``(dimension,)``.

    Examples
    --------
    Regret matching converges to the solution of a game with quadratic costs:

    >>> from regretkit import RegretMatching
    >>> player = Regularized(RegretMatching(2), lambda u, x, r: u - x)
    >>> for _ in range(1_000):
    ...     player.observe_utility([0.5, 0.0])
    >>> player.next_strategy().round(2)
    array([0.75, 0.25])

    References
    ----------
    Meng et al. (2025), "Efficient last-iterate convergence in solving extensive-form games",
    NeurIPS, for reference points that move. Their code moves r one iteration
    earlier.
    """

    change: Callable[[Vector, Vector, Vector], Vector] = field(validator=validators.is_callable())
    every: int | None = field(
        default=None, validator=validators.optional(_validate.at_least_one), kw_only=True
    )
    reference: Vector = field(init=False, repr=False)

    scale_free = False

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.reference = self.minimizer.next_strategy().copy()

    @property
    def no_guarantee(self) -> str:
        return "it bounds the regret of changed utilities"

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return None

    def _inner(self, utility: Vector) -> Vector:
        # For predictions: the next strategy depends on them
        return self.change(utility, self.reference, self.reference)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer.observe_utility(self.change(utility, strategy, self.reference))
        if self.every is not None:
            renew = (self.iteration + 1) % self.every == 0
            self.reference = np.where(renew, strategy, self.reference)

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class LastIterateByAveraging(SingleMinimizerCircuit):
    """Play the average of a minimizer's strategies, so that the last iterate is an average.

    In iteration t, with y_1 to y_t the minimizer's strategies,

        x_t  =  (y_1 + ... + y_t) / t
        utility of the minimizer  =  t u_t - (t - 1) u_{t-1}

    If both players of a two-player game use this circuit with simultaneous updates, that is the
    utility at the profile y_t. The minimizers then play as without the circuit, and the last
    iterate converges as their averages. Against other opponents there is no guarantee: the
    minimizer's utilities sum to T u_T, which does not depend on earlier iterations.

    Parameters
    ----------
    minimizer
        A minimizer.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = LastIterateByAveraging(RegretMatching(2))
    >>> player.observe_utility([1.0, 0.0])
    >>> player.minimizer.next_strategy(), player.next_strategy()
    (array([1., 0.]), array([0.75, 0.25]))

    References
    ----------
    Cai, Luo, Wei and Zheng (2025), "From average-iterate to last-iterate convergence in games: a
    reduction and its applications", NeurIPS, arXiv:2506.03464.
    """

    _total: Vector = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._total, self._last = np.zeros(self.dimension), np.zeros(self.dimension)

    @property
    def no_guarantee(self) -> str:
        return "its guarantee needs a game in which all players use it"

    def _transform(self, strategy: Vector) -> Vector:
        return (self._total + strategy) / (self.iteration + 1)

    def _inner(self, utility: Vector) -> Vector:
        # By linearity, the utility at y_t if the opponent also plays averages
        return (self.iteration + 1) * utility - self.iteration * self._last

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._total = self._total + self.minimizer.next_strategy()
        super()._learn(utility, strategy)
        self._last = utility.copy()
