"""Machine code: functions with placeholders are specialized, compiled by Numba, and cached on disk.

Numba compiles a function with what it calls by name. Passing a rule's kernel as an argument would
cost a call per decision point; so the placeholders of :mod:`regretkit.engine.kernels` are replaced
by name, once for each combination of kernel and payoffs.

Numba's own cache trusts its files: a truncated one makes every later compilation fail until it is
deleted by hand, and a damaged one may run as other code. Here each file begins with a digest of
its content and of its purpose; a file that does not match is deleted, and compiled again.
"""

import contextlib
import hashlib
import math
import pickle
import sys
import types
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from regretkit._util._files import replace_file
from regretkit._util._typing import Vector
from regretkit.engine import _block_ops
from regretkit.engine._block_ops import BlockFunctions
from regretkit.engine._layout import DensePayoffs, SparsePayoffs, TerminalPayoffs
from regretkit.engine.kernels import _iteration, _payoffs, _sampled
from regretkit.estimators.flat._traversal import (
    Choose,
    even_search_start,
    search_start,
    update_baseline,
    walker,
)
from regretkit.minimizers._kernel import BlockFunction, Kernel

Specialization: TypeAlias = dict[Any, Any]
"""The function that replaces each placeholder."""

_UTILITY: Specialization = {
    SparsePayoffs: _payoffs.sparse_utility,
    TerminalPayoffs: _payoffs.terminal_utility,
    DensePayoffs: _payoffs.dense_utility,
}
_MAGNITUDE: Specialization = {
    SparsePayoffs: _payoffs.sparse_magnitude,
    TerminalPayoffs: _payoffs.terminal_magnitude,
    DensePayoffs: _payoffs.dense_magnitude,
}


# What engines ask for


class IterationCode(NamedTuple):
    """Iterations of a kernel, as machine code."""

    initialize: Any
    iterate: Any


def compile_iterations(kernel: Kernel, payoffs: type, *, exact_ties: bool = False) -> IterationCode:
    """Return the machine code of iterations for a kernel and a kind of payoffs."""
    specialization = specialize(kernel, payoffs, exact_ties=exact_ties)
    return IterationCode(
        compile_cached(_iteration.initialize, specialization),
        compile_cached(_iteration.iterate, specialization),
    )


def specialize(kernel: Kernel, payoffs: type, *, exact_ties: bool = False) -> Specialization:
    """Return the replacements of all placeholders for a kernel and a kind of payoffs."""
    sized = exact_ties and kernel.traits.returns_size
    return {
        _iteration.propose: kernel.propose if sized else _without_size(kernel.propose),
        _iteration.learn: kernel.learn,
        _iteration.settle_regrets: kernel.settle_regrets,
        _iteration.compute_utility: _UTILITY[payoffs],
        _iteration.utility_magnitude: _MAGNITUDE[payoffs],
    }


@cache
def _without_size(kernel_propose: BlockFunction) -> BlockFunction:
    """Return a proposal with infinity for the size of its regrets, which is never rounding."""

    def propose(
        block: int,
        first: int,
        last: int,
        strategy: Vector,
        state: tuple[Vector, ...],
        parameters: Vector,
    ) -> float:
        kernel_propose(block, first, last, strategy, state, parameters)
        return math.inf

    return propose


class PartCode(NamedTuple):
    """Parts of an iteration without a rule, as machine code, each for one player."""

    backward: Any
    forward: Any


def compile_parts(payoffs: type) -> PartCode:
    """Return the machine code of the parts for a kind of payoffs."""
    specialization = {
        _iteration.compute_utility: _UTILITY[payoffs],
        _iteration.as_payoffs: payoffs,
    }
    return PartCode(
        compile_cached(_iteration.backward_part, specialization),
        compile_cached(_iteration.forward_part, {}),
    )


def compile_block_functions() -> BlockFunctions:
    """Return the operations of simplices as machine code."""
    # Inputs may be read-only or not; with a signature they are compiled once for both.
    narrow, result = numba.uint32[::1], numba.float64[::1]
    given = numba.types.Array(numba.float64, 1, "C", readonly=True)
    one, two = numba.void(narrow, given, result), numba.void(narrow, given, given, result)
    return BlockFunctions(
        sum=compile_cached(_block_ops.block_sum, {}, one),
        dot=compile_cached(_block_ops.block_dot, {}, two),
        max=compile_cached(_block_ops.block_max, {}, one),
        add=compile_cached(_block_ops.add, {}, two),
        regret=compile_cached(_block_ops.block_regret, {}, two),
        normalize=compile_cached(_block_ops.block_normalize, {}, one),
    )


