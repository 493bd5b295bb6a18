"""Common code of the scripts: a comparison, its figure, and the claims of the paper.

Each script is one command. A second run of it reads the stored results.

    $ python examples/papers/cfr_plus.py
    $ python examples/papers/cfr_plus.py --small
"""

import argparse
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from attrs import frozen

from regretkit.display._style import file_of
from regretkit.workbench import Comparison, Experiment

Check = Callable[["Found"], tuple[bool, str]]
"""Whether the results agree with a sentence of the paper, and the numbers that show it."""


@frozen
class Found:
    """Results, and the numbers of the claims."""

    results: Comparison

    def games(self) -> list[str]:
        return list(self.results.curves())

    def last(self, game: str, algorithm: str, measure: str = "nash_conv") -> float:
        """Return the last value of a measure, the median over seeds."""
        return median(float(run[measure][-1]) for run in self.results.curves()[game][algorithm])

    def needed(self, game: str, algorithm: str, gap: float, x: str = "iteration") -> float:
        """Return the cost to a gap, the median over seeds; infinity if no run reaches it."""
        runs = self.results.curves()[game][algorithm]
        pairs = [zip(run[x], run["nash_conv"], strict=True) for run in runs]
        return median(next((at for at, y in each if y <= gap), math.inf) for each in pairs)

    def slope(self, game: str, algorithm: str, measure: str = "nash_conv") -> float:
        """Return the power of iterations with which a measure changes in the last decade."""
        run = self.results.curves()[game][algorithm][0]
        iterations, values = (np.array(run[name], dtype=float) for name in ("iteration", measure))
        late = (iterations >= iterations[-1] / 10) & (values > 0)
        return float(np.polyfit(np.log(iterations[late]), np.log(values[late]), 1)[0])


@frozen
class Paper:
    """A comparison of a paper: its runs and its claims."""

    name: str
    source: str
    games: Mapping[str, str]
    algorithms: Mapping[str, Any]
    iterations: int
    says: Mapping[str, Check]
    small: tuple[Iterable[str], int]
    """The games of the small mode, and its iterations."""
    measures: tuple[str, ...] = ("nash_conv",)
    drawn: tuple[str, str] = ("iteration", "nash_conv")
    """The axes of the figure."""
    seeds: int = 1

    def rebuild(self, folder: str | Path = "papers", *, small: bool = False) -> Found:
        """Run the missing runs, draw the figure, and compare with the claims."""
        names, iterations = self.small if small else (self.games, self.iterations)
        games = {name: self.games[name] for name in names}
        measures, seeds = self.measures, 2 if small and self.seeds > 1 else self.seeds
        made = Experiment(games, self.algorithms, iterations, measures=measures, seeds=seeds)
        place = Path(folder, f"{self.name}_small" if small else self.name)
        results = made.run(place, workers=0 if small else None)
        for failed, why in results.failures.items():
            print(failed, why)
        x, y = self.drawn
        place.with_suffix(".svg").write_bytes(file_of(results.plot(x=x, y=y, width="page")))
        print(self.source, "\n")
        found = Found(results)
        for sentence, check in self.says.items():
            agrees, numbers = check(found)
            print(f"{'agrees ' if agrees else 'differs'}  {sentence}")
            print(textwrap.indent(textwrap.fill(numbers, 90), " " * 9))
        print(f"\n{place.with_suffix('.svg')}")
        return found

    def main(self) -> None:
        """Rebuild the comparison by the options of the command line."""
        parser = argparse.ArgumentParser(description=self.source)
        parser.add_argument("--small", action="store_true", help="a few seconds, on few games")
        parser.add_argument("--folder", default="papers", help="folder of results and figure")
        given = parser.parse_args()
        self.rebuild(given.folder, small=given.small)


def times(ratios: Mapping[str, float]) -> str:
    """Return ratios by game as text."""
    return ", ".join(f"{game} {ratio:.2g}" for game, ratio in ratios.items())
