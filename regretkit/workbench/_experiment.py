"""Experiments: algorithms on suites of games, with results in a folder."""

import inspect
import pickle
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, evolve, field, frozen

from regretkit import games as catalogue
from regretkit._util._files import FilePath, read_file
from regretkit._util._validate import above_zero, did_you_mean, quote, shorten, whole_number
from regretkit.games import History, Rules
from regretkit.play import ALGORITHMS, Algorithm, Recorder
from regretkit.play import named as named_algorithm
from regretkit.workbench._comparison import ComparedRun, Comparison
from regretkit.workbench._executors import Processes, cores
from regretkit.workbench._names import (
    algorithm_of,
    expand,
    is_own,
    parsed,
    short,
    source_of,
    split,
)
from regretkit.workbench._results import find_run, write_run
from regretkit.workbench._tasks import (
    CLOCKS,
    Task,
    code_of_algorithm,
    code_of_game,
    execute,
    identity_of,
    is_known,
)

_OURS = Path(__file__).with_name("suites.toml")
_EVER = 10**9
"""Iterations of runs that end by another limit."""


@frozen
class SuiteGame:
    """A game of a suite, its size and its value.

    Examples
    --------
    >>> suite("classic")[0].value
    '-1/18'
    """

    game: str
    """The text for ``games.load``."""
    histories: int | None = None
    """Number of histories, None in normal form or if unknown."""
    value: str | None = None
    """The payoff of player 0 in equilibrium, as a number or fraction; None if unknown."""
    source: str | None = None
    """The source of the size and the value."""


def suite(name: str) -> tuple[SuiteGame, ...]:
    """Return the games of a suite.

    Parameters
    ----------
    name
        ``"smoke"``, ``"classic"``, ``"papers"``, ``"general-sum"``, ``"last-iterate"`` or
        ``"alphaevolve"``; or your own, as ``"my_suites.toml:mine"``. In the file, each game is a
        table ``[[mine]]`` with the key ``game``, and optionally ``histories``, ``value`` and
        ``source``. A table with the key ``suite`` includes all games of another suite.

    Examples
    --------
    >>> [each.game for each in suite("smoke")][:2]
    ['kuhn_poker', 'leduc_poker']
    """
    file, colon, own = name.rpartition(":")
    suites = tomllib.loads(read_file(file if colon else _OURS).decode())
    if own not in suites:
        close = did_you_mean(own, suites)
        raise ValueError(f"there is no suite {quote(name)}, only {', '.join(suites)}{close}")
    found: list[SuiteGame] = []
    for entry in suites[own]:
        if "suite" in entry:
            other = entry["suite"]
            found += suite(f"{file}:{other}" if colon and other in {*suites} - {own} else other)
        else:
            found.append(SuiteGame(**entry))
    return tuple(found)


def suite_names() -> tuple[str, ...]:
    """Return the names of regretkit's suites."""
    return tuple(tomllib.loads(_OURS.read_text()))


Watch: TypeAlias = Callable[[int, int, str], object]
"""Called after each run with the number of finished runs, the number of all runs, and a text."""


