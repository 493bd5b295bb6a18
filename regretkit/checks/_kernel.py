"""The check of tracing: a rule's loops compute in each block what its NumPy code computes."""

import numpy as np

from regretkit._state import generators
from regretkit._util._typing import Vector
from regretkit.checks._contract import ADVERSARIES, Make, require
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace import Kernel, UntraceableError, find_kernel, upcoming_parameters
from regretkit.trace._rule import held_at

_SIMPLICES = Simplices([3, 1, 2, 4])
_ITERATIONS = 8
_RTOL = 1e-9
"""Sums may go in another order: relative to the largest number of the same block."""


def kernel_agrees(make: Make) -> None:
    """Require that a rule's traced loops play and learn as the rule does.

    They run as plain Python on each block, against five adversaries, ties and zeros. A rule that
    cannot be traced, or plays at random, passes.
    """
    for adversary in (*ADVERSARIES.values(), _tying):
        rule, generator = make().on_domain(_SIMPLICES), np.random.default_rng(0)
        if rule is None or any(generators(rule)):
            return
        try:
            kernel = find_kernel(rule)
        except UntraceableError:
            return
        for t in range(_ITERATIONS):
            _compare(rule, kernel, adversary(rule.next_strategy(), t, generator))


def _tying(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Draw each coordinate from -1, 0 and 1; all are zero in every other iteration."""
    return (t % 2 == 0) * generator.integers(-1, 2, size=x.size).astype(np.float64)


def _compare(rule: RegretMinimizer, kernel: Kernel, utility: Vector) -> None:
    """Run a rule, and its kernel in each block, and compare strategies and states."""
    strategy, (propose, learn) = rule.next_strategy(), kernel.in_python
    (upcoming, following), _ = upcoming_parameters(rule, kernel, 1)
    states = [_state(rule, kernel, number) for number in range(_SIMPLICES.blocks)]
    for number, value in enumerate(_SIMPLICES.expectation(utility, strategy)):
        own, state = _SIMPLICES.block(number), states[number]
        given, played, proposed = utility[own], strategy[own], np.full_like(utility[own], np.nan)
        with np.errstate(all="ignore"):
            propose(0, 0, proposed.size, proposed, state, upcoming)
            learn(0, 0, proposed.size, given.copy(), float(value), played.copy(), state, following)
        _require_near(proposed, played, 1.0, "its loops propose something else than the rule")
    rule.observe_utility(utility)
    for number, state in enumerate(states):
        unit = float(np.abs(utility[_SIMPLICES.block(number)]).max())
        expected = _state(rule, kernel, number)
        for name, array, other in zip(kernel.learned, state, expected, strict=False):
            _require_near(array, other, unit, f"its loops learn other {name} than the rule")


def _state(rule: RegretMinimizer, kernel: Kernel, number: int) -> list[Vector]:
    """Return copies of one block's part of all arrays that a kernel gets."""
    arrays = [held_at(rule, path) for path in kernel.learned]
    arrays += [np.zeros(_SIMPLICES.dimension) if a is None else a for a, _ in kernel.further]
    own, single = _SIMPLICES.block(number), slice(number, number + 1)
    places = [own if by_action else single for by_action in kernel.layout]
    return [array[place].copy() for array, place in zip(arrays, places, strict=True)]


def _require_near(found: Vector, expected: Vector, unit: float, message: str) -> None:
    allowed = _RTOL * max(unit, float(np.abs(expected).max()))
    same = bool((np.abs(found - expected) <= allowed).all())
    require(same, f"{message}: {found} instead of {expected}")
