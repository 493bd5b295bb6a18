"""Results on standard output, messages and progress on standard error."""

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click
from attrs import define, field

from regretkit._util._errors import printable
from regretkit._util._errors import reason as reason
from regretkit._util._files import replace_file
from regretkit.display._style import aligned

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, REFUSED, SHORT_OF_GAP = range(4)
"""Exit codes: success, failure, invalid input, and a run that ends above its target gap."""
INTERRUPTED = 130


class Refusal(click.ClickException):
    """An argument or a file is invalid."""

    exit_code = REFUSED


class Failure(click.ClickException):
    """A valid command failed: a full disk, a rule that raises."""

    exit_code = FAILED


@contextmanager
def reporting(name: str, kind: type[click.ClickException] = Refusal) -> Iterator[None]:
    """Report errors as one line that begins with ``name``."""
    try:
        yield
    except (ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        kind = Failure if isinstance(error, ImportError | RuntimeError) else kind
        raise kind(f"{name}: {reason(error)}") from error


def say(text: str) -> None:
    """Write one line on standard error."""
    print(f"regretkit: {printable(' '.join(text.split()))}", file=sys.stderr, flush=True)


def asked_for(option: str) -> bool:
    """Return whether ``--json`` or ``--quiet`` was given."""
    return bool(click.get_current_context().meta.get(option))


@define
class Report:
    """The output of a command: facts for JSON, or lines of text."""

    facts: dict[str, Any] = field(factory=dict)
    lines: list[str] = field(factory=list)

    def add(self, *lines: str, **facts: Any) -> None:
        """Add lines and facts."""
        self.lines += lines
        self.facts |= facts

    def write(self, code: int = DONE) -> int:
        """Print the lines, or the facts as one JSON object, and return the exit code."""
        as_json = asked_for("json")
        for line in [json.dumps(self.facts, allow_nan=False)] if as_json else self.lines:
            print(printable(line))
        return code


def write_file(path: Path, content: bytes, option: str = "--out") -> None:
    """Write a file, or report the failure."""
    with reporting(f"{option}: cannot write", Failure):
        replace_file(path, [content])


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Container[int], soft: int
) -> list[str]:
    """Return the lines of a table; the columns in ``right`` are aligned to the right.

    In a narrow terminal, the column ``soft`` wraps. In files and pipes, no column does.
    """
    cells = [[*heads], *([printable(cell) for cell in row] for row in rows)]
    if not sys.stdout.isatty():
        return aligned(cells, right)
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
"""Shows a text, the work done, and the total work or None."""


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on one line of standard error, if it is a terminal."""
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
