"""The least that one would write: CFR as a few loops for one kind of game, made machine code.

It is no library, but a yardstick: two players, payoffs in rows by the player's own sequence, one
row after the other, with the rule written into the pass up the tree.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import regretkit as rk
from benchmarks.runs import tree_game
from regretkit._machine_code import MachineCode

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.int64]
Tree: TypeAlias = tuple[Indices, Indices, Vector, Indices, Indices, Indices]
"""Rows of payoffs (begin, column, payoff), then decision points (first, last, parent)."""
Table: TypeAlias = tuple[Vector, Vector, Vector, Vector, Vector]
"""Strategy in sequence form, by decision points, regrets, utility, sum of strategies."""


def _earn(tree: Tree, utility: Vector, opponent: Vector) -> None:
    begin, column, payoff = tree[:3]
    for row in range(begin.size - 1):
        value = 0.0
        for k in range(begin[row], begin[row + 1]):
            value += payoff[k] * opponent[column[k]]
        utility[row] = value


def _learn(tree: Tree, table: Table, floor: float) -> None:
    first, last, parent = tree[3:]
    _, behavior, regrets, utility, _ = table
    for j in range(first.size - 1, -1, -1):
        value = 0.0
        for a in range(first[j], last[j]):
            value += utility[a] * behavior[a]
        utility[parent[j]] += value
        positive = 0.0
        for a in range(first[j], last[j]):
            regrets[a] = max(regrets[a] + utility[a] - value, floor)
            positive += max(regrets[a], 0.0)
        for a in range(first[j], last[j]):
            if positive > 0.0:
                behavior[a] = max(regrets[a], 0.0) / positive
            else:
                behavior[a] = 1.0 / (last[j] - first[j])


def _move(tree: Tree, table: Table, weight: float) -> None:
    first, last, parent = tree[3:]
    strategy, behavior, _, _, total = table
    for a in range(strategy.size):
        total[a] += weight * strategy[a]
    for j in range(first.size):
        for a in range(first[j], last[j]):
            strategy[a] = behavior[a] * strategy[parent[j]]


def _iterations(earn: Any, learn: Any, move: Any) -> Callable[..., None]:
    def iterate(
        done: int, more: int, plus: bool, one: Tree, first: Table, two: Tree, second: Table
    ) -> None:
        floor = 0.0 if plus else -np.inf
        for t in range(done + 1, done + more + 1):
            weight = float(t) if plus else 1.0
            earn(one, first[3], second[0])
            learn(one, first, floor)
            move(one, first, weight)
            earn(two, second[3], first[0])
            learn(two, second, floor)
            move(two, second, weight)

    return iterate


def _compiled() -> Callable[..., None]:
    """Return the iterations as machine code, of regretkit's own compiler if Numba is missing."""
    try:
        from numba import njit  # pyright: ignore[reportMissingImports] - only the extra bench has it
    except ImportError:
        return MachineCode(_iterations(_earn, _learn, _move))
    earn = njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")(_earn)
    learn, move = njit(error_model="numpy")(_learn), njit(error_model="numpy")(_move)
    compiled: Callable[..., None] = njit(error_model="numpy")(_iterations(earn, learn, move))
    return compiled


def _tree(game: rk.ExtensiveFormGame, player: int) -> Tree:
    from scipy.sparse import coo_array

    sequences, opponent = game.sequences[player], game.sequences[1 - player]
    shape = game.domains[player].dimension, game.domains[1 - player].dimension
    rows: Any = coo_array((game.payoffs[player], (sequences, opponent)), shape=shape).tocsr()
    domain = game.domains[player]
    first = domain.first_sequence
    numbers = (first, first + domain.sizes, domain.parent_sequence)
    narrow = [np.ascontiguousarray(array, dtype=np.int32) for array in numbers]
    return (rows.indptr, rows.indices, rows.data, narrow[0], narrow[1], narrow[2])


def _other_places(domain: rk.DecisionTree, generator: np.random.Generator) -> Places:
    """Return for each sequence another place, at the same decision point."""
    places = np.arange(domain.dimension)
    for first, size in zip(domain.first_sequence, domain.sizes, strict=True):
        places[first : first + size] = first + generator.permutation(size)
    return places


def _moved(tree: Tree, places: Places, opponent: Places, generator: np.random.Generator) -> Tree:
    """Return the same tree with sequences in other places, and payoffs in another order."""
    begin, column, payoff, first, last, parent = tree
    row = places[np.repeat(np.arange(begin.size - 1), np.diff(begin))]
    order = np.lexsort((generator.random(row.size), row))
    counts = np.bincount(row, minlength=begin.size - 1)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(begin.dtype)
    columns = opponent[column[order]].astype(column.dtype)
    return starts, columns, payoff[order], first, last, places[parent].astype(parent.dtype)


def _table(domain: rk.DecisionTree) -> Table:
    behavior = np.concatenate([[0.0], domain.simplices.uniform()])
    strategy = np.array(domain.sequence_form(behavior[1:]))
    regrets, utility, total = np.zeros((3, domain.dimension))
    return strategy, behavior, regrets, utility, total


class PlainLoop:
    """Both players' arrays."""

    def __init__(self, call: str, algorithm: str) -> None:
        self._game, self._plus = tree_game(call), algorithm == "cfr+"
        self._trees = _tree(self._game, 0), _tree(self._game, 1)
        self._iterate = _compiled()
        self.start_again()
        self._iterate(0, 0, self._plus, *self._laid)

    def start_again(self, generator: np.random.Generator | None = None) -> None:
        """Forget what was learned, and add up in another order if there is a generator."""
        one, two = self._trees
        self._places = [np.arange(domain.dimension) for domain in self._game.domains]
        if generator is not None:
            self._places = [_other_places(domain, generator) for domain in self._game.domains]
            p, q = self._places
            one, two = _moved(one, p, q, generator), _moved(two, q, p, generator)
        first, second = self._tables = [_table(domain) for domain in self._game.domains]
        self._laid, self._done = (one, first, two, second), 0

    def run(self, iterations: int) -> None:
        self._iterate(self._done, iterations, self._plus, *self._laid)
        self._done += iterations

    def gap(self) -> float:
        pairs = zip(self._tables, self._places, strict=True)
        averages = [table[-1][places] / table[-1][0] for table, places in pairs]
        return float(rk.nash_conv(self._game, averages))
