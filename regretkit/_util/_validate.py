"""Checks of arguments, with messages of the form "name must be ..., got ..."."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
from attrs import Attribute
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector

T = TypeVar("T")

LARGEST = 1e100
"""Largest size of a utility or payoff. With factors of up to 1e200 no product overflows."""

ATOL = 1e-6
"""Largest distance of a strategy from its set, for rounding errors."""

_FINITE = float(np.finfo(np.float64).max)


def quote(value: object, longest: int = 200) -> str:
    """Return the ``repr`` of a value on one line, cut to ``longest`` characters."""
    return shorten(re.sub(r"\n\s*", " ", repr(value)), longest)


def shorten(text: str, longest: int = 200) -> str:
    """Return a text, cut to ``longest`` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def format_array(array: NDArray[np.float64]) -> str:
    """Return an array for an error message, shortened if it is long."""
    return np.array2string(array, threshold=8, max_line_width=200)


def must_be(name: str, wanted: str, value: object, hint: str = "") -> str:
    """Return an error message about an argument."""
    return f"{name} must be {wanted}, got {quote(value)}{'; ' * bool(hint)}{hint}"


def candidates(names: Sequence[str], limit: int = 12) -> str:
    """Return at most ``limit`` names for an error message."""
    shown = ", ".join(map(quote, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of an error message with up to three close names, empty if there are none."""
    close = difflib.get_close_matches(name, [*names][:10_000])
    return f"; did you mean {' or '.join(map(quote, close))}?" if close else ""


def vector(value: ArrayLike, dimension: int, name: str, *, largest: float = _FINITE) -> Vector:
    """Return ``value`` as a read-only vector of floats of size at most ``largest``."""
    array = floats(value, name)
    if array.shape != (dimension,):
        raise ValueError(f"{name} must have shape ({dimension},), got {array.shape}")
    # Fast test: a small sum of squares implies small entries, and NaN fails the comparison. Long
    # vectors avoid BLAS, whose threads cost more to synchronize.
    squares = np.vdot(array, array) if dimension < 8192 else np.einsum("i,i", array, array)
    if not squares <= 1e200:
        _check_size(array, name, largest)
    view = array.view()
    view.setflags(write=False)
    return view


def floats(value: object, name: str) -> NDArray[np.float64]:
    """Return numbers as an array of floats; raise a TypeError for text, mappings and sets."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"of type {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(must_be(name, "numbers", value)) from error


def constant_vector(value: ArrayLike, name: str, dimension: int | None = None) -> Vector:
    """Return ``value`` as a new read-only vector of finite floats, of any length by default."""
    array = floats(value, name)
    return read_only(vector(array, array.size if dimension is None else dimension, name).copy())


def matrix(value: ArrayLike, name: str) -> Vector:
    """Return ``value`` as a new read-only matrix of finite floats, with at least one row."""
    array = np.array(floats(value, name), order="C")
    if array.ndim != 2 or not len(array):
        raise ValueError(f"{name} must have shape (k, n) with k at least 1, got {array.shape}")
    _check_size(array, name, LARGEST)
    return read_only(array)


def _check_size(array: NDArray[np.float64], name: str, largest: float) -> None:
    wrong = ~(np.abs(array) <= largest)
    if wrong.any():
        size = f" and at most {largest:g} in size" if largest < _FINITE else ""
        place = ", ".join(str(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must be finite{size}, got {array[wrong][0]} at coordinate {place}"
        )


def ordered(value: object, name: str) -> None:
    """Raise a TypeError for iterables that are no sequences: mappings, sets and text."""
    if isinstance(value, Mapping | MappingView | Set | str | bytes):
        raise TypeError(must_be(name, "a sequence", value))


def whole_numbers(value: int | Iterable[int], name: str) -> Indices:
    """Return an integer or a sequence of integers as a read-only array of int64."""
    ordered(value, name)
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        value = list(value)
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(must_be(name, "whole numbers", value))
    fixed = array.dtype == np.int64 and array.flags.owndata and not array.flags.writeable
    return array if fixed else read_only(array.astype(np.int64))


def strings(value: Iterable[str], length: int, name: str) -> tuple[str, ...]:
    """Return ``value`` as a tuple of ``length`` strings."""
    ordered(value, name)
    names = tuple(str(item) for item in value)
    if len(names) != length:
        raise ValueError(f"{name} must have {length} strings, got {len(names)}: {quote(names)}")
    return names


def sequence(values: Iterable[T], kind: type, name: str, example: str) -> tuple[T, ...]:
    """Return ``values`` as a tuple of instances of ``kind``."""
    ordered(values, name)
    if isinstance(values, kind) or not isinstance(values, Iterable):
        raise TypeError(must_be(name, f"a sequence, each {_a(kind)}", values))
    items = tuple(values)
    for i, item in enumerate(items):
        check_kind(item, kind, f"{name}[{i}]", example)
    return items


def one_space(parts: Sequence[Any], name: str) -> None:
    """Require at least one part, and equal dimensions."""
    dimensions = [part.dimension for part in parts]
    if len({*dimensions}) != 1:
        raise ValueError(must_be(name, "one or more of one dimension", dimensions))


def number(
    value: float, name: str, *, minimum: float = -_FINITE, maximum: float = _FINITE
) -> float:
    """Return ``value`` as a float, if it is finite and from ``minimum`` to ``maximum``."""
    wanted = "a finite number" + f", at least {minimum:g}" * (minimum > -_FINITE)
    wanted += f", at most {maximum:g}" * (maximum < _FINITE)
    _number_that(wanted, lambda x: minimum <= x <= maximum, name, value)
    return float(value)


def whole_number(value: object, name: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` if it is a whole number, at least ``minimum`` and at most ``maximum``."""
    wanted = f"a whole number, at least {minimum}"
    if maximum is not None:
        wanted = f"a whole number from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        hint = f"pass {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(must_be(name, wanted, value, hint))
    if value < minimum or (maximum is not None and value > maximum):
        raise ValueError(must_be(name, wanted, value))
    return int(value)


def as_generator(value: np.random.Generator | int) -> np.random.Generator:
    """Return a NumPy ``Generator``; an integer is the seed of a new one."""
    if isinstance(value, np.random.Generator):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    wanted = "a numpy Generator such as default_rng(seed), or a seed, at least 0"
    raise TypeError(must_be("generator", wanted, value))


Validator: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]
"""A validator of an attrs field."""


def _number_that(wanted: str, holds: Callable[[float], bool], name: str, value: Any) -> None:
    """Require a number for which ``holds``; NaN never does."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(must_be(name, "a number", value))
    if not holds(value if isinstance(value, int) else float(value)):  # of 400 digits, or narrow
        raise ValueError(must_be(name, wanted, value))


def _field_that(wanted: str, holds: Callable[[float], bool]) -> Validator:
    return lambda _, attribute, value: _number_that(wanted, holds, attribute.name, value)


def above_zero(value: float, name: str) -> None:
    """Require a finite number above 0."""
    _number_that("a finite number above 0", lambda x: 0.0 < x <= _FINITE, name, value)


positive = _field_that("a finite number above 0", lambda x: 0.0 < x <= _FINITE)
at_least_zero = _field_that("a finite number, at least 0", lambda x: 0.0 <= x <= _FINITE)
finite = _field_that("a finite number", lambda x: abs(x) <= _FINITE)
share = _field_that("from 0 to 1", lambda x: 0.0 <= x <= 1.0)
inside = _field_that("strictly between 0 and 1", lambda x: 0.0 < x < 1.0)
extended = _field_that("a number or infinity", lambda x: x <= _FINITE or x == math.inf)


def truth(_: object, attribute: "Attribute[bool]", value: bool) -> None:
    """Require True or False."""
    if not isinstance(value, bool):
        raise TypeError(must_be(attribute.name, "True or False", value))


def at_least_one(_: object, attribute: "Attribute[int]", value: int) -> None:
    """Require a whole number, at least 1."""
    whole_number(value, attribute.name, minimum=1)


def of_kind(kind: type, example: str) -> Validator:
    """Return a validator that requires an instance of ``kind``."""

    def check(_: object, attribute: "Attribute[Any]", value: object) -> None:
        check_kind(value, kind, attribute.name, example)

    return check


def check_kind(value: object, kind: type, name: str, example: str) -> None:
    """Require an instance of ``kind``."""
    if not isinstance(value, kind):
        if isinstance(value, type) and issubclass(value, kind):
            example = f"{value.__name__}()"
        raise TypeError(must_be(name, _a(kind), value, f"pass one, such as {example}"))


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
