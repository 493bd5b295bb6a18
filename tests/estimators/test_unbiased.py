"""The law of estimators: it goes through all samples, and no wrong weight escapes it."""

import numpy as np
import pytest
from attrs import define, field
from refusals import refusals

from regretkit import games, matrix_game
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play import (
    BanditFeedback,
    ChanceSampling,
    Estimator,
    ExactUtility,
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
    assert_unbiased,
)

KUHN = games.kuhn_poker()
COIN = matrix_game([[1.0, -1.0], [0.5, 2.0]])


def generator():
    return np.random.default_rng(1)


@define(eq=False)
class Wrong(TraversalEstimator):
    """Draws each action with one probability, and says that it was another."""

    drawn: float = field(kw_only=True)
    said: float = field(kw_only=True)

    def _choose(self):
        def choose(decision, behavior, actions, probabilities, rule):
            sampled = 0
            for a in range(decision.size):
                if rule.generator.random() < self.drawn:
                    actions[sampled], probabilities[sampled] = a, self.said
                    sampled += 1
            return sampled

        return choose


class Scaled(Estimator):
    """What another estimator says, times a factor that should be 1."""

    def __init__(self, estimator, factor):
        self.estimator, self.factor = estimator, factor

    def utility(self, game, player, profile):
        return self.factor * self.estimator.utility(game, player, profile)


class Drawing(Estimator):
    """The exact utility, now doubled and now not at all, as a function of a generator says."""

    def __init__(self, doubles):
        self.doubles, self.generator = doubles, generator()

    def utility(self, game, player, profile):
        return 2.0 * bool(self.doubles(self.generator)) * game.utility(player, profile)


# Planted mistakes


def test_a_wrong_importance_weight_is_caught_and_the_right_one_is_not():
    assert_unbiased(KUHN, Wrong(generator(), drawn=0.25, said=0.25))

    for drawn, said in [(0.25, 0.2), (0.25, 0.25 * (1 + 1e-9)), (0.5, 1.0)]:
        with pytest.raises(AssertionError, match="biased: for player 0, sequence"):
            assert_unbiased(KUHN, Wrong(generator(), drawn=drawn, said=said))


def test_a_forgotten_weight_is_caught_wherever_it_was_forgotten(monkeypatch):
    def forgetful(choose):
        def chosen(decision, behavior, actions, probabilities, rule):
            sampled = choose(decision, behavior, actions, probabilities, rule)
            probabilities[:sampled] = 1.0  # nothing will be divided by
            return sampled

        return chosen

    for kind in (OutcomeSampling, ExternalSampling):
        lying = forgetful(kind(generator())._choose())
        monkeypatch.setattr(kind, "_choose", lambda self, lying=lying: lying)
    with pytest.raises(AssertionError, match="biased"):
        assert_unbiased(KUHN, OutcomeSampling(generator()))
    assert_unbiased(KUHN, ExternalSampling(generator()))  # which divides by one


@pytest.mark.parametrize(
    "inner", [ExactUtility(), ChanceSampling(generator())], ids=["exact", "chance"]
)
def test_a_factor_that_is_off_by_little_is_caught(inner):
    assert_unbiased(KUHN, Scaled(inner, 1.0))
    for factor in (1.0 + 1e-11, 1.0 - 1e-11, 0.0, np.nan):
        with pytest.raises(AssertionError, match="biased"):
            assert_unbiased(KUHN, Scaled(inner, factor))
    assert_unbiased(KUHN, Scaled(inner, 1.0 + 1e-11), tolerance=1e-9)


def test_implicit_exploration_is_biased_and_said_to_be():
    assert_unbiased(COIN, BanditFeedback(generator(), baseline=2.0))
    with pytest.raises(AssertionError, match=r"player 0, sequence 0 has utility .*, but its mean"):
        assert_unbiased(COIN, BanditFeedback(generator(), baseline=2.0, implicit=0.1))


def test_what_is_never_drawn_is_biased_unless_it_is_explored():
    pure = [np.array([1.0, 0.0]), np.array([0.5, 0.5])]
    assert_unbiased(COIN, OutcomeSampling(generator(), exploration=0.1), profiles=[pure])
    with pytest.raises(
        AssertionError, match=r"player 0, sequence 1 has utility 1\.25, but .* 0\.0"
    ):
        assert_unbiased(COIN, OutcomeSampling(generator(), exploration=0.0), profiles=[pure])


# Going through all samples


def test_an_estimator_that_draws_well_passes_and_a_lopsided_one_does_not():
    assert_unbiased(KUHN, Drawing(lambda g: g.random() < 0.5))
    assert_unbiased(KUHN, Drawing(lambda g: g.integers(2)))
    with pytest.raises(AssertionError, match="biased"):
        assert_unbiased(KUHN, Drawing(lambda g: g.random() < 0.49))


def test_nothing_is_drawn_and_nothing_learned():
    estimator = OutcomeSampling(generator(), baseline=LearnedBaseline())
    profile = [domain.relative_interior_point() for domain in KUHN.domains]
    estimator.utility(KUHN, 0, profile)
    previous = str(estimator.state_dict())

    assert_unbiased(KUHN, estimator)
    estimator.variance(KUHN, 1, profile)

    assert str(estimator.state_dict()) == previous


test_draws_that_cannot_be_gone_through_are_refused = refusals(
    (lambda g: g.normal() < 0.0, r"generator\.normal cannot be enumerated"),
    (lambda g: int(10 * float(g.random())) < 5, "must only be compared with bounds"),
    (lambda g: g.random() + 0.5 < 1.0, "unsupported operand"),
    (lambda g: g.integers(2, size=3)[0], "one at a time, without size"),
    (lambda g: np.random.default_rng().random() < 0.5, "it must draw from an attribute"),
    call=lambda doubles: assert_unbiased(KUHN, Drawing(doubles)),
    error=TypeError,
)


def test_generators_in_lists_and_counts_in_dicts_are_those_of_a_clone():
    class Holding(Estimator):
        def __init__(self):
            self.held, self.seen = [generator()], {}

        def utility(self, game, player, profile):
            self.seen[player] = self.seen.get(player, 0) + 1
            doubled = 2.0 * (self.held[0].random() < 0.5)
            return doubled * self.seen[player] * game.utility(player, profile)

    estimator = Holding()
    assert_unbiased(KUHN, estimator)
    assert estimator.seen == {}


@pytest.mark.parametrize(
    ("returned", "error"), [(None, ValueError), (np.zeros(3), ValueError), ("utility", TypeError)]
)
def test_what_is_no_utility_is_refused_with_the_name_of_the_estimator(returned, error):
    class Returning(Estimator):
        def utility(self, game, player, profile):
            return returned

    with pytest.raises(error, match=r"the result of .*Returning.*\.utility"):
        assert_unbiased(KUHN, Returning())


test_bad_arguments_are_refused = refusals(
    ({"maximum": 10}, ValueError, "more than 10 samples"),
    ({"estimator": generator()}, TypeError, "estimator must be an Estimator"),
    ({"game": "kuhn_poker"}, TypeError, "game must be a Game"),
    ({"maximum": 0}, ValueError, "maximum"),
    ({"profiles": [[np.ones(13)]]}, ValueError, "profile"),
    call=lambda change: assert_unbiased(
        **{"game": KUHN, "estimator": ExternalSampling(generator())} | change
    ),
)
