"""Certificates: payoffs and gains from deviations as fractions, with a check."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from attrs import field, frozen

from regretkit._util._files import FilePath, replace_file
from regretkit._util._validate import quote
from regretkit.evaluation.exact._fractions import Shares
from regretkit.evaluation.exact._verifier import check_certificate
from regretkit.games import NormalFormGame, Profile
from regretkit.games._profile import read_json

Notion: TypeAlias = Literal["value", "nash", "ce", "cce", "efce", "efcce", "nfcce"]
"""The claim of a certificate: the value of a game, or the gaps to an equilibrium."""

_FORMAT = "regretkit certificate 1"
_DIGITS = 4_300
"""Most digits of a numerator or denominator: Python's default limit."""
_NUMBER = re.compile(rf"-?[0-9]{{1,{_DIGITS}}}(/[0-9]{{1,{_DIGITS}}})?")


class Deviation(NamedTuple):
    """A deviation: a player stops following at an information set, with a best continuation.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> Deviation(information_set=0, recommended=1, action=0).named(kuhn_poker().domains[0])
    'J: b -> p'
    """

    information_set: int | None
    """The number of the information set; None for another strategy from the start."""
    recommended: int | None
    """The number of the recommended action; None if the deviation does not depend on it."""
    action: int | None
    """The number of the action played instead."""

    def named(self, domain: Any) -> str:
        """Return the deviation with the labels of a player's set, as ``"J: bet -> pass"``."""
        if self.information_set is None or self.action is None:
            return "another strategy"
        labels = getattr(domain, "simplices", domain).labels
        actions = labels.actions(self.information_set)
        recommended = "" if self.recommended is None else f"{actions[self.recommended]} "
        place = f"{labels.block(self.information_set)}: " if labels.named else ""
        return f"{place}{recommended}-> {actions[self.action]}"


class Part(NamedTuple):
    """A profile of a distribution, and its probability."""

    weight: Fraction
    strategies: tuple[Shares, ...]


@frozen(eq=False)
class Certificate:
    """Payoffs and gains from deviations, as fractions.

    A mediator draws a profile from a distribution. Player i earns exactly ``lower[i]`` by following
    it, and at most ``upper[i]`` by deviations of the notion. The distribution is an equilibrium
    exactly if ``lower == upper``. ``verify`` computes all numbers again from the game.

    Examples
    --------
    >>> from regretkit.evaluation import best_correlated_equilibrium, certify_gaps
    >>> from regretkit.games import chicken
    >>> game = chicken()
    >>> certificate = certify_gaps(game, best_correlated_equilibrium(game), "ce")
    >>> print(certificate)
    ce: player 0 earns 21/4 and gains 0, player 1 earns 21/4 and gains 0
    >>> for deviation, gain in certificate.gains[0].items():
    ...     print(deviation.named(game.domains[0]), gain)
    dare -> dare 0
    dare -> yield -1/4
    yield -> dare 0
    yield -> yield 0
    """

    notion: Notion
    """"value" from ``certify``; "nash", "ce", "cce", "efce", "efcce" or "nfcce" otherwise."""
    lower: tuple[Fraction, ...]
    """The payoff of each player."""
    upper: tuple[Fraction, ...]
    """The most that each player can earn by deviating, also at several information sets."""
    gains: tuple[Mapping[Deviation, Fraction], ...] = field(repr=False)
    """The gain of each single deviation of each player, possibly negative."""
    parts: tuple[Part, ...] = field(repr=False)
    """The distribution: profiles in fractions and their probabilities."""
    fingerprint: str
    """The ``games.fingerprint`` of the game."""
    readings: Mapping[float, Fraction] = field(repr=False)
    """Fractions of payoffs and chance probabilities that are not floats, as 1/10 for 0.1."""

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        """``upper - lower`` of each player, at least 0."""
        return tuple(u - v for u, v in zip(self.upper, self.lower, strict=True))

    @property
    def value(self) -> Fraction:
        """The payoff of player 0: the value of the game if the notion is "value"."""
        return self.lower[0]

    def profile(self, game: Any) -> Profile:
        """Return the first profile of the distribution in floats."""
        strategies = []
        skipped = int(isinstance(game, NormalFormGame))  # normal forms: drop the empty sequence
        for shares, domain in zip(self.parts[0].strategies, game.domains, strict=True):
            weights = np.zeros(skipped + domain.dimension)
            for s, numerator in shares.numerators.items():
                weights[s] = numerator / shares.denominator
            strategies.append(weights[skipped:])
        return Profile(strategies, game.domains, game)

    def verify(self, game: Any) -> None:
        """Check all numbers by fractions, from the terminals or the table of a game.

        A float of the game is read as the simplest fraction within rounding. A ValueError is raised
        if ``game`` is another game, or a number of the certificate is wrong.
        """
        check_certificate(game, self)

    def to_json(self, path: FilePath) -> None:
        """Write a file for ``from_json``, with numbers as ``"-1/18"``."""
        data = {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "readings": {repr(value): str(meant) for value, meant in self.readings.items()},
            "notion": self.notion,
            "lower": [*map(str, self.lower)],
            "upper": [*map(str, self.upper)],
            "gains": [[[*d, str(gain)] for d, gain in own.items()] for own in self.gains],
            "parts": [
                {
                    "weight": str(part.weight),
                    "strategies": [
                        {
                            "denominator": str(x.denominator),
                            "numerators": {str(s): str(n) for s, n in x.numerators.items()},
                        }
                        for x in part.strategies
                    ],
                }
                for part in self.parts
            ],
        }
        replace_file(path, [json.dumps(data).encode()])

    @classmethod
    def from_json(cls, path: FilePath) -> "Certificate":
        """Return the certificate in a file, unchecked: call ``verify``."""
        data: Any = read_json(path)
        try:
            if data["format"] != _FORMAT:
                raise ValueError(f"its format is {quote(data['format'])}")
            return cls(
                data["notion"],
                tuple(map(_fraction, data["lower"])),
                tuple(map(_fraction, data["upper"])),
                tuple(
                    {Deviation(*deviation): _fraction(gain) for *deviation, gain in own}
                    for own in data["gains"]
                ),
                tuple(
                    Part(_fraction(part["weight"]), tuple(map(_shares, part["strategies"])))
                    for part in data["parts"]
                ),
                data["fingerprint"],
                {float(value): _fraction(meant) for value, meant in data["readings"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            problem = f"entry {error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"{path} is not a certificate: {problem}") from error

    def __str__(self) -> str:
        players = enumerate(zip(self.lower, self.gaps, strict=True))
        shown = (f"player {i} earns {_shown(v)} and gains {_shown(gap)}" for i, (v, gap) in players)
        return f"{self.notion}: {', '.join(shown)}"


def _shown(value: Fraction) -> str:
    small = max(map(abs, value.as_integer_ratio())) < 10**20
    return str(value) if small else f"{float(value):.12g}"


def _checked(text: str) -> str:
    # No exponents: a short text such as "1e999999999" would be a huge number.
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"a number must be -?digits(/digits)?, got {quote(text, 40)}")
    return text


def _fraction(text: str) -> Fraction:
    return Fraction(_checked(text))


def _shares(data: Mapping[str, Any]) -> Shares:
    numerators = {int(_checked(s)): int(_checked(n)) for s, n in data["numerators"].items()}
    return Shares(numerators, int(_checked(data["denominator"])))
