"""Results on standard output, messages and progress on standard error."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import click
from attrs import define, field

from regretkit._util._errors import printable
from regretkit._util._errors import reason as reason
from regretkit._util._files import replace_file

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


Progress: TypeAlias = Callable[[str, float, float | None], object]
"""Shows a text, the work done, and the total work or None."""


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on one line of standard error, if it is a terminal."""
    if asked_for("quiet") or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda text, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = BarColumn(bar_width=12), TimeRemainingColumn(), TextColumn("{task.description}")
    console = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda text, done, total: shown.update(
            task, completed=done, total=total, description=printable(text)
        )
