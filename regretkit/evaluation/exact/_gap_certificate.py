"""Gaps of given profiles and correlated plans in fractions: any players, any payoffs."""

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from regretkit._util._files import FilePath, replace_file
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number, quote, vector
from regretkit.evaluation.correlated._distributions import check_distribution, check_probabilities
from regretkit.evaluation.correlated._plans import CorrelatedPlan
from regretkit.evaluation.exact._certificate import (
    Certificate,
    Ends,
    Shares,
    as_texts,
    as_tree,
    certificate_data,
    check_size,
    check_time,
    decisions,
    from_texts,
    readings,
    simplest_fraction,
    too_long,
)
from regretkit.evaluation.exact._verifier import check_certificate
from regretkit.evaluation.exact._zero_sum import check_solvable
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, fingerprint
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._profile_table import read_json
from regretkit.sets import DecisionTree

Notion: TypeAlias = Literal["nash", "ce", "cce", "efce", "efcce", "nfcce"]
"""Of which equilibrium gaps are measured."""

Item = TypeVar("Item")

_FORMAT = "regretkit gap certificate 1"
_OF_TABLES, _OF_TREES = ("nash", "ce", "cce"), ("nash", "efce", "efcce", "nfcce")


class Deviation(NamedTuple):
    """When a player stops following, and the action that it takes then; the best comes after.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> Deviation(information_set=0, recommended=1, action=0).named(kuhn_poker().domains[0])
    'J: b -> p'
    """

    information_set: int | None
    """The number of the information set; None for a strategy that is chosen before all."""
    recommended: int | None
    """The number of the recommended action; None before the player knows it."""
    action: int | None
    """The number of the action that it takes instead."""

    def named(self, domain: Any) -> str:
        """Return it in the names of a player's set, as ``"J: bet -> pass"``."""
        if self.information_set is None or self.action is None:
            return "another strategy"
        labels = getattr(domain, "simplices", domain).labels
        actions = labels.actions(self.information_set)
        told = "" if self.recommended is None else f"{actions[self.recommended]} "
        place = f"{labels.block(self.information_set)}: " if labels.named else ""
        return f"{place}{told}-> {actions[self.action]}"


class Part(NamedTuple):
    """One of the profiles of a distribution, and its probability."""

    weight: Fraction
    strategies: tuple[Shares, ...]


