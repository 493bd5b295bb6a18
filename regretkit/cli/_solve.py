"""``regretkit solve`` and ``resume``: new and saved runs."""

import shlex
from contextlib import redirect_stdout
from pathlib import Path
from sys import stderr
from typing import Any

import click
from attrs import define, field

from regretkit._util._validate import quote
from regretkit.cli import _console as console
from regretkit.cli import _types as types
from regretkit.cli._console import Failure, Refusal, Report, reason, reporting, say
from regretkit.cli._types import NamedGame, option
from regretkit.display._style import file_of, number, numbers
from regretkit.evaluation import nash_conv
from regretkit.games import Profile, fingerprint
from regretkit.play import (
    Algorithm,
    At,
    Checkpoint,
    Recorder,
    StopAtGap,
    StopAtTime,
    geometric,
)
from regretkit.play import resume as resume_run
from regretkit.play import solve as solve_game
from regretkit.sets import DecisionTree
from regretkit.workbench import ComparedRun, Comparison
from regretkit.workbench._names import algorithm_of, located

SMALL = 60
"""Most information sets of a strategy that is printed."""

outputs = types.together(
    types.strategy_out,
    option("--plot", "Draw the gap over iterations, as .svg, .pdf or .png.", types.figure_file),
    option(
        "--measure",
        "Also measure this gap to a correlated equilibrium, for the play of all iterations. May "
        "be given several times.",
        click.Choice(types.GAPS),
        multiple=True,
    ),
    option("--checkpoint", "Save the run to this file, for resume.", types.OutputFile()),
    option(
        "--checkpoint-every every",
        "Seconds between checkpoints.",
        types.POSITIVE,
        default=10.0,
    ),
    types.quiet,
    types.as_json,
)


