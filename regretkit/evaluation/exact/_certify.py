"""Exact certificates: gaps of profiles and plans, and equilibria of zero-sum games."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number, quote, vector
from regretkit.evaluation.correlated._distributions import check_distribution, check_probabilities
from regretkit.evaluation.correlated._plans import CorrelatedPlan
from regretkit.evaluation.exact._certificate import Certificate, Deviation, Notion, Part
from regretkit.evaluation.exact._fractions import (
    ExactGame,
    Point,
    Shares,
    best_values,
    simplest_fraction,
)
from regretkit.evaluation.exact._linear_programs import check_constant_sum, check_form
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, fingerprint
from regretkit.games._profile import ProfileLike, as_vectors
from regretkit.games.public import PublicGame

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
    """Return the players' exact gains from deviating from a profile or a correlated plan.

    Each probability becomes the first convergent of its continued fraction within ``rounding``, and
    the largest of a distribution is adjusted so that the sum is one. Payoffs and chance
    probabilities are read as the simplest fractions within rounding. Let P be the probability that
    the recommended strategies contain given sequences, and c(z) the probability of chance's
    actions. The deviation to q after trigger k, with sequence r, gains

        sum over z of c(z) u(z) (P(r, z_-i) q[z_i] - P(z))      over terminals z after the trigger

    The best q follows by backward induction.

    Parameters
    ----------
    game
        A game with any number of players and any payoffs, with up to a few hundred sequences.
    play
        A profile, or a sequence of profiles with their ``weights``. For ``"ce"`` and ``"cce"`` also
        a ``CorrelatedEquilibrium`` or the probability of every outcome. For trees also a
        ``CorrelatedPlan`` or its equilibrium, which is split into at most as many joint plans as
        its mediator has sequences.
    notion
        ``"nash"`` for a single profile. ``"ce"`` or ``"cce"`` in a normal form. ``"efce"``,
        ``"efcce"`` or ``"nfcce"`` in a tree, see ``best_extensive_form_correlated_equilibrium``.
    weights
        The probability of each profile.
    rounding
        The largest distance between a probability and its fraction, at most 1e-3.
    time_limit
        Raise a RuntimeError after about this number of seconds; by default never.

    Examples
    --------
    >>> from regretkit.games import sheriff
    >>> from regretkit.evaluation import best_extensive_form_correlated_equilibrium
    >>> game = sheriff(items=2, bribe=1, rounds=1)
    >>> best = best_extensive_form_correlated_equilibrium(game)
    >>> certificate = certify_gaps(game, best, "efce")
    >>> certificate.gaps, sum(certificate.lower)
    ((Fraction(0, 1), Fraction(0, 1)), Fraction(10, 7))

    References
    ----------
    von Stengel and Forges (2008), "Extensive-form correlated equilibrium: definition and
    computational complexity", Mathematics of Operations Research 33(4), for the deviations.
    """
    allowed = Fraction(number(rounding, "rounding", minimum=0.0, maximum=1e-3))
    known = _OF_TABLES if isinstance(check_form(game), NormalFormGame) else _OF_TREES
    if notion not in known:
        raise ValueError(
            f"notion must be one of {', '.join(known)} for this game, got {quote(notion)}"
        )
    exact = ExactGame.of(game, time_limit)
    parts = tuple(p for p in _parts(game, exact, play, notion, weights, allowed) if p.weight)
    if notion == "nash" and len(parts) != 1:
        raise ValueError(f"notion 'nash' needs a single profile, got {len(parts)}")
    return _proven(game, exact, notion, parts)


# Distributions as fractions


def _parts(
    game: Any, exact: ExactGame, play: Any, notion: Notion, weights: Any, allowed: Fraction
) -> Iterator[Part]:
    """Yield the profiles of a distribution with their probabilities."""
    if weights is not None:
        given = check_probabilities(vector(weights, len(play), "weights"), "weights")
        for weight, profile in zip(_rounded(given, allowed), play, strict=True):
            yield Part(weight, _as_fractions(game, exact, profile, allowed))
    elif isinstance(play, Profile) or notion == "nash":
        yield Part(Fraction(1), _as_fractions(game, exact, play, allowed))
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
        yield from _plans(exact, plan, allowed)


def _rounded(probabilities: Vector, allowed: Fraction) -> list[Fraction]:
    """Return fractions that sum to one, within ``allowed`` except for the largest one."""
    found = [simplest_fraction(float(p), allowed) for p in probabilities]
    found[int(probabilities.argmax())] += 1 - sum(found)
    return found


def _as_fractions(
    game: Any, exact: ExactGame, profile: ProfileLike, allowed: Fraction
) -> tuple[Shares, ...]:
    """Return the strategies of a profile as fractions."""
    strategies, given = [], zip(exact.trees, exact.points, as_vectors(game, profile), strict=True)
    for tree, points, strategy in given:
        normal = isinstance(game, NormalFormGame)
        behavior = strategy if normal else tree.behavior(strategy)
        weights = [Fraction(1)] + [Fraction(0)] * behavior.size
        for sequences, parent in points:
            exact.check_time()
            if weights[parent]:
                shares = _rounded(behavior[[s - 1 for s in sequences]], allowed)
                for s, share in zip(sequences, shares, strict=True):
                    weights[s] = weights[parent] * share
        unit = math.lcm(*(weight.denominator for weight in weights))
        strategies.append(Shares.reduced({s: int(w * unit) for s, w in enumerate(weights)}, unit))
    return tuple(strategies)


def _plans(exact: ExactGame, plan: CorrelatedPlan, allowed: Fraction) -> Iterator[Part]:
    """Yield joint plans with the weights that add up to a correlated plan.

    Each joint plan removes the largest possible flow from the DAG, so at least one more sequence
    has no flow afterwards.
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
        exact.check_time()
        taken, choices = {0}, [[0] * len(own) for own in exact.points]
        for before, sequences, player, information_set in points:
            if not taken.isdisjoint(before):
                likeliest = max(sequences, key=flow.__getitem__)
                taken.add(likeliest)
                choices[player][information_set] = likeliest - sequences[0]
        weight = min(flow[s] for s in taken)
        for s in taken:
            flow[s] -= weight
        yield Part(weight, tuple(map(_pure, exact.points, choices)))


