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
    GAP,
    NAMES,
    SECONDS,
    STRATEGY_FILE,
    Choice,
    GameType,
    NamedGame,
    OutputFile,
)
from regretkit.cli._exit_codes import Refusal
from regretkit.play import ChanceSampling, Estimator, ExternalSampling, OutcomeSampling
from regretkit.play._algorithms import doubt_of_reaching
from regretkit.play._engines import engine_names

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
            arguments = [values.pop(option) for option in options]
            return command(**values, **{name: kind(*arguments)})

        decorated: Any = gathered
        for option in reversed(options.values()):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


def option(names: str, text: str, kind: Any = None, **more: Any) -> Callable[[Command], Command]:
    """Return an option; files are refused first, before a large game is built."""
    eager = isinstance(kind, OutputFile)
    return click.option(*names.split(), type=kind, help=text, is_eager=eager, **more)


game_argument = click.argument("game", type=GameType())
out_option = option("--out", "Write the strategy, as .json or as a table in .csv.", STRATEGY_FILE)
json_option = option("--json as_json", "Write one JSON object and nothing else.", is_flag=True)
quiet_option = option("--quiet", "Show no progress.", is_flag=True)
recall_option = option(
    "--imperfect-recall",
    "Accept a game of imperfect recall: strategies are shared within each information set, and "
    "there is no convergence guarantee.",
    is_flag=True,
)
engine_option = option(
    "--engine",
    "How to run the iterations; the results are the same.",
    click.Choice(engine_names()),
    default="auto",
)
rule_option = option(
    "--rule",
    "A rule is module:Class, with hyperparameters if needed, as in 'my_rules:MyRule(power=2)'; "
    "modules are looked for in this folder too. It may also be a function from simplices to a "
    "minimizer, or an Algorithm.",
    metavar="MODULE:CLASS",
)
algorithm_options = _gathered(
    "choice",
    Choice.of,
    algorithm=option("--algorithm", f"One of {NAMES}; {DEFAULT} by default.", metavar="NAME"),
    rule=rule_option,
)
limit_options = _gathered(
    "limits",
    Limits,
    iterations=option("--iterations", "Stop after N iterations.", COUNT),
    gap=option(
        "--gap",
        "Stop once the gap is at most this: the gain of best responses, summed over players, in "
        "units of payoff.",
        GAP,
    ),
    seconds=option("--time seconds", "Stop after S seconds of play.", SECONDS),
)
output_options = _gathered(
    "outputs",
    Outputs,
    out=out_option,
    plot=option("--plot", "Draw how the gap fell, as .svg, .pdf or .png.", FIGURE_FILE),
    quiet=quiet_option,
    as_json=json_option,
)
checkpoint_options = _gathered(
    "checkpoint",
    CheckpointOptions,
    path=option(
        "--checkpoint path",
        "Save the run in this file while it plays, to resume it; resume saves in its own FILE by "
        "default.",
        OutputFile(),
    ),
    every=option(
        "--checkpoint-every every", "Seconds between two checkpoints.", SECONDS, default=10.0
    ),
)
sampling_options = _gathered(
    "sampling",
    Sampling,
    sample=option(
        "--sample",
        "Sample utilities: the chance moves, all actions but a player's own, or one play of the "
        "game. By default utilities are exact.",
        click.Choice(list(SAMPLERS)),
    ),
    seed=option("--seed", "The seed of the draws with --sample; 0 by default.", FROM_ZERO),
)
