"""Named measures of runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import define, field

from regretkit._regret_tracker import RegretTracker
from regretkit._state import NOT_STATE, StateDict, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import did_you_mean, quote
from regretkit.circuits import CFR
from regretkit.evaluation import (
    CorrelatedPlay,
    nash_conv,
    sampled_local_best_response,
    sampled_value,
)
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import RegretMatching
from regretkit.play._orders import Extragradient, RandomPlayer
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

Measure: TypeAlias = Callable[["SelfPlay"], object]
"""A function of a run that returns the value to record."""


SAMPLED_GAP = "local_best_response"
"""The measure of a gap for runs without a tree."""
_GAMES, _ROLLOUTS = 100, 10
"""Its number of sampled plays for each player, and of rollouts after each action."""


@define(eq=False)
class StrategyChange(Stateful):
    """The largest change of a coordinate of the average since the last call; None at the first."""

    _last: tuple[Vector, ...] = field(default=(), init=False, repr=False)

    def begin(self, run: "SelfPlay") -> None:
        """Delete the strategies of an earlier run."""
        check_tree(run, "strategy_change")
        if run.iteration == 0:
            self._last = ()

    def __call__(self, run: "SelfPlay") -> float | None:
        last, self._last = self._last, tuple(run.average)
        changes = [np.abs(x - y).max() for x, y in zip(self._last, last, strict=bool(last))]
        return float(max(changes)) if changes else None


@define(eq=False)
class BestGap(Stateful):
    """The smallest measured NashConv of last iterates."""

    _minimum: float = field(default=math.inf, init=False)

    def __call__(self, run: "SelfPlay") -> float:
        self._minimum = min(self._minimum, _gap("last_nash_conv", run))
        return self._minimum


@define(eq=False)
class Regret(Stateful):
    """The largest external or swap regret among players over all iterations, in units of payoff."""

    kind: str
    _sums: list[object] = field(factory=list, init=False, repr=False)
    """The sums of the trackers at the last access to the state."""
    _trackers: tuple[RegretTracker, ...] = field(
        default=(), init=False, repr=False, metadata=NOT_STATE
    )

    def begin(self, run: "SelfPlay") -> None:
        """Track the minimizers of a new run, or of a run with restored sums."""
        check_tree(run, f"{self.kind}_regret")
        simplices = all(isinstance(minimizer.domain, Simplices) for minimizer in run.minimizers)
        if self.kind == "swap" and not simplices:
            raise TypeError(
                "swap_regret needs a normal form; measure 'external_regret' or 'efce_gap'"
            )
        sums = iter(self._sums if run.iteration and not self._trackers else ())
        if run.iteration and next(iter(self._sums), 0) != run.iteration:
            return
        trackers = []
        for minimizer in run.minimizers:
            if self._held(minimizer, run) is None:
                tracker = RegretTracker(minimizer.domain)
                restored = [*islice(sums, len(tracker.sums()))]
                if minimizer._tracker is None and not restored:
                    self._check_engine(run)
                if restored:
                    tracker.load(restored)
                if minimizer._tracker is None or restored:
                    minimizer._tracker = tracker
                trackers.append(minimizer._tracker)
        self._trackers = tuple(trackers)

    def _check_engine(self, run: "SelfPlay") -> None:
        if run._requested_engine not in ("auto", "numpy"):
            gap = "cce_gap" if self.kind == "external" else "ce_gap"
            raise ValueError(
                f"engine {run._requested_engine} does not support {self.kind}_regret; leave out "
                f"engine, or measure {gap}"
            )

    def state_dict(self) -> StateDict:
        if self._trackers:
            self._sums = [sums for tracker in self._trackers for sums in tracker.sums()]
        return super().state_dict()

    def _restored(self) -> None:
        self._trackers = ()

    def _held(self, minimizer: RegretMinimizer, run: "SelfPlay") -> float | None:
        """Return the regret from the state of regret matching, None for other rules.

        CFR's regret against a strategy x is a sum over decision points: the local regret against x
        there, times the probability that x reaches the decision point.
        """
        on_tree = isinstance(minimizer, CFR) and isinstance(minimizer.domain, DecisionTree)
        rule = minimizer.rule if isinstance(minimizer, CFR) else minimizer
        earlier = minimizer.iteration > run.iteration  # the state has updates from before the run
        if self.kind == "swap" or type(rule) is not RegretMatching or earlier:
            return None
        regrets = rule.regrets
        return minimizer.domain.best_response(np.append(0.0, regrets) if on_tree else regrets)[0]

    def __call__(self, run: "SelfPlay") -> float:
        regrets = []
        for minimizer in run.minimizers:
            tracker, regret = minimizer._tracker, self._held(minimizer, run)
            if tracker is not None and tracker.contiguous:
                regret = getattr(tracker, self.kind)
            if regret is None:
                raise _unwatched(f"{self.kind}_regret")
            regrets.append(float(regret))
        return max(regrets)


def _unwatched(name: str) -> ValueError:
    return ValueError(f"{name} needs all iterations; pass the Recorder to a new run")


@define(eq=False)
class SharedPlay(Stateful):
    """The ``CorrelatedPlay`` that all correlated gaps of a ``Recorder`` share."""

    deviations: list[str] = field(factory=list, init=False, metadata=NOT_STATE)
    play: CorrelatedPlay | None = field(default=None, init=False)

    def begin(self, run: "SelfPlay") -> None:
        """Create a new play before the first iteration of a run."""
        play = self.play
        fresh = play is not None and not play.total_weight and play.game is run.game
        if run.iteration == 0 and not fresh:
            self.play = CorrelatedPlay(run.game, self.deviations)


@define(eq=False)
class CorrelatedGap:
    """A gap of the correlated play of all iterations."""

    name: str
    shared: SharedPlay

    def __attrs_post_init__(self) -> None:
        if self.name not in ("cce_gap", "ce_gap"):
            self.shared.deviations.append(self.name.removesuffix("_gap"))

    def begin(self, run: "SelfPlay") -> list[CorrelatedPlay]:
        """Return the play as a callback for every iteration."""
        check_tree(run, self.name)
        self.shared.begin(run)
        play = self.shared.play
        return [] if play is None or play.game is not run.game else [play]

    def __call__(self, run: "SelfPlay") -> float:
        play = self.shared.play
        if play is None or play.total_weight != run.iteration or play.game is not run.game:
            raise _unwatched(self.name)
        return play.gap(self.name.removesuffix("_gap"))


GAPS = "cce_gap", "ce_gap", "efcce_gap", "efce_gap", "linear_gap"
"""Measures that are gaps of ``CorrelatedPlay``."""

MEASURES: Mapping[str, Callable[[SharedPlay], Measure]] = {
    "nash_conv": lambda _: partial(_gap, "nash_conv"),
    "exploitability": lambda _: partial(_gap, "exploitability"),
    "last_nash_conv": lambda _: partial(_gap, "last_nash_conv"),
    "best_nash_conv": lambda _: BestGap(),
    "visited": lambda _: _visited,
    "seconds": lambda _: lambda run: run.seconds,
    "strategy_change": lambda _: StrategyChange(),
    SAMPLED_GAP: lambda _: sampled_gap,
    "external_regret": lambda _: Regret("external"),
    "swap_regret": lambda _: Regret("swap"),
    **{gap: partial(CorrelatedGap, gap) for gap in GAPS},
}
"""For each name in ``Recorder``, a function that returns a new measure."""


def _gap(name: str, run: "SelfPlay") -> float:
    """Return a gap of the average, or of the last iterate."""
    check_tree(run, name)
    if name == "last_nash_conv":
        return nash_conv(run.game, run.last_profile)
    return run.exploitability() if name == "exploitability" else run.nash_conv()


def _visited(run: "SelfPlay") -> int:
    """Return the number of visited histories, or of outcomes of a normal form.

    A node of a public game counts once for each type of each player.
    """
    sampled = getattr(run.estimator, "visited", None)
    if sampled is not None:
        return int(sampled)
    check_tree(run, "visited")
    size = run.game.size
    if size is None:
        raise TypeError(f"visited needs a game with a tree or a table, got {quote(run.game)}")
    utilities = 1 if isinstance(run.order, RandomPlayer) else run.players
    return run.iteration * size * utilities * (1 + isinstance(run.order, Extragradient))


def check_tree(run: object, name: str) -> None:
    """Raise a TypeError for a run without a tree."""
    if not hasattr(run, "minimizers"):
        raise TypeError(
            f"{name} needs the game's tree; measure {SAMPLED_GAP}, a sampled lower bound of "
            "nash_conv, or pass a function of the run"
        )


def sampled_gap(run: Any, time_limit: float | None = None) -> float:
    """Return the sum over players of the gain of ``sampled_local_best_response``."""
    game, average = run.game, run.average
    options: Any = {"rollouts": _ROLLOUTS, "time_limit": time_limit and time_limit / run.players}
    best = [
        sampled_local_best_response(game, player, average, _GAMES, 1, **options).mean
        for player in range(run.players)
    ]
    earned = [value.mean for value in sampled_value(game, average, _GAMES, 1)]
    return float(sum(best) - sum(earned))


def as_measures(measures: object) -> dict[str, Measure]:
    """Return measures by name."""
    named: object = [measures] if isinstance(measures, str) else measures
    if isinstance(named, Sequence) and all(isinstance(name, str) for name in named):
        named = {name: name for name in named}
    if not isinstance(named, Mapping):
        raise TypeError(
            "measures must be a list of names, such as ['nash_conv', 'seconds'], or a dict from "
            f"names to functions of the run, got {quote(measures)}"
        )
    shared = SharedPlay()
    return {name: _measure(name, measure, shared) for name, measure in named.items()}


def _measure(name: str, measure: object, shared: SharedPlay) -> Measure:
    if callable(measure):
        return measure
    if not isinstance(measure, str):
        raise TypeError(
            f"measures[{quote(name)}] must be a name or a function of the run, got {quote(measure)}"
        )
    if measure not in MEASURES:
        known, hint = ", ".join(map(repr, MEASURES)), did_you_mean(measure.lower(), MEASURES)
        raise ValueError(f"there is no measure {quote(measure)}, only {known}{hint}")
    return MEASURES[measure](shared)
