"""Recorders: tables of measures, strategies and regrets over time."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from attrs import define, field

from regretkit._regret_tracker import RegretTracker
from regretkit._state import NOT_STATE, StateDict, Stateful
from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe
from regretkit._util._typing import Vector
from regretkit._util._validate import candidates, did_you_mean, quote
from regretkit.circuits import CFR
from regretkit.evaluation import (
    CorrelatedPlay,
    nash_conv,
    sampled_local_best_response,
    sampled_value,
)
from regretkit.games import Profile
from regretkit.games._profile import label_of, simplices_of
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import RegretMatching
from regretkit.play._callbacks import Callback, begin
from regretkit.play._orders import Extragradient, RandomPlayer
from regretkit.play._self_play import SelfPlay
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    import pandas as pd

Place: TypeAlias = str | tuple[int, str | int]
"""An information set: its label, or its player and its label or number."""

KINDS = ("strategy", "average", "regret")
"""The recorded numbers of each action."""


COLUMNS = ("iteration", "player", "information_set", "label", "action", *KINDS)
"""The columns of a table of trajectories."""


class _Table(abc.ABC):
    """Conversions of a table."""

    @property
    @abc.abstractmethod
    def _columns(self) -> Sequence[str]:
        """Names of the columns."""

    @abc.abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of rows, each a dict."""

    def to_csv(self, path: FilePath) -> None:
        """Write the table to a CSV file."""
        rows_to_csv(path, self._columns, self.to_rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table as a pandas data frame."""
        return rows_to_dataframe(self._columns, self.to_rows())


def _places(value: Iterable[Place] | None) -> tuple[Place, ...] | None:
    places = None if value is None else (value,) if isinstance(value, str) else tuple(value)
    if places and len(set(places)) < len(places):
        raise ValueError(f"information_sets must be distinct, got {quote(places)}")
    return places


@define(eq=False)
class TrajectoryRecorder(_Table, Stateful):
    """Record strategies, averages and regrets at information sets over time.

    Each call records three numbers for each action: its probability in the next strategy, its
    probability in the average, and its regret if the rule has regrets. Use ``At`` to choose the
    iterations.

    Parameters
    ----------
    information_sets
        The information sets; by default all. Each is a label such as ``"K"``, or a player and a
        label or number such as ``(0, "K")`` or ``(0, 2)``.

    Attributes
    ----------
    iterations
        The recorded iterations.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import At, every, solve
    >>> record = TrajectoryRecorder(["J", "K"])
    >>> run = solve(kuhn_poker(), "cfr", iterations=200, callbacks=[At(every(100), record)])
    >>> record.iterations
    [100, 200]
    >>> record.path("K", "average").round(1)
    array([[0.4, 0.6],
           [0.4, 0.6]])
    >>> print(record.to_rows()[0])  # doctest: +ELLIPSIS
    {'iteration': 100, 'player': 0, 'information_set': 0, 'label': 'J', 'action': 'p', ...}
    """

    information_sets: Sequence[Place] | None = field(default=None, converter=_places)
    iterations: list[int] = field(factory=list, init=False, repr=False)
    _identity: dict[str, list[Any]] = field(init=False, repr=False)
    """The columns that identify each recorded action."""
    _looks: dict[str, list[Vector]] = field(init=False, repr=False)
    """For each kind, one array per call, with a number for each action."""

    def __attrs_post_init__(self) -> None:
        self._identity = {name: [] for name in COLUMNS[1:5]}
        self._looks = {kind: [] for kind in KINDS}

    def __call__(self, run: SelfPlay) -> None:
        """Record the next strategies and the average."""
        current, average = run.current, run.average
        if self.information_sets is None:
            counts = [simplices_of(domain, i).blocks for i, domain in enumerate(current.domains)]
            places = [(player, n) for player, count in enumerate(counts) for n in range(count)]
        else:
            places = [current._place(key) for key in self.information_sets]
        regrets = [_regrets(run.minimizers[player], current, player, n) for player, n in places]
        identity = _identity(current.domains, places)
        if self.iterations and identity != self._identity:
            raise ValueError("the information sets changed; use a new TrajectoryRecorder")
        self._identity = identity
        self.iterations.append(run.iteration)
        seen = [current[place] for place in places], [average[place] for place in places], regrets
        for looks, parts in zip(self._looks.values(), seen, strict=True):
            looks.append(np.concatenate([np.zeros(0), *parts]))

    @property
    def _columns(self) -> Sequence[str]:
        return COLUMNS

    def path(self, information_set: Place, kind: str = "average") -> Vector:
        """Return the recorded numbers of an information set, shape ``(calls, actions)``.

        ``kind`` is ``"strategy"``, ``"average"`` or ``"regret"``. Regrets are NaN if the rule has
        none.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {quote(kind)}")
        actions = self._actions(information_set)
        return np.array([look[actions] for look in self._looks[kind]])

    def actions(self, information_set: Place) -> tuple[str, ...]:
        """Return the names of an information set's actions, in the order of ``path``."""
        return tuple(self._identity["action"][k] for k in self._actions(information_set))

    def title(self, information_set: Place) -> str:
        """Return the label and the player of an information set, for figures."""
        k = self._actions(information_set)[0]
        player, number, label, _ = (column[k] for column in self._identity.values())
        return f"{number if label is None else label} (player {player})"

    @property
    def seen(self) -> tuple[tuple[int, int], ...]:
        """The player and the number of each recorded information set."""
        players, numbers, *_ = self._identity.values()
        return tuple(dict.fromkeys(zip(players, numbers, strict=True)))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of dicts, one for each action and recorded iteration.

        The columns are ``iteration``, ``player``, ``information_set`` (the number), ``label``,
        ``action``, ``strategy``, ``average`` and ``regret``.
        """
        rows = []
        for iteration, *looks in zip(self.iterations, *self._looks.values(), strict=True):
            values = [[None if x != x else x for x in look.tolist()] for look in looks]
            for row in zip(*self._identity.values(), *values, strict=True):
                rows.append(dict(zip(COLUMNS, (iteration, *row), strict=True)))
        return rows

    def _actions(self, information_set: Place) -> list[int]:
        """Return the positions of an information set's actions."""
        place = information_set if isinstance(information_set, tuple) else (None, information_set)
        owner, name = place
        players, numbers, labels, _ = self._identity.values()
        names = labels if isinstance(name, str) else numbers
        actions = [
            k for k, player in enumerate(players) if owner in (None, player) and names[k] == name
        ]
        places = {(players[k], numbers[k]) for k in actions}
        if len(places) != 1:
            problem = "is ambiguous: it may be" if places else "was not recorded, only"
            shown = candidates([*map(str, sorted(places or self.seen))])
            raise ValueError(f"information set {quote(information_set)} {problem} {shown}")
        return actions


def _identity(
    domains: Sequence[StrategySet], places: list[tuple[int, int]]
) -> dict[str, list[Any]]:
    """Return the columns that identify the actions of information sets."""
    rows: list[tuple[Any, ...]] = []
    for player, number in places:
        simplices = simplices_of(domains[player], player)
        label = label_of(simplices, number)
        rows += [(player, number, label, action) for action in simplices.labels.actions(number)]
    return {name: [row[k] for row in rows] for k, name in enumerate(COLUMNS[1:5])}


def _regrets(minimizer: RegretMinimizer, profile: Profile, player: int, number: int) -> Vector:
    """Return the regrets of a minimizer at an information set, NaN if it has none."""
    held: object = None
    if isinstance(minimizer, CFR):
        held = minimizer[number].state.get("regrets")
    elif isinstance(minimizer.domain, Simplices):
        held = getattr(minimizer, "regrets", None)
    actions = profile[player, number].shape
    if isinstance(held, np.ndarray) and held.shape == actions:
        return held.astype(np.float64)
    return np.full(actions, np.nan)


# Measures

Measure: TypeAlias = Callable[[SelfPlay], object]
"""A function of a run that returns the value to record."""


SAMPLED_GAP = "local_best_response"
"""The measure of a gap for runs without a tree."""
_GAMES, _ROLLOUTS = 100, 10
"""Its number of sampled plays for each player, and of rollouts after each action."""


@define(eq=False)
class Regret(Stateful):
    """The largest external or swap regret among players over all iterations, in units of payoff."""

    kind: str
    _sums: list[object] = field(factory=list, init=False, repr=False)
    """The sums of the trackers at the last access to the state."""
    _trackers: tuple[RegretTracker, ...] = field(
        default=(), init=False, repr=False, metadata=NOT_STATE
    )

    def begin(self, run: SelfPlay) -> None:
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

    def _check_engine(self, run: SelfPlay) -> None:
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

    def _held(self, minimizer: RegretMinimizer, run: SelfPlay) -> float | None:
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

    def __call__(self, run: SelfPlay) -> float:
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


GAPS = "cce_gap", "ce_gap", "efcce_gap", "efce_gap", "linear_gap"
"""Measures that are gaps of ``CorrelatedPlay``."""


@define(eq=False)
class CorrelatedGaps(Stateful):
    """The gaps of the correlated play of all iterations."""

    names: list[str] = field(metadata=NOT_STATE)
    play: CorrelatedPlay | None = field(default=None, init=False)

    def begin(self, run: SelfPlay) -> list[CorrelatedPlay]:
        """Return the play as a callback for every iteration, a new play in a new run."""
        if not self.names:
            return []
        check_tree(run, self.names[0])
        play = self.play
        fresh = play is not None and not play.total_weight and play.game is run.game
        if run.iteration == 0 and not fresh:
            names = [name for name in self.names if name not in ("cce_gap", "ce_gap")]
            self.play = CorrelatedPlay(run.game, [name.removesuffix("_gap") for name in names])
        return [] if self.play is None or self.play.game is not run.game else [self.play]

    def gap(self, name: str, run: SelfPlay) -> float:
        """Return a gap by its name."""
        play = self.play
        if play is None or play.total_weight != run.iteration or play.game is not run.game:
            raise _unwatched(name)
        return play.gap(name.removesuffix("_gap"))


def _gap(name: str, run: SelfPlay) -> float:
    """Return a gap of the average, or of the last iterate."""
    check_tree(run, name)
    if name == "last_nash_conv":
        return nash_conv(run.game, run.last_profile)
    return run.exploitability() if name == "exploitability" else run.nash_conv()


def _visited(run: SelfPlay) -> int:
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


MEASURES: Mapping[str, Callable[[CorrelatedGaps], Measure]] = {
    **{
        name: partial(lambda name, _: partial(_gap, name), name)
        for name in ("nash_conv", "exploitability", "last_nash_conv")
    },
    "visited": lambda _: _visited,
    "seconds": lambda _: lambda run: run.seconds,
    SAMPLED_GAP: lambda _: sampled_gap,
    "external_regret": lambda _: Regret("external"),
    "swap_regret": lambda _: Regret("swap"),
    **{name: partial(lambda name, gaps: partial(gaps.gap, name), name) for name in GAPS},
}
"""For each name in ``Recorder``, a function that returns a new measure."""


def _by_name(measures: object) -> Mapping[str, Any]:
    """Return measures, or their names, by name."""
    named: object = [measures] if isinstance(measures, str) else measures
    if isinstance(named, Sequence) and all(isinstance(name, str) for name in named):
        named = {name: name for name in named}
    if not isinstance(named, Mapping):
        raise TypeError(
            "measures must be a list of names, such as ['nash_conv', 'seconds'], or a dict from "
            f"names to functions of the run, got {quote(measures)}"
        )
    return named


def _measure(name: str, measure: object, gaps: CorrelatedGaps) -> Measure:
    if callable(measure):
        return measure
    if not isinstance(measure, str):
        raise TypeError(
            f"measures[{quote(name)}] must be a name or a function of the run, got {quote(measure)}"
        )
    if measure not in MEASURES:
        known, hint = ", ".join(map(repr, MEASURES)), did_you_mean(measure.lower(), MEASURES)
        raise ValueError(f"there is no measure {quote(measure)}, only {known}{hint}")
    return MEASURES[measure](gaps)


@define(eq=False, repr=False)
class Recorder(_Table, Stateful):
    """Record measures of a run over time.

    Parameters
    ----------
    measures
        Names of measures; or a mapping from your own names to functions of the run or these names.

        - Of the average: ``"nash_conv"`` and ``"exploitability"``; ``"local_best_response"``, the
          gain of ``sampled_local_best_response`` in 100 plays, summed over players. It estimates a
          lower bound of ``"nash_conv"`` and needs no tree.
        - Of the last iterate: ``"last_nash_conv"``.
        - Of the run: ``"seconds"`` of play, without the time of callbacks; and ``"visited"``, the
          number of visited histories or outcomes of a normal form. An exact utility visits all.
        - Of all iterations, the largest among players in units of payoff: ``"external_regret"``,
          and in normal forms ``"swap_regret"``. They need the NumPy engine, except the external
          regret of regret matching.
        - Of the correlated play of all iterations, as in ``CorrelatedPlay``: ``"cce_gap"``,
          ``"ce_gap"``, ``"efcce_gap"``, ``"efce_gap"`` and ``"linear_gap"``.

    Attributes
    ----------
    iterations
        The recorded iterations.
    values
        The recorded values by name.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import At, every, solve
    >>> value = lambda run: float(run.game.value(run.average)[0])
    >>> record = Recorder({"gap": "nash_conv", "value": value})
    >>> run = solve(kuhn_poker(), "cfr+", iterations=100, callbacks=[At(every(50), record)])
    >>> record.iterations, [round(value, 2) for value in record.values["value"]]
    ([50, 100], [-0.06, -0.06])
    >>> [sorted(row) for row in record.to_rows()]
    [['gap', 'iteration', 'value'], ['gap', 'iteration', 'value']]
    """

    measures: Mapping[str, Measure] = field(
        default=cast(Any, ("nash_conv", "seconds")), converter=_by_name
    )
    iterations: list[int] = field(factory=list, init=False)
    values: dict[str, list[object]] = field(init=False)
    _parts: tuple[Any, ...] = field(init=False)
    """The measures with a state, and the correlated play."""

    def __attrs_post_init__(self) -> None:
        given: Mapping[str, object] = self.measures
        gaps = CorrelatedGaps([name for name in GAPS if name in given.values()])
        measures = {name: _measure(name, each, gaps) for name, each in given.items()}
        self.values = {name: [] for name in measures}
        self._parts = (*(m for m in measures.values() if isinstance(m, Stateful)), gaps)
        # Bound methods keep measures out of the state, which has them in ``_parts`` already.
        self.measures = {
            name: cast(Any, measure).__call__ if isinstance(measure, Stateful) else measure
            for name, measure in measures.items()
        }

    def __repr__(self) -> str:
        return f"<Recorder of {', '.join(self.values)} at {len(self.iterations):,} iterations>"

    def begin(self, run: "SelfPlay") -> list[Callback]:
        """Call ``begin`` of the measures, and return the callbacks that they need."""
        return begin([*self.measures.values(), *self._parts], run)

    def __call__(self, run: "SelfPlay") -> None:
        """Record one value of each measure."""
        measured = {name: measure(run) for name, measure in self.measures.items()}
        self.iterations.append(run.iteration)
        for name, value in measured.items():
            self.values[name].append(value)

    @property
    def _columns(self) -> Sequence[str]:
        return ["iteration", *self.values]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of dicts, one for each call: ``iteration`` and the values."""
        rows = zip(self.iterations, *self.values.values(), strict=True)
        return [dict(zip(self._columns, row, strict=True)) for row in rows]