def _pure(points: Sequence[Point], actions: Sequence[int]) -> Shares:
    numerators = {0: 1}
    for (sequences, parent), action in zip(points, actions, strict=True):
        if parent in numerators:
            numerators[sequences[action]] = 1
    return Shares(numerators, 1)


# Gains from deviations

_Played: TypeAlias = Sequence[tuple[Mapping[int, int], Mapping[int, int]]]
"""A player's strategy in each profile, times the profile's weight, and its utility."""


def _proven(game: Any, exact: ExactGame, notion: Notion, parts: tuple[Part, ...]) -> Certificate:
    """Return the certificate of a distribution over profiles."""
    numerators = [[x.numerators for x in part.strategies] for part in parts]
    scales = [p.weight / math.prod(x.denominator for x in p.strategies) for p in parts]
    unit = math.lcm(*(scale.denominator for scale in scales))
    found = []
    for player, points in enumerate(exact.points):
        played = []
        for scale, x in zip(scales, numerators, strict=True):
            exact.check_time()
            own = {s: int(scale * unit) * n for s, n in x[player].items()}
            played.append((own, exact.utility(player, x)))
        earned, gap, each = _deviations(exact, points, notion, played)
        gains = {d: Fraction(gain, unit * exact.unit) for d, gain in each.items()}
        ends = (Fraction(value, unit * exact.unit) for value in (earned, earned + gap))
        found.append((*ends, gains))
    lower, upper, gains_of = zip(*found, strict=True)
    return Certificate(notion, lower, upper, gains_of, parts, fingerprint(game), exact.readings)


def _deviations(
    exact: ExactGame, points: Sequence[Point], notion: Notion, played: _Played
) -> tuple[int, int, dict[Deviation, int]]:
    """Return a player's payoff, its best gain, and the gain of each single deviation."""
    followed: dict[int, int] = defaultdict(int)
    for x, earned in played:
        for s in x.keys() & earned.keys():
            followed[s] += x[s] * earned[s]
    for sequences, parent in reversed(points):
        followed[parent] += sum(followed[s] for s in sequences)
    if notion in ("value", "nfcce"):
        gain = best_values(points, _recommended(played, 0))[0] - followed[0]
        return followed[0], max(gain, 0), {Deviation(None, None, None): gain}
    gains: dict[Deviation, int] = {}
    together: dict[int, int] = defaultdict(int)  # best gain of all triggers after a sequence
    after: dict[int, list[Point]] = defaultdict(list)  # decision points after a sequence
    coarse = notion not in ("ce", "efce")
    for j, (sequences, parent) in reversed([*enumerate(points)]):
        exact.check_time()
        region = [points[j], *(point for s in sequences for point in after[s])]
        after[parent] = region + after[parent]
        own = {s for at, _ in region for s in at}
        largest = []
        for recommended, source in [(None, parent)] if coarse else enumerate(sequences):
            lost = sum(followed[s] for s in (sequences if coarse else [source]))
            best = best_values(region, _recommended(played, source, own))
            alone = [best[s] - lost for s in sequences]
            gains |= {Deviation(j, recommended, action): gain for action, gain in enumerate(alone)}
            largest.append(max(alone))
        # Coarse: G[j] = max(best trigger at j, sum over s of G[s]).
        # Otherwise: G[j] = sum over recommended s of max(best trigger at s, G[s]).
        later = [together[s] for s in sequences]
        together[parent] += max(largest[0], sum(later)) if coarse else sum(map(max, largest, later))
    return followed[0], together[0], dict(sorted(gains.items()))


