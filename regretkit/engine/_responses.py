"""Best responses of games in machine code: the utilities of the compiled engine, and one climb."""

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
"""Sequences of the largest game whose arrays are kept from one call to the next."""

_IDLE: "WeakKeyDictionary[SequenceFormGame, list[Responder]]" = WeakKeyDictionary()
"""Arrays of games that no call has in use, of which threads may need one each."""
_UNSUPPORTED: WeakKeyDictionary[SequenceFormGame, bool] = WeakKeyDictionary()


@contextmanager
def responder(game: SequenceFormGame) -> "Iterator[Responder | None]":
    """Lend what finds best responses in a game by machine code; None where NumPy has to."""
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
    """Best responses in one game, in arrays laid out for machine code."""

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
        """Return what each player gains by a best response; None if a strategy is none."""
        self._put(strategies)
        self._code(0, len(strategies), self._arrays)
        gains, errors = self._found.T
        return None if (errors > ATOL).any() else gains.copy()

    def best_values(self, strategies: Sequence[Vector], player: int) -> Vector | None:
        """Return what each sequence of a player earns where its best actions follow.

        None if what another player plays is no strategy.
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
