"""Sampled iterations, written so that a compiler understands them.

As in :mod:`~regretkit.engine._kernels`, these are patterns, and the functions at the top are what
they leave open. An iteration costs what it visits: rules learn only where a sample came, and sums
of strategies catch up at a decision point just before its distribution changes.
"""

import math
from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Narrow, Vector, whole
from regretkit.engine._forest import Forest
from regretkit.engine._kernels import State, learn, propose, worth_of
from regretkit.estimators.flat._flat_tree import FlatTree, TraversalBuffers


class Sheet(NamedTuple):
    """What changes in play: one number for each sequence or decision point of each player."""

    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """What each action was worth once there, where the last sample came."""
    sums: Vector
    """Weighted sums of strategies, each as of its last visit;"""
    seen: Vector
    """by decision point, the sum at the sequence before it as of that visit."""
    points: Narrow
    """The decision points that were updated and whose strategy is not yet recomputed."""
    faded: Vector
    """For each decision point, how much regrets had faded when one last learned there, shape
    ``(points, 4)``, or ``(0, 4)`` where none do: sums of logarithms of the factors above 0, and how
    many were 0; where R is positive, and elsewhere."""
    fading: Vector
    """For each player the same four numbers before this iteration, and those after it, shape
    ``(players, 8)``."""


class Sample(NamedTuple):
    """How a sample is drawn."""

    notes: tuple[Vector, Vector]
    numbers: Vector
    guesses: Vector
    rate: float
    """How fast guesses are learned."""


