"""Benchmarks of regretkit, by name.

$ python -m benchmarks
$ python -m benchmarks compare --quick
"""

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from benchmarks.harness import ONE_THREAD

MODULES = {
    "by_hand": "around by_hand circuits",
    "compare": "compare",
    "deviations": "deviations",
    "engines": "checkpointing engines start",
    "equilibria": "correlated_trees exact finish time_to_gap",
    "games": "building reading repeated_states",
    "oracle": "oracle",
    "poker": "endgames public_games",
    "rules": "regret_curves",
    "sampling": "sampling sampling_gaps",
    "workbench": "workbench",
}
"""Benchmarks in each module."""
BENCHMARKS = dict(sorted((name, module) for module in MODULES for name in MODULES[module].split()))
"""The module of each benchmark."""

Command: TypeAlias = Callable[[Sequence[str]], int | None]


def command(name: str) -> Command:
    """Return the function that runs a benchmark with its arguments."""
    found: Command = getattr(importlib.import_module(f"benchmarks.{BENCHMARKS[name]}"), name)
    return found


def main(arguments: Sequence[str]) -> int:
    os.environ.update(ONE_THREAD)  # before NumPy is imported
    if not arguments or arguments[0] not in BENCHMARKS:
        print("python -m benchmarks NAME [ROW ...] [--quick], where NAME is one of\n")
        for name in BENCHMARKS:
            found = command(name)
            summary = (getattr(found, "measure", found).__doc__ or "").partition("\n")[0]
            print(f"  {name:<24}{summary}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    name, *rest = arguments
    return command(name)(rest) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
