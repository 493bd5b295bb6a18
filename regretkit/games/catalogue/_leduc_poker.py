"""Leduc poker: one card each, one card for all, two rounds of betting."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import quote, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register
from regretkit.games.catalogue._deck import RANKS
from regretkit.games.tree._history import CHANCE

SUITS = "shdc"
ANTE = 1
RAISES = (2, 4)
"""What a raise puts on top, in each round."""
MOST_RAISES = 2
"""How often a round may be raised."""


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
    one card is dealt face up, then a second round. Each round begins with the lowest-numbered
    player that has not folded. A player calls (``c``), which matches the highest stake; or raises
    (``r``), by 2 in the first round and by 4 in the second, at most two raises a round; or folds
    (``f``), when there is a raise to be paid. A round ends when every player has answered the last
    raise, or has called if there was none. A pair with the open card wins, else the highest card;
    ties split the pot. Suits do not affect the ranking.

    An information set is named by the player's card and the first round, and later also by the
    open card and the second round. At ``Js:crc/Qh:c`` player 1 holds the jack of spades; the
    first round was call, raise, call, the queen of hearts lies open, and player 0 called again.

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
        Whether to deal ranks, each as likely as its cards. That leaves the game's value as it is,
        with fewer information sets.
    memory_limit
        Bytes that building may take, by default all that are available.

    Raises
    ------
    TypeError
        When a number is not whole, or ``merge_suits`` not True or False.
    ValueError
        When an argument is out of its range, or there are not enough cards.
    MemoryError
        When there are more histories than memory has room for.

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
    """Return the empty history of Leduc poker."""
    players = whole_number(players, "players", least=2)
    ranks = whole_number(players + 1 if ranks is None else ranks, "ranks", least=1, most=len(RANKS))
    suits = whole_number(suits, "suits", least=1, most=len(SUITS))
    if not isinstance(merge_suits, bool):
        raise TypeError(f"merge_suits must be True or False, got {quote(merge_suits)}")
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
    """What was dealt and done, and where the betting stands."""

    deck: tuple[str, ...]
    paid: tuple[int, ...]
    """What each player has put in."""
    folded: tuple[bool, ...]
    to_act: int
    """How many players have yet to answer in this round."""
    mover: int = 0
    """Whose turn it is."""
    raises: int = 0
    """How often this round was raised."""
    cards: tuple[str, ...] = ()
    """The cards dealt so far: the players' own, then the open one."""
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
        def acting(left: int, to_act: int, raises: int, second: bool) -> int:
            here = dealt[players + second]
            if left == 1 or (second and not to_act):
                return here
            if not to_act:
                return here + acting(left, left, 0, True)
            following = acting(left, to_act - 1, raises, second)
            if raises:
                following += acting(left - 1, to_act - 1, raises, second)
            if raises < MOST_RAISES:
                following += acting(left, left - 1, raises + 1, second)
            return here + following

        return sum(dealt[:players]) + acting(players, players, 0, False)

    def is_terminal(self) -> bool:
        """Return whether one player is left, or the second round is over."""
        return self.folded.count(False) == 1 or (self._open and not self.to_act)

    def player(self) -> int:
        """Return whose turn it is: chance deals between the rounds."""
        if len(self.cards) < len(self.paid) or not self.to_act:
            return CHANCE
        return self.mover

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        """Return the cards that are left, each once, as likely as there are many of them."""
        left = Counter(self.deck)
        left.subtract(self.cards)
        total = len(self.deck) - len(self.cards)
        return [(card, count / total) for card, count in left.items() if count]

    def actions(self) -> Sequence[str]:
        """Return to fold, to call and to raise, as far as the rules allow."""
        fold = ("f",) if self.paid[self.mover] < max(self.paid) else ()
        return (*fold, "c", "r") if self.raises < MOST_RAISES else (*fold, "c")

    def child(self, action: str) -> "LeducHistory":
        """Return the history after a card or an action."""
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
        """Return the player's card, the open card if it is dealt, and all actions so far."""
        label = f"{self.cards[self.mover]}:{self.first}"
        return f"{label}/{self.cards[-1]}:{self.second}" if self._open else label

    def payoffs(self) -> Sequence[float]:
        """Return what each player wins or loses."""
        strength = [
            -1 if folded else self._strength(player) for player, folded in enumerate(self.folded)
        ]
        winners = strength.count(max(strength))
        share = sum(self.paid) / winners
        return [
            (share if own == max(strength) else 0.0) - paid
            for own, paid in zip(strength, self.paid, strict=True)
        ]

    @property
    def _open(self) -> bool:
        """Whether the open card was dealt."""
        return len(self.cards) > len(self.paid)

    def _act(self, action: str) -> "LeducHistory":
        """Return the history in which the player whose turn it is has folded, called or raised."""
        paid, folded = list(self.paid), list(self.folded)
        to_act, raises = self.to_act - 1, self.raises
        if action == "f":
            folded[self.mover] = True
        else:
            paid[self.mover] = max(paid)
        if action == "r":
            paid[self.mover] += RAISES[self._open]
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
            first=self.first if self._open else self.first + action,
            second=self.second + action if self._open else self.second,
        )

    def _strength(self, player: int) -> int:
        """Return a number that is larger for a better hand; it matters if two are left."""
        rank = RANKS.index(self.cards[player][0])
        pair = self._open and self.cards[player][0] == self.cards[-1][0]
        return rank + len(RANKS) if pair else rank


def _deals(copies: Iterable[int], cards: int) -> list[int]:
    """Return how many deals of each length up to ``cards`` differ, given the copies of a card."""
    deals = [1] + [0] * cards
    for count in copies:
        deals = [
            sum(
                math.comb(length, own) * deals[length - own]
                for own in range(min(count, length) + 1)
            )
            for length in range(cards + 1)
        ]
    return deals
