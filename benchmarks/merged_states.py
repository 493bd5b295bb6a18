"""What putting states together saves: Dudo with one die each, and a short memory.

For players who remember a few claims, and for players who remember all: histories of the game,
states and moves of the graph, and what one iteration of FSICFR with regret matching costs, when
everything is swept and when chance is drawn; the best of several turns, in milliseconds of
processor time. With it, the memory of the graph's arrays, and NashConv of the average after some
swept iterations, by best responses on the tree in which players remember all that they saw. Where
they remember all claims nothing but ends of the game is put together: that row is the tree. A full
run writes a table into docs/.

    $ python -m benchmarks merged_states
    $ python -m benchmarks merged_states --quick
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import fields, has

import regretkit as rk
from benchmarks.machine import best_times, cpu_seconds, in_a_new_process, pin, to_measure
from benchmarks.pages import PAGE, number, put, table
from regretkit.evaluation import nash_conv
from regretkit.games import (
    ExtensiveFormGame,
    GameDAG,
    GameTree,
    ImperfectRecallGame,
    dudo_history,
)
from regretkit.play import FixedStrategyIteration

PAGE = PAGE.with_name("repeated_states.md")
MEMORIES = (1, 2, 3, 4, 0)
"""Claims that are remembered; 0 stands for all."""
SIDES, QUICK_SIDES = 6, 3
ITERATIONS, QUICK_ITERATIONS = 1_000, 100

Figures = Mapping[str, float]


def arrays(thing: object) -> Iterator[np.ndarray]:
    """Yield the arrays that an object holds, through all of its parts."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple):
        for item in thing:
            yield from arrays(item)
    elif has(type(thing)):
        kind: Any = type(thing)
        for field in fields(kind):
            yield from arrays(getattr(thing, field.name, None))


def held(thing: object) -> float:
    """Return the MiB of all arrays of an object, each once."""
    return sum({id(array): array.nbytes for array in arrays(thing)}.values()) / 2**20


def measure(sides: int, memory: int, iterations: int) -> dict[str, float]:
    """Build and play, and say what it took."""
    root = dudo_history(sides=sides, memory=memory or None)
    graphs: list[GameDAG] = []
    built = cpu_seconds(lambda: graphs.append(GameDAG.from_history(root)))
    graph, tree = graphs[0], GameTree.from_history(root)
    swept = FixedStrategyIteration(graph, rk.RegretMatching)
    drawn = FixedStrategyIteration(graph, rk.RegretMatching, generator=np.random.default_rng(1))
    drawn.run(4 * sides**2)  # what chance leaves is found once for each roll of the dice
    times = best_times({"swept": swept.run, "drawn": drawn.run}, turns=5)
    game = ImperfectRecallGame(tree) if memory else ExtensiveFormGame(tree)
    played = game.refinement if isinstance(game, ImperfectRecallGame) else game
    run = FixedStrategyIteration(graph, rk.RegretMatching).run(iterations)
    return {
        "histories": tree.histories,
        "states": graph.nodes,
        "moves": graph.full.edges.child.size,
        "sets": sum(own.blocks for own in graph.simplices),
        "built": built,
        "memory": held(graph.full),
        "gap": nash_conv(played, graph.to_tree_profile(run.average, game)),
        **times,
    }


def page(found: Mapping[int, Figures], iterations: int) -> str:
    header = [
        "claims remembered",
        "information sets",
        "states",
        "moves",
        "a sweep, ms",
        "a draw, ms",
        "memory, MiB",
        f"NashConv after {iterations:,} sweeps",
    ]
    rows = [
        [
            str(memory) if memory else "all, as on the tree",
            f"{f['sets']:,.0f}",
            f"{f['states']:,.0f}",
            f"{f['moves']:,.0f}",
            number(f["swept"] * 1e3),
            number(f["drawn"] * 1e3),
            number(f["memory"]),
            number(f["gap"]),
        ]
        for memory, f in found.items()
    ]
    histories = max(f["histories"] for f in found.values())
    return f"{table(header, rows)}\n\nThe tree has {histories:,.0f} histories."


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    sides = QUICK_SIDES if quick else SIDES
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    found = {
        memory: in_a_new_process(
            "benchmarks.merged_states", [str(sides), str(memory), str(iterations)]
        )
        for memory in MEMORIES
    }
    text = page(found, iterations)
    print(text)
    if not quick:
        put(PAGE, "merged_states", text)


if __name__ == "__main__":
    what = to_measure(sys.argv[1:])
    if what is not None:
        pin()
        print(json.dumps(measure(*map(int, what))))
    else:
        main(sys.argv[1:])
