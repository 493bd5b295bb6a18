"""Reports: results of runs, strategies and figures."""

import io
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.cli._arguments import Settings, is_known
from regretkit.cli._console import SHORT_OF_GAP, Failure, answer, reporting, say
from regretkit.cli._run import Run, RunMonitor
from regretkit.display._style import number
from regretkit.games import History, Profile, VisitedProfile, fingerprint
from regretkit.play import LazyMCCFR
from regretkit.play._progress import clock
from regretkit.sets import DecisionTree

Curve: TypeAlias = Mapping[str, Sequence[float]]
"""The measurements of a run: iterations, seconds and gaps."""

_SMALL = 60
"""Information sets up to which a strategy is shown."""


def numbers(values: Iterable[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(map(number, values))


def meaning_of_gap(*, imperfect_recall: bool) -> str:
    """Return what a gap is, in words."""
    recall = " with perfect recall" if imperfect_recall else ""
    return f"what best responses{recall} would gain, summed over players"


def finish(run: Run, monitor: RunMonitor, settings: Settings) -> int:
    """Write the files, report the run, and return its exit code."""
    game, sampling = monitor.named, f", {monitor.sample} sampling" if monitor.sample else ""
    label, checkpoint, average = f"{monitor.choice.label}{sampling}", settings.checkpoint, None
    files: dict[str, Path | None] = {"checkpoint": checkpoint, "strategy": None, "figure": None}
    if run.iteration:
        average = game.coarsen(cast(Any, run.average))
        files |= {"strategy": settings.out, "figure": settings.plot}
        rules = run.game if isinstance(run, LazyMCCFR) else None
        write_strategy(average, settings.out, rules)
        if settings.plot is not None:
            draw_curves({f"{game.name}, {label}": {label: monitor.curve}}, settings.plot)
    report = {
        "game": game.name,
        "fingerprint": fingerprint(run.game),
        "algorithm": monitor.algorithm,
        "rule": monitor.rule,
        "sample": monitor.sample,
        "iterations": run.iteration,
        "seconds": monitor.played,
        "stopped_by": monitor.stopped_by,
        **_known(run, monitor, average),
        **{name: path and str(path) for name, path in files.items()},
    }
    short = "; the gap asked for was not reached" if monitor.code == SHORT_OF_GAP else ""
    lines = _lines(report | {"algorithm": label}, average, short)
    answer(report, lines, as_json=settings.as_json)
    if monitor.interrupted:
        say(f"interrupted; {how_to_resume(checkpoint, monitor)}")
    return monitor.code


def _known(run: Run, monitor: RunMonitor, average: Any) -> dict[str, Any]:
    """Return what is known with a tree, or without one."""
    if isinstance(run, LazyMCCFR):
        return {"information_sets": list(run.information_sets)}
    gap = None if average is None else monitor.gaps[-1]
    return {
        "imperfect_recall": monitor.named.original is not None,
        "engine": run.engine,
        "gap": gap,
        "exploitability": None if gap is None else gap / run.players,
        "value": None if average is None else run.game.value(average).tolist(),
        "curve": monitor.curve,
    }


def _lines(
    report: Mapping[str, Any], average: Profile | VisitedProfile | None, short: str
) -> Iterator[str]:
    iterations, seconds = report["iterations"], report["seconds"]
    took = f"{seconds:.3g} s" if seconds < 60.0 else clock(seconds)
    ends = {"interrupt": ", then interrupted", "time": ", then time was up"}
    end = f"{ends.get(report['stopped_by'], '')}{short}"
    rate = number(iterations / max(seconds, 1e-9))
    by_rules = "information_sets" in report
    yield f"game        {report['game']}{', without its tree: no gap is known' if by_rules else ''}"
    yield f"algorithm   {report['algorithm']}{'' if by_rules else ', ' + report['engine']}"
    yield f"iterations  {iterations:,} in {took}, {rate} a second{end}"
    if average is None:
        return
    recall = report.get("imperfect_recall", False)
    if by_rules:
        met = " + ".join(f"{count:,}" for count in report["information_sets"])
        yield f"visited     {met} information sets"
    else:
        meaning = meaning_of_gap(imperfect_recall=recall)
        yield f"gap         {number(report['gap'])} in units of payoff: {meaning}"
        for name, values in [*report["curve"].items()][3:]:
            yield f"{name:<11} {number(values[-1])}"
        yield f"value       {numbers(report['value'])}"
    for name in ("checkpoint", "strategy", "figure"):
        if report[name]:
            yield f"{name:<11} {report[name]}"
    profile = average.profile if isinstance(average, VisitedProfile) else average
    yield from strategy_lines(profile, written=report["strategy"] is not None)
    if recall and _information_sets(profile) <= _SMALL:
        yield ""
        yield "One information set is on several lines if the player forgets its own past."


def how_to_resume(checkpoint: Path | None, monitor: RunMonitor) -> str:
    """Return the command that resumes a run."""
    if checkpoint is None:
        return "with --checkpoint FILE a run can be resumed"
    words = ["regretkit", "resume", str(checkpoint)]
    words += [] if is_known(monitor.game) else ["--game", monitor.game]
    words += [] if monitor.rule is None else ["--rule", monitor.rule]
    return f"{shlex.join(words)} continues from here"


def write_strategy(
    profile: Profile | VisitedProfile, path: Path | None, rules: History | None = None
) -> None:
    """Write a strategy in the format of the file's ending, if there is one."""
    if path is not None:
        with reporting(f"cannot write the strategy to {quote(str(path))}", Failure):
            if path.suffix.lower() != ".json":
                profile.to_csv(path)
            elif isinstance(profile, VisitedProfile):
                profile.to_json(path, rules)
            else:
                profile.to_json(path)


def strategy_lines(profile: Profile, *, written: bool) -> list[str]:
    """Return the lines of a strategy if it is small."""
    if _information_sets(profile) <= _SMALL:
        return ["", *str(profile).splitlines()]
    return [] if written else ["", "The strategy is long: --out FILE writes it, as .json or .csv."]


def _information_sets(profile: Profile) -> int:
    return sum(d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains)


def draw_curves(
    panels: Mapping[str, Mapping[str, Curve | Sequence[Curve]]], path: Path, *, x: str = "iteration"
) -> None:
    """Draw a panel for each game with a curve for each algorithm, and write them into a file."""
    from regretkit.display._convergence import convergence_panels

    drawn = io.BytesIO()
    figure = convergence_panels(panels, x=x, y="gap", ylabel="NashConv (units of payoff)")
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    with reporting(f"cannot write the figure to {quote(str(path))}", Failure):
        replace_file(path, [drawn.getbuffer()])
