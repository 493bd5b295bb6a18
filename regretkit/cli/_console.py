"""Results on standard output, and messages on standard error."""

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 100_000
"""Columns of files and pipes, where no line is ever wrapped."""


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def silent_descriptor() -> Iterator[None]:
    """Discard what libraries in C++ write to standard error, past Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        discard(sys.stderr, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def slow_notice(text: str, seconds: float = 3.0) -> Iterator[None]:
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


def rich_console(stream: TextIO) -> "Console":
    """Return a console that writes on a stream, as wide as the terminal if it is one."""
    from rich.console import Console

    width = None if stream.isatty() else _WIDE
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def clean(text: str) -> str:
    """Return a text with escapes for control characters and line ends."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def say(text: str) -> None:
    """Write one line on standard error, unless its terminal is closed."""
    try:
        print(f"regretkit: {clean(' '.join(text.split()))}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO, descriptor: int | None = None) -> None:
    """Discard all further output of a stream, whose terminal may be closed."""
    with open(os.devnull, "wb") as null:  # noqa: PTH123 # no Path is meant
        os.dup2(null.fileno(), stream.fileno() if descriptor is None else descriptor)


def show(*lines: str) -> None:
    """Write lines on standard output."""
    for line in lines:
        print(clean(line))


def show_json(data: Mapping[str, Any]) -> None:
    """Write one object of JSON on standard output."""
    print(json.dumps(data, allow_nan=False))


def show_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), soft: int
) -> None:
    """Write a table on standard output, with the columns in ``right`` aligned to the right.

    On a terminal that is too narrow for it, the column ``soft`` is wrapped.
    """
    from rich.table import Table
    from rich.text import Text

    table, right = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0)), {*right}
    for column, head in enumerate(heads):
        table.add_column(
            Text(head),
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column != soft,
        )
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    console = rich_console(sys.stdout)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())
