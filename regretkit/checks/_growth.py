"""The check that regret grows slower than the number of iterations, and its adversaries."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Vector
from regretkit.checks._contract import Make, is_scale_free
from regretkit.sets import StrategySet

Adversary: TypeAlias = Callable[[Vector, int, np.random.Generator], Vector]
"""Maps a strategy, the number of earlier iterations and a generator to a utility."""


def _random(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Draw each coordinate, with different means."""
    return generator.normal(size=x.size) + np.linspace(-0.5, 0.5, x.size)


def _alternating(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour even coordinates in two of three iterations, and odd ones in the third."""
    even = np.arange(x.size) % 2 == 0
    return np.where(even == (t % 3 < 2), 1.0, -1.0)


def _sign_flipping(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Reverse a direction after intervals of growing length."""
    return np.linspace(-1.0, 1.0, x.size) * (1.0 if int(np.log2(t + 1.0)) % 2 else -1.0)


def _drifting(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Change the best coordinate slowly."""
    return np.cos(t / 60.0 + 2.0 * np.pi * np.arange(x.size) / max(1, x.size))


def _punishing(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Return small utilities of large coordinates, and a little more for one coordinate."""
    utility = -x.copy()
    utility[:1] += 0.3 * np.abs(x).max(initial=0.0)
    return utility


def _constant(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Return a constant utility for which all points of floats have different values.

    Cosines of integers are linearly independent over the rationals (Lindemann and Weierstrass).
    """
    return np.cos(np.arange(x.size))


ADVERSARIES: Mapping[str, Adversary] = MappingProxyType(
    {
        "random": _random,
        "alternating": _alternating,
        "sign-flipping": _sign_flipping,
        "drifting": _drifting,
        "best-reply-punishing": _punishing,
        "constant": _constant,
        "constant-opposite": lambda x, t, generator: -_constant(x, t, generator),
    }
)
"""The seven adversaries, by name. A strategy that ignores utilities has linear regret against at
least one of the two constant ones."""

UNITS = tuple(2.0**power for power in sorted(range(-48, 49, 3), key=abs))
"""Units of utility, by distance from 1."""


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
    adversaries, messages = list(ADVERSARIES), list[str]()
    for unit in UNITS[:1] if is_scale_free(make()) else UNITS:
        failed = next((name for name in adversaries if (message := _excess(make, unit, name))), "")
        if not failed:
            return
        messages.append(message)
        adversaries.sort(key=lambda name: name != failed)  # try this one first, to fail early
    other_units = ", and no other unit of utility is any better for it" if messages[1:] else ""
    raise AssertionError(messages[0] + other_units)


def _excess(make: Make, unit: float, adversary: str) -> str:
    """Return a message if the regret exceeds the bound, otherwise an empty string."""
    minimizer, generator = make(), np.random.default_rng(7)
    domain, iterations = minimizer.domain, max(400, 30 * minimizer.dimension)
    reach = _reach(domain)
    total, earned, squares, size = np.zeros(minimizer.dimension), 0.0, 0.0, 0.0
    for t in range(iterations):
        strategy = minimizer.next_strategy()
        # Scale coordinates to at most 1, so that utilities do not depend on the size of the set.
        utility = unit * ADVERSARIES[adversary](strategy / reach, t, generator)
        total += utility
        earned += float(utility @ strategy)
        size += reach * float(np.abs(utility).sum())
        squares += (domain.best_response(utility)[0] + domain.best_response(-utility)[0]) ** 2
        minimizer.observe_utility(utility)
    regret = domain.best_response(total)[0] - earned
    bound = 2.0 * float(np.sqrt(minimizer.dimension * squares)) + 1e-9 * size  # for rounding
    if regret <= bound:
        return ""
    return (
        f"against the {adversary} adversary its regret after {iterations} iterations is "
        f"{regret:g}, above {bound:g}"
    )


def _reach(domain: StrategySet) -> float:
    """Return the largest absolute coordinate of any point, 1 if all are zero."""
    axes = np.eye(domain.dimension)
    corners = [domain.best_response(sign * axis)[0] for axis in axes for sign in (1.0, -1.0)]
    return float(np.abs(corners).max(initial=0.0)) or 1.0
