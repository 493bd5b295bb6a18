"""The base class of runs: iterations, callbacks, Ctrl-C, copies and files."""

import abc
import copy
import hashlib
import io
import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from types import FrameType
from typing import Any, Self, cast

import numpy as np
from attrs import define, field, fields
from attrs.validators import optional
from numpy.typing import NDArray

from regretkit._state import NOT_STATE, StateDict, Stateful, attributes, with_parts
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import at_least_one, of_kind, quote, shorten, whole_number
from regretkit.games import fingerprint
from regretkit.play._averaging import Averaging, Uniform
from regretkit.play._callbacks import (
    Progress,
    StopAtTime,
    as_callbacks,
    begin,
    next_call,
    stopped,
)
from regretkit.play._orders import Alternating, Order

_FOREVER = 2**62
_PERIOD = 0.05
"""Seconds that ``pace`` iterations take."""


@define(eq=False, repr=False)
class Run(Stateful, abc.ABC):
    """Base class of runs: iterations on one game, and the average strategies.

    An exception within an iteration breaks the run, because some of its parts may be updated
    already. A broken run raises a RuntimeError until ``load_state_dict`` restores a state.
    ``copy.copy(run)`` returns an independent run that shares the game.

    Parameters
    ----------
    order
        The order of updates.
    averaging
        The averaging scheme, with weights w_t.
    horizon
        Planned number of iterations, at least 1, for averaging schemes that depend on it.

    Attributes
    ----------
    iteration
        T, the number of iterations so far.
    seconds
        Duration of these iterations, without callbacks.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> run = solve(kuhn_poker(), "cfr+", iterations=100)
    >>> print(run)
    game        kuhn_poker
    algorithm   cfr+
    iterations  100
    gap         0.00...
    value       -0.055..., 0.055...
    engine      compiled
    seconds     ...
    """

    order: Order = field(
        factory=Alternating, kw_only=True, validator=of_kind(Order, "Alternating()")
    )
    averaging: Averaging = field(
        factory=Uniform, kw_only=True, validator=of_kind(Averaging, "Linear()")
    )
    horizon: int | None = field(default=None, kw_only=True, validator=optional(at_least_one))
    iteration: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False, metadata=NOT_STATE)
    call: dict[str, Any] | None = field(default=None, init=False, metadata=NOT_STATE)
    """The name and sampling of the run's algorithm; None for a run built from parts."""
    pace: int = field(default=1, init=False, metadata=NOT_STATE)
    """Number of iterations that take about 50 ms."""
    _failure: str | None = field(default=None, init=False, metadata=NOT_STATE)

    @property
    @abc.abstractmethod
    def average(self) -> Any:
        """The weighted average strategies of the players."""

    @property
    @abc.abstractmethod
    def current(self) -> Any:
        """The next iteration's strategies, x_{T+1}."""

    @abc.abstractmethod
    def _prepare(self, iterations: int) -> None:
        """Prepare the next ``iterations``: check strategies and choose an executor."""

    @abc.abstractmethod
    def _play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        """Play iterations, or fewer: stop after one at which ``interrupted()`` is true."""

    def run(
        self,
        iterations: int | None = None,
        *,
        callbacks: Iterable[Callable[[Any], object]] = (),
        progress: bool | Callable[[str], object] = False,
    ) -> Self:
        """Play iterations until a callback returns ``True``, and return this run.

        Ctrl-C raises ``KeyboardInterrupt`` after the current iteration, and the run can continue. A
        second Ctrl-C raises it within the iteration, which breaks the run.

        Parameters
        ----------
        iterations
            Number of iterations, at least 0. By default only a callback stops the run.
        callbacks
            Functions of the run, called in this order after every iteration.
        progress
            Whether to show progress on standard error; or a function, called with a line of text
            about once a second.
        """
        if iterations is not None:
            iterations = whole_number(iterations, "iterations", minimum=0)
        callbacks = as_callbacks(callbacks)
        self.check_whole()
        count = _FOREVER if iterations is None else iterations
        end, planned = self.iteration + count, iterations and self.iteration + iterations
        watching = [*begin(callbacks, self), *callbacks]
        self._prepare(count)
        adaptive = type(self.averaging).look is not Averaging.look
        limits = [callback.limit for callback in callbacks if isinstance(callback, StopAtTime)]
        write = progress if callable(progress) else None
        with closing(Progress(write, planned, min(limits, default=None))) as shown:
            watching += [shown] if progress else []
            while self.iteration < end:
                due = next_call(self, watching, self.iteration + 1 if adaptive else end)
                if adaptive:
                    self.averaging.look(self)
                with interruptible() as interrupted:
                    self._play_to(due, interrupted)
                if stopped(self, watching):
                    break
        return self

    def _play_to(self, iteration: int, interrupted: Callable[[], bool]) -> None:
        """Play until ``iteration`` or an interrupt, and measure the time."""
        first, began = self.iteration, time.perf_counter()
        try:
            self._play(iteration - first, interrupted)
        except BaseException as error:
            self._failure = f"the run failed after iteration {self.iteration}: {quote(error)}"
            raise
        took = time.perf_counter() - began
        self.seconds += took
        # Grow at most eightfold: the iterations just measured may have been unusually fast.
        self.pace = max(1, int((self.iteration - first) * min(_PERIOD / max(took, 1e-9), 8.0)))

    def check_whole(self) -> None:
        """Raise a RuntimeError if an iteration failed."""
        if self._failure is not None:
            raise RuntimeError(f"{self._failure}; load an earlier state or start a new run")

    # Files and copies

    def save(self, path: FilePath, *, callbacks: Iterable[object] = ()) -> None:
        """Write a checkpoint: one file with the state of this run and of ``callbacks``.

        ``resume`` reads runs of named algorithms, and ``load`` reads all runs. Both continue
        bitwise identically.
        """
        write_run(self, path, callbacks)

    @classmethod
    def load(
        cls, path: FilePath, *parts: Any, callbacks: Iterable[object] = (), **options: Any
    ) -> Self:
        """Read a checkpoint, and return a run that continues bitwise identically.

        Parameters
        ----------
        path
            The file.
        parts, options
            The constructor's arguments: game, minimizers, order and so on, built as for the saved
            run. The file replaces their states, and arguments such as ``horizon``.
        callbacks
            The callbacks that were saved with the run. Their state is restored.
        """
        content = read_run(path)
        if content["parts"][0] != cls.__qualname__:
            raise ValueError(f"{path} has a {content['parts'][0]}, not a {cls.__qualname__}")
        run = restored_run(path, content, partial(cls, *parts), callbacks, **options)
        return cast("Self", run)

    def state_dict(self) -> StateDict:
        """Return a copy of the state: a nested dict of arrays, numbers and strings.

        A run with the same constructor arguments can load it and continue bitwise identically.
        """
        self.check_whole()
        return super().state_dict()

    def _restored(self) -> None:
        self._failure = None

    # Printed

    @abc.abstractmethod
    def _made_of(self) -> str:
        """Return a description of an algorithm without a name."""

    @abc.abstractmethod
    def _results(self) -> dict[str, str]:
        """Return the lines of ``print`` about results, by name."""

    def _facts(self) -> dict[str, str]:
        """Return the lines of ``print``, by name."""
        call: dict[str, Any] = self.call or {}
        name = call.get("algorithm") or self._made_of()
        sampling = f", {call['sampling']} sampling" if call.get("sampling") else ""
        return {
            "game": name_of(cast("Any", self).game),
            "algorithm": f"{name if isinstance(name, str) else ', '.join(name)}{sampling}",
            "iterations": f"{self.iteration:,}",
            **(self._results() if self._failure is None else {"broken": self._failure}),
            "seconds": f"{self.seconds:.3g}",
        }

    def __str__(self) -> str:
        facts = self._facts()
        width = max(map(len, facts))
        return "\n".join(f"{name:<{width}}  {fact}" for name, fact in facts.items())

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        return facts(*self._facts().items())

    def __copy__(self) -> Self:
        game = cast("Any", self).game
        return copy.deepcopy(self, {id(game): game})


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C to the end of a block; yield a function that returns whether it was pressed.

    Python alone may raise ``KeyboardInterrupt`` between an update and the line that counts it. A
    second Ctrl-C raises it at once. Outside the main thread, or if the program has its own handler,
    nothing changes.
    """
    handler, pressed = signal.getsignal(signal.SIGINT), []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, handler)

    main = threading.current_thread() is threading.main_thread()
    deferred = main and handler is signal.default_int_handler
    if deferred:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        if deferred:
            signal.signal(signal.SIGINT, handler)
    if pressed:
        raise KeyboardInterrupt


# Checkpoint files
#
# A file is an ``.npz`` archive and its SHA-256. Its array ``head`` is JSON, in which
# ``{"<array>": "n"}`` replaces the array named n. Reading a file runs and unpickles nothing.

_VERSION = 3
_ARRAY = "<array>"
_DIGEST = 32
"""Number of bytes of a SHA-256."""

Arrays = dict[str, NDArray[np.generic]]


def write_run(run: Any, path: FilePath, callbacks: Iterable[object]) -> None:
    """Write a run and callbacks to a file, atomically."""
    run.check_whole()
    saved, arrays = stateful(callbacks), Arrays()
    content = {
        "game": name_of(run.game),
        "fingerprint": fingerprint(run.game),
        "call": run.call or {},
        "options": _options(run),
        "parts": _parts(run),
        "seconds": run.seconds,
        "callbacks": _names(saved),
        "state": run.state_dict(),
        "callback_states": [each.state_dict() for each in saved],
    }
    head = json.dumps({"version": _VERSION, "content": _flat(content, arrays)})
    file = io.BytesIO()
    np.savez(file, head=np.frombuffer(head.encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    data = file.getbuffer()
    replace_file(path, [data, hashlib.sha256(data).digest()])


def read_run(path: FilePath) -> dict[str, Any]:
    """Read and verify a file; return its content."""
    data = memoryview(read_file(path))
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ValueError(f"{path} is not a checkpoint of regretkit, or is damaged")
    try:
        with np.load(io.BytesIO(data[:-_DIGEST]), allow_pickle=False) as archive:
            arrays = dict(archive)
        head = json.loads(arrays.pop("head").tobytes())
        if head["version"] != _VERSION:
            raise ValueError(f"its format has version {head['version']}, not {_VERSION}")
        return cast("dict[str, Any]", _whole(head["content"], arrays))
    except Exception as error:  # arbitrary bytes can raise errors of any class
        raise ValueError(f"cannot read {path}: {shorten(str(error))}") from error


def restored_run(
    path: FilePath,
    content: Mapping[str, Any],
    make: Callable[..., Any],
    callbacks: Iterable[object],
    **given: Any,
) -> Any:
    """Return a run that ``make`` builds, with the state in the content of a file."""
    run = make(**{**content["options"], **given})
    if (found := fingerprint(run.game)) != content["fingerprint"]:
        raise ValueError(
            f"{path} has the game {quote(content['game'])} with fingerprint "
            f"{content['fingerprint']}, got {quote(run.game)} with {found}"
        )
    if (parts := _parts(run)) != content["parts"]:
        raise ValueError(f"{path} has {', '.join(content['parts'])}, not {', '.join(parts)}")
    saved = stateful(callbacks)
    if saved and _names(saved) != content["callbacks"]:
        raise ValueError(f"{path} has the callbacks {content['callbacks']}, not {_names(saved)}")
    begin(saved, run)  # creates the parts of measures, whose state is loaded next
    try:
        run.load_state_dict(content["state"])
        for callback, state in zip(saved, content["callback_states"], strict=False):
            callback.load_state_dict(state)
        run.seconds = float(content["seconds"])
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} does not fit this run: {shorten(str(error))}") from error
    return run


def stateful(callbacks: Iterable[object]) -> list[Any]:
    """Return the callbacks with a state."""
    return [callback for callback in callbacks if isinstance(callback, Stateful)]


def _names(things: Iterable[object]) -> list[str]:
    return [type(thing).__qualname__ for thing in things]


def name_of(game: Any) -> str:
    """Return the name of a game, or the ``repr`` of its rules."""
    return str(getattr(game, "name", None) or repr(getattr(game, "rules", game)))


def _parts(run: Any) -> list[str]:
    """Return the class names of a run and its parts; raise a TypeError if one cannot be saved."""
    parts = {name: getattr(run, name) for name in ("order", "averaging", "estimator")}
    for name, part in parts.items():
        draws = any(isinstance(value, np.random.Generator) for _, value in attributes(part))
        if draws and not isinstance(part, Stateful):
            raise TypeError(f"{name} has a random generator and must be Stateful: {quote(part)}")
    rules = [part for minimizer in getattr(run, "minimizers", ()) for part in with_parts(minimizer)]
    classes = _names([run, *rules, *parts.values()])
    return [*dict.fromkeys([*classes, *getattr(run, "rule_names", ())])]


def _options(run: Any) -> dict[str, Any]:
    """Return the constructor's arguments that are numbers, strings or None."""
    given = {field.alias: getattr(run, field.name) for field in fields(type(run)) if field.init}
    return {name: value for name, value in given.items() if isinstance(value, int | str | None)}


def _flat(value: Any, arrays: Arrays) -> Any:
    """Return a value for JSON, and move its arrays to ``arrays``."""
    if isinstance(value, np.ndarray):
        name = f"{len(arrays)}"
        arrays[name] = value
        return {_ARRAY: name}
    if isinstance(value, dict):
        return {key: _flat(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_flat(item, arrays) for item in value]
    return value


def _whole(value: Any, arrays: Arrays) -> Any:
    """Invert ``_flat``."""
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {key: _whole(item, arrays) for key, item in value.items()}
    return [_whole(item, arrays) for item in value] if isinstance(value, list) else value
