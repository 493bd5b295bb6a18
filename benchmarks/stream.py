"""What a payoff costs, next to what reading memory costs at least.

One compiled iteration of CFR+, in nanoseconds for each player and each end of the game, beside
machine code that does nothing but add up an array: one with as many bytes as all arrays that the
iteration goes through, and one as large as the payoffs would be if each were stored with the
number of its column, twelve bytes for each player and end. They take turns, and the best counts.

    $ python -m benchmarks stream
    $ python -m benchmarks stream "liars_dice(sides=6)"
    $ python -m benchmarks stream --quick
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.machine import best_times, in_a_new_process, pin, to_measure
from benchmarks.runs import cfr_run, tree_game

GAME = "liars_dice(sides=6)"
STORED = 12


def arrays(thing: object, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield every array in tuples of tuples of arrays, each once."""
    if isinstance(thing, np.ndarray):
        if id(thing) not in seen:
            seen.add(id(thing))
            yield thing
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from arrays(part, seen)


def laid_out(run: Any) -> int:
    """Return how many bytes a compiled run has laid out for machine code."""
    drive, seen = run._executor, set[int]()
    parts = [drive._trees, drive._singletons, drive._payoffs, drive._iterates, drive._state]
    return sum(array.nbytes for array in arrays(parts, seen))


def adder() -> Callable[[np.ndarray[Any, Any], int], float]:
    """Return machine code that adds up an array repeatedly, in any order."""
    import numba

    @numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
    def add(numbers: np.ndarray[Any, Any], times: int) -> float:
        total = 0.0
        for i in range(times):
            numbers[0] = i  # or the compiler would do it once
            for j in range(numbers.size):
                total += numbers[j]
        return total

    compiled: Callable[[np.ndarray[Any, Any], int], float] = add
    compiled(np.ones(2), 1)
    return compiled


def measure(call: str, turns: int) -> dict[str, float]:
    """Time iterations and additions in turns; return the best of each."""
    game = tree_game(call)
    run = cfr_run(game).run(100)
    entries = game.players * game.tree.terminals.size
    size, add = laid_out(run), adder()
    laid, stored = np.ones(size // 8), np.ones(STORED * entries // 8)
    actions: dict[str, Callable[[int], object]] = {
        "iteration": run.run,
        "streaming": lambda times: add(laid, times),
        "stored": lambda times: add(stored, times),
    }
    return {**best_times(actions, turns), "entries": entries, "bytes": size}


def fresh(call: str = GAME, *, quick: bool = False) -> dict[str, float]:
    """Measure in a process of its own."""
    return in_a_new_process("benchmarks.stream", [call, "20" if quick else "200"])


def main(arguments: Sequence[str]) -> None:
    calls = [argument for argument in arguments if argument != "--quick"] or [GAME]
    print("nanoseconds for each payoff and player, and how often that is what adding up takes")
    head = (
        "an iteration",
        "laid out, MiB",
        "adding that",
        "times",
        "adding 12 bytes each",
        "times",
    )
    print(f"{'game':<42}" + "".join(f"{name:>{len(name) + 3}}" for name in head))
    for call in calls:
        found = fresh(call, quick="--quick" in arguments)
        each = {name: found[name] / found["entries"] * 1e9 for name in ("iteration", "streaming")}
        stored = found["stored"] / found["entries"] * 1e9
        print(
            f"{call:<42}{each['iteration']:>15.2f}{found['bytes'] / 2**20:>16.2f}"
            f"{each['streaming']:>14.2f}{each['iteration'] / each['streaming']:>8.1f}"
            f"{stored:>23.2f}{each['iteration'] / stored:>8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    what = to_measure(sys.argv[1:])
    if what is not None:
        pin()
        print(json.dumps(measure(what[0], int(what[1]))))
    else:
        main(sys.argv[1:])
