"""The verifier shares nothing with what makes certificates, and refuses every change of one."""

import ast
import copy
import json
import random
from fractions import Fraction
from math import pi
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from naive_exact import with_payoffs
from naive_games import chance, end

import regretkit
from regretkit import ExtensiveFormGame, NormalFormGame, games, matrix_game
from regretkit.evaluation import (
    Certificate,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    certify,
    certify_gaps,
    solve_zero_sum,
)
from regretkit.games import GameTree, Profile


def zero_sum(game):
    return game, certify(game, solve_zero_sum(game).profile)


def efce(game):
    return game, certify_gaps(game, best_extensive_form_correlated_equilibrium(game), "efce")


def correlated(game):
    return game, certify_gaps(game, best_correlated_equilibrium(game), "ce")


def uniform(game, notion):
    return game, certify_gaps(game, Profile.uniform(game), notion)


PROOFS = {
    "value of a tree": zero_sum(games.kuhn_poker()),
    "value of a table": zero_sum(matrix_game([[0.3, -0.1], [-0.2, 0.1]])),
    "nash": uniform(games.signalling(), "nash"),
    "nash of a table": uniform(NormalFormGame(np.arange(24).reshape(3, 2, 2, 2) / 10), "nash"),
    "ce": correlated(games.chicken()),
    "cce": uniform(games.battle_of_the_sexes(), "cce"),
    "efce": efce(games.sheriff(1, 1, 1)),
    "efcce": uniform(games.sheriff(1, 1, 1), "efcce"),
    "nfcce": uniform(games.sheriff(1, 1, 1), "nfcce"),
}
each_proof = pytest.mark.parametrize("name", PROOFS)