@define(eq=False)
class _Session:
    """A run of the command line, its measurements, checkpoints and report."""

    game: NamedGame
    label: str
    """The name of the algorithm in reports."""
    rule: str | None
    sample: str | None
    target_gap: float | None
    time_limit: float | None
    iterations: int | None
    measure: tuple[str, ...]
    checkpoint: Path | None
    every: float
    out: Path | None
    plot: Path | None
    run: Any = None
    """The run; None before it begins."""
    record: Recorder = field(init=False)
    show: console.Progress = field(init=False)
    interrupted: bool = False

    def __attrs_post_init__(self) -> None:
        self.game.refuse_without_tree({"--plot": self.plot, "--measure": self.measure})
        gap = {} if self.game.by_rules else {"gap": self._gap}
        self.record = Recorder(
            {"seconds": "seconds", **gap, **{name: name for name in self.measure}}
        )

    def _gap(self, run: Any) -> float:
        """Return the gap of the reported strategies."""
        return float(nash_conv(run.game, self.game.coarsen(run.average)))

    def begin(self, run: Any) -> None:
        """Keep the run for a report after an interrupt."""
        self.run = run

    def __call__(self, run: Any) -> None:
        """Show the progress of the run."""
        gaps = self.record.values.get("gap", [])
        gap = f", gap {gaps[-1]:.2e}" if gaps else ""
        done, total = run.iteration, self.iterations
        text = f"iteration {done:,}{'' if total is None else f' of {total:,}'}{gap}"
        self.show(text, done if total else run.seconds, total or self.time_limit)

    @property
    def saved(self) -> list[Any]:
        """The callbacks in a checkpoint."""
        return [At(geometric(1.25 if self.target_gap is None else 1.05), self.record)]

    def play(self, start: Any) -> None:
        """Call ``start`` with the callbacks, until the run ends or Ctrl-C."""
        watching = saved = self.saved
        if self.checkpoint is not None:
            watching = [Checkpoint(self.checkpoint, seconds=self.every, callbacks=saved)]
        try:
            with console.progress() as self.show, redirect_stdout(stderr):  # rules may print
                self.run = start([*watching, At(geometric(1.02), self)])
        except KeyboardInterrupt:
            self.interrupted = True
            if self.run is None or not self.run.iteration:
                raise
        except (Exception, SystemExit) as error:
            raise self._failure(error) from error
        if not self.game.by_rules and self.record.iterations[-1:] != [self.run.iteration]:
            with reporting("--measure"):
                self.record(self.run)
        if self.checkpoint is not None:
            with reporting("--checkpoint", Failure):
                self.run.save(self.checkpoint, callbacks=saved)

    def _failure(self, error: BaseException) -> click.ClickException:
        if isinstance(error, OSError):
            return Failure(f"--checkpoint: {reason(error)}")
        if self.run is None and isinstance(error, TypeError | ValueError | MemoryError):
            message = reason(error) if self.rule is None else located(error, self.rule)
            return Refusal(f"{'--algorithm' if self.rule is None else '--rule'}: {message}")
        cause = error.__cause__ if isinstance(error, RuntimeError) else None
        place = f"iteration {self.run.iteration + 1}: " if self.run is not None else ""
        return Failure(f"{place}{located(cause or error, self.rule or self.label)}")

    def stopped_by(self) -> str:
        """Return why the run ended: interrupt, gap, time or iterations."""
        gaps: list[Any] = self.record.values.get("gap", [])
        if self.interrupted:
            return "interrupt"
        if self.target_gap is not None and gaps and gaps[-1] <= self.target_gap:
            return "gap"
        if self.time_limit is not None and self.run.seconds >= self.time_limit:
            return "time"
        return "iterations"

    def report(self) -> int:
        """Write the files, report the run, and return the exit code."""
        run, game, report, ended = self.run, self.game, Report(), self.stopped_by()
        average = game.coarsen(run.average)
        curve: dict[str, Any] = {"iteration": self.record.iterations, **self.record.values}
        write_strategy(average, self.out)
        if self.plot is not None:
            columns = {name: curve[name] for name in ("gap", "iteration", "seconds")}
            compared = Comparison([ComparedRun(game.name, self.label, None, columns)])
            figure = compared.plot(x="iteration", y="gap")
            console.write_file(self.plot, file_of(figure, self.plot.suffix[1:]), "--plot")
        seconds = curve["seconds"][-1] if curve["iteration"] else run.seconds
        took = f"{run.iteration:,} in {seconds:.3g} s, {number(run.iteration / max(seconds, 1e-9))}"
        after = {"interrupt": ", then interrupted", "time": ", then time was up"}.get(ended, "")
        sampling = f", {self.sample} sampling" if self.sample else ""
        report.add(f"game        {game.name}", game=game.name, fingerprint=fingerprint(run.game))
        report.add(f"algorithm   {self.label}{sampling}", algorithm=self.label)
        report.add(f"iterations  {took} a second{after}", iterations=run.iteration, seconds=seconds)
        report.add(rule=self.rule, sample=self.sample, stopped_by=ended)
        if game.by_rules:
            met = " + ".join(f"{count:,}" for count in run.information_sets)
            report.add(f"visited     {met} information sets; no gap without the tree")
            report.add(information_sets=list(run.information_sets))
        else:
            gap, value = curve["gap"][-1], run.game.value(average).tolist()
            report.add(
                f"engine      {run.engine}", engine=run.engine, imperfect_recall=game.forgets
            )
            report.add(f"gap         {number(gap)} {meaning_of_gap(game.forgets)}", gap=gap)
            report.add(*(f"{name:<11} {number(curve[name][-1])}" for name in self.measure))
            report.add(f"value       {numbers(value)}", value=value)
            report.add(exploitability=gap / run.players, curve=curve)
        files = {"checkpoint": self.checkpoint, "strategy": self.out, "figure": self.plot}
        for name, path in files.items():
            report.add(*[f"{name:<11} {path}"] * bool(path), **{name: path and str(path)})
        report.add(*strategy_lines(average, written=self.out is not None))
        code = console.SHORT_OF_GAP if self.target_gap and ended != "gap" else console.DONE
        report.write()
        if self.interrupted:
            code, more = console.INTERRUPTED, "--checkpoint FILE saves runs to resume"
            if self.checkpoint is not None:
                command = shlex.join(["regretkit", "resume", str(self.checkpoint)])
                more = f"{command} continues it"
            say(f"interrupted; {more}")
        return code


