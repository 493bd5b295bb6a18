"""Engines: the ways to run the iterations of self-play, which all mean the same."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attrs import frozen

from regretkit._state import with_parts
from regretkit._util._errors import warn_once
from regretkit._util._lazy_import import import_registered
from regretkit._util._validate import did_you_mean, quote

if TYPE_CHECKING:
    from regretkit.play._sampled import Sampled
    from regretkit.play._self_play import SelfPlay

AUTO = "auto"


class Executor(abc.ABC):
    """An engine at work on one run. The constructor compiles its machine code."""

    parts: tuple[object, ...] = ()
    """The parts of the run when this was started."""

    @abc.abstractmethod
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        """Play ``iterations`` more, or fewer once ``interrupted()``; stop between two of them."""

    def is_current(self) -> bool:
        """Return whether the rules of the run still are what they were when this was started."""
        return True

    def __deepcopy__(self, memo: object) -> None:
        return None  # a copy of a run finds its own


class Engine(abc.ABC):
    """A way to run iterations."""

    name: str

    @abc.abstractmethod
    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        """Return the part of a run that this engine does not support, and why, or None.

        A reason that concerns one player begins with ``minimizers[player]:``.
        """

    @abc.abstractmethod
    def start(self, run: "SelfPlay") -> Executor:
        """Start a run that this engine supports, or raise ``CannotStartError``."""

    def start_without_tree(self, run: "Sampled", *, required: bool) -> Executor | None:
        """Start a run without a tree, or return None where this is not supported or required."""
        return None


class NumpyEngine(Engine):
    """Everything as it is written, in Python and NumPy: what the other engines must agree with."""

    name = "numpy"

    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        return None

    def start(self, run: "SelfPlay") -> Executor:
        return _NumpyExecutor(run)


class _NumpyExecutor(Executor):
    def __init__(self, run: "SelfPlay") -> None:
        self._run = run

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for _ in range(iterations):
            if interrupted():
                break
            self._run._iterate()


_ENGINES: list[Engine] = [NumpyEngine()]
"""All engines, the fastest first."""


def register_engine(engine: Engine) -> None:
    """Offer an engine to runs, as the fastest of all."""
    _ENGINES.insert(0, engine)


def _engines() -> list[Engine]:
    import_registered()
    return _ENGINES


def executor_without_tree(run: "Sampled", *, required: bool) -> Executor | None:
    """Return the executor of a run without a tree, None where no engine has one."""
    found = (engine.start_without_tree(run, required=required) for engine in _engines())
    return next(filter(None, found), None)


def engine_names() -> tuple[str, ...]:
    """Return what ``engine`` may be, the fastest first."""
    return (AUTO, *(engine.name for engine in _engines()))


def check_engine(name: object) -> None:
    """Refuse what is not the name of an engine."""
    if not isinstance(name, str):
        raise TypeError(f"engine must be the name of one, such as {quote(AUTO)}, got {quote(name)}")
    if name != AUTO and name not in engine_names():
        known = ", ".join(map(repr, engine_names()))
        hint = did_you_mean(name, engine_names())
        raise ValueError(f"there is no engine {quote(name)}, only {known}{hint}")


def select_engine(run: "SelfPlay", name: str) -> Engine:
    """Return the engine of this name, or the fastest that supports the run.

    That depends on the parts of the run alone.
    """
    if name != AUTO:
        engine = next(engine for engine in _engines() if engine.name == name)
        if refusal := engine.unsupported_reason(run):
            raise ValueError(f"engine {quote(name)} cannot run this: {refusal}")
        return engine
    engines = (engine for engine in _engines() if engine.name not in _FAILED.get(run, ()))
    return next(engine for engine in engines if engine.unsupported_reason(run) is None)


@frozen
class EngineReport:
    """The engine of a run, and why a player is not in machine code.

    Examples
    --------
    >>> import regretkit as rk
    >>> run = rk.play.named("cfr+").start(rk.load("kuhn_poker"))
    >>> run.engine_report().engine
    'compiled'
    """

    engine: str
    """The engine of the last iterations; before the first, the one that they will have."""
    players: tuple[str, ...]
    """For each player, whether its minimizer is in machine code, and if not, why."""

    def __str__(self) -> str:
        players = (f"player {player}: {told}" for player, told in enumerate(self.players))
        return "\n".join([f"engine: {self.engine}", *players])


_MACHINE_CODE = "compiled"


def report_engine(run: "SelfPlay", name: str) -> EngineReport:
    """Return which engine a run has, or would have, and why."""
    chosen = run.engine if run.engine != AUTO else select_engine(run, name).name
    if chosen == _MACHINE_CODE:
        return EngineReport(chosen, ("machine code",) * run.players)
    reason = _engines()[0].unsupported_reason(run) or _FAILED.get(run, {}).get(_MACHINE_CODE)
    reason = reason or f"engine {quote(name)} was asked for"
    told = []
    for player in range(run.players):
        own = reason.removeprefix(f"minimizers[{player}]: ")
        other = own.startswith("minimizers[")
        told.append(f"Python, since {'another player: ' * other}{own}")
    return EngineReport(chosen, tuple(told))


class CannotStartError(TypeError):
    """Raised by an engine that finds out only when it starts that it cannot run."""


_FAILED: "WeakKeyDictionary[SelfPlay, dict[str, str]]" = WeakKeyDictionary()
"""Engines that could not start, and why, by run."""


def executor_for(run: "SelfPlay", name: str, executor: Executor | None) -> tuple[Executor, str]:
    """Return what drives a run through its next iterations, and the name of its engine.

    That is the run's present executor while the parts of the run, and their code, are the same.
    """
    rules = [part for minimizer in run.minimizers for part in with_parts(minimizer)]
    ledgers = [getattr(rule, "_tracker", None) for rule in rules]
    parts = (*rules, *ledgers, run.order, run.averaging, run.estimator)
    same = executor is not None and [*map(id, executor.parts)] == [*map(id, parts)]
    if executor is not None and same and executor.is_current():
        return executor, run.engine
    engine = select_engine(run, name)
    try:
        started = engine.start(run)
    except CannotStartError as error:
        if name != AUTO:
            raise
        _FAILED.setdefault(run, {})[engine.name] = str(error)
        warn_once(f"{error}; the run takes a slower engine")
        return executor_for(run, name, None)
    started.parts = parts
    return started, engine.name
