"""Certificates: next to definitions and known fractions; altered ones are refused."""

import ast
import copy
import json
import random
from fractions import Fraction
from math import pi, prod
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from naive_correlation import Definition
from naive_exact import value_of_matrix, with_payoffs
from naive_games import Node, chance, decision, end, random_game
from refusals import refusals
from test_corpus import answers
from test_exact import check

import regretkit
from regretkit import games, matrix_game, solve
from regretkit.evaluation import (
    Certificate,
    Deviation,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    cce_gaps,
    ce_gaps,
    certify,
    certify_gaps,
    nash_conv,
    solve_zero_sum,
    team_maxmin,
)
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile

KUHN, CHICKEN = games.kuhn_poker(), games.chicken()
UNIFORM = Profile.uniform(KUHN)

# Values of zero-sum games

LEDUC = Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
VALUES = {
    "biased_rock_paper_scissors": 0,
    "kuhn_poker": Fraction(-1, 18),
    "liars_dice(sides=3)": Fraction(1, 9),
    "leduc_poker(merge_suits=True)": LEDUC,
    "goofspiel(cards=4)": 0,
    "liars_dice(sides=4)": Fraction(1, 16),
    "leduc_poker": LEDUC,
    "goofspiel(cards=5, information='hidden')": 0,
    "goofspiel(cards=5)": 0,
    "liars_dice(sides=5)": Fraction(1, 125),
}


@pytest.mark.parametrize(
    "call", [pytest.param(c, marks=[pytest.mark.deep] * (n > 4)) for n, c in enumerate(VALUES)]
)
def test_known_values_are_proven(call):
    game = games.load(call)
    for solution in solve_zero_sum(game), solve(game, "dcfr", exact=True):
        check(game, solution, size=float(np.abs(game.payoffs).max()))
        assert solution.value == pytest.approx(float(VALUES[call]), abs=1e-12)
        certificate = certify(game, solution.profile)
        assert certificate.value == VALUES[call]
        certificate.verify(game)


@pytest.mark.parametrize("form", ["nfg", "efg"])
def test_values_that_others_found_in_fractions_are_found(form):
    seen = 0
    for name, expected, game in answers("value"):
        if expected["form"] == form:
            solution, value = solve_zero_sum(game), Fraction(expected["value"])
            certificate = certify(game, solution.profile)
            certificate.verify(game)
            seen += 1
            assert certificate.value == value, name
            assert solution.value == pytest.approx(float(value), rel=1e-12, abs=1e-12), name
            assert nash_conv(game, solution.profile) <= 1e-12 * max(1.0, abs(value)), name
    assert seen > 20


@given(st.integers(0, 10**6))
def test_matrix_games_have_the_value_of_their_kernels(seed):
    generator = np.random.default_rng(seed)
    matrix = generator.integers(-3, 4, size=generator.integers(1, 5, size=2)).astype(float)
    game = matrix_game(matrix)
    certificate = certify(game, solve_zero_sum(game).profile)
    certificate.verify(game)
    assert certificate.value == value_of_matrix(matrix)


def test_a_public_game_is_proven_as_its_tree():
    river = {"board": "Ks Th 7s 4d 2s", "pot": 100, "stack": 200, "bets": "100%"}
    game = games.hold_em(ranges=("AA,99", "KJs,JJ"), **river)
    certificate, tree = certify(game, solve(game, exact=True).profile), game.to_tree()
    certificate.verify(tree)
    assert float(certificate.value) == pytest.approx(solve_zero_sum(tree).value, abs=1e-10) != 0


def test_a_tenth_is_a_tenth():
    coin = matrix_game([[0.1, -0.2], [-0.2, 0.1 + 0.2]])
    certificate = certify(coin, solve_zero_sum(coin).profile)
    assert certificate.value == Fraction(-1, 80)
    meant = {0.1: Fraction(1, 10), 0.2: Fraction(1, 5), 0.1 + 0.2: Fraction(3, 10)}
    assert certificate.readings == meant | {-value: -read for value, read in meant.items()}
    assert certify(KUHN, solve_zero_sum(KUHN).profile).readings == {1 / 3: Fraction(1, 3)}


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e99])
def test_payoffs_of_any_size_are_proven(unit):
    coin = matrix_game(unit * np.array([[2.0, -1.0], [-1.0, 1.0]]))
    certificate = certify(coin, [np.array([0.4, 0.6])] * 2)
    certificate.verify(coin)
    read = {value: Fraction(value) for value in coin.payoffs[0].flat} | certificate.readings
    a, b, c, d = (read[value] for value in coin.payoffs[0].flat)
    assert certificate.value == (a * d - b * c) / (a + d - b - c)


