"""Functions of math on symbols, and new arrays of NumPy as symbols."""

import contextlib
import functools
import math
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from regretkit.trace._symbols import RAISED, Symbol, Trace, apply


def _scalar_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*values: Any) -> Any:
        if any(isinstance(value, Symbol) for value in values):
            return apply(name, *values)
        return function(*values)

    return call


_MATH = {
    "sqrt": "sqrt",
    "exp": "exp",
    "expm1": "expm1",
    "log1p": "log1p",
    "log2": "log2",
    "log10": "log10",
    "pow": "power",
    "fabs": "absolute",
    "fmod": "fmod",
    "hypot": "hypot",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "atan": "arctan",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "trunc": "trunc",
    "floor": "floor",
    "ceil": "ceil",
    "isfinite": "isfinite",
    "isnan": "isnan",
    "isinf": "isinf",
}
_LOCK = threading.RLock()


def _log(*values: Any) -> Any:
    if any(isinstance(value, Symbol) for value in values):
        logarithms = [
            apply("log", value) if isinstance(value, Symbol) else np.log(value) for value in values
        ]
        return logarithms[0] if len(values) == 1 else logarithms[0] / logarithms[1]
    return _ACTUAL_LOG(*values)


_ACTUAL_LOG = math.log
_SYMBOLIC = {name: _scalar_function(getattr(math, name), op) for name, op in _MATH.items()}
_SYMBOLIC["log"] = _log
_ACTUAL = {id(getattr(math, name)): name for name in _SYMBOLIC}


_NEW = ("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like")
_ACTUAL |= {id(getattr(np, name)): name for name in _NEW}
_ACTUAL[id(np)] = "numpy"


class _NumPy(types.ModuleType):
    """NumPy, but for functions that make new arrays.

    In its own namespace they stay as they are: its compiled code calls them too.
    """

    def __init__(self, functions: dict[str, Any]) -> None:
        super().__init__("numpy")
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


Place: TypeAlias = tuple[dict[str, Any], str, Any]
"""A namespace, a name in it, and what is known there by that name."""


def places_of_functions(namespaces: list[dict[str, Any]]) -> list[Place]:
    """Return where functions of math and those that make new arrays are, also under other names."""
    spaces = [math.__dict__, *namespaces]
    named = [(space, name, value) for space in spaces for name, value in space.items()]
    return [place for place in named if id(place[2]) in _ACTUAL]


@contextlib.contextmanager
def symbolic_functions(places: list[Place], trace: Trace) -> Iterator[None]:
    """Let functions of ``math`` take symbols, and new arrays by action or block be symbols.

    All else is what it was, in other threads as well. A refusal that a rule's code caught is raised
    again.
    """
    new = {name: _new(name, trace) for name in _NEW}
    symbolic = {**_SYMBOLIC, **new, "numpy": _NumPy(new)}
    with _LOCK:
        try:
            for namespace, name, value in places:
                namespace[name] = symbolic[_ACTUAL[id(value)]]
            RAISED.last = None
            yield
            if RAISED.last is not None:
                raise RAISED.last
        finally:
            for namespace, name, value in places:
                namespace[name] = value


def _new(name: str, trace: Trace) -> Callable[..., Any]:
    """Return a function that makes new arrays, those by action or block as symbols."""
    function, thread = getattr(np, name), threading.get_ident()

    @functools.wraps(function)
    def call(like: Any, *values: Any, **options: Any) -> Any:
        if threading.get_ident() != thread:
            return function(like, *values, **options)
        if name.startswith("full") and any(isinstance(v, Symbol) for v in values):
            filled = call(like, 0.0, **options)
            filled[...] = values[0]
            return filled
        array = function(like, *values, **options)
        if type(array) is not np.ndarray or array.dtype not in (np.float64, np.bool_):
            return array
        if name.startswith("empty"):
            array.fill(0)
        return trace.new(array)

    return call
