"""Engines, which run the iterations of self-play, and their choice."""

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
    """Plays the iterations of one run. The constructor compiles its kernels."""

    parts: tuple[object, ...] = ()
    """The parts of the run at the start of this executor."""

    @abc.abstractmethod
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        """Play ``iterations``, or fewer: stop after one at which ``interrupted()`` is true."""

    def is_current(self) -> bool:
        """Return whether the rules of the run are unchanged since the start of this executor."""
        return True

    def __deepcopy__(self, memo: object) -> None:
        return None  # a copy of a run starts its own executor


class Engine(abc.ABC):
    """A way to run self-play."""

    name: str

    @abc.abstractmethod
    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        """Return why this engine does not support a run, None if it does.

        A reason that concerns one player begins with ``minimizers[player]:``.
        """

    @abc.abstractmethod
    def start(self, run: "SelfPlay") -> Executor:
        """Return an executor of a supported run, or raise ``CannotStartError``."""

    def start_without_tree(self, run: "Sampled", *, required: bool) -> Executor | None:
        """Return an executor of a run without a tree, or None if the run is not supported.

        If ``required``, an unsupported run raises an error instead.
        """
        return None


class NumpyEngine(Engine):
    """Runs orders and minimizers as Python code. It is the reference for other engines."""

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
"""All engines, fastest first."""


def register_engine(engine: Engine) -> None:
    """Add an engine, as the fastest one."""
    _ENGINES.insert(0, engine)


def _engines() -> list[Engine]:
    import_registered()
    return _ENGINES


def executor_without_tree(run: "Sampled", *, required: bool) -> Executor | None:
    """Return an executor of a run without a tree, None if no engine supports the run."""
    found = (engine.start_without_tree(run, required=required) for engine in _engines())
    return next(filter(None, found), None)


def engine_names() -> tuple[str, ...]:
    """Return the valid names of an engine: ``"auto"``, then the fastest first."""
    return (AUTO, *(engine.name for engine in _engines()))


def check_engine(name: object) -> None:
    """Raise a TypeError or ValueError for an invalid name of an engine."""
    if not isinstance(name, str):
        raise TypeError(f"engine must be a string, such as {quote(AUTO)}, got {quote(name)}")
    if name != AUTO and name not in engine_names():
        known = ", ".join(map(repr, engine_names()))
        hint = did_you_mean(name, engine_names())
        raise ValueError(f"there is no engine {quote(name)}, only {known}{hint}")


def select_engine(run: "SelfPlay", name: str) -> Engine:
    """Return the engine of this name; for ``"auto"``, the fastest that supports the run."""
    if name != AUTO:
        engine = next(engine for engine in _engines() if engine.name == name)
        if refusal := engine.unsupported_reason(run):
            raise ValueError(f"engine {quote(name)} cannot run this: {refusal}")
        return engine
    engines = (engine for engine in _engines() if engine.name not in _FAILED.get(run, ()))
    return next(engine for engine in engines if engine.unsupported_reason(run) is None)


@frozen
class EngineReport:
    """The engine of a run, and the reason for each player that is not compiled.

    Examples
    --------
    >>> import regretkit as rk
    >>> run = rk.play.named("cfr+").start(rk.load("kuhn_poker"))
    >>> run.engine_report().engine
    'compiled'
    """

    engine: str
    """Name of the engine of the last iterations, or of the first ones in a new run."""
    players: tuple[str, ...]
    """For each player ``"machine code"``, or ``"Python, since"`` and the reason."""

    def __str__(self) -> str:
        players = (f"player {player}: {status}" for player, status in enumerate(self.players))
        return "\n".join([f"engine: {self.engine}", *players])


_MACHINE_CODE = "compiled"


def report_engine(run: "SelfPlay", name: str) -> EngineReport:
    """Return the report of a run whose requested engine is ``name``."""
    chosen = run.engine if run.engine != AUTO else select_engine(run, name).name
    if chosen == _MACHINE_CODE:
        return EngineReport(chosen, ("machine code",) * run.players)
    reason = _engines()[0].unsupported_reason(run) or _FAILED.get(run, {}).get(_MACHINE_CODE)
    reason = reason or f"the run requested engine {quote(name)}"
    players = []
    for player in range(run.players):
        own = reason.removeprefix(f"minimizers[{player}]: ")
        other = own.startswith("minimizers[")
        players.append(f"Python, since {'another player: ' * other}{own}")
    return EngineReport(chosen, tuple(players))


class CannotStartError(TypeError):
    """An engine failed to start a run that it seemed to support."""


_FAILED: "WeakKeyDictionary[SelfPlay, dict[str, str]]" = WeakKeyDictionary()
"""For each run, the engines that failed to start, and the reasons."""


def executor_for(run: "SelfPlay", name: str, executor: Executor | None) -> tuple[Executor, str]:
    """Return the executor of a run's next iterations, and the name of its engine.

    The present ``executor`` continues while the parts of the run and their code are unchanged.
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
        warn_once(f"{error}; the run uses a slower engine")
        return executor_for(run, name, None)
    started.parts = parts
    return started, engine.name
