"""Suites hold what their games are known for, and a user's file extends them."""

from fractions import Fraction

import numpy as np
import pytest

import regretkit as rk
from regretkit import games
from regretkit.evaluation import solve_zero_sum
from regretkit.games import load
from regretkit.play import Simultaneous
from regretkit.workbench import Experiment, SuiteGame, suite
from regretkit.workbench._experiment import suite_names

ALL = {entry.game: entry for name in suite_names() for entry in suite(name)}
LARGE = 10_000


def game_of(entry):
    """Return a game of a suite, in extensive form if it is a public one."""
    game = load(entry.game)
    return game.to_tree() if hasattr(game, "to_tree") else game


LARGE_ONES = [
    pytest.param(entry, marks=pytest.mark.deep if (entry.histories or 0) > LARGE else ())
    for entry in ALL.values()
]


@pytest.mark.parametrize("entry", LARGE_ONES, ids=lambda entry: entry.game)
def test_a_game_has_the_size_and_the_value_in_the_suite(entry):
    game = game_of(entry)
    assert entry.source
    assert ((hasattr(game, "tree") and game.tree.histories) or None) == entry.histories
    if entry.value is not None and (entry.histories or 0) < 300_000:
        # By a linear program, independent of the source of the value.
        value = solve_zero_sum(game).value
        assert value == pytest.approx(float(Fraction(entry.value)), abs=1e-8)


def test_suites_are_what_they_are_said_to_be():
    known = "smoke", "classic", "papers", "general-sum", "last-iterate", "alphaevolve"
    assert suite_names() == known
    assert len(suite("papers")) >= 18
    public = [entry.game for entry in suite("papers") if entry.game.startswith("hold_em")]
    assert [type(load(text)).__name__ for text in public] == ["PublicGame"] * 2
    small = [entry for entry in ALL.values() if (entry.histories or 0) < LARGE]
    played = {entry.game: load(entry.game) for entry in small}
    two = {text: game for text, game in played.items() if len(game.domains) == 2}
    zero_sum = {text for text, game in two.items() if game.constant_sum is not None}
    general = {entry.game for entry in suite("general-sum") if entry in small}
    assert zero_sum.isdisjoint(general)
    several = {text for text, game in played.items() if len(game.domains) > 2}
    assert zero_sum | general | several == {*played}


@pytest.mark.parametrize("entry", suite("last-iterate"), ids=lambda entry: entry.game)
def test_the_last_iterates_of_rm_plus_do_not_converge(entry):
    game = load(entry.game)
    players = [rk.minimizers.RegretMatchingPlus(domain) for domain in game.domains]
    run, last = rk.SelfPlay(game, players, order=Simultaneous()).run(1_000), []
    for _ in range(50):
        last.append(rk.nash_conv(game, run.run(20).last_profile))
    assert max(last) > 10 * rk.nash_conv(game, run.average)


def test_random_payoffs_are_what_numpy_draws():
    first = games.random_matrix_game(3, 4, seed=7, distribution="normal")
    same = np.random.default_rng(7).normal(size=(3, 4))
    assert (first.payoffs == [same, -same]).all()
    uniform = load("random_matrix_game(200, seed=1)").payoffs[0]
    assert np.abs(uniform).max() <= 1.0
    assert abs(uniform.mean()) < 5 * (1 / 3 / uniform.size) ** 0.5


# A file of one's own


MINE = """
[[mine]]
game = "kuhn_poker(deck=4)"
histories = 154

[[mine]]
suite = "smoke"

[[more]]
suite = "mine"

[[more]]
game = "chicken"
"""


def test_a_file_extends_the_suites(tmp_path):
    path = tmp_path / "my_suites.toml"
    path.write_text(MINE)
    assert suite(f"{path}:mine") == (SuiteGame("kuhn_poker(deck=4)", 154), *suite("smoke"))
    assert suite(f"{path}:more") == (*suite(f"{path}:mine"), SuiteGame("chicken"))
    made = Experiment(suite(f"{path}:mine"), "cfr", 5)
    assert [task.histories for task in made.tasks][:2] == [154, 58]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[mine", "Expected"),
        ("[[other]]\ngame = 'chicken'", "there is no suite .*only other"),
        ("[[mine]]\ngame = 'chicken'\nhistory = 3", "'history'"),
        ("[[mine]]\nsuite = 'mine'", "there is no suite 'mine'"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(text, problem, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises((TypeError, ValueError), match=problem):
        suite(f"{path}:mine")


def test_a_suite_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="did you mean 'papers'"):
        suite("paper")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        suite("nowhere.toml:mine")
