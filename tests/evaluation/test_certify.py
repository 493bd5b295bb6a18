"""Equilibria in fractions: next to known values, and certificates that were tampered with."""

from fractions import Fraction
from math import pi

import numpy as np
import pytest
from attrs import evolve
from corpus import reference
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import value_of_matrix, with_payoffs
from naive_games import chance, decision, end
from refusals import refusals
from test_exact_corpus import answers
from test_exact_zero_sum import DEGENERATE, matrices, random_matrix

from regretkit import games, matrix_game, solve
from regretkit.evaluation import certify, nash_conv, security_value, solve_zero_sum
from regretkit.games import ExtensiveFormGame, Profile
from regretkit.games._memory_budget import memory_capped

LEDUC = Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
KNOWN = {
    "biased_rock_paper_scissors": 0,
    "kuhn_poker": Fraction(-1, 18),
    "liars_dice(sides=2)": Fraction(1, 2),
    "liars_dice(sides=3)": Fraction(1, 9),
    "leduc_poker(merge_suits=True)": LEDUC,
    "goofspiel(cards=3)": 0,
    "goofspiel(cards=4)": 0,
    "goofspiel(cards=4, information='hidden')": 0,
    "liars_dice(sides=4)": Fraction(1, 16),
    "leduc_poker": LEDUC,
    "goofspiel(cards=5, information='hidden')": 0,
    "goofspiel(cards=5)": 0,
    "liars_dice(sides=5)": Fraction(1, 125),
}


@pytest.mark.parametrize(
    "call", [pytest.param(c, marks=[pytest.mark.deep] * (n > 7)) for n, c in enumerate(KNOWN)]
)
def test_known_values_are_proven(call):
    game = games.load(call)
    finished = solve(game, "dcfr", exact=True)
    assert finished.method.startswith("finish after ")
    for solution in (solve_zero_sum(game), solve(game, exact=True), finished):
        certificate = certify(game, solution.profile)
        assert certificate.value == KNOWN[call]
        certificate.verify(game)


def test_a_public_game_is_proven_as_its_tree():
    river = {"board": "Ks Th 7s 4d 2s", "pot": 100, "stack": 200, "bets": "100%"}
    game = games.hold_em(ranges=("AA,KQs,99", "KJs,JJ"), **river)
    certificate, tree = certify(game, solve(game, exact=True).profile), game.to_tree()
    certificate.verify(tree)
    assert certificate.value != 0
    assert float(certificate.value) == pytest.approx(solve_zero_sum(tree).value, abs=1e-10)
    with pytest.raises(TypeError, match=r"pass game\.to_tree\(\)"):
        certificate.verify(game)


@pytest.mark.parametrize("deck", range(4, 14))
def test_kuhn_poker_with_more_cards_is_proven(deck):
    game = games.kuhn_poker(deck=deck)
    solution, played = solve_zero_sum(game), solve(game, "dcfr", exact=True)
    certificate, finished = certify(game, solution.profile), certify(game, played.profile)
    certificate.verify(game)
    finished.verify(game)
    assert finished.value == certificate.value
    assert float(certificate.value) == pytest.approx(solution.value, abs=1e-13)
    assert certificate.value.denominator < deck**3


def test_values_that_others_found_in_fractions_are_found():
    seen, wrong = 0, {}
    for name, expected, game in answers("value"):
        value, solution = Fraction(expected["value"]), solve_zero_sum(game)
        certificate = certify(game, solution.profile)
        certificate.verify(game)
        seen += 1
        if certificate.value != value:
            wrong[name] = certificate.value
        if solution.value != pytest.approx(float(value), rel=1e-12, abs=1e-12):
            wrong[name] = solution
        if not nash_conv(game, solution.profile) <= 1e-12 * max(1.0, abs(value)):
            wrong[name] = solution.gap
    assert not wrong
    assert seen == sum("value" in expected for expected in reference("expected.json").values())


def test_values_are_known_of_every_zero_sum_game_of_two_players_with_perfect_recall():
    for expected in reference("expected.json").values():
        forgetful = expected.get("perfect_recall") is False
        if expected["players"] == 2 and expected["constant_sum"] is not None and not forgetful:
            assert "value" in expected or "value_interval" in expected


