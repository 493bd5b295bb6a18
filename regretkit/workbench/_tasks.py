"""One run of an experiment: what determines its result, and how a process carries it out."""

import inspect
import platform
import shlex
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from attrs import define, evolve, field, frozen

from regretkit._state import with_parts
from regretkit.circuits._base import local_minimizer
from regretkit.games import fingerprint, load, load_rules
from regretkit.games._adapters import has_rules_alone
from regretkit.games._game import check_game
from regretkit.games._memory_budget import is_too_large
from regretkit.games._registry import _FACTORIES, _RULES, OPENSPIEL
from regretkit.minimizer import RegretMinimizer
from regretkit.play import Algorithm, Checkpoint, ComparedRun, LazyMCCFR, Recorder, SelfPlay
from regretkit.play._callbacks import Callback, Pace
from regretkit.play._checkpoint import CheckpointError
from regretkit.play._checkpoint_file import RunOptions, SavedRun
from regretkit.play._comparison import RATIO, measured
from regretkit.play._measures import AXES, SAMPLED_GAP, sampled_gap
from regretkit.play._solve import start_by_rules
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel, upcoming_parameters
from regretkit.trace._snapshot import is_own, is_own_class, sources_of
from regretkit.workbench._expressions import algorithm_of, rule_error
from regretkit.workbench._results import (
    FORMAT,
    Identity,
    digest,
    find_run,
    key_of,
    plain,
    write_run,
)

UNFINISHED = "unfinished"
"""The folder within that of the results for checkpoints of runs that are not whole."""
CLOCKS = AXES[1:]
"""What every run measures beside its measures."""
_SAVE_EVERY = 10.0
"""Seconds between two checkpoints of a run."""
_KEPT = 1_000_000
"""Histories of a game that a process keeps for its next task."""

_SAMPLE = "pass sampling='outcome' or 'external', or --sample in the shell, to play without a tree"

Run = SelfPlay | LazyMCCFR
Report = Callable[[int, float | None, float], object]
"""Is told the iteration, the last value of the first measure, and the seconds."""


@frozen
class Task:
    """A run: an algorithm on a game, for some iterations, with a seed if it draws at random."""

    game: Any
    """As text, or an object."""
    algorithm: Any
    """An expression, or an ``Algorithm``."""
    names: tuple[str, str]
    """What results call them."""
    seed: int | None
    iterations: int
    measures: tuple[str, ...]
    sampling: str | None = None
    histories: int = 0
    """Those of the game, 0 if unknown."""
    without_tree: bool = False
    """Whether a game is played by the rules of its name, because its tree does not fit."""

    def start(self, game: Any) -> Run:
        """Return the run before its first iteration."""
        if has_rules_alone(game):
            algorithm = self._algorithm()
            if algorithm.sampling is None:
                told = f"{self.names[1]} needs a tree, and {self.names[0]} has its rules alone"
                raise ValueError(f"{told}; {_SAMPLE}")
            return start_by_rules(game, algorithm, **self._options())
        return self._algorithm().start(game, **self._options())

    @property
    def command(self) -> str:
        """How a shell runs it again, in another folder; empty where that cannot be written."""
        if not isinstance(self.game, str) or not isinstance(self.algorithm, str):
            return ""
        words = ["regretkit", "bench", self.algorithm, "--game", self.game]
        words += ["--iterations", str(self.iterations), "--measures", ",".join(self.measures)]
        words += ["--sample", self.sampling] if self.sampling else []
        words += ["--seeds", str(self.seed + 1)] if self.seed else []
        return shlex.join([*words, "--out", "again"])

    def result(self, columns: dict[str, list[Any]]) -> ComparedRun:
        """Return what was measured, by the names of the task."""
        return ComparedRun(*self.names, self.seed, columns, command=self.command)

    def _options(self) -> dict[str, Any]:
        return {"seed": self.seed or 0, "horizon": max(self.iterations, 1)}

    def _algorithm(self) -> Algorithm:
        given = self.algorithm
        made = algorithm_of(given) if isinstance(given, str) else given
        return made if self.sampling is None else Algorithm(made, sampling=self.sampling)

    @property
    def lacks_tree(self) -> bool:
        """Whether it is known before the game is loaded that it has no tree."""
        if not isinstance(self.game, str):
            return has_rules_alone(self.game)
        name = self.game.partition("(")[0].strip()
        return self.without_tree or (name in _RULES and name not in _FACTORIES)

    @property
    def has_rules(self) -> bool:
        """Whether ``load_rules`` knows the game."""
        game = self.game if isinstance(self.game, str) else ""
        return game.startswith(OPENSPIEL) or game.partition("(")[0].strip() in _RULES

    def by_rules(self) -> "Task | None":
        """Return the same without a tree, None where that cannot be played."""
        samples = self._algorithm().sampling not in (None, "chance")
        known = self.has_rules and not self.lacks_tree
        return evolve(self, without_tree=True, histories=0) if known and samples else None

    def load(self) -> Any:
        """Return the game, or its rules, which is kept for the next task if it is not large."""
        if not isinstance(self.game, str):
            return self.game
        place = self.game, self.lacks_tree
        if place not in _LOADED:
            _LOADED.clear()
            _LOADED[place] = load_rules(self.game) if self.lacks_tree else load(self.game)
        return _LOADED[place]


