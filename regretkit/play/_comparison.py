"""Many algorithms on many games, by several seeds, and how their gaps fall."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe
from regretkit._util._validate import above_zero, must_be, quote, whole_number
from regretkit.games import Game
from regretkit.games._adapters import has_rules_alone
from regretkit.games._game import check_game
from regretkit.play._algorithms import ALGORITHMS, Algorithm, AlgorithmLike, named
from regretkit.play._callbacks import At, geometric
from regretkit.play._measures import AXES, MEASURES, SAMPLED_GAP, check_tree, sampled_gap
from regretkit.play._recorder import Recorder
from regretkit.play._solve import RulesLike, refuse_tree, solve, start_by_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MEASURED = 0.2
"""The part of a time limit that is kept for a sampled measurement at the end."""

RATIO, RATIO_TO_GAP = 1.25, 1.05
"""By how much iterations grow from one measurement to the next; the second is that of `solve`."""


@frozen
class ComparedRun:
    """What was measured of one run of a comparison.

    Examples
    --------
    >>> ComparedRun("kuhn_poker", "cfr", None, {"iteration": [1, 2], "gap": [0.9, 0.5]}).last
    0.5
    """

    game: str
    """The name of the game."""
    algorithm: str
    """The name of the algorithm."""
    seed: int | None
    """The seed of its samples, None where utilities are exact."""
    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    """What was measured: ``"iteration"``, and by name all the rest."""
    is_whole: bool = True
    """Whether it went on to a limit, and was not interrupted."""
    command: str = field(default="", repr=False)
    """How a shell runs it again, empty where that is not known."""

    @property
    def measure(self) -> str:
        """The name of the measure that is compared, the first that is not among ``AXES``."""
        return next((name for name in self.columns if name not in AXES), "seconds")

    @property
    def last(self) -> float:
        """The last value of ``measure``."""
        return float(self.columns[self.measure][-1])


@define(eq=False)
class Comparison:
    """The runs of ``compare``: as a table, as curves, and in short when it is printed.

    Parameters
    ----------
    runs
        What was measured of each run.
    interrupted
        Whether Ctrl-C ended it before its last run was whole.
    failures
        Why runs failed, by game, algorithm and seed; those of ``Experiment`` do not stop others.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> found = compare(kuhn_poker(), ["cfr", "cfr+"], iterations=100)
    >>> found.to_rows()[0]  # doctest: +ELLIPSIS
    {'game': 'kuhn_poker', 'algorithm': 'cfr', 'iteration': 1, 'nash_conv': 0.9..., 'seconds': ...}
    >>> print(found)  # doctest: +ELLIPSIS
    game        algorithm  iterations  seconds  nash_conv
    kuhn_poker  cfr               100  ...       0.0...
    kuhn_poker  cfr+              100  ...       0.00...  *
    """

    runs: list[ComparedRun] = field(factory=list)
    interrupted: bool = False
    failures: Mapping[tuple[str, str, int | None], str] = field(factory=dict)

    @property
    def _columns(self) -> list[str]:
        seeds = ["seed"] if any(run.seed is not None for run in self.runs) else []
        measured = dict.fromkeys(name for run in self.runs for name in run.columns)
        return ["game", "algorithm", *seeds, *measured]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a table: a dict for each measurement of each run.

        Its columns are ``game``, ``algorithm``, ``seed`` if there are any, ``iteration`` and what
        was measured.
        """
        rows, columns = [], self._columns
        for run in self.runs:
            named = {"game": run.game, "algorithm": run.algorithm, "seed": run.seed}
            for values in zip(*run.columns.values(), strict=True):
                row = named | dict(zip(run.columns, values, strict=True))
                rows.append({name: row[name] for name in columns if name in row})
        return rows

    def to_csv(self, path: FilePath) -> None:
        """Write the table of ``to_rows`` into a file, as ``Recorder.to_csv`` does.

        Raises
        ------
        OSError
            When the file cannot be written.
        """
        rows_to_csv(path, self._columns, self.to_rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_rows`` for pandas, as ``Recorder.to_dataframe`` does.

        Raises
        ------
        ImportError
            When pandas is not installed.
        """
        return rows_to_dataframe(self._columns, self.to_rows())

    def curves(self) -> dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]]:
        """Return for each game and algorithm the columns of its runs, one for each seed.

        ``display.convergence`` draws those of one game.
        """
        found: dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]] = {}
        for run in self.runs:
            found.setdefault(run.game, {}).setdefault(run.algorithm, []).append(run.columns)
        return found

    def plot(self, **options: Any) -> "Figure":
        """Return a figure, unknown to pyplot, with a panel of ``display.convergence`` per game.

        The mean over seeds is a line, and the range from the least to the largest a band.

        Parameters
        ----------
        options
            What ``display.convergence`` takes, such as ``x="seconds"``; ``figsize`` is that of the
            figure.

        Raises
        ------
        ImportError
            When matplotlib is not installed.
        ValueError
            When there are no runs, or an option does not fit.
        """
        from regretkit.display._convergence import convergence_panels
        from regretkit.display._style import require_matplotlib

        require_matplotlib("Comparison.plot")
        if not self.runs:
            raise ValueError("there are no runs to draw")
        return convergence_panels(self.curves(), **options)

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the cells of a table with a line for each game and algorithm.

        It has the mean over seeds of the last values and their range, a star at the smallest mean
        of a game, and dots where a run was interrupted.
        """
        groups: dict[tuple[str, str], list[ComparedRun]] = {}
        for run in self.runs:
            groups.setdefault((run.game, run.algorithm), []).append(run)
        whole = {
            place: fmean(run.last for run in runs)
            for place, runs in groups.items()
            if all(run.is_whole for run in runs)
        }
        seeds = max(map(len, groups.values()), default=1) > 1
        measure = " or ".join(dict.fromkeys(run.measure for run in self.runs))
        rows = []
        for (game, algorithm), runs in groups.items():
            rivals = [mean for (other, _), mean in whole.items() if other == game]
            is_best = len(rivals) > 1 and whole.get((game, algorithm)) == min(rivals)
            mark = ("*" if is_best else "") if (game, algorithm) in whole else "..."
            last = [run.last for run in runs]
            spread = f"{min(last):.3g} to {max(last):.3g}" if len(runs) > 1 else ""
            cells = [f"{fmean(run.columns['iteration'][-1] for run in runs):,.0f}"]
            cells += [f"{fmean(run.columns['seconds'][-1] for run in runs):.3g}"]
            cells += [f"{fmean(last):.3g}", *([spread, str(len(runs))] if seeds else []), mark]
            rows.append([game, algorithm, *cells])
        extra = ["range", "seeds"] if seeds else []
        return ["game", "algorithm", "iterations", "seconds", measure, *extra, ""], rows

    def __str__(self) -> str:
        heads, rows = self.summary()
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        places = [f"{{:{'<>'[column > 1]}{width}}}" for column, width in enumerate(widths)]
        lines = ["  ".join(places).format(*cells) for cells in (heads, *rows)]
        lines += ["interrupted"] if self.interrupted else []
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        from regretkit.display._html import table

        heads, rows = self.summary()
        return table(rows, heads) + "<p>interrupted</p>" * self.interrupted

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.runs)} runs{', interrupted' * self.interrupted}>"


