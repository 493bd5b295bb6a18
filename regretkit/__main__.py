"""``regretkit`` and ``python -m regretkit``: from the arguments of a shell to an exit code."""

import io
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code; errors are reported in one line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # terminals may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    from regretkit.cli._main import run  # which imports NumPy and more

    try:
        return run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        print("regretkit: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
