"""Games of simultaneous bids: Goofspiel and Oshi-Zumo."""

import numpy as np
from attrs import frozen

from regretkit._util._typing import Indices, Vector
from regretkit.games.catalogue._rules import NamedRules, one_of, put, tree_factory, truth, whole
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask


@frozen(repr=False)
class Goofspiel(NamedRules, name="goofspiel"):
    """Goofspiel, the game of pure strategy: simultaneous bids of cards for prizes.

    Each player holds the cards 1 to n, and there are prizes of 1 to n points. Each turn reveals a
    prize, and all players simultaneously bid a card. The highest card wins the prize. The players
    discard all bids. If there are as many turns as cards, the last turn is forced.

    In the tree, players bid one after the other and do not observe bids of the same turn. The label
    of an information set consists of the past turns and the revealed prize. At ``4:3/2 3:`` player
    0 bid 3 and player 1 bid 2 for the prize of 4 points, and the next prize is 3. With hidden bids,
    at ``4:3>0 3:`` the acting player bid 3 and player 0 won; ``=`` in place of ``>0`` is a tie.

    Parameters
    ----------
    cards
        Number of cards of each player, and of prizes, from 1 to 62.
    order
        Order of the prizes: ``"descending"``, ``"ascending"``, or ``"random"``, a chance move.
    information
        Whether players observe all bids after each turn (``"full"``), or only the winner
        (``"hidden"``).
    players
        Number of players, from 2 to 100.
    turns
        Number of turns, by default one for each card.
    returns
        Payoffs. ``"win_loss"``: the players with the most points share 1 and the others share
        -1; if all have equal points, all earn 0. ``"point_difference"``: a player's points minus
        the mean of all players. ``"total_points"``: a player's points.
    ties
        If several players bid the highest card, ``"discard"`` the prize or ``"split"`` it equally.

    Examples
    --------
    >>> from regretkit.games import goofspiel
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

    cards: int = whole(4, 1, 62)
    order: str = one_of("descending", "ascending", "random")
    information: str = one_of("full", "hidden")
    players: int = whole(2, 2, 100)
    turns: int | None = whole(None, 1, 62)
    returns: str = one_of("win_loss", "point_difference", "total_points")
    ties: str = one_of("discard", "split")

    def __attrs_post_init__(self) -> None:
        if self.rounds > self.cards:
            raise ValueError(f"turns must be at most cards, {self.cards}, got {self.turns}")
        if self.turns == self.cards:
            object.__setattr__(self, "turns", None)

    @property
    def rounds(self) -> int:
        """Number of turns."""
        return self.cards if self.turns is None else self.turns

    @property
    def decided(self) -> int:
        """Number of turns with a choice. The last card of a hand is forced."""
        return self.rounds - (self.rounds == self.cards)

    @property
    def drawn(self) -> bool:
        """Whether chance draws the prizes."""
        return self.order == "random"

    @property
    def moves_of_turn(self) -> int:
        """Number of moves of a turn."""
        return self.drawn + self.players

    def start(self) -> Batch:
        n, card = self.players, np.min_scalar_type(-self.cards - 2)
        # Sets of cards are bits of the smallest signed integer type that holds them.
        sets = np.full((1, n + 1), 2**self.cards - 1, dtype=np.min_scalar_type(-(2**self.cards)))
        points = np.zeros((1, n), dtype=np.float64 if self.ties == "split" else np.int16)
        h = Batch(
            left=sets,  # the remaining cards of each player, and the remaining prizes
            bids=np.zeros((1, n), dtype=card),  # of this turn
            points=points,
            prizes=np.full((1, self.rounds), -1, dtype=card),  # the revealed prizes
            past=np.full((1, self.decided, n), -1, dtype=card),  # the bids of past turns
            # the winner of each past turn, n after a tie
            winners=np.full((1, self.decided), -1, dtype=np.int8),
        )
        return self._opened(h, 0)

    def _turn(self, h: Batch) -> tuple[int, int]:
        """Return the number of the turn, and the acting player."""
        if h.length == self.decided * self.moves_of_turn:
            return self.rounds, TERMINAL
        turn, move = divmod(h.length, self.moves_of_turn)
        return turn, move - self.drawn

    def player(self, h: Batch) -> int:
        return self._turn(h)[1]

    def legal(self, h: Batch) -> Mask:
        left = h.left[:, self._turn(h)[1]]
        legal: Mask = (left[:, np.newaxis] >> self._numbers(left) & 1) > 0
        return legal

    def _numbers(self, sets: Indices) -> Indices:
        return np.arange(self.cards, dtype=sets.dtype)

    def _only(self, sets: Indices) -> Indices:
        """Return the card in each set of one card."""
        numbers = self._numbers(sets)
        cards: Indices = ((sets[..., np.newaxis] >> numbers & 1) * numbers).sum(axis=-1)
        return cards

    def chance(self, h: Batch, action: Indices) -> float:
        return 1.0 / (self.cards - self._turn(h)[0])

    def child(self, h: Batch, action: Indices) -> Batch:
        turn, mover = self._turn(h)
        left = h.left.copy()
        left[:, mover] = left[:, mover] ^ (np.int64(1) << action).astype(left.dtype)
        if mover == CHANCE:
            return h.then(left=left, prizes=put(h.prizes, turn, action))
        bids = put(h.bids, mover, action)
        h = h.then(left=left, bids=bids)
        if mover + 1 < self.players:
            return h
        highest = bids == bids.max(axis=1)[:, None]
        unique = np.count_nonzero(highest, axis=1) == 1
        winner = np.where(unique, np.argmax(highest, axis=1), self.players)
        past, winners = put(h.past, turn, bids), put(h.winners, turn, winner)
        settled = self._settled(h, turn, bids, past=past, winners=winners)
        return self._opened(settled, turn + 1)

    def _settled(self, h: Batch, turn: int, bids: Indices, **changed: Indices) -> Batch:
        """Add the points of a turn."""
        highest = bids == bids.max(axis=1, keepdims=True)
        count = np.count_nonzero(highest, axis=1, keepdims=True)
        share = highest / count if self.ties == "split" else highest & (count == 1)
        points = h.points + share * (h.prizes[:, turn, np.newaxis] + np.int64(1))
        return Batch(h.length, **{**h.columns, "points": points, **changed})

    def _opened(self, h: Batch, turn: int) -> Batch:
        """Reveal the prize of the turn unless chance draws it; settle a turn of forced cards."""
        if turn == self.rounds or (self.drawn and turn < self.cards - 1):
            return h
        prize = self.cards - 1 - turn if self.order == "descending" else turn
        last = self._only(h.left[:, -1]) if self.drawn else prize
        h = Batch(h.length, **{**h.columns, "prizes": put(h.prizes, turn, last)})
        return h if turn < self.cards - 1 else self._settled(h, turn, self._only(h.left[:, :-1]))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        turn, mover = self._turn(h)
        revealed = h.prizes if self.drawn else turn
        if self.information == "full":
            return revealed, h.past.reshape(h.size, self.decided * self.players)
        return revealed, h.past[:, :, mover], h.winners

    def payoffs(self, h: Batch) -> Vector:
        points: Vector = h.points.astype(np.float64)
        if self.returns == "total_points":
            return points
        if self.returns == "point_difference":
            difference: Vector = points - points.mean(axis=1, keepdims=True)
            return difference
        if self.ties == "split":
            points = points.round(9)  # equal sums of shares differ by rounding errors
        best = points == points.max(axis=1, keepdims=True)
        winners = np.count_nonzero(best, axis=1, keepdims=True)
        losers = self.players - winners
        shares: Vector = np.where(best, 1.0 / winners, -1.0 / np.maximum(losers, 1))
        return np.where(losers > 0, shares, 0.0)

    def action_name(self, player: int, action: int) -> str:
        return str(action + 1)

    def label(self, player: int, *observed: int) -> str:
        """Return the past turns, each with its prize, and the revealed prize."""
        count = self.rounds if self.drawn else 1
        prizes, past = observed[:count], observed[count:]
        if not self.drawn:
            ascending = range(prizes[0] + 1)
            last = self.cards - 1
            prizes = tuple(last - k if self.order == "descending" else k for k in ascending)
        turns = [f"{prize + 1}:" for prize in prizes if prize >= 0]
        for turn in range(len(turns) - 1):
            if self.information == "full":
                bids = past[turn * self.players : (turn + 1) * self.players]
                turns[turn] += "/".join(str(bid + 1) for bid in bids)
            else:
                bid, winner = past[turn], past[turn + self.decided]
                turns[turn] += f"{bid + 1}=" if winner == self.players else f"{bid + 1}>{winner}"
        return " ".join(turns)


goofspiel = tree_factory(Goofspiel)
"""Build the tree of ``Goofspiel``, whose arguments it takes."""


@frozen(repr=False)
class OshiZumo(NamedRules, name="oshi_zumo"):
    """Oshi-Zumo, in which two players bid to push a wrestler.

    The wrestler starts in the middle of a row of ``2 * size + 1`` cells, between the players. In
    each round both players bid coins and lose them. The higher bid pushes the wrestler one cell
    towards the other player; after equal bids it stays. A player with fewer coins than the minimum
    bid bids all of them.

    The game ends when the wrestler leaves the row, when no coins are left, or after ``horizon``
    rounds. The player on whose side the wrestler is then pays 1 to the other. In the middle, both
    earn 0.

    Bids are simultaneous: in the tree player 0 bids first, and player 1 does not observe this bid
    before its own. The label of an information set consists of the player and past bids. At
    ``1:2-1,0-3`` player 1 bids for the third time; the first bids were 2 and 1, the second 0 and 3.

    Parameters
    ----------
    coins
        Number of coins of each player at the start, from 1 to 1,000.
    size
        Number of cells on each side of the middle, at least 0.
    minimum_bid
        Smallest bid, from 0 to ``coins``.
    horizon
        Largest number of rounds, from 1 to 1,000, or None for no limit. Required if
        ``minimum_bid`` is 0.
    alesia
        Whether the game is a draw unless the wrestler leaves the row, as in the variant Alesia.

    Examples
    --------
    >>> from regretkit.games import oshi_zumo
    >>> oshi_zumo().tree
    <GameTree: 738 histories, 230 terminals, 214 + 214 information sets>
    >>> oshi_zumo(coins=2).tree.labels[1][:]
    ('1:', '1:1-1', '1:1-2', '1:2-1')
    >>> oshi_zumo(coins=3, minimum_bid=0, horizon=2).tree.actions[0][0]
    ('0', '1', '2', '3')

    References
    ----------
    Buro (2003), "Solving the Oshi-Zumo game", Advances in Computer Games. Rules as in
    OpenSpiel's ``oshi_zumo``.
    """

    coins: int = whole(5, 1, 1_000)
    size: int = whole(1, 0)
    minimum_bid: int = whole(1, 0)
    horizon: int | None = whole(None, 1, 1_000)
    alesia: bool = truth(False)

    def __attrs_post_init__(self) -> None:
        if self.minimum_bid > self.coins:
            raise ValueError(f"minimum_bid must be at most {self.coins}, got {self.minimum_bid}")
        if self.horizon is None and self.minimum_bid == 0:
            raise ValueError(
                "horizon must be a whole number if minimum_bid is 0, as the game might not end; "
                "pass a number of rounds, or minimum_bid=1"
            )

    @property
    def rounds(self) -> int:
        """Largest number of rounds: a player with coins spends at least the minimum bid in each."""
        spent = self.horizon if self.minimum_bid == 0 else -(-self.coins // self.minimum_bid)
        longest = spent or 1
        return longest if self.horizon is None else min(longest, self.horizon)

    def start(self) -> Batch:
        zero = np.zeros(1, dtype=np.int64)
        bids = np.full((1, 2 * self.rounds), -1, dtype=np.min_scalar_type(-self.coins - 1))
        return Batch(coins=np.full((1, 2), self.coins), position=zero, hidden=zero, bids=bids)

    def player(self, h: Batch) -> Indices | int:
        if h.length % 2 or h.length == 2 * self.rounds:
            return 1 if h.length % 2 else TERMINAL
        pushed = np.absolute(h.position) > self.size
        spent = (h.coins == 0).all(axis=1)
        return np.where(pushed | spent, TERMINAL, 0)

    def legal(self, h: Batch) -> Mask:
        """Return the affordable bids from the minimum bid; all coins if they are fewer."""
        coins, bids = h.coins[:, h.length % 2, np.newaxis], np.arange(self.coins + 1)
        legal: Mask = (bids <= coins) & (bids >= np.minimum(self.minimum_bid, coins))
        return legal

    def child(self, h: Batch, action: Indices) -> Batch:
        if h.length % 2 == 0:
            return h.then(hidden=action)
        return h.then(
            coins=h.coins - np.stack([h.hidden, action], axis=1),
            position=h.position + (h.hidden > action) - (h.hidden < action),
            bids=put(put(h.bids, h.length - 1, h.hidden), h.length, action),
        )

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return (h.bids,)

    def payoffs(self, h: Batch) -> Vector:
        won = np.where(h.position > 0, 1.0, 0.0) - np.where(h.position < 0, 1.0, 0.0)
        if self.alesia:
            won = np.where(np.absolute(h.position) > self.size, won, 0.0)
        return np.stack([won, 0.0 - won], axis=1)

    def label(self, player: int, *observed: int) -> str:
        pairs = zip(observed[::2], observed[1::2], strict=True)
        return f"{player}:{','.join(f'{first}-{second}' for first, second in pairs if first >= 0)}"


oshi_zumo = tree_factory(OshiZumo)
"""Build the tree of ``OshiZumo``, whose arguments it takes."""
