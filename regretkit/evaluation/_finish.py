"""From a run to an exact equilibrium: the supports of what is played now, and linear systems."""

import itertools
import math
import operator
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, final
from weakref import WeakKeyDictionary

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, number
from regretkit.evaluation._linear_programs import (
    ExactSolution,
    check_constant_sum,
    constraint_duals,
    constraint_entries,
    exact_solution,
    exponent_of,
    repaired,
)
from regretkit.evaluation._purification import threshold
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, Profile
from regretkit.games._behavioral import as_vectors
from regretkit.games.public import PublicGame
from regretkit.games.public._to_tree import pair_payoffs
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Flags: TypeAlias = NDArray[np.bool_]

_FIRST = 50
"""The iteration of the first look."""
_WORTH_A_LOOK = 0.1
"""The largest gap of the average, relative to the range of payoffs, at which systems are solved."""
_LEAST = (0.0, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03)
"""Probabilities below each of these count as zero in a profile, one after the other."""
_SHARE = 0.1
"""The part of the time played up to which one look may go on to other supports,"""
_LOST = 10.0
"""as long as what they lead to is not worse than the average by this factor."""
_TINY = 1e-6
"""Probabilities below it are left from the first iterations of a run."""
_LOSS = 1e-13
"""The smallest loss of a sequence that is no rounding, in units of the largest payoff."""
_REGULARIZATION = 1e-7
_REFINEMENTS = 12
_MOST_KEPT = 1_000_000
"""Payoffs of the largest game whose systems are kept for other runs."""
_ROUNDING = 2.0**-50
"""What a system of numbers of size one may miss once it is solved."""


class LearningRun(Protocol):
    """A run that can go on: ``SelfPlay``, for one."""

    @property
    def game(self) -> Game:
        """The game that is played."""
        ...

    @property
    def iteration(self) -> int:
        """Iterations so far."""
        ...

    @property
    def processor_seconds(self) -> float:
        """How long they took of the processor."""
        ...

    @property
    def current(self) -> Sequence[Vector]:
        """The strategies that are played next."""
        ...

    @property
    def average(self) -> Sequence[Vector]:
        """The average strategies."""
        ...

    def run(self, iterations: int) -> object:
        """Play that many iterations."""
        ...


