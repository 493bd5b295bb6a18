"""Oshi-Zumo: whoever bids more pushes the wrestler away."""

from collections.abc import Sequence
from typing import final

from attrs import evolve, frozen

from regretkit._validate import whole_number
from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.registry import call_text, register


@register
def oshi_zumo(
    coins: int = 5,
    size: int = 1,
    minimum_bid: int = 1,
    horizon: int | None = None,
    alesia: bool = False,
) -> ExtensiveFormGame:
    """Return Oshi-Zumo, in which two players bid for pushing a wrestler.

    The wrestler stands in the middle of a row of ``2 * size + 1`` cells, between the players. In
    each round both bid some of their coins, which are gone then. Whoever bids more pushes the
    wrestler by one cell towards the other player; after equal bids it stays. A player who has
    fewer coins than the least bid bids them all. The game is over when the wrestler is pushed
    off the row, when no coins are left, or after ``horizon`` rounds. Whoever has the wrestler on
    its own side of the middle then, or off the row there, loses 1 to the other. In the middle,
    nobody earns anything.

    Both bid at once: player 0 is asked first, and player 1 does not see that bid before it has
    made its own. Then both see both. An information set is named by the player and the bids of
    earlier rounds: at ``1:2-1,0-3`` player 1 bids for the third time; at first player 0 bid 2 and
    player 1 bid 1, then player 0 bid nothing and player 1 bid 3.

    Parameters
    ----------
    coins
        Number of coins that each player begins with, at least 1.
    size
        Number of cells on each side of the middle, at least 0.
    minimum_bid
        The least bid, from 0 to ``coins``.
    horizon
        Number of rounds, at least 1, after which the game ends in any case; None for as many as
        the coins last. If the least bid is 0 they could last for ever, and a number is needed.
    alesia
        Whether only a wrestler off the row counts, and whatever else is a draw. That variant is
        called Alesia.

    Raises
    ------
    TypeError
        When a number is not whole, or ``alesia`` not True or False.
    ValueError
        When an argument is out of its range, or there is neither a least bid nor a horizon.

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
    name = call_text(
        oshi_zumo,
        coins=root.coins[0],
        size=root.size,
        minimum_bid=root.minimum_bid,
        horizon=root.horizon,
        alesia=root.alesia,
    )
    return ExtensiveFormGame.from_history(root, name=name)


def oshi_zumo_history(
    coins: int = 5,
    size: int = 1,
    minimum_bid: int = 1,
    horizon: int | None = None,
    alesia: bool = False,
) -> "OshiZumoHistory":
    """Return the empty history of Oshi-Zumo."""
    coins = whole_number(coins, "coins", least=1)
    size = whole_number(size, "size", least=0)
    minimum_bid = whole_number(minimum_bid, "minimum_bid", least=0, most=coins)
    if horizon is not None:
        horizon = whole_number(horizon, "horizon", least=1)
    elif minimum_bid == 0:
        raise ValueError(
            "horizon must be a whole number where minimum_bid is 0, because both players could "
            "bid nothing for ever; pass a number of rounds, or minimum_bid=1"
        )
    if not isinstance(alesia, bool):
        raise TypeError(f"alesia must be True or False, got {alesia!r}")
    return OshiZumoHistory(size, minimum_bid, horizon, alesia, (coins, coins))


@final
@frozen
class OshiZumoHistory:
    """What was bid, and where that has left the coins and the wrestler."""

    size: int
    minimum_bid: int
    horizon: int | None
    alesia: bool
    coins: tuple[int, int]
    """What each player has left."""
    position: int = 0
    """How far the wrestler was pushed: to player 1 above 0, to player 0 below."""
    bids: tuple[tuple[int, int], ...] = ()
    """The bids of the rounds that are over."""
    hidden: int | None = None
    """Player 0's bid of this round, where it has bid."""

    def is_terminal(self) -> bool:
        """Return whether the wrestler is off the row, or no coins or no rounds are left."""
        return self.hidden is None and (
            abs(self.position) > self.size or self.coins == (0, 0) or len(self.bids) == self.horizon
        )

    def player(self) -> int:
        """Return who has yet to bid in this round."""
        return 0 if self.hidden is None else 1

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        """Return nothing: chance does not act."""
        return ()

    def actions(self) -> Sequence[int]:
        """Return the bids that the player can pay, or all it has where that is too little."""
        coins = self.coins[self.player()]
        return range(min(self.minimum_bid, coins), coins + 1)

    def child(self, action: int) -> "OshiZumoHistory":
        """Return the history after a bid."""
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
        """Return whose turn it is, and the bids of the rounds that are over."""
        return f"{self.player()}:{','.join(f'{one}-{other}' for one, other in self.bids)}"

    def payoffs(self) -> Sequence[float]:
        """Return 1 for whoever pushed the wrestler away, and -1 for the other."""
        undecided = self.alesia and abs(self.position) <= self.size
        if undecided or self.position == 0:
            return [0.0, 0.0]
        return [1.0, -1.0] if self.position > 0 else [-1.0, 1.0]
