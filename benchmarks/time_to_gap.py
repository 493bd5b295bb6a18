"""How long every named algorithm takes to a gap, next to a linear program.

Seconds of processor time that the iterations take, in the compiled way where a rule has a kernel,
until NashConv of the average (the sum over players, in units of payoff) is at most 1e-3, 1e-6 and
1e-9; where time runs out before, the smallest gap that was measured. Measuring the gap is not
counted. The algorithms take turns, so that what else a machine does meets all of them. Next to
them, the time that HiGHS takes for the linear program over sequence forms, and how exact its answer
is. A full run writes tables and plots into docs/.

    $ python -m benchmarks time_to_gap
    $ python -m benchmarks time_to_gap --quick
    $ python -m benchmarks time_to_gap leduc_poker
"""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import final

from attrs import define, field

import regretkit as rk
from benchmarks.machine import cpu_seconds, pin
from benchmarks.pages import IMAGES, PAGE, draw, number, put, table
from benchmarks.runs import tree_game
from regretkit.evaluation import ExactSolution, solve_zero_sum
from regretkit.play import ALGORITHMS, SelfPlay

GAMES = {
    "kuhn_poker": "Kuhn poker",
    "goofspiel(cards=4, information='hidden')": "Goofspiel, 4 cards",
    "leduc_poker": "Leduc poker",
    "liars_dice(sides=4)": "Liar's dice, 4 sides",
    "liars_dice(sides=5)": "Liar's dice, 5 sides",
}
GAPS = (1e-3, 1e-6, 1e-9)
LIMIT = 60.0
"""Seconds for each algorithm and game."""
RATIO = 1.1
"""The gap is measured at iterations that grow by this."""
SHORTEST = 3e-4
"""Seconds below which a call of ``run`` would be a large part of what is measured."""
FIRST = 10
"""Iterations before the gap is measured for the first time."""


@final
@define
class Race:
    """One algorithm on its way."""

    run: SelfPlay
    seconds: float = 0.0
    times: list[float] = field(factory=list)
    gaps: list[float] = field(factory=list)

    def go_on(self) -> None:
        """Play a little more, and measure the gap."""
        more = FIRST
        if self.run.iteration:
            pace = self.seconds / self.run.iteration
            more = max(math.ceil(self.run.iteration * (RATIO - 1.0)), int(SHORTEST / pace))
        self.seconds += cpu_seconds(self.run.run, more)
        self.times.append(self.seconds)
        self.gaps.append(float(rk.nash_conv(self.run.game, self.run.average)))

    def is_over(self, limit: float) -> bool:
        """Say whether there is nothing more to find out."""
        return self.seconds >= limit or min(self.gaps, default=1.0) <= min(GAPS)

    def reached(self, gap: float) -> str:
        """Return when a gap was reached, or the smallest so far."""
        for seconds, found in zip(self.times, self.gaps, strict=True):
            if found <= gap:
                return f"{number(seconds, 2)} s"
        return f"({min(self.gaps):.0e})"


def started(name: str, game: rk.ExtensiveFormGame) -> Race:
    """Return a race of an algorithm by name, with its machine code loaded."""
    algorithm = ALGORITHMS[name]
    try:
        algorithm.start(game, engine="compiled").run(1)
        return Race(algorithm.start(game, engine="compiled").run(0))
    except ValueError:  # its rule has no kernel
        return Race(algorithm.start(game).run(0))


def raced(game: rk.ExtensiveFormGame, limit: float) -> Mapping[str, Race]:
    """Run all algorithms in turns, until each is there or out of time."""
    races = {name: started(name, game) for name in ALGORITHMS}
    while going := [race for race in races.values() if not race.is_over(limit)]:
        # The race with the least time so far, so that disturbances are shared equally.
        min(going, key=lambda race: race.seconds).go_on()
    return races


def solved(game: rk.ExtensiveFormGame) -> tuple[float, float]:
    """Return how long the linear program takes, and the gap of its answer."""
    answers: list[ExactSolution] = []
    solve_zero_sum(rk.games.kuhn_poker())  # loads the library
    return cpu_seconds(lambda: answers.append(solve_zero_sum(game))), answers[0].gap


def page(title: str, races: Mapping[str, Race], program: tuple[float, float]) -> str:
    """Return the table of one game."""
    seconds, exact = program
    header = [title, *(f"gap {gap:.0e}" for gap in GAPS), "iterations", "microseconds each"]
    rows = []
    for name, race in races.items():
        times = [race.reached(gap) for gap in GAPS]
        micro = race.seconds / race.run.iteration * 1e6
        rows.append([f"`{name}`", *times, f"{race.run.iteration:,}", number(micro)])
    took = [f"{number(seconds, 2)} s" if exact <= gap else f"({exact:.0e})" for gap in GAPS]
    rows.append([f"linear program, to {exact:.0e}", *took, "", ""])
    return table(header, rows)


def main(arguments: Sequence[str]) -> None:
    pin()
    quick = "--quick" in arguments
    asked = [argument for argument in arguments if argument != "--quick"]
    calls = asked or list(GAMES)[: 3 if quick else None]
    pages = []
    for call in calls:
        game = tree_game(call)
        races = raced(game, 0.5 if quick else LIMIT)
        pages.append(page(GAMES.get(call, call), races, solved(game)))
        print(f"{pages[-1]}\n", flush=True)
        if call == "leduc_poker" and not (quick or asked):
            curves = {name: (race.times, race.gaps) for name, race in races.items()}
            axes = ("seconds", "NashConv of the average")
            draw(IMAGES / "time_to_gap.svg", curves, *axes, "Leduc poker, by every algorithm")
    if not (quick or asked):
        put(PAGE, "time_to_gap", "\n\n".join(pages))


if __name__ == "__main__":
    main(sys.argv[1:])
