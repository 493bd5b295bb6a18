"""Experiments: suites of games, which results their tasks have already, and running the others.

Which results they have is told by texts and sources, so that no game is built to find out. What
determines a result is known once its game is built and its rule is traced. Where the text of the
game, the expression of the algorithm and all sources are the same, the result is too.
"""

import hashlib
import pickle
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from attrs import define, field, fields_dict, frozen

from regretkit._util._files import FilePath, read_file
from regretkit._util._validate import did_you_mean, quote, whole_number
from regretkit.games import Game, load
from regretkit.games._adapters import has_rules_alone
from regretkit.games._registry import _FACTORIES, _RULES, OPENSPIEL
from regretkit.play import Algorithm, AlgorithmLike, Comparison, RandomPlayer
from regretkit.play._comparison import _as_seeds, _distinct, _named_algorithms, _named_games
from regretkit.play._measures import as_measures
from regretkit.trace._snapshot import is_own
from regretkit.workbench._expressions import algorithm_of, expand, split_at_commas
from regretkit.workbench._pool import Entry, Watch, cores, run_here, run_in_processes, run_on_ray
from regretkit.workbench._results import digest, find_run, key_of, refuse_other_version
from regretkit.workbench._tasks import CLOCKS, Outcome, Task, versions

NAME = "index"
"""The file in a results folder: a line for each task, with its place and the key of its result."""
_LINE = re.compile(r"([0-9a-f]{32}) ([0-9a-f]{32})")
_LIBRARY = Path(__file__).parents[1]
_INSTALLED = {"site-packages", "dist-packages"}
_INPUT = re.compile(
    rb"environ|getenv|(?:open|load\w*|\w*read\w*|fromfile|genfromtxt|memmap|exec|eval)\("
    rb"|import_module|__import__|^(?:[ \t]+|.*[:;][ \t]*)(?:from [\w.]+ )?import ",
    re.MULTILINE,
)
"""What sources have in them that may depend on something else, or import it later."""


@define(eq=False)
class Index:
    """The results that tasks are known to have, in a file of their folder."""

    folder: Path
    here: bool
    """Whether tasks are carried out in this process, whose modules may be older than files."""
    _open: list[tuple[Entry, Task, str]] = field(factory=list, init=False)

    def find(self, entries: Sequence[Entry]) -> list[Entry]:
        """Finish the entries whose results are known, and return the others."""
        known: dict[str, str] = {}
        with suppress(OSError, ValueError):
            lines = (self.folder / NAME).read_text().splitlines()
            known = {found[1]: found[2] for found in map(_LINE.fullmatch, lines) if found}
        own = None if self.here else _own_sources()
        for entry in entries:
            place = _place(entry.task, own)
            columns = find_run(self.folder, known[place]) if place in known else None
            if columns is not None:
                entry.finish(Outcome(entry.task.result(columns), was_found=True))
            elif place is not None:
                self._open.append((entry, entry.task, place))
        return [entry for entry in entries if entry.outcome is None]

    def note(self) -> None:
        """Write down which results have been found or computed since."""
        done = [case for case in self._open if case[0].outcome is not None]
        if not done:
            return
        self._open = [case for case in self._open if case[0].outcome is None]
        own, lines = None if self.here else _own_sources(), ""
        for entry, task, place in done:
            # A rule that was edited meanwhile may be either one, and a tree may fit another time.
            matches = entry.task is task and _place(task, own) == place
            if matches and entry.outcome is not None and entry.outcome.identity:
                lines += f"{place} {key_of(entry.outcome.identity)}\n"
        with suppress(OSError), (self.folder / NAME).open("a") as file:
            file.write(lines)


def _place(task: Task, own: str | None) -> str | None:
    """Return what stands for all that the result of a task depends on, None if that is unknown."""
    if not isinstance(task.game, str) or not isinstance(task.algorithm, str):
        return None
    name = task.game.partition("(")[0].strip()
    made = _FACTORIES.get(name, _RULES.get(name))
    # Where the code of a function stands, which a wrapper or functools.partial may not say
    module = str(getattr(made, "__globals__", {}).get("__name__"))
    builtin = task.game.lower().endswith((".efg", ".nfg")) or module.startswith("regretkit.")
    relative = ":" in task.algorithm or not builtin
    if relative and own is None:
        return None
    try:
        content = _content(task.game) if made is None else ""
    except (OSError, ImportError):
        return None
    given = task.algorithm, task.seed, task.iterations, task.measures, task.sampling
    return digest([task.game, content, own if relative else "", *given, _library(), versions()])


