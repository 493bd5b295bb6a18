"""Let two drivers find a correlated equilibrium at a crossing, without a traffic light.

If both go, they crash. In the mixed Nash equilibrium they rarely go, and earn nothing. A traffic
light lets one go and the other stop, and both do best to obey: a correlated equilibrium. Players
that minimize swap regret reach one by their history of play. Here the driver with a head start
gets the right of way.

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
    drivers[0].observe_utility([1.0, 0.0])  # a head start

    play, outcomes = CorrelatedPlay(game), np.zeros((2, 2))
    run = SelfPlay(game, drivers, order=Simultaneous())
    for _ in range(iterations):
        run.run(1, callbacks=[play])
        outcomes += np.outer(*run.last_profile) / iterations

    print("how often      the other goes   the other stops")
    for action, row in zip(("goes", "stops"), outcomes, strict=True):
        print(f"one {action:<10} {row[0]:14.5f} {row[1]:17.5f}")
    print(f"\nremaining gain of a driver by a rule: {play.gap('ce'):.5f} a meeting")

    nash = np.array([1.0, 100.0]) / 101
    print("\npayoffs         one     the other")
    for name, values in {
        "learned": (game.payoffs * outcomes).sum(axis=(1, 2)),
        "mixed Nash": game.value([nash, nash]),
    }.items():
        print(f"{name:<12} {values[0]:+.4f}   {values[1]:+.4f}")


if __name__ == "__main__":
    main()
