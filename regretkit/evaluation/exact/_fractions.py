"""Games and strategies as fractions, for certificates."""

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from attrs import frozen

from regretkit._util._validate import quote
from regretkit.games import CHANCE, GameTree
from regretkit.games.tree._sequences import last_sequences
from regretkit.sets import DecisionTree

_WITHIN = 2**50
"""Inverse of the largest relative distance between a float and its fraction."""

Point: TypeAlias = tuple[range, int]
"""A decision point: its sequences, and its parent sequence."""


class Shares(NamedTuple):
    """A strategy as fractions: numerators by sequence, and their common denominator.

    In a normal form, sequence 0 is the empty one, and 1 + a is action a.
    """

    numerators: Mapping[int, int]
    denominator: int

    @classmethod
    def reduced(cls, numerators: Mapping[int, int], denominator: int) -> "Shares":
        """Return the strategy in lowest terms, without zeros."""
        common = math.gcd(denominator, *numerators.values())
        return cls({s: n // common for s, n in numerators.items() if n}, denominator // common)

    def is_on(self, points: Sequence[Point]) -> bool:
        """Return whether it is a valid strategy on these decision points."""
        known = self.numerators
        return (
            1 <= self.denominator == known.get(0)
            and min(known.values()) >= 0
            and all(sum(known.get(s, 0) for s in at) == known.get(p, 0) for at, p in points)
        )


def as_tree(domain: Any) -> DecisionTree:
    """Return a player's tree; a simplex becomes a single decision."""
    return domain if isinstance(domain, DecisionTree) else DecisionTree([0], domain.sizes)


def simplest_fraction(value: float, allowed: Fraction | None = None) -> Fraction:
    """Return the first convergent of a number's continued fraction within ``allowed``.

    The default distance is the rounding of a float.
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


@frozen(eq=False)
class ExactGame:
    """A game as fractions: payoffs times chance at terminals, in multiples of ``1 / unit``."""

    trees: tuple[DecisionTree, ...]
    points: list[list[Point]]
    """The decision points of each player."""
    last: list[list[int]]
    """The last sequence of each player at each terminal."""
    paid: list[list[int]]
    unit: int
    readings: dict[float, Fraction]
    """Fractions of payoffs and chance probabilities that are not floats, as 1/10 for 0.1."""
    totals: set[Fraction]
    """The sums of all players' payoffs at terminals, without chance."""
    end: float
    """The time limit, by ``time.monotonic``."""

    @classmethod
    def of(cls, game: Any, time_limit: float | None) -> "ExactGame":
        """Return a tree or a normal form as fractions."""
        end = time.monotonic() + (math.inf if time_limit is None else time_limit)
        drawn, tree = np.empty(0), getattr(game, "tree", None)
        if tree is None:
            payoffs = game.payoffs.reshape(game.players, -1)
            last = np.indices(game.payoffs.shape[1:]).reshape(game.players, -1) + 1
        else:
            payoffs = tree.payoffs.T
            last = last_sequences(tree)[:, tree.terminals]
            drawn = tree.probability[1:][tree.player[tree.parent[1:]] == CHANCE]
        meant = {v: simplest_fraction(v) for v in np.unique(np.append(payoffs, drawn)).tolist()}
        reach = _reach_of_chance(tree, meant) if tree is not None else [Fraction(1)] * last.shape[1]
        values = [[meant[value] for value in own] for own in payoffs.tolist()]
        paid = [[v * c for v, c in zip(own, reach, strict=True)] for own in values]
        unit = math.lcm(*{value.denominator for own in paid for value in own})
        trees = tuple(map(as_tree, game.domains))
        return cls(
            trees,
            [_points(tree) for tree in trees],
            last.tolist(),
            [[v.numerator * (unit // v.denominator) for v in own] for own in paid],
            unit,
            {value: fraction for value, fraction in meant.items() if fraction != value},
            {sum(own, Fraction(0)) for own in zip(*values, strict=True)},
            end,
        )

    def check_time(self) -> None:
        """Raise a RuntimeError after the time limit."""
        if time.monotonic() >= self.end:
            raise RuntimeError("found no proof within time_limit")

    def utility(
        self, player: int, strategies: Sequence[Mapping[int, int]], payoff_of: int | None = None
    ) -> dict[int, int]:
        """Return the utility of each sequence of a player against the other strategies."""
        earned: dict[int, int] = defaultdict(int)
        others = [*zip(strategies, self.last, strict=True)]
        del others[player]
        payoffs = self.paid[player if payoff_of is None else payoff_of]
        for end, (s, paid) in enumerate(zip(self.last[player], payoffs, strict=True)):
            for x, last in others:
                paid = paid and paid * x.get(last[end], 0)
            if paid:
                earned[s] += paid
        return earned


def best_values(points: Sequence[Point], utility: Mapping[int, int]) -> dict[int, int]:
    """Return the value of each sequence with the best continuation at these points."""
    values = defaultdict(int, utility)
    for sequences, parent in reversed(points):
        values[parent] += max(values[s] for s in sequences)
    return values


def _points(tree: DecisionTree) -> list[Point]:
    columns = tree.first_sequence, tree.sizes, tree.parent_sequence
    triples = zip(*(column.tolist() for column in columns), strict=True)
    return [(range(first, first + size), parent) for first, size, parent in triples]


def _reach_of_chance(tree: GameTree, meant: Mapping[float, Fraction]) -> list[Fraction]:
    """Return the probability of chance's actions to each terminal."""
    reach, totals = [Fraction(1)], defaultdict[int, Fraction](Fraction)
    columns = tree.parent[1:], tree.player[tree.parent[1:]], tree.probability[1:]
    for before, mover, chance in zip(*(column.tolist() for column in columns), strict=True):
        share = meant[chance] if mover == CHANCE else Fraction(1)
        reach.append(reach[before] * share)
        if mover == CHANCE:
            totals[before] += share
    for history, total in totals.items():
        if total != 1:
            raise ValueError(
                f"chance probabilities must sum to one as fractions, got {total} at "
                f"{quote(tree.history_path(history))}"
            )
    return [reach[end] for end in tree.terminals.tolist()]
