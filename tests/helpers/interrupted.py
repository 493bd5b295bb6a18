"""A process whose runs are interrupted at random moments.

$ python interrupted.py KIND TIMES SEED FOLDER
"""

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.play import (
    ExternalSampling,
    Linear,
    OutcomeSampling,
    RandomPlayer,
    Sampled,
)

KUHN = games.kuhn_poker()


def exact(engine, order):
    players = [rk.CFR(tree, rk.PredictiveRegretMatchingPlus) for tree in KUHN.domains]
    return SelfPlay(KUHN, players, order=order(), averaging=Linear(), engine=engine)


def random_player():
    return RandomPlayer(np.random.default_rng(9))


def sampled(engine):
    players = [rk.CFR(tree, rk.RegretMatching) for tree in KUHN.domains]
    return SelfPlay(
        KUHN, players, estimator=OutcomeSampling(np.random.default_rng(3)), engine=engine
    )


def without_a_tree():
    sampling = ExternalSampling(np.random.default_rng(4))
    return Sampled(games.Dudo(sides=3), rk.RegretMatching, sampling)


def on_a_graph():
    graph = games.GraphGame.from_rules(games.Dudo(sides=2, memory=1))
    return rk.play.named("cfr").start(graph)


KINDS = {
    "numpy": partial(exact, "numpy", random_player),
    "compiled": partial(exact, "compiled", random_player),
    "sampled, numpy": partial(sampled, "numpy"),
    "sampled, compiled": partial(sampled, "compiled"),
    "without a tree": without_a_tree,
    "on a graph": on_a_graph,
}


def everything(run, path):
    """Return the whole state of a run."""
    if isinstance(run, Sampled):
        run.save(path)
        return path.read_bytes()
    return run.state_dict()


def interrupt(run, generator):
    """Play until an interrupt at a random moment ends it, alternately in short and long calls."""
    pause = generator.uniform(0.0, 0.03)
    timer = threading.Timer(pause, os.kill, (os.getpid(), signal.SIGINT))
    long = generator.random() < 0.5
    try:
        timer.start()
        while True:
            run.run(10**9 if long else int(generator.integers(1, 20)))
    except KeyboardInterrupt:
        timer.join()


def main(kind, times, seed, folder):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    generator = np.random.default_rng(seed)
    run, twin = KINDS[kind](), KINDS[kind]()
    for item in (run, twin):
        item.run(1)
    ends = []
    for _ in range(times):
        interrupt(run, generator)
        twin.run(run.iteration - twin.iteration)
        np.testing.assert_equal(everything(run, folder / "run"), everything(twin, folder / "twin"))
        ends.append(run.iteration)
    assert len(set(ends)) > times / 4, ends
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(f"interrupted {times} times, last at {ends[-1]}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
