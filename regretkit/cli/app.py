"""The commands, all together."""

import click

from regretkit.cli.comparing import compare
from regretkit.cli.converting import convert
from regretkit.cli.evaluating import evaluate
from regretkit.cli.exactly import exact
from regretkit.cli.playing import play
from regretkit.cli.resuming import resume
from regretkit.cli.showing import list_games, show_game
from regretkit.cli.solving import solve

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