@frozen(eq=False)
class GapCertificate:
    """What each player gains by each deviation from a profile or a correlated plan, in fractions.

    Player i earns ``lower[i]`` by following, and at most ``upper[i]`` by deviations of the notion,
    without any rounding; it is an equilibrium where both are equal for all players. ``verify``
    computes all of it again from the game.

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
    """Of which equilibrium: "nash", "ce", "cce", "efce", "efcce" or "nfcce"."""
    lower: tuple[Fraction, ...]
    """What each player earns."""
    upper: tuple[Fraction, ...]
    """The most that each player can earn by deviating, at several information sets if it likes."""
    gains: tuple[Mapping[Deviation, Fraction], ...] = field(repr=False)
    """For each player what each single deviation gains; it may be negative."""
    parts: tuple[Part, ...] = field(repr=False)
    """The distribution: profiles in fractions and their probabilities."""
    fingerprint: str
    """Of the game, as ``games.fingerprint`` returns it."""
    readings: Mapping[float, Fraction] = field(repr=False)
    """The payoffs and chances of the game that stand for other fractions, as 0.1 for 1/10."""

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        """``upper - lower`` of each player, at least 0."""
        return tuple(u - v for u, v in zip(self.upper, self.lower, strict=True))

    def verify(self, game: Any) -> None:
        """Compute all numbers again, from the terminals or the table of a game, in fractions.

        Raises
        ------
        TypeError, ValueError
            When ``game`` is another game, a strategy is none, or a number is another one.
        MemoryError
            When the game does not fit into memory as fractions.
        """
        check_solvable(game)
        check_size(game)
        check_certificate(game, self._data())

    def to_json(self, path: FilePath) -> None:
        """Write it into a file, which ``from_json`` reads; numbers are decimal texts."""
        replace_file(path, [json.dumps(self._data()).encode()])

    def _data(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "readings": as_texts(self.readings),
            "notion": self.notion,
            "lower": [str(value) for value in self.lower],
            "upper": [str(value) for value in self.upper],
            "gains": [[[*d, str(gain)] for d, gain in own.items()] for own in self.gains],
            "parts": [
                {"weight": str(part.weight), "strategies": [x.to_dict() for x in part.strategies]}
                for part in self.parts
            ],
        }

    @classmethod
    def from_json(cls, path: FilePath) -> "GapCertificate":
        """Return the certificate in a file; it proves nothing until ``verify`` has passed.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When it holds no certificate.
        """
        with certificate_data(path, _FORMAT) as data:
            return cls(
                data["notion"],
                tuple(Fraction(str(value)) for value in data["lower"]),
                tuple(Fraction(str(value)) for value in data["upper"]),
                tuple(
                    {Deviation(*deviation): Fraction(str(gain)) for *deviation, gain in own}
                    for own in data["gains"]
                ),
                tuple(
                    Part(
                        Fraction(str(part["weight"])),
                        tuple(map(Shares.from_dict, part["strategies"])),
                    )
                    for part in data["parts"]
                ),
                str(data["fingerprint"]),
                from_texts(data["readings"]),
            )

    def __str__(self) -> str:
        players = enumerate(zip(self.lower, self.gaps, strict=True))
        told = (f"player {i} earns {_shown(v)} and gains {_shown(gap)}" for i, (v, gap) in players)
        return f"{self.notion}: {', '.join(told)}"


def _shown(value: Fraction) -> str:
    small = max(map(abs, value.as_integer_ratio())) < 10**20
    return str(value) if small else f"{float(value):.12g}"


def read_certificate(path: FilePath) -> Certificate | GapCertificate:
    """Return the certificate in a file, of whichever kind it is."""
    data = read_json(Path(path))
    is_of_gaps = isinstance(data, dict) and data.get("format") == _FORMAT
    return (GapCertificate if is_of_gaps else Certificate).from_json(path)


def certify_gaps(
    game: NormalFormGame | ExtensiveFormGame,
    play: Any,
    notion: Notion = "nash",
    *,
    weights: ArrayLike | None = None,
    rounding: float = 1e-12,
    time_limit: float | None = None,
) -> GapCertificate:
    """Return what the players gain by deviating from a profile or a correlated plan, exactly.

    Probabilities become the first fractions within ``rounding`` that their continued fractions
    give, 0.3333333333333 for 1/3, and every distribution sums to one; payoffs and chances are the
    simplest fractions that rounding leaves room for. All that follows is arithmetic of whole
    numbers. With P the probability that the recommended strategies contain some sequences, and
    c(z) chance's, the deviation that plays q after trigger k, whose sequence is r, gains

        sum over z of c(z) u(z) (P(r, z_-i) q[z_i] - P(z))      over terminals z after the trigger

    and the best q follows from the last information sets to the first.

    Parameters
    ----------
    game
        A game of any number of players and any payoffs, of up to a few hundred sequences.
    play
        A profile; with ``weights``, several profiles, of which one is drawn. For ``"ce"`` and
        ``"cce"`` also a ``CorrelatedEquilibrium`` or the probability of every outcome; in a tree a
        ``CorrelatedPlan``, or the equilibrium that it is of, which becomes at most as many joint
        plans as its mediator has sequences.
    notion
        ``"nash"`` for a single profile; in a normal form ``"ce"`` and ``"cce"``, in a tree
        ``"efce"``, ``"efcce"`` and ``"nfcce"``, as ``best_extensive_form_correlated_equilibrium``
        defines them.
    weights
        The probability of each profile.
    rounding
        How far a probability may be from the fraction that it stands for.
    time_limit
        Give up after about this number of seconds; by default never.

    Raises
    ------
    TypeError, ValueError
        When the game, the play or the notion is none of these, or chances do not sum to one as
        fractions.
    MemoryError
        When the game in fractions does not fit into memory.
    RuntimeError
        When time was used up, or fractions have more digits than Python writes, by default 4,300;
        with the gaps that are proven until then.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, sheriff
    >>> from regretkit.evaluation import best_extensive_form_correlated_equilibrium, solve_zero_sum
    >>> poker = kuhn_poker()
    >>> certify_gaps(poker, solve_zero_sum(poker).profile).upper
    (Fraction(-1, 18), Fraction(1, 18))
    >>> game = sheriff(items=2, bribe=1, rounds=1)
    >>> best = best_extensive_form_correlated_equilibrium(game)
    >>> certificate = certify_gaps(game, best, "efce")
    >>> certificate.gaps, sum(certificate.lower)
    ((Fraction(0, 1), Fraction(0, 1)), Fraction(10, 7))

    References
    ----------
    The deviations are those of von Stengel and Forges (2008), "Extensive-form correlated
    equilibrium: definition and computational complexity", Mathematics of Operations Research 33(4).
    """
    check_solvable(game)
    allowed = Fraction(number(rounding, "rounding", minimum=0.0, maximum=1e-3))
    _check_notion(game, notion)
    limit = math.inf if time_limit is None else number(time_limit, "time_limit", minimum=0.0)
    end, found = time.monotonic() + limit, list[_Found]()
    check_size(game)
    try:
        every = _parts(game, play, notion, weights, allowed, end)
        parts = tuple(part for part in _timely(every, end) if part.weight)
        found.extend(_computed(game, notion, parts, end))  # and keeps those before the end
    except TimeoutError:
        problem = f"no proof within time_limit={limit:g} seconds"
        raise RuntimeError(f"{problem}; {_told(found)}") from None
    lower, upper, gains = zip(*found, strict=True)
    numbers = [*lower, *upper, *(Fraction(1, x.denominator) for p in parts for x in p.strategies)]
    if problem := too_long(numbers):
        advice = f"pass a larger rounding than {rounding:g}"
        raise RuntimeError(f"no proof that can be saved: {problem}; {advice}; {_told(found)}")
    return GapCertificate(notion, lower, upper, gains, parts, fingerprint(game), readings(game))


_Found: TypeAlias = tuple[Fraction, Fraction, Mapping[Deviation, Fraction]]
"""What a player earns, at most earns by deviating, and gains by each deviation."""


def _told(found: Sequence[_Found]) -> str:
    gaps = (
        f"player {i} gains {_shown(upper - lower)}" for i, (lower, upper, _) in enumerate(found)
    )
    return ", ".join(gaps) or "no gap is known yet"


def _timely(items: Iterable[Item], end: float) -> Iterator[Item]:
    """Yield items until some time."""
    for item in items:
        check_time(end)
        yield item


def _check_notion(game: Any, notion: object) -> None:
    known = _OF_TABLES if isinstance(game, NormalFormGame) else _OF_TREES
    if notion not in known:
        raise ValueError(f"notion must be one of {', '.join(known)} here, got {quote(notion)}")


# The distribution in fractions


def _parts(
    game: Any, play: Any, notion: Notion, weights: Any, allowed: Fraction, end: float
) -> Iterator[Part]:
    """Yield the profiles of a distribution, and their probabilities."""
    if weights is not None:
        given = check_probabilities(vector(weights, len(play), "weights"), "weights")
        for weight, profile in zip(_rounded(given, allowed), play, strict=True):
            yield Part(weight, as_fractions(game, profile, allowed, end))
    elif isinstance(play, Profile) or notion == "nash":
        yield Part(Fraction(1), as_fractions(game, play, allowed, end))
    elif isinstance(game, NormalFormGame):
        mu = check_distribution(game, getattr(play, "distribution", play))
        for outcome, weight in zip(
            np.ndindex(mu.shape), _rounded(mu.ravel(), allowed), strict=True
        ):
            yield Part(weight, tuple(Shares({action: 1}, 1) for action in outcome))
    else:
        plan = getattr(play, "plan", play)
        if not isinstance(plan, CorrelatedPlan) or plan.players != tuple(range(game.players)):
            wanted = "a Profile, several and their weights, or a CorrelatedPlan of all players"
            raise TypeError(must_be("play", wanted, play))
        yield from _plans(game, plan, allowed)


def _rounded(probabilities: Vector, allowed: Fraction) -> list[Fraction]:
    """Return fractions near some probabilities that sum to one; the largest takes the rest."""
    found = [simplest_fraction(float(p), allowed) for p in probabilities]
    found[int(probabilities.argmax())] += 1 - sum(found)
    return found


def as_fractions(
    game: Any, profile: ProfileLike, allowed: Fraction, end: float = math.inf
) -> tuple[Shares, ...]:
    """Return the strategies of a profile in fractions."""
    strategies = []
    for domain, strategy in zip(game.domains, as_vectors(game, profile), strict=True):
        tree = as_tree(domain)
        behavior = strategy if domain is not tree else tree.behavior(strategy)
        weights = [Fraction(1)] + [Fraction(0)] * behavior.size
        for sequences, parent in _timely(decisions(tree), end):
            if weights[parent]:
                shares = _rounded(behavior[[s - 1 for s in sequences]], allowed)
                for s, share in zip(sequences, shares, strict=True):
                    weights[s] = weights[parent] * share
        if domain is not tree:
            del weights[0]
        unit = math.lcm(*(weight.denominator for weight in weights))
        numerators = {s: int(weight * unit) for s, weight in enumerate(weights) if weight}
        strategies.append(Shares(numerators, unit))
    return tuple(strategies)


def _plans(game: Any, plan: CorrelatedPlan, allowed: Fraction) -> Iterator[Part]:
    """Yield joint plans of a mediator that decides as a correlated plan does.

    One after the other has as much probability as the flow through the DAG leaves to it, so that
    each takes the last of some sequence's.
    """
    domain, sets = plan._dag.domain, plan._dag.information_sets.T.tolist()
    edges, firsts = np.cumsum(domain.parent_counts)[:-1], domain.first_sequence
    columns = np.split(domain.parent_sequences, edges), firsts.tolist(), domain.sizes.tolist()
    points = [
        (before.tolist(), range(first, first + size), *at)
        for before, first, size, at in zip(*columns, sets, strict=True)
    ]
    behavior = np.append(1.0, domain.behavior(plan.weights))
    flow = [Fraction(1)] + [Fraction(0)] * domain.simplices.dimension
    for before, sequences, *_ in points:
        if inflow := sum(flow[s] for s in before):
            for s, share in zip(sequences, _rounded(behavior[sequences], allowed), strict=True):
                flow[s] = inflow * share
    while flow[0]:
        taken, choices = {0}, [[0] * len(tree.sizes) for tree in game.domains]
        for before, sequences, player, information_set in points:
            if not taken.isdisjoint(before):
                likeliest = max(sequences, key=flow.__getitem__)
                taken.add(likeliest)
                choices[player][information_set] = likeliest - sequences[0]
        weight = min(flow[s] for s in taken)
        for s in taken:
            flow[s] -= weight
        trees = zip(game.domains, choices, strict=True)
        yield Part(weight, tuple(_pure(tree, actions) for tree, actions in trees))


def _pure(tree: DecisionTree, actions: Sequence[int]) -> Shares:
    numerators = {0: 1}
    for (sequences, parent), action in zip(decisions(tree), actions, strict=True):
        if parent in numerators:
            numerators[sequences[action]] = 1
    return Shares(numerators, 1)


# What deviations gain


def _utility(ends: Ends, player: int, strategies: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return what each sequence of a player earns against the numerators of the others."""
    earned: dict[int, int] = defaultdict(int)
    others = [*zip(strategies, ends.last, strict=True)]
    del others[player]
    for end, (s, paid) in enumerate(zip(ends.last[player], ends.paid[player], strict=True)):
        for x, last in others:
            paid = paid and paid * x.get(last[end], 0)
        if paid:
            earned[s] += paid
    return earned


