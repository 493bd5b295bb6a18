"""Strategies from play without a tree: files, tables, other libraries, opponents."""

import json

import numpy as np
import pytest

import regretkit as rk
from regretkit import evaluation, games
from regretkit.games import VisitedProfile
from regretkit.play import ExternalSampling, Sampled, StrategyAgent, play_match


def averaged(game, iterations=200, seed=1):
    sampling = ExternalSampling(np.random.default_rng(seed))
    return Sampled(game, rk.RegretMatching, sampling).run(iterations).average


GAMES = {
    "kuhn": games.kuhn_poker(),
    "of three": games.kuhn_poker(players=3),
    "by rules": games.LeducPoker(merge_suits=True),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_file_gives_back_every_distribution_by_label(game, tmp_path):
    average = averaged(game)
    average.to_json(tmp_path / "average.json")
    read = VisitedProfile.from_json(tmp_path / "average.json")
    assert list(map(len, read)) == list(map(len, average))
    for before, after in zip(average, read, strict=True):
        for key in before:
            assert (after[str(key)] == before[key]).all()
            assert after.actions(str(key)) == tuple(map(str, before.actions(key)))
    read.to_json(tmp_path / "again.json")
    first, second = (tmp_path / name for name in ("average.json", "again.json"))
    assert json.loads(first.read_text())["parents"] == json.loads(second.read_text())["parents"]


def test_a_profile_of_a_whole_tree_is_that_of_the_game():
    game = games.kuhn_poker()
    average = averaged(game, 2_000)
    assert list(map(len, average)) == [6, 6]
    gap = evaluation.nash_conv(game, average)
    by_label = {label: average.profile[label] for labels in game.tree.labels for label in labels}
    assert gap == pytest.approx(
        evaluation.nash_conv(game, games.Profile.from_labels(game, by_label))
    )
    rows = average.to_dataframe()
    assert len(rows) == 24
    reached = rows[(rows.label == "Kpb") & (rows.action == "b")].reach.item()
    assert reached == pytest.approx(average.profile["K"][0])


def test_distributions_are_found_by_label():
    average = averaged(GAMES["kuhn"])
    for key in ("K", (1, "Kb")):
        assert np.array_equal(average[key], average.profile[key])
    assert average[-1] is average[:2][1]
    with pytest.raises(ValueError, match="did you mean 'Kb'"):
        average["Kbb"]


def test_a_threshold_removes_what_is_below_it_as_on_the_tree():
    game = games.kuhn_poker()
    average = averaged(game, 2_000)
    expected = evaluation.threshold(game, average, 0.2).profile
    cleaned = average.threshold(0.2).profile
    for label in (*game.tree.labels[0], *game.tree.labels[1]):
        np.testing.assert_allclose(cleaned[label], expected[label], atol=1e-12)
    assert (average.threshold(0.2).profile["Kb"] == [0, 1]).all()
    for key in average[0]:
        assert (average.threshold(0.0)[0][key] == average[0][key]).all()
    with pytest.raises(ValueError, match=r"minimum must be from 0 to 1, got 2"):
        average.threshold(2)


def test_what_was_read_plays_and_is_estimated_as_what_was_written(tmp_path):
    rules = games.LeducPoker(merge_suits=True)
    average = averaged(rules)
    average.to_json(tmp_path / "leduc.json")
    read = VisitedProfile.from_json(tmp_path / "leduc.json")
    estimates = [
        evaluation.sampled_value(rules, profile, 300, np.random.default_rng(3))
        for profile in (average, read)
    ]
    for first, second in zip(*estimates, strict=True):
        assert first.mean == pytest.approx(second.mean, abs=1e-12)
    agents = [StrategyAgent(read, np.random.default_rng(seed)) for seed in range(2)]
    assert play_match(rules, agents, 20, np.random.default_rng(0)).payoffs.shape == (20, 2)


def test_openspiel_takes_it_as_a_policy_uniform_elsewhere(tmp_path):
    pyspiel = pytest.importorskip("pyspiel")
    history = games.openspiel_history("leduc_poker")
    average = averaged(history, 30)
    tree = games.from_openspiel("leduc_poker")
    ours = evaluation.nash_conv(tree, average)
    average.to_json(tmp_path / "leduc.json")
    for profile in (average, VisitedProfile.from_json(tmp_path / "leduc.json")):
        policy = games.to_openspiel_policy(history, profile)
        theirs = pyspiel.nash_conv(pyspiel.load_game("leduc_poker"), policy, True)
        assert theirs == pytest.approx(ours, abs=1e-9)
    with pytest.raises(TypeError, match=r"profile must be .*Sampled"):
        games.to_openspiel_policy(history, [np.zeros(3)] * 2)
    without = games.openspiel_history("catch(rows=3,columns=2)")
    with pytest.raises(ValueError, match="has no information state strings, which are the keys"):
        games.to_openspiel_policy(without, averaged(without, 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something"}, "must have the format 'regretkit strategy without a tree'"),
        ({"version": 2}, "has version 2 of the format, but only 1 can be read"),
        ({"players": 3}, "must have parents for each player"),
        ({"parents": [[0]]}, "must have parents for each player"),
        ({"parents": [[0] * 6, [9] * 6]}, r"players\[1\] are no information sets with parents"),
        ({"players": [[{"label": "J"}], []]}, r"players\[0\] are no information sets"),
    ],
)
def test_other_files_are_refused_with_the_place(change, message, tmp_path):
    path = tmp_path / "average.json"
    averaged(games.kuhn_poker(), 50).to_json(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        VisitedProfile.from_json(path)


def test_probabilities_of_a_file_must_be_some_and_labels_differ(tmp_path):
    path = tmp_path / "average.json"
    averaged(games.kuhn_poker(), 50).to_json(path)
    content = json.loads(path.read_text())
    content["players"][0][0]["probabilities"] = [0.5, 0.6]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"players\[0\]\[0\].*sum to 1"):
        VisitedProfile.from_json(path)
    content["players"][0][0] |= {"probabilities": [0.5, 0.5], "label": "same"}
    content["players"][0][1]["label"] = "same"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"players\[0\] must have labels that differ"):
        VisitedProfile.from_json(path)


def test_a_file_with_the_fingerprint_of_its_rules_is_of_no_other_game(tmp_path):
    rules, other = games.load_rules("kuhn_poker"), games.load_rules("kuhn_poker(deck=4)")
    average = rk.solve(rules, iterations=5).average
    average.to_json(tmp_path / "a.json", rules)
    average.to_json(tmp_path / "any.json")
    for path in (tmp_path / "a.json", tmp_path / "any.json"):
        for read in (VisitedProfile.from_json(path), VisitedProfile.from_json(path, rules)):
            assert [len(strategy) for strategy in read] == [len(strategy) for strategy in average]
    VisitedProfile.from_json(tmp_path / "any.json", other)
    with pytest.raises(ValueError, match="was written for another game, of fingerprint"):
        VisitedProfile.from_json(tmp_path / "a.json", other)
