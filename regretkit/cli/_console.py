"""Results on standard output, messages and progress on standard error, and Ctrl-C."""

import _thread
import abc
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeAlias

import click

from regretkit._util._errors import printable
from regretkit._util._errors import reason as reason

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, REFUSED, SHORT_OF_GAP = range(4)
"""Exit codes: done, failed, invalid, and done except that the gap was not reached."""


IN_FULL = "; --traceback shows all of it"
"""The advice after an error in a user's code."""


class Refusal(click.ClickException):
    """An argument or a file is invalid, as the message says."""

    exit_code = REFUSED


class Failure(click.ClickException):
    """The request is valid, but could not be carried out: a full disk, a rule that fails."""

    exit_code = FAILED


@contextmanager
def reporting(
    task: str, kind: type[click.ClickException] = Refusal, hint: str = ""
) -> Iterator[None]:
    """Report errors of the library in one line; the hint is for files that cannot be read."""
    try:
        yield
    except (ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        kind = Failure if isinstance(error, ImportError | RuntimeError) else kind
        hint = f"; {hint}" if hint and isinstance(error, OSError) else ""
        raise kind(f"{task}: {reason(error)}{hint}") from error


# Streams


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Write one line on standard error, unless its terminal is closed."""
    try:
        print(f"regretkit: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr.fileno())


def discard(descriptor: int) -> None:
    """Discard what is written on a descriptor from now on."""
    with open(os.devnull, "wb") as null:  # noqa: PTH123 # no Path is meant
        os.dup2(null.fileno(), descriptor)


@contextmanager
def silent_descriptor() -> Iterator[None]:
    """Discard what libraries in C++ write to standard error, past Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        discard(2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def slow_notice(text: str, seconds: float = 1.0) -> Iterator[None]:
    """Write a line on standard error, if it is a terminal and the block takes longer than this."""
    if not is_terminal(sys.stderr):
        yield
        return
    stream = os.dup(2)  # which a silent_descriptor does not replace
    line = f"regretkit: {text}\n".encode(errors="replace")
    timer = threading.Timer(seconds, os.write, (stream, line))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.close(stream)


def asked_for(option: str) -> bool:
    """Return whether the command was called with an option that all commands know alike."""
    return bool(click.get_current_context().meta.get(option))


def answer(report: Mapping[str, Any], lines: Iterable[str], *, code: int = DONE) -> int:
    """Write a report on standard output, as one object of JSON or as lines; return the code."""
    if asked_for("json"):
        lines = [json.dumps(report, allow_nan=False)]
    for line in lines:
        print(printable(line))
    return code


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int], soft: int
) -> list[str]:
    """Return the lines of a table, with the columns in ``right`` aligned to the right.

    On a terminal that is too narrow for it, the column ``soft`` is wrapped.
    """
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column, head in enumerate(heads):
        drawn.add_column(Text(head), overflow="fold", no_wrap=column != soft)
        drawn.columns[column].justify = "right" if column in right else "left"
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    console = rich_console(sys.stdout)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]


def rich_console(stream: TextIO) -> "Console":
    from rich.console import Console

    width = None if stream.isatty() else 100_000  # lines of files and pipes are never wrapped
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


Progress: TypeAlias = Callable[[Sequence[str], float, float | None], object]
"""Shows facts, how much is done, and how much is left, None if that is unknown."""


class _Shown(logging.Handler):
    """Shows what is logged: warnings as messages, all else as progress."""

    def __init__(self, update: Progress) -> None:
        super().__init__()
        self._update = update

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            say(record.getMessage())
        else:
            self._update([record.getMessage()], 0.0, None)


@contextmanager
def logging_shown(update: Progress) -> Iterator[None]:
    """Show messages of the library as progress, and its warnings on standard error."""
    handler, logger = _Shown(update), logging.getLogger("regretkit")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def progress(title: str = "") -> Iterator[Progress]:
    """Show progress on one line of standard error, if that is a terminal."""
    if asked_for("quiet") or not is_terminal(sys.stderr):
        yield lambda facts, done, left: None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = BarColumn(bar_width=12), TextColumn("{task.description}", markup=False)
    title = f"{printable(title)}\n" if title else ""
    with Progress(*columns, console=rich_console(sys.stderr), transient=True) as shown:
        task = shown.add_task(f"{title}starting", total=None)

        def update(facts: Sequence[str], done: float, left: float | None) -> None:
            total = None if left is None else done + left
            text = f"{title}{'  '.join(facts)}"
            shown.update(task, completed=done, total=total, description=text)

        yield update


INTERRUPTED = 128 + signal.SIGINT
"""The exit code of Ctrl-C; other signals have their own numbers in place of this one's."""

_NOTICE_AFTER = 0.5
"""Seconds after which a message says that the iteration is completed first."""

_NOTICE = b"regretkit: stopping once this iteration is complete; Ctrl-C again ends at once\n"


class _Handler(abc.ABC):
    """Handles signals within a block; a handler that the caller has installed is kept."""

    def __init__(self, *names: str) -> None:
        self._numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other one may
            for number in self._numbers:
                old = signal.getsignal(number)
                nested = isinstance(getattr(old, "__self__", None), _Handler)
                if nested or old in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = old
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @abc.abstractmethod
    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Answer a signal."""


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
        self._checked = 0
        """How often it was asked for a request."""
        self._left = False

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let the first one raise ``KeyboardInterrupt`` for now."""
        previous, self._at_once = self._at_once, True
        try:
            yield
        finally:
            self._at_once = previous

    def requested(self) -> bool:
        """Return whether a stop was requested."""
        self._checked += 1
        return self.code is not None

    def __exit__(self, *_: object) -> None:
        self._left = True
        super().__exit__()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        repeated, self.code = self.code is not None, self.code or 128 + number
        if repeated or self._at_once:
            raise KeyboardInterrupt
        # Not a threading.Thread: to start one takes locks that the interrupted code may hold.
        _thread.start_new_thread(self._notice, (self._checked,))

    def _notice(self, checked: int) -> None:
        time.sleep(_NOTICE_AFTER)
        if self._checked == checked and not self._left:
            os.write(2, _NOTICE)  # unbuffered: the interrupted code may be writing
