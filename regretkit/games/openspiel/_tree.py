"""The tree of a game, made of what a walk through OpenSpiel's states noted."""

from functools import partial
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._typing import Indices
from regretkit.games.openspiel._names import Names
from regretkit.games.openspiel._protocols import OpenSpielGame
from regretkit.games.openspiel._states import States
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.sets._lazy import Lazy


def tree_of(game: OpenSpielGame, states: States, *, remember: bool) -> GameTree:
    """Return the states of a game as a tree.

    With ``remember``, information sets are refined to perfect recall.
    """
    shape = _shape(np.array(states.parent), np.array(states.counts))
    acting = np.array(states.player)
    player = np.maximum(acting[shape.order], TERMINAL)
    knows = np.array(states.information_set)[shape.order]
    players = len(states.known)
    numbers = _remembered(shape, player, knows, players) if remember else knows
    information_set, at = _in_order(player, numbers, players)
    leads = np.append(-1, np.array(states.actions)[shape.places(acting >= CHANCE)])
    probability = np.ones(player.size)
    drawn = 1 + np.flatnonzero(player[shape.parent[1:]] == CHANCE)
    outcomes = shape.places(acting == CHANCE)[drawn - 1]
    probability[drawn] = np.array(states.probability)[outcomes]
    ends = _before(acting < CHANCE)[shape.order[player == TERMINAL]]
    parent, first, leads = map(_small, (shape.parent, shape.first, leads))
    names = partial(Names, game, parent=parent, first=first, action=leads)
    chances = np.flatnonzero(player == CHANCE)
    return GameTree(
        parent=parent,
        player=_small(player),
        information_set=_small(information_set),
        action=_small(shape.action),
        probability=probability,
        payoffs=np.array(states.payoffs).reshape(-1, players)[ends],
        labels=[
            [strings[number] for number in knows[own].tolist()]
            for strings, own in zip(map(list, states.known), at, strict=True)
        ],
        actions=[Lazy(own.size, names(player=who, at=own)) for who, own in enumerate(at)],
        outcomes=Lazy(chances.size, names(player=CHANCE, at=chances)),
    )


@final
@frozen(eq=False)
class _Shape:
    """How histories hang together, in breadth-first order; the last two are as they were walked."""

    parent: Indices
    action: Indices
    first: Indices
    """First child of each history, and one more than the last history."""
    levels: Indices
    """First history of each level, and one more than the last history."""
    order: Indices
    """The number in the walk of each history."""
    counts: Indices
    """Number of children of each history of the walk."""

    def places(self, wanted: NDArray[np.bool_]) -> Indices:
        """Return where that of the action to each history lies, among those of all histories.

        In what was noted of the children of those histories of the walk that are ``wanted``. The
        first history, to which no action leads, is left out.
        """
        begin = _before(np.where(wanted, self.counts, 0))[self.order]
        places: Indices = begin[self.parent[1:]] + self.action[1:]
        return places


def _shape(parent: Indices, counts: Indices) -> _Shape:
    # The number of histories before each is found by going back one, then two, then four, ...
    depth, back = (parent >= 0).astype(np.int64), np.maximum(parent, 0)
    while back.any():
        depth += depth[back]
        back = back[back]
    order = np.argsort(depth, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    above = place[parent[order]]
    above[0] = -1
    first = 1 + _before(counts[order])
    action = np.arange(order.size) - first[above]
    action[0] = -1
    return _Shape(above, action, first, _before(np.bincount(depth)), order, counts)


def _remembered(shape: _Shape, player: Indices, knows: Indices, players: int) -> Indices:
    """Return a number for what the acting player was told, did and was told before.

    Two histories have the same one where the player was told the same, and before that came to
    the same one and did the same.
    """
    numbers = np.full(player.size, -1)
    last = np.zeros((players, player.size), dtype=np.int64)
    known: list[dict[int, int]] = [{} for _ in range(players)]
    width, strings = int(shape.counts.max()), int(knows.max()) + 1
    for start, stop in zip(shape.levels[:-1], shape.levels[1:], strict=True):
        parent = shape.parent[start:stop]
        for who, own in enumerate(last):
            if start:
                own[start:stop] = own[parent]
                moved = np.flatnonzero(player[parent] == who)
                by = numbers[parent[moved]] * width + shape.action[start + moved]
                own[start + moved] = 1 + by
            here = start + np.flatnonzero(player[start:stop] == who)
            keys, which = np.unique(own[here] * strings + knows[here], return_inverse=True)
            of_key = [known[who].setdefault(key, len(known[who])) for key in keys.tolist()]
            numbers[here] = np.array(of_key, dtype=np.int64)[which]
    return numbers


def _in_order(player: Indices, numbers: Indices, players: int) -> tuple[Indices, list[Indices]]:
    """Return each player's numbers as they first occur, and the histories at which they do."""
    ordered, at = np.full(player.size, -1), []
    for who in range(players):
        here = np.flatnonzero(player == who)
        _, first, which = np.unique(numbers[here], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        ordered[here] = rank[which]
        at.append(here[first[order]])
    return ordered, at


def _before(counts: Indices | NDArray[np.bool_]) -> Indices:
    """Return the sum of all that come before each, and that of all."""
    return np.append(0, np.cumsum(counts))


def _small(array: Indices) -> Indices:
    """Return a read-only integer array, of 32 bits if they suffice."""
    small = np.iinfo(np.int32)
    if small.min <= array.min(initial=0) and array.max(initial=0) <= small.max:
        array = array.astype(np.int32)
    array.setflags(write=False)
    return array
