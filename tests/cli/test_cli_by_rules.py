"""Games whose trees do not fit are played by their rules alone."""

import numpy as np
import pytest

import regretkit as rk
from regretkit.games import VisitedProfile, liars_dice_batch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


TOO_LARGE = "liars_dice(dice=2)"


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


def test_the_report_says_that_no_gap_is_known(run):
    code, out, _ = run("solve", TOO_LARGE, "--algorithm", "mccfr", "--iterations", 1)
    assert code == 0
    assert "without its tree: no gap is known" in out
    assert "mccfr, external sampling" in out


def test_games_of_openspiel_are_played_without_a_tree(report):
    pytest.importorskip("pyspiel")
    told = report("solve", "openspiel:chess", "--sample", "outcome", "--iterations", 1)
    assert told["iterations"] == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((TOO_LARGE,), "or pass --sample external, which plays without the tree"),
        ((TOO_LARGE, "--sample", "external", "--gap", 1), "--gap: the game's tree is needed"),
        ((TOO_LARGE, "--sample", "external", "--checkpoint", "x"), "--checkpoint: the game's"),
        ((TOO_LARGE, "--sample", "chance"), "--sample: must be external or outcome"),
        (("battleship(width=6, height=6)", "--sample", "external"), "choose a smaller game"),
    ],
)
def test_what_needs_the_tree_is_refused(run, words, problem):
    code, out, err = run("solve", *words)
    assert (code, out) == (2, "")
    assert problem in err


@pytest.mark.parametrize("game", ["kuhn_poker", TOO_LARGE])
def test_a_rule_for_one_simplex_is_referred_to_per_decision_point(folder, run, game, tmp_path):
    lines = [
        "import regretkit as rk",
        "class Uniform(rk.RegretMinimizer):",
        "    def __init__(self, actions):",
        "        self.domain = rk.Simplices([actions])",
        "    def _propose(self):",
        "        return self.domain.uniform()",
        "    def _learn(self, utility, strategy):",
        "        pass",
    ]
    (tmp_path / "one_simplex.py").write_text("\n".join(lines))
    words = ("--rule", "one_simplex:Uniform", "--sample", "external", "--iterations", 1)
    code, _, err = run("solve", game, *words)
    assert code == 2
    assert "PerDecisionPoint(rule)" in err
    assert err.count("\n") == 1
