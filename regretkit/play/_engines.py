"""Engines, which run the iterations of self-play, and their choice."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

from regretkit._state import with_parts
from regretkit._util._errors import warn_once
from regretkit._util._lazy_import import import_registered
from regretkit._util._validate import quote

if TYPE_CHECKING:
    from regretkit.play._sampled import Sampled
    from regretkit.play._self_play import SelfPlay

AUTO, COMPILED, NUMPY = ENGINES = "auto", "compiled", "numpy"
"""The names of engines. ``"auto"`` is compiled if that engine supports the run, else NumPy."""


def valid_engine(_: object, __: object, value: object) -> None:
    """Require the name of an engine."""
    if value not in ENGINES:
        raise ValueError(f"engine must be one of {ENGINES}, got {quote(value)}")


class CannotStartError(TypeError):
    """The compiled engine failed to start a run that it seemed to support."""


class Executor(abc.ABC):
    """Plays the iterations of one run. The constructor compiles its kernels."""

    name = COMPILED
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


class NumpyExecutor(Executor):
    """Runs orders and minimizers as Python code. It is the reference for the compiled engine."""

    name = NUMPY

    def __init__(self, run: "SelfPlay", failure: str | None) -> None:
        self._run = run
        self.failure = failure
        """Why the compiled engine failed to start, None if it was not tried."""

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        for _ in range(iterations):
            if interrupted():
                break
            self._run._iterate()


class Engine(abc.ABC):
    """The compiled engine, as a package of a higher layer implements it."""

    @abc.abstractmethod
    def unsupported_reason(self, run: "SelfPlay") -> str | None:
        """Return why this engine does not support a run, None if it does.

        A reason that concerns one player begins with ``minimizers[player]:``.
        """

    @abc.abstractmethod
    def start(self, run: "SelfPlay") -> Executor:
        """Return an executor of a supported run, or raise ``CannotStartError``."""

    @abc.abstractmethod
    def start_without_tree(self, run: "Sampled", *, required: bool) -> Executor | None:
        """Return an executor of a run without a tree, or None if the run is not supported.

        If ``required``, an unsupported run raises an error instead.
        """


_REGISTERED: list[Engine] = []


def register_engine(engine: Engine) -> None:
    """Set the compiled engine."""
    _REGISTERED.append(engine)


def compiled_engine() -> Engine:
    """Return the compiled engine, imported at the first call."""
    import_registered()
    return _REGISTERED[0]


def check_supported(run: "SelfPlay") -> None:
    """Raise a ValueError if the compiled engine does not support a run."""
    if reason := compiled_engine().unsupported_reason(run):
        raise ValueError(f"engine {quote(COMPILED)} cannot run this: {reason}")


def executor_for(run: "SelfPlay", engine: str, executor: Executor | None) -> Executor:
    """Return the executor of a run's next iterations.

    The present ``executor`` continues while the parts of the run and their code are unchanged.
    """
    rules = [part for minimizer in run.minimizers for part in with_parts(minimizer)]
    ledgers = [getattr(rule, "_tracker", None) for rule in rules]
    parts = (*rules, *ledgers, run.order, run.averaging, run.estimator)
    same = executor is not None and [*map(id, executor.parts)] == [*map(id, parts)]
    if executor is not None and same and executor.is_current():
        return executor
    failure, started = None, None
    if engine == COMPILED:
        check_supported(run)
    if engine != NUMPY and compiled_engine().unsupported_reason(run) is None:
        try:
            started = compiled_engine().start(run)
        except CannotStartError as error:
            if engine == COMPILED:
                raise
            failure = str(error)
            warn_once(f"{failure}; the run uses a slower engine")
    started = started or NumpyExecutor(run, failure)
    started.parts = parts
    return started


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


def report_engine(run: "SelfPlay", engine: str, executor: Executor | None) -> EngineReport:
    """Return the report of a run with the requested ``engine`` and its present executor."""
    compiled = executor is not None and executor.name == COMPILED
    reason = None if compiled else compiled_engine().unsupported_reason(run)
    if isinstance(executor, NumpyExecutor):
        reason = reason or executor.failure
    if engine == NUMPY:
        reason = reason or f"the run requested engine {quote(engine)}"
    if reason is None:
        return EngineReport(COMPILED, ("machine code",) * run.players)
    players = []
    for player in range(run.players):
        own = reason.removeprefix(f"minimizers[{player}]: ")
        other = own.startswith("minimizers[")
        players.append(f"Python, since {'another player: ' * other}{own}")
    return EngineReport(NUMPY, tuple(players))
