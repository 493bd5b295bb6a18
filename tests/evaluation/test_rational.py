"""Equilibria in fractions: next to known values, and certificates that were tampered with."""

import json
from fractions import Fraction
from math import pi

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from naive_exact import value_of_matrix
from naive_games import chance, decision, end
from refusals import refusals
from test_exact_corpus import answers
from test_exact_zero_sum import DEGENERATE, matrices, random_matrix

from regretkit import games, matrix_game, solve
from regretkit.evaluation import Certificate, certify, security_value, solve_zero_sum
from regretkit.evaluation._certificate import simplest_fraction
from regretkit.games import ExtensiveFormGame

LEDUC = Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
KNOWN = {
    "biased_rock_paper_scissors": 0,
    "kuhn_poker": Fraction(-1, 18),
    "liars_dice(sides=2)": Fraction(1, 2),
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


@pytest.mark.parametrize("call", KNOWN)
@pytest.mark.deep_beyond(6)
def test_known_values_are_proven(call):
    game = games.load(call)
    for profile in (solve_zero_sum(game).profile, solve(game, exact=True).profile):
        certificate = certify(game, profile)
        assert certificate.value == KNOWN[call]
        certificate.verify(game)


@pytest.mark.parametrize("deck", range(4, 14))
def test_kuhn_poker_with_more_cards_is_proven(deck):
    game = games.kuhn_poker(deck=deck)
    solution = solve_zero_sum(game)
    certificate = certify(game, solution.profile)
    certificate.verify(game)
    assert float(certificate.value) == pytest.approx(solution.value, abs=1e-13)
    assert certificate.value.denominator < deck**3


def test_values_that_others_found_in_fractions_are_found():
    seen, wrong = 0, {}
    for name, expected, game in answers("value"):
        certificate = certify(game, solve_zero_sum(game).profile)
        certificate.verify(game)
        seen += 1
        if certificate.value != Fraction(expected["value"]):
            wrong[name] = certificate.value
    assert not wrong
    assert seen > 50


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
    assert simplest_fraction(numerator / denominator) == Fraction(numerator, denominator)


def test_a_tenth_is_a_tenth():
    coin = matrix_game([[0.1, -0.2], [-0.2, 0.1 + 0.2]])
    assert certify(coin, solve_zero_sum(coin).profile).value == Fraction(-1, 80)


def test_it_comes_back_from_a_file(tmp_path):
    game = games.kuhn_poker()
    certificate = certify(game, solve_zero_sum(game).profile)
    certificate.to_json(tmp_path / "proof.json")
    read = Certificate.from_json(tmp_path / "proof.json")
    assert (read.value, read.strategies) == (certificate.value, certificate.strategies)
    read.verify(game)


CHANGED = {
    "value": lambda c, k: evolve(c, value=c.value + Fraction(1, 10**k)),
    "more": lambda c, k: with_share(c, k, 1),
    "less": lambda c, k: with_share(c, k, -1),
    "left out": lambda c, k: with_share(c, k, None),
    "denominator": lambda c, k: with_denominator(c, k % 2, c.strategies[k % 2].denominator + k + 1),
    "negative": lambda c, k: with_denominator(c, k % 2, -c.strategies[k % 2].denominator),
    "exchanged": lambda c, k: evolve(c, strategies=c.strategies[::-1]),
    "fingerprint": lambda c, k: evolve(c, fingerprint=f"{k:032x}"),
}


def with_share(certificate, k, by):
    strategies = list(certificate.strategies)
    numerators = dict(strategies[k % 2].numerators)
    place = [*numerators][k % len(numerators)]
    numerators[place] += by or 0
    if by is None:
        del numerators[place]
    strategies[k % 2] = strategies[k % 2]._replace(numerators=numerators)
    return evolve(certificate, strategies=tuple(strategies))


def with_denominator(certificate, player, denominator):
    strategies = list(certificate.strategies)
    strategies[player] = strategies[player]._replace(denominator=denominator)
    return evolve(certificate, strategies=tuple(strategies))


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("call", ["kuhn_poker", "liars_dice(sides=2)", "leduc_poker(ranks=2)"])
def test_no_change_of_a_certificate_passes(call, change):
    game = games.load(call)
    certificate = certify(game, solve_zero_sum(game).profile)
    for k in range(12):
        changed = CHANGED[change](certificate, k)
        with pytest.raises(ValueError, match=r"strategy of player|another game"):
            changed.verify(game)


def test_another_strategy_proves_another_value():
    game = games.kuhn_poker()
    certificate = certify(game, solve_zero_sum(game).profile)
    uniform = certify(matrix_game(np.zeros((1, 1))), [np.ones(1)] * 2)
    with pytest.raises(ValueError, match="another game"):
        uniform.verify(game)
    other = games.kuhn_poker(deck=4)
    with pytest.raises(ValueError, match="another game"):
        certificate.verify(other)


THIRDS = ExtensiveFormGame.from_history(
    chance([1 / pi, 1 - 1 / pi], h=end(1.0, -1.0), t=decision(0, "j", a=end(1.0, -1.0)))
)
KUHN = games.kuhn_poker()

test_bad_input_is_refused = refusals(
    (lambda: certify(games.chicken(), [np.ones(2) / 2] * 2), ValueError, "must be constant-sum"),
    (lambda: certify(KUHN, games.Profile.uniform(KUHN)), RuntimeError, "pass a profile of a"),
    (lambda: certify(KUHN, 3), TypeError, "profile"),
    (lambda: certify(THIRDS, games.Profile.uniform(THIRDS)), ValueError, "sum to .* as fractions"),
)


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"format": "regretkit certificate 1"}', '"x"', "1", "{"]
)
def test_a_file_that_holds_none_is_refused(tmp_path, text):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(ValueError, match=r"file\.json"):
        Certificate.from_json(tmp_path / "file.json")


@pytest.mark.parametrize("key", ["fingerprint", "value", "strategies"])
@pytest.mark.parametrize("value", [None, [], {}, "1/0", "x", [1, 2], [{}, {}]])
def test_a_certificate_with_a_damaged_entry_is_refused_or_fails(tmp_path, key, value):
    certify(KUHN, solve_zero_sum(KUHN).profile).to_json(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text()) | {key: value}
    (tmp_path / "proof.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"certificate|another game"):
        Certificate.from_json(tmp_path / "proof.json").verify(KUHN)
