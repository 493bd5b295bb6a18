"""From patterns to machine code, kept on disk."""

import hashlib
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from regretkit.engine import _gate, _kernels, _shares, _worth
from regretkit.engine._payoffs import Ends, Matrix, Tensor

_FORMS: dict[str, Any] = {"Matrix": Matrix, "Ends": Ends, "Tensor": Tensor}
_EARNERS: dict[str, Any] = {
    "Matrix": _worth.earn_matrix,
    "Ends": _worth.earn_ends,
    "Tensor": _worth.earn_tensor,
}
_SHARERS: dict[str, Any] = {
    "Matrix": _shares.earn_matrix,
    "Ends": _shares.earn_ends,
    "Tensor": _shares.earn_tensor,
}

_SHARED = (
    *("climb_own", "climb_top", "descend", "turn_around"),
    *("earn_all", "move", "stay", "remember"),
)
"""What ``share`` is put together from, each after those that it needs."""

_LOOSE = {"reassoc", "contract", "nsz"}
"""What may happen to the order of sums over payoffs, and to nothing else."""


_OUTER: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@cache
def iterations(
    propose: Callable[..., None], learn: Callable[..., None], payoffs: str
) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for a rule and a kind of payoffs, as machine code."""
    parts = {"propose": jitted(propose), "learn": jitted(learn), "earn": earner(payoffs)}
    parts["worth_of"] = jitted(_kernels.worth_of)
    mark = _mark([propose, learn, _EARNERS[payoffs]])
    parts["earn_all"] = _inner(_filled(_kernels.earn_all, parts, mark))
    parts["backward"] = _inner(_filled(_kernels.backward, parts, mark))
    parts |= {name: _inner(getattr(_kernels, name)) for name in ("forward", "stay")}
    return _kept(_kernels.begin, parts, mark), _kept(_kernels.iterate, parts, mark)


@cache
def shared_iterations(
    propose: Callable[..., None],
    learn: Callable[..., None],
    payoffs: str,
    last_to_come: Callable[..., bool] = _gate.last_to_come,
) -> Any:
    """Return ``share`` for a rule and a kind of payoffs, as machine code."""
    mark = _mark([propose, learn, _SHARERS[payoffs], last_to_come])
    parts = {"propose": jitted(propose), "learn": jitted(learn)} | _sums()
    parts |= {"last_to_come": _inner(last_to_come), "open_up": _inner(_gate.open_up)}
    parts["worth_of"] = jitted(_kernels.worth_of)
    parts["wait"] = _inner(_filled(_shares.wait, parts, mark))
    parts["earn"] = _inner(_filled(_SHARERS[payoffs], parts, mark))
    for name in _SHARED:
        parts[name] = _inner(_filled(getattr(_shares, name), parts, mark))
    return _kept(_shares.share, parts, mark)


class Passes(NamedTuple):
    """Parts of an iteration, as machine code, each for one player."""

    rise: Any
    fall: Any


@cache
def passes(payoffs: str) -> Passes:
    """Return the parts of an iteration in which no rule is involved, for a kind of payoffs."""
    parts = {"earn": earner(payoffs), "form": _FORMS[payoffs]}
    parts["climb"] = _inner(_filled(_kernels.climb, {"worth_of": jitted(_kernels.worth_of)}))
    parts["forward"] = _inner(_kernels.forward)
    mark = _mark([_EARNERS[payoffs]])
    return Passes(_kept(_kernels.rise, parts, mark), _kept(_kernels.fall, parts, mark))


@cache
def earner(payoffs: str) -> Any:
    """Return how to work out one kind of payoffs, as machine code."""
    return _inner(_filled(_EARNERS[payoffs], _sums()), fastmath=_LOOSE)


@cache
def _sums() -> dict[str, Any]:
    """Return the sums over payoffs, as machine code."""
    names = ("add_up", "multiply", "multiply_out")
    parts = {name: _inner(getattr(_worth, name), fastmath=_LOOSE) for name in names}
    # In order: here the compiler was seen to order sums otherwise for several threads.
    return parts | {"add_ends": _inner(_worth.add_ends)}


def jitted(function: Any) -> Any:
    """Return a function as machine code, and with it those that it calls."""
    function = _plain(function)
    helpers = {
        name: jitted(value)
        for name, value in _used(function)
        if isinstance(_plain(value), types.FunctionType) and value is not function
    }
    return _inner(_filled(function, helpers), inline="always")


def _plain(function: Any) -> Any:
    """Return a function as it was before somebody compiled it."""
    return function.py_func if isinstance(function, Dispatcher) else function


def _inner(function: Any, **options: Any) -> Any:
    # Divisions as NumPy's: no look at every divisor before it is used. And nobody counts who holds
    # an array, which would take as long as the arithmetic: the caller holds them all.
    options |= {"error_model": "numpy", "_nrt": False}
    return numba.njit(**options)(function)


def _filled(function: Any, names: dict[str, Any], mark: str = "") -> Any:
    """Return a function in which some names from outside mean something else.

    Numba knows machine code by the name of its function, on disk and where parts are linked, and
    nothing of what that calls: with a mark, functions that call different ones have two names.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    filled = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names.get(name, cell.cell_contents)) for name, cell in cells),
    )
    filled.__module__ = function.__module__
    filled.__kwdefaults__ = function.__kwdefaults__
    filled.__qualname__ = f"{function.__qualname__}_{mark}" if mark else function.__qualname__
    return filled


def _kept(function: Any, names: dict[str, Any], mark: str) -> Any:
    """Return a pattern, filled in, as machine code that is kept on disk under its mark."""
    filled = _filled(function, names, mark)
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
    for pattern in ("_gate", "_kernels", "_shares", "_worth"):
        digest.update((Path(__file__).parent / f"{pattern}.py").read_bytes())
    seen: set[Any] = set()
    waiting = [_plain(function) for function in functions]
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        code = function.__code__
        digest.update(repr((code.co_code, code.co_consts, code.co_names)).encode())
        digest.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
        for name, value in _used(function):
            value = _plain(value)
            if isinstance(value, types.FunctionType):
                waiting.append(value)
            digest.update(f"{name}={getattr(value, '__qualname__', value)!r}".encode())
            if isinstance(value, np.ndarray):  # of which only a part is shown
                digest.update(value.tobytes())
    return digest.hexdigest()[:16]
