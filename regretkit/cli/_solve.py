"""``regretkit solve`` and ``resume``: a new run, and a saved one."""

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
from regretkit.play._checkpoint import CheckpointError
from regretkit.sets import DecisionTree
from regretkit.workbench import ComparedRun, Comparison
from regretkit.workbench._names import algorithm_of, located

SMALL = 60
"""Information sets up to which a strategy is shown."""

outputs = types.together(
    types.strategy_out,
    option("--plot", "Draw how the gap fell, as .svg, .pdf or .png.", types.figure_file),
    option(
        "--measure",
        "Measure this gap to a correlated equilibrium too, of the play of all iterations. May be "
        "given several times.",
        click.Choice(types.GAPS),
        multiple=True,
    ),
    option("--checkpoint", "Save the run in this file, to resume it.", types.OutputFile()),
    option(
        "--checkpoint-every every",
        "Seconds between two checkpoints.",
        types.POSITIVE,
        default=10.0,
    ),
    types.quiet,
    types.as_json,
)


@define(eq=False)
class _Session:
    """A run of the command line: its measurements, its checkpoints and its report."""

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
    """The run once it has begun."""
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
        """Measure the gap of the strategies that are reported."""
        return float(nash_conv(run.game, self.game.coarsen(run.average)))

    def begin(self, run: Any) -> None:
        """Note the run, which an interrupt would lose."""
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
        """Let ``start`` play with the callbacks, up to Ctrl-C, and report errors."""
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
        if isinstance(error, CheckpointError):
            return Failure(f"--checkpoint: {reason(error)}")
        if self.run is None and isinstance(error, TypeError | ValueError | MemoryError):
            told = reason(error) if self.rule is None else located(error, self.rule)
            return Refusal(f"{'--algorithm' if self.rule is None else '--rule'}: {told}")
        cause = error.__cause__ if isinstance(error, RuntimeError) else None
        place = f"iteration {self.run.iteration + 1}: " if self.run is not None else ""
        return Failure(f"{place}{located(cause or error, self.rule or self.label)}")

    def stopped_by(self) -> str:
        """Return the end of the run: interrupt, gap, time or iterations."""
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
        run, game, told, ended = self.run, self.game, Report(), self.stopped_by()
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
        told.add(f"game        {game.name}", game=game.name, fingerprint=fingerprint(run.game))
        told.add(f"algorithm   {self.label}{sampling}", algorithm=self.label)
        told.add(f"iterations  {took} a second{after}", iterations=run.iteration, seconds=seconds)
        told.add(rule=self.rule, sample=self.sample, stopped_by=ended)
        if game.by_rules:
            met = " + ".join(f"{count:,}" for count in run.information_sets)
            told.add(f"visited     {met} information sets; without the tree no gap is known")
            told.add(information_sets=list(run.information_sets))
        else:
            gap, value = curve["gap"][-1], run.game.value(average).tolist()
            told.add(f"engine      {run.engine}", engine=run.engine, imperfect_recall=game.forgets)
            told.add(f"gap         {number(gap)} {meaning_of_gap(game.forgets)}", gap=gap)
            told.add(*(f"{name:<11} {number(curve[name][-1])}" for name in self.measure))
            told.add(f"value       {numbers(value)}", value=value)
            told.add(exploitability=gap / run.players, curve=curve)
        files = {"checkpoint": self.checkpoint, "strategy": self.out, "figure": self.plot}
        for name, path in files.items():
            told.add(*[f"{name:<11} {path}"] * bool(path), **{name: path and str(path)})
        told.add(*strategy_lines(average, written=self.out is not None))
        code = console.SHORT_OF_GAP if self.target_gap and ended != "gap" else console.DONE
        told.write()
        if self.interrupted:
            code, more = console.INTERRUPTED, "with --checkpoint FILE a run can be resumed"
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
    "What runs the iterations.",
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

    Without a limit it plays a thousand iterations; the first of several limits stops it. Ctrl-C
    ends the run between two iterations, saves the checkpoint, and reports the result so far.

    With --sample external or outcome, the run needs the rules of a game alone and no tree.
    """
    game.accept(imperfect_recall)
    if not (iterations or target_gap or time_limit):
        iterations = 1_000
    made = types.algorithm_from(algorithm, rule, sample)
    if given["checkpoint"] is not None and given["checkpoint"].exists():
        path = str(given["checkpoint"])
        words = shlex.join(["regretkit", "resume", path])
        raise Refusal(f"--checkpoint: {quote(path)} exists already; {words} continues it")
    default = algorithm or ("cfr+" if made.sampling is None else "lcfr")
    label = " in ".join(filter(None, (rule, algorithm))) if rule else default
    own = rule or (algorithm if algorithm and ":" in algorithm else None)
    options = made.sampling, target_gap, time_limit, iterations
    session = _Session(game, label, own, *options, **given)
    limits: dict[str, Any] = {"time_limit": time_limit, "seed": seed}
    if game.by_rules:
        if made.sampling is None:
            raise Refusal(f"--sample: the tree of {game.text} does not fit; pass --sample external")
        game.refuse_without_tree({"--gap": target_gap, "--engine": engine != "auto"})
    else:
        limits |= {"engine": engine, "imperfect_recall": game.forgets, "target_gap": target_gap}
    session.play(
        lambda callbacks: solve_game(game.game, made, iterations, callbacks=callbacks, **limits)
    )
    return session.report()


@click.command(short_help="Continue a saved run.")
@click.argument("file", metavar="FILE")
@types.limits
@option("--game", "The game, if it is not in the catalogue.", types.GameType(or_rules=True))
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
    """Continue a saved run, bitwise identically to one that was never stopped.

    Without a limit it continues to the --iterations of its start. Iterations count from the first
    one, seconds from now. Name a rule of yours again, a game outside the catalogue or without its
    tree, and each --measure: a file never decides which code is run or which other file is read.
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
        raise Refusal(f"FILE: {file} does not say when to stop; pass --iterations N")
    label = rule or f"as saved in {file}"
    sample = getattr(run.estimator, "name", None)
    session = _Session(game, label, rule, sample, target_gap, time_limit, iterations, **given)
    with reporting("FILE"):
        try:  # with the measurements in the file, where the command line has written it
            restored = resume_run(file, game.game, algorithm=made, callbacks=session.saved)
            run = restored
        except ValueError as error:
            say(f"measurements begin anew: {reason(error)}")
    if iterations is not None and run.iteration >= iterations:
        say(f"nothing is left to play after {run.iteration:,} iterations; pass more --iterations")

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
    """Write a strategy in the format of the file's ending, if there is a file."""
    if path is not None:
        with reporting("--out", Failure):
            (profile.to_csv if path.suffix.lower() == ".csv" else profile.to_json)(path)


def strategy_lines(profile: Profile, *, written: bool) -> list[str]:
    """Return the lines of a strategy if it is small."""
    sizes = [d.points if isinstance(d, DecisionTree) else 1 for d in profile.domains]
    if sum(sizes) <= SMALL:
        return ["", *str(profile).splitlines()]
    return [] if written else ["", "The strategy is long: --out FILE writes it, as .json or .csv."]