def _computed(game: Any, notion: Notion, parts: tuple[Part, ...], end: float) -> Iterator[_Found]:
    """Yield what each player earns and gains."""
    if notion == "nash" and len(parts) != 1:
        raise ValueError(f"notion 'nash' is of a single profile, got {len(parts)}")
    shift, played, scales = isinstance(game, NormalFormGame), [], []
    for weight, strategies in parts:
        whole = [x.shifted(-shift) for x in strategies]
        played.append([x.numerators for x in whole])
        scales.append(weight / math.prod(x.denominator for x in whole))
    unit, ends = math.lcm(*(scale.denominator for scale in scales)), Ends.of(game)
    for player, tree in enumerate(ends.trees):
        weighted = [
            ({s: int(scale * unit) * n for s, n in x[player].items()}, _utility(ends, player, x))
            for scale, x in _timely(zip(scales, played, strict=True), end)
        ]
        earned, gap, each = _deviations(tree, notion, weighted, end)
        gains = {d: Fraction(gain, unit * ends.unit) for d, gain in each.items()}
        yield Fraction(earned, unit * ends.unit), Fraction(earned + gap, unit * ends.unit), gains


_Weighted: TypeAlias = Sequence[tuple[Mapping[int, int], Mapping[int, int]]]
"""For each profile what a player plays, times the probability, and what each sequence earns."""


