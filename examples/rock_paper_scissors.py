"""Run regret matching on rock, paper, scissors: in self-play, and against a fixed opponent.

Each iteration gets a strategy from both players and gives both a utility vector. The strategies
cycle, and the averages converge to the equilibrium, one third each. Against a fixed opponent the
average converges to a best response.

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
    utility = PAYOFF @ opponent
    for _ in range(iterations):
        average.add(player.next_strategy())
        player.observe_utility(utility)

    print(f"\nagainst {opponent} the actions have values {utility.round(3)}")
    print(f"average {average.strategy.round(4)} earns {average.strategy @ utility:.4f}")


def main(iterations: int = 10_000) -> None:
    self_play(iterations)
    against([0.4, 0.3, 0.3], iterations)


if __name__ == "__main__":
    main()
