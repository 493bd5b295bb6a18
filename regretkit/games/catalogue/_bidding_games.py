"""Games of simultaneous bids: Goofspiel and Oshi-Zumo."""

from collections.abc import Hashable, Sequence

import numpy as np
from attrs import asdict, evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget, level_widths
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE, TERMINAL

ORDERS = ("descending", "ascending", "random")
INFORMATION = ("full", "hidden")
_MOST_CARDS = 62
"""A set of cards is a 64-bit number with a bit for each card."""
TIES = ("discard", "split")
RETURNS = ("win_loss", "point_difference", "total_points")
_COUNTED = 100
"""Limit on the players that are counted; no memory holds the tree of more."""


@register
def goofspiel(
    cards: int = 4,
    order: str = "descending",
    information: str = "full",
    players: int = 2,
    *,
    turns: int | None = None,
    returns: str = "win_loss",
    ties: str = "discard",
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Goofspiel, the game of pure strategy: simultaneous bids of cards for prizes.

    Each player holds the cards 1 to n, and there are prizes of 1 to n points. In each turn a prize
    is revealed and all players bid a card simultaneously. The highest card wins the prize; in a tie
    no player wins it, or those who are tied share it. All cards that were bid are discarded. When
    as many turns are played as there are cards, the last is forced.

    The simultaneous bids are a tree in which one player after the other bids without seeing the
    bids of the same turn. An information set is named by the turns so far and the revealed prize:
    ``4:3/2 3:`` if for the prize of 4 points player 0 bid 3 and player 1 bid 2; with hidden bids
    ``4:3>0 3:`` if the player itself bid 3 and player 0 won; ``=`` if no player did.

    Parameters
    ----------
    cards
        Number of cards of each player, and of prizes, from 1 to 62.
    order
        Order of the prizes: ``"descending"``, ``"ascending"``, or ``"random"``, drawn by chance.
    information
        What is revealed after each turn: all bids (``"full"``), or only the winner (``"hidden"``).
    players
        Number of players, at least 2.
    turns
        Number of turns, by default one for each card.
    returns
        Payoffs. ``"win_loss"``: the players with the most points share 1 and the others share
        -1, or all earn 0 if all are tied. ``"point_difference"``: a player's points less the
        mean of all players'. ``"total_points"``: its points.
    ties
        What becomes of the prize when several players bid the highest card: ``"discard"``, or
        ``"split"`` in equal parts. Hidden bids report a tie in both cases.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> game = goofspiel(information="hidden")
    >>> game.tree
    <GameTree: 1077 histories, 576 terminals, 81 + 81 information sets>
    >>> game.tree.labels[0][1], game.tree.actions[0][1]
    ('4:1=  3:', ('2', '3', '4'))

    References
    ----------
    Ross (1971), "Goofspiel: the game of pure strategy", Journal of Applied Probability 8(3).
    With hidden bids: Lanctot, Lisý and Winands (2014), "Monte Carlo tree search in simultaneous
    move games with applications to Goofspiel", Computer Games. Rules as in OpenSpiel's
    ``goofspiel``.
    """
    rules = _rules(cards, order, information, players, turns, returns, ties)
    MemoryBudget(memory_limit).check_histories(rules.histories, rules.players)
    turns = None if rules.turns == rules.cards else rules.turns
    name = call_text(goofspiel, **asdict(rules) | {"turns": turns})
    return ExtensiveFormGame.from_batch(rules.start(), name=name, memory_limit=memory_limit)


@rules_of("goofspiel")
def goofspiel_batch(
    cards: int = 4,
    order: str = "descending",
    information: str = "full",
    players: int = 2,
    *,
    turns: int | None = None,
    returns: str = "win_loss",
    ties: str = "discard",
) -> "Goofspiel":
    rules = _rules(cards, order, information, players, turns, returns, ties)
    observed = (rules.reports * (rules.cards if rules.drawn else 1)) ** rules.decided
    if observed.bit_length() > _MOST_CARDS:
        raise ValueError(
            f"what a player observes in {rules.turns} turns with {rules.cards} cards does not fit "
            f"into {_MOST_CARDS} bits; take fewer cards or turns, or information='hidden'"
        )
    return rules.start()


def _rules(
    cards: int,
    order: str,
    information: str,
    players: int,
    turns: int | None,
    returns: str,
    ties: str,
) -> "Rules":
    for name, value, options in (
        ("order", order, ORDERS),
        ("information", information, INFORMATION),
        ("returns", returns, RETURNS),
        ("ties", ties, TIES),
    ):
        if value not in options:
            raise ValueError(must_be(name, f"one of {', '.join(map(repr, options))}", value))
    cards = whole_number(cards, "cards", minimum=1, maximum=_MOST_CARDS)
    players = whole_number(players, "players", minimum=2)
    turns = cards if turns is None else whole_number(turns, "turns", minimum=1, maximum=cards)
    return Rules(cards, order, information, players, turns, returns, ties)


@frozen
class Rules:
    """The parameters of Goofspiel; cards and prizes are numbered from 0."""

    cards: int
    order: str
    information: str
    players: int
    turns: int
    returns: str
    ties: str

    @property
    def split(self) -> bool:
        return self.ties == "split"

    @property
    def drawn(self) -> bool:
        return self.order == "random"

    @property
    def decided(self) -> int:
        """Number of turns with a choice: the last card of a hand is forced."""
        return self.turns - (self.turns == self.cards)

    @property
    def histories(self) -> int:
        total, width = 0, 1
        for undrawn in range(self.cards, self.cards - self.decided, -1):
            for _ in range(self.drawn + min(self.players, _COUNTED)):
                total, width = total + width, width * undrawn
        return total + width

    @property
    def reports(self) -> int:
        """Number of different observations of a turn."""
        hidden = self.information == "hidden"
        return self.cards * (self.players + 1) if hidden else self.cards**self.players

    def prize(self, turn: int) -> int:
        """Return the prize of a turn that is not drawn."""
        return self.cards - 1 - turn if self.order == "descending" else turn

    def only(self, sets: Indices) -> NDArray[np.int8]:
        """Return the card of each set of one card."""
        numbers = np.arange(self.cards, dtype=np.int8)
        held = sets[..., np.newaxis] >> numbers.astype(sets.dtype) & 1
        cards: NDArray[np.int8] = (held.astype(np.int8) * numbers).sum(axis=-1, dtype=np.int8)
        return cards

    def report(self, bids: Indices, winner: Indices) -> Indices:
        """Return each player's observation of a turn, a number below ``reports``."""
        if self.information == "hidden":
            return bids * (self.players + 1) + winner
        all_bids = np.ravel_multi_index(tuple(bids), (self.cards,) * self.players)
        return np.broadcast_to(all_bids, bids.shape)

    def report_text(self, report: int) -> str:
        if self.information == "full":
            bids = np.unravel_index(report, (self.cards,) * self.players)
            return "/".join(str(bid + 1) for bid in bids)
        bid, winner = divmod(report, self.players + 1)
        return f"{bid + 1}=" if winner == self.players else f"{bid + 1}>{winner}"

    def start(self) -> "Goofspiel":
        # The smallest integer type that holds a set of cards
        sets = np.min_scalar_type(-(2**self.cards))
        all_cards = np.full((self.players, 1), 2**self.cards - 1, dtype=sets)
        points = np.zeros((self.players, 1))
        return Goofspiel(
            rules=self,
            turn=0,
            mover=0,
            hands=all_cards,
            bids=np.zeros((self.players, 1), dtype=np.int8),
            points=points if self.split else points.astype(np.int16),
            known=np.ones((self.players, 1), dtype=np.int64),
            undrawn=all_cards[0],
            prize=np.zeros(1, dtype=np.int8),
        ).opened()


@frozen(eq=False)
class Goofspiel:
    """A batch of histories; players before ``mover`` have bid in the current turn.

    Arrays have shape ``(histories,)`` or ``(players, histories)``. Sets of cards are bit masks, and
    ``known`` encodes a player's observations as the digits of a number.
    """

    rules: Rules
    turn: int
    mover: int
    hands: Indices
    bids: NDArray[np.int8]
    points: NDArray[np.int16] | Vector
    known: Indices
    undrawn: Indices
    """The prizes that are not drawn yet."""
    prize: NDArray[np.int8]
    """The revealed prize."""

    def player(self) -> Indices:
        finished = self.turn == self.rules.turns
        return np.full(self.prize.size, TERMINAL if finished else self.mover)

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        held = self.undrawn[rows] if self.mover == CHANCE else self.hands[self.mover, rows]
        cards = np.arange(self.rules.cards, dtype=held.dtype)
        return (held[:, np.newaxis] >> cards & 1).astype(np.bool_)

    def child(self, rows: Indices, action: Indices) -> "Goofspiel":
        hands, bids = self.hands[:, rows], self.bids[:, rows]
        known, undrawn, prize = self.known[:, rows], self.undrawn[rows], self.prize[rows]
        if self.mover == CHANCE:
            known = known * self.rules.cards + action
            undrawn ^= np.int64(1) << action
            prize = action.astype(np.int8)
        else:
            hands[self.mover] ^= np.int64(1) << action
            bids[self.mover] = action
        child = evolve(
            self,
            mover=self.mover + 1,
            hands=hands,
            bids=bids,
            points=self.points[:, rows],
            known=known,
            undrawn=undrawn,
            prize=prize,
        )
        return child.settled() if child.mover == self.rules.players else child

    def settled(self) -> "Goofspiel":
        """Return the same histories after the prize is won and the next one revealed."""
        highest = self.bids == self.bids.max(axis=0)
        count = np.count_nonzero(highest, axis=0)
        unique = count == 1
        share = highest / count if self.rules.split else highest & unique
        winner = np.where(unique, highest.argmax(axis=0), self.rules.players)
        reported = self.rules.report(self.bids.astype(np.int64), winner)
        return evolve(
            self,
            turn=self.turn + 1,
            mover=0,
            points=self.points + share * (self.prize + np.int16(1)),
            known=self.known * self.rules.reports + reported,
        ).opened()

    def opened(self) -> "Goofspiel":
        """Reveal the prize of the turn, unless chance draws it; play a turn of forced cards."""
        rules, forced = self.rules, self.turn == self.rules.cards - 1
        if self.turn == rules.turns:
            return self
        if rules.drawn and not forced:
            return evolve(self, mover=CHANCE)
        prize = (
            rules.only(self.undrawn)
            if rules.drawn
            else np.full_like(self.prize, rules.prize(self.turn))
        )
        if not forced:
            return evolve(self, prize=prize)
        return evolve(self, prize=prize, bids=rules.only(self.hands)).settled()

    def probability(self, rows: Indices, action: Indices) -> Vector:
        return np.full(rows.size, 1.0 / (self.rules.cards - self.turn))

    def information_set(self, rows: Indices) -> Indices:
        known: Indices = self.known[self.mover, rows]
        return known

    def payoffs(self, rows: Indices) -> Vector:
        points: Vector = self.points[:, rows].T.astype(np.float64)
        if self.rules.returns == "total_points":
            return points
        if self.rules.returns == "point_difference":
            mean: Vector = points.mean(axis=1, keepdims=True)
            return points - mean
        if self.rules.split:
            points = points.round(9)  # shares add up to the same points in any order
        best = points == points.max(axis=1, keepdims=True)
        winners = np.count_nonzero(best, axis=1, keepdims=True)
        losers = self.rules.players - winners
        shares: Vector = np.where(best, 1.0 / winners, -1.0 / np.maximum(losers, 1))
        return np.where(losers > 0, shares, 0.0)

    def action_name(self, player: int, action: int) -> str:
        return str(action + 1)

    def label(self, player: int, information_set: int) -> str:
        """Return the past turns, each with its prize, and the revealed prize."""
        rules, known = self.rules, information_set
        prizes: list[int] = []
        reports: list[int] = []
        while known > 1:
            if rules.drawn:
                known, prize = divmod(known, rules.cards)
                prizes.insert(0, prize)
            if known > 1:
                known, report = divmod(known, rules.reports)
                reports.insert(0, report)
        if not rules.drawn:
            prizes = [rules.prize(turn) for turn in range(len(reports) + 1)]
        reported = [*map(rules.report_text, reports), ""]
        return " ".join(f"{prize + 1}:{text}" for prize, text in zip(prizes, reported, strict=True))


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
    coins = whole_number(coins, "coins", minimum=1, maximum=_MOST_COINS)
    size = whole_number(size, "size", minimum=0)
    minimum_bid = whole_number(minimum_bid, "minimum_bid", minimum=0, maximum=coins)
    if horizon is not None:
        horizon = whole_number(horizon, "horizon", minimum=1)
    elif minimum_bid == 0:
        raise ValueError(
            "horizon must be a whole number where minimum_bid is 0, because the game "
            "might not end; pass a number of rounds, or minimum_bid=1"
        )
    if not isinstance(alesia, bool):
        raise TypeError(must_be("alesia", "True or False", alesia))
    return OshiZumoHistory(size, minimum_bid, horizon, alesia, (coins, coins))


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
