"""Leaders, mirror descent and gradient descent: each is what its definition says it is."""

import math
from functools import partial

import naive
import numpy as np
import pytest
from factories import same_play
from scipy.optimize import brentq, nnls

import regretkit as rk
from regretkit import minimizers as m
from regretkit.games import matching_pennies
from regretkit.play import SelfPlay, Simultaneous
from regretkit.sets import Simplices

REGULARIZERS = {
    "entropy": m.Entropy(),
    "euclidean": m.Euclidean(),
    "tsallis": m.Tsallis(),
    "tsallis(0.9)": m.Tsallis(q=0.9),
    "tsallis(0.1)": m.Tsallis(q=0.1),
    "barrier": m.LogBarrier(),
}
INTERIOR = {name: r for name, r in REGULARIZERS.items() if r.interior}
RULES = {
    f"{rule.__name__}[{name}]{'+optimism' * optimistic}": partial(
        rule, regularizer=regularizer, rate=0.3, optimistic=optimistic
    )
    for rule in (m.FollowTheRegularizedLeader, m.OnlineMirrorDescent)
    for name, regularizer in REGULARIZERS.items()
    for optimistic in (False, True)
} | {
    "mmd": partial(m.MagneticMirrorDescent, rate=0.3, temperature=0.2),
    "mmd+optimism": partial(m.MagneticMirrorDescent, rate=0.3, temperature=0.2, optimistic=True),
}
each_regularizer = pytest.mark.parametrize("name", REGULARIZERS)


EXPONENTS = {"tsallis": 0.5, "tsallis(0.9)": 0.9, "tsallis(0.1)": 0.1}


def naive_phi(name, x):
    if q := EXPONENTS.get(name):
        return (1.0 - sum(p**q for p in x)) / (1.0 - q)
    if name == "entropy":
        return sum(p * math.log(p) for p in x)
    return sum(p * p for p in x) / 2.0 if name == "euclidean" else -sum(map(math.log, x))


def naive_slope(name, x):
    """Return the derivatives of phi, one by one, by differences in the fifth digit and below."""

    def value(i, h):
        return naive_phi(name, [p + h * (i == k) for k, p in enumerate(x)])

    widths = [1e-4 * p for p in x]
    return np.array([
        (8.0 * (value(i, h) - value(i, -h)) - value(i, 2.0 * h) + value(i, -2.0 * h)) / (12.0 * h)
        for i, h in enumerate(widths)
    ])  # fmt: skip


def naive_leader(name, scores, rate):
    """Return the leader from the condition that all slopes of actions in play are equal."""
    s = [rate * score for score in scores]
    if name == "euclidean":
        return naive.project(s)
    if name == "entropy":
        return naive.softmax(s)
    q = EXPONENTS.get(name, 0.0)
    factor = (1.0 - q) / q if q else 1.0

    def weights(level):
        return [(factor * (level + max(s) - one)) ** (-1.0 / (1.0 - q)) for one in s]

    minimum, maximum = 0.5 / factor, 2.0 * len(s) / factor
    level = brentq(
        lambda level: sum(weights(level)) - 1.0, minimum, maximum, xtol=1e-15, rtol=1e-15
    )
    return weights(level)


# Regularizers


@each_regularizer
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("actions", [1, 2, 3, 40])
def test_a_leader_is_what_the_conditions_of_optimality_say(name, scale, actions):
    scores = scale * np.random.default_rng(actions).normal(size=actions)

    leader = REGULARIZERS[name].leader(Simplices(actions), scores, rate=0.7)

    np.testing.assert_allclose(leader, naive_leader(name, scores, 0.7), rtol=1e-8, atol=1e-13)
    assert leader.sum() == pytest.approx(1.0, abs=1e-14)


@each_regularizer
def test_values_and_gradients_are_those_of_phi(name):
    regularizer, simplices = REGULARIZERS[name], Simplices([2, 4])
    x = simplices.normalize(np.random.default_rng(1).uniform(0.1, 1.0, size=6))

    blocks = [x[:2].tolist(), x[2:].tolist()]
    values = [naive_phi(name, block) for block in blocks]
    np.testing.assert_allclose(regularizer.value(simplices, x), values, rtol=1e-12)
    slopes = np.concatenate([naive_slope(name, block) for block in blocks])
    np.testing.assert_allclose(regularizer.gradient(x), slopes, rtol=1e-9, atol=1e-9)


