"""Where the time of an iteration goes.

The compiled way, CFR+: microseconds for payoffs, for the way up each tree, for the rule, and for
the way down with the average. Each is what an iteration takes with it less what it takes without
it. Then a rule in NumPy: what the rule takes by itself, and everything around it. All take turns,
and the best counts. A full run writes tables into docs/.

    $ python -m benchmarks parts
    $ python -m benchmarks parts --quick
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import regretkit as rk
from benchmarks.compare.games import GAMES
from benchmarks.compare.peers.ours import OwnRegretMatchingPlus
from benchmarks.machine import best_times, pin
from benchmarks.pages import PAGE, number, put, table
from benchmarks.runs import cfr_run, tree_game
from regretkit.engine.kernels._iteration import (
    backpropagate_values,
    backward_pass,
    compute_utility,
    forward_pass,
)

BEFORE = 100
"""Iterations that are played before anything is timed."""

PARTS = ("payoffs", "up", "rule", "down and average")
Action = Callable[[int], object]


def go(
    upto: int, numbers: Any, payoffs: Any, forest: Any, table: Any, state: Any, times: int
) -> None:
    """Do the first part of an iteration so often, or the first two, or three."""
    for _ in range(times):
        for player in range(2):
            compute_utility(
                player, False, payoffs, table.strategy, table.utility, forest.sequence_offsets
            )
            if upto == 1:
                backpropagate_values(player, payoffs.negligible[player], forest, table)
            if upto > 1:
                backward_pass(player, numbers, payoffs, forest, table, state)
            if upto > 2:
                forward_pass(player, 1.0, 1.0, forest, table.strategy, table.behavior, table.total)


def prefixes(run: rk.SelfPlay) -> Sequence[Action]:
    """Return machine code that does the first part of an iteration so often, the first two, ..."""
    from regretkit.engine._jit import jitted, specialize

    drive: Any = run._executor
    rule: Any = getattr(run.minimizers[0], "rule", run.minimizers[0])
    kernel = rule._kernel()
    parts = jitted(go, specialize(kernel, type(drive._payoffs)))
    numbers = np.array(kernel.parameters_at(1), dtype=np.float64)
    laid = (drive._payoffs, drive._trees, drive._iterates, drive._state)
    return [partial(parts, upto, numbers, *laid) for upto in range(len(PARTS))]


def rule_alone(run: rk.SelfPlay) -> Action:
    """Return what only has both players' rules learn from the same utilities and propose."""
    generator = np.random.default_rng(0)
    rules: list[Any] = [getattr(minimizer, "rule", minimizer) for minimizer in run.minimizers]
    fresh: list[Any] = [rule.on_domain(rule.simplices) for rule in rules]
    utilities = [generator.normal(size=rule.dimension) for rule in fresh]

    def learn(times: int) -> None:
        for _ in range(times):
            for rule, utility in zip(fresh, utilities, strict=True):
                rule._update(utility)
                rule.next_strategy()

    return learn


def differences(upto: Sequence[float]) -> list[float]:
    """Return what each part takes, from what all parts up to it take; noise takes no time."""
    before = [0.0, *upto[:-1]]
    return [max(now - then, 0.0) for now, then in zip(upto, before, strict=True)]


def compiled_row(title: str, run: rk.SelfPlay, turns: int) -> list[str]:
    actions: dict[str, Action] = {"whole": run.run}
    actions |= {str(i): action for i, action in enumerate(prefixes(run))}
    best = best_times(actions, turns)
    parts = differences([best[str(i)] for i in range(len(PARTS))])
    cells = [f"{number(part * 1e6)} ({part / sum(parts):.0%})" for part in parts]
    return [title, number(best["whole"] * 1e6), *cells]


def own_row(title: str, run: rk.SelfPlay, turns: int) -> list[str]:
    best = best_times({"whole": run.run, "rule": rule_alone(run)}, turns)
    rest = max(best["whole"] - best["rule"], 0.0)
    shares = [f"{number(t * 1e6)} ({t / best['whole']:.0%})" for t in (best["rule"], rest)]
    return [title, number(best["whole"] * 1e6), *shares]


def main(arguments: Sequence[str]) -> None:
    pin()
    quick = "--quick" in arguments
    compiled, own, turns = [], [], 5 if quick else 40
    for name in ("kuhn", "leduc") if quick else GAMES:
        title, game = GAMES[name].title, tree_game(GAMES[name].ours)
        compiled.append(compiled_row(title, cfr_run(game).run(BEFORE), turns))
        mine = cfr_run(game, OwnRegretMatchingPlus, engine="vectorized")
        own.append(own_row(title, mine.run(BEFORE), turns))
    text = "\n\n".join(
        [
            "Microseconds of a compiled iteration of CFR+, and what its parts take:",
            table(["game", "whole", *PARTS], compiled),
            "Microseconds of an iteration with RM+ in NumPy, and what the rule takes by itself:",
            table(["game", "whole", "rule in NumPy", "around it"], own),
        ]
    )
    print(text)
    if not quick:
        put(PAGE, "parts", text)


if __name__ == "__main__":
    main(sys.argv[1:])
