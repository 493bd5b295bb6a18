"""Kuhn poker and Leduc poker."""

import numpy as np
from attrs import frozen

from regretkit._util._typing import Indices, Vector
from regretkit.games.catalogue._rules import NamedRules, digits, rows, tree_factory, truth, whole
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask

RANKS = "A23456789TJQK"
"""Ranks of cards, the lowest first. A small deck has the highest ranks."""
SUITS = "shdc"
_LONGEST_ROUND = 30
"""Largest number of actions in a round of Leduc poker, encoded in two bits each."""


@frozen(repr=False)
class KuhnPoker(NamedRules, name="kuhn_poker"):
    """Kuhn poker, the smallest poker in which bluffing pays.

    Each player antes 1 and receives one card, player 0 first. Then the players act in turn. Before
    the first bet, a player passes (``p``) or bets 1 more (``b``). After it, each other player folds
    (``p``) or calls (``b``) once. The highest card among the players who bet or called wins the
    pot, or among all players if nobody bet.

    The label of an information set consists of the player's card and the past actions. At ``Kpb``
    player 0 holds the king, has passed and faces a bet.

    Parameters
    ----------
    players
        Number of players, from 2 to 13.
    deck
        Number of cards, from ``players`` to 13, by default ``players + 1``. The cards are the
        highest of A 2 3 4 5 6 7 8 9 T J Q K, with a low ace.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> game.tree
    <GameTree: 58 histories, 30 terminals, 6 + 6 information sets>
    >>> game.tree.labels[0][:]
    ('J', 'Q', 'K', 'Jpb', 'Qpb', 'Kpb')

    References
    ----------
    Kuhn (1950), "A simplified two-person poker", Contributions to the Theory of Games 1. With
    more players: Lanctot (2014), "Further developments of extensive-form replicator dynamics
    using the sequence-form representation", AAMAS. Rules as in OpenSpiel's ``kuhn_poker``.
    """

    players: int = whole(2, 2, len(RANKS))
    deck: int | None = whole(None, 2, len(RANKS))

    def __attrs_post_init__(self) -> None:
        if self.deck is not None and self.deck < self.players:
            raise ValueError(f"deck must be at least players, {self.players}, got {self.deck}")
        if self.cards > len(RANKS):
            raise ValueError(f"players must be at most {len(RANKS) - 1}, or deck={len(RANKS)}")
        if self.deck == self.players + 1:
            object.__setattr__(self, "deck", None)

    @property
    def cards(self) -> int:
        """Number of cards in the deck."""
        return self.players + 1 if self.deck is None else self.deck

    def start(self) -> Batch:
        one = np.ones(1, dtype=np.int64)
        # bets: past actions as binary digits after a leading 1; opened: turn of the first bet
        return Batch(cards=np.full((1, self.players), -1), bets=one, opened=-one)

    def player(self, h: Batch) -> Indices | int:
        turn, players = h.length - self.players, self.players
        if turn < 0 or turn == 2 * players - 1:
            return CHANCE if turn < 0 else TERMINAL
        # The game ends players - 1 turns after the first bet, or after all have passed.
        return np.where(turn == players + np.maximum(h.opened, 0), TERMINAL, turn % players)

    def legal(self, h: Batch) -> Mask:
        if h.length >= self.players:
            return np.ones(2, dtype=np.bool_)
        dealt = h.cards[:, :, np.newaxis] == np.arange(self.cards)
        undealt: Mask = np.logical_not(dealt.any(axis=1))
        return undealt

    def child(self, h: Batch, action: Indices) -> Batch:
        turn = h.length - self.players
        if turn < 0:
            cards = h.cards.copy()
            cards[:, h.length] = action
            return h.then(cards=cards)
        opens = (h.opened < 0) & (action > 0)
        return h.then(bets=2 * h.bets + action, opened=np.where(opens, turn, h.opened))

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return h.cards[:, (h.length - self.players) % self.players], h.bets

    def payoffs(self, h: Batch) -> Vector:
        turns, players = h.length - self.players, self.players
        bet = [h.bets >> (turns - 1 - turn) & 1 for turn in range(turns)]
        bets = np.stack([sum(bet[i::players], 0 * h.bets) for i in range(players)], axis=1) > 0
        shown = bets | ~bets.any(axis=1, keepdims=True)
        rank, paid = np.where(shown, h.cards, -1), np.where(bets, 2.0, 1.0)
        wins = rank == rank.max(axis=1, keepdims=True)
        payoffs: Vector = wins * paid.sum(axis=1, keepdims=True) - paid
        return payoffs

    def action_name(self, player: int, action: int) -> str:
        return RANKS[-self.cards :][action] if player == CHANCE else "pb"[action]

    def label(self, player: int, *observed: int) -> str:
        card, bets = observed
        return RANKS[-self.cards :][card] + "".join("pb"[bet] for bet in digits(bets, 2))


