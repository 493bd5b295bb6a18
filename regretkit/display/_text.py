"""Games as text: trees with a line for each history, and tables of payoffs."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from regretkit._util._validate import quote
from regretkit.display._style import number
from regretkit.games import CHANCE, TERMINAL, GameTree, NormalFormGame
from regretkit.games._profile_table import printable

_LINES = ("├─ ", "└─ ", "│  ", "   ")
_ASCII = ("|- ", "`- ", "|  ", "   ")


def tree_lines(tree: GameTree, limit: int, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield a line for each of the first ``limit`` histories of a tree, shorter ones first."""
    fork, last, bar, blank = _ASCII if ascii_only else _LINES
    count = np.bincount(tree.parent[1:], minlength=tree.histories)
    first = 1 + np.cumsum(count) - count  # children lie side by side
    payoffs = dict(zip(tree.terminals.tolist(), tree.payoffs.tolist(), strict=True))
    waiting = [(0, "", "")]
    while waiting:
        history, branch, margin = waiting.pop()
        start, end = int(first[history]), int(first[history] + count[history])
        children = range(start, min(end, max(start, limit)))
        hidden = end - start - len(children)
        parts = filter(None, (_action(tree, history), _situation(tree, history, payoffs)))
        yield f"{branch}{'  '.join(parts)}{f'  ... {hidden} more' if hidden else ''}"
        below = [(child, margin + fork, margin + bar) for child in children]
        if below:
            below[-1] = (children[-1], margin + last, margin + blank)
        waiting.extend(reversed(below))


def _action(tree: GameTree, history: int) -> str:
    if history == 0:
        return ""
    name = printable(tree.history_path(history)[-1])
    if tree.player[tree.parent[history]] != CHANCE:
        return name
    return f"{name} ({number(float(tree.probability[history]))})"


def _situation(tree: GameTree, history: int, payoffs: dict[int, list[float]]) -> str:
    player = int(tree.player[history])
    if player == CHANCE:
        return "chance"
    if player == TERMINAL:
        return f"pays {_numbers(payoffs[history])}"
    label = tree.labels[player][int(tree.information_set[history])]
    return f"player {player} at {quote(label)}"


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(map(number, values))


def table_lines(game: NormalFormGame) -> Iterator[str]:
    """Yield the payoffs of a game, a table for each choice of the third and later players."""
    names = [list(map(printable, domain.labels.actions(0))) for domain in game.domains]
    columns = names[1] if game.players > 1 else ["payoff"]
    by_outcome = np.moveaxis(game.payoffs, 0, -1)
    for choices in itertools.product(*(range(len(actions)) for actions in names[2:])):
        if choices:
            chosen = [f"player {i}: {names[i][a]}" for i, a in enumerate(choices, start=2)]
            yield from ("", ", ".join(chosen))
        rows = [["", *columns]]
        for row, name in enumerate(names[0]):
            outcomes = [(row, column, *choices)[: game.players] for column in range(len(columns))]
            cells = [_numbers(by_outcome[outcome].tolist()) for outcome in outcomes]
            rows.append([name, *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *cells in rows:
            right = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            yield "  ".join([name.ljust(widths[0]), *right])
