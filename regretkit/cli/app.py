"""The commands, all together, and how one ends: with an exit code, and in one line if it fails."""

import errno
import re
import shlex
import sys
import warnings
from collections.abc import Sequence

import click

from regretkit._util._validate import shorten
from regretkit.cli.comparing import compare
from regretkit.cli.converting import convert
from regretkit.cli.evaluating import evaluate
from regretkit.cli.exactly import exact
from regretkit.cli.exits import DONE, FAILED, Failure, reason
from regretkit.cli.games_in import is_known
from regretkit.cli.playing import play
from regretkit.cli.resuming import resume
from regretkit.cli.screen import drop, say
from regretkit.cli.showing import list_games, show_game
from regretkit.cli.solving import solve
from regretkit.play import ALGORITHMS

_TRACEBACK = "--traceback"

EXIT_CODES = """\b
Exit codes:
  0    done; also where somebody who plays has left at the end of the input
  1    it could not be done: a file, a package or a rule failed
  2    refused: an argument or a file is not what it should be
  3    iterations or time were used up before the gap was reached
  130  Ctrl-C: what was reached is reported, and saved with --checkpoint
"""


@click.group(
    invoke_without_command=True,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="regretkit", message="regretkit %(version)s")
@click.option("--traceback", is_flag=True, help="Show where in the code something went wrong.")
@click.pass_context
def app(context: click.Context, traceback: bool) -> None:
    """Composable regret minimization for game theory, from the shell."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (list_games, show_game, solve, resume, evaluate, play, exact, convert, compare):
    app.add_command(_command)


def run(words: Sequence[str]) -> int:
    """Run a command, and return its exit code; what is wrong is said in one line."""
    in_full = _TRACEBACK in words  # wherever it stands
    words = [word for word in words if word != _TRACEBACK]
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            return _run(words)
        except click.Abort as error:
            raise KeyboardInterrupt from error
        except click.ClickException as error:
            if in_full:
                raise
            say(_told(error, words))
            return error.exit_code
        except Exception as error:
            if in_full:
                raise
            say(
                f"this should not happen, and is a fault of regretkit's: {type(error).__name__}: "
                f"{error}; {_TRACEBACK} shows where"
            )
            return FAILED


def _run(words: list[str]) -> int:
    try:
        code = app.main(args=words, prog_name="regretkit", standalone_mode=False)
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # Streams have no name of a file, and what else cannot be read or written is named before.
        drop(sys.stdout)  # what it has not written yet would fail again when the process ends
        if error.errno == errno.EPIPE:  # whoever reads has seen enough
            return FAILED
        raise Failure(f"cannot write to standard output: {reason(error)}") from error
    return code if isinstance(code, int) else DONE


def _told(error: click.ClickException, words: Sequence[str]) -> str:
    """Return what is wrong, and where to read what would do if click has found it."""
    text = error.format_message()
    for word in words:
        text = text.replace(word, shorten(word))
    if text.startswith("No such command") and is_known(words[0]):
        return f"{text.rstrip('.')}; it is a game, try {shlex.join(['regretkit', 'solve', *words])}"
    extra = re.search(r"unexpected extra argument \((\S+)\)", text)
    if extra and extra[1] in ALGORITHMS:
        return f"{text.rstrip('.')}; write --algorithm {extra[1]}"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        path = error.ctx.command_path
        text = f"{text.rstrip('.')}; {path} --help says what would do"
    return text
