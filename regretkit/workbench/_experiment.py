"""Experiments: suites of games, and algorithms that play them, with results that are kept."""

import inspect
import pickle
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, evolve, field, fields_dict, frozen

from regretkit import games as catalogue
from regretkit._util._files import FilePath, read_file
from regretkit._util._validate import above_zero, did_you_mean, quote, shorten, whole_number
from regretkit.games import History, Rules
from regretkit.play import ALGORITHMS, Algorithm, Recorder
from regretkit.play import named as named_algorithm
from regretkit.workbench._comparison import ComparedRun, Comparison
from regretkit.workbench._executors import (
    Executor,
    Outcomes,
    cores,
    elsewhere,
    here,
    in_processes,
)
from regretkit.workbench._names import (
    algorithm_of,
    expand,
    is_own,
    parsed,
    short,
    source_of,
    split,
)
from regretkit.workbench._results import find_run, run_of, write_run
from regretkit.workbench._tasks import CLOCKS, Task, identity_of, is_known

_OURS = Path(__file__).with_name("suites.toml")
_EVER = 10**9
"""Iterations where another limit ends a run."""


@frozen
class SuiteGame:
    """A game of a suite, and what is known of it.

    Examples
    --------
    >>> suite("classic")[0].value
    '-1/18'
    """

    game: str
    """The text that names it."""
    histories: int | None = None
    """How many its tree has, None in normal form or if unknown."""
    value: str | None = None
    """What player 0 gets in equilibrium, as a number or a fraction, where it is known."""
    source: str | None = None
    """Where sizes and the value are known from."""


def suite(name: str) -> tuple[SuiteGame, ...]:
    """Return the games of a suite.

    Parameters
    ----------
    name
        ``"smoke"``, ``"classic"``, ``"papers"``, ``"general-sum"`` or ``"last-iterate"``; or one in
        a file of one's own, as in ``"my_suites.toml:mine"``. There each game is a table
        ``[[mine]]`` with the text ``game``, and ``histories``, ``value`` and ``source`` if they are
        known; and a table with the text ``suite`` stands for all games of another suite.

    Examples
    --------
    >>> [each.game for each in suite("smoke")][:2]
    ['kuhn_poker', 'leduc_poker']
    """
    return tuple(_games_of(name, ()))


def suite_names() -> tuple[str, ...]:
    """Return the names of the library's suites."""
    return tuple(tomllib.loads(_OURS.read_text()))


def _games_of(name: str, outer: tuple[str, ...]) -> Iterator[SuiteGame]:
    file, colon, own = name.rpartition(":")
    suites = tomllib.loads(read_file(file if colon else _OURS).decode())
    if own not in suites:
        close = did_you_mean(own, suites)
        raise ValueError(f"there is no suite {quote(name)}, only {', '.join(suites)}{close}")
    if name in outer:
        raise ValueError(f"suite {quote(name)} contains itself, through {', '.join(outer)}")
    if not (isinstance(suites[own], list) and suites[own]):
        raise ValueError(f"suite {quote(name)} has no games; write them as tables [[{own}]]")
    for entry in suites[own]:
        if entry.keys() == {"suite"}:
            other = str(entry["suite"])
            local = colon and ":" not in other and other not in suite_names()
            yield from _games_of(f"{file}:{other}" if local else other, (*outer, name))
        elif entry.keys() - fields_dict(SuiteGame) or not isinstance(entry.get("game"), str):
            raise ValueError(f"suite {quote(name)}: no game is described by {quote(entry)}")
        else:
            yield SuiteGame(**entry)


Watch: TypeAlias = Callable[[int, int, str], object]
"""Called after each run: how many are finished, how many there are, and what became of it."""


