"""An experiment that is killed while it runs, by the test that asks for it: its own process.

$ python tests/helpers/bench_victim.py FOLDER RULE WORKERS
"""

import sys
from pathlib import Path

from regretkit.workbench import Experiment

MEASURES = ("nash_conv", "last_nash_conv", "external_regret")


RULE = """
import numpy as np
import regretkit as rk
from attrs import define, field


@define(eq=False)
class Mine(rk.SimplexRule):
    power: float = field(default=2.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** self.power)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)
"""


def experiment(rule, iterations=60):
    algorithms = f"cfr+, dcfr(alpha=1|2), mccfr, {rule}:Mine(power=1|2)"
    games = ["kuhn_poker", "random_matrix_game(5, seed=1|2)"]
    return Experiment(games, algorithms, iterations, measures=MEASURES, seeds=2)


def results(found):
    """Return what was computed, without the clocks."""
    return {
        (run.game, run.algorithm, run.seed): {
            name: values for name, values in run.columns.items() if "seconds" not in name
        }
        for run in found.runs
    }


def names(folder):
    """Return the names of the files with results."""
    return sorted(path.name for path in Path(folder).glob("*.json"))


if __name__ == "__main__":
    experiment(sys.argv[2]).run(sys.argv[1], workers=int(sys.argv[3]))
