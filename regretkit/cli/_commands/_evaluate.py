"""``regretkit evaluate``, ``exact`` and ``verify``: gaps, linear programs, and their proofs."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from regretkit._util._errors import printable
from regretkit.cli import _arguments as arguments
from regretkit.cli import _console as console
from regretkit.cli._arguments import COUNT, FROM_ZERO, GAME_HELP, NamedGame, OutputFile, option
from regretkit.cli._console import Failure, Refusal, reason, reporting, slow_notice, table
from regretkit.cli._run import Told, meaning_of_gap, strategy_lines, write_strategy
from regretkit.display._style import number, numbers
from regretkit.evaluation import (
    Certificate,
    CorrelatedEquilibrium,
    ExtensiveFormCorrelatedEquilibrium,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    best_response_gains,
    certify,
    certify_gaps,
    dominated_actions,
    maxmin,
    pure_equilibria,
    sampled_local_best_response,
    sampled_value,
    solve_zero_sum,
    threshold,
)
from regretkit.evaluation.correlated._programs import Concept
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, VisitedProfile
from regretkit.games.public import PublicGame
from regretkit.play import solve

_MOST = 20
"""Equilibria, or outcomes of one, that are shown at most."""


@click.command(short_help="Report value and gap of a strategy in a file.", epilog=GAME_HELP)
@arguments.game_or_rules
@click.argument("strategy", metavar="STRATEGY")
@option(
    "--threshold minimum",
    "First remove every action of a smaller probability.",
    arguments.PROBABILITY,
)
@option("--purify", "First keep only the most probable actions.", is_flag=True)
@option("--samples", "Without a tree, play N games for each number; 100 by default.", COUNT)
@option("--seed", "The seed of the samples; 0 by default.", FROM_ZERO)
@option(
    "--certificate",
    "Write the gains in fractions into this file, for regretkit verify.",
    OutputFile(".json"),
)
@arguments.strategy_out
@arguments.imperfect_recall
@arguments.as_json
def evaluate(
    game: NamedGame,
    strategy: str,
    minimum: float | None,
    purify: bool,
    samples: int | None,
    seed: int | None,
    certificate: Path | None,
    out: Path | None,
    imperfect_recall: bool,
) -> int:
    """Report the value of a strategy, and what each player could gain against it.

    STRATEGY is a JSON file that solve or exact wrote; or uniform, which plays all actions with the
    same probability.

    Where the tree does not fit, both are estimated: the value by playing the game, and the gains by
    sampled local best responses, which gain less than best responses.
    """
    if purify and minimum is not None:
        raise Refusal(
            "--purify: it is --threshold 1, got --threshold as well; leave one of them out"
        )
    game.accept(imperfect_recall=imperfect_recall)
    recall = game.original is not None
    if certificate and (recall or not isinstance(game.played, NormalFormGame | ExtensiveFormGame)):
        raise Refusal(f"--certificate: {game.name} has no tree of perfect recall; leave it out")
    for name, given in (("samples", samples), ("seed", seed)):
        if given is not None and not game.by_rules:
            raise Refusal(f"--{name}: got {given}, but with the tree all is exact; leave it out")
    minimum = 1.0 if purify else minimum
    profile = game.load_strategy(strategy)
    if game.by_rules:
        played = profile.threshold(minimum or 0.0)
        write_strategy(played, out, game.game)
        told = _estimates(game, played, samples or 100, seed or 0)
        told.tell(strategy=strategy, out=out and str(out))
        return told.answer()
    told = Told({"game": game.name, "strategy": strategy, "imperfect_recall": recall}, [])
    gap_before = None
    if minimum is not None:
        cleaned = threshold(game.played, profile, minimum)
        profile, gap_before = game.coarsen(cleaned.profile), cleaned.gap_before
        told.tell(gap_before=gap_before)
    write_strategy(profile, out)
    _measure(game, profile, gap_before, told)
    told.tell(*([] if out is None else [f"strategy        {out}"]))
    if certificate:
        write_certificate(certify_gaps(game.played, profile), certificate, told)
    told.tell(out=out and str(out))
    return told.answer()


def _measure(game: NamedGame, profile: Profile, gap_before: float | None, told: Told) -> None:
    """Tell the value and the gap of a strategy."""
    gains = [float(gain) for gain in best_response_gains(game.played, profile)]
    value, gap, mean = game.played.value(profile).tolist(), sum(gains), sum(gains) / len(gains)
    meaning = meaning_of_gap(imperfect_recall=game.original is not None)
    told.tell(
        f"game            {game.name}",
        f"value           {numbers(value)}",
        *([] if gap_before is None else [f"gap before      {number(gap_before)}"]),
        f"gap             {number(gap)} in units of payoff: {meaning}",
        f"gains           {numbers(gains)}",
        f"exploitability  {number(mean)}, the mean over players",
        **{"value": value, "gains": gains, "gap": gap, "exploitability": mean},
    )


def _estimates(game: NamedGame, profile: VisitedProfile, samples: int, seed: int) -> Told:
    """Return what playing the game tells about a strategy."""
    with slow_notice("playing the game takes a while; Ctrl-C ends it"), reporting("STRATEGY"):
        values = sampled_value(game.played, profile, samples, seed)
        best = [
            sampled_local_best_response(game.played, player, profile, samples, seed, rollouts=10)
            for player in range(game.players)
        ]
    report: dict[str, Any] = {"game": game.name, "samples": samples, "seed": seed}
    for name, column in (("value", values), ("local_best_response", best)):
        report[name] = [estimate.mean for estimate in column]
        errors = [estimate.standard_error if samples > 1 else None for estimate in column]
        report[f"{name}_standard_error"] = errors
    pairs = list(zip(values, best, strict=True))
    gains = [float(b.mean - value.mean) for value, b in pairs]
    rows = [(f"player {player}", *map(str, pair)) for player, pair in enumerate(pairs)]
    lines = [
        f"game      {game.name}, without its tree: all numbers are estimates",
        f"samples   {samples:,} games for each number, from seed {seed}",
        f"gap       more than about {number(sum(gains))} in units of payoff",
        "",
        *table(("", "value", "with a local best response"), rows, right=(), soft=0),
    ]
    return Told(report | {"gains": gains, "gap": sum(gains)}, lines)


_ASKED = {
    **{"out": "--out", "finish": "--finish", "linear_program": "--linear-program"},
    **{"seconds": "--time", "rational": "--rational", "certificate": "--certificate"},
}
"""By their names here, the options that only some games take, in the order of their refusal."""


@click.command(short_help="Solve a game exactly.", epilog=GAME_HELP)
@arguments.game
@option(
    "--concept",
    "Of a game in extensive form, report the correlated equilibrium of largest welfare too.",
    click.Choice(get_args(Concept)),
)
@option("--finish", "Of a zero-sum game: play to the end.", is_flag=True)
@option(
    "--linear-program",
    "Of a zero-sum game: solve a linear program; by default what is faster.",
    is_flag=True,
)
@option("--time seconds", "Play, or look for a proof, for S seconds at most.", arguments.SECONDS)
@option("--rational", "Report the value, or payoffs and gains, as fractions.", is_flag=True)
@option(
    "--certificate",
    "Write the proof of these fractions into this file, for regretkit verify.",
    OutputFile(".json"),
)
@arguments.strategy_out
@arguments.as_json
def exact(game: NamedGame, concept: Concept | None, out: Path | None, **asked: Any) -> int:
    """Report what is known exactly about a game.

    For a two-player zero-sum game that is its value, with strategies that prove it. For any other
    two-player game, and any in normal form, it is the security level of each player; and in normal
    form pure equilibria, dominated actions, and the correlated equilibrium of largest welfare.
    In extensive form --concept asks for that, efce, efcce or nfcce, of any number of players.
    """
    if game.original is not None:
        raise Refusal(
            f"GAME: {game.original.recall_violation}; such games are not solved exactly, but "
            "regretkit solve --imperfect-recall plays them, without a convergence guarantee"
        )
    solved, seconds, certificate = game.played, asked["seconds"], asked["certificate"]
    zero_sum = solved.players == 2 and solved.constant_sum is not None
    normal, proven = isinstance(solved, NormalFormGame), asked["rational"] or certificate
    names = [option for name, option in _ASKED.items() if (asked | {"out": out})[name]]
    _check_questions(game, concept, zero_sum, names)
    told = Told({"game": game.name}, [f"game    {game.name}"])
    profile: Profile | None = None
    with reporting("exact", Failure):
        if zero_sum:
            profile = _value(solved, told, names, seconds)
            if proven:
                write_certificate(certify(solved, profile, time_limit=seconds), certificate, told)
        best = None if zero_sum else _general_sum(solved, told)
        if concept:
            best = _extensive_form(solved, concept, told)
        elif not zero_sum and not normal:
            told.tell("--concept efce reports the correlated equilibrium of largest welfare")
        if proven and not zero_sum:
            proof = certify_gaps(solved, best, concept or "ce", time_limit=seconds)
            write_certificate(proof, certificate, told)
    if profile is not None:
        write_strategy(profile, out)
        told.tell(*([] if out is None else [f"strategy written to {out}"]))
        told.tell(*strategy_lines(profile, written=out is not None))
    told.tell(out=out and str(out))
    told.answer()
    return console.SHORT_OF_GAP if "out of" in told.facts.get("method", "") else console.DONE


def _check_questions(
    game: NamedGame, concept: str | None, zero_sum: bool, asked: Sequence[str]
) -> None:
    """Refuse what is asked of another kind of game, and two methods at once."""
    if {"--finish", "--linear-program"} <= {*asked}:
        raise Refusal("--finish: got --linear-program as well; leave one of them out")
    solved, name = game.played, game.name
    if isinstance(solved, PublicGame):
        program = "--linear-program" in asked
        if concept or program or not zero_sum:
            given = "--concept" if concept else "--linear-program" if program else "GAME"
            raise Refusal(
                f"{given}: {name} is a public game; if it is zero-sum, exact reports its "
                "value, strategies and proof, and in Python all else takes its tree, game.to_tree()"
            )
        return
    normal = isinstance(solved, NormalFormGame)
    if concept and normal:
        raise Refusal(
            f"--concept: {name} is in normal form, whose correlated equilibrium is reported "
            "without it; leave it out"
        )
    if solved.players != 2 and not normal and not concept:
        raise Refusal(
            f"GAME: {name} has {solved.players} players and is in extensive form, and so is "
            "solved exactly with --concept only; regretkit solve plays it, and measures the gap"
        )
    proof = {"--rational", "--certificate"} & {*asked}
    for given in () if zero_sum else asked:
        told = f"{given}: {name} is no zero-sum game of two players"
        if given in proof and not (normal or concept):
            raise Refusal(f"{told}; add --concept, to prove such an equilibrium")
        if given not in proof and not (given == "--time" and proof):
            raise Refusal(f"{told}, and so no strategy is its solution; leave it out")


def _value(game: Any, told: Told, asked: Sequence[str], limit: float | None) -> Profile:
    """Tell the value of a zero-sum game, and return strategies that prove it."""
    if "--linear-program" in asked:
        solution = solve_zero_sum(game, time_limit=limit)
    else:
        limit = 60.0 if "--finish" in asked and limit is None else limit
        solution = solve(game, exact=True, time_limit=limit)
    lower, upper, value = solution.lower, solution.upper, solution.value
    values = [value, game.constant_sum - value]
    told.tell(
        f"value   {numbers(values)}",
        f"proof   player 0 gets at least {lower:.12g}, and player 1 gives at most {upper:.12g}",
        f"by      {solution.method}, to a gap of {number(solution.gap)}",
        **{"value": values, "lower": lower, "upper": upper},
        **{"gap": solution.gap, "method": solution.method},
    )
    return solution.profile


def _general_sum(game: Any, told: Told) -> Any:
    """Tell what players are sure to get; return the best correlated equilibrium, if known."""
    normal = isinstance(game, NormalFormGame)
    if game.players == 2 or normal:
        levels = [maxmin(game, player).value for player in range(game.players)]
        told.tell(f"maxmin  {numbers(levels)}: what each player is sure to get", maxmin=levels)
    return _normal_form(game, told) if normal else None


def _normal_form(game: NormalFormGame, told: Told) -> CorrelatedEquilibrium:
    """Tell what else is known of a game in normal form."""
    names = [list(map(printable, domain.labels.actions(0))) for domain in game.domains]

    def named(outcome: Sequence[int]) -> list[str]:
        return [actions[action] for actions, action in zip(names, outcome, strict=True)]

    pure = [named(outcome) for outcome in pure_equilibria(game)]
    dominated = [
        [names[player][action] for action in dominated_actions(game, player)]
        for player in range(game.players)
    ]
    told.tell("", f"pure equilibria: {len(pure)}", *_first(map(", ".join, pure)))
    for player, actions in enumerate(dominated):
        if actions:
            told.tell(f"strictly dominated for player {player}: {', '.join(actions)}")
    best = best_correlated_equilibrium(game)
    outcomes: list[dict[str, Any]] = [
        {"actions": named(outcome), "probability": float(best.distribution[tuple(outcome)])}
        for outcome in np.argwhere(best.distribution > 0.0).tolist()
    ]
    payoffs = best.payoffs.tolist()
    title = f"correlated equilibrium of largest welfare, which pays {numbers(payoffs)}"
    shown = (f"{number(row['probability'])}  {', '.join(row['actions'])}" for row in outcomes)
    told.tell("", title, *_first(shown), pure_equilibria=pure, strictly_dominated=dominated)
    optimum = {"payoffs": payoffs, "gap": best.gap, "outcomes": outcomes}
    told.tell(best_correlated_equilibrium=optimum)
    return best


def _extensive_form(game: Any, concept: Concept, told: Told) -> ExtensiveFormCorrelatedEquilibrium:
    """Tell the correlated equilibrium of largest welfare of a game in extensive form."""
    best = best_extensive_form_correlated_equilibrium(game, concept=concept)
    payoffs, optimum = best.payoffs.tolist(), {"value": best.value, "bound": best.bound}
    told.tell(
        f"{concept:<7} {number(best.value)}: the largest welfare, which pays {numbers(payoffs)}",
        f"proof   no equilibrium has more than {best.bound:.12g}, and no player gains more than "
        f"{number(best.gap)} by deviating",
        **{concept: optimum | {"payoffs": payoffs, "gap": best.gap}},
    )
    return best


def _first(lines: Iterable[str]) -> list[str]:
    listed = [f"  {line}" for line in lines]
    remaining = len(listed) - _MOST
    return listed if remaining <= 0 else [*listed[:_MOST], f"  ... {remaining} more"]


_READINGS = 3
"""Floats whose fractions are shown at most."""


def write_certificate(proof: Certificate, path: Path | None, told: Told) -> None:
    """Tell what a proof proves, and write it."""
    _describe(proof, told)
    told.tell(certificate=path and str(path))
    if path is not None:
        proof.to_json(path)
        told.tell(f"certificate written to {path}")


def _describe(proof: Certificate, told: Told) -> None:
    """Tell what a proof proves."""
    if proof.notion == "value":
        told.tell(f"exactly {proof.value}", fraction=str(proof.value))
    else:
        earned, gaps = ([*map(str, values)] for values in (proof.lower, proof.gaps))
        told.tell(f"exactly {proof}", notion=proof.notion, earned=earned, gaps=gaps)
    meant = [f"{value:g} as {_short(read)}" for value, read in proof.readings.items()]
    remaining = [f"{len(meant) - _READINGS} more"] if len(meant) > _READINGS else []
    told.tell(*([f"read    {', '.join(meant[:_READINGS] + remaining)}"] if meant else []))
    told.tell(readings={repr(value): str(read) for value, read in proof.readings.items()})


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) < 40 else f"a fraction of {len(text) - 1} digits"


@click.command(short_help="Check a proof in fractions.", epilog=GAME_HELP)
@click.argument("certificate", metavar="CERTIFICATE")
@arguments.game
@arguments.as_json
def verify(certificate: str, game: NamedGame) -> int:
    """Compute again, in fractions and from the game alone, what CERTIFICATE proves.

    CERTIFICATE is a file that exact or evaluate wrote with --certificate. That of a public game is
    of its tree.
    """
    try:
        proof, played = Certificate.from_json(certificate), game.played
        proof.verify(played.to_tree() if isinstance(played, PublicGame) else played)
    except OSError as error:
        raise Failure(f"CERTIFICATE: cannot read {certificate}: {reason(error)}") from error
    except (MemoryError, TypeError, ValueError) as error:
        raise Failure(f"CERTIFICATE: {reason(error)}") from error
    told = Told({"game": game.name, "certificate": certificate}, [f"game    {game.name}"])
    _describe(proof, told)
    told.tell("proven")
    return told.answer()