@pytest.mark.deep
def test_values_that_others_bounded_are_proven():
    for _, expected, game in answers("value_interval"):
        certificate = certify(game, solve_zero_sum(game).profile)
        certificate.verify(game)
        low, high = expected["value_interval"]
        assert low - 1e-12 <= certificate.value <= high + 1e-12
        if low <= LEDUC <= high:  # four of them are Leduc poker
            assert certificate.value == LEDUC


@pytest.mark.deep
def test_runs_that_are_finished_prove_them_too():
    refused = []
    for name, expected, game in answers("value"):
        try:
            certificate = certify(game, solve(game, "dcfr", exact=True, time_limit=5.0).profile)
        except RuntimeError:
            refused.append(name)
            continue
        certificate.verify(game)
        assert certificate.value == Fraction(expected["value"])
    # The payoffs of this one differ by a factor of 1e19.
    assert {name.rpartition("/")[2] for name in refused} <= {"large_payoff_game.efg"}


@given(matrices)
def test_matrix_games_have_the_value_of_their_kernels(matrix):
    game = matrix_game(np.array(matrix, dtype=float))
    certificate = certify(game, solve_zero_sum(game).profile)
    certificate.verify(game)
    assert certificate.value == value_of_matrix(matrix)


@pytest.mark.parametrize(("game", "value"), DEGENERATE)
def test_degenerate_games_are_proven(game, value):
    certificate = certify(game, solve_zero_sum(game).profile)
    certificate.verify(game)
    assert float(certificate.value) == value


@pytest.mark.parametrize("seed", range(8))
def test_random_payoffs_have_a_proof_too(seed):
    game = matrix_game(random_matrix(seed, (5, 7)))
    solution = solve_zero_sum(game)
    certificate = certify(game, solution.profile)
    certificate.verify(game)
    size = float(np.abs(game.payoffs).max())
    assert float(certificate.value) == pytest.approx(solution.value, abs=1e-11 * size)
    guaranteed = security_value(game, 0, certificate.profile(game)[0])
    assert guaranteed == pytest.approx(float(certificate.value), abs=1e-13 * size)


@given(st.integers(-10_000, 10_000), st.integers(1, 10_000))
def test_a_float_stands_for_the_fraction_that_it_came_from(numerator, denominator):
    game = matrix_game([[numerator / denominator]])
    assert certify(game, [np.ones(1)] * 2).value == Fraction(numerator, denominator)


def test_a_tenth_is_a_tenth():
    coin = matrix_game([[0.1, -0.2], [-0.2, 0.1 + 0.2]])
    certificate = certify(coin, solve_zero_sum(coin).profile)
    assert certificate.value == Fraction(-1, 80)
    meant = {0.1: Fraction(1, 10), 0.2: Fraction(1, 5), 0.1 + 0.2: Fraction(3, 10)}
    assert certificate.readings == meant | {-value: -read for value, read in meant.items()}
    assert certify(KUHN, solve_zero_sum(KUHN).profile).readings == {1 / 3: Fraction(1, 3)}


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-300, 1e-9, 1.0, 1e9, 1e99])
def test_payoffs_of_any_size_are_proven(unit):
    coin = matrix_game(unit * np.array([[2.0, -1.0], [-1.0, 1.0]]))
    certificate = certify(coin, [np.array([0.4, 0.6])] * 2)
    certificate.verify(coin)
    read = {value: Fraction(value) for value in coin.payoffs[0].flat} | certificate.readings
    a, b, c, d = (read[value] for value in coin.payoffs[0].flat)
    assert certificate.value == (a * d - b * c) / (a + d - b - c)


def test_what_is_out_of_reach_says_how_near_the_profile_is():
    # An equilibrium with probabilities of 1e-400 is none in floats.
    game = matrix_game([[1e100, 0.0], [0.0, 1e-300]])
    with pytest.raises(RuntimeError, match=r"no optimal strategy .*, a gap of 1e-300; pass"):
        certify(game, solve_zero_sum(game).profile)
    profile = solve_zero_sum(KUHN).profile
    with pytest.raises(RuntimeError, match=r"no proof within time_limit; .* a gap of 0"):
        certify(KUHN, profile, time_limit=0.0)


