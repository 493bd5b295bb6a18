"""Games whose trees do not fit are played by their rules alone."""

from pathlib import Path

import numpy as np
import pytest

import regretkit as rk
from regretkit.evaluation import sampled_local_best_response, sampled_value
from regretkit.games import VisitedProfile, liars_dice_batch, load_rules
from regretkit.play import _measures
from regretkit.play._measures import sampled_gap

TOO_LARGE, TICTACTOE = "liars_dice(dice=2)", "phantom_tic_tac_toe"
SAMPLE = "--sample", "external"


def test_a_game_without_a_tree_is_played_as_solve_plays_its_rules(report):
    words = ("--sample", "external", "--iterations", 2, "--seed", 3, "--out", "dice.json")
    told = report("solve", TOO_LARGE, *words)
    mine = rk.solve(liars_dice_batch(dice=2), sampling="external", seed=3, iterations=2)
    assert told["information_sets"] == list(mine.information_sets)
    assert (told["iterations"], told["algorithm"]) == (2, "lcfr")
    read = VisitedProfile.from_json("dice.json")
    first = next(iter(mine.average[0]))
    actions = mine.average[0].actions(first)
    assert np.allclose(read[0](first, actions), mine.average[0](first, actions), atol=1e-12)


def test_external_sampling_is_meant_where_none_is_named(report):
    told = report("solve", TOO_LARGE, "--iterations", 1, "--seed", 3, "--sample")
    named = report("solve", TOO_LARGE, "--sample", "external", "--iterations", 1, "--seed", 3)
    assert told["information_sets"] == named["information_sets"]


def test_the_report_says_that_no_gap_is_known(run):
    code, out, _ = run("solve", TOO_LARGE, "--algorithm", "mccfr", "--iterations", 1)
    assert code == 0
    assert "without its tree: no gap is known" in out
    assert "mccfr, external sampling" in out


LARGE = ["battleship(height=6, width=6)", TICTACTOE, "sheriff(rounds=30)", "openspiel:chess"]


@pytest.mark.parametrize("game", LARGE)
def test_large_games_are_played(report, game):
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    told = report("solve", game, "--sample", "outcome", "--iterations", 3)
    assert told["iterations"] == 3
    assert sum(told["information_sets"]) > 3


def test_each_player_may_have_an_algorithm_of_its_own(report):
    words = ("--sample", "outcome", "--seed", 3, "--iterations", 20)
    told = report("solve", TICTACTOE, "--algorithm", "cfr,cfr+", *words)
    mine = rk.solve(
        load_rules(TICTACTOE), ["cfr", "cfr+"], sampling="outcome", seed=3, iterations=20
    )
    assert told["information_sets"] == list(mine.information_sets)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("solve", TOO_LARGE), "or pass --sample external, which plays without the tree"),
        (("solve", TOO_LARGE, *SAMPLE, "--gap", 1), "--gap: the game's tree is needed"),
        (("solve", TOO_LARGE, *SAMPLE, "--plot", "x.svg"), "--plot: the game's tree is needed"),
        (("solve", TOO_LARGE, *SAMPLE, "--engine", "numpy"), "--engine: the game's tree"),
        (("solve", TOO_LARGE, *SAMPLE, "--imperfect-recall"), "--imperfect-recall: the game's"),
        (("solve", TOO_LARGE, "--sample", "chance"), "--sample: must be external or outcome"),
        (("solve", TOO_LARGE, *SAMPLE, "--algorithm", "cfr,cfr,cfr"), "each of the 2 players"),
        (("solve", "liars_dice(dice=40)", *SAMPLE), "choose a smaller game"),
        (("show", TICTACTOE), "no memory holds the tree of phantom_tic_tac_toe"),
        (("compare", TICTACTOE, "--algorithms", "cfr"), "or pass --sample external"),
        (("play", TICTACTOE, "nowhere.json", "--matches", 1), "STRATEGY: 'nowhere.json'"),
        (("play", TICTACTOE, *["uniform"] * 3, "--matches", 1), "has 2 players; name one"),
        (("evaluate", "kuhn_poker", "uniform", "--samples", 9), "with the tree all is exact"),
    ],
)
def test_what_cannot_be_done_without_the_tree_is_refused(refused, words, problem):
    assert problem in refused(*words)


