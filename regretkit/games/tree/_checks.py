"""What must hold of the arrays of a game tree; each message says where it does not."""

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._game import check_payoffs
from regretkit.games.tree._history import CHANCE, CHANCE_TOLERANCE, TERMINAL, path_text

if TYPE_CHECKING:
    from regretkit.games.tree._game_tree import GameTree


def check_tree(tree: "GameTree") -> tuple[Indices, ...]:
    """Refuse arrays that are no game tree in breadth-first order.

    Returns for each player how many actions its information sets have.
    """
    _check_shapes(tree)
    children = _check_order(tree)
    _check_players(tree, children)
    sizes = [_check_information_sets(tree, player, children) for player in range(tree.players)]
    _check_outcomes(tree, children)
    # The names of all actions are in place now, so that messages can show a history by its path.
    _check_chance(tree, children)
    _check_payoffs(tree)
    return tuple(sizes)


@frozen(eq=False)
class _Children:
    """Which histories have children, in order, and which those are."""

    of: Indices
    first: Indices
    counts: Indices


def _check_shapes(tree: "GameTree") -> None:
    histories = tree.parent.size
    for name in ("player", "information_set", "action", "probability"):
        shape = getattr(tree, name).shape
        if shape != (histories,):
            raise ValueError(
                f"{name} has shape {shape}, but parent has {histories} histories; "
                f"pass one entry for each, shape ({histories},)"
            )
    if not tree.labels:
        raise ValueError("labels is empty: a game needs at least one player; pass a list for each")
    if len(tree.actions) != tree.players:
        raise ValueError(
            f"actions has lists for {len(tree.actions)} players, but labels for {tree.players}"
        )
    wanted = (tree.terminals.size, tree.players)
    if tree.payoffs.shape != wanted:
        raise ValueError(
            f"payoffs has shape {tree.payoffs.shape}, but there are {wanted[0]} terminal "
            f"histories and {wanted[1]} players; pass shape {wanted}"
        )


def _check_order(tree: "GameTree") -> _Children:
    parent, action = tree.parent, tree.action
    if not parent.size or parent[0] != -1:
        raise ValueError("parent must begin with -1: history 0 is the one that has no parent")
    before, here = parent[:-1], parent[1:]
    number = np.arange(1, parent.size, dtype=parent.dtype)
    wrong = 1 + np.flatnonzero((here < np.maximum(before, 0)) | (here >= number))
    if wrong.size:
        raise ValueError(
            f"parent[{wrong[0]}] is {parent[wrong[0]]}, after {parent[wrong[0] - 1]}; in "
            "breadth-first order parents never decrease and come before their children"
        )
    # Each history is the next child of its parent, or the first one of another.
    index = np.where(here == before, action[:-1] + 1, 0)
    wrong = np.append(action[0] != -1, action[1:] != index).nonzero()[0]
    if wrong.size:
        expected = np.append(-1, index)[wrong[0]]
        raise ValueError(
            f"action[{wrong[0]}] is {action[wrong[0]]}, but history {wrong[0]} is child "
            f"{expected} of its parent; list children in the order of their actions"
        )
    first = 1 + np.flatnonzero(index == 0)
    return _Children(parent[first], first, np.diff(np.append(first, parent.size)))


