"""Recorders: tables of measures, strategies and regrets over time."""

import abc
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from attrs import define, field

from regretkit._state import Stateful
from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe
from regretkit._util._typing import Vector
from regretkit._util._validate import candidates, quote
from regretkit.circuits import CFR
from regretkit.games import Profile
from regretkit.games._profile import label_of, simplices_of
from regretkit.minimizer import RegretMinimizer
from regretkit.play._callbacks import Callback, begin
from regretkit.play._measures import CorrelatedGap, Measure, as_measures
from regretkit.play._self_play import SelfPlay
from regretkit.sets import Simplices, StrategySet

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


@define(eq=False, repr=False)
class Recorder(_Table, Stateful):
    """Record measures of a run over time.

    Parameters
    ----------
    measures
        Names of measures; or a mapping from your own names to functions of the run or these names.

        - Of the average: ``"nash_conv"`` and ``"exploitability"``; ``"strategy_change"``, the
          largest change of a coordinate since the last call; ``"local_best_response"``, the gain of
          ``sampled_local_best_response`` in 100 plays, summed over players. It estimates a lower
          bound of ``"nash_conv"`` and needs no tree.
        - Of the last iterate: ``"last_nash_conv"``, and ``"best_nash_conv"``, its smallest measured
          value.
        - Of the run: ``"seconds"`` without callbacks, and ``"visited"``, the number of visited
          histories or outcomes of a normal form. Each exact utility visits all of them.
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
        default=cast(Any, ("nash_conv", "seconds")), converter=as_measures
    )
    iterations: list[int] = field(factory=list, init=False)
    values: dict[str, list[object]] = field(init=False)
    _stateful: tuple[Stateful, ...] = field(init=False, repr=False)
    """The measures with a state."""

    def __attrs_post_init__(self) -> None:
        self.values = {name: [] for name in self.measures}
        measures: Collection[object] = self.measures.values()
        shared = {id(m.shared): m.shared for m in measures if isinstance(m, CorrelatedGap)}
        self._stateful = (*(m for m in measures if isinstance(m, Stateful)), *shared.values())
        # Bound methods keep measures out of the state, which has them in ``_stateful`` already.
        self.measures = {
            name: cast(Any, measure).__call__ if isinstance(measure, Stateful) else measure
            for name, measure in self.measures.items()
        }

    def __repr__(self) -> str:
        return f"<Recorder of {', '.join(self.values)} at {len(self.iterations):,} iterations>"

    def begin(self, run: "SelfPlay") -> list[Callback]:
        """Call ``begin`` of the measures; return their callbacks for every iteration."""
        measures = self.measures.values()
        return begin((getattr(measure, "__self__", measure) for measure in measures), run)

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
