"""Play Kuhn poker in a terminal against a computed strategy.

    $ python examples/play_against_yourself.py

Without a terminal, a script gives the answers.
"""

import sys
from collections.abc import Callable

import numpy as np

from regretkit import solve
from regretkit.evaluation import exploitability
from regretkit.games import kuhn_poker
from regretkit.play import Agent, HumanAgent, StrategyAgent, play_match


def scripted(question: str) -> str:
    """Answer every question with a bet, which also calls."""
    print(f"{question}b")
    return "b"


def main(
    iterations: int | None = None, rounds: int = 4, ask: Callable[[str], str] = scripted
) -> None:
    game = kuhn_poker()
    profile = solve(game, "cfr+", iterations=iterations or 10_000).average
    print(f"You play against a strategy of exploitability {exploitability(game, profile):.1e}.\n")
    generator = np.random.default_rng()
    agents: list[Agent] = [HumanAgent(ask, print), StrategyAgent(profile, generator)]
    match = play_match(game, agents, rounds, generator, rotate=True)
    print(f"\nAfter {rounds} rounds you have earned {match.payoffs[:, 0].sum():+g}.")


if __name__ == "__main__":
    main(ask=input if sys.stdin.isatty() else scripted)