@pytest.mark.parametrize("seed", range(6))
def test_wrong_supports_never_make_a_wrong_proof(seed):
    generator, exact = np.random.default_rng(seed), solve_zero_sum(KUHN).profile
    for _ in range(5):
        behaviors = []
        for strategy, domain in zip(exact, KUHN.domains, strict=True):
            mixed, size = domain.behavior(strategy), domain.dimension - 1
            more = generator.random(size) * (generator.random(size) < 0.2)
            mixed = np.where(generator.random(size) < 0.2, 0.0, mixed) + more
            behaviors.append(domain.sequence_form(domain.simplices.normalize(mixed)))
        try:
            certificate = certify(KUHN, behaviors)
        except RuntimeError:
            continue
        certificate.verify(KUHN)
        assert certificate.value == Fraction(-1, 18)


# Gaps by their definition, over every plan and every deviation


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


def single_gains(defined, player, labels, *, coarse):
    """Return what each trigger and first action gains, with the best continuation."""
    found = {}
    for label, told in defined.triggers(player, coarse=coarse):
        actions, _ = defined.sets[player][label]
        for gain, after in defined.continuations(player, (label, told)):
            at = labels.index(str(label)), None if told is None else actions.index(told)
            deviation = Deviation(*at, actions.index(after[label]))
            found[deviation] = max(gain, found.get(deviation, gain))
    return found


# Games with few enough triggers for all sets of them
SMALL = [(3, 0), (2, 14), (3, 31), (2, 39), (2, 0), (2, 25), (2, 1), (2, 12), (3, 12), (3, 49)]


@pytest.mark.parametrize(("players", "seed"), SMALL)
@pytest.mark.deep_beyond(4)
def test_gaps_are_what_all_plans_and_deviations_give(players, seed):
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
        found.verify(game)
        for player, labels in enumerate(game.tree.labels):
            assert found.lower[player] == np.trace(defined.earned[player])
            if notion == "nfcce":
                assert found.gaps[player] == max(defined.nfcce(player), 0)
            else:
                assert found.gaps[player] == defined.all_at_once(player, coarse=coarse)
                wanted = single_gains(defined, player, [*labels], coarse=coarse)
                assert found.gains[player] == wanted


HALF = Fraction(1, 2)


@pytest.mark.parametrize(("doors", "gaps"), [("aa", (1, HALF, HALF)), ("ab", (1, 1, HALF))])
def test_triggers_at_later_information_sets_gain_together(doors, gaps):
    # Player 0 goes through a door and guesses the coin of player 1, always wrong, one or the other.
    right, wrong = end(1.0, 0.0), end(0.0, 0.0)
    guesses = {"l": {"L": right, "R": wrong}, "r": {"L": wrong, "R": right}}
    behind = {
        door: decision(1, "coin", **{s: decision(0, door, **g) for s, g in guesses.items()})
        for door in "ab"
    }
    game = ExtensiveFormGame.from_history(decision(0, "door", **behind))
    profiles = []
    for i, door in enumerate(doors):
        guess = [1 - i, i]
        first = [float(door == "a"), float(door == "b")]
        profiles.append([{"door": first, "a": guess, "b": guess}, {"coin": [i, 1 - i]}])
    for notion, gap in zip(("efce", "efcce", "nfcce"), gaps, strict=True):
        found = certify_gaps(game, profiles, notion, weights=[0.5, 0.5])
        assert found.gaps == (gap, 0)
        found.verify(game)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_in_normal_form_they_are_the_gaps_in_floats(shape):
    generator = np.random.default_rng(sum(shape))
    game = NormalFormGame(generator.integers(-9, 9, size=(len(shape), *shape)) / 10)
    mu = generator.dirichlet(np.ones(prod(shape))).reshape(shape)
    for notion, known in ("ce", ce_gaps), ("cce", cce_gaps):
        found = certify_gaps(game, mu, notion)
        wanted = np.maximum(known(game, mu), 0.0)
        np.testing.assert_allclose(np.array(found.gaps, dtype=float), wanted, atol=1e-9)


