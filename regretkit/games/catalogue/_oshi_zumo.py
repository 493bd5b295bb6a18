"""Oshi-Zumo: simultaneous bids, of which the higher pushes the wrestler."""

from collections.abc import Hashable, Sequence
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import must_be, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.catalogue._counting import level_widths

_MOST_COINS = 10**9


@register
def oshi_zumo(
    coins: int = 5,
    size: int = 1,
    minimum_bid: int = 1,
    horizon: int | None = None,
    alesia: bool = False,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Oshi-Zumo, in which two players bid to push a wrestler.

    The wrestler stands in the middle of a row of ``2 * size + 1`` cells, between the players. In
    each round both bid some of their coins, which are spent. The higher bid pushes the wrestler
    one cell towards the other player; after equal bids it stays. A player with fewer coins than
    the least bid bids them all. The game ends when the wrestler is pushed off the row, when no
    coins are left, or after ``horizon`` rounds. The player on whose side of the middle the wrestler
    is at the end loses 1 to the other. In the middle, both earn 0.

    Bids are simultaneous: in the tree player 0 bids first, and player 1 does not observe that bid
    before its own. An information set is named by the player and the bids of past rounds: at
    ``1:2-1,0-3`` player 1 bids for the third time; the first bids were 2 and 1, the second 0 and 3.

    Parameters
    ----------
    coins
        Number of coins that each player begins with, from 1 to 1,000,000,000.
    size
        Number of cells on each side of the middle, at least 0.
    minimum_bid
        The least bid, from 0 to ``coins``.
    horizon
        Number of rounds, at least 1, after which the game ends in any case; None for as many as
        the coins last. A number is required if the least bid is 0.
    alesia
        Whether the game is a draw unless the wrestler is pushed off the row, the variant called
        Alesia.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> oshi_zumo().tree
    <GameTree: 738 histories, 230 terminals, 214 + 214 information sets>
    >>> oshi_zumo(coins=2).tree.labels[1]
    ('1:', '1:1-1', '1:1-2', '1:2-1')
    >>> oshi_zumo(coins=3, minimum_bid=0, horizon=2).tree.actions[0][0]
    ('0', '1', '2', '3')

    References
    ----------
    Buro (2003), "Solving the Oshi-Zumo game", Advances in Computer Games. Rules as in
    OpenSpiel's ``oshi_zumo``.
    """
    root = oshi_zumo_history(coins, size, minimum_bid, horizon, alesia)
    longest = None if root.horizon is None else 2 * root.horizon
    MemoryBudget(memory_limit, walked=True).check_levels(level_widths(root, longest))
    name = call_text(
        oshi_zumo,
        coins=root.coins[0],
        size=root.size,
        minimum_bid=root.minimum_bid,
        horizon=root.horizon,
        alesia=root.alesia,
    )
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


@rules_of("oshi_zumo")
def oshi_zumo_history(
    coins: int = 5,
    size: int = 1,
    minimum_bid: int = 1,
    horizon: int | None = None,
    alesia: bool = False,
) -> "OshiZumoHistory":
    coins = whole_number(coins, "coins", least=1, most=_MOST_COINS)
    size = whole_number(size, "size", least=0)
    minimum_bid = whole_number(minimum_bid, "minimum_bid", least=0, most=coins)
    if horizon is not None:
        horizon = whole_number(horizon, "horizon", least=1)
    elif minimum_bid == 0:
        raise ValueError(
            "horizon must be a whole number where minimum_bid is 0, because the game "
            "might not end; pass a number of rounds, or minimum_bid=1"
        )
    if not isinstance(alesia, bool):
        raise TypeError(must_be("alesia", "True or False", alesia))
    return OshiZumoHistory(size, minimum_bid, horizon, alesia, (coins, coins))


@final
@frozen
class OshiZumoHistory:
    size: int
    minimum_bid: int
    horizon: int | None
    alesia: bool
    coins: tuple[int, int]
    """The coins of each player."""
    position: int = 0
    """Cells from the middle, positive towards player 1."""
    bids: tuple[tuple[int, int], ...] = ()
    """The bids of past rounds."""
    hidden: int | None = None
    """Player 0's bid of the current round, None before it."""

    def shape(self) -> Hashable:
        """Return a key of the continuations up to the horizon."""
        return self.coins, self.position, self.hidden

    def is_terminal(self) -> bool:
        return self.hidden is None and (
            abs(self.position) > self.size or self.coins == (0, 0) or len(self.bids) == self.horizon
        )

    def player(self) -> int:
        return 0 if self.hidden is None else 1

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        return ()

    def actions(self) -> Sequence[int]:
        """Return the bids that the player can afford, or all its coins below the least bid."""
        coins = self.coins[self.player()]
        return range(min(self.minimum_bid, coins), coins + 1)

    def child(self, action: int) -> "OshiZumoHistory":
        if self.hidden is None:
            return evolve(self, hidden=action)
        return evolve(
            self,
            coins=(self.coins[0] - self.hidden, self.coins[1] - action),
            position=self.position + (self.hidden > action) - (self.hidden < action),
            bids=(*self.bids, (self.hidden, action)),
            hidden=None,
        )

    def information_set(self) -> str:
        return f"{self.player()}:{','.join(f'{first}-{second}' for first, second in self.bids)}"

    def payoffs(self) -> Sequence[float]:
        undecided = self.alesia and abs(self.position) <= self.size
        if undecided or self.position == 0:
            return [0.0, 0.0]
        return [1.0, -1.0] if self.position > 0 else [-1.0, 1.0]
