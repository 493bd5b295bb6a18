"""The rules of Goofspiel over whole levels of histories."""

from typing import final

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit.games.tree._history import CHANCE, TERMINAL

COUNTED = 100
"""More players than this are counted as so many; no memory has room for either."""


@final
@frozen
class Rules:
    """What does not change during a game of Goofspiel; cards and prizes are numbered from 0."""

    cards: int
    order: str
    information: str
    players: int
    turns: int
    returns: str

    @property
    def drawn(self) -> bool:
        """Whether chance draws the prizes."""
        return self.order == "random"

    @property
    def decided(self) -> int:
        """How many turns there are in which anything can be chosen."""
        return self.turns - (self.turns == self.cards)

    @property
    def histories(self) -> int:
        total, width = 0, 1
        for left in range(self.cards, self.cards - self.decided, -1):
            for _ in range(self.drawn + min(self.players, COUNTED)):
                total, width = total + width, width * left
        return total + width

    @property
    def reports(self) -> int:
        """How many different things a player may be told about a turn."""
        hidden = self.information == "hidden"
        return self.cards * (self.players + 1) if hidden else self.cards**self.players

    def prize(self, turn: int) -> int:
        """Return the prize of a turn that is not drawn."""
        return self.cards - 1 - turn if self.order == "descending" else turn

    def report(self, bids: Indices, winner: Indices) -> Indices:
        """Return what each player is told about a turn, as a number below ``reports``."""
        if self.information == "hidden":
            return bids * (self.players + 1) + winner
        all_bids = np.ravel_multi_index(tuple(bids), (self.cards,) * self.players)
        return np.broadcast_to(all_bids, bids.shape)

    def told(self, report: int) -> str:
        """Return what a player was told about a turn, as people read it."""
        if self.information == "full":
            bids = np.unravel_index(report, (self.cards,) * self.players)
            return "/".join(str(bid + 1) for bid in bids)
        bid, winner = divmod(report, self.players + 1)
        return f"{bid + 1}=" if winner == self.players else f"{bid + 1}>{winner}"

    def start(self) -> "Goofspiel":
        # As few bytes as hold a set of cards: there are many of them.
        sets = np.min_scalar_type(-(2**self.cards))
        all_cards = np.full((self.players, 1), 2**self.cards - 1, dtype=sets)
        return Goofspiel(
            rules=self,
            turn=0,
            mover=0,
            hands=all_cards,
            bids=np.zeros((self.players, 1), dtype=np.int8),
            points=np.zeros((self.players, 1), dtype=np.int16),
            known=np.ones((self.players, 1), dtype=np.int64),
            left=all_cards[0],
            prize=np.zeros(1, dtype=np.int8),
        ).opened()


@final
@frozen(eq=False)
class Goofspiel:
    """What was drawn and bid; players before ``mover`` have bid in this turn already.

    Arrays have shape ``(histories,)``, or ``(players, histories)``. Sets of cards are numbers with
    a bit for each card, and what a player knows is a number with a digit for each thing it learned.
    """

    rules: Rules
    turn: int
    mover: int
    hands: Indices
    bids: NDArray[np.int8]
    points: NDArray[np.int16]
    known: Indices
    left: Indices
    """The prizes that were not yet drawn."""
    prize: NDArray[np.int8]
    """The one that is open."""

    def player(self) -> Indices:
        """Return who bids, or chance that draws a prize."""
        over = self.turn == self.rules.turns
        return np.full(self.prize.size, TERMINAL if over else self.mover)

    def actions(self, at: Indices) -> NDArray[np.bool_]:
        """Return the prizes that are left, or the cards in hand."""
        held = self.left[at] if self.mover == CHANCE else self.hands[self.mover, at]
        cards = np.arange(self.rules.cards, dtype=held.dtype)
        return (held[:, np.newaxis] >> cards & 1).astype(np.bool_)

    def child(self, at: Indices, action: Indices) -> "Goofspiel":
        """Return the histories after a prize or a bid; the last bid ends a turn."""
        hands, bids = self.hands[:, at], self.bids[:, at]
        known, left, prize = self.known[:, at], self.left[at], self.prize[at]
        if self.mover == CHANCE:
            known = known * self.rules.cards + action
            left ^= np.int64(1) << action
            prize = action.astype(np.int8)
        else:
            hands[self.mover] ^= np.int64(1) << action
            bids[self.mover] = action
        after = Goofspiel(
            rules=self.rules,
            turn=self.turn,
            mover=self.mover + 1,
            hands=hands,
            bids=bids,
            points=self.points[:, at],
            known=known,
            left=left,
            prize=prize,
        )
        return after.settled() if after.mover == self.rules.players else after

    def settled(self) -> "Goofspiel":
        """Return the same histories once the prize is paid out and the next one is open."""
        highest = self.bids == self.bids.max(axis=0)
        alone = np.count_nonzero(highest, axis=0) == 1
        winner = np.where(alone, highest.argmax(axis=0), self.rules.players)
        told = self.rules.report(self.bids.astype(np.int64), winner)
        return evolve(
            self,
            turn=self.turn + 1,
            mover=0,
            points=self.points + (highest & alone) * (self.prize + np.int16(1)),
            known=self.known * self.rules.reports + told,
        ).opened()

    def opened(self) -> "Goofspiel":
        """Return the same histories with the prize of the turn open, unless chance is to draw it.

        The last cards are forced, so that such a turn is over as well.
        """
        rules, forced = self.rules, self.turn == self.rules.cards - 1
        if self.turn == rules.turns:
            return self
        if rules.drawn and not forced:
            return evolve(self, mover=CHANCE)
        prize = (
            _only(self.left) if rules.drawn else np.full_like(self.prize, rules.prize(self.turn))
        )
        if not forced:
            return evolve(self, prize=prize)
        return evolve(self, prize=prize, bids=_only(self.hands)).settled()

    def probability(self, at: Indices, action: Indices) -> Vector:
        """Return that of any prize that is left."""
        return np.full(at.size, 1.0 / (self.rules.cards - self.turn))

    def information_set(self, at: Indices) -> Indices:
        """Return what the player knows."""
        known: Indices = self.known[self.mover, at]
        return known

    def payoffs(self, at: Indices) -> Vector:
        """Return what the points of each player are worth."""
        points: Vector = self.points[:, at].T.astype(np.float64)
        if self.rules.returns == "total_points":
            return points
        if self.rules.returns == "point_difference":
            mean: Vector = points.mean(axis=1, keepdims=True)
            return points - mean
        best = points == points.max(axis=1, keepdims=True)
        winners = np.count_nonzero(best, axis=1, keepdims=True)
        losers = self.rules.players - winners
        shares: Vector = np.where(best, 1.0 / winners, -1.0 / np.maximum(losers, 1))
        return np.where(losers > 0, shares, 0.0)

    def action_name(self, player: int, action: int) -> str:
        """Return the value of a card or a prize."""
        return str(action + 1)

    def label(self, player: int, information_set: int) -> str:
        """Return the turns, each with its prize, and the prize that is open."""
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
        told = [*map(rules.told, reports), ""]
        return " ".join(f"{prize + 1}:{text}" for prize, text in zip(prizes, told, strict=True))


def _only(cards: Indices) -> NDArray[np.int8]:
    """Return the card of each set of one."""
    exponents: NDArray[np.int32] = np.frexp(cards.astype(np.float64))[1]
    return (exponents - 1).astype(np.int8)
