"""Mediator games, whose equilibria are optimal correlated equilibria of another game."""

from collections.abc import Sequence

import numpy as np
from attrs import define, field

from regretkit._util._typing import Vector
from regretkit._util._validate import number
from regretkit.evaluation.correlated._distributions import Objective
from regretkit.evaluation.correlated._programs import (
    Concept,
    ExtensiveFormCorrelatedEquilibrium,
    Program,
    as_concept,
)
from regretkit.games import ExtensiveFormGame
from regretkit.games._game import Game, as_strategies
from regretkit.sets import StrategySet


@define(eq=False, repr=False)
class MediatorGame(Game[StrategySet]):
    """A game whose equilibria are optimal correlated equilibria of another game.

    Player 0 is a mediator. Its strategy p is a distribution of joint plans, a point of a
    correlation DAG. Player 1 + i is the deviator of player i. Its strategy c_i mixes "no deviation"
    and triggers with continuations. With w the objective and g_i the gain of a deviation,

        the mediator earns   w(p) - penalty * sum over i of g_i(p, c_i)
        deviator i earns     penalty * g_i(p, c_i)

    The mediator plays a zero-sum game against all deviators. A profile bounds the value of this
    game from both sides, and ``nash_conv`` is the distance of the bounds. For any penalty, no
    equilibrium has an objective above the upper bound. If the penalty is large enough for the game,
    the value is the optimum. Otherwise gains remain. A much larger penalty slows convergence.

    Parameters
    ----------
    game
        A game in extensive form.
    objective, concept, memory_limit
        As in ``best_extensive_form_correlated_equilibrium``.
    penalty
        The factor of the deviators' gains, above 0.

    Examples
    --------
    >>> from regretkit import solve
    >>> from regretkit.games import sheriff
    >>> mediator = MediatorGame(sheriff(items=2, bribe=1, rounds=1), penalty=30.0)
    >>> found = mediator.equilibrium(solve(mediator, "pdcfr+", iterations=2_000).average)
    >>> abs(found.value - 10 / 7) < 1e-3, found.bound > 10 / 7, found.gap < 1e-4
    (True, True, True)

    References
    ----------
    Zhang, Farina, Anagnostides, Cacciamani, McAleer, Haupt, Celli, Gatti, Conitzer and Sandholm
    (2023), "Computing optimal equilibria and mechanisms via learning in zero-sum extensive-form
    games", NeurIPS.
    """

    game: ExtensiveFormGame
    objective: Objective = "welfare"
    concept: Concept = field(default="efce", converter=as_concept, kw_only=True)
    penalty: float = field(kw_only=True)
    memory_limit: float | None = field(default=None, kw_only=True)
    domains: tuple[StrategySet, ...] = field(init=False)
    _program: Program = field(init=False)
    _objective: Vector = field(init=False)

    def __attrs_post_init__(self) -> None:
        number(self.penalty, "penalty", minimum=0.0)
        program = Program.of(self.game, self.objective, self.concept, self.memory_limit)
        self._program, self._objective = program, program.objective.copy()
        deviators = (deviations.domain for deviations in program.deviations)
        self.domains = (self._program.plans.domain, *deviators)
        self._objective[0] += program.minimum  # sequence 0 has weight 1

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the utility of each sequence of ``player``."""
        plan, objective = strategies[0], self._objective * (payoff_of == 0)
        prices = {payoff_of: self.penalty}
        if payoff_of == 0:  # the gains of all deviators
            prices = dict.fromkeys(range(1, len(self.domains)), -self.penalty)
        gains = self._program.gains
        if player == 0:
            terms = (price * (gains[i - 1].T @ strategies[i]) for i, price in prices.items())
            return np.asarray(sum(terms, objective))
        earned = {i: price * (gains[i - 1] @ plan) for i, price in prices.items()}
        utility = np.zeros(self.domains[player].dimension)
        utility += earned.pop(player, 0.0)
        utility[0] += objective @ plan + sum(gain @ strategies[i] for i, gain in earned.items())
        return utility

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        plan, *deviating = strategies
        gains = [
            self.penalty * float(c @ (gain @ plan))
            for gain, c in zip(self._program.gains, deviating, strict=True)
        ]
        return np.array([self._objective @ plan - sum(gains), *gains])

    def equilibrium(self, profile: Sequence[Vector]) -> ExtensiveFormCorrelatedEquilibrium:
        """Return the mediator's recommendations, with the upper bound of the deviators.

        Its ``gaps`` are the players' gains from the best deviations.
        """
        plan = as_strategies(self, profile)[0]
        bound, _ = self.domains[0].best_response(self.utility(0, profile))
        return self._program.equilibrium(plan, float(self._objective @ plan), bound)

    def __repr__(self) -> str:
        sequences = " + ".join(str(domain.dimension) for domain in self.domains)
        return f"<MediatorGame of {self.game}: {sequences} sequences>"
