"""How a command ends: exit codes, and errors that fit on one line."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import click

from regretkit._errors import problem_of
from regretkit._util._validate import quote, shorten

DONE = 0
FAILED = 1
"""What was asked for makes sense, but could not be done: a full disk, a rule that fails."""
REFUSED = 2
"""What was asked for makes no sense, as the message says."""
SHORT_OF_GAP = 3
"""Iterations or time were used up before the gap was reached."""

_MOST_SHOWN = 150
"""Characters of a text from a file that a message shows."""


class Refusal(click.ClickException):
    """What came in is not what is wanted."""

    exit_code = REFUSED


class Failure(click.ClickException):
    """What was asked for could not be done."""

    exit_code = FAILED


def reason(error: BaseException) -> str:
    """Return what an error says, and what it is where it says nothing."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{quote(str(error.filename))}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    return problem_of(error) or type(error).__name__


def shell_word(text: str) -> str:
    """Return a text from a file as a shell would take it, printable and not too long."""
    shown = shlex.quote(text) if text.isprintable() else ascii(text)
    return shorten(shown, _MOST_SHOWN)


@contextmanager
def refusing(argument: str, hint: str = "") -> Iterator[None]:
    """Turn the library's errors about an argument into refusals that name it.

    What cannot be read is refused with a hint at what could be.
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
def failing(what: str) -> Iterator[None]:
    """Turn errors in doing something into failures that say what was to be done."""
    try:
        yield
    except (ImportError, OSError, MemoryError, RuntimeError) as error:
        raise Failure(f"{what}: {reason(error)}") from error