class SampledCode(NamedTuple):
    """Sampled iterations of a kernel, as machine code."""

    iterate: Any
    settle_all_sums: Any


def compile_sampled_iterations(kernel: Kernel, choose: Choose, guessing: bool) -> SampledCode:
    """Return the machine code of sampled iterations for a kernel and a way to draw samples."""
    specialization: Specialization = {
        _iteration.propose: kernel.propose,
        _iteration.learn: kernel.learn,
        _sampled.draw_sample: walker(choose, guessing),
        _sampled.learn_baseline: update_baseline if guessing else _learn_nothing,
        search_start: even_search_start,
    }
    # All inlined at once: a traversal is short, and a call would be a large part of it.
    return SampledCode(
        compile_cached(_sampled.iterate_sampled, specialization, inline_depth=0),
        compile_cached(_sampled.settle_all_sums, {}),
    )


def compile_traversal(choose: Choose, guessing: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    replaced = {_sampled.draw_sample: walker(choose, guessing), search_start: even_search_start}
    return compile_cached(_sampled.draw_single_sample, replaced)


def _learn_nothing(player: int, visited: int, rate: float, desk: Any, guesses: Any) -> None:
    pass


# From a template to machine code

_INLINE_DEPTH = 1
"""Depth down to which functions are compiled separately before they are inlined, which compiles
faster. Deeper ones are inlined first, so that the compiler sees constant numbers of actions."""

_RARE = {_iteration.settle_infoset}
"""Functions that are called so rarely that they are not inlined."""

_COMPILED: dict[tuple[str, str], Any] = {}
"""Machine code of this process, by the names of templates and their digests."""


def compile_cached(
    template: Any,
    specialization: Specialization,
    signature: Any = None,
    inline_depth: int = _INLINE_DEPTH,
) -> Any:
    """Return a specialized template as machine code, from memory or disk if it is there."""
    name = digest(template, specialization, inline_depth)
    # By digest: a changed constant that a function uses gives other machine code.
    if (template.__qualname__, name) not in _COMPILED:
        helpers = _helpers(template, specialization, inline_depth)
        compiled = _jit(_replaced(template, helpers, name), nogil=True)
        if isinstance(compiled, Dispatcher):
            cache_on_disk(compiled)
        if signature is not None:
            compiled.compile(signature)
            compiled.disable_compile()
        _COMPILED[template.__qualname__, name] = compiled
    return _COMPILED[template.__qualname__, name]


def jitted(function: Any, specialization: Specialization, inline_depth: int = _INLINE_DEPTH) -> Any:
    """Return a function as machine code, and with it those that it calls."""
    function = _python(function)
    replaced = _replaced(function, _helpers(function, specialization, inline_depth - 1))
    if function in _RARE:
        return _jit(replaced)
    return _jit(replaced, forceinline=True) if inline_depth > 0 else _jit(replaced, inline="always")


def _helpers(function: Any, specialization: Specialization, inline_depth: int) -> dict[str, Any]:
    """Return what a function calls, by name, as machine code."""
    helpers = {}
    for name, value in _used(function):
        helper = _replacement(value, specialization)
        if isinstance(helper, types.FunctionType) and helper is not function:
            helpers[name] = jitted(helper, specialization, inline_depth)
        elif helper is not value:
            helpers[name] = helper
    return helpers


def _replacement(value: Any, specialization: Specialization) -> Any:
    return _python(specialization.get(_python(value), value) if callable(value) else value)


def _python(function: Any) -> Any:
    """Return the Python function of a compiled one."""
    return function.py_func if isinstance(function, Dispatcher) else function


def _jit(function: Any, **options: Any) -> Any:
    # Division as in NumPy, without a check of every divisor. And no reference counting of arrays,
    # which would take as long as the arithmetic: the caller holds references to all of them.
    options |= {"error_model": "numpy", "_nrt": False}
    return numba.njit(**options)(function)


def _replaced(function: Any, names: dict[str, Any], suffix: str = "") -> Any:
    """Return a copy of a function in which some global names mean something else.

    Numba identifies machine code by the name of its function, on disk and when linking, and not by
    what that calls: with a suffix, copies that call different functions have different names.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    replaced = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names.get(name, cell.cell_contents)) for name, cell in cells),
    )
    replaced.__module__ = function.__module__
    replaced.__kwdefaults__ = function.__kwdefaults__
    replaced.__qualname__ = f"{function.__qualname__}_{suffix}" if suffix else function.__qualname__
    return replaced


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def digest(template: Any, specialization: Specialization, inline_depth: int = _INLINE_DEPTH) -> str:
    """Return a digest of all that determines a specialized template: its code and what it uses."""
    total = hashlib.sha256(Path(__file__).read_bytes())  # how things are compiled matters as well
    total.update(repr(inline_depth).encode())
    numbers: dict[Any, int] = {template: 0}
    waiting = [template]
    while waiting:
        function = waiting.pop()
        total.update(_code(function.__code__))
        total.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
        for name, value in _used(function):
            value = _replacement(value, specialization)
            if isinstance(value, types.FunctionType):
                # By number: closures of one definition share their name, and differ.
                if value not in numbers:
                    numbers[value] = len(numbers)
                    waiting.append(value)
                total.update(f"{name}=#{numbers[value]}".encode())
            elif isinstance(value, types.ModuleType):
                total.update(f"{name}={value.__name__}".encode())
                for inner in function.__code__.co_names:
                    # Not getattr: a builtin may share its name with a deprecated attribute.
                    total.update(inner.encode() + _constant(vars(value).get(inner)))
            else:
                total.update(name.encode() + _constant(value))
    return total.hexdigest()[:16]


def _code(code: types.CodeType) -> bytes:
    """Return what determines code; the repr of nested code would contain its memory address."""
    inner = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, inner, code.co_names, code.co_freevars)).encode()


def _constant(value: object) -> bytes:
    """Return what determines a value that code uses, as far as it is plain."""
    if isinstance(value, np.ndarray):  # whose repr shows only a part
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    plain = isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic)
    return repr(value if plain else getattr(value, "__qualname__", type(value))).encode()


# Machine code on disk

_DIGEST_SIZE = hashlib.sha256().digest_size


class CodeCache(FunctionCache):
    """Caches machine code of one function, a file for each signature; damaged files never raise.

    The function's qualified name must determine what it does, as it does not for Numba's cache.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, None if it has to be compiled."""
        target_context.refresh()
        path, key = self._place(sig, target_context.codegen())
        try:
            content = path.read_bytes()
            if content[:_DIGEST_SIZE] != _file_digest(key, content[_DIGEST_SIZE:]):
                raise ValueError("the file is damaged")
            return self._impl.rebuild(target_context, pickle.loads(content[_DIGEST_SIZE:]))
        except FileNotFoundError:
            return None
        except Exception as error:  # a class may have been renamed, or LLVM may reject it
            with contextlib.suppress(OSError):
                path.unlink()
            _warn_once(
                f"machine code in {str(path.parent)!r} cannot be used ({_reason(error)}), and is "
                "compiled again"
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code for a signature, if the disk allows it."""
        if not self._impl.check_cachable(data):
            return
        path, key = self._place(sig, data.codegen)
        code = dumps(self._impl.reduce(data))  # type: ignore[no-untyped-call]
        try:
            self._impl.locator.ensure_cache_path()
            replace_file(path, [_file_digest(key, code), code])
        except OSError as error:
            _warn_once(
                f"machine code cannot be cached in {str(path.parent)!r} ({_reason(error)}), and is "
                "compiled again in every process; name another folder by NUMBA_CACHE_DIR"
            )

    def _place(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """Return the file of a signature, and its key."""
        versions = sys.version_info[:2], numba.__version__, llvmlite.__version__
        key = repr((self._impl.filename_base, versions, codegen.magic_tuple(), sig)).encode()
        name = f"{self._impl.filename_base}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        return Path(self.cache_path, name), key


def cache_on_disk(function: Any) -> None:
    """Let a compiled function load its machine code from disk, and save it there."""
    try:
        function._cache = CodeCache(function.py_func)  # type: ignore[no-untyped-call]
    except RuntimeError:  # Numba finds no writable folder
        _warn_once(
            "machine code cannot be cached on disk, and is compiled again in every process; name a "
            "folder for it by NUMBA_CACHE_DIR"
        )


def _file_digest(key: bytes, code: bytes) -> bytes:
    return hashlib.sha256(key + code).digest()


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
