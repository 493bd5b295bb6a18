"""From patterns to machine code, kept on disk."""

import hashlib
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core.dispatcher import Dispatcher

from regretkit.engine import _kernels
from regretkit.engine._payoffs import Ends, Matrix, Tensor

_FORMS: dict[str, Any] = {"Matrix": Matrix, "Ends": Ends, "Tensor": Tensor}
_EARNERS: dict[str, Any] = {
    "Matrix": _kernels.earn_matrix,
    "Ends": _kernels.earn_ends,
    "Tensor": _kernels.earn_tensor,
}

_LOOSE = {"reassoc", "contract", "nsz"}
"""What may happen to the order of sums over payoffs, and to nothing else."""


_OUTER: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@cache
def iterations(
    propose: Callable[..., None], learn: Callable[..., None], payoffs: str
) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for a rule and a kind of payoffs, as machine code."""
    parts = {"propose": jitted(propose), "learn": jitted(learn), "earn": earner(payoffs)}
    mark = _mark([propose, learn, _EARNERS[payoffs]])
    parts["earn_all"] = _inner(_filled(_kernels.earn_all, parts))
    parts["backward"] = _inner(_filled(_kernels.backward, parts))
    parts |= {name: _inner(getattr(_kernels, name)) for name in ("forward", "stay")}
    return _kept(_kernels.begin, parts, mark), _kept(_kernels.iterate, parts, mark)


class Passes(NamedTuple):
    """Parts of an iteration, as machine code, each for one player."""

    rise: Any
    fall: Any


@cache
def passes(payoffs: str) -> Passes:
    """Return the parts of an iteration in which no rule is involved, for a kind of payoffs."""
    parts = {"earn": earner(payoffs), "form": _FORMS[payoffs]}
    parts |= {name: _inner(getattr(_kernels, name)) for name in ("climb", "forward")}
    mark = _mark([_EARNERS[payoffs]])
    return Passes(_kept(_kernels.rise, parts, mark), _kept(_kernels.fall, parts, mark))


@cache
def earner(payoffs: str) -> Any:
    """Return how to work out one kind of payoffs, as machine code."""
    loose = {"fastmath": _LOOSE}
    parts = {name: _inner(getattr(_kernels, name), **loose) for name in ("add_up", "multiply")}
    return _inner(_filled(_EARNERS[payoffs], parts), **loose)


def jitted(function: Any) -> Any:
    """Return a function as machine code, and with it those that it calls."""
    if isinstance(function, Dispatcher):
        return function
    helpers = {
        name: jitted(value)
        for name, value in _used(function)
        if isinstance(value, types.FunctionType) and value is not function
    }
    return _inner(_filled(function, helpers), inline="always")


def _inner(function: Any, **options: Any) -> Any:
    # Divisions as NumPy's: no look at every divisor before it is used. And nobody counts who holds
    # an array, which would take as long as the arithmetic: the caller holds them all.
    options |= {"error_model": "numpy", "_nrt": False}
    return numba.njit(**options)(function)


def _filled(function: Any, names: dict[str, Any]) -> Any:
    """Return a function in which some names from outside mean something else."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    filled = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names.get(name, cell.cell_contents)) for name, cell in cells),
    )
    filled.__module__ = function.__module__
    return filled


def _kept(function: Any, names: dict[str, Any], mark: str) -> Any:
    """Return a pattern, filled in, as machine code that is kept on disk under its mark."""
    filled = _filled(function, names)
    # Numba keeps code under the name of its function, and knows nothing of what that calls.
    filled.__qualname__ = f"{function.__qualname__}_{mark}"
    try:
        return numba.njit(cache=True, **_OUTER)(filled)
    except RuntimeError:  # there is nowhere to keep it
        return numba.njit(**_OUTER)(filled)


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def _mark(functions: list[Any]) -> str:
    """Return a name for all that decides what functions do: their code, and what that uses."""
    digest = hashlib.sha256(Path(__file__).read_bytes())  # how things are compiled counts as well
    seen: set[Any] = set()
    waiting = [getattr(function, "py_func", function) for function in functions]
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        code = function.__code__
        digest.update(repr((code.co_code, code.co_consts, code.co_names)).encode())
        for name, value in _used(function):
            value = getattr(value, "py_func", value)
            if isinstance(value, types.FunctionType):
                waiting.append(value)
            digest.update(f"{name}={getattr(value, '__qualname__', value)!r}".encode())
    return digest.hexdigest()[:16]
