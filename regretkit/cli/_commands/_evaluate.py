"""``regretkit evaluate``: value and gap of a strategy in a file."""

from pathlib import Path
from typing import Any

import click

from regretkit.cli._arguments import (
    GAME_HELP,
    PROBABILITY,
    NamedGame,
    game_argument,
    json_option,
    option,
    out_option,
    recall_option,
)
from regretkit.cli._console import DONE, Refusal, show, show_json
from regretkit.cli._report import meaning_of_gap, numbers, value_of, write_strategy
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
    coarsened = game.original is not None
    profile = game.load_strategy(strategy)
    report: dict[str, Any] = {
        "game": game.name,
        "strategy": strategy,
        "imperfect_recall": coarsened,
    }
    before = []
    if purify or least is not None:
        cleaned = threshold(game.played, profile, 1.0 if least is None else least)
        profile = game.coarsen(cleaned.profile)
        report["gap_before"] = cleaned.gap_before
        before = [f"gap before      {number(cleaned.gap_before)}"]
    gains = [float(gain) for gain in best_response_gains(game.played, profile)]
    value, gap, mean = value_of(game.played, profile), sum(gains), sum(gains) / len(gains)
    write_strategy(profile, out)
    if as_json:
        report |= {"value": value, "gains": gains, "gap": gap, "exploitability": mean}
        show_json({**report, "out": None if out is None else str(out)})
        return DONE
    show(
        f"game            {game.name}",
        f"value           {numbers(value)}",
        *before,
        f"gap             {number(gap)} in units of payoff: "
        f"{meaning_of_gap(imperfect_recall=coarsened)}",
        f"gains           {numbers(gains)}",
        f"exploitability  {number(mean)}, the mean over players",
        *([] if out is None else [f"strategy        {out}"]),
    )
    return DONE