def compare(
    games: Game | RulesLike | Iterable[Game | RulesLike] | Mapping[str, Game | RulesLike],
    algorithms: str | Iterable[AlgorithmLike] | Mapping[str, AlgorithmLike],
    iterations: int | None = None,
    *,
    target_gap: float | None = None,
    time_limit: float | None = None,
    sampling: str | None = None,
    seeds: Iterable[int] = (0,),
    measures: str | Sequence[str] | Mapping[str, Any] | None = None,
    engine: str = "auto",
    progress: bool | Callable[[str], object] = False,
) -> Comparison:
    """Run every algorithm on every game, and compare how their gaps fall.

    The limits are those of each run. Measurements are taken at iterations that grow by a quarter,
    by a twentieth with ``target_gap``, and at the last one.

    Ctrl-C ends the comparison, which is returned as ``interrupted`` with the runs so far, of which
    the last may not be ``is_whole``.

    Parameters
    ----------
    games
        A game, several, or several by names of one's own. Games by their rules alone, as
        ``solve`` takes them, are played by external sampling unless another one is given.
    algorithms
        What ``solve`` takes, several of it, or several by names of one's own; by its name or its
        class, one needs no other name.
    iterations, target_gap, time_limit
        When to stop, as ``solve`` takes it.
    sampling
        How all algorithms sample utilities, as ``solve`` takes it; by default those that sample do.
    seeds
        Whole numbers: an algorithm that samples is run with each of these, all others once.
    measures
        What to measure beside the seconds, as ``Recorder`` takes it; the first is compared. By
        default ``"nash_conv"``, and for rules ``"local_best_response"`` at the end of each run. The
        latter is of fewer games where they take longer than a fifth of ``time_limit``, which is
        kept for it.
    engine, progress
        As ``solve`` takes them.

    Raises
    ------
    TypeError, ValueError
        When a game or an algorithm is none, or two have the same name; a seed is given twice; or
        as ``solve`` does. What can be refused is, before the first run.
    KeyboardInterrupt
        After Ctrl-C before anything was measured.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, matching_pennies
    >>> games = [kuhn_poker(), matching_pennies()]
    >>> found = compare(games, ["mccfr", "cfr+"], iterations=50, seeds=range(3))
    >>> [(run.game, run.algorithm, run.seed) for run in found.runs][:4]
    [('kuhn_poker', 'mccfr', 0), ('kuhn_poker', 'mccfr', 1), ('kuhn_poker', 'mccfr', 2), \
('kuhn_poker', 'cfr+', None)]
    """
    played = _named_games(games)
    chosen = _named_algorithms(algorithms, sampling)
    numbers = _as_seeds(seeds)
    cases = []
    for game in played:
        for name, given in chosen.items():
            by_rules = has_rules_alone(played[game])
            made = Algorithm(given, sampling=given.sampling or ("external" if by_rules else None))
            _start(played[game], made, target_gap, measures, engine)  # refuses what cannot run
            drawn = [None] if made.sampling is None else numbers
            cases += [(game, name, made, seed) for seed in drawn]
    options: dict[str, Any] = {"target_gap": target_gap, "iterations": iterations, "engine": engine}
    found = Comparison()
    for game, name, made, seed in cases:
        options |= {"seed": seed, "progress": _titled(progress, f"{game}, {name}")}
        columns = _measured(played[game], made, measures, found, time_limit, options)
        if columns["iteration"]:
            found.runs.append(ComparedRun(game, name, seed, columns, not found.interrupted))
        if found.interrupted and not found.runs:
            raise KeyboardInterrupt
        if found.interrupted:
            break
    return found


