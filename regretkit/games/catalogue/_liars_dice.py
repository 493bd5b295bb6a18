"""Liar's dice: bids on hidden dice, in which the highest face is wild."""

from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE, TERMINAL

_BITS = 62
"""Limit on the bits of a number that encodes a hand and the bids."""
_COUNTED = 100
"""Limit on the dice and bids that are counted; no memory holds the tree of more."""


@register
def liars_dice(
    dice: int = 1, sides: int = 6, players: int = 2, *, memory_limit: float | None = None
) -> ExtensiveFormGame:
    """Return liar's dice, a game of bids on hidden dice.

    Each player rolls some dice and sees only its own. Then the players bid in turn, player 0
    first: the bid ``3-5`` claims that there are at least three fives among all dice, where the
    highest face is wild and counts as any. A bid must be higher than the last one, by its quantity
    or, with the same quantity, by its face. Instead of bidding, a player may call the last bidder
    a ``liar``, which ends the game, and after the highest bid that is its only action. If the bid
    was true the bidder wins 1 and the caller loses 1, otherwise the reverse; all other players
    earn 0.

    An information set is named by the player's dice, the lowest first, and all bids: ``2 1-3 1-5``.

    Parameters
    ----------
    dice
        Number of dice of each player, at least 1.
    sides
        Number of sides of a die, at least 1.
    players
        Number of players, at least 2.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> game = liars_dice(sides=4)
    >>> game.tree
    <GameTree: 8181 histories, 4080 terminals, 512 + 512 information sets>
    >>> game.tree.labels[1][5], game.tree.actions[1][5]
    ('1 2-2', ('2-3', '2-4', 'liar'))

    References
    ----------
    Lisý, Lanctot and Bowling (2015), "Online Monte Carlo counterfactual regret minimization for
    search in imperfect information games", AAMAS. Rules as in OpenSpiel's ``liars_dice``.
    """
    rules = _rules(dice, sides, players)
    MemoryBudget(memory_limit).check_histories(rules.histories, rules.players)
    name = call_text(liars_dice, dice=rules.dice, sides=rules.sides, players=rules.players)
    return ExtensiveFormGame.from_batch(rules.start(), name=name, memory_limit=memory_limit)


@rules_of("liars_dice")
def liars_dice_batch(
    dice: int = 1, sides: int = 6, players: int = 2, *, memory: int | None = None
) -> "LiarsDice":
    """Return the batch of the empty history of ``liars_dice``, of any size.

    ``as_history`` plays it without building its tree.

    Parameters
    ----------
    dice, sides, players
        As in ``liars_dice``.
    memory
        Number of last bids that players remember, at least 1; None for all. Limited memory makes
        the game one of imperfect recall; it has no sequence form. Histories with equal dice and
        equal last bids have equal continuations and are one node of a ``GameDAG``.

    Examples
    --------
    >>> from regretkit.games import as_history
    >>> history = as_history(liars_dice_batch(dice=3, memory=2))
    >>> for move in [*"265431", "2-6", "3-5", "4-6"]:
    ...     history = history.child(move)
    >>> history.information_set()
    '134 3-5 4-6'
    """
    rules = _rules(dice, sides, players, memory)
    if rules.bids + (rules.sides**rules.dice - 1).bit_length() > _BITS:
        raise ValueError(
            f"dice={rules.dice}, sides={rules.sides} and players={rules.players} make {rules.bids} "
            f"bids and {rules.sides**rules.dice} rolls of a player, which do not fit into {_BITS} "
            "bits; take fewer dice or sides"
        )
    return rules.start()


def _rules(dice: int, sides: int, players: int, memory: int | None = None) -> "_Rules":
    return _Rules(
        whole_number(dice, "dice", least=1),
        whole_number(sides, "sides", least=1),
        whole_number(players, "players", least=2),
        None if memory is None else whole_number(memory, "memory", least=1),
    )


@final
@frozen
class _Rules:
    """The parameters of liar's dice; bids are numbered from the lowest."""

    dice: int
    sides: int
    players: int
    memory: int | None = None

    @property
    def rolls(self) -> int:
        return self.dice * self.players

    @property
    def bids(self) -> int:
        return self.rolls * self.sides

    @property
    def histories(self) -> int:
        rolls, bids = min(self.rolls, _COUNTED), min(self.bids, _COUNTED)
        rolled = sum(int(self.sides**rolled) for rolled in range(rolls + 1))
        return rolled + int(self.sides**rolls) * ((1 << bids + 1) - 2)

    def start(self) -> "LiarsDice":
        empty = np.zeros(1, dtype=np.int64)
        return LiarsDice(self, 0, empty, empty, empty - 1, empty > 0)

    def faces(self, deals: Indices) -> Indices:
        """Return the faces of all dice, player by player, shape ``(rolls, deals)``."""
        place = self.sides ** np.arange(self.rolls, dtype=np.int64)[::-1, np.newaxis]
        faces: Indices = deals // place % self.sides
        return faces

    def hands(self, player: int, deals: Indices) -> Indices:
        """Return a player's dice, the lowest first, as the digits of a number for each deal."""
        hand = self.faces(deals)[player * self.dice : (player + 1) * self.dice]
        number = np.zeros(deals.size, dtype=np.int64)
        for die in np.sort(hand, axis=0):
            number = number * self.sides + die
        return number

    def counts(self, deals: Indices) -> Indices:
        """Return the number of dice that count as each face, shape ``(deals, sides)``."""
        faces = self.faces(deals)[..., np.newaxis]
        matches = (faces == np.arange(self.sides)) | (faces == self.sides - 1)
        counts: Indices = np.count_nonzero(matches, axis=0)
        return counts

    def distinct(self, deals: Indices) -> tuple[Indices, Indices]:
        """Return distinct deals, or these if they are fewer, and the index of each among them."""
        possible = self.sides**self.rolls
        if possible <= deals.size:
            return np.arange(possible), deals
        return deals, np.arange(deals.size)