@define(eq=False)
class Experiment:
    """Algorithms on games, in parallel, with results in a folder that are not computed again.

    Parameters
    ----------
    games
        Texts as ``games.load`` takes them, with alternatives for several of them, as in
        ``"kuhn_poker(deck=3|13)"``; one's own as ``my_games.py:name``; what ``suite`` returns; or
        games; or several of these by names of one's own. Algorithms that sample play a game by its
        rules alone where its tree does not fit.
    algorithms
        Texts, or one with commas between them: the name of an algorithm, or a rule as
        ``my_rule.py:MyRule`` or ``module:Class``, with hyperparameters and alternatives if needed,
        as in ``"dcfr(alpha=1:3:0.5,gamma=2|4)"``. There ``gamma`` is the power of the average,
        ``order`` is alternating or simultaneous, and ``sampling`` what ``solve`` takes. Or what
        ``solve`` takes, several of it, or several by names of one's own. Names are by default
        those texts without the file.
    iterations
        How many each run plays; by default 1,000, or until another limit.
    measures
        Names of measures, or functions of a run by name, as ``Recorder`` takes them; the first is
        shown. They are measured at iterations that grow by a quarter, or by a twentieth with a
        ``target_gap``, and at the end, together with seconds, seconds of a processor, and visited
        histories. Without a tree it is ``"local_best_response"``, which takes long: it is measured
        at the end, or as often as the others where it is named here.
    seeds
        Whole numbers, or how many: an algorithm that samples is run with each of these, all others
        once.
    sampling, target_gap, time_limit, imperfect_recall
        As ``solve`` takes them, for each run.

    Examples
    --------
    >>> import tempfile
    >>> mine = Experiment("kuhn_poker", "cfr, dcfr(gamma=2|4)", iterations=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = mine.run(folder, workers=0)
    >>> [run.algorithm for run in found.runs]
    ['cfr', 'dcfr(gamma=2)', 'dcfr(gamma=4)']
    """

    games: Any
    algorithms: Any
    iterations: int | None = None
    measures: str | Sequence[str] | Mapping[str, Any] = field(default="nash_conv", kw_only=True)
    seeds: int | Iterable[int] = field(default=1, kw_only=True)
    sampling: str | None = field(default=None, kw_only=True)
    target_gap: float | None = field(default=None, kw_only=True)
    time_limit: float | None = field(default=None, kw_only=True)
    imperfect_recall: bool = field(default=False, kw_only=True)
    tasks: Sequence[Task] = field(init=False, repr=False)
    """The runs."""

    def __attrs_post_init__(self) -> None:
        limits = {"target_gap": self.target_gap, "time_limit": self.time_limit}
        for name, limit in limits.items():
            if limit is not None:
                above_zero(limit, name)
        default = 1_000 if set(limits.values()) == {None} else _EVER
        given = default if self.iterations is None else self.iterations
        iterations = whole_number(given, "iterations", minimum=1)
        listed: Any = [self.measures] if isinstance(self.measures, str) else self.measures
        measures = dict(listed if isinstance(listed, Mapping) else zip(listed, listed, strict=True))
        Recorder(measures)  # refuses what it does not know
        seeds = list(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)
        if not seeds or len({*seeds}) < len(seeds):
            raise ValueError(f"seeds must be different whole numbers, one at least, got {seeds}")
        games, algorithms = _games(self.games), _algorithms(self.algorithms)
        self.tasks = [
            Task(
                names=(game.name, algorithm.name),
                game=game.given,
                algorithm=algorithm.given,
                sources=(game.source, algorithm.source),
                place=(row, column),
                histories=game.histories,
                seed=whole_number(seed, "seeds", minimum=0) if sampled else None,
                iterations=iterations,
                measures={name: given for name, given in measures.items() if name not in CLOCKS},
                sampling=self.sampling,
                imperfect_recall=self.imperfect_recall,
                **limits,
            )
            for row, game in enumerate(games)
            for column, algorithm in enumerate(algorithms)
            for sampled in [algorithm.samples or self.sampling is not None]
            for seed in (seeds if sampled else [0])
        ]

    def run(
        self,
        folder: FilePath | None = None,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        watch: Watch | None = None,
    ) -> Comparison:
        """Carry out what has no result in the folder yet, and return all runs.

        Each run is a file, named by all that determines the result: game, algorithm, seed,
        iterations, measures and versions; for a rule of one's own the code to which it is traced,
        else the content of its file. So an edited rule is run again. A rule that can neither be
        traced nor read from a file of its own is always run again, as is what functions measure.
        Interrupted or killed anywhere, the next call continues. A run that fails costs nothing but
        itself: it is among the ``failures``, and is tried again by the next call.

        Ctrl-C returns the runs so far, as ``interrupted``.

        Parameters
        ----------
        folder
            Where results are; it is made if there is none. By default nothing is kept.
        executor
            Anything with the method ``submit`` of ``concurrent.futures``, such as
            ``RayExecutor()``; it is not shut down. By default processes of this machine.
        workers
            Processes, by default as many as there are cores, each of which computes in one thread.
            With 0, and by default where there is one core, all is done in this one.
        watch
            Called after each run with how many are finished, how many there are, and a text.
        """
        path = None if folder is None else Path(folder).absolute()
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
        begun, finished = datetime.now(UTC).isoformat(), self._finished(path)
        rest = [n for n in range(len(self.tasks)) if n not in finished]
        rest.sort(key=lambda n: -self.tasks[n].histories)  # so that no long one begins last
        tasks, failures = [self.tasks[n] for n in rest], dict[tuple[str, str, int | None], str]()
        outcomes, interrupted = _outcomes(tasks, path, executor, workers), False
        try:
            for place, outcome in outcomes:
                task = tasks[place]
                told = outcome.reason
                if outcome.identity is None or outcome.columns is None:
                    failures[*task.names, task.seed] = told
                else:
                    result = outcome.identity, outcome.columns
                    if path is not None:
                        write_run(path, task.names, [begun, *task.place], *result)
                    run = run_of(task.names, *result)
                    finished[rest[place]], told = run, f"{run.measure} {run.last:.3g}"
                if watch is not None:
                    done = len(finished) + len(failures)
                    watch(done, len(self.tasks), f"{' on '.join(task.names[::-1])}: {told}")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            outcomes.close()
        runs = [run for _, run in sorted(finished.items())]
        algorithms = list(dict.fromkeys(task.names[1] for task in self.tasks))
        return Comparison(runs, interrupted, failures, algorithms)

    def _finished(self, folder: Path | None) -> dict[int, ComparedRun]:
        """Return the runs that have results already, by the numbers of their tasks."""
        found: dict[int, ComparedRun] = {}
        codes: dict[str, Any] = {}
        if folder is None:
            return found
        for number, task in enumerate(self.tasks):
            with suppress(Exception, SystemExit):  # which the run will report
                identity = identity_of(task, codes)
                run = find_run(folder, task.names, identity) if is_known(identity) else None
                if run is not None:
                    found[number] = run
        return found