def test_it_imports_nothing_of_what_makes_certificates():
    source = Path(regretkit.__file__).parent / "evaluation" / "exact" / "_verifier.py"
    nodes = [*ast.walk(ast.parse(source.read_text()))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert not any(isinstance(node, ast.Import) and "regretkit" in ast.dump(node) for node in nodes)
    own = {module for module in modules if module.startswith("regretkit")}
    assert own == {"regretkit.games", "regretkit._util._validate"}


# Every member of a certificate

ORDERED = "lower", "upper", "strategies"


def places(data, path=()):
    """Yield the path of every entry of plain data."""
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def changes(value):
    """Yield other values of an entry."""
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield value[:-1]
        else:
            yield from (str(number + 1), str(-number) if number else "7", f"{number}1", "x")
            yield str(number + Fraction(1, 10**12))
    elif isinstance(value, int):
        yield value + 1
    elif value is None:
        yield 0
    elif value:
        yield type(value)()


def changed(data):
    """Yield copies of the data of a certificate, each with one entry changed or without one."""
    for *path, last in places(data):
        value = at(data, [*path, last])
        exchanged = [value[::-1]] if last in ORDERED and value != value[::-1] else []
        for new in [*changes(value), *exchanged, None, ...]:
            other = copy.deepcopy(data)
            holder = at(other, path)
            if new is ... and isinstance(holder, dict):  # the same under another name
                holder["9" + str(last)] = holder.pop(last)
            elif new is None or new is ...:
                del holder[last]
            else:
                holder[last] = new
            yield [*path, last], other


def at(data, path):
    for key in path:
        data = data[key]
    return data


def is_refused(game, data, path):
    path.write_text(json.dumps(data))
    try:
        Certificate.from_json(path).verify(game)
    except ValueError:
        return True
    return False


@each_proof
def test_each_change_of_each_entry_is_refused(name, tmp_path):
    game, proof = PROOFS[name]
    path = tmp_path / "proof.json"
    proof.to_json(path)
    data, passed, seen = json.loads(path.read_text()), [], set()
    assert not is_refused(game, data, path)
    for where, other in changed(data):
        seen.add(where[0])
        if not is_refused(game, other, path):
            passed.append((where, at(data, where)))
    assert not passed
    assert seen == data.keys()


WRONG = None, [], {}, "1/0", "x", 3, [3], [1, 2], [{}, {}], [[], []]


@each_proof
def test_an_entry_that_is_missing_or_no_such_thing_is_refused(name, tmp_path):
    game, proof = PROOFS[name]
    path = tmp_path / "proof.json"
    proof.to_json(path)
    data = json.loads(path.read_text())
    for entry, right in data.items():
        passed = [
            wrong
            for wrong in WRONG
            if wrong != right and not is_refused(game, data | {entry: wrong}, path)
        ]
        assert not passed, entry
        path.write_text(json.dumps({key: data[key] for key in data.keys() - {entry}}))
        with pytest.raises(ValueError, match=f"no certificate: entry '{entry}' is missing"):
            Certificate.from_json(path)


LONG = "1e-999999999", "1e9", "1.5", "0x1", " 1", "1_0", "\u0663", "+1", "1/-2", "9" * 5_000, ""


def test_a_number_is_digits_alone_of_a_bounded_length(tmp_path):
    _, proof = PROOFS["efce"]
    path = tmp_path / "proof.json"
    proof.to_json(path)
    data = json.loads(path.read_text())
    for *before, last in places(data):
        holder = at(data, before)
        if isinstance(holder[last], str) and last not in ("format", "fingerprint", "notion"):
            for text in LONG:
                other = copy.deepcopy(data)
                at(other, before)[last] = text
                path.write_text(json.dumps(other))
                with pytest.raises(ValueError, match=r"no certificate: a number must be -\?digits"):
                    Certificate.from_json(path)


@pytest.mark.parametrize("text", ["{}", "[]", '"x"', "1", "{", '{"format": "x"}'])
def test_a_file_that_holds_none_is_refused(text, tmp_path):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(ValueError, match=r"file\.json"):
        Certificate.from_json(tmp_path / "file.json")


@each_proof
@pytest.mark.parametrize("seed", range(3))
def test_what_passes_after_many_changes_is_true(name, seed, tmp_path):
    # Strategies, weights and numbers are changed together, to ones that may be a certificate.
    game, proof = PROOFS[name]
    path, generator = tmp_path / "proof.json", random.Random(seed)
    proof.to_json(path)
    data = json.loads(path.read_text())
    for _ in range(100):
        other = copy.deepcopy(data)
        for _ in range(generator.randint(1, 3)):
            entries = [p for p in places(other) if isinstance(at(other, p), str)]
            *before, last = generator.choice(entries)
            texts = [at(other, p) for p in entries]
            at(other, before)[last] = generator.choice(texts)
        if is_refused(game, other, path):
            continue
        read = Certificate.from_json(path)
        if read.notion == "value":
            assert read.value == proof.value
        else:
            assert numbers(certified_again(read, game)) == numbers(read)


def certified_again(proof, game):
    """Return the gaps of the same distribution in a game."""
    weights, profiles = [], []
    for part in proof.parts:
        weights.append(float(part.weight))
        profiles.append(evolve(proof, parts=(part,)).profile(game))
    return certify_gaps(game, profiles, proof.notion, weights=weights)


def numbers(proof):
    return proof.lower, proof.upper, proof.gains


@pytest.mark.parametrize("name", list(PROOFS)[2:])
def test_gaps_of_a_game_with_another_payoff_do_not_pass(name):
    game, proof = PROOFS[name]
    payoffs = game.payoffs if isinstance(game, NormalFormGame) else game.tree.payoffs
    for k in range(8):
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
            with pytest.raises(ValueError, match="is not what the profile proves"):
                forged.verify(altered)


def doubled(proof):
    """Return a certificate with all weights and numbers times two."""
    return evolve(
        proof,
        lower=tuple(2 * value for value in proof.lower),
        upper=tuple(2 * value for value in proof.upper),
        gains=tuple({d: 2 * gain for d, gain in own.items()} for own in proof.gains),
        parts=tuple(part._replace(weight=2 * part.weight) for part in proof.parts),
    )


@pytest.mark.parametrize("name", ["ce", "efce", "value of a table"])
def test_weights_and_strategies_are_probabilities(name):
    game, proof = PROOFS[name]
    with pytest.raises(ValueError, match="must be at least 0 and sum to one"):
        doubled(proof).verify(game)
    part = proof.parts[0]
    more, less = (part._replace(weight=weight) for weight in (part.weight + 1, Fraction(-1)))
    with pytest.raises(ValueError, match="must be at least 0 and sum to one"):
        evolve(proof, parts=(*proof.parts[1:], more, less)).verify(game)
    negative = part.strategies[0]._replace(numerators={0: 1, 1: 2, 2: -1}, denominator=1)
    forged = part._replace(strategies=(negative, *part.strategies[1:]))
    with pytest.raises(ValueError, match="strategy of player 0 is none of this game"):
        evolve(proof, parts=(forged, *proof.parts[1:])).verify(game)


def test_chances_must_sum_to_one_as_fractions():
    drawn = chance([1 / pi, 1 - 1 / pi], h=end(1.0, -1.0), t=end(-1.0, 1.0))
    game = ExtensiveFormGame.from_history(drawn)
    forged = evolve(PROOFS["value of a tree"][1], fingerprint=games.fingerprint(game))
    with pytest.raises(ValueError, match="do not sum to one as fractions"):
        forged.verify(game)


def as_value(proof):
    """Return a certificate of gaps as one of a value."""
    return evolve(proof, notion="value", gains=PROOFS["value of a table"][1].gains)


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
        as_value(gaps).verify(game)


def test_no_value_is_proven_of_a_game_that_has_none():
    game = games.battle_of_the_sexes()
    gaps = certify_gaps(game, [np.array([1.0, 0.0])] * 2)
    with pytest.raises(ValueError, match="must sum to a constant, without any rounding"):
        as_value(gaps).verify(game)


def test_no_value_is_proven_by_a_profile_that_is_no_equilibrium():
    game = games.matching_pennies()
    gaps = certify_gaps(game, [np.array([1.0, 0.0])] * 2)
    gains = tuple(
        {next(iter(own)): gap} for own, gap in zip(as_value(gaps).gains, gaps.gaps, strict=True)
    )
    with pytest.raises(ValueError, match="a player gains"):
        evolve(as_value(gaps), gains=gains).verify(game)


def test_a_deep_game_needs_no_recursion():
    # Players stop or go on in turns; to stop at once pays 1, all else 0.
    moves = 3000
    player, sets = np.full(2 * moves + 1, -2), np.full(2 * moves + 1, -1)
    player[:-1:2], sets[:-1:2] = np.arange(moves) % 2, np.arange(moves) // 2
    names = [str(k) for k in range(moves // 2)]
    first = np.eye(1, moves + 1)[0]
    tree = GameTree(
        parent=[-1, *np.repeat(np.arange(0, 2 * moves, 2), 2)],
        player=player,
        information_set=sets,
        action=[-1, *[0, 1] * moves],
        probability=np.ones(2 * moves + 1),
        payoffs=np.column_stack([first, -first]),
        labels=[names, names],
        actions=[[["stop", "go"]] * (moves // 2)] * 2,
    )
    game = ExtensiveFormGame(tree)
    profile = [d.sequence_form(np.tile([1.0, 0.0], d.points)) for d in game.domains]
    certificate = certify(game, profile)
    certificate.verify(game)
    assert certificate.value == 1
