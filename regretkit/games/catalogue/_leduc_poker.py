"""Leduc poker: one private card each, one public card, two rounds of betting."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import must_be, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register
from regretkit.games.catalogue._kuhn_poker import RANKS
from regretkit.games.tree._history import CHANCE

SUITS = "shdc"
ANTE = 1
RAISES = (2, 4)
"""Size of a raise in each round."""
MOST_RAISES = 2
"""Number of raises that a round allows."""


@register
def leduc_poker(
    players: int = 2,
    ranks: int | None = None,
    suits: int = 2,
    merge_suits: bool = False,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Leduc poker, a small poker with one public card.

    Each player antes 1 and is dealt one card, player 0 first. There is a round of betting, then
    one public card and a second round. Each round begins with the lowest-numbered player that has
    not folded. A player calls (``c``), which matches the highest stake; or raises
    (``r``), by 2 in the first round and by 4 in the second, at most two raises a round; or folds
    (``f``), when there is a raise to be paid. A round ends when every player has answered the last
    raise, or has called if there was none. A pair with the public card wins, else the highest card;
    ties split the pot. Suits do not affect the ranking.

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
    root = leduc_history(players, ranks, suits, merge_suits)
    players, suits = len(root.paid), int(suits)
    MemoryBudget(memory_limit, walked=True).check_histories(root.histories, players)
    ranks = None if ranks in {None, players + 1} else len(root.deck) // suits
    name = call_text(
        leduc_poker, players=players, ranks=ranks, suits=suits, merge_suits=merge_suits
    )
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


def leduc_history(
    players: int = 2, ranks: int | None = None, suits: int = 2, merge_suits: bool = False
) -> "LeducHistory":
    players = whole_number(players, "players", least=2)
    ranks = whole_number(players + 1 if ranks is None else ranks, "ranks", least=1, most=len(RANKS))
    suits = whole_number(suits, "suits", least=1, most=len(SUITS))
    if not isinstance(merge_suits, bool):
        raise TypeError(must_be("merge_suits", "True or False", merge_suits))
    if ranks * suits <= players:
        raise ValueError(
            f"{ranks} ranks in {suits} suits are {ranks * suits} cards, but {players} players "
            f"need at least {players + 1}; pass more ranks or suits"
        )
    deck = [
        rank if merge_suits else rank + suit for rank in RANKS[-ranks:] for suit in SUITS[:suits]
    ]
    return LeducHistory(
        deck=tuple(deck), paid=(ANTE,) * players, folded=(False,) * players, to_act=players
    )


@final
@frozen
class LeducHistory:
    deck: tuple[str, ...]
    paid: tuple[int, ...]
    """What each player has put into the pot."""
    folded: tuple[bool, ...]
    to_act: int
    """Number of players that have yet to act in this round."""
    mover: int = 0
    """The player to act."""
    raises: int = 0
    """Number of raises in this round."""
    cards: tuple[str, ...] = ()
    """The cards dealt so far: the private ones, then the public one."""
    first: str = ""
    """The actions of the first round."""
    second: str = ""
    """Those of the second."""

    @property
    def histories(self) -> int:
        """Number of histories of the whole game."""
        players = len(self.paid)
        dealt = _deals(Counter(self.deck).values(), players + 1)

        @cache
        def acting(remaining: int, to_act: int, raises: int, second: bool) -> int:
            deals = dealt[players + second]
            if remaining == 1 or (second and not to_act):
                return deals
            if not to_act:
                return deals + acting(remaining, remaining, 0, True)
            following = acting(remaining, to_act - 1, raises, second)
            if raises:
                following += acting(remaining - 1, to_act - 1, raises, second)
            if raises < MOST_RAISES:
                following += acting(remaining, remaining - 1, raises + 1, second)
            return deals + following

        return sum(dealt[:players]) + acting(players, players, 0, False)

    def is_terminal(self) -> bool:
        return self.folded.count(False) == 1 or (self._public and not self.to_act)

    def player(self) -> int:
        if len(self.cards) < len(self.paid) or not self.to_act:
            return CHANCE
        return self.mover

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        """Return the distinct cards that are left; equal cards count as one outcome."""
        remaining = Counter(self.deck)
        remaining.subtract(self.cards)
        total = len(self.deck) - len(self.cards)
        return [(card, count / total) for card, count in remaining.items() if count]

    def actions(self) -> Sequence[str]:
        fold = ("f",) if self.paid[self.mover] < max(self.paid) else ()
        return (*fold, "c", "r") if self.raises < MOST_RAISES else (*fold, "c")

    def child(self, action: str) -> "LeducHistory":
        if len(self.cards) < len(self.paid):
            return evolve(self, cards=(*self.cards, action))
        if not self.to_act:
            return evolve(
                self,
                cards=(*self.cards, action),
                to_act=self.folded.count(False),
                mover=self.folded.index(False),
                raises=0,
            )
        return self._act(action)

    def information_set(self) -> str:
        label = f"{self.cards[self.mover]}:{self.first}"
        return f"{label}/{self.cards[-1]}:{self.second}" if self._public else label

    def payoffs(self) -> Sequence[float]:
        strength = [
            -1 if folded else self._strength(player) for player, folded in enumerate(self.folded)
        ]
        winners = strength.count(max(strength))
        share = sum(self.paid) / winners
        return [
            (share if drawn == max(strength) else 0.0) - paid
            for drawn, paid in zip(strength, self.paid, strict=True)
        ]

    @property
    def _public(self) -> bool:
        return len(self.cards) > len(self.paid)

    def _act(self, action: str) -> "LeducHistory":
        """Return the history after a fold, a call or a raise."""
        paid, folded = list(self.paid), list(self.folded)
        to_act, raises = self.to_act - 1, self.raises
        if action == "f":
            folded[self.mover] = True
        else:
            paid[self.mover] = max(paid)
        if action == "r":
            paid[self.mover] += RAISES[self._public]
            to_act, raises = folded.count(False) - 1, raises + 1
        players = len(paid)
        order = [(self.mover + step) % players for step in range(1, players + 1)]
        return LeducHistory(
            deck=self.deck,
            paid=tuple(paid),
            folded=tuple(folded),
            to_act=to_act,
            mover=next((player for player in order if not folded[player]), self.mover),
            raises=raises,
            cards=self.cards,
            first=self.first if self._public else self.first + action,
            second=self.second + action if self._public else self.second,
        )

    def _strength(self, player: int) -> int:
        """Return the strength of a hand, larger for a better one."""
        rank = RANKS.index(self.cards[player][0])
        pair = self._public and self.cards[player][0] == self.cards[-1][0]
        return rank + len(RANKS) if pair else rank


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
