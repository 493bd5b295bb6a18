"""All commands together, and how one ends: with an exit code, and in one line if it fails."""

import errno
import re
import shlex
import sys
import warnings
from collections.abc import Sequence

import click

from regretkit._util._validate import shorten
from regretkit.cli._arguments import is_known
from regretkit.cli._commands._bench import bench, figure, report
from regretkit.cli._commands._evaluate import evaluate, exact, verify
from regretkit.cli._commands._games import convert, list_games, show_game, show_trace
from regretkit.cli._commands._play import play
from regretkit.cli._commands._solve import compare, resume, solve
from regretkit.cli._console import DONE, FAILED, Failure, discard, reason, say
from regretkit.play import ALGORITHMS

_TRACEBACK = "--traceback"

_EXIT_CODES = """\b
Exit codes:
  0    done; also when a match is ended by the end of the input
  1    failed: a file cannot be written, a package is missing, a rule failed
  2    refused: an argument or a file is invalid
  3    iterations or time were used up before the gap was reached
  130  Ctrl-C: the result so far is reported, and saved with --checkpoint
"""


@click.group(
    commands=[
        list_games,
        show_game,
        solve,
        resume,
        evaluate,
        play,
        exact,
        verify,
        convert,
        compare,
        bench,
        figure,
        report,
        show_trace,
    ],
    invoke_without_command=True,
    epilog=_EXIT_CODES,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="regretkit", message="regretkit %(version)s")
@click.option(_TRACEBACK, is_flag=True, help="Show where in the code an error was raised.")
@click.pass_context
def app(context: click.Context, traceback: bool) -> None:
    """Composable regret minimization for game theory, from the shell."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_ELSEWHERE = {
    "plot": "solve and compare draw a figure, with --plot FILE, and figure draws results of bench",
    "export": "convert writes a game, and solve a strategy, with --out FILE",
    "train": "solve plays",
    "run": "solve plays",
    "list": "games lists games",
    "certify": "exact proves, with --certificate FILE",
}
"""What to write in place of commands that there are not."""


def run(words: Sequence[str]) -> int:
    """Run a command, and return its exit code; errors are reported in one line."""
    in_full = _TRACEBACK in words  # in any position
    words = [word for word in words if word != _TRACEBACK]
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            code = app.main(args=words, prog_name="regretkit", standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else DONE
        except click.Abort as error:
            raise KeyboardInterrupt from error
        except Exception as error:
            if isinstance(error, OSError) and error.filename is None:
                # Only streams have no file name here: other files are checked where they are
                # opened. The buffer would fail again when the process ends.
                discard(sys.stdout.fileno())
                if error.errno == errno.EPIPE:  # the reader has closed the pipe, as `head` does
                    return FAILED
                error = Failure(f"cannot write to standard output: {reason(error)}")
            if in_full:
                raise
            if isinstance(error, click.ClickException):
                say(_message(error, words))
                return error.exit_code
            say(
                f"this should not happen, and is a fault of regretkit's: {type(error).__name__}: "
                f"{error}; {_TRACEBACK} shows where"
            )
            return FAILED


def _message(error: click.ClickException, words: Sequence[str]) -> str:
    """Return the message of an error, with a hint if it is one of click's."""
    text = error.format_message()
    for word in words:
        text = text.replace(word, shorten(word))
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return text
    text = text.rstrip(".")
    if error.ctx.command is app and words and is_known(words[0]):
        return f"{text}; it is a game, try {shlex.join(['regretkit', 'solve', *words])}"
    if error.ctx.command is app and words and words[0] in _ELSEWHERE:
        return f"{text.partition('. ')[0]}; {_ELSEWHERE[words[0]]}"
    extra = re.search(r"extra argument \((\S+)\)", text)
    if extra and extra[1] in ALGORITHMS:
        return f"{text}; write --algorithm {extra[1]}"
    if extra and "=" in extra[1]:
        return f"{text}; a game's arguments are written as in 'kuhn_poker(deck=5)'"
    if extra and is_known(extra[1]):
        return f"{text}; regretkit compare plays many games"
    if error.ctx.info_name == "solve" and "--exact" in words:
        return f"{text}; the command is regretkit exact"
    if error.ctx.info_name == "bench" and "--rule" in words:
        return f"{text}; write regretkit bench MODULE:CLASS"
    if any(word.startswith("--target") for word in words):
        return f"{text}; a gap to stop at is --gap"
    return f"{text}; {error.ctx.command_path} --help explains the arguments"