def finish(
    run: LearningRun | Profile, *, tolerance: float = 1e-12, time_limit: float = 60.0
) -> ExactSolution:
    """Return an equilibrium of a zero-sum game from a run or a profile, exact up to rounding.

    After some iterations the sequences that the average plays with a larger probability than they
    lose against the other's average, with those that are played *now*, are the support of an
    equilibrium. With S and T these sequences, A the payoffs of player 0, and ``E x = e`` and
    ``F y = f`` the constraints on strategies, an equilibrium with these supports solves, with q the
    values of player 1's decision points,

        E x = e,    (A^T x)[t] = (F^T q)[t] for t in T,    x[s] = 0 for s not in S

    and likewise y. Of all solutions the one nearest to the run's average is taken, and best
    responses of the whole game measure it, so that nothing rests on the guess of the supports.
    Where it does not hold and enough was played to pay for more, best responses join S and T and
    the sequence that loses most for its probability leaves, one after the other; then the run
    continues, for longer the more a look takes.

    Parameters
    ----------
    run
        A run on a constant-sum game of two players, in normal form, in extensive form, or public.
        It continues from where it is. Or a profile of such a game, as ``run.average`` or from a
        file: its supports are those of its actions above one threshold after another, and where
        none holds, the best is returned, and ``gap`` says how far it is.
    tolerance
        The gap at which to end, relative to the range of payoffs, at least 0.
    time_limit
        End after this number of seconds, or where the systems do not fit into memory, with what
        was best until then; ``gap`` of the solution says how far it is, ``method`` what lacked.

    Raises
    ------
    TypeError, ValueError
        When the game is none of these, or a number is out of range.
    MemoryError
        When the pairs of types of a public game, at each of its terminals, do not fit into memory.

    Examples
    --------
    >>> from regretkit import solve
    >>> from regretkit.games import kuhn_poker
    >>> run = solve(kuhn_poker(), "dcfr", iterations=25)
    >>> solution = finish(run)
    >>> run.nash_conv() > 1e-4, solution.gap < 1e-12
    (True, True)
    >>> finish(solve(kuhn_poker(), "cfr+", iterations=500).average).gap < 1e-12
    True

    References
    ----------
    Our own construction, in the spirit of the crossover of interior-point methods: Megiddo (1991),
    "On finding primal- and dual-optimal bases", ORSA Journal on Computing 3(1).
    """
    allowed = number(tolerance, "tolerance", minimum=0.0)
    end = time.monotonic() + number(time_limit, "time_limit", minimum=0.0)
    if isinstance(run, Profile):
        return _finished_profile(run, allowed, end)
    if not all(
        hasattr(type(run), name) for name in ("current", "average", "run", "processor_seconds")
    ):
        told = "a run that can go on, as solve(game) returns, or a Profile"
        raise TypeError(must_be("run", told, run))
    systems = _Systems.of(game := run.game)
    goal, worth = allowed * systems.width, _WORTH_A_LOOK * systems.width
    best, begun, clock = None, run.iteration, run.processor_seconds
    if run.iteration < _FIRST:
        run.run(_FIRST - run.iteration)
    while True:
        started, lacking = time.process_time(), ""
        average = systems.bounded(*run.average)
        best = min(average, best or average, key=_gap)
        if goal < average.gap <= worth:
            limit = started + _SHARE * run.processor_seconds, end
            try:
                best = min(best, _best_look(systems, run.current, average, goal, limit), key=_gap)
            except MemoryError:
                lacking = "memory"
        now = time.monotonic()
        lacking = "time" if now >= end else lacking
        if best.gap <= goal or lacking:
            method = f"finish after {run.iteration} iterations"
            method += f", out of {lacking}" * (best.gap > goal)
            return systems.solution(game, best, method)
        # After t seconds, looks of c seconds each d seconds apart cost c / d + d / 2t of the time.
        growth, cost = 0.5, time.process_time() - started
        if (played := run.iteration - begun) and run.processor_seconds > clock:
            seconds = (run.processor_seconds - clock) * run.iteration / played
            growth = min(math.sqrt(2.0 * cost / seconds), 8.0, (end - now) / seconds)
        run.run(max(1, math.ceil(growth * run.iteration)))  # on a coarse clock a look takes 0


def _best_look(
    systems: "_Systems",
    current: Sequence[Vector],
    average: "_Bounded",
    goal: float,
    limits: tuple[float, float],
) -> "_Bounded":
    """Return the best of what supports near those of a run lead to.

    Until limits of the processor's time and of the time that passes.
    """
    likely = systems.likely_supports(average)
    wider = [a | (x > 0.0) for a, x in zip(likely, current, strict=True)]
    best = found = systems.look(wider, average)
    if goal < best.gap and _is_time(limits):
        best = found = min(best, systems.look(likely, average), key=_gap)
    while goal < best.gap and found.gap <= _LOST * average.gap and _is_time(limits):
        found = systems.look(systems.corrected_supports(found), average)
        best = min(best, found, key=_gap)
    return best


def _is_time(limits: tuple[float, float]) -> bool:
    return time.process_time() < limits[0] and time.monotonic() < limits[1]


def _finished_profile(profile: Profile, allowed: float, end: float) -> ExactSolution:
    """Return the best of what the supports above each threshold lead to."""
    if profile._game is None or isinstance(profile._game, Mapping):
        raise ValueError(
            "run is a profile without its game; pass Profile(strategies, game.domains, game)"
        )
    systems = _Systems.of(game := profile._game)
    average = as_vectors(game, profile)
    best = given = systems.bounded(*average)
    cut = (threshold(game, average, minimum).profile for minimum in _LEAST)
    supports = ([x > 0.0 for x in profile] for profile in cut)
    for each in itertools.chain([systems.likely_supports(given)], supports):
        if best.gap <= allowed * systems.width or time.monotonic() >= end:
            break
        best = min(best, systems.look(each, given), key=_gap)
    return systems.solution(game, best, "finish of a profile")


