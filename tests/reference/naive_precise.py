"""CFR in 60 digits, straight from the histories of a game tree, one number at a time.

Of the library it takes the numbering of sequences and nothing that adds up.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from naive_games import last_sequences

from regretkit.games import ExtensiveFormGame

mpmath.mp.dps = 60
ZERO, ONE = mpmath.mpf(0), mpmath.mpf(1)
ROUNDING = mpmath.mpf(10) ** -45
"""Sums that should cancel leave about 1e-60; no other number in these games is this small."""

Number = Any  # mpmath has no type hints
Numbers = list[Number]

POWERS = {"cfr": 0, "cfr+": 1, "lcfr": 1, "dcfr": 2, "pcfr+": 2}
"""Iteration t counts t to this power in the average."""


def simplest(number: float) -> Number:
    """Return the simple fraction that a number was rounded from."""
    fraction = Fraction(float(number)).limit_denominator(100_000)
    assert abs(float(fraction) - number) <= 1e-12 * max(1.0, abs(number)), number
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def settled(number: Number) -> Number:
    """Return a number, or zero where it is rounding."""
    return ZERO if abs(number) < ROUNDING else number


class PreciseGame:
    """Payoffs at the terminals of a tree, and the decision points of each player."""

    def __init__(self, game: ExtensiveFormGame) -> None:
        tree = game.tree
        chance = [simplest(p) for p in tree.probability]
        for history in range(1, tree.histories):
            chance[history] *= chance[tree.parent[history]]
        last = last_sequences(tree)
        self.terminals = [
            (last[:, h].tolist(), [simplest(payoff) * chance[h] for payoff in payoffs])
            for h, payoffs in zip(tree.terminals, tree.payoffs, strict=True)
        ]
        self.players = range(tree.players)
        self.sizes = [domain.dimension for domain in game.domains]
        self.points = [
            [
                (int(parent), range(int(first), int(first + size)))
                for parent, first, size in zip(
                    domain.parent_sequence, domain.first_sequence, domain.sizes, strict=True
                )
            ]
            for domain in game.domains
        ]

    def utility(self, player: int, profile: Sequence[Numbers]) -> Numbers:
        utility = [ZERO] * self.sizes[player]
        for sequences, payoffs in self.terminals:
            term = payoffs[player]
            for opponent in self.players:
                if opponent != player:
                    term *= profile[opponent][sequences[opponent]]
            utility[sequences[player]] += term
        return utility

    def nash_conv(self, profile: Sequence[Numbers]) -> Number:
        gains = ZERO
        for player in self.players:
            utility = self.utility(player, profile)
            gains -= sum(u * x for u, x in zip(utility, profile[player], strict=True))
            for parent, actions in reversed(self.points[player]):
                utility[parent] += max(utility[a] for a in actions)
            gains += utility[0]
        return gains


class Learner:
    """One player of CFR, its regrets written as the papers have them."""

    def __init__(self, game: PreciseGame, player: int, algorithm: str) -> None:
        self.points, self.algorithm = game.points[player], algorithm
        self.regrets, self.predicted, self.total = ([ZERO] * game.sizes[player] for _ in range(3))
        self.propose()

    def propose(self) -> None:
        self.behavior, self.strategy = [ZERO] * len(self.regrets), [ONE] * len(self.regrets)
        for parent, actions in self.points:
            aims = {a: max(self.aim(a), ZERO) for a in actions}
            total = sum(aims.values())
            for a in actions:
                self.behavior[a] = aims[a] / total if total > 0 else ONE / len(actions)
                self.strategy[a] = self.behavior[a] * self.strategy[parent]

    def aim(self, a: int) -> Number:
        return settled(self.regrets[a] + self.predicted[a])

    def learn(self, utility: Numbers, t: int) -> None:
        for parent, actions in reversed(self.points):
            value = sum(utility[a] * self.behavior[a] for a in actions)
            utility[parent] += value
            for a in actions:
                regret = settled(utility[a] - value)
                self.regrets[a] = settled(self.updated(self.regrets[a], regret, t))
                if self.algorithm == "pcfr+":
                    self.predicted[a] = regret

    def updated(self, total: Number, regret: Number, t: int) -> Number:
        if self.algorithm == "cfr":
            return total + regret
        if self.algorithm == "lcfr":
            return total + t * regret
        if self.algorithm == "dcfr":
            exponent = mpmath.mpf("1.5") if total > 0 else ZERO
            return total * (1 / (1 + mpmath.mpf(t - 1) ** -exponent) if t > 1 else ONE) + regret
        return max(settled(total + regret), ZERO)


def nash_convs(game: PreciseGame, algorithm: str, iterations: int) -> Iterator[float]:
    """Yield NashConv of the average after each iteration, players in turn."""
    learners = [Learner(game, player, algorithm) for player in game.players]
    for t in range(1, iterations + 1):
        for player, learner in enumerate(learners):
            learner.learn(game.utility(player, [learner.strategy for learner in learners]), t)
            weight = mpmath.mpf(t) ** POWERS[algorithm]
            for a, share in enumerate(learner.strategy):
                learner.total[a] += weight * share
            learner.propose()
        averages = [[share / learner.total[0] for share in learner.total] for learner in learners]
        yield float(game.nash_conv(averages))