def _recommended(played: _Played, source: int, own: Set[int] | None = None) -> dict[int, int]:
    """Return the utilities in the profiles that recommend ``source``, of sequences in ``own``."""
    values: dict[int, int] = defaultdict(int)
    for x, earned in played:
        if share := x.get(source, 0):
            for s in earned.keys() if own is None else earned.keys() & own:
                values[s] += share * earned[s]
    return values


# Values of zero-sum games


_LEAST = (1e-8, 0.0)
"""Thresholds of probabilities for supports, tried in order."""
_TIGHT = 1e-11
"""Largest loss of an action that counts as best, relative to the largest payoff."""
_DIGITS = (4, 10, 16, 24, 36, 50)
"""Binary digits of free unknowns, tried in order."""

Row: TypeAlias = dict[int, int]
"""A sparse row of integers, by column."""


def certify(game: Any, profile: ProfileLike, *, time_limit: float | None = None) -> Certificate:
    """Return an exact equilibrium of a zero-sum game, which proves its value.

    Payoffs and chance probabilities are read as the simplest fractions within rounding: 0.1 as
    1/10. The profile should be an equilibrium up to rounding, such as from ``finish`` or
    ``solve_zero_sum``. The linear system of ``finish`` for the supports of the profile determines
    each player's strategy. Here it is solved in integers:

    1. Elimination modulo 2^31 - 1 selects independent equations.
    2. Free unknowns become short binary fractions near the profile.
    3. A factorization in floats gives the other unknowns, 30 binary digits at a time, with exact
       residuals.
    4. Integer best responses prove the result: the payoff that player 0 guarantees *equals* the
       largest payoff against player 1's strategy.

    Parameters
    ----------
    game
        A constant-sum game of two players. The certificate of a public game is for its tree: pass
        ``game.to_tree()`` to ``verify``.
    profile
        A strategy for each player, as ``ExactSolution.profile``.
    time_limit
        Stop after about this number of seconds; by default never.

    Raises
    ------
    ValueError
        If the payoffs sum to a constant only up to rounding.
    RuntimeError
        If the search finds no equilibrium with these supports, or reaches the time limit. Then
        ``certify_gaps`` bounds the value by the gaps of the profile.

    Examples
    --------
    >>> from regretkit.evaluation import solve_zero_sum
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> certificate = certify(game, solve_zero_sum(game).profile)
    >>> print(certificate)
    value: player 0 earns -1/18 and gains 0, player 1 earns 1/18 and gains 0
    >>> certificate.verify(game)

    References
    ----------
    Wan (2006), "An algorithm to solve integer linear systems exactly using numerical methods",
    Journal of Symbolic Computation 41(6), for the refinement.
    """
    given, problem = as_vectors(check_constant_sum(game, public=True), profile), ""
    if isinstance(game, PublicGame):
        played, named = Profile(given, game.domains, game), list[Any]()
        for i, domain in enumerate(game.domains):
            names = map(domain.simplices.labels.block, range(domain.points))
            named.append({name: played[i, j] for j, name in enumerate(names)})
        game = game.to_tree()
        given = as_vectors(game, named)
    exact = ExactGame.of(game, time_limit)
    if len(exact.totals) > 1:
        first, second, *_ = sorted(exact.totals)
        raise ValueError(
            f"payoffs must sum to a constant as fractions, got sums {first} and {second} in "
            f"{quote(game)}; certify_gaps takes any payoffs"
        )
    for minimum in _LEAST:
        try:
            strategies = _equilibrium(game, exact, given, minimum)
            return _proven(game, exact, "value", (Part(Fraction(1), strategies),))
        except RuntimeError as error:
            problem = str(error)
    raise RuntimeError(f"{problem}; certify_gaps(game, profile) proves the gap of the profile")