_LOADED: dict[tuple[str, bool], Any] = {}


def forget_games() -> None:
    """Forget the game that is kept."""
    _LOADED.clear()


# What determines a result


def identity_of(task: Task, run: Run) -> dict[str, Any]:
    """Return what determines the result of a run that was not begun."""
    built, parts, state, engine = _description(task, run)
    return {
        "format": FORMAT,
        "game": fingerprint(run.game),
        "built": digest(built),
        "state": digest(state),
        "code": digest(sorted({*_code_of(parts, task.iterations)})),
        "iterations": task.iterations,
        "measures": list(task.measures),
        "ratio": RATIO,
        "engine": engine,
        "seed": task.seed,
        "versions": versions(),
    }


@cache
def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    found = {name: version(name) for name in ("regretkit", "numpy", "llvmlite")}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **found}


def _description(task: Task, run: Run) -> tuple[Any, list[Any], Any, str]:
    """Return how a run was built, the parts of which code matters, its state, and its engine."""
    parts = [run.order, run.averaging, run.estimator]
    if not isinstance(run, LazyMCCFR):
        return run._built(), [*run.minimizers, *parts], run.state_dict(), run.engine
    # Of rules, the fingerprint knows some plays; which numbers of actions there are it does not.
    sizes = map(Simplices, (2, 3))
    rules = [local_minimizer(rule, simplices) for simplices in sizes for rule in run._rules]
    return run._built(), [task.load(), *rules, *parts], run._saved(), "without tree"


def _code_of(things: Iterable[Any], iterations: int) -> Iterator[str]:
    """Yield what the parts of a run compute: rules as they are traced, and else their source.

    So a comment may change, and a function that a rule calls may not.
    """
    for thing in things:
        for part in with_parts(thing):
            if isinstance(part, RegretMinimizer):
                try:
                    kernel = find_kernel(part)
                except UntraceableError:
                    pass
                else:
                    yield kernel.source
                    yield digest(upcoming_parameters(part, kernel, min(iterations, 10_000)))
                    continue
            own = {kind.__module__ for kind in type(part).__mro__ if is_own_class(kind)}
            if own and isinstance(part, RegretMinimizer):
                used = (value for *_, value in sources_of(part))
                kinds = (v.__module__ for v in used if isinstance(v, FunctionType | type))
                own |= {name for name in kinds if name and is_own(name)}
            yield from map(_source, own)


def _source(module: str) -> str:
    with suppress(ImportError, OSError, TypeError):
        return inspect.getsource(__import__("sys").modules[module])
    return module


# Carrying it out


@frozen
class Outcome:
    """What became of a task."""

    run: ComparedRun | None = None
    reason: str = ""
    """Why there is no run."""
    was_found: bool = False
    needs_memory: bool = False
    identity: Identity = field(factory=dict)
    """What determines the result."""