OPTIMA = {
    ("signalling", "efce"): Fraction(10),
    ("sheriff(2, 1, 1)", "nfcce"): Fraction(70, 13),
    ("sheriff(2, 1, 1)", "efcce"): Fraction(235, 93),
    ("sheriff(2, 1, 1)", "efce"): Fraction(10, 7),
    ("sheriff(10, 2, 2)", "nfcce"): Fraction(150, 11),
    ("sheriff(10, 2, 2)", "efcce"): Fraction(220, 23),
    ("sheriff(10, 2, 2)", "efce"): Fraction(935, 103),
    ("battleship(1, 2, shots=1, loss_multiplier=2)", "efcce"): Fraction(-3, 4),
}


@pytest.mark.parametrize(
    ("call", "notion"),
    [pytest.param(*k, marks=[pytest.mark.deep] * ("10" in k[0])) for k in OPTIMA],
)
def test_the_optima_of_the_literature_are_proven(call, notion):
    game = games.load(call)
    best = best_extensive_form_correlated_equilibrium(game, concept=notion)
    found = certify_gaps(game, best, notion)
    assert found.gaps == (0, 0)
    assert sum(found.lower) == OPTIMA[call, notion]
    found.verify(game)


@pytest.mark.parametrize("rounding", [0.0, 1e-3])
def test_probabilities_are_rounded_to_those_that_sum_to_one(rounding):
    game, x = games.rock_paper_scissors(), np.array([0.0, 1 / pi, 1 - 1 / pi])
    found = certify_gaps(game, [x, x[::-1]], rounding=rounding)
    found.verify(game)
    for strategy, exact in zip(found.profile(game), [x, x[::-1]], strict=True):
        np.testing.assert_allclose(strategy, exact, rtol=0.0, atol=2 * rounding + 1e-15)


def test_deviations_have_names():
    assert Deviation(0, 1, 0).named(CHICKEN.domains[0]) == "yield -> dare"
    assert Deviation(0, None, 0).named(CHICKEN.domains[0]) == "-> dare"
    assert Deviation(0, 1, 0).named(KUHN.domains[0]) == "J: b -> p"
    assert Deviation(None, None, None).named(KUHN.domains[0]) == "another strategy"


# Limits and refusals


def test_limits_of_time_digits_and_precision(tmp_path):
    with pytest.raises(RuntimeError, match=r"found no proof within time_limit; certify_gaps\(game"):
        certify(KUHN, solve_zero_sum(KUHN).profile, time_limit=0.0)
    with pytest.raises(RuntimeError, match="no proof within time_limit"):
        certify_gaps(KUHN, UNIFORM, time_limit=0.0)
    with pytest.raises(ValueError, match=r"Exceeds the limit .* for integer string conversion"):
        evolve(PROOFS["value"][1], lower=(Fraction(10**5_000),)).to_json(tmp_path / "long.json")
    # An equilibrium with probabilities of 1e-400 is none in floats.
    game = matrix_game([[1e100, 0.0], [0.0, 1e-300]])
    with pytest.raises(RuntimeError, match="no optimal strategy with the support"):
        certify(game, solve_zero_sum(game).profile)


def test_payoffs_that_sum_to_a_constant_only_up_to_rounding_prove_no_value():
    game = NormalFormGame([[[1 / 3, 0.0]], [[2 / 3, 1.0 + 2.0**-49]]])
    assert game.constant_sum is not None
    profile = solve_zero_sum(game).profile
    with pytest.raises(ValueError, match=r"sum to a constant as fractions, .*; certify_gaps"):
        certify(game, profile)
    gaps = certify_gaps(game, profile)
    gaps.verify(game)
    assert gaps.gaps == (0, 0)
    with pytest.raises(ValueError, match="must sum to a constant, without any rounding"):
        evolve(gaps, notion="value", gains=PROOFS["value"][1].gains).verify(game)


def test_no_value_is_proven_by_a_profile_that_is_no_equilibrium():
    game = games.matching_pennies()
    gaps = certify_gaps(game, [np.array([1.0, 0.0])] * 2)
    gains = tuple({Deviation(None, None, None): gap} for gap in gaps.gaps)
    with pytest.raises(ValueError, match="a player gains"):
        evolve(gaps, notion="value", gains=gains).verify(game)


