"""Write a regret minimizer in ten lines, and use it in several circuits.

The rule plays in proportion to the square of positive regret. A potential argument like that of
regret matching bounds its regret. The same class runs in a hull, a product, a swap-regret
minimizer and CFR.

    $ python examples/custom_minimizer.py
"""

import numpy as np
from attrs import define

from regretkit import CFR, ConvexHull, Point, Product, SimplexRule, SwapRegret, state
from regretkit.evaluation import CorrelatedPlay, exploitability
from regretkit.games import kuhn_poker, shapley_game
from regretkit.play import SelfPlay


@define(eq=False)
class SquaredRegretMatching(SimplexRule):
    regrets: np.ndarray = state()

    def _propose(self) -> np.ndarray:
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** 2)

    def _learn(self, utility: np.ndarray, strategy: np.ndarray) -> None:
        self.regrets += self.simplices.regret(utility, strategy)


def main(iterations: int = 2_000) -> None:
    game = kuhn_poker()
    run = SelfPlay(game, [CFR(tree, SquaredRegretMatching) for tree in game.domains])
    run.run(iterations)
    print(f"in CFR, on Kuhn poker: exploitability {exploitability(game, run.average):.5f}")

    shapley = shapley_game()
    players = [SwapRegret(3, SquaredRegretMatching) for _ in range(2)]
    players[0].observe_utility([1.0, 0.0, 0.0])
    play = CorrelatedPlay(shapley)
    SelfPlay(shapley, players).run(iterations, callbacks=[play])
    print(f"in swap regret, on Shapley's game: correlated gap {play.gap('ce'):.5f}")

    hull = ConvexHull(
        [Point([0.0, 0.0, 1.0]), SquaredRegretMatching(3)], mixing=SquaredRegretMatching(2)
    )
    nested = Product([hull, SquaredRegretMatching([2, 2])])
    for _ in range(iterations):
        nested.observe_utility([3.0, 1.0, 2.0, 0.0, 1.0, 1.0, 0.0])
    print(f"in a product of a hull and itself: {nested.next_strategy().round(3)}")


if __name__ == "__main__":
    main()
