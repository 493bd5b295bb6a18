"""How an iteration is split between threads, so that nothing is added up in another order.

A player's decision points are cut into subtrees. Those from which the large ones hang, the *top*,
are left to part 0; each part gets whole subtrees, and the sequences of its decision points, to
which no other part writes. What a subtree is worth waits until all parts are done, and is then
added to the sequence before it, in the order in which one thread would have come to it. Sums over
payoffs are shared out between sequences, and never cut.
"""

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices, Narrow, Vector
from regretkit.engine._forest import Forest, narrow
from regretkit.engine._payoffs import Ends, Matrix, Payoffs
from regretkit.engine._quads import starts

_FINE = 16
"""A subtree is cut up as long as it is more than a part's work divided by this."""

_POINT = 4
"""A decision point takes as long as so many actions, beyond those that it has."""

_WORTH = 0.2
"""Milliseconds that an iteration takes at least if splitting it makes it faster."""

_SEQUENCE = 10.0
"""Nanoseconds that it takes for each sequence, roughly; machines differ less than games do."""

_ENTRY = {"Matrix": 1.0, "Ends": 5.0, "Tensor": 0.5}
"""Nanoseconds that it takes for each of the payoffs, of each kind."""


class Split(NamedTuple):
    """Who does what of a forest, and of its payoffs."""

    runs: Indices
    """Decision points from one up to, not including, another, shape ``(runs, 2)``."""
    of_part: Indices
    """Where the runs of each player's parts begin, and behind them those of its top.

    Those of part k of player i begin at ``i * (parts + 1) + k``, and end where the next ones begin.
    """
    spans: Indices
    """Sequences from one up to, not including, another, shape ``(spans, 2)``."""
    of_span: Indices
    """Where the spans of each player's parts begin, in the same way; part 0 has the top's too."""
    above: NDArray[np.int32]
    """The sequence before each decision point, or -1 if what it is worth has to wait."""
    waiting: Vector
    """Room for what decision points are worth."""
    joints: Narrow
    """The decision points of the top, and those that hang from it or from nothing, in order."""
    of_joint: Indices
    """Where each player's joints begin, and where the last one's end."""
    at_top: Narrow
    """1 for each joint of the top, 0 for others."""
    sums: Indices
    """Where in the batches of sums each part begins, shape ``(players, parts + 1)``."""
    rows: Indices
    """Where in the batches of rows, or among the sequences; a normal form's are cut as needed."""

    @property
    def parts(self) -> int:
        """Number of parts."""
        return int(self.rows.shape[1]) - 1


def parts_for(threads: int, forest: Forest, payoffs: Payoffs) -> int:
    """Return into how many parts to split an iteration, if there are so many threads."""
    summed = payoffs.summed.size if isinstance(payoffs, Matrix) else 0
    entries = _ENTRY[type(payoffs).__name__] * (payoffs.payoff.size + summed)
    if _SEQUENCE * int(forest.sequences[-1]) + entries < 1e6 * _WORTH:
        return 1
    return min(threads, processors())


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_of(forest: Forest, payoffs: Payoffs, parts: int) -> Split:
    """Split a forest and its payoffs into parts of about equal work."""
    runs, spans, joints, at_top = [], [], [], []
    above = forest.parent.astype(np.int32)
    for player in range(forest.players):
        first, last = forest.points[player : player + 2]
        owner, before = owners(forest, player, parts), _before(forest, player)
        top = owner == parts
        joint = _joint(before, top)
        above[first:last][joint & ~top] = -1
        joints.append(first + np.flatnonzero(joint))
        at_top.append(top[joint])
        runs += [first + _runs(owner == part) for part in range(parts + 1)]
        # Between the sequences of decision points lie those of forced moves.
        begin, end = forest.sequences[player : player + 2]
        edges = np.append(forest.first[first:last], end).astype(np.int64)
        root = np.array([[begin, edges[0]]])
        spans.append(np.concatenate([root, edges[_runs(top | (owner == 0))]]))
        spans += [edges[_runs(owner == part)] for part in range(1, parts)]
    sums, rows = _payoffs_between(forest, payoffs, parts)
    return Split(
        runs=np.concatenate(runs),
        of_part=starts(np.array([len(own) for own in runs])),
        spans=np.concatenate(spans),
        of_span=starts(np.array([len(own) for own in spans])),
        above=above,
        waiting=np.zeros(above.size),
        joints=narrow(np.concatenate(joints)),
        of_joint=starts(np.array([own.size for own in joints])),
        at_top=narrow(np.concatenate(at_top)),
        sums=sums,
        rows=rows,
    )


