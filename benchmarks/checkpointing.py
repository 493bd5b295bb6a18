"""What it costs to save a run every ten seconds.

For each game, CFR+ in machine code, in turns of a little more than ten seconds: without and with a
checkpoint that is written every ten seconds, as much of it as it takes. The file's size, the time
of one save (median and longest), the share of the turn that went into saving and into looking at
the clock, by the clock, and how much more processor time the turns took in all.

    $ python -m benchmarks checkpointing
    $ python -m benchmarks checkpointing --quick
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from attrs import define, field

from regretkit.games import load
from regretkit.play import Checkpoint, SelfPlay, named

GAMES = ["kuhn_poker", "leduc_poker", "liars_dice"]
SECONDS = 10.0
TURNS = 5


@define(eq=False)
class Timed:
    """A checkpoint, and how long it took when it saved, and when it only looked at the clock."""

    watch: Checkpoint
    saves: list[float] = field(factory=list)
    looks: list[float] = field(factory=list)

    def __call__(self, run: SelfPlay) -> bool:
        before, start = self.watch.iteration, time.perf_counter()
        stop = self.watch(run)
        times = self.looks if self.watch.iteration == before else self.saves
        times.append(time.perf_counter() - start)
        return stop

    def next_call(self, run: SelfPlay) -> int:
        return self.watch.next_call(run)


def seconds(run: SelfPlay, iterations: int, watching: Sequence[Timed] = ()) -> tuple[float, float]:
    """Return what some iterations took by the clock, and of the processor."""
    start, began = time.perf_counter(), time.process_time()
    run.run(iterations, callbacks=watching)
    return time.perf_counter() - start, time.process_time() - began


def measure(name: str, path: Path, every: float, turns: int) -> str:
    """Return a line of the table."""
    runs = [named("cfr+").start(load(name), engine="compiled").run(10) for _ in "ab"]
    pace = 10
    while (took := seconds(runs[0], pace)[0]) < every / 20:
        pace *= 2
    iterations = int(1.05 * every * pace / took)
    timed = Timed(Checkpoint(path, seconds=every))
    pairs = [
        (seconds(runs[0], iterations), seconds(runs[1], iterations, [timed])) for _ in range(turns)
    ]
    share = sum(timed.saves + timed.looks) / sum(clock for _, (clock, _) in pairs)
    alone, together = (sum(pair[way][1] for pair in pairs) for way in (0, 1))
    saves = [1e3 * save for save in timed.saves]
    return (
        f"{name:<14}{path.stat().st_size / 1024:>9.0f}{len(saves):>7}{median(saves):>9.1f}"
        f"{max(saves):>9.1f}{len(timed.looks):>7}{share:>9.2%}{together / alone - 1.0:>9.2%}"
    )


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    every, turns = (0.5, 2) if quick else (SECONDS, TURNS)
    print(f"a checkpoint every {every:g} seconds")
    columns = ("game", "KiB", "saves", "ms", "longest", "looks", "share", "more")
    print("{:<14}{:>9}{:>7}{:>9}{:>9}{:>7}{:>9}{:>9}".format(*columns))
    with tempfile.TemporaryDirectory() as folder:
        for name in GAMES:
            print(measure(name, Path(folder, name), every, turns), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