def _equilibrium(
    game: Any, exact: ExactGame, given: Sequence[Vector], minimum: float
) -> tuple[Shares, Shares]:
    """Return exact strategies on the supports above a probability."""
    taken, tight, near = [], [], []
    shift = int(isinstance(game, NormalFormGame))
    for player, tree in enumerate(exact.trees):
        utility = np.append([0.0] * shift, game.utility(player, given))
        near.append(np.append([1.0] * shift, given[player]))
        behavior, values = tree.behavior(near[player]), tree.best_values(utility)[1:]
        missed = tree.simplices.repeat(tree.simplices.max(values)) - values
        played = tree.sequence_form((behavior > minimum).astype(np.float64)) > 0.0
        best = missed <= _TIGHT * float(np.abs(game.payoffs).max())
        taken.append(np.flatnonzero(played).tolist())
        closed = tree.sequence_form((played[1:] | best).astype(np.float64))
        tight.append(np.flatnonzero(closed).tolist())
    x, lower = _solved(exact, 0, taken[0], tight[1], near[0])
    y, upper = _solved(exact, 1, taken[1], tight[0], near[1])
    if lower != upper:
        raise RuntimeError(
            f"no equilibrium with these supports: player 0 guarantees {float(lower):.17g}, and "
            f"player 1 {float(upper):.17g}"
        )
    return x, y


def _guaranteed(exact: ExactGame, player: int, strategy: Shares) -> Fraction:
    """Return the payoff of player 0 against a best response to a player's strategy."""
    sign = 1 if player else -1
    earned = exact.utility(1 - player, [strategy.numerators] * 2, payoff_of=0)
    best = best_values(exact.points[1 - player], {t: sign * v for t, v in earned.items()})[0]
    return Fraction(sign * best, exact.unit * strategy.denominator)


def _solved(
    exact: ExactGame, player: int, own: list[int], other: list[int], near: Vector
) -> tuple[Shares, Fraction]:
    """Return a player's exact strategy, and the payoff of player 0 that it guarantees."""
    largest = max(map(abs, exact.paid[0])) or 1  # unit of the opponent's values
    rows, wanted = _equations(exact, player, own, other, largest)
    size = len(own)
    preference = [*near[own].tolist(), *[2.0] * (1 + len(exact.points[1 - player]))]
    chosen = dict(_pivots(exact, rows, preference))
    free = [column for column in range(size) if column not in chosen.values()]
    for digits in _DIGITS:
        values = {c: round(float(near[own[c]]) * 2**digits) for c in free}
        right = [
            (wanted[i] << digits) - sum(rows[i][c] * values[c] for c in rows[i].keys() & values)
            for i in chosen
        ]
        found = _exact_solution(exact, [rows[i] for i in chosen], [*chosen.values()], right)
        if found is None:
            break
        numerators, denominator = found
        shares = {c: value * denominator for c, value in values.items()} | numerators
        denominator <<= digits
        strategy = Shares.reduced({own[c]: n for c, n in shares.items() if c < size}, denominator)
        if strategy.is_on(exact.points[player]):
            earned = _guaranteed(exact, player, strategy)
            if earned == Fraction(shares.get(size, 0) * largest, denominator * exact.unit):
                return strategy, earned
    raise RuntimeError(f"player {player} has no optimal strategy with the support of the profile")


def _equations(
    exact: ExactGame, player: int, own: list[int], other: list[int], largest: int
) -> tuple[list[Row], list[int]]:
    """Return the rows and right sides of a player's system.

    The unknowns are x on the support ``own``, then the values q of the opponent's decision points:
    ``E x = e``, and ``(A^T x)[t] = (F^T q)[t]`` for t in ``other``.
    """
    place, size = {s: c for c, s in enumerate(own)}, len(own)
    rows: list[Row] = [{0: 1}]
    for sequences, parent in exact.points[player]:
        if parent in place:
            rows.append({place[s]: 1 for s in sequences if s in place} | {place[parent]: -1})
    wanted = [1] + [0] * (len(rows) - 1 + len(other))
    earned: dict[int, Row] = {t: defaultdict(int) for t in other}
    for s, t, paid in zip(exact.last[player], exact.last[1 - player], exact.paid[0], strict=True):
        if paid and s in place and t in earned:
            earned[t][place[s]] += paid
    # Columns of values: of the point that owns a sequence, and of the points after a sequence
    owner, after = {0: size}, defaultdict[int, list[int]](list)
    for value, (sequences, parent) in enumerate(exact.points[1 - player], size + 1):
        owner |= dict.fromkeys(sequences, value)
        after[parent].append(value)
    for t, row in earned.items():
        rows.append({**row, owner[t]: -largest} | dict.fromkeys(after[t], largest))
    return rows, wanted


