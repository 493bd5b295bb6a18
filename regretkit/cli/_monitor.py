"""The monitor of a run: its limits, and how its gap fell; saved in every checkpoint."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast, final

from attrs import define, field
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit.cli._arguments import Choice, NamedGame
from regretkit.cli._options import Limits
from regretkit.cli._progress import ProgressLine, clock, iterations_to
from regretkit.evaluation import nash_conv
from regretkit.games import Profile
from regretkit.play import AtGeometricSteps, SelfPlay

_PERIOD = 0.05
"""Seconds between two calls, about."""

_RATIO, _RATIO_TO_GAP = 1.25, 1.05
"""By how much iterations grow from one measurement to the next; the second is that of `solve`."""

_Numbers: TypeAlias = dict[str, object]


@final
@define(eq=False)
class RunMonitor(Stateful):
    """A callback that measures the gap now and then, stops a run at its limits, and shows progress.

    It is saved in every checkpoint, so that the file is all that is needed to resume a run.
    """

    stop_requested: Callable[[], bool] = field(metadata=NOT_STATE)
    line: ProgressLine | None = field(default=None, init=False, metadata=NOT_STATE)
    named: NamedGame | None = field(default=None, init=False, metadata=NOT_STATE)
    game: str = field(default="", init=False)
    algorithm: str | None = field(default=None, init=False)
    rule: str | None = field(default=None, init=False)
    sample: str | None = field(default=None, init=False)
    iterations_limit: int | None = field(default=None, init=False)
    """Iterations after which to stop, counted from the first."""
    gap_limit: float | None = field(default=None, init=False)
    time_limit: float | None = field(default=None, init=False)
    """Seconds of play after which to stop, counted from the first iteration."""
    played: float = field(default=0.0, init=False)
    """Seconds of play so far, without measurements."""
    iterations: list[int] = field(factory=list, init=False)
    times: list[float] = field(factory=list, init=False)
    gaps: list[float] = field(factory=list, init=False)
    _clock: float = field(default=0.0, init=False, metadata=NOT_STATE)
    _start: tuple[float, int] = field(default=(0.0, 0), init=False, metadata=NOT_STATE)
    """Seconds and iterations before the run was started or resumed."""
    _last: int = field(default=0, init=False, metadata=NOT_STATE)
    _step: int = field(default=1, init=False, metadata=NOT_STATE)

    def describe(self, game: NamedGame, choice: Choice, sample: str | None = None) -> None:
        """Note what is played."""
        self.named, self.game = game, game.absolute
        self.algorithm, self.rule, self.sample = choice.name, choice.rule, sample

    def limit(self, limits: Limits) -> None:
        """Stop at these limits."""
        self.iterations_limit, self.gap_limit = limits.iterations, limits.gap
        self.time_limit = limits.seconds

    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        columns = [cast(_Numbers, state[name]) for name in ("iterations", "times", "gaps")]
        texts = [state[name] for name in ("algorithm", "rule", "sample")]
        limits = [state[name] for name in ("gap_limit", "time_limit")]
        most = state["iterations_limit"]
        valid = (
            len(set(map(len, columns))) == 1
            and all(_is_number(x) for column in columns for x in column.values())
            and all(text is None or isinstance(text, str) for text in texts)
            and all(limit is None or _is_number(limit, above=0.0) for limit in limits)
            and (most is None or (type(most) is int and 1 <= most < 2**62))
            and _is_number(state["played"])
        )
        if not valid:
            raise ValueError("the state of the command line is not one that it writes")

    def begin(self, run: SelfPlay) -> None:
        """Start the clock."""
        self._start = (self.played, run.iteration)
        self._clock, self._last, self._step = time.monotonic(), run.iteration, 1

    def next_call(self, run: SelfPlay) -> int:
        """Return the next iteration at which to read the clock, or to measure."""
        return min(self._measurements.next_call(run), run.iteration + self._step)

    def __call__(self, run: SelfPlay) -> bool:
        """Read the clock, measure if due, show progress, and return whether to stop."""
        seconds = max(time.monotonic() - self._clock, 1e-9)
        count, self._last = run.iteration - self._last, run.iteration
        self.played += seconds
        self._step = max(1, int(count * min(_PERIOD / seconds, 8.0)))
        self._measurements(run)
        if self.line is not None:
            self._show_progress(self.line, run.iteration)
        self._clock = time.monotonic()
        return self.stop_requested() or self.is_over(run)

    @property
    def _measurements(self) -> AtGeometricSteps:
        ratio = _RATIO if self.gap_limit is None else _RATIO_TO_GAP
        return AtGeometricSteps(self._measure, ratio=ratio)

    def _measure(self, run: SelfPlay) -> None:
        gap = self.gap_of(run)
        self.iterations.append(run.iteration)
        self.times.append(self.played)
        self.gaps.append(gap)

    def _show_progress(self, line: ProgressLine, iteration: int) -> None:
        seconds, first = self._start
        rate = (iteration - first) / max(self.played - seconds, 1e-9)
        remaining, most = self._time_left(iteration, rate), self.iterations_limit
        facts = [
            f"iteration {iteration:,}{'' if most is None else f' of {most:,}'}",
            f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s",
            *([] if self.gap is None else [f"gap {self.gap:.2e}"]),
            "time left unknown" if remaining is None else f"{clock(remaining)} left",
        ]
        line.update(facts, self.played, remaining)

    def _time_left(self, iteration: int, rate: float) -> float | None:
        """Return the seconds until the first of the limits is reached, None if unknown."""
        remaining = math.inf
        if self.iterations_limit is not None:
            remaining = (self.iterations_limit - iteration) / rate
        if self.gap_limit is not None:
            needed = iterations_to(self.gap_limit, self.iterations, self.gaps)
            remaining = min(remaining, (needed - iteration) / rate)
        if self.time_limit is not None:
            remaining = min(remaining, self.time_limit - self.played)
        return None if remaining == math.inf else max(remaining, 0.0)

    def is_over(self, run: SelfPlay) -> bool:
        """Return whether a limit has been reached."""
        most, seconds, target = self.iterations_limit, self.time_limit, self.gap_limit
        return (
            (most is not None and run.iteration >= most)
            or (seconds is not None and self.played >= seconds)
            or (target is not None and self.gap is not None and self.gap <= target)
        )

    def average(self, run: SelfPlay) -> Profile:
        """Return the average strategies, coarsened in a game of imperfect recall."""
        return run.average if self.named is None else self.named.coarsen(run.average)

    def gap_of(self, run: SelfPlay) -> float:
        """Return the NashConv of these; best responses have perfect recall."""
        return nash_conv(run.game, self.average(run))

    def curve(self, run: SelfPlay, gap: float | None) -> dict[str, list[Any]]:
        """Return how the gap fell, up to its present value."""
        rows: list[tuple[float, ...]]
        rows = list(zip(self.iterations, self.times, self.gaps, strict=True))
        if gap is not None and self.iterations[-1:] != [run.iteration]:
            rows.append((run.iteration, self.played, gap))
        names = ("iteration", "seconds", "gap")
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}

    @property
    def imperfect_recall(self) -> bool:
        """Whether the game is of imperfect recall."""
        return self.named is not None and self.named.original is not None

    @property
    def label(self) -> str:
        """The name of the algorithm in reports."""
        words = " in ".join(filter(None, (self.rule, self.algorithm)))
        return f"{words}, {self.sample} sampling" if self.sample else words

    @property
    def gap(self) -> float | None:
        """The gap when it was measured last."""
        return self.gaps[-1] if self.gaps else None


def _is_number(value: object, *, above: float = -math.inf) -> bool:
    return type(value) in (int, float) and above < cast(float, value) < math.inf
