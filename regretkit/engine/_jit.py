"""Functions of engines as machine code: templates whose placeholders are replaced by a rule's own.

Passing a rule's kernel as an argument would cost a call per decision point; so the placeholders of
``kernels`` are replaced by name, once for each combination of kernel and payoffs. Numba is imported
only where the outcome is not on disk.
"""

import ctypes
import logging
import threading
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from typing_extensions import override

from regretkit.engine import _vectorized
from regretkit.engine._layout import DensePayoffs, SparsePayoffs, TerminalPayoffs
from regretkit.engine._machine_code import (
    CannotCompileError,
    MachineCode,
    ObjectCode,
    Specialization,
    digest,
    false,
    is_own,
    true,
)
from regretkit.engine._public_payoffs import PublicPayoffs
from regretkit.engine._vectorized import BlockFunctions
from regretkit.engine.kernels import _deviations, _iteration, _payoffs, _responses, _sampled
from regretkit.estimators._traversal import (
    Choose,
    even_search_start,
    search_start,
    update_baseline,
    walker,
)
from regretkit.trace import Kernel
from regretkit.trace._build import KernelSet

Functions: TypeAlias = Kernel | KernelSet
"""What has ``propose`` and ``learn``."""

_UTILITY: Specialization = {
    SparsePayoffs: _payoffs.sparse_utility,
    TerminalPayoffs: _payoffs.terminal_utility,
    DensePayoffs: _payoffs.dense_utility,
    PublicPayoffs: _payoffs.public_utility,
}


# What engines ask for


class IterationCode(NamedTuple):
    """Iterations of a kernel, as machine code; the last two only where they are needed."""

    initialize: Any
    iterate: Any
    settle_all_sums: Any = None
    initialize_fixed_points: Any = None


class PartCode(NamedTuple):
    """Parts of an iteration without a rule, as machine code, each for one player."""

    backward: Any
    forward: Any


def compile_iterations(
    kernel: Functions, payoffs: type, *, exact: bool = False, deviating: bool = False
) -> IterationCode:
    """Return the machine code of iterations for a kernel and a kind of payoffs.

    With ``deviating`` players may learn over deviations.
    """
    specialization = specialize(kernel, payoffs, exact=exact, deviating=deviating)
    code = IterationCode(
        compile_cached(_iteration.initialize, specialization),
        compile_cached(_iteration.iterate, specialization),
    )
    if not deviating:
        return code
    fixed = compile_cached(_deviations.initialize_fixed_points, {})
    return code._replace(initialize_fixed_points=fixed)


def specialize(
    kernel: Functions, payoffs: type, *, exact: bool = False, deviating: bool = False
) -> Specialization:
    """Return the replacements of all placeholders for a kernel and a kind of payoffs."""
    replaced: Specialization = {
        _iteration.propose: kernel.propose,
        _iteration.learn: kernel.learn,
        _iteration.compute_utility: _UTILITY[payoffs],
        _iteration.is_exact: true if exact else false,
    }
    if exact or deviating:  # a continuation as the strategy's own gains sums that cancel
        replaced[_iteration.backward_pass] = _iteration.exact_backward_pass
    if deviating:
        replaced[_iteration.update] = _deviations.update_by_deviations
        replaced[_iteration.advance] = _deviations.advance_by_deviations
    return replaced


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
        compile_cached(_sampled.iterate_sampled, specialization, 1),
        compile_cached(_sampled.settle_all_sums, {}),
    )


def _learn_nothing(player: int, visited: int, rate: float, buffers: Any, baseline: Any) -> None:
    pass


def compile_traversal(choose: Choose, with_baseline: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    return compile_cached(walker(choose, with_baseline), {search_start: even_search_start}, 2)


def compile_parts(payoffs: type) -> PartCode:
    """Return the machine code of the parts for a kind of payoffs."""
    utility = {_iteration.compute_utility: _UTILITY[payoffs]}
    backward = compile_cached(_iteration.backward_part, utility)
    return PartCode(backward, compile_cached(_iteration.forward_pass, {}))


def compile_responses(payoffs: type) -> MachineCode:
    """Return the machine code of best responses for a kind of payoffs."""
    return compile_cached(_responses.respond, {_iteration.compute_utility: _UTILITY[payoffs]})


def compile_block_functions() -> BlockFunctions:
    """Return the operations of simplices as machine code."""
    # Inputs may be read-only or not; this is code for both.
    indices, result, given = np.zeros(1, np.uint32), np.zeros(0), np.zeros(0)
    given.setflags(write=False)
    unary, binary = (indices, given, result), (indices, given, given, result)
    arguments = {
        _vectorized.block_sum: unary,
        _vectorized.block_dot: binary,
        _vectorized.block_max: unary,
        _vectorized.add: binary,
        _vectorized.block_regret: binary,
        _vectorized.block_normalize: unary,
    }
    return BlockFunctions(*(compile_cached(f, {}).prepared(*x)[0] for f, x in arguments.items()))


# From a template to machine code


def compile_cached(template: Any, specialization: Specialization, results: int = 0) -> MachineCode:
    """Return a specialized template as machine code, compiled where it is not on disk."""
    # By digest: a changed constant that a function uses gives other machine code.
    functions = template, *specialization, *specialization.values()
    find = _kept_digest if all(map(_is_fixed, functions)) else _kept_digest.__wrapped__
    name = f"{template.__name__}_{find(template, tuple(specialization.items()))}"
    return MachineCode(name, partial(_compile, template, specialization, results), results)


def _is_fixed(used: Any) -> bool:
    """Return whether what code uses never changes: this library's, or that of a traced rule."""
    return hasattr(used, "source") or is_own(used)


@lru_cache(maxsize=256)
def _kept_digest(template: Any, replaced: tuple[tuple[Any, Any], ...]) -> str:
    return digest(template, dict(replaced))


def _compile(
    template: Any, specialization: Specialization, results: int, arguments: tuple[Any, ...]
) -> ObjectCode:
    compiler = _Compiler(template, specialization, arguments, results)
    return compiler.wait()


@final
class _Compiler(threading.Thread):
    """Compiles in a thread of its own, so that the one that waits can be interrupted."""

    _announced = False

    def __init__(self, *given: Any) -> None:
        super().__init__()
        self._given, self._cancelled, self._importing = given, False, True
        self._found: ObjectCode | None = None
        self._error: BaseException | None = None

    @override
    def run(self) -> None:
        try:
            with _ONE_AT_A_TIME:  # threads that import Numba at the same time may find half of it
                try:
                    from regretkit.engine._numba import compile_function
                except ImportError as error:
                    raise CannotCompileError(f"Numba cannot be imported ({error})") from error
                self._importing = False
                if not self._cancelled:
                    self._found = compile_function(*self._given)
        except BaseException as error:  # which is raised where it is waited for
            self._error = error

    def wait(self) -> ObjectCode:
        """Return what was compiled; say that it takes time, and stop it at an interrupt."""
        self.start()
        try:
            self.join(_PATIENCE)
            if self.is_alive() and not _Compiler._announced:
                _Compiler._announced = True
                logging.getLogger("regretkit").info("compiling, once for this machine")
            while self.is_alive():
                self.join(0.1)
        except BaseException:
            self._cancelled = True
            if not self._importing and self.ident is not None:
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), interrupt)
            raise
        if self._found is None:
            raise self._error or CannotCompileError("nothing was compiled")
        return self._found


_ONE_AT_A_TIME = threading.Lock()

_PATIENCE = 1.0
"""Seconds of compiling after which it is announced."""
