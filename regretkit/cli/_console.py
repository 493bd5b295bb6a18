"""Results on standard output, messages and progress on standard error."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click

from regretkit._util._errors import printable
from regretkit._util._errors import reason as reason
from regretkit._util._files import replace_file

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, REFUSED, SHORT_OF_GAP = range(4)
"""Exit codes: done, failed, invalid, and done except that the gap was not reached."""
INTERRUPTED = 130


class Refusal(click.ClickException):
    """An argument or a file is invalid, as the message says."""

    exit_code = REFUSED


class Failure(click.ClickException):
    """The request is valid, but could not be carried out: a full disk, a rule that fails."""

    exit_code = FAILED


@contextmanager
def reporting(name: str, kind: type[click.ClickException] = Refusal) -> Iterator[None]:
    """Report errors of the library in one line that begins with the name of an argument."""
    try:
        yield
    except (ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        kind = Failure if isinstance(error, ImportError | RuntimeError) else kind
        raise kind(f"{name}: {reason(error)}") from error


def say(text: str) -> None:
    """Write one line on standard error."""
    print(f"regretkit: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)


def asked_for(option: str) -> bool:
    """Return whether the command was called with an option that all commands share."""
    return bool(click.get_current_context().meta.get(option))


def answer(report: Mapping[str, Any], lines: Iterable[str], *, code: int = DONE) -> int:
    """Write a report on standard output, as one object of JSON or as lines; return the code."""
    if asked_for("json"):
        lines = [json.dumps(report, allow_nan=False)]
    for line in lines:
        print(printable(line))
    return code


def write_file(path: Path, content: bytes, option: str = "--out") -> None:
    """Write a file, or report that it failed."""
    with reporting(f"{option}: cannot write", Failure):
        replace_file(path, [content])


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int], soft: int
) -> list[str]:
    """Return the lines of a table, with the columns in ``right`` aligned to the right.

    On a terminal that is too narrow for it, the column ``soft`` is wrapped.
    """
    cells = [[*heads], *([printable(cell) for cell in row] for row in rows)]
    if not sys.stdout.isatty():  # lines of files and pipes are never wrapped
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        sides = [">" if column in right else "<" for column in range(len(heads))]
        places = [f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True)]
        return ["  ".join(places).format(*row).rstrip() for row in cells]
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column, head in enumerate(heads):
        drawn.add_column(Text(head), overflow="fold", no_wrap=column != soft)
        drawn.columns[column].justify = "right" if column in right else "left"
    for row in cells[1:]:
        drawn.add_row(*map(Text, row))
    console = _console(sys.stdout)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=stream, markup=False, highlight=False, emoji=False)


Progress: TypeAlias = Callable[[str, float, float | None], object]
"""Shows a text, how much is done, and of how much, None if that is unknown."""


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on one line of standard error, if that is a terminal."""
    if asked_for("quiet") or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda text, done, total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = BarColumn(bar_width=12), TimeRemainingColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=_console(sys.stderr), transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda text, done, total: shown.update(
            task, completed=done, total=total, description=printable(text)
        )
