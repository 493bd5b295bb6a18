"""Measurements of regretkit, by name.

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
    "by_hand": "by_hand",
    "circuits": "circuits around linear_swap",
    "compare": "compare",
    "deviations": "correlated_gaps efr triggers",
    "engines": "checkpointing engines first_command passes size start stream turn_memory",
    "equilibria": "correlated correlated_trees exact exact_choice finish look time_to_gap",
    "games": "building openspiel_import repeated_states",
    "oracle": "oracle",
    "poker": "endgames public_games",
    "reading": "reading",
    "rules": "regret_curves rules",
    "sampling": "batches_without_tree sampling sampling_gaps sampling_without_tree",
    "traced": "several traced tracing",
    "workbench": "workbench",
}
"""The benchmarks of each module."""
BENCHMARKS = dict(sorted((name, module) for module in MODULES for name in MODULES[module].split()))
"""The module of each benchmark, which has a command of that name."""

Command: TypeAlias = Callable[[Sequence[str]], int | None]


def command(name: str) -> Command:
    """Return what runs a benchmark with its arguments."""
    found: Command = getattr(importlib.import_module(f"benchmarks.{BENCHMARKS[name]}"), name)
    return found


def says(name: str) -> str:
    """Return the first line of what a benchmark says about itself."""
    found = command(name)
    return (getattr(found, "measure", found).__doc__ or "").partition("\n")[0]


def main(arguments: Sequence[str]) -> int:
    os.environ.update(ONE_THREAD)  # before NumPy is imported
    if not arguments or arguments[0] in ("-h", "--help"):
        print("python -m benchmarks NAME [ROW ...] [--quick], where NAME is one of\n")
        print("\n".join(f"  {name:<24}{says(name)}" for name in BENCHMARKS))
        return 0
    name, *rest = arguments
    if name not in BENCHMARKS:
        print(f"there is no benchmark {name!r}, only {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    return command(name)(rest) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
