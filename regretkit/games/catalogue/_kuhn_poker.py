"""Kuhn poker: one private card each and one bet."""

from collections.abc import Sequence
from typing import final

from attrs import frozen

from regretkit._util._validate import whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.catalogue._counting import level_widths
from regretkit.games.tree._history import CHANCE

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
    players = whole_number(players, "players", least=2, most=len(RANKS))
    cards = players + 1 if deck is None else deck
    return KuhnHistory(
        players, RANKS[-whole_number(cards, "deck", least=players, most=len(RANKS)) :]
    )


@final
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
