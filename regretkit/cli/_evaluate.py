"""``regretkit evaluate``, ``exact`` and ``verify``: gaps, exact solutions and proofs."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from regretkit.cli import _console as console
from regretkit.cli import _types as types
from regretkit.cli._console import Failure, Refusal, Report, reason, reporting
from regretkit.cli._solve import meaning_of_gap, strategy_lines, write_strategy
from regretkit.cli._types import GAME_HELP, NamedGame, OutputFile, option
from regretkit.display._style import aligned, number, numbers
from regretkit.evaluation import (
    Certificate,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    best_response_gains,
    certify,
    certify_gaps,
    dominated_actions,
    maxmin,
    nash_conv,
    pure_equilibria,
    sampled_local_best_response,
    sampled_value,
    solve_zero_sum,
)
from regretkit.games import NormalFormGame
from regretkit.games.public import PublicGame
from regretkit.play import solve

_MOST = 20
"""Most equilibria, or outcomes of one equilibrium, to show."""
_READINGS = 3
"""Most floats to show with their fractions."""

certificate_out = option(
    "--certificate", "Write the proof in fractions, for regretkit verify.", OutputFile(".json")
)


@click.command(short_help="Report value and gap of a strategy.", epilog=GAME_HELP)
@types.game_or_rules
@click.argument("strategy", metavar="STRATEGY")
@option(
    "--threshold minimum",
    "First remove the actions with a smaller probability.",
    click.FloatRange(0.0, 1.0),
)
@option("--purify", "First keep only the most probable actions.", is_flag=True)
@option("--samples", "Without a tree, sample N games for each estimate.", types.COUNT, default=100)
@types.seed
@certificate_out
@types.strategy_out
@types.imperfect_recall
@types.as_json
def evaluate(
    game: NamedGame,
    strategy: str,
    minimum: float | None,
    purify: bool,
    samples: int,
    seed: int | None,
    certificate: Path | None,
    out: Path | None,
    imperfect_recall: bool,
) -> int:
    """Report the value of a strategy, and each player's gain from a best response.

    STRATEGY is a JSON file from solve or exact, or one of two names: "equilibrium", or "uniform",
    which gives all actions the same probability.

    If the tree does not fit into memory, both are estimates from sampled games. The gains are then
    those of local best responses, which are lower bounds.
    """
    game.accept(imperfect_recall)
    minimum = 1.0 if purify else minimum
    profile = game.strategy(strategy)
    report = Report({"game": game.name, "strategy": strategy})
    if game.by_rules:
        game.refuse_without_tree({"--certificate": certificate})
        profile = profile.threshold(minimum or 0.0)
        _estimate(game, profile, samples, seed or 0, report)
    else:
        report.add(f"game            {game.name}", imperfect_recall=game.forgets)
        if minimum is not None:
            before = float(nash_conv(game.played, profile))
            profile = profile.threshold(minimum)
            report.add(f"gap before      {number(before)}", gap_before=before)
        _measure(game, profile, report)
        if certificate:
            with reporting("--certificate"):
                _prove(certify_gaps(game.played, profile), certificate, report)
    write_strategy(profile, out)
    report.add(*[f"strategy        {out}"] * bool(out), out=out and str(out))
    return report.write()


def _measure(game: NamedGame, profile: Any, report: Report) -> None:
    """Report the value and the gap of a strategy."""
    gains = [float(gain) for gain in best_response_gains(game.played, profile)]
    value, gap, mean = game.played.value(profile).tolist(), sum(gains), sum(gains) / len(gains)
    report.add(
        f"value           {numbers(value)}",
        f"gap             {number(gap)} {meaning_of_gap(game.forgets)}",
        f"gains           {numbers(gains)}",
        f"exploitability  {number(mean)}, the mean over players",
        **{"value": value, "gains": gains, "gap": gap, "exploitability": mean},
    )


def _estimate(game: NamedGame, profile: Any, samples: int, seed: int, report: Report) -> None:
    """Report estimates of the value and the gap of a strategy."""
    with reporting("STRATEGY"):
        values = sampled_value(game.game, profile, samples, seed)
        best = [
            sampled_local_best_response(game.game, player, profile, samples, seed, rollouts=10)
            for player in range(game.players)
        ]
    for name, column in (("value", values), ("local_best_response", best)):
        errors = [estimate.standard_error if samples > 1 else None for estimate in column]
        means = [estimate.mean for estimate in column]
        report.add(**{name: means, f"{name}_standard_error": errors})
    pairs = list(zip(values, best, strict=True))
    gains = [float(b.mean - value.mean) for value, b in pairs]
    rows = [(f"player {player}", *map(str, pair)) for player, pair in enumerate(pairs)]
    report.add(
        f"game      {game.name}, without its tree: all values are estimates",
        f"samples   {samples:,} games for each estimate, from seed {seed}",
        f"gap       at least about {number(sum(gains))} in units of payoff",
        "",
        *aligned([("", "value", "with a local best response"), *rows]),
        **{"samples": samples, "seed": seed, "gains": gains, "gap": sum(gains)},
    )


@click.command(short_help="Solve a game exactly.", epilog=GAME_HELP)
@types.game
@option(
    "--concept",
    "In extensive form: the correlated equilibrium of largest welfare.",
    click.Choice(["efce", "efcce", "nfcce"]),
)
@option(
    "--finish",
    "In a zero-sum game: run an algorithm, then solve for the equilibrium of its supports.",
    is_flag=True,
)
@option(
    "--linear-program program",
    "In a zero-sum game: solve a linear program. By default, the faster of the two methods.",
    is_flag=True,
)
@option(
    "--time seconds",
    "Stop the solution, or the search for a proof, after S seconds.",
    types.POSITIVE,
)
@option("--rational", "Report the value, or payoffs and gains, as fractions.", is_flag=True)
@certificate_out
@types.strategy_out
@types.as_json
def exact(
    game: NamedGame,
    concept: Any,
    finish: bool,
    program: bool,
    seconds: float | None,
    rational: bool,
    certificate: Path | None,
    out: Path | None,
) -> int:
    """Solve a game exactly.

    For a two-player zero-sum game, report its value and strategies that prove it. For other
    two-player games and all normal forms, report each player's security level. A normal form
    also has pure equilibria, dominated actions, and the correlated equilibrium of largest welfare.
    For an extensive form, --concept computes such an equilibrium for any number of players.
    """
    if game.forgets:
        raise Refusal(f"GAME: {game.game.recall_violation}; solve --imperfect-recall plays it")
    solved: Any = game.game
    zero_sum = solved.players == 2 and solved.constant_sum is not None
    normal = isinstance(solved, NormalFormGame)
    if not zero_sum and (finish or program or out):
        only = "--finish, --linear-program and --out need a two-player zero-sum game"
        raise Refusal(f"GAME: {only}")
    if not (zero_sum or normal or concept) and (solved.players > 2 or rational or certificate):
        raise Refusal("--concept: pass efce, efcce or nfcce")
    report = Report({"game": game.name}, [f"game    {game.name}"])
    profile: Any = None
    with reporting("GAME"):
        if zero_sum:
            profile = _value(solved, report, finish, program, seconds)
        best = None if zero_sum else _general_sum(solved, report)
        if concept:
            best = _extensive_form(solved, concept, report)
        if zero_sum and (rational or certificate):
            _prove(certify(solved, profile, time_limit=seconds), certificate, report)
        elif rational or certificate:
            proof = certify_gaps(solved, best, concept or "ce", time_limit=seconds)
            _prove(proof, certificate, report)
    if profile is not None:
        write_strategy(profile, out)
        report.add(*[f"strategy written to {out}"] * bool(out))
        report.add(*strategy_lines(profile, written=out is not None))
    report.add(out=out and str(out))
    short = "out of" in report.facts.get("method", "")
    return report.write(console.SHORT_OF_GAP if short else console.DONE)


def _value(game: Any, report: Report, finish: bool, program: bool, limit: float | None) -> Any:
    """Report the value of a zero-sum game, and return strategies that prove it."""
    if program:
        solution = solve_zero_sum(game, time_limit=limit)
    else:
        limit = 60.0 if finish and limit is None else limit
        solution = solve(game, exact=True, time_limit=limit)
    lower, upper, value = solution.lower, solution.upper, solution.value
    values = [value, game.constant_sum - value]
    report.add(
        f"value   {numbers(values)}",
        f"proof   player 0 gets at least {lower:.12g}, and player 1 gives at most {upper:.12g}",
        f"by      {solution.method}, to a gap of {number(solution.gap)}",
        **{"value": values, "lower": lower, "upper": upper},
        **{"gap": solution.gap, "method": solution.method},
    )
    return solution.profile


def _general_sum(game: Any, report: Report) -> Any:
    """Report security levels; return the best correlated equilibrium of a normal form."""
    normal = isinstance(game, NormalFormGame)
    if game.players == 2 or normal:
        levels = [maxmin(game, player).value for player in range(game.players)]
        report.add(
            f"maxmin  {numbers(levels)}: the payoff that each player can guarantee", maxmin=levels
        )
    return _normal_form(game, report) if normal else None


def _extensive_form(game: Any, concept: Any, report: Report) -> Any:
    """Report the correlated equilibrium of largest welfare of an extensive form."""
    best = best_extensive_form_correlated_equilibrium(game, concept=concept)
    payoffs, optimum = best.payoffs.tolist(), {"value": best.value, "bound": best.bound}
    report.add(
        f"{concept:<7} {number(best.value)}: the largest welfare, with payoffs {numbers(payoffs)}",
        f"proof   no equilibrium has more than {best.bound:.12g}, and no player gains more than "
        f"{number(best.gap)} by deviating",
        **{concept: optimum | {"payoffs": payoffs, "gap": best.gap}},
    )
    return best


def _normal_form(game: NormalFormGame, report: Report) -> Any:
    """Report pure equilibria and dominated actions; report and return the best equilibrium."""
    names = [domain.labels.actions(0) for domain in game.domains]

    def named(outcome: Sequence[int]) -> list[str]:
        return [actions[action] for actions, action in zip(names, outcome, strict=True)]

    pure = [named(outcome) for outcome in pure_equilibria(game)]
    players = enumerate(names)
    dominated = [[own[a] for a in dominated_actions(game, player)] for player, own in players]
    report.add("", f"pure equilibria: {len(pure)}", *_first(map(", ".join, pure)))
    for player, actions in enumerate(dominated):
        if actions:
            report.add(f"strictly dominated for player {player}: {', '.join(actions)}")
    best = best_correlated_equilibrium(game)
    outcomes: list[dict[str, Any]] = [
        {"actions": named(outcome), "probability": float(best.distribution[tuple(outcome)])}
        for outcome in np.argwhere(best.distribution > 0.0).tolist()
    ]
    payoffs = best.payoffs.tolist()
    title = f"correlated equilibrium of largest welfare, with payoffs {numbers(payoffs)}"
    shown = (f"{number(row['probability'])}  {', '.join(row['actions'])}" for row in outcomes)
    report.add("", title, *_first(shown), pure_equilibria=pure, strictly_dominated=dominated)
    optimum = {"payoffs": payoffs, "gap": best.gap, "outcomes": outcomes}
    report.add(best_correlated_equilibrium=optimum)
    return best


def _first(lines: Iterable[str]) -> list[str]:
    listed = [f"  {line}" for line in lines]
    remaining = len(listed) - _MOST
    return listed if remaining <= 0 else [*listed[:_MOST], f"  ... {remaining} more"]


# Proofs


def _prove(proof: Certificate, path: Path | None, report: Report) -> None:
    """Report and write a certificate."""
    _describe(proof, report)
    report.add(certificate=path and str(path))
    if path is not None:
        with reporting("--certificate", Failure):
            proof.to_json(path)
        report.add(f"certificate written to {path}")


def _describe(proof: Certificate, report: Report) -> None:
    """Report the claims of a certificate."""
    if proof.notion == "value":
        report.add(f"exactly {proof.value}", fraction=str(proof.value))
    else:
        earned, gaps = ([*map(str, values)] for values in (proof.lower, proof.gaps))
        report.add(f"exactly {proof}", notion=proof.notion, earned=earned, gaps=gaps)
    meant = [f"{value:g} as {_short(read)}" for value, read in proof.readings.items()]
    remaining = [f"{len(meant) - _READINGS} more"] if len(meant) > _READINGS else []
    report.add(*([f"read    {', '.join(meant[:_READINGS] + remaining)}"] if meant else []))
    report.add(readings={repr(value): str(read) for value, read in proof.readings.items()})


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) < 40 else f"a fraction of {len(text) - 1} digits"


@click.command(short_help="Check a certificate in fractions.", epilog=GAME_HELP)
@click.argument("certificate", metavar="CERTIFICATE")
@types.game
@types.as_json
def verify(certificate: str, game: NamedGame) -> int:
    """Check CERTIFICATE, a file from exact or evaluate, in fractions.

    All numbers are computed again from the game. For a public game, from its tree.
    """
    try:
        proof = Certificate.from_json(certificate)
        proof.verify(game.game.to_tree() if isinstance(game.game, PublicGame) else game.game)
    except (MemoryError, OSError, TypeError, ValueError) as error:
        raise Failure(f"CERTIFICATE: {reason(error)}") from error
    report = Report({"game": game.name, "certificate": certificate}, [f"game    {game.name}"])
    _describe(proof, report)
    report.add("proven")
    return report.write()
