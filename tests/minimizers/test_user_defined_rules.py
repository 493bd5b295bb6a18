"""A rule of one's own owes the library two hooks and a domain, and gets everything else."""

import copy

import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit._util._typing import Vector
from regretkit.sets import Simplices


class FollowTheLeader(rk.RegretMinimizer):
    """A plain class: no attrs, and no call of ``super().__init__()``."""

    def __init__(self, actions):
        self.domain = Simplices(actions)
        self.earned = np.zeros(self.domain.dimension)

    def exemptions(self):
        return {
            "regret_grows_slowly": "its regret is linear in the worst case",
            "strategies_are_invariant_to_action_order": "of equal leaders it takes the first",
        }

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

    regrets: Vector = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += utility - self.simplices.repeat(self.simplices.dot(utility, strategy))


@define(eq=False)
class Trembling(rk.SimplexRule):
    """Plays a random point: its state is a generator and one number for each block."""

    seed: int = 0
    generator: np.random.Generator = field(init=False)
    weight: Vector = rk.state(per="block", start=1.0)

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.generator = np.random.default_rng(self.seed)

    def exemptions(self):
        return {"regret_grows_slowly": "it does not learn what is good"}

    def _propose(self):
        noise = self.generator.exponential(size=self.dimension)
        return self.simplices.normalize(noise + self.simplices.repeat(self.weight))

    def _learn(self, utility, strategy):
        self.weight = self.weight + self.simplices.sum(np.abs(utility))


OWN = [FollowTheLeader, PlainRegretMatching, ShortRegretMatching, Trembling]
each_rule = pytest.mark.parametrize("make", OWN)


def learn(player, seed, iterations=10):
    generator = np.random.default_rng(seed)
    strategies = []
    for utility in generator.normal(size=(iterations, player.dimension)):
        strategies.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array([*strategies, player.next_strategy()])


@each_rule
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

    played = learn(player, seed=6, iterations=30)

    assert all(player.domain.contains(strategy) for strategy in played)
    assert len(np.unique(played, axis=0)) > 1
    np.testing.assert_array_equal(learn(twin, seed=6, iterations=30), played)


def test_the_ten_lines_play_as_regret_matching():
    short, library = ShortRegretMatching([3, 4]), rk.RegretMatching([3, 4])

    np.testing.assert_allclose(learn(short, 7, 50), learn(library, 7, 50), atol=1e-11)


@pytest.mark.parametrize("returned", [np.ones(2) / 2, [[1.0, 0.0, 0.0]], 1.0])
def test_a_proposal_of_another_shape_is_refused_with_the_name_of_the_hook(returned):
    class Wrong(rk.RegretMinimizer):
        def __init__(self):
            self.domain = Simplices(3)

        def _propose(self):
            return returned

        def _learn(self, utility, strategy):
            pass

    with pytest.raises(ValueError, match=r"Wrong._propose returned must have shape \(3,\)"):
        Wrong().next_strategy()


def test_a_rule_without_its_hooks_cannot_be_built():
    class Half(rk.RegretMinimizer):
        def _propose(self):
            return np.ones(1)

    with pytest.raises(TypeError, match="_learn"):
        Half()


def test_a_class_needs_no_decorator():
    class Undecorated(rk.SimplexRule):
        regrets: np.ndarray = rk.state()

        def _propose(self):
            return self.simplices.normalize(self.regrets)

        def _learn(self, utility, strategy):
            self.regrets += utility

    class Derived(Undecorated):
        rate: float = 2.0

    for player in (Derived(2, rate=3.0), Undecorated(2)):
        player.observe_utility([0.0, 2.0])
        assert player.next_strategy().tolist() == [0.0, 1.0]
    assert Derived(2, rate=3.0).on_domain(rk.Simplices(3)).rate == 3.0


def test_a_state_per_anything_else_is_refused():
    with pytest.raises(ValueError, match="per must be 'action' or 'block', got 'tree'"):
        rk.state("tree")


@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_a_rule_that_returns_what_it_learned_breaks_the_run(engine):
    @define(eq=False)
    class Returning(rk.SimplexRule):
        regrets: np.ndarray = rk.state()

        def _propose(self):
            return self.simplices.normalize(self.regrets)

        def _learn(self, utility, strategy):
            return self.regrets + utility

    with pytest.raises(TypeError, match=r"Returning\._learn must return nothing"):
        rk.solve(rk.games.load("kuhn_poker"), Returning, iterations=3, engine=engine)


class Rated(rk.SimplexRule):
    """Exponential weights, with a constructor written by hand."""

    def __init__(self, actions, rate):
        super().__init__(actions)
        self.rate, self.earned = rate, np.zeros(self.dimension)

    def _propose(self):
        return self.simplices.softmax(self.earned, self.rate)

    def _learn(self, utility, strategy):
        self.earned += utility


class Forgetful(Rated):
    """Does not keep its rate under its name."""

    def __init__(self, actions, speed):
        super().__init__(actions, speed)


def test_a_rule_with_a_constructor_of_its_own_is_built_again_with_its_arguments():
    assert Rated(3, 0.7).on_domain(rk.Simplices(2)).rate == 0.7
    with pytest.raises(
        TypeError, match=r"Forgetful does not hold its arguments speed .* keep them"
    ):
        Forgetful(3, 0.7).on_domain(rk.Simplices(2))
