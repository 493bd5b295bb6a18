"""Numbers about a run, and how strategies, averages and regrets move over time, written down."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from attrs import define, field

from regretkit._state import Stateful
from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe, write_csv
from regretkit._util._typing import Vector
from regretkit._util._validate import candidates, quote
from regretkit.circuits import CFR
from regretkit.games import Profile
from regretkit.games._profile_table import label_of, simplices_of
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
"""What is written down about each action."""


class TrajectoryRow(NamedTuple):
    """What was seen of one action of one information set after one iteration.

    Examples
    --------
    >>> TrajectoryRow(10, 0, 2, "K", "bet", strategy=1.0, average=0.75, regret=2.5).average
    0.75
    """

    iteration: int
    player: int
    information_set: int
    label: str | None
    action: str
    strategy: float
    """Probability of the action in the strategy of the next iteration."""
    average: float
    """Probability of the action in the average."""
    regret: float | None
    """What the rule holds as the regret of the action, None where it holds none."""


def _places(value: Iterable[Place] | None) -> tuple[Place, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(
            f"information_sets must be a sequence such as ['K', (1, 'Kb')], got {quote(value)}"
        )
    places = tuple(value)
    for place in places:
        pair = isinstance(place, tuple) and len(place) == 2 and isinstance(place[1], int | str)
        if not (pair or isinstance(place, str)):
            raise TypeError(
                "an information set is given by its label, as 'K', or with its player, as "
                f"(0, 'K') or (0, 2), got {quote(place)}"
            )
    if len(set(places)) < len(places):
        raise ValueError(f"information_sets must name each once, got {quote(places)}")
    return places


@define(eq=False)
class TrajectoryRecorder(Stateful):
    """Write down what is played at information sets, as it moves over time.

    At each call, for each action there: its probability in the current strategy and in the
    average, and its regret as the rule holds it, which is none where a rule holds no regrets.
    Called by ``At`` and a schedule, it costs nothing in between.

    Parameters
    ----------
    information_sets
        Which ones: labels, as ``"K"``, or with their player, as ``(0, "K")`` or ``(0, 2)``; by
        default all of them.

    Attributes
    ----------
    iterations
        When something was written down.

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
    """What each action is that is looked at: one entry for each of them."""
    _looks: dict[str, list[Vector]] = field(init=False, repr=False)
    """Of each kind, one entry for each look: a number for each action."""

    def __attrs_post_init__(self) -> None:
        self._identity, self._looks = _identity([], []), {kind: [] for kind in KINDS}

    def __call__(self, run: SelfPlay) -> None:
        """Look, and write down."""
        current, average = run.current, run.average
        if self.information_sets is None:
            counts = [simplices_of(domain, i).blocks for i, domain in enumerate(current.domains)]
            places = [(player, n) for player, count in enumerate(counts) for n in range(count)]
        else:
            places = [current._place(key) for key in self.information_sets]
        regrets = [_regrets(run.minimizers[player], current, player, n) for player, n in places]
        identity = _identity(current.domains, places)
        if self.iterations and identity != self._identity:
            raise ValueError(
                "these trajectories were begun in a game with other information sets; use a new "
                "TrajectoryRecorder for this one"
            )
        self._identity = identity
        self.iterations.append(run.iteration)
        seen = [current[place] for place in places], [average[place] for place in places], regrets
        for looks, parts in zip(self._looks.values(), seen, strict=True):
            looks.append(np.concatenate([np.zeros(0), *parts]))

    def path(self, information_set: Place, kind: str = "average") -> Vector:
        """Return what was seen of one information set, shape ``(looks, actions)``.

        Parameters
        ----------
        information_set
            Which one.
        kind
            ``"strategy"``, ``"average"`` or ``"regret"``; a regret that no rule holds is NaN.
        """
        if kind not in KINDS:
            raise ValueError(
                f"kind must be one of {', '.join(map(repr, KINDS))}, got {quote(kind)}"
            )
        columns = self._columns(information_set)
        return np.array([look[columns] for look in self._looks[kind]])

    def actions(self, information_set: Place) -> tuple[str, ...]:
        """Return the names of an information set's actions, in the order of ``path``."""
        return tuple(self._identity["action"][at] for at in self._columns(information_set))

    def title(self, information_set: Place) -> str:
        """Return what to call an information set where people see it: its label and its player."""
        player, number, label, _ = self._known[self._columns(information_set)[0]]
        return f"{number if label is None else label} (player {player})"

    @property
    def seen(self) -> tuple[tuple[int, int], ...]:
        """The information sets that were looked at, each by its player and its number."""
        return tuple(dict.fromkeys((player, number) for player, number, *_ in self._known))

    @property
    def _known(self) -> list[tuple[int, int, str | None, str]]:
        """What each action is: its player, its information set, the label of that, and its name."""
        return list(zip(*self._identity.values(), strict=True))

    # In other forms

    def to_rows(self) -> list[dict[str, int | float | str | None]]:
        """Return a table: a dict for each action at each information set after each iteration.

        Its columns are ``iteration``, ``player``, ``information_set`` (the number), ``label``,
        ``action``, ``strategy``, ``average`` and ``regret``.
        """
        return [row._asdict() for row in self._rows()]

    def to_csv(self, path: FilePath) -> None:
        """Write the table of ``to_rows`` into a file, as ``Recorder.to_csv`` does."""
        write_csv(path, TrajectoryRow._fields, self._rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_rows`` for pandas, as ``Recorder.to_dataframe`` does."""
        return rows_to_dataframe(TrajectoryRow._fields, self.to_rows())

    def _rows(self) -> Iterator[TrajectoryRow]:
        for iteration, *seen in zip(self.iterations, *self._looks.values(), strict=True):
            values = zip(*(look.tolist() for look in seen), strict=True)
            for place, (played, mean, held) in zip(self._known, values, strict=True):
                yield TrajectoryRow(iteration, *place, played, mean, None if held != held else held)

    def _columns(self, information_set: Place) -> list[int]:
        place = information_set if isinstance(information_set, tuple) else (None, information_set)
        owner, name = place
        known = self._known
        columns = [
            column
            for column, (player, number, label, _) in enumerate(known)
            if owner in (None, player) and name == (label if isinstance(name, str) else number)
        ]
        places = {known[column][:2] for column in columns}
        if len(places) != 1:
            wrong = "is ambiguous: it may be" if places else "was not looked at; there are"
            labels = [] if places else list(dict.fromkeys(filter(None, self._identity["label"])))
            shown = candidates(labels or [str(place) for place in sorted(places or self.seen)])
            raise ValueError(f"information set {quote(information_set)} {wrong} {shown}")
        return columns


def _identity(
    domains: Sequence[StrategySet], places: list[tuple[int, int]]
) -> dict[str, list[Any]]:
    """Return what the actions at some places are."""
    known: list[tuple[Any, ...]] = []
    for player, number in places:
        simplices = simplices_of(domains[player], player)
        label = label_of(simplices, number)
        known += [(player, number, label, action) for action in simplices.labels.actions(number)]
    names = "player", "number", "label", "action"
    return {name: [row[column] for row in known] for column, name in enumerate(names)}


def _regrets(minimizer: RegretMinimizer, profile: Profile, player: int, number: int) -> Vector:
    """Return the regrets that a minimizer holds at an information set, NaN where it holds none."""
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
class Recorder(Stateful):
    """Write down numbers about a run as it goes.

    Parameters
    ----------
    measures
        Names of measures; or by names of one's own, functions of the run that return what to write
        down, or such names. Of the average: ``"nash_conv"`` and ``"exploitability"``, and
        ``"strategy_change"``, how far a coordinate moved since the last call; of the strategies of
        the last iteration ``"last_nash_conv"``, and ``"best_nash_conv"``, the least of it so far
        where it was measured; and
        ``"local_best_response"``, what ``sampled_local_best_response`` gains, summed over players:
        of 100 games each, so that it is less than ``"nash_conv"`` up to the error of samples, and
        all there is without a tree. Of the run:
        ``"seconds"``, how long its iterations took without callbacks; ``"visited"``, how many
        histories were, or outcomes in normal form, all of them for each player in an iteration
        without samples; ``"external_regret"`` and
        ``"swap_regret"``, the largest of a player over all iterations in units of payoff, the
        latter in normal form; and of the play of all iterations, as ``CorrelatedPlay`` measures
        them, ``"cce_gap"``, ``"ce_gap"``, ``"efcce_gap"``, ``"efce_gap"`` and ``"linear_gap"``.
        Regret matching holds its external regrets, so that they are known with any engine, and in
        a run that had begun before; other regrets are summed up in every iteration, by NumPy.

    Attributes
    ----------
    iterations
        When something was written down.
    values
        By name, what was.

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
    """The measures that remember something, which is saved with the record."""

    def __attrs_post_init__(self) -> None:
        self.values = {name: [] for name in self.measures}
        measures: Collection[object] = self.measures.values()
        shared = {id(m.shared): m.shared for m in measures if isinstance(m, CorrelatedGap)}
        self._stateful = (*(m for m in measures if isinstance(m, Stateful)), *shared.values())
        # As methods, so that these are saved once, and beside functions.
        self.measures = {
            name: cast(Any, measure).__call__ if isinstance(measure, Stateful) else measure
            for name, measure in self.measures.items()
        }

    def __repr__(self) -> str:
        return f"<Recorder of {', '.join(self.values)} at {len(self.iterations):,} iterations>"

    def begin(self, run: "SelfPlay") -> list[Callback]:
        """Let the measures that need every iteration watch the run."""
        measures = self.measures.values()
        return begin((getattr(measure, "__self__", measure) for measure in measures), run)

    def __call__(self, run: "SelfPlay") -> None:
        """Measure and write down."""
        measured = {name: measure(run) for name, measure in self.measures.items()}
        self.iterations.append(run.iteration)
        for name, value in measured.items():
            self.values[name].append(value)

    # In other forms

    def to_rows(self) -> list[dict[str, object]]:
        """Return a table: a dict for each call, with ``iteration`` and what was written down."""
        columns = {"iteration": self.iterations, **self.values}
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def to_csv(self, path: FilePath) -> None:
        """Write the table of ``to_rows`` into a file, for spreadsheets."""
        rows_to_csv(path, ["iteration", *self.values], self.to_rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_rows`` for pandas, which has to be installed."""
        return rows_to_dataframe(["iteration", *self.values], self.to_rows())
