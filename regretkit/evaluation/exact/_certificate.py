"""Certificates of exact equilibria in fractions, and how the numbers of a game are read."""

import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._files import FilePath, replace_file
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.evaluation.exact._verifier import check_certificate
from regretkit.evaluation.exact._zero_sum import check_constant_sum
from regretkit.games import CHANCE, GameTree, NormalFormGame, Profile, fingerprint
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._profile_table import read_json
from regretkit.games.tree._sequences import last_sequences, levels
from regretkit.sets import DecisionTree

_FORMAT = "regretkit certificate 1"
_WITHIN = 2**50
"""A float stands for any fraction as near as this, relative to its size."""
_BYTES_A_FRACTION = 1000
"""Peak memory of a proof and of its check for each history or payoff, rounded up."""


class Shares(NamedTuple):
    """A strategy in fractions: numerators above zero, by coordinate, and their denominator."""

    numerators: Mapping[int, int]
    denominator: int

    @classmethod
    def reduced(cls, numerators: Mapping[int, int], denominator: int) -> "Shares":
        """Return a strategy in lowest terms."""
        common = math.gcd(denominator, *numerators.values())
        kept = {s: n // common for s, n in numerators.items() if n}
        return cls(kept, denominator // common)

    def shifted(self, by: int) -> "Shares":
        """Return a strategy without its first coordinates, or with the empty sequence before."""
        kept = {s - by: n for s, n in self.numerators.items() if s >= by}
        return Shares({0: self.denominator} | kept if by < 0 else kept, self.denominator)

    def is_on(self, tree: DecisionTree) -> bool:
        """Return whether it is a sequence form of this tree."""
        known, whole = self.numerators, range(tree.dimension)
        if not 1 <= self.denominator == known.get(0) or min(known.values()) < 0:
            return False
        if not all(s in whole for s in known):
            return False
        return all(
            sum(known.get(s, 0) for s in sequences) == known.get(parent, 0)
            for sequences, parent in decisions(tree)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; numbers are decimal texts."""
        numerators = {str(s): str(n) for s, n in self.numerators.items()}
        return {"denominator": str(self.denominator), "numerators": numerators}

    @classmethod
    def from_dict(cls, data: Any) -> "Shares":
        """Return what ``to_dict`` described."""
        numerators = {int(s): int(n) for s, n in data["numerators"].items()}
        return cls(numerators, int(data["denominator"]))

    def floats(self, dimension: int) -> Vector:
        """Return it in floats."""
        found = np.zeros(dimension)
        for coordinate, numerator in self.numerators.items():
            found[coordinate] = numerator / self.denominator
        return found


def decisions(tree: DecisionTree) -> Iterator[tuple[range, int]]:
    """Yield the sequences and the parent sequence of each decision point."""
    columns = tree.first_sequence, tree.sizes, tree.parent_sequence
    for first, size, parent in zip(*(column.tolist() for column in columns), strict=True):
        yield range(first, first + size), parent


@frozen(eq=False)
class Certificate:
    """An equilibrium of a two-player zero-sum game in fractions, and its value.

    What player 0's strategy guarantees is equal to the most that is possible against player 1's:
    both are ``value``, without any rounding. ``verify`` computes them again from the game alone.

    Examples
    --------
    >>> from regretkit.evaluation import certify, solve_zero_sum
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> certificate = certify(game, solve_zero_sum(game).profile)
    >>> print(certificate)
    value -1/18, proven by strategies over 3 and 3
    """

    value: Fraction
    """The value to player 0."""
    strategies: tuple[Shares, Shares] = field(repr=False)
    """For each player ``numerators`` by coordinate and their common ``denominator``."""
    fingerprint: str
    """Of the game, as ``games.fingerprint`` returns it."""
    readings: Mapping[float, Fraction] = field(repr=False)
    """The payoffs and chances of the game that stand for other fractions, as 0.1 for 1/10."""

    @classmethod
    def of(cls, game: Any, value: Fraction, strategies: Sequence[Shares]) -> "Certificate":
        """Return the certificate of strategies of a game."""
        first, second = strategies
        return cls(value, (first, second), fingerprint(game), readings(game))

    def verify(self, game: Any) -> None:
        """Compute the proof again, from the histories or the table of a game, in fractions.

        Floats of the game stand for the simplest fractions that rounding leaves room for.

        Raises
        ------
        TypeError, ValueError
            When ``game`` is another game, a strategy is none, or one does not guarantee the value.
        MemoryError
            When the game does not fit into memory as fractions.
        """
        check_constant_sum(game)
        check_size(game)
        check_certificate(game, self._data())

    def profile(self, game: Any) -> Profile:
        """Return the strategies in floats."""
        domains = game.domains
        pairs = zip(self.strategies, domains, strict=True)
        return Profile([shares.floats(d.dimension) for shares, d in pairs], domains, game)

    def to_json(self, path: FilePath) -> None:
        """Write it into a file, which ``from_json`` reads; numbers are decimal texts."""
        replace_file(path, [json.dumps(self._data(), indent=1).encode()])

    def _data(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "readings": as_texts(self.readings),
            "value": str(self.value),
            "strategies": [shares.to_dict() for shares in self.strategies],
        }

    @classmethod
    def from_json(cls, path: FilePath) -> "Certificate":
        """Return the certificate in a file; it proves nothing until ``verify`` has passed.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When it holds no certificate.
        """
        with certificate_data(path, _FORMAT) as data:
            first, second = map(Shares.from_dict, data["strategies"])
            value, meant = Fraction(data["value"]), from_texts(data["readings"])
            return cls(value, (first, second), str(data["fingerprint"]), meant)

    def __str__(self) -> str:
        over = " and ".join(str(shares.denominator) for shares in self.strategies)
        return f"value {self.value}, proven by strategies over {over}"


class _Entries(dict[str, Any]):
    """The entries of a certificate, with the name of the one that was read last."""

    last = "format"

    def __getitem__(self, name: str) -> Any:
        self.last = name
        return super().__getitem__(name)


@contextmanager
def certificate_data(path: FilePath, kind: str) -> Iterator[Any]:
    """Give the data of a certificate's file, and refuse the file where it is no such data."""
    found = read_json(Path(path))
    data = _Entries(found if isinstance(found, dict) else {})
    try:
        if data["format"] != kind:
            raise ValueError(kind)
        yield data
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        problem = f"{path} holds no certificate: its entry {quote(data.last)} is missing or damaged"
        if data.last == "format" and "format" in data:
            problem = f"{path} holds no certificate, but a {quote(data['format'])}"
        raise ValueError(problem) from error


def as_texts(meant: Mapping[float, Fraction]) -> dict[str, str]:
    """Return floats and fractions as they stand in a file."""
    return {repr(value): str(fraction) for value, fraction in meant.items()}


def from_texts(texts: Mapping[str, str]) -> dict[float, Fraction]:
    """Return what ``as_texts`` described."""
    return {float(value): Fraction(fraction) for value, fraction in texts.items()}


# The numbers of a game as fractions


def check_size(game: Any) -> None:
    """Refuse a game whose numbers do not fit into memory as fractions."""
    normal = isinstance(game, NormalFormGame)
    size, of = (game.payoffs.size, "payoffs") if normal else (game.tree.histories, "histories")
    MemoryBudget().require(f"{size:,} {of}", size * _BYTES_A_FRACTION, when="in fractions")


def too_long(numbers: Iterable[Fraction]) -> str:
    """Return how fractions have more digits than Python writes, nothing where they have not."""
    bits = max(max(map(abs, value.as_integer_ratio())).bit_length() for value in numbers)
    digits, most = int(bits * math.log10(2.0)), sys.get_int_max_str_digits()
    return f"fractions have {digits:,} digits, and Python writes {most:,}" * (0 < most < digits)


def check_time(end: float) -> None:
    """Raise a TimeoutError at some time of ``time.monotonic``."""
    if time.monotonic() >= end:
        raise TimeoutError


def simplest_fraction(value: float, allowed: Fraction | None = None) -> Fraction:
    """Return the first convergent of a number's continued fraction that is near enough.

    That is as far as is allowed, or as rounding leaves room for.
    """
    exact = Fraction(value)
    if allowed is None:
        allowed = abs(exact) / _WITHIN
    before, last, rest = (0, 1), (1, 0), exact
    while True:
        whole = math.floor(rest)
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        found = Fraction(*last)
        if abs(found - exact) <= allowed:
            return found
        rest = 1 / (rest - whole)


def fractions(numbers: Vector) -> NDArray[np.object_]:
    """Return numbers as their simplest fractions, equal ones as one object."""
    different, place = np.unique(numbers, return_inverse=True)
    found = np.empty(different.size, dtype=object)
    found[:] = [simplest_fraction(float(value)) for value in different]
    return np.asarray(found[place.reshape(numbers.shape)], dtype=object)


def readings(game: Any) -> dict[float, Fraction]:
    """Return which fractions the payoffs and chances of a game stand for that are others."""
    if isinstance(game, NormalFormGame):
        numbers = game.payoffs.ravel()
    else:
        tree = game.tree
        drawn = tree.player[tree.parent[1:]] == CHANCE
        numbers = np.append(tree.payoffs.ravel(), tree.probability[1:][drawn])
    pairs = ((value, simplest_fraction(value)) for value in np.unique(numbers).tolist())
    return {value: fraction for value, fraction in pairs if fraction != value}


def reach_in_fractions(tree: GameTree) -> NDArray[np.object_]:
    """Return the probability of chance's moves to each history."""
    reach = np.empty(tree.histories, dtype=object)
    reach[:] = Fraction(1)
    drawn = np.zeros(tree.histories, dtype=bool)
    drawn[1:] = tree.player[tree.parent[1:]] == CHANCE
    probabilities = fractions(np.where(drawn, tree.probability, 1.0))
    totals: dict[int, Fraction] = defaultdict(Fraction)
    for history in np.flatnonzero(drawn).tolist():
        totals[int(tree.parent[history])] += probabilities[history]
    for history, total in totals.items():
        if total != 1:
            raise ValueError(
                f"chances at {quote(tree.history_path(history))} sum to {total} as fractions; "
                "pass floats nearest to fractions that sum to one"
            )
    for level in levels(tree):
        reach[level] = reach[tree.parent[level]] * probabilities[level]
    return reach


def as_tree(domain: Any) -> DecisionTree:
    """Return the tree of a player, in a normal form that of a single decision."""
    return domain if isinstance(domain, DecisionTree) else DecisionTree([0], domain.sizes)


@frozen(eq=False)
class Ends:
    """The terminals of a game, and what they pay times chance, as multiples of ``1 / unit``."""

    trees: tuple[DecisionTree, ...]
    last: list[list[int]]
    """For each player, the last sequence at each terminal."""
    paid: list[list[int]]
    unit: int

    @classmethod
    def of(cls, game: Any) -> "Ends":
        """Return those of a game; in a normal form, its outcomes."""
        paid: Any
        if isinstance(game, NormalFormGame):
            last = np.indices(game.payoffs.shape[1:]).reshape(game.players, -1) + 1
            paid = fractions(game.payoffs).reshape(game.players, -1)
        else:
            ends = game.tree.terminals
            last = last_sequences(game.tree)[:, ends]
            paid = fractions(game.tree.payoffs.T) * reach_in_fractions(game.tree)[ends]
        unit = math.lcm(*{value.denominator for value in paid.flat})
        whole = [[v.numerator * (unit // v.denominator) for v in own] for own in paid]
        return cls(tuple(map(as_tree, game.domains)), last.tolist(), whole, unit)
