"""Initial chance moves, drawn with one number: many games begin with a deal."""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Vector
from regretkit.games import CHANCE, GameTree
from regretkit.games.tree._sequences import levels

MOST = 64
"""Deals that are worth looking through for each number that is drawn."""


class Opening(NamedTuple):
    """The histories in which chance has made all moves that it makes at first."""

    first: np.uint32
    """The first of them; the others follow it."""
    moves: np.uint32
    """How many moves that takes."""
    heaped: Vector
    """The probability that it comes to each of them or one before it."""


def opening_of(tree: GameTree) -> Opening:
    """Return the leading levels at which only chance moves, as long as deals are few.

    Histories of probability zero do not count.
    """
    first, moves, chances = 0, 0, np.ones(1)
    for level in levels(tree):
        a_player_acts = (tree.player[first + np.flatnonzero(chances)] != CHANCE).any()
        following = chances[tree.parent[level] - first] * tree.probability[level]
        if a_player_acts or np.count_nonzero(following) > MOST:
            break
        first, moves, chances = level.start, moves + 1, following
    possible = np.flatnonzero(chances)
    if possible.size == 1:  # nothing is drawn
        first, chances = first + int(possible[0]), np.ones(1)
    return Opening(np.uint32(first), np.uint32(moves), heaped(chances))


def heaped(chances: Vector) -> Vector:
    """Return each probability with all before it, of even deals not rounded on the way."""
    possible = chances > 0.0
    likely = chances[possible]
    even = bool((likely == likely[0]).all())
    sums = np.arange(1, likely.size + 1) / likely.size if even else np.cumsum(likely)
    return np.append(0.0, sums)[np.cumsum(possible)]


# In plain loops that a compiler understands as well


def guess(drawn: float, deals: int) -> int:
    """Return where to begin to look; machine code begins where even deals would have it end.

    Here numbers that are drawn are only compared, so that all samples can be gone through.
    """
    return 0


def guess_evenly(drawn: float, deals: int) -> int:
    """Begin there: most games deal evenly, and nothing is left to look for."""
    return min(int(drawn * deals), deals - 1)


def deal(opening: Opening, generator: np.random.Generator) -> tuple[int, int]:
    """Draw what chance does at first; return the history, and how many come before it."""
    sums, chosen = opening.heaped, 0
    last = sums.size - 1
    if last > 0:
        drawn = generator.random()
        chosen = guess(drawn, sums.size)
        while chosen > 0 and drawn < sums[chosen - 1]:
            chosen -= 1
        while chosen < last and drawn >= sums[chosen]:
            chosen += 1
        while chosen > 0 and sums[chosen] == sums[chosen - 1]:  # left over by rounding
            chosen -= 1
    return int(opening.first) + chosen, int(opening.moves)


def deal_nothing(opening: Opening, generator: np.random.Generator) -> tuple[int, int]:
    """Begin before chance has moved, for those who look at each of its moves."""
    return 0, 0
