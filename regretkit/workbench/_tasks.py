"""Tasks: the runs of an experiment, their identities and their execution."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import lru_cache, partial
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from regretkit import games
from regretkit._util._validate import quote
from regretkit.games import History, Rules, fingerprint
from regretkit.play import (
    Algorithm,
    At,
    Checkpoint,
    Recorder,
    geometric,
    resume,
    solve,
)
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel, upcoming_parameters
from regretkit.workbench._comparison import ComparedRun
from regretkit.workbench._names import (
    algorithm_of,
    file_of,
    imports_beside,
    is_own,
    load_game,
    located,
)
from regretkit.workbench._results import key_of

CLOCKS = ("visited", "seconds")
"""Measures of every run."""
AT_END = "local_best_response"
"""The measure of runs without a tree."""
RATIO, RATIO_TO_GAP = 1.25, 1.05
"""Growth of iterations between measurements, without and with a target gap."""
SAVE_EVERY = 10.0
"""Seconds between checkpoints of a run with a tree; ten times more without, for large states."""


@frozen
class Task:
    """A run: an algorithm on a game, with limits and a seed."""

    names: tuple[str, str]
    """The names of the game and the algorithm."""
    game: Any
    """A string for ``load_game``, or an object."""
    algorithm: Any
    """A string for ``algorithm_of``, or an ``Algorithm``."""
    sources: tuple[bytes | None, bytes | None]
    """The content of the files that define the game and the algorithm."""
    place: tuple[int, int]
    """The positions of the game and the algorithm in the experiment."""
    histories: int
    """Number of histories of the game, 0 if unknown."""
    seed: int | None
    iterations: int
    measures: Mapping[str, Any]
    """Names of measures, or functions of a run, by name."""
    sampling: str | None
    target_gap: float | None
    time_limit: float | None
    imperfect_recall: bool

    def made(self) -> Algorithm:
        """Return the algorithm."""
        given = self.algorithm
        made = algorithm_of(given, self.sources[1]) if isinstance(given, str) else given
        return made if self.sampling is None else Algorithm(made, sampling=self.sampling)

    def load(self, algorithm: Algorithm) -> Any:
        """Return the game; its rules if the tree does not fit and the algorithm samples."""
        if not isinstance(self.game, str):
            return self.game
        return _loaded(self.game, self.sources[0], algorithm.sampling is not None)


_loaded = lru_cache(maxsize=1)(load_game)

# What determines a result


_SETTINGS = ("seed", "iterations", "sampling", "target_gap", "time_limit", "imperfect_recall")


def identity_of(task: Task, code: Sequence[str | None] = (None, None)) -> dict[str, Any]:
    """Return everything that determines the result of a task, as JSON data.

    ``code`` has the digests of the game and the algorithm. It is None if they may change unnoticed,
    as are the measures.
    """
    named = all(name == measure for name, measure in task.measures.items())
    return {
        "game": task.game if isinstance(task.game, str) else "",
        "algorithm": task.algorithm if isinstance(task.algorithm, str) else "",
        "code": list(code),
        "measures": list(task.measures) if named else None,
        "versions": {name: version(name) for name in ("regretkit", "numpy")},
        **{name: getattr(task, name) for name in _SETTINGS},
    }


def is_known(identity: Mapping[str, Any]) -> bool:
    """Return whether an identity determines the result."""
    return None not in identity["code"] and identity["measures"] is not None


def code_of_game(task: Task) -> str | None:
    """Return a digest of a game, empty if its name suffices; None if unknown."""
    text = task.game if isinstance(task.game, str) else ""
    if hasattr(games, text.partition("(")[0].strip()):
        return ""
    game = task.load(task.made())
    if isinstance(game, History | Rules):
        # A fingerprint of rules covers only a few random plays: use the user's file instead.
        own = not type(game).__module__.startswith("regretkit.")
        return _file(task.sources[0], text) if own else fingerprint(game)
    if game.coarse_information_set is not None:
        shared = b"".join(np.asarray(group).tobytes() for group in game.coarse_information_set)
        return fingerprint(game.refinement) + hashlib.sha256(shared).hexdigest()
    return fingerprint(game)


def code_of_algorithm(task: Task) -> str | None:
    """Return a digest of an algorithm: of its traced rules, or else of its file."""
    text = task.algorithm if isinstance(task.algorithm, str) else ""
    if text and (not is_own(text) or text.startswith("regretkit.")):
        return ""
    algorithm = task.made()
    rules = algorithm.local if isinstance(algorithm.local, tuple) else (algorithm.local,)
    parts = [*map(_described, (algorithm.circuit, algorithm.order, algorithm.averaging))]
    parts += [_traced(rule, task.iterations) for rule in rules]
    if None in parts:
        return _file(task.sources[1], text)
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _file(source: bytes | None, text: str) -> str | None:
    """Return the digest of a file, or None if its code may depend on other files."""
    path = file_of(text) if is_own(text) else None
    if source is None or path is None or imports_beside(path):
        return None
    return hashlib.sha256(source).hexdigest()


def _described(part: Any) -> str | None:
    """Return a description of a part of an algorithm, or None if its code is not regretkit's."""
    if isinstance(part, partial):
        function = _described(part.func)
        return function and f"{function}{part.args}{sorted(part.keywords.items())}"
    kind = part if hasattr(part, "__qualname__") else type(part)
    if not kind.__module__.startswith("regretkit."):
        return None
    return f"{kind.__module__}.{kind.__qualname__}" if kind is part else repr(part)