# Exact elimination

_PRIME = 2**31 - 1
_BITS = 30
"""Binary digits per refinement step."""
_MOST_STEPS = 256
_DIVERGED = 2.0**60
"""Corrections of this size mean divergence; unknowns have size one."""


def _pivots(
    exact: ExactGame, rows: list[Row], preference: Sequence[float]
) -> Iterator[tuple[int, int]]:
    """Yield independent rows and their pivot columns, by elimination modulo a prime.

    The pivot of a row is its remaining column of largest preference.
    """
    reduced: dict[int, tuple[int, Row]] = {}
    for i, row in enumerate(rows):
        exact.check_time()
        left = {c: v % _PRIME for c, v in row.items()}
        waiting = [(reduced[c][0], c) for c in left if c in reduced]
        waiting.sort()
        while waiting:
            _, column = heappop(waiting)
            factor = left.pop(column, 0)
            if not factor:
                continue
            for c, v in reduced[column][1].items():
                if c == column:
                    continue
                if c not in left and c in reduced:
                    heappush(waiting, (reduced[c][0], c))
                left[c] = (left.get(c, 0) - factor * v) % _PRIME
        left = {c: v for c, v in left.items() if v}
        if left:
            column = max(left, key=preference.__getitem__)
            inverse = pow(left[column], -1, _PRIME)
            reduced[column] = len(reduced), {c: v * inverse % _PRIME for c, v in left.items()}
            yield i, column


def _lifted(numbers: Sequence[int], unit: int) -> tuple[list[int], int]:
    """Return simple fractions near ``numbers / unit``: numerators and a common denominator."""
    # A fraction p / q with q <= maximum is unique within 1 / (2 maximum^2). Numbers mostly share
    # denominators: search for a new factor only if the common denominator so far does not suffice.
    maximum = 1 << (unit.bit_length() // 2 - 1)
    denominator = 1
    numerators: list[int] = []
    for count in numbers:
        scaled = count * denominator
        nearest = (2 * scaled + unit) // (2 * unit)
        if abs(scaled - nearest * unit) * maximum > unit * denominator:
            found = Fraction(scaled, unit).limit_denominator(maximum)
            denominator *= found.denominator
            numerators = [n * found.denominator for n in numerators]
            nearest = found.numerator
        numerators.append(nearest)
    return numerators, denominator


def _exact_solution(
    exact: ExactGame, rows: Sequence[Row], columns: Sequence[int], right: Sequence[int]
) -> tuple[Row, int] | None:
    """Return the exact solution of a square system, or None if the refinement fails."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    place = {column: k for k, column in enumerate(columns)}
    parts = [[(place[c], v) for c, v in row.items() if c in place] for row in rows]
    scales = [max(abs(v) for _, v in part) for part in parts]  # integers of any size
    triples = [(i, k, v / scales[i]) for i, part in enumerate(parts) for k, v in part]
    i, k, v = map(np.array, zip(*triples, strict=True))
    try:
        factors = splu(csc_array((v, (i, k)), shape=(len(rows), len(rows))))
    except RuntimeError:  # singular up to rounding
        return None
    # Wan's refinement: after every step, A found + missed = right * unit holds exactly.
    missed, found, unit = list(right), [0] * len(columns), 1
    for step in range(1, _MOST_STEPS + 1):
        exact.check_time()
        floats = factors.solve(np.array([m / s for m, s in zip(missed, scales, strict=True)]))
        if not (np.abs(floats) < _DIVERGED).all():
            return None
        digits = [int(d) for d in np.rint(np.ldexp(floats, _BITS)).tolist()]
        found = [(f << _BITS) + d for f, d in zip(found, digits, strict=True)]
        unit <<= _BITS
        missed = [
            (m << _BITS) - sum(v * digits[k] for k, v in part)
            for m, part in zip(missed, parts, strict=True)
        ]
        if step & (step - 1) == 0 and step > 1:  # a power of two
            numerators, denominator = _lifted(found, unit)
            if all(
                sum(v * numerators[k] for k, v in part) == m * denominator
                for m, part in zip(right, parts, strict=True)
            ):
                return dict(zip(columns, numerators, strict=True)), denominator
    return None
