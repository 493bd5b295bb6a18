"""Kernels: the compiled form of rules, as loops over one block."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit.trace._graph import Node, nodes_of, number_after, number_before, values_at

BlockFunction: TypeAlias = Callable[..., Any]
"""A function that loops over the actions of one block and writes to its array arguments."""


@frozen(kw_only=True)
class KernelTraits:
    """Properties of a rule that allow an engine to skip work. Tracing derives them.

    Attributes
    ----------
    invariant_to_zero_utility
        Whether a zero utility leaves the state and the strategy of a block bitwise unchanged, in
        any iteration. Sampled iterations then update the rule at visited decision points only.
    ignores_singleton_blocks
        Whether a block with a single action keeps its initial state and strategy bitwise, at any
        utility. The kernel then skips such blocks.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.trace import find_kernel
    >>> find_kernel(RegretMatching(3)).traits.invariant_to_zero_utility
    True
    """

    invariant_to_zero_utility: bool = False
    ignores_singleton_blocks: bool = False


@lru_cache(maxsize=8)
def _rows(nodes: tuple[Node, ...], passed: int, count: int) -> Vector:
    iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
    return read_only(np.ascontiguousarray(values_at(nodes, iterations).T))


@frozen
class Schedule:
    """The parameters of a kernel: numbers that depend on the iteration and on scalar state.

    Attributes
    ----------
    nodes
        The node of each parameter.
    updates
        The node of each scalar state after an update, by path.
    """

    nodes: tuple[Node, ...]
    updates: Mapping[str, Node] = field(eq=lambda updates: tuple(updates.items()))

    @cached_property
    def constants(self) -> tuple[float, ...] | None:
        """The parameters if no iteration changes them, otherwise None."""
        fixed = all(node.is_constant for node in self.nodes) and not self.updates
        return tuple(float(node.detail) for node in self.nodes) if fixed else None

    @cached_property
    def _calls(self) -> bool:
        """Whether any parameter calls a function of the rule's author."""
        return any(node.op == "call" for node in nodes_of(self.nodes))

    def following(
        self, numbers: Mapping[str, float], passed: int, count: int
    ) -> tuple[Vector, Mapping[str, float]]:
        """Return the parameters after ``passed`` iterations and after each of ``count`` more.

        ``numbers`` is the scalar state after ``passed`` iterations. The result has the parameters,
        shape ``(count + 1, parameters)``, and the scalar state at the end.
        """
        if not self.updates and not self._calls:
            return _rows(self.nodes, passed, count), {}  # cached for all players with this rule
        iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
        learned = np.empty((len(self.updates), count + 2))
        learned[:, 1] = learned[:, 0] = [numbers[path] for path in self.updates]
        before = dict(zip(map(number_before, self.updates), learned, strict=True))
        waiting = dict[Node, Vector]()  # all but counters
        for (known, row), node in zip(before.items(), self.updates.values(), strict=True):
            counts = node.op == "add" and node.args[0] is known and node.args[1].is_constant
            if counts or node is known:
                row[2:] = node.args[1].detail if counts else 0.0
                row[1:] = np.cumsum(row[1:])
            else:
                waiting[node] = row
        for t in range(1, count + 1) if waiting else ():
            state = {node: row[t : t + 1] for node, row in before.items()}
            values = values_at([*waiting], iterations[t : t + 1], state)
            for row, value in zip(waiting.values(), values, strict=True):
                row[t + 1] = value[0]
        state = {node: row[:-1] for node, row in before.items()}
        state |= {number_after(p): row[1:] for p, row in zip(self.updates, learned, strict=True)}
        rows = np.ascontiguousarray(values_at(self.nodes, iterations, state).T)
        return rows, dict(zip(self.updates, learned[:, -1].tolist(), strict=True))


@frozen
class KernelArray:
    """One array of a kernel's argument ``state``."""

    by_action: bool
    """Whether it has a number for each action; otherwise it has one for each block."""
    name: str = ""
    """The path of the rule's array, empty for others."""
    constant: Vector | None = field(default=None, eq=False)
    """The numbers of a read-only array, otherwise None."""


@frozen(kw_only=True)
class Kernel:
    """A rule as two functions of one block.

    The arrays hold all blocks of all players. Block ``block`` has the actions from ``first`` to
    ``last - 1``. The functions read and write entries of their block only.

    Attributes
    ----------
    propose
        ``propose(block, first, last, strategy, state, parameters)`` writes the block's next
        distribution to ``strategy[first:last]``.
    learn
        ``learn(block, first, last, utility, value, strategy, state, parameters)`` updates the
        arrays of ``state`` and nothing else. ``value`` is the expected utility of ``strategy`` in
        the block: the regret of action a is ``utility[a] - value``. An iteration calls ``learn``,
        then ``propose``.
    arrays
        The arrays of ``state``: the rule's own, workspace for intermediate results, constants.
    parameters
        The numbers of the argument ``parameters`` in each iteration.
    traits
        Properties that allow an engine to skip work.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.trace import find_kernel
    >>> find_kernel(RegretMatching(2)).learned
    ('regrets',)
    """

    propose: BlockFunction
    learn: BlockFunction
    arrays: tuple[KernelArray, ...]
    parameters: Schedule
    traits: KernelTraits

    @property
    def source(self) -> str:
        """The Python code of both functions."""
        return str(vars(self.propose)["source"]).rstrip()

    @property
    def in_python(self) -> tuple[BlockFunction, BlockFunction]:
        """Both functions as plain Python, in which division by zero gives inf or NaN."""
        return vars(self.propose)["py_func"], vars(self.learn)["py_func"]

    @property
    def learned(self) -> tuple[str, ...]:
        """Paths of the rule's arrays, the first of ``state``."""
        return tuple(array.name for array in self.arrays if array.name)

    @property
    def further(self) -> list[tuple[Vector | None, bool]]:
        """The other arrays of ``state``: values (None for workspace), and whether by action."""
        return [(array.constant, array.by_action) for array in self.arrays if not array.name]

    @property
    def workspace(self) -> int:
        """The number of arrays for intermediate results."""
        return sum(constant is None for constant, _ in self.further)

    @property
    def layout(self) -> tuple[bool, ...]:
        """Whether each array of ``state`` is by action; otherwise it is by block."""
        return tuple(array.by_action for array in self.arrays)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Paths of the scalar state on which parameters depend."""
        return tuple(self.parameters.updates)

    def parameters_at(self, iteration: int) -> Sequence[float]:
        """Return the parameters of an iteration, if the rule has no numbers in its state."""
        constants = self.parameters.constants
        if constants is not None:
            return constants
        rows, _ = self.parameters.following({}, iteration - 1, 1)
        return tuple(rows[1].tolist())
