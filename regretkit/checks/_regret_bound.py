"""The check of regret growth, and the adversaries behind it."""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Vector
from regretkit.checks._helpers import Make
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import StrategySet

Adversary: TypeAlias = Callable[[Vector, int, np.random.Generator], Vector]
"""From the strategy, the iteration (from 0) and a generator to a utility."""


def _random(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Draw every coordinate, some better than others in the mean."""
    return generator.normal(size=x.size) + np.linspace(-0.5, 0.5, x.size)


def _alternating(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour even coordinates in two iterations of three, and odd ones in the third."""
    even = np.arange(x.size) % 2 == 0
    return np.where(even == (t % 3 < 2), 1.0, -1.0)


def _sign_flipping(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Keep a direction for ever longer, then turn it around."""
    return np.linspace(-1.0, 1.0, x.size) * (1.0 if int(np.log2(t + 1.0)) % 2 else -1.0)


def _drifting(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Let the best coordinate wander slowly."""
    return np.cos(t / 60.0 + 2.0 * np.pi * np.arange(x.size) / max(1, x.size))


def _punishing(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Give the least utility to what is played most, and a little more to one coordinate."""
    utility = -x.copy()
    utility[:1] += 0.3 * np.abs(x).max(initial=0.0)
    return utility


def _constant(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour the same point for ever.

    The cosines of 0, 1, 2 and so on are linearly independent over the rational numbers, by the
    theorem of Lindemann and Weierstrass, and so no two points of floats have the same value.
    """
    return np.cos(np.arange(x.size))


def _opposite(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour for ever the coordinate of least utility against the constant adversary."""
    return -_constant(x, t, generator)


ADVERSARIES = MappingProxyType(
    {
        "random": _random,
        "alternating": _alternating,
        "sign-flipping": _sign_flipping,
        "drifting": _drifting,
        "best-reply-punishing": _punishing,
    }
)
"""The five adversaries against learning minimizers, by name."""

CONSTANT = MappingProxyType({"constant": _constant, "constant-opposite": _opposite})
"""Two more, by name: strategies that ignore utilities have linear regret against one of them."""


ALL_ADVERSARIES = MappingProxyType({**ADVERSARIES, **CONSTANT})
"""The seven adversaries that a minimizer is tested against, by name."""

UNITS = tuple(2.0**power for power in sorted(range(-48, 49, 3), key=abs))
"""Units of utility in which regret may be small, the unit 1 first and the closest to it next."""


def regret_grows_slowly(make: Make) -> None:
    """Require that regret stays far below the number of iterations, against seven adversaries.

    A utility opens a range of payoffs over the domain. Regret may reach ``2 sqrt(dimension)``
    times the root of the sum of the squares of these ranges, which is ``2 sqrt(dimension T)``
    ranges where all T are alike. There are 400 iterations, and at least 30 for each dimension.

    A minimizer that ignores utilities fails on any set of more than one point. Two of the
    adversaries give a constant utility, one the negative of the other, and the regrets against
    them add up to ``T`` ranges: half of that is above the bound for ``T > 16 dimension``.

    A learning rate, a floor or a temperature is in some unit of utility, and is neither right nor
    wrong before that is known. So it is enough that there is one unit in which regret is as small
    against all seven: 1, or else a power of 8 between ``2^-48`` and ``2^48``. What claims to be
    ``scale_free`` has no unit to choose.
    """
    adversaries, messages = list(ALL_ADVERSARIES), []
    for unit in UNITS[:1] if make().scale_free else UNITS:
        found = fault(make, unit, adversaries)
        if found is None:
            return
        adversary, message = found
        messages.append(message)
        # An adversary that succeeds in one unit most likely does in the next, and is tried first.
        adversaries.remove(adversary)
        adversaries.insert(0, adversary)
    other_units = ", and no other unit of utility is any better for it" if messages[1:] else ""
    raise AssertionError(messages[0] + other_units)


def fault(
    make: Make, unit: float = 1.0, adversaries: Iterable[str] = ALL_ADVERSARIES
) -> tuple[str, str] | None:
    """Return the adversary against which regret is too large in a unit, and a message about it."""
    for name in adversaries:
        minimizer = make()
        iterations = max(400, 30 * minimizer.dimension)
        regret, bound = _regret_and_bound(minimizer, ALL_ADVERSARIES[name], iterations, unit)
        if not regret <= bound:
            return name, (
                f"against the {name} adversary its regret after {iterations} iterations is "
                f"{regret:g}, above {bound:g}"
            )
    return None


def _regret_and_bound(
    minimizer: RegretMinimizer, adversary: Adversary, iterations: int, unit: float
) -> tuple[float, float]:
    """Return the external regret, and what it may be, with an allowance for rounding."""
    generator, domain = np.random.default_rng(7), minimizer.domain
    reach = _reach(domain)
    total, earned, squares, size = np.zeros(minimizer.dimension), 0.0, 0.0, 0.0
    for t in range(iterations):
        strategy = minimizer.next_strategy()
        # As if no coordinate were larger than 1, so that no adversary is larger than the others
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
