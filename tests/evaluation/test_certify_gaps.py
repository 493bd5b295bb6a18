"""Gaps in fractions: next to their definition over all plans, and to known optima."""

from fractions import Fraction
from math import pi, prod

import numpy as np
import pytest
from naive_correlation import Definition
from naive_games import Node, random_game, random_profile
from refusals import refusals
from test_exact_corpus import tables

from regretkit import games
from regretkit.evaluation import (
    CorrelatedPlay,
    Deviation,
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    best_response_gains,
    cce_gaps,
    ce_gaps,
    certify,
    certify_gaps,
    expected_value,
    solve_zero_sum,
    team_maxmin,
)
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile
from regretkit.games._memory_budget import memory_capped

# The definition, by every plan and every deviation


def in_tenths(root):
    """Return a game with payoffs in tenths, and chances of whole numbers over their sum."""
    children = {action: in_tenths(child) for action, child in root.children.items()}
    shares = [1 + int(5 * p) for p in root.chances]
    chances = tuple(Fraction(share, sum(shares)) for share in shares)
    earned = tuple(Fraction(round(10 * u), 10) for u in root.earned)
    return Node(children, root.acting, root.label, chances, earned)


def drawn_game(seed, players):
    """Return a small random game as histories and as a tree, with some behaviors in fractions."""
    generator = np.random.default_rng(seed)
    root = in_tenths(random_game(generator, players, depth=players + 1))
    game = ExtensiveFormGame.from_history(root)
    parts, strategies = [], []
    for weight in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)):
        behavior, vectors = {}, []
        for player, tree in enumerate(game.domains):
            mixed = []
            for number, label in enumerate(game.tree.labels[player]):
                shares = generator.integers(0, 3, size=tree.sizes[number])
                shares[generator.integers(shares.size)] += 1
                mixed += [Fraction(int(share), int(shares.sum())) for share in shares]
                behavior[player, label] = mixed[-shares.size :]
            vectors.append(tree.sequence_form(np.array(mixed, dtype=float)))
        parts.append((weight, behavior))
        strategies.append(Profile(vectors, game.domains, game))
    return root, game, parts, strategies


# Games with few enough triggers for all sets of them
SMALL = [(3, 0), (3, 31), (2, 14), (2, 39), (2, 0), (2, 25), (2, 1), (2, 12), (2, 16), (2, 18)]
SMALL += [(2, 23), (2, 24), (2, 29), (2, 37), (2, 46), (2, 49), (3, 12), (3, 49)]


def single_gains(defined, player, labels, *, coarse):
    """Return what each trigger and first action gains, with the best continuation."""
    numbers = {label: number for number, label in enumerate(labels)}
    found = {}
    for label, told in defined.triggers(player, coarse=coarse):
        actions, _ = defined.sets[player][label]
        for gain, after in defined.continuations(player, (label, told)):
            deviation = Deviation(
                numbers[str(label)],
                None if told is None else actions.index(told),
                actions.index(after[label]),
            )
            found[deviation] = max(gain, found.get(deviation, gain))
    return found


@pytest.mark.parametrize(("players", "seed"), SMALL)
@pytest.mark.deep_beyond(6)
def test_they_are_what_all_plans_and_deviations_give(players, seed):
    root, game, parts, strategies = drawn_game(seed, players)
    defined = Definition(root, players, parts, object)
    of_one = Definition(root, players, [(Fraction(1), parts[0][1])], object)
    nash = certify_gaps(game, strategies[0])
    for player in range(players):
        assert nash.lower[player] == np.trace(of_one.earned[player])
        assert nash.gaps[player] == of_one.nfcce(player)
    for notion in "efce", "efcce", "nfcce":
        coarse = notion == "efcce"
        found = certify_gaps(game, strategies, notion, weights=[1 / 2, 1 / 3, 1 / 6])
        for player, labels in enumerate(game.tree.labels):
            assert found.lower[player] == np.trace(defined.earned[player])
            if notion == "nfcce":
                assert found.gaps[player] == max(defined.nfcce(player), 0)
            else:
                assert found.gaps[player] == defined.all_at_once(player, coarse=coarse)
                wanted = single_gains(defined, player, labels, coarse=coarse)
                assert found.gains[player] == wanted
        found.verify(game)


# Next to the same in floats


