"""Functions of engines as machine code: templates whose placeholders are replaced by a rule's own.

A rule's kernel is compiled into the iteration, once for each combination of kernel and payoffs.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from regretkit.engine._machine_code import MachineCode
from regretkit.engine._vectorized import (
    BlockFunctions,
    add,
    block_dot,
    block_max,
    block_normalize,
    block_regret,
    block_sum,
)
from regretkit.engine.kernels import _point, _sampled
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

# What engines ask for


class IterationCode(NamedTuple):
    """Sampled iterations of a kernel, as machine code."""

    initialize: Any
    iterate: Any
    settle_all_sums: Any


def compile_sampled_iterations(
    kernel: Functions, choose: Choose, with_baseline: bool
) -> IterationCode:
    """Return the machine code of sampled iterations for a kernel and a way to draw samples."""
    specialization = {
        _point.propose: kernel.propose,
        _point.learn: kernel.learn,
        _sampled.draw_sample: walker(choose, with_baseline),
        _sampled.learn_baseline: update_baseline if with_baseline else _learn_nothing,
        search_start: even_search_start,
    }
    return IterationCode(
        MachineCode(_point.initialize, specialization),
        MachineCode(_sampled.iterate_sampled, specialization, 1),
        MachineCode(_sampled.settle_all_sums, {}),
    )


def _learn_nothing(player: int, visited: int, rate: float, buffers: Any, baseline: Any) -> None:
    pass


def compile_traversal(choose: Choose, with_baseline: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    return MachineCode(walker(choose, with_baseline), {search_start: even_search_start}, 2)


def compile_block_functions() -> BlockFunctions:
    """Return the operations of simplices as machine code."""
    indices, numbers = np.zeros(1, np.uint32), np.zeros(0)
    unary, binary = (indices, numbers, numbers), (indices, numbers, numbers, numbers)
    arguments = {
        block_sum: unary,
        block_dot: binary,
        block_max: unary,
        add: binary,
        block_regret: binary,
        block_normalize: unary,
    }
    return BlockFunctions(*(MachineCode(f, {}).prepared(*x)[0] for f, x in arguments.items()))
