"""Numbers that do not depend on a block, for many iterations at once.

They are functions of the iteration, and of single numbers that the rule learns.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit.trace._graph import ELEMENTWISE, Node, nodes_of
from regretkit.trace._rule import number_after, number_before

Numbers = Mapping[str, float]

_DIVISIONS = {"remainder", "floor_divide", "fmod"}
_EXACT = 2.0**53
"""Whole numbers below it are exact as floats, as those of Python always are."""
_TRIED, _LATE = 64, 10**7
"""Iterations in which numbers are looked at before a kernel is used, at once and later."""


def values_at(
    nodes: Sequence[Node], iterations: Vector, known: Mapping[Node, Vector] | None = None
) -> NDArray[np.float64]:
    """Return each node's number in each iteration, shape ``(nodes, iterations)``."""
    values: dict[Node, Any] = dict(known or {})
    with np.errstate(all="ignore"):
        for node in nodes_of(nodes):
            if node in values:
                continue
            if node.op == "constant":
                values[node] = np.asarray(node.detail)
            elif node.op == "iteration":
                values[node] = iterations
            elif node.op == "call":
                [times] = (values[arg] for arg in node.args)
                values[node] = np.array([node.detail(int(t)) for t in times], np.float64)
            else:
                given = [values[arg] for arg in node.args]
                value = ELEMENTWISE[node.op].numpy(*given)
                if node.op in _DIVISIONS and np.any(inexact := np.abs(given[0]) >= _EXACT):
                    value = np.where(inexact, np.nan, value)
                values[node] = value
    rows = [np.broadcast_to(values[node], iterations.shape) for node in nodes]
    return np.array(rows, np.float64).reshape(len(nodes), iterations.size)


@lru_cache
def _calls(nodes: tuple[Node, ...]) -> bool:
    """Return whether some number is what a function of the author's returns."""
    return any(node.op == "call" for node in nodes_of(nodes))


@lru_cache(maxsize=8)
def _rows(nodes: tuple[Node, ...], passed: int, count: int) -> Vector:
    """Return each node's number after some iterations and after each of ``count`` more."""
    iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
    return read_only(np.ascontiguousarray(values_at(nodes, iterations).T))


@final
@frozen
class Schedule:
    """The parameters of a kernel, iteration by iteration or many at once.

    Parameters
    ----------
    nodes
        What each parameter is.
    updates
        What becomes of each number that the rule learns.
    """

    nodes: tuple[Node, ...]
    updates: Mapping[str, Node] = field(factory=dict, eq=lambda updates: tuple(updates.items()))

    def __call__(self, iteration: int) -> tuple[float, ...]:
        """Return those of an iteration of a rule that learns no numbers."""
        return tuple(self.rows(iteration, 1)[0].tolist())

    def rows(self, first: int, count: int) -> Vector:
        """Return those of ``count`` iterations, shape ``(count, parameters)``, of such a rule."""
        return self.following({}, first - 1, count)[0][1:]

    def following(self, numbers: Numbers, passed: int, count: int) -> tuple[Vector, Numbers]:
        """Return those after ``passed`` iterations and after each of ``count`` more.

        ``numbers`` are what the rule has learned by then; what it will have learned is returned as
        well. Shape ``(count + 1, parameters)``.
        """
        if not self.updates and not _calls(self.nodes):
            return _rows(self.nodes, passed, count), {}  # alike for all players with this rule
        iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
        paths = list(self.updates)
        learned = np.empty((len(paths), count + 2))
        learned[:, 1] = learned[:, 0] = [numbers[path] for path in paths]
        if paths:
            self._learn(learned, iterations)
        known: dict[Node, Vector] = {}
        for path, row in zip(paths, learned, strict=True):
            known[number_before(path)], known[number_after(path)] = row[:-1], row[1:]
        rows = values_at(self.nodes, iterations, known).T
        return np.ascontiguousarray(rows), dict(zip(paths, learned[:, -1].tolist(), strict=True))

    def loses_digits(self, numbers: Numbers, passed: int) -> bool:
        """Return whether a whole number that is divided soon becomes too large to be exact."""
        nodes = list(nodes_of([*self.nodes, *self.updates.values()]))
        divided = tuple(node.args[0] for node in nodes if node.op in _DIVISIONS)
        schedule = Schedule(divided, self.updates)
        starts = [passed] if any(node.op == "call" for node in nodes) else [passed, _LATE]
        rows = [schedule.following(numbers, start, _TRIED)[0] for start in starts if divided]
        return any((np.abs(row) >= _EXACT).any() for row in rows)

    def _learn(self, learned: NDArray[np.float64], iterations: Vector) -> None:
        """Fill in what the numbers are after each iteration, one after the other."""
        waiting = []
        for k, (path, node) in enumerate(self.updates.items()):
            counts = node.op == "add" and node.args[0] is number_before(path)
            if node is number_before(path) or (counts and node.args[1].is_constant):
                step = node.args[1].detail if counts else 0.0
                learned[k, 2:] = step
                learned[k, 1:] = np.cumsum(learned[k, 1:])
            else:
                waiting.append(k)
        if not waiting:
            return
        nodes = list(self.updates.values())
        paths = list(self.updates)
        for t in range(1, iterations.size):
            known = {number_before(path): learned[k, t : t + 1] for k, path in enumerate(paths)}
            values = values_at([nodes[k] for k in waiting], iterations[t : t + 1], known)
            learned[waiting, t + 1] = values[:, 0]
