"""Public games in machine code: equal to NumPy and to their game trees."""

import numpy as np
import pytest
from public_games import kuhn, on_tree, random_profile, river
from test_agreement import PUBLIC

from regretkit.engine._layout import lay_out, zero_iterates
from regretkit.engine.kernels._payoffs import compute_utility
from regretkit.games import hold_em
from regretkit.games.public import Compare, Deal, Decision, Free, PublicGame, PublicTree
from regretkit.play import ALGORITHMS, At, Recorder, every, resume, solve


def utility(game, player, profile):
    """Return a player's utility as the engine computes it, run as Python."""
    trees, payoffs = lay_out(game)
    iterates = zero_iterates(trees, 0)
    iterates.strategy[trees.sequence] = np.concatenate(profile)
    compute_utility(player, payoffs, trees, iterates)
    begin, end = trees.begin[player : player + 2]
    return iterates.utility[trees.sequence[begin:end]]


@pytest.mark.parametrize("name", PUBLIC)
def test_machine_code_adds_up_in_the_order_of_numpy(name):
    game = PUBLIC[name]
    for seed in range(3):
        profile = random_profile(game, seed)
        for player in (0, 1):
            found = utility(game, player, profile)
            assert np.array_equal(found, game.utility(player, profile))


def test_what_rounding_leaves_is_nothing_in_machine_code():
    # The first type meets the last alone, which does not bet: it is what 1.5 - 0.9 - 0.6 leaves.
    held = np.array([[0, 1], [0, 2], [1, 3], [0, 4], [1, 5], [6, 7]])
    deal = Deal(["abcdef"] * 2, cards=[held] * 2, strengths=[np.arange(6)] * 2)
    answer = Decision(1, {"fold": Free(1), "call": Compare(2, -2)})
    game = PublicGame(PublicTree(Decision(0, {"bet": answer, "check": Compare(1, -1)})), deal)
    bets = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.0])
    first = game.domains[0].sequence_form(np.column_stack([bets, 1 - bets]).ravel())
    by_type = utility(game, 1, [first, random_profile(game)[1]])[1:].reshape(6, 2)
    assert (by_type[0] == 0).all()
    assert (by_type[1:] != 0).all()


def test_runs_on_a_game_share_all_but_what_they_write():
    game = kuhn(5)
    (trees, payoffs), (same, others) = (lay_out(game) for _ in range(2))
    assert trees is same
    written = {"reach", "by_card", "below", "sums", "total", "earned"}
    shared = {name for name in payoffs._fields if getattr(payoffs, name) is getattr(others, name)}
    assert shared == {*payoffs._fields} - written


NAMES = [name for name in ALGORITHMS if name != "mccfr"]  # which plays trees alone
IN_MACHINE_CODE = [name for name in NAMES if name != "linear-swap"]


def assert_played_as_its_tree(game, name, engine, iterations):
    tree = game.to_tree()
    found = solve(game, name, iterations=iterations, engine=engine).average
    expected = solve(tree, name, iterations=iterations, engine="numpy").average
    for ours, theirs in zip(on_tree(game, tree, found), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_a_public_game_is_played_as_its_tree(name, engine):
    # One of few random games in which no regrets come close to a tie: where they do, rounding
    # grows with every iteration, to 1e-7 in a hundred of DCFR.
    assert_played_as_its_tree(river(6, 39), name, engine, 100)


def test_what_is_recorded_of_a_public_game_is_that_of_its_tree():
    game = river(6, 39)

    def recorded(played):
        record = Recorder(("nash_conv", "exploitability", "last_nash_conv", "external_regret"))
        solve(played, "dcfr", iterations=30, callbacks=[At(every(10), record)])
        return record.values

    found, expected = recorded(game), recorded(game.to_tree())
    assert found["nash_conv"][-1] < found["nash_conv"][0]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name][1:], values[1:], rtol=1e-10)


@pytest.mark.deep
@pytest.mark.parametrize("name", IN_MACHINE_CODE)
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_a_turn_is_played_as_its_tree(name, engine):
    # 28 x 28 hands with random weights. There are hands on rivers for which all actions are worth
    # the same; linear maps of it take a minute.
    weights = np.random.default_rng(38).uniform(0.5, 1, (2, 66))
    game = hold_em("2c3d3h4c", tuple(weights), 40, 100, deck="2-4")
    assert game.deal.sizes == (28, 28)
    assert_played_as_its_tree(game, name, engine, 20)


def test_a_file_is_not_resumed_with_another_deal(tmp_path):
    solve(river(5), "cfr+", iterations=3).save(tmp_path / "run")
    with pytest.raises(ValueError, match="has the game"):
        resume(tmp_path / "run", river(5, 1))
