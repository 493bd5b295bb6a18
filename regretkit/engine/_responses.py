"""Best responses in machine code: the engine's utilities and one backward pass."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._compiler import CannotCompileError
from regretkit._machine_code import MachineCode
from regretkit._util._errors import warn_once
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL
from regretkit.engine._layout import MOST_KEPT, lay_out, shared_sums, zero_iterates
from regretkit.engine._support import could_overflow
from regretkit.engine.kernels._responses import ResponseArrays, respond
from regretkit.games import ExtensiveFormGame
from regretkit.games.public import PublicGame

SequenceFormGame: TypeAlias = ExtensiveFormGame | PublicGame

_KEPT = 1 << 20
"""Largest number of sequences of a game whose arrays are kept between calls."""

_IDLE: "WeakKeyDictionary[SequenceFormGame, list[Responder]]" = WeakKeyDictionary()
"""Unused responders of each game; concurrent threads need one each."""
_UNSUPPORTED: WeakKeyDictionary[SequenceFormGame, bool] = WeakKeyDictionary()


@contextmanager
def responder(game: SequenceFormGame) -> "Iterator[Responder | None]":
    """Lend a game's responder, or None if machine code does not support the game."""
    if game not in _UNSUPPORTED:
        large = not isinstance(game, PublicGame) and game.payoffs.size > MOST_KEPT
        _UNSUPPORTED[game] = large or could_overflow(game)
    lent, idle = None, _IDLE.setdefault(game, [])
    if not _UNSUPPORTED[game]:
        try:
            with suppress(IndexError):  # another thread may have taken the last one
                lent = idle.pop()
            lent = lent or Responder(game)
        except CannotCompileError as error:
            _UNSUPPORTED[game] = True
            warn_once(f"{error}; best responses are computed in NumPy")
    yield lent
    if lent is not None and lent.iterates.utility.size <= _KEPT:
        idle.append(lent)


class Responder:
    """Computes best responses in one game, in machine code."""

    def __init__(self, game: SequenceFormGame) -> None:
        trees, payoffs = lay_out(game)
        self.iterates = zero_iterates(trees, shared_sums(payoffs))
        self._sequences = [
            trees.sequence[begin:end] for begin, end in pairwise(trees.begin.tolist())
        ]
        self._found = np.zeros((len(self._sequences), 2))
        self._arrays = ResponseArrays(payoffs, trees, self.iterates, self._found)
        self._code = MachineCode(respond)
        self._code.prepared(0, 0, self._arrays)

    def gains(self, strategies: Sequence[Vector]) -> Vector | None:
        """Return each player's gain from a best response, or None if a strategy is invalid."""
        self._put(strategies)
        self._code(0, len(strategies), self._arrays)
        gains, errors = self._found.T
        return None if (errors > ATOL).any() else gains.copy()

    def best_values(self, strategies: Sequence[Vector], player: int) -> Vector | None:
        """Return the value of each sequence of a player if its best actions follow.

        Return None if an opponent's strategy is invalid.
        """
        own = self._sequences[player].size
        self._put([*strategies[:player], np.zeros(own), *strategies[player + 1 :]])
        self._code(player, player + 1, self._arrays)
        if (np.delete(self._found[:, 1], player) > ATOL).any():
            return None
        return self.iterates.utility[self._sequences[player]]

    def _put(self, strategies: Iterable[Vector]) -> None:
        for own, strategy in zip(self._sequences, strategies, strict=True):
            self.iterates.strategy[own] = strategy
