"""Checks of what sets are built from; each message names the argument and says what would do."""

import math
from collections.abc import Iterable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.sets._base import StrategySet


def as_set(value: StrategySet, name: str) -> StrategySet:
    """Return ``value`` if it is a strategy set."""
    if isinstance(value, StrategySet):
        return value
    raise TypeError(
        f"{name} must be a strategy set, got {quote(value)}; pass one, as in Simplices(3)"
    )


def as_sets(values: Iterable[StrategySet], name: str) -> tuple[StrategySet, ...]:
    """Return ``values`` as a tuple of strategy sets."""
    if isinstance(values, StrategySet):
        raise TypeError(f"{name} must be a sequence of sets, got the single {quote(values)}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of sets, got {quote(values)}")
    return tuple(as_set(value, f"{name}[{i}]") for i, value in enumerate(values))


def as_vector(value: ArrayLike, name: str) -> Vector:
    """Return ``value`` as a new read-only vector of finite floats, of any length."""
    try:
        length = np.size(np.asarray(value))
    except ValueError as error:
        raise TypeError(f"{name} must be a vector of numbers, got {quote(value)}") from error
    vector = _validate.vector(value, length, name).copy()
    vector.setflags(write=False)
    return vector


def as_matrix(value: ArrayLike, name: str) -> Vector:
    """Return ``value`` as a new read-only matrix of finite floats, with a row at least."""
    try:
        if value is None:
            raise TypeError("these are no numbers")
        matrix = np.array(_validate.floats(value, name), order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must be numbers, got {quote(value)}; pass rows of equal length"
        ) from error
    if matrix.ndim != 2 or not len(matrix):
        raise ValueError(
            f"{name} has shape {matrix.shape}; pass a matrix with one row or more, shape (k, n)"
        )
    wrong = np.argwhere(~(np.abs(matrix) <= _validate.LARGEST))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(
            f"{name} must be finite and at most {_validate.LARGEST:g} in size, "
            f"got {matrix[row, column]} at row {row}, column {column}; rescale or repair it"
        )
    matrix.setflags(write=False)
    return matrix


def as_point(value: ArrayLike, dimension: int, atol: float) -> Vector:
    """Return ``value`` as a vector, to be looked for in a set up to ``atol``, a tolerance."""
    if isinstance(atol, bool) or not isinstance(atol, Real):
        raise TypeError(f"atol must be a number, at least 0, got {quote(atol)}")
    if not atol >= 0.0:  # NaN is not either
        raise ValueError(f"atol must be at least 0, got {quote(atol)}; pass 0.0 to allow nothing")
    return _validate.vector(value, dimension, "point")


def as_number(value: float, name: str) -> float:
    """Return ``value`` as a float, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {quote(value)}")
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {quote(value)}")
    return number
