"""``regretkit compare``, ``bench``, ``figure`` and ``report``: experiments and their results."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from attrs import asdict, evolve

from regretkit._util._validate import quote
from regretkit.cli import _console as console
from regretkit.cli import _types as types
from regretkit.cli._console import Failure, Refusal, Report, reporting, write_file
from regretkit.cli._solve import meaning_of_gap
from regretkit.cli._types import COUNT, POSITIVE, OutputFile, option
from regretkit.display._convergence import AXES
from regretkit.display._style import file_of
from regretkit.workbench import (
    Comparison,
    Experiment,
    RayExecutor,
    gap_table,
    html_report,
    ranking,
    read_results,
    suite,
)
from regretkit.workbench._experiment import suite_names
from regretkit.workbench._names import short, split


def _words(context: Any, parameter: Any, texts: Sequence[str]) -> list[str]:
    """Return the words between commas outside brackets."""
    return [word for text in texts for word in split(text, ",") if word]


def _labels(context: Any, parameter: Any, texts: Sequence[str]) -> dict[str, str]:
    """Return the label of each algorithm."""
    pairs = [text.rpartition("=") for text in texts]
    for text, _, name in pairs:
        if not (text and name):
            raise Refusal(f"--label: must be A=NAME, got {quote(text or name)}")
    return {short(text.strip()): name.strip() for text, _, name in pairs}


labels = option(
    "--label labels",
    "A name for an algorithm, as in 'my_rule.py:MyRule(beta=0.5)=Momentum'. By default its text "
    "without the file. May be given several times.",
    metavar="A=NAME",
    multiple=True,
    callback=_labels,
)
against = option("--against x", "The axis of the figure.", click.Choice(AXES), default="iteration")
experiment = types.together(
    click.argument("games", metavar="[GAME]...", nargs=-1),
    option(
        "--algorithms",
        "Names, and rules as my_rule.py:MyRule, separated by commas; 'dcfr(alpha=1:3:0.5)' is a "
        "grid.",
        metavar="A,B,...",
        multiple=True,
        required=True,
        callback=_words,
    ),
    option(
        "--suite suites",
        f"Games: {', '.join(suite_names())}, or your own as FILE.toml:NAME.",
        metavar="NAME",
        multiple=True,
        callback=_words,
    ),
    types.limits,
    option(
        "--measures",
        "Measures of a Recorder; the table shows the first.",
        metavar="A,B,...",
        multiple=True,
        default=["nash_conv"],
        callback=_words,
    ),
    option(
        "--sample sampling", "Let all algorithms sample utilities.", click.Choice(types.SAMPLINGS)
    ),
    option("--seeds", "Run algorithms that sample with N seeds, from 0 on.", COUNT, default=1),
    types.imperfect_recall,
    labels,
    types.quiet,
    types.as_json,
)


def _results(
    running: dict[str, Any],
    games: Sequence[str],
    suites: Sequence[str],
    labels: dict[str, str],
    **options: Any,
) -> tuple[int, Comparison]:
    """Run an experiment; return the exit code and the results."""
    with reporting("--suite"):
        listed = {game.game: game for name in suites for game in suite(name)}
    if not (games or listed):
        raise Refusal(f"GAME: name one, or pass --suite {'|'.join(suite_names())}")
    with reporting("--algorithms and GAME"):
        unlisted = [game for game in dict.fromkeys(games) if game not in listed]
        made = Experiment([*unlisted, *listed.values()], **options)
    names = list(dict.fromkeys(task.names[1] for task in made.tasks))
    with reporting("--label"):
        shown = Comparison(algorithms=names).only(labels=labels).algorithms
    renamed = dict(zip(names, shown, strict=True))
    made.tasks = [evolve(t, names=(t.names[0], renamed[t.names[1]])) for t in made.tasks]
    with console.progress() as show:

        def watch(done: int, total: int, text: str) -> None:
            show(f"{done} of {total} runs; {text}", done, total)

        results = made.run(watch=watch, **running)
    code = console.FAILED if results.failures else console.DONE
    return console.INTERRUPTED if results.interrupted else code, results


def _report(code: int, results: Comparison, *lines: str, **facts: Any) -> int:
    """Report the results of an experiment."""
    failures = [[*place, cause] for place, cause in results.failures.items()]
    facts = {"rows": results.to_rows(), "failures": failures, **facts}
    return Report(facts, [*str(results).splitlines(), "", *lines]).write(code)


@click.command(short_help="Run many algorithms on many games.", epilog=types.GAME_HELP)
@option("--out", "Write all measurements as one table, in .csv.", OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", types.figure_file)
@against
@experiment
def compare(out: Path | None, plot: Path | None, x: str, **options: Any) -> int:
    """Run every algorithm on every GAME in this process, and compare their gaps.

    Limits apply to each run; the default is a thousand iterations. If a rule fails, the other runs
    continue. Ctrl-C keeps the finished runs.

    Games whose trees do not fit into memory need --sample external or outcome. Their final
    strategies are compared by sampled local best responses, whose gain is at most the gap.
    """
    code, results = _results({"workers": 0}, **options)
    if out is not None:
        with reporting("--out", Failure):
            results.to_csv(out)
    if plot is not None and results.runs:
        write_file(plot, file_of(results.plot(x=x), plot.suffix[1:]), "--plot")
    written = [str(path) for path in (out, plot) if path]
    lines = [
        f"Gaps are {meaning_of_gap(options['imperfect_recall'])}; * is the smallest of a game."
    ]
    lines += [f"Written: {', '.join(written)}"] if written else []
    return _report(code, results, *lines, out=out and str(out), plot=plot and str(plot))


@click.command(short_help="Run algorithms on suites of games, and keep the results.")
@option("--out", "The folder of the results.", metavar="FOLDER", default="results")
@option("--workers", "Processes, by default one for each core.", types.FROM_ZERO)
@option("--on", "'ray', or the address of a Ray cluster.", metavar="ray|HOST:PORT")
@experiment
def bench(out: str, on: str | None, workers: int | None, **options: Any) -> int:
    """Run every algorithm on every GAME, in parallel, and keep the results in a folder.

    An algorithm is a name, or a rule of yours as my_rule.py:MyRule, with hyperparameters if needed.
    'dcfr(alpha=1:3:0.5,gamma=2|4)' is a grid of a range and two alternatives.

    Runs with a result in the folder are skipped; an edited rule runs again. After Ctrl-C or a
    crash, the same command continues. If a rule fails, the other runs continue.
    """
    with ExitStack() as stack, reporting(f"--out: {quote(out)}", Failure):
        executor = None
        if on is not None:
            with reporting("--on"):
                address = None if on == "ray" else on
                executor = stack.enter_context(RayExecutor(address, workers))
        running = {"folder": out, "executor": executor, "workers": workers}
        code, results = _results(running, **options)
    found = f"{len(results.runs)} results in {out}; * is the smallest of a game."
    return _report(code, results, found, out=out)


# Results in a folder

choice = types.together(
    click.argument("folder", metavar="FOLDER"),
    option("--only games", "Only this game; may be given several times.", multiple=True),
    option(
        "--algorithms",
        "Only these, separated by commas.",
        metavar="A,B,...",
        multiple=True,
        callback=_words,
    ),
    against,
    option("--measure y", "The measure; the first one by default.", metavar="NAME"),
    labels,
    types.as_json,
)


def _chosen(folder: str, **selection: Any) -> Comparison:
    """Return the chosen results in a folder."""
    results = read_results(folder)
    if not results.runs:
        raise ValueError(f"{quote(folder)} has no results; regretkit bench writes them")
    return results.only(**selection)


@click.command("figure", short_help="Draw the results in a folder, or write a LaTeX table.")
@option(
    "--out",
    "The file: a figure in .pdf, .svg or .png, or a LaTeX table in .tex.",
    OutputFile(".pdf", ".svg", ".png", ".tex"),
)
@option(
    "--kind",
    "Curves, a performance profile, or a ranking.",
    click.Choice(["curves", "profile", "ranking"]),
    default="curves",
)
@option(
    "--width", "The width in a two-column paper.", click.Choice(["column", "page"]), default="page"
)
@option("--gap", "In a table: the gap to reach, in units of payoff.", POSITIVE, default=1e-3)
@option("--share", "In a profile: the share of the first gap to reach.", POSITIVE, default=1e-3)
@choice
def figure(
    folder: str,
    out: Path | None,
    kind: Any,
    width: Any,
    gap: float,
    share: float,
    x: str,
    y: str | None,
    **selection: Any,
) -> int:
    """Draw the results of regretkit bench in FOLDER.

    Curves: one panel for each game, with each algorithm's median over seeds and a band between the
    quartiles. Profile: for each algorithm, the share of games in which it reaches --share of the
    first gap within a multiple of the least work. Ranking: average ranks of the last gaps, with the
    tests of Friedman and Nemenyi, printed as text. Table, for .tex: the work to reach --gap.
    """
    with reporting("FOLDER"):
        chosen = _chosen(folder, **selection)
        if kind == "ranking":
            ranks = ranking(chosen, y=y)
            return Report(asdict(ranks), str(ranks).splitlines()).write()
        if out is None:
            raise Refusal("--out: name a file in .pdf, .svg, .png or .tex")
        if out.suffix.lower() != ".tex":
            drawn = chosen.plot(kind=kind, x=x, y=y, width=width, share=share)
            content = file_of(drawn, out.suffix[1:].lower())
        elif kind == "profile":
            raise Refusal("--out: a profile cannot be a .tex table")
        else:
            content = gap_table(chosen, gap, x=x, y=y).encode() + b"\n"
    return _written(out, content, chosen)


@click.command("report", short_help="Write an interactive HTML page of the results.")
@option("--out", "The page, as .html.", OutputFile(".html"), default="report.html")
@choice
def report(folder: str, out: Path, x: str, y: str | None, **selection: Any) -> int:
    """Write the results of regretkit bench in FOLDER as one HTML page.

    The page shows all curves, and their values under the pointer. Boxes and sliders choose games,
    algorithms and hyperparameters. A table gives the command that repeats each result. The page
    needs no server or network.
    """
    with reporting("FOLDER"):
        chosen = _chosen(folder, **selection)
        page = html_report(chosen, x=x, y=y, title=f"Results in {folder}")
    return _written(out, page.encode(), chosen)


def _written(out: Path, content: bytes, results: Comparison) -> int:
    write_file(out, content)
    runs = len(results.runs)
    return Report({"runs": runs, "out": str(out)}, [f"{runs} runs in {out}"]).write()