def _check_players(tree: "GameTree", children: _Children) -> None:
    player = tree.player
    wrong = np.flatnonzero((player < TERMINAL) | (player >= tree.players))
    if wrong.size:
        raise ValueError(
            f"player[{wrong[0]}] is {player[wrong[0]]}, but must be one of 0 to "
            f"{tree.players - 1}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        )
    childless = np.ones(player.size, dtype=np.bool_)
    childless[children.of] = False
    wrong = np.flatnonzero((player == TERMINAL) != childless)
    if wrong.size:
        counts = dict(zip(children.of.tolist(), children.counts.tolist(), strict=True))
        raise ValueError(
            f"player[{wrong[0]}] is {player[wrong[0]]}, but history {wrong[0]} has "
            f"{counts.get(int(wrong[0]), 0)} children; those without any, and no others, are "
            f"TERMINAL ({TERMINAL})"
        )
    wrong = np.flatnonzero((player < 0) & (tree.information_set != -1))
    if wrong.size:
        raise ValueError(
            f"information_set[{wrong[0]}] is {tree.information_set[wrong[0]]}, but no player "
            f"acts at history {wrong[0]}; pass -1 there"
        )


def _check_information_sets(tree: "GameTree", player: int, children: _Children) -> Indices:
    acting = np.flatnonzero(tree.player[children.of] == player)
    here, counts = children.of[acting], children.counts[acting]
    numbers = tree.information_set[here]
    before = np.append(-1, np.maximum.accumulate(numbers))
    wrong = np.flatnonzero((numbers < 0) | (numbers > before[:-1] + 1))
    if wrong.size:
        raise ValueError(
            f"information_set[{here[wrong[0]]}] is {numbers[wrong[0]]}, but those of player "
            f"{player} up to there are 0 to {before[wrong[0]]}; number them in the order in which "
            "they first occur"
        )
    labels, actions = tree.labels[player], tree.actions[player]
    if not (1 + before[-1] == len(labels) == len(actions)):
        raise ValueError(
            f"player {player} has {1 + before[-1]} information sets, but labels names "
            f"{len(labels)} and actions {len(actions)}; pass one of each"
        )
    sizes = counts[numbers > before[:-1]]
    if isinstance(actions, tuple):
        sizes = np.fromiter(map(len, actions), np.int64, len(actions))
    wrong = np.flatnonzero(sizes[numbers] != counts)
    if wrong.size:
        number = numbers[wrong[0]]
        raise ValueError(
            f"history {here[wrong[0]]} has {counts[wrong[0]]} children, but information "
            f"set {number} of player {player} has {sizes[number]} actions; an information set has "
            "the same actions at all of its histories"
        )
    sizes.setflags(write=False)
    return sizes


def _check_outcomes(tree: "GameTree", children: _Children) -> None:
    acting = np.flatnonzero(tree.player[children.of] == CHANCE)
    if len(tree.outcomes) != acting.size:
        raise ValueError(
            f"outcomes has names for {len(tree.outcomes)} chance histories, but there are "
            f"{acting.size}; pass the names of the outcomes of each"
        )
    if not isinstance(tree.outcomes, tuple):
        return  # made of the children themselves
    named = np.fromiter(map(len, tree.outcomes), np.int64, acting.size)
    wrong = np.flatnonzero(named != children.counts[acting])
    if wrong.size:
        names = tree.outcomes[wrong[0]]
        raise ValueError(
            f"history {children.of[acting[wrong[0]]]} has {children.counts[acting[wrong[0]]]} "
            f"children, but outcomes names {len(names)} of them: {quote(names)}"
        )


def _check_chance(tree: "GameTree", children: _Children) -> None:
    by_chance = tree.player[children.of] == CHANCE
    drawn = np.append(False, np.repeat(by_chance, children.counts))
    wrong = np.flatnonzero(np.where(drawn, ~_proper(tree.probability), tree.probability != 1.0))
    if wrong.size and not drawn[wrong[0]]:
        raise ValueError(
            f"probability[{wrong[0]}] is {tree.probability[wrong[0]]}, but chance does not lead "
            f"to history {wrong[0]}; pass 1 there"
        )
    if wrong.size:
        *path, outcome = tree.history_path(int(wrong[0]))
        raise ValueError(
            f"chance outcome {quote(outcome)} at {path_text(path)} has probability "
            f"{tree.probability[wrong[0]]}; pass a finite number of at least 0"
        )
    here, counts = children.of[by_chance], children.counts[by_chance]
    total = segment_sum(np.repeat(np.arange(here.size), counts), tree.probability[drawn], here.size)
    wrong = np.flatnonzero(np.abs(total - 1.0) > CHANCE_TOLERANCE)
    if wrong.size:
        raise ValueError(
            f"the probabilities of chance at {_text(tree, int(here[wrong[0]]))} sum to "
            f"{total[wrong[0]]}, not to 1 within {CHANCE_TOLERANCE:g}; divide them by their sum"
        )


def _check_payoffs(tree: "GameTree") -> None:
    def where(entry: tuple[int, ...]) -> str:
        return f"{_text(tree, int(tree.terminals[entry[0]]))}, player {entry[1]}"

    check_payoffs(tree.payoffs, where)


def _proper(probability: Vector) -> NDArray[np.bool_]:
    # NaN is in no order with anything, and fails it too.
    return (probability >= 0.0) & (probability < np.inf)


def _text(tree: "GameTree", history: int) -> str:
    return path_text(tree.history_path(history))
