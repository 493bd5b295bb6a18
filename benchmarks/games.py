"""How games are built: large trees, OpenSpiel's games, and graphs that merge states."""

import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from attrs import fields, has

import regretkit as rk
from benchmarks.harness import PAGE, Figures, benchmark, best_times, cpu_seconds, peak
from benchmarks.runs import tree_game
from regretkit.games import Dudo, GraphGame, ImperfectRecallGame
from regretkit.play import ChanceSampling, Estimator, ExactUtility, SelfPlay, Simultaneous

TREES = (
    *(f"liars_dice(sides={sides})" for sides in range(3, 9)),
    *(f"goofspiel(cards={cards}, information='hidden')" for cards in (4, 5, 6)),
    "leduc_poker(players=3)",
)
OPEN_SPIEL = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "goofspiel(num_cards=5,imp_info=True,points_order=descending)",
    "tic_tac_toe",
)


@benchmark(TREES, quick=TREES[:3], fresh=True)
def building(call: str, quick: bool) -> Figures:
    """How long it takes to build a large game, and how much memory to build and to solve it.

    The time is that of the first and only build in a process, and memory is the largest that the
    process ever held, Python and its libraries included. Leduc poker of three players should take
    less than 2 s.
    """
    imported, iterations = peak(), 10
    start, before = time.perf_counter(), time.process_time()
    game = tree_game(call)
    processor = time.process_time() - before
    built, memory = time.perf_counter() - start, peak()
    run = rk.solve(game, "cfr+", iterations=1)
    start = time.perf_counter()
    run.run(iterations)
    histories = game.tree.histories
    return {
        "histories": histories,
        "s": built,
        "of a processor, s": processor,
        "million/s": histories / built / 1e6,
        "MiB built": memory,
        "bytes a history": (memory - imported) * 2**20 / histories,
        "MiB solved": peak(),
        "an iteration of CFR+, ms": (time.perf_counter() - start) / iterations * 1e3,
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


@benchmark(OPEN_SPIEL, quick=OPEN_SPIEL[:2], fresh=True)
def openspiel_import(name: str, quick: bool) -> Figures:
    """How many histories of OpenSpiel's games are taken over a second, and where the time goes.

    The best of several processor times counts. The walk is that through OpenSpiel's states; the
    rest are arrays: the tree, and the players' sequence forms. The bare walk is what OpenSpiel
    itself takes to make the states and to say what is known there, with the least around it.
    """
    from regretkit.games.tree._build import built
    from regretkit.games.tree._rules import Objects

    pyspiel: Any = import_module("pyspiel")
    loaded = pyspiel.load_game(name)
    simultaneous = loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(loaded) if simultaneous else loaded
    histories, memory = rk.games.from_openspiel(name).tree.histories, peak()
    actions = {
        "s": lambda: rk.games.from_openspiel(name),
        "walk, s": lambda: built(Objects(rk.games.openspiel_history(turns))),
        "bare walk, s": lambda: bare(turns),
    }
    times = {name: min(cpu_seconds(act) for _ in range(5)) for name, act in actions.items()}
    speed = histories / times["s"]
    return {"histories": histories, "histories a second": speed, **times, "MiB": memory}


def arrays(thing: object) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays that an object holds, through all of its parts."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from arrays(item)
    elif has(type(thing)):
        kind: Any = type(thing)
        for field in fields(kind):
            yield from arrays(getattr(thing, field.name, None))


def held(thing: object) -> int:
    """Return the bytes of all arrays of an object, each once."""
    return sum({id(array): array.nbytes for array in arrays(thing)}.values())


@benchmark(
    ("1", "2", "3", "4", "all, as on the tree"),
    head="claims remembered",
    fresh=True,
    conclude=lambda found: (
        f"The tree has {min(row['_histories'] for row in found.values()):,} histories."
    ),
    page=PAGE.with_name("repeated_states.md"),
)
def repeated_states(claims: str, quick: bool) -> Figures:
    """What merging histories into states saves: Dudo with one die each, and a short memory.

    For players who remember a few claims, and for players who remember all: states and moves of the
    graph, and what one iteration of FSICFR with regret matching costs, when everything is swept and
    when chance is drawn; the best of several turns. With it, the memory of the graph's arrays, and
    NashConv of the average after some swept iterations, by best responses on the tree in which
    players remember all that they saw. Where they remember all claims, nothing but terminals is
    merged: that row is the tree.
    """
    sides, iterations = (3, 100) if quick else (6, 1_000)
    rules = Dudo(sides=sides, memory=int(claims) if claims.isdigit() else None)
    graph, tree = GraphGame.from_rules(rules), rk.games.GameTree.from_rules(rules)

    def start(estimator: Estimator) -> SelfPlay:
        players = [rk.RegretMatching(simplices) for simplices in graph.domains]
        return SelfPlay(graph, players, order=Simultaneous(), estimator=estimator)

    swept, drawn = start(ExactUtility()), start(ChanceSampling(np.random.default_rng(1)))
    drawn.run(4 * sides**2)  # what chance leaves is found once for each roll of the dice
    times = best_times({"swept": swept.run, "drawn": drawn.run}, turns=5)
    game = ImperfectRecallGame(tree) if claims.isdigit() else rk.ExtensiveFormGame(tree)
    run = start(ExactUtility()).run(iterations)
    return {
        "_histories": tree.histories,
        "information sets": sum(simplices.blocks for simplices in graph.domains),
        "states": graph.nodes,
        "moves": int(graph.edges.child.size),
        "a sweep, ms": times["swept"] * 1e3,
        "a draw, ms": times["drawn"] * 1e3,
        "memory, MiB": held(graph) / 2**20,
        f"NashConv after {iterations:,} sweeps": rk.nash_conv(
            game.refinement, graph.to_tree_profile(run.average, game)
        ),
    }
