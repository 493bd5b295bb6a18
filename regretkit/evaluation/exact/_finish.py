"""``finish``: exact equilibria from the supports of a run, by linear systems."""

import itertools
import math
import operator
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._errors import warn
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, number, whole_number
from regretkit.evaluation.exact._linear_programs import (
    ExactSolution,
    check_constant_sum,
    constraint_duals,
    constraints,
    exponent_of,
    repaired,
    scaled,
)
from regretkit.games import History, NormalFormGame, Profile, Rules
from regretkit.games._profile import as_vectors
from regretkit.games.public import PublicGame
from regretkit.games.public._history import pair_payoffs
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Flags: TypeAlias = NDArray[np.bool_]

_TINY = 1e-6
"""Smaller probabilities are traces of the first iterations of a run."""
_LOSS = 1e-13
"""Smaller losses of a sequence are rounding, in units of the largest payoff."""
_REGULARIZATION = 1e-7
_REFINEMENTS = 12
_ROUNDING = 2.0**-50
"""Largest residual of a solved system with numbers of size one."""


class Bounded(NamedTuple):
    """Strategies, and their duality gap."""

    x: Vector
    y: Vector
    duals: tuple[Vector, Vector]
    """The least p with ``E^T p >= A y`` and q with ``F^T q >= -A^T x``, in units of the systems."""
    gap: float


