"""Functions of Python, ``math`` and NumPy within the subset."""

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from regretkit._compiler._source import lanes, width
from regretkit._compiler._values import Array, Number, Range

if TYPE_CHECKING:
    from regretkit._compiler._translator import Translator

_Compute: TypeAlias = Callable[..., Any]

INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign"}
_LIBRARY = {
    *("exp", "expm1", "log", "log1p", "log2", "log10", "pow", "fmod", "hypot"),
    *("sin", "cos", "tan", "atan", "sinh", "cosh", "tanh"),
}
"""Functions of the C library that have the same name in ``math``."""


def function_of(function: Any) -> _Compute | None:
    """Return the translation of a function of Python or NumPy, None outside the subset."""
    if not callable(function):
        return None
    if function in _COMPUTED:
        return _COMPUTED[function]
    name, of_math = getattr(function, "__name__", ""), getattr(function, "__module__", "") == "math"
    if not (of_math or isinstance(function, np.ufunc)) or name not in INTRINSICS | _LIBRARY:
        return None

    def compute(translator: "Translator", *given: Any) -> Any:
        if not any(isinstance(x, Number) for x in given):
            return function(*given)
        whole = name in ("floor", "ceil", "trunc")
        if whole and isinstance(given[0], Number) and not given[0].kind.startswith("float"):
            return given[0]
        value = translator.library(name, *given)
        if whole and of_math and value.kind == "float":
            return translator.call(int, [value], {})
        return value  # vectors have no integer kind

    return compute


def _converter(kind: str, make: Callable[[Any], Any]) -> _Compute:
    """Return the translation of a conversion."""

    def compute(translator: "Translator", given: Any = 0) -> Any:
        if not isinstance(given, Number):
            return make(given)
        least = given.least if kind == "integer" and given.kind == "integer" else None
        least = 0 if kind == "integer" and given.kind == "truth" else least
        if given.kind in ("floats", "truths") and kind == "float":
            return Number(translator.converted(given, "floats"), "floats")
        return Number(translator.converted(given, kind), kind, least)

    return compute


def _narrowed(translator: "Translator", given: Any) -> Any:
    if not isinstance(given, Number):
        return int(given) & 0xFFFFFFFF
    whole = translator.converted(given, "integer")
    return translator.emitted("integer", f"and i64 {whole}, 4294967295", 0)


def _extreme(comparison: type[ast.cmpop]) -> _Compute:
    """Return the translation of Python's ``max`` or ``min``."""

    def compute(translator: "Translator", found: Any, *others: Any) -> Any:
        for other in others:
            test = translator.compare(comparison, other, found)
            found = translator.either(test, partial(_same, other), partial(_same, found))
        return found

    return compute


def _same(value: Any) -> Any:
    return value


def _absolute(translator: "Translator", given: Any) -> Any:
    if not isinstance(given, Number):
        return abs(given)
    if given.kind in ("float", "floats"):
        return translator.library("fabs", given)
    if given.kind in ("truth", "unsigned"):
        return given
    negative, test = translator.binary(ast.Sub, 0, given), translator.compare(ast.Lt, given, 0)
    return translator.chosen(test, negative, given, 0)


def _is_instance(translator: "Translator", value: Any, kind: Any) -> Any:
    return isinstance(value, kind)


def _length(translator: "Translator", given: Any) -> Any:
    return given.shape[0] if isinstance(given, Array) else len(given)


def _range(translator: "Translator", *ends: Any) -> Any:
    if not any(isinstance(end, Number) for end in ends):
        return range(*ends)
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    return Range(start, stop, step)


def _rounded(translator: "Translator", given: Any) -> Any:
    if not isinstance(given, Number) or given.kind != "float":
        return round(given) if not isinstance(given, Number) else given
    return translator.call(int, [translator.library("rint", given)], {})


def _is_finite(x: float) -> bool:
    return abs(x) < math.inf


def _is_infinite(x: float) -> bool:
    return abs(x) == math.inf


def _is_nan(x: float) -> bool:
    return x != x


def _inlined(function: Any) -> _Compute:
    return lambda translator, *given: translator.call(function, list(given), {})


def clamped(begin: int, end: int, size: int) -> tuple[int, int]:
    """Return the ends of a slice within an array, by Python's rules."""
    begin = begin + size if begin < 0 else begin
    end = end + size if end < 0 else end
    first = min(max(begin, 0), size)
    return first, max(min(end, size), first)


def floor_divide(x: float, y: float) -> float:
    """Return the quotient of floats, rounded down as Python and NumPy do."""
    if y == 0.0:
        return x / y
    rest = math.fmod(x, y)
    quotient = (x - rest) / y  # an integer up to rounding
    if rest != 0.0 and (y < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return math.copysign(0.0, x / y)
    whole: float = np.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def remainder(x: float, y: float) -> float:
    """Return the remainder of floats, with the sign of the divisor as in Python and NumPy."""
    rest = math.fmod(x, y)
    if rest == 0.0:
        return math.copysign(0.0, y)
    return rest + y if (y < 0.0) != (rest < 0.0) else rest


_COMPUTED: dict[Any, _Compute] = {
    range: _range,
    len: _length,
    abs: _absolute,
    round: _rounded,
    isinstance: _is_instance,
    width: lambda translator: translator.width,
    lanes: lambda translator, *given: translator.in_lanes(*given),
    min: _extreme(ast.Lt),
    max: _extreme(ast.Gt),
    np.uint32: _narrowed,
    math.isfinite: _inlined(_is_finite),
    math.isinf: _inlined(_is_infinite),
    math.isnan: _inlined(_is_nan),
}
for _kind, _makers in {
    "float": (float, np.float64),
    "integer": (int, np.int64),
    "truth": (bool, np.bool_),
    "unsigned": (np.uint64,),
}.items():
    _COMPUTED |= dict.fromkeys(_makers, _converter(_kind, _makers[0]))
