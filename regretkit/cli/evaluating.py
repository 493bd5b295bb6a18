"""``regretkit evaluate``: how good a strategy in a file is."""

from typing import Any

import click

from regretkit.cli.exits import DONE, Refusal, refusing
from regretkit.cli.files_out import STRATEGIES, checked, write_strategy
from regretkit.cli.games_in import HELP, name_of, playable_game_of
from regretkit.cli.options import game_argument, json_option, probability
from regretkit.cli.reports import value_of
from regretkit.cli.screen import number, numbers, show, show_json
from regretkit.evaluation import gains, threshold
from regretkit.games import Game, Profile

UNIFORM = "uniform"


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
@json_option
def evaluate(
    game: str, strategy: str, least: float | None, purify: bool, out: str | None, as_json: bool
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
    found = playable_game_of(game)
    profile = _profile(found, strategy)
    report: dict[str, Any] = {"game": name_of(found), "strategy": strategy}
    if purify or least is not None:
        cleaned = threshold(found, profile, 1.0 if least is None else least)
        profile = cleaned.profile
        report["gap_before"] = cleaned.gap_before
    own = [float(gain) for gain in gains(found, profile)]
    gap = sum(own)
    report |= {
        "value": value_of(found, profile),
        "gains": own,
        "gap": gap,
        "exploitability": gap / len(own),
        "out": None if path is None else str(path),
    }
    write_strategy(profile, path)
    if as_json:
        show_json(report)
    else:
        _show(report)
    return DONE


def _profile(game: Game, text: str) -> Profile:
    if text == UNIFORM:
        return Profile([domain.interior_point() for domain in game.domains], game.domains, game)
    with refusing("STRATEGY", "name a file that solve --out wrote, or uniform"):
        return Profile.from_json(text, game)


def _show(report: dict[str, Any]) -> None:
    show(f"game            {report['game']}", f"value           {numbers(report['value'])}")
    if "gap_before" in report:
        show(f"gap before      {number(report['gap_before'])}")
    show(
        f"gap             {number(report['gap'])} in units of payoff: what best responses would "
        "gain, summed over players",
        f"gains           {numbers(report['gains'])}",
        f"exploitability  {number(report['exploitability'])}, the mean over players",
    )
    if report["out"] is not None:
        show(f"strategy        {report['out']}")
