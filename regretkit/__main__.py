"""``regretkit`` and ``python -m regretkit``: from the arguments of a shell to an exit code."""

import io
import os
import sys
from collections.abc import Sequence

from regretkit.cli._console import INTERRUPTED, say


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code; errors are reported in one line."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # Closed streams are reopened in their order, so that each gets its own descriptor: a file with
    # one of these descriptors would receive the output of the stream.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # terminals may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    try:
        from regretkit.cli._commands import run  # which imports NumPy and more

        return run(arguments)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
