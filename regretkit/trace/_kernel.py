"""What a rule is traced into: its loops for one block, and what an engine may rely on."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen

from regretkit._util._typing import Vector

BlockFunction: TypeAlias = Callable[..., Any]
"""A function of plain loops over the actions of one block, which writes to the arrays it gets."""


@frozen(kw_only=True)
class KernelTraits:
    """What an engine may rely on, so that it can leave work out. Tracing derives it.

    Attributes
    ----------
    invariant_to_zero_utility
        Whether a zero utility leaves a block of the rule bitwise unchanged, its arrays and its
        strategy, in any iteration. Where an iteration visits only a few decision points,
        such a rule need not be updated at the others.
    ignores_singleton_blocks
        Whether a block with a single action stays bitwise in its initial state, its arrays and its
        strategy, at any utility. Its code then skips such blocks.

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
    """A rule for one block at a time, in loops that a compiler understands.

    All blocks of all players lie end to end in the arrays that its functions get. A block has the
    number ``block`` there, and its actions the numbers from ``first`` up to, not including,
    ``last``. The functions only read and write what belongs to their block.

    Attributes
    ----------
    propose
        Called as ``propose(block, first, last, strategy, state, parameters)``; writes the block's
        distribution to ``strategy[first:last]``.
    learn
        Called before it as ``learn(block, first, last, utility, value, strategy, state,
        parameters)`` with the ``utility`` of each action, the ``strategy`` that was played, and its
        ``value``, a number: the regret of an action is ``utility[a] - value``.
        Writes to the arrays of ``state``, and to nothing else.
    state
        Names of the rule's arrays with one number for each action, in the order in which
        the functions get them.
    block_state
        Names of those with one number for each block, which stand behind the others.
    parameters
        The floats that the functions get as ``parameters``, or a function that returns them for
        iteration t, and for t = 0 before the first one; always the same number of them.
    traits
        What an engine may rely on.
    workspace
        Number of further arrays by action behind these, for intermediate results.
    constants, block_constants
        Arrays that the functions only read, by action and by block; they stand last.

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
        """Both functions as plain Python, where a division by zero is no error."""
        return vars(self.propose)["py_func"], vars(self.learn)["py_func"]

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of all arrays that the rule learns, as they stand in ``state``."""
        return *self.state, *self.block_state

    @property
    def further(self) -> list[tuple[Vector | None, bool]]:
        """The arrays of ``state`` behind those: their numbers, and whether they are by action."""
        workspace: list[tuple[Vector | None, bool]] = [(None, True)] * self.workspace
        constants = [(array, True) for array in self.constants]
        return workspace + constants + [(array, False) for array in self.block_constants]

    @property
    def layout(self) -> tuple[bool, ...]:
        """Whether each array of ``state`` has a number for each action, or for each block."""
        extra = [by_action for _, by_action in self.further]
        return (*[True] * len(self.state), *[False] * len(self.block_state), *extra)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Paths of the single numbers that the rule learns, on which parameters depend."""
        return tuple(getattr(self.parameters, "updates", ()))

    def parameters_at(self, iteration: int) -> Sequence[float]:
        """Return the floats that the functions get as ``parameters`` in an iteration."""
        return self.parameters(iteration) if callable(self.parameters) else self.parameters
