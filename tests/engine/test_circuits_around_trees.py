"""Circuits around a whole tree in machine code play as in NumPy, bit by bit."""

import numpy as np
import pytest
from engine_cases import assert_same_bits
from naive_games import random_game

import regretkit as rk
from regretkit import CFR, RegretMatching, RegretMatchingPlus, SelfPlay
from regretkit.circuits import (
    EFR,
    Discount,
    ExplorationMixture,
    LastIterateByAveraging,
    Regularized,
    Restart,
)
from regretkit.play import Alternating, ExternalSampling, Linear, RandomPlayer, Simultaneous


class Around(rk.RegretMinimizer):
    """Passes everything on."""

    def __init__(self, inner):
        self.inner = inner
        self.domain = inner.domain

    def _propose(self):
        return self.inner.next_strategy().copy()

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)


class Magnet(Around):
    """Pulls towards a reference, which moves to what is played every so many iterations."""

    def __init__(self, inner, mu=0.05, every=3):
        super().__init__(inner)
        self.mu, self.every = mu, every
        self.reference = inner.domain.relative_interior_point()

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - self.mu * (strategy - self.reference))
        if (self.iteration + 1) % self.every == 0:
            self.reference = strategy.copy()


class Price(Around):
    """Takes a fixed price for each sequence, which falls with time."""

    def __init__(self, inner):
        super().__init__(inner)
        self.price = np.linspace(-1.0, 1.0, self.dimension)

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - self.price / (self.iteration + 1))


def plus(tree):
    return CFR(tree, RegretMatchingPlus)


def plain(tree):
    return CFR(tree, RegretMatching)


CIRCUITS = {
    "exploration": lambda tree: ExplorationMixture(plus(tree), gamma=0.1),
    "restricted response": lambda tree: ExplorationMixture(
        plus(tree), gamma=0.6, reference=tree.best_response(np.arange(tree.dimension))[1]
    ),
    "last iterate": lambda tree: LastIterateByAveraging(plain(tree)),
    "discount": lambda tree: Discount(plain(tree), weight=float),
    "magnet": lambda tree: Magnet(plus(tree)),
    "regularized": lambda tree: Regularized(
        plus(tree), lambda u, x, r: u - 0.05 * (x - r), every=3
    ),
    "price": lambda tree: Price(CFR(tree, rk.PredictiveRegretMatchingPlus)),
    "nested": lambda tree: ExplorationMixture(
        Magnet(Discount(plus(tree), weight=np.sqrt), mu=0.3), gamma=0.05
    ),
}


def tree_game(players, seed):
    generator = np.random.default_rng([players, seed])
    return rk.ExtensiveFormGame.from_history(random_game(generator, players))


GAMES = {
    "two": tree_game(2, 0),
    "three": tree_game(3, 1),
    "leduc": rk.load("leduc_poker(ranks=2)"),
}
ORDERS = {
    "alternating": Alternating,
    "simultaneous": Simultaneous,
    "random": lambda: RandomPlayer(np.random.default_rng(2)),
}
CASES = [
    (circuit, [*GAMES][k % 3], [*ORDERS][(k + k // 3) % 3]) for k, circuit in enumerate(CIRCUITS)
]


def started(make, game, engine, order=Alternating):
    players = [make(tree) for tree in game.domains]
    return SelfPlay(game, players, order=order(), averaging=Linear(), engine=engine)


@pytest.mark.parametrize(("circuit", "game", "order"), CASES)
def test_machine_code_plays_as_numpy_and_hands_over(circuit, game, order):
    make, order = CIRCUITS[circuit], ORDERS[order]
    runs = [started(make, GAMES[game], engine, order) for engine in ("compiled", "numpy")]
    for iterations in (1, 12, 7):
        for run in runs:
            run.run(iterations)
        assert_same_bits(*runs)
    third = started(make, GAMES[game], "numpy", order)
    third.load_state_dict(runs[0].state_dict())
    assert_same_bits(third.run(5), runs[1].run(5))
    assert_same_bits(runs[0].run(5), runs[1])


@pytest.mark.parametrize(
    "make",
    [Around, lambda inner: Magnet(inner, mu=0.0), lambda inner: ExplorationMixture(inner, gamma=0)],
    ids=["around", "magnet without force", "no exploration"],
)
def test_a_circuit_that_changes_nothing_plays_as_what_it_is_around(make):
    game = GAMES["leduc"]
    wrapped = started(lambda tree: make(plus(tree)), game, "compiled").run(30)
    for x, y in zip(wrapped.average, started(plus, game, "compiled").run(30).average, strict=True):
        assert np.array_equal(x, y)
    inner = wrapped.minimizers[0].minimizer if make is ExplorationMixture else None
    assert inner is None or inner.iteration == 30


def test_a_hyperparameter_changed_between_runs_counts():
    runs = [started(CIRCUITS["magnet"], GAMES["two"], engine) for engine in ("compiled", "numpy")]
    for run in runs:
        run.run(5)
        run.minimizers[1].mu = 2.0
        run.minimizers[0].reference = np.zeros(run.minimizers[0].dimension)
        run.run(5)
    assert_same_bits(*runs)


def test_exploration_reaches_every_sequence():
    game = GAMES["leduc"]
    run = started(CIRCUITS["exploration"], game, "compiled").run(50)
    for player, tree in zip(run.minimizers, game.domains, strict=True):
        least = 0.1 * tree.relative_interior_point()
        assert (player.next_strategy() >= least - 1e-15).all()
        assert tree.contains(player.next_strategy())


class Total(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - (utility * strategy).sum())


class Twice(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)
        self.inner.observe_utility(utility)


class Seldom(Around):
    def _learn(self, utility, strategy):
        if self.iteration % 2 == 0:
            self.inner.observe_utility(utility)


class Later(Around):
    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)
        self.last = self.inner.next_strategy()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda tree: Total(plus(tree)), "must depend on that sequence alone"),
        (lambda tree: Twice(plus(tree)), "observe_utility of its part twice"),
        (lambda tree: Seldom(plus(tree)), "must call observe_utility of its part in every"),
        (lambda tree: Later(plus(tree)), "calls next_strategy of its part after observe_utility"),
        (lambda tree: Restart(plus(tree), every=3), "uses .load_state_dict"),
        (lambda tree: Around(EFR(tree)), "around a minimizer that mixes deviations"),
    ],
)
def test_what_cannot_be_compiled_runs_in_numpy_and_says_why(make, reason):
    run = started(make, GAMES["two"], "auto").run(3)
    assert run.engine == "numpy"
    assert reason in str(run.engine_report())


def test_samples_need_numpy():
    players = [Around(plus(tree)) for tree in GAMES["two"].domains]
    sampling = ExternalSampling(np.random.default_rng(0))
    with pytest.raises(
        ValueError, match="circuit around a tree, and machine code then needs exact"
    ):
        SelfPlay(GAMES["two"], players, estimator=sampling, engine="compiled")
