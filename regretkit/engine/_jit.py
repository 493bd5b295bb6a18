"""Machine code: functions with placeholders are specialized, compiled by Numba, and cached on disk.

Numba compiles a function with what it calls by name. Passing a rule's kernel as an argument would
cost a call per decision point; so the placeholders of ``kernels`` are replaced
by name, once for each combination of kernel and payoffs. LLVM inlines all functions into the
template before it optimizes anything, and so sees constant numbers of actions.

Numba's own cache trusts its files: a truncated one makes every later compilation fail until it is
deleted by hand, and a damaged one may run as other code. Here each file begins with a digest of
its content and of its purpose; a file that does not match is deleted, and compiled again.
"""

import contextlib
import gc
import hashlib
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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from regretkit._util._files import replace_file
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
from regretkit.trace import Kernel, _combine
from regretkit.trace._combine import KernelSet

Functions: TypeAlias = Kernel | KernelSet
"""What has ``propose`` and ``learn``."""

Specialization: TypeAlias = dict[Any, Any]
"""The function that replaces each placeholder."""

_UTILITY: Specialization = {
    SparsePayoffs: _payoffs.sparse_utility,
    TerminalPayoffs: _payoffs.terminal_utility,
    DensePayoffs: _payoffs.dense_utility,
}


# What engines ask for


class IterationCode(NamedTuple):
    """Iterations of a kernel, as machine code; ``settle_all_sums`` of sampled ones only."""

    initialize: Any
    iterate: Any
    settle_all_sums: Any = None


class PartCode(NamedTuple):
    """Parts of an iteration without a rule, as machine code, each for one player."""

    backward: Any
    forward: Any


def compile_iterations(kernel: Functions, payoffs: type, *, exact: bool = False) -> IterationCode:
    """Return the machine code of iterations for a kernel and a kind of payoffs."""
    specialization = specialize(kernel, payoffs, exact=exact)
    return IterationCode(
        compile_cached(_iteration.initialize, specialization),
        compile_cached(_iteration.iterate, specialization),
    )


def specialize(kernel: Functions, payoffs: type, *, exact: bool = False) -> Specialization:
    """Return the replacements of all placeholders for a kernel and a kind of payoffs."""
    replaced: Specialization = {
        _iteration.propose: kernel.propose,
        _iteration.learn: kernel.learn,
        _iteration.compute_utility: _UTILITY[payoffs],
        _iteration.is_exact: _true if exact else _false,
    }
    if exact:
        replaced[_iteration.backward_pass] = _iteration.exact_backward_pass
    return replaced


def _true() -> bool:
    return True


def _false() -> bool:
    return False


def compile_sampled_iterations(
    kernel: Functions, choose: Choose, with_baseline: bool
) -> IterationCode:
    """Return the machine code of sampled iterations for a kernel and a way to draw samples."""
    specialization: Specialization = {
        _iteration.propose: kernel.propose,
        _iteration.learn: kernel.learn,
        _sampled.draw_sample: walker(choose, with_baseline),
        _sampled.learn_baseline: update_baseline if with_baseline else _learn_nothing,
        search_start: even_search_start,
    }
    return IterationCode(
        compile_cached(_iteration.initialize, specialize(kernel, SparsePayoffs)),
        compile_cached(_sampled.iterate_sampled, specialization),
        compile_cached(_sampled.settle_all_sums, {}),
    )


def _learn_nothing(player: int, visited: int, rate: float, buffers: Any, baseline: Any) -> None:
    pass


