"""The check of kernels: what a rule does in all blocks at once, its kernel does in one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from regretkit._state import generators
from regretkit._util._typing import Vector
from regretkit.checks._contract import ADVERSARIES, Make, require
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace._find import kernel_or_none, upcoming_parameters
from regretkit.trace._snapshot import learned_at

_SIZES = (3, 1, 2, 4)
_ITERATIONS = 8
_NONSENSE = 1e6 * np.pi
_RTOL = 1e-9
"""Sums may go in another order: relative to the largest number of the same block."""


@runtime_checkable
class _Rule(Protocol):
    """What this check needs of a rule."""

    def _kernel(self) -> Any: ...

    def _learned(self) -> Mapping[str, Vector]: ...


def kernel_agrees(make: Make) -> None:
    """Require that a rule that has a kernel plays and learns as the kernel does, to rounding.

    The kernel runs as plain Python, in each block alone and from the rule's own state, against five
    adversaries and against utilities many of which are equal. What it finds outside its block is
    nonsense, and must stay there.
    """
    for name in (*ADVERSARIES, "ties"):
        rule = make().on_domain(Simplices(_SIZES))
        kernel = kernel_or_none(rule) if isinstance(rule, _Rule) else None
        if rule is None or kernel is None or list(generators(rule)):
            return
        generator, traits, initial = np.random.default_rng(0), kernel.traits, _blocks(rule, kernel)
        for t in range(_ITERATIONS):
            strategy = _compare_proposals(rule, kernel)
            if name in ADVERSARIES:
                utility = ADVERSARIES[name](strategy, t, generator)
            else:
                utility = generator.integers(-1, 2, size=rule.dimension).astype(np.float64)
            _compare_updates(rule, kernel, utility, strategy)
            if traits.invariant_to_zero_utility or traits.only_discounts_on_zero_utility:
                _check_zero_utility(rule, kernel)
            if traits.ignores_singleton_blocks:
                _check_singletons(rule, kernel, utility, initial)


def _compare_proposals(rule: RegretMinimizer, kernel: Any) -> Vector:
    strategy, [upcoming] = rule.next_strategy(), upcoming_parameters(rule, kernel, 0)[0]
    for block in _blocks(rule, kernel):
        proposed = block.alone(np.full_like(strategy, np.nan))
        block.propose(kernel, upcoming, proposed)
        block.require_alike(
            proposed, strategy, 1.0, "its kernel proposes something else than the rule"
        )
        block.require_within(proposed, *block.state)
    return strategy


def _compare_updates(rule: RegretMinimizer, kernel: Any, utility: Vector, strategy: Vector) -> None:
    blocks, names = _blocks(rule, kernel), kernel.learned
    values = cast("Simplices", rule.domain).expectation(utility, strategy)
    _, parameters = upcoming_parameters(rule, kernel, 1)[0]
    rule.observe_utility(utility)
    learned = learned_at(rule, names)
    for block, value in zip(blocks, values, strict=True):
        earned, played = block.alone(utility), block.alone(strategy)
        block.learn(kernel, parameters, earned, float(value), played)
        unit = float(np.abs(utility[block.actions]).max())
        for array, given, name in ((earned, utility, "utility"), (played, strategy, "strategy")):
            block.require_alike(
                array, given, 0.0, f"its kernel changes the {name} that it learns from"
            )
        for name, array in zip(names, block.state, strict=False):
            block.require_alike(
                array, learned[name], unit, f"its kernel learns other {name} than the rule"
            )
        block.require_within(earned, played, *block.state)


def _check_zero_utility(rule: RegretMinimizer, kernel: Any) -> None:
    """Compare each block's proposal and state before an iteration of utility zero, and after it."""
    (upcoming, following), traits = upcoming_parameters(rule, kernel, 1)[0], kernel.traits
    for old, block in zip(_blocks(rule, kernel), _blocks(rule, kernel), strict=True):
        zeros, proposed, proposed_after = (block.alone(np.zeros(rule.dimension)) for _ in range(3))
        block.propose(kernel, upcoming, proposed)
        block.learn(kernel, following, zeros, 0.0, proposed)
        block.propose(kernel, following, proposed_after)
        learned = len(kernel.learned)
        pairs = list(zip(old.state[:learned], block.state[:learned], strict=True))
        if traits.invariant_to_zero_utility:
            moved = "its kernel declares invariant_to_zero_utility, but a zero utility changes it"
            for array, updated in [(proposed, proposed_after), *pairs]:
                require(np.array_equal(array, updated), moved)
        if traits.only_discounts_on_zero_utility:
            moved = "its kernel declares only_discounts_on_zero_utility, but that is not all"
            own, (regrets, discounted) = block.own(proposed, 1), pairs[0]
            kept, dropped = following[:2]
            expected = regrets * np.where(regrets > 0.0, kept, dropped)
            require(np.array_equal(expected[own], discounted[own]), moved)
            near = np.allclose(proposed[own], proposed_after[own], rtol=0.0, atol=_RTOL)
            require(near, moved)
            for array, updated in pairs[1:]:
                require(np.array_equal(array, updated), moved)


