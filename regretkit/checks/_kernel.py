"""The check of kernels: what a rule does in all blocks at once, its kernel does in one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np

from regretkit._util._state import generators
from regretkit._util._typing import Vector
from regretkit.checks._helpers import Make, require
from regretkit.checks._regret_bound import ADVERSARIES
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices

_SIZES = (3, 1, 2, 4)
_ITERATIONS = 8
_NONSENSE = 1e6 * np.pi
_RTOL = 1e-9
"""Sums may go in another order: relative to the largest number of the same block."""


class _Traits(Protocol):
    invariant_to_zero_utility: bool
    only_discounts_on_zero_utility: bool
    ignores_singleton_blocks: bool


class _Kernel(Protocol):
    """What this check needs of a kernel."""

    propose: Callable[..., None]
    learn: Callable[..., None]
    state: Sequence[str]
    block_state: Sequence[str]
    traits: _Traits

    def parameters_at(self, iteration: int) -> Sequence[float]: ...


class _Rule(Protocol):
    """What it needs of a rule."""

    def _kernel(self) -> _Kernel | None: ...

    def _learned(self) -> Mapping[str, Vector]: ...


def kernel_agrees(make: Make) -> None:
    """Require that a rule that has a kernel plays and learns as the kernel does, to rounding.

    The kernel runs as plain Python, in each block alone and from the rule's own state, against five
    adversaries and against utilities many of which are equal. What it finds outside its block is
    nonsense, and must stay there.
    """
    for name in (*ADVERSARIES, "ties"):
        rule = make().on_domain(Simplices(_SIZES))
        kernel = cast(_Rule, rule)._kernel() if hasattr(rule, "_kernel") else None
        if rule is None or kernel is None or list(generators(rule)):
            return
        generator, start = np.random.default_rng(0), _blocks(rule, kernel)
        for t in range(_ITERATIONS):
            strategy = _compare_proposals(rule, kernel)
            if name in ADVERSARIES:
                utility = ADVERSARIES[name](strategy, t, generator)
            else:
                utility = generator.integers(-1, 2, size=rule.dimension).astype(np.float64)
            _compare_lessons(rule, kernel, utility, strategy)
            if kernel.traits.invariant_to_zero_utility:
                _require_rest(rule, kernel)
            if kernel.traits.only_discounts_on_zero_utility:
                _require_fading(rule, kernel)
            if kernel.traits.ignores_singleton_blocks:
                _require_no_notice(rule, kernel, utility, start)


def _compare_proposals(rule: RegretMinimizer, kernel: _Kernel) -> Vector:
    strategy, numbers = rule.next_strategy(), np.array(kernel.parameters_at(rule.iteration))
    for block in _blocks(rule, kernel):
        proposed = block.alone(np.full_like(strategy, np.nan))
        _plain(kernel.propose)(*block.place, proposed, block.state, numbers)
        block.require_alike(
            proposed, strategy, 1.0, "its kernel proposes something else than the rule"
        )
        block.require_within(proposed, *block.state)
    return strategy


def _compare_lessons(
    rule: RegretMinimizer, kernel: _Kernel, utility: Vector, strategy: Vector
) -> None:
    numbers = np.array(kernel.parameters_at(rule.iteration + 1))
    blocks, names = _blocks(rule, kernel), (*kernel.state, *kernel.block_state)
    values = cast(Simplices, rule.domain).expectation(utility, strategy)
    rule.observe_utility(utility)
    learned = cast(_Rule, rule)._learned()
    for block, value in zip(blocks, values, strict=True):
        earned, played = block.alone(utility), block.alone(strategy)
        known = earned, float(value), played, block.state, numbers
        _plain(kernel.learn)(*block.place, *known)
        unit = float(np.abs(utility[block.actions]).max())
        block.require_alike(
            earned, utility, 0.0, "its kernel changes the utility that it learns from"
        )
        block.require_alike(
            played, strategy, 0.0, "its kernel changes the strategy that it learns from"
        )
        for name, array in zip(names, block.state, strict=True):
            block.require_alike(
                array, learned[name], unit, f"its kernel learns other {name} than the rule"
            )
        block.require_within(earned, played, *block.state)


def _require_rest(rule: RegretMinimizer, kernel: _Kernel) -> None:
    moved = "its kernel declares invariant_to_zero_utility, but a zero utility changes it"
    for before, after, _ in _through_nothing(rule, kernel):
        for array, laid in zip(before, after, strict=True):
            require(np.array_equal(array, laid), moved)


def _require_fading(rule: RegretMinimizer, kernel: _Kernel) -> None:
    kept, dropped = kernel.parameters_at(rule.iteration + 1)[:2]
    moved = "its kernel declares only_discounts_on_zero_utility, but that is not all"
    for before, after, own in _through_nothing(rule, kernel):
        faded = before[1] * np.where(before[1] > 0.0, kept, dropped)
        require(np.array_equal(faded[own], after[1][own]), moved)
        require(np.allclose(before[0][own], after[0][own], rtol=0.0, atol=_RTOL), moved)
        for array, laid in zip(before[2:], after[2:], strict=True):
            require(np.array_equal(array, laid), moved)


def _through_nothing(
    rule: RegretMinimizer, kernel: _Kernel
) -> Iterator[tuple[Sequence[Vector], Sequence[Vector], slice]]:
    """Yield each block's proposal and state before an iteration worth nothing, and after it."""
    size, (now, later) = rule.dimension, (rule.iteration, rule.iteration + 1)
    numbers, others = np.array(kernel.parameters_at(now)), np.array(kernel.parameters_at(later))
    for old, block in zip(_blocks(rule, kernel), _blocks(rule, kernel), strict=True):
        nothing, before, after = (block.alone(np.zeros(size)) for _ in range(3))
        _plain(kernel.propose)(*block.place, before, block.state, numbers)
        _plain(kernel.learn)(*block.place, nothing, 0.0, before, block.state, others)
        _plain(kernel.propose)(*block.place, after, block.state, others)
        yield (before, *old.state), (after, *block.state), block.own(before, 1)


