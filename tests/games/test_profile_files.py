"""Strategies in files: what is written is what is read, and nothing else is ever read."""

import copy
import csv
import json
import pickle
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from assert_games import changed
from factories import random_behavior
from naive_games import chance, decision, end, random_game

import regretkit as rk
from regretkit import ExtensiveFormGame, NormalFormGame, games, matrix_game
from regretkit.games import Profile, fingerprint
from regretkit.sets import DecisionTree, Hull, Simplices


def twins():
    """Return a game in which names say nothing: one label for all, and equal names of actions."""
    root = decision(0, 1, l=decision(0, "1", l=end(1, 0), r=end(0, 2)), r=end(3, 0))
    game = ExtensiveFormGame.from_history(root)
    same = [["same", "same"] for _ in game.tree.labels[0]]
    return ExtensiveFormGame(changed(game.tree, actions=[same, []]))


GAMES = {
    "kuhn": games.kuhn_poker(),
    "three players": games.kuhn_poker(players=3),
    "names made when asked for": games.liars_dice(sides=3),
    "random": ExtensiveFormGame.from_history(random_game(np.random.default_rng(1), 3)),
    "names say nothing": twins(),
    "rock paper scissors": games.rock_paper_scissors(),
    "actions have no names": NormalFormGame(np.random.default_rng(2).normal(size=(3, 2, 3, 4))),
}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def simplices_of(domain):
    return domain.simplices if isinstance(domain, DecisionTree) else domain


def profile_of(game, behavior):
    """Return the profile of a behavior on each player's simplices."""
    played = [behavior(simplices_of(domain)) for domain in game.domains]
    pairs = zip(game.domains, played, strict=True)
    return Profile(
        [d.sequence_form(b) if isinstance(d, DecisionTree) else b for d, b in pairs],
        *(game.domains, game),
    )


def mixed(game, seed=0):
    """Return a profile that plays some actions never."""
    return profile_of(game, partial(random_behavior, np.random.default_rng(seed)))


def dyadic(game):
    """Return a profile of multiples of 1/16, whose products are exact."""
    draw = np.random.default_rng(0).multinomial
    return profile_of(
        game, lambda s: np.concatenate([*(draw(16, [1 / n] * n) / 16 for n in s.sizes), []])
    )


def assert_same(one, other):
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, expected)


# There and back


@each_game
def test_a_saved_profile_loads_bitwise_identical_where_no_rounding_is_needed(game, tmp_path):
    profile, path = dyadic(game), tmp_path / "strategy.json"
    profile.to_json(path)
    assert_same(Profile.from_json(path, game), profile)
    profile = mixed(game)
    read = Profile.from_dict(profile.to_dict(), game)
    assert str(read) == str(profile)
    for vector, expected in zip(read, profile, strict=True):
        np.testing.assert_allclose(vector, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "game", [games.kuhn_poker(), games.kuhn_poker(players=3), games.LeducPoker(merge_suits=True)]
)
def test_a_run_without_a_tree_comes_back_by_label(game, tmp_path):
    rules = games.as_history(game)
    average = rk.solve(rules, sampling="external", iterations=200).average
    average.to_json(tmp_path / "average.json")
    for read in (
        Profile.from_json(tmp_path / "average.json"),
        Profile.from_json(tmp_path / "average.json", rules),
    ):
        assert read.visited
        assert [d.parent_sequence.tolist() for d in read.domains] == [
            d.parent_sequence.tolist() for d in average.domains
        ]
        for vector, expected in zip(read, average, strict=True):
            np.testing.assert_allclose(vector, expected, atol=1e-15)
        assert str(read) == str(average)
    read.to_json(tmp_path / "again.json")
    assert Profile.from_json(tmp_path / "again.json").to_dict()["game"] == average.to_dict()["game"]
    with pytest.raises(ValueError, match="belongs to the game"):
        Profile.from_json(tmp_path / "average.json", games.load_rules("kuhn_poker(deck=4)"))


# Tables


@each_game
def test_a_table_has_a_row_for_each_action(game, tmp_path):
    profile, path = mixed(game), tmp_path / "strategy.csv"
    profile.to_csv(path)
    frame, index = profile.to_dataframe(), 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for player, domain in enumerate(game.domains):
        simplices = simplices_of(domain)
        for number in range(simplices.blocks):
            parent = getattr(domain, "parent_sequence", [-1] * simplices.blocks)[number]
            reach = 1.0 if parent < 0 else profile[player][parent]
            pairs = zip(simplices.labels.actions(number), profile[player, number], strict=True)
            for action, probability in pairs:
                row = rows[index]
                assert (int(row["player"]), row["action"]) == (player, action)
                assert (float(row["probability"]), float(row["reach"])) == (probability, reach)
                assert frame.probability[index] == probability
                index += 1
    assert len(rows) == len(frame) == index


