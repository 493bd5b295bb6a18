"""A rule written for one block at a time, so that an engine can turn it into machine code."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TypeAlias, final

from attrs import Attribute, field, frozen

from regretkit._validate import truth

BlockFunction: TypeAlias = Callable[..., None]
"""A function of plain loops over the actions of one block, which writes to the arrays it gets."""


def _function(_: object, attribute: "Attribute[BlockFunction]", value: object) -> None:
    # One that is compiled already has the plain one within.
    if not isinstance(getattr(value, "py_func", value), FunctionType):
        raise TypeError(
            f"{attribute.name} must be a plain function, got {value!r}; write it with def"
        )


@final
@frozen
class Kernel:
    """How to play and to learn at one block, in loops that a compiler understands.

    A rule that has one, returned by its hook ``_kernel``, runs in machine code from end to end, as
    the rules of this library do. It must do what the rule's own hooks do, which
    :func:`~regretkit.checks.check_minimizer` looks at. Nothing here needs a compiler to be
    installed: as it stands, it is plain Python.

    All blocks of all players lie end to end in the arrays that the functions get. A block has the
    number ``block`` there, and its actions the numbers from ``first`` up to, not including,
    ``last``. The functions may only read and write what belongs to their block.

    Parameters
    ----------
    propose
        Called as ``propose(block, first, last, strategy, state, numbers)``; writes the block's
        distribution to ``strategy[first:last]``.
    learn
        Called before it as ``learn(block, first, last, utility, value, strategy, state, numbers)``
        with the ``utility`` of each action, the ``strategy`` that was played, and the ``value``,
        a number, that it earned: the regret of an action is ``utility[a] - value``. Writes to the
        arrays of ``state``, and to nothing else.
    state
        Names of the rule's arrays with one number for each action, in the order in which
        ``state`` holds them.
    block_state
        Names of those with one number for each block, which stand behind the others.
    numbers
        The floats that the functions get as ``numbers``, or a function that returns them for
        iteration t, and for t = 0 before the first one; always as many.
    rests
        Whether an iteration that is worth nothing leaves the rule as it is at a decision point, to
        the bit: its arrays, and what it proposes, whatever the ``numbers`` are. Where an iteration
        only comes to a few decision points, such a rule need not be told at all others.
    fades
        Whether an iteration that is worth nothing only multiplies the first array of ``state``, by
        ``numbers[0]`` where it is positive and by ``numbers[1]``, both at least 0, elsewhere; and
        whether, but for rounding, the rule goes on to propose the same. Where an iteration only
        comes to a few decision points, that can be made up for at all others when one comes there.
    ignores_forced
        Whether a block with a single action stays as it is in the beginning, to the bit, whatever
        that action is worth: its arrays, and what it proposes. If all players' kernels say so,
        and have no arrays by block, last moves without a choice are left out of iterations in
        games of two players.

    Raises
    ------
    TypeError
        When ``propose`` or ``learn`` is no plain function.

    Examples
    --------
    Regret matching:

    >>> import numpy as np
    >>> from attrs import define
    >>> from regretkit import SimplexRule, state
    >>> def propose(block, first, last, strategy, state, numbers):
    ...     total = 0.0
    ...     for a in range(first, last):
    ...         strategy[a] = max(state[0][a], 0.0)
    ...         total += strategy[a]
    ...     for a in range(first, last):
    ...         strategy[a] = strategy[a] / total if total > 0.0 else 1.0 / (last - first)
    >>> def learn(block, first, last, utility, value, strategy, state, numbers):
    ...     for a in range(first, last):
    ...         state[0][a] += utility[a] - value
    >>> @define(eq=False)
    ... class Mine(SimplexRule):
    ...     regrets: np.ndarray = state()
    ...
    ...     def _propose(self):
    ...         return self.simplices.normalize(np.maximum(self.regrets, 0.0))
    ...
    ...     def _learn(self, utility, strategy):
    ...         self.regrets += self.simplices.regret(utility, strategy)
    ...
    ...     def _kernel(self):
    ...         return Kernel(propose, learn, state=["regrets"])
    >>> player = Mine(2)
    """

    propose: BlockFunction = field(validator=_function)
    learn: BlockFunction = field(validator=_function)
    state: Sequence[str] = field(default=(), kw_only=True, converter=tuple[str, ...])
    block_state: Sequence[str] = field(default=(), kw_only=True, converter=tuple[str, ...])
    numbers: Sequence[float] | Callable[[int], Sequence[float]] = field(default=(), kw_only=True)
    rests: bool = field(default=False, kw_only=True, validator=truth)
    fades: bool = field(default=False, kw_only=True, validator=truth)
    ignores_forced: bool = field(default=False, kw_only=True, validator=truth)

    def numbers_of(self, iteration: int) -> Sequence[float]:
        """Return the floats that the functions get as ``numbers`` in an iteration."""
        return self.numbers(iteration) if callable(self.numbers) else self.numbers