def walk(
    player: int,
    flat: FlatTree,
    behavior: Vector,
    utility: Vector,
    desk: TraversalBuffers,
    notes: tuple[Vector, Vector],
    numbers: Vector,
    guesses: Vector,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Draw a sample; return how many decision points and histories it came to."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def walk_once(
    player: int,
    flat: FlatTree,
    behavior: Vector,
    utility: Vector,
    desk: TraversalBuffers,
    notes: tuple[Vector, Vector],
    numbers: Vector,
    guesses: Vector,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Draw a sample, and nothing else."""
    return walk(player, flat, behavior, utility, desk, notes, numbers, guesses, generator)


def notice(player: int, visited: int, rate: float, desk: TraversalBuffers, guesses: Vector) -> None:
    """Learn what histories are worth."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def pass_time(player: int, numbers: Vector, fading: Vector) -> None:
    """Let an iteration pass; nothing fades, unless _specialize puts another in its place."""


def fade(j: int, first: int, last: int, player: int, sheet: Sheet, state: State) -> None:
    """Let R fade at a decision point by as much as it has since one last learned there."""


def pass_fading_time(player: int, numbers: Vector, fading: Vector) -> None:
    """Add up by how much regrets fade."""
    for k in range(4):
        fading[player, k] = fading[player, 4 + k]
    for which in range(2):
        if numbers[which] > 0.0:
            fading[player, 4 + 2 * which] += math.log(numbers[which])
        else:
            fading[player, 5 + 2 * which] += 1.0


def fade_together(j: int, first: int, last: int, player: int, sheet: Sheet, state: State) -> None:
    """Multiply by all factors since then at once; that of this iteration is for who learns now."""
    regrets, now, then = state[0], sheet.fading[player], sheet.faded[j]
    kept = math.exp(now[0] - then[0]) if now[1] == then[1] else 0.0
    dropped = math.exp(now[2] - then[2]) if now[3] == then[3] else 0.0
    for a in range(first, last):
        regrets[a] *= kept if regrets[a] > 0.0 else dropped
    for k in range(4):
        then[k] = now[4 + k]


def catch_up(touched: int, flat: FlatTree, desk: TraversalBuffers, sheet: Sheet) -> None:
    """Let sums catch up at decision points, those nearer to the root first.

    What came to a decision point since it was last looked at has been played as it still is.
    """
    behavior, sums, seen = sheet.behavior, sheet.sums, sheet.seen
    for k in range(touched):
        j = whole(desk.points[k])
        come = sums[whole(desk.parent_sequence[k])]
        since = come - seen[j]
        seen[j] = come
        if since != 0.0:
            first = whole(flat.place[2 * j])
            for a in range(first, first + whole(flat.place[2 * j + 1])):
                sums[a] += behavior[a] * since


def climb_and_learn(
    player: int,
    touched: int,
    proposing: bool,
    keeping: bool,
    numbers: Vector,
    flat: FlatTree,
    desk: TraversalBuffers,
    sheet: Sheet,
    state: State,
) -> None:
    """Climb through decision points, and let each learn, and propose, on the way."""
    utility, behavior = sheet.utility, sheet.behavior
    for back in range(touched):
        k = touched - 1 - back
        j, only = whole(desk.points[k]), whole(desk.single_action[k])
        first = whole(flat.place[2 * j])
        last = first + whole(flat.place[2 * j + 1])
        if only > 0:
            value = utility[only] * behavior[only]
        else:
            value = worth_of(first, last, utility, behavior)
        fade(j, first, last, player, sheet, state)
        if last - first == 2:  # as in _kernels.backward
            teach(j, first, first + 2, value, proposing, numbers, sheet, state)
        elif last - first == 3:
            teach(j, first, first + 3, value, proposing, numbers, sheet, state)
        else:
            teach(j, first, last, value, proposing, numbers, sheet, state)
        utility[whole(desk.parent_sequence[k])] += value
        if not keeping:
            erase(only, first, last, utility)


def teach(
    j: int,
    first: int,
    last: int,
    value: float,
    proposing: bool,
    numbers: Vector,
    sheet: Sheet,
    state: State,
) -> None:
    """Let a decision point learn from what it was worth, and propose if it is time to."""
    learn(j, first, last, sheet.utility, value, sheet.behavior, state, numbers)
    if proposing:
        propose(j, first, last, sheet.behavior, state, numbers)


def erase(only: int, first: int, last: int, utility: Vector) -> None:
    """Leave no utility at a decision point, where all is one action's, or any may have some."""
    if only > 0:
        utility[only] = 0.0
    else:
        for a in range(first, last):
            utility[a] = 0.0


def propose_all(
    waiting: int, player: int, numbers: Vector, forest: Forest, sheet: Sheet, state: State
) -> None:
    """Let decision points propose, as far as they are a player's."""
    for k in range(waiting):
        j = whole(sheet.points[k])
        if whole(forest.points[player]) <= j < whole(forest.points[player + 1]):
            first, last = whole(forest.first[j]), whole(forest.last[j])
            propose(j, first, last, sheet.behavior, state, numbers)


def turn(
    player: int,
    how: tuple[bool, bool],
    numbers: Vector,
    flat: FlatTree,
    desk: TraversalBuffers,
    forest: Forest,
    sheet: Sheet,
    sample: Sample,
    state: State,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Let a player learn from a sample; return how many decision points and histories it visited.

    ``how`` says whether to propose as well, or to go on with what was played before; and whether to
    keep the utility, which otherwise is zero again at all decision points.
    """
    proposing, keeping = how
    behavior, utility, notes, guesses = sheet.behavior, sheet.utility, sample.notes, sample.guesses
    if keeping:
        erase(0, whole(forest.sequences[player]), whole(forest.sequences[player + 1]), utility)
    touched, visited = walk(
        player, flat, behavior, utility, desk, notes, sample.numbers, guesses, generator
    )
    notice(player, visited, sample.rate, desk, guesses)
    catch_up(touched, flat, desk, sheet)
    pass_time(player, numbers, sheet.fading)
    climb_and_learn(player, touched, proposing, keeping, numbers, flat, desk, sheet, state)
    return touched, visited


def sampled(
    together: bool,
    keeping: bool,
    turns: Indices,
    numbers: Vector,
    weights: Vector,
    flat: FlatTree,
    desk: TraversalBuffers,
    forest: Forest,
    sheet: Sheet,
    sample: Sample,
    state: State,
    generator: np.random.Generator,
) -> int:
    """Play one iteration for each row of ``turns``; return how many histories were visited.

    Rows, ``numbers`` and ``together`` are as in :func:`~regretkit.engine._kernels.iterate`;
    ``weights[t]`` is what the strategies of iteration t count. With ``keeping``, the utilities of
    the last of them are there to be seen afterwards; otherwise all are zero at decision points.
    """
    visits, players = 0, forest.points.size - 1
    for t in range(turns.shape[0]):
        waiting, row = 0, min(t, numbers.shape[0] - 1)
        for player in range(players):
            sheet.sums[forest.sequences[player]] += weights[t]
        for player in turns[t]:
            if player >= 0:
                own = numbers[row, player]
                how = (not together, keeping)
                touched, visited = turn(
                    player, how, own, flat, desk, forest, sheet, sample, state, generator
                )
                visits += visited
                for k in range(touched if together else 0):
                    sheet.points[waiting + k] = desk.points[k]
                waiting += touched
        for player in range(players if together else 0):
            propose_all(waiting, player, numbers[row, player], forest, sheet, state)
    return visits


def complete(forest: Forest, sheet: Sheet, total: Vector) -> None:
    """Set ``total`` to what sums come to once they have caught up everywhere."""
    for player in range(forest.points.size - 1):
        root = forest.sequences[player]
        total[root] = sheet.sums[root]
        for j in range(forest.points[player], forest.points[player + 1]):
            since = total[forest.parent[j]] - sheet.seen[j]
            for a in range(forest.first[j], forest.last[j]):
                total[a] = sheet.sums[a] + sheet.behavior[a] * since
