"""From patterns to machine code, kept on disk."""

import contextlib
import hashlib
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from regretkit.engine import _gate, _kernels, _operations, _shares, _worth
from regretkit.engine._operations import Code
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

Filling: TypeAlias = dict[Any, Any]
"""What takes the place of each function that a pattern leaves open."""


def filling_for(propose: Callable[..., None], learn: Callable[..., None], payoffs: str) -> Filling:
    """Return what patterns leave open, for a rule and a kind of payoffs."""
    return {_kernels.propose: propose, _kernels.learn: learn, _kernels.earn: _EARNERS[payoffs]}


def iterations(
    propose: Callable[..., None], learn: Callable[..., None], payoffs: str
) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for a rule and a kind of payoffs, as machine code."""
    filling = filling_for(propose, learn, payoffs)
    return _kept(_kernels.begin, filling), _kept(_kernels.iterate, filling)


def shared_iterations(
    propose: Callable[..., None],
    learn: Callable[..., None],
    payoffs: str,
    last_to_come: Callable[..., bool] = _gate.last_to_come,
) -> Any:
    """Return ``share`` for a rule and a kind of payoffs, as machine code."""
    filling = {_kernels.propose: propose, _kernels.learn: learn, _shares.earn: _SHARERS[payoffs]}
    return _kept(_shares.share, filling | {_gate.last_to_come: last_to_come}, apart=2)


class Passes(NamedTuple):
    """Parts of an iteration, as machine code, each for one player."""

    rise: Any
    fall: Any


def passes(payoffs: str) -> Passes:
    """Return the parts of an iteration in which no rule is involved, for a kind of payoffs."""
    filling = {_kernels.earn: _EARNERS[payoffs], _kernels.form: _FORMS[payoffs]}
    return Passes(_kept(_kernels.rise, filling), _kept(_kernels.fall, filling))


def operations() -> Code:
    """Return the operations of simplices as machine code."""
    # What is read may be read-only or not; told so beforehand, it is compiled once for both.
    narrow, result = numba.uint32[::1], numba.float64[::1]
    given = numba.types.Array(numba.float64, 1, "C", readonly=True)
    one, two = numba.void(narrow, given, result), numba.void(narrow, given, given, result)
    return Code(
        sum=_kept(_operations.add_up, {}, one),
        dot=_kept(_operations.multiply, {}, two),
        max=_kept(_operations.look_up, {}, one),
        regret=_kept(_operations.compare, {}, two),
        normalize=_kept(_operations.share_out, {}, one),
    )


_APART = 1
"""So far below a pattern, functions are compiled by themselves before they are put in line, which
takes less long. What they call is put in line first: there a number of actions may be known, and
the compiler has to see it to make no loop."""


def jitted(function: Any, filling: Filling, apart: int = _APART) -> Any:
    """Return a function as machine code, and with it those that it calls."""
    function = _plain(function)
    filled = _filled(function, _helpers(function, filling, apart - 1))
    return _jit(filled, forceinline=True) if apart > 0 else _jit(filled, inline="always")


def _helpers(function: Any, filling: Filling, apart: int = _APART) -> dict[str, Any]:
    """Return what a function calls, by name, as machine code."""
    helpers = {}
    for name, value in _used(function):
        helper = _plain(filling.get(_plain(value), value) if callable(value) else value)
        if isinstance(helper, types.FunctionType) and helper is not function:
            helpers[name] = jitted(helper, filling, apart)
        elif helper is not value:
            helpers[name] = helper
    return helpers


def _plain(function: Any) -> Any:
    """Return a function as it was before somebody compiled it."""
    return function.py_func if isinstance(function, Dispatcher) else function


def _jit(function: Any, **options: Any) -> Any:
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


_KEPT: dict[tuple[str, str], Any] = {}
"""Machine code of this process, by the names of patterns and their marks."""


def _kept(pattern: Any, filling: Filling, signature: Any = None, apart: int = _APART) -> Any:
    """Return a pattern, filled in, as machine code that is kept on disk."""
    mark = _mark(pattern, filling, apart)
    # Looked up by mark: who changes a constant that a function uses gets other machine code.
    if (pattern.__qualname__, mark) not in _KEPT:
        filled = _filled(pattern, _helpers(pattern, filling, apart), mark)
        options: dict[str, Any] = {"nogil": True}
        if signature is not None:
            options["signature_or_function"] = [signature]
        try:
            made = _jit(filled, cache=True, **options)
            if isinstance(made, Dispatcher):
                kept: Any = made
                kept._cache.save_overload = _where_there_is_room(kept._cache.save_overload)
        except RuntimeError:  # there is nowhere to keep it
            made = _jit(filled, **options)
        _KEPT[pattern.__qualname__, mark] = made
    return _KEPT[pattern.__qualname__, mark]


def _where_there_is_room(save: Callable[..., None]) -> Callable[..., None]:
    """Return what saves machine code unless that fails, after which the code runs all the same."""

    def saved(*what: Any) -> None:
        with contextlib.suppress(OSError):
            save(*what)

    return saved


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def _mark(pattern: Any, filling: Filling, apart: int = _APART) -> str:
    """Return a name for all that decides what a pattern does: its code, and what that uses."""
    digest = hashlib.sha256(Path(__file__).read_bytes())  # how things are compiled counts as well
    digest.update(repr(apart).encode())
    numbers: dict[Any, int] = {pattern: 0}
    waiting = [pattern]
    while waiting:
        function = waiting.pop()
        digest.update(_code(function.__code__))
        digest.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
        for name, value in _used(function):
            value = _plain(filling.get(_plain(value), value) if callable(value) else value)
            if isinstance(value, types.FunctionType):
                # By number: closures of one definition have one name, and are not the same.
                if value not in numbers:
                    numbers[value] = len(numbers)
                    waiting.append(value)
                digest.update(f"{name}=#{numbers[value]}".encode())
            elif isinstance(value, types.ModuleType):
                digest.update(f"{name}={value.__name__}".encode())
                for inner in function.__code__.co_names:
                    digest.update(inner.encode() + _constant(getattr(value, inner, None)))
            else:
                digest.update(name.encode() + _constant(value))
    return digest.hexdigest()[:16]


def _code(code: types.CodeType) -> bytes:
    """Return what decides what code does; the text of a code within has its place in memory."""
    inner = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, inner, code.co_names, code.co_freevars)).encode()


def _constant(value: object) -> bytes:
    """Return what code that uses a value depends on, as far as it is plain."""
    if isinstance(value, np.ndarray):  # of which only a part is shown
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    plain = isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic)
    return repr(value if plain else getattr(value, "__qualname__", type(value))).encode()
