"""Reports: facts about games, results of runs, strategies and figures."""

import io
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli._arguments import is_known, name_of
from regretkit.cli._console import say, show, show_json
from regretkit.cli._exit_codes import SHORT_OF_GAP, Refusal, failing
from regretkit.cli._monitor import RunMonitor
from regretkit.cli._options import Outputs
from regretkit.cli._progress import clock
from regretkit.cli._run import Outcome
from regretkit.display._style import number
from regretkit.games import (
    ExtensiveFormGame,
    Game,
    ImperfectRecallGame,
    NormalFormGame,
    Profile,
    fingerprint,
)
from regretkit.games._game import constant
from regretkit.sets import DecisionTree

Curve: TypeAlias = Mapping[str, Sequence[float]]
"""The measurements of a run: iterations, seconds and gaps."""

_SMALL = 60
"""Information sets up to which a strategy is shown."""


def numbers(values: Iterable[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(map(number, values))


def facts_of(game: Game) -> dict[str, Any]:
    """Return the sizes and properties of a game, as in JSON."""
    if isinstance(game, NormalFormGame):
        actions, tree, total = [d.dimension for d in game.domains], None, game.constant_sum
    elif isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        actions, tree = None, game.tree
        total = constant(tree.payoffs.sum(axis=1), tree.payoffs)
    else:
        raise Refusal(f"GAME: {quote(game)} is neither in normal nor in extensive form")
    perfect_recall = not isinstance(game, ImperfectRecallGame)
    return {
        "name": name_of(game),
        "form": "normal" if tree is None else "extensive",
        "players": game.players,
        "actions": actions,
        "histories": None if tree is None else tree.histories,
        "terminals": None if tree is None else int(tree.terminals.size),
        "depth": None if tree is None else tree.depth,
        "information_sets": [1] * game.players if tree is None else list(tree.information_sets),
        "constant_sum": total,
        "perfect_recall": perfect_recall,
        "fingerprint": fingerprint(game) if perfect_recall else None,
    }


def value_of(game: Game, profile: Profile) -> list[float]:
    """Return every player's expected payoff."""
    return [float(value) for value in game.value(profile)]


def best_responses(*, imperfect_recall: bool) -> str:
    """Return the name of the best responses by which a gap is measured."""
    return "best responses with perfect recall" if imperfect_recall else "best responses"


# Runs


def finish(outcome: Outcome, outputs: Outputs, checkpoint: Path | None) -> int:
    """Write the files, report, and return the exit code."""
    files: dict[str, str | None] = {
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "strategy": None,
        "figure": None,
    }
    if outcome.run.iteration:
        write_strategy(outcome.average, outputs.strategy)
        if outputs.figure is not None:
            label, name = outcome.monitor.label, name_of(outcome.run.game)
            draw_curves({f"{name}, {label}": {label: outcome.curve()}}, outputs.figure)
        for name, path in (("strategy", outputs.strategy), ("figure", outputs.figure)):
            files[name] = None if path is None else str(path)
    if outputs.as_json:
        show_json(_as_json(outcome, files))
    else:
        _show(outcome, files)
    if outcome.interrupted:
        say(f"interrupted; {how_to_resume(checkpoint, outcome.monitor)}")
    return outcome.code


def how_to_resume(checkpoint: Path | None, monitor: RunMonitor) -> str:
    """Return the command that resumes a run."""
    if checkpoint is None:
        return "with --checkpoint FILE a run can be resumed"
    words = ["regretkit", "resume", str(checkpoint)]
    if not is_known(monitor.game):
        words += ["--game", monitor.game]
    if monitor.rule is not None:
        words += ["--rule", monitor.rule]
    return f"{shlex.join(words)} continues from here"


def _as_json(outcome: Outcome, files: Mapping[str, str | None]) -> dict[str, Any]:
    run, monitor = outcome.run, outcome.monitor
    return {
        "game": name_of(run.game),
        "fingerprint": fingerprint(run.game),
        "algorithm": monitor.algorithm,
        "rule": monitor.rule,
        "sample": monitor.sample,
        "imperfect_recall": monitor.imperfect_recall,
        "engine": run.engine,
        "iterations": run.iteration,
        "seconds": monitor.played,
        "gap": outcome.gap,
        "exploitability": None if outcome.gap is None else outcome.gap / run.players,
        "value": value_of(run.game, outcome.average) if run.iteration else None,
        "stopped_by": outcome.stopped_by,
        "curve": outcome.curve(),
        **files,
    }


def _show(outcome: Outcome, files: Mapping[str, str | None]) -> None:
    run, monitor, seconds = outcome.run, outcome.monitor, outcome.monitor.played
    ends = {"interrupt": ", then interrupted", "time": ", then time was up"}
    short = "; the gap asked for was not reached" if outcome.code == SHORT_OF_GAP else ""
    show(
        f"game        {name_of(run.game)}",
        f"algorithm   {monitor.label}, {run.engine}",
        f"iterations  {run.iteration:,} in "
        f"{f'{seconds:.3g} s' if seconds < 60.0 else clock(seconds)}, "
        f"{number(run.iteration / max(seconds, 1e-9))} a second"
        f"{ends.get(outcome.stopped_by, '')}{short}",
    )
    if outcome.gap is None:
        return
    average, responses = outcome.average, best_responses(imperfect_recall=monitor.imperfect_recall)
    show(
        f"gap         {number(outcome.gap)} in units of payoff: what {responses} would gain, "
        "summed over players",
        f"value       {numbers(value_of(run.game, average))}",
        *(f"{name:<11} {path}" for name, path in files.items() if path is not None),
    )
    show_strategy(average, written=files["strategy"] is not None)
    if monitor.imperfect_recall and information_sets(average) <= _SMALL:
        show("", "One information set is on several lines if the player forgets its own past.")


# Strategies and figures


def write_strategy(profile: Profile, path: Path | None) -> None:
    """Write a strategy in the format of the file's ending."""
    if path is None:
        return
    write: Callable[[Path], None]
    write = profile.to_json if path.suffix.lower() == ".json" else profile.to_csv
    with failing(f"cannot write the strategy to {quote(str(path))}"):
        write(path)


def show_strategy(profile: Profile, *, written: bool) -> None:
    """Show a strategy if it is small."""
    if information_sets(profile) <= _SMALL:
        show("", *str(profile).splitlines())
    elif not written:
        show("", "The strategy is long: --out FILE writes it, as .json or .csv.")


def information_sets(profile: Profile) -> int:
    """Return the number of information sets of all players."""
    return sum(d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains)


def draw_curves(
    panels: Mapping[str, Mapping[str, Curve]], path: Path, *, x: str = "iteration"
) -> None:
    """Draw a panel for each game with a curve for each algorithm, and write them into a file."""
    from regretkit.display._convergence import convergence_panels

    drawn = io.BytesIO()
    figure = convergence_panels(panels, x=x, y="gap", ylabel="NashConv (units of payoff)")
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    with failing(f"cannot write the figure to {quote(str(path))}"):
        replace_file(path, [drawn.getbuffer()])
