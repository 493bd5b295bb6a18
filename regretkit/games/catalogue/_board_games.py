"""Board games with hidden pieces: Battleship and phantom tic-tac-toe."""

from collections.abc import Sequence
from functools import cached_property
from string import ascii_lowercase
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import number, ordered, quote, whole_number
from regretkit.games._registry import _RULES
from regretkit.games.catalogue._rules import NamedRules, put, real, rows, tree_factory, truth, whole
from regretkit.games.tree._history import TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask

_OUTCOMES = "miss", "hit", "sunk"
_TRIED = 15_000
"""Largest number of sets of free cells for which a search checks whether the ships fit."""


def _lengths(lengths: Any) -> tuple[int, ...]:
    ordered(lengths, "lengths")
    sizes = tuple(whole_number(size, "each of lengths", minimum=1) for size in lengths)
    if not sizes:
        raise ValueError("lengths must have one number for each ship, got none")
    return sizes


def _values(values: Any) -> tuple[float, ...] | None:
    if values is None:
        return None
    ordered(values, "values")
    earned = tuple(number(value, "each of values") for value in values)
    if min(earned, default=0.0) < 0.0:
        raise ValueError(f"values must be at least 0, got {quote(list(earned))}")
    return None if set(earned) == {1.0} else earned


@frozen(repr=False, slots=False)
class Battleship(NamedRules, name="battleship"):
    """Battleship, in which both players hide ships and shoot at those of the opponent.

    Each player has a board, with cells ``a1``, ``a2``, ... in the first row, ``b1``, ``b2``, ... in
    the second. First the players alternately place one ship each, in the given order. A ship lies
    in a row or a column, ships do not overlap, and later ships must still fit. Then the players
    alternately shoot at a cell of the opponent's board, and observe the outcome: a miss, a hit, or
    a sunk ship, of which all cells are hit. Player 0 begins.

    The game ends after all shots, or when a player has lost all ships. A player earns the values of
    the ships it sank, minus ``loss_multiplier`` times the values of the ships it lost.

    The label of an information set consists of the player, its ships, and all shots, its own with
    their outcomes. At ``1:a1-a2/b1,a2 miss,a2`` player 1 has its ship in the first row, player 0
    shot at ``b1``, player 1 shot at ``a2`` and missed, and player 0 shot at ``a2``.

    Players place each ship by a separate decision. Placing a fleet by one decision gives the same
    Nash equilibria, but other extensive-form correlated equilibria, since a mediator recommends an
    action at each decision.

    Parameters
    ----------
    height
        Number of rows of each board, from 1 to 26.
    width
        Number of columns, from 1 to 100.
    lengths
        Number of cells of each ship, at least 1. There is at least one ship, and all fit on the
        board.
    values
        Value of each ship, a finite number at least 0, by default 1.
    shots
        Number of shots of each player, from 1 to 1,000.
    loss_multiplier
        Penalty for losing a ship, relative to its value, a finite number at least 0. With 1 the
        game is zero-sum.
    repeated_shots
        Whether a player may shoot at a cell again. If not, ``shots`` is at most the number of
        cells.

    Examples
    --------
    >>> from regretkit.games import battleship
    >>> battleship().tree
    <GameTree: 1573 histories, 1072 terminals, 53 + 109 information sets>
    >>> battleship(height=1, width=3, lengths=[2, 1]).tree.actions[0][0]
    ('a1-a2', 'a2-a3')
    >>> battleship(loss_multiplier=2.0).constant_sum is None
    True

    References
    ----------
    Farina, Ling, Fang and Sandholm (2019), "Correlation in extensive-form games: saddle-point
    formulation and benchmarks", NeurIPS. Rules as in OpenSpiel's ``battleship``.
    """

    height: int = whole(2, 1, len(ascii_lowercase))
    width: int = whole(2, 1, 100)
    lengths: Sequence[int] = field(default=(1,), converter=_lengths)
    values: Sequence[float] | None = field(default=None, converter=_values)
    shots: int = whole(2, 1, 1_000)
    loss_multiplier: float = real(1.0, 0.0)
    repeated_shots: bool = truth(False)

    def __attrs_post_init__(self) -> None:
        if self.values is not None and len(self.values) != len(self.lengths):
            raise ValueError(f"values must be {len(self.lengths)} numbers, got {len(self.values)}")
        if self.shots > self.area and not self.repeated_shots:
            raise ValueError(f"shots must be at most {self.area}, got {self.shots}")
        if sum(self.lengths) > self.area or not self._fit(np.ones(self.area, np.bool_), 0):
            raise ValueError(
                f"ships of lengths {list(self.lengths)} do not fit on {self.height} x {self.width} "
                "cells"
            )

    @property
    def area(self) -> int:
        """Number of cells."""
        return self.height * self.width

    @cached_property
    def cells(self) -> list[str]:
        """The cells of a board, row by row."""
        rows, columns = ascii_lowercase[: self.height], range(1, self.width + 1)
        return [f"{row}{column}" for row in rows for column in columns]

    @cached_property
    def places(self) -> dict[int, tuple[int, Indices]]:
        """For each length, the number of its first placement, and the cells of its placements."""
        found, count = dict[int, tuple[int, Indices]](), 0
        board = np.arange(self.area).reshape(self.height, self.width)
        for length in dict.fromkeys(self.lengths):
            across = [row[k : k + length] for row in board for k in range(self.width - length + 1)]
            fall = self.height - length + 1
            down = [board[k : k + length, c] for k in range(fall) for c in range(self.width)]
            ships = np.array(across + down * (length > 1), dtype=np.int64).reshape(-1, length)
            found[length] = count, ships
            count += len(ships)
        return found

    @cached_property
    def covers(self) -> NDArray[np.bool_]:
        """Whether each placement covers each cell, shape ``(placements, cells)``."""
        ships = [ship for _, ships in self.places.values() for ship in ships]
        covers = np.zeros((len(ships), self.area), dtype=np.bool_)
        for place, ship in enumerate(ships):
            covers[place, ship] = True
        return covers

    @cached_property
    def _known(self) -> dict[tuple[int, bytes], bool]:
        """Cache of ``_fit``."""
        return {}

    def _fit(self, free: NDArray[np.bool_], ship: int) -> bool:
        """Return whether the ships from this one on fit on free cells."""
        if ship == len(self.lengths):
            return True
        key = ship, free.tobytes()
        if key not in self._known:
            if len(self._known) > _TRIED:
                raise ValueError(f"there are too many ways to place the ships of {self!r}")
            self._known[key] = False
            self._known[key] = any(
                self._fit(free & ~self.covers[p], ship + 1) for p in self._on(free, ship)
            )
        return self._known[key]

    def _on(self, free: NDArray[np.bool_], ship: int) -> list[int]:
        """Return the placements of a ship on free cells."""
        first, ships = self.places[self.lengths[ship]]
        places: list[int] = (first + np.flatnonzero(free[ships].all(axis=1))).tolist()
        return places

    def start(self) -> Batch:
        count, shots = len(self.lengths), 2 * self.shots
        return Batch(
            ships=np.full((1, 2 * count), -1),  # placements, alternately of both players
            shots=np.full((1, shots), -1, dtype=np.int16),  # cells, alternately of both players
            outcomes=np.full((1, shots), -1, dtype=np.int8),
            fired=np.zeros((1, 2, self.area), dtype=np.bool_),  # whether a player shot at a cell
            sunk=np.zeros((1, 2, count), dtype=np.bool_),  # whether a player lost a ship
        )

    @property
    def _placing(self) -> int:
        """Number of moves that place ships."""
        return 2 * len(self.lengths)

    def player(self, h: Batch) -> Indices | int:
        if h.length == self._placing + 2 * self.shots:
            return TERMINAL
        return np.where(h.sunk.all(axis=2).any(axis=1), TERMINAL, h.length % 2)

    def legal(self, h: Batch) -> Mask:
        """Return the legal cells to shoot at, or placements of a ship. Cells have lower numbers."""
        player = h.length % 2
        if h.length >= self._placing:
            fired = h.fired[:, player]
            return np.ones(self.area, dtype=np.bool_) if self.repeated_shots else ~fired
        legal, ship = np.zeros((h.size, len(self.covers)), dtype=np.bool_), h.length // 2
        for row, placed in enumerate(h.ships[:, player : h.length : 2].tolist()):
            free: Mask = self.covers[placed].sum(axis=0) == 0
            for place in self._on(free, ship):
                legal[row, place] = self._fit(free & ~self.covers[place], ship + 1)
        return np.concatenate([np.zeros((h.size, self.area), dtype=np.bool_), legal], axis=1)

    def child(self, h: Batch, action: Indices) -> Batch:
        if h.length < self._placing:
            return h.then(ships=put(h.ships, h.length, action - self.area))
        player, turn, i, fired = h.length % 2, h.length - self._placing, rows(h), h.fired.copy()
        fired[i, player, action] = True
        fleet = self.covers[h.ships[:, 1 - player :: 2]]
        lost, hit = ~(fleet & ~fired[:, player, np.newaxis]).any(axis=2), fleet[i, :, action]
        return h.then(
            shots=put(h.shots, turn, action),
            outcomes=put(h.outcomes, turn, hit.any(axis=1) * (1 + (hit & lost).any(axis=1))),
            fired=fired,
            sunk=put(h.sunk, 1 - player, lost),
        )

    def observed(self, h: Batch) -> tuple[Column, ...]:
        player = h.length % 2
        return h.ships[:, player::2], h.shots, h.outcomes[:, player::2]

    def payoffs(self, h: Batch) -> Vector:
        values = self.values or [1.0] * len(self.lengths)
        each = (h.sunk[:, :, ship] * value for ship, value in enumerate(values))
        lost = np.asarray(sum(each))
        payoffs: Vector = lost[:, ::-1] - self.loss_multiplier * lost
        return payoffs

    def action_name(self, player: int, action: int) -> str:
        if action < self.area:
            return self.cells[action]
        ship = np.flatnonzero(self.covers[action - self.area]).tolist()
        names = [self.cells[cell] for cell in ship]
        return names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"

    def label(self, player: int, *observed: int) -> str:
        count, turns = len(self.lengths), 2 * self.shots
        ships, shots = observed[:count], observed[count : count + turns]
        outcomes = observed[count + turns :]
        fleet = ",".join(self.action_name(player, self.area + ship) for ship in ships if ship >= 0)
        fired = [
            f"{self.cells[cell]} {_OUTCOMES[outcomes[turn // 2]]}"
            if turn % 2 == player
            else self.cells[cell]
            for turn, cell in enumerate(shots)
            if cell >= 0
        ]
        return f"{player}:{fleet}/{','.join(fired)}" if fired else f"{player}:{fleet}"