def unmerged(solution: ExactSolution, game: ExtensiveFormGame) -> ExactSolution:
    """Return the solution of a game from that of ``merged_by_symmetry(game)``."""
    small: Any = solution.profile._game
    x, y = (z[own] for z, own in zip(solution.profile, small._merged, strict=True))
    systems = _Systems.of(game)
    return systems.solution(game, systems.bounded(x, y), f"{solution.method}, symmetries merged")


class _Bounded(NamedTuple):
    """Strategies, and an interval that they prove to hold the value."""

    x: Vector
    y: Vector
    lower: float
    upper: float
    duals: tuple[Vector, Vector]
    """The least p with ``E^T p >= A y`` and q with ``F^T q >= -A^T x``, in units of the systems."""

    @property
    def gap(self) -> float:
        return self.upper - self.lower


_gap = operator.attrgetter("gap")


class _Entries(NamedTuple):
    """A sparse matrix, entry by entry."""

    row: Indices
    column: Indices
    value: Vector

    def part(self, rows: Indices, columns: Indices) -> "_Entries":
        """Return the entries in these rows and columns, which have new numbers, -1 if left out."""
        row, column = rows[self.row], columns[self.column]
        kept = (row >= 0) & (column >= 0)
        return _Entries(row[kept], column[kept], self.value[kept])


class _Flow(NamedTuple):
    """The constraints ``E x = e`` on a player's strategies: their entries, totals and numbers."""

    entries: _Entries
    totals: Vector
    live: Indices

    def part(self, places: Indices, dropped: Indices) -> "_Flow":
        """Return those on the sequences that have a new number, -1 if left out, without some."""
        rows = self.live.copy()
        rows[dropped] = -1
        part = self.entries.part(rows, places)
        live = np.flatnonzero(np.bincount(part.row, minlength=self.live.size))
        row = _places(live, self.live.size)[part.row]
        return _Flow(part._replace(row=row), self.totals[live], live)


