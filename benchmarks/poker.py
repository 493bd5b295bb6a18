"""Public games: rivers and turns of hold'em, beside game trees, OpenSpiel and plain NumPy."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

import regretkit as rk
from benchmarks import harness
from benchmarks.engines import prefixes
from benchmarks.equilibria import started
from benchmarks.harness import Action, Curves, Figures, Found, benchmark, best_times, cpu_seconds
from benchmarks.libratus import read_libratus
from benchmarks.runs import RegretMatchingPlus, cfr_run
from benchmarks.vector_form import VectorForm
from regretkit.evaluation import exploitability
from regretkit.games import hold_em
from regretkit.games.public import PublicGame
from regretkit.play import ALGORITHMS, SelfPlay

PAGE = harness.ROOT / "docs" / "explanation" / "endgames.md"
EVERY = ("*", "*")
WIDE = (
    "22+,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,87s,76s,65s,ATo+,KJo+,QJo",
    "JJ-22:0.75,QQ+:0.25,A2s+,K8s+,Q9s+,J8s+,T8s+,97s+,86s+,75s+,65s,54s,AJo:0.5,ATo,KTo+,QTo+,JTo",
)
DEFENDED = (
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
)
NARROW = (
    "88+,ATs+,KTs+,QJs,JTs,AQo+,KQo",
    "TT-66,AQs-A8s,KTs+,QTs+,JTs,T9s,98s,AQo-AJo,KQo",
)
SPOTS: dict[str, dict[str, Any]] = {
    "every hand": {"board": "KsTh7s4d2s", "ranges": EVERY, "pot": 1000, "stack": 9500},
    "20 cards": {
        **{"board": "2c3d3h5c6c", "ranges": EVERY, "pot": 40, "stack": 180, "deck": "2-6"},
    },
    "16 cards": {
        **{"board": "2c3d3h5c4c", "ranges": EVERY, "pot": 40, "stack": 180, "deck": "2-5"},
    },
    "many sizes": {
        **{"board": "QsJh2h8c3d", "ranges": WIDE, "pot": 180, "stack": 910, "max_bets": 4},
        **{"bets": ("50%,100%,a", "33%,75%,150%,a"), "raises": "60%,a"},
    },
    "turn": {
        **{"board": "Td9d6hQc", "ranges": DEFENDED, "pot": 200, "stack": 900},
        **{"bets": "50%,100%", "raises": "100%"},
    },
    "small turn": {
        **{"board": "Td9d6hQc", "ranges": NARROW, "pot": 200, "stack": 900},
        **{"bets": "75%,a", "raises": "a"},
    },
    **{
        f"turn of {suits}": {
            **{"board": board, "ranges": EVERY, "pot": 200, "stack": 900, "isomorphism": True},
            **{"bets": "100%", "raises": "a"},
        }
        for suits, board in (("one suit", "Td9d6dQd"), ("two suits", "Td9d6cQc"))
    },
    "short deck": {
        **{"board": "AhKd9c8c6s", "ranges": EVERY, "pot": 300, "stack": 900, "deck": "6-A"},
        **{"bets": "33%,75%,a", "raises": "50%,a", "max_bets": 3},
    },
}
"""Endgames as ``hold_em`` takes them."""

MISTAKE = 0.3
"""Percent of the pot at which players of poker call an endgame solved."""


def spot(name: str) -> PublicGame:
    """Return an endgame."""
    return hold_em(**SPOTS[name])


def plus(game: Any, engine: str = "compiled", own: bool = False) -> SelfPlay:
    """Return a run of CFR+, with RM+ of the library or as a user writes it."""
    return cfr_run(game, RegretMatchingPlus if own else rk.RegretMatchingPlus, engine=engine)


# Beside others


def open_spiel(name: str) -> Action:
    """Return iterations of OpenSpiel's CFR+ in C++ on a river of all hands."""
    pyspiel: Any = import_module("pyspiel")
    terms = SPOTS[name]
    half, stack = terms["pot"] // 2, terms["pot"] // 2 + terms["stack"]
    game = pyspiel.load_game(
        "universal_poker",
        {
            **{"betting": "nolimit", "bettingAbstraction": "fcpa", "firstPlayer": "1"},
            **{"numPlayers": 2, "numRounds": 1, "numHoleCards": 2, "numBoardCards": "5"},
            **{"numSuits": 4, "numRanks": int(terms["deck"][-1]) - 1},
            **{"blind": f"{half} {half}", "stack": f"{stack} {stack}"},
            "boardCards": terms["board"],
        },
    )
    return harness.repeated(pyspiel.CFRPlusSolver(game).evaluate_and_update_policy)


