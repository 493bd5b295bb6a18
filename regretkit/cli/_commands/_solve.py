"""``regretkit solve``: a new run."""

import shlex

import click

from regretkit._util._validate import quote
from regretkit.cli._arguments import GAME_HELP, Choice, NamedGame
from regretkit.cli._exit_codes import Refusal
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._options import (
    CheckpointOptions,
    Limits,
    Outputs,
    Sampling,
    algorithm_options,
    checkpoint_options,
    engine_option,
    game_argument,
    limit_options,
    output_options,
    recall_option,
    sampling_options,
)
from regretkit.cli._report import finish
from regretkit.cli._run import RunPlan


@click.command(short_help="Solve a game by self-play.", epilog=GAME_HELP)
@game_argument
@algorithm_options
@limit_options
@checkpoint_options
@output_options
@sampling_options
@recall_option
@engine_option
def solve(
    game: NamedGame,
    choice: Choice,
    limits: Limits,
    checkpoint: CheckpointOptions,
    outputs: Outputs,
    sampling: Sampling,
    imperfect_recall: bool,
    engine: str,
) -> int:
    """Solve a game by self-play, and report the gap of the average strategies.

    Without a limit it plays a thousand iterations; of several, the first one stops it. Ctrl-C ends
    the run between two iterations, saves the checkpoint, and reports the result so far.
    """
    check_new(checkpoint)
    game.accept(imperfect_recall=imperfect_recall)
    plan = RunPlan(game, choice, limits.or_default(), sampling, engine)
    run = plan.start()
    with StopRequest() as request:
        outcome = plan.play(run, request, checkpoint=checkpoint, quiet=outputs.quiet)
        return finish(outcome, outputs, checkpoint.path)


def check_new(checkpoint: CheckpointOptions) -> None:
    """Refuse to replace the checkpoint of another run."""
    if checkpoint.path is not None and checkpoint.path.exists():
        resume = shlex.join(["regretkit", "resume", str(checkpoint.path)])
        raise Refusal(
            f"--checkpoint: {quote(str(checkpoint.path))} exists already; {resume} continues it, "
            "or name another file, or delete it"
        )
