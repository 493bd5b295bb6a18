"""How names and numbers are written, so that they read back as they were."""

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import final

from attrs import frozen

_TO_ESCAPE = re.compile(r'"|\\(?=["\\]|\Z)')
_NOT_PLAIN = re.compile(r"[^ -\[\]-~]")


@final
@frozen
class Spelling:
    """How names and chance are written: as they are, or changed to what Gambit takes."""

    for_gambit: bool

    def name(self, name: str) -> str:
        """Return a name in quotation marks; a backslash stays alone where it can."""
        return _quoted(_plain(name) if self.for_gambit else name)

    def names(self, names: Iterable[str]) -> str:
        """Return names in braces."""
        return f"{{ {' '.join(map(self.name, names))} }}"

    def heading(self, title: str | None, players: int) -> str:
        """Return the title of a game, and names for its players."""
        numbered = [f"Player {1 + player}" for player in range(players)]
        title = _NOT_PLAIN.sub("?", title or "") if self.for_gambit else title or ""
        return f"{_quoted(title)} {self.names(numbered)}"

    def labels(self, labels: Sequence[str]) -> Sequence[str]:
        """Return the names of all information sets of a player, changed where they must differ."""
        return _distinct(list(map(_plain, labels))) if self.for_gambit else labels

    def chances(self, probabilities: Sequence[float]) -> list[str]:
        """Return numbers that are read as ``probabilities`` and sum to exactly 1 where they can.

        Gambit takes probabilities for exact, and refuses others. What was a third is written as
        1/3 again; else each moves within its rounding, by its share of what is missing; and
        where that is not enough, further, but only for Gambit.
        """
        simple = [_simplest(number) for number in probabilities]
        if sum(simple) == 1:
            return list(map(str, simple))
        exact = [Fraction(number) for number in probabilities]
        room = [Fraction(math.ulp(number)) if number else Fraction(0) for number in probabilities]
        share = (1 - sum(exact)) / sum(room)
        moved = [number + share * width for number, width in zip(exact, room, strict=True)]
        if list(map(float, moved)) == list(probabilities):
            return list(map(str, moved))
        if self.for_gambit:
            return [str(number / sum(exact)) for number in exact]
        return list(map(decimal, probabilities))


def decimal(number: float) -> str:
    """Return the shortest decimal that is read as ``number``, without an exponent."""
    # Gambit reads no exponent with a plus sign.
    return format(Decimal(repr(number)), "f").removesuffix(".0") if number else "0"


def _simplest(number: float) -> Fraction:
    """Return the first of the continued fractions of ``number`` that rounds to it."""
    rest = Fraction(number)
    # Numerators and denominators of the last two of them
    last, this = (0, 1), (1, 0)
    while True:
        whole = math.floor(rest)
        last, this = this, (whole * this[0] + last[0], whole * this[1] + last[1])
        if this[0] / this[1] == number:
            return Fraction(*this)
        rest = 1 / (rest - whole)


def _quoted(name: str) -> str:
    escaped = _TO_ESCAPE.sub(r"\\\g<0>", name)
    return f'"{escaped}"'


def _plain(name: str) -> str:
    """Return a name of printable ASCII characters, with single spaces within."""
    return " ".join(_NOT_PLAIN.sub("?", name).split())


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which no two are equal, except for empty ones, with numbers if need be."""
    taken, found = {""}, []
    for number, name in enumerate(names, start=1):
        while name in taken and names[number - 1]:
            name = f"{names[number - 1]} {number}"
            number += len(names)
        taken.add(name)
        found.append(name)
    return found
