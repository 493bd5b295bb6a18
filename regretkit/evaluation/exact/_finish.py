"""From a run to an exact equilibrium: systems of the supports of what is played."""

import itertools
import math
import operator
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from regretkit._util._errors import warn
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number
from regretkit.evaluation._purification import threshold
from regretkit.evaluation.exact._support_systems import Bounded, Flags, Systems
from regretkit.evaluation.exact._zero_sum import ExactSolution
from regretkit.games import ExtensiveFormGame, Game, History, Profile, Rules
from regretkit.games._behavioral import as_vectors

_FIRST = 50
"""The earliest iteration of the first look."""
_WORTH_A_LOOK = 0.005
"""The largest gap of the average, relative to the range of payoffs, at which systems are solved."""
_EXTRA = 1_000
"""Iterations for each further look at other supports: a look takes as long as 50 to 230."""
_LOST = 10.0
"""Supports are corrected while their gap is at most this many times that of the average."""
_LEAST = (0.0, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03)
"""Probabilities below each of these count as zero in a profile, one after the other."""


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

    After some iterations the sequences that the average plays with a larger probability than they
    lose against the other's average, with those that are played *now*, are the support of an
    equilibrium. With S and T these sequences, A the payoffs of player 0, and ``E x = e`` and
    ``F y = f`` the constraints on strategies, an equilibrium with these supports solves, with q the
    values of player 1's decision points,

        E x = e,    (A^T x)[t] = (F^T q)[t] for t in T,    x[s] = 0 for s not in S

    and likewise y. Of all solutions the one nearest to the run's average is taken, and best
    responses of the whole game measure it, so that nothing rests on the guess of the supports.
    If the gap is not zero, best responses join S and T and the sequence that loses most for its
    probability leaves, one after the other, up to once for every 1,000 iterations so far. Then the
    run continues: looks are at iterations 50, 100, 200, ... No clock decides, so a run has the same
    outcome, bit by bit, however busy the machine is, unless the time limit ends it.

    Parameters
    ----------
    run
        A run on a constant-sum game of two players, in normal form, in extensive form, or public.
        It continues from where it is. Or a profile of such a game, as ``run.average`` or from a
        file: its supports are those of its actions above one threshold after another, and the best
        is returned.
    tolerance
        The gap at which to end, relative to the range of payoffs, at least 0.
    time_limit
        End after about this number of seconds, with a warning and the best until then, or where a
        system does not fit into memory; ``gap`` of the solution says how far it is, ``method`` what
        lacked. A public game, of which the payoffs of all pairs of types do not fit into memory at
        each terminal, is played without looks, with a warning that says its size.

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
    if not all(hasattr(type(run), name) for name in ("current", "average", "run")):
        wanted = "a run that can go on, as solve(game) returns, or a Profile"
        raise TypeError(must_be("run", wanted, run))
    return finish_within(run, sys.maxsize, allowed, end)


def finish_within(
    run: LearningRun, iterations: int, allowed: float = 1e-12, end: float = math.inf
) -> ExactSolution:
    """Do as ``finish``, and give up after a number of iterations."""
    systems = Systems.of(run.game)
    goal, due = allowed * systems.width, min(max(_FIRST, run.iteration), iterations)
    best: Bounded | None = None
    while True:
        _play(run, due, end)
        average, lacking = systems.bounded(*run.average), ""
        best = min(average, best or average, key=_gap)
        if systems.are_there and average.gap <= _WORTH_A_LOOK * systems.width:
            likely, extra = systems.likely_supports(average), run.iteration // _EXTRA
            wider = [a | (x > 0.0) for a, x in zip(likely, run.current, strict=True)]
            supports = [wider, likely][: 1 + extra]
            found, lacking = _looked(systems, average, supports, extra - 1, goal, end)
            best = min(best, found, key=_gap)
        if best.gap > goal and not lacking:
            lacking = "iterations" * (run.iteration >= iterations)
            lacking = "time" if time.monotonic() >= end else lacking
        if best.gap <= goal or lacking:
            method = f"finish after {run.iteration} iterations"
            return _ended(systems, run.game, best, method, lacking)
        due = min(2 * due, iterations)


_gap = operator.attrgetter("gap")


def _play(run: LearningRun, due: int, end: float) -> None:
    """Play to an iteration, or to the end of the time, at least once."""
    chunk = 1
    while run.iteration < due:
        begun = time.monotonic()
        run.run(min(chunk, due - run.iteration))
        now = time.monotonic()
        if now >= end:
            break
        # Twice as many as before, or as many as the time is left for
        chunk = max(1, int(chunk * min(2.0, (end - now) / max(now - begun, 1e-9))))


def _looked(
    systems: Systems,
    average: Bounded,
    supports: Iterable[list[Flags]],
    corrections: int,
    goal: float,
    end: float,
) -> tuple[Bounded, str]:
    """Return the best of what supports and corrections lead to, and what was lacking."""
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
            found = systems.look(systems.system(each), average)
        except MemoryError:
            return best, "memory"
        best = min(best, found, key=_gap)
    return best, ""


def _ended(systems: Systems, game: Any, best: Bounded, method: str, lacking: str) -> ExactSolution:
    """Return the solution, and say what was lacking."""
    if lacking == "time":
        warn(f"finish ended at its time_limit, with a gap of {best.gap:.3g}")
    if lacking:
        method += f", out of {lacking if systems.are_there else 'memory'}"
    return systems.solution(game, best, method)


def _finished_profile(profile: Profile, allowed: float, end: float) -> ExactSolution:
    """Return the best of what the supports above each threshold lead to."""
    game = profile._game
    if game is None or isinstance(game, Mapping | History | Rules):
        raise ValueError(
            "run is a profile without its game; pass Profile(strategies, game.domains, game)"
        )
    systems = Systems.of(game)
    vectors = as_vectors(game, profile)
    given, lacking = systems.bounded(*vectors), "memory"
    best = given
    if systems.are_there:
        cut = (threshold(game, vectors, minimum).profile for minimum in _LEAST)
        above = ([x > 0.0 for x in each] for each in cut)
        supports = itertools.chain([systems.likely_supports(given)], above)
        best, lacking = _looked(systems, given, supports, 0, allowed * systems.width, end)
    return _ended(systems, game, best, "finish of a profile", lacking)


def unmerged(solution: ExactSolution, game: ExtensiveFormGame) -> ExactSolution:
    """Return the solution of a game from that of ``merged_by_symmetry(game)``."""
    small: Any = solution.profile._game
    x, y = (z[own] for z, own in zip(solution.profile, small._merged, strict=True))
    systems = Systems.of(game)
    return systems.solution(game, systems.bounded(x, y), f"{solution.method}, symmetries merged")