@frozen
class Row:
    """A number that is measured, and what it should be."""

    measure: Callable[[bool], Figures]
    """Measures it, quickly or in full."""
    floor: float
    largest: bool = False
    """Whether it should be at most this, rather than at least."""

    def missed(self, figures: Figures) -> bool:
        """Return whether the floor is missed."""
        found = float(figures["measured"])
        return found > self.floor if self.largest else found < self.floor


def ratio(name: str, other: Callable[[PublicGame], Action]) -> Callable[[bool], Figures]:
    """Return what measures an action beside an iteration in machine code of the same endgame."""

    def measured(quick: bool) -> Figures:
        game = spot(name)
        actions = {"other": other(game), "compiled": plus(game).run}
        best = best_times(actions, 3 if quick else 25, 0.05)
        times = {"other, ms": best["other"] * 1e3, "compiled, ms": best["compiled"] * 1e3}
        return {**times, "measured": best["other"] / best["compiled"]}

    return measured


def on_tree(game: PublicGame) -> Action:
    return plus(game.to_tree()).run


def response(game: PublicGame) -> Action:
    """Return measurements of NashConv of an average."""
    average = plus(game).run(10).average
    gap = harness.repeated(lambda: rk.nash_conv(game, average))
    gap(700)  # after which it pays off to compile
    return gap


def of_points(quick: bool) -> Figures:
    """Return what an iteration takes for each decision point, without its payoffs."""
    game = spot("every hand")
    run = plus(game).run(100)
    payoffs, *_, whole = prefixes(run)
    best = best_times({"payoffs": payoffs, "whole": whole}, 5 if quick else 40)
    points = sum(tree.points for tree in game.domains)
    return {"measured": (best["whole"] - best["payoffs"]) / points * 1e9}


def suits_apart(name: str) -> Callable[[PublicGame], Action]:
    """Return what plays an endgame of which no suits are merged."""
    return lambda game: plus(hold_em(**dict(SPOTS[name], isomorphism=False))).run


def to_mistake(quick: bool) -> Figures:
    """Return what DCFR takes to 0.3 % of the pot, without measuring it."""
    game, minimum = spot("every hand"), ALGORITHMS["dcfr"]
    run = minimum.start(game, engine="compiled").run(10)
    while percent(run, SPOTS["every hand"]["pot"]) > MISTAKE:
        run.run(5)
    runs = [minimum.start(game, engine="compiled").run(0) for _ in range(3 if quick else 15)]
    times = [cpu_seconds(each.run, run.iteration) for each in runs]
    return {"compiled, ms": min(times) / run.iteration * 1e3, "measured": min(times) * 1e3}


def to_first(quick: bool) -> Figures:
    """Return what it takes from the texts of an endgame to the end of the first iteration."""
    return {"measured": cpu_seconds(lambda: plus(spot("every hand")).run(1))}


def percent(run: SelfPlay, pot: float) -> float:
    """Return the exploitability of a run's average, in percent of the pot."""
    return 100.0 * exploitability(run.game, run.average) / pot


OWN = "own rule in NumPy, river of every hand"
ROWS: dict[str, Row] = {
    "game tree, river of every hand": Row(ratio("every hand", on_tree), 100),
    "game tree, river of 20 cards": Row(ratio("20 cards", on_tree), 2.5),
    "OpenSpiel, C++, river of 16 cards": Row(
        ratio("16 cards", lambda game: open_spiel("16 cards")), 8_000
    ),
    "OpenSpiel, C++, river of 20 cards": Row(
        ratio("20 cards", lambda game: open_spiel("20 cards")), 20_000
    ),
    "vectors in NumPy, river of every hand": Row(
        ratio("every hand", lambda game: VectorForm(game).run), 12
    ),
    OWN: Row(ratio("every hand", lambda game: plus(game, "compiled", own=True).run), 2.0, True),
    "NashConv, river of every hand": Row(ratio("every hand", response), 2, True),
    "turn of 167 x 250 hands": Row(
        ratio("every hand", lambda game: plus(spot("turn")).run), 80, True
    ),
    **{
        f"suits apart, {name}": Row(ratio(name, suits_apart(name)), floor)
        for name, floor in (("turn of one suit", 2), ("turn of two suits", 1.2))
    },
    "a decision point, ns": Row(of_points, 8, True),
    "DCFR to 0.3 % of the pot, ms": Row(to_mistake, 60, True),
    "texts to first iteration, s": Row(to_first, 1.0, True),
}
LONG = (
    "game tree, river of every hand",
    "OpenSpiel, C++, river of 20 cards",
)
"""Rows that take minutes and gigabytes."""


def verdict(found: Found) -> str:
    """Say which floors are missed."""
    missed = [name for name, figures in found.items() if ROWS[name].missed(figures)]
    return f"Floors are missed by {'; '.join(missed) or 'none'}."


