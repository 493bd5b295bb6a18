"""Minimize regret on images of a set: under an affine map, and under scaling."""

import abc
from typing import final

from attrs import define, field
from numpy.typing import ArrayLike
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit.circuits._base import SingleMinimizerCircuit
from regretkit.minimizer import TrackerOf
from regretkit.sets._operations import Image


def _matrix(value: ArrayLike) -> Vector:
    return _validate.matrix(value, "matrix")


def _offset(value: ArrayLike | None) -> Vector | None:
    return None if value is None else _validate.constant_vector(value, "offset")


@define(eq=False)
class _Image(SingleMinimizerCircuit):
    """Plays the image of what another minimizer plays."""

    _image: Image = field(init=False, repr=False)

    _update_may_raise = True

    def __attrs_post_init__(self) -> None:
        self._image = self._image_of(self.minimizer.domain)
        self.domain = self._image

    @abc.abstractmethod
    def _image_of(self, source: sets.StrategySet) -> Image:
        """Return the image of the minimizer's set."""

    @final
    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        return RegretBound(
            "R = R of the minimizer",
            tracker_of(self).external,
            tracker_of(self.minimizer).external,
            exact=True,
        )

    @final
    @override
    def _propose(self) -> Vector:
        return self._image.apply(self.minimizer.next_strategy())

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # Where pulling back overflows it raises, and the minimizer has not learned yet.
        self.minimizer._update(self._image.pull_back(utility))

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(self._image.pull_back(prediction))

    @final
    @override
    def _value(self, utility: Vector) -> float:
        value = self.minimizer._value(self._image.pull_back(utility))
        return value + self._image.constant_value(utility)


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

    matrix: Vector = field(converter=_matrix)
    offset: Vector | None = field(default=None, converter=_offset)

    @override
    def _image_of(self, source: sets.StrategySet) -> sets.AffineImageSet:
        return sets.AffineImageSet(source, self.matrix, self.offset)


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

    @override
    def _image_of(self, source: sets.StrategySet) -> sets.ScaledSet:
        return sets.ScaledSet(source, self.factor)