THIRDS = ExtensiveFormGame.from_history(
    chance([1 / pi, 1 - 1 / pi], h=end(1.0, -1.0), t=decision(0, "j", a=end(1.0, -1.0)))
)
TWO = {"play": [UNIFORM] * 2, "weights": [0.5, 0.6]}

test_bad_input_is_refused = refusals(
    (lambda: certify(CHICKEN, [np.ones(2) / 2] * 2), ValueError, "must be constant-sum"),
    (lambda: certify(KUHN, UNIFORM), RuntimeError, "no optimal strategy with"),
    (lambda: certify(THIRDS, Profile.uniform(THIRDS)), ValueError, "sum to .* as fractions"),
    (lambda: certify_gaps(KUHN, UNIFORM, "ce"), ValueError, "notion must be one of nash, efce"),
    (lambda: certify_gaps(KUHN, 3), TypeError, "profile"),
    (lambda: certify_gaps(KUHN, team_maxmin(KUHN, 1).plan, "efce"), TypeError, "of all players"),
    (lambda: certify_gaps(KUHN, [UNIFORM] * 2, weights=[0.5, 0.5]), ValueError, "single profile"),
    (lambda: certify_gaps(KUHN, notion="efce", **TWO), ValueError, "nonnegative and sum to one"),
    (lambda: certify_gaps(KUHN, UNIFORM, rounding=-1.0), ValueError, "rounding must be .* -1"),
)


# The verifier shares nothing with what makes certificates, and refuses every change of one


def gaps_of(game, play, notion):
    return game, certify_gaps(game, play, notion)


TABLE, SHERIFF = NormalFormGame(np.arange(24).reshape(3, 2, 2, 2) / 10), games.sheriff(1, 1, 1)
PROOFS = {
    "value": (KUHN, certify(KUHN, solve_zero_sum(KUHN).profile)),
    "nash": gaps_of(TABLE, Profile.uniform(TABLE), "nash"),
    "ce": gaps_of(CHICKEN, best_correlated_equilibrium(CHICKEN), "ce"),
    "cce": gaps_of(CHICKEN, Profile.uniform(CHICKEN), "cce"),
    "efce": gaps_of(SHERIFF, best_extensive_form_correlated_equilibrium(SHERIFF), "efce"),
    "efcce": gaps_of(SHERIFF, Profile.uniform(SHERIFF), "efcce"),
    "nfcce": gaps_of(SHERIFF, Profile.uniform(SHERIFF), "nfcce"),
}
each_proof = pytest.mark.parametrize("name", PROOFS)


