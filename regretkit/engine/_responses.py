"""Best responses of games in machine code: the utilities of the compiled engine, and one climb."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._errors import warn_once
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL
from regretkit.engine._compiler import CannotCompileError
from regretkit.engine._jit import compile_responses
from regretkit.engine._layout import (
    LONGEST_RUN,
    MOST_KEPT,
    Iterates,
    lay_out,
    shared_sums,
)
from regretkit.engine._support import could_overflow
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
        trees, payoffs, _ = lay_out(game, False, False)
        size = int(trees.sequence_offsets[-1])
        strategy, utility = np.zeros(size + shared_sums(payoffs)), np.zeros(size)
        total = np.zeros(max(domain.dimension for domain in game.domains))
        unused = utility[:0]
        self.iterates = Iterates(strategy, unused, utility, total, unused, np.zeros(LONGEST_RUN))
        self._found = np.zeros((trees.players, 2))
        self._arrays: tuple[Any, ...] = self._found, payoffs, trees, self.iterates
        begins = trees.sequence_offsets.tolist()
        self._sequences = [slice(*ends) for ends in pairwise(begins)]
        self._code = compile_responses(type(payoffs))
        self._code.prepared(0, 0, *self._arrays)

    def gains(self, strategies: Sequence[Vector]) -> Vector | None:
        """Return what each player gains by a best response; None if a strategy is none."""
        self._put(strategies)
        self._code(0, len(strategies), *self._arrays)
        gains, errors = self._found.T
        return None if (errors > ATOL).any() else gains.copy()

    def best_values(self, strategies: Sequence[Vector], player: int) -> Vector | None:
        """Return what each sequence of a player earns where its best actions follow.

        None if what another player plays is no strategy.
        """
        self._put([*strategies[:player], np.zeros(1), *strategies[player + 1 :]])
        self._code(player, player + 1, *self._arrays)
        if (np.delete(self._found[:, 1], player) > ATOL).any():
            return None
        return self.iterates.utility[self._sequences[player]].copy()

    def _put(self, strategies: Iterable[Vector]) -> None:
        for own, strategy in zip(self._sequences, strategies, strict=True):
            self.iterates.strategy[own] = strategy
