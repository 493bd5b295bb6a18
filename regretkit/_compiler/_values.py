"""Values during translation: Python constants, and numbers of LLVM."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np


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
TYPES |= {"floats": f"<{LANES} x double>", "truths": f"<{LANES} x i1>"}
"""LLVM's types of numbers, by kind. Integer types have no sign."""
_WIDENING = ["truth", "natural", "integer", "float"]
"""Kinds of variables; each kind can hold the previous ones. A natural is an integer >= 0."""


class _Unknown:
    """A value of the run time, which Python cannot compare."""

    __slots__ = ()

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a comparison of values that are not numbers")

    def __bool__(self) -> NoReturn:
        raise TypeError("an array or a number as a condition")


class Number(_Unknown):
    """A number in machine code: a register or a constant, as LLVM writes it."""

    __slots__ = "kind", "least", "text"

    def __init__(self, text: str, kind: str, least: int | None = None) -> None:
        self.text, self.kind, self.least = text, kind, least
        """``least`` is a lower bound of an integer unless it wrapped around, None if unknown."""

    @property
    def variable_kind(self) -> str:
        """The kind of a variable for this number."""
        return "natural" if self.kind == "integer" and self.natural else self.kind

    @property
    def natural(self) -> bool:
        """Whether the number is provably nonnegative."""
        return self.kind == "unsigned" or (self.least is not None and self.least >= 0)


class Array(_Unknown):
    """Numbers in memory; ``strides`` are in bytes, None if contiguous."""

    __slots__ = "argument", "data", "dtype", "lanes", "shape", "strides"

    def __init__(
        self,
        data: Any,
        dtype: "np.dtype[Any]",
        shape: Sequence[Any],
        strides: Any = None,
        *,
        lanes: bool = False,
        argument: str = "",
    ) -> None:
        self.data, self.dtype, self.shape, self.strides = data, dtype, tuple(shape), strides
        self.lanes = lanes
        """Whether an entry is a vector: this number and the next ones."""
        self.argument = argument
        """The address of the Python object that owns the memory, empty if unknown."""

    def part(self, data: Any, shape: Sequence[Any], strides: Any) -> "Array":
        """Return an array with other data and shape in the same memory."""
        return Array(
            data,
            self.dtype,
            shape,
            strides,
            lanes=self.lanes,
            argument=self.argument,
        )


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
        data, shape = next(given), [next(given) for _ in value.shape]
        strides = value.strides and [next(given) for _ in value.strides]
        return Array(data, value.dtype, shape, strides, lanes=value.lanes)
    if isinstance(value, tuple):
        items = [rebuilt(item, given) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def structure(value: Any) -> Any:
    """Return a value without its numbers, in hashable form."""
    if isinstance(value, NUMBERS):
        return None
    if isinstance(value, Array):
        flags = value.strides is None, value.lanes
        return value.dtype.str, len(value.shape), flags
    if isinstance(value, tuple):
        return (type(value), *map(structure, value))
    return type(value), value if isinstance(value, Hashable) else id(value)


def signature_of(value: Any) -> Any:
    """Return everything about an argument that affects the code: kinds and constants."""
    numbers = leaves(value)
    kinds = (x.variable_kind if isinstance(x, Number) else (type(x), repr(x)) for x in numbers)
    return structure(value), tuple(kinds)


def kinds_of(value: Any) -> Any:
    """Return a coarser key: constants by kind, numbers without bounds."""
    kinds = (x.kind if isinstance(x, Number) else type(x) for x in leaves(value))
    return structure(value), tuple(kinds)


def is_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Range | Generator | Draw)


def varies(value: Any) -> bool:
    return any(isinstance(leaf, Number) for leaf in leaves(value))


def wider_kind(one: str, other: str) -> str:
    """Return the narrowest kind that holds both, or an empty string."""
    if one == other:
        return one
    if {one, other} & {"floats", "truths"}:
        return "truths" if {one, other} <= {"truth", "truths"} else "floats"
    if one not in _WIDENING or other not in _WIDENING:
        return ""
    return max(one, other, key=_WIDENING.index)


def element_type(dtype: "np.dtype[Any]") -> str:
    """Return LLVM's type of the entries of an array, or an empty string."""
    if (
        not dtype.isnative
        or dtype.kind not in "iubf"
        or (dtype.kind == "f" and dtype.itemsize != 8)
    ):
        return ""
    return "double" if dtype.kind == "f" else f"i{8 * dtype.itemsize}"


def is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS)