def compare(
    games: Any,
    algorithms: Any,
    iterations: int | None = None,
    *,
    watch: Watch | None = None,
    **options: Any,
) -> Comparison:
    """Run every algorithm on every game in this process, and compare how their gaps fall.

    It is an ``Experiment`` without a folder, and takes the same games, algorithms, limits, measures
    and seeds. Ctrl-C returns the runs so far.

    Parameters
    ----------
    games, algorithms, iterations, options
        As ``Experiment`` takes them.
    watch
        Called after each run with how many are finished, how many there are, and a text; ``print``
        will do.

    Raises
    ------
    RuntimeError
        When all runs fail. A failure beside others is among the ``failures``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, matching_pennies
    >>> games = [kuhn_poker(), matching_pennies()]
    >>> found = compare(games, ["mccfr", "cfr+"], iterations=50, seeds=range(3))
    >>> [(run.game, run.algorithm, run.seed) for run in found.runs][:4]
    [('kuhn_poker', 'mccfr', 0), ('kuhn_poker', 'mccfr', 1), ('kuhn_poker', 'mccfr', 2), \
('kuhn_poker', 'cfr+', None)]
    """
    found = Experiment(games, algorithms, iterations, **options).run(workers=0, watch=watch)
    if found.interrupted and not found.runs:
        raise KeyboardInterrupt
    if found.failures and not found.runs:
        raise RuntimeError("; ".join(dict.fromkeys(found.failures.values())))
    return found


def _outcomes(
    tasks: Sequence[Task], folder: Path | None, executor: Executor | None, workers: int | None
) -> Outcomes:
    """Return what carries out tasks by an executor, in this process, or in others."""
    if executor is not None:
        return elsewhere(tasks, folder, executor)
    count = whole_number(cores() if workers is None else workers, "workers", minimum=0)
    if not tasks or count == 0 or (workers is None and count == 1):
        return here(tasks, folder)  # where there is one core, a second process is no sooner
    _check_sent(tasks)
    return in_processes(tasks, folder, min(count, len(tasks)))


# Games and algorithms


@frozen
class _Named:
    """A game or an algorithm of an experiment."""

    name: str
    given: Any
    """A text, or an object."""
    source: bytes | None = None
    """The content of the file of a text."""
    histories: int = 0
    samples: bool = False


def _pairs(given: Any) -> Iterable[tuple[str | None, Any]]:
    """Return entries with names of one's own, if there are some."""
    return given.items() if isinstance(given, Mapping) else ((None, entry) for entry in given)


def _is_game(entry: Any) -> bool:
    return isinstance(entry, History | Rules) or hasattr(type(entry), "domains")


