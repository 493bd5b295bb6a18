"""A game tree as the lines of an ``.efg`` file."""

from collections.abc import Iterator
from typing import final

import numpy as np

from regretkit._typing import Indices
from regretkit.games.formats._spelling import Spelling, decimal
from regretkit.games.game_tree import GameTree
from regretkit.games.history import CHANCE, TERMINAL


def lines(tree: GameTree, spelling: Spelling) -> Iterator[str]:
    """Yield a line for each history, in prefix order."""
    nodes = _Nodes(tree, spelling)
    first = np.searchsorted(tree.parent, np.arange(tree.histories + 1)).tolist()
    waiting = [0]
    while waiting:
        history = waiting.pop()
        children = range(first[history], first[history + 1])
        yield nodes.line(history, children)
        waiting.extend(reversed(children))


@final
class _Nodes:
    """Spells nodes; an outcome or information set is declared once, and then has its number."""

    def __init__(self, tree: GameTree, spelling: Spelling) -> None:
        self._tree = tree
        self._spelling = spelling
        self._labels = [spelling.labels(own) for own in tree.labels]
        self._said: set[tuple[int, int]] = set()
        self._outcomes: dict[tuple[float, ...], int] = {}
        self._ends = _numbers(tree, TERMINAL)
        self._moves_of_chance = _numbers(tree, CHANCE)

    def line(self, history: int, children: range) -> str:
        player = int(self._tree.player[history])
        if player == TERMINAL:
            return self._end(history)
        if player == CHANCE:
            return self._chance(history, children)
        return self._decision(player, int(self._tree.information_set[history]))

    def _end(self, history: int) -> str:
        paid = tuple(self._tree.payoffs[self._ends[history]].tolist())
        known = self._outcomes.get(paid)
        if known is not None:
            return f't "" {known}'
        number = self._outcomes[paid] = 1 + len(self._outcomes)
        return f't "" {number} "" {{ {", ".join(map(decimal, paid))} }}'

    def _chance(self, history: int, children: range) -> str:
        number = int(self._moves_of_chance[history])
        names = map(self._spelling.name, self._tree.outcomes[number])
        likely = self._tree.probability[children.start : children.stop].tolist()
        outcomes = " ".join(map(" ".join, zip(names, self._spelling.chances(likely), strict=True)))
        return f'c "" {1 + number} "" {{ {outcomes} }} 0'

    def _decision(self, player: int, number: int) -> str:
        if (player, number) in self._said:
            return f'p "" {1 + player} {1 + number} 0'
        self._said.add((player, number))
        label = self._spelling.name(self._labels[player][number])
        actions = self._spelling.names(self._tree.actions[player][number])
        return f'p "" {1 + player} {1 + number} {label} {actions} 0'


def _numbers(tree: GameTree, kind: int) -> Indices:
    """Return how many histories of a kind stand before each."""
    of_kind = tree.player == kind
    before: Indices = np.cumsum(of_kind) - of_kind
    return before
