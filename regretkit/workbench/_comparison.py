"""Comparisons: the measurements of many runs, as tables and curves."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from attrs import define, evolve, field, frozen

from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe
from regretkit._util._validate import candidates, quote
from regretkit.display._convergence import AT_EQUILIBRIUM, AXES, starts_at_equilibrium
from regretkit.display._style import aligned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@frozen
class ComparedRun:
    """The measurements of one run of a comparison.

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
    """The seed of its samples, None if utilities are exact."""
    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    """The measurements by name, including ``"iteration"``."""
    identity: Mapping[str, Any] = field(factory=dict, repr=False)
    """Everything that determines the measurements, as JSON data; empty if unknown."""

    @property
    def command(self) -> str:
        """The command that repeats the run; empty if its game or algorithm has no name."""
        known = self.identity
        if not all(known.get(name) for name in ("game", "algorithm", "measures")):
            return ""
        options = {
            "algorithms": known["algorithm"],
            "iterations": known["iterations"],
            "measures": ",".join(known["measures"]),
            "sample": known["sampling"],
            "gap": known["target_gap"],
            "time": known["time_limit"],
            "seeds": known["seed"] and known["seed"] + 1,
            "out": "again",
        }
        words = [f"--{name}={value}" for name, value in options.items() if value]
        words += ["--imperfect-recall"] * known["imperfect_recall"]
        return shlex.join(["regretkit", "bench", *words, "--", known["game"]])

    @property
    def measure(self) -> str:
        """The first measure besides iterations, visited histories and seconds."""
        return next((name for name in self.columns if name not in AXES), "seconds")

    @property
    def last(self) -> float:
        """The last value of ``measure``."""
        return float(self.columns[self.measure][-1])


