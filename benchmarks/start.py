"""How long a fresh process takes to its first compiled iteration.

Seconds of processor time from the start of Python to the end of the first iteration of CFR+ on
Kuhn poker in machine code, imports included: with kernels that are on disk already, and with
nothing on disk, where everything is compiled. Best of several processes.

    $ python -m benchmarks start
    $ python -m benchmarks start --quick
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.machine import in_a_new_process, pin, to_measure

MODULE = "benchmarks.start"


def measure() -> dict[str, float]:
    """Play one iteration, and say what that took since the process began."""
    from benchmarks.runs import cfr_run, tree_game

    imported = time.process_time()
    cfr_run(tree_game("kuhn_poker")).run(1)
    return {"imported": imported, "first": time.process_time()}


def both(processes: int) -> dict[str, float]:
    """Return the best times with kernels on disk and without, and that of importing."""
    in_a_new_process(MODULE)  # now they are on disk
    cached = [in_a_new_process(MODULE) for _ in range(processes)]
    uncached = []
    for _ in range((processes + 1) // 2):
        with tempfile.TemporaryDirectory() as nothing:
            uncached.append(in_a_new_process(MODULE, changes={"NUMBA_CACHE_DIR": nothing}))
    return {
        "imported": min(found["imported"] for found in cached),
        "cached": min(found["first"] for found in cached),
        "uncached": min(found["first"] for found in uncached),
    }


def main(arguments: Sequence[str]) -> None:
    found = both(processes=1 if "--quick" in arguments else 5)
    print("seconds of a fresh process, from the start of Python")
    print(f"{'regretkit imported':<36}{found['imported']:>8.2f}")
    print(f"{'first iteration, kernels on disk':<36}{found['cached']:>8.2f}")
    print(f"{'first iteration, nothing on disk':<36}{found['uncached']:>8.2f}")


if __name__ == "__main__":
    if to_measure(sys.argv[1:]) is not None:
        pin()
        print(json.dumps(measure()))
    else:
        main(sys.argv[1:])
