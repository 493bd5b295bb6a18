"""Ctrl-C, and what else asks to end: heeded between imports, and between two iterations."""

import _thread
import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, final

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of Ctrl-C; other signals have their own numbers in place of this one's."""

_LONGEST_IMPORT = 10.0
"""Seconds after which an import is interrupted all the same."""

_PATIENCE = 1.0
"""Seconds without a look after which people are told that they are waiting for an iteration."""

_WAITING = b"regretkit: stopping once this iteration is whole; Ctrl-C again ends at once\n"

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Ctrl-C; what batch systems send before they kill; and what comes when a terminal is closed."""


@final
class AfterImports:
    """Within it, Ctrl-C raises ``KeyboardInterrupt`` as soon as no module is being imported.

    Packages of machine code that are interrupted while they are imported print tracebacks of their
    own, or end in other errors.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._since: float | None = None
        """When Ctrl-C was pressed while something was imported."""
        self._raised = False

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if it waits, or the code of an imported module caught it."""
        if self._raised or self._since is not None:
            raise KeyboardInterrupt

    def __enter__(self) -> "AfterImports":
        # Only the main thread ever gets the signal. A handler of the caller's own is kept.
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is signal.default_int_handler:
                self._before = handler
                signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        since = now if self._since is None else self._since
        if not _imports(frame) or now - since > _LONGEST_IMPORT:
            self._since = None
            self._raised = True
            raise KeyboardInterrupt
        self._since = since
        # Not a threading.Thread: to start one takes locks that the interrupted code may hold.
        _thread.start_new_thread(self._ask_again, ())

    def _ask_again(self) -> None:
        time.sleep(0.02)
        if self._since is None:
            return
        if os.name == "posix":  # which ends what the main thread waits for, unlike the other
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._since = None
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def _imports(frame: FrameType | None) -> bool:
    """Say whether a frame, or one that has called it, imports a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@final
class Stopping:
    """Within it, the first Ctrl-C only asks to stop, and a second one ends the process.

    So a run always ends between two iterations, where it is whole and can be saved. Requests to
    terminate do the same.

    Parameters
    ----------
    at_once
        Whether the first one raises ``KeyboardInterrupt``, as where somebody is asked to type.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self.code: int | None = None
        """The exit code that it asks for, None while nobody wants out."""
        self._before: dict[signal.Signals, Any] = {}
        self._looked = time.monotonic()

    def asked(self) -> bool:
        """Say whether somebody wants out."""
        self._looked = time.monotonic()
        return self.code is not None

    def __enter__(self) -> "Stopping":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                ours = isinstance(getattr(handler, "__self__", None), AfterImports)
                if ours or handler in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = handler
                    signal.signal(number, self._note)
        return self

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.code is not None:
            raise KeyboardInterrupt
        self.code = 128 + number
        if self._at_once:
            raise KeyboardInterrupt
        if time.monotonic() - self._looked > _PATIENCE:
            # Whoever was interrupted may be writing: past all buffers, then.
            os.write(2, _WAITING)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
