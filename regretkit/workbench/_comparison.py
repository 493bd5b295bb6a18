"""What was measured of many runs: as a table, as curves, and in short when it is printed."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from regretkit._util._files import FilePath, rows_to_csv, rows_to_dataframe
from regretkit._util._validate import candidates, quote
from regretkit.display._convergence import AT_EQUILIBRIUM, AXES, starts_at_equilibrium

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
    command: str = field(default="", repr=False)
    """How a shell runs it again, empty where that is not known."""

    @property
    def measure(self) -> str:
        """The measure that is compared: the first that is no iteration, visit or time."""
        return next((name for name in self.columns if name not in AXES), "seconds")

    @property
    def last(self) -> float:
        """The last value of ``measure``."""
        return float(self.columns[self.measure][-1])


@define(eq=False)
class Comparison:
    """The runs of an experiment: as a table, as curves, and in short when it is printed.

    Parameters
    ----------
    runs
        What was measured of each run.
    interrupted
        Whether Ctrl-C ended it before the last run.
    failures
        Why runs failed, by game, algorithm and seed.
    algorithms
        The names of all algorithms, in the order of tables and legends. An algorithm has the color
        of its place, also where others are left out. By default the order of the runs.

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
        """Return some of the runs, in the colors and the order that all have.

        Parameters
        ----------
        games, algorithms
            The names of those to keep; by default all.
        labels
            Other names of algorithms, by their present ones.
        """
        runs, labels = self.runs, labels or {}
        for part, given in (("game", games), ("algorithm", [*algorithms])):
            known, asked = [*dict.fromkeys(getattr(run, part) for run in self.runs)], [*given]
            for name in asked:
                if name not in known:
                    told = f"there are no results of the {part} {quote(name)}"
                    raise ValueError(f"{told}, only of {candidates(known)}")
            runs = [run for run in runs if not asked or getattr(run, part) in asked]
        for name in labels:
            if name not in self.algorithms:
                told = f"there is no algorithm {quote(name)} to label"
                raise ValueError(f"{told}, only {candidates(self.algorithms)}")
        new = {name: labels.get(name, name) for name in self.algorithms}
        if len({*new.values()}) < len(new):
            raise ValueError(f"labels must differ, got {', '.join(new.values())}")
        runs = [evolve(run, algorithm=new[run.algorithm]) for run in runs]
        failures = {(game, new[name], s): why for (game, name, s), why in self.failures.items()}
        return Comparison(runs, self.interrupted, failures, list(new.values()))

    def measure(self, x: str = "iteration", y: str | None = None) -> str:
        """Return the name of what is measured, by default the first; all runs must have it."""
        if not self.runs:
            raise ValueError("there are no runs to show")
        y = self.runs[0].measure if y is None else y
        for run in self.runs:
            for name in (x, y):
                if name not in run.columns:
                    told = f"{run.algorithm} on {run.game} has no column {quote(name)}"
                    raise ValueError(f"{told}, only {', '.join(run.columns)}")
        return y

    def groups(self) -> dict[tuple[str, str], list[ComparedRun]]:
        """Return the runs by game and algorithm, one for each seed."""
        found: dict[tuple[str, str], list[ComparedRun]] = {}
        for run in self.runs:
            found.setdefault((run.game, run.algorithm), []).append(run)
        return found

    def curves(self) -> dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]]:
        """Return for each game and algorithm the columns of its runs, one for each seed.

        ``display.convergence`` draws those of one game.
        """
        found: dict[str, dict[str, list[Mapping[str, Sequence[Any]]]]] = {}
        for (game, algorithm), runs in self.groups().items():
            found.setdefault(game, {})[algorithm] = [run.columns for run in runs]
        return found

    def at_equilibrium(self, y: str) -> set[str]:
        """Return the games that start at equilibrium: the first gap of all runs is zero."""
        lasts = {
            game: [columns.get(y, []) for runs in curves.values() for columns in runs]
            for game, curves in self.curves().items()
        }
        return {game for game, values in lasts.items() if starts_at_equilibrium(y, values)}

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
        """Write the table of ``to_rows`` into a file."""
        rows_to_csv(path, self._columns, self.to_rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_rows`` for pandas."""
        return rows_to_dataframe(self._columns, self.to_rows())

    def plot(
        self, *, x: str = "iteration", y: str | None = None, width: float | None = None
    ) -> "Figure":
        """Return a figure, unknown to pyplot, with a panel for each game and one legend.

        The median over seeds is a line, with a band between the quartiles. For figures of a paper
        see ``workbench.paper_figure``.

        Parameters
        ----------
        x, y
            The columns to draw, by default the first measure against iterations.
        width
            The width of the figure in inches.
        """
        from regretkit.workbench._figures import panels

        return panels(self, x, self.measure(x, y), width, 3.2)

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the cells of a table with a line for each game and algorithm.

        It has the median over seeds of the last values and their range, and a star at the smallest
        one of a game; or says that the game starts at equilibrium, or that runs failed.
        """
        groups, measures = self.groups(), dict.fromkeys(run.measure for run in self.runs)
        equal = {game for name in measures for game in self.at_equilibrium(name)}
        lasts = {place: median(run.last for run in runs) for place, runs in groups.items()}
        seeds = max(map(len, groups.values()), default=1) > 1
        failed = dict.fromkeys((game, algorithm) for game, algorithm, _ in self.failures)
        places = [*groups, *(place for place in failed if place not in groups)]
        order = {name: n for n, name in enumerate(dict.fromkeys(game for game, _ in places))}
        algorithms = [*self.algorithms, *(name for _, name in failed)]
        rows = []
        for place in sorted(places, key=lambda p: (order[p[0]], algorithms.index(p[1]))):
            runs, note = groups.get(place, []), "failed" * (place in failed)
            rivals = [last for (game, _), last in lasts.items() if game == place[0]]
            if not note and place[0] in equal:
                note = AT_EQUILIBRIUM
            elif not note and len(rivals) > 1 and lasts[place] == min(rivals):
                note = "*"
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
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        aligned = [*"<<", *">" * (len(heads) - 3), "<"]
        places = [f"{{:{side}{width}}}" for side, width in zip(aligned, widths, strict=True)]
        lines = ["  ".join(places).format(*cells) for cells in (heads, *rows)]
        lines += [
            f"{algorithm} on {game}: {why}" for (game, algorithm, _), why in self.failures.items()
        ]
        lines += ["interrupted"] if self.interrupted else []
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        from regretkit.display._html import table

        heads, rows = self.summary()
        return table(rows, heads) + "<p>interrupted</p>" * self.interrupted

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.runs)} runs{', interrupted' * self.interrupted}>"
