"""Kernels: the compiled form of rules, as loops over one block."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen

from regretkit._util._typing import Vector

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
    state
        Names of the rule's arrays by action, the first arrays of the argument ``state``.
    block_state
        Names of the rule's arrays by block, the next arrays of ``state``.
    parameters
        The floats of the argument ``parameters``, or a function that returns them for iteration t,
        with t = 0 before the first iteration. Their number is constant.
    traits
        Properties that allow an engine to skip work.
    workspace
        Number of arrays by action for intermediate results, next in ``state``.
    constants, block_constants
        Read-only arrays by action and by block, the last arrays of ``state``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.trace import find_kernel
    >>> find_kernel(RegretMatching(2)).state
    ('regrets',)
    """

    propose: BlockFunction
    learn: BlockFunction
    state: tuple[str, ...]
    block_state: tuple[str, ...]
    parameters: Sequence[float] | Callable[[int], Sequence[float]]
    traits: KernelTraits
    workspace: int
    constants: Sequence[Vector] = field(eq=False)
    block_constants: Sequence[Vector] = field(eq=False)

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
        """Names of the rule's arrays, in the order of ``state``."""
        return *self.state, *self.block_state

    @property
    def further(self) -> list[tuple[Vector | None, bool]]:
        """The further arrays of ``state``: values (None for workspace), and whether by action."""
        workspace: list[tuple[Vector | None, bool]] = [(None, True)] * self.workspace
        constants = [(array, True) for array in self.constants]
        return workspace + constants + [(array, False) for array in self.block_constants]

    @property
    def layout(self) -> tuple[bool, ...]:
        """Whether each array of ``state`` is by action; otherwise it is by block."""
        extra = [by_action for _, by_action in self.further]
        return (*[True] * len(self.state), *[False] * len(self.block_state), *extra)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Paths of the scalar state on which parameters depend."""
        return tuple(getattr(self.parameters, "updates", ()))

    def parameters_at(self, iteration: int) -> Sequence[float]:
        """Return the parameters of an iteration."""
        return self.parameters(iteration) if callable(self.parameters) else self.parameters
