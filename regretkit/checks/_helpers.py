"""Helpers of the checks: minimizers in one state, their strategies, and comparisons."""

import copy
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from regretkit._util._state import generators
from regretkit._util._typing import Vector
from regretkit.minimizer import RegretMinimizer

Make: TypeAlias = Callable[[], RegretMinimizer]
"""Builds a new minimizer."""

Check: TypeAlias = Callable[[Make], None]
"""Raises an error when the minimizers that a factory builds do not keep one law of the contract."""

_ITERATIONS = 12
_SEEDS = 300


def utilities(minimizer: RegretMinimizer, seed: int = 0, count: int = _ITERATIONS) -> Vector:
    """Return random utilities, one row for each iteration."""
    return np.random.default_rng(seed).normal(size=(count, minimizer.dimension))


def twins(make: Make, count: int = 2) -> list[RegretMinimizer]:
    """Return new minimizers in one and the same state, random ones in that of one generator."""
    made = [make() for _ in range(count)]
    for twin in made[1:]:
        twin.load_state_dict(made[0].state_dict())
    return made


def play(minimizer: RegretMinimizer, utilities: Iterable[Vector]) -> Vector:
    """Return what is played against some utilities, one row for each and one for the next."""
    played = []
    for utility in utilities:
        played.append(minimizer.next_strategy().copy())
        minimizer.observe_utility(utility)
    return np.array([*played, minimizer.next_strategy()])


def expected_play(minimizer: RegretMinimizer, utilities: Vector) -> tuple[Vector, Vector | float]:
    """Return what is played and its standard error, which is 0 where no chance is involved."""
    if not list(generators(minimizer)):
        return play(minimizer, utilities), 0.0
    samples = []
    for seed in range(_SEEDS):
        sample = copy.deepcopy(minimizer)
        for generator in generators(sample):
            generator.bit_generator.state = type(generator.bit_generator)(seed).state
        samples.append(play(sample, utilities))
    return np.mean(samples, axis=0), np.std(samples, axis=0) / np.sqrt(_SEEDS)


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def require_in_domain(minimizer: RegretMinimizer, strategy: Vector) -> None:
    """Require that a strategy is a point of the domain."""
    require(
        minimizer.domain.contains(strategy, atol=1e-7),
        f"{strategy} was played, outside {minimizer.domain!r}",
    )


def require_same(left: Vector, right: Vector, message: str) -> None:
    """Require the same bits."""
    np.testing.assert_array_equal(left, right, err_msg=message)


def require_same_strategy(left: RegretMinimizer, right: RegretMinimizer, message: str) -> None:
    """Require the same bits of two minimizers' strategies."""
    require_same(left.next_strategy(), right.next_strategy(), message)


def require_alike(
    left: tuple[Vector, Vector | float], right: tuple[Vector, Vector | float], message: str
) -> None:
    """Require equality up to rounding, or in distribution where chance is involved."""
    allowed = 1e-9 + 6.0 * np.hypot(left[1], right[1])
    difference = np.abs(left[0] - right[0])
    require(bool((difference <= allowed).all()), f"{message}, by {difference.max():.3g}")
