"""The command ``regretkit``: from the words of a shell to an exit code."""

import os
import sys
from collections.abc import Sequence

from regretkit.cli.screen import say
from regretkit.cli.stopping import INTERRUPTED, AfterImports


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code; what is wrong is said in one line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    with AfterImports() as imports:
        try:
            from regretkit.cli.app import run  # NumPy and more, which take a while

            imports.check()
            return run(words)
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED


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
