"""From a run to an exact equilibrium: the supports of what is played now, and linear systems."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np
from attrs import frozen

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, number
from regretkit.evaluation._linear_programs import (
    ExactSolution,
    check_constant_sum,
    constraint_duals,
    constraints,
    exact_solution,
    exponent_of,
    repaired,
)
from regretkit.evaluation._purification import threshold
from regretkit.games import Game, NormalFormGame, Profile
from regretkit.games._behavioral import as_vectors
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FIRST = 25
"""The iteration of the first look."""
_WORTH_A_LOOK = 0.02
"""The largest gap of the average, relative to the range of payoffs, at which systems are solved."""
_LEAST = (0.0, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03)
"""Probabilities below each of these count as zero in a profile, one after the other."""
_REGULARIZATION = 1e-7
_REFINEMENTS = 12


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

    The strategies that regret matching and its kin play *now* have, after some iterations, exactly
    the support of an equilibrium. With S and T the sequences that they reach, A the payoffs of
    player 0, and ``E x = e`` and ``F y = f`` the constraints on strategies, an equilibrium with
    these supports solves, with q the values of player 1's decision points,

        E x = e,    (A^T x)[t] = (F^T q)[t] for t in T,    x[s] = 0 for s not in S

    and likewise y. Of all solutions the one nearest to the run's average is taken, and best
    responses of the whole game measure it, so that nothing rests on the guess of the supports.
    Where it does not hold, the run continues: looks come at iterations that grow by half, and never
    before as much time was spent on playing as on looking.

    Rules whose strategies are always fully mixed, such as ``Hedge``, have no supports to look at.

    Parameters
    ----------
    run
        A run on a constant-sum game of two players, in normal form or in extensive form. It
        continues from where it is. Or a profile of such a game, as ``run.average`` or from a file:
        its supports are those of its actions above one threshold after another, and where none
        holds, the best is returned, and ``gap`` says how far it is.
    tolerance
        The gap at which to end, relative to the range of payoffs, at least 0.
    time_limit
        End after this number of seconds, with what was best until then; ``gap`` of the solution
        says how far it is.

    Raises
    ------
    TypeError, ValueError
        When the game is none of these, or a number is out of range.

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
    allowed = number(tolerance, "tolerance", least=0.0)
    end = time.monotonic() + number(time_limit, "time_limit", least=0.0)
    if isinstance(run, Profile):
        return _finished_profile(run, allowed, end)
    if not all(hasattr(type(run), name) for name in ("current", "average", "run")):
        told = "a run that can go on, as solve(game) returns, or a Profile"
        raise TypeError(must_be("run", told, run))
    game = check_constant_sum(run.game)
    systems = _Systems.of(game)
    run.run(max(_FIRST - run.iteration, 0))
    best, more, played, looked = systems.bounded(*run.average), 0, 0.0, 0.0
    while True:
        started = time.monotonic()
        run.run(more)
        now = time.monotonic()
        played, first = played + now - started, now
        average = list(run.average)
        found = [systems.bounded(*average), best]
        if found[0].gap <= _WORTH_A_LOOK * systems.width:
            found.append(systems.look(run.current, average))
        best = min(found, key=lambda each: each.gap)
        if best.gap <= allowed * systems.width or time.monotonic() >= end:
            return exact_solution(game, *best, f"finish after {run.iteration} iterations")
        looked += time.monotonic() - first
        # As many again as take the time that was spent on looking, at the speed of the last ones.
        behind = min(max(looked - played, 0.0) * more / max(now - started, 1e-9), 8 * run.iteration)
        more = max(run.iteration // 2, int(behind))


def _finished_profile(profile: Profile, allowed: float, end: float) -> ExactSolution:
    """Return the best of what the supports above each threshold lead to."""
    if profile._game is None or isinstance(profile._game, Mapping):
        raise ValueError(
            "run is a profile without its game; pass Profile(strategies, game.domains, game)"
        )
    game = check_constant_sum(profile._game)
    systems, average = _Systems.of(game), as_vectors(game, profile)
    best = systems.bounded(*average)
    for least in _LEAST:
        if best.gap <= allowed * systems.width or time.monotonic() >= end:
            break
        found = systems.look(threshold(game, average, least).profile, average)
        best = min(best, found, key=lambda each: each.gap)
    return exact_solution(game, *best, "finish of a profile")


class _Bounded(NamedTuple):
    """Strategies, and an interval that they prove to hold the value."""

    x: Vector
    y: Vector
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower


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


@final
@frozen(eq=False)
class _Systems:
    """The linear systems of a game, from which sequences out of the supports are left out."""

    domains: tuple[Simplices | DecisionTree, ...]
    matrix: "csr_array"
    """The payoffs of player 0, by its sequences and those of player 1."""
    transposed: "csr_array"
    constraints: tuple[tuple[_Entries, Vector], ...]
    """E and e, F and f."""
    scale: int
    """The power of two by which payoffs are divided in the systems, to be of size one."""
    width: float
    """The range of payoffs."""

    @classmethod
    def of(cls, game: Any) -> "_Systems":
        from scipy.sparse import csr_array

        if isinstance(game, NormalFormGame):
            payoffs, matrix = game.payoffs[0], csr_array(game.payoffs[0])
        else:  # whose terminals are merged already
            shape = tuple(domain.dimension for domain in game.domains)
            payoffs = game.tree.payoffs[:, 0]
            matrix = csr_array((game.payoffs[0], tuple(game.sequences)), shape=shape)
        sets = []
        for domain in game.domains:
            flow, totals = constraints(domain)
            coo = flow.tocoo()
            signs: Vector = np.asarray(coo.data, dtype=np.float64)
            sets.append((_Entries(coo.row, coo.col, signs), totals))
        transposed, width = matrix.T.tocsr(), float(payoffs.max() - payoffs.min())
        paid: Vector = np.asarray(matrix.data, dtype=np.float64)
        return cls(game.domains, matrix, transposed, tuple(sets), exponent_of(paid), width)

    def bounded(self, x: Vector, y: Vector) -> _Bounded:
        """Return strategies with the interval that best responses to them prove."""
        lower, _ = self.domains[1].best_response(-(self.transposed @ x))
        upper, _ = self.domains[0].best_response(self.matrix @ y)
        return _Bounded(x, y, 0.0 - lower, upper)

    def look(self, current: Sequence[Vector], average: Sequence[Vector]) -> _Bounded:
        """Return the solutions with the supports of ``current`` that are nearest to ``average``."""
        supports = [np.flatnonzero(strategy > 0.0) for strategy in current]
        x, y = (self._nearest(player, supports, average[player]) for player in (0, 1))
        return self.bounded(x, y)

    def _nearest(self, player: int, supports: list[Indices], average: Vector) -> Vector:
        """Return one player's solution."""
        domain, opponent = self.domains[player], self.domains[1 - player]
        own, other = supports[player], supports[1 - player]
        matrix = (self.transposed, self.matrix)[player]
        sign = 1.0 if player else -1.0  # the opponent maximizes these payoffs, or minimizes them
        utility = np.ldexp(matrix @ average, -self.scale)
        values = sign * constraint_duals(opponent, sign * utility)
        flow, totals = self.constraints[player]
        E, live = _live(flow, own, domain.dimension, totals.size)
        F, valued = _live(self.constraints[1 - player][0], other, opponent.dimension, values.size)
        coo = matrix.tocoo()
        A = _Entries(coo.row, coo.col, np.ldexp(coo.data, -self.scale)).part(
            _places(other, opponent.dimension), _places(own, domain.dimension)
        )
        entries = _Entries(
            np.concatenate([E.row, live.size + A.row, live.size + F.column]),
            np.concatenate([E.column, A.column, own.size + F.row]),
            np.concatenate([E.value, A.value, -F.value]),
        )
        wanted = np.concatenate([totals[live], np.zeros(other.size)])
        solution = _nearest_solution(entries, wanted, np.append(average[own], values[valued]))
        found = np.zeros(average.size)
        found[own] = solution[: own.size]
        return repaired(found, domain)


