"""Best responses of games in machine code: the utilities of the compiled engine, and one climb."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias, final
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL
from regretkit.engine._layout import (
    LONGEST_RUN,
    MOST_KEPT,
    Iterates,
    lay_out,
    payoffs_kind,
    shared_sums,
)
from regretkit.engine._machine_code import CannotCompileError, MachineCode
from regretkit.engine._support import COMPILING, could_overflow, numba_missing
from regretkit.games import ExtensiveFormGame
from regretkit.games.public import PublicGame

SequenceFormGame: TypeAlias = ExtensiveFormGame | PublicGame

_KEPT = 1 << 20
"""Sequences of the largest game whose arrays are kept from one call to the next."""

_IDLE: "WeakKeyDictionary[SequenceFormGame, list[Responder]]" = WeakKeyDictionary()
"""Arrays of games that no call has in use, of which threads may need one each."""
_UNSUPPORTED: WeakKeyDictionary[SequenceFormGame, bool] = WeakKeyDictionary()
_AT_HAND: dict[type, bool] = {}
"""Whether there is machine code for a kind of payoffs."""


def respond(
    game: SequenceFormGame, strategies: Sequence[Vector], player: int | None, seconds: float
) -> Vector | None:
    """Return what each player gains by a best response, or a player's values of best actions.

    None where NumPy is to do it: where machine code is not at hand, and takes longer to compile
    than these ``seconds`` in NumPy, and where what another player plays is no strategy.
    """
    if game not in _UNSUPPORTED:
        large = not isinstance(game, PublicGame) and game.payoffs.size > MOST_KEPT
        _UNSUPPORTED[game] = large or numba_missing() is not None or could_overflow(game)
    kind = payoffs_kind(game)
    if _UNSUPPORTED[game] or not (_is_at_hand(kind) or seconds > COMPILING):
        return None
    idle = _IDLE.setdefault(game, [])
    try:
        responder = idle.pop() if idle else Responder(game)
    except CannotCompileError:
        _UNSUPPORTED[game] = True
        return None
    _AT_HAND[kind] = True
    found = responder.respond(strategies, player)
    if responder.iterates.utility.size <= _KEPT:
        idle.append(responder)
    return found


def _is_at_hand(kind: type) -> bool:
    if kind not in _AT_HAND:
        _AT_HAND[kind] = code_for(kind).is_at_hand()
    return _AT_HAND[kind]


def code_for(kind: type) -> MachineCode:
    """Return the machine code of best responses for a kind of payoffs."""
    from regretkit.engine._jit import compile_responses

    return compile_responses(kind)


@final
class Responder:
    """Best responses in one game, in arrays laid out for machine code."""

    def __init__(self, game: SequenceFormGame) -> None:
        trees, payoffs, _ = lay_out(game, False, False)
        size = int(trees.sequence_offsets[-1])
        strategy, utility = np.zeros(size + shared_sums(payoffs)), np.zeros(size)
        unused = utility[:0]
        self.iterates = Iterates(
            strategy, unused, utility, unused, unused, magnitude=np.zeros(LONGEST_RUN)
        )
        self._found = np.zeros((trees.players, 2))
        self._arrays: tuple[Any, ...] = self._found, payoffs, trees, self.iterates
        begins = trees.sequence_offsets.tolist()
        self._sequences = [slice(*ends) for ends in pairwise(begins)]
        self._code = code_for(type(payoffs))
        self._code.entry(0, 0, *self._arrays)

    def respond(self, strategies: Sequence[Vector], player: int | None) -> Vector | None:
        """Return what ``respond`` does."""
        for number, own in enumerate(self._sequences):
            self.iterates.strategy[own] = 0.0 if number == player else strategies[number]
        players = (0, len(self._sequences)) if player is None else (player, player + 1)
        self._code(*players, *self._arrays)
        gains, errors = self._found.T
        others = [number for number in range(len(errors)) if number != player]
        if (errors[others] > ATOL).any():
            return None
        if player is None:
            return gains.copy()
        return self.iterates.utility[self._sequences[player]].copy()
