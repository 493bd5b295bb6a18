"""A minimizer whose strategies go wrong is named with the iteration, in every engine."""

import numpy as np
import pytest
from attrs import define, frozen

import regretkit as rk
from regretkit import SelfPlay
from regretkit.estimators import ExternalSampling, OutcomeSampling
from regretkit.play import Sampled

KUHN, PENNIES = rk.load("kuhn_poker"), rk.matrix_game([[2.0, -1.0], [-1.0, 1.0]])
COMPILED = pytest.param("compiled", marks=pytest.mark.deep)


@define(eq=False)
class GoesWrong(rk.SimplexRule):
    """Regret matching, until a strategy is what ``wrong`` makes of it."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        strategy = self.simplices.normalize(np.maximum(self.regrets, 0.0))
        return self.wrong(strategy) if self.iteration >= 3 else strategy

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


@define(eq=False)
class Doubled(GoesWrong):
    def wrong(self, strategy):
        return 2.0 * strategy


@define(eq=False)
class Undefined(GoesWrong):
    def wrong(self, strategy):
        return strategy * np.nan


@define(eq=False)
class Negative(GoesWrong):
    """Sums to 1."""

    def wrong(self, strategy):
        return 3.0 * strategy - 2.0 * self.simplices.uniform()


@define(eq=False)
class Unscaled(GoesWrong):
    """Sums to 1 until it has a regret."""

    def _propose(self):
        return self.simplices.uniform() + np.maximum(self.regrets, 0.0)


@define(eq=False)
class Short(GoesWrong):
    def wrong(self, strategy):
        return strategy[:-1]


def players(game, rule):
    if game is KUHN:
        return [rk.CFR(KUHN.domains[0], rk.RegretMatching), rk.CFR(KUHN.domains[1], rule)]
    return [rk.RegretMatching(2), rule(2)]


# A slice, as in Short, is refused when it is traced. In matching pennies the fourth strategy of
# Negative is uniform, which is valid.
CASES = [
    pytest.param(engine, game, rule, marks=[pytest.mark.deep] * (engine == "compiled"))
    for engine in ("numpy", "compiled")
    for game in (KUHN, PENNIES)
    for rule in (Doubled, Undefined, Negative, Short)
    if (rule, engine) != (Short, "compiled") and (rule, game) != (Negative, PENNIES)
]


@pytest.mark.parametrize(("engine", "game", "rule"), CASES)
def test_the_rule_and_an_iteration_are_named(engine, game, rule):
    run = SelfPlay(game, players(game, rule), engine=engine)

    with pytest.raises(ValueError, match=rule.__name__):
        run.run(1_000)
    with pytest.raises(RuntimeError, match=r"failed after iteration \d"):
        run.run(1)


@pytest.mark.parametrize("rule", [Doubled, Undefined, Negative, Unscaled])
def test_the_rule_is_named_in_play_without_a_tree(rule):
    run = Sampled(rk.games.load_rules("kuhn_poker"), rule, ExternalSampling(1))

    with pytest.raises(ValueError, match=rf"{rule.__name__} must return probabilities that sum"):
        run.run(50)


@pytest.mark.parametrize("engine", ["numpy", COMPILED])
def test_so_they_are_in_sampled_play(engine):
    minimizers, estimator = players(KUHN, Unscaled), ExternalSampling(1)

    with pytest.raises(ValueError, match="Unscaled"):
        SelfPlay(KUHN, minimizers, estimator=estimator, engine=engine).run(1_000)


@frozen
class Long:
    """A game of 400 moves, of which each play is drawn with a probability of 30^-400."""

    moves: int = 0

    def is_terminal(self):
        return self.moves == 400

    def player(self):
        return 0

    def chance_outcomes(self):
        return []

    def actions(self):
        return range(30)

    def child(self, action):
        return Long(self.moves + 1)

    def information_set(self):
        return self.moves

    def payoffs(self):
        return [1.0]


def test_weights_of_a_sampled_play_that_overflow_are_not_blamed_on_the_rule():
    run = Sampled(Long(), rk.RegretMatching, OutcomeSampling(1))
    with pytest.raises(ValueError, match="sampled utilities overflow"):
        run.run(1)