@pytest.mark.parametrize("call", ["kuhn_poker(players=3)", "sheriff(2, 2, 2)", "signalling"])
def test_they_are_the_gaps_in_floats(call):
    game, generator = games.load(call), np.random.default_rng(3)
    profiles = [random_profile(generator, game)[0] for _ in range(4)]
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    play = CorrelatedPlay(game, deviations=["efce", "efcce"])
    for weight, profile in zip(weights, profiles, strict=True):
        play.add(profile, weight)
    for notion, gaps in [
        ("efce", play.gaps("efce")),
        ("efcce", play.gaps("efcce")),
        ("nfcce", np.maximum(play.gaps("cce"), 0.0)),
    ]:
        found = certify_gaps(game, profiles, notion, weights=weights)
        np.testing.assert_allclose(np.array(found.gaps, dtype=float), gaps, atol=1e-9)
        found.verify(game)
    found = certify_gaps(game, profiles[0])
    np.testing.assert_allclose(
        np.array(found.lower, dtype=float), expected_value(game, profiles[0]), atol=1e-9
    )
    np.testing.assert_allclose(
        np.array(found.gaps, dtype=float), best_response_gains(game, profiles[0]), atol=1e-9
    )


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (2, 3, 2)])
def test_in_normal_form_they_are_the_gaps_in_floats(shape):
    generator = np.random.default_rng(sum(shape))
    game = NormalFormGame(generator.integers(-9, 9, size=(len(shape), *shape)) / 10)
    mu = generator.dirichlet(np.ones(prod(shape))).reshape(shape)
    for notion, known in ("ce", ce_gaps), ("cce", cce_gaps):
        found = certify_gaps(game, mu, notion)
        wanted = np.maximum(known(game, mu), 0.0)
        np.testing.assert_allclose(np.array(found.gaps, dtype=float), wanted, atol=1e-9)
    for player, own in enumerate(found.gains):
        assert len(own) == shape[player]
        assert max(own.values()) <= found.gaps[player] or found.gaps[player] == 0


# Known equilibria


@pytest.mark.parametrize("seed", range(8))
def test_optimal_correlated_equilibria_of_whole_payoffs_gain_nothing(seed):
    generator = np.random.default_rng(seed)
    game = NormalFormGame(generator.integers(0, 6, size=(2, 3, 3)).astype(float))
    for best, notion in [
        (best_correlated_equilibrium, "ce"),
        (best_coarse_correlated_equilibrium, "cce"),
    ]:
        found = certify_gaps(game, best(game), notion)
        assert found.gaps == (0, 0)
        assert float(sum(found.lower)) == pytest.approx(best(game).value, abs=1e-12)


KNOWN = {
    ("signalling", "efce"): Fraction(10),
    ("sheriff(2, 1, 1)", "nfcce"): Fraction(70, 13),
    ("sheriff(2, 1, 1)", "efcce"): Fraction(235, 93),
    ("sheriff(2, 1, 1)", "efce"): Fraction(10, 7),
    ("sheriff(10, 2, 2)", "nfcce"): Fraction(150, 11),
    ("sheriff(10, 2, 2)", "efcce"): Fraction(220, 23),
    ("sheriff(10, 2, 2)", "efce"): Fraction(935, 103),
    ("battleship(1, 2, shots=1, loss_multiplier=2)", "efcce"): Fraction(-3, 4),
}


@pytest.mark.parametrize(("call", "notion"), KNOWN)
@pytest.mark.deep_beyond(5)
def test_the_optima_of_the_literature_are_proven(call, notion):
    game = games.load(call)
    best = best_extensive_form_correlated_equilibrium(game, concept=notion)
    found = certify_gaps(game, best, notion)
    assert found.gaps == (0, 0)
    assert sum(found.lower) == KNOWN[call, notion]
    found.verify(game)


def test_the_devices_of_the_signalling_game():
    # von Stengel and Forges (2008), figure 1: 10 is the welfare of the best equilibrium.
    game = games.signalling()
    best = best_extensive_form_correlated_equilibrium(game, 1)
    found = certify_gaps(game, best, "efce")
    assert found.gaps == (0, 0)
    assert found.lower[1] == Fraction(13, 2)


@pytest.mark.parametrize("call", ["chicken", "battle_of_the_sexes", "prisoners_dilemma"])
def test_nash_equilibria_of_another_program_gain_nothing(call):
    nashpy = pytest.importorskip("nashpy", reason="nashpy finds the equilibria")
    game = games.load(call)
    for x, y in nashpy.Game(*game.payoffs).vertex_enumeration():
        assert certify_gaps(game, [x.clip(0.0), y.clip(0.0)]).gaps == (0, 0)


def test_in_zero_sum_games_both_ends_are_those_of_the_certificate():
    for call in "kuhn_poker", "liars_dice(sides=2)", "biased_rock_paper_scissors":
        game = games.load(call)
        profile = solve_zero_sum(game).profile
        value = certify(game, profile).value
        found = certify_gaps(game, profile)
        assert found.lower == found.upper == (value, -value)