kuhn_poker = tree_factory(KuhnPoker)
"""Build the tree of ``KuhnPoker``, whose arguments it takes."""


@frozen(repr=False)
class LeducPoker(NamedRules, name="leduc_poker"):
    """Leduc poker, a small poker with one public card.

    Each player antes 1 and receives one card, player 0 first. After a round of betting follow one
    public card and a second round. The lowest-numbered player that has not folded begins a round.
    Players act in turn:

    - ``c``, call: match the highest stake
    - ``r``, raise: 2 more than the highest stake in the first round, 4 in the second
    - ``f``, fold: possible after a raise

    A round ends when all others have responded to the last raise, or when all have called. A pair
    with the public card wins, else the highest card. Ties split the pot. Suits do not matter.

    The label of an information set consists of the player's card and the first round, then the
    public card and the second round. At ``Js:crc/Qh:c`` player 1 holds the jack of spades, the
    first round was call, raise, call, the public card is the queen of hearts, and player 0 called.

    Parameters
    ----------
    players
        Number of players, at least 2, fewer than cards.
    ranks
        Number of ranks, at most 13, by default ``players + 1``. They are the highest of
        A 2 3 4 5 6 7 8 9 T J Q K, with a low ace.
    suits
        Number of suits, from 1 to 4: spades, hearts, diamonds, clubs.
    merge_suits
        Whether players observe ranks only. The value of the game is the same, and there are fewer
        information sets.
    raises
        Largest number of raises in a round, at least 0. A round can have at most 30 actions. The
        literature on three players often uses 1.

    Examples
    --------
    >>> leduc_poker().tree
    <GameTree: 9457 histories, 5520 terminals, 468 + 468 information sets>
    >>> leduc_poker(merge_suits=True).tree
    <GameTree: 1939 histories, 1116 terminals, 144 + 144 information sets>

    References
    ----------
    Southey, Bowling, Larson, Piccione, Burch, Billings and Rayner (2005), "Bayes' bluff:
    opponent modelling in poker", UAI. Rules as in OpenSpiel's ``leduc_poker``.
    """

    players: int = whole(2, 2, len(RANKS) * len(SUITS) - 1)
    ranks: int | None = whole(None, 1, len(RANKS))
    suits: int = whole(2, 1, len(SUITS))
    merge_suits: bool = truth(False)
    raises: int = whole(2, 0, _LONGEST_ROUND - 2)

    def __attrs_post_init__(self) -> None:
        if self.ranks == self.players + 1:
            object.__setattr__(self, "ranks", None)
        longest = self.players + self.raises * (self.players - 1)
        if self.of_ranks > len(RANKS):
            raise ValueError(f"ranks must be at most {len(RANKS)}, got {self.of_ranks}")
        if self.of_ranks * self.suits <= self.players:
            raise ValueError(
                f"{self.players} players need at least {self.players + 1} cards, but "
                f"{self.of_ranks} ranks in {self.suits} suits are {self.of_ranks * self.suits}"
            )
        if longest > _LONGEST_ROUND:
            raise ValueError(
                f"rounds must have at most {_LONGEST_ROUND} actions, but players={self.players} "
                f"and raises={self.raises} make {longest}"
            )

    @property
    def of_ranks(self) -> int:
        """Number of ranks."""
        return self.players + 1 if self.ranks is None else self.ranks

    @property
    def copies(self) -> int:
        """Number of indistinguishable copies of each card."""
        return self.suits if self.merge_suits else 1

    @property
    def cards(self) -> int:
        """Number of distinct cards, sorted by rank from the lowest, then by suit."""
        return self.of_ranks * self.suits // self.copies

    def start(self) -> Batch:
        zero = np.zeros(1, dtype=np.int64)
        return Batch(
            cards=np.full((1, self.players + 1), -1, dtype=np.int16),  # the public card last
            paid=np.full((1, self.players), 1, dtype=np.int16),
            folded=np.zeros((1, self.players), dtype=np.bool_),
            left=zero + self.players,  # number of players still to act in this round
            mover=zero,
            raises=zero,
            bets=np.ones((1, 2), dtype=np.int64),  # actions of each round, in base 4 after a 1
        )

    def player(self, h: Batch) -> Indices | int:
        if h.length < self.players:
            return CHANCE
        unopposed = np.count_nonzero(~h.folded, axis=1) == 1
        following = np.where((h.cards[:, -1] >= 0) | unopposed, TERMINAL, CHANCE)
        return np.where((h.left == 0) | unopposed, following, h.mover)

    def legal(self, h: Batch) -> Mask:
        if h.length < self.players or not h.left[0]:
            remaining: Mask = self._remaining(h) > 0
            return remaining
        owes = h.paid[rows(h), h.mover] < h.paid.max(axis=1)
        return np.stack([owes, owes | True, h.raises < self.raises], axis=1)

    def _remaining(self, h: Batch) -> Indices:
        """Return the number of copies of each card left in the deck, ``(h.size, cards)``."""
        dealt = h.cards[:, :, np.newaxis] == np.arange(self.cards)
        left: Indices = self.copies - np.count_nonzero(dealt, axis=1)
        return left

    def chance(self, h: Batch, action: Indices) -> Vector:
        left = self._remaining(h)
        probability: Vector = left[rows(h), action] / left.sum(axis=1)
        return probability

    def child(self, h: Batch, action: Indices) -> Batch:
        cards = h.cards.copy()
        if h.length < self.players:
            cards[:, h.length] = action
            return h.then(cards=cards)
        i, deal, mover = rows(h), h.left == 0, h.mover
        second = (cards[:, -1] >= 0).astype(np.int64)
        paid, folded, bets = h.paid.copy(), h.folded.copy(), h.bets.copy()
        cards[:, -1] = np.where(deal, action, cards[:, -1])
        folds, raises = ~deal & (action == 0), ~deal & (action == 2)
        stake = paid.max(axis=1) + raises * np.where(second > 0, 4, 2)
        paid[i, mover] = np.where(deal | folds, paid[i, mover], stake)
        folded[i, mover] = folded[i, mover] | folds
        bets[i, second] = np.where(deal, bets[i, second], 4 * bets[i, second] + action)
        remaining = ~folded
        following = np.where(deal, 0, mover + 1)[:, np.newaxis] + np.arange(self.players)
        order = following % self.players
        first = np.argmax(np.take_along_axis(remaining, order, axis=1), axis=1)
        count = np.count_nonzero(remaining, axis=1)
        left = np.where(raises, count - 1, h.left - 1)
        return h.then(
            cards=cards,
            paid=paid,
            folded=folded,
            left=np.where(deal, count, left),
            mover=order[i, first],
            raises=np.where(deal, 0, h.raises + raises),
            bets=bets,
        )

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return h.cards[rows(h), h.mover], h.cards[:, -1], h.bets

    def payoffs(self, h: Batch) -> Vector:
        rank = h.cards * self.of_ranks // self.cards
        private, public = rank[:, :-1], rank[:, -1:]
        strength = np.where(h.folded, -1, private + (private == public) * self.of_ranks)
        wins = strength == strength.max(axis=1, keepdims=True)
        share = h.paid.sum(axis=1, keepdims=True) / np.count_nonzero(wins, axis=1, keepdims=True)
        payoffs: Vector = wins * share - h.paid
        return payoffs

    def _card(self, card: int) -> str:
        rank, suit = divmod(card, self.suits // self.copies)
        return RANKS[-self.of_ranks :][rank] + ("" if self.merge_suits else SUITS[suit])

    def action_name(self, player: int, action: int) -> str:
        return self._card(action) if player == CHANCE else "fcr"[action]

    def label(self, player: int, *observed: int) -> str:
        card, public, *rounds = observed
        first, second = ("".join("fcr"[bet] for bet in digits(bets, 4)) for bets in rounds)
        label = f"{self._card(card)}:{first}"
        return label if public < 0 else f"{label}/{self._card(public)}:{second}"


leduc_poker = tree_factory(LeducPoker)
"""Build the tree of ``LeducPoker``, whose arguments it takes."""
