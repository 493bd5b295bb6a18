"""What follows the first line of an ``.nfg`` file."""

import math

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Vector
from regretkit.games.formats._header import comment, header, names, numbered, payoffs
from regretkit.games.formats._scanner import Scanner
from regretkit.games.normal_form import NormalFormGame

MOST_PLAYERS = 31
"""Arrays of more than 32 dimensions do not exist everywhere."""


def normal_form(scanner: Scanner) -> NormalFormGame:
    """Read a file to its end."""
    head = header(scanner, "NFG", "1")
    if head.players > MOST_PLAYERS:
        raise scanner.fault(
            f"{head.players} players are more than a table can hold, which is {MOST_PLAYERS}"
        )
    start = scanner.skip_space()
    actions, sizes = _strategies(scanner, head.players)
    comment(scanner)
    cells = math.prod(sizes)
    if cells > len(scanner.text):
        raise scanner.fault("these strategies make more cells than the file has letters", start)
    if scanner.take("{"):
        table = _of_outcomes(scanner, head.players, cells)
    else:
        table = _of_payoffs(scanner, head.players, cells)
    if not scanner.at_end():
        raise scanner.unexpected(f"the end of the file after all {cells} cells of the table")
    # The first player's strategies vary fastest.
    tensors = [paid.reshape(sizes, order="F") for paid in table.T]
    return NormalFormGame(np.array(tensors), actions=actions, name=head.title)


def _strategies(
    scanner: Scanner, players: int
) -> tuple[tuple[tuple[str, ...], ...] | None, list[int]]:
    """Read the names of everybody's strategies, or how many there are; return both."""
    scanner.symbol("{", "before the strategies")
    labels, sizes = [], []
    named = scanner.comes("{")
    for player in range(1, players + 1):
        start = scanner.skip_space()
        if named:
            scanner.symbol("{", f"before the strategies of player {player}")
            labels.append(numbered(names(scanner, "the name of a strategy")))
            sizes.append(len(labels[-1]))
        else:
            sizes.append(scanner.whole(f"the number of strategies of player {player}"))
        if not sizes[-1]:
            raise scanner.fault(f"player {player} needs at least one strategy", start)
    scanner.symbol("}", f"after the strategies of {players} players")
    return tuple(labels) if named else None, sizes


def _of_payoffs(scanner: Scanner, players: int, cells: int) -> NDArray[np.float64]:
    """Read the payoffs of everybody, cell by cell, shape ``(cells, players)``."""
    total = cells * players
    found = [scanner.number(f"payoff {number} of {total}") for number in range(1, total + 1)]
    return np.array(found).reshape(cells, players)


def _of_outcomes(scanner: Scanner, players: int, cells: int) -> Vector:
    """Read outcomes, and for each cell the number of one, 0 where nobody earns anything."""
    outcomes = [[0.0] * players]
    while not scanner.take("}"):
        scanner.symbol("{", "before an outcome, or '}' after the last")
        scanner.name("the name of an outcome")
        outcomes.append(payoffs(scanner, players))
    numbers = []
    for cell in range(1, cells + 1):
        start = scanner.skip_space()
        numbers.append(scanner.whole(f"the number of the outcome in cell {cell} of {cells}"))
        if numbers[-1] >= len(outcomes):
            raise scanner.fault(
                f"outcome {numbers[-1]} is not declared; there are {len(outcomes) - 1}", start
            )
    paid: Vector = np.array(outcomes)[numbers]
    return paid
