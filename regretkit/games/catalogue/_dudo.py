"""Dudo: hidden dice, claims about all of them, and who believes what."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import final

from attrs import evolve, frozen

from regretkit._util._validate import whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register
from regretkit.games.tree._history import CHANCE

FACES = "123456789"
"""The faces of a die; those of a smaller one are the first of them."""
WILD = "1"
"""The face that counts as every other."""
CHALLENGE = "dudo"
"""What a player says who doubts the last claim."""
_COUNTED = 1000
"""No more claims than this are counted; no memory has room for all sequences of them."""


@register
def dudo(dice: int = 1, sides: int = 6, *, memory_limit: float | None = None) -> ExtensiveFormGame:
    """Return a round of Dudo, the game of liar's dice in which ones are wild.

    Both players roll their dice and hide them. Then they claim in turn, player 0 first, that
    among the dice of both there are at least a number of a face: ``2x5`` claims two fives. Ones
    count as every other face too. Each claim is stronger than the one before; in place of a claim
    a player may challenge the last one, which ends the round (``dudo``). If the last claim was
    true the challenger loses 1 to the other, and else wins 1. After the strongest claim, to
    challenge is the only action.

    A claim is stronger with more dice, or with as many of a higher face. Ones, which are rarer,
    come in between: ``n`` ones right before ``2n`` twos. With one die each that is ``1x2``,
    ``1x3``, ..., ``1x6``, ``1x1``, ``2x2``, ..., ``2x6``, ``2x1``.

    An information set is named by the player's dice and the claims: at ``3:1x2,1x5`` player 0 has
    rolled a three, has claimed one two, and now hears of one five.

    Parameters
    ----------
    dice
        Number of dice of each player, at least 1.
    sides
        Number of sides of a die, from 1 to 9. There are ``4 ** (dice * sides)`` different
        sequences of claims, so that more dice need fewer sides.
    memory_limit
        Bytes that building may take, by default all that are available.

    Raises
    ------
    TypeError
        When an argument is not a whole number.
    ValueError
        When an argument is out of its range.
    MemoryError
        When there are more histories than memory has room for.

    Examples
    --------
    >>> dudo(sides=3).tree
    <GameTree: 1147 histories, 567 terminals, 96 + 96 information sets>
    >>> dudo(sides=2).tree.labels[0][:6]
    ('1:', '2:', '1:1x2,1x1', '1:1x2,2x2', '1:1x2,2x1', '1:1x1,2x2')

    References
    ----------
    Neller and Lanctot (2013), "An introduction to counterfactual regret minimization", section
    3.5, where each has one die of six sides: 24,576 information sets, worth -7/258 to player 0.
    """
    dice, sides = _dice(dice, sides)
    rolls, claims = math.comb(dice + sides - 1, sides - 1), min(2 * dice * sides, _COUNTED)
    # Each pair of rolls, and some of the claims in order, the last of which may be doubted
    histories = 1 + rolls + rolls**2 * ((1 << claims + 1) - 1)
    MemoryBudget(memory_limit, walked=True).check_histories(histories)
    name = call_text(dudo, dice=dice, sides=sides)
    root = dudo_history(dice, sides)
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


def dudo_history(dice: int = 1, sides: int = 6, *, memory: int | None = None) -> "DudoHistory":
    """Return the empty history of :func:`dudo`, in which players may have a short memory.

    Parameters
    ----------
    dice
        Number of dice of each player, at least 1.
    sides
        Number of sides of a die, from 1 to 9.
    memory
        How many claims players remember, at least 1; None for all. Who remembers only the last few
        forgets what it did itself, so that there is no tree of its decisions; but histories with
        the same dice and the same last claims go on alike, and a ``GameDAG`` has them once.

    Raises
    ------
    TypeError
        When an argument is not a whole number.
    ValueError
        When an argument is out of its range.

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
    """Return what is larger for a stronger claim: so many ones come before twice as many twos."""
    return (2 * number, "") if face == WILD else (number, face)


@final
@frozen
class DudoHistory:
    """What was rolled and what was said."""

    dice: int
    sides: int
    claims: tuple[str, ...]
    """The claims that may still be made, the weakest first."""
    rolls: tuple[str, ...] = ()
    """The faces that each player rolled, in ascending order, player 0's first."""
    said: tuple[str, ...] = ()
    """The claims that were made, and the challenge at the end."""
    memory: int | None = None
    """How many claims players remember, None for all."""

    def is_terminal(self) -> bool:
        """Return whether a claim was challenged."""
        return bool(self.said) and self.said[-1] == CHALLENGE

    def player(self) -> int:
        """Return whose turn it is."""
        return CHANCE if len(self.rolls) < 2 else len(self.said) % 2

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        """Return what a player may roll, where the order of its dice makes no difference."""
        return [
            ("".join(roll), _orders(roll) / self.sides**self.dice)
            for roll in combinations_with_replacement(FACES[: self.sides], self.dice)
        ]

    def actions(self) -> Sequence[str]:
        """Return the stronger claims, and to challenge if there is a claim."""
        return (*self.claims, CHALLENGE) if self.said else self.claims

    def child(self, action: str) -> "DudoHistory":
        """Return the history after a roll, a claim or a challenge."""
        if len(self.rolls) < 2:
            return evolve(self, rolls=(*self.rolls, action))
        weaker = len(self.claims) if action == CHALLENGE else self.claims.index(action) + 1
        said = (*self.said, action)
        return DudoHistory(
            self.dice, self.sides, self.claims[weaker:], self.rolls, said, self.memory
        )

    def information_set(self) -> str:
        """Return the player's dice, and what was said, as far as it remembers."""
        return f"{self.rolls[self.player()]}:{','.join(self._remembered(self.said))}"

    def state(self) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """Return what of the past still matters: the dice, what is remembered, whose turn it is."""
        if self.is_terminal():
            said = (*self._remembered(self.said[:-1]), CHALLENGE)
        else:
            said = self._remembered(self.said)
        return self.rolls, said, len(self.said) % 2

    def _remembered(self, said: tuple[str, ...]) -> tuple[str, ...]:
        return said if self.memory is None else said[-self.memory :]

    def payoffs(self) -> Sequence[float]:
        """Return 1 for who was right about the last claim, and -1 for the other."""
        number, _, face = self.said[-2].partition("x")
        faces = "".join(self.rolls)
        shown = sum(own in {face, WILD} for own in faces)
        challenger = (len(self.said) - 1) % 2
        winner = 1 - challenger if shown >= int(number) else challenger
        return [1.0, -1.0] if winner == 0 else [-1.0, 1.0]


def _orders(roll: Sequence[str]) -> int:
    """Return in how many orders the dice may have fallen."""
    repeats = math.prod(map(math.factorial, Counter(roll).values()))
    return math.factorial(len(roll)) // repeats
