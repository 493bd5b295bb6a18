"""Compare chance-sampled CFR with exact CFR on Kuhn poker.

Chance sampling draws one deal in each iteration and sweeps all actions. Only the estimator differs
from exact CFR. The averages of both converge to an equilibrium. The sampled run needs more
iterations, which are much cheaper in a large game.

    $ python examples/chance_sampled_kuhn.py
"""

import numpy as np

from regretkit import CFR, RegretMatching
from regretkit.evaluation import exploitability
from regretkit.games import kuhn_poker
from regretkit.play import ChanceSampling, Estimator, ExactUtility, SelfPlay


def main(iterations: int = 10_000) -> None:
    game = kuhn_poker()
    estimators: dict[str, Estimator] = {
        "every deal": ExactUtility(),
        "one random deal": ChanceSampling(np.random.default_rng(seed=7)),
    }
    print(f"value of the game {-1 / 18:+.4f}\n")
    for name, estimator in estimators.items():
        players = [CFR(tree, RegretMatching) for tree in game.domains]
        run = SelfPlay(game, players, estimator=estimator)
        print(f"{name}: iterations, value, exploitability")
        for _ in range(5):
            run.run(max(1, iterations // 5))
            value, gap = game.value(run.average)[0], exploitability(game, run.average)
            print(f"{run.iteration:>9} {value:+9.4f} {gap:9.4f}")


if __name__ == "__main__":
    main()
