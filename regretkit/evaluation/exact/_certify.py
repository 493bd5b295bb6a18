"""Equilibria of zero-sum games in fractions, found by linear systems that are solved exactly."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Vector
from regretkit.evaluation.exact._certificate import Certificate, Deviation, Part, check_digits
from regretkit.evaluation.exact._certify_gaps import as_fractions
from regretkit.evaluation.exact._fractions import (
    Ends,
    Shares,
    check_size,
    check_time,
    constant_sum,
    decisions,
    end_of,
    readings,
)
from regretkit.evaluation.exact._zero_sum import check_constant_sum
from regretkit.games import ExtensiveFormGame, NormalFormGame, fingerprint
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._memory_budget import available
from regretkit.games.public import PublicGame
from regretkit.sets import DecisionTree

_LEAST = (1e-8, 0.0)
"""Smaller probabilities are zero in the equilibrium that is looked for; one after the other."""
_BYTES_AN_ENTRY = 150
"""Memory of an entry of a sparse row."""
_TIGHT = 1e-11
"""How much worse than the best, relative to the largest payoff, what is best may be in floats."""
_PRIME = 2**31 - 1
_DIGITS = (4, 10, 16, 24, 36, 50)
"""Binary digits of the unknowns that the equations leave free, tried one after the other."""
_BITS = 30
"""Binary digits that a step of the refinement adds."""
_MOST_STEPS = 256
_DIVERGED = 2.0**60
"""A correction of a refinement of unknowns of size one that has gone astray."""

Row: TypeAlias = dict[int, int]
"""A sparse row of whole numbers, by column."""


def certify(game: Any, profile: ProfileLike, *, time_limit: float | None = None) -> Certificate:
    """Return an equilibrium of a zero-sum game in fractions, and so its value without rounding.

    Probabilities of chance and payoffs are the simplest fractions that rounding leaves room for:
    0.1 stands for 1/10. With the supports of the profile, which should be an equilibrium up to
    rounding such as ``finish`` and ``solve_zero_sum`` find, each player's strategy solves the
    linear system that ``finish`` describes, here in whole numbers: independent equations are
    chosen modulo 2^31 - 1, what they leave free is set to short binary fractions near the
    profile, and the rest follows from a factorization in floats whose residuals are computed
    exactly, 30 digits at a time. Best responses in whole numbers are the proof: what player 0's
    strategy guarantees *equals* the most that is possible against player 1's.

    Parameters
    ----------
    game
        A constant-sum game of two players, in normal form or in extensive form; or a public one,
        of which the tree, ``game.to_tree()``, is certified: it is what ``verify`` takes.
    profile
        A strategy for each player, as ``ExactSolution.profile``.
    time_limit
        Give up after about this number of seconds; by default never.

    Raises
    ------
    ValueError
        If the payoffs sum to a constant only up to rounding, and not as fractions.
    RuntimeError
        If no equilibrium with these supports was found, or time or memory was used up; with the
        bounds that the profile itself proves in fractions.

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
    given = as_vectors(check_constant_sum(game, public=True), profile)
    end, problem = end_of(time_limit), ""
    if isinstance(game, PublicGame):
        game, given = _as_tree(game, given)
    check_size(game)
    total, payoffs = constant_sum(game), _Payoffs.of(game)
    for minimum in _LEAST:
        try:
            value, *strategies = _equilibrium(game, payoffs, given, minimum, end)
            values, gains = (value, total - value), {Deviation(None, None, None): Fraction(0)}
            part = Part(Fraction(1), tuple(strategies))
            of = fingerprint(game), readings(game)
            return check_digits(Certificate("value", values, values, (gains,) * 2, (part,), *of))
        except (RuntimeError, MemoryError) as error:
            problem = str(error)
    rounded = as_fractions(game, given, Fraction(1, 2**50))
    lower, upper = (payoffs.guaranteed(player, x) for player, x in enumerate(rounded))
    raise RuntimeError(
        f"{problem}; the profile itself proves a value of {float(lower):.17g} to "
        f"{float(upper):.17g}, a gap of {float(upper - lower):.3g}; pass one of a smaller gap, as "
        "of finish(run)"
    )


