"""Sampled iterations, written so that a compiler understands them.

As in :mod:`~regretkit.engine._kernels`, these are patterns, and the functions at the top are what
they leave open. An iteration costs what it visits: rules learn only where a sample came, and sums
of strategies catch up at a decision point just before its distribution changes.
"""

from typing import NamedTuple

import numpy as np

from regretkit._typing import Indices, Vector
from regretkit.engine._forest import Forest
from regretkit.engine._kernels import State, learn, propose, worth_of
from regretkit.play.estimators._flat import Desk, Flat, Narrow


class Sheet(NamedTuple):
    """What changes in play: one number for each sequence or decision point of each player."""

    behavior: Vector
    """b, the distribution at each decision point."""
    utility: Vector
    """What each action was worth once there, where the last sample came."""
    sums: Vector
    """Weighted sums of strategies, as far as they had come when they were last looked at;"""
    seen: Vector
    """by decision point, the sum at the sequence before it by then."""
    points: Narrow
    """The decision points at which somebody has learned and proposed nothing yet."""


class Sample(NamedTuple):
    """How a sample is drawn."""

    notes: tuple[Vector, Vector]
    numbers: Vector
    guesses: Vector
    rate: float
    """How fast guesses are learned."""


def walk(
    player: int,
    flat: Flat,
    behavior: Vector,
    utility: Vector,
    desk: Desk,
    notes: tuple[Vector, Vector],
    numbers: Vector,
    guesses: Vector,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Draw a sample; return how many decision points and histories it came to."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def walk_once(
    player: int,
    flat: Flat,
    behavior: Vector,
    utility: Vector,
    desk: Desk,
    notes: tuple[Vector, Vector],
    numbers: Vector,
    guesses: Vector,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Draw a sample, and nothing else."""
    return walk(player, flat, behavior, utility, desk, notes, numbers, guesses, generator)


def notice(player: int, visited: int, rate: float, desk: Desk, guesses: Vector) -> None:
    """Learn what histories are worth."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def catch_up(touched: int, points: Narrow, forest: Forest, sheet: Sheet) -> None:
    """Let sums catch up at decision points, those nearer to the root first.

    What came to a decision point since it was last looked at has been played as it still is.
    """
    behavior, sums, seen = sheet.behavior, sheet.sums, sheet.seen
    for k in range(touched):
        j = int(points[k])
        come = sums[forest.parent[j]]
        since = come - seen[j]
        seen[j] = come
        if since != 0.0:
            for a in range(forest.first[j], forest.last[j]):
                sums[a] += behavior[a] * since


def climb_and_learn(
    touched: int,
    proposing: bool,
    points: Narrow,
    numbers: Vector,
    forest: Forest,
    sheet: Sheet,
    state: State,
) -> None:
    """Climb through decision points, and let each learn, and propose, on the way."""
    utility, behavior = sheet.utility, sheet.behavior
    for back in range(touched):
        j = int(points[touched - 1 - back])
        first, last = forest.first[j], forest.last[j]
        value = worth_of(first, last, utility, behavior)
        learn(j, first, last, utility, value, behavior, state, numbers)
        if proposing:
            propose(j, first, last, behavior, state, numbers)
        utility[forest.parent[j]] += value


def propose_all(
    waiting: int, player: int, numbers: Vector, forest: Forest, sheet: Sheet, state: State
) -> None:
    """Let decision points propose, as far as they are a player's."""
    for k in range(waiting):
        j = int(sheet.points[k])
        if forest.points[player] <= j < forest.points[player + 1]:
            propose(j, forest.first[j], forest.last[j], sheet.behavior, state, numbers)


def turn(
    player: int,
    proposing: bool,
    numbers: Vector,
    flat: Flat,
    desk: Desk,
    forest: Forest,
    sheet: Sheet,
    sample: Sample,
    state: State,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """Let a player learn from a sample; return how many decision points and histories it visited.

    Without ``proposing``, everybody goes on to play what was played before.
    """
    behavior, utility, notes, guesses = sheet.behavior, sheet.utility, sample.notes, sample.guesses
    touched, visited = walk(
        player, flat, behavior, utility, desk, notes, sample.numbers, guesses, generator
    )
    notice(player, visited, sample.rate, desk, guesses)
    catch_up(touched, desk.points, forest, sheet)
    climb_and_learn(touched, proposing, desk.points, numbers, forest, sheet, state)
    return touched, visited


def sampled(
    together: bool,
    turns: Indices,
    numbers: Vector,
    weights: Vector,
    flat: Flat,
    desk: Desk,
    forest: Forest,
    sheet: Sheet,
    sample: Sample,
    state: State,
    generator: np.random.Generator,
) -> int:
    """Play one iteration for each row of ``turns``; return how many histories were visited.

    Rows, ``numbers`` and ``together`` are as in :func:`~regretkit.engine._kernels.iterate`;
    ``weights[t]`` is what the strategies of iteration t count.
    """
    visits, players = 0, forest.points.size - 1
    for t in range(turns.shape[0]):
        waiting = 0
        for player in range(players):
            sheet.sums[forest.sequences[player]] += weights[t]
        for player in turns[t]:
            if player >= 0:
                own = numbers[t, player]
                touched, visited = turn(
                    player, not together, own, flat, desk, forest, sheet, sample, state, generator
                )
                visits += visited
                for k in range(touched if together else 0):
                    sheet.points[waiting + k] = desk.points[k]
                waiting += touched
        for player in range(players if together else 0):
            propose_all(waiting, player, numbers[t, player], forest, sheet, state)
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
