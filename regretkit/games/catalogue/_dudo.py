"""Dudo: claims about hidden dice, in which ones are wild."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import CHANCE

FACES = "123456789"
"""The faces of a die; those of a smaller one are the first of them."""
WILD = "1"
"""The face that counts as every other."""
CHALLENGE = "dudo"
"""The action that challenges the last claim."""
_COUNTED = 1000
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
    rolls, claims = math.comb(dice + sides - 1, sides - 1), min(2 * dice * sides, _COUNTED)
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
        memory = whole_number(memory, "memory", least=1)
    claims = [(number, face) for number in range(1, 2 * dice + 1) for face in FACES[:sides]]
    claims.sort(key=lambda claim: _strength(*claim))
    names = tuple(f"{number}x{face}" for number, face in claims)
    return DudoHistory(dice, sides, names, memory=memory)


def _dice(dice: int, sides: int) -> tuple[int, int]:
    return (
        whole_number(dice, "dice", least=1),
        whole_number(sides, "sides", least=1, most=len(FACES)),
    )


def _strength(number: int, face: str) -> tuple[int, str]:
    """Return a sort key: a claim of n ones comes before one of 2n twos."""
    return (2 * number, "") if face == WILD else (number, face)


@final
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