def _as_tree(game: PublicGame, given: Sequence[Vector]) -> tuple[ExtensiveFormGame, list[Vector]]:
    """Return the tree of a public game, where labels are the same, and a profile of it."""
    tree, strategies = game.to_tree(), []
    for own, domain, strategy in zip(game.domains, tree.domains, given, strict=True):
        labels, names = own.simplices.labels, domain.simplices.labels
        numbers = {labels.block(number): number for number in range(own.points)}
        actions = own.simplices.coordinates([numbers[names.block(j)] for j in range(domain.points)])
        strategies.append(domain.sequence_form(own.behavior(strategy)[actions]))
    return tree, strategies


def _equilibrium(
    game: Any, payoffs: "_Payoffs", given: Sequence[Vector], minimum: float, end: float
) -> tuple[Fraction, Shares, Shares]:
    """Return the value and strategies with the supports above a probability."""
    taken, tight, near = [], [], []
    shift = int(isinstance(game, NormalFormGame))
    for player, tree in enumerate(payoffs.trees):
        utility = np.append([0.0] * shift, game.utility(player, given))
        near.append(np.append([1.0] * shift, given[player]))
        behavior, values = tree.behavior(near[player]), tree.best_values(utility)[1:]
        missed = tree.simplices.repeat(tree.simplices.max(values)) - values
        played = _closed(tree, behavior > minimum)
        best = missed <= _TIGHT * float(np.abs(game.payoffs).max())
        taken.append(np.flatnonzero(played).tolist())
        tight.append(np.flatnonzero(_closed(tree, played[1:] | best)).tolist())
    x, lower = _solved(payoffs, 0, taken[0], tight[1], near[0], end)
    y, upper = _solved(payoffs, 1, taken[1], tight[0], near[1], end)
    if lower != upper:
        raise RuntimeError(
            f"no equilibrium with these supports: player 0 is sure of {float(lower):.17g}, and "
            f"player 1 of {float(upper):.17g}"
        )
    return lower, x, y


@frozen(eq=False)
class _Payoffs:
    """The payoffs of player 0 by last sequences, as multiples of ``1 / unit``."""

    trees: tuple[DecisionTree, ...]
    columns: tuple[Mapping[int, Row], Mapping[int, Row]]
    """For each player, by the other's sequence the payoffs by its own."""
    unit: int
    largest: int
    """The largest payoff, which is the unit of values in the systems."""

    @property
    def scale(self) -> Fraction:
        """The unit of values, as a payoff."""
        return Fraction(self.largest, self.unit)

    @classmethod
    def of(cls, game: Any) -> "_Payoffs":
        ends = Ends.of(game)
        columns: tuple[Any, Any] = defaultdict(Counter), defaultdict(Counter)
        for s, t, paid in zip(*ends.last, ends.paid[0], strict=True):
            if paid:
                columns[0][t][s] += paid
                columns[1][s][t] += paid
        largest = max((abs(v) for own in columns[0].values() for v in own.values()), default=0)
        return cls(ends.trees, columns, ends.unit, largest or 1)

    def guaranteed(self, player: int, strategy: Shares) -> Fraction:
        """Return the payoff of player 0 against a best response to a player's strategy."""
        opponent, sign = self.trees[1 - player], 1 if player else -1
        values, known = [0] * opponent.dimension, strategy.numerators
        for t, column in self.columns[player].items():
            values[t] = sign * sum(paid * known[s] for s, paid in column.items() if s in known)
        for sequences, parent in reversed([*decisions(opponent)]):
            values[parent] += max(values[s] for s in sequences)
        return Fraction(sign * values[0], self.unit * strategy.denominator)