@pytest.mark.parametrize("rounding", [0.0, 1e-12, 1e-3])
def test_probabilities_are_rounded_to_those_that_sum_to_one(rounding):
    game, x = games.rock_paper_scissors(), np.array([0.0, 1 / pi, 1 - 1 / pi])
    found = certify_gaps(game, [x, x[::-1]], rounding=rounding)
    found.verify(game)
    for strategy, given in zip(found.profile(game), [x, x[::-1]], strict=True):
        np.testing.assert_allclose(strategy, given, rtol=0.0, atol=2 * rounding + 1e-15)
    assert found.profile(game)[0][0] == 0.0


def test_deviations_have_names():
    chicken, poker = games.chicken(), games.kuhn_poker()
    assert Deviation(0, 1, 0).named(chicken.domains[0]) == "yield -> dare"
    assert Deviation(0, None, 0).named(chicken.domains[0]) == "-> dare"
    assert Deviation(0, 1, 0).named(poker.domains[0]) == "J: b -> p"
    assert Deviation(None, None, None).named(poker.domains[0]) == "another strategy"


def test_limits_of_time_memory_and_digits():
    poker = games.kuhn_poker(players=3)
    profile = games.Profile.uniform(poker)
    with pytest.raises(RuntimeError, match="no proof within time_limit"):
        certify_gaps(poker, profile, time_limit=0.0)
    with memory_capped(1e4), pytest.raises(MemoryError, match=r"617 histories.* in fractions"):
        certify_gaps(poker, profile)
    # More than 600 decisions, each with a denominator of about 6 digits
    generator, leduc = np.random.default_rng(0), games.leduc_poker(merge_suits=True)
    profiles = [random_profile(generator, leduc)[0] for _ in range(8)]
    with pytest.raises(RuntimeError, match=r"can be saved: its fractions have [\d,]+ digits"):
        certify_gaps(leduc, profiles, "nfcce", weights=np.ones(8) / 8)
    certify_gaps(leduc, profiles[0], rounding=1e-3).verify(leduc)


# Every equilibrium of the given corpus


def test_pure_equilibria_that_others_found_gain_nothing():
    found = 0
    for _, expected, game in tables("pure_nash"):
        for outcome in expected["pure_nash"].get("profiles", []):
            profile = [np.eye(n)[a] for n, a in zip(game.payoffs.shape[1:], outcome, strict=True)]
            assert not any(certify_gaps(game, profile).gaps)
            found += 1
    assert found > 100


@pytest.mark.deep
def test_equilibria_that_gambit_finds_gain_nothing():
    pygambit = pytest.importorskip("pygambit", reason="it finds the equilibria, in fractions")
    found = 0
    for _, expected, game in tables("pure_nash"):
        if expected["players"] == 2 and max(game.payoffs.shape) <= 6:
            other = games.to_pygambit(game)
            for equilibrium in pygambit.nash.enummixed_solve(other).equilibria:
                shares = [[float(p) for _, p in equilibrium[player]] for player in other.players]
                assert certify_gaps(game, [*map(np.array, shares)]).gaps == (0, 0)
                found += 1
    assert found > 500


KUHN, CHICKEN = games.kuhn_poker(), games.chicken()
UNIFORM = Profile.uniform(KUHN)

test_bad_input_is_refused = refusals(
    (lambda: certify_gaps(KUHN, UNIFORM, "ce"), ValueError, "notion must be one of nash, efce"),
    (lambda: certify_gaps(CHICKEN, [[1, 0]] * 2, "efce"), ValueError, "one of nash, ce, cce here"),
    (lambda: certify_gaps(KUHN, 3), TypeError, "profile"),
    (lambda: certify_gaps(3, UNIFORM), TypeError, "game must be"),
    (lambda: certify_gaps(KUHN, [1, 2], "efce"), TypeError, "play must be a Profile, several"),
    (
        lambda: certify_gaps(KUHN, team_maxmin(KUHN, 1).plan, "efce"),
        TypeError,
        "a CorrelatedPlan of all players",
    ),
    (
        lambda: certify_gaps(KUHN, [UNIFORM] * 2, weights=[0.5, 0.5]),
        ValueError,
        "'nash' is of a single profile, got 2",
    ),
    (
        lambda: certify_gaps(KUHN, [UNIFORM] * 2, "efce", weights=[0.5, 0.6]),
        ValueError,
        "weights must be nonnegative and sum to one",
    ),
    (
        lambda: certify_gaps(CHICKEN, [[0.5, 0.5], [0.5, 0.5]], "ce"),
        ValueError,
        "distribution must be nonnegative",
    ),
    (lambda: certify_gaps(KUHN, UNIFORM, rounding=-1.0), ValueError, "rounding must be .* -1"),
)
