"""``regretkit exact``: what linear programs say about a game."""

from typing import Any

import click
import numpy as np

from regretkit.cli.exits import DONE, Refusal, failing
from regretkit.cli.files_out import STRATEGIES, checked, write_strategy
from regretkit.cli.games_in import HELP, facts_of, game_of, name_of
from regretkit.cli.options import game_argument, json_option
from regretkit.cli.recall import why
from regretkit.cli.reports import show_strategy
from regretkit.cli.screen import clean, number, numbers, show, show_json
from regretkit.evaluation import (
    best_correlated_equilibrium,
    dominated_actions,
    maxmin,
    pure_equilibria,
    solve_zero_sum,
)
from regretkit.games import Game, ImperfectRecallGame, NormalFormGame, Profile

_MOST = 20
"""Equilibria, or outcomes of one, that are shown at most."""


@click.command(short_help="Solve a game exactly, by linear programming.", epilog=HELP)
@game_argument
@click.option("--out", metavar="FILE", help="Write the strategy, as .json or as a table in .csv.")
@json_option
def exact(game: str, out: str | None, as_json: bool) -> int:
    """Say what can be said exactly about a game, by linear programming.

    Of a zero-sum game of two players that is its value, with strategies that prove it. Of any
    other game of two players, and of any in normal form, it is what each player is sure of; and
    in normal form pure equilibria, dominated actions, and the correlated equilibrium of the
    largest welfare.
    """
    path = checked(out, "--out", STRATEGIES)
    found = game_of(game)
    if isinstance(found, ImperfectRecallGame):
        raise Refusal(
            f"GAME: {why(found)}; nothing is solved exactly here, but regretkit solve "
            "--imperfect-recall plays it, and promises nothing"
        )
    profile = None
    with failing("exact"):
        if facts_of(found)["constant_sum"] is not None and _players(found) == 2:
            report, profile = _value(found)
        else:
            report = _guarantees(found)
    if profile is None and path is not None:
        raise Refusal(
            f"--out: {name_of(found)} is no zero-sum game of two players, so that no strategy is "
            "its solution; leave it out"
        )
    if profile is not None:
        write_strategy(profile, path)
    report["out"] = None if path is None else str(path)
    if as_json:
        show_json(report)
    else:
        _show(report, profile)
    return DONE


def _players(game: Game) -> int:
    return len(game.domains)


def _value(game: Any) -> tuple[dict[str, Any], Profile]:
    found = solve_zero_sum(game)
    report = {
        "game": name_of(game),
        "value": [found.value, game.constant_sum - found.value],
        "lower": found.lower,
        "upper": found.upper,
        "gap": found.gap,
    }
    return report, found.profile


def _guarantees(game: Any) -> dict[str, Any]:
    """Return what is known of games that are not zero-sum, or have more than two players."""
    normal = isinstance(game, NormalFormGame)
    if not normal and _players(game) != 2:
        raise Refusal(
            f"GAME: {name_of(game)} has {_players(game)} players and is in extensive form, where "
            "nothing is solved exactly; regretkit solve plays it, and measures the gap"
        )
    report: dict[str, Any] = {
        "game": name_of(game),
        "maxmin": [maxmin(game, player).value for player in range(_players(game))],
    }
    return report | _of_table(game) if normal else report


def _of_table(game: NormalFormGame) -> dict[str, Any]:
    names = [list(map(clean, domain.labels.actions(0))) for domain in game.domains]

    def named(outcome: Any) -> list[str]:
        return [names[player][action] for player, action in enumerate(outcome)]

    best = best_correlated_equilibrium(game)
    played = [tuple(int(i) for i in place) for place in np.argwhere(best.distribution > 0.0)]
    return {
        "pure_equilibria": [named(outcome) for outcome in pure_equilibria(game)],
        "strictly_dominated": [
            [names[player][action] for action in dominated_actions(game, player)]
            for player in range(game.players)
        ],
        "best_correlated_equilibrium": {
            "payoffs": best.payoffs.tolist(),
            "gap": best.gap,
            "outcomes": [
                {"actions": named(place), "probability": float(best.distribution[place])}
                for place in played
            ],
        },
    }


def _show(report: dict[str, Any], profile: Profile | None) -> None:
    show(f"game    {report['game']}")
    if profile is not None:
        show(
            f"value   {numbers(report['value'])}",
            f"proof   player 0 is sure of {report['lower']:.12g}, and player 1 gives no more than "
            f"{report['upper']:.12g}",
        )
        if report["out"] is not None:
            show(f"strategy written to {report['out']}")
        show_strategy(profile, written=report["out"] is not None)
        return
    show(f"maxmin  {numbers(report['maxmin'])}: what each player is sure of, whatever others do")
    if "pure_equilibria" in report:
        _show_table(report)


def _show_table(report: dict[str, Any]) -> None:
    pure = report["pure_equilibria"]
    show("", f"pure equilibria: {len(pure)}", *_some(", ".join(outcome) for outcome in pure))
    for player, actions in enumerate(report["strictly_dominated"]):
        if actions:
            show(f"strictly dominated for player {player}: {', '.join(actions)}")
    best = report["best_correlated_equilibrium"]
    show(
        "", f"correlated equilibrium of the largest welfare, which pays {numbers(best['payoffs'])}"
    )
    show(
        *_some(
            f"{number(row['probability'])}  {', '.join(row['actions'])}" for row in best["outcomes"]
        )
    )


def _some(lines: Any) -> list[str]:
    listed = [f"  {line}" for line in lines]
    more = len(listed) - _MOST
    return listed if more <= 0 else [*listed[:_MOST], f"  ... {more} more"]
