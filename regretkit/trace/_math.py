"""Functions of math on symbols."""

import contextlib
import functools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from regretkit.trace._symbols import Symbol, apply


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
    "hypot": "hypot",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "atan": "arctan",
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


@contextlib.contextmanager
def symbolic_math(namespaces: list[dict[str, Any]]) -> Iterator[None]:
    """Let ``math``, and what these namespaces imported from it, take symbols.

    Numbers are what they were, in other threads as well.
    """
    with _LOCK:
        changed: list[tuple[dict[str, Any], str, Any]] = []
        try:
            for namespace in [vars(math), *namespaces]:
                for name, value in list(namespace.items()):
                    known = _ACTUAL.get(id(value))
                    if known is not None:
                        changed.append((namespace, name, value))
                        namespace[name] = _SYMBOLIC[known]
            yield
        finally:
            for namespace, name, value in changed:
                namespace[name] = value