def test_the_verifier_imports_nothing_of_what_makes_certificates():
    source = Path(regretkit.__file__).parent / "evaluation" / "exact" / "_verifier.py"
    nodes = [*ast.walk(ast.parse(source.read_text()))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert not any(isinstance(node, ast.Import) and "regretkit" in ast.dump(node) for node in nodes)
    own = {module for module in modules if module.startswith("regretkit")}
    assert own == {"regretkit.games", "regretkit._util._validate"}


def written(name, tmp_path):
    """Return a game, the data of a certificate of it, and a path."""
    game, proof = PROOFS[name]
    path = tmp_path / "proof.json"
    proof.to_json(path)
    return game, json.loads(path.read_text()), path


def places(data, path=()):
    """Yield the path of every entry of plain data."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def changes(value, name):
    """Yield other values of an entry."""
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield value[:-1]
        else:
            yield from (str(number + 1), str(-number) if number else "7", f"{number}1", "x")
            yield str(number + Fraction(1, 10**12))
    elif isinstance(value, int) or value is None:
        yield 1 + (value or 0)
    elif value:
        yield type(value)()
        if name in ("lower", "upper", "strategies") and value != value[::-1]:
            yield value[::-1]


def is_refused(game, data, path):
    path.write_text(json.dumps(data))
    try:
        Certificate.from_json(path).verify(game)
    except ValueError:
        return True
    return False


@each_proof
def test_each_change_of_an_entry_is_refused(name, tmp_path):
    game, data, path = written(name, tmp_path)
    assert not is_refused(game, data, path)
    entries = [*places(data)]
    for *before, last in entries[:: 1 + len(entries) // 100]:  # of long ones about a hundred
        for new in changes(at(data, [*before, last]), last):
            other = copy.deepcopy(data)
            at(other, before)[last] = new
            assert is_refused(game, other, path), (*before, last, new)
    for entry in data:
        path.write_text(json.dumps({key: data[key] for key in data.keys() - {entry}}))
        with pytest.raises(ValueError, match=f"not a certificate: entry '{entry}' is missing"):
            Certificate.from_json(path)


LONG = "1e9", "1.5", "0x1", " 1", "1_0", "\u0663", "+1", "1/-2", "9" * 5_000, "", "1e-999999999"


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_a_number_is_digits_alone_of_a_bounded_length(text, tmp_path):
    _, data, path = written("efce", tmp_path)
    kinds = set()
    for *before, last in places(data):
        kind = (*(key for key in before if isinstance(key, str)), len(before))
        if isinstance(at(data, before)[last], str) and kind not in kinds:
            kinds.add(kind)
            if last not in ("format", "fingerprint", "notion"):
                other = copy.deepcopy(data)
                at(other, before)[last] = text
                path.write_text(json.dumps(other))
                with pytest.raises(
                    ValueError, match=r"not a certificate: a number must be -\?digits"
                ):
                    Certificate.from_json(path)


def test_denominators_that_share_nothing_do_not_hang(tmp_path):
    # Each weight has 4,000 digits of its own; exact sums of a hundred would have 400,000.
    game, data, path = written("cce", tmp_path)
    part = data["parts"][0]
    weights = [f"1/{10**4000 + 2 * k + 1}" for k in range(100)]
    data["parts"] = [part | {"weight": weight} for weight in weights]
    assert is_refused(game, data, path)


@each_proof
def test_what_passes_after_many_changes_is_true(name, tmp_path):
    # Strategies, weights and numbers are changed together, to ones that may be a certificate.
    game, data, path = written(name, tmp_path)
    generator, proof = random.Random(0), PROOFS[name][1]
    for _ in range(60):
        other = copy.deepcopy(data)
        for _ in range(generator.randint(1, 3)):
            entries = [p for p in places(other) if isinstance(at(other, p), str)]
            *before, last = generator.choice(entries)
            at(other, before)[last] = at(other, generator.choice(entries))
        if not is_refused(game, other, path):
            read = Certificate.from_json(path)
            if name == "value":
                assert read.value == proof.value
            else:
                assert numbers(certified_again(read, game)) == numbers(read)


def certified_again(proof, game):
    """Return the gaps of the same distribution in a game."""
    profiles = [evolve(proof, parts=(part,)).profile(game) for part in proof.parts]
    weights = [float(part.weight) for part in proof.parts]
    return certify_gaps(game, profiles, proof.notion, weights=weights)


def numbers(proof):
    return proof.lower, proof.upper, proof.gains


@pytest.mark.parametrize("name", ["nash", "ce", "efce", "efcce"])
def test_gaps_of_a_game_with_another_payoff_do_not_pass(name):
    game, proof = PROOFS[name]
    payoffs = game.payoffs if isinstance(game, NormalFormGame) else game.tree.payoffs
    for k in range(4):
        other = payoffs.copy()
        other.flat[(7 * k) % payoffs.size] += 0.5
        altered = NormalFormGame(other) if payoffs is game.payoffs else with_payoffs(game, other)
        with pytest.raises(ValueError, match="another game"):
            proof.verify(altered)
        # And if it said that it is of the other game, its numbers would not be.
        true = certified_again(proof, altered)
        forged = evolve(proof, fingerprint=true.fingerprint, readings=true.readings)
        if numbers(true) == numbers(proof):
            forged.verify(altered)  # where that payoff does not matter
        else:
            with pytest.raises(ValueError, match="does not prove the numbers of player"):
                forged.verify(altered)


def test_weights_and_strategies_are_probabilities():
    game, proof = PROOFS["efce"]
    part = proof.parts[0]
    more, less = (part._replace(weight=weight) for weight in (part.weight + 1, Fraction(-1)))
    doubled = [part._replace(weight=2 * part.weight) for part in proof.parts]
    for parts in doubled, [*proof.parts[1:], more, less]:
        with pytest.raises(ValueError, match="must be at least 0 and sum to one"):
            evolve(proof, parts=tuple(parts)).verify(game)
    negative = part.strategies[0]._replace(numerators={0: 1, 1: 2, 2: -1}, denominator=1)
    forged = part._replace(strategies=(negative, *part.strategies[1:]))
    with pytest.raises(ValueError, match="player 0 has an invalid strategy"):
        evolve(proof, parts=(forged, *proof.parts[1:])).verify(game)
