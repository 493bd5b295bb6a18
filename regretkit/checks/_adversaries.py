"""Adversarial utility sequences for tests."""

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Vector

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
    """Favour for ever what the constant adversary makes worth least."""
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
