"""What the command line writes down about a run: what was asked for, and how its gap fell."""

import math
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast, final

from attrs import define, field
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit.cli.recall import Found
from regretkit.evaluation import nash_conv
from regretkit.games import ImperfectRecallGame, Profile
from regretkit.play import Geometrically, SelfPlay

_LOOKS = 0.05
"""Seconds between two looks at the clock, about."""

_RATIO, _RATIO_TO_GAP = 1.25, 1.05
"""By how much iterations grow from one measurement to the next; the second is that of `solve`."""

_Row: TypeAlias = dict[str, object]

GAP, TIME, STOPPED = "gap", "time", "interrupt"


@final
@define(eq=False)
class Journal(Stateful):
    """A callback that measures the gap now and then, and stops a run when it is time.

    It is saved in every checkpoint, so that a run can be resumed by nothing but its file.

    Parameters
    ----------
    asked
        Says whether somebody wants out.
    """

    asked: Callable[[], bool] = field(metadata=NOT_STATE)
    forgetful: ImperfectRecallGame | None = field(default=None, init=False, metadata=NOT_STATE)
    """The game, where somebody forgets in it."""
    game: str = field(default="", init=False)
    algorithm: str | None = field(default=None, init=False)
    rule: str | None = field(default=None, init=False)
    sample: str | None = field(default=None, init=False)
    """What is drawn at random, if anything."""
    most: int | None = field(default=None, init=False)
    """Iterations after which to stop, counted from the first."""
    target: float | None = field(default=None, init=False)
    """The gap at which to stop."""
    seconds: float | None = field(default=None, init=False)
    """Seconds of play after which to stop, counted from the first iteration."""
    played: float = field(default=0.0, init=False)
    """Seconds of play so far; to measure is not to play."""
    iterations: list[int] = field(factory=list, init=False)
    times: list[float] = field(factory=list, init=False)
    gaps: list[float] = field(factory=list, init=False)
    why: str = field(default="", init=False)
    """What stopped the run before its last iteration, if anything has."""
    _since: float = field(default=0.0, init=False, metadata=NOT_STATE)
    _looked: int = field(default=0, init=False, metadata=NOT_STATE)
    _pace: int = field(default=1, init=False, metadata=NOT_STATE)

    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        rows = [state[name] for name in ("iterations", "times", "gaps")]
        texts = [state[name] for name in ("algorithm", "rule", "sample")]
        limits = [state[name] for name in ("target", "seconds")]
        right = (
            len({len(cast("dict[str, object]", row)) for row in rows}) == 1
            and all(map(_is_number, [x for row in rows for x in cast(_Row, row).values()]))
            and all(text is None or isinstance(text, str) for text in texts)
            and all(limit is None or _is_number(limit, above=0.0) for limit in limits)
            and (state["most"] is None or _is_iteration(state["most"]))
            and _is_number(state["played"])
            and state["why"] in ("", GAP, TIME, STOPPED)
        )
        if not right:
            raise ValueError("what the command line has written down is not what it writes")

    def begin(self, run: SelfPlay) -> None:
        """Let the clock run, and forget what stopped the run before."""
        self.why = ""
        self._since, self._looked, self._pace = time.monotonic(), run.iteration, 1

    def due(self, run: SelfPlay) -> int:
        """Return the next iteration at which to look at the clock, or to measure."""
        return min(self._when().due(run), run.iteration + self._pace)

    def __call__(self, run: SelfPlay) -> bool:
        """Look at the clock, measure if it is time, and say whether to stop."""
        self._look(run)
        gap = self._when()(run)
        self._since = time.monotonic()
        if self.target is not None and isinstance(gap, float) and gap <= self.target:
            self.why = GAP
        elif self.seconds is not None and self.played >= self.seconds:
            self.why = TIME
        elif self.asked():
            self.why = STOPPED
        return bool(self.why)

    def _look(self, run: SelfPlay) -> None:
        took = max(time.monotonic() - self._since, 1e-9)
        count, self._looked = run.iteration - self._looked, run.iteration
        self.played += took
        self._pace = max(1, int(count * min(_LOOKS / took, 8.0)))

    def _when(self) -> Geometrically:
        ratio = _RATIO if self.target is None else _RATIO_TO_GAP
        return Geometrically(self._measure, ratio=ratio)

    def _measure(self, run: SelfPlay) -> float:
        gap = self.gap_of(run)
        self.iterations.append(run.iteration)
        self.times.append(self.played)
        self.gaps.append(gap)
        return gap

    def average(self, run: SelfPlay) -> Profile:
        """Return the average strategies as players that forget can play them."""
        return Found(run.game, self.forgetful).forgotten(run.average)

    def gap_of(self, run: SelfPlay) -> float:
        """Return how far these are from an equilibrium; best responses to them remember."""
        return nash_conv(run.game, self.average(run))

    @property
    def label(self) -> str:
        """What to call what plays."""
        words = " in ".join(filter(None, (self.rule, self.algorithm)))
        return f"{words}, {self.sample} sampling" if self.sample else words

    @property
    def gap(self) -> float | None:
        """The gap when it was measured last."""
        return self.gaps[-1] if self.gaps else None


def _is_number(value: object, *, above: float = -math.inf) -> bool:
    return type(value) in (int, float) and above < cast(float, value) < math.inf


def _is_iteration(value: object) -> bool:
    return type(value) is int and 1 <= value < 2**62
