"""A person at a terminal: commands typed in a pseudo-terminal, with keys pressed as things show."""

import contextlib
import os
import re
import select
import subprocess
import sys
import time

COMMAND = [sys.executable, "-m", "regretkit"]
CTRL_C = b"\x03"
PATIENCE = 60.0
"""Seconds after which nothing more is expected to happen."""


def environment():
    """Return what a shell of an ordinary terminal sets."""
    plain = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    return plain | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}


def typed(words, folder, presses=(), command=COMMAND):
    """Run a command in a terminal of 80 columns, and return its exit code and all that it showed.

    ``presses`` are pairs of a pattern and a key: once the one shows, the other is pressed.
    """
    import pty

    parent, terminal = pty.openpty()
    set_size(terminal)
    process = subprocess.Popen(
        [*command, *words],
        cwd=folder,
        env=environment(),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: take_terminal(terminal),
    )
    os.close(terminal)
    try:
        return watched(process, parent, list(presses))
    finally:
        process.kill()
        process.wait()
        os.close(parent)


def interrupted(words, folder, presses):
    """Return what a command has shown that the keys end as Ctrl-C does, without a traceback."""
    code, shown = typed(words, folder, presses)
    assert code == 130
    assert "Traceback" not in shown
    return shown


def set_size(terminal):
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))


def take_terminal(terminal):
    """Make the terminal that of this process, so that Ctrl-C in it is meant for the process."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def watched(process, terminal, presses):
    shown, seen, deadline = b"", 0, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            part = b""
            with contextlib.suppress(OSError):  # the other end is closed
                part = os.read(terminal, 2**16)
            if not part:
                return process.wait(), shown.decode()
            shown += part
        if presses and (found := re.search(presses[0][0].encode(), shown[seen:])):
            seen += found.end()
            os.write(terminal, presses.pop(0)[1])
    raise TimeoutError(f"still running after {PATIENCE} s, and has shown {shown.decode()!r}")


def piped(words, folder, command=COMMAND, **more):
    """Run a command without a terminal."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | more
    return subprocess.run([*command, *words], cwd=folder, text=True, check=False, **streams)
