"""What is killed while it plays and saves, by the test that asks for it: a process of its own.

$ python tests/helpers/crash_victim.py FILE
"""

import sys

from regretkit import games, solve
from regretkit.evaluation import nash_conv
from regretkit.play import Checkpoint, Recorder

GAME = games.kuhn_poker()
ITERATIONS = 600


def record():
    return Recorder({"gap": lambda run: nash_conv(run.game, run.average)})


def solved(callbacks):
    """Return a run that draws at random, to its end."""
    options = {"sampling": "chance", "seed": 11, "callbacks": callbacks}
    return solve(GAME, "pcfr+", iterations=ITERATIONS, **options)


if __name__ == "__main__":
    solved([Checkpoint(sys.argv[1], every=1, callbacks=[record()])])
