"""Experiments: suites of games, and algorithms that play them, with results that are kept."""

import inspect
import pickle
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, field, fields_dict, frozen

from regretkit import games as catalogue
from regretkit._util._files import FilePath, read_file
from regretkit._util._validate import did_you_mean, quote, shorten, whole_number
from regretkit.games import Game, History, Rules
from regretkit.play import ALGORITHMS, Algorithm, AlgorithmLike, ComparedRun, Comparison, Recorder
from regretkit.play import named as named_algorithm
from regretkit.workbench._executors import Executor, cores, elsewhere, here, in_processes
from regretkit.workbench._names import algorithm_of, expand, is_own, parsed, source_of, split
from regretkit.workbench._results import find_run, run_of, write_run
from regretkit.workbench._tasks import CLOCKS, Task, identity_of, is_known

_OURS = Path(__file__).with_name("suites.toml")


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
        games. Algorithms that sample play a game by its rules alone where its tree does not fit.
    algorithms
        Texts, or one with commas between them: the name of an algorithm, or a rule as
        ``my_rule.py:MyRule`` or ``module:Class``, with hyperparameters and alternatives if needed,
        as in ``"dcfr(alpha=1:3:0.5,gamma=2|4)"``. There ``gamma`` is the power of the average,
        ``order`` is alternating or simultaneous, and ``sampling`` what ``solve`` takes. Or what
        ``solve`` takes, several of it, or several by names of one's own.
    iterations
        How many each run plays.
    measures
        Names of measures, as ``Recorder`` takes them; the first is shown. They are measured at
        iterations that grow by a quarter, together with seconds, seconds of a processor, and
        visited histories. Without a tree there is ``"local_best_response"``, which takes long: it
        is measured at the end, or as often as the others where it is named here.
    seeds
        Whole numbers, or how many: an algorithm that samples is run with each of these, all others
        once.
    sampling, target_gap, time_limit, imperfect_recall
        As ``solve`` takes them, for all runs.

    Examples
    --------
    >>> import tempfile
    >>> mine = Experiment("kuhn_poker", "cfr, dcfr(gamma=2|4)", iterations=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = mine.run(folder, workers=0)
    >>> [run.algorithm for run in found.runs]
    ['cfr', 'dcfr(gamma=2)', 'dcfr(gamma=4)']
    """

    games: str | Game | SuiteGame | Iterable[Any] | Mapping[str, Any]
    algorithms: str | Iterable[AlgorithmLike] | Mapping[str, AlgorithmLike]
    iterations: int = 1_000
    measures: str | Sequence[str] = field(default=("nash_conv",), kw_only=True)
    seeds: int | Iterable[int] = field(default=1, kw_only=True)
    sampling: str | None = field(default=None, kw_only=True)
    target_gap: float | None = field(default=None, kw_only=True)
    time_limit: float | None = field(default=None, kw_only=True)
    imperfect_recall: bool = field(default=False, kw_only=True)
    tasks: Sequence[Task] = field(init=False, repr=False)
    """The runs."""

    def __attrs_post_init__(self) -> None:
        iterations = whole_number(self.iterations, "iterations", minimum=1)
        names = [self.measures] if isinstance(self.measures, str) else list(self.measures)
        Recorder(names)  # refuses what it does not know
        seeds = list(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)
        if not seeds or len({*seeds}) < len(seeds):
            raise ValueError(f"seeds must be different whole numbers, one at least, got {seeds}")
        limits = self.target_gap, self.time_limit, self.imperfect_recall
        self.tasks = [
            Task(
                (game, name),
                played,
                algorithm,
                (code_of_game, code),
                size,
                whole_number(seed, "seeds", minimum=0) if sampled else None,
                iterations,
                tuple(name for name in names if name not in CLOCKS),
                self.sampling,
                *limits,
            )
            for game, (played, code_of_game, size) in _games(self.games).items()
            for name, (algorithm, code, samples) in _algorithms(self.algorithms).items()
            for sampled in [samples or self.sampling is not None]
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
        traced nor read from a file of its own is always run again. Interrupted or killed
        anywhere, the next call continues. A run that fails costs nothing but itself: it is among
        the ``failures``, and is tried again by the next call.

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

        Raises
        ------
        ValueError
            When a game or a rule cannot be sent to a process.
        OSError
            When the folder cannot be written; what was written before stays.
        """
        path = None if folder is None else Path(folder).absolute()
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
        count = whole_number(cores() if workers is None else workers, "workers", minimum=0)
        if workers is None and count == 1:
            count = 0  # a second process would compute no sooner
        finished = self._finished(path)
        rest = [n for n in range(len(self.tasks)) if n not in finished]
        rest.sort(key=lambda n: -self.tasks[n].histories)  # so that no long one begins last
        tasks = [self.tasks[n] for n in rest]
        if executor is not None:
            outcomes = elsewhere(tasks, path, executor)
        elif count == 0 or not tasks:
            outcomes = here(tasks, path)
        else:
            _check_sent(tasks)
            outcomes = in_processes(tasks, path, min(count, len(tasks)))
        failures: dict[tuple[str, str, int | None], str] = {}
        interrupted = False
        try:
            for place, outcome in outcomes:
                task = tasks[place]
                told = outcome.reason
                if outcome.identity is None or outcome.columns is None:
                    failures[*task.names, task.seed] = told
                else:
                    if path is not None:
                        write_run(path, task.names, outcome.identity, outcome.columns)
                    run = run_of(task.names, outcome.identity, outcome.columns)
                    finished[rest[place]], told = run, f"{run.measure} {run.last:.3g}"
                if watch is not None:
                    done = len(finished) + len(failures)
                    watch(done, len(self.tasks), f"{' on '.join(task.names[::-1])}: {told}")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            outcomes.close()
        runs = [run for _, run in sorted(finished.items())]
        return Comparison(runs, interrupted, failures)

    def _finished(self, folder: Path | None) -> dict[int, ComparedRun]:
        """Return the runs that have results already, by the numbers of their tasks."""
        found: dict[int, ComparedRun] = {}
        codes: dict[str, Any] = {}
        for number, task in enumerate(self.tasks if folder is not None else ()):
            with suppress(Exception, SystemExit):  # which the run will report
                identity = identity_of(task, codes)
                columns = find_run(folder or Path(), identity) if is_known(identity) else None
                if columns is not None:
                    found[number] = run_of(task.names, identity, columns)
        return found


def _games(games: Any) -> dict[str, tuple[Any, bytes | None, int]]:
    """Return by name what to play, the content of its file, and its histories if known."""
    single = isinstance(games, str | SuiteGame | Game | History | Rules)
    given: Any = [games] if single else games
    pairs = given.items() if isinstance(given, Mapping) else [(None, entry) for entry in given]
    found: list[tuple[str, tuple[Any, bytes | None, int]]] = []
    for name, entry in pairs:
        text = entry.game if isinstance(entry, SuiteGame) else entry
        size = (entry.histories or 0) if isinstance(entry, SuiteGame) else 0
        if isinstance(text, str):
            points = map(_checked_game, expand(text))
            found += [(name or part, (part, source_of(part), size)) for part in points]
        elif isinstance(text, Game | History | Rules):
            found.append((name or _label(text), (text, None, size)))
        else:
            raise TypeError(f"games must be games or texts that name them, got {quote(text)}")
    return _distinct(found, "games")


def _checked_game(text: str) -> str:
    """Return the text of a game, or refuse it where that is possible without building a tree."""
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
    return text


def _algorithms(algorithms: Any) -> dict[str, tuple[Any, bytes | None, bool]]:
    """Return algorithms by name, the content of their files, and whether each samples."""
    given: Any = split(algorithms, ",") if isinstance(algorithms, str) else algorithms
    given = [given] if callable(given) or isinstance(given, Algorithm) else given
    pairs = given.items() if isinstance(given, Mapping) else [(None, entry) for entry in given]
    found: list[tuple[str, tuple[Any, bytes | None, bool]]] = []
    for name, entry in pairs:
        if not isinstance(entry, str):
            made = named_algorithm(entry)
            found.append((name or _label(entry), (made, None, made.sampling is not None)))
            continue
        for text in expand(entry):
            source = source_of(text)
            samples = algorithm_of(text, source).sampling is not None
            found.append((name or text, (text, source, samples)))
    return _distinct(found, "algorithms")


def _label(entry: Any) -> str:
    """Return what to call an object."""
    for name, known in ALGORITHMS.items():
        if isinstance(entry, Algorithm) and entry == known:
            return name
    given = getattr(entry, "name", None) or getattr(entry, "__name__", None)
    return given if isinstance(given, str) else shorten(repr(entry), 60)


def _distinct(pairs: Iterable[tuple[str, Any]], argument: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{argument} has {quote(name)} twice; give them names, as in {{...}}")
        found[name] = value
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