def _closed(tree: DecisionTree, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which sequences consist of actions that are kept."""
    taken = np.ones(tree.dimension, dtype=bool)
    for level in tree.levels:
        before = level.inflow(taken.astype(np.float64)) > 0.0
        taken[level.sequences] = kept[level.actions] & before
    return taken


def _solved(
    payoffs: _Payoffs, player: int, own: list[int], other: list[int], near: Vector, end: float
) -> tuple[Shares, Fraction]:
    """Return a player's strategy in fractions, and what it guarantees."""
    rows, wanted = _equations(payoffs, player, own, other)
    size = len(own)
    preference = [*near[own].tolist(), *[2.0] * (1 + payoffs.trees[1 - player].points)]
    chosen = dict(_pivots(rows, preference, end))
    free = [column for column in range(size) if column not in chosen.values()]
    for digits in _DIGITS:
        values = {c: round(float(near[own[c]]) * 2**digits) for c in free}
        right = [
            (wanted[i] << digits) - sum(rows[i][c] * values[c] for c in rows[i].keys() & values)
            for i in chosen
        ]
        found = _exact_solution([rows[i] for i in chosen], [*chosen.values()], right, end)
        if found is None:
            break
        numerators, denominator = found
        shares = {c: value * denominator for c, value in values.items()} | numerators
        strategy = Shares.reduced(
            {own[c]: n for c, n in shares.items() if c < size}, denominator << digits
        )
        if strategy.is_on(payoffs.trees[player]):
            earned = payoffs.guaranteed(player, strategy)
            claimed = Fraction(shares.get(size, 0), denominator << digits) * payoffs.scale
            if earned == claimed:
                return strategy, earned
    raise RuntimeError(f"player {player} has no optimal strategy with the support of the profile")


def _equations(
    payoffs: _Payoffs, player: int, own: list[int], other: list[int]
) -> tuple[list[Row], list[int]]:
    """Return the rows and right sides of a player's system; values of points follow its support.

    Against the strategy, all of the opponent's sequences in ``other`` are best.
    """
    tree, opponent = payoffs.trees[player], payoffs.trees[1 - player]
    place, size = {s: c for c, s in enumerate(own)}, len(own)
    rows: list[Row] = [{0: 1}]
    for sequences, parent in decisions(tree):
        if parent in place:
            rows.append({place[s]: 1 for s in sequences if s in place} | {place[parent]: -1})
    wanted = [1] + [0] * (len(rows) - 1 + len(other))
    # The column of each point's value, by its sequences; and those of the points after a sequence
    owner, after = {0: size}, defaultdict(list)
    for value, (sequences, parent) in enumerate(decisions(opponent), size + 1):
        owner |= dict.fromkeys(sequences, value)
        after[parent].append(value)
    for t in other:
        column = payoffs.columns[player].get(t, {})
        row = {place[s]: paid for s, paid in column.items() if s in place}
        row[owner[t]] = -payoffs.largest
        rows.append(row | dict.fromkeys(after[t], payoffs.largest))
    return rows, wanted


def _pivots(rows: list[Row], preference: Sequence[float], end: float) -> Iterator[tuple[int, int]]:
    """Yield independent rows, each with a column in which it alone of the later ones is nonzero.

    Columns are taken by their preference, the largest first; elimination is modulo a prime.
    """
    reduced: dict[int, tuple[int, Row]] = {}
    room = available() / _BYTES_AN_ENTRY
    for i, row in enumerate(rows):
        check_time(end)
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
            scaled = {c: v * inverse % _PRIME for c, v in left.items()}
            reduced[column] = (len(reduced), scaled)
            room -= len(scaled)
            if room < 0:
                raise MemoryError(f"{len(reduced)} of {len(rows)} equations fill the memory")
            yield i, column


def _lifted(numbers: Sequence[int], unit: int) -> tuple[list[int], int]:
    """Return multiples of ``1 / unit`` all but exactly, as numerators and a common denominator."""
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
    rows: Sequence[Row], columns: Sequence[int], right: Sequence[int], end: float
) -> tuple[Row, int] | None:
    """Solve as many equations as unknowns exactly; None where floats cannot factorize them."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    place = {column: k for k, column in enumerate(columns)}
    parts = [[(place[c], v) for c, v in row.items() if c in place] for row in rows]
    scales = [max(abs(v) for _, v in part) for part in parts]  # whole numbers of any size
    triples = [(i, k, v / scales[i]) for i, part in enumerate(parts) for k, v in part]
    i, k, v = map(np.array, zip(*triples, strict=True))
    try:
        factors = splu(csc_array((v, (i, k)), shape=(len(rows), len(rows))))
    except RuntimeError:  # singular up to rounding
        return None
    missed, found, unit = list(right), [0] * len(columns), 1
    for step in range(1, _MOST_STEPS + 1):
        check_time(end)
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
