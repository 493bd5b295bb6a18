"""Kuhn poker and Leduc poker."""

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from attrs import asdict, evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget, level_widths
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE, TERMINAL

RANKS = "A23456789TJQK"
"""Ranks of cards, the lowest first; a small deck has the highest of them."""


@register
def kuhn_poker(
    players: int = 2, deck: int | None = None, *, memory_limit: float | None = None
) -> ExtensiveFormGame:
    """Return Kuhn poker, the smallest poker in which bluffing pays.

    Each player antes 1 and is dealt one card, player 0 first. Then they act in turn. Before the
    first bet, a player passes (``p``) or bets 1 more (``b``); after it, each other player folds
    (``p``) or calls (``b``) once. The pot goes to the highest card among the players
    that bet, or among all without a bet.

    An information set is named by the player's card and the past actions: at ``Kpb`` player 0
    holds the king, has passed and faces a bet.

    Parameters
    ----------
    players
        Number of players, from 2 to 13.
    deck
        Number of cards, at least one for each player and at most 13, by default one more than
        there are players. The cards are the highest of A 2 3 4 5 6 7 8 9 T J Q K, the ace
        being the lowest.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> game = kuhn_poker()
    >>> game.tree
    <GameTree: 58 histories, 30 terminals, 6 + 6 information sets>
    >>> game.tree.labels[0]
    ('J', 'Q', 'K', 'Jpb', 'Qpb', 'Kpb')

    References
    ----------
    Kuhn (1950), "A simplified two-person poker", Contributions to the Theory of Games 1. With
    more players: Lanctot (2014), "Further developments of extensive-form replicator dynamics
    using the sequence-form representation", AAMAS. Rules as in OpenSpiel's ``kuhn_poker``.
    """
    root = kuhn_history(players, deck)
    histories = sum(level_widths(root))
    MemoryBudget(memory_limit, walked=True).check_histories(histories, root.players)
    cards = None if len(root.deck) == root.players + 1 else len(root.deck)
    name = call_text(kuhn_poker, players=root.players, deck=cards)
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


@rules_of("kuhn_poker")
def kuhn_history(players: int = 2, deck: int | None = None) -> "KuhnHistory":
    players = whole_number(players, "players", minimum=2, maximum=len(RANKS))
    cards = players + 1 if deck is None else deck
    return KuhnHistory(
        players, RANKS[-whole_number(cards, "deck", minimum=players, maximum=len(RANKS)) :]
    )


@frozen
class KuhnHistory:
    players: int
    deck: str
    cards: str = ""
    """The cards dealt so far, player 0's first."""
    bets: str = ""
    """The players' actions so far."""

    def shape(self) -> tuple[int, int, int]:
        return len(self.cards), len(self.bets), self.bets.find("b")

    def is_terminal(self) -> bool:
        opened = self.bets.find("b")
        return len(self.bets) == self.players + max(opened, 0)

    def player(self) -> int:
        if len(self.cards) < self.players:
            return CHANCE
        return len(self.bets) % self.players

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        remaining = [card for card in self.deck if card not in self.cards]
        return [(card, 1.0 / len(remaining)) for card in remaining]

    def actions(self) -> Sequence[str]:
        return ("p", "b")

    def child(self, action: str) -> "KuhnHistory":
        if len(self.cards) < self.players:
            return KuhnHistory(self.players, self.deck, self.cards + action)
        return KuhnHistory(self.players, self.deck, self.cards, self.bets + action)

    def information_set(self) -> str:
        return self.cards[self.player()] + self.bets

    def payoffs(self) -> Sequence[float]:
        bettors = {turn % self.players for turn, bet in enumerate(self.bets) if bet == "b"}
        # The best card of the players that bet, or of all without a bet
        winner = max(bettors or range(self.players), key=lambda i: self.deck.index(self.cards[i]))
        paid = [2.0 if player in bettors else 1.0 for player in range(self.players)]
        return [sum(paid) - stake if i == winner else -stake for i, stake in enumerate(paid)]