@frozen(eq=False)
class Systems:
    """The linear systems of a game; each look restricts them to two supports."""

    game: Any
    payoffs: Any
    """A, in units of ``2^scale``; None if that of a public game does not fit into memory."""
    constraints: "list[tuple[csr_array, Vector]]"
    """E and e, F and f."""
    ranks: tuple[Indices, Indices, Indices, Indices]
    """Elimination order of player 0's sequences, 1's points, 0's points and 1's sequences."""
    scale: int
    width: float
    """The range of payoffs."""

    @classmethod
    def of(cls, game: Any) -> "Systems":
        """Return the systems of a constant-sum game of two players."""
        from scipy.sparse import csr_array

        check_constant_sum(game, public=True)
        paid, shape = game.payoffs[0], tuple(domain.dimension for domain in game.domains)
        payoffs: Any
        if isinstance(game, NormalFormGame):
            payoffs = csr_array(paid)
        elif isinstance(game, PublicGame):
            try:
                row, column, value = pair_payoffs(game.layout)
                payoffs = csr_array((value, (row, column)), shape=shape)
            except MemoryError as error:
                warn(f"finish only runs iterations, without systems to solve: {error}")
                payoffs = None
        else:
            payoffs = csr_array((paid, tuple(game.sequences)), shape=shape)
            paid = game.tree.payoffs[:, 0]
        scale = 0 if payoffs is None else exponent_of(payoffs.data)
        (x, p), (y, q) = map(_depths, game.domains)
        # Eliminate deep unknowns first: they depend on few others.
        ranks = 1 - 4 * x, 2 - 4 * q, 3 - 4 * p, -4 * y
        matrix = None if payoffs is None else scaled(payoffs)
        sets = [constraints(domain) for domain in game.domains]
        return cls(game, matrix, sets, ranks, scale, float(paid.max() - paid.min()))

    def utilities(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Return ``A y`` and ``A^T x``."""
        if self.payoffs is None:
            return self.game.utility(0, [x, y], 0), self.game.utility(1, [x, y], 0)
        return self.payoffs @ y, self.payoffs.T @ x

    def bounded(self, x: Vector, y: Vector) -> Bounded:
        """Return strategies with their gap, by best responses."""
        earned, lost = self.utilities(x, y)
        p, q = map(constraint_duals, self.game.domains, (earned, -lost))
        (_, e), (_, f) = self.constraints
        lower, upper = (math.ldexp(v, self.scale) for v in (0.0 - float(f @ q), float(e @ p)))
        return Bounded(x, y, (p, q), upper - lower)

    def losses(self, point: Bounded) -> list[Vector]:
        """Return each player's losses ``E^T p - u``: of each sequence against a best one."""
        earned, lost = self.utilities(point.x, point.y)
        pairs = zip(self.constraints, point.duals, (earned, -lost), strict=True)
        return [E.T @ dual - utility for (E, _), dual, utility in pairs]

    def likely_supports(self, point: Bounded) -> list[Flags]:
        """Return the sequences whose probability exceeds their loss and ``_TINY``."""
        pairs = zip((point.x, point.y), self.losses(point), strict=True)
        return [x > np.maximum(lost, _TINY) for x, lost in pairs]

    def corrected_supports(self, point: Bounded) -> list[Flags]:
        """Return supports plus best responses, minus sequences of largest loss / probability."""
        losses, strategies, domains = self.losses(point), (point.x, point.y), self.game.domains
        ratios = [
            np.where((x > 0.0) & (lost > _LOSS), lost / np.maximum(x, _LOSS), 0.0)
            for x, lost in zip(strategies, losses, strict=True)
        ]
        maximum = max(ratio.max() for ratio in ratios)
        return [
            ((x > 0.0) | (domain.best_response(-lost)[1] > 0.0))
            & ((ratio < maximum) | (ratio == 0.0))
            for domain, x, lost, ratio in zip(domains, strategies, losses, ratios, strict=True)
        ]

    def look(self, supports: Sequence[Flags], average: Bounded) -> Bounded:
        """Return the solutions with these supports that are nearest to ``average``.

        Player 0's equations are ``B z = c`` with z = (x, q), and player 1's are ``B^T w = d`` with
        w = (-p, y). So one factorization solves both.
        """
        from scipy.sparse import block_array

        (S, own, forced), (T, other, fixed) = map(_unknowns, self.game.domains, supports)
        (E, e, points), (F, f, others) = (
            _flow(*at) for at in zip(self.constraints, (own, other), (forced, fixed), strict=True)
        )
        (p, q), paid = average.duals, other.T @ self.payoffs.T @ own
        z, w = _nearest_solutions(
            block_array([[E, None], [paid, -F.T]]),
            (np.append(average.x[S], -q[others]), np.append(-p[points], average.y[T])),
            (np.append(e, np.zeros(T.size)), np.append(np.zeros(S.size), -f)),
            np.concatenate([r[i] for r, i in zip(self.ranks, (S, others, points, T), strict=True)]),
        )
        strategies = own @ z[: S.size], other @ w[e.size :]
        return self.bounded(*map(repaired, strategies, self.game.domains))


def _depths(domain: Simplices | DecisionTree) -> tuple[Indices, Indices]:
    """Return the depth of each sequence and each constraint, in decisions."""
    depth = np.zeros(domain.dimension, dtype=np.int16)
    if isinstance(domain, Simplices):
        return depth, np.zeros(domain.blocks, dtype=np.int16)
    for before, level in enumerate(domain.levels):
        depth[level.sequences] = 1 + before
    return depth, np.append(0, 1 + depth[domain.parent_sequence]).astype(np.int16)


def _unknowns(
    domain: Simplices | DecisionTree, support: Flags
) -> tuple[Indices, "csr_array", Indices]:
    """Return the unknown sequences, the matrix from them to all sequences, and forced decisions.

    A decision is forced if the support has one of its actions. Then the action's weight equals that
    of the parent sequence: both are one unknown, without the decision's constraint.
    """
    from scipy.sparse import csr_array

    same, forced = np.arange(support.size), np.empty(0, dtype=np.int64)
    if isinstance(domain, DecisionTree):
        simplices = domain.simplices
        forced = np.flatnonzero(simplices.sum(support[1:].astype(np.float64)) == 1.0)
        actions = simplices.coordinates(forced)
        actions = actions[support[1 + actions]]
        same[1 + actions] = domain.parent_sequence[forced]
        # Chains of forced decisions: follow them to the first unknown, doubling each step
        while not np.array_equal(same, further := same[same]):
            same = further
    unknown = np.flatnonzero(support & (same == np.arange(support.size)))
    kept = np.flatnonzero(support & support[same])
    entries = np.ones(kept.size), (kept, np.searchsorted(unknown, same[kept]))
    return unknown, csr_array(entries, shape=(support.size, unknown.size)), 1 + forced


def _flow(
    constraints: tuple["csr_array", Vector], unknowns: "csr_array", forced: Indices
) -> tuple["csr_array", Vector, Indices]:
    """Return the constraints on the unknowns, without forced decisions, and their numbers."""
    whole, e = constraints
    E: Any = whole @ unknowns
    live = np.diff(E.indptr) > 0
    live[forced] = False
    numbers = np.flatnonzero(live)
    return E[numbers], e[numbers], numbers


def _nearest_solutions(
    B: Any, points: tuple[Vector, Vector], wanted: tuple[Vector, Vector], ranks: Indices
) -> tuple[Vector, Vector]:
    """Return z with ``B z = c`` and w with ``B^T w = d`` nearest to two points.

    Refinement steps solve a regularized system, eliminating unknowns in order of their ranks:

        [ I     B^T    ]
        [ B   -delta I ]

    B may have any shape and rank. Inconsistent equations get small residuals.
    """
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    n, order, B = points[0].size, np.argsort(ranks, kind="stable"), B.tocoo()
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    row, column = place[B.row + n], place[B.col]
    both = np.concatenate([row, column]), np.concatenate([column, row])
    system = csc_array((np.tile(B.data, 2), both), shape=(order.size, order.size))
    in_z = order < n
    factors = splu(
        csc_array(system + diags_array(np.where(in_z, 1.0, -_REGULARIZATION))),
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        relax=1,
        panel_size=1,
        options={"SymmetricMode": True, "Equil": False},
    )
    point, totals = np.concatenate(points)[order], np.concatenate(wanted[::-1])[order]
    missed, sides = totals - system @ point, np.array([~in_z, in_z])  # each player's equations
    # A step of a player counts if it halves the residual of that player's equations; otherwise its
    # refinement ends.
    for _ in range(_REFINEMENTS):
        steps = factors.solve((sides * missed).T)
        nearer = point + np.where(in_z, steps[:, 0], steps[:, 1])
        still = totals - system @ nearer
        largest = np.abs(sides * still).max(axis=1)
        better = largest < 0.5 * np.abs(sides * missed).max(axis=1)
        point = np.where(better[~in_z * 1], nearer, point)
        missed = np.where(better[in_z * 1], still, 0.0)
        if not (better & (largest > _ROUNDING)).any():
            break
    found = point[place]
    return found[:n], found[n:]


# Looks

_FIRST = 50
"""Earliest iteration of the first look."""
_WORTH_A_LOOK = 0.005
"""Largest gap of the average for a look, relative to the range of payoffs."""
_EXTRA = 1_000
"""Iterations per additional look; a look takes as long as 50 to 230 iterations."""
_LOST = 10.0
"""Supports are corrected while their gap is at most this multiple of the average's gap."""
_LEAST = (0.0, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03)
"""Thresholds of a profile's probabilities, tried in order."""


def finish(
    run: Any,
    *,
    tolerance: float = 1e-12,
    time_limit: float = 60.0,
    iterations: int | None = None,
) -> ExactSolution:
    """Return an equilibrium of a zero-sum game from a run or a profile, exact up to rounding.

    The run gives supports S and T. They contain the sequences of the current strategies, and each
    sequence whose average probability is larger than its loss against the opponent's average. Let A
    be the payoffs of player 0.
    Strategies satisfy ``E x = e`` and ``F y = f``, and q are the values of player 1's decision
    points. If S and T are the supports of an equilibrium, it solves

        E x = e,    (A^T x)[t] = (F^T q)[t] for t in T,    x[s] = 0 for s not in S

    and a similar system for y. ``finish`` takes the solution nearest to the run's average. Best
    responses in the whole game give its gap, so wrong supports cannot give a wrong result. If the
    gap is above ``tolerance``, ``finish`` corrects S and T up to once per 1,000 iterations: it adds
    best responses, and removes the sequence with the largest ratio of loss to probability. Then the
    run continues. Systems are solved at iterations 50, 100, 200, ... The result does not depend on
    the clock unless the time limit ends the run.

    Parameters
    ----------
    run
        A run of a constant-sum game of two players, which continues from its last iteration. Or a
        profile of such a game, as ``run.average`` or from a file. The supports of a profile are its
        actions above several thresholds.
    tolerance
        The gap at which to stop, relative to the range of payoffs, at least 0.
    time_limit
        Stop after about this number of seconds with a warning, and return the best strategies so
        far, with their ``gap``; ``method`` names the reason. A system that does not fit into memory
        also stops. If the payoff matrix of a public game does not fit, no systems are solved, and
        only the run continues.
    iterations
        Stop at this iteration of the run, in the same way; by default unlimited.

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
    The construction is new. It resembles the crossover of interior-point methods: Megiddo (1991),
    "On finding primal- and dual-optimal bases", ORSA Journal on Computing 3(1).
    """
    allowed = number(tolerance, "tolerance", minimum=0.0)
    end = time.monotonic() + number(time_limit, "time_limit", minimum=0.0)
    last = sys.maxsize if iterations is None else whole_number(iterations, "iterations", minimum=1)
    if isinstance(run, Profile):
        return _finished_profile(run, allowed, end)
    if not all(hasattr(type(run), name) for name in ("current", "average", "run")):
        wanted = "a run, as solve(game) returns, or a Profile"
        raise TypeError(must_be("run", wanted, run))
    systems = Systems.of(run.game)
    goal, due = allowed * systems.width, min(max(_FIRST, run.iteration), last)
    bests: list[Bounded] = []
    piece = 1
    while True:
        while run.iteration < due:
            begun, more = time.monotonic(), min(piece, due - run.iteration)
            run.run(more)
            now = time.monotonic()
            if now >= end:
                break
            # Twice as many iterations as before, or as many as fit into the remaining time
            piece = max(1, int(more * min(2.0, (end - now) / max(now - begun, 1e-9))))
        average, lacking = systems.bounded(*run.average), ""
        bests.append(average)
        if systems.payoffs is not None and average.gap <= _WORTH_A_LOOK * systems.width:
            likely, extra = systems.likely_supports(average), run.iteration // _EXTRA
            wider = [a | (x > 0.0) for a, x in zip(likely, run.current, strict=True)]
            found, lacking = _looked(
                systems, average, [wider, likely][: 1 + extra], extra - 1, goal, end
            )
            bests.append(found)
        bests = [min(bests, key=_gap)]
        if bests[0].gap > goal and not lacking:
            lacking = "iterations" * (run.iteration >= last)
            lacking = "time" if time.monotonic() >= end else lacking
        if bests[0].gap <= goal or lacking:
            method = f"finish after {run.iteration} iterations"
            return _ended(systems, bests[0], method, lacking)
        due = min(2 * due, last)


_gap = operator.attrgetter("gap")


def _looked(
    systems: Systems,
    average: Bounded,
    supports: Iterable[list[Flags]],
    corrections: int,
    goal: float,
    end: float,
) -> tuple[Bounded, str]:
    """Return the best solution on these or corrected supports, and why the search stopped."""
    best = found = average
    remaining = iter(supports)
    while best.gap > goal:
        if time.monotonic() >= end:
            return best, "time"
        each = next(remaining, None)
        if each is None:
            if corrections <= 0 or found.gap > _LOST * average.gap:
                break
            each, corrections = systems.corrected_supports(found), corrections - 1
        try:
            found = systems.look(each, average)
        except MemoryError:
            return best, "memory"
        best = min(best, found, key=_gap)
    return best, ""


def _ended(systems: Systems, best: Bounded, method: str, lacking: str) -> ExactSolution:
    """Return the solution, with the reason of an early stop in ``method``."""
    if lacking == "time":
        warn(f"finish reached its time_limit, with a gap of {best.gap:.3g}")
    if lacking:
        method += f", out of {lacking if systems.payoffs is not None else 'memory'}"
    return ExactSolution.of(systems.game, [best.x, best.y], method)


def _finished_profile(profile: Profile, allowed: float, end: float) -> ExactSolution:
    """Return the best solution with the supports above each threshold."""
    game = profile._game
    if game is None or isinstance(game, Mapping | History | Rules):
        raise ValueError(
            "run must be a profile with its game: Profile(strategies, game.domains, game)"
        )
    systems, lacking = Systems.of(game), "memory"
    average = best = systems.bounded(*as_vectors(game, profile))
    if systems.payoffs is not None:
        above = ([x > 0.0 for x in profile.threshold(minimum)] for minimum in _LEAST)
        supports = itertools.chain([systems.likely_supports(average)], above)
        best, lacking = _looked(systems, average, supports, 0, allowed * systems.width, end)
    return _ended(systems, best, "finish of a profile", lacking)
