"""Minimize regret against an opponent that plays best responses.

With averages X and Y over T iterations and the minimizer's regret R,

    min_y u(X, y)  >=  mean of u(x_t, y_t)  =  max_x u(x, Y) - R / T

so both are within R / T of a saddle point. If R / T converges to zero, max min = min max: a proof
of the minimax theorem (Freund and Schapire, 1999). In a tree, this is CFR-BR.

    $ python examples/best_response_play.py
"""

from regretkit import CFR, Average, RegretMatching
from regretkit.evaluation import RegretLedger, duality_gap
from regretkit.games import kuhn_poker


def main(iterations: int = 10_000) -> None:
    game = kuhn_poker()
    learner, averages = CFR(game.domains[0], RegretMatching), (Average(), Average())
    ledger = RegretLedger(learner)
    profile = [domain.relative_interior_point() for domain in game.domains]
    for t in range(1, iterations + 1):
        profile[0] = learner.next_strategy()
        profile[1] = game.domains[1].best_response(game.utility(1, profile))[1]
        learner.observe_utility(game.utility(0, profile))
        for average, strategy in zip(averages, profile, strict=True):
            average.add(strategy)
        if t in (10, 100, 1_000, 10_000):
            gap = duality_gap(game, [average.strategy for average in averages])
            print(f"{t:>6}  gap {gap:.4f}, at most the regret {ledger.external(learner) / t:.4f}")


if __name__ == "__main__":
    main()