@click.command(short_help="Solve a game by self-play.", epilog=types.GAME_HELP)
@types.game_or_rules
@types.rule_options
@types.limits
@outputs
@types.sample
@types.seed
@types.imperfect_recall
@option(
    "--engine",
    "The engine that runs the iterations.",
    metavar="auto|compiled|numpy",
    default="auto",
)
def solve(
    game: NamedGame,
    algorithm: str | None,
    rule: str | None,
    sample: str | None,
    seed: int | None,
    imperfect_recall: bool,
    engine: str,
    iterations: int | None,
    target_gap: float | None,
    time_limit: float | None,
    **given: Any,
) -> int:
    """Solve a game by self-play, and report the gap of the average strategies.

    The first limit reached ends the run; the default is a thousand iterations. Ctrl-C ends the run
    after an iteration, saves the checkpoint, and reports the result so far.

    With --sample external or outcome, the run needs only the rules of a game, not its tree.
    """
    game.accept(imperfect_recall)
    if not (iterations or target_gap or time_limit):
        iterations = 1_000
    made = types.algorithm_from(algorithm, rule, sample)
    if given["checkpoint"] is not None and given["checkpoint"].exists():
        path = str(given["checkpoint"])
        words = shlex.join(["regretkit", "resume", path])
        raise Refusal(f"--checkpoint: {quote(path)} exists; {words} continues it")
    default = algorithm or ("cfr+" if made.sampling is None else "lcfr")
    label = " in ".join(filter(None, (rule, algorithm))) if rule else default
    own = rule or (algorithm if algorithm and ":" in algorithm else None)
    options = made.sampling, target_gap, time_limit, iterations
    session = _Session(game, label, own, *options, **given)
    limits: dict[str, Any] = {"time_limit": time_limit, "seed": seed, "engine": engine}
    if game.by_rules:
        if made.sampling is None:
            raise Refusal(
                f"--sample: the tree of {game.text} does not fit into memory; "
                "pass --sample external"
            )
        game.refuse_without_tree({"--gap": target_gap})
    else:
        limits |= {"imperfect_recall": game.forgets, "target_gap": target_gap}
    session.play(
        lambda callbacks: solve_game(game.game, made, iterations, callbacks=callbacks, **limits)
    )
    return session.report()


@click.command(short_help="Continue a saved run.")
@click.argument("file", metavar="FILE")
@types.limits
@option("--game", "The game, if the catalogue lacks it.", types.GameType(or_rules=True))
@option("--rule", "The rule or algorithm, if it is your own.", metavar="FILE.py:CLASS")
@outputs
def resume(
    file: str,
    game: NamedGame | None,
    rule: str | None,
    iterations: int | None,
    target_gap: float | None,
    time_limit: float | None,
    **given: Any,
) -> int:
    """Continue a saved run. The result is bitwise that of a run without interruption.

    Without a limit, the run continues to the --iterations of its start. Iterations count from the
    first one, seconds from now. Pass again your own --rule, a --game outside the catalogue or
    without its tree, and each --measure: a file never selects code to run or other files to read.
    """
    with reporting("--rule"):
        made: Algorithm | None = None if rule is None else algorithm_of(rule)
    given["checkpoint"] = given["checkpoint"] or Path(file)
    with reporting("FILE"):
        given_game: Any = None if game is None else game.game
        run: Any = resume_run(file, given_game, algorithm=made)
    if game is None:
        game = NamedGame(getattr(run.game, "name", None) or "the game of the file", run.game)
    if not (iterations or target_gap or time_limit):
        iterations = run.horizon
    if not (iterations or target_gap or time_limit):
        raise Refusal(f"FILE: {file} has no limit; pass --iterations N")
    label = rule or f"as saved in {file}"
    sample = getattr(run.estimator, "name", None)
    session = _Session(game, label, rule, sample, target_gap, time_limit, iterations, **given)
    with reporting("FILE"):
        try:  # with measurements, which only files from the command line have
            restored = resume_run(file, game.game, algorithm=made, callbacks=session.saved)
            run = restored
        except ValueError as error:
            say(f"measurements start again: {reason(error)}")
    if iterations is not None and run.iteration >= iterations:
        say(f"the run already has {run.iteration:,} iterations; pass more --iterations")

    def start(callbacks: list[Any]) -> Any:
        if target_gap is not None:
            callbacks.append(At(geometric(1.05), StopAtGap(target_gap)))
        if time_limit is not None:
            callbacks.append(StopAtTime(time_limit))
        most = 2**62 if iterations is None else max(iterations - run.iteration, 0)
        return run.run(most, callbacks=callbacks)

    session.play(start)
    return session.report()


def meaning_of_gap(imperfect_recall: bool) -> str:
    """Return the meaning of a gap."""
    recall = " with perfect recall" if imperfect_recall else ""
    return f"in units of payoff: the gain of best responses{recall}, summed over players"


def write_strategy(profile: Any, path: Path | None) -> None:
    """Write a strategy to ``path``, if given, in the format of its ending."""
    if path is not None:
        with reporting("--out", Failure):
            (profile.to_csv if path.suffix.lower() == ".csv" else profile.to_json)(path)


def strategy_lines(profile: Profile, *, written: bool) -> list[str]:
    """Return the strategy as lines if it is small, or a hint."""
    sizes = [d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains]
    if sum(sizes) <= SMALL:
        return ["", *str(profile).splitlines()]
    return [] if written else ["", "Long strategy: --out FILE writes it, as .json or .csv."]
