"""What can be measured of a run by name."""

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import define, field

from regretkit._regret_tracker import RegretTracker
from regretkit._state import NOT_STATE, StateDict, Stateful, leaves
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
"""A function of a run, which returns what to write down."""


SAMPLED_GAP = "local_best_response"
"""The measure of runs without a tree."""
_GAMES, _ROLLOUTS = 100, 10
"""Games that it plays for each player, and plays to the end after each action."""


@define(eq=False)
class StrategyChange(Stateful):
    """How far a coordinate of the average moved since the last call, None at the first of a run."""

    _last: tuple[Vector, ...] = field(default=(), init=False, repr=False)
    _iteration: int = field(default=-1, init=False, repr=False)
    """That of the last call, -1 before."""
    _run: "weakref.ref[SelfPlay] | None" = field(
        default=None, init=False, repr=False, metadata=NOT_STATE
    )
    """The run of the last call, None once this was restored: then it is the first that comes."""

    def __call__(self, run: "SelfPlay") -> float | None:
        check_tree(run, "strategy_change")
        same_run = self._run is None or self._run() is run
        continued = same_run and 0 <= self._iteration <= run.iteration
        strategies = tuple(run.average)
        last, self._last = self._last, strategies
        self._run, self._iteration = weakref.ref(run), run.iteration
        if not continued:
            return None
        return float(max(np.abs(x - y).max() for x, y in zip(strategies, last, strict=True)))

    def _restored(self) -> None:
        self._run = None


@define(eq=False)
class BestGap(Stateful):
    """The least NashConv of last iterates among those that were measured."""

    _minimum: float = field(default=math.inf, init=False)

    def __call__(self, run: "SelfPlay") -> float:
        self._minimum = min(self._minimum, _gap("last_nash_conv", run))
        return self._minimum


@define(eq=False)
class Regret(Stateful):
    """The largest external or swap regret of a player over all iterations, in units of payoff."""

    kind: str
    _sums: list[object] = field(factory=list, init=False, repr=False)
    """What the trackers of a run have added up when its state was read or put back."""
    _trackers: tuple[RegretTracker, ...] = field(
        default=(), init=False, repr=False, metadata=NOT_STATE
    )

    def begin(self, run: "SelfPlay") -> None:
        """Track a run from its first iteration on, unless a ledger does, or from where it was."""
        check_tree(run, f"{self.kind}_regret")
        restored = iter([] if self._trackers or not run.iteration else self._sums)
        trackers = []
        for minimizer in run.minimizers:
            if self.kind == "swap" and not isinstance(minimizer.domain, Simplices):
                raise TypeError(
                    f"swap_regret is over pairs of actions of a normal form, got play on "
                    f"{quote(minimizer.domain)}; measure 'external_regret' or 'efce_gap'"
                )
            if self._held(minimizer, run) is not None:
                continue
            self._track(minimizer, run, restored)
            trackers += [] if minimizer._tracker is None else [minimizer._tracker]
        self._trackers = tuple(trackers)

    def _track(self, minimizer: RegretMinimizer, run: "SelfPlay", restored: Iterator[Any]) -> None:
        tracker, other = RegretTracker(minimizer.domain), minimizer._tracker
        empty = tracker.sums()
        sums = [*islice(restored, len(empty))]
        if sums:
            if sums[0] != run.iteration or [*map(np.shape, sums)] != [*map(np.shape, empty)]:
                raise _unwatched(f"{self.kind}_regret")
            if other is not None and other.contiguous and other.iterations == run.iteration:
                return
            tracker.load(sums)
        elif run.iteration or other is not None:
            return
        elif run._requested_engine not in ("auto", "numpy"):
            gap = "cce_gap" if self.kind == "external" else "ce_gap"
            raise ValueError(
                f"{self.kind}_regret of {quote(minimizer)} is summed up in every iteration, "
                f"which engine {run._requested_engine} does not show; leave out engine, or "
                f"measure {gap}, which is the regret over the number of iterations where "
                "players learn simultaneously from exact utilities"
            )
        minimizer._tracker = tracker

    def _access(self, *, writes: bool) -> AbstractContextManager[object]:
        if self._trackers:
            self._sums = [sums for tracker in self._trackers for sums in tracker.sums()]
        return super()._access(writes=writes)

    def _restored(self) -> None:
        self._trackers = ()

    def _held(self, minimizer: RegretMinimizer, run: "SelfPlay") -> float | None:
        """Return the regret that regret matching holds, None if it is another rule.

        CFR's regret against a strategy x is the sum over decision points of the local regrets
        against x there, times the probability with which x comes there.
        """
        on_tree = isinstance(minimizer, CFR) and isinstance(minimizer.domain, DecisionTree)
        rule = minimizer.rule if isinstance(minimizer, CFR) else minimizer
        if self.kind == "swap" or type(rule) is not RegretMatching:
            return None
        if minimizer.iteration > run.iteration:  # it had learned before
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
    return ValueError(
        f"{name} is over all iterations, and this run was not watched from its first one on; pass "
        "the Recorder to a new run"
    )