@final
@frozen(eq=False)
class _Systems:
    """The linear systems of a game, from which sequences out of the supports are left out."""

    domains: tuple[Simplices | DecisionTree, ...]
    payoffs: _Entries
    """A, by the sequences of player 0 and those of player 1, in units of ``2^scale``;"""
    matrices: "tuple[csr_array, csr_array]"
    """the same, and ``A^T``."""
    flows: tuple[_Flow, _Flow]
    ranks: tuple[Indices, Indices, Indices, Indices]
    """When sequences of player 0, points of 1, points of 0 and sequences of 1 are eliminated."""
    scale: int
    width: float
    """The range of payoffs,"""
    sum: float | None
    """and what those of both players add up to."""

    @classmethod
    def of(cls, game: Any) -> "_Systems":
        """Return those of a constant-sum game of two players; runs on one game share them."""
        if isinstance(game, NormalFormGame | ExtensiveFormGame | PublicGame) and game in _KEPT:
            return _KEPT[game]
        systems = cls._built(check_constant_sum(game, public=True))
        if systems.payoffs.value.size <= _MOST_KEPT:
            _KEPT[game] = systems
        return systems

    @classmethod
    def _built(cls, game: Any) -> "_Systems":
        from scipy.sparse import csr_array

        if isinstance(game, NormalFormGame):
            payoffs = game.payoffs[0]
            row, column = np.nonzero(payoffs)
            value = payoffs[row, column]
        elif isinstance(game, PublicGame):
            payoffs = game.payoffs[0]
            row, column, value = pair_payoffs(game.layout)
        else:
            payoffs, (row, column) = game.tree.payoffs[:, 0], game.sequences
            value = game.payoffs[0]
        flows = []
        for domain in game.domains:
            rows, columns, signs, totals = constraint_entries(domain)
            flow = _Entries(rows, columns, signs)
            flows.append(_Flow(flow, totals, np.arange(totals.size)))
        scale = exponent_of(value)
        value = np.ldexp(value, -scale)
        m, n = (domain.dimension for domain in game.domains)
        matrices = (
            csr_array((value, (row, column)), shape=(m, n)),
            csr_array((value, (column, row)), shape=(n, m)),
        )
        width = float(payoffs.max() - payoffs.min())
        entries = _Entries(row, column, value)
        (x, p), (y, q) = map(_depths, game.domains)
        ranks = 1 - 4 * x, 2 - 4 * q, 3 - 4 * p, -4 * y  # those far down depend on few others
        pair, total = (flows[0], flows[1]), game.constant_sum
        return cls(game.domains, entries, matrices, pair, ranks, scale, width, total)

    def bounded(self, x: Vector, y: Vector) -> _Bounded:
        """Return strategies with the interval that best responses to them prove."""
        p = constraint_duals(self.domains[0], self.matrices[0] @ y)
        q = constraint_duals(self.domains[1], -(self.matrices[1] @ x))
        upper, lower = float(self.flows[0].totals @ p), 0.0 - float(self.flows[1].totals @ q)
        lower, upper = math.ldexp(lower, self.scale), math.ldexp(upper, self.scale)
        return _Bounded(x, y, lower, upper, (p, q))

    def solution(self, game: Any, found: _Bounded, method: str) -> ExactSolution:
        """Return strategies of the game with the interval that they prove."""
        duals = [read_only(np.ldexp(dual, self.scale)) for dual in found.duals]
        known = (duals[0], duals[1]) if self.sum == 0.0 else None
        return exact_solution(game, *found[:4], method, known)

    def losses(self, point: _Bounded) -> list[Vector]:
        """Return what each sequence earns less than the best ones, against the other strategy."""
        best: list[Any] = [
            np.bincount(flow.entries.column, flow.entries.value * dual[flow.entries.row])
            for flow, dual in zip(self.flows, point.duals, strict=True)
        ]
        earned = self.matrices[0] @ point.y, -(self.matrices[1] @ point.x)
        return [b - u for b, u in zip(best, earned, strict=True)]

    def likely_supports(self, point: _Bounded) -> list[Flags]:
        """Return the sequences whose probability is larger than what they lose, and not tiny."""
        pairs = zip((point.x, point.y), self.losses(point), strict=True)
        return [x > np.maximum(lost, _TINY) for x, lost in pairs]

    def corrected_supports(self, point: _Bounded) -> list[Flags]:
        """Return the supports of a point with best responses, and without what loses most."""
        losses, strategies = self.losses(point), (point.x, point.y)
        ratios = [
            np.where((x > 0.0) & (lost > _LOSS), lost / np.maximum(x, _LOSS), 0.0)
            for x, lost in zip(strategies, losses, strict=True)
        ]
        maximum = max(ratio.max() for ratio in ratios)
        return [
            ((x > 0.0) | (domain.best_response(-lost)[1] > 0.0))
            & ((ratio < maximum) | (ratio == 0.0))
            for domain, x, lost, ratio in zip(self.domains, strategies, losses, ratios, strict=True)
        ]

    def look(self, supports: Sequence[Flags], average: _Bounded) -> _Bounded:
        """Return the solutions with these supports that are nearest to ``average``.

        With z = (x, q) and B the equations of player 0, those of player 1 are ``B^T w = d`` with
        w = (-p, y), so that both players' take one factorization.
        """
        kept = [_unknowns(*pair) for pair in zip(self.domains, supports, strict=True)]
        (S, own, _), (T, other, _) = kept
        (E, e, points), (F, f, others) = (
            flow.part(places, forced)
            for flow, (_, places, forced) in zip(self.flows, kept, strict=True)
        )
        A, (p, q) = self.payoffs.part(own, other), average.duals
        z, w = _nearest_solutions(
            _Entries(
                np.concatenate([E.row, e.size + A.column, e.size + F.column]),
                np.concatenate([E.column, A.row, S.size + F.row]),
                np.concatenate([E.value, A.value, -F.value]),
            ),
            (np.append(average.x[S], -q[others]), np.append(-p[points], average.y[T])),
            (np.append(e, np.zeros(T.size)), np.append(np.zeros(S.size), -f)),
            np.argsort(
                np.concatenate(
                    [r[i] for r, i in zip(self.ranks, (S, others, points, T), strict=True)]
                ),
                kind="stable",
            ),
        )
        found = (z[: S.size], own), (w[e.size :], other)
        strategies = (np.append(values, 0.0)[places] for values, places in found)
        return self.bounded(*map(repaired, strategies, self.domains))