@define(eq=False)
class Experiment:
    """Algorithms on games, in parallel. A folder keeps results, which are not computed again.

    Parameters
    ----------
    games
        Names for ``games.load``, with alternatives as in ``"kuhn_poker(deck=3|13)"``; your own as
        ``my_games.py:name``; games of ``suite``; or game objects. One, a sequence, or a mapping
        from names. If a tree does not fit into memory, algorithms that sample use the rules.
    algorithms
        Strings, or one string with commas: names of algorithms, or rules as ``my_rule.py:MyRule``
        or ``module:Class``, with hyperparameters and alternatives, as in
        ``"dcfr(alpha=1:3:0.5,gamma=2|4)"``. Here ``gamma`` is the power of the average, ``order``
        is alternating or simultaneous, and ``sampling`` is that of ``solve``. Or algorithms for
        ``solve``: one, a sequence, or a mapping from names. The default name of a string is the
        string without its file.
    iterations
        Iterations of each run; by default 1,000, or unlimited if there is another limit.
    measures
        Names of measures, or a mapping from names to functions of a run, as for ``Recorder``.
        Tables show the first. Runs are measured at the end, and at iterations that grow by 25 %,
        or by 5 % with a ``target_gap``. Each measurement includes seconds and visited histories.
        Without a tree, the measure is ``"local_best_response"``, only at the end unless you name
        it, because it is slow.
    seeds
        Whole numbers, or their count. An algorithm that samples runs once for each seed.
    sampling, target_gap, time_limit, imperfect_recall
        As for ``solve``, in each run.

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
    tasks: list[Task] = field(init=False, repr=False)
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
        Recorder(measures)  # checks their names
        seeds = list(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)
        if not seeds or len({*seeds}) < len(seeds):
            raise ValueError(f"seeds must be one or more different whole numbers, got {seeds}")
        games, sizes = _games(self.games)
        self.tasks = [
            Task(
                names=(game_name, algorithm_name),
                game=game,
                algorithm=algorithm,
                sources=(source_of(game), source),
                place=(row, column),
                histories=sizes.get(game_name, 0),
                seed=whole_number(seed, "seeds", minimum=0) if sampled else None,
                iterations=iterations,
                measures={name: given for name, given in measures.items() if name not in CLOCKS},
                sampling=self.sampling,
                imperfect_recall=self.imperfect_recall,
                **limits,
            )
            for column, (algorithm_name, algorithm) in enumerate(_algorithms(self.algorithms))
            for source in [source_of(algorithm)]
            for sampled in [self.sampling is not None or _samples(algorithm, source)]
            for row, (game_name, game) in enumerate(games)
            for seed in (seeds if sampled else [0])
        ]
        self.tasks.sort(key=lambda task: task.place)

    def run(
        self,
        folder: FilePath | None = None,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        watch: Watch | None = None,
    ) -> Comparison:
        """Execute the runs without a result in the folder, and return all runs.

        Each run is a file. Its name is a digest of all that determines the result: game, algorithm,
        seed, iterations, measures and versions. For your own rule, the digest includes its traced
        code, or else the content of its file, so an edited rule runs again. A rule with neither
        always runs again, as do runs with functions as measures.

        After an interrupt or a crash, the next call continues. It also repeats failed runs, which
        are in ``failures``. Ctrl-C returns the finished runs, with ``interrupted`` set.

        Parameters
        ----------
        folder
            The folder for results, by default none.
        executor
            An executor of ``concurrent.futures``, or any object with the same ``submit``, such as
            ``RayExecutor()``. It is not shut down. By default, processes on this machine.
        workers
            Number of processes with one thread each, by default one for each core. With 0 or on one
            core, all runs stay in this process. They also do if other processes cannot import a
            rule or a game, such as one from a prompt.
        watch
            Called after each run with the number of finished runs, the number of all runs, and a
            text.
        """
        path = None if folder is None else Path(folder).absolute()
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
        begun, runs = datetime.now(UTC).isoformat(), {} if path is None else self._finished(path)
        tasks = [task for task in self.tasks if _key(task) not in runs]
        tasks.sort(key=lambda task: -task.histories)  # largest first, to balance processes
        outcomes, interrupted = _outcomes(tasks, path, executor, workers), False
        failures: dict[tuple[str, str, int | None], str] = {}
        try:
            for task, outcome in outcomes:
                if isinstance(outcome, str):
                    failures[_key(task)] = text = outcome
                else:
                    runs[_key(task)], text = outcome, f"{outcome.measure} {outcome.last:.3g}"
                    if path is not None:
                        write_run(path, outcome, begun, task.place)
                if watch is not None:
                    done = len(runs) + len(failures)
                    watch(done, len(self.tasks), f"{' on '.join(task.names[::-1])}: {text}")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            outcomes.close()
        found = [runs[key] for key in map(_key, self.tasks) if key in runs]
        algorithms = list(dict.fromkeys(task.names[1] for task in self.tasks))
        return Comparison(found, interrupted, failures, algorithms)

    def _finished(self, folder: Path) -> dict[tuple[str, str, int | None], ComparedRun]:
        """Return the runs with results in a folder."""
        found: dict[tuple[str, str, int | None], ComparedRun] = {}
        codes: dict[tuple[str, ...], str | None] = {}
        for task in self.tasks:
            keys = ("game", task.names[0]), ("algorithm", task.names[1])
            with suppress(Exception, SystemExit):  # the run reports the error
                for key, code_of in zip(keys, (code_of_game, code_of_algorithm), strict=True):
                    if key not in codes:
                        codes[key] = code_of(task)
                identity = identity_of(task, [codes[key] for key in keys])
                run = find_run(folder, task.names, identity) if is_known(identity) else None
                if run is not None:
                    found[_key(task)] = run
        return found


def _key(task: Task) -> tuple[str, str, int | None]:
    return (*task.names, task.seed)


def compare(
    games: Any,
    algorithms: Any,
    iterations: int | None = None,
    *,
    watch: Watch | None = None,
    **options: Any,
) -> Comparison:
    """Run every algorithm on every game in this process, and compare their gaps.

    This is an ``Experiment`` without a folder. Ctrl-C returns the finished runs.

    Parameters
    ----------
    games, algorithms, iterations, options
        As for ``Experiment``.
    watch
        Called after each run with the number of finished runs, the number of all runs, and a text;
        for example ``print``.

    Raises
    ------
    RuntimeError
        If all runs fail. Otherwise ``failures`` has the errors.

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
) -> Generator[tuple[Task, ComparedRun | str], None, None]:
    """Execute tasks by an executor, in this process, or in others."""
    count = whole_number(cores() if workers is None else workers, "workers", minimum=0)
    if executor is None and tasks and _can_be_sent(tasks) and count > (workers is None):
        with Processes(min(count, len(tasks))) as processes:
            yield from _outcomes(tasks, folder, processes, None)
    elif executor is None:  # on one core, a second process saves no time
        yield from ((task, execute(task, folder)) for task in tasks)
    else:
        futures = {executor.submit(execute, task, folder): task for task in tasks}
        try:
            for future in as_completed(futures):
                error = future.exception()  # of the executor, such as for a dead node
                text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
                yield futures[future], text if error else future.result()
        finally:
            for future in futures:
                future.cancel()