def test_a_dataframe_is_the_same_table(tmp_path, monkeypatch):
    profile = mixed(games.kuhn_poker())
    profile.to_csv(tmp_path / "strategy.csv")
    pd.testing.assert_frame_equal(profile.to_dataframe(), pd.read_csv(tmp_path / "strategy.csv"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas.*pip install 'regretkit\[pandas\]'"):
        profile.to_dataframe()


# Which game it is


def test_a_profile_without_a_game_is_not_saved(tmp_path):
    profile = Profile([[0.5, 0.5]], (Simplices(2),))
    with pytest.raises(ValueError, match="has no game; pass"):
        profile.to_json(tmp_path / "strategy.json")
    assert list(tmp_path.iterdir()) == []
    profile.to_csv(tmp_path / "strategy.csv")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, "pass it as game") for name in (None, "my game", "game.efg", "os.system('true')")),
        *((f"kuhn_poker({wrong}", "pass it as game") for wrong in ("deck='a')", "1, 2, 3)", "")),
        ("kuhn_poker(deck=4)", "belongs to the game"),
    ],
)
def test_a_game_that_its_name_does_not_build_has_to_be_passed(name, problem, tmp_path, monkeypatch):
    # Not even where a file of this name lies: another file must not point to it.
    monkeypatch.chdir(tmp_path)
    games.save(games.kuhn_poker(), "game.efg")
    profile = dyadic(games.kuhn_poker())
    data = profile.to_dict()
    data["game"]["name"] = name
    with pytest.raises(ValueError, match=problem):
        Profile.from_dict(data)
    assert_same(Profile.from_dict(data, games.kuhn_poker()), profile)


def test_a_strategy_of_another_game_is_refused():
    data = mixed(games.kuhn_poker()).to_dict()
    tree = games.kuhn_poker().tree
    payoffs = tree.payoffs.copy()
    payoffs[3] *= 2.0  # the same information sets and actions
    others = [games.kuhn_poker(deck=4), ExtensiveFormGame(changed(tree, payoffs=payoffs))]
    for other in others:
        with pytest.raises(ValueError, match="belongs to the game 'kuhn_poker'"):
            Profile.from_dict(data, other)


# Fingerprints


def test_names_leave_no_trace_in_a_fingerprint():
    matrix = np.random.default_rng(1).normal(size=(2, 3))
    named = matrix_game(matrix, actions=[["a", "b"], ["c", "d", "e"]], name="a game")
    assert fingerprint(named) == fingerprint(matrix_game(matrix))
    assert fingerprint(matrix_game(-0.0 * matrix)) == fingerprint(matrix_game(0.0 * matrix))
    kuhn = games.kuhn_poker()
    assert fingerprint(games.read_efg(games.write_efg(kuhn))) == fingerprint(kuhn)


def test_every_number_of_a_game_leaves_a_trace_in_its_fingerprint():
    payoffs = np.random.default_rng(1).normal(size=(2, 3, 4))
    seen = {fingerprint(NormalFormGame(payoffs))}
    for index in np.ndindex(payoffs.shape):
        other = payoffs.copy()
        other[index] = np.nextafter(other[index], 1e9)
        seen.add(fingerprint(NormalFormGame(other)))
    assert len(seen) == 1 + payoffs.size

    def tree(fair=0.5, payoff=1.0, other_set="b", acting=0):
        after = [decision(0, label, l=end(payoff, 0), r=end(0, 1)) for label in ("a", other_set)]
        after[1] = decision(acting, other_set, l=end(payoff, 0), r=end(0, 1))
        root = chance((fair, 1 - fair), x=after[0], y=after[1])
        return fingerprint(ExtensiveFormGame.from_history(root))

    others = {tree(fair=0.25), tree(payoff=np.nextafter(1.0, 2.0)), tree(other_set="a")}
    others.add(tree(acting=1))
    assert tree(other_set="c") == tree()
    assert len(others | {tree()}) == 5


def test_rules_are_identified_by_random_plays():
    seen = [fingerprint(games.load_rules(f"kuhn_poker(deck={deck})")) for deck in (3, 3, 4)]
    assert seen[0] == seen[1] != seen[2]


class UserDefined(rk.games.Game):
    """A game that is in no registry: each player's payoff is bilinear."""

    name = "user-defined"

    def __init__(self, matrix, first=None, noise=0.0):
        self.matrix, self.noise = matrix, noise
        self.domains = (first or Simplices(2), Simplices(3))

    def _utility(self, player, strategies, payoff_of):
        sign = 1.0 if payoff_of == 0 else -1.0
        seen = self.matrix @ strategies[1] if player == 0 else self.matrix.T @ strategies[0]
        return sign * seen * (1.0 + self.noise)


