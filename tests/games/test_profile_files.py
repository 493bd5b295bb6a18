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
from regretkit.evaluation import expected_value, nash_conv, solve_zero_sum
from regretkit.games import Profile, fingerprint
from regretkit.games._profile_table import blocks_of, strategy_of
from regretkit.sets import Hull, Simplices


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


def profile_of(game, behavior):
    """Return the profile of a behavior on each player's simplices."""
    played = [strategy_of(behavior(blocks_of(domain)), domain) for domain in game.domains]
    return Profile(played, game.domains, game)


def mixed(game, seed=0):
    """Return a profile that plays some actions never."""
    return profile_of(game, partial(random_behavior, np.random.default_rng(seed)))


def dyadic(game):
    """Return a profile whose probabilities are multiples of 1/16, so that nothing is rounded."""
    draw = np.random.default_rng(0).multinomial
    return profile_of(
        game, lambda s: np.concatenate([*(draw(16, [1 / n] * n) / 16 for n in s.sizes), []])
    )


def assert_same(one, other):
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, expected)


# There and back


@each_game
def test_saved_profiles_load_bitwise_identical_where_no_rounding_is_needed(game, tmp_path):
    profile, path = dyadic(game), tmp_path / "strategy.json"
    # Products of up to ten multiples of 1/16 are exact.
    profile.to_json(path)
    assert_same(Profile.from_json(path, game), profile)
    assert_same(Profile.from_dict(profile.to_dict(), game), profile)


@each_game
@pytest.mark.parametrize("seed", range(3))
def test_value_and_gap_of_what_is_read_are_those_of_what_was_written(game, seed, tmp_path):
    profile, path = mixed(game, seed), tmp_path / "strategy.json"
    profile.to_json(path)

    read = Profile.from_json(path, game)

    assert str(read) == str(profile)
    for player, domain in enumerate(game.domains):
        assert domain.contains(read[player], atol=1e-14)
        np.testing.assert_array_equal(read.unreached(player), profile.unreached(player))
    np.testing.assert_allclose(
        expected_value(game, read), expected_value(game, profile), atol=1e-14
    )
    assert nash_conv(game, read) == pytest.approx(nash_conv(game, profile), abs=1e-13)


@each_game
def test_a_dict_holds_the_distribution_at_each_information_set(game):
    profile = mixed(game)
    data = json.loads(json.dumps(profile.to_dict()))

    assert data["game"] == {"name": game.name, "fingerprint": fingerprint(game)}
    for player, records in enumerate(data["players"]):
        simplices = blocks_of(game.domains[player])
        assert [record["information_set"] for record in records] == [*range(simplices.blocks)]
        for number, record in enumerate(records):
            assert record["probabilities"] == profile[player, number].tolist()
            assert tuple(record["actions"]) == simplices.labels.actions(number)
            named = simplices.labels.named
            assert record["label"] == (simplices.labels.block(number) if named else None)


def test_a_strategy_written_by_hand_is_read():
    game = games.kuhn_poker()
    data = Profile.uniform(game).to_dict()
    # Kuhn's equilibrium in which the jack never bluffs
    bets = {"J": 0, "Q": 0, "K": 0, "Jpb": 0, "Qpb": 1 / 3, "Kpb": 1}
    bets |= {"Jp": 0.3333333, "Qp": 0, "Kp": 1, "Jb": 0, "Qb": 0.3333333, "Kb": 1}
    for record in [*data["players"][0], *data["players"][1]]:
        bet = bets[record["label"]]
        record["probabilities"] = [round(1 - bet, 7), bet]
    data["players"][0].reverse()  # in any order

    profile = Profile.from_dict(data, game)

    assert nash_conv(game, profile) == pytest.approx(0.0, abs=1e-6)
    assert expected_value(game, profile)[0] == pytest.approx(-1 / 18, abs=1e-7)
    # What sums to 1 nearly was divided by its sum.
    assert game.domains[0].contains(profile[0], atol=1e-15)


def test_probabilities_that_sum_to_one_up_to_rounding_are_kept_unchanged():
    game = matrix_game(np.zeros((3, 1)))
    data = Profile([np.ones(3) / 3, [1.0]], game.domains, game).to_dict()
    tenths = [0.1, 0.2, 0.7000000000000001]
    data["players"][0][0]["probabilities"] = tenths
    assert Profile.from_dict(data, game)[0].tolist() == tenths


