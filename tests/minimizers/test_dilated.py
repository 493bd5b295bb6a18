"""Mirror descent on trees: what it is on one decision, on all vertices, and at equilibrium."""

import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import ADVERSARIES, play, random_tree, same_play

import regretkit as rk
from regretkit import minimizers as m
from regretkit.games import kuhn_poker
from regretkit.play import SelfPlay, Simultaneous

SMALL = rk.DecisionTree([0, 2, 0, 5], [2, 3, 2, 2])
REGULARIZERS = {
    "entropy": m.Entropy(),
    "euclidean": m.Euclidean(),
    "tsallis": m.Tsallis(),
    "barrier": m.LogBarrier(),
}
PHI = {
    "entropy": lambda b: b * math.log(b),
    "euclidean": lambda b: b * b / 2.0,
    "tsallis": lambda b: 2.0 * (b - math.sqrt(b)),
    "barrier": lambda b: -math.log(b),
}
either = pytest.mark.parametrize("optimistic", [False, True])
# The quantal response equilibrium of Kuhn poker at temperature 1/10: the first player's chance of a
# bet, and of a call after pass and bet. Logit responses of the reduced normal form factorize over
# the cards, so that six numbers of the second player decide everything; their fixed point was
# found by Newton's method with 60 digits, in mpmath and without anything of this package.
QUANTAL = {"J": 0.246357689817073, "Q": 0.296901855459850, "K": 0.524531900637431}
QUANTAL |= {"Jpb": 0.141555953973622, "Qpb": 0.635766543273359, "Kpb": 0.972852075043885}
# Gambit's, as the tests of OpenSpiel quote them, are within 1e-8, but for Q and for K.


def naive_psi(name, tree, x):
    """Return the sum over decision points of what comes there times phi of what is played."""
    total = 0.0
    for j, parent in enumerate(tree.parent_sequence):
        first = tree.first_sequence[j]
        for a in range(tree.sizes[j]):
            total += x[parent] * PHI[name](x[first + a] / x[parent])
    return total


def naive_slope(name, tree, x):
    slope = np.zeros(tree.dimension)
    for i in range(tree.dimension):
        step = 1e-6 * x[i] * np.eye(tree.dimension)[i]
        slope[i] = naive_psi(name, tree, x + step) - naive_psi(name, tree, x - step)
        slope[i] /= 2.0 * step[i]
    return slope


def vertices(tree):
    """Return the reduced pure strategies, each once."""
    return np.array(
        sorted({tuple(x) for x in naive.pure_strategies(tree.parent_sequence, tree.sizes)})
    )


class OverVertices(rk.RegretMinimizer):
    """A leaf over the vertices of a tree, and the mixture of them that it plays."""

    def __init__(self, tree, make):
        self.domain, self.vertices = tree, vertices(tree)
        self.leaf = make(len(self.vertices))

    def _propose(self):
        return self.leaf.next_strategy() @ self.vertices

    def _learn(self, utility, strategy):
        self.leaf.observe_utility(self.vertices @ utility)

    def _expect(self, prediction):
        self.leaf.expect_utility(self.vertices @ prediction)


@either
@pytest.mark.parametrize("name", REGULARIZERS)
def test_on_one_decision_it_is_the_leaf(name, optimistic):
    parts = {"regularizer": REGULARIZERS[name], "rate": 0.3, "optimistic": optimistic}
    tree = rk.DecisionTree([0], [4])
    leaf = OverVertices(tree, partial(m.OnlineMirrorDescent, **parts))
    same_play(m.DilatedMirrorDescent(tree, **parts), leaf, atol=1e-12, told="sometimes")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("leaf", "parts"),
    [
        (rk.Hedge, {}),
        (rk.OptimisticHedge, {"optimistic": True}),
        (partial(m.MagneticMirrorDescent, temperature=0.4), {"temperature": 0.4}),
    ],
)
def test_with_entropy_it_is_the_leaf_over_the_vertices(seed, leaf, parts):
    tree = random_tree(np.random.default_rng(seed), points=4) if seed else SMALL
    over_vertices = OverVertices(tree, partial(leaf, rate=0.3))
    dilated = m.DilatedMirrorDescent(tree, rate=0.3, **parts)
    same_play(dilated, over_vertices, seed, atol=1e-11, told="sometimes")


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_a_step_is_the_one_of_the_definition(name, weight):
    # x maximizes <u, x> - D(x, x') / rate: no vertex lies in the direction of its slope there.
    generator, rate, tree = np.random.default_rng(3), 0.3, SMALL
    player = m.DilatedMirrorDescent(
        tree=tree, rate=rate, regularizer=REGULARIZERS[name], weight=weight
    )
    steps, old = 0, player.next_strategy()

    slope = -naive_slope(name, tree, old)  # it begins where psi is least
    assert tree.best_response(slope)[0] - slope @ old < 1e-6
    for utility in 0.5 * generator.normal(size=(20, tree.dimension)):
        player.observe_utility(utility)
        x = player.next_strategy()
        if min(x.min(), old.min()) > 1e-3:
            steps += 1
            moved = naive_slope(name, tree, x) - naive_slope(name, tree, old)
            slope = utility - weight / rate * moved
            assert tree.best_response(slope)[0] - slope @ x < 1e-5
        old = x
    assert steps > 3


@pytest.mark.deep_beyond(7)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("rate", [0.03, 0.3, 3.0])
def test_with_entropy_regret_keeps_the_bound_of_hedge_over_the_vertices(rate, adversary):
    # ln N / rate  +  rate / 8 sum_t of the squared range of payoffs
    player = m.DilatedMirrorDescent(SMALL, rate=rate)
    x, u = play(player, ADVERSARIES[adversary], 200, np.random.default_rng(6))

    payoffs = u @ vertices(SMALL).T
    regret = payoffs.cumsum(axis=0).max(axis=1) - (u * x).sum(axis=1).cumsum()
    bound = math.log(len(vertices(SMALL))) / rate
    bound = bound + rate / 8.0 * (np.ptp(payoffs, axis=1) ** 2).cumsum()
    assert (regret <= bound * (1.0 + 1e-12)).all()


def quantal_response(game, rate, iterations, optimistic=False):
    players = [
        m.DilatedMirrorDescent(t, rate=rate, temperature=0.1, optimistic=optimistic)
        for t in game.domains
    ]
    return SelfPlay(game, players, order=Simultaneous()).run(iterations).current


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize(("optimistic", "rate"), [(True, 0.5), (False, 0.05)])
def test_magnetic_mirror_descent_finds_the_quantal_response_equilibrium_of_kuhn_poker(
    optimistic, rate
):
    game = kuhn_poker()

    profile = quantal_response(game, rate, 6_000 if rate < 0.1 else 1_000, optimistic)

    for label, probability in QUANTAL.items():
        assert profile[label][1] == pytest.approx(probability, rel=0.0, abs=1e-9)
    # Each responds to the other in proportion to exponentials of the payoffs of pure strategies.
    for player, tree in enumerate(game.domains):
        pure = vertices(tree)
        weights = np.exp(pure @ game.utility(player, profile) / 0.1)
        response = weights @ pure / weights.sum()
        np.testing.assert_allclose(profile[player], response, atol=1e-9)