def _traced(rule: Any, iterations: int) -> str | None:
    """Return the traced code, parameters and initial state of a rule, or None without a trace."""
    parts = list[str]()
    for simplices in (Simplices([2, 3]), Simplices(4)):
        try:
            made = Algorithm(rule).minimizer(simplices)
            kernel = find_kernel(made)
        except UntraceableError:
            return None
        rows, _ = upcoming_parameters(made, kernel, min(iterations, 10_000))
        parts += [kernel.source, hashlib.sha256(rows.tobytes()).hexdigest(), *_texts(made)]
    return "\n".join(parts)


def _texts(made: Any) -> list[str]:
    """Return the entries of a rule's initial state as strings."""
    waiting, found = [made.state_dict()], list[str]()
    for state in waiting:  # the loop appends the states of parts
        waiting += [value for value in state.values() if isinstance(value, Mapping)]
        numbers = {name: x for name, x in state.items() if not isinstance(x, Mapping)}
        found += [f"{name} {np.asarray(x).tolist()}" for name, x in numbers.items()]
    return found


# Execution


def execute(task: Task, folder: Path | None) -> ComparedRun | str:
    """Execute a task, with checkpoints in a folder; return the run, or why it failed."""
    try:
        with redirect_stdout(StringIO()):  # rules may print
            code = (code_of_game(task), code_of_algorithm(task)) if folder else (None, None)
            identity = identity_of(task, code)
            # With a gap or time limit, a checkpoint does not determine the end of the run.
            resumable = task.target_gap is None and task.time_limit is None and is_known(identity)
            path = folder / f"{key_of(identity)}.checkpoint" if folder and resumable else None
            columns = _measured(task, path if path and path.parent.is_dir() else None)
    except (Exception, SystemExit) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) else None
        return located(cause or error, "")
    if path is not None:
        path.unlink(missing_ok=True)
    return ComparedRun(*task.names, task.seed, columns, identity)


def _measured(task: Task, path: Path | None) -> dict[str, list[Any]]:
    """Run to the end, from a checkpoint if one exists, and return the columns."""
    algorithm = task.made()
    game = task.load(algorithm)
    by_rules = isinstance(game, History | Rules)
    if by_rules and algorithm.sampling is None:
        problem = f"{task.names[1]} needs a tree, and {task.names[0]} has only rules"
        raise ValueError(f"{problem}; pass sampling='external' or 'outcome'")
    measures = {
        name: measure
        for name, measure in task.measures.items()
        if not by_rules or measure == AT_END or callable(measure)
    }
    record = Recorder({**measures, **{name: name for name in CLOCKS}})
    callbacks = [At(geometric(RATIO if task.target_gap is None else RATIO_TO_GAP), record)]
    saving: list[Any] = [*callbacks]
    run: Any  # with a tree or without
    if path is not None:
        seconds = SAVE_EVERY * (10.0 if by_rules else 1.0)
        saving = [Checkpoint(path, seconds=seconds, callbacks=callbacks)]
    if path is not None and path.exists():
        try:
            run = resume(path, game, algorithm=algorithm, callbacks=callbacks)
        except (OSError, ValueError):  # damaged: start again
            path.unlink(missing_ok=True)
            return _measured(task, path)
        run.run(task.iterations - run.iteration, callbacks=saving)
    else:
        options: dict[str, Any] = {} if algorithm.sampling is None else {"seed": task.seed}
        if not by_rules:
            options |= {"target_gap": task.target_gap, "imperfect_recall": task.imperfect_recall}
        options |= {"time_limit": task.time_limit, "callbacks": saving}
        run = solve(game, algorithm, task.iterations, **options)
    if record.iterations[-1:] != [run.iteration]:
        record(run)
    columns: dict[str, list[Any]] = {"iteration": record.iterations, **record.values}
    if not measures:
        last = Recorder([AT_END])
        last(run)
        columns = {name: values[-1:] for name, values in columns.items()}
        columns = {"iteration": columns.pop("iteration"), **last.values, **columns}
    return {name: [_plain(value) for value in values] for name, values in columns.items()}


def _plain(value: object) -> float | int | None:
    """Return a measured value as a number for JSON."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise TypeError(f"measures must return numbers, got {quote(value)}")
    number = value.item() if isinstance(value, np.generic) else value
    if not math.isfinite(number):
        raise ValueError(f"measures must return finite numbers, got {number}")
    return int(number) if isinstance(number, bool | int) else float(number)
