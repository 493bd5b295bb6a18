"""An iteration of CFR+ and of discounted CFR in one thread, and shared out between two.

For each game and algorithm, the time of an iteration in one thread and in several, which take
turns, and the ratio. Next to it, what the ratio would be if threads never waited for a processor:
the time in one thread over that of the busiest part, which does all that is done while the others
wait as well. It is measured in one thread, and so holds on a machine without a processor to spare.
Small games are not shared out, and their two times are the same.

Time is that of the clock here: processor time would count the waiting.

    $ python -m benchmarks threads
    $ python -m benchmarks threads --quick
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.pages import table
from regretkit.engine._gate import new_gate
from regretkit.engine._seats import kernel_of
from regretkit.engine._specialize import shared_iterations
from regretkit.engine._split import processors, split_of
from regretkit.games import Game, NormalFormGame, dudo, leduc_poker
from regretkit.play import SelfPlay, named

GAMES: dict[str, Callable[[], Game]] = {
    "500 x 500 actions": lambda: NormalFormGame(
        np.random.default_rng(0).normal(size=(2, 500, 500))
    ),
    "leduc_poker()": leduc_poker,
    "leduc_poker(players=3)": partial(leduc_poker, players=3),
    "dudo(sides=5)": partial(dudo, sides=5),
    "dudo()": dudo,
}
QUICK = ("500 x 500 actions", "leduc_poker()")
ALGORITHMS = ("cfr+", "dcfr")
THREADS = 2
SECONDS = 0.05
"""How long one turn takes."""


def milliseconds(run: SelfPlay, iterations: int) -> float:
    start = time.perf_counter()
    run.run(iterations)
    return 1e3 * (time.perf_counter() - start) / iterations


def never_waiting(gate: Any, parts: int) -> bool:
    """Let a part through as if it came last, so that it does what is done while others wait."""
    return True


def only(part: int, parts: int, run: SelfPlay) -> SelfPlay:
    """Return a run that does what one of the parts has to do, which makes no sense on its own."""
    run.run(1)
    drive: Any = run._drive
    kernel = kernel_of(drive._seats[0].rule)
    kind = type(drive._payoffs).__name__
    share = shared_iterations(kernel.propose, kernel.learn, kind, never_waiting)
    split = split_of(drive._forest, drive._payoffs, parts)
    drive._iterate = partial(share, part, new_gate(), split)
    return run


def always_shared(run: SelfPlay) -> SelfPlay:
    """Return a run whose iterations are shared out also where that is slower."""
    run.run(1)
    drive: Any = run._drive
    drive._iterate = getattr(drive._iterate, "shared", drive._iterate)
    return run


def best_and_median(runs: Sequence[SelfPlay], turns: int) -> list[tuple[float, float]]:
    """Return the least and the middle time of an iteration of each run; they take turns."""
    iterations = [max(1, int(1e3 * SECONDS / milliseconds(run.run(1), 3))) for run in runs]
    times = [
        [milliseconds(run, count) for run, count in zip(runs, iterations, strict=True)]
        for _ in range(turns)
    ]
    return list(zip(np.min(times, axis=0), np.median(times, axis=0), strict=True))


def row(game: Game, algorithm: str, turns: int) -> list[str]:
    """Return the times of an iteration, their ratio, and what that is at best."""
    start = partial(named(algorithm).start, game, engine="compiled")
    runs = [start(), always_shared(start(threads=THREADS))]
    runs += [only(part, THREADS, start()) for part in range(THREADS)]
    one, two, *parts = best_and_median(runs, turns)
    ratios = [alone / shared for alone, shared in zip(one, two, strict=True)]
    longest = max(least for least, _ in parts)
    return [f"{x:.3f}" for x in (*one, *two)] + [f"{x:.2f}" for x in (*ratios, one[0] / longest)]


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    print(
        f"{THREADS} threads, {processors()} processors; milliseconds, least and median", flush=True
    )
    rows = []
    for name in QUICK if quick else GAMES:
        game = GAMES[name]()
        for algorithm in ALGORITHMS:
            rows.append([name, algorithm, *row(game, algorithm, 3 if quick else 40)])
    head = ["game", "algorithm", "one thread", "", "two", "", "ratio", "", "at best"]
    print(table(head, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