def _measured(
    game: Any,
    algorithm: Algorithm,
    measures: Any,
    found: Comparison,
    time_limit: float | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Run an algorithm on a game, to the end or to Ctrl-C, and return what was measured."""
    at_end, gap = has_rules_alone(game) and measures is None, sampled_gap
    default = () if at_end else "nash_conv"
    by_name = _with_seconds(default if measures is None else measures)
    if time_limit is not None and (at_end or SAMPLED_GAP in by_name.values()):
        above_zero(time_limit, "time_limit")
        gap = partial(sampled_gap, time_limit=_MEASURED * time_limit)
        by_name = {name: gap if x == SAMPLED_GAP else x for name, x in by_name.items()}
        time_limit *= 1.0 - _MEASURED
    record, ratio = Recorder(by_name), RATIO if options["target_gap"] is None else RATIO_TO_GAP
    play = partial(solve, game, algorithm, time_limit=time_limit, **options)
    try:
        return measured(play, record, ratio, gap if at_end else None)
    except KeyboardInterrupt:
        found.interrupted = True
    return {"iteration": [] if at_end else record.iterations, **record.values}


def measured(
    play: Callable[..., Any],
    record: Recorder,
    ratio: float = RATIO,
    gap: Callable[[Any], float] | None = None,
) -> dict[str, list[Any]]:
    """Play with the ``callbacks`` that measure, and return what was measured, the end included.

    Where a gap is given, which takes long to measure, there is nothing but the end.
    """
    run = play(callbacks=[At(geometric(ratio), record)])
    if run.iteration and record.iterations[-1:] != [run.iteration]:
        record(run)
    columns: dict[str, list[Any]] = {"iteration": record.iterations, **record.values}
    if gap is None:
        return columns
    last = {name: values[-1:] for name, values in columns.items()}
    return {"iteration": last.pop("iteration"), SAMPLED_GAP: [gap(run)], **last}


def _start(
    game: Any, algorithm: Algorithm, target_gap: float | None, measures: Any, engine: str
) -> None:
    """Start a run, or refuse what could not run later."""
    if not has_rules_alone(game):
        algorithm.start(game, engine=engine)
        return
    refuse_tree(game, target_gap=target_gap, engine="" if engine == "auto" else engine)
    start_by_rules(game, algorithm)
    for name in _with_seconds(SAMPLED_GAP if measures is None else measures).values():
        if isinstance(name, str) and name in MEASURES and name not in (SAMPLED_GAP, "seconds"):
            check_tree(None, name)


def _with_seconds(measures: str | Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return measures by name, with the seconds at the end."""
    listed: Any = [measures] if isinstance(measures, str) else measures
    by_name = dict(listed) if isinstance(listed, Mapping) else {name: name for name in listed}
    return {**by_name, "seconds": "seconds"}


def _titled(progress: bool | Callable[[str], object], title: str) -> bool | Callable[[str], object]:
    """Return what shows progress, with a title where it is a function."""
    return (lambda line: progress(f"{title}: {line}")) if callable(progress) else progress


def _as_seeds(seeds: Iterable[int]) -> list[int]:
    if not isinstance(seeds, Iterable):
        raise TypeError(
            must_be("seeds", "several whole numbers", seeds, "pass range(3) for 0, 1 and 2")
        )
    numbers = [whole_number(seed, "seeds", minimum=0) for seed in seeds]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds must be different whole numbers, one at least, got {numbers}")
    return numbers


def _named_games(games: Any) -> dict[str, Any]:
    single = isinstance(games, str) or hasattr(games, "domains") or has_rules_alone(games)
    if not single and not isinstance(games, Iterable):
        check_game(games)
    given: Any = [games] if single else games
    pairs = given.items() if isinstance(given, Mapping) else [(None, game) for game in given]
    swapped = [text for _, text in pairs if isinstance(text, str) and text.lower() in ALGORITHMS]
    if swapped:
        raise TypeError(f"got the algorithm {quote(swapped[0])} among the games; games come first")
    found = []
    for name, game in pairs:
        default = type(game).__name__
        if not has_rules_alone(game):
            check_game(game)
            default = quote(game)
        found.append((getattr(game, "name", None) or default if name is None else name, game))
    return _distinct(found, "games")


def _named_algorithms(algorithms: Any, sampling: str | None) -> dict[str, Algorithm]:
    single = isinstance(algorithms, str | Algorithm) or callable(algorithms)
    given: Any = [algorithms] if single else algorithms
    named_by = isinstance(given, Mapping)
    pairs = given.items() if named_by else [(_name(algorithm), algorithm) for algorithm in given]
    found = [(name, Algorithm(named(algorithm), sampling=sampling)) for name, algorithm in pairs]
    return _distinct(found, "algorithms")


def _name(algorithm: AlgorithmLike) -> str:
    """Return what to call an algorithm."""
    if isinstance(algorithm, str):
        return algorithm
    if isinstance(algorithm, Algorithm):
        sampling, exact = algorithm.sampling, evolve(algorithm, sampling=None)
        for alike, ending in ((algorithm, ""), (exact, f", {sampling} sampling")):
            for name, known in ALGORITHMS.items():
                if known == alike:
                    return name + ending
        return _name(algorithm.local)
    if isinstance(algorithm, Sequence):
        return " against ".join(map(_name, algorithm))
    if isinstance(algorithm, partial) and not algorithm.args:
        given = ", ".join(f"{name}={value!r}" for name, value in algorithm.keywords.items())
        return quote(f"{_name(algorithm.func)}({given})", 60).strip("'\"")
    return str(getattr(algorithm, "__name__", None) or quote(algorithm, 60))


def _distinct(pairs: Iterable[tuple[str, Any]], argument: str) -> dict[str, Any]:
    """Return a mapping of pairs, or refuse two of one name."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(
                f"{argument} has {quote(name)} twice; give them names, as in "
                f"{{'first': ..., 'second': ...}}"
            )
        found[name] = value
    if not found:
        raise ValueError(f"{argument} must be one at least, got none")
    return found
