"""Games and strategies in fractions, for certificates."""

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.games import CHANCE, GameTree, NormalFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._sequences import last_sequences, levels
from regretkit.sets import DecisionTree

_WITHIN = 2**50
"""The largest relative distance between a float and the fraction that replaces it."""
_BYTES_A_FRACTION = 1000
"""Peak memory of a proof and of its check for each history or payoff, rounded up."""


class Shares(NamedTuple):
    """A strategy in fractions: numerators by sequence, and their common denominator.

    In a normal form, sequence 0 is the empty one, and 1 + a is action a.
    """

    numerators: Mapping[int, int]
    denominator: int

    @classmethod
    def reduced(cls, numerators: Mapping[int, int], denominator: int) -> "Shares":
        """Return a strategy in lowest terms, without zeros."""
        common = math.gcd(denominator, *numerators.values())
        return cls({s: n // common for s, n in numerators.items() if n}, denominator // common)

    def is_on(self, tree: DecisionTree) -> bool:
        """Return whether it is a strategy of this tree."""
        known = self.numerators
        return (
            1 <= self.denominator == known.get(0)
            and min(known.values()) >= 0
            and all(
                sum(known.get(s, 0) for s in sequences) == known.get(parent, 0)
                for sequences, parent in decisions(tree)
            )
        )

    def floats(self, dimension: int) -> Vector:
        """Return the weights of all sequences as floats."""
        found = np.zeros(dimension)
        for s, numerator in self.numerators.items():
            found[s] = numerator / self.denominator
        return found


def as_tree(domain: Any) -> DecisionTree:
    """Return the tree of a player, in a normal form that of a single decision."""
    return domain if isinstance(domain, DecisionTree) else DecisionTree([0], domain.sizes)


def decisions(tree: DecisionTree) -> Iterator[tuple[range, int]]:
    """Yield the sequences and the parent sequence of each decision point."""
    columns = tree.first_sequence, tree.sizes, tree.parent_sequence
    for first, size, parent in zip(*(column.tolist() for column in columns), strict=True):
        yield range(first, first + size), parent


# Limits


def check_size(game: Any) -> None:
    """Raise a MemoryError if the numbers of a game do not fit into memory as fractions."""
    normal = isinstance(game, NormalFormGame)
    size, of = (game.payoffs.size, "payoffs") if normal else (game.tree.histories, "histories")
    MemoryBudget().require(f"{size:,} {of}", size * _BYTES_A_FRACTION, when="in fractions")


def end_of(time_limit: float | None) -> float:
    """Return when a time limit ends, in seconds of ``time.monotonic``."""
    return time.monotonic() + (math.inf if time_limit is None else time_limit)


def check_time(end: float) -> None:
    """Raise a RuntimeError after the end of a time limit."""
    if time.monotonic() >= end:
        raise RuntimeError("no proof within time_limit")


# The numbers of a game


def simplest_fraction(value: float, allowed: Fraction | None = None) -> Fraction:
    """Return the first convergent of a number's continued fraction within a distance.

    By default that is how far rounding may have moved the number.
    """
    exact = Fraction(value)
    if allowed is None:
        allowed = abs(exact) / _WITHIN
    before, last, rest = (0, 1), (1, 0), exact
    while True:
        whole = math.floor(rest)
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        found = Fraction(*last)
        if abs(found - exact) <= allowed:
            return found
        rest = 1 / (rest - whole)


def fractions(numbers: Vector) -> NDArray[np.object_]:
    """Return numbers as their simplest fractions, equal ones as one object."""
    different, place = np.unique(numbers, return_inverse=True)
    found = np.empty(different.size, dtype=object)
    found[:] = [simplest_fraction(float(value)) for value in different]
    return np.asarray(found[place.reshape(numbers.shape)], dtype=object)


def readings(game: Any) -> dict[float, Fraction]:
    """Return the payoffs and chances of a game that stand for other fractions."""
    if isinstance(game, NormalFormGame):
        numbers = game.payoffs.ravel()
    else:
        numbers = np.append(game.tree.payoffs.ravel(), game.tree.probability[_drawn(game.tree)])
    pairs = ((value, simplest_fraction(value)) for value in np.unique(numbers).tolist())
    return {value: fraction for value, fraction in pairs if fraction != value}


def constant_sum(game: Any) -> Fraction:
    """Return what both payoffs sum to in fractions, everywhere, or raise a ValueError."""
    normal = isinstance(game, NormalFormGame)
    payoffs = game.payoffs.reshape(2, -1) if normal else game.tree.payoffs.T
    first, *others = {*fractions(payoffs).sum(axis=0)}
    if others:
        raise ValueError(
            f"payoffs must sum to a constant as fractions, but sum to {first} and {others[0]} in "
            f"{quote(game)}; certify_gaps proves what players gain there"
        )
    return Fraction(first)


def _drawn(tree: GameTree) -> NDArray[np.bool_]:
    """Return which histories follow a move of chance."""
    return np.append(False, tree.player[tree.parent[1:]] == CHANCE)


def _reach_of_chance(tree: GameTree) -> NDArray[np.object_]:
    """Return the probability of chance's moves to each history."""
    reach = np.empty(tree.histories, dtype=object)
    reach[:] = Fraction(1)
    drawn = _drawn(tree)
    probabilities = fractions(np.where(drawn, tree.probability, 1.0))
    totals: dict[int, Fraction] = defaultdict(Fraction)
    for history in np.flatnonzero(drawn).tolist():
        totals[int(tree.parent[history])] += probabilities[history]
    for history, total in totals.items():
        if total != 1:
            raise ValueError(
                f"chances at {quote(tree.history_path(history))} sum to {total} as fractions; "
                "pass floats nearest to fractions that sum to one"
            )
    for level in levels(tree):
        reach[level] = reach[tree.parent[level]] * probabilities[level]
    return reach


@frozen(eq=False)
class Ends:
    """The terminals of a game, and what they pay times chance, as multiples of ``1 / unit``."""

    trees: tuple[DecisionTree, ...]
    last: list[list[int]]
    """For each player, the last sequence at each terminal."""
    paid: list[list[int]]
    unit: int

    @classmethod
    def of(cls, game: Any) -> "Ends":
        """Return the terminals of a tree, or the outcomes of a normal form."""
        paid: Any
        if isinstance(game, NormalFormGame):
            last = np.indices(game.payoffs.shape[1:]).reshape(game.players, -1) + 1
            paid = fractions(game.payoffs).reshape(game.players, -1)
        else:
            ends = game.tree.terminals
            last = last_sequences(game.tree)[:, ends]
            paid = fractions(game.tree.payoffs.T) * _reach_of_chance(game.tree)[ends]
        unit = math.lcm(*{value.denominator for value in paid.flat})
        whole = [[v.numerator * (unit // v.denominator) for v in own] for own in paid]
        return cls(tuple(map(as_tree, game.domains)), last.tolist(), whole, unit)
