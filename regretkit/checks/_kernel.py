"""The check that a rule's traced loops agree with its NumPy code."""

import numpy as np

from regretkit._state import generators
from regretkit._util._typing import Vector
from regretkit.checks._contract import Make, require
from regretkit.checks._growth import ADVERSARIES
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace import Kernel, UntraceableError, find_kernel, upcoming_parameters
from regretkit.trace._rule import held_at

_SIMPLICES = Simplices([3, 1, 2, 4])
_ITERATIONS = 8
_RTOL = 1e-9
"""Tolerance relative to the largest number of the block, because the order of sums may differ."""


def kernel_agrees(make: Make) -> None:
    """Require that a rule's traced loops give the same strategies and states as the rule.

    The check runs the loops in Python on each block, against the adversaries, ties and zeros. Rules
    that cannot be traced, and random rules, pass.
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
    """Draw each coordinate from -1, 0 and 1. In every other iteration all are zero."""
    return (t % 2 == 0) * generator.integers(-1, 2, size=x.size).astype(np.float64)


def _compare(rule: RegretMinimizer, kernel: Kernel, utility: Vector) -> None:
    """Run one iteration of a rule and of its kernel; compare strategies and states."""
    strategy, (propose, learn) = rule.next_strategy(), kernel.in_python
    (upcoming, following), _ = upcoming_parameters(rule, kernel, 1)
    states = [_state(rule, kernel, number) for number in range(_SIMPLICES.blocks)]
    for number, value in enumerate(_SIMPLICES.expectation(utility, strategy)):
        own, state = _SIMPLICES.block(number), states[number]
        given, played, proposed = utility[own], strategy[own], np.full_like(utility[own], np.nan)
        with np.errstate(all="ignore"):
            propose(0, 0, proposed.size, proposed, state, upcoming)
            learn(0, 0, proposed.size, given.copy(), float(value), played.copy(), state, following)
        _require_near(proposed, played, 1.0, "its traced loops propose another strategy")
    rule.observe_utility(utility)
    for number, state in enumerate(states):
        unit = float(np.abs(utility[_SIMPLICES.block(number)]).max())
        expected = _state(rule, kernel, number)
        for name, array, other in zip(kernel.learned, state, expected, strict=False):
            _require_near(array, other, unit, f"its traced loops compute other {name}")


def _state(rule: RegretMinimizer, kernel: Kernel, number: int) -> list[Vector]:
    """Return copies of one block of each array of a kernel."""
    arrays = [held_at(rule, path) for path in kernel.learned]
    arrays += [np.zeros(_SIMPLICES.dimension) if a is None else a for a, _ in kernel.further]
    own, single = _SIMPLICES.block(number), slice(number, number + 1)
    places = [own if by_action else single for by_action in kernel.layout]
    return [array[place].copy() for array, place in zip(arrays, places, strict=True)]


def _require_near(found: Vector, expected: Vector, unit: float, message: str) -> None:
    allowed = _RTOL * max(unit, float(np.abs(expected).max()))
    same = bool((np.abs(found - expected) <= allowed).all())
    require(same, f"{message}: {found} instead of {expected}")
