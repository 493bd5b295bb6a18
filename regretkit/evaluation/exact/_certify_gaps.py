"""Gaps of given profiles and correlated plans in fractions: any players, any payoffs."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number, quote, vector
from regretkit.evaluation.correlated._distributions import check_distribution, check_probabilities
from regretkit.evaluation.correlated._plans import CorrelatedPlan
from regretkit.evaluation.exact._certificate import (
    Certificate,
    Deviation,
    Notion,
    Part,
    check_digits,
)
from regretkit.evaluation.exact._fractions import (
    Ends,
    Shares,
    as_tree,
    check_size,
    check_time,
    decisions,
    end_of,
    readings,
    simplest_fraction,
)
from regretkit.evaluation.exact._zero_sum import check_solvable
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, fingerprint
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.sets import DecisionTree

_OF_TABLES, _OF_TREES = ("nash", "ce", "cce"), ("nash", "efce", "efcce", "nfcce")


def certify_gaps(
    game: NormalFormGame | ExtensiveFormGame,
    play: Any,
    notion: Notion = "nash",
    *,
    weights: ArrayLike | None = None,
    rounding: float = 1e-12,
    time_limit: float | None = None,
) -> Certificate:
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
        How far a probability may be from the fraction that it stands for, at most 1e-3.
    time_limit
        Give up after about this number of seconds; by default never.

    Raises
    ------
    RuntimeError
        If the time is over, or a fraction has more than 4,300 digits.

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
    allowed = Fraction(number(rounding, "rounding", minimum=0.0, maximum=1e-3))
    known = _OF_TABLES if isinstance(check_solvable(game), NormalFormGame) else _OF_TREES
    if notion not in known:
        raise ValueError(f"notion must be one of {', '.join(known)} here, got {quote(notion)}")
    check_size(game)
    end = end_of(time_limit)
    parts = tuple(p for p in _parts(game, play, notion, weights, allowed, end) if p.weight)
    if notion == "nash" and len(parts) != 1:
        raise ValueError(f"notion 'nash' is of a single profile, got {len(parts)}")
    lower, upper, gains = zip(*_computed(game, notion, parts, end), strict=True)
    return check_digits(
        Certificate(notion, lower, upper, gains, parts, fingerprint(game), readings(game))
    )


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
        probabilities = _rounded(mu.ravel(), allowed)
        for outcome, weight in zip(np.ndindex(mu.shape), probabilities, strict=True):
            yield Part(weight, tuple(Shares({0: 1, 1 + action: 1}, 1) for action in outcome))
    else:
        plan = getattr(play, "plan", play)
        if not isinstance(plan, CorrelatedPlan) or plan.players != tuple(range(game.players)):
            wanted = "a Profile, several and their weights, or a CorrelatedPlan of all players"
            raise TypeError(must_be("play", wanted, play))
        yield from _plans(game, plan, allowed, end)


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
        for sequences, parent in decisions(tree):
            check_time(end)
            if weights[parent]:
                shares = _rounded(behavior[[s - 1 for s in sequences]], allowed)
                for s, share in zip(sequences, shares, strict=True):
                    weights[s] = weights[parent] * share
        unit = math.lcm(*(weight.denominator for weight in weights))
        numerators = {s: int(weight * unit) for s, weight in enumerate(weights) if weight}
        strategies.append(Shares(numerators, unit))
    return tuple(strategies)


def _plans(game: Any, plan: CorrelatedPlan, allowed: Fraction, end: float) -> Iterator[Part]:
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
        check_time(end)
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


_Weighted: TypeAlias = Sequence[tuple[Mapping[int, int], Mapping[int, int]]]
"""For each profile what a player plays, times the probability, and what each sequence earns."""


def _computed(
    game: Any, notion: Notion, parts: tuple[Part, ...], end: float
) -> Iterator[tuple[Fraction, Fraction, Mapping[Deviation, Fraction]]]:
    """Yield for each player what it earns, at most earns by deviating, and each gain."""
    ends, played = Ends.of(game), [[x.numerators for x in p.strategies] for p in parts]
    scales = [p.weight / math.prod(x.denominator for x in p.strategies) for p in parts]
    unit = math.lcm(*(scale.denominator for scale in scales))
    for player, tree in enumerate(ends.trees):
        weighted = []
        for scale, x in zip(scales, played, strict=True):
            check_time(end)
            own = {s: int(scale * unit) * n for s, n in x[player].items()}
            weighted.append((own, _utility(ends, player, x)))
        earned, gap, each = _deviations(tree, notion, weighted, end)
        gains = {d: Fraction(gain, unit * ends.unit) for d, gain in each.items()}
        yield Fraction(earned, unit * ends.unit), Fraction(earned + gap, unit * ends.unit), gains


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
    for j, (sequences, parent) in reversed([*enumerate(points)]):
        check_time(end)
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
