"""How fast regretkit means to be, and whether it is."""

from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import final

from attrs import frozen

from benchmarks.compare.crew import Figures
from benchmarks.compare.games import GAMES

LARGE = 400
"""Information sets a player from which on a rule in NumPy should keep up with machine code."""
KEEPS_UP = 1.5
"""How many times as long as the compiled way that may take, at most."""


@final
@frozen
class Target:
    """A number, what it must be at least or at most, and what it should be."""

    what: str
    value: float
    floor: float | None
    goal: float
    unit: str = ""
    more: bool = False
    """Whether more is better."""

    def reaches(self, mark: float) -> bool:
        """Say whether the number is as good as this one."""
        return self.value >= mark if self.more else self.value <= mark

    def share(self, mark: float) -> float:
        """Return how much of the way there is done; 1 or more if the mark is reached."""
        return self.value / mark if self.more else mark / self.value

    def verdict(self) -> str:
        """Say what was reached."""
        if self.reaches(self.goal):
            return "goal"
        if self.floor is None:
            return "no"
        return "floor" if self.reaches(self.floor) else "**neither**"


@final
@frozen
class Ratio:
    """How many times as long an iteration takes one solver as another."""

    best: float
    """By the quickest turn of each."""
    low: float
    """The lower quartile over rounds in which both took a turn."""
    high: float
    """The upper one."""

    def __str__(self) -> str:
        def short(number: float) -> str:
            return f"{number:,.0f}" if number >= 99.5 else f"{number:.2g}"

        return f"{short(self.best)} ({short(self.low)} to {short(self.high)})"


def ratio(slow: Figures, fast: Figures) -> Ratio:
    """Compare two solvers that took turns."""
    rounds = slow.per_iteration.keys() & fast.per_iteration.keys()
    each = [slow.per_iteration[i] / fast.per_iteration[i] for i in rounds]
    low, _, high = quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
    return Ratio(slow.best / fast.best, low, high)


def speed_targets(
    figures: Mapping[str, Mapping[str, Figures]], information_sets: Mapping[str, int]
) -> Sequence[Target]:
    """Return how CFR+ compares with other libraries, game by game.

    Goals are twice the floors.
    """
    targets = []
    for ours, theirs, of in (
        ("compiled", "OpenSpiel C++", "over_open_spiel"),
        ("compiled", "LiteEFG", "over_lite_efg"),
        ("own rule", "OpenSpiel C++", "own_over_open_spiel"),
    ):
        for game, found in figures.items():
            if ours in found and theirs in found:
                floor = float(getattr(GAMES[game], of))
                what = f"{theirs} over {ours}, {GAMES[game].title}"
                best = ratio(found[theirs], found[ours]).best
                targets.append(Target(what, best, floor, 2.0 * floor, "times", more=True))
    for game, found in figures.items():
        if {"own rule", "compiled"} <= found.keys() and information_sets[game] >= LARGE:
            best = ratio(found["own rule"], found["compiled"]).best
            what = f"own rule over compiled, {GAMES[game].title}"
            targets.append(Target(what, best, None, KEEPS_UP, "times"))
    return targets


def size_targets(found: Mapping[str, Figures]) -> Sequence[Target]:
    """Return what Liar's dice with six sides takes to build and to hold."""
    if "compiled" not in found:
        return []
    ours = found["compiled"]
    return [
        Target("peak memory, Liar's dice, 6 sides", ours.memory, 250.0, 150.0, "MiB"),
        Target("building it, Liar's dice, 6 sides", ours.build, 3.0, 0.2, "s"),
    ]


def start_targets(found: Mapping[str, float]) -> Sequence[Target]:
    """Return how long a fresh process takes to its first compiled iteration."""
    return [
        Target("first iteration, kernels on disk", found["cached"], 1.5, 0.5, "s"),
        Target("first iteration, nothing on disk", found["uncached"], 20.0, 8.0, "s"),
    ]


def stream_targets(found: Mapping[str, float]) -> Sequence[Target]:
    """Return what a payoff costs in Liar's dice with six sides."""
    entry, limit = found["iteration"] / found["entries"], found["streaming"] / found["entries"]
    return [
        Target("per payoff entry and player", entry * 1e9, 4.0, 2.0 * limit * 1e9, "ns"),
    ]


def agree(figures: Mapping[str, Figures], iterations: int) -> float:
    """Return the largest relative difference of gaps after these iterations."""
    gaps = [found.gaps[iterations] for found in figures.values() if iterations in found.gaps]
    return (max(gaps) - min(gaps)) / max(gaps) if gaps else 0.0
