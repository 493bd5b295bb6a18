"""Phantom tic-tac-toe: noughts and crosses in the dark."""

from collections.abc import Sequence
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import must_be
from regretkit.games._registry import rules_of

_LINES = (*("012", "345", "678"), *("036", "147", "258"), *("048", "246"))
_CELLS = "012345678"


@rules_of("phantom_tic_tac_toe")
def phantom_tic_tac_toe_history(*, abrupt: bool = False) -> "PhantomTicTacToe":
    """Return the empty history of tic-tac-toe in which no player sees the marks of the other.

    The cells are numbered from 0 to 8, row by row. A player that names a cell with a mark of the
    other learns so, and names another one; or loses its turn, if the game is ``abrupt``. Three
    marks in a row win 1 from the other player; a full board is a draw.

    An information set is named by the player and the cells that it named, where ``?`` follows one
    that had a mark: at ``1:4?0`` player 1 named cell 4 in vain, then marked cell 0. The tree has
    some 10 billion histories, so that the game is played without it, by ``LazyMCCFR``.

    Parameters
    ----------
    abrupt
        Whether naming a cell with a mark ends the turn.

    Examples
    --------
    >>> history = phantom_tic_tac_toe_history()
    >>> for cell in ("4", "4", "0", "8"):
    ...     history = history.child(cell)
    >>> history.player(), history.information_set()
    (1, '1:4?0')

    References
    ----------
    Auger (2011), "Multiple tree for partially observable Monte-Carlo tree search", EvoApplications.
    Rules as in OpenSpiel's ``phantom_ttt``, whose players do not learn how often the other tried.
    """
    if not isinstance(abrupt, bool):
        raise TypeError(must_be("abrupt", "True or False", abrupt))
    return PhantomTicTacToe(abrupt)


@final
@frozen
class PhantomTicTacToe:
    abrupt: bool
    marks: tuple[str, ...] = ("", "")
    """The cells that each player marked, in order."""
    named: tuple[str, ...] = ("", "")
    """Those that each player named, with ``?`` after each that had a mark."""
    mover: int = 0

    def is_terminal(self) -> bool:
        return self._wins(0) or self._wins(1) or len("".join(self.marks)) == len(_CELLS)

    def player(self) -> int:
        return self.mover

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> Sequence[str]:
        return [cell for cell in _CELLS if cell not in self.named[self.mover]]

    def child(self, action: str) -> "PhantomTicTacToe":
        player = self.mover
        taken = action in self.marks[1 - player]
        marks, named = list(self.marks), list(self.named)
        marks[player] += "" if taken else action
        named[player] += f"{action}?" if taken else action
        mover = player if taken and not self.abrupt else 1 - player
        return evolve(self, marks=tuple(marks), named=tuple(named), mover=mover)

    def information_set(self) -> str:
        return f"{self.mover}:{self.named[self.mover]}"

    def payoffs(self) -> Sequence[float]:
        result = float(self._wins(0)) - float(self._wins(1))
        return result, -result

    def _wins(self, player: int) -> bool:
        return any(set(line) <= set(self.marks[player]) for line in _LINES)
