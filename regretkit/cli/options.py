"""Options that several commands share, and the kinds of their values."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._validate import quote
from regretkit.cli.algorithms_in import NAMES, RULE_HELP
from regretkit.cli.sampling_in import SAMPLERS
from regretkit.play._engines import engine_names

Command = TypeVar("Command", bound=Callable[..., Any])


def count(text: object) -> int:
    """Return a whole number, at least 1."""
    number = _float(str(text).replace(",", ""))
    if not (1.0 <= number < 2.0**53 and number.is_integer()):
        raise click.BadParameter(f"must be a whole number, at least 1, got {quote(str(text))}")
    return int(number)


def positive(text: object) -> float:
    """Return a finite number above 0."""
    number = _float(text)
    if not 0.0 < number < math.inf:
        raise click.BadParameter(f"must be a finite number above 0, got {quote(str(text))}")
    return number


def probability(text: object) -> float:
    """Return a number from 0 to 1."""
    number = _float(text)
    if not 0.0 <= number <= 1.0:
        raise click.BadParameter(f"must be a number from 0 to 1, got {quote(str(text))}")
    return number


def _float(text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        return math.nan


def from_zero(text: object) -> int:
    """Return a whole number, at least 0."""
    number = _float(text)
    if not (0.0 <= number < 2.0**53 and number.is_integer()):
        raise click.BadParameter(f"must be a whole number, at least 0, got {quote(str(text))}")
    return int(number)


def complete_game(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return how the name of a game may go on, for shells that ask."""
    found = [CompletionItem(name) for name in games.names() if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


every_option = click.option(
    "--checkpoint-every",
    "every",
    type=positive,
    metavar="S",
    default=10.0,
    show_default=True,
    help="Seconds between two checkpoints.",
)

game_argument = click.argument("game", metavar="GAME", shell_complete=complete_game)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write one object of JSON and nothing else."
)


quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")


def limits(command: Command) -> Command:
    """Add the options that say when to stop."""
    added = [
        click.option("--iterations", type=count, metavar="N", help="Stop after N iterations."),
        click.option(
            "--gap",
            type=positive,
            metavar="EPS",
            help="Stop once the gap is this small: what best responses would gain, summed over "
            "players, in units of payoff.",
        ),
        click.option(
            "--time",
            "seconds",
            type=positive,
            metavar="S",
            help="Stop after S seconds of play.",
        ),
    ]
    for option in reversed(added):
        command = option(command)
    return command


def outputs(command: Command) -> Command:
    """Add the options that say what to write."""
    added = [
        click.option(
            "--out", metavar="FILE", help="Write the strategy, as .json or as a table in .csv."
        ),
        click.option(
            "--plot", metavar="FILE", help="Draw how the gap fell, as .svg, .pdf or .png."
        ),
        quiet_option,
        json_option,
    ]
    for option in reversed(added):
        command = option(command)
    return command


algorithm_option = click.option(
    "--algorithm", metavar="NAME", help=f"One of {NAMES}; cfr+ if nothing else is said."
)


def sampling(command: Command) -> Command:
    """Add the options that say what is drawn at random."""
    added = [
        click.option(
            "--sample",
            type=click.Choice(list(SAMPLERS)),
            help="Learn from drawn utilities: of drawn chance moves, of all but one's own actions, "
            "or of one play of the game. By default nothing is drawn.",
        ),
        click.option(
            "--seed",
            type=from_zero,
            metavar="N",
            help="What to draw from with --sample; 0 by default.",
        ),
    ]
    for option in reversed(added):
        command = option(command)
    return command


rule_option = click.option("--rule", metavar="MODULE:CLASS", help=RULE_HELP)
engine_option = click.option(
    "--engine",
    type=click.Choice(engine_names()),
    default="auto",
    show_default=True,
    help="How to run the iterations; they all mean the same.",
)