@each_regularizer
def test_equal_scores_are_shared_exactly(name):
    simplices = Simplices([1, 3, 7, 49])

    for score in (0.0, -1e300, 1e-300, 0.1):
        leader = REGULARIZERS[name].leader(simplices, np.full(60, score), rate=3.0)
        np.testing.assert_array_equal(leader, simplices.uniform())


# The rules


@each_regularizer
@pytest.mark.parametrize("optimistic", [False, True])
def test_mirror_descent_makes_the_step_of_its_definition(name, optimistic):
    # x maximizes <u, x> - D(x, z) / rate: no vertex lies in the direction of its slope there.
    player = RULES[f"OnlineMirrorDescent[{name}]{'+optimism' * optimistic}"](3)
    z, expected = np.full(3, 1 / 3), np.zeros(3)

    def check(x, z, utility):
        if x.min() > 1e-4 or name == "euclidean":
            slope = utility - (naive_slope(name, x + 1e-300) - naive_slope(name, z + 1e-300)) / 0.3
            assert slope.max() - slope @ x < 1e-6

    for utility in 0.4 * np.random.default_rng(3).normal(size=(40, 3)):
        x = player.next_strategy()
        check(x, z, expected * optimistic)
        player.observe_utility(utility)
        if optimistic:
            player.expect_utility(np.zeros(3))  # which shows z itself
        moved = player.next_strategy()
        check(moved, z, utility)
        z, expected = moved, utility
        player.expect_utility(expected)


# Special cases of each other


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize(
    "rule",
    [
        partial(m.FollowTheRegularizedLeader, regularizer=m.Entropy()),
        partial(m.OnlineMirrorDescent, regularizer=m.Entropy()),
        partial(m.MagneticMirrorDescent, temperature=0.0),
    ],
)
def test_with_entropy_and_no_magnet_they_are_bitwise_hedge(rule, optimistic):
    hedge = rk.OptimisticHedge if optimistic else rk.Hedge

    player = rule([3, 4], rate=0.7, optimistic=optimistic)
    same_play(player, hedge([3, 4], rate=0.7), told="sometimes")


@pytest.mark.parametrize("name", INTERIOR)
@pytest.mark.parametrize("optimistic", ["", "+optimism"])
def test_in_the_interior_mirror_descent_is_bitwise_the_regularized_leader(name, optimistic):
    first, second = (
        RULES[f"{rule}[{name}]{optimistic}"]([3, 4])
        for rule in ("FollowTheRegularizedLeader", "OnlineMirrorDescent")
    )

    same_play(first, second, told="sometimes")


@pytest.mark.parametrize("optimistic", [False, True])
def test_gradient_descent_on_simplices_is_mirror_descent(optimistic):
    descent = m.OnlineMirrorDescent(
        [3, 4], regularizer=m.Euclidean(), rate=0.3, optimistic=optimistic
    )
    gradient = m.OnlineGradientDescent(Simplices([3, 4]), rate=0.3, optimistic=optimistic)

    same_play(descent, gradient, atol=1e-12, told="sometimes")


# Reflected mirror descent


def test_reflected_descent_is_projected_gradient_descent_along_a_corrected_utility():
    generator, rate = np.random.default_rng(1), 0.3
    player = m.ReflectedMirrorDescent(4, regularizer=m.Euclidean(), rate=rate)
    x, expected = np.full(4, 0.25), np.zeros(4)
    for t in range(60):
        np.testing.assert_allclose(player.next_strategy(), x, atol=1e-9)
        utility = generator.normal(size=4)
        player.observe_utility(utility)
        coming = generator.normal(size=4) if t % 3 == 0 else utility
        if t % 3 == 0:
            player.expect_utility(coming)
        step = x + rate * (utility - expected + coming)
        x, expected = np.array(naive.project(step.tolist())), coming


# Magnetic mirror descent