def _can_be_sent(tasks: Sequence[Task]) -> bool:
    """Return whether other processes can import the main program, the games and the rules."""
    program = getattr(sys.modules["__main__"], "__file__", None)
    try:
        data = pickle.dumps([(task.game, task.algorithm, task.measures) for task in tasks])
    except Exception:
        return False
    return b"__main__" not in data if program is None else Path(program).is_file()


# Games and algorithms

_Named: TypeAlias = list[tuple[str, Any]]
"""Pairs of a name and a game or an algorithm, which may be a string or an object."""


def _games(games: Any) -> tuple[_Named, dict[str, int]]:
    """Return games with their names, and the histories of games in suites."""
    given: Any = [games] if isinstance(games, SuiteGame) or _is_game(games) else games
    sizes: dict[str, int] = {}
    if not isinstance(given, str | Mapping):
        given = [*given]
        sizes = {g.game: g.histories or 0 for g in given if isinstance(g, SuiteGame)}
        given = [g.game if isinstance(g, SuiteGame) else g for g in given]
    found = _named([given] if isinstance(given, str) else given, "games")
    for _, game in found:
        if isinstance(game, str):
            _check_game(game)
        elif not _is_game(game):
            raise TypeError(f"games must be games or their names, got {quote(game)}")
    return found, sizes


def _is_game(entry: Any) -> bool:
    return isinstance(entry, History | Rules) or hasattr(type(entry), "domains")


def _check_game(text: str) -> None:
    """Check the text of a game, without building its tree if possible."""
    if text.lower().endswith((".efg", ".nfg")):
        Path(text).stat()
    elif not is_own(text):
        place, positional, keywords = parsed(text)
        factory = getattr(catalogue, place, None)
        if factory is not None:
            try:
                inspect.signature(factory).bind(*positional, **keywords)
            except TypeError as error:
                raise ValueError(f"{quote(text)}: {error}") from error
        elif place not in catalogue.names():
            with suppress(MemoryError):  # no tree, but rules
                catalogue.load(text)


def _algorithms(algorithms: Any) -> _Named:
    given: Any = split(algorithms, ",") if isinstance(algorithms, str) else algorithms
    single = callable(given) or isinstance(given, Algorithm)
    found = _named([given] if single else given, "algorithms")
    return [(name, a if isinstance(a, str) else named_algorithm(a)) for name, a in found]


def _samples(algorithm: Any, source: bytes | None) -> bool:
    made = algorithm_of(algorithm, source) if isinstance(algorithm, str) else algorithm
    return made.sampling is not None


def _named(given: Any, argument: str) -> _Named:
    """Return games or algorithms with their names; expand grids."""
    found: _Named = []
    for name, entry in given.items() if isinstance(given, Mapping) else ((None, e) for e in given):
        points = expand(entry) if isinstance(entry, str) else [entry]
        for point in points:
            label = name or _label(point)
            if name is not None and len(points) > 1:
                label = f"{name}({point.partition('(')[2]}"
            found.append((label, point))
    # If two files define the same name, use the whole texts.
    counts = Counter(label for label, _ in found)
    found = [(e if counts[n] > 1 and isinstance(e, str) else n, e) for n, e in found]
    for name, count in Counter(label for label, _ in found).items():
        if count > 1:
            raise ValueError(f"{argument} has {quote(name)} twice; pass a mapping from names")
    if not found:
        raise ValueError(f"{argument} must not be empty")
    return found


def _label(entry: Any) -> str:
    """Return the default name of a game or an algorithm."""
    if isinstance(entry, str):
        return short(entry)
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
    named = getattr(entry, "__name__", None) or getattr(entry, "name", None)
    return str(named or shorten(repr(entry), 60))
