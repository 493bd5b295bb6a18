"""How far apart gaps are that differ by nothing but the order of sums.

Where regrets are exactly equal, rounding decides what is played, and then what is learned; two
solvers that do the same come to different gaps. So the plain loop runs several times with actions
and payoffs in other orders, and what it comes to is how closely others can be asked to agree.
"""

import json
import sys

import numpy as np

from benchmarks.compare.crew import CHECKPOINTS
from benchmarks.compare.games import GAMES
from benchmarks.machine import in_a_new_process, pin, to_measure

ORDERS = 12
LEAST = 1e-6
"""Relative difference that rounding may come to anywhere."""

Range = tuple[float, float]


def measure(game: str, algorithm: str) -> dict[str, float]:
    """Return the smallest and the largest gap at each checkpoint."""
    from benchmarks.compare.peers.plain_loop import Solver

    gaps: dict[int, list[float]] = {iterations: [] for iterations in CHECKPOINTS}
    solver = Solver(GAMES[game], algorithm)
    for order in range(ORDERS):
        solver.start_again(np.random.default_rng(order))
        before = 0
        for iterations, found in gaps.items():
            solver.run(iterations - before)
            found.append(solver.gap())
            before = iterations
    ends = {f"low {iterations}": min(found) for iterations, found in gaps.items()}
    return ends | {f"high {iterations}": max(found) for iterations, found in gaps.items()}


def spread(game: str, algorithm: str) -> dict[int, Range]:
    """Return the range of gaps at each checkpoint, from a process of its own."""
    found = in_a_new_process("benchmarks.compare.spread", [game, algorithm])
    return {t: (found[f"low {t}"], found[f"high {t}"]) for t in CHECKPOINTS}


def is_inside(gap: float, found: Range) -> bool:
    """Say whether a gap is no further from a range than the range is wide."""
    low, high = found
    room = max(high - low, LEAST * high)
    return low - room <= gap <= high + room


if __name__ == "__main__":
    asked = to_measure(sys.argv[1:])
    if asked is not None:
        pin()
        print(json.dumps(measure(*asked)))