def test_a_game_beyond_memory_is_refused():
    certificate = certify(KUHN, solve_zero_sum(KUHN).profile)
    for act in (
        lambda: certify(KUHN, Profile.uniform(KUHN)),
        lambda: certificate.verify(KUHN),
    ):
        with memory_capped(1e4), pytest.raises(MemoryError, match=r"58 histories, .* in fractions"):
            act()


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.deep_beyond(12)
def test_wrong_supports_never_make_a_wrong_proof(seed):
    generator = np.random.default_rng(seed)
    if seed % 2:
        matrix = generator.integers(-3, 4, size=generator.integers(2, 5, size=2))
        game, value = matrix_game(matrix.astype(float)), value_of_matrix(matrix)
    else:
        game, value = KUHN, Fraction(-1, 18)
    exact = solve_zero_sum(game).profile
    for _ in range(6):
        behaviors = []
        for strategy, domain in zip(exact, game.domains, strict=True):
            simplices = getattr(domain, "simplices", domain)
            mixed = strategy if simplices is domain else domain.behavior(strategy)
            cut = generator.random(mixed.size) < 0.2
            more = generator.random(mixed.size) * (generator.random(mixed.size) < 0.2)
            mixed = simplices.normalize(np.where(cut, 0.0, mixed) + more)
            behaviors.append(mixed if simplices is domain else domain.sequence_form(mixed))
        try:
            certificate = certify(game, behaviors)
        except RuntimeError:
            continue
        certificate.verify(game)
        assert certificate.value == value


@pytest.mark.parametrize("call", ["kuhn_poker", "liars_dice(sides=2)"])
def test_the_proof_of_another_payoff_does_not_pass(call):
    game = games.load(call)
    certificate = certify(game, solve_zero_sum(game).profile)
    passed = 0
    for k in range(len(game.tree.payoffs)):
        payoffs = game.tree.payoffs.copy()
        payoffs[k] += [0.25, -0.25]
        other = with_payoffs(game, payoffs)
        with pytest.raises(ValueError, match="another game"):
            certificate.verify(other)
        forged = evolve(certificate, fingerprint=games.fingerprint(other))
        try:
            forged.verify(other)
        except ValueError:
            continue
        assert solve_zero_sum(other).value == pytest.approx(float(certificate.value), abs=1e-12)
        passed += 1
    assert passed < len(game.tree.payoffs)


def test_the_proof_of_another_matrix_does_not_pass():
    generator, passed = np.random.default_rng(0), 0
    for _ in range(40):
        matrix = generator.integers(-3, 4, size=(3, 3))
        game = matrix_game(matrix.astype(float))
        certificate = certify(game, solve_zero_sum(game).profile)
        for k in range(matrix.size):
            changed = matrix.copy()
            changed.flat[k] += 1
            other = matrix_game(changed.astype(float))
            with pytest.raises(ValueError, match="another game"):
                certificate.verify(other)
            try:
                evolve(certificate, fingerprint=games.fingerprint(other)).verify(other)
            except ValueError:
                continue
            assert value_of_matrix(changed) == certificate.value
            passed += 1
    assert 0 < passed < 40 * matrix.size


THIRDS = ExtensiveFormGame.from_history(
    chance([1 / pi, 1 - 1 / pi], h=end(1.0, -1.0), t=decision(0, "j", a=end(1.0, -1.0)))
)
KUHN = games.kuhn_poker()

test_bad_input_is_refused = refusals(
    (lambda: certify(games.chicken(), [np.ones(2) / 2] * 2), ValueError, "must be constant-sum"),
    (lambda: certify(KUHN, Profile.uniform(KUHN)), RuntimeError, "gap of 0.917; pass one of"),
    (lambda: certify(KUHN, 3), TypeError, "profile"),
    (lambda: certify(THIRDS, Profile.uniform(THIRDS)), ValueError, "sum to .* as fractions"),
)
