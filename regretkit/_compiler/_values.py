"""Values during translation: Python constants, and numbers of LLVM."""

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from attrs import define


class CannotCompileError(Exception):
    """A function cannot be compiled."""


class NotInLanesError(CannotCompileError):
    """A function cannot work on vectors, as with a branch that some lanes take."""


SYMBOL = "regretkit_entry"
"""The name of the function in object code."""

LANES = 4
"""Numbers in one vector."""

TYPES = {"truth": "i1", "natural": "i64", "integer": "i64", "unsigned": "i64"}
TYPES |= {"float": "double", "address": "ptr"}
VECTORS = {"floats": f"<{LANES} x double>", "truths": f"<{LANES} x i1>"}
TYPES |= VECTORS
"""LLVM's types of numbers and vectors, by kind. Integer types have no sign."""
_WIDENING = ["truth", "natural", "integer", "unsigned", "float"]
"""Kinds of numbers, from narrow to wide. A natural is an integer >= 0."""


class _Unknown:
    """A value of the run time, which Python cannot compare."""

    __slots__ = ()

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a comparison of values that are not numbers")

    def __bool__(self) -> NoReturn:
        raise TypeError("an array or a number as a condition")


@define(eq=False)
class Number(_Unknown):
    """A number in machine code: a register or a constant, as LLVM writes it."""

    text: str
    kind: str
    least: int | None = None
    """A lower bound of an integer unless it wrapped around, None if unknown."""

    @property
    def natural(self) -> bool:
        """Whether the number is provably nonnegative."""
        return self.kind == "unsigned" or (self.least is not None and self.least >= 0)

    @property
    def variable_kind(self) -> str:
        """The kind of a variable for this number."""
        return "natural" if self.kind == "integer" and self.natural else self.kind


@define(eq=False)
class Array(_Unknown):
    """Numbers in memory."""

    data: Any
    dtype: "np.dtype[Any]"
    shape: tuple[Any, ...]
    strides: Any = None
    """In bytes; None if contiguous."""
    lanes: bool = False
    """Whether an entry is a vector: this number and the next ones."""
    argument: str = ""
    """The address of the Python object that owns the memory, empty if unknown."""


class Range(NamedTuple):
    """A range with an end of the run time."""

    start: Any
    stop: Any
    step: int = 1


class Generator(NamedTuple):
    """A NumPy generator: the addresses of its state and of its function ``next_double``."""

    state: Any
    next_double: Any

    @property
    def random(self) -> "Draw":
        """The method ``random``."""
        return Draw(self)


class Draw(NamedTuple):
    """The method ``random`` of a generator."""

    generator: Generator


NUMBERS = (Number, bool, int, float, np.generic)
TRUTHS: tuple[type, ...] = (bool, np.bool_)
UINT64: Any = np.uint64


def leaves(value: Any) -> list[Any]:
    """Return the numbers within a value."""
    if isinstance(value, NUMBERS):
        return [value]
    if isinstance(value, Array):
        return [value.data, *value.shape, *(value.strides or ())]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else []


def rebuilt(value: Any, given: Iterator[Any]) -> Any:
    """Return a value of the same structure with other numbers."""
    if isinstance(value, NUMBERS):
        return next(given)
    if isinstance(value, Array):
        data, shape = next(given), tuple(next(given) for _ in value.shape)
        strides = value.strides and [next(given) for _ in value.strides]
        return Array(data, value.dtype, shape, strides, value.lanes)
    if isinstance(value, tuple):
        items = [rebuilt(item, given) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def kinds_of(value: Any) -> Any:
    """Return the kinds of numbers within a value, and its other parts."""
    if isinstance(value, NUMBERS):
        return value.kind if isinstance(value, Number) else type(value)
    if isinstance(value, Array):
        return value.dtype.str, len(value.shape), value.strides is None, value.lanes
    if isinstance(value, tuple):
        return (type(value), *map(kinds_of, value))
    return type(value), value if isinstance(value, Hashable) else id(value)


def is_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Range | Generator | Draw)


def common_kind(one: str, other: str) -> str:
    """Return the kind to which two numbers are converted."""
    kinds = {one, other}
    if len(kinds) > 1 and kinds & VECTORS.keys():
        return "truths" if kinds <= {"truth", "truths"} else "floats"
    return one if len(kinds) == 1 else max(one, other, key=_WIDENING.index)


def wider_kind(one: str, other: str) -> str:
    """Return the narrowest kind of a variable for both numbers, or an empty string."""
    fixed = one != other and {one, other} & {"unsigned", "address"}
    return "" if fixed else common_kind(one, other)


def element_type(dtype: "np.dtype[Any]") -> str:
    """Return LLVM's type of the entries of an array, or an empty string."""
    known = dtype.itemsize == 8 if dtype.kind == "f" else dtype.kind in "iub"
    if not (known and dtype.isnative):
        return ""
    return "double" if dtype.kind == "f" else f"i{8 * dtype.itemsize}"


def is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS)
