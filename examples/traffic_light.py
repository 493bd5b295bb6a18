"""Two drivers meet at a crossing, again and again, and learn who goes first.

If both go they crash. In the mixed Nash equilibrium they hardly ever dare to go, and it pays
nothing to either. A traffic light would do better: it tells one to go and the other to stop, and
obeying it is best for both. That is a correlated equilibrium. Players who minimize swap regret
find one without any light, by themselves: their history of play is one. Here the driver who was
in more of a hurry at first ends up with the right of way.

    $ python examples/traffic_light.py
"""

import numpy as np

from regretkit import RegretMatching, SwapRegret
from regretkit.evaluation import CorrelatedPlay
from regretkit.games import traffic_light
from regretkit.play import SelfPlay, Simultaneous


def main(iterations: int = 10_000) -> None:
    game = traffic_light(crash=-100.0)
    drivers = [SwapRegret(2, RegretMatching) for _ in range(2)]
    drivers[0].observe_utility([1.0, 0.0])  # a nudge: this one is in more of a hurry

    play, outcomes = CorrelatedPlay(game), np.zeros((2, 2))
    run = SelfPlay(game, drivers, order=Simultaneous())
    for _ in range(iterations):
        run.run(1, callbacks=[play])
        outcomes += np.outer(*run.last_profile) / iterations

    print("how often      the other goes   the other stops")
    for action, row in zip(("goes", "stops"), outcomes, strict=True):
        print(f"one {action:<10} {row[0]:14.5f} {row[1]:17.5f}")
    print(f"\nwhat a driver could still gain by a rule: {play.gap('ce'):.5f} a meeting")

    nash = np.array([1.0, 100.0]) / 101
    print("\npayoffs         one     the other")
    for name, values in {
        "learned": (game.payoffs * outcomes).sum(axis=(1, 2)),
        "mixed Nash": game.value([nash, nash]),
    }.items():
        print(f"{name:<12} {values[0]:+.4f}   {values[1]:+.4f}")


if __name__ == "__main__":
    main()
