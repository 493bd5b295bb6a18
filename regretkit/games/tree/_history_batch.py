"""All histories of one length as arrays: the rules of a game that is too large for objects."""

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector


@runtime_checkable
class HistoryBatch(Protocol):
    """Many histories of one length, side by side, in arrays.

    What :class:`~regretkit.games.History` says of one history this says of all of them at once, so
    that a game of ten million histories takes a few dozen array operations for each level. Start
    from the level of the empty history: the levels of children are the whole game.

    The histories of a level are numbered from 0. Methods that take ``at`` are told the numbers of
    those that they are asked about, in ascending order, and answer for these alone. Actions are
    numbers too, the same for all histories, of which those that are possible may differ.

    Examples
    --------
    A player guesses the outcome of each toss of a fair coin:

    >>> import numpy as np
    >>> from attrs import frozen
    >>> from regretkit.games import CHANCE, TERMINAL, GameTree
    >>> @frozen(eq=False)
    ... class Tosses:
    ...     tosses: int
    ...     length: int
    ...     right: np.ndarray
    ...     last: np.ndarray
    ...     def player(self):
    ...         turn = TERMINAL if self.length == 2 * self.tosses else CHANCE
    ...         return np.full(self.last.size, 0 if self.length % 2 else turn)
    ...     def actions(self, at): return np.ones((at.size, 2), dtype=bool)
    ...     def child(self, at, action):
    ...         right = self.right[at]
    ...         if self.length % 2:  # the coin is down, and was called
    ...             right = right + (self.last[at] == action)
    ...         return Tosses(self.tosses, self.length + 1, right, action)
    ...     def probability(self, at, action): return np.full(at.size, 0.5)
    ...     def information_set(self, at): return np.full(at.size, self.length // 2)
    ...     def payoffs(self, at): return self.right[at].reshape(-1, 1)
    ...     def action_name(self, player, action): return "ht"[action]
    ...     def label(self, player, information_set): return f"call toss {information_set}"
    >>> tree = GameTree.from_batch(Tosses(8, 0, np.zeros(1), np.zeros(1, dtype=int)))
    >>> tree
    <GameTree: 131071 histories, 65536 terminals, 8 information sets>
    >>> tree.labels[0][7], tree.actions[0][7]
    ('call toss 7', ('h', 't'))
    """

    def player(self) -> Indices:
        """Return who acts at each history: a player, ``CHANCE``, or ``TERMINAL`` at an end."""
        ...

    def actions(self, at: Indices) -> NDArray[np.bool_]:
        """Return which actions are possible, of a player or of chance, ``(len(at), actions)``.

        A row for each history, at least one True in each. How many columns there are may differ
        from level to level, but what a column means to a player may not.
        """
        ...

    def child(self, at: Indices, action: Indices) -> Self:
        """Return the level of the children: ``action[i]`` after history ``at[i]``, for each i.

        A history comes once for each of its actions.
        """
        ...

    def probability(self, at: Indices, action: Indices) -> Vector:
        """Return the probability with which chance takes each of these actions at its histories."""
        ...

    def information_set(self, at: Indices) -> Indices:
        """Return a number for what the acting player knows at each of these histories.

        Two histories of the same player with equal numbers, of any length, are in one information
        set; numbers are compared per player only. Any 64-bit integers are valid; small
        nonnegative ones are fastest.
        """
        ...

    def payoffs(self, at: Indices) -> Vector:
        """Return what each player earns at these ends of the game, ``(len(at), players)``."""
        ...

    def action_name(self, player: int, action: int) -> str:
        """Return what to call an action of a player, or of ``CHANCE``.

        This and ``label`` are only called on the level of the empty history, and only when a name
        is displayed.
        """
        ...

    def label(self, player: int, information_set: int) -> str:
        """Return what to call an information set of a player, by the number it has here."""
        ...
