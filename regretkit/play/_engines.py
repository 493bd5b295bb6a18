"""Engines: the ways to run the iterations of self-play, which all mean the same."""

import abc
import importlib
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, final
from weakref import WeakKeyDictionary

from attrs import frozen
from typing_extensions import override

from regretkit._util._errors import advised, warn
from regretkit._util._validate import did_you_mean, quote

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

AUTO = "auto"


class Executor(abc.ABC):
    """An engine at work on one run."""

    parts: tuple[object, ...] = ()
    """The parts of the run when this was started."""

    @abc.abstractmethod
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        """Play ``iterations`` more, or fewer once ``interrupted()``; stop between two of them."""

    def is_current(self) -> bool:
        """Return whether the rules of the run still are what they were when this was started."""
        return True

    def is_at_hand(self) -> bool:
        """Return whether this takes no time to start."""
        return True

    def compile(self) -> None:
        """Make machine code that was not made at the start, or raise ``CannotStartError``."""
        self.play(0, bool)

    @final
    def __deepcopy__(self, memo: object) -> None:
        return None  # a copy of a run finds its own

    @final
    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class Engine(abc.ABC):
    """A way to run iterations."""

    name: str

    @abc.abstractmethod
    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        """Say which part of a run this cannot run, and why; None if there is none."""

    @abc.abstractmethod
    def start(self, run: "SelfPlay") -> Executor:
        """Take a run that was not refused."""

    def refused_players(self, run: "SelfPlay") -> dict[int, str]:
        """Say for each player whose minimizer this cannot run as fast as others, why; by number."""
        return {}

    def missing_dependency(self) -> str | None:
        """Say what this needs and is not installed; None if nothing is missing."""
        return None

    def pays_off(self, run: "SelfPlay", iterations: int, seconds: float) -> bool:
        """Say whether these iterations take longer than the start of this engine.

        There are at most ``iterations``, and no more after ``seconds``.
        """
        return True


@final
class NumpyEngine(Engine):
    """Everything as it is written, in Python and NumPy: what the other engines must agree with."""

    name = "numpy"

    @override
    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        return None

    @override
    def start(self, run: "SelfPlay") -> Executor:
        return _NumpyExecutor(run)


@final
class _NumpyExecutor(Executor):
    def __init__(self, run: "SelfPlay") -> None:
        self._run = run

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for _ in range(iterations):
            if interrupted():
                break
            self._run._iterate()


@cache
def _engines() -> tuple[Engine, ...]:
    """Return all engines, the fastest first; the first call imports them."""
    engine: Any = importlib.import_module("regretkit.engine")
    return (*engine.ENGINES, NumpyEngine())


def executor_without_tree(run: Any) -> Executor | None:
    """Return what plays a run of ``LazyMCCFR`` in machine code, None where nothing can."""
    module: Any = importlib.import_module("regretkit.engine._without_tree")
    executor: Executor | None = module.start_without_tree(run)
    return executor


def engine_names() -> tuple[str, ...]:
    """Return what ``engine`` may be, the fastest first."""
    return (AUTO, *(engine.name for engine in _engines()))


def check_engine(name: object) -> None:
    """Refuse what is not the name of an engine."""
    if not isinstance(name, str):
        raise TypeError(f"engine must be the name of one, such as {quote(AUTO)}, got {quote(name)}")
    if name != AUTO and name not in engine_names():
        known = ", ".join(map(repr, engine_names()))
        hint = did_you_mean("compiled" if name == "numba" else name, engine_names())
        raise ValueError(f"there is no engine {quote(name)}, only {known}{hint}")


def select_engine(run: "SelfPlay", name: str, iterations: int, seconds: float = math.inf) -> Engine:
    """Return the engine of this name, or the fastest that applies to these iterations."""
    if name != AUTO:
        engine = next(engine for engine in _engines() if engine.name == name)
        refusal = engine.unsupported_reason(run) or engine.missing_dependency()
        if refusal is not None:
            problem = f"engine {quote(name)} cannot run this: {refusal}"
            advice = f"pass engine={quote(AUTO)} to have the fastest that can"
            raise advised(ValueError, problem, advice, argument="engine")
        return engine
    for engine in _engines():
        if engine.name in _FAILED.get(run, ()):
            continue
        # A run keeps its engine, unless a faster one pays.
        pays = run.engine == engine.name or engine.pays_off(run, iterations, seconds)
        if pays and engine.unsupported_reason(run) is None:
            missing = engine.missing_dependency()
            if missing is None:
                return engine
            _warn_once(missing)
    raise ValueError(f"no engine can run {quote(run)}")


@final
@frozen
class EngineReport:
    """Which engine runs a run, and why no faster one does.

    Examples
    --------
    >>> import regretkit as rk
    >>> run = rk.play.named("cfr+").start(rk.load("kuhn_poker"), engine="numpy")
    >>> run.engine_report().engine
    'numpy'
    """

    engine: str
    """The engine of the last iterations; before the first, of the iterations in question."""
    refused: Mapping[str, str]
    """Why each faster engine does not run it, the fastest first."""
    players: Mapping[int, str]
    """For each player whose minimizer stays in Python in machine code's place, why, by number."""

    def __str__(self) -> str:
        lines = [f"engine: {self.engine}"]
        lines += [f"not {name!r}: {reason}" for name, reason in self.refused.items()]
        lines += [f"player {player}: {reason}" for player, reason in self.players.items()]
        return "\n".join(lines)


def report_engine(run: "SelfPlay", name: str, iterations: int) -> EngineReport:
    """Return why a run has the engine that it has, or would have for that many iterations."""
    chosen = run.engine if run.engine != AUTO else select_engine(run, name, iterations).name
    refused, players = {}, dict[int, str]()
    for engine in _engines():
        players = {**engine.refused_players(run), **players}
        if engine.name == chosen:
            break
        reason = engine.unsupported_reason(run) or engine.missing_dependency()
        if reason is None and engine.name in _FAILED.get(run, ()):
            reason = "it could not start"
        if reason is None and name != AUTO:
            reason = f"engine {quote(name)} was asked for"
        if reason is None:
            reason = f"for {iterations} iterations, 'auto' does not choose it"
            if run.engine != AUTO and engine == select_engine(run, name, iterations):
                reason = f"'auto' chose otherwise so far; for {iterations} iterations it takes it"
        refused[engine.name] = reason
    return EngineReport(chosen, refused, players)


class CannotStartError(TypeError):
    """Raised by an engine that finds out only when it starts that it cannot run."""


_FAILED: "WeakKeyDictionary[SelfPlay, set[str]]" = WeakKeyDictionary()
"""Engines that could not start, by run."""


def executor_for(
    run: "SelfPlay", name: str, iterations: int, seconds: float, executor: Executor | None
) -> tuple[Executor, str]:
    """Return what drives a run through these iterations, and the name of its engine.

    That is the run's present executor if the engine is the same and the run's parts are unchanged.
    """
    engine = select_engine(run, name, iterations, seconds)
    parts = (*run.minimizers, run.order, run.averaging, run.estimator)
    unchanged = executor is not None and [*map(id, executor.parts)] == [*map(id, parts)]
    unchanged = unchanged and run.engine == engine.name
    if executor is None or not unchanged or not executor.is_current():
        try:
            executor = engine.start(run)
        except CannotStartError:
            if name != AUTO:
                raise
            _FAILED.setdefault(run, set()).add(engine.name)
            return executor_for(run, name, iterations, seconds, None)
        executor.parts = parts
    return executor, engine.name


@cache
def _warn_once(missing: str) -> None:
    warn(f"{missing}; runs take the slow way until it can be")
