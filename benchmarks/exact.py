"""How long exact answers take, and how exact they are.

Zero-sum games by linear programming over sequence forms: the two players' sequences, the value to
player 0, how far apart the proofs of both players are, and the best time of three (of one where it
is long). Then the best correlated and coarse correlated equilibria of random normal-form games of
two players, with what is left to gain and what the dual leaves open.

    $ python -m benchmarks.exact
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from regretkit.evaluation import (
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    solve_zero_sum,
)
from regretkit.games import ExtensiveFormGame, NormalFormGame, load, matrix_game

TREES = [
    "kuhn_poker",
    "leduc_poker(merge_suits=True)",
    "leduc_poker",
    "dudo(sides=4)",
    "dudo(sides=5)",
    "dudo(sides=6)",
    "leduc_poker(ranks=6)",
]
MATRICES = [10, 100, 300]
TABLES = [5, 10, 20, 40]
QUICK = "--quick" in sys.argv[1:]
LONG = 2.0
"""Seconds after which nothing is repeated."""

Answer = TypeVar("Answer")


def best_time(action: Callable[[], Answer], repeats: int = 3) -> tuple[Answer, float]:
    times: list[float] = []
    while True:
        start = time.perf_counter()
        answer = action()
        times.append(time.perf_counter() - start)
        if len(times) == repeats or times[-1] > LONG:
            return answer, min(times)


def values() -> None:
    print("values of zero-sum games")
    print(f"{'game':<32}{'sequences':>16}{'value':>20}{'gap':>10}{'seconds':>10}")
    generator = np.random.default_rng(0)
    random = [
        matrix_game(generator.normal(size=(n, n)), name=f"random {n} x {n}") for n in MATRICES
    ]
    games = [*map(load, TREES[:3])] if QUICK else [*map(load, TREES), *random]
    for game in games:
        if not isinstance(game, NormalFormGame | ExtensiveFormGame):
            continue
        solution, seconds = best_time(partial(solve_zero_sum, game))
        sizes = " + ".join(str(domain.dimension) for domain in game.domains)
        print(
            f"{game.name or '':<32}{sizes:>16}{solution.value:>20.15f}{solution.gap:>10.0e}"
            f"{seconds:>10.3f}"
        )


def equilibria() -> None:
    print("\nlargest welfare in equilibria of random games")
    print(f"{'game':<12}{'kind':>6}{'welfare':>20}{'gain':>10}{'dual':>10}{'seconds':>10}")
    for n in TABLES[:1] if QUICK else TABLES:
        game = NormalFormGame(np.random.default_rng(n).normal(size=(2, n, n)))
        for kind, best in [
            ("CE", best_correlated_equilibrium),
            ("CCE", best_coarse_correlated_equilibrium),
        ]:
            found, seconds = best_time(partial(best, game))
            print(
                f"{f'{n} x {n}':<12}{kind:>6}{found.value:>20.15f}{found.gap:>10.0e}"
                f"{found.bound - found.value:>10.0e}{seconds:>10.3f}"
            )


if __name__ == "__main__":
    values()
    equilibria()
