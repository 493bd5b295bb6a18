"""Circuits on products, Minkowski sums, convex hulls and affine images of sets."""

import abc
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit import sets
from regretkit._regret_tracker import RegretBound
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
    on_simplices,
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

    References
    ----------
    See ``Product``.
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

    References
    ----------
    See ``Product``.
    """

    members: tuple[RegretMinimizer, ...] = field(converter=as_minimizers)
    mixing: RegretMinimizer = field(converter=_mixing)

    def __attrs_post_init__(self) -> None:
        one_space(self.members, "members")
        self.domain = sets.Hull([member.domain for member in self.members]).canonical()
        blocks = self.domain.blocks if isinstance(self.domain, Simplices) else 1
        weights = Simplices([len(self.members)] * blocks)
        if isinstance(self.mixing, RegretMinimizer):
            on_simplices(self.mixing, weights, "mixing")
        else:
            self.mixing = local_minimizer(self.mixing, weights, "mixing")
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

    References
    ----------
    See ``Product``.
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
