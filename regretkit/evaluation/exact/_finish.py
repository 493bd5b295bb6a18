"""From a run to an exact equilibrium: when to look at the supports of what is played."""

import itertools
import math
import operator
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field

from regretkit._util._errors import warn
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number
from regretkit.evaluation._purification import threshold
from regretkit.evaluation.exact._support_systems import Bounded, Flags, Systems
from regretkit.evaluation.exact._zero_sum import ExactSolution
from regretkit.games import ExtensiveFormGame, Game, Profile
from regretkit.games._behavioral import as_vectors
from regretkit.games.public import PublicGame

_FIRST = 50
"""The earliest iteration of the first look."""
_CALL = 5e5
"""Operations, of about a nanosecond, that count for a run, its first call, a look or a break,"""
_SETTING_UP, _FACTORING, _EXPECTED = 25.0, 150.0, 100.0
"""for a look, by payoffs and sequences, and by its entries; as a first guess, by the former"""
_ITERATION = {"compiled": (1e3, 2.0), "vectorized": (5e4, 10.0)}
_NUMPY = 1.5e5, 50.0
"""and for an iteration, in any game, and by sequences, besides one for each payoff."""
_SETTLED = 5.0
"""Payoffs that a sequence of a public game counts for, as its pairs are not gone through."""
_LONGEST = 8.0
"""How far a run continues after a look, at most, relative to the operations so far."""
_WORTH_A_LOOK = 0.005
"""The largest gap of the average, relative to the range of payoffs, at which systems are solved."""
_LEAST = (0.0, 1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03)
"""Probabilities below each of these count as zero in a profile, one after the other."""
_SHARE = 0.1
"""The part of the operations of a run up to which one look may go on to other supports,"""
_LOST = 10.0
"""as long as what they lead to is not worse than the average by this factor."""


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

    @property
    def engine(self) -> str:
        """What ran the last iterations, as ``"numpy"`` or ``"compiled"``."""
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
    continues, for longer the more a look costs.

    Looks never cost more than the run: each is taken once all of them, itself included, cost at
    most what the run cost until then. Operations are counted, from the sizes of the game and of
    the systems and with about a nanosecond each, and not timed; so that, unless the
    time limit ends it, a run with the same engine has the same outcome, bit by bit, however busy
    the machine is.

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
        End after this number of seconds, with a warning and the best until then, or where a system
        does not fit into memory; ``gap`` of the solution says how far it is, ``method`` what
        lacked. A public game, of which the payoffs of all pairs of types do not fit into memory at
        each terminal, is played without looks, with a warning that says its size.

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
    allowed = number(tolerance, "tolerance", minimum=0.0)
    end = time.monotonic() + number(time_limit, "time_limit", minimum=0.0)
    if isinstance(run, Profile):
        return _finished_profile(run, allowed, end)
    needed = "current", "average", "run", "processor_seconds", "engine"
    if not all(hasattr(type(run), name) for name in needed):
        told = "a run that can go on, as solve(game) returns, or a Profile"
        raise TypeError(must_be("run", told, run))
    return finish_within(run, math.inf, allowed, end)


def finish_within(
    run: LearningRun, operations: float, allowed: float = 1e-12, end: float = math.inf
) -> ExactSolution:
    """Do as ``finish``, and give up after a number of operations."""
    systems = Systems.of(run.game)
    schedule = _Schedule(run, systems, allowed * systems.width, end)
    best, lacking = None, ""
    while True:
        if best or run.iteration < _FIRST:
            schedule.play()
        average = systems.bounded(*run.average)
        best = min(average, best or average, key=_gap)
        try:
            if schedule.ran < operations:
                best = min(best, schedule.best_look(average), key=_gap)
        except MemoryError:
            lacking = "memory"
        if best.gap <= schedule.goal:
            return systems.solution(run.game, best, f"finish after {run.iteration} iterations")
        late = time.monotonic() >= end
        if lacking or late or schedule.ran + schedule.spent >= operations:
            reason = "time" if late else "operations"
            lacking = lacking or (reason if systems.are_there else "memory")
            if late:
                warn(f"finish ended at its time_limit, with a gap of {best.gap:.3g}")
            method = f"finish after {run.iteration} iterations, out of {lacking}"
            return systems.solution(run.game, best, method)


_gap = operator.attrgetter("gap")