# Tables


@each_game
def test_a_table_has_a_row_for_each_action(game, tmp_path):
    profile, path = mixed(game), tmp_path / "strategy.csv"
    profile.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == sum(blocks_of(d).dimension for d in game.domains)
    for row in rows:
        player, number = int(row["player"]), int(row["information_set"])
        simplices = blocks_of(game.domains[player])
        place = simplices.labels.actions(number).index(row["action"])
        if len(set(simplices.labels.actions(number))) == simplices.sizes[number]:
            assert float(row["probability"]) == profile[player, number][place]
        parents = getattr(game.domains[player], "parent_sequence", None)
        reach = 1.0 if parents is None else profile[player][parents[number]]
        assert float(row["reach"]) == reach
        assert row["label"] == (simplices.labels.block(number) if simplices.labels.named else "")


def test_a_dataframe_is_the_same_table(tmp_path):
    profile = mixed(games.kuhn_poker())
    profile.to_csv(tmp_path / "strategy.csv")
    frame = profile.to_dataframe()
    pd.testing.assert_frame_equal(frame, pd.read_csv(tmp_path / "strategy.csv"))
    assert frame.groupby(["player", "information_set"])["probability"].sum().round(12).eq(1).all()


def test_without_pandas_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas.*pip install 'regretkit\[pandas\]'"):
        mixed(games.kuhn_poker()).to_dataframe()


def test_names_that_need_quotation_marks_come_back(tmp_path):
    odd = ['say "no", or', "two\nlines", "ünï♠", "\ud800", ""]
    game = NormalFormGame(np.zeros((1, 5)), actions=[odd])
    profile = Profile([np.ones(5) / 5], game.domains, game)
    profile.to_json(tmp_path / "s.json")
    profile.to_csv(tmp_path / "s.csv")

    assert Profile.from_json(tmp_path / "s.json", game).to_dict() == profile.to_dict()
    with (tmp_path / "s.csv").open(newline="", encoding="utf-8") as file:
        actions = [row["action"] for row in csv.DictReader(file)]
    assert actions == [*odd[:3], r"\ud800", ""]


