"""Games as text: trees with a line for each history, and tables of payoffs."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from regretkit._typing import Indices
from regretkit.cli.screen import clean, number, numbers
from regretkit.games import CHANCE, TERMINAL, GameTree, NormalFormGame

_FINE = ("├─ ", "└─ ", "│  ", "   ")
_PLAIN = ("|- ", "`- ", "|  ", "   ")


def tree_lines(tree: GameTree, limit: int, *, plain: bool = False) -> Iterator[str]:
    """Yield a line for each of the first histories of a tree, shorter ones being first.

    Parameters
    ----------
    tree
        The tree.
    limit
        How many histories are shown at most.
    plain
        Whether the branches are to be of ASCII.
    """
    shown = min(limit, tree.histories)
    fork, last, on, off = _PLAIN if plain else _FINE
    first, count = _children(tree)
    ends = np.cumsum(tree.player == TERMINAL) - 1
    chance = np.cumsum(tree.player == CHANCE) - 1
    waiting = [(0, "", "")]
    while waiting:
        history, branch, margin = waiting.pop()
        own = range(int(first[history]), int(first[history] + count[history]))
        below = [child for child in own if child < shown]
        action = _action(tree, history, chance)
        there = _there(tree, history, ends)
        yield f"{branch}{'  '.join(filter(None, (action, there)))}{_more(own, below)}"
        pieces = [(child, margin + fork, margin + on) for child in below]
        if pieces:
            pieces[-1] = (below[-1], margin + last, margin + off)
        waiting.extend(reversed(pieces))


def _children(tree: GameTree) -> tuple[Indices, Indices]:
    """Return the first child of each history, and how many it has; they lie side by side."""
    count = np.bincount(tree.parent[1:], minlength=tree.histories)
    return 1 + np.cumsum(count) - count, count


def _action(tree: GameTree, history: int, chance: Indices) -> str:
    if history == 0:
        return ""
    parent, action = int(tree.parent[history]), int(tree.action[history])
    player = int(tree.player[parent])
    if player == CHANCE:
        name = tree.outcomes[int(chance[parent])][action]
        return f"{clean(name)} ({number(float(tree.probability[history]))})"
    return clean(tree.actions[player][int(tree.information_set[parent])][action])


def _there(tree: GameTree, history: int, ends: Indices) -> str:
    player = int(tree.player[history])
    if player == CHANCE:
        return "chance"
    if player == TERMINAL:
        return f"pays {numbers(tree.payoffs[int(ends[history])].tolist())}"
    label = tree.labels[player][int(tree.information_set[history])]
    return f"player {player} at {label!r}"


def _more(own: range, below: Sequence[int]) -> str:
    hidden = len(own) - len(below)
    return f"  ... {hidden} more" if hidden else ""


def table_lines(game: NormalFormGame) -> Iterator[str]:
    """Yield the payoffs of a game in normal form: a table for what the third and later ones do."""
    names = [names_of(game, player) for player in range(game.players)]
    for others in itertools.product(*(range(len(own)) for own in names[2:])):
        if others:
            said = [f"player {i + 2}: {names[i + 2][a]}" for i, a in enumerate(others)]
            yield from ("", ", ".join(said))
        yield from _aligned(_cells(game, names, others))


def names_of(game: NormalFormGame, player: int) -> list[str]:
    """Return the names of a player's actions, their numbers where there are none."""
    if game.actions is None:
        return [str(action) for action in range(game.payoffs.shape[1 + player])]
    return [clean(name) for name in game.actions[player]]


def _cells(
    game: NormalFormGame, names: Sequence[Sequence[str]], others: tuple[int, ...]
) -> list[list[str]]:
    at_outcomes = np.moveaxis(game.payoffs, 0, -1)
    heads = names[1] if game.players > 1 else ["payoff"]
    rows = [["", *heads]]
    for row, name in enumerate(names[0]):
        columns = [(row, column, *others) for column in range(len(heads))]
        places = columns if game.players > 1 else [(row,)]
        rows.append([name, *(numbers(at_outcomes[place].tolist()) for place in places)])
    return rows


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *right])
