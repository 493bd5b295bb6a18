"""Players whose rules have different kernels, as if all had one."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from attrs import evolve

from regretkit._util._typing import Vector
from regretkit.minimizers._kernel import BlockFunction, Kernel, settle_none

State = tuple[Vector, ...]
Numbers = Sequence[float] | Callable[[int], Sequence[float]]


class Part(NamedTuple):
    """A kernel's place among others."""

    kind: int
    """Its number."""
    begin: int
    """Where its arrays begin in the state of all."""
    end: int
    """Where they end."""
    width: int
    """How many numbers it gets."""


class Mixture(NamedTuple):
    """Several kernels, and one that does what each of them does."""

    kernels: list[Kernel]
    """The given ones, with numbers that say which of them is meant."""
    parts: list[Part]
    """The place of each."""
    whole: Kernel
    by_action: list[bool]
    """Whether each array of the state has a number for every action, or one for every block."""


def mixture(kernels: Sequence[Kernel]) -> Mixture:
    """Mix kernels, of which equal ones share their arrays.

    The numbers of each are filled up to the most that one of them gets, and behind them stands
    which kernel is meant; where all are equal they stay as they are.
    """
    parts: dict[tuple[object, ...], tuple[Part, Kernel]] = {}
    by_action: list[bool] = []
    for kernel in kernels:
        if _mark(kernel) not in parts:
            begin = len(by_action)
            by_action += [True] * len(kernel.state) + [False] * len(kernel.block_state)
            part = Part(len(parts), begin, len(by_action), len(kernel.parameters_at(0)))
            parts[_mark(kernel)] = part, kernel
    places = [parts[_mark(kernel)][0] for kernel in kernels]
    if len(parts) == 1:
        return Mixture([*kernels], places, kernels[0], by_action)
    widest = max(place.width for place in places)
    marked = [
        evolve(kernel, parameters=_marked(kernel.parameters, place, widest))
        for kernel, place in zip(kernels, places, strict=True)
    ]
    return Mixture(marked, places, _together([*parts.values()]), by_action)


def _mark(kernel: Kernel) -> tuple[object, ...]:
    sizes = len(kernel.state), len(kernel.block_state), len(kernel.parameters_at(0))
    return kernel.propose, kernel.learn, kernel.settle_regrets, *sizes


def _marked(numbers: Numbers, part: Part, widest: int) -> Numbers:
    behind = (*(0.0 for _ in range(part.width, widest)), float(part.kind))
    if callable(numbers):
        of = numbers
        return lambda iteration: (*of(iteration), *behind)
    return (*numbers, *behind)


def _together(parts: Sequence[tuple[Part, Kernel]]) -> Kernel:
    """Return a kernel that does what the one does that is meant."""
    propose: BlockFunction = _propose_nothing
    learn: BlockFunction = _learn_nothing
    settle: BlockFunction = settle_none
    for part, kernel in parts:
        propose = _proposal(part, sized(kernel), propose)
        learn = _lesson(part, kernel.learn, learn)
        settle = _settling(part, kernel.settle_regrets, settle)
    traits = evolve(parts[0][1].traits, returns_size=True)
    return evolve(parts[0][1], propose=propose, learn=learn, traits=traits, settle_regrets=settle)


@cache
def _proposal(part: Part, own: BlockFunction, others: BlockFunction) -> BlockFunction:
    kind, begin, end, width = part

    def propose(
        block: int, first: int, last: int, strategy: Vector, state: State, numbers: Vector
    ) -> object:
        if numbers[numbers.size - 1] == kind:
            return own(block, first, last, strategy, state[begin:end], numbers[:width])
        return others(block, first, last, strategy, state, numbers)

    return propose


def sized(kernel: Kernel) -> BlockFunction:
    """Return how a kernel proposes, with infinity for the size of its regrets if it says none."""
    return kernel.propose if kernel.traits.returns_size else without_size(kernel.propose)


@cache
def without_size(own: BlockFunction) -> BlockFunction:
    """Return the same proposal with infinity for a size, which is never rounding."""

    def propose(
        block: int, first: int, last: int, strategy: Vector, state: State, numbers: Vector
    ) -> float:
        own(block, first, last, strategy, state, numbers)
        return math.inf

    return propose


@cache
def _lesson(part: Part, own: BlockFunction, others: BlockFunction) -> BlockFunction:
    kind, begin, end, width = part

    def learn(
        block: int,
        first: int,
        last: int,
        utility: Vector,
        value: float,
        strategy: Vector,
        state: State,
        numbers: Vector,
    ) -> None:
        if numbers[numbers.size - 1] == kind:
            mine = state[begin:end]
            own(block, first, last, utility, value, strategy, mine, numbers[:width])
        else:
            others(block, first, last, utility, value, strategy, state, numbers)

    return learn


@cache
def _settling(part: Part, own: BlockFunction, others: BlockFunction) -> BlockFunction:
    kind, begin, end, width = part

    def settle_regrets(
        block: int, first: int, last: int, rounding: float, state: State, numbers: Vector
    ) -> None:
        if numbers[numbers.size - 1] == kind:
            own(block, first, last, rounding, state[begin:end], numbers[:width])
        else:
            others(block, first, last, rounding, state, numbers)

    return settle_regrets


def _propose_nothing(
    block: int, first: int, last: int, strategy: Vector, state: State, numbers: Vector
) -> float:
    return math.inf


def _learn_nothing(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: State,
    numbers: Vector,
) -> None:
    pass