def _content(game: str) -> str:
    """Return what identifies a file, or a game of another program."""
    if game.startswith(OPENSPIEL):
        if "file" in game:  # as in efg_game(filename=...)
            raise OSError(game)
        return version("open_spiel")
    return hashlib.sha256(Path(game).read_bytes()).hexdigest()


@cache
def _library() -> str:
    return _digest_of(_LIBRARY.rglob("*.py"))


def _own_sources() -> str | None:
    """Return what identifies the user's sources, None where they may depend on other things.

    Of packages that are installed, that is which ones and when.
    """
    own = [module for name, module in [*sys.modules.items()] if is_own(name)]
    paths = [Path(file) for module in own if (file := getattr(module, "__file__", None))]
    files = {p for p in paths if not (_INSTALLED & {*p.parts} or p.is_relative_to(_LIBRARY))}
    with suppress(OSError):
        if not any(_INPUT.search(file.read_bytes()) for file in files):
            folders = [folder for folder in map(Path, sys.path) if folder.name in _INSTALLED]
            installed = {path for folder in folders for path in folder.glob("*.dist-info")}
            told = [f"{path} {path.stat().st_mtime_ns}" for path in sorted(installed)]
            return digest([_digest_of(files), *told])
    return None


def _digest_of(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


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

    Raises
    ------
    TypeError, ValueError
        When there is no such suite or file, or it does not have this form.

    Examples
    --------
    >>> [each.game for each in suite("smoke")][:2]
    ['kuhn_poker', 'leduc_poker']
    """
    if not isinstance(name, str):
        raise TypeError(f"a suite is named by a text such as 'classic', got {quote(name)}")
    return _suite(name, ())


def suite_names() -> tuple[str, ...]:
    """Return the names of the library's suites."""
    return tuple(tomllib.loads(_OURS.read_text()))


def _suite(name: str, outer: tuple[str, ...]) -> tuple[SuiteGame, ...]:
    file, colon, own = name.rpartition(":")
    path = Path(file) if colon else _OURS
    try:
        suites = tomllib.loads(read_file(path).decode())
    except OSError as error:
        raise ValueError(f"suite {quote(name)}: cannot read {quote(file)}: {error}") from error
    except ValueError as error:  # no text, or no TOML
        raise ValueError(f"suite {quote(name)}: {file} is not in TOML: {error}") from error
    if own not in suites:
        hint = did_you_mean(own, suites) or ("" if colon else "; or name one as FILE.toml:NAME")
        raise ValueError(f"there is no suite {quote(name)}, only {', '.join(suites)}{hint}")
    if name in outer:
        raise ValueError(f"suite {quote(name)} contains itself, through {', '.join(outer)}")
    listed = suites[own]
    if not (isinstance(listed, list) and listed):
        raise ValueError(f"suite {quote(name)} has no games; write them as tables [[{own}]]")
    found: list[SuiteGame] = []
    for entry in listed:
        found += _entry(entry, name, file, outer)
    return tuple(found)


def _entry(entry: Any, name: str, file: str, outer: tuple[str, ...]) -> tuple[SuiteGame, ...]:
    if isinstance(entry, Mapping) and entry.keys() == {"suite"}:
        other = str(entry["suite"])
        local = file and ":" not in other and other not in suite_names()
        return _suite(f"{file}:{other}" if local else other, (*outer, name))
    kinds = {"game": str, "histories": int, "value": str, "source": str}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("game"), str):
        raise ValueError(f"suite {quote(name)}: an entry needs the text game, got {quote(entry)}")
    for key, value in entry.items():
        if key not in fields_dict(SuiteGame):
            told = f"only {', '.join(kinds)}{did_you_mean(key, kinds)}"
            raise ValueError(f"suite {quote(name)}: there is no {quote(key)} of a game, {told}")
        if not isinstance(value, kinds[key]):
            kind = "a text" if kinds[key] is str else "a whole number"
            raise ValueError(f"suite {quote(name)}: {key} must be {kind}, got {quote(value)}")
    return (SuiteGame(**entry),)


