"""``regretkit evaluate``: how good a strategy in a file is."""

from typing import Any

import click

from regretkit.cli.exits import DONE, Refusal
from regretkit.cli.files_out import STRATEGIES, checked, write_strategy
from regretkit.cli.games_in import HELP, name_of
from regretkit.cli.options import game_argument, json_option, probability
from regretkit.cli.recall import found_game, recall_option, responses
from regretkit.cli.reports import value_of
from regretkit.cli.screen import number, numbers, show, show_json
from regretkit.cli.strategies_in import profile_of
from regretkit.evaluation import best_response_gains, threshold


@click.command(short_help="Say how good a strategy in a file is.", epilog=HELP)
@game_argument
@click.argument("strategy", metavar="STRATEGY")
@click.option(
    "--threshold",
    "least",
    type=probability,
    metavar="P",
    help="First leave out every action that is played less often than this.",
)
@click.option("--purify", is_flag=True, help="First keep the most probable actions only.")
@click.option("--out", metavar="FILE", help="Write the strategy, as .json or as a table in .csv.")
@recall_option
@json_option
def evaluate(
    game: str,
    strategy: str,
    least: float | None,
    purify: bool,
    out: str | None,
    forgetful: bool,
    as_json: bool,
) -> int:
    """Say what a strategy earns, and how much each player could gain against it.

    STRATEGY is a file that solve or exact wrote, in JSON; or uniform, which is to do everything
    equally often.
    """
    path = checked(out, "--out", STRATEGIES)
    if purify and least is not None:
        raise Refusal(
            "--purify: it is --threshold 1, got --threshold as well; leave one of them out"
        )
    taken = found_game(game, forgetful=forgetful)
    found = taken.game
    profile = taken.forgotten(profile_of(found, strategy))
    report: dict[str, Any] = {
        "game": name_of(found),
        "strategy": strategy,
        "imperfect_recall": taken.forgetful is not None,
    }
    if purify or least is not None:
        cleaned = threshold(found, profile, 1.0 if least is None else least)
        profile = taken.forgotten(cleaned.profile)
        report["gap_before"] = cleaned.gap_before
    own = [float(gain) for gain in best_response_gains(found, profile)]
    report |= {
        "value": value_of(found, profile),
        "gains": own,
        "gap": sum(own),
        "exploitability": sum(own) / len(own),
        "out": None if path is None else str(path),
    }
    write_strategy(profile, path)
    if as_json:
        show_json(report)
    else:
        _show(report)
    return DONE


def _show(report: dict[str, Any]) -> None:
    show(f"game            {report['game']}", f"value           {numbers(report['value'])}")
    if "gap_before" in report:
        show(f"gap before      {number(report['gap_before'])}")
    show(
        f"gap             {number(report['gap'])} in units of payoff: what "
        f"{responses(report['imperfect_recall'])} would gain, summed over players",
        f"gains           {numbers(report['gains'])}",
        f"exploitability  {number(report['exploitability'])}, the mean over players",
    )
    if report["out"] is not None:
        show(f"strategy        {report['out']}")
