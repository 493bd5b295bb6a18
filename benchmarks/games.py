"""Building games: catalogue, OpenSpiel, files, and graphs that merge states."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

import regretkit as rk
from benchmarks.harness import Figures, benchmark, best_times, cpu_seconds, peak, repeated
from benchmarks.runs import tree_game
from regretkit.games import Dudo, GraphGame, ImperfectRecallGame, read_efg, write_efg
from regretkit.play import ChanceSampling, Estimator, ExactUtility, SelfPlay, Simultaneous

TREES = (
    *(f"liars_dice(sides={sides})" for sides in range(4, 9)),
    *(f"goofspiel(cards={cards}, information='hidden')" for cards in (4, 5, 6)),
    "leduc_poker(players=3)",
)
OPENSPIEL = "OpenSpiel: "
IMPORTED = ("kuhn_poker", "leduc_poker", "liars_dice", "tic_tac_toe")


@benchmark(
    [*TREES, *(OPENSPIEL + name for name in IMPORTED)],
    quick=[TREES[0], OPENSPIEL + "kuhn_poker"],
    fresh=True,
)
def building(row: str, quick: bool) -> Figures:
    """Time and memory to build a game, and memory to solve it.

    Processor seconds of the first build in a process. Peak memory of the process, including Python
    and its libraries, after the build and after one iteration of CFR+. For OpenSpiel's games also
    the time of a bare walk through all states, with the calls that every import needs.
    """
    name = row.removeprefix(OPENSPIEL)
    walk: Figures = {}
    make: Callable[[], rk.ExtensiveFormGame] = partial(tree_game, row)
    if name != row:
        loaded = import_module("pyspiel").load_game(name)
        walk = {"bare walk, s": cpu_seconds(bare, loaded)}
        make = partial(rk.games.from_openspiel, name)
    imported, start = peak(), time.process_time()
    game = make()
    seconds, built = time.process_time() - start, peak()
    rk.solve(game, "cfr+", iterations=1)
    histories = game.tree.histories
    return {
        "histories": histories,
        "s": seconds,
        "million/s": histories / seconds / 1e6,
        "MiB built": built,
        "bytes a history": (built - imported) * 2**20 / histories,
        "MiB solved": peak(),
        **walk,
    }


def bare(game: Any) -> None:
    """Visit all states with the calls that every import needs, and store nothing."""
    waiting = [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            state.returns()
            continue
        if not state.is_chance_node():
            state.information_state_string()
        waiting.extend(map(state.child, state.legal_actions()))


# Files


def deep(levels: int) -> str:
    """Return a game of alternating players, who stop or go on."""
    lines = [
        f'p "" {1 + i % 2} {1 + i} "" {{ "stop" "go" }} 0\nt "" {1 + i} "" {{ {i}, 0 }}'
        for i in range(levels)
    ]
    return "\n".join(['EFG 2 R "deep" { "A" "B" }', *lines, 't "" 0'])


FILES: dict[str, Callable[[], str]] = {
    "Kuhn poker": lambda: write_efg(tree_game("kuhn_poker")),
    "Leduc poker": lambda: write_efg(tree_game("leduc_poker")),
    "Liar's dice, 4 sides": lambda: write_efg(tree_game("liars_dice(sides=4)")),
    "10,000 levels": partial(deep, 10_000),
}


@benchmark([*FILES], quick=["Kuhn poker"], head="file")
def reading(name: str, quick: bool) -> Figures:
    """The speed of reading ``.efg`` files, compared with pygambit if installed.

    Nodes per second, including the players' sequence forms, and the relative time of pygambit.
    """
    text = FILES[name]()
    nodes = read_efg(text).tree.histories
    readers = {"ours": repeated(partial(read_efg, text))}
    with suppress(ImportError):
        gambit: Any = import_module("pygambit")
        readers["Gambit"] = repeated(lambda: gambit.read_efg(BytesIO(text.encode())))
    best = best_times(readers, 2 if quick else 4)
    figures = {"nodes": nodes, "MB": len(text) / 1e6, "nodes a second": nodes / best["ours"]}
    return figures | {other: best[other] / best["ours"] for other in best if other != "ours"}


# Graphs


@benchmark(("1", "2", "3", "4", "all, as on the tree"), head="claims remembered", fresh=True)
def repeated_states(claims: str, quick: bool) -> Figures:
    """The effect of merging histories into states: Dudo with one die each, and a short memory.

    Players remember a few claims; with all claims, the graph is the tree. Columns are states and
    moves of the graph, milliseconds of an iteration of FSICFR with regret matching, and NashConv of
    the average after 1,000 sweeps. Iterations are full sweeps, or sample chance. Best responses are
    on the tree of players with perfect recall.
    """
    sides, iterations = (3, 100) if quick else (6, 1_000)
    rules = Dudo(sides=sides, memory=int(claims) if claims.isdigit() else None)
    graph, tree = GraphGame.from_rules(rules), rk.games.GameTree.from_rules(rules)

    def start(estimator: Estimator) -> SelfPlay:
        players = [rk.RegretMatching(simplices) for simplices in graph.domains]
        return SelfPlay(graph, players, order=Simultaneous(), estimator=estimator)

    swept, drawn = start(ExactUtility()), start(ChanceSampling(np.random.default_rng(1)))
    drawn.run(4 * sides**2)  # creates the layouts for each roll of the dice
    best = best_times({"swept": swept.run, "drawn": drawn.run}, turns=5)
    game = ImperfectRecallGame(tree) if claims.isdigit() else rk.ExtensiveFormGame(tree)
    average = graph.to_tree_profile(start(ExactUtility()).run(iterations).average, game)
    return {
        "information sets": sum(simplices.blocks for simplices in graph.domains),
        "states": graph.nodes,
        "moves": int(graph.edges.child.size),
        "a sweep, ms": best["swept"] * 1e3,
        "a draw, ms": best["drawn"] * 1e3,
        f"NashConv after {iterations:,} sweeps": rk.nash_conv(game.refinement, average),
    }
