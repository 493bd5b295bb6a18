"""``regretkit solve``: a run from a shell."""

import click

from regretkit.cli.algorithms_in import chosen, started
from regretkit.cli.finishing import Outputs, saving_to
from regretkit.cli.games_in import HELP, settled
from regretkit.cli.journal import Journal
from regretkit.cli.limits import Limits
from regretkit.cli.options import (
    algorithm_option,
    engine_option,
    every_option,
    game_argument,
    limits,
    outputs,
    rule_option,
    sampling,
)
from regretkit.cli.recall import found_game, recall_option
from regretkit.cli.running import play
from regretkit.cli.sampling_in import estimator_of
from regretkit.cli.stopping import Stopping


@click.command(short_help="Solve a game by self-play.", epilog=HELP)
@game_argument
@algorithm_option
@rule_option
@limits
@click.option("--checkpoint", metavar="FILE", help="Save the run here as it goes, to resume it.")
@every_option
@outputs
@sampling
@recall_option
@engine_option
def solve(
    game: str,
    algorithm: str | None,
    rule: str | None,
    iterations: int | None,
    gap: float | None,
    seconds: float | None,
    checkpoint: str | None,
    every: float,
    out: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
    sample: str | None,
    seed: int | None,
    forgetful: bool,
    engine: str,
) -> int:
    """Solve a game by self-play, and say how good the average strategy is.

    Without a limit it plays a thousand iterations; of several, the first one stops it. Ctrl-C ends
    the run between two iterations, saves the checkpoint, and reports what was reached.
    """
    saving = saving_to(checkpoint, every, new=True)
    wanted = Outputs.asked(out, plot, quiet=quiet, as_json=as_json)
    choice = chosen(algorithm, rule)
    found = found_game(game, forgetful=forgetful)
    stops = Limits(iterations, gap, seconds).or_default()
    estimator = estimator_of(sample, seed)
    stops.check(found, choice, estimator)
    run = started(
        choice,
        found,
        horizon=stops.iterations,
        engine=engine,
        estimator=estimator,
    )
    with Stopping() as stopping:
        journal = Journal(stopping.asked)
        journal.game, journal.algorithm, journal.rule = settled(game), choice.name, choice.rule
        journal.sample, journal.forgetful = sample, found.forgetful
        stops.put_into(journal)
        return wanted.write(play(run, journal, stopping, saving=saving, quiet=quiet), saving)
