"""Games beyond two-player zero-sum, and in the dark: sizes, values and peers."""

from itertools import product

import numpy as np
import pytest

from regretkit import games
from regretkit.games import load

# Normal form


@pytest.mark.parametrize(("players", "capacity"), [(3, 1), (4, 2), (5, 3), (3, 0)])
def test_the_pure_equilibria_of_el_farol_fill_the_bar(players, capacity):
    game = games.el_farol(players, capacity)
    for profile in product(range(2), repeat=players):
        earned = game.payoffs[(slice(None), *profile)]
        gains = [
            game.payoffs[(player, *profile[:player], 1 - profile[player], *profile[player + 1 :])]
            - earned[player]
            for player in range(players)
        ]
        assert (max(gains) <= 0) == (profile.count(0) == capacity)


def test_the_potential_of_a_congestion_game_changes_by_what_a_player_gains():
    delays = ((0.0, 1.0), (2.0, 0.0), (0.5, 0.75))
    game = games.congestion_game(players=3, roads=delays)

    def potential(profile):
        taken = [profile.count(road) for road in range(3)]
        return sum(a * k + b * k * (k + 1) / 2 for (a, b), k in zip(delays, taken, strict=True))

    for profile in product(range(3), repeat=3):
        for player, road in product(range(3), repeat=2):
            changed = (*profile[:player], road, *profile[player + 1 :])
            gain = game.payoffs[(player, *changed)] - game.payoffs[(player, *profile)]
            assert gain == pytest.approx(potential(profile) - potential(changed))


@pytest.mark.parametrize("values", [(3, 2), (2, 2, 1), (0, 4)])
def test_to_bid_ones_value_is_weakly_dominant_at_the_second_price_alone(values):
    for price in ("first", "second"):
        payoffs = games.sealed_bid_auction(values, price).payoffs
        dominant = [
            (np.moveaxis(payoffs[i], i, 0)[value] >= np.moveaxis(payoffs[i], i, 0)).all()
            for i, value in enumerate(values)
        ]
        assert all(dominant) == (price == "second")


# Trees


@pytest.mark.parametrize(
    ("call", "information_sets", "sequences", "terminals"),
    [
        ("sheriff", (78, 21), (243, 43), 396),
        ("sheriff(3, 3, 2)", (37, 36), (149, 73), 256),
        ("sheriff(3, 3, 3)", (293, 292), (1173, 585), 2048),
        ("sheriff(10, 2, 3)", (474, 129), (1431, 259), 2376),
        ("battleship(1, 3)", (22, 25), (49, 58), 135),
        ("battleship(shots=3)", (341, 397), (741, 917), 2224),
        ("kuhn_poker(players=3)", (16,) * 3, (33,) * 3, 312),
        ("goofspiel(3, players=3)", (28,) * 3, (58,) * 3, 216),
        ("goofspiel(3, players=3, ties='split')", (28,) * 3, (58,) * 3, 216),
        ("leduc_poker(3, 3, merge_suits=True, raises=1)", (228,) * 3, (457,) * 3, 4500),
        ("signalling", (2, 2), (5, 5), 8),
        ("in_out", (3,), (7,), 4),
        ("extended_shapley", (4, 1), (10, 4), 18),
    ],
)
def test_games_of_the_literature_on_correlation_have_its_sizes(
    call, information_sets, sequences, terminals
):
    game = load(call)
    assert game.tree.information_sets == information_sets
    assert tuple(domain.dimension for domain in game.domains) == sequences
    assert game.tree.terminals.size == terminals


def test_sheriff_is_the_one_of_openspiel_at_its_parameters():
    pytest.importorskip("pyspiel")
    parameters = {"items": 3, "bribe": 2, "rounds": 2}
    found = games.sheriff(**parameters, value=1.0, penalty=2.0, compensation=3.0)
    expected = games.from_openspiel(
        "sheriff(max_items=3,max_bribe=2,num_rounds=2,item_value=1.0,item_penalty=2.0,"
        "sheriff_penalty=3.0)"
    )
    np.testing.assert_array_equal(found.tree.payoffs, expected.tree.payoffs)
    np.testing.assert_array_equal(found.tree.parent, expected.tree.parent)
    np.testing.assert_array_equal(found.tree.information_set, expected.tree.information_set)


def test_tiny_hanabi_is_the_one_of_openspiel():
    pytest.importorskip("pyspiel")
    found, expected = games.tiny_hanabi(), games.from_openspiel("tiny_hanabi")
    np.testing.assert_array_equal(found.tree.payoffs, expected.tree.payoffs)
    np.testing.assert_array_equal(found.tree.information_set, expected.tree.information_set)


@pytest.mark.parametrize("returns", ["total_points", "win_loss"])
def test_split_ties_share_the_prize_and_lose_no_points(returns):
    for players, cards in (2, 4), (3, 3):
        split, discarded = (
            games.goofspiel(cards, players=players, ties=ties, returns=returns).tree
            for ties in ("split", "discard")
        )
        np.testing.assert_array_equal(split.parent, discarded.parent)
        np.testing.assert_array_equal(split.information_set, discarded.information_set)
        total = cards * (cards + 1) / 2 if returns == "total_points" else 0.0
        np.testing.assert_allclose(split.payoffs.sum(axis=1), total, atol=1e-12)
    # In the last, all hold the same cards in the same order: a third each, or nothing
    assert split.payoffs[0] == pytest.approx([total / 3] * 3)
    assert discarded.payoffs[0] == pytest.approx([0.0] * 3)


@pytest.mark.parametrize("abrupt", [False, True])
def test_phantom_tic_tac_toe_is_played_as_in_openspiel(abrupt):
    pyspiel = pytest.importorskip("pyspiel")
    version = "abrupt" if abrupt else "classical"
    expected = pyspiel.load_game(f"phantom_ttt(gameversion={version},obstype=reveal-nothing)")
    names, generator = {}, np.random.default_rng(abrupt)
    for _ in range(300):
        history, state = (
            games.as_history(games.PhantomTicTacToe(abrupt=abrupt)),
            expected.new_initial_state(),
        )
        while not history.is_terminal():
            assert history.player() == state.current_player()
            assert list(map(int, history.actions())) == state.legal_actions()
            theirs_name = history.player(), state.information_state_string()
            ours_name = history.information_set()
            assert names.setdefault(ours_name, theirs_name) == theirs_name
            assert names.setdefault(theirs_name, ours_name) == ours_name
            action = generator.choice(history.actions())
            history = history.child(action)
            state.apply_action(int(action))
        assert state.is_terminal()
        assert list(history.payoffs()) == state.returns()
    assert len(names) > 2000


# Refusals


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("el_farol(capacity=-1)", ValueError, "capacity must be .* at least 0, got -1"),
        ("el_farol(players=100)", MemoryError, "outcomes"),
        ("congestion_game(roads=(1, 2))", ValueError, r"roads must be pairs .* got \(1, 2\)"),
        ("congestion_game(players=0)", ValueError, "players must be .* at least 1, got 0"),
        ("sealed_bid_auction(values=(3,))", ValueError, "values must be numbers, one for each of"),
        ("sealed_bid_auction(price='third')", ValueError, "'first' or 'second', got 'third'"),
        ("sheriff(items=-1)", ValueError, "items must be .* from 0 .*, got -1"),
        ("sheriff(value='high')", TypeError, "value must be a number, got 'high'"),
        ("sheriff(rounds=30)", MemoryError, "histories"),
    ],
)
def test_games_that_cannot_be_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        load(call)
