"""Checks of what callers pass in; each message names the argument and says what would do."""

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set
from itertools import islice
from numbers import Real
from typing import Any, SupportsFloat, TypeAlias, TypeVar

import numpy as np
from attrs import Attribute
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Indices, Vector

T = TypeVar("T")

_FINITE = float(np.finfo(np.float64).max)

_SURELY = 1e200
"""A sum of squares up to here proves that no number is larger than ``LARGEST``."""

LARGEST = 1e100
"""Largest size of a utility or payoff. With factors of up to 1e200 no product overflows."""

ATOL = 1e-6
"""Distance by which a strategy may lie outside its set, through rounding."""

_COMPARED = 10_000
"""Names among which a close one is looked for."""

_UNORDERED = (Mapping, MappingView, Set, str, bytes, bytearray)
_ORDERED = {list, tuple, np.ndarray}
"""Sequences that are seen to be some without asking for each of the others."""

LONGEST_QUOTE = 200
"""Characters that a message quotes at most of what came."""

LONGEST_ERROR = 1_000
"""Characters that a message quotes at most of another message."""


def quote(value: object, longest: int = LONGEST_QUOTE) -> str:
    """Return the ``repr`` of what came, for an error message: one line, cut where it is long.

    Addresses in memory are left out.
    """
    if isinstance(value, str | bytes):
        value = value[: longest + 1]  # no more of it is looked at
    try:
        shown = re.sub(r"\n\s*", " ", repr(value))
        return shorten(re.sub(" at 0x[0-9a-f]+>", ">", shown), longest)
    except RecursionError:
        return "something nested deeply"


