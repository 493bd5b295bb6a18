"""Ctrl-C and requests to terminate: handled between imports, and between two iterations."""

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, final

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of Ctrl-C; other signals have their own numbers in place of this one's."""

_LONGEST_IMPORT = 10.0
"""Seconds after which an import is interrupted as well."""

_NOTICE_AFTER = 1.0
"""Seconds since the last check after which a message says that the iteration is completed."""

_NOTICE = b"regretkit: stopping once this iteration is complete; Ctrl-C again ends at once\n"


class _Handler:
    """Handles signals within a block; a handler that the caller has installed is kept."""

    def __init__(self, *names: str) -> None:
        self._numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other one may
            for number in self._numbers:
                old = signal.getsignal(number)
                ours = isinstance(getattr(old, "__self__", None), _Handler)
                if ours or old in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = old
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        raise NotImplementedError


@final
class AfterImports(_Handler):
    """Within it, Ctrl-C raises ``KeyboardInterrupt`` as soon as no module is being imported.

    Packages of machine code that are interrupted while they are imported print tracebacks of their
    own, or end in other errors.
    """

    def __init__(self) -> None:
        super().__init__("SIGINT")
        self._pressed: float | None = None
        self._waits = False

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if it is pending, or was caught by an imported module."""
        if self._pressed is not None:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._pressed is None or not self._waits:
            self._pressed = now
        while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        self._waits = frame is not None and now - self._pressed < _LONGEST_IMPORT
        if not self._waits:
            raise KeyboardInterrupt
        # Not a threading.Thread: to start one takes locks that the interrupted code may hold.
        _thread.start_new_thread(self._repeat, ())

    def _repeat(self) -> None:
        time.sleep(0.02)
        if self._waits and os.name == "posix":  # a real signal also ends a wait of the main thread
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif self._waits:
            _thread.interrupt_main()

    def __exit__(self, *_: object) -> None:
        self._waits = False
        super().__exit__()


@final
class StopRequest(_Handler):
    """Within it, the first Ctrl-C only requests a stop, and a second one ends the process.

    So a run always ends between two iterations, where it can be saved. Requests to terminate, as
    batch systems send them, and the closing of a terminal do the same. With ``at_once`` the first
    one raises ``KeyboardInterrupt``, as while waiting for input.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        super().__init__("SIGINT", "SIGTERM", "SIGHUP")
        self._at_once = at_once
        self.code: int | None = None
        """The exit code of the signal, None while there is no request."""
        self._checked = time.monotonic()

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let the first one raise ``KeyboardInterrupt`` for now."""
        before, self._at_once = self._at_once, True
        try:
            yield
        finally:
            self._at_once = before

    def requested(self) -> bool:
        """Return whether a stop was requested."""
        self._checked = time.monotonic()
        return self.code is not None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.code = self.code is not None, self.code or 128 + number
        if again or self._at_once:
            raise KeyboardInterrupt
        if time.monotonic() - self._checked > _NOTICE_AFTER:
            os.write(2, _NOTICE)  # unbuffered: the interrupted code may be writing
