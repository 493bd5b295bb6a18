"""The law of growth: regret stays far below the number of iterations."""

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np

from regretkit._util._typing import Vector
from regretkit.checks._contract import ADVERSARIES, Adversary, Make, is_scale_free
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import StrategySet


def _constant(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour the same point for ever; no two points of floats have the same value.

    The cosines of whole numbers are linearly independent over the rationals (Lindemann and
    Weierstrass).
    """
    return np.cos(np.arange(x.size))


ALL_ADVERSARIES = MappingProxyType(
    {
        **ADVERSARIES,
        "constant": _constant,
        "constant-opposite": lambda x, t, generator: -_constant(x, t, generator),
    }
)
"""The seven adversaries of the check, by name. A strategy that ignores utilities has linear regret
against at least one of the two constant adversaries."""

UNITS = tuple(2.0**power for power in sorted(range(-48, 49, 3), key=abs))
"""Units of utility to try, in the order of their distance from 1."""


def regret_grows_slowly(make: Make) -> None:
    """Require that regret grows slowly against seven adversaries.

    With T = max(400, 30 dimension) iterations, the regret must be at most

        2 sqrt(dimension sum_t (range of payoffs in t)^2)

    A minimizer that ignores utilities fails on any set of more than one point: its regrets against
    the two constant adversaries sum to T ranges, and half of that exceeds the bound for
    ``T > 16 dimension``.

    Learning rates and similar parameters have a unit of utility. The check thus passes if the bound
    holds in one unit: 1, or a power of 8 between ``2^-48`` and ``2^48``. A ``scale_free`` minimizer
    must pass in unit 1.
    """
    adversaries, messages = list(ALL_ADVERSARIES), list[str]()
    for unit in UNITS[:1] if is_scale_free(make()) else UNITS:
        found = fault(make, unit, adversaries)
        if found is None:
            return
        adversary, message = found
        messages.append(message)
        # Try this adversary first in the next unit, to fail early.
        adversaries.remove(adversary)
        adversaries.insert(0, adversary)
    other_units = ", and no other unit of utility is any better for it" if messages[1:] else ""
    raise AssertionError(messages[0] + other_units)


def fault(
    make: Make, unit: float = 1.0, adversaries: Iterable[str] = ALL_ADVERSARIES
) -> tuple[str, str] | None:
    """Return the first adversary against which regret is too large in a unit, and a message."""
    for name in adversaries:
        minimizer = make()
        iterations = max(400, 30 * minimizer.dimension)
        regret, bound = regret_and_bound(minimizer, ALL_ADVERSARIES[name], iterations, unit)
        if not regret <= bound:
            return name, (
                f"against the {name} adversary its regret after {iterations} iterations is "
                f"{regret:g}, above {bound:g}"
            )
    return None


def regret_and_bound(
    minimizer: RegretMinimizer, adversary: Adversary, iterations: int, unit: float
) -> tuple[float, float]:
    """Return the external regret, and its bound with an allowance for rounding."""
    generator, domain = np.random.default_rng(7), minimizer.domain
    reach = _reach(domain)
    total, earned, squares, size = np.zeros(minimizer.dimension), 0.0, 0.0, 0.0
    for t in range(iterations):
        strategy = minimizer.next_strategy()
        # Scale coordinates to at most 1, so that utilities do not depend on the size of the set
        utility = unit * adversary(strategy / reach, t, generator)
        total += utility
        earned += float(utility @ strategy)
        size += reach * float(np.abs(utility).sum())
        squares += (domain.best_response(utility)[0] + domain.best_response(-utility)[0]) ** 2
        minimizer.observe_utility(utility)
    bound = 2.0 * float(np.sqrt(minimizer.dimension * squares)) + 1e-9 * size
    return domain.best_response(total)[0] - earned, bound


def _reach(domain: StrategySet) -> float:
    """Return the size of the largest coordinate of any point, 1 where all are zero."""
    axes = np.eye(domain.dimension)
    corners = [domain.best_response(sign * axis)[0] for axis in axes for sign in (1.0, -1.0)]
    return float(np.abs(corners).max(initial=0.0)) or 1.0