@define(eq=False)
class SharedPlay(Stateful):
    """The play that all correlated gaps of a Recorder are measured of."""

    deviations: list[str] = field(factory=list, init=False, metadata=NOT_STATE)
    _sums: list[object] = field(factory=list, init=False)
    """What the play has added up when its state was read or put back."""
    _add: Callable[..., object] | None = field(default=None, init=False, metadata=NOT_STATE)
    """The method of the play that adds an iteration: of another game it has other sums."""

    @property
    def of_run(self) -> CorrelatedPlay | None:
        """The play, None before a run has begun."""
        return getattr(self._add, "__self__", None)

    def begin(self, run: "SelfPlay") -> CorrelatedPlay | None:
        """Return the play of a run that was watched from its first iteration on, or begins."""
        play = self.of_run
        restored = play is None and len(self._sums) > 0 and run.iteration > 0
        if run.iteration == 0 and (play is None or play.total_weight or play.game is not run.game):
            play = CorrelatedPlay(run.game, self.deviations)
        if restored:
            play = CorrelatedPlay(run.game, self.deviations)
            play.load_state_dict(_filled(play.state_dict(), iter(self._sums)))
        self._add = None if play is None else play.__call__
        return play if play is not None and play.game is run.game else None

    def _access(self, *, writes: bool) -> AbstractContextManager[object]:
        if self.of_run is not None:
            self._sums = [value for _, value in leaves(self.of_run.state_dict())]
        return super()._access(writes=writes)

    def _restored(self) -> None:
        self._add = None


def _filled(state: StateDict, leaves: Iterator[Any]) -> StateDict:
    """Return a state with other numbers and arrays, in the same order."""
    return {
        k: _filled(v, leaves) if isinstance(v, dict) else next(leaves) for k, v in state.items()
    }


@define(eq=False)
class CorrelatedGap:
    """A gap of the play of all iterations."""

    name: str
    shared: SharedPlay

    def __attrs_post_init__(self) -> None:
        if self.name not in ("cce_gap", "ce_gap"):
            self.shared.deviations.append(self.name.removesuffix("_gap"))

    def begin(self, run: "SelfPlay") -> list[CorrelatedPlay]:
        """Watch a run from its first iteration on."""
        check_tree(run, self.name)
        play = self.shared.begin(run)
        return [] if play is None else [play]

    def __call__(self, run: "SelfPlay") -> float:
        play = self.shared.of_run
        if play is None or play.total_weight != run.iteration or play.game is not run.game:
            raise _unwatched(self.name)
        return play.gap(self.name.removesuffix("_gap"))


AXES = "iteration", "visited", "seconds"
"""What gaps are drawn against."""

GAPS = "cce_gap", "ce_gap", "efcce_gap", "efce_gap", "linear_gap"
"""The gaps of ``CorrelatedPlay`` that are measures."""

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
"""By the names that ``Recorder`` takes, functions that return a new measure."""


def _gap(name: str, run: "SelfPlay") -> float:
    """Return a gap of the average, or of the last iterate."""
    check_tree(run, name)
    if name == "last_nash_conv":
        return nash_conv(run.game, run.last_profile)
    return run.exploitability() if name == "exploitability" else run.nash_conv()


def _visited(run: "SelfPlay") -> int:
    """Return how many histories were visited, or outcomes in normal form.

    In a public game, each node counts once for each type of both players.
    """
    sampled = getattr(run.estimator, "visited", None)
    if sampled is not None:
        return int(sampled)
    check_tree(run, "visited")
    size = run.game.size
    if size is None:
        raise TypeError(f"visited is of games with a tree or a table, got {quote(run.game)}")
    utilities = 1 if isinstance(run.order, RandomPlayer) else run.players
    return run.iteration * size * utilities * (1 + isinstance(run.order, Extragradient))


def check_tree(run: object, name: str) -> None:
    """Refuse a measure of a run without a tree."""
    if not hasattr(run, "minimizers"):
        raise TypeError(
            f"{name} needs the game's tree, and this run has none; measure {SAMPLED_GAP}, a "
            "lower bound of nash_conv by samples, or pass a function of the run"
        )


def sampled_gap(run: Any, time_limit: float | None = None) -> float:
    """Return what ``sampled_local_best_response`` gains against the average, over all players."""
    game, average = run.game, run.average
    options: Any = {"rollouts": _ROLLOUTS, "time_limit": time_limit and time_limit / run.players}
    best = [
        sampled_local_best_response(game, player, average, _GAMES, 1, **options).mean
        for player in range(run.players)
    ]
    earned = [value.mean for value in sampled_value(game, average, _GAMES, 1)]
    return float(sum(best) - sum(earned))


def as_measures(measures: object) -> dict[str, Measure]:
    """Return functions by name, or refuse what came."""
    named: object = [measures] if isinstance(measures, str) else measures
    if isinstance(named, Sequence) and all(isinstance(name, str) for name in named):
        named = {name: name for name in named}
    if not isinstance(named, Mapping):
        raise TypeError(
            "measures must be names such as ['nash_conv', 'seconds'], or map names to functions of "
            f"the run, got {quote(measures)}; pass {{'gap': measure}}"
        )
    shared = SharedPlay()
    return {name: _measure(name, measure, shared) for name, measure in named.items()}


def _measure(name: str, measure: object, shared: SharedPlay) -> Measure:
    if isinstance(measure, str):
        if measure not in MEASURES:
            raise ValueError(
                f"there is no measure {quote(measure)}, only {', '.join(map(repr, MEASURES))}"
                f"{did_you_mean(measure.lower(), MEASURES)}"
            )
        return MEASURES[measure](shared)
    if not callable(measure):
        raise TypeError(
            f"measures[{quote(name)}] must be a name or a function of the run, got {quote(measure)}"
        )
    return measure
