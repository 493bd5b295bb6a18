"""The coarsest perfect-recall refinement of a game."""

import numpy as np

from regretkit._typing import Indices
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._sequences import levels


def perfect_recall_refinement(tree: GameTree) -> tuple[GameTree, tuple[Indices, ...]]:
    """Split every information set by what its player did and knew before.

    Also returns, for each player and new information set, the old one of which it is a part.
    """
    parts: list[dict[tuple[int, int], int]] = [{} for _ in range(tree.players)]
    information_set = np.full(tree.histories, -1, dtype=np.int64)
    # What each player did last: the number of its new information set and the action, as one.
    actions = 1 + max((int(sizes.max(initial=0)) for sizes in tree.sizes), default=0)
    last = np.full((tree.players, tree.histories), -1, dtype=np.int64)
    for level in (slice(0, 1), *levels(tree)):
        if level.start:
            parent = tree.parent[level]
            last[:, level] = last[:, parent]
            moved = np.flatnonzero(tree.player[parent] >= 0)
            mover, before = tree.player[parent[moved]], information_set[parent[moved]]
            last[mover, level.start + moved] = before * actions + tree.action[level][moved]
        for player, own in enumerate(parts):
            here = level.start + np.flatnonzero(tree.player[level] == player)
            keys = zip(
                tree.information_set[here].tolist(), last[player, here].tolist(), strict=True
            )
            information_set[here] = [own.setdefault(key, len(own)) for key in keys]
    old = tuple(np.array([key[0] for key in own], dtype=np.int64) for own in parts)

    split = GameTree(
        parent=tree.parent,
        player=tree.player,
        information_set=information_set,
        action=tree.action,
        probability=tree.probability,
        payoffs=tree.payoffs,
        labels=[[names[int(n)] for n in own] for names, own in zip(tree.labels, old, strict=True)],
        actions=[
            [names[int(n)] for n in own] for names, own in zip(tree.actions, old, strict=True)
        ],
        outcomes=tree.outcomes,
    )
    return split, old
