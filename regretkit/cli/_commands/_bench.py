"""``regretkit bench``, ``figure`` and ``report``: experiments in parallel, and their results."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from attrs import asdict

from regretkit._util._validate import candidates, quote
from regretkit.cli import _arguments as arguments
from regretkit.cli import _console as console
from regretkit.cli._arguments import COUNT, FROM_ZERO, GAP, OutputFile, option
from regretkit.cli._console import Failure, Refusal, answer, reason, reporting, say
from regretkit.cli._run import Told, summary_lines, write_file
from regretkit.display._style import file_of
from regretkit.estimators._mccfr import SAMPLINGS
from regretkit.play import Comparison
from regretkit.play._measures import AXES
from regretkit.workbench import (
    Experiment,
    RayExecutor,
    SuiteGame,
    gap_table,
    html_report,
    paper_figure,
    ranking,
    read_results,
    suite,
)
from regretkit.workbench._experiment import suite_names
from regretkit.workbench._figures import KINDS, WIDTHS
from regretkit.workbench._names import split

_REASONS = 5
"""The most games that are told of a failure."""


@click.command(short_help="Run algorithms on suites of games, and keep the results.")
@click.argument("algorithms", metavar="ALGORITHMS...", nargs=-1)
@option("--against", "More algorithms, with commas between them.", metavar="A,B,...", multiple=True)
@option(
    "--suite suites",
    f"Games: {', '.join(suite_names())}, or one of your own as FILE.toml:NAME.",
    metavar="NAME",
    multiple=True,
)
@option(
    "--game games",
    "A game, with alternatives if needed, as in 'kuhn_poker(deck=3|13)'.",
    metavar="GAME",
    multiple=True,
)
@option("--iterations", "How many each run plays.", COUNT, default=1_000)
@option("--seeds", "Run what draws at random with N seeds, from 0 on.", COUNT, default=1)
@option(
    "--measures",
    "What to measure, as a Recorder takes it; the first is shown.",
    metavar="A,B,...",
    default="nash_conv",
)
@option("--sample sampling", "Let all algorithms sample utilities.", click.Choice([*SAMPLINGS]))
@option("--out", "The folder of the results.", metavar="FOLDER", default="results")
@option("--workers", "Processes; as many as there are cores by default.", FROM_ZERO)
@option("--on", "'ray', or the address of a Ray cluster.", metavar="ray|HOST:PORT")
@arguments.quiet
@arguments.as_json
def bench(
    algorithms: tuple[str, ...],
    against: tuple[str, ...],
    suites: tuple[str, ...],
    games: tuple[str, ...],
    measures: str,
    out: str,
    on: str | None,
    workers: int | None,
    **options: Any,
) -> int:
    """Run every algorithm on every game, in parallel, and keep the results in a folder.

    An algorithm is a name, or a rule of yours as my_rule.py:MyRule, with hyperparameters if needed:
    'dcfr(alpha=1:3:0.5,gamma=2|4)' is a grid, of a range and of alternatives.

    What has a result in the folder is not run again, and an edited rule is. After Ctrl-C, or
    any other end, the same command continues. A rule that fails costs its own runs only.
    """
    played, listed = _games(games, suites), _listed((*algorithms, *against))
    with reporting("bench"), console.silent_descriptor():  # OpenSpiel lists all of its games
        experiment = Experiment(played, listed, measures=split(measures, ","), **options)
    with reporting("bench"), ExitStack() as stack, console.progress() as show:

        def watch(done: int, total: int, told: str) -> None:
            show([f"{done} of {total} runs", told], done, total - done)

        executor = None
        if on is not None:
            executor = stack.enter_context(RayExecutor(None if on == "ray" else on, workers))
        try:
            results = experiment.run(out, watch=watch, executor=executor, workers=workers)
        except OSError as error:
            told = f"--out: cannot write {quote(out)}: {reason(error)}; what was written before"
            raise Failure(f"{told} stays") from error
    for line in _failures(results.failures):
        say(line)
    if results.interrupted:
        say(f"interrupted; the same command continues from the {len(results.runs)} results so far")
    count = f"{len(results.runs)} results in {out}; * is the smallest of a game."
    lines = [*summary_lines(results), "", count]
    failures = [[*place, cause] for place, cause in results.failures.items()]
    report = {"rows": results.to_rows(), "failures": failures, "out": out}
    code = console.FAILED if failures else console.DONE
    code = console.INTERRUPTED if results.interrupted else code
    return answer(report, lines, code=code)


def _listed(texts: Sequence[str]) -> list[str]:
    listed = [word for text in texts for word in split(text, ",") if word]
    if not listed:
        raise Refusal("ALGORITHMS: name one at least, as my_rule.py:MyRule or --against cfr+,dcfr")
    return list(dict.fromkeys(listed))


def _games(games: Sequence[str], suites: Sequence[str]) -> list[str | SuiteGame]:
    if not suites and not games:
        raise Refusal(f"--suite: name one of {', '.join(suite_names())}, or pass --game GAME")
    with reporting("--suite"):
        listed = [game for text in suites for name in split(text, ",") for game in suite(name)]
    unique = {game.game: game for game in listed}
    return [*dict.fromkeys(text for text in games if text not in unique), *unique.values()]


def _failures(failures: Mapping[tuple[str, str, int | None], str]) -> Iterator[str]:
    """Yield a line for each algorithm and reason, the first of those that differ in numbers."""
    groups: dict[tuple[str, ...], dict[tuple[str, int | None], str]] = {}
    for (game, algorithm, seed), cause in failures.items():
        words = re.findall(r"line \d+|[^\W\d]\w*", cause.replace(game, "").replace(" blocks", ""))
        groups.setdefault((algorithm, *words), {})[game, seed] = cause
    for (algorithm, *_), found in groups.items():
        games = [*dict.fromkeys(game for game, _ in found)]
        remaining = f" and {len(games) - _REASONS} more games" if len(games) > _REASONS else ""
        runs = f", {len(found)} runs" if len(found) > len(games) else ""
        first = next(iter(found.values()))
        yield f"{algorithm} on {', '.join(games[:_REASONS])}{remaining}{runs}: {first}"


def _place(place: Sequence[Any]) -> str:
    game, algorithm, seed = place
    return f"{algorithm} on {game}" + (f" with seed {seed}" if seed is not None else "")


def _chosen(folder: str, games: Sequence[str], algorithms: str | None) -> Comparison:
    """Return the results in a folder, of some games and algorithms or of all."""
    with reporting("FOLDER", hint="name one that regretkit bench --out wrote"):
        runs = read_results(folder).runs
    if not runs:
        raise Refusal(
            f"FOLDER: there are no results in {quote(folder)}; regretkit bench writes them"
        )
    listed, chosen = split(algorithms, ",") if algorithms else [], runs
    for given, asked, part in (("--only", games, "game"), ("--algorithms", listed, "algorithm")):
        known = [*dict.fromkeys(getattr(run, part) for run in runs)]
        for name in asked:
            if name not in known:
                told = f"there are no results of {quote(name)}, only of {candidates(known)}"
                raise Refusal(f"{given}: {told}")
        chosen = [run for run in chosen if getattr(run, part) in (asked or known)]
    return Comparison(chosen)


only = option("--only games", "Only this game; may be given several times.", multiple=True)
these = option("--algorithms", "Only these, with commas between them.", metavar="A,B,...")


@click.command("figure", short_help="Draw the results in a folder, or write a table in LaTeX.")
@click.argument("folder", metavar="FOLDER")
@option(
    "--out",
    "The figure, as .pdf, .svg or .png; or a table in LaTeX, as .tex.",
    OutputFile(".pdf", ".svg", ".png", ".tex"),
)
@option("--kind", "What to draw.", click.Choice([*KINDS, "ranking"]), default="curves")
@option("--against x", "What is needed for the gap.", click.Choice(AXES), default="iteration")
@option("--measure y", "The measure; the first one by default.", metavar="NAME")
@option("--width", "In a paper of two columns.", click.Choice([*WIDTHS]), default="page")
@option("--gap", "The gap of the table, in units of payoff.", GAP, default=1e-3)
@option("--share", "The share of the first gap that a profile is about.", GAP, default=1e-3)
@only
@these
@arguments.as_json
def figure(
    folder: str,
    out: Path | None,
    games: tuple[str, ...],
    algorithms: str | None,
    gap: float,
    **options: Any,
) -> int:
    """Draw the results that regretkit bench has written into FOLDER.

    Small panels have the median over seeds of each algorithm, and a band between the quartiles. A
    performance profile says for how many games an algorithm needs at most a multiple of what the
    best one needs to reach a share of the first gap. A ranking, which is printed, has average ranks
    of the last gaps, with the tests of Friedman and Nemenyi. A table says what it takes to reach a
    gap.
    """
    chosen, kind = _chosen(folder, games, algorithms), options["kind"]
    with reporting("FOLDER"):
        if kind == "ranking":
            ranks = ranking(chosen, y=options["y"])
            return answer(asdict(ranks), str(ranks).splitlines())
        if out is None:
            raise ValueError("--out is missing: a file in .pdf, .svg, .png or .tex")
        if out.suffix.lower() != ".tex":
            content = file_of(paper_figure(chosen, **options), out.suffix[1:].lower())
        elif kind == "profile":
            raise ValueError("a profile is no table; choose --out FILE.pdf, or another --kind")
        else:
            axes = {"x": options["x"], "y": options["y"]}
            content = gap_table(chosen, gap, **axes).encode() + b"\n"
    told = Told({"runs": len(chosen.runs), "out": str(out)}, [])
    return _written(out, content, told)


def _written(out: Path, content: bytes, told: Told) -> int:
    """Write a file that was made of results, and say so."""
    write_file(out, content, "--out: cannot write")
    told.tell(f"{told.facts['runs']} runs in {out}")
    return told.answer()


@click.command("report", short_help="Write a page of HTML to click through the results.")
@click.argument("folder", metavar="FOLDER")
@option("--out", "The page, as .html.", OutputFile(".html"), default="report.html")
@option("--against x", "The horizontal axis at first.", click.Choice(AXES), default="iteration")
@option("--measure y", "The vertical axis at first; the first one by default.", metavar="NAME")
@only
@these
@arguments.as_json
def report(
    folder: str, out: Path, games: tuple[str, ...], algorithms: str | None, **axes: Any
) -> int:
    """Write the results that regretkit bench has written into FOLDER as one page of HTML.

    It has all curves, with their values under the pointer; boxes and sliders that choose games,
    algorithms and hyperparameters; and a table with the command that plays each result again. A
    browser shows it without server or network.
    """
    chosen = _chosen(folder, games, algorithms)
    with reporting("FOLDER"):
        page = html_report(chosen, title=f"Results in {folder}", **axes)
    told = Told({"runs": len(chosen.runs), "out": str(out)}, [])
    return _written(out, page.encode(), told)