def shorten(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return a text for an error message, cut where it has more than ``longest`` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def must_be(name: str, wanted: str, value: object, hint: str = "") -> str:
    """Return the message about an argument: what it must be, what came, and what would do."""
    return f"{name} must be {wanted}, got {quote(value)}{'; ' * bool(hint)}{hint}"


# Arrays


def format_array(array: NDArray[np.float64]) -> str:
    """Return an array for error messages, shortened if it is long."""
    return np.array2string(array, threshold=8, max_line_width=200)


def vector(value: ArrayLike, dimension: int, name: str, *, largest: float = math.inf) -> Vector:
    """Return ``value`` as read-only floats of shape ``(dimension,)``, finite and not too large."""
    array = floats(value, name, f"pass a vector of shape ({dimension},)")
    if array.shape != (dimension,):
        raise ValueError(
            f"{name} has shape {array.shape}, but dimension {dimension} is wanted here; "
            f"pass one number per coordinate, shape ({dimension},)"
        )
    limit = min(largest, _FINITE)
    # The sum of squares is the quickest look at all of them, and almost always settles it. Both
    # are written so that NaN, which is in no order with anything, fails them too.
    small = _squares(array) <= _SURELY
    if not small and not (array.min() >= -limit and array.max() <= limit):
        coordinate = int(np.flatnonzero(~(np.abs(array) <= limit))[0])
        size = f" and at most {largest:g} in size" if largest < math.inf else ""
        raise ValueError(
            f"{name} must be finite{size}, got {array[coordinate]} at coordinate {coordinate}; "
            "rescale or repair it"
        )
    view = array.view()
    view.setflags(write=False)
    return view


def _squares(array: Vector) -> float:
    # Long ones not by BLAS, whose threads may wait for each other longer than the sum takes.
    return float(np.vdot(array, array) if array.size < 8192 else np.einsum("i,i", array, array))


def floats(
    value: object, name: str, hint: str = "pass a list or an array, with rows of equal length"
) -> NDArray[np.float64]:
    """Return numbers as an array of floats; refuse text, and what holds numbers in no order."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    ordered(value, name)
    try:
        array = np.asarray(value)
        objects = array.flat if array.dtype.kind == "O" else ()
        if array.dtype.kind not in "biufO" or not all(
            isinstance(x, SupportsFloat) for x in objects
        ):
            raise TypeError("not all of these are numbers")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(must_be(name, "numbers", value, hint)) from error


def constant_vector(value: ArrayLike, name: str, dimension: int | None = None) -> Vector:
    """Return ``value`` as a new read-only vector of finite floats, of any length by default."""
    try:
        length = np.size(np.asarray(value)) if dimension is None else dimension
    except ValueError as error:
        raise TypeError(must_be(name, "a vector of numbers", value)) from error
    constant = vector(value, length, name).copy()
    constant.setflags(write=False)
    return constant


def matrix(value: ArrayLike, name: str) -> Vector:
    """Return ``value`` as a new read-only matrix of finite floats, with a row at least."""
    array = np.array(floats(value, name), order="C")
    if array.ndim != 2 or not len(array):
        raise ValueError(
            f"{name} has shape {array.shape}; pass a matrix with one row or more, shape (k, n)"
        )
    wrong = np.argwhere(~(np.abs(array) <= LARGEST))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(
            f"{name} must be finite and at most {LARGEST:g} in size, "
            f"got {array[row, column]} at row {row}, column {column}; rescale or repair it"
        )
    array.setflags(write=False)
    return array


def point(value: ArrayLike, dimension: int, atol: float) -> Vector:
    """Return ``value`` as a vector, to be looked for in a set up to the tolerance ``atol``."""
    if isinstance(atol, bool) or not isinstance(atol, Real):
        raise TypeError(must_be("atol", "a number, at least 0", atol))
    if not atol >= 0.0:  # NaN is not either
        raise ValueError(must_be("atol", "at least 0", atol, "pass 0.0 to allow nothing"))
    return vector(value, dimension, "point")


def ordered(value: object, name: str) -> None:
    """Refuse mappings, sets and text where a sequence is wanted: they may be iterated as well."""
    if type(value) not in _ORDERED and isinstance(value, _UNORDERED):
        raise TypeError(
            f"{name} must be a sequence, got {quote(value)}, {_a(type(value).__name__)}; "
            "pass a list, a tuple or an array"
        )


def whole_numbers(value: int | Iterable[int], name: str) -> Indices:
    """Return ``value``, one whole number or several, as a read-only array of int64.

    A new one, unless it is such an array already.
    """
    ordered(value, name)
    if isinstance(value, np.ndarray) and value.dtype == np.int64 and value.ndim == 1:
        flags = value.flags
        if flags.owndata and not flags.writeable:
            return value
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        value = list(value)
    array = np.atleast_1d(np.array(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(must_be(name, "whole numbers", value, "pass 3 or [2, 2, 3]"))
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def strings(value: Iterable[str] | None, length: int, name: str) -> tuple[str, ...] | None:
    """Return ``value`` as a tuple of ``length`` strings, or None where none were given."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(must_be(name, "a sequence of strings", value))
    ordered(value, name)
    names = tuple(str(item) for item in value)
    if len(names) != length:
        raise ValueError(f"{name} must hold {length} strings, got {len(names)}: {quote(names)}")
    return names


def sequence(
    values: Iterable[T], kind: type, name: str, convert: Callable[[T, str], T]
) -> tuple[T, ...]:
    """Return ``values`` as a tuple, each converted by ``convert`` under its name."""
    if isinstance(values, kind):
        wanted = f"a sequence, not a single {kind.__name__}"
        raise TypeError(must_be(name, wanted, values, "pass a list of them"))
    ordered(values, name)
    if not isinstance(values, Iterable):
        raise TypeError(must_be(name, f"a sequence, each {_a(kind.__name__)}", values))
    return tuple(convert(value, f"{name}[{i}]") for i, value in enumerate(values))


def one_space(dimensions: Sequence[int], name: str) -> None:
    """Require one dimension or more, all equal."""
    if len(set(dimensions)) != 1:
        raise ValueError(
            f"{name} must be one or more in one space, got those of dimensions {quote(dimensions)}"
        )


def candidates(names: Sequence[str], limit: int = 12) -> str:
    """List ``names`` for an error message, cut where they are many."""
    shown = ", ".join(map(quote, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def did_you_mean(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return a question that ends an error message, nothing where no name is close."""
    close = difflib.get_close_matches(name, islice(names, _COMPARED), n=1, cutoff=likeness)
    return f"; did you mean {quote(close[0])}?" if close else ""


# Numbers


def number(
    value: float, name: str, *, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """Return ``value`` as a float, if it is finite and from ``minimum`` to ``maximum``."""
    _check_number(value, name)
    # NaN, and whole numbers of more than 308 digits, are not finite.
    if not abs(value) <= _FINITE or not minimum <= value <= maximum:
        wanted = "a finite number" + f", at least {minimum:g}" * (minimum > -math.inf)
        wanted = f"from {minimum:g} to {maximum:g}" if maximum < math.inf else wanted
        raise ValueError(must_be(name, wanted, value))
    return float(value)


def above_zero(value: float, name: str) -> None:
    """Require a finite number above 0."""
    _check_number(value, name)
    if not 0.0 < value <= _FINITE:  # NaN is not either
        raise ValueError(must_be(name, "a finite number above 0", value))


def _check_number(value: float, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(must_be(name, "a number", value))


# Validators of attrs fields, for hyperparameters


Validator: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]


def _number_that(wanted: str, holds: Callable[[float], bool]) -> Validator:
    """Return a validator that requires a number for which ``holds``."""

    def check(_: object, attribute: "Attribute[Any]", value: float) -> None:
        _check_number(value, attribute.name)
        if not holds(value):  # NaN, which is in no order with anything, holds nothing
            raise ValueError(must_be(attribute.name, wanted, value))

    return check


def positive(_: object, attribute: "Attribute[float]", value: float) -> None:
    """Require a finite number above 0."""
    above_zero(value, attribute.name)


at_least_zero = _number_that("a finite number, at least 0", lambda value: 0.0 <= value <= _FINITE)
finite = _number_that("a finite number", lambda value: abs(value) <= _FINITE)
above_one = _number_that("a finite number above 1", lambda value: 1.0 < value <= _FINITE)
share = _number_that("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
inside = _number_that("strictly between 0 and 1", lambda value: 0.0 < value < 1.0)
extended = _number_that(
    "a number, or plus or minus infinity", lambda value: value <= _FINITE or value == math.inf
)


def truth(_: object, attribute: "Attribute[bool]", value: bool) -> None:
    """Require True or False."""
    if not isinstance(value, bool):
        raise TypeError(must_be(attribute.name, "True or False", value))


def of_kind(kind: type, example: str) -> Validator:
    """Return a validator that requires an instance of ``kind``."""

    def check(_: object, attribute: "Attribute[Any]", value: object) -> None:
        check_kind(value, kind, attribute.name, example)

    return check


def as_generator(value: np.random.Generator | int) -> np.random.Generator:
    """Return a numpy ``Generator``, or one that begins at a seed."""
    if isinstance(value, np.random.Generator):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    hint = "pass a seed such as 1, or numpy.random.default_rng(seed)"
    raise TypeError(must_be("generator", "a numpy Generator or a seed, at least 0", value, hint))


def check_kind(value: object, kind: type, name: str, example: str) -> None:
    """Require an instance of ``kind``."""
    if not isinstance(value, kind):
        if isinstance(value, type) and issubclass(value, kind):
            example = f"{value.__name__}()"
        raise TypeError(
            f"{name} must be {_a(kind.__name__)}, got {quote(value)}{_role(value)}; "
            f"pass one, such as {example}"
        )


def _role(value: object) -> str:
    """Return which abstract class of this package ``value`` is of, to tell equal names apart."""
    if isinstance(value, type):
        return ", a class"
    for base in type(value).__mro__[1:]:
        public = base.__module__.startswith("regretkit.") and not base.__name__.startswith("_")
        if public and inspect.isabstract(base):
            return f", {_a(base.__name__)}"
    return ""


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def at_least_one(_: object, attribute: "Attribute[int]", value: int) -> None:
    """Require a whole number, at least 1."""
    whole_number(value, attribute.name, minimum=1)


def whole_number(value: object, name: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` if it is a whole number, at least ``minimum`` and at most ``maximum``."""
    wanted = f", at least {minimum}" if maximum is None else f" from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        hint = f"; pass {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(f"{name} must be a whole number{wanted}, got {quote(value)}{hint}")
    if value < minimum or (maximum is not None and value > maximum):
        raise ValueError(f"{name} must be a whole number{wanted}, got {quote(value)}")
    return int(value)
