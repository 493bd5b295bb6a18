"""``regretkit evaluate``: value and gap of a strategy in a file."""

from pathlib import Path
from typing import Any

import click

from regretkit.cli._arguments import GAME_HELP, PROBABILITY, NamedGame, load_strategy, name_of
from regretkit.cli._console import show, show_json
from regretkit.cli._exit_codes import DONE, Refusal
from regretkit.cli._options import game_argument, json_option, option, out_option, recall_option
from regretkit.cli._report import best_responses, numbers, value_of, write_strategy
from regretkit.display._style import number
from regretkit.evaluation import best_response_gains, threshold


@click.command(short_help="Report value and gap of a strategy in a file.", epilog=GAME_HELP)
@game_argument
@click.argument("strategy", metavar="STRATEGY")
@option("--threshold least", "First remove every action of a smaller probability.", PROBABILITY)
@option("--purify", "First keep only the most probable actions.", is_flag=True)
@out_option
@recall_option
@json_option
def evaluate(
    game: NamedGame,
    strategy: str,
    least: float | None,
    purify: bool,
    out: Path | None,
    imperfect_recall: bool,
    as_json: bool,
) -> int:
    """Report the value of a strategy, and what each player could gain against it.

    STRATEGY is a JSON file that solve or exact wrote; or uniform, which plays all actions with the
    same probability.
    """
    if purify and least is not None:
        raise Refusal(
            "--purify: it is --threshold 1, got --threshold as well; leave one of them out"
        )
    game.accept(imperfect_recall=imperfect_recall)
    played = game.played
    profile = game.coarsen(load_strategy(played, strategy))
    report: dict[str, Any] = {
        "game": name_of(played),
        "strategy": strategy,
        "imperfect_recall": game.original is not None,
    }
    if purify or least is not None:
        cleaned = threshold(played, profile, 1.0 if least is None else least)
        profile = game.coarsen(cleaned.profile)
        report["gap_before"] = cleaned.gap_before
    gained = [float(gain) for gain in best_response_gains(played, profile)]
    report |= {
        "value": value_of(played, profile),
        "gains": gained,
        "gap": sum(gained),
        "exploitability": sum(gained) / len(gained),
        "out": None if out is None else str(out),
    }
    write_strategy(profile, out)
    if as_json:
        show_json(report)
    else:
        _show(report)
    return DONE


def _show(report: dict[str, Any]) -> None:
    show(f"game            {report['game']}", f"value           {numbers(report['value'])}")
    if "gap_before" in report:
        show(f"gap before      {number(report['gap_before'])}")
    responses = best_responses(imperfect_recall=report["imperfect_recall"])
    show(
        f"gap             {number(report['gap'])} in units of payoff: what {responses} would "
        "gain, summed over players",
        f"gains           {numbers(report['gains'])}",
        f"exploitability  {number(report['exploitability'])}, the mean over players",
    )
    if report["out"] is not None:
        show(f"strategy        {report['out']}")