@define(eq=False)
class Comparison:
    """The runs of an experiment. Printing it shows the last values as a table.

    Parameters
    ----------
    runs
        The measurements of each run.
    interrupted
        Whether Ctrl-C ended the experiment before the last run.
    failures
        The error of each failed run, by game, algorithm and seed.
    algorithms
        The names of all algorithms, in the order of tables and legends; by default the order of the
        runs. The position of an algorithm sets its color, also in a selection of the runs.

    Examples
    --------
    >>> from regretkit import compare
    >>> from regretkit.games import kuhn_poker, rock_paper_scissors
    >>> found = compare([kuhn_poker(), rock_paper_scissors()], ["cfr", "cfr+"], iterations=100)
    >>> found.to_rows()[0]["nash_conv"] > found.to_rows()[1]["nash_conv"]
    True
    >>> print(found)  # doctest: +ELLIPSIS
    game                 algorithm  iterations  seconds  nash_conv
    kuhn_poker           cfr               100  ...       0.0...
    kuhn_poker           cfr+              100  ...       0.00...  *
    rock_paper_scissors  cfr               100  ...          0  starts at equilibrium
    rock_paper_scissors  cfr+              100  ...          0  starts at equilibrium
    """

    runs: list[ComparedRun] = field(factory=list)
    interrupted: bool = False
    failures: Mapping[tuple[str, str, int | None], str] = field(factory=dict)
    algorithms: Sequence[str] = ()

    def __attrs_post_init__(self) -> None:
        self.algorithms = list(dict.fromkeys([*self.algorithms, *(r.algorithm for r in self.runs)]))

    def only(
        self,
        games: Iterable[str] = (),
        algorithms: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
    ) -> "Comparison":
        """Return a selection of the runs, with the same colors and order.

        Parameters
        ----------
        games, algorithms
            The names of the games and algorithms to keep, by default all.
        labels
            New names of algorithms, by their current names.
        """
        runs, labels = self.runs, labels or {}
        for part, given in (("game", [*games]), ("algorithm", [*algorithms])):
            known = [*dict.fromkeys(getattr(run, part) for run in self.runs)]
            for name in given:
                if name not in known:
                    problem = f"there are no results of the {part} {quote(name)}"
                    raise ValueError(f"{problem}, only of {candidates(known)}")
            runs = [run for run in runs if not given or getattr(run, part) in given]
        for name in labels:
            if name not in self.algorithms:
                problem = f"there is no algorithm {quote(name)} to label"
                raise ValueError(f"{problem}, only {candidates(self.algorithms)}")
        new = {name: labels.get(name, name) for name in self.algorithms}
        if len({*new.values()}) < len(new):
            raise ValueError(f"labels must differ, got {', '.join(new.values())}")
        runs = [evolve(run, algorithm=new[run.algorithm]) for run in runs]
        failures = {(game, new[name], s): why for (game, name, s), why in self.failures.items()}
        return Comparison(runs, self.interrupted, failures, list(new.values()))

    def measure(self, x: str = "iteration", y: str | None = None) -> str:
        """Return ``y``, by default the first measure; require both columns in all runs."""
        if not self.runs:
            raise ValueError("there are no runs to show")
        y = self.runs[0].measure if y is None else y
        for run in self.runs:
            for name in (x, y):
                if name not in run.columns:
                    problem = f"{run.algorithm} on {run.game} has no column {quote(name)}"
                    raise ValueError(f"{problem}, only {', '.join(run.columns)}")
        return y

    def present(self) -> list[str]:
        """Return the names of the algorithms with runs, in the order of all."""
        return [n for n in self.algorithms if any(run.algorithm == n for run in self.runs)]

    def curves(self) -> dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]]:
        """Return, for each game and algorithm, the columns of its runs, one run for each seed.

        ``display.convergence`` draws the entry of one game.
        """
        found: dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]] = {}
        for run in self.runs:
            found.setdefault(run.game, {}).setdefault(run.algorithm, []).append(run.columns)
        return found

    def at_equilibrium(self, y: str) -> set[str]:
        """Return the games where the first gap of every run is zero."""
        return {
            game
            for game, curves in self.curves().items()
            if starts_at_equilibrium(y, [c.get(y, []) for runs in curves.values() for c in runs])
        }

    @property
    def _columns(self) -> list[str]:
        seeds = ["seed"] if any(run.seed is not None for run in self.runs) else []
        measured = dict.fromkeys(name for run in self.runs for name in run.columns)
        return ["game", "algorithm", *seeds, *measured]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a table: a dict for each measurement of each run.

        Columns are ``game``, ``algorithm``, ``seed`` if a run has one, ``iteration`` and measures.
        """
        rows, columns = [], self._columns
        for run in self.runs:
            named = {"game": run.game, "algorithm": run.algorithm, "seed": run.seed}
            for values in zip(*run.columns.values(), strict=True):
                row = named | dict(zip(run.columns, values, strict=True))
                rows.append({name: row[name] for name in columns if name in row})
        return rows

    def to_csv(self, path: FilePath) -> None:
        """Write the table of ``to_rows`` to a file."""
        rows_to_csv(path, self._columns, self.to_rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_rows`` as a data frame."""
        return rows_to_dataframe(self._columns, self.to_rows())

    def plot(
        self,
        *,
        kind: Literal["curves", "profile"] = "curves",
        x: str = "iteration",
        y: str | None = None,
        width: float | Literal["column", "page"] | None = None,
        share: float = 1e-3,
    ) -> "Figure":
        """Return a figure outside pyplot, with one legend.

        Curves have a panel for each game, with logarithmic axes. A line shows the median over
        seeds, and a band the quartiles. Triangles at the lower edge mark values of zero or less.

        A performance profile compares the work t[a, g] of each algorithm a to reach the target gap
        of game g: ``share`` times the largest gap of all algorithms after the first iteration. It
        shows

            fraction of games g with  t[a, g]  <=  r min over b of t[b, g],    against r >= 1

        It omits games that start at equilibrium, and games without results of all algorithms.

        Parameters
        ----------
        kind
            ``"curves"`` or ``"profile"``.
        x
            The horizontal axis, or the work: ``"iteration"``, ``"visited"`` or ``"seconds"``.
        y
            The measure; by default the first one.
        width
            The width in inches; or, in letters of 8 points, ``"column"`` or ``"page"`` of a
            two-column paper.
        share
            In a profile, the target gap relative to the first gap, above zero.

        Examples
        --------
        >>> from regretkit import compare
        >>> from regretkit.games import kuhn_poker
        >>> figure = compare(kuhn_poker(), ["cfr", "cfr+"], 100).plot(width="column")
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['CFR', 'CFR+']

        References
        ----------
        Dolan and More (2002), "Benchmarking optimization software with performance profiles",
        Mathematical Programming 91.
        """
        from regretkit.workbench._figures import draw

        return draw(self, kind, x, self.measure(x, y), width, share)

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and cells of a table with a line for each game and algorithm.

        A line has the median over seeds of the last values, and their range. A star marks the
        smallest median of a game. A note marks games that start at equilibrium, and failed runs.
        """
        groups: dict[tuple[str, str], list[ComparedRun]] = {}
        for run in self.runs:
            groups.setdefault((run.game, run.algorithm), []).append(run)
        measures = dict.fromkeys(run.measure for run in self.runs)
        equal = {game for name in measures for game in self.at_equilibrium(name)}
        lasts = {place: median(run.last for run in runs) for place, runs in groups.items()}
        seeds = max(map(len, groups.values()), default=1) > 1
        failed = [(game, algorithm) for game, algorithm, _ in self.failures]
        places = dict.fromkeys([*groups, *failed])
        games = list(dict.fromkeys(game for game, _ in places))
        algorithms = [*self.algorithms, *(name for _, name in failed)]
        rows = []
        for place in sorted(places, key=lambda p: (games.index(p[0]), algorithms.index(p[1]))):
            runs = groups.get(place, [])
            rivals = [last for (game, _), last in lasts.items() if game == place[0]]
            if place in failed:
                note = "failed"
            elif place[0] in equal:
                note = AT_EQUILIBRIUM
            else:
                note = "*" * (len(rivals) > 1 and lasts[place] == min(rivals))
            last = [run.last for run in runs]
            spread = f"{min(last):.3g} to {max(last):.3g}" if len(runs) > 1 else ""
            cells = ["", "", ""]
            if runs:
                cells = [f"{median(run.columns['iteration'][-1] for run in runs):,.0f}"]
                cells += [f"{median(run.columns['seconds'][-1] for run in runs):.3g}"]
                cells += [f"{lasts[place]:.3g}"]
            rows.append([*place, *cells, *([spread, str(len(runs))] if seeds else []), note])
        extra = ["range", "seeds"] if seeds else []
        heads = ["game", "algorithm", "iterations", "seconds", " or ".join(measures), *extra, ""]
        return heads, rows

    def __str__(self) -> str:
        heads, rows = self.summary()
        lines = aligned([heads, *rows], range(2, len(heads) - 1))
        failed: dict[str, dict[str, str]] = {}
        for (game, name, _), why in self.failures.items():
            failed.setdefault(name, {}).setdefault(game, why)
        for name, whys in failed.items():
            lines.append(f"{name} on {', '.join(whys)}: {next(iter(whys.values()))}")
        return "\n".join([*lines, *["interrupted"] * self.interrupted])

    def _repr_html_(self) -> str:
        from regretkit.display._html import table

        heads, rows = self.summary()
        return table(rows, heads) + "<p>interrupted</p>" * self.interrupted

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.runs)} runs{', interrupted' * self.interrupted}>"
