"""What is shown: results on standard output, and everything else on standard error."""

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 100_000
"""Columns where nobody looks: what goes into a file or a pipe is never wrapped."""


def is_terminal(stream: TextIO) -> bool:
    """Say whether a person looks at a stream, on something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def silent_descriptor() -> Iterator[None]:
    """Keep from standard error what libraries in C++ write there, past Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123 # no Path is meant
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def patience(text: str, seconds: float = 3.0) -> Iterator[None]:
    """Write a line to whoever looks at standard error, if something takes longer than usual."""
    if not is_terminal(sys.stderr):
        yield
        return
    stream = os.dup(2)  # which goes on where others are silenced
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


def console(stream: TextIO) -> "Console":
    """Return what writes on a stream, as wide as the terminal if it is one."""
    from rich.console import Console

    width = None if stream.isatty() else _WIDE
    return Console(
        file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False
    )


def clean(text: str) -> str:
    """Return a text in which nothing could move a cursor or end a line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def say(text: str) -> None:
    """Write one line on standard error, if anybody is there to read it."""
    try:
        print(f"regretkit: {clean(' '.join(text.split()))}", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Let what is written on a stream go nowhere, where its terminal is gone."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 # no Path is meant
        os.dup2(nothing.fileno(), stream.fileno())


def show(*lines: str) -> None:
    """Write lines on standard output."""
    for line in lines:
        print(clean(line))


def show_json(data: Mapping[str, Any]) -> None:
    """Write one object of JSON on standard output."""
    print(json.dumps(data, allow_nan=False))


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    gives_way: int = -1,
) -> None:
    """Write a table on standard output; the columns in ``right`` are set to the right.

    On a terminal that is too narrow for it, one column is what gives way.
    """
    from rich.table import Table
    from rich.text import Text

    soft = gives_way % len(heads)
    table, numbers = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0)), {*right}
    for column, head in enumerate(heads):
        side: Literal["left", "right"] = "right" if column in numbers else "left"
        table.add_column(Text(head), justify=side, overflow="fold", no_wrap=column != soft)
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    screen = console(sys.stdout)
    with screen.capture() as captured:
        screen.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


def number(value: float) -> str:
    """Return a number as people read it."""
    return f"{value + 0.0:.6g}"  # and no minus before a zero


def numbers(values: Iterable[float]) -> str:
    """Return several of them."""
    return ", ".join(map(number, values))