@define(eq=False)
class Experiment:
    """Algorithms on games, in parallel, with results in a folder that are not computed again.

    Parameters
    ----------
    games
        Texts as ``games.load`` takes them, with alternatives for several of them, as in
        ``"kuhn_poker(deck=3|13)"``; what ``suite`` returns; or games. Those by their rules alone,
        and those of ``load_rules`` of which no memory holds the tree, are played without one by
        algorithms that sample.
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
        Whole numbers, or how many: an algorithm that draws at random is run with each of these,
        all others once.
    sampling
        How all algorithms sample utilities, as ``solve`` takes it.

    Raises
    ------
    TypeError, ValueError
        When a game or an algorithm is none, a grid has no points, a rule cannot be imported, two
        have the same name, or a number is out of range.

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
    tasks: Sequence[Task] = field(init=False, repr=False)
    """The runs."""

    def __attrs_post_init__(self) -> None:
        iterations = whole_number(self.iterations, "iterations", minimum=1)
        names = [self.measures] if isinstance(self.measures, str) else list(self.measures)
        if not names:
            raise ValueError("measures must be one at least, got none")
        as_measures(names)
        measures = tuple(name for name in names if name not in CLOCKS)
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        numbers = _as_seeds(seeds)
        played, chosen = _games(self.games), _algorithms(self.algorithms)
        self.tasks = [
            Task(given, algorithm, (game, name), seed, iterations, measures, self.sampling, size)
            for game, (given, size) in played.items()
            for name, (algorithm, draws) in chosen.items()
            for seed in (numbers if draws or self.sampling else [None])
        ]
        for task in {task.names: task for task in self.tasks if task.lacks_tree}.values():
            with redirect_stdout(StringIO()):  # rules may print
                task.start(task.load())  # refuses what cannot be played without a tree

    def run(
        self,
        folder: FilePath,
        *,
        on: str | None = None,
        workers: int | None = None,
        memory: float | None = None,
        watch: Watch | None = None,
    ) -> Comparison:
        """Carry out what has no result in the folder yet, and return all runs.

        Each run is a file, which is written in one stroke under a name made of all that determines
        the result: the game's fingerprint, how the algorithm was built, the code of its rule, the
        seed, and versions. So an edited rule is run again, and nothing else is. Interrupted or
        killed anywhere, the next call continues. A run that fails costs nothing but itself: it is
        among the ``failures``, and is tried again by the next call.

        Ctrl-C returns the runs so far, as ``interrupted``.

        Parameters
        ----------
        folder
            Where results are; it is made if there is none.
        on
            ``"ray"``, for the Ray cluster that the environment names as ``RAY_ADDRESS``, else for
            one that is started on this machine; or the address of a cluster, such as
            ``"head:6379"``. By default processes of this machine. Nodes that do not see the folder
            send results back, and get rules and games in files of the working folder.
        workers
            Processes, by default as many as there are cores, each of which computes in one thread;
            with 0, all is done in this one.
        memory
            Bytes that games may take together, by default most of what is available: large ones
            wait for room.
        watch
            Called with the entries of all tasks now and then.

        Raises
        ------
        TypeError, ValueError
            When a number is out of range, a game or a rule cannot be sent to a process, or there
            is a result of another version, or there is no cluster at an address.
        ImportError
            When Ray is asked for and not installed.
        OSError
            When the folder cannot be written; what was written before stays.
        """
        count, path = _workers(on, workers), Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        refuse_other_version(path)
        entries = [Entry(task) for task in self.tasks]
        # Large ones first; then every algorithm once, so that no two processes compile the same.
        places = {name: n for n, name in enumerate({task.names[0]: 0 for task in self.tasks})}
        ordered = sorted(
            entries, key=lambda e: (-e.task.histories, places[e.task.names[0]], e.task.seed or 0)
        )
        index, interrupted = Index(path, here=not count), False

        def show(_: object) -> None:
            index.note()
            if watch is not None:
                watch(ordered)

        try:
            waiting = index.find(ordered)
            for entry in waiting if count else ():
                _check_sent(entry.task)
            if on is not None and waiting:
                run_on_ray(waiting, path.absolute(), show, on, workers, memory)
            elif count:
                run_in_processes(waiting, path, show, count, memory)
            else:
                run_here(waiting, path, show)
        except KeyboardInterrupt:
            interrupted = True
        runs = [entry.outcome.run for entry in entries if entry.outcome and entry.outcome.run]
        failures = {
            (*entry.task.names, entry.task.seed): entry.outcome.reason
            for entry in entries
            if entry.outcome and entry.outcome.run is None
        }
        return Comparison(runs, interrupted, failures)


def _workers(on: object, workers: int | None) -> int:
    """Return how many processes to begin, or refuse where and how many."""
    if not (on in (None, "ray") or (isinstance(on, str) and ":" in on)):
        told = "the address of a cluster, as 'head:6379'"
        raise ValueError(f"on must be 'ray', or {told}, got {quote(on)}")
    count = cores() if workers is None else whole_number(workers, "workers", minimum=0)
    if on is not None and not count:
        raise ValueError(f"on is {quote(on)}, so workers must be 1 at least, got 0")
    return count


def _games(games: Any) -> dict[str, tuple[Any, int]]:
    """Return by name what to play, and how many histories it has, 0 if unknown."""
    single = (
        isinstance(games, str | SuiteGame) or hasattr(games, "domains") or has_rules_alone(games)
    )
    given: Any = [games] if single else games
    pairs = given.items() if isinstance(given, Mapping) else [(None, entry) for entry in given]
    found: list[tuple[str, tuple[Any, int]]] = []
    for name, entry in pairs:
        size = entry.histories or 0 if isinstance(entry, SuiteGame) else 0
        text = entry.game if isinstance(entry, SuiteGame) else entry
        if isinstance(text, str):
            texts = [_checked_game(part) for part in expand(text.strip())]
            found += [(part if name is None else name, (part, size)) for part in texts]
        else:
            named = _named_games([text] if name is None else {name: text})
            found += [(key, (game, 0)) for key, game in named.items()]
    return _distinct(found, "games")


def _checked_game(text: str) -> str:
    """Return a text that names a game, as far as can be told before its tree is built."""
    if text.lower().endswith((".efg", ".nfg")) and not Path(text).is_file():
        raise ValueError(f"there is no file {quote(text)}")
    try:
        load(text, memory_limit=1)
    except MemoryError:  # its arguments are right, then
        return text
    except (TypeError, ValueError) as error:
        if quote(text) in str(error):
            raise
        raise type(error)(f"{quote(text)}: {error}") from error
    return text


def _algorithms(algorithms: Any) -> dict[str, tuple[Any, bool]]:
    """Return algorithms by name, as text or as they are, and whether each draws at random."""
    given: Any = split_at_commas(algorithms) if isinstance(algorithms, str) else algorithms
    single = callable(given) or isinstance(given, Algorithm)
    given = [given] if single else given
    pairs = given.items() if isinstance(given, Mapping) else [(None, entry) for entry in given]
    found: list[tuple[str, tuple[Any, bool]]] = []
    for name, entry in pairs:
        made: list[tuple[str, Any, Algorithm]]
        if isinstance(entry, str):
            made = [(name or text, text, algorithm_of(text)) for text in expand(entry)]
        else:
            named = _named_algorithms([entry] if name is None else {name: entry}, None)
            made = [(label, algorithm, algorithm) for label, algorithm in named.items()]
        for label, sent, algorithm in made:
            draws = algorithm.sampling is not None or isinstance(algorithm.order, RandomPlayer)
            found.append((label, (sent, draws)))
    return _distinct(found, "algorithms")


def _check_sent(task: Task) -> None:
    """Refuse what another process could not build again."""
    advice = "write it into a file, and name it as in 'my_rule.py:MyRule', or pass workers=0"
    try:
        data = pickle.dumps((task.game, task.algorithm))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        told = f"{' on '.join(task.names[::-1])} cannot be sent to a process: {error}"
        raise ValueError(f"{told}; {advice}") from error
    program = getattr(sys.modules["__main__"], "__file__", None)
    if program is not None and not Path(program).is_file():
        told = f"the program is {quote(program)}, which other processes cannot import"
        raise ValueError(f"{told}; write it into a file, or pass workers=0")
    if b"__main__" in data and program is None:
        told = f"{' on '.join(task.names[::-1])} was defined at a prompt or in a notebook"
        raise ValueError(f"{told}, which other processes do not see; {advice}")
