"""Letting Ctrl-C wait until machine code is done with what it began."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, final


@final
class Interrupts:
    """Within it, Ctrl-C is only noted; whoever waits asks :meth:`happened`, and it counts then.

    A second one counts at once.

    Python would raise ``KeyboardInterrupt`` between any two instructions, and so between machine
    code that has changed everything and the line that counts its iterations.
    """

    def __init__(self) -> None:
        self._noted = False
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        # Only the main thread ever gets the signal. A handler of somebody's own is theirs.
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is signal.default_int_handler:
                self._before = handler
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._noted and self._before is not None:
            # The first one was to no avail: a rule in Python may be going round for ever.
            signal.signal(signal.SIGINT, self._before)
            self._noted = False
            self._before(number, frame)
        self._noted = True

    def happened(self) -> bool:
        """Say whether somebody wants out."""
        return self._noted

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._noted and kind is None:
            raise KeyboardInterrupt
