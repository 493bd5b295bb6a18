"""The command line: its group of commands, exit codes and error messages."""

import errno
import os
import sys
import warnings
from collections.abc import Sequence

import click

from regretkit.cli._compare import bench, compare, figure, report
from regretkit.cli._console import DONE, FAILED, say
from regretkit.cli._evaluate import evaluate, exact, verify
from regretkit.cli._games import convert, list_games, show_game, show_trace, write_page
from regretkit.cli._play import play
from regretkit.cli._solve import resume, solve

_TRACEBACK = "--traceback"
_EXIT_CODES = """\b
Exit codes:
  0    done, also after the end of the input
  1    failed: a file cannot be written, a package is missing, a rule failed
  2    an argument or a file is invalid
  3    iterations or time ended before the gap was reached
  130  interrupted by Ctrl-C: the result so far is reported, and saved with --checkpoint
"""
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(
    commands=[
        *(list_games, show_game, solve, resume, evaluate, play, exact, verify, convert),
        *(compare, bench, figure, report, show_trace, write_page),
    ],
    epilog=_EXIT_CODES,
    context_settings=_SETTINGS,
    no_args_is_help=True,
)
@click.version_option(package_name="regretkit", message="regretkit %(version)s")
@click.option(_TRACEBACK, is_flag=True, help="Show the traceback of an error.")
def app(traceback: bool) -> None:
    """Composable regret minimization for game theory, from the shell."""


def run(words: Sequence[str]) -> int:
    """Run a command, report an error in one line, and return the exit code."""
    in_full = _TRACEBACK in words  # in any position
    words = [word for word in words if word != _TRACEBACK]
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            code = app.main(args=words, prog_name="regretkit", standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else DONE
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return DONE
        except click.Abort as error:
            raise KeyboardInterrupt from error
        except click.ClickException as error:
            if in_full:
                raise
            more = ""
            if isinstance(error, click.UsageError) and error.ctx is not None:
                more = f" {error.ctx.command_path} --help explains the arguments"
            say(f"{error.format_message()}{more}")
            return error.exit_code
        except BrokenPipeError as error:  # the reader closed the pipe, as `head` does
            if error.errno == errno.EPIPE:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
