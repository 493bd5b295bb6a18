"""Games of imperfect recall on the command line, with and without `--imperfect-recall`."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import regretkit as rk
from regretkit import games
from regretkit.evaluation import best_response_gains, nash_conv
from regretkit.games import GameTree, ImperfectRecallGame, Profile, dudo_history, save

EXAMPLES = Path(__file__).parents[2] / "examples" / "games"
DRIVER = games.load(EXAMPLES / "absent_minded_driver.efg")
SWITCH = "--imperfect-recall"


@pytest.fixture
def folder(folder):
    """Return the working directory, with games of imperfect recall."""
    shutil.copy(EXAMPLES / "absent_minded_driver.efg", "driver.efg")
    tree = GameTree.from_history(dudo_history(sides=2, memory=1))
    save(ImperfectRecallGame(tree, name="short memory"), "dudo.efg")
    return folder


def difference_within_sets(game, profile):
    """Return the largest difference between strategies at the parts of an information set."""
    apart = 0.0
    for own, domain, kinds in zip(
        profile, game.refinement.domains, game.coarse_information_set, strict=True
    ):
        behavior = domain.behavior(own)
        for kind in np.unique(kinds):
            blocks = [domain.simplices.block(int(b)) for b in np.flatnonzero(kinds == kind)]
            parts = np.array([behavior[block] for block in blocks])
            apart = max(apart, float(np.ptp(parts, axis=0).max()))
    return apart


@pytest.mark.parametrize("words", [["solve"], ["evaluate", "uniform"], ["compare"]])
def test_without_the_option_imperfect_recall_is_refused_in_one_line(refused, words):
    more = ["--algorithms", "cfr"] if words == ["compare"] else []
    err = refused(words[0], "driver.efg", *words[1:], *more)

    assert "imperfect recall: player 0 cannot tell the empty history from 'go on'" in err
    assert "pass --imperfect-recall, which has no convergence guarantee" in err
    assert "in Python" not in err


def test_imperfect_recall_games_are_not_solved_exactly(refused):
    assert "regretkit solve --imperfect-recall plays them" in refused("exact", "driver.efg")


@pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "dcfr"])
@pytest.mark.parametrize("path", ["driver.efg", "dudo.efg"])
def test_reported_values_are_those_of_coarsened_strategies(report, path, algorithm):
    words = ("solve", path, SWITCH, "--algorithm", algorithm, "--iterations", 60)
    came = report(*words, "--out", "a.json")

    game = games.load(path)
    run = rk.solve(game, algorithm, iterations=60, imperfect_recall=True)
    profile = game.coarsen(run.average)
    assert came["imperfect_recall"] is True
    assert came["value"] == pytest.approx(list(game.refinement.value(profile)), abs=1e-12)
    assert came["gap"] == pytest.approx(nash_conv(game.refinement, profile), abs=1e-12)
    assert came["curve"]["gap"][-1] == came["gap"]
    if path == "dudo.efg":  # what happens to be played alike proves nothing
        assert difference_within_sets(game, run.average) > 1e-3
    written = Profile.from_json("a.json", game.refinement)
    assert difference_within_sets(game, written) < 1e-12


def test_the_driver_leaves_as_counterfactual_regret_has_it(run):
    _, out, _ = run("solve", "driver.efg", SWITCH, "--iterations", 2000)

    # As if it came to both exits for sure: leaving earns 0 + 4 there, and going on 4 p + 1 - p + 1
    # if it leaves with probability p, which is as much where p = 2/3.
    assert len(re.findall(r"exit  leave 0\.66\d\d  go on 0\.33\d\d", out)) == 2
    assert "One information set is on several lines" in out
    assert "what best responses with perfect recall would gain" in out


def test_the_option_changes_nothing_with_perfect_recall(report):
    words = ("solve", "kuhn_poker", "--iterations", 50)

    plain, switched = report(*words), report(*words, SWITCH)
    assert plain["gap"] == switched["gap"]
    assert switched["imperfect_recall"] is False


@pytest.mark.parametrize("sample", [None, "external"])
def test_a_run_of_imperfect_recall_is_resumed_bitwise_identically(report, folder, sample):
    words = ["solve", "dudo.efg", SWITCH, *(["--sample", sample] if sample else [])]
    report(*words, "--iterations", 20, "--checkpoint", "run")
    game = ("--game", "dudo.efg")
    came = report("resume", "run", *game, "--iterations", 50, "--out", "a.json")
    whole = report(*words, "--iterations", 50, "--out", "b.json")

    assert came["imperfect_recall"] is True
    assert came["iterations"] == 50
    assert came["curve"]["gap"] == whole["curve"]["gap"]
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_a_run_of_the_library_is_resumed_with_its_game(report, refused):
    rk.solve(DRIVER, "cfr", iterations=20, imperfect_recall=True).save("run")

    assert "pass it with --game" in refused("resume", "run", "--iterations", 50)
    came = report("resume", "run", "--iterations", 50, "--game", "driver.efg")
    whole = report("solve", "driver.efg", SWITCH, "--algorithm", "cfr", "--iterations", 50)
    assert came["gap"] == whole["gap"]


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "driver.efg", SWITCH, "--gap", "0.1"],
        ["solve", "driver.efg", SWITCH, "--gap", "0.1", "--iterations", "9"],
        ["compare", "driver.efg", SWITCH, "--gap", "0.1", "--algorithms", "cfr"],
        ["resume", "run", "--game", "driver.efg", "--gap", "0.1"],
    ],
)
def test_a_gap_limit_is_refused_with_imperfect_recall(refused, report, words):
    report("solve", "driver.efg", SWITCH, "--iterations", 2, "--checkpoint", "run")
    told = refused(*words)
    assert "--gap: got 0.1, but with imperfect recall no gap is known to vanish" in told


def test_a_strategy_is_coarsened_before_its_evaluation(report):
    remembered = DRIVER.refinement
    behavior = np.array([0.25, 0.75, 0.5, 0.5])  # at the first and the second exit
    vectors = [remembered.domains[0].sequence_form(behavior)]
    Profile(vectors, remembered.domains, remembered).to_json("a.json")

    came = report("evaluate", "driver.efg", "a.json", SWITCH)
    # It comes to the first exit always and to the second with 3/4, and cannot tell which it is.
    leave = (0.25 + 0.75 * 0.5) / 1.75
    value = (1 - leave) * (4 * leave + 1 - leave)
    assert came["value"] == pytest.approx([value], abs=1e-12)
    # With perfect recall the driver continues once and then leaves.
    assert came["gains"] == pytest.approx([4.0 - value], abs=1e-12)
    pure = report("evaluate", "driver.efg", "a.json", SWITCH, "--purify")
    assert pure["gap_before"] == pytest.approx(came["gap"], abs=1e-12)
    assert pure["value"] == pytest.approx([1.0], abs=1e-12)  # always go on


def test_openspiel_games_may_have_imperfect_recall(report, run, refused):
    pytest.importorskip("pyspiel")
    name = "dark_hex_ir(num_cols=2,num_rows=2)"
    words = ("solve", f"openspiel:{name}", "--iterations", 40)
    came = report(*words, SWITCH)

    assert "pass --imperfect-recall" in refused(*words)
    # The same game by its rules, in which actions are called otherwise.
    game = ImperfectRecallGame(GameTree.from_history(games.openspiel_history(name)))
    average = game.coarsen(rk.solve(game, "cfr+", iterations=40, imperfect_recall=True).average)
    assert came["value"] == pytest.approx(list(game.refinement.value(average)), abs=1e-9)
    assert came["gap"] == pytest.approx(nash_conv(game.refinement, average), abs=1e-9)
    assert "imperfect recall" in run("show", f"openspiel:{name}", "--limit", 1)[1]


def test_algorithms_are_compared_on_imperfect_recall_games(report, run):
    words = ("compare", "driver.efg", "kuhn_poker", SWITCH, "--algorithms", "cfr,cfr+")
    rows = report(*words, "--iterations", 30)["rows"]

    for name in ("cfr", "cfr+"):
        average = rk.solve(DRIVER, name, iterations=30, imperfect_recall=True).average
        known = sum(best_response_gains(DRIVER.refinement, DRIVER.coarsen(average)))
        last = [r for r in rows if (r["game"], r["algorithm"]) == ("driver.efg", name)][-1]
        assert (last["iteration"], last["gap"]) == (30, pytest.approx(known, abs=1e-12))
    assert "best responses with perfect recall" in run(*words, "--iterations", 3)[1]