_KEPT: WeakKeyDictionary[Game, _Systems] = WeakKeyDictionary()
"""Those of games of at most ``_MOST_KEPT`` payoffs."""


def _depths(domain: Simplices | DecisionTree) -> tuple[Indices, Indices]:
    """Return how many decisions each sequence and each constraint on strategies comes after."""
    depth = np.zeros(domain.dimension, dtype=np.int16)
    if isinstance(domain, Simplices):
        return depth, np.zeros(domain.blocks, dtype=np.int16)
    for before, level in enumerate(domain._levels):
        depth[level.sequences] = 1 + before
    return depth, np.append(0, 1 + depth[domain.parent_sequence]).astype(np.int16)


def _unknowns(domain: Simplices | DecisionTree, support: Flags) -> tuple[Indices, Indices, Indices]:
    """Return the sequences that are unknown, the number of each sequence's, and forced decisions.

    Where a decision has a single action in the support, that action has the probability of the
    sequence before it: it shares its number, and the decision's constraint is left out. Those that
    are outside the support have the number -1.
    """
    same, forced = np.arange(support.size), np.empty(0, dtype=np.int64)
    if isinstance(domain, DecisionTree):
        simplices = domain.simplices
        forced = np.flatnonzero(simplices.sum(support[1:].astype(np.float64)) == 1.0)
        actions = simplices.coordinates(forced)
        actions = actions[support[1 + actions]]
        same[1 + actions] = domain.parent_sequence[forced]
        while not np.array_equal(same, further := same[same]):
            same = further
    unknown = np.flatnonzero(support & (same == np.arange(support.size)))
    places = np.where(support, _places(unknown, support.size)[same], -1)
    return unknown, places, 1 + forced


def _nearest_solutions(
    entries: _Entries, points: tuple[Vector, Vector], wanted: tuple[Vector, Vector], order: Indices
) -> tuple[Vector, Vector]:
    """Return z of ``B z = c`` and w of ``B^T w = d`` nearest to two points, or what comes near.

    Steps of ``[I B^T; B -delta I]``, whose unknowns are eliminated in an order, need neither full
    rank nor as many equations as unknowns.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    row, column, value = entries
    n, place = points[0].size, _places(order, order.size)
    rows = place[np.concatenate([row + n, column, np.arange(order.size)])]
    columns = place[np.concatenate([column, row + n, np.arange(order.size)])]
    in_z = order < n
    diagonal = np.where(in_z, 1.0, -_REGULARIZATION)
    data = np.concatenate([value, value, diagonal[place]])
    by_column = np.argsort(columns, kind="stable")
    begin = np.append(0, np.cumsum(np.bincount(columns)))
    system = csc_array((data[by_column], rows[by_column], begin))
    factors = splu(
        system,
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        relax=1,
        panel_size=1,
        options={"SymmetricMode": True, "Equil": False},
    )
    point, totals = np.concatenate(points)[order], np.concatenate(wanted[::-1])[order]
    missed = totals + diagonal * point - system @ point
    both = np.array([~in_z, in_z])  # the equations of each player
    for _ in range(_REFINEMENTS):
        steps = factors.solve((both * missed).T)
        nearer = point + np.where(in_z, steps[:, 0], steps[:, 1])
        still = totals + diagonal * nearer - system @ nearer
        largest = np.abs(both * still).max(axis=1)
        better = largest < 0.5 * np.abs(both * missed).max(axis=1)
        point = np.where(better[~in_z * 1], nearer, point)
        missed = np.where(better[in_z * 1], still, 0.0)
        if not (better & (largest > _ROUNDING)).any():
            break
    found = point[place]
    return found[:n], found[n:]


def _places(kept: Indices, size: int) -> Indices:
    """Return the new number of each, -1 of those that are not kept."""
    places = np.full(size, -1)
    places[kept] = np.arange(kept.size)
    return places
