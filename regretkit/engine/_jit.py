"""Functions of engines as machine code: templates whose placeholders are replaced by a rule's own.

A rule's kernel is compiled into the iteration, once for each combination of kernel and payoffs.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from regretkit.engine import _vectorized
from regretkit.engine._layout import ChancePayoffs, DensePayoffs, SparsePayoffs, TerminalPayoffs
from regretkit.engine._machine_code import MachineCode, false, true
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

_UTILITY = {
    SparsePayoffs: _payoffs.sparse_utility,
    TerminalPayoffs: _payoffs.terminal_utility,
    DensePayoffs: _payoffs.dense_utility,
    PublicPayoffs: _payoffs.public_utility,
    ChancePayoffs: _payoffs.chance_utility,
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
        MachineCode(_iteration.initialize, specialization),
        MachineCode(_iteration.iterate, specialization),
    )
    if not deviating:
        return code
    fixed = MachineCode(_deviations.initialize_fixed_points, {})
    return code._replace(initialize_fixed_points=fixed)


def specialize(
    kernel: Functions, payoffs: type, *, exact: bool = False, deviating: bool = False
) -> dict[Any, Any]:
    """Return the replacements of all placeholders for a kernel and a kind of payoffs."""
    replaced: dict[Any, Any] = {
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
    specialization = {
        _iteration.propose: kernel.propose,
        _iteration.learn: kernel.learn,
        _sampled.draw_sample: walker(choose, with_baseline),
        _sampled.learn_baseline: update_baseline if with_baseline else _learn_nothing,
        search_start: even_search_start,
    }
    return IterationCode(
        MachineCode(_iteration.initialize, specialize(kernel, SparsePayoffs)),
        MachineCode(_sampled.iterate_sampled, specialization, 1),
        MachineCode(_sampled.settle_all_sums, {}),
    )


def _learn_nothing(player: int, visited: int, rate: float, buffers: Any, baseline: Any) -> None:
    pass


def compile_traversal(choose: Choose, with_baseline: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    return MachineCode(walker(choose, with_baseline), {search_start: even_search_start}, 2)


def compile_parts(payoffs: type) -> PartCode:
    """Return the machine code of the parts for a kind of payoffs."""
    utility = {_iteration.compute_utility: _UTILITY[payoffs]}
    backward = MachineCode(_iteration.backward_part, utility)
    return PartCode(backward, MachineCode(_iteration.forward_pass, {}))


def compile_responses(payoffs: type) -> MachineCode:
    """Return the machine code of best responses for a kind of payoffs."""
    return MachineCode(_responses.respond, {_iteration.compute_utility: _UTILITY[payoffs]})


def compile_block_functions() -> BlockFunctions:
    """Return the operations of simplices as machine code."""
    indices, numbers = np.zeros(1, np.uint32), np.zeros(0)
    unary, binary = (indices, numbers, numbers), (indices, numbers, numbers, numbers)
    arguments = {
        _vectorized.block_sum: unary,
        _vectorized.block_dot: binary,
        _vectorized.block_max: unary,
        _vectorized.add: binary,
        _vectorized.block_regret: binary,
        _vectorized.block_normalize: unary,
    }
    return BlockFunctions(*(MachineCode(f, {}).prepared(*x)[0] for f, x in arguments.items()))