def _require_no_notice(
    rule: RegretMinimizer, kernel: _Kernel, utility: Vector, start: Sequence["_Block"]
) -> None:
    numbers = np.array(kernel.parameters_at(rule.iteration + 1))
    noticed = "its kernel says that it ignores forced moves, but where there is one action it moves"
    for old, block in zip(start, _blocks(rule, kernel), strict=True):
        if block.actions.stop - block.actions.start > 1:
            continue
        earned, played = block.alone(utility), block.alone(np.ones(rule.dimension))
        after, [value] = block.alone(np.zeros(rule.dimension)), utility[block.actions]
        known = earned, float(value), played, block.state, numbers
        _plain(kernel.learn)(*block.place, *known)
        _plain(kernel.propose)(*block.place, after, block.state, numbers)
        for array, laid in zip((played, *old.state), (after, *block.state), strict=True):
            require(np.array_equal(array, laid), noticed)


def _plain(function: Callable[..., None]) -> Callable[..., None]:
    """Return the Python function of a compiled one."""
    plain: Callable[..., None] = getattr(function, "py_func", function)
    return plain


class _Block(NamedTuple):
    """One block of a rule, in arrays that hold nothing but nonsense around it."""

    number: int
    actions: slice
    dimension: int
    state: tuple[Vector, ...] = ()

    @property
    def place(self) -> tuple[int, int, int]:
        """The block's number, and where its actions begin and end."""
        return self.number + 1, self.actions.start + 1, self.actions.stop + 1

    def own(self, array: Vector, shift: int = 0) -> slice:
        """Return where the block lies in an array with a number for each action, or block."""
        if array.size == self.dimension + 2 * shift:
            return slice(self.actions.start + shift, self.actions.stop + shift)
        return slice(self.number + shift, self.number + shift + 1)

    def alone(self, array: Vector) -> Vector:
        """Return the block's part of an array, somewhere in the midst of others."""
        laid = np.full(array.size + 2, _NONSENSE)
        own = self.own(laid, 1)
        laid[own.start :] = -_NONSENSE
        laid[own] = array[self.own(array)]
        return laid

    def require_alike(self, laid: Vector, array: Vector, unit: float, what: str) -> None:
        """Require that the block's part is what the rule made of it."""
        found, expected = laid[self.own(laid, 1)], array[self.own(array)]
        allowed = _RTOL * max(unit, float(np.abs(expected).max())) if unit else 0.0
        require(
            bool((np.abs(found - expected) <= allowed).all()),
            f"{what}: {found} instead of {expected}",
        )

    def require_within(self, *arrays: Vector) -> None:
        """Require that nothing was written outside the block."""
        for laid in arrays:
            own = self.own(laid, 1)
            whole = (laid[: own.start] == _NONSENSE).all() and (
                laid[own.stop :] == -_NONSENSE
            ).all()
            require(bool(whole), "its kernel writes to what is not its block's")


def _blocks(rule: RegretMinimizer, kernel: _Kernel) -> list[_Block]:
    simplices, learned = cast(Simplices, rule.domain), cast(_Rule, rule)._learned()
    found = []
    for number in range(simplices.blocks):
        block = _Block(number, simplices.block(number), simplices.dimension)
        names = (*kernel.state, *kernel.block_state)
        found.append(block._replace(state=tuple(block.alone(learned[name]) for name in names)))
    return found
