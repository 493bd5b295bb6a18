"""Solve Kuhn poker with CFR+, built from its parts.

CFR+ is CFR with RM+ at every information set, alternating updates, and an average that weighs
later iterations more. The script prints the result next to the family of equilibria: player 0
bluffs with the jack at any rate alpha up to 1/3, which determines everything else.

    $ python examples/kuhn_poker.py
"""

from regretkit import CFR, RegretMatchingPlus
from regretkit.evaluation import exploitability
from regretkit.games import kuhn_poker
from regretkit.play import Alternating, Linear, SelfPlay


def equilibrium(alpha: float) -> dict[str, float]:
    """Return how often each information set bets or calls, for one alpha in [0, 1/3]."""
    first = {"J": alpha, "Q": 0.0, "K": 3 * alpha, "Jpb": 0.0, "Qpb": alpha + 1 / 3, "Kpb": 1.0}
    second = {"Jp": 1 / 3, "Qp": 0.0, "Kp": 1.0, "Jb": 0.0, "Qb": 1 / 3, "Kb": 1.0}
    return first | second


def main(iterations: int = 10_000) -> None:
    game = kuhn_poker()
    players = [CFR(tree, RegretMatchingPlus) for tree in game.domains]
    run = SelfPlay(game, players, order=Alternating(), averaging=Linear()).run(iterations)

    profile = run.average
    print(f"value to player 0  {game.value(profile)[0]:+.6f}  (exactly {-1 / 18:+.6f})")
    print(f"exploitability      {exploitability(game, profile):.1e}  (zero at equilibrium)\n")
    print("information set    bets or calls    equilibrium")
    alpha = profile["J"][1]
    for label, exact in equilibrium(alpha).items():
        note = "  = alpha" if label == "J" else ""
        print(f"{label:<15} {profile[label][1]:16.4f} {exact:14.4f}{note}")


if __name__ == "__main__":
    main()