def _games(games: Any) -> list[_Named]:
    single = isinstance(games, str | SuiteGame) or _is_game(games)
    found = list[_Named]()
    for name, entry in _pairs([games] if single else games):
        text, histories = entry, 0
        if isinstance(entry, SuiteGame):
            text, histories = entry.game, entry.histories or 0
        if isinstance(text, str):
            points = expand(text)
            for part, label in zip(points, _labels(name, points), strict=True):
                _check_game(part)
                found.append(_Named(label, part, source_of(part), histories))
        elif _is_game(text):
            found.append(_Named(name or getattr(text, "name", None) or _label(text), text))
        else:
            raise TypeError(f"games must be games or texts that name them, got {quote(text)}")
    return _distinct(found, "games")


def _check_game(text: str) -> None:
    """Refuse the text of a game where that is possible without building a tree."""
    place = text.partition("(")[0].strip()
    factory = getattr(catalogue, place, None)
    if text.lower().endswith((".efg", ".nfg")):
        if not Path(text).is_file():
            raise FileNotFoundError(f"there is no file {quote(text)}")
    elif factory is not None:
        _, positional, keywords = parsed(text)
        try:
            inspect.signature(factory).bind(*positional, **keywords)
        except TypeError as error:
            raise ValueError(f"{quote(text)}: {error}") from error
    elif not is_own(text) and place not in catalogue.names():
        with suppress(MemoryError):  # which says that there are only rules
            catalogue.load(text)


def _algorithms(algorithms: Any) -> list[_Named]:
    given: Any = split(algorithms, ",") if isinstance(algorithms, str) else algorithms
    single = callable(given) or isinstance(given, Algorithm)
    found = list[_Named]()
    for name, entry in _pairs([given] if single else given):
        if isinstance(entry, str):
            points = expand(entry)
            for text, label in zip(points, _labels(name, points), strict=True):
                source = source_of(text)
                made = algorithm_of(text, source)
                samples = made.sampling is not None
                found.append(_Named(label, text, source, samples=samples))
        else:
            made = named_algorithm(entry)
            samples = made.sampling is not None
            found.append(_Named(name or _label(entry), made, samples=samples))
    return _distinct(found, "algorithms")


def _labels(name: str | None, points: Sequence[str]) -> list[str]:
    """Return what to call the points of a grid: by their texts, without the file of one's own."""
    if name is not None and len(points) > 1:
        return [f"{name}({point.partition('(')[2]}" for point in points]
    return [name or short(point) for point in points]


def _label(entry: Any) -> str:
    """Return what to call an object."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, Algorithm):
        for name, known in ALGORITHMS.items():
            if entry == known:
                return name
        if entry.sampling is not None:
            return f"{_label(evolve(entry, sampling=None))}, {entry.sampling} sampling"
        return _label(entry.local)
    if isinstance(entry, list | tuple):
        return " against ".join(map(_label, entry))
    if isinstance(entry, partial) and not entry.args:
        given = ", ".join(f"{name}={value!r}" for name, value in entry.keywords.items())
        return shorten(f"{_label(entry.func)}({given})", 60)
    return str(getattr(entry, "__name__", None) or shorten(repr(entry), 60))


def _distinct(found: list[_Named], argument: str) -> list[_Named]:
    """Return games or algorithms of different names; where files differ, by their whole texts."""
    counts = Counter(entry.name for entry in found)
    found = [
        evolve(entry, name=entry.given)
        if counts[entry.name] > 1 and isinstance(entry.given, str)
        else entry
        for entry in found
    ]
    for name, count in Counter(entry.name for entry in found).items():
        if count > 1:
            raise ValueError(f"{argument} has {quote(name)} twice; give them names, as in {{...}}")
    if not found:
        raise ValueError(f"{argument} must be one at least, got none")
    return found


def _check_sent(tasks: Sequence[Task]) -> None:
    """Refuse what another process could not build again."""
    program = getattr(sys.modules["__main__"], "__file__", None)
    if program is not None and not Path(program).is_file():
        raise ValueError(f"other processes cannot import {program}; pass workers=0")
    for names, made in {task.names: (task.game, task.algorithm) for task in tasks}.items():
        told = f"{' on '.join(names[::-1])} cannot be sent to a process; pass workers=0"
        try:
            data = pickle.dumps(made)
        except Exception as error:
            raise ValueError(f"{told}: {error}") from error
        if b"__main__" in data and program is None:
            raise ValueError(f"{told}, or write it into a file, as my_rule.py:MyRule")
