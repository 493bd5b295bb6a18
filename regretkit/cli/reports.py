"""What came of a run, for people and for programs."""

from typing import Any

from regretkit.cli.exits import SHORT_OF_GAP
from regretkit.cli.games_in import name_of
from regretkit.cli.journal import GAP, TIME
from regretkit.cli.progress import clock
from regretkit.cli.recall import responses
from regretkit.cli.running import Ended
from regretkit.cli.screen import number, numbers, show
from regretkit.games import Game, Profile, fingerprint
from regretkit.sets import DecisionTree

SMALL = 60
"""A strategy of at most so many information sets is shown without being asked for."""


def of_run(ended: Ended, files: dict[str, str | None]) -> dict[str, Any]:
    """Return what came of a run as JSON has it."""
    run, journal = ended.run, ended.journal
    return {
        "game": name_of(run.game),
        "fingerprint": fingerprint(run.game),
        "algorithm": journal.algorithm,
        "rule": journal.rule,
        "sample": journal.sample,
        "imperfect_recall": journal.forgetful is not None,
        "engine": run.engine,
        "iterations": run.iteration,
        "seconds": journal.played,
        "gap": ended.gap,
        "exploitability": None if ended.gap is None else ended.gap / run.players,
        "value": value_of(run.game, ended.average) if run.iteration else None,
        "stopped_by": stopped_by(ended),
        "curve": ended.columns(),
        **files,
    }


def stopped_by(ended: Ended) -> str:
    """Return which limit ended a run, now or before it was resumed, or that somebody did."""
    journal = ended.journal
    if ended.interrupted:
        return "interrupt"
    if journal.why in (GAP, TIME):
        return journal.why
    if journal.most is not None and ended.run.iteration >= journal.most:
        return "iterations"
    return TIME if ended.code == SHORT_OF_GAP or journal.target is None else GAP


def show_run(ended: Ended, files: dict[str, str | None]) -> None:
    """Say what came of a run."""
    run, journal = ended.run, ended.journal
    rate = run.iteration / max(journal.played, 1e-9)
    show(
        f"game        {name_of(run.game)}",
        f"algorithm   {journal.label}, {run.engine}",
        f"iterations  {run.iteration:,} in {_time(journal.played)}, {number(rate)} a second"
        f"{_why(ended)}",
    )
    if ended.gap is None:
        return
    average, forgetful = ended.average, journal.forgetful is not None
    show(
        f"gap         {number(ended.gap)} in units of payoff: what {responses(forgetful)} would "
        "gain, summed over players",
        f"value       {numbers(value_of(run.game, average))}",
        *(f"{name:<11} {path}" for name, path in files.items() if path is not None),
    )
    show_strategy(average, written=files["strategy"] is not None, forgetful=forgetful)


def _why(ended: Ended) -> str:
    reasons = {"interrupt": ", then interrupted", "time": ", then time was up"}
    short = "; the gap asked for was not reached" if ended.code == SHORT_OF_GAP else ""
    return reasons.get(stopped_by(ended), "") + short


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 60.0 else clock(seconds)


def show_strategy(profile: Profile, *, written: bool = False, forgetful: bool = False) -> None:
    """Show a strategy if it is small, and else say how to have it."""
    if information_sets(profile) <= SMALL:
        show("", *str(profile).splitlines())
        if forgetful:
            show("", "What a player forgets makes several lines of one information set.")
    elif not written:
        show("", "The strategy is long: --out FILE writes it, as .json or .csv.")


def information_sets(profile: Profile) -> int:
    """Return how many information sets all players have together."""
    return sum(d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains)


def value_of(game: Game, profile: Profile) -> list[float]:
    """Return every player's expected payoff."""
    return [float(value) for value in game.value(profile)]