@define
class _Schedule:
    """When to look at a run: by counts of operations, so that no clock decides what is found."""

    run: LearningRun
    systems: Systems
    goal: float
    end: float
    ran: float = _CALL
    """Operations of making the run and of all iterations, without its first call,"""
    counted: int = 0
    """of which this number are counted,"""
    spent: float = 0.0
    """of all looks,"""
    last: float = field(init=False)
    """of the last look or of one that is to come,"""
    due: float = field(init=False)
    """and those of all iterations at the next look."""
    begun: tuple[int, float] = field(init=False)
    """Iterations and seconds of the run before."""

    def __attrs_post_init__(self) -> None:
        self.last = self.due = _CALL + _EXPECTED * self.systems.size
        self.begun = self.run.iteration, self.run.processor_seconds
        self._count()

    def _of_iteration(self) -> float:
        sequences, (fixed, scale) = self.systems.sequences, _ITERATION.get(self.run.engine, _NUMPY)
        public = isinstance(self.run.game, PublicGame)
        settled = _SETTLED * sequences if public else self.systems.payoffs.value.size
        return fixed + settled + scale * sequences

    def _count(self) -> None:
        """Count iterations; those that ran before are taken to be like the next ones."""
        self.ran += (self.run.iteration - self.counted) * self._of_iteration()
        self.counted = self.run.iteration

    def play(self) -> None:
        """Go on to the next look, or to the end of the time."""
        run = self.run
        while run.iteration < _FIRST or self.ran < self.due:
            left = self.end - time.monotonic()
            if left <= 0.0 and run.iteration:
                break
            cost = self._of_iteration()
            count = max(_FIRST - run.iteration, math.ceil((self.due - self.ran) / cost))
            played, seconds = run.iteration - self.begun[0], run.processor_seconds - self.begun[1]
            pace = seconds / max(played, 1) or cost * 1e-9
            run.run(max(1, math.ceil(min(count, left / pace))))
            self._count()

    def best_look(self, average: Bounded) -> Bounded:
        """Return the best of what supports near those of the run lead to, and say when is next."""
        systems, spent, best = self.systems, self.spent, average
        if systems.are_there and self.goal < average.gap <= _WORTH_A_LOOK * systems.width:
            share = spent + _SHARE * self.ran
            likely = systems.likely_supports(average)
            wider = [a | (x > 0.0) for a, x in zip(likely, self.run.current, strict=True)]
            if (found := self._look(wider, average, math.inf)) is None:
                self.due = self.spent + self.last - _CALL
                return average
            best = found
            if self.goal < best.gap and (found := self._look(likely, average, self._left(share))):
                best = min(best, found, key=_gap)
            while found and self.goal < best.gap and found.gap <= _LOST * average.gap:
                corrected = systems.corrected_supports(found)
                found = self._look(corrected, average, self._left(share))
                best = min(best, found or best, key=_gap)
        # After r operations, breaks of c operations each d apart cost c / d + d / 2r of them.
        growth = math.sqrt(2.0 * (self.spent - spent + _CALL) / self.ran)
        self.due = self.ran * (1.0 + min(growth, _LONGEST))
        self.due = max(self.due, self.spent + self.last - _CALL)
        return best

    def _left(self, limit: float) -> float:
        return limit if time.monotonic() < self.end else 0.0

    def _look(self, supports: list[Flags], average: Bounded, limit: float) -> Bounded | None:
        """Look at supports, unless that costs too much."""
        system = self.systems.system(supports)
        self.last = _CALL + _SETTING_UP * self.systems.size + _FACTORING * system.entries
        if self.spent + self.last > min(self.ran + _CALL, limit):
            return None
        self.spent += self.last
        return self.systems.look(system, average)


def _finished_profile(profile: Profile, allowed: float, end: float) -> ExactSolution:
    """Return the best of what the supports above each threshold lead to."""
    if profile._game is None or isinstance(profile._game, Mapping):
        raise ValueError(
            "run is a profile without its game; pass Profile(strategies, game.domains, game)"
        )
    systems, method = Systems.of(game := profile._game), "finish of a profile"
    average = as_vectors(game, profile)
    best = given = systems.bounded(*average)
    cut = (threshold(game, average, minimum).profile for minimum in _LEAST)
    supports = ([x > 0.0 for x in profile] for profile in cut)
    for each in itertools.chain([systems.likely_supports(given)], supports):
        if best.gap <= allowed * systems.width:
            break
        lacking = "" if systems.are_there else "memory"
        lacking = lacking or "time" * (time.monotonic() >= end)
        try:
            if not lacking:
                best = min(best, systems.look(systems.system(each), given), key=_gap)
        except MemoryError:
            lacking = "memory"
        if lacking:
            if lacking == "time":
                warn(f"finish ended at its time_limit, with a gap of {best.gap:.3g}")
            method += f", out of {lacking}"
            break
    return systems.solution(game, best, method)


def unmerged(solution: ExactSolution, game: ExtensiveFormGame) -> ExactSolution:
    """Return the solution of a game from that of ``merged_by_symmetry(game)``."""
    small: Any = solution.profile._game
    x, y = (z[own] for z, own in zip(solution.profile, small._merged, strict=True))
    systems = Systems.of(game)
    return systems.solution(game, systems.bounded(x, y), f"{solution.method}, symmetries merged")
