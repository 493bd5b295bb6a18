"""Two regret matchers play rock-paper-scissors, and then one of them meets a fixed opponent.

The whole idea of the library in one loop: ask both players for a strategy, tell each what its
actions were worth, repeat. Their last strategies keep chasing each other around; their averages
settle on the equilibrium, one third each. Against an opponent who never changes, the average goes
to the best response instead.

    $ python examples/rock_paper_scissors.py
"""

import numpy as np

from regretkit import RegretMatching
from regretkit.play import Average

#                  rock  paper  scissors
PAYOFF = np.array([[0.0, -1.0, 1.0],   # rock
                   [1.0, 0.0, -1.0],   # paper
                   [-1.0, 1.0, 0.0]])  # scissors  # fmt: skip


def self_play(iterations: int) -> None:
    row, column = RegretMatching(3), RegretMatching(3)
    row.observe_utility([1.0, 0.0, 0.0])  # a perturbation: uniform play is a fixed point
    average = Average()

    print("both learn            rock paper scissors")
    for t in range(1, iterations + 1):
        x, y = row.next_strategy(), column.next_strategy()
        row.observe_utility(PAYOFF @ y)
        column.observe_utility(-PAYOFF.T @ x)
        average.add(x)
        if t in (1, 10, 100, 1_000, 10_000):
            print(f"{t:>6}  now {x.round(3)}  average {average.strategy.round(3)}")


def against(opponent: list[float], iterations: int) -> None:
    player, average = RegretMatching(3), Average()
    worth = PAYOFF @ opponent
    for _ in range(iterations):
        average.add(player.next_strategy())
        player.observe_utility(worth)

    print(f"\nagainst {opponent} the actions have values {worth.round(3)}")
    print(f"average {average.strategy.round(4)} earns {average.strategy @ worth:.4f}")


def main(iterations: int = 10_000) -> None:
    self_play(iterations)
    against([0.4, 0.3, 0.3], iterations)


if __name__ == "__main__":
    main()