@define(eq=False)
class _Watch:
    """A callback that reports how far a run is, now and then."""

    record: Recorder
    report: Report
    _pace: Pace = field(factory=Pace)

    def next_call(self, run: SelfPlay) -> int:
        return self._pace.next_call(run)

    def __call__(self, run: SelfPlay) -> None:
        self._pace(run)
        first = next(iter(self.record.values.values()))
        self.report(run.iteration, cast("Any", first[-1]) if first else None, run.seconds)


def execute(
    task: Task, folder: Path, report: Report, known: Container[str] = frozenset()
) -> Outcome:
    """Carry a task out, unless its result is there or known; a rule that fails is an outcome.

    Raises
    ------
    OSError
        When the result cannot be written.
    """
    label = task.names[1]
    try:
        game = task.load()
        if not has_rules_alone(game):
            check_game(game)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        if not is_too_large(error):
            return Outcome(reason=told)
        return Outcome(reason=f"{error}; {_SAMPLE}" if task.has_rules else told, needs_memory=True)
    histories = int(getattr(getattr(game, "tree", None), "histories", 0))
    try:
        with redirect_stdout(StringIO()):  # rules may print
            run = task.start(game)
            identity = identity_of(task, run)
    except (Exception, SystemExit) as error:
        return Outcome(reason=rule_error(error, label))
    key = key_of(identity)
    columns = find_run(folder, key)
    was_found = columns is not None
    if columns is None and key in known:
        return Outcome(was_found=True, identity=identity)
    if columns is None:
        unfinished = folder / UNFINISHED / key
        try:
            with redirect_stdout(StringIO()):
                columns = _measured(task, run, unfinished, report)
        except CheckpointError:
            raise
        except (Exception, SystemExit) as error:
            cause = error.__cause__ if isinstance(error, RuntimeError) else None
            unfinished.unlink(missing_ok=True)
            return Outcome(reason=rule_error(cause or error, label))
        write_run(folder, task.result(columns), identity)
        unfinished.unlink(missing_ok=True)
    if histories > _KEPT:
        forget_games()
    found = task.result(columns)
    return Outcome(found, was_found=was_found, identity=identity)


def _measured(task: Task, run: Run, path: Path, report: Report) -> dict[str, list[Any]]:
    """Play to the end, from the last checkpoint on if there is one, and return the columns."""
    by_rules = isinstance(run, LazyMCCFR)
    names = [name for name in task.measures if name == SAMPLED_GAP or not by_rules]
    record = Recorder([*names, *CLOCKS])

    def play(callbacks: list[Callback]) -> Run:
        watching: list[Callback] = [*callbacks, _Watch(record, report)]
        played = _resumed(run, path, watching) if path.exists() else run
        path.parent.mkdir(exist_ok=True)
        seconds = _SAVE_EVERY * (10 if by_rules else 1)  # what is learned may be large
        saving = Checkpoint(path, seconds=seconds, callbacks=watching)
        return played.run(task.iterations - played.iteration, callbacks=[saving])

    try:
        columns = measured(play, record, gap=None if names else sampled_gap)
    except _DamagedError:
        path.unlink(missing_ok=True)
        return _measured(task, task.start(run.game), path, report)
    return {name: [plain(value) for value in values] for name, values in columns.items()}


class _DamagedError(Exception):
    """A checkpoint cannot be read, so that the run begins anew."""


def _resumed(run: Run, path: Path, watching: list[Callback]) -> Run:
    """Return a run as it was saved."""
    parts = RunOptions(order=run.order, averaging=run.averaging, callbacks=watching)
    try:
        if isinstance(run, LazyMCCFR):
            options: Any = {**parts, "horizon": run.horizon}
            return LazyMCCFR.load(path, run.game, run.rule, run.estimator, **options)
        parts["estimator"] = run.estimator
        return SavedRun.read(path).start(SelfPlay, run.game, run.minimizers, parts)
    except (OSError, ValueError) as error:
        raise _DamagedError from error