def test_a_user_defined_game_is_identified_by_its_utilities():
    matrix = np.random.default_rng(1).normal(size=(2, 3))
    mine = fingerprint(UserDefined(matrix))
    # Another machine may round otherwise.
    assert fingerprint(UserDefined(matrix, noise=1e-14)) == mine
    hull = Hull([Simplices(2), Simplices(2)])
    others = [matrix * 1.001, matrix + 0.001 * np.eye(2, 3), np.zeros((2, 3))]
    for other in [UserDefined(matrix, hull), *map(UserDefined, others)]:
        assert fingerprint(other) != mine
    game = UserDefined(np.eye(2, 3))
    profile = Profile([[0.25, 0.75], [0.5, 0.5, 0.0]], game.domains, game)
    assert_same(Profile.from_dict(profile.to_dict(), game), profile)


def test_a_set_without_information_sets_goes_into_no_table(tmp_path):
    game = UserDefined(np.eye(2, 3), Hull([Simplices(2), Simplices(2)]))
    profile = Profile([[0.5, 0.5], [1.0, 0.0, 0.0]], game.domains, game)
    for attempt in (profile.to_dict, partial(profile.to_csv, tmp_path / "strategy.csv")):
        with pytest.raises(ValueError, match=r"player 0 plays on Hull.*profile\[0\]"):
            attempt()
    assert list(tmp_path.iterdir()) == []


# What is refused


def edited(path, value, data=None):
    """Return a strategy of Kuhn poker with something put in place of what is at ``path``."""
    data = copy.deepcopy(mixed(games.kuhn_poker()).to_dict() if data is None else data)
    *parents, last = path
    holder = data
    for key in parents:
        holder = holder[key]
    holder[last] = value
    if value is ...:
        del holder[last]
    return data


def in_record(key, value):
    return edited(("players", 0, 3, key), value)


FAULTS = {
    "no dict": ([1], "is not a profile"),
    "newer": (edited(("version",), 2), "version 1"),
    "one player": (edited(("players",), [[]]), r"players.* list of 2"),
    "a number as a record": (edited(("players", 1, 2), 5), r"players\[1\]\[2\] must have the"),
    "other label": (in_record("label", "Zpb"), "label must be 'Jpb', got 'Zpb'"),
    "other order": (in_record("actions", ["b", "p"]), "actions must be"),
    "nearly 1": (in_record("probabilities", [0.5, 0.500002]), "sum to 1 within 1e-06"),
    "text": (in_record("probabilities", ["0.5", 0.5]), r"players\[0\]\[3\] must be numbers"),
}


@pytest.mark.parametrize(("data", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_refused_with_its_place(data, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        Profile.from_dict(data, games.kuhn_poker())
    path = tmp_path / "strategy.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"strategy\.json"):
        Profile.from_json(path, games.kuhn_poker())


VISITED = rk.solve(games.KuhnPoker(), sampling="external", iterations=50).average.to_dict()
VISITED_FAULTS = {
    "no parents": (("parents",), 3, "is not a profile"),
    "parents that are none": (
        ("parents", 1),
        [9] * 6,
        r"\[1\] and its parents are no decision tree",
    ),
    "other records": (("players",), [[{"label": "J"}], []], "is not a profile"),
    "one label": (
        ("players", 0, 0, "label"),
        VISITED["players"][0][1]["label"],
        "must have distinct labels",
    ),
    "a sum": (("players", 0, 0, "probabilities"), [0.5, 0.6], "sum to 1"),
}


@pytest.mark.parametrize(("path", "value", "message"), VISITED_FAULTS.values(), ids=VISITED_FAULTS)
def test_a_fault_in_a_visited_profile_is_refused(path, value, message):
    assert Profile.from_dict(VISITED).visited
    with pytest.raises(ValueError, match=message):
        Profile.from_dict(edited(path, value, VISITED))


TEXTS = {
    "empty": ("", "line 1 column 1"),
    "a pickle": (pickle.dumps([1.0]), "byte"),
    "deep": ("[" * 100_000, "recursion"),
    "long": ("1" * 10_000, "digits"),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_a_file_that_holds_no_strategy_is_refused(text, message, tmp_path):
    path = tmp_path / "strategy.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=rf"strategy\.json.*{message}"):
        Profile.from_json(path, games.kuhn_poker())
    path.unlink()
    with pytest.raises(FileNotFoundError):
        Profile.from_json(path, games.kuhn_poker())
