"""Liar's dice and Dudo: claims about hidden dice."""

import abc
import math
from collections import Counter
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from attrs import frozen

from regretkit._util._typing import Indices, Vector
from regretkit.games.catalogue._rules import NamedRules, put, tree_factory, whole
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.games.tree._rules import Batch, Column, Mask

_WORD = 60
"""Number of bids whose bits share a word."""
_MOST_BIDS = 300


class _Bidding(NamedRules):
    """Rolls of hidden dice, then increasing bids, numbered from the lowest, and a challenge."""

    players: int
    memory: int | None

    @property
    @abc.abstractmethod
    def rolls(self) -> int:
        """Number of chance moves, the same for each player."""

    @property
    @abc.abstractmethod
    def outcomes(self) -> int:
        """Number of outcomes of each chance move."""

    @property
    @abc.abstractmethod
    def bids(self) -> int:
        """Number of bids. Action ``bids`` is the challenge."""

    def __attrs_post_init__(self) -> None:
        if self.bids > _MOST_BIDS:
            raise ValueError(f"{self!r} has {self.bids} bids, more than {_MOST_BIDS}")

    def start(self) -> Batch:
        words, none = -(-self.bids // _WORD), np.full((1, min(self.memory or 0, self.bids)), -1)
        return Batch(
            deal=np.zeros((1, self.rolls), dtype=np.int64),
            # past bids as bits, or with limited memory the numbers of the last bids
            said=np.zeros((1, words), np.int64) if self.memory is None else none,
            last=np.full(1, -1),
            over=np.zeros(1, dtype=np.bool_),
        )

    def player(self, h: Batch) -> Indices | int:
        turn = h.length - self.rolls
        return CHANCE if turn < 0 else np.where(h.over, TERMINAL, turn % self.players)

    def legal(self, h: Batch) -> Mask:
        if h.length < self.rolls:
            return np.ones(self.outcomes, dtype=np.bool_)
        last = h.last.astype(np.int16)
        higher: Mask = np.arange(self.bids + 1, dtype=np.int16) > last[:, np.newaxis]
        higher[:, -1] = last >= 0
        return higher

    def child(self, h: Batch, action: Indices) -> Batch:
        if h.length < self.rolls:
            return h.then(deal=put(h.deal, h.length, action))
        over, said = action == self.bids, h.said.copy()
        if self.memory is None:
            for word in range(said.shape[1]):
                bid = action - word * _WORD
                within = (bid >= 0) & (bid < min(_WORD, self.bids - word * _WORD))
                bit = np.int64(1) << np.where(within, bid, 0)
                said[:, word] = said[:, word] | np.where(within, bit, 0)
        else:
            later = np.concatenate([said[:, 1:], action[:, np.newaxis]], axis=1)
            said = np.where(over[:, np.newaxis], said, later)
        return h.then(said=said, last=np.where(over, h.last, action), over=over)

    def state(self, h: Batch) -> tuple[Column, ...]:
        turn = h.length - self.rolls
        turn = turn if turn < 0 else turn % self.players
        return h.deal, h.said, h.last, h.over, turn

    def _paid(self, h: Batch, count: Indices, claimed: Indices) -> Vector:
        """Return the payoffs, given the number of dice with the claimed face, and the claim."""
        turn, won = h.length - self.rolls, np.where(count >= claimed, 1.0, -1.0)
        payoffs = np.zeros((h.size, self.players))
        payoffs[:, (turn - 2) % self.players] = won
        payoffs[:, (turn - 1) % self.players] = -won
        return payoffs

    def _said(self, said: tuple[int, ...]) -> list[str]:
        """Return the names of observed bids."""
        if self.memory is None:
            bits = [word >> bit & 1 for word in said for bit in range(_WORD)]
            return [self.action_name(0, bid) for bid in range(self.bids) if bits[bid]]
        return [self.action_name(0, bid) for bid in said if bid >= 0]


@frozen(repr=False)
class LiarsDice(_Bidding, name="liars_dice"):
    """Liar's dice, a game of bids on hidden dice.

    Each player rolls its dice and observes only these. Then the players bid in turn, player 0
    first. The bid ``3-5`` claims that all dice together show at least three fives. The highest face
    is wild: it counts as any face. A bid must be higher than the last one, by quantity or, at equal
    quantity, by face.

    Instead of bidding, a player may call the last bidder a ``liar``, which ends the game. After the
    highest bid this is the only action. If the bid is true, the bidder earns 1 and the caller -1,
    otherwise the reverse. All other players earn 0.

    The label of an information set consists of the player's sorted dice and all bids, as
    ``2 1-3 1-5``.

    Parameters
    ----------
    dice
        Number of dice of each player, at least 1.
    sides
        Number of sides of a die, at least 1.
    players
        Number of players, at least 2. ``dice * players * sides`` must be at most 300.
    memory
        Number of last bids that players remember, at least 1; None for all. Limited memory means
        imperfect recall, without a sequence form. It leaves few nodes, see ``GraphGame``.

    Examples
    --------
    >>> from regretkit.games import LiarsDice, liars_dice
    >>> game = liars_dice(sides=4)
    >>> game.tree
    <GameTree: 8181 histories, 4080 terminals, 512 + 512 information sets>
    >>> game.tree.labels[1][5], game.tree.actions[1][5]
    ('1 2-2', ('2-3', '2-4', 'liar'))
    >>> LiarsDice(dice=3, memory=2)  # rules, without a tree
    liars_dice(dice=3, memory=2)

    References
    ----------
    Lisý, Lanctot and Bowling (2015), "Online Monte Carlo counterfactual regret minimization for
    search in imperfect information games", AAMAS. Rules as in OpenSpiel's ``liars_dice``.
    """

    dice: int = whole(1, 1, _MOST_BIDS)
    sides: int = whole(6, 1, _MOST_BIDS)
    players: int = whole(2, 2, _MOST_BIDS)
    memory: int | None = whole(None, 1)

    @property
    def rolls(self) -> int:
        return self.dice * self.players

    @property
    def outcomes(self) -> int:
        return self.sides

    @property
    def bids(self) -> int:
        return self.rolls * self.sides

    def chance(self, h: Batch, action: Indices) -> float:
        return 1.0 / self.sides

    def observed(self, h: Batch) -> tuple[Column, ...]:
        at = (h.length - self.rolls) % self.players * self.dice
        hand = h.deal[:, at : at + self.dice]
        return np.sort(hand, axis=1) if self.dice > 1 else hand, h.said

    def payoffs(self, h: Batch) -> Vector:
        quantity, face = h.last // self.sides, h.last % self.sides
        matches = (h.deal == face[:, np.newaxis]) | (h.deal == self.sides - 1)
        return self._paid(h, np.count_nonzero(matches, axis=1), quantity + 1)

    def action_name(self, player: int, action: int) -> str:
        if player == CHANCE:
            return str(action + 1)
        quantity, face = divmod(action, self.sides)
        return "liar" if action == self.bids else f"{quantity + 1}-{face + 1}"

    def label(self, player: int, *observed: int) -> str:
        dice = "".join(str(die + 1) for die in observed[: self.dice])
        return " ".join([dice, *self._said(observed[self.dice :])])


liars_dice = tree_factory(LiarsDice)
"""Build the tree of ``LiarsDice``, whose arguments it takes."""

FACES = "123456789"
"""The faces of a die of Dudo. A die of n sides has the first n; the first is wild."""


@frozen(repr=False, slots=False)
class Dudo(_Bidding, name="dudo"):
    """A round of Dudo, the game of liar's dice in which ones are wild.

    Both players roll hidden dice. Then they claim in turn, player 0 first. The claim ``2x5`` means
    that all dice together show at least two fives. Ones are wild: they count as any face. Each
    claim must be stronger than the last one.

    Instead of claiming, a player may challenge the last claim (``dudo``), which ends the round.
    After the strongest claim this is the only action. If the claim is true, the challenger pays 1
    to the other player, else it earns 1.

    A claim is stronger with more dice or, with equally many, a higher face. The claim of ``n``
    ones is just weaker than that of ``2n`` twos. With one die each the order is ``1x2``, ``1x3``,
    ..., ``1x6``, ``1x1``, ``2x2``, ..., ``2x6``, ``2x1``.

    The label of an information set consists of the player's dice and the claims. At ``3:1x2,1x5``
    player 0 rolled a three and claimed one two, and player 1 claimed one five.

    Parameters
    ----------
    dice
        Number of dice of each player, from 1 to 10.
    sides
        Number of sides of a die, from 1 to 9. There are ``4 ** (dice * sides)`` sequences of
        claims, so more dice need fewer sides.
    memory
        Number of last claims that players remember, at least 1; None for all. Limited memory means
        imperfect recall, without a sequence form. It leaves few nodes, see ``GraphGame``.

    Examples
    --------
    >>> from regretkit.games import dudo
    >>> dudo(sides=3).tree
    <GameTree: 1147 histories, 567 terminals, 96 + 96 information sets>
    >>> dudo(sides=2).tree.labels[0][:6]
    ('1:', '2:', '1:1x2,1x1', '1:1x2,2x2', '1:1x2,2x1', '1:1x1,2x2')

    References
    ----------
    Neller and Lanctot (2013), "An introduction to counterfactual regret minimization", section
    3.5, where each has one die of six sides: 24,576 information sets and value -7/258 for player 0.
    With limited memory: Neller and Hnath (2011), "Approximating optimal Dudo play with
    fixed-strategy iteration counterfactual regret minimization", where players remember three.
    """

    dice: int = whole(1, 1, 10)
    sides: int = whole(6, 1, len(FACES))
    memory: int | None = whole(None, 1)
    players = 2

    @property
    def rolls(self) -> int:
        return 2

    @cached_property
    def hands(self) -> list[tuple[str, ...]]:
        """The distinct rolls of a player's dice, each sorted."""
        return list(combinations_with_replacement(FACES[: self.sides], self.dice))

    @property
    def outcomes(self) -> int:
        return len(self.hands)

    @cached_property
    def claims(self) -> list[tuple[int, int]]:
        """Number and face of each claim, from the weakest: n ones sort just before 2n twos."""
        claims = [(n, face) for n in range(1, 2 * self.dice + 1) for face in range(self.sides)]
        return sorted(claims, key=lambda claim: (claim[0] * (2 if claim[1] == 0 else 1), claim[1]))

    @property
    def bids(self) -> int:
        return 2 * self.dice * self.sides

    @cached_property
    def _probability(self) -> Vector:
        # Multinomial: dice! / product of (repeats of each face)! orders of a sorted roll
        repeats = [math.prod(map(math.factorial, Counter(hand).values())) for hand in self.hands]
        orders = [math.factorial(self.dice) // repeated for repeated in repeats]
        return np.array([order / self.sides**self.dice for order in orders])

    def chance(self, h: Batch, action: Indices) -> Vector:
        probability: Vector = self._probability[action]
        return probability

    def observed(self, h: Batch) -> tuple[Column, ...]:
        return h.deal[:, (h.length - self.rolls) % 2], h.said

    def payoffs(self, h: Batch) -> Vector:
        number, face = np.array(self.claims)[h.last].T
        faces = FACES[: self.sides]
        counts = np.array(
            [[sum(d in {f, FACES[0]} for d in hand) for f in faces] for hand in self.hands]
        )
        return self._paid(h, counts[h.deal[:, 0], face] + counts[h.deal[:, 1], face], number)

    def action_name(self, player: int, action: int) -> str:
        if player == CHANCE:
            return "".join(self.hands[action])
        if action == self.bids:
            return "dudo"
        number, face = self.claims[action]
        return f"{number}x{FACES[face]}"

    def label(self, player: int, *observed: int) -> str:
        return f"{self.action_name(CHANCE, observed[0])}:{','.join(self._said(observed[1:]))}"


dudo = tree_factory(Dudo)
"""Build the tree of ``Dudo``, whose arguments it takes."""
