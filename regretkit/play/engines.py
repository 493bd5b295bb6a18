"""Engines: the ways to run the iterations of self-play, which all mean the same."""

import abc
import importlib
import warnings
from functools import cache
from typing import TYPE_CHECKING, ClassVar, final
from weakref import WeakKeyDictionary

from typing_extensions import override

if TYPE_CHECKING:
    from regretkit.play.self_play import SelfPlay

AUTO = "auto"


class Drive(abc.ABC):
    """An engine at work on one run."""

    @abc.abstractmethod
    def play(self, iterations: int) -> None:
        """Play so many iterations more."""

    @final
    def __deepcopy__(self, memo: object) -> None:
        return None  # a copy of a run finds its own

    @final
    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class Engine(abc.ABC):
    """A way to run iterations."""

    name: ClassVar[str]
    splits: ClassVar[bool] = False
    """Whether it can share out an iteration between threads."""

    @abc.abstractmethod
    def refusal(self, run: "SelfPlay") -> str | None:
        """Say which part of a run this cannot drive, and why; None if there is none."""

    @abc.abstractmethod
    def start(self, run: "SelfPlay") -> Drive:
        """Take a run that was not refused."""

    def missing(self) -> str | None:
        """Say what this needs and is not installed; None if nothing is missing."""
        return None

    def worthwhile(self, run: "SelfPlay", iterations: int) -> bool:
        """Say whether so many iterations are worth what it takes to get going."""
        return True


@final
class AsWritten(Engine):
    """Everything as it is written, in Python and NumPy: what the other engines must agree with."""

    name = "numpy"

    @override
    def refusal(self, run: "SelfPlay") -> str | None:
        return None

    @override
    def start(self, run: "SelfPlay") -> Drive:
        return _AsWritten(run)


@final
class _AsWritten(Drive):
    def __init__(self, run: "SelfPlay") -> None:
        self._run = run

    @override
    def play(self, iterations: int) -> None:
        for _ in range(iterations):
            self._run._iterate()


_ENGINES: list[Engine] = [AsWritten()]
_LATER: list[str] = []
"""Modules that make engines known, as soon as somebody asks for one."""


def look_for_engines(module: str) -> None:
    """Load a module that makes engines known, but not before somebody asks for an engine."""
    _LATER.append(module)


def _engines() -> list[Engine]:
    while _LATER:
        importlib.import_module(_LATER.pop())
    return _ENGINES


def add_engine(engine: Engine) -> None:
    """Make an engine known, as one that is faster than those known before."""
    _ENGINES.insert(0, engine)


def engine_names() -> tuple[str, ...]:
    """Return what ``engine`` may be, the fastest first."""
    return (AUTO, *(engine.name for engine in _engines()))


def check_engine(name: object) -> None:
    """Refuse what is not the name of an engine."""
    if not isinstance(name, str):
        raise TypeError(f"engine must be the name of one, such as {AUTO!r}, got {name!r}")
    if name != AUTO and name not in engine_names():
        known = ", ".join(map(repr, engine_names()))
        raise ValueError(f"there is no engine {name!r}, only {known}")


def check_threads(run: "SelfPlay", name: str, threads: int) -> None:
    """Refuse several threads for what no engine of this name can share out between them.

    Raises
    ------
    ValueError
        When there are several, and there is no such engine.
    """
    if threads == 1:
        return
    able = [engine for engine in _engines() if engine.splits and name in (AUTO, engine.name)]
    refusals = [engine.refusal(run) for engine in able]
    if not able:
        raise ValueError(
            f"engine {name!r} runs in a single thread, got threads={threads}; pass threads=1, or "
            f"engine={AUTO!r}"
        )
    if None not in refusals:
        raise ValueError(
            f"threads={threads} is for whole iterations in machine code, and this cannot be run "
            f"so: {refusals[0]}; pass threads=1"
        )


def choose(run: "SelfPlay", name: str, iterations: int) -> Engine:
    """Return the engine of this name, or the fastest that applies to so many iterations.

    Raises
    ------
    ValueError
        When the engine of this name cannot drive the run.
    """
    if name != AUTO:
        engine = next(engine for engine in _engines() if engine.name == name)
        refusal = engine.refusal(run) or engine.missing()
        if refusal is not None:
            raise ValueError(
                f"engine {name!r} cannot run this: {refusal}; pass engine={AUTO!r} to have the "
                "fastest that can"
            )
        return engine
    for engine in _engines():
        if engine.name in _FAILED.get(run, ()):
            continue
        # What a run has begun with, it goes on with, unless something faster pays.
        pays = run.engine == engine.name or engine.worthwhile(run, iterations)
        if pays and engine.refusal(run) is None:
            missing = engine.missing()
            if missing is None:
                return engine
            _say_once(missing)
    raise ValueError(f"no engine can run {run!r}")


class CannotStartError(TypeError):
    """Raised by an engine that finds out only when it starts that it cannot drive a run."""


_FAILED: "WeakKeyDictionary[SelfPlay, set[str]]" = WeakKeyDictionary()
"""Engines that could not start, by run."""
_PARTS: "WeakKeyDictionary[Drive, tuple[object, ...]]" = WeakKeyDictionary()
"""What was driven when a drive started."""


def driven(run: "SelfPlay", name: str, iterations: int, drive: Drive | None) -> tuple[Drive, str]:
    """Return what drives a run through so many iterations, and the name of its engine.

    That is the drive it has, if it has one of the right engine and nobody has changed its parts.

    Raises
    ------
    TypeError, ValueError
        When the engine of this name cannot drive the run.
    """
    engine = choose(run, name, iterations)
    check_threads(run, name, run._threads)
    parts = (*run.minimizers, run.order, run.averaging, run.estimator)
    if drive is not None and run.engine == engine.name:
        before = _PARTS.get(drive, ())
        if len(before) == len(parts) and all(a is b for a, b in zip(before, parts, strict=True)):
            return drive, engine.name
    try:
        drive = engine.start(run)
    except CannotStartError:
        if name != AUTO:
            raise
        _FAILED.setdefault(run, set()).add(engine.name)
        return driven(run, name, iterations, None)
    _PARTS[drive] = parts
    return drive, engine.name


@cache
def _say_once(missing: str) -> None:
    warnings.warn(
        f"{missing}; runs take the slow way until it can be", RuntimeWarning, stacklevel=5
    )
