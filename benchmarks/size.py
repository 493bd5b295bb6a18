"""What an iteration costs on games of growing size: Liar's dice with three sides and more.

Nanoseconds of processor time for each end of the game in one compiled iteration of CFR+, in which
both players learn once; the best of several calls of a second, each game in a process of its own.
The games take turns as well, so that what else a machine does meets all of them. With it, seconds
to build the game and its arrays, and the most memory that the process held. A full run writes a
table and a plot into docs/.

    $ python -m benchmarks size
    $ python -m benchmarks size --quick
    $ python -m benchmarks size 3 6 9
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.machine import (
    best_times,
    in_a_new_process,
    peak,
    pin,
    to_measure,
)
from benchmarks.pages import IMAGES, PAGE, draw, number, put, table

SIDES = range(3, 10)
QUICK_SIDES = range(3, 7)
FLAT = 2.0
"""How far apart the costs of an end may be."""
SECONDS = 1.0
"""Of iterations in one call, so that what a call costs once hardly counts on any size."""
CALLS = 5
"""The best of which counts."""

Figures = Mapping[str, float]


def measure(sides: int) -> dict[str, float]:
    """Build and play, and say what it took; nothing but ``room``, 0, if memory has none."""
    import numba  # noqa: F401 - to import it is no part of building

    from benchmarks.runs import cfr_run, tree_game

    start = time.process_time()
    try:
        game = tree_game(f"liars_dice(sides={sides})")
        run = cfr_run(game)
    except MemoryError:
        return {"room": 0.0}
    built = time.process_time() - start
    run.run(1)
    return {
        "room": 1.0,
        "ends": game.tree.terminals.size,
        "built": built,
        "iteration": best_times({"iteration": run.run}, CALLS, SECONDS)["iteration"],
        "peak": peak(),
    }


def measured(sides: Sequence[int], rounds: int) -> Mapping[int, Figures]:
    """Measure each number of sides so often, in turns, and keep the best; leave out the largest."""
    found: dict[int, dict[str, float]] = {}
    too_large: set[int] = set()
    for _ in range(rounds):
        for number_ in sides:
            if number_ in too_large:
                continue
            now = in_a_new_process("benchmarks.size", [str(number_)])
            if not now["room"]:
                too_large.add(number_)
                continue
            before = found.get(number_, now)
            found[number_] = {name: min(now[name], before[name]) for name in now}
    return found


def per_end(figures: Figures) -> float:
    """Return nanoseconds of an iteration for each end of the game."""
    return figures["iteration"] / figures["ends"] * 1e9


def spread(found: Mapping[int, Figures]) -> float:
    """Return by what factor costs of an end differ."""
    costs = [per_end(figures) for figures in found.values()]
    return max(costs) / min(costs)


def page(found: Mapping[int, Figures], asked: Sequence[int]) -> str:
    header = ["sides", "ends", "ns an end", "an iteration, ms", "building, s", "peak memory, MiB"]
    rows = []
    for sides in asked:
        if sides in found:
            f = found[sides]
            cells = [f"{f['ends']:,.0f}", number(per_end(f)), number(f["iteration"] * 1e3)]
            rows.append([str(sides), *cells, number(f["built"]), f"{f['peak']:,.0f}"])
        else:
            rows.append([str(sides), "no room in memory", *[""] * 4])
    factor = spread(found)
    reached = "within" if factor <= FLAT else "**not within**"
    says = (
        f"From the cheapest to the dearest, the cost of an end differs by a factor of {factor:.2f}:"
        f" {reached} the factor of {FLAT:g} that is the target."
    )
    return f"{table(header, rows)}\n\n{says}"


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    asked = [int(argument) for argument in arguments if argument != "--quick"]
    sides = asked or list(QUICK_SIDES if quick else SIDES)
    found = measured(sides, rounds=1 if quick else 3)
    text = page(found, sides)
    print(text)
    if not quick and not asked:
        put(PAGE, "size", text)
        curve = [figures["ends"] for figures in found.values()], [*map(per_end, found.values())]
        axes = ("ends of the game", "nanoseconds an end in each iteration")
        draw(IMAGES / "size.svg", {"CFR+, compiled": curve}, *axes, "Liar's dice, 3 sides and more")


if __name__ == "__main__":
    what = to_measure(sys.argv[1:])
    if what is not None:
        pin()
        print(json.dumps(measure(int(what[0]))))
    else:
        main(sys.argv[1:])
