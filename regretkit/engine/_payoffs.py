"""Payoffs as compiled code goes through them: equal values are computed once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, Narrow, Vector
from regretkit._util._validate import quote
from regretkit.engine._forest import Forest, narrow
from regretkit.engine._quads import quads_of, stacked
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games._payoff_rows import PayoffRows, offsets


class Matrix(NamedTuple):
    """The :class:`~regretkit.games._payoff_rows.PayoffRows` of two players, four rows at a time."""

    row: Narrow
    """The row of the utility of each sequence, shape ``(sequences,)``."""
    forced_row: Narrow
    """Which row says what a forced last move after it adds to that, see
    :mod:`~regretkit.engine._forced`; empty where no move is forced."""
    batches: Narrow
    """Batches of rows, see :class:`~regretkit.engine._quads.Quads`."""
    of_player: Narrow
    """Where each player's batches begin, and where the last one's end."""
    column: Narrow
    """For each entry a sequence, or beyond all sequences the number of a sum."""
    payoff: Vector
    """For each entry, times chance's probability."""
    sum_batches: Narrow
    """Batches of the sums that rows need."""
    sums_of_player: Narrow
    """Where the batches of each player's sums begin, and where the last one's end."""
    summed: Narrow
    """The sequences in the sums."""
    sums: Narrow
    """Where each player's sums begin, and where the last one's end."""
    scratch: Vector
    """Room for what rows are worth, or sums come to."""
    negligible: Vector
    """For each player, beyond what no utility can be rounding that is left where terms cancel."""


class Ends(NamedTuple):
    """The ends of a game of any number of players, grouped by the last sequence of each."""

    begin: Narrow
    """Where the ends behind each sequence begin, and where the last one's end."""
    others: Narrow
    """The last sequences of all others there, ``(entries, players - 1)``."""
    payoff: Vector
    """What the sequence's player earns there, times chance's probability."""
    negligible: Vector
    """For each player, beyond what no utility can be rounding that is left where terms cancel."""


class Tensor(NamedTuple):
    """The payoffs of a normal form, each player's with its own actions first."""

    sizes: Narrow
    """Number of actions of each player."""
    payoff: Vector
    """All players' payoffs, one after the other."""
    scratch: Vector
    """Room for what is left of them while others' strategies are multiplied in."""
    negligible: Vector
    """For each player, beyond what no utility can be rounding that is left where terms cancel."""


Payoffs: TypeAlias = Matrix | Ends | Tensor
"""What a player earns while the others play, in one of these forms."""


def payoffs_of(game: Game, forest: Forest) -> Payoffs:
    """Return the payoffs of a game whose players' sequences are numbered so."""
    if isinstance(game, NormalFormGame):
        return _tensor(game)
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(f"{quote(game)} has no payoffs that could be laid out")
    if game.players == 2:
        rows = [game._payoff_rows(player, player) for player in range(2)]
        return _matrix(rows, forest, negligible(game))
    sequences = game.sequences + forest.sequences[:-1, None]
    return _ends(sequences, game.payoffs, int(forest.sequences[-1]), negligible(game))


# Normal form


def _tensor(game: NormalFormGame) -> Tensor:
    own_first = [np.moveaxis(own, player, 0) for player, own in enumerate(game.payoffs)]
    sizes = np.array(game.payoffs.shape[1:])
    return Tensor(
        sizes=narrow(sizes),
        payoff=np.concatenate([np.ravel(own) for own in own_first]),
        scratch=np.empty(2 * (game.payoffs[0].size // int(sizes.min(initial=1)))),
        negligible=negligible(game),
    )


# Any number of players


def _ends(sequences: Indices, payoffs: NDArray[np.float64], total: int, negligible: Vector) -> Ends:
    owns, others, worth = [], [], []
    for player, payoff in enumerate(payoffs):
        earned = np.flatnonzero(payoff)
        owns.append(sequences[player, earned])
        others.append(np.delete(sequences, player, axis=0)[:, earned].T)
        worth.append(payoff[earned])
    own = np.concatenate(owns)
    order = np.argsort(own, kind="stable")
    return Ends(
        begin=narrow(offsets(np.bincount(own, minlength=total))),
        others=narrow(np.concatenate(others)[order]),
        payoff=np.concatenate(worth)[order],
        negligible=negligible,
    )


# Two players


def _matrix(by_player: Sequence[PayoffRows], forest: Forest, negligible: Vector) -> Matrix:
    first = forest.sequences.astype(np.int64)
    total = int(first[-1])
    row = np.empty(total, dtype=np.int64)
    parts, sums = [], []
    rows, groups = [0], [0]
    for player in range(2):
        laid = by_player[player]
        across = int(first[2 - player] - first[1 - player])
        added, place, count = quads_of(
            laid.sums._replace(column=first[1 - player] + laid.sums.column)
        )
        # Behind all sequences stand the sums, those of player 0 before those of player 1.
        column = first[1 - player] + laid.rows.column
        beyond = laid.rows.column >= across
        column[beyond] = total + groups[-1] + place[laid.rows.column[beyond] - across]
        sums.append(added)
        groups.append(groups[-1] + count)
        multiplied, place, count = quads_of(laid.rows._replace(column=column))
        row[first[player] : first[player + 1]] = rows[-1] + place[laid.row]
        parts.append(multiplied)
        rows.append(rows[-1] + count)
    both, summed = stacked(parts, rows[:-1]), stacked(sums, groups[:-1])
    return Matrix(
        row=narrow(row),
        forced_row=np.zeros(0, dtype=np.uint32),
        batches=narrow(both.batches),
        of_player=narrow(offsets(np.array([len(part.batches) for part in parts]))),
        column=narrow(both.column),
        payoff=both.value,
        sum_batches=narrow(summed.batches),
        sums_of_player=narrow(offsets(np.array([len(part.batches) for part in sums]))),
        summed=narrow(summed.column),
        sums=narrow(np.array(groups)),
        scratch=np.empty(max(rows[-1], groups[-1])),
        negligible=negligible,
    )


def negligible(game: ExtensiveFormGame | NormalFormGame) -> Vector:
    """Return, for each player, a number beyond which no utility is rounding that is left.

    The magnitudes that are added, probabilities times payoffs, are at most the largest payoff.
    """
    payoffs = game.payoffs if isinstance(game, NormalFormGame) else game.tree.payoffs.T
    largest = [np.abs(own).max(initial=0.0) for own in payoffs]
    return 1.001 * RESOLUTION * np.array(largest)