@pytest.mark.parametrize("write", ["to_json", "to_csv"])
def test_writing_replaces_what_was_there_and_leaves_nothing_else(write, tmp_path):
    path = tmp_path / "strategy"
    path.write_text("what was there, and is longer than anything that follows" * 1_000)
    getattr(mixed(games.kuhn_poker()), write)(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["strategy"]
    assert "what was there" not in path.read_text()


# Which game it is


def test_profiles_of_the_library_name_their_game(tmp_path):
    kuhn = games.kuhn_poker()
    run = rk.solve(kuhn, "cfr+", iterations=3)
    exact = solve_zero_sum(kuhn).profile
    for profile, game in [(run.average, kuhn), (run.current, kuhn), (exact, kuhn)]:
        assert profile.to_dict()["game"]["fingerprint"] == fingerprint(game)


def test_a_profile_that_was_pickled_still_knows_its_game_and_does_not_carry_it():
    small, large = dyadic(games.kuhn_poker()), dyadic(games.liars_dice(sides=3))
    for profile in (small, large):
        other = pickle.loads(pickle.dumps(profile))
        assert other.to_dict() == profile.to_dict()
        assert pickle.loads(pickle.dumps(other)).to_dict() == profile.to_dict()
    assert isinstance(other._game, dict)


def test_a_profile_without_a_game_is_not_saved(tmp_path):
    profile = Profile([[0.5, 0.5]], (Simplices(2),))
    with pytest.raises(ValueError, match=r"has no game, which .*Profile\(.*game\)"):
        profile.to_json(tmp_path / "strategy.json")
    assert list(tmp_path.iterdir()) == []
    profile.to_csv(tmp_path / "strategy.csv")  # which says of no game


def test_a_game_of_the_catalogue_is_found_by_its_name(tmp_path):
    profile = dyadic(games.kuhn_poker(deck=5))
    profile.to_json(tmp_path / "strategy.json")
    read = Profile.from_json(tmp_path / "strategy.json")
    assert read.domains == profile.domains
    assert read.to_dict() == profile.to_dict()


@pytest.mark.parametrize(
    "name", [None, "", "my game", "kuhn_poker2(deck=5)", "os.system('true')", "game.efg"]
)
def test_a_game_of_no_known_name_has_to_be_passed(name, tmp_path, monkeypatch):
    # Not even where a file of this name lies: another file must not point to it.
    monkeypatch.chdir(tmp_path)
    games.save(games.kuhn_poker(), "game.efg")
    game = NormalFormGame(np.eye(2)[None, 0], name=name)
    data = Profile([[0.5, 0.5]], game.domains, game).to_dict()
    with pytest.raises(ValueError, match="no registered game is called so; pass it as game"):
        Profile.from_dict(data)
    assert_same(Profile.from_dict(data, game), [[0.5, 0.5]])


@pytest.mark.parametrize(
    "name", ["kuhn_poker(deck='a')", "kuhn_poker(5, 6, 7, 8, 9)", "kuhn_poker("]
)
def test_a_name_that_loads_no_game_is_refused(name):
    data = mixed(games.kuhn_poker()).to_dict()
    data["game"]["name"] = name
    with pytest.raises(ValueError, match=r"which is not built from its name: .*; pass it as game"):
        Profile.from_dict(data)


def test_a_strategy_of_another_game_is_refused():
    data = mixed(games.kuhn_poker()).to_dict()
    # The same information sets and actions, other payoffs
    tree = games.kuhn_poker().tree
    payoffs = tree.payoffs.copy()
    payoffs[3] *= 2.0
    tree = changed(tree, payoffs=payoffs)
    others = [games.kuhn_poker(deck=4), games.matching_pennies(), ExtensiveFormGame(tree)]

    for other in others:
        message = r"belongs to the game kuhn_poker \(fingerprint \w+\), but this is <.*"
        with pytest.raises(ValueError, match=message + fingerprint(other)):
            Profile.from_dict(data, other)


# Fingerprints


def test_names_leave_no_trace_in_a_fingerprint():
    matrix = np.random.default_rng(1).normal(size=(2, 3))
    named = matrix_game(matrix, actions=[["a", "b"], ["c", "d", "e"]], name="a game")
    assert fingerprint(named) == fingerprint(matrix_game(matrix))
    assert fingerprint(matrix_game(-0.0 * matrix)) == fingerprint(matrix_game(0.0 * matrix))
    kuhn = games.kuhn_poker()
    assert fingerprint(games.read_efg(games.write_efg(kuhn))) == fingerprint(kuhn)
    assert fingerprint(games.kuhn_poker()) == fingerprint(kuhn)


def test_every_number_of_a_normal_form_leaves_a_trace_in_its_fingerprint():
    payoffs = np.random.default_rng(1).normal(size=(2, 3, 4))
    seen = {fingerprint(NormalFormGame(payoffs))}
    for index in np.ndindex(payoffs.shape):
        changed = payoffs.copy()
        changed[index] = np.nextafter(changed[index], 1e9)
        seen.add(fingerprint(NormalFormGame(changed)))
    assert len(seen) == 1 + payoffs.size


def test_games_of_different_shapes_have_different_fingerprints():
    payoffs = np.zeros((2, 2, 8))
    shapes = [(2, 2, 8), (2, 8, 2), (2, 4, 4), (1, 32)]
    seen = {fingerprint(NormalFormGame(payoffs.reshape(shape))) for shape in shapes}
    root = decision(0, "a", **{str(i): end(0.0) for i in range(32)})
    seen.add(fingerprint(ExtensiveFormGame.from_history(root)))
    assert len(seen) == 5


def test_every_number_of_a_game_tree_leaves_a_trace_in_its_fingerprint():
    def tree(fair=0.5, payoff=1.0, other_set="b", acting=0):
        after = [decision(0, label, l=end(payoff, 0), r=end(0, 1)) for label in ("a", other_set)]
        after[1] = decision(acting, other_set, l=end(payoff, 0), r=end(0, 1))
        root = chance((fair, 1 - fair), x=after[0], y=after[1])
        return fingerprint(ExtensiveFormGame.from_history(root))

    same = tree()
    others = {tree(fair=0.25), tree(payoff=np.nextafter(1.0, 2.0)), tree(other_set="a")}
    others.add(tree(acting=1))

    assert tree(other_set="c") == same
    assert len(others | {same}) == 5


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
    assert fingerprint(UserDefined(matrix.copy())) == mine
    assert fingerprint(UserDefined(matrix * 1.001)) != mine
    assert fingerprint(UserDefined(matrix + 0.001 * np.eye(2, 3))) != mine
    assert fingerprint(UserDefined(np.zeros((2, 3)))) != mine
    hull = Hull([Simplices(2), Simplices(2)])
    assert fingerprint(UserDefined(matrix, hull)) != mine


def test_a_strategy_of_such_a_game_is_written_and_read():
    game = UserDefined(np.eye(2, 3))
    profile = Profile([[0.25, 0.75], [0.5, 0.5, 0.0]], game.domains, game)
    assert_same(Profile.from_dict(profile.to_dict(), game), profile)


def test_a_set_without_information_sets_goes_into_no_table(tmp_path):
    game = UserDefined(np.eye(2, 3), Hull([Simplices(2), Simplices(2)]))
    profile = Profile([[0.5, 0.5], [1.0, 0.0, 0.0]], game.domains, game)
    to_csv = partial(profile.to_csv, tmp_path / "strategy.csv")

    for attempt in (profile.to_dict, profile.to_dataframe, to_csv):
        with pytest.raises(ValueError, match=r"player 0 plays on Hull.* no table.*profile\[0\]"):
            attempt()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("game", ["kuhn_poker", 3, games.kuhn_poker])
@pytest.mark.parametrize("use", [fingerprint, partial(Profile, [[0.5, 0.5]], (Simplices(2),))])
def test_invalid_games_are_refused(game, use):
    with pytest.raises(TypeError, match="game must be a Game"):
        use(game)


# What is refused


def edited(path, value):
    """Return a strategy of Kuhn poker with something put in place of what is at ``path``."""
    data = copy.deepcopy(mixed(games.kuhn_poker()).to_dict())
    *parents, last = path
    holder = data
    for key in parents:
        holder = holder[key]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value(holder[last]) if callable(value) else value
    return data


def in_record(key, value):
    return edited(("players", 0, 3, key), value)


def with_probabilities(*probabilities):
    return in_record("probabilities", list(probabilities))


PLACE = r"players\[0\]\[3\], information set 3 \('Jpb'\)"
FAULTS = {
    "no dict": ([1], r"data must have the entries \['format', 'game', 'players', 'version'\]"),
    "no format": (edited(("format",), ...), "data must have the entries"),
    "more": (edited(("game", "more"), None), "game must have a name and a fingerprint, .*, got {"),
    "other format": (edited(("format",), "policy"), "format 'regretkit strategy', got 'policy'"),
    "newer": (edited(("version",), 2), "has version 2 of the format, but only 1 can be read"),
    "truth as a version": (edited(("version",), True), "has version True"),
    "no game": (edited(("game",), None), "have a name and a fingerprint, both texts, got None"),
    "number as fingerprint": (edited(("game", "fingerprint"), 3), "a name and a fingerprint"),
    "one player": (edited(("players",), lambda p: p[:1]), "players must be a list of 2"),
    "players by name": (edited(("players",), {}), "players must be a list of 2"),
    "no records": (edited(("players", 1), None), r"players\[1\] must be a list of infor"),
    "a number as a record": (edited(("players", 1, 2), 5), r"players\[1\]\[2\] must have the"),
    "record without label": (in_record("label", ...), "must have the entries"),
    "unknown set": (
        in_record("information_set", 6),
        r"players\[0\]\[3\] must be of an information set from 0 to 5, got 6",
    ),
    "negative set": (in_record("information_set", -1), "be of an information set"),
    "label for a number": (in_record("information_set", "J"), "from 0 to 5"),
    "truth for a number": (edited(("players", 0, 1, "information_set"), True), "from 0 to 5"),
    "missing": (
        edited(("players", 0, 3), ...),
        r"\[0\] lacks the information sets 3 \('Jpb'\); give",
    ),
    "all missing": (edited(("players", 1), []), r"\[1\] lacks the information sets 0 \('Qp'\), 1 "),
    "twice": (
        edited(("players", 0), lambda records: [*records, records[3]]),
        r"players\[0\]\[6\], information set 3 \('Jpb'\) is a duplicate",
    ),
    "other label": (in_record("label", "Zpb"), f"{PLACE} must have the label 'Jpb', got 'Zpb'"),
    "no label": (in_record("label", None), f"{PLACE} must .* got None"),
    "other action": (in_record("actions", ["p", "x"]), f"{PLACE} must have the actions"),
    "other order": (in_record("actions", ["b", "p"]), f"{PLACE} must have the actions"),
    "too many": (with_probabilities(0.5, 0.5, 0.0), f"{PLACE} must have 2 probabilities"),
    "no list": (in_record("probabilities", 1.0), f"{PLACE} must have 2 prob"),
    "not 1": (with_probabilities(0.5, 0.4), f"{PLACE} .* sum to 1 within 1e-06, got 0.9"),
    "nearly 1": (with_probabilities(0.5, 0.500002), "sum to 1 within 1e-06"),
    "negative": (with_probabilities(1.5, -0.5), f"{PLACE} .* probabilities from 0 to 1, got 1.5"),
    "nothing but zeros": (with_probabilities(0.0, 0.0), "sum to 1"),
    "nan": (with_probabilities(np.nan, 0.5), f"{PLACE} .* from 0 to 1, got nan"),
    "infinite": (with_probabilities(np.inf, 0.5), f"{PLACE} .* from 0 to 1, got inf"),
    "text": (with_probabilities("0.5", 0.5), f"{PLACE} .* from 0 to 1, got '0.5'"),
    "nothing": (with_probabilities(None, 1.0), f"{PLACE} .* from 0 to 1, got None"),
    "truth": (with_probabilities(True, 0.0), f"{PLACE} .* from 0 to 1, got True"),
    "huge": (with_probabilities(10**400, 0.0), f"{PLACE} .* from 0 to 1, got 1000"),
}


@pytest.mark.parametrize(("data", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_refused_with_its_place(data, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        Profile.from_dict(data, games.kuhn_poker())
    path = tmp_path / "strategy.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"strategy\.json"):
        Profile.from_json(path, games.kuhn_poker())


TEXTS = {
    "empty": ("", "line 1, column 1"),
    "no json": ("J: 0.5\nQ: 0.5", "line 1, column 1"),
    "a pickle": (pickle.dumps([1.0]), r"byte 0 is not UTF-8"),
    "nan": ('{"format": NaN}', "NaN is not a finite number"),
    "twice": ('{"format": 1, "format": 2}', "an entry 'format' is a duplicate"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "long": ("1" * 10_000, "digits"),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_a_file_that_holds_no_strategy_is_refused(text, message, tmp_path):
    path = tmp_path / "strategy.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=rf"strategy\.json.*{message}"):
        Profile.from_json(path, games.kuhn_poker())


def test_a_file_that_was_cut_off_is_refused_wherever_it_was_cut(tmp_path):
    game, path = games.kuhn_poker(), tmp_path / "strategy.json"
    mixed(game).to_json(path)
    whole = path.read_bytes()
    assert whole.endswith(b"]}\n")
    for length in [*range(0, len(whole) - 2, 9), len(whole) - 2]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"line \d+, column \d+: "):
            Profile.from_json(path, game)


def test_a_file_with_wrong_bytes_is_refused_or_still_holds_a_strategy(tmp_path):
    generator = np.random.default_rng(1)
    game, path = games.kuhn_poker(), tmp_path / "strategy.json"
    mixed(game).to_json(path)
    whole = path.read_bytes()
    refused = 0

    for _ in range(400):
        wrong = bytearray(whole)
        wrong[generator.integers(len(whole))] ^= 1 << generator.integers(8)
        path.write_bytes(wrong)
        try:
            profile = Profile.from_json(path, game)
        except ValueError:
            refused += 1
            continue
        # The last digits of a probability, or the name of the game
        assert all(d.contains(x, atol=1e-6) for d, x in zip(game.domains, profile, strict=True))
    assert refused > 200


def test_a_file_that_is_not_there_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Profile.from_json(tmp_path / "strategy.json", games.kuhn_poker())