@final
@frozen(eq=False)
class LiarsDice:
    """A batch of histories of ``length`` moves."""

    rules: _Rules
    length: int
    deal: Indices
    """The rolls, as the digits of a number."""
    bids: Indices
    """The bids, as a bit mask."""
    last: Indices
    """The last bid, -1 before the first."""
    over: NDArray[np.bool_]
    """Whether the last bid was challenged."""

    @property
    def _turn(self) -> int:
        """Number of moves since the dice were rolled."""
        return self.length - self.rules.rolls

    def player(self) -> Indices:
        mover = CHANCE if self._turn < 0 else self._turn % self.rules.players
        return np.where(self.over, TERMINAL, mover)

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        """Return all faces, or all higher bids and, in the last column, ``liar``."""
        if self._turn < 0:
            return np.ones((rows.size, self.rules.sides), dtype=np.bool_)
        last = self.last[rows].astype(np.int8)
        possible = np.arange(self.rules.bids + 1, dtype=np.int8) > last[:, np.newaxis]
        possible[:, -1] = last >= 0
        return possible

    def child(self, rows: Indices, action: Indices) -> "LiarsDice":
        deal, bids, last = self.deal[rows], self.bids[rows], self.last[rows]
        if self._turn < 0:
            deal = deal * self.rules.sides + action
            return LiarsDice(self.rules, self.length + 1, deal, bids, last, last >= 0)
        finished = action == self.rules.bids
        bids |= np.where(finished, 0, np.int64(1) << action)
        last = np.where(finished, last, action)
        return LiarsDice(self.rules, self.length + 1, deal, bids, last, finished)

    def probability(self, rows: Indices, action: Indices) -> Vector:
        return np.full(rows.size, 1.0 / self.rules.sides)

    def information_set(self, rows: Indices) -> Indices:
        """Return the player's dice and the bids as one number."""
        deals, place = self.rules.distinct(self.deal[rows])
        hands = self.rules.hands(self._turn % self.rules.players, deals) << self.rules.bids
        return hands[place] | self._remembered(rows)

    def state(self, rows: Indices) -> Indices:
        """Return the key of equal continuations, a row of numbers for each history."""
        turn = self._turn if self._turn < 0 else self._turn % self.rules.players
        turns = np.full(rows.size, turn)
        key = self.deal[rows], self._remembered(rows), self.last[rows], self.over[rows], turns
        return np.stack(key, axis=1)

    def _remembered(self, rows: Indices) -> Indices:
        """Return the bids that players remember, as a bit mask."""
        bids = self.bids[rows]
        if self.rules.memory is None:
            return bids
        kept = np.zeros_like(bids)
        for _ in range(self.rules.memory):
            highest = _highest_bit(bids & ~kept)
            kept |= highest
        return kept

    def payoffs(self, rows: Indices) -> Vector:
        quantity, face = np.divmod(self.last[rows], self.rules.sides)
        deals, place = self.rules.distinct(self.deal[rows])
        true = self.rules.counts(deals)[place, face] > quantity
        payoffs = np.zeros((rows.size, self.rules.players))
        payoffs[:, (self._turn - 2) % self.rules.players] = np.where(true, 1.0, -1.0)
        payoffs[:, (self._turn - 1) % self.rules.players] = np.where(true, -1.0, 1.0)
        return payoffs

    def action_name(self, player: int, action: int) -> str:
        if player == CHANCE:
            return str(action + 1)
        quantity, face = divmod(action, self.rules.sides)
        return "liar" if action == self.rules.bids else f"{quantity + 1}-{face + 1}"

    def label(self, player: int, information_set: int) -> str:
        hand, made = divmod(information_set, 2**self.rules.bids)
        sides, places = self.rules.sides, reversed(range(self.rules.dice))
        dice = "".join(str(hand // sides**place % sides + 1) for place in places)
        bids = [self.action_name(player, bid) for bid in range(self.rules.bids) if made >> bid & 1]
        return " ".join([dice, *bids])


def _highest_bit(numbers: Indices) -> Indices:
    """Return each number's highest bit alone."""
    filled = numbers.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> shift
    return filled ^ (filled >> 1)