SUITS = "shdc"
ANTE = 1
RAISES = (2, 4)
"""Size of a raise in each round."""
ACTIONS = "fcr"
_BITS = 62
"""Limit on the bits of a number that encodes cards and both rounds."""


@register
def leduc_poker(
    players: int = 2,
    ranks: int | None = None,
    suits: int = 2,
    merge_suits: bool = False,
    raises: int = 2,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Leduc poker, a small poker with one public card.

    Each player antes 1 and is dealt one card, player 0 first. There is a round of betting, then
    one public card and a second round. Each round begins with the lowest-numbered player that has
    not folded. A player calls (``c``), which matches the highest stake; or raises
    (``r``), by 2 in the first round and by 4 in the second, at most ``raises`` times a round; or
    folds (``f``), when there is a raise to be paid. A round ends when every player has answered the
    last raise, or has called if there was none. A pair with the public card wins, else the highest
    card; ties split the pot. Suits do not affect the ranking.

    An information set is named by the player's card and the first round, then by the public card
    and the second round. At ``Js:crc/Qh:c`` player 1 holds the jack of spades; the first round
    was call, raise, call, the public card is the queen of hearts, and player 0 called again.

    Parameters
    ----------
    players
        Number of players, at least 2.
    ranks
        Number of ranks, at most 13, by default one more than there are players; the highest of
        A 2 3 4 5 6 7 8 9 T J Q K, the ace being the lowest.
    suits
        Number of suits, from 1 to 4: spades, hearts, diamonds, clubs. The deck needs more cards
        than there are players.
    merge_suits
        Whether to deal ranks, each as likely as its cards together. The value of the game is the
        same, with fewer information sets.
    raises
        Number of raises that a round allows, from 0 to 31; the literature on three players often
        has 1.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

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
    rules = _rules(players, ranks, suits, merge_suits, raises)
    MemoryBudget(memory_limit).check_histories(rules.histories, rules.players)
    ranks = None if rules.ranks == rules.players + 1 else rules.ranks
    name = call_text(leduc_poker, **asdict(rules) | {"ranks": ranks})
    return ExtensiveFormGame.from_batch(rules.start(), name=name, memory_limit=memory_limit)


@rules_of("leduc_poker")
def leduc_batch(
    players: int = 2,
    ranks: int | None = None,
    suits: int = 2,
    merge_suits: bool = False,
    raises: int = 2,
) -> "Leduc":
    """Return the batch of the empty history of ``leduc_poker``, of any size.

    ``as_history`` plays it without building its tree.

    Parameters
    ----------
    players, ranks, suits, merge_suits, raises
        As in ``leduc_poker``.

    Examples
    --------
    >>> from regretkit.games import as_history
    >>> history = as_history(leduc_batch())
    >>> for move in ["Js", "Qh", "c", "r", "c", "Kh", "c"]:
    ...     history = history.child(move)
    >>> history.information_set()
    'Qh:crc/Kh:c'
    """
    return _rules(players, ranks, suits, merge_suits, raises).start()


def _rules(players: int, ranks: int | None, suits: int, merge_suits: bool, raises: int) -> "_Rules":
    players = whole_number(players, "players", minimum=2)
    ranks = whole_number(
        players + 1 if ranks is None else ranks, "ranks", minimum=1, maximum=len(RANKS)
    )
    suits = whole_number(suits, "suits", minimum=1, maximum=len(SUITS))
    if not isinstance(merge_suits, bool):
        raise TypeError(must_be("merge_suits", "True or False", merge_suits))
    if ranks * suits <= players:
        raise ValueError(
            f"{ranks} ranks in {suits} suits are {ranks * suits} cards, but {players} players "
            f"need at least {players + 1}; pass more ranks or suits"
        )
    raises = whole_number(raises, "raises", minimum=0, maximum=_BITS // 2)
    return _Rules(players, ranks, suits, merge_suits, raises)


@frozen
class _Rules:
    """The parameters of Leduc poker; cards are numbered from the lowest, suits within ranks."""

    players: int
    ranks: int
    suits: int
    merge_suits: bool
    raises: int

    @property
    def copies(self) -> int:
        """Number of equal cards."""
        return self.suits if self.merge_suits else 1

    @property
    def cards(self) -> int:
        """Number of distinct cards."""
        return self.ranks * self.suits // self.copies

    @property
    def card_bits(self) -> int:
        return self.cards.bit_length()

    @property
    def round_bits(self) -> int:
        """Number of bits for the actions of a round, two for each."""
        return 2 * (self.players + self.raises * (self.players - 1))

    @property
    def histories(self) -> int:
        """Number of histories of the whole game."""
        dealt = _deals([self.copies] * self.cards, self.players + 1)

        @cache
        def acting(remaining: int, to_act: int, raises: int, second: bool) -> int:
            deals = dealt[self.players + second]
            if remaining == 1 or (second and not to_act):
                return deals
            if not to_act:
                return deals + acting(remaining, remaining, 0, True)
            following = acting(remaining, to_act - 1, raises, second)
            if raises:
                following += acting(remaining - 1, to_act - 1, raises, second)
            if raises < self.raises:
                following += acting(remaining, remaining - 1, raises + 1, second)
            return deals + following

        return sum(dealt[: self.players]) + acting(self.players, self.players, 0, False)

    def start(self) -> "Leduc":
        if 2 * (self.round_bits + self.card_bits) > _BITS:
            raise ValueError(
                f"players={self.players} and raises={self.raises} make rounds of up to "
                f"{self.round_bits // 2} actions, which do not fit into {_BITS} bits together "
                "with the cards; take fewer players or raises"
            )
        zero = np.zeros(1, dtype=np.int64)
        paid = np.full((1, self.players), ANTE)
        cards = np.full((1, self.players + 1), -1)
        to_act = zero + self.players
        return Leduc(self, 0, paid, paid < 0, to_act, zero, zero, cards, np.zeros((1, 2), np.int64))

    def card_name(self, card: int) -> str:
        rank, suit = divmod(card, self.suits // self.copies)
        return RANKS[-self.ranks :][rank] + ("" if self.merge_suits else SUITS[suit])


@frozen(eq=False)
class Leduc:
    """A batch of histories of ``length`` moves."""

    rules: _Rules
    length: int
    paid: Indices
    """What each player has put into the pot, shape ``(histories, players)``."""
    folded: NDArray[np.bool_]
    to_act: Indices
    """Number of players that have yet to act in this round."""
    mover: Indices
    """The player to act."""
    raises: Indices
    """Number of raises in this round."""
    cards: Indices
    """The cards dealt, -1 for none: the private ones, then the public one."""
    rounds: Indices
    """The actions of both rounds, two bits each, shape ``(histories, 2)``."""

    @property
    def _public(self) -> NDArray[np.bool_]:
        public: NDArray[np.bool_] = self.cards[:, -1] >= 0
        return public

    def player(self) -> Indices:
        if self.length < self.rules.players:
            return np.full(len(self.cards), CHANCE)
        unopposed = np.count_nonzero(~self.folded, axis=1) == 1
        ended = self.to_act == 0
        following = np.where(self._public | unopposed, TERMINAL, CHANCE)
        return np.where(ended | unopposed, following, self.mover)

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        """Return the cards that are left, or which of fold, call and raise are legal."""
        if self.length < self.rules.players or not self.to_act[rows[0]]:
            return self._left(rows) > 0
        possible = np.ones((rows.size, len(ACTIONS)), dtype=np.bool_)
        paid = self.paid[rows]
        possible[:, 0] = paid[np.arange(rows.size), self.mover[rows]] < paid.max(axis=1)
        possible[:, 2] = self.raises[rows] < self.rules.raises
        return possible

    def child(self, rows: Indices, action: Indices) -> "Leduc":
        columns = "paid", "folded", "to_act", "mover", "raises", "cards", "rounds"
        copies = {name: getattr(self, name)[rows] for name in columns}
        batch = evolve(self, length=self.length + 1, **copies)
        if self.length < self.rules.players:
            batch.cards[:, self.length] = action
            return batch
        dealt = batch.to_act == 0
        batch._deal(np.flatnonzero(dealt), action[dealt])
        batch._act(np.flatnonzero(~dealt), action[~dealt])
        return batch

    def _deal(self, rows: Indices, card: Indices) -> None:
        """Deal the public card, in place."""
        self.cards[rows, -1] = card
        remaining = ~self.folded[rows]
        self.to_act[rows] = np.count_nonzero(remaining, axis=1)
        self.mover[rows] = np.argmax(remaining, axis=1)
        self.raises[rows] = 0

    def _act(self, rows: Indices, action: Indices) -> None:
        """Fold, call or raise, in place."""
        mover, second = self.mover[rows], self._public[rows].astype(np.int64)
        folds, raises = action == 0, action == 2
        self.folded[rows, mover] = folds
        stake = self.paid[rows].max(axis=1) + raises * np.where(second, RAISES[1], RAISES[0])
        self.paid[rows, mover] = np.where(folds, self.paid[rows, mover], stake)
        remaining = ~self.folded[rows]
        opponents = np.count_nonzero(remaining, axis=1) - 1
        self.to_act[rows] = np.where(raises, opponents, self.to_act[rows] - 1)
        self.raises[rows] += raises
        self.rounds[rows, second] = 4 * self.rounds[rows, second] + action + 1
        players = self.rules.players
        order = (mover[:, np.newaxis] + np.arange(1, players + 1)) % players
        following = np.argmax(np.take_along_axis(remaining, order, axis=1), axis=1)
        self.mover[rows] = order[np.arange(rows.size), following]

    def _left(self, rows: Indices) -> Indices:
        """Return how many of each card are left in the deck."""
        dealt = self.cards[rows][:, :, np.newaxis] == np.arange(self.rules.cards)
        left: Indices = self.rules.copies - np.count_nonzero(dealt, axis=1)
        return left

    def probability(self, rows: Indices, action: Indices) -> Vector:
        left = self._left(rows)
        probability: Vector = left[np.arange(rows.size), action] / left.sum(axis=1)
        return probability

    def information_set(self, rows: Indices) -> Indices:
        """Return the player's card, the public card, and both rounds as one number."""
        bits = self.rules.round_bits
        card = self.cards[rows, self.mover[rows]] << self.rules.card_bits
        cards = card | (self.cards[rows, -1] + 1)
        key: Indices = (cards << 2 * bits) | (self.rounds[rows, 0] << bits) | self.rounds[rows, 1]
        return key

    def payoffs(self, rows: Indices) -> Vector:
        folded, paid = self.folded[rows], self.paid[rows]
        private, public = self.cards[rows, :-1], self.cards[rows, -1:]
        rank, public_rank = (
            cards * self.rules.ranks // self.rules.cards for cards in (private, public)
        )
        pair = rank == public_rank
        strength = np.where(folded, -1, rank + pair * self.rules.ranks)
        wins = strength == strength.max(axis=1, keepdims=True)
        share = paid.sum(axis=1, keepdims=True) / np.count_nonzero(wins, axis=1, keepdims=True)
        payoffs: Vector = wins * share - paid
        return payoffs

    def action_name(self, player: int, action: int) -> str:
        return self.rules.card_name(action) if player == CHANCE else ACTIONS[action]

    def label(self, player: int, information_set: int) -> str:
        bits, card_bits = self.rules.round_bits, self.rules.card_bits
        cards, rounds = divmod(information_set, 1 << 2 * bits)
        card, public = divmod(cards, 1 << card_bits)
        first, second = (_played(number) for number in divmod(rounds, 1 << bits))
        label = f"{self.rules.card_name(card)}:{first}"
        return f"{label}/{self.rules.card_name(public - 1)}:{second}" if public else label


def _played(number: int) -> str:
    """Return the actions of a round."""
    return _played(number >> 2) + ACTIONS[(number & 3) - 1] if number else ""


def _deals(copies: Iterable[int], cards: int) -> list[int]:
    """Return the number of distinct deals of each length, given the copies of each card."""
    deals = [1] + [0] * cards
    for count in copies:
        deals = [
            sum(
                math.comb(length, drawn) * deals[length - drawn]
                for drawn in range(min(count, length) + 1)
            )
            for length in range(cards + 1)
        ]
    return deals
