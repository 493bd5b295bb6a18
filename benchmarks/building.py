"""How long it takes to build a large game, and how much memory to build and to solve it.

Each game is built in a process of its own: the time is that of the first and only build, and
memory is the largest that the process ever held, Python and its libraries included.

    $ python -m benchmarks.building
    $ python -m benchmarks.building "liars_dice(sides=9)"
"""

import json
import subprocess
import sys
import time

GAMES = (
    *(f"liars_dice(sides={sides})" for sides in range(3, 9)),
    "goofspiel(cards=4, information='hidden')",
    "goofspiel(cards=5, information='hidden')",
    "goofspiel(cards=6, information='hidden')",
)
ITERATIONS = 10


def peak() -> float:
    """Return the most memory that this process ever held, in MiB."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def measure(call: str) -> dict[str, float]:
    """Build and solve one game, and say what it took."""
    import regretkit as rk

    imported = peak()
    start = time.perf_counter()
    game = rk.games.load(call)
    built = time.perf_counter() - start
    memory = peak()
    if not isinstance(game, rk.ExtensiveFormGame):
        raise TypeError(f"{call} is no game in extensive form")
    run = rk.solve(game, "cfr+", iterations=1)
    start = time.perf_counter()
    run.run(ITERATIONS)
    iteration = (time.perf_counter() - start) / ITERATIONS
    return {
        "histories": game.tree.histories,
        "built": built,
        "a history": (memory - imported) * 2**20 / game.tree.histories,
        "memory": memory,
        "solved": peak(),
        "iteration": iteration,
    }


def in_a_new_process(call: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.building", "--measure", call]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main(calls: tuple[str, ...]) -> None:
    print("time to build; memory of the whole process, MiB, after building and after CFR+")
    print(
        f"{'game':<42}{'histories':>11}{'s':>8}{'million/s':>11}"
        f"{'built':>7}{'bytes each':>12}{'solved':>8}{'ms an iteration':>17}"
    )
    for call in calls:
        found = in_a_new_process(call)
        print(
            f"{call:<42}{found['histories']:>11,}{found['built']:>8.3f}"
            f"{found['histories'] / found['built'] / 1e6:>11.2f}{found['memory']:>7.0f}"
            f"{found['a history']:>12.0f}{found['solved']:>8.0f}{found['iteration'] * 1e3:>17.2f}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(tuple(sys.argv[1:]) or GAMES)