def _check_singletons(
    rule: RegretMinimizer, kernel: Any, utility: Vector, initial: Sequence["_Block"]
) -> None:
    moved = "its kernel says that it ignores forced moves, but where there is one action it moves"
    _, following = upcoming_parameters(rule, kernel, 1)[0]
    for old, block in zip(initial, _blocks(rule, kernel), strict=True):
        if block.actions.stop - block.actions.start > 1:
            continue
        earned, played = block.alone(utility), block.alone(np.ones(rule.dimension))
        after, [value] = block.alone(np.zeros(rule.dimension)), utility[block.actions]
        block.learn(kernel, following, earned, float(value), played)
        block.propose(kernel, following, after)
        learned = len(kernel.learned)
        befores, afters = (played, *old.state[:learned]), (after, *block.state[:learned])
        for array, laid in zip(befores, afters, strict=True):
            require(np.array_equal(array, laid), moved)


class _Block(NamedTuple):
    """One block of a rule, in arrays that hold nothing but nonsense around it."""

    number: int
    actions: slice
    dimension: int
    state: tuple[Vector, ...] = ()

    def propose(self, kernel: Any, parameters: Vector, strategy: Vector) -> None:
        """Let the kernel propose, as plain Python."""
        self._call(kernel.propose, parameters, strategy)

    def learn(
        self, kernel: Any, parameters: Vector, utility: Vector, value: float, strategy: Vector
    ) -> None:
        """Let the kernel learn, as plain Python."""
        self._call(kernel.learn, parameters, utility, value, strategy)

    def _call(self, function: Any, parameters: Vector, *known: Vector | float) -> None:
        place = self.number + 1, self.actions.start + 1, self.actions.stop + 1
        plain = getattr(function, "py_func", function)
        with np.errstate(all="ignore"):
            plain(*place, *known, self.state, parameters)

    def own(self, array: Vector, shift: int = 0) -> slice:
        """Return where the block lies in an array with a number for each action, or block."""
        if array.size == self.dimension + 2 * shift:
            return slice(self.actions.start + shift, self.actions.stop + shift)
        return slice(self.number + shift, self.number + shift + 1)

    def alone(self, array: Vector) -> Vector:
        """Return the block's part of an array, somewhere in the midst of others."""
        laid = np.full(array.size + 2, _NONSENSE)
        place = self.own(laid, 1)
        laid[place.start :] = -_NONSENSE
        laid[place] = array[self.own(array)]
        return laid

    def require_alike(self, laid: Vector, array: Vector, unit: float, message: str) -> None:
        """Require that the block's part is what the rule made of it."""
        found, expected = laid[self.own(laid, 1)], array[self.own(array)]
        allowed = _RTOL * max(unit, float(np.abs(expected).max())) if unit else 0.0
        require(
            bool((np.abs(found - expected) <= allowed).all()),
            f"{message}: {found} instead of {expected}",
        )

    def require_within(self, *arrays: Vector) -> None:
        """Require that nothing was written outside the block."""
        for laid in arrays:
            place = self.own(laid, 1)
            intact = (laid[: place.start] == _NONSENSE).all() and (
                laid[place.stop :] == -_NONSENSE
            ).all()
            require(bool(intact), "its kernel writes to what is not its block's")


def _blocks(rule: RegretMinimizer, kernel: Any) -> list[_Block]:
    simplices, learned = cast("Simplices", rule.domain), learned_at(rule, kernel.learned)
    found = []
    for number in range(simplices.blocks):
        block = _Block(number, simplices.block(number), simplices.dimension)
        arrays = [learned[name] for name in kernel.learned]
        for array, by_action in kernel.further:
            size = simplices.dimension if by_action else simplices.blocks
            arrays.append(np.zeros(size) if array is None else array)
        found.append(block._replace(state=tuple(map(block.alone, arrays))))
    return found
