"""Liar's dice and Dudo: claims about hidden dice."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE, TERMINAL

_BITS = 62
"""Limit on the bits of a number that encodes a hand and the bids."""
_COUNTED_BIDS = 100
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
        whole_number(dice, "dice", minimum=1),
        whole_number(sides, "sides", minimum=1),
        whole_number(players, "players", minimum=2),
        None if memory is None else whole_number(memory, "memory", minimum=1),
    )


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
        rolls, bids = min(self.rolls, _COUNTED_BIDS), min(self.bids, _COUNTED_BIDS)
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


FACES = "123456789"
"""The faces of a die; those of a smaller one are the first of them."""
WILD = "1"
"""The face that counts as every other."""
CHALLENGE = "dudo"
"""The action that challenges the last claim."""
_COUNTED_CLAIMS = 1000
"""Limit on the claims that are counted; no memory holds the tree of more."""


@register
def dudo(dice: int = 1, sides: int = 6, *, memory_limit: float | None = None) -> ExtensiveFormGame:
    """Return a round of Dudo, the game of liar's dice in which ones are wild.

    Both players roll hidden dice. Then they claim in turn, player 0 first, that all dice together
    show at least a number of a face: ``2x5`` claims two fives. Ones count as every other face too.
    Each claim is stronger than the one before; instead of claiming, a player may challenge the
    last claim (``dudo``), which ends the round. If the last claim was true the challenger loses 1
    to the other player, else wins 1. After the strongest claim, challenging is the only action.

    A claim is stronger with more dice, or with equally many of a higher face. Ones are rarer: ``n``
    ones come right before ``2n`` twos. With one die each the order is ``1x2``, ``1x3``, ...,
    ``1x6``, ``1x1``, ``2x2``, ..., ``2x6``, ``2x1``.

    An information set is named by the player's dice and the claims: at ``3:1x2,1x5`` player 0
    rolled a three and claimed one two, and player 1 claimed one five.

    Parameters
    ----------
    dice
        Number of dice of each player, at least 1.
    sides
        Number of sides of a die, from 1 to 9. There are ``4 ** (dice * sides)`` different
        sequences of claims, so that more dice need fewer sides.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> dudo(sides=3).tree
    <GameTree: 1147 histories, 567 terminals, 96 + 96 information sets>
    >>> dudo(sides=2).tree.labels[0][:6]
    ('1:', '2:', '1:1x2,1x1', '1:1x2,2x2', '1:1x2,2x1', '1:1x1,2x2')

    References
    ----------
    Neller and Lanctot (2013), "An introduction to counterfactual regret minimization", section
    3.5, where each has one die of six sides: 24,576 information sets and value -7/258 for player 0.
    """
    dice, sides = _dice(dice, sides)
    rolls, claims = math.comb(dice + sides - 1, sides - 1), min(2 * dice * sides, _COUNTED_CLAIMS)
    # Each pair of rolls, and each subset of the claims, the last of which may be challenged
    histories = 1 + rolls + rolls**2 * ((1 << claims + 1) - 1)
    MemoryBudget(memory_limit, walked=True).check_histories(histories)
    name = call_text(dudo, dice=dice, sides=sides)
    root = dudo_history(dice, sides)
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


@rules_of("dudo")
def dudo_history(dice: int = 1, sides: int = 6, *, memory: int | None = None) -> "DudoHistory":
    """Return the empty history of ``dudo``, with limited memory if wanted.

    Parameters
    ----------
    dice, sides
        As in ``dudo``.
    memory
        Number of last claims that players remember, at least 1; None for all. Limited memory makes
        the game one of imperfect recall; it has no sequence form. Histories with equal dice and
        equal last claims have equal continuations and are one node of a ``GameDAG``.

    Examples
    --------
    >>> history = dudo_history(sides=3, memory=1)
    >>> for action in ("3", "1", "1x2", "1x3"):
    ...     history = history.child(action)
    >>> history.information_set()
    '3:1x3'

    References
    ----------
    Neller and Hnath (2011), "Approximating optimal Dudo play with fixed-strategy iteration
    counterfactual regret minimization", where players remember three claims.
    """
    dice, sides = _dice(dice, sides)
    if memory is not None:
        memory = whole_number(memory, "memory", minimum=1)
    claims = [(number, face) for number in range(1, 2 * dice + 1) for face in FACES[:sides]]
    claims.sort(key=lambda claim: _strength(*claim))
    names = tuple(f"{number}x{face}" for number, face in claims)
    return DudoHistory(dice, sides, names, memory=memory)


def _dice(dice: int, sides: int) -> tuple[int, int]:
    return (
        whole_number(dice, "dice", minimum=1),
        whole_number(sides, "sides", minimum=1, maximum=len(FACES)),
    )


def _strength(number: int, face: str) -> tuple[int, str]:
    """Return a sort key: a claim of n ones comes before one of 2n twos."""
    return (2 * number, "") if face == WILD else (number, face)


@frozen
class DudoHistory:
    dice: int
    sides: int
    claims: tuple[str, ...]
    """The claims that may still be made, the weakest first."""
    rolls: tuple[str, ...] = ()
    """The faces that each player rolled, in ascending order, player 0's first."""
    said: tuple[str, ...] = ()
    """The claims so far, and the challenge at the end."""
    memory: int | None = None
    """Number of claims that players remember, None for all."""

    def is_terminal(self) -> bool:
        return bool(self.said) and self.said[-1] == CHALLENGE

    def player(self) -> int:
        return CHANCE if len(self.rolls) < 2 else len(self.said) % 2

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        """Return the rolls of one player, up to the order of its dice."""
        return [
            ("".join(roll), _orders(roll) / self.sides**self.dice)
            for roll in combinations_with_replacement(FACES[: self.sides], self.dice)
        ]

    def actions(self) -> Sequence[str]:
        return (*self.claims, CHALLENGE) if self.said else self.claims

    def child(self, action: str) -> "DudoHistory":
        if len(self.rolls) < 2:
            return evolve(self, rolls=(*self.rolls, action))
        weaker = len(self.claims) if action == CHALLENGE else self.claims.index(action) + 1
        said = (*self.said, action)
        return DudoHistory(
            self.dice, self.sides, self.claims[weaker:], self.rolls, said, self.memory
        )

    def information_set(self) -> str:
        return f"{self.rolls[self.player()]}:{','.join(self._remembered(self.said))}"

    def state(self) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """Return the key of equal continuations: the dice, the remembered claims, the player."""
        if self.is_terminal():
            said = (*self._remembered(self.said[:-1]), CHALLENGE)
        else:
            said = self._remembered(self.said)
        return self.rolls, said, len(self.said) % 2

    def _remembered(self, said: tuple[str, ...]) -> tuple[str, ...]:
        return said if self.memory is None else said[-self.memory :]

    def payoffs(self) -> Sequence[float]:
        """Return 1 for the player who was right about the last claim, and -1 for the other."""
        number, _, face = self.said[-2].partition("x")
        faces = "".join(self.rolls)
        count = sum(die in {face, WILD} for die in faces)
        challenger = (len(self.said) - 1) % 2
        winner = 1 - challenger if count >= int(number) else challenger
        return [1.0, -1.0] if winner == 0 else [-1.0, 1.0]


def _orders(roll: Sequence[str]) -> int:
    repeats = math.prod(map(math.factorial, Counter(roll).values()))
    return math.factorial(len(roll)) // repeats