def compile_traversal(choose: Choose, with_baseline: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    return compile_cached(walker(choose, with_baseline), {search_start: even_search_start})


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
    indices, result = numba.uint32[::1], numba.float64[::1]
    given = numba.types.Array(numba.float64, 1, "C", readonly=True)
    one, two = numba.void(indices, given, result), numba.void(indices, given, given, result)
    signatures = {
        _block_ops.block_sum: one,
        _block_ops.block_dot: two,
        _block_ops.block_max: one,
        _block_ops.add: two,
        _block_ops.block_regret: two,
        _block_ops.block_normalize: one,
    }
    return BlockFunctions(*(compile_cached(f, {}, given) for f, given in signatures.items()))


# From a template to machine code

_RARE = {_iteration.zero_cancelled_sum}
"""Functions that are called so rarely that they are not inlined."""

_COMPILED: dict[str, Any] = {}
"""Machine code of this process, by name and digest."""


def compile_cached(template: Any, specialization: Specialization, signature: Any = None) -> Any:
    """Return a specialized template as machine code, from memory or disk if it is there."""
    # By digest: a changed constant that a function uses gives other machine code. Numba identifies
    # machine code by the name of its function, on disk and when linking, and not by what it calls.
    name = f"{template.__qualname__}_{digest(template, specialization)}"
    if name not in _COMPILED:
        specialized = _specialized(template, specialization)
        specialized.__qualname__ = name
        compiled = _jit(specialized, nogil=True, pipeline_class=WholeCompiler)
        if isinstance(compiled, Dispatcher):
            cache_on_disk(compiled)
        if signature is not None:
            compiled.compile(signature)
            compiled.disable_compile()
        _COMPILED[name] = compiled
    return _COMPILED[name]


def jitted(function: Any, specialization: Specialization) -> Any:
    """Return a function as code to be inlined, and with it those that it calls."""
    specialized = _specialized(function, specialization)
    if function in _RARE or function.__module__ == _combine.__name__:
        return _jit(specialized, pipeline_class=WholeCompiler)
    return _jit(specialized, forceinline=True, no_cpython_wrapper=True, pipeline_class=PartCompiler)


def _jit(function: Any, **options: Any) -> Any:
    # Division as in NumPy, without a check of every divisor. And no reference counting of arrays,
    # which would take as long as the arithmetic: the caller holds references to all of them.
    options |= {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    return numba.njit(**options)(function)


def _specialized(function: Any, specialization: Specialization) -> Any:
    """Return a copy of a function for which what it calls is replaced by machine code."""
    names = {}
    for name, value in _used(function):
        names[name] = replacement = _replacement(value, specialization)
        if isinstance(replacement, types.FunctionType) and replacement is not function:
            names[name] = jitted(replacement, specialization)
    copied = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names[name]) for name in function.__code__.co_freevars),
    )
    copied.__module__, copied.__qualname__ = function.__module__, function.__qualname__
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _replacement(value: Any, specialization: Specialization) -> Any:
    return _python(specialization.get(_python(value), value) if callable(value) else value)


def _python(function: Any) -> Any:
    """Return the Python function of a compiled one."""
    return function.py_func if isinstance(function, Dispatcher) else function


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def digest(template: Any, specialization: Specialization) -> str:
    """Return a digest of all that determines a specialized template: its code and what it uses."""
    total = hashlib.sha256(Path(__file__).read_bytes())  # how things are compiled matters as well
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


# Compilers


class Library(JITCodeLibrary):
    """LLVM's code of a function, as Numba wrote it.

    What is optimized for any number of actions cannot be optimized as well for a constant one.
    """

    _codegen: Any

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class PartLibrary(Library):
    """Code that is only ever inlined: it is neither optimized by itself nor made machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do without the environment, which code loaded from disk does not have either."""


class WholeLibrary(Library):
    """Code that is optimized once all parts are inlined."""

    def _optimize_final_module(self) -> None:
        for level in (0, 3):  # at level 0, inlining is all that is done
            manager, builder = self._codegen._module_pass_manager(opt=level)
            manager.run(self._final_module, builder)


class PartCompiler(Compiler):
    """Compiles a part."""

    def compile_extra(self, func: Any) -> Any:
        library: Any = PartLibrary  # Numba's methods have no types
        self.state.library = library(self.state.targetctx.codegen(), "part")
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


class WholeCompiler(Compiler):
    """Compiles a function that is called from Python, and by the way its parts."""

    def compile_extra(self, func: Any) -> Any:
        library: Any = WholeLibrary
        self.state.library = library(self.state.targetctx.codegen(), "whole")
        self.state.library.enable_object_caching()
        with _without_collections():
            return _with_large_stack(super().compile_extra, func)


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage, which takes a third of the time of a compilation, and finds little."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_large_stack(function: Any, *arguments: Any) -> Any:
    """Call a function in a frame so large that those of all that it calls fit into its memory.

    CPython has memory for frames in chunks of 16 KiB, mapped and unmapped again at each call in a
    loop just before the end of one. This took another third, in 750,000 calls.
    """
    return function(*arguments)


_with_large_stack.__code__ = _with_large_stack.__code__.replace(co_stacksize=2**16)


# Machine code on disk

_DIGEST_SIZE = hashlib.sha256().digest_size


class CodeCache(FunctionCache):
    """Caches machine code of one function, a file for each signature; damaged files never raise.

    The function's qualified name must determine what it does, as it does not for Numba's cache.
    """

    @_without_collections()
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