@pytest.mark.parametrize("optimistic", [False, True])
def test_magnetic_mirror_descent_is_its_recurrence(optimistic):
    generator, rate, alpha = np.random.default_rng(18), 0.4, 0.3
    magnet = np.array([0.2, 0.5, 0.3])
    player = m.MagneticMirrorDescent(
        3, rate=rate, temperature=alpha, magnet=magnet, optimistic=optimistic
    )
    z = np.full(3, 1 / 3)

    def step(z, u):
        weights = (z * magnet ** (rate * alpha) * np.exp(rate * u)) ** (1.0 / (1.0 + rate * alpha))
        return weights / weights.sum()

    for utility, prediction in generator.normal(size=(50, 2, 3)):
        player.expect_utility(prediction)
        x = step(z, prediction) if optimistic else z
        np.testing.assert_allclose(player.next_strategy(), x, atol=1e-12)
        player.observe_utility(utility)
        z = step(z, utility)


@pytest.mark.parametrize("optimistic", [False, True])
def test_magnetic_mirror_descent_comes_to_rest_at_the_quantal_response_equilibrium(optimistic):
    game = rk.matrix_game(np.array([[0.0, -1.0, 3.0], [1.0, 0.0, -3.0], [-3.0, 3.0, 0.0]]))
    alpha, magnets = 0.3, [np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.2, 0.6])]
    players = [
        m.MagneticMirrorDescent(3, rate=0.03, temperature=alpha, magnet=rho, optimistic=optimistic)
        for rho in magnets
    ]

    profile = SelfPlay(game, players, order=Simultaneous()).run(4_000).current

    for player, magnet in enumerate(magnets):
        response = magnet * np.exp(game.utility(player, profile) / alpha)
        np.testing.assert_allclose(profile[player], response / response.sum(), atol=1e-10)


def divergences(optimistic):
    """Yield how far from equilibrium play is after 1, 10, 100 and 1000 iterations."""
    game, starts = matching_pennies(), [np.array([0.7, 0.3]), np.array([0.4, 0.6])]
    players = []
    for number, start in enumerate(starts):
        player = m.FollowTheRegularizedLeader(
            2, regularizer=m.Entropy(), rate=0.1, optimistic=optimistic
        )
        # The published trajectory begins where the first utility was expected and found right.
        expected = game.utility(number, starts) * optimistic
        state = player.state_dict()
        state["regrets"] = np.log(start) / 0.1 - expected
        player.load_state_dict(state)
        player.expect_utility(expected)
        np.testing.assert_allclose(player.next_strategy(), start, atol=1e-15)
        players.append(player)
    run = SelfPlay(game, players, order=Simultaneous())
    for iterations in (1, 9, 90, 900):
        run.run(iterations)
        yield -sum(0.5 * np.log(2.0 * x).sum() for x in run.current)


def test_multiplicative_weights_spiral_out_of_matching_pennies_and_optimistic_ones_spiral_in():
    out, optimistic = list(divergences(False)), list(divergences(True))

    np.testing.assert_allclose(out, [0.1085, 0.1172, 0.2425, 2.788], rtol=1e-3)
    np.testing.assert_allclose(optimistic[1:], [0.1003, 0.0434, 4.94e-6], rtol=1e-3)


# The conic Blackwell algorithm


@pytest.mark.parametrize("kappa", [0.5, 1.0, 3.0])
def test_the_conic_algorithm_on_the_simplex_projects_onto_the_cone_of_its_corners(kappa):
    generator = np.random.default_rng(19)
    player = m.ConicBlackwell(Simplices(4), kappa=kappa)
    corners, aggregate = np.vstack([np.full(4, kappa), np.eye(4)]), np.zeros(5)

    for utility in generator.normal(size=(60, 4)):
        x = player.next_strategy()
        middle = np.full(4, 0.25)
        expected = kappa * aggregate[1:] / aggregate[0] if aggregate[0] > 0.0 else middle
        np.testing.assert_allclose(x, expected, atol=1e-8)
        player.observe_utility(utility)
        weights, _ = nnls(corners, aggregate + np.append(-utility @ x / kappa, utility))
        aggregate = corners @ weights