@benchmark(
    [*ROWS],
    quick=[name for name in ROWS if name not in LONG],
    head="endgame",
    fresh=True,
    conclude=verdict,
    page=PAGE,
)
def public_games(name: str, quick: bool) -> Figures:
    """Endgames of hold'em as public games, beside game trees, OpenSpiel and plain NumPy.

    Processor times of an iteration of CFR+, of the other program and in machine code, and how many
    times as long the first takes; the best of turns. Below them, other numbers in the unit that is
    named.
    """
    return {"other, ms": "", "compiled, ms": ""} | ROWS[name].measure(quick)


# Every algorithm

RACED = ("many sizes", "every hand", "short deck", "small turn")
TARGETS = (MISTAKE, MISTAKE / 10)
MOST, LONGEST = 5_000, 10.0
"""Iterations and seconds of processor time after which an algorithm gives up."""
STEP = 0.02
"""The gap is measured at iterations that grow by this, and by five at least."""
NEITHER = {
    "mccfr": "draws histories from a game tree",
    "linear-swap": "has a coefficient for each pair of sequences",
}
"""Why an algorithm is not raced."""


@define
class Race:
    """An algorithm on its way."""

    name: str
    run: SelfPlay
    pot: float
    iterations: list[int] = field(factory=list)
    times: list[float] = field(factory=list)
    percents: list[float] = field(factory=list)

    def go(self, maximum: int, longest: float) -> None:
        """Play until the smaller target is met, or as long as it may take."""
        seconds, found = 0.0, math.inf
        while found > TARGETS[-1] and self.run.iteration < maximum and seconds < longest:
            seconds += cpu_seconds(self.run.run, max(5, int(STEP * self.run.iteration)))
            found = percent(self.run, self.pot)
            self.iterations.append(self.run.iteration)
            self.times.append(seconds)
            self.percents.append(found)

    def row(self) -> list[str]:
        """Return the row of the table."""
        cells = [f"`{self.name}`"]
        places = range(len(self.percents))
        for target in TARGETS:
            first = next((i for i in places if self.percents[i] <= target), None)
            cells += (
                ["", ""]
                if first is None
                else [
                    f"{self.iterations[first]:,}",
                    f"{harness.number(self.times[first], 2)} s",
                ]
            )
        pace = self.times[-1] / self.iterations[-1] * 1e3
        return [*cells, f"{harness.number(min(self.percents), 2)} %", harness.number(pace, 2)]


def raced(name: str, terms: Mapping[str, Any], maximum: int, longest: float) -> list[Race]:
    """Run every algorithm on an endgame."""
    game = hold_em(**terms)
    races = []
    for algorithm in ALGORITHMS:
        if algorithm not in NEITHER:
            races.append(Race(algorithm, started(algorithm, game).run, float(terms["pot"])))
            races[-1].go(maximum, longest)
            print(f"{name}: {' '.join(races[-1].row())}", file=sys.stderr, flush=True)
    return races


def endgames(arguments: Sequence[str]) -> None:
    """How many iterations and seconds every algorithm takes to shares of the pot on endgames.

    Until the exploitability of the average (NashConv / 2) is 0.3 % and 0.03 % of the pot, looked at
    every five iterations and later every fiftieth part of them; the iterations and seconds of the
    processor, without those of looking, the smallest share that was seen, and milliseconds an
    iteration. An algorithm gives up after 5,000 iterations or ten seconds. Arguments are names of
    endgames, or text files of endgames as those published with Libratus. A full run writes tables
    and a figure into docs/.
    """
    harness.pin()
    quick = "--quick" in arguments
    asked = [argument for argument in arguments if argument != "--quick"]
    maximum, longest = (300, 5.0) if quick else (MOST, LONGEST)
    pages, panels = [], {}
    for name in asked or RACED[: 1 if quick else None]:
        read = {} if name in SPOTS else read_libratus(name)
        title = Path(name).stem if read else name
        races = raced(title, read or SPOTS[name], maximum, longest)
        head = [f"{target:g} % of the pot" for target in TARGETS]
        header = [title, f"iterations to {head[0]}", "time", f"to {head[1]}", "time", "least"]
        pages.append(harness.table([*header, "ms each"], [race.row() for race in races]))
        print(f"{pages[-1]}\n", flush=True)
        panels[title] = curves(races)
    if not (quick or asked):
        harness.put(PAGE, "endgames", "\n\n".join(pages))
        harness.draw(
            harness.IMAGES / "endgames.svg", panels, "iterations", "exploitability, % of the pot"
        )


def curves(races: Sequence[Race]) -> Curves:
    """Return the curves of the algorithms whose circuit is CFR."""
    drawn = (race for race in races if ALGORITHMS[race.name].circuit is rk.CFR)
    return {race.name: (race.iterations[::4], race.percents[::4]) for race in drawn}
