"""``regretkit compare``, ``bench``, ``figure`` and ``report``: experiments and their results."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from attrs import asdict

from regretkit._util._validate import quote
from regretkit.cli import _console as console
from regretkit.cli import _types as types
from regretkit.cli._console import Failure, Refusal, Report, reporting, say, table, write_file
from regretkit.cli._solve import meaning_of_gap
from regretkit.cli._types import COUNT, POSITIVE, OutputFile, option
from regretkit.display._style import file_of
from regretkit.workbench import (
    Comparison,
    Experiment,
    RayExecutor,
    gap_table,
    html_report,
    paper_figure,
    ranking,
    read_results,
    suite,
)
from regretkit.workbench._experiment import suite_names
from regretkit.workbench._names import short, split
from regretkit.workbench._results import labels_in, write_labels

_AXES = ("iteration", "visited", "seconds")
_GAMES = 5
"""Most games to name with a failure."""

label = option(
    "--label labels",
    "A name for an algorithm, as in 'my_rule.py:MyRule(beta=0.5)=Momentum'. By default its text "
    "without the file. May be given several times.",
    metavar="A=NAME",
    multiple=True,
)
experiment_options = types.together(
    types.limits,
    option(
        "--measures",
        "Measures of a Recorder; the table shows the first.",
        metavar="A,B,...",
        default="nash_conv",
    ),
    option(
        "--sample sampling", "Let all algorithms sample utilities.", click.Choice(types.SAMPLINGS)
    ),
    option("--seeds", "Run algorithms that sample with N seeds, from 0 on.", COUNT, default=1),
    types.imperfect_recall,
    label,
    types.quiet,
    types.as_json,
)


def _carried_out(
    games: Sequence[Any],
    algorithms: Sequence[str],
    measures: str,
    labels: Sequence[str],
    running: Mapping[str, Any],
    **options: Any,
) -> tuple[int, Comparison, list[str]]:
    """Run an experiment; return the exit code, the results, and their table."""
    listed = [word for text in algorithms for word in split(text, ",") if word]
    with reporting("ALGORITHMS and GAMES"):
        experiment = Experiment(games, listed, measures=split(measures, ","), **options)
    folder, given = running.get("folder"), _labeled(labels)
    names = {task.names[1] for task in experiment.tasks}
    with reporting("--label"):
        Comparison(algorithms=[*names]).only(labels=given)
        if folder is not None and given:
            write_labels(folder, given)
    with console.progress() as show:

        def watch(done: int, total: int, text: str) -> None:
            show(f"{done} of {total} runs; {text}", done, total)

        results = experiment.run(watch=watch, **running)
    known = given if folder is None else labels_in(folder)
    results = results.only(labels={name: known[name] for name in known if name in names})
    for line in _failures(results.failures):
        say(line)
    code = console.FAILED if results.failures else console.DONE
    if results.interrupted:
        say(f"interrupted; these are the {len(results.runs)} results so far")
        code = console.INTERRUPTED
    heads, rows = results.summary()
    return code, results, table(heads, rows, right=range(2, len(heads) - 1), soft=1)


def _labeled(labels: Sequence[str]) -> dict[str, str]:
    """Return the label of each algorithm."""
    pairs = [text.rpartition("=") for text in labels]
    for text, _, name in pairs:
        if not (text and name):
            raise Refusal(f"--label: must be A=NAME, got {quote(text or name)}")
    return {short(text.strip()): name.strip() for text, _, name in pairs}


def _failures(failures: Mapping[tuple[str, str, int | None], str]) -> Iterator[str]:
    """Yield a line for each failed algorithm, with the reason on its first game."""
    groups: dict[str, dict[str, str]] = {}
    for (game, algorithm, _), cause in failures.items():
        groups.setdefault(algorithm, {}).setdefault(game, cause)
    for algorithm, found in groups.items():
        remaining = f" and {len(found) - _GAMES} more games" if len(found) > _GAMES else ""
        games = ", ".join([*found][:_GAMES])
        yield f"{algorithm} on {games}{remaining}: {next(iter(found.values()))}"


@click.command(short_help="Run many algorithms on many games.", epilog=types.GAME_HELP)
@click.argument("games", metavar="GAMES...", nargs=-1, required=True)
@option(
    "--algorithms",
    "Names, and rules as my_rule.py:MyRule, separated by commas; 'dcfr(alpha=1:3:0.5)' is a grid.",
    metavar="A,B,...",
    multiple=True,
    required=True,
)
@option("--out", "Write all measurements as one table, in .csv.", OutputFile(".csv"))
@option("--plot", "Draw all curves, as .svg, .pdf or .png.", types.figure_file)
@option("--against x", "The axis of the figure.", click.Choice(_AXES), default="iteration")
@experiment_options
def compare(
    games: tuple[str, ...],
    algorithms: tuple[str, ...],
    out: Path | None,
    plot: Path | None,
    x: str,
    **options: Any,
) -> int:
    """Run every algorithm on every game in this process, and compare their gaps.

    Limits apply to each run; the default is a thousand iterations. If a rule fails, the other runs
    continue. Ctrl-C keeps the finished runs.

    Games whose trees do not fit into memory need --sample external or outcome. Their final
    strategies are compared by sampled local best responses, whose gain is at most the gap.
    """
    code, results, lines = _carried_out(games, algorithms, running={"workers": 0}, **options)
    if out is not None:
        with reporting("--out", Failure):
            results.to_csv(out)
    if plot is not None and results.runs:
        write_file(plot, file_of(results.plot(x=x), plot.suffix[1:]), "--plot")
    written = [str(path) for path in (out, plot) if path]
    meaning = meaning_of_gap(options["imperfect_recall"])
    lines += ["", f"Gaps are {meaning}; * is the smallest of a game."]
    lines += [f"Written: {', '.join(written)}"] if written else []
    files = {"out": out and str(out), "plot": plot and str(plot)}
    return Report({"rows": results.to_rows(), **files}, lines).write(code)


@click.command(short_help="Run algorithms on suites of games, and keep the results.")
@click.argument("algorithms", metavar="ALGORITHMS...", nargs=-1)
@option("--against", "More algorithms, separated by commas.", metavar="A,B,...", multiple=True)
@option(
    "--suite suites",
    f"Games: {', '.join(suite_names())}, or your own as FILE.toml:NAME.",
    metavar="NAME",
    multiple=True,
)
@option(
    "--game games",
    "A game, with alternatives if needed, as in 'kuhn_poker(deck=3|13)'.",
    metavar="GAME",
    multiple=True,
)
@option("--out", "The folder of the results.", metavar="FOLDER", default="results")
@option("--workers", "Processes, by default one for each core.", types.FROM_ZERO)
@option("--on", "'ray', or the address of a Ray cluster.", metavar="ray|HOST:PORT")
@experiment_options
def bench(
    algorithms: tuple[str, ...],
    against: tuple[str, ...],
    suites: tuple[str, ...],
    games: tuple[str, ...],
    out: str,
    on: str | None,
    workers: int | None,
    **options: Any,
) -> int:
    """Run every algorithm on every game, in parallel, and keep the results in a folder.

    An algorithm is a name, or a rule of yours as my_rule.py:MyRule, with hyperparameters if needed.
    'dcfr(alpha=1:3:0.5,gamma=2|4)' is a grid of a range and two alternatives.

    Runs with a result in the folder are skipped; an edited rule runs again. After Ctrl-C or a
    crash, the same command continues. If a rule fails, the other runs continue.
    """
    if not suites and not games:
        raise Refusal(f"--suite: name one of {', '.join(suite_names())}, or pass --game GAME")
    with reporting("--suite"):
        listed = [game for text in suites for name in split(text, ",") for game in suite(name)]
    unique = {game.game: game for game in listed}
    played = [*dict.fromkeys(text for text in games if text not in unique), *unique.values()]
    with ExitStack() as stack, reporting(f"--out: {quote(out)}", Failure):
        executor = None
        if on is not None:
            with reporting("--on"):
                address = None if on == "ray" else on
                executor = stack.enter_context(RayExecutor(address, workers))
        running = {"folder": out, "executor": executor, "workers": workers}
        code, results, lines = _carried_out(
            played, (*algorithms, *against), running=running, **options
        )
    lines += ["", f"{len(results.runs)} results in {out}; * is the smallest of a game."]
    failures = [[*place, cause] for place, cause in results.failures.items()]
    facts = {"rows": results.to_rows(), "failures": failures, "out": out}
    return Report(facts, lines).write(code)


# Results in a folder


def _chosen(
    folder: str, games: Sequence[str], algorithms: str | None, labels: Sequence[str]
) -> Comparison:
    """Return the results in a folder for the chosen games and algorithms."""
    with reporting("FOLDER"):
        results = read_results(folder)
        if not results.runs:
            raise ValueError(f"{quote(folder)} has no results; regretkit bench writes them")
    with reporting("--only"):
        results = results.only(games)
    with reporting("--algorithms"):
        results = results.only(algorithms=split(algorithms, ",") if algorithms else ())
    with reporting("--label"):
        return results.only(labels=_labeled(labels))


choice = types.together(
    option("--only games", "Only this game; may be given several times.", multiple=True),
    option("--algorithms", "Only these, separated by commas.", metavar="A,B,..."),
    option("--against x", "The horizontal axis.", click.Choice(_AXES), default="iteration"),
    option("--measure y", "The measure; the first one by default.", metavar="NAME"),
    label,
    types.as_json,
)


@click.command("figure", short_help="Draw the results in a folder, or write a LaTeX table.")
@click.argument("folder", metavar="FOLDER")
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
    games: tuple[str, ...],
    algorithms: str | None,
    labels: tuple[str, ...],
    gap: float,
    **options: Any,
) -> int:
    """Draw the results of regretkit bench in FOLDER.

    Curves: one panel for each game, with each algorithm's median over seeds and a band between the
    quartiles. Profile: for each algorithm, the share of games in which it reaches --share of the
    first gap within a multiple of the least work. Ranking: average ranks of the last gaps, with the
    tests of Friedman and Nemenyi, printed as text. Table, for .tex: the work to reach --gap.
    """
    chosen, kind = _chosen(folder, games, algorithms, labels), options["kind"]
    with reporting("FOLDER"):
        if kind == "ranking":
            ranks = ranking(chosen, y=options["y"])
            return Report(asdict(ranks), str(ranks).splitlines()).write()
        if out is None:
            raise Refusal("--out: name a file in .pdf, .svg, .png or .tex")
        if out.suffix.lower() != ".tex":
            content = file_of(paper_figure(chosen, **options), out.suffix[1:].lower())
        elif kind == "profile":
            raise Refusal("--out: a profile cannot be a .tex table")
        else:
            content = gap_table(chosen, gap, x=options["x"], y=options["y"]).encode() + b"\n"
    return _written(out, content, chosen)


@click.command("report", short_help="Write an interactive HTML page of the results.")
@click.argument("folder", metavar="FOLDER")
@option("--out", "The page, as .html.", OutputFile(".html"), default="report.html")
@choice
def report(
    folder: str,
    out: Path,
    games: tuple[str, ...],
    algorithms: str | None,
    labels: tuple[str, ...],
    **axes: Any,
) -> int:
    """Write the results of regretkit bench in FOLDER as one HTML page.

    The page shows all curves, and their values under the pointer. Boxes and sliders choose games,
    algorithms and hyperparameters. A table gives the command that repeats each result. The page
    needs no server or network.
    """
    chosen = _chosen(folder, games, algorithms, labels)
    with reporting("FOLDER"):
        page = html_report(chosen, title=f"Results in {folder}", **axes)
    return _written(out, page.encode(), chosen)


def _written(out: Path, content: bytes, results: Comparison) -> int:
    write_file(out, content)
    runs = len(results.runs)
    return Report({"runs": runs, "out": str(out)}, [f"{runs} runs in {out}"]).write()
