"""The command ``regretkit``: from the words of a shell to an exit code."""

import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence

import click

from regretkit.cli.app import app
from regretkit.cli.exits import DONE, FAILED, INTERRUPTED
from regretkit.cli.games_in import is_known
from regretkit.cli.screen import say
from regretkit.play import ALGORITHMS

_TRACEBACK = "--traceback"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code; whatever is wrong is said in one line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    in_full = _TRACEBACK in words  # wherever it stands
    words = [word for word in words if word != _TRACEBACK]
    _prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            return _run(words)
        except click.ClickException as error:
            if in_full:
                raise
            say(_told(error, words))
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            say("interrupted")
            return INTERRUPTED
        except Exception as error:
            if in_full:
                raise
            say(
                f"this should not happen, and is a fault of regretkit's: {type(error).__name__}: "
                f"{error}; {_TRACEBACK} shows where"
            )
            return FAILED


def _run(words: list[str]) -> int:
    code = app.main(args=words, prog_name="regretkit", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else DONE


def _told(error: click.ClickException, words: Sequence[str]) -> str:
    """Return what is wrong, and where to read what would do if click has found it."""
    text = error.format_message()
    if text.startswith("No such command") and is_known(words[0]):
        return f"{text.rstrip('.')}; it is a game, try {shlex.join(['regretkit', 'solve', *words])}"
    extra = re.search(r"unexpected extra argument \((\S+)\)", text)
    if extra and extra[1] in ALGORITHMS:
        return f"{text.rstrip('.')}; write --algorithm {extra[1]}"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        path = error.ctx.command_path
        text = f"{text.rstrip('.')}; {path} --help says what would do"
    return text


def _prepare_streams() -> None:
    """Let names that a terminal cannot show be shown by their codes, and closed streams be empty.

    Streams that were closed are opened in their order, and so take the descriptors that are
    theirs: a file that has one of these would get what is meant for the stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
