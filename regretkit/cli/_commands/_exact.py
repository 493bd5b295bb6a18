"""``regretkit exact``: solutions by linear programming."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from regretkit.cli._arguments import GAME_HELP, NamedGame, name_of
from regretkit.cli._console import clean, show, show_json
from regretkit.cli._exit_codes import DONE, Refusal, failing
from regretkit.cli._options import game_argument, json_option, out_option
from regretkit.cli._report import facts_of, numbers, show_strategy, write_strategy
from regretkit.display._style import number
from regretkit.evaluation import (
    best_correlated_equilibrium,
    dominated_actions,
    maxmin,
    pure_equilibria,
    solve_zero_sum,
)
from regretkit.games import NormalFormGame, Profile

_MOST = 20
"""Equilibria, or outcomes of one, that are shown at most."""


@click.command(short_help="Solve a game exactly, by linear programming.", epilog=GAME_HELP)
@game_argument
@out_option
@json_option
def exact(game: NamedGame, out: Path | None, as_json: bool) -> int:
    """Report what is known exactly about a game, by linear programming.

    For a two-player zero-sum game that is its value, with strategies that prove it. For any other
    two-player game, and any in normal form, it is the security level of each player; and in normal
    form pure equilibria, dominated actions, and the correlated equilibrium of largest welfare.
    """
    if game.original is not None:
        raise Refusal(
            f"GAME: {game.original.recall_violation}; such games are not solved exactly, but "
            "regretkit solve --imperfect-recall plays them, without a convergence guarantee"
        )
    found: Any = game.game
    facts, profile = facts_of(found), None
    with failing("exact"):
        if facts["constant_sum"] is not None and facts["players"] == 2:
            report, profile = _value(found)
        else:
            report = _security_levels(found, facts["players"])
    if profile is None and out is not None:
        raise Refusal(
            f"--out: {name_of(found)} is no zero-sum game of two players, and so no strategy is "
            "its solution; leave it out"
        )
    if profile is not None:
        write_strategy(profile, out)
    report["out"] = None if out is None else str(out)
    if as_json:
        show_json(report)
    else:
        _show(report, profile)
    return DONE


def _value(game: Any) -> tuple[dict[str, Any], Profile]:
    solution = solve_zero_sum(game)
    report = {
        "game": name_of(game),
        "value": [solution.value, game.constant_sum - solution.value],
        "lower": solution.lower,
        "upper": solution.upper,
        "gap": solution.gap,
    }
    return report, solution.profile


def _security_levels(game: Any, players: int) -> dict[str, Any]:
    """Return what is known of games that are not zero-sum, or have more than two players."""
    is_normal = isinstance(game, NormalFormGame)
    if not is_normal and players != 2:
        raise Refusal(
            f"GAME: {name_of(game)} has {players} players and is in extensive form, and so is not "
            "solved exactly; regretkit solve plays it, and measures the gap"
        )
    levels = [maxmin(game, player).value for player in range(players)]
    return {"game": name_of(game), "maxmin": levels} | (_normal_form(game) if is_normal else {})


def _normal_form(game: NormalFormGame) -> dict[str, Any]:
    names = [list(map(clean, domain.labels.actions(0))) for domain in game.domains]

    def named(outcome: Sequence[int]) -> list[str]:
        return [actions[action] for actions, action in zip(names, outcome, strict=True)]

    best = best_correlated_equilibrium(game)
    support = [tuple(outcome) for outcome in np.argwhere(best.distribution > 0.0).tolist()]
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
                {"actions": named(outcome), "probability": float(best.distribution[outcome])}
                for outcome in support
            ],
        },
    }


def _show(report: dict[str, Any], profile: Profile | None) -> None:
    show(f"game    {report['game']}")
    if profile is not None:
        show(
            f"value   {numbers(report['value'])}",
            f"proof   player 0 gets at least {report['lower']:.12g}, and player 1 gives at most "
            f"{report['upper']:.12g}",
        )
        if report["out"] is not None:
            show(f"strategy written to {report['out']}")
        show_strategy(profile, written=report["out"] is not None)
        return
    show(f"maxmin  {numbers(report['maxmin'])}: what each player is sure to get")
    if "pure_equilibria" in report:
        _show_normal_form(report)


def _show_normal_form(report: dict[str, Any]) -> None:
    pure = report["pure_equilibria"]
    show("", f"pure equilibria: {len(pure)}", *_first(", ".join(outcome) for outcome in pure))
    for player, actions in enumerate(report["strictly_dominated"]):
        if actions:
            show(f"strictly dominated for player {player}: {', '.join(actions)}")
    best = report["best_correlated_equilibrium"]
    outcomes = ((row["probability"], row["actions"]) for row in best["outcomes"])
    lines = (f"{number(probability)}  {', '.join(actions)}" for probability, actions in outcomes)
    title = f"correlated equilibrium of largest welfare, which pays {numbers(best['payoffs'])}"
    show("", title, *_first(lines))


def _first(lines: Iterable[str]) -> list[str]:
    listed = [f"  {line}" for line in lines]
    more = len(listed) - _MOST
    return listed if more <= 0 else [*listed[:_MOST], f"  ... {more} more"]
