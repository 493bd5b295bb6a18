"""Exit codes, and errors that are reported in one line."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import click

from regretkit._util._errors import problem_of
from regretkit._util._validate import quote, shorten

DONE = 0
FAILED = 1
"""The request is valid, but could not be carried out: a full disk, a rule that fails."""
REFUSED = 2
"""The request is invalid, as the message says."""
SHORT_OF_GAP = 3
"""Iterations or time were used up before the gap was reached."""

_LONGEST_WORD = 150
"""Characters of a text from a file that a message shows."""


class Refusal(click.ClickException):
    """An argument or a file is invalid."""

    exit_code = REFUSED


class Failure(click.ClickException):
    """A valid request could not be carried out."""

    exit_code = FAILED


def reason(error: BaseException) -> str:
    """Return the message of an error without advice for Python, or its class if it has none."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{quote(str(error.filename))}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    return problem_of(error) or type(error).__name__


def shell_word(text: str) -> str:
    """Return a text from a file as a shell would take it, printable and not too long."""
    shown = shlex.quote(text) if text.isprintable() else ascii(text)
    return shorten(shown, _LONGEST_WORD)


@contextmanager
def refusing(argument: str, hint: str = "") -> Iterator[None]:
    """Turn the library's errors about an argument into refusals that name it.

    The hint is added where a file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise Refusal(f"{argument}: {reason(error)}{hint and f'; {hint}'}") from error
    except ImportError as error:
        raise Failure(f"{argument}: {reason(error)}") from error
    except (TypeError, ValueError, MemoryError) as error:
        raise Refusal(f"{argument}: {reason(error)}") from error


@contextmanager
def failing(task: str) -> Iterator[None]:
    """Turn errors while doing a task into failures that name it."""
    try:
        yield
    except (ImportError, OSError, MemoryError, RuntimeError) as error:
        raise Failure(f"{task}: {reason(error)}") from error