def _deviations(
    tree: DecisionTree, notion: Notion, weighted: _Weighted, end: float
) -> tuple[int, int, dict[Deviation, int]]:
    """Return what a player earns, what the best deviation gains, and what each one gains."""
    points, coarse = [*decisions(tree)], notion not in ("ce", "efce")
    followed: dict[int, int] = defaultdict(int)
    for x, earned in weighted:
        for s in x.keys() & earned.keys():
            followed[s] += x[s] * earned[s]
    for sequences, parent in reversed(points):
        followed[parent] += sum(followed[s] for s in sequences)
    if notion == "nfcce":
        gain = _best(points, range(len(points)), weighted, 0)[0] - followed[0]
        gain += sum(x[0] * earned.get(0, 0) for x, earned in weighted)
        return followed[0], max(gain, 0), {Deviation(None, None, None): gain}
    gains: dict[Deviation, int] = {}
    together: dict[int, int] = defaultdict(int)  # the most that triggers after a sequence gain
    regions = _regions(tree)
    for j, (sequences, parent) in _timely(reversed([*enumerate(points)]), end):
        largest = []
        for told, source in [(None, parent)] if coarse else enumerate(sequences):
            lost = sum(followed[s] for s in sequences) if told is None else followed[source]
            best = _best(points, regions[j], weighted, source)
            found = [best[s] - lost for s in sequences]
            gains |= {Deviation(j, told, action): gain for action, gain in enumerate(found)}
            largest.append(max(found))
        later = [together[s] for s in sequences]
        together[parent] += max(largest[0], sum(later)) if coarse else sum(map(max, largest, later))
    return followed[0], together[0], dict(sorted(gains.items()))


def _best(
    points: Sequence[tuple[range, int]], region: Sequence[int], weighted: _Weighted, source: int
) -> dict[int, int]:
    """Return the most that each sequence of some points earns where a sequence is recommended."""
    values: dict[int, int] = defaultdict(int)
    own = [s for j in region for s in points[j][0]]
    for x, earned in weighted:
        if share := x.get(source, 0):
            for s in own:
                if s in earned:
                    values[s] += share * earned[s]
    for j in reversed(region):
        sequences, parent = points[j]
        values[parent] += max(values[s] for s in sequences)
    return values


def _regions(tree: DecisionTree) -> list[list[int]]:
    """Return for each decision point those at or after it, in their order."""
    owner = tree.point_of_sequence
    before = owner[tree.parent_sequence].tolist()
    regions: list[list[int]] = [[] for _ in before]
    for j in range(len(before)):
        above = j
        while above >= 0:
            regions[above].append(j)
            above = before[above]
    return regions
