"""Minimizers on products, sums, hulls and images of sets, out of minimizers on the sets."""

import abc
from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util import _validate
from regretkit._util._arrays import sum_cancelling
from regretkit._util._state import StateDict
from regretkit._util._typing import Vector
from regretkit._util._validate import one_space, quote, shorten
from regretkit.circuits._base import (
    Circuit,
    SingleMinimizerCircuit,
    are_minimizers,
    as_tuple,
    check_distinct,
    is_minimizer,
)
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices
from regretkit.sets._operations import Image


@define(eq=False)
class _SumOfRegrets(Circuit):
    """Parts that learn independently, and whose regrets add up."""

    parts: tuple[RegretMinimizer, ...] = field(converter=as_tuple, validator=are_minimizers)

    @abc.abstractmethod
    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        """Return what each part learns from."""

    @final
    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        parts = sum(tracker_of(part).external for part in self.parts)
        return RegretBound("R = sum of the parts' R", tracker_of(self).external, parts, exact=True)

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        for part, part_utility in zip(self.parts, self._utilities(utility), strict=True):
            part._update(part_utility)

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        for part, part_prediction in zip(self.parts, self._utilities(prediction), strict=True):
            part._predict_internal(part_prediction)


@final
@define(eq=False)
class Product(_SumOfRegrets):
    """Play on a product of sets, each part on its own.

        x  =  (x_1, ..., x_k),    part i learns from its own coordinates of u

    The regret is the sum of the parts' regrets, exactly.

    Parameters
    ----------
    parts
        Minimizers, one or more.
    coordinates
        For each part, the coordinates of the product that are its own; together they are each
        coordinate once. By default the parts are laid end to end.

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
        if not self.parts:
            raise ValueError("parts must be one or more minimizers, got none")
        check_distinct(self.parts)
        self._layout = sets.ProductSet([part.domain for part in self.parts], self.coordinates)
        self.domain = self._layout.canonical()

    @override
    def _state_at(self, blocks: Sequence[int]) -> StateDict:
        if not isinstance(self.domain, Simplices):
            return super()._state_at(blocks)
        first, found = self.domain.first[list(blocks)], {}
        for number, (part, inner_blocks) in enumerate(
            zip(self.parts, self._layout.coordinates, strict=True)
        ):
            if isinstance(part.domain, Simplices):
                part_blocks = np.flatnonzero(
                    np.isin(inner_blocks[part.domain.first], first)
                ).tolist()
                if part_blocks:
                    found[str(number)] = part._state_at(part_blocks)
        return next(iter(found.values())) if len(found) == 1 else dict(found)

    @override
    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        return self._layout.split(utility)

    @override
    def _propose(self) -> Vector:
        return self._layout._join(part.next_strategy() for part in self.parts)

    @override
    def _value(self, utility: Vector) -> float:
        split = zip(self.parts, self._layout.split(utility), strict=True)
        return sum_cancelling(part._value(part_utility) for part, part_utility in split)


@final
@define(eq=False)
class MinkowskiSum(_SumOfRegrets):
    """Play the sum of what the parts play.

        x  =  x_1 + ... + x_k,    every part learns from u itself

    The regret is the sum of the parts' regrets, exactly: the best sum is the sum of the best.

    Parameters
    ----------
    parts
        Minimizers on sets in one space, one or more.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = MinkowskiSum([RegretMatching(2), Point([5.0, -1.0])])
    >>> player.observe_utility([0.0, 1.0])
    >>> player.next_strategy()
    array([5., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97. Derived here; the paper's own form could not be checked.
    """

    def __attrs_post_init__(self) -> None:
        one_space([part.dimension for part in self.parts], "parts")
        check_distinct(self.parts)
        self.domain = sets.MinkowskiSumSet([part.domain for part in self.parts])

    @override
    def _utilities(self, utility: Vector) -> Iterable[Vector]:
        return [utility] * len(self.parts)

    @override
    def _propose(self) -> Vector:
        total: Vector = np.sum([part.next_strategy() for part in self.parts], axis=0)
        return total

    @override
    def _value(self, utility: Vector) -> float:
        return sum(part._value(utility) for part in self.parts)


@final
@define(eq=False)
class ConvexHull(Circuit):
    """Play on the convex hull of the members' sets.

    Member i proposes a point x_i of its own set, and the mixer weighs the proposals:

        x  =  sum_i w_i x_i,  with w the mixer's strategy

    Every member learns from u itself. The mixer learns the value of each proposal, the vector
    of ``<u, x_i>``. The regret is at most the mixer's plus the largest of the members'.

    Parameters
    ----------
    members
        Minimizers on sets in one space, two or more.
    mixer
        A minimizer on the simplex with one action for each member.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = ConvexHull([Point([1.0, 0.0]), RegretMatching(2)], mixer=RegretMatching(2))
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """

    members: tuple[RegretMinimizer, ...] = field(converter=as_tuple, validator=are_minimizers)
    mixer: RegretMinimizer = field(validator=is_minimizer)
    _weights: sets.Simplices = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if len(self.members) < 2:
            raise ValueError(
                f"members of a hull must be two or more, got {len(self.members)}; "
                "one alone needs no hull"
            )
        one_space([member.dimension for member in self.members], "members")
        check_distinct([*self.members, self.mixer])
        _check_weighs(self.mixer, len(self.members))
        self._weights = sets.Simplices(len(self.members))
        self.domain = sets.Hull([member.domain for member in self.members]).canonical()

    def _member_values(self, utility: Vector) -> Vector:
        return np.array([member._value(utility) for member in self.members])

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        bound = tracker_of(self.mixer).external
        bound += max(tracker_of(member).external for member in self.members)
        statement = "R <= R of the mixer + largest R of a member"
        return RegretBound(statement, tracker_of(self).external, bound, exact=False)

    @override
    def _propose(self) -> Vector:
        proposals = np.array([member.next_strategy() for member in self.members])
        # einsum and not @: its order of summation is the same in every column
        mixed: Vector = np.einsum("i,ij->j", self.mixer.next_strategy(), proposals)
        return mixed

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # The mixer first: once a member has learned, the point that it proposed is gone.
        values = self._member_values(utility)
        if not np.isfinite(values).all():
            raise ValueError(
                f"utility gives the members' proposals values of {shorten(str(values))}, beyond "
                "double precision; rescale it"
            )
        self.mixer._update(values)
        for member in self.members:
            member._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        # The members first: what they are going to propose is what the mixer must weigh.
        for member in self.members:
            member._predict_internal(prediction)
        self.mixer._predict_internal(self._member_values(prediction))

    @override
    def _value(self, utility: Vector) -> float:
        # From the members' values, without the mixed point.
        return self._weights.value(self._member_values(utility), self.mixer.next_strategy())


def _check_weighs(mixer: RegretMinimizer, count: int) -> None:
    """Refuse a mixer whose strategies are not weights of ``count`` members."""
    if mixer.dimension != count:
        raise ValueError(
            f"mixer plays in dimension {mixer.dimension}, but there are {count} members to weigh; "
            f"pass one on the simplex with {count} actions"
        )
    if mixer.domain == sets.Simplices(count):
        return
    ones = np.ones(count)
    total = mixer.domain.best_response(ones)[0], -mixer.domain.best_response(-ones)[0]
    least = [-mixer.domain.best_response(-unit)[0] for unit in np.eye(count)]
    if min(least) < -1e-9 or not np.allclose(total, 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(
            f"mixer plays on {quote(mixer.domain)}, whose points are not weights that sum to one; "
            f"pass one on the simplex with {count} actions"
        )


@define(eq=False)
class _Image(SingleMinimizerCircuit):
    """Plays the image of what another minimizer plays; subclasses say which image that is."""

    _image: Image = field(init=False, repr=False)

    _update_may_raise = True

    @final
    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        regret, inner = tracker_of(self).external, tracker_of(self.minimizer).external
        return RegretBound("R = R of the minimizer", regret, inner, exact=True)

    @final
    @override
    def _inner(self, utility: Vector) -> Vector:
        return self._image.pull_back(utility)  # which raises where it overflows

    @final
    @override
    def _propose(self) -> Vector:
        return self._image.apply(self.minimizer.next_strategy())

    @final
    @override
    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(self._inner(utility)) + self._image.constant_value(utility)


def as_matrix(value: ArrayLike) -> Vector:
    """Return an argument ``matrix`` as a matrix; a converter of attrs fields."""
    return _validate.matrix(value, "matrix")


def _offset(value: ArrayLike | None) -> Vector | None:
    return None if value is None else _validate.constant_vector(value, "offset")


@final
@define(eq=False)
class AffineImage(_Image):
    """Play where an affine map takes what a minimizer plays.

    With z the minimizer's strategy on its set Z,

        x  =  M z + b,    the minimizer learns from M' u

    The regret equals the minimizer's, exactly: ``<u, M y + b> - <u, M z + b>`` is
    ``<M' u, y - z>``, and the offset cancels.

    Parameters
    ----------
    minimizer
        Plays on the set Z, of dimension n.
    matrix
        M, shape ``(k, n)``, finite; of any rank, so it may leave dimensions out or add some.
    offset
        b, shape ``(k,)``, finite; zero by default.

    Examples
    --------
    One number between 0 and 10, played as 10 times the probability of the first of two actions:

    >>> from regretkit import RegretMatching
    >>> player = AffineImage(RegretMatching(2), [[10.0, 0.0]])
    >>> player.next_strategy()
    array([5.])
    >>> player.observe_utility([3.0])
    >>> player.next_strategy()
    array([10.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97. Derived here; the paper's own form could not be checked.
    """

    matrix: Vector = field(converter=as_matrix)
    offset: Vector | None = field(default=None, converter=_offset)

    def __attrs_post_init__(self) -> None:
        self._image = sets.AffineImageSet(self.minimizer.domain, self.matrix, self.offset)
        self.domain = self._image


@final
@define(eq=False)
class Scaled(_Image):
    """Play what a minimizer plays, times a factor.

    With z the minimizer's strategy on its set Z,

        x  =  a z,    the minimizer learns from a u

    The regret equals the minimizer's, exactly.

    Parameters
    ----------
    minimizer
        Plays on the set Z.
    factor
        a, finite and not zero. A negative one reflects the set at the origin.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Scaled(RegretMatching(2), -3.0)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([-0., -3.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97. Derived here; the paper's own form could not be checked.
    """

    factor: float

    def __attrs_post_init__(self) -> None:
        self.domain = self._image = sets.ScaledSet(self.minimizer.domain, self.factor)