def owners(forest: Forest, player: int, parts: int) -> Indices:
    """Return which part has each decision point of a player; ``parts`` stands for the top."""
    before, cost = _before(forest, player), _costs(forest, player)
    weight = cost.tolist()
    for point, one_up in zip(range(cost.size - 1, -1, -1), before[::-1].tolist(), strict=True):
        if one_up >= 0:
            weight[one_up] += weight[point]
    weights = np.array(weight)
    large = weights * parts * _FINE > cost.sum()
    top = large & (np.bincount(before + 1, minlength=cost.size + 1)[1:] > 0)
    owner = np.full(cost.size, parts)
    hanging = _hanging(before, top)
    owner[hanging] = np.repeat(np.arange(parts), np.diff(cuts(weights[hanging], parts)))
    # Whoever has a decision point has those behind it; parents come before children.
    for point in np.flatnonzero(~_joint(before, top)).tolist():
        owner[point] = owner[before[point]]
    return owner


def cuts(weights: Indices, parts: int) -> Indices:
    """Cut things in a row into parts of about equal weight; return where they begin, and the end.

    A thing belongs where its middle lies, so that no part weighs more than its due and one thing.
    """
    ends = np.cumsum(weights)
    middles = ends - weights / 2
    due = (ends[-1] if ends.size else 0) / parts
    inner = np.searchsorted(middles, due * np.arange(1, parts))
    return np.concatenate(([0], inner, [ends.size]))


def _hanging(before: Indices, top: NDArray[np.bool_]) -> Indices:
    """Return the points that hang from the top, or from nothing; neighbours in the tree together.

    Where points are numbered level by level, each part then has one run of every level.
    """
    joints = np.flatnonzero(_joint(before, top))
    behind: dict[int, list[int]] = {}
    for point in reversed(joints.tolist()):
        behind.setdefault(int(before[point]), []).append(point)
    waiting, hanging = behind.get(-1, []), []
    while waiting:
        point = waiting.pop()
        if top[point]:
            waiting += behind[point]
        else:
            hanging.append(point)
    return np.array(hanging, dtype=np.int64)


def _joint(before: Indices, top: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which points are of the top, or hang from it or from nothing."""
    return (before < 0) | top[before]


def _before(forest: Forest, player: int) -> Indices:
    """Return the decision point before each one, -1 where there is none."""
    first, last = forest.points[player : player + 2]
    # Of the points that begin up to there, the last one has the sequence.
    before = np.searchsorted(forest.first[first:last], forest.parent[first:last], side="right") - 1
    return before.astype(np.int64)


def _costs(forest: Forest, player: int) -> Indices:
    own = slice(*forest.points[player : player + 2])
    return _POINT + (forest.last[own] - forest.first[own]).astype(np.int64)


def _runs(chosen: NDArray[np.bool_]) -> Indices:
    """Return where runs of chosen points begin and end, shape ``(runs, 2)``."""
    steps = np.diff(np.concatenate(([0], chosen.astype(np.int8), [0])))
    return np.stack([np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)], axis=1)


def _payoffs_between(forest: Forest, payoffs: Payoffs, parts: int) -> tuple[Indices, Indices]:
    """Return where each part of each player's sums and rows begins, and where the last one ends."""
    sums = np.zeros((forest.players, parts + 1), dtype=np.int64)
    rows = sums.copy()
    for player in range(forest.players):
        if isinstance(payoffs, Matrix):
            for found, batches, of_player in (
                (sums, payoffs.sum_batches, payoffs.sums_of_player),
                (rows, payoffs.batches, payoffs.of_player),
            ):
                first, last = of_player[player : player + 2]
                quads, length = batches[first:last, 1:3].T.astype(np.int64)
                found[player] = first + cuts(np.maximum(4 * quads, 1) * (length + 1), parts)
        elif isinstance(payoffs, Ends):
            first, last = forest.sequences[player : player + 2]
            rows[player] = first + cuts(1 + np.diff(payoffs.begin[first : last + 1]), parts)
    return sums, rows
