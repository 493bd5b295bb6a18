"""Public games: rivers and turns of hold'em, compared with trees, OpenSpiel and NumPy."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from attrs import frozen

import regretkit as rk
from benchmarks import harness
from benchmarks.harness import Action, Figures, Found, benchmark, best_times, cpu_seconds, number
from benchmarks.runs import RegretMatchingPlus, cfr_run
from benchmarks.vector_form import VectorForm
from regretkit.evaluation import exploitability
from regretkit.games import hold_em
from regretkit.games.public import PublicGame
from regretkit.play import ALGORITHMS, SelfPlay

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
"""Arguments of ``hold_em``."""


def spot(name: str, **terms: Any) -> PublicGame:
    """Return an endgame, with some arguments replaced."""
    return hold_em(**{**SPOTS[name], **terms})


def plus(game: Any, rule: Any = rk.RegretMatchingPlus) -> SelfPlay:
    """Return a compiled run of CFR+ with a rule."""
    return cfr_run(game, rule)


# Comparisons


def open_spiel(name: str) -> Action:
    """Return iterations of OpenSpiel's CFR+ in C++ on a river with all hands."""
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


def response(game: PublicGame) -> Action:
    """Return computations of NashConv of an average."""
    average = plus(game).run(10).average
    return harness.repeated(lambda: rk.nash_conv(game, average))


def suits_apart(name: str, game: PublicGame) -> Action:
    """Return iterations on an endgame without merged suits."""
    return plus(spot(name, isomorphism=False)).run


@frozen
class Row:
    """An action on an endgame, to compare with a compiled iteration."""

    spot: str
    other: Callable[[PublicGame], Action]
    floor: float
    goal: float


ROWS: dict[str, Row] = {
    "game tree, river of every hand": Row(
        "every hand", lambda game: plus(game.to_tree()).run, 100, 240
    ),
    "game tree, river of 20 cards": Row("20 cards", lambda game: plus(game.to_tree()).run, 2.5, 5),
    "OpenSpiel, C++, river of 16 cards": Row(
        "16 cards", lambda game: open_spiel("16 cards"), 8_000, 20_000
    ),
    "OpenSpiel, C++, river of 20 cards": Row(
        "20 cards", lambda game: open_spiel("20 cards"), 20_000, 50_000
    ),
    "vectors in NumPy, river of every hand": Row(
        "every hand", lambda game: VectorForm(game).run, 12, 25
    ),
    "own rule, river of every hand": Row(
        "every hand", lambda game: plus(game, RegretMatchingPlus).run, 2, 1.5
    ),
    "NashConv, river of every hand": Row("every hand", response, 2, 1),
    "turn of 167 x 250 hands": Row("every hand", lambda game: plus(spot("turn")).run, 80, 50),
    **{
        f"suits apart, {name}": Row(name, partial(suits_apart, name), floor, goal)
        for name, floor, goal in (("turn of one suit", 2, 3), ("turn of two suits", 1.2, 1.5))
    },
}
LONG = ("game tree, river of every hand", "OpenSpiel, C++, river of 20 cards")
"""Rows that need minutes and gigabytes."""


@benchmark(
    [*ROWS],
    quick=[name for name in ROWS if name not in LONG],
    head="endgame",
    fresh=True,
)
def public_games(name: str, quick: bool) -> Figures:
    """Endgames of hold'em as public games, compared with trees, OpenSpiel and NumPy.

    Processor times of the other action and of a compiled iteration of CFR+, and their ratio. Both
    alternate, and the best turn of each counts.
    """
    row = ROWS[name]
    game = spot(row.spot)
    actions = {"other": row.other(game), "compiled": plus(game).run}
    best = best_times(actions, 3 if quick else 25, 0.05)
    times = {f"{kind}, ms": 1e3 * seconds for kind, seconds in best.items()}
    marks = {"floor": row.floor, "goal": row.goal}
    return {**times, "ratio": best["other"] / best["compiled"], **marks}


# Every algorithm

RACED = ("many sizes", "every hand", "short deck", "small turn")
MOST, LONGEST = 5_000, 10.0
"""Limits of an algorithm: iterations and processor seconds."""
RACERS = [n for n, a in ALGORITHMS.items() if n not in ("mccfr", "linear-swap")]
"""Without mccfr, which needs a tree, and linear-swap, which is quadratic in sequences."""


def draw_endgames(found: Found) -> None:
    panels: dict[str, dict[str, Any]] = {name: {} for name in RACED}
    for row, figures in found.items():
        name, algorithm = row.split(": ")
        if ALGORITHMS[algorithm].circuit is rk.CFR:
            panels[name][algorithm] = figures["_curve"]
    axes = "iterations", "exploitability, % of the pot"
    harness.draw(harness.IMAGES / "endgames.svg", panels, *axes)


@benchmark(
    [f"{name}: {algorithm}" for name in RACED for algorithm in RACERS],
    quick=[f"{RACED[0]}: cfr+"],
    head="endgame: algorithm",
    plot=draw_endgames,
)
def endgames(row: str, quick: bool) -> Figures:
    """Iterations and seconds of every algorithm to an exploitability on endgames.

    The targets for the average (NashConv / 2) are 0.3 % and 0.03 % of the pot, measured every five
    iterations, and later every 2 %. Other columns are the smallest share, and milliseconds per
    iteration. Times are processor times without measurements. Runs stop after 5,000 iterations or
    ten seconds.
    """
    name, algorithm = row.split(": ")
    game, pot = spot(name), SPOTS[name]["pot"]
    ALGORITHMS[algorithm].start(game, engine="compiled").run(1)  # loads compiled code
    run = ALGORITHMS[algorithm].start(game, engine="compiled").run(0)
    iterations, seconds, shares = list[int](), [0.0], list[float]()
    most, longest = (300, 5.0) if quick else (MOST, LONGEST)
    while run.iteration < most and seconds[-1] < longest and min(shares, default=1.0) > 0.03:
        seconds.append(seconds[-1] + cpu_seconds(run.run, max(5, run.iteration // 50)))
        iterations.append(run.iteration)
        shares.append(100.0 * exploitability(game, run.average) / pot)
    figures: Figures = {}
    for target in (0.3, 0.03):
        first = next((i for i, share in enumerate(shares) if share <= target), None)
        figures[f"to {target} %"] = "" if first is None else iterations[first]
        figures[f"to {target} %, s"] = "" if first is None else number(seconds[first + 1], 2)
    return {
        **figures,
        "least, %": number(min(shares), 2),
        "ms each": 1e3 * seconds[-1] / run.iteration,
        "_curve": (iterations[::4], shares[::4]),
    }