def test_a_saved_run_is_resumed_to_the_same_bits(run, report, refused):
    sampled = ("--sample", "outcome", "--seed", 5)
    report("solve", TICTACTOE, *sampled, "--iterations", 40, "--out", "whole.json")
    report("solve", TICTACTOE, *sampled, "--iterations", 25, "--checkpoint", "saved")
    code, _, err = run("resume", "saved")
    assert (code, "nothing is left to play" in err) == (0, True)
    told = report("resume", "saved", "--iterations", 40, "--out", "resumed.json")
    assert (told["iterations"], told["checkpoint"]) == (40, "saved")
    assert Path("whole.json").read_bytes() == Path("resumed.json").read_bytes()
    for words, problem in (
        (("solve", TICTACTOE, *sampled, "--checkpoint", "saved"), "exists already"),
        (("resume", "saved", "--game", "liars_dice(dice=2)"), "belongs to the game"),
        (("resume", "saved", "--iterations", 50, "--gap", 1), "--gap: the game's tree is needed"),
    ):
        assert problem in refused(*words)


@pytest.mark.deep
def test_runs_of_python_and_of_openspiel_are_resumed(refused, report):
    rk.solve(load_rules(TICTACTOE), "cfr", sampling="outcome", iterations=3).save("mine")
    assert "pass it with --game" in refused("resume", "mine")
    told = report("resume", "mine", "--game", TICTACTOE, "--iterations", 9)
    assert (told["iterations"], told["algorithm"]) == (9, "mccfr")
    pytest.importorskip("pyspiel")
    chess = ("--sample", "outcome", "--iterations", 1, "--checkpoint", "chess")
    report("solve", "openspiel:chess", *chess)
    told = report("resume", "chess", "--game", "openspiel:chess", "--iterations", 2)
    assert told["iterations"] == 2


@pytest.mark.deep
def test_a_strategy_is_played_and_evaluated(run, report):
    report("solve", TICTACTOE, "--sample", "outcome", "--iterations", 300, "--out", "ttt.json")
    told = report("play", TICTACTOE, "ttt.json", "uniform", "--matches", 60, "--seed", 2)
    assert [row["expected"] for row in told["results"]] == [None, None]
    assert told["results"][0]["mean"] == -told["results"][1]["mean"]
    code, out, _ = run("play", TICTACTOE, "ttt.json", "uniform", "--matches", 3)
    assert (code, "exact mean" in out) == (0, False)

    told = report("evaluate", TICTACTOE, "ttt.json", "--samples", 40, "--seed", 4)
    rules, profile = load_rules(TICTACTOE), VisitedProfile.from_json("ttt.json")
    values = sampled_value(rules, profile, 40, 4)
    best = [sampled_local_best_response(rules, p, profile, 40, 4, rollouts=10) for p in (0, 1)]
    assert told["value"] == [value.mean for value in values]
    assert told["local_best_response"] == [estimate.mean for estimate in best]
    assert told["gap"] == pytest.approx(sum(told["local_best_response"]) - sum(told["value"]))
    code, out, _ = run("evaluate", TICTACTOE, "uniform", "--samples", 5, "--out", "uniform.json")
    assert code == 0
    assert "without its tree: all numbers are estimates" in out
    purified = report("evaluate", TICTACTOE, "ttt.json", "--purify", "--samples", 2)
    assert purified["samples"] == 2


@pytest.mark.deep
def test_games_are_compared_by_what_local_best_responses_gain(report, monkeypatch):
    monkeypatch.setattr(_measures, "_GAMES", 2)
    words = ("--algorithms", "cfr,cfr+", "--sample", "outcome", "--iterations", 30, "--seeds", 2)
    told = report("compare", TICTACTOE, "kuhn_poker", *words)
    rows = [row for row in told["rows"] if row["game"] == TICTACTOE]
    played = [(row["algorithm"], row["seed"]) for row in rows]
    assert played == [("cfr", 0), ("cfr", 1), ("cfr+", 0), ("cfr+", 1)]
    assert all(row["iteration"] == 30 and "gap" not in row for row in rows)
    mine = rk.solve(load_rules(TICTACTOE), "cfr", sampling="outcome", seed=1, iterations=30)
    assert rows[1]["local_best_response"] == sampled_gap(mine)


def test_a_strategy_of_another_game_is_refused(refused, report):
    report("solve", TICTACTOE, "--sample", "outcome", "--iterations", 3, "--out", "ttt.json")
    for words in (
        ("play", TOO_LARGE, "ttt.json", "--matches", 3),
        ("evaluate", TOO_LARGE, "ttt.json"),
    ):
        assert "ttt.json was written for another game" in refused(*words)


def test_a_game_without_a_tree_is_listed_and_explained(run, report):
    listed = {row["name"]: row for row in report("games")["games"]}
    assert listed[TICTACTOE]["histories"] is None
    code, out, _ = run("games", TICTACTOE)
    assert code == 0
    assert "in which no player sees the marks of the other" in out
