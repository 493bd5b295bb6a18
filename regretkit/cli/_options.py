"""Options that several commands share, and the values that they are gathered in."""

import functools
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click
import numpy as np
from attrs import frozen

from regretkit._util._validate import quote
from regretkit.cli._arguments import (
    COUNT,
    DEFAULT,
    FIGURE_FILE,
    FROM_ZERO,
    NAMES,
    POSITIVE,
    STRATEGY_FILE,
    Choice,
    GameType,
    NamedGame,
    OutputFile,
)
from regretkit.cli._exit_codes import Refusal
from regretkit.play import ChanceSampling, Estimator, ExternalSampling, OutcomeSampling
from regretkit.play._engines import engine_names
from regretkit.play._solve import doubt_of_reaching

Command = TypeVar("Command", bound=Callable[..., Any])

SAMPLERS: MappingProxyType[str, Callable[[np.random.Generator], Estimator]] = MappingProxyType(
    {"chance": ChanceSampling, "external": ExternalSampling, "outcome": OutcomeSampling}
)
"""The estimators that need only a generator, by name."""


@frozen
class Sampling:
    """Which estimator to use, None for exact utilities, and the seed of its draws."""

    sample: str | None
    seed: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.sample is None and self.seed is not None:
            raise Refusal(
                f"--seed: got {self.seed}, but nothing is drawn at random without --sample "
                f"{' or '.join(SAMPLERS)}; leave it out"
            )

    def estimator(self) -> Estimator | None:
        """Return a new estimator, None for exact utilities."""
        if self.sample is None:
            return None
        if self.sample not in SAMPLERS:
            raise Refusal(
                f"--sample: must be one of {', '.join(SAMPLERS)}, got {quote(self.sample)}"
            )
        return SAMPLERS[self.sample](np.random.default_rng(self.seed or 0))


@frozen
class Limits:
    """Iterations, a gap and seconds of play, each of which may be None; the first one stops."""

    iterations: int | None
    gap: float | None
    seconds: float | None

    def or_default(self) -> "Limits":
        """Return these limits, or a thousand iterations if there is none."""
        return self if any((self.iterations, self.gap, self.seconds)) else Limits(1_000, None, None)

    def check(self, game: NamedGame, choice: Choice, estimator: Estimator | None) -> None:
        """Refuse a gap as the only limit unless it is known to be reached."""
        game.check_gap(self.gap)
        if self.gap is None or self.iterations is not None or self.seconds is not None:
            return
        doubt = doubt_of_reaching(self.gap, game.played, choice.algorithm, estimator)
        if doubt is not None:
            raise Refusal(
                f"--gap: {self.gap:g} alone could go on forever: {doubt}; pass --iterations or "
                "--time as well"
            )


@frozen
class Outputs:
    """Which files to write, and how to report."""

    strategy: Path | None
    figure: Path | None
    quiet: bool
    as_json: bool


@frozen
class CheckpointOptions:
    """Where to save a run, if anywhere, and how often."""

    path: Path | None
    seconds: float


def _gathered(
    name: str, kind: Callable[..., object], **options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Return a decorator that adds options, and passes their values on as one object."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(**values: Any) -> Any:
            own = [values.pop(option) for option in options]
            return command(**values, **{name: kind(*own)})

        decorated: Any = gathered
        for option in reversed(options.values()):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


def _flag(name: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, is_flag=True, help=text)


game_argument = click.argument("game", metavar="GAME", type=GameType())
out_option = click.option(
    "--out",
    metavar="FILE",
    type=STRATEGY_FILE,
    is_eager=True,  # refused before a large game is built
    help="Write the strategy, as .json or as a table in .csv.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON object and nothing else."
)
quiet_option = _flag("--quiet", "Show no progress.")
recall_option = _flag(
    "--imperfect-recall",
    "Accept a game of imperfect recall: strategies are shared within each information set, and "
    "there is no convergence guarantee.",
)
engine_option = click.option(
    "--engine",
    type=click.Choice(engine_names()),
    default="auto",
    show_default=True,
    help="How to run the iterations; the results are the same.",
)
rule_option = click.option(
    "--rule",
    metavar="MODULE:CLASS",
    help="A rule is module:Class, with hyperparameters if needed, as in "
    "'my_rules:MyRule(power=2)'; modules are looked for in this folder too. It may also be a "
    "function from simplices to a minimizer, or an Algorithm.",
)
algorithm_options = _gathered(
    "choice",
    Choice.of,
    algorithm=click.option(
        "--algorithm", metavar="NAME", help=f"One of {NAMES}; {DEFAULT} by default."
    ),
    rule=rule_option,
)
limit_options = _gathered(
    "limits",
    Limits,
    iterations=click.option(
        "--iterations", type=COUNT, metavar="N", help="Stop after N iterations."
    ),
    gap=click.option(
        "--gap",
        type=POSITIVE,
        metavar="EPS",
        help="Stop once the gap is at most this: the gain of best responses, summed over players, "
        "in units of payoff.",
    ),
    seconds=click.option(
        "--time", "seconds", type=POSITIVE, metavar="S", help="Stop after S seconds of play."
    ),
)
output_options = _gathered(
    "outputs",
    Outputs,
    out=out_option,
    plot=click.option(
        "--plot",
        metavar="FILE",
        type=FIGURE_FILE,
        is_eager=True,
        help="Draw how the gap fell, as .svg, .pdf or .png.",
    ),
    quiet=quiet_option,
    as_json=json_option,
)
checkpoint_options = _gathered(
    "checkpoint",
    CheckpointOptions,
    path=click.option(
        "--checkpoint",
        "path",
        metavar="FILE",
        type=OutputFile(),
        is_eager=True,
        help="Save the run in this file while it plays, to resume it; resume saves in its own "
        "FILE by default.",
    ),
    every=click.option(
        "--checkpoint-every",
        "every",
        type=POSITIVE,
        metavar="S",
        default=10.0,
        show_default=True,
        help="Seconds between two checkpoints.",
    ),
)
sampling_options = _gathered(
    "sampling",
    Sampling,
    sample=click.option(
        "--sample",
        type=click.Choice(list(SAMPLERS)),
        help="Sample utilities: the chance moves, all actions but a player's own, or one play of "
        "the game. By default utilities are exact.",
    ),
    seed=click.option(
        "--seed",
        type=FROM_ZERO,
        metavar="N",
        help="The seed of the draws with --sample; 0 by default.",
    ),
)
