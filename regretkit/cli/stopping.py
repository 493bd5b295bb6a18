"""Ctrl-C, and what else asks a run to end: noted, and heeded between two iterations."""

import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, final

_PATIENCE = 1.0
"""Seconds without a look after which people are told that they are waiting for an iteration."""

_WAITING = b"regretkit: stopping once this iteration is whole; Ctrl-C again ends at once\n"

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Ctrl-C; what batch systems send before they kill; and what comes when a terminal is closed."""


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
                if handler in (signal.SIG_DFL, signal.default_int_handler):
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
