"""Runs: iterations of play, with callbacks, Ctrl-C, copies and files."""

import abc
import copy
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Self, cast

from attrs import define, field
from attrs.validators import optional

from regretkit._state import NOT_STATE, StateDict, Stateful
from regretkit._util._files import FilePath
from regretkit._util._validate import at_least_one, of_kind, quote, whole_number
from regretkit.play._averaging import Averaging, Uniform
from regretkit.play._callbacks import as_callbacks, begin, next_call, shown_progress, stopped
from regretkit.play._checkpoint_file import SavedRun
from regretkit.play._orders import Alternating, Order

_FOREVER = 2**62
_PERIOD = 0.05
"""Seconds of play in a run's ``pace``."""


@define(eq=False, repr=False)
class Run(Stateful, abc.ABC):
    """A game that is played, iteration by iteration, and the average of the strategies played.

    An exception within an iteration breaks the run, since parts of it may have learned. The run
    then raises a RuntimeError when it is used, until ``load_state_dict`` restores a state.
    ``copy.copy(run)`` is an independent run of the same game.

    Parameters
    ----------
    order
        The order of updates.
    averaging
        The weights w_t.
    horizon
        Number of iterations planned, for averagings that depend on it, at least 1.

    Attributes
    ----------
    iteration
        T, the number of iterations so far.
    seconds
        How long they took, without callbacks.

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
    """The algorithm that made the run, by its name; None if it was built from parts."""
    pace: int = field(default=1, init=False, metadata=NOT_STATE)
    """Number of iterations that take about a twentieth of a second."""
    _failure: str | None = field(default=None, init=False, metadata=NOT_STATE)

    @property
    @abc.abstractmethod
    def average(self) -> Any:
        """The players' average strategies, weighted."""

    @property
    @abc.abstractmethod
    def current(self) -> Any:
        """The next iteration's strategies, x_{T+1}."""

    @abc.abstractmethod
    def _prepare(self, iterations: int) -> None:
        """Choose the executor of the next iterations."""

    @abc.abstractmethod
    def _play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        """Play iterations, and stop between two of them once ``interrupted()``."""

    def run(
        self,
        iterations: int | None = None,
        *,
        callbacks: Iterable[Callable[[Any], object]] = (),
        progress: bool | Callable[[str], object] = False,
    ) -> Self:
        """Play more iterations, until a callback returns ``True``, and return the run.

        Ctrl-C ends the call after the iteration that is being played, and the run can go on. A
        second Ctrl-C ends it within the iteration, which breaks the run.

        Parameters
        ----------
        iterations
            How many, at least 0; by default until a callback stops the run.
        callbacks
            Called in turn with the run after every iteration.
        progress
            Whether to show progress on standard error; or a function to be called with a line of
            text about once a second.
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
        with shown_progress(progress, planned, callbacks) as shown:
            watching += shown
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
        """Play up to an iteration, or until an interrupt, and measure the time."""
        first, began = self.iteration, time.perf_counter()
        try:
            self._play(iteration - first, interrupted)
        except BaseException as error:
            self._failure = f"the run failed after iteration {self.iteration}: {quote(error)}"
            raise
        took = time.perf_counter() - began
        self.seconds += took
        # At most eight times as many iterations as the last ones, which may have been quick.
        self.pace = max(1, int((self.iteration - first) * min(_PERIOD / max(took, 1e-9), 8.0)))

    def check_whole(self) -> None:
        """Raise a RuntimeError if an iteration failed."""
        if self._failure is not None:
            raise RuntimeError(f"{self._failure}; load a state from before it, or start anew")

    # Files and copies

    def save(self, path: FilePath, *, callbacks: Iterable[object] = ()) -> None:
        """Write a checkpoint: this run in one file, and the state of ``callbacks``.

        ``resume`` continues it, bitwise identically, where a named algorithm made it; ``load`` any.
        """
        SavedRun.of(self, path, callbacks).write()

    @classmethod
    def load(
        cls, path: FilePath, *parts: Any, callbacks: Iterable[object] = (), **options: Any
    ) -> Self:
        """Return the run in a checkpoint, which continues bitwise identically.

        Parameters
        ----------
        path
            The file.
        parts, options
            What the run was built from: game, minimizers, order and so on, built in the same way,
            trained or not. Numbers and texts, such as ``horizon``, are in the file.
        callbacks
            Those that were saved with the run; they get their state back.
        """
        saved = SavedRun.read(path)
        if saved.parts[0] != cls.__qualname__:
            raise ValueError(f"{path} is of a {saved.parts[0]}, not of a {cls.__qualname__}")
        return cast("Self", saved.build(partial(cls, *parts), callbacks, **options))

    def state_dict(self) -> StateDict:
        """Return a copy of the state: a plain dict of arrays, numbers and such dicts.

        A run of the same parts that loads it continues bitwise identically.
        """
        self.check_whole()
        return super().state_dict()

    def _restored(self) -> None:
        self._failure = None

    # Printed

    @abc.abstractmethod
    def _made_of(self) -> str:
        """Return the algorithm in words, where it has no name."""

    @abc.abstractmethod
    def _results(self) -> dict[str, str]:
        """Return facts of the result, by name."""

    def _facts(self) -> dict[str, str]:
        """Return the lines of ``print``, by name."""
        call: dict[str, Any] = self.call or {}
        name = call.get("algorithm") or self._made_of()
        sampling = f", {call['sampling']} sampling" if call.get("sampling") else ""
        return {
            "game": title_of(cast("Any", self).game),
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


def title_of(game: Any) -> str:
    """Return the name of a game, or of its rules."""
    return str(getattr(game, "name", None) or repr(getattr(game, "rules", game)))


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C to the end of a block; yield a function that returns whether it was pressed.

    Python alone would raise ``KeyboardInterrupt`` between any two instructions, such as an update
    and the line that counts it. A second Ctrl-C is raised at once. Outside the main thread, and
    with a program's own handler, nothing changes.
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
