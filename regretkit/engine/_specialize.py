"""From patterns to machine code, kept on disk."""

import hashlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from regretkit.engine import _kernels, _operations, _worth
from regretkit.engine._code_cache import keep_on_disk
from regretkit.engine._mixture import sized, without_size
from regretkit.engine._operations import Code
from regretkit.engine._payoffs import Ends, Matrix, Tensor
from regretkit.minimizers._kernel import Kernel

_FORMS: dict[str, Any] = {"Matrix": Matrix, "Ends": Ends, "Tensor": Tensor}
_EARNERS: dict[str, Any] = {
    "Matrix": _worth.earn_matrix,
    "Ends": _worth.earn_ends,
    "Tensor": _worth.earn_tensor,
}

Filling: TypeAlias = dict[Any, Any]
"""What takes the place of each function that a pattern leaves open."""


_MEASURERS: dict[str, Any] = {
    "Matrix": _worth.measure_matrix,
    "Ends": _worth.measure_ends,
    "Tensor": _worth.measure_tensor,
}


def filling_for(kernel: Kernel, payoffs: str, *, exact_ties: bool = False) -> Filling:
    """Return what patterns leave open, for a rule and a kind of payoffs."""
    return {
        _kernels.propose: sized(kernel) if exact_ties else without_size(kernel.propose),
        _kernels.learn: kernel.learn,
        _kernels.settle_regrets: kernel.settle_regrets,
        _kernels.earn: _EARNERS[payoffs],
        _kernels.measure: _MEASURERS[payoffs],
    }


def iterations(kernel: Kernel, payoffs: str, *, exact_ties: bool = False) -> tuple[Any, Any]:
    """Return ``begin`` and ``iterate`` for a rule and a kind of payoffs, as machine code."""
    filling = filling_for(kernel, payoffs, exact_ties=exact_ties)
    return _kept(_kernels.begin, filling), _kept(_kernels.iterate, filling)


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
        add=_kept(_operations.add, {}, two),
        regret=_kept(_operations.compare, {}, two),
        normalize=_kept(_operations.share_out, {}, one),
    )


_APART = 1
"""So far below a pattern, functions are compiled by themselves before they are put in line, which
takes less long. What they call is put in line first: there a number of actions may be known, and
the compiler has to see it to make no loop."""


_RARE = {_kernels.settle}
"""What is called so rarely that its code would only be in the way of what is there each time."""


def jitted(function: Any, filling: Filling, apart: int = _APART) -> Any:
    """Return a function as machine code, and with it those that it calls."""
    function = _plain(function)
    filled = _filled(function, _helpers(function, filling, apart - 1))
    if function in _RARE:
        return _jit(filled)
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
    """Return the Python function of a compiled one."""
    return function.py_func if isinstance(function, Dispatcher) else function


def _jit(function: Any, **options: Any) -> Any:
    # Division as in NumPy, without a check of every divisor. And no reference counting of arrays,
    # which would take as long as the arithmetic: the caller holds references to all of them.
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
        made = _jit(filled, nogil=True)
        if isinstance(made, Dispatcher):
            keep_on_disk(made)
        if signature is not None:
            made.compile(signature)
            made.disable_compile()
        _KEPT[pattern.__qualname__, mark] = made
    return _KEPT[pattern.__qualname__, mark]


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
                    # Not getattr: the code may mean a builtin by a name at which a module warns.
                    digest.update(inner.encode() + _constant(vars(value).get(inner)))
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
