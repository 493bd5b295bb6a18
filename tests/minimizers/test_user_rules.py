"""Rules that users write keep the contract, go into every circuit, and owe nothing but hooks."""

import copy

import numpy as np
import pytest
from attrs import define, field
from user_rules import RULES

import regretkit as rk
from regretkit import games
from regretkit.checks import checks_of, run_check
from regretkit.sets import Simplices

SIMPLICES = Simplices([2, 3])
RANDOM, COUPLED = {"RandomLeader"}, {"HalvedWhenLarge"}


class FollowTheLeader(rk.RegretMinimizer):
    """A plain class: no attrs, and no call of ``super().__init__()``."""

    def __init__(self, actions):
        self.domain = Simplices(actions)
        self.earned = np.zeros(self.domain.dimension)

    no_guarantee = "its regret is linear in the worst case"

    def _propose(self):
        return self.domain.best_response(self.earned)[1]

    def _learn(self, utility, strategy):
        self.earned += utility


class PlainRegretMatching(rk.SimplexRule):
    """A plain subclass of a class that attrs made, with a state of its own."""

    def __init__(self, simplices):
        super().__init__(simplices)
        self.total = np.zeros(self.dimension)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.total, 0.0))

    def _learn(self, utility, strategy):
        self.total += self.simplices.regret(utility, strategy)


@define(eq=False)
class ShortRegretMatching(rk.SimplexRule):
    """The ten lines of the documentation."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += utility - self.simplices.repeat(self.simplices.dot(utility, strategy))


@define(eq=False)
class Trembling(rk.SimplexRule):
    """Plays a random point: its state is a generator and one number for each block."""

    seed: int = 0
    generator: np.random.Generator = field(init=False)
    weight: np.ndarray = rk.state(per="block", start=1.0)

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.generator = np.random.default_rng(self.seed)

    no_guarantee = "it does not learn what is good"

    def _propose(self):
        noise = self.generator.exponential(size=self.dimension)
        return self.simplices.normalize(noise + self.simplices.repeat(self.weight))

    def _learn(self, utility, strategy):
        self.weight = self.weight + self.simplices.sum(np.abs(utility))


OWN = [FollowTheLeader, PlainRegretMatching, ShortRegretMatching, Trembling]


def played(player, utilities):
    strategies = []
    for utility in utilities:
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(strategies)


# The contract


BROKEN = {
    ("HalvedWhenLarge", "blocks_are_independent"),
    ("FixedPerturbations", "strategies_are_invariant_to_action_order"),
}
CASES = [
    pytest.param(name, check, make, id=f"{name}:{check.__name__}")
    for name, make in RULES
    for check in checks_of(make(SIMPLICES))
]


@pytest.mark.deep_beyond(50)
@pytest.mark.parametrize(("name", "check", "make"), CASES)
def test_each_rule_keeps_the_contract(name, check, make):
    if (name, check.__name__) in BROKEN:
        with pytest.raises(AssertionError, match=check.__name__):
            run_check(check, lambda: make(SIMPLICES))
    else:
        run_check(check, lambda: make(SIMPLICES))


# What a class must have, and what it need not


@pytest.mark.parametrize("make", OWN)
@pytest.mark.parametrize(
    "circuit",
    [
        lambda make: rk.ConvexHull([make(3), rk.Point([1.0, 0.0, 0.0])], make(2)),
        lambda make: rk.Product([make(3), make(2)]),
        lambda make: rk.SwapRegret(3, rk.PerDecisionPoint(make)),
        lambda make: rk.CFR(rk.DecisionTree([0, 2], [2, 3]), rk.PerDecisionPoint(make)),
        lambda make: rk.circuit(rk.DecisionTree([0, 2], [2, 3]), rk.PerDecisionPoint(make)),
    ],
    ids=["hull", "product", "swap", "cfr", "circuit"],
)
def test_it_goes_into_every_circuit(make, circuit):
    player = circuit(make)
    twin = copy.deepcopy(player)
    utilities = np.random.default_rng(6).normal(size=(30, player.dimension))

    strategies = played(player, utilities)

    assert all(player.domain.contains(strategy) for strategy in strategies)
    assert len(np.unique(strategies, axis=0)) > 1
    np.testing.assert_array_equal(played(twin, utilities), strategies)


def test_a_class_needs_no_decorator_and_is_built_again_with_its_arguments():
    class Undecorated(rk.SimplexRule):
        regrets: np.ndarray = rk.state()

        def _propose(self):
            return self.simplices.normalize(self.regrets)

        def _learn(self, utility, strategy):
            self.regrets += utility

    class Derived(Undecorated):
        rate: float = 2.0

    class ByHand(Undecorated):
        def __init__(self, actions, speed):
            super().__init__(actions)
            self.speed = speed

    for player in (Derived(2, rate=3.0), Undecorated(2), ByHand(2, 3.0)):
        player.observe_utility([0.0, 2.0])
        assert player.next_strategy().tolist() == [0.0, 1.0]
    assert Derived(2, rate=3.0).on_domain(Simplices(3)).rate == 3.0
    assert ByHand(2, 3.0).on_domain(Simplices(3)).speed == 3.0


def one_that(propose=lambda self: np.ones(1), learn=None, **members):
    hooks = {"_propose": propose, "_learn": learn or (lambda self, u, x: None)}
    return type("Mine", (rk.SimplexRule,), hooks | members)


def without_domain(self, _):
    pass


def other_name(self, actions, speed):
    rk.SimplexRule.__init__(self, actions)
    self.rate = speed


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: rk.RegretMinimizer(), TypeError, "_learn"),
        (
            lambda: one_that(lambda self: np.ones(2))(3).next_strategy(),
            ValueError,
            r"Mine._propose must have shape \(3,\), got \(2,\)",
        ),
        (
            lambda: one_that(__init__=without_domain)(3).dimension,
            AttributeError,
            "no attribute 'domain'",
        ),
        (
            lambda: one_that(learn=lambda self, u, x: u)(1).observe_utility([0.0]),
            TypeError,
            "_learn must return None",
        ),
        (
            lambda: one_that(__init__=other_name)(1, speed=2).on_domain(Simplices(3)),
            AttributeError,
            "no attribute '_speed'",
        ),
        (lambda: rk.state("tree"), ValueError, "per must be 'action' or 'block'"),
    ],
)
def test_a_class_that_lacks_something_is_told(use, error, message):
    with pytest.raises(error, match=message):
        use()


@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_a_rule_that_fails_breaks_the_run(engine):
    returning = one_that(
        lambda self: self.simplices.uniform(), lambda self, utility, strategy: utility
    )
    with pytest.raises(TypeError, match=r"Mine\._learn must return None"):
        rk.solve(games.kuhn_poker(), returning, iterations=3, engine=engine)
