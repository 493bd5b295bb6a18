"""A rule written for one block at a time, so that an engine can turn it into machine code."""

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, TypeAlias

from attrs import Attribute, field, frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import constant_vector, of_kind, ordered, quote, truth, whole_number

BlockFunction: TypeAlias = Callable[..., object]
"""A function of plain loops over the actions of one block, which writes to the arrays it gets."""


def _function(_: object, attribute: "Attribute[Any]", value: object) -> None:
    # One that is compiled already has the plain one within.
    if not isinstance(getattr(value, "py_func", value), FunctionType):
        raise TypeError(
            f"{attribute.name} must be a plain function, got {quote(value)}; write it with def"
        )


def _count(_: object, attribute: "Attribute[Any]", value: object) -> None:
    whole_number(value, attribute.name, minimum=0)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(
            f"names of arrays must be several, got {quote(names)}; pass [{quote(names)}]"
        )
    ordered(names, "names of arrays")
    return tuple(names)


def _numbers_or_function(_: object, attribute: "Attribute[Any]", value: Any) -> None:
    if not callable(value):
        constant_vector(value, attribute.name)


@frozen(kw_only=True)
class KernelTraits:
    """What a rule declares about its kernel, so that an engine can leave work out.

    ``check_minimizer`` tests all of them.

    Parameters
    ----------
    invariant_to_zero_utility
        Whether a zero utility leaves a block of the rule bitwise unchanged, its arrays and its
        strategy, for any ``parameters``. Where an iteration visits only a few decision points,
        such a rule need not be updated at the others.
    only_discounts_on_zero_utility
        Whether a zero utility only multiplies the first array of ``state``, by ``parameters[0]``
        where it is positive and by ``parameters[1]``, both at least 0, elsewhere, and leaves the
        strategy unchanged up to rounding. Where an iteration visits only a few decision points,
        the factors can then be applied at the others on their next visit.
    ignores_singleton_blocks
        Whether a block with a single action stays bitwise in its initial state, its arrays and its
        strategy, at any utility. If this holds for the kernels of all players, and they have no
        arrays by block, last moves with a single action are left out of iterations in two-player
        games.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.trace import find_kernel
    >>> find_kernel(RegretMatching(3)).traits.invariant_to_zero_utility
    True
    """

    invariant_to_zero_utility: bool = field(default=False, validator=truth)
    only_discounts_on_zero_utility: bool = field(default=False, validator=truth)
    ignores_singleton_blocks: bool = field(default=False, validator=truth)


@frozen
class Kernel:
    """How to play and to learn at one block, in loops that a compiler understands.

    A rule that has one, returned by its hook ``_kernel``, runs in machine code from end to end, as
    the rules of this library do. It must do what the rule's own hooks do, which
    ``check_minimizer`` looks at. Its functions are plain Python in the subset that
    ``engine/_compiler/`` lists.

    All blocks of all players lie end to end in the arrays that the functions get. A block has the
    number ``block`` there, and its actions the numbers from ``first`` up to, not including,
    ``last``. The functions may only read and write what belongs to their block.

    Parameters
    ----------
    propose
        Called as ``propose(block, first, last, strategy, state, parameters)``; writes the block's
        distribution to ``strategy[first:last]``.
    learn
        Called before it as ``learn(block, first, last, utility, value, strategy, state,
        parameters)`` with the ``utility`` of each action, the ``strategy`` that was played, and the
        ``value``, a number, that it earned: the regret of an action is ``utility[a] - value``.
        Writes to the arrays of ``state``, and to nothing else.
    state
        Names of the rule's arrays with one number for each action, in the order in which
        ``state`` holds them.
    block_state
        Names of those with one number for each block, which stand behind the others.
    parameters
        The floats that the functions get as ``parameters``, or a function that returns them for
        iteration t, and for t = 0 before the first one; always the same number of them.
    traits
        What holds for the rule, which lets an engine leave work out.
    workspace
        Number of further arrays by action behind these, in which a function may keep numbers.
    constants, block_constants
        Arrays that the functions only read, by action and by block; they stand last.

    Raises
    ------
    TypeError
        When one of the functions is no plain function, or ``traits`` are no ``KernelTraits``.

    Examples
    --------
    The page on how to run fast writes one for regret matching, which keeps a single array:

    >>> from regretkit import RegretMatching
    >>> from regretkit.trace import find_kernel
    >>> find_kernel(RegretMatching(2)).state
    ('regrets',)
    """

    propose: BlockFunction = field(validator=_function)
    learn: BlockFunction = field(validator=_function)
    state: Sequence[str] = field(default=(), kw_only=True, converter=_names)
    block_state: Sequence[str] = field(default=(), kw_only=True, converter=_names)
    parameters: Sequence[float] | Callable[[int], Sequence[float]] = field(
        default=(), kw_only=True, validator=_numbers_or_function
    )
    traits: KernelTraits = field(
        factory=KernelTraits, kw_only=True, validator=of_kind(KernelTraits, "KernelTraits()")
    )
    workspace: int = field(default=0, kw_only=True, validator=_count)
    constants: Sequence[Vector] = field(default=(), kw_only=True, eq=False)
    block_constants: Sequence[Vector] = field(default=(), kw_only=True, eq=False)

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of all arrays that the rule learns, as they stand in ``state``."""
        return *self.state, *self.block_state

    @property
    def further(self) -> list[tuple[Vector | None, bool]]:
        """The arrays of ``state`` behind those: what they hold, and whether it is by action."""
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