battleship = tree_factory(Battleship)
"""Build the tree of ``Battleship``, whose arguments it takes."""

_CELLS = np.arange(9).reshape(3, 3)
_LINES = np.concatenate([_CELLS, _CELLS.T, [[0, 4, 8], [2, 4, 6]]])


@frozen(repr=False)
class PhantomTicTacToe(NamedRules, name="phantom_tic_tac_toe"):
    """Tic-tac-toe in which players do not observe the marks of the opponent.

    The cells are numbered from 0 to 8, row by row. If a player chooses a cell with a mark of the
    opponent, it observes this and chooses another cell. In an ``abrupt`` game it loses its turn
    instead. Three marks in a row earn 1, paid by the opponent. A full board is a draw.

    The label of an information set consists of the player and its chosen cells, with ``?`` after a
    cell that had a mark. At ``1:4?0`` player 1 failed to mark cell 4, then marked cell 0.

    The tree has about 10 billion histories. Play without it, by the rules ``PhantomTicTacToe()``.

    Parameters
    ----------
    abrupt
        Whether choosing a cell with a mark ends the turn.

    Examples
    --------
    >>> from regretkit.games import PhantomTicTacToe, as_history
    >>> history = as_history(PhantomTicTacToe())
    >>> for cell in ("4", "4", "0", "8"):
    ...     history = history.child(cell)
    >>> history.player(), history.information_set()
    (1, '1:4?0')

    References
    ----------
    Auger (2011), "Multiple tree for partially observable Monte-Carlo tree search", EvoApplications.
    Rules as in OpenSpiel's ``phantom_ttt``, where players do not observe failed attempts of the
    opponent.
    """

    abrupt: bool = truth(False)

    def start(self) -> Batch:
        return Batch(
            marks=np.zeros((1, 9), dtype=np.int64),  # 1 for player 0, -1 for player 1
            named=np.full((1, 2, 9), -1),  # 2 cell, or 2 cell + 1 if it had an opponent's mark
            mover=np.zeros(1, dtype=np.int64),
        )

    def player(self, h: Batch) -> Indices:
        full = (np.absolute(h.marks[:, _LINES].sum(axis=2)) == 3).any(axis=1)
        return np.where(full | (h.marks != 0).all(axis=1), TERMINAL, h.mover)

    def legal(self, h: Batch) -> Mask:
        named = h.named[rows(h), h.mover] >> 1
        unnamed: Mask = np.logical_not((named[:, :, np.newaxis] == np.arange(9)).any(axis=1))
        return unnamed

    def child(self, h: Batch, action: Indices) -> Batch:
        i, mover, marks, named = rows(h), h.mover, h.marks.copy(), h.named.copy()
        vain = marks[i, action] != 0
        marks[i, action] = np.where(vain, marks[i, action], 1 - 2 * mover)
        place = np.count_nonzero(named[i, mover] >= 0, axis=1)
        named[i, mover, place] = 2 * action + vain
        again = vain & (not self.abrupt)
        return h.then(marks=marks, named=named, mover=np.where(again, mover, 1 - mover))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return (h.named[rows(h), h.mover],)

    def payoffs(self, h: Batch) -> Vector:
        first, second = ((h.marks[:, _LINES].sum(axis=2) == s).any(axis=1) * 1.0 for s in (3, -3))
        return np.stack([first - second, second - first], axis=1)

    def label(self, player: int, *observed: int) -> str:
        named = "".join(f"{each >> 1}{'?' * (each & 1)}" for each in observed if each >= 0)
        return f"{player}:{named}"


_RULES[PhantomTicTacToe.name] = PhantomTicTacToe  # no factory: the tree exceeds memory
