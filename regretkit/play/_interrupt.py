"""One call at a time drives a run, and Ctrl-C ends it between two iterations."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class DeferredInterrupt:
    """Ctrl-C that is only noted, unless it comes twice, or within ``at_once``.

    Python would raise it between any two instructions, and so between an update of a minimizer and
    the line that counts it.
    """

    def __init__(self) -> None:
        self._requested = False
        self.suspended = False
        """Whether Ctrl-C is raised at once for now."""

    def requested(self) -> bool:
        """Return whether an interrupt was requested."""
        return self._requested

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C raise at once for now."""
        self.suspended = True
        try:
            yield
        finally:
            self.suspended = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C."""
        if self._requested or self.suspended:
            raise KeyboardInterrupt
        self._requested = True


@contextmanager
def deferred_interrupts() -> Iterator[DeferredInterrupt]:
    """Defer Ctrl-C, and raise ``KeyboardInterrupt`` at the end if there was one.

    Only the main thread gets signals, and only Python's own handler is replaced; elsewhere, and
    where a program has a handler of its own, nothing is deferred.
    """
    interrupt, handler = DeferredInterrupt(), signal.getsignal(signal.SIGINT)
    outer = getattr(handler, "__self__", None)
    # That of a run whose callbacks are being called
    nested = isinstance(outer, DeferredInterrupt) and outer.suspended
    replaced = False
    try:
        if handler is signal.default_int_handler or nested:
            with suppress(ValueError):  # raised outside the main thread
                signal.signal(signal.SIGINT, interrupt.note)
                replaced = True
        yield interrupt
    finally:
        if replaced:
            signal.signal(signal.SIGINT, handler)
    if interrupt.requested():
        raise KeyboardInterrupt


class RunGuard:
    """Refuses a second call that would drive a run, from another thread or from a callback."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caller: int | None = None
        """The thread that is calling the run's callbacks."""

    @contextmanager
    def driving(self) -> Iterator[DeferredInterrupt]:
        """Have the run to oneself, with interrupts deferred, or raise where another call has it."""
        # Deferred first: raised between two of these lines, Ctrl-C would leave the run locked.
        with deferred_interrupts() as interrupt:
            if not self._lock.acquire(blocking=False):
                raise RuntimeError(
                    "this run is being driven by another call, in another thread or around this "
                    "callback; wait for that to return, or give each thread a run of its own"
                )
            try:
                yield interrupt
            finally:
                self._lock.release()

    @contextmanager
    def watching(self, interrupt: DeferredInterrupt) -> Iterator[None]:
        """Let callbacks read the state, and let Ctrl-C end them at once."""
        self._caller = threading.get_ident()
        try:
            with interrupt.at_once():
                yield
        finally:
            self._caller = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the state while no call changes it; callbacks may, while their run is driven."""
        if self._caller == threading.get_ident():
            yield
        else:
            with self.driving():
                yield

    def __deepcopy__(self, memo: object) -> "RunGuard":
        return RunGuard()

    def __reduce__(self) -> tuple[type["RunGuard"], tuple[()]]:
        return RunGuard, ()
