"""What an iteration of each rule costs, in nanoseconds for an action.

Every leaf of the package plays a million actions, in blocks of three and in ragged blocks of two
to four, against three utilities in turn. Next to it, how many iterations of regret matching+ that
is, which takes turns with it, and what the rule's formula makes it search for, if anything. The
last line compares regret matching+ with one ``np.add`` over vectors of that length.

    $ python -m benchmarks.rules
"""

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.rule_table import ON_SETS, RULES, SEARCHES
from regretkit import RegretMatchingPlus, RegretMinimizer, Simplices

ACTIONS = 999_999
TURNS = 9


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def iterations(player: RegretMinimizer) -> Callable[[], None]:
    """Return what makes ``player`` go through one iteration."""
    utilities = itertools.cycle(np.random.default_rng(0).normal(size=(3, player.dimension)))

    def iterate() -> None:
        player.next_strategy()
        player.observe_utility(next(utilities))

    for _ in range(3):
        iterate()
    return iterate


def best_times(actions: Sequence[Callable[[], object]], turns: int) -> list[float]:
    """Return the shortest time that each action took, in the given number of turns."""
    times = [[seconds(action) for action in actions] for _ in range(turns)]
    return [min(column) for column in zip(*times, strict=True)]


def main(actions: int = ACTIONS, turns: int = TURNS) -> None:
    generator = np.random.default_rng(0)
    layouts = {
        "blocks of 3": Simplices([3] * (actions // 3)),
        "ragged": Simplices(generator.integers(2, 5, actions // 3)),
    }
    unit = {name: 1e9 / simplices.dimension for name, simplices in layouts.items()}
    print(f"{'':<44}{'ns per action':>26}{'times RM+':>26}")
    print(f"{'':<44}" + 2 * "".join(f"{name:>13}" for name in layouts) + "  searches for")
    yardsticks = {name: iterations(RegretMatchingPlus(s)) for name, s in layouts.items()}
    quickest = dict.fromkeys(layouts, float("inf"))
    for rule, make in (RULES | ON_SETS).items():
        costs, ratios = [], []
        for name, simplices in layouts.items():
            both = [yardsticks[name], iterations(make(simplices))]
            yardstick, cost = best_times(both, turns)
            quickest[name] = min(quickest[name], yardstick)
            costs.append(cost * unit[name])
            ratios.append(cost / yardstick)
        numbers = "".join(f"{cost:>13.1f}" for cost in costs)
        numbers += "".join(f"{ratio:>13.2f}" for ratio in ratios)
        print(f"{rule:<44}{numbers}  {SEARCHES.get(rule, '')}".rstrip(), flush=True)
    for name, simplices in layouts.items():
        u = generator.normal(size=simplices.dimension)
        [add] = best_times([partial(np.add, u, u.copy())], 3 * turns)
        print(f"RM+ in {name}: {quickest[name] / add:.1f} np.add of {add * unit[name]:.2f} ns")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