def _nearest_solution(entries: _Entries, wanted: Vector, point: Vector) -> Vector:
    """Return the solution z of ``B z = c`` that is nearest to a point, or what comes near to one.

    Steps of ``[I B^T; B -delta I]`` need neither full rank nor as many equations as unknowns.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    row, column, value = entries
    unknowns, diagonal = point.size, np.arange(point.size + wanted.size)
    system = csc_array((value, (row, column)), shape=(wanted.size, unknowns))
    ones = np.where(diagonal < unknowns, 1.0, -_REGULARIZATION)
    rows = np.concatenate([row + unknowns, column, diagonal])
    columns = np.concatenate([column, row + unknowns, diagonal])
    factors = splu(
        csc_array((np.concatenate([value, value, ones]), (rows, columns))),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    missed = wanted - system @ point
    for _ in range(_REFINEMENTS):
        step = factors.solve(np.append(np.zeros(unknowns), missed))[:unknowns]
        still = wanted - system @ (point + step)
        if not np.abs(still).max() < 0.5 * np.abs(missed).max():
            break
        point, missed = point + step, still
    return point


def _places(kept: Indices, size: int) -> Indices:
    """Return the new number of each, -1 of those that are not kept."""
    places = np.full(size, -1)
    places[kept] = np.arange(kept.size)
    return places


def _live(
    flow: _Entries, support: Indices, dimension: int, points: int
) -> tuple[_Entries, Indices]:
    """Return the constraints on the sequences of a support, and which those are."""
    part = flow.part(np.arange(points), _places(support, dimension))
    kept = np.flatnonzero(np.bincount(part.row, minlength=points))
    return part.part(_places(kept, points), np.arange(support.size)), kept
