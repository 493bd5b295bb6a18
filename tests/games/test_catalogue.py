"""The games of the catalogue have the sizes, the payoffs and the solutions they are known for."""

import math

import numpy as np
import pytest
from naive_games import uniform
from refusals import refusals

from regretkit import games, nash_conv
from regretkit.evaluation import solve_zero_sum
from regretkit.games import Battleship, Dudo, ExtensiveFormGame, GameTree, _registry
from regretkit.games._registry import load, names, register

OURS = [
    name
    for name, factory in sorted(_registry._FACTORIES.items())
    if factory.__module__.startswith("regretkit.games.catalogue")
]


def play(start, *actions):
    """Return the history after some actions; ``start`` is a history, or the rules of a game."""
    history = games.as_history(start)
    for action in actions:
        history = history.child(action)
    return history


@pytest.mark.parametrize(("ranks", "suits"), [(3, 1), (2, 2), (3, 2), (2, 3), (4, 2)])
def test_leduc_sizes_are_deals_times_betting(ranks, suits):
    tree = games.leduc_poker(ranks=ranks, suits=suits).tree
    cards = ranks * suits
    deals = cards * (cards - 1)
    # A round has 15 histories: 6 decisions, 3 of each player; 4 folds; 5 ends of the round.
    assert tree.histories == 1 + cards + deals * (15 + 5 * (cards - 2) * 15)
    assert tree.terminals.size == deals * (4 + 5 * (cards - 2) * 9)
    assert tree.information_sets == (3 * cards + 5 * deals * 3,) * 2


PLAYS = [
    ("kuhn_poker", "K J p p", [1, -1]),
    ("kuhn_poker", "J K b p", [1, -1]),
    ("kuhn_poker", "J K b b", [-2, 2]),
    ("kuhn_poker", "K Q p b p", [-1, 1]),
    ("kuhn_poker(3)", "T Q K p b p p", [-1, 2, -1]),
    ("kuhn_poker(3)", "Q T K p b p b", [3, -2, -1]),
    ("kuhn_poker(3)", "Q T K p p b b b", [-2, -2, 4]),
    ("leduc_poker", "Js Ks c r f", [-1, 1]),
    ("leduc_poker", "Js Ks r r f", [-3, 3]),
    ("leduc_poker", "Js Ks c c Qs c c", [-1, 1]),
    ("leduc_poker", "Js Ks c c Jh c c", [1, -1]),
    ("leduc_poker", "Js Jh c c Ks r c", [0, 0]),
    ("leduc_poker", "Ks Js r r c Kh r r c", [13, -13]),
    # Ones are wild, and count themselves
    ("dudo", "3 5 1x3 dudo", [1, -1]),
    ("dudo", "5 5 1x3 dudo", [-1, 1]),
    ("dudo", "1 5 1x3 dudo", [1, -1]),
    ("dudo", "1 3 1x2 2x3 dudo", [-1, 1]),
    ("dudo", "1 3 1x2 2x4 dudo", [1, -1]),
    ("dudo", "3 3 1x1 dudo", [-1, 1]),
    ("dudo", "1 1 2x6 dudo", [1, -1]),
    # The higher bid pushes
    ("oshi_zumo", "3 1 2 1", [1, -1]),
    ("oshi_zumo", "1 1 2 2 2 2", [0, 0]),
    ("oshi_zumo", "5 1 0 1 0 3", [-1, 1]),
    ("oshi_zumo(coins=3, size=3)", "1 2 2 1", [0, 0]),
    ("oshi_zumo(coins=2, size=3, minimum_bid=2)", "2 2", [0, 0]),
    ("oshi_zumo(horizon=1)", "2 1", [1, -1]),
    ("oshi_zumo(horizon=1, alesia=True)", "2 1", [0, 0]),
    ("oshi_zumo(alesia=True)", "3 1 2 1", [1, -1]),
    ("oshi_zumo(size=0)", "2 1", [1, -1]),
    # Placements, and then shots
    ("battleship(values=[3.0], loss_multiplier=2.0)", "b1 b2 a1 b2 b2", [3, -6]),
    ("battleship(values=[3.0], loss_multiplier=2.0)", "b2 b2 a1 a1 a2 b2", [-6, 3]),
    ("battleship(values=[3.0], loss_multiplier=2.0)", "b2 b1 a1 a2 a2 b1", [0, 0]),
]


@pytest.mark.parametrize(("rules", "actions", "payoffs"), PLAYS)
def test_a_play_by_hand_pays_what_the_rules_say(rules, actions, payoffs):
    history = games.as_history(games.load_rules(rules))
    for action in actions.split():
        assert not history.is_terminal()
        history = history.child(action)
    assert history.is_terminal()
    assert history.payoffs() == payoffs


def test_the_example_of_the_paper_has_its_equilibrium():
    # Farina et al. (2019): all play at random, and sink a ship with probability 5/9 and 1/3.
    game = load("battleship(height=1, width=3, loss_multiplier=2.0)")
    assert game.value(uniform(game)) == pytest.approx([-1 / 9, -7 / 9], abs=1e-12)
    assert nash_conv(game, uniform(game)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("multiplier", [0.0, 0.5, 1.0, 2.0])
def test_a_ship_that_sinks_costs_both_together_what_the_multiplier_says(multiplier):
    tree = load(f"battleship(1, 4, [2, 1], [4.0, 1.0], 2, {multiplier})").tree
    sunk = load("battleship(1, 4, [2, 1], [4.0, 1.0], 2, 0.0)").tree.payoffs
    assert set(sunk.sum(axis=1)) > {0.0, 1.0, 4.0}
    np.testing.assert_array_equal(tree.payoffs.sum(axis=1), (1 - multiplier) * sunk.sum(axis=1))
    np.testing.assert_array_equal(tree.payoffs, sunk - multiplier * sunk[:, ::-1])


@pytest.mark.parametrize(
    ("rules", "places"),
    [
        ({}, "a1 a2 b1 b2"),
        ({"lengths": [2]}, "a1-a2 b1-b2 a1-b1 a2-b2"),
        ({"height": 1, "width": 3, "lengths": [2]}, "a1-a2 a2-a3"),
        ({"height": 3, "width": 1, "lengths": [2]}, "a1-b1 b1-c1"),
        # No place from which the second ship could not be placed
        ({"height": 1, "width": 4, "lengths": [2, 2]}, "a1-a2 a3-a4"),
        ({"height": 2, "width": 3, "lengths": [2, 3]}, "a1-a2 a2-a3 b1-b2 b2-b3"),
    ],
)
def test_ships_lie_in_rows_or_columns_and_leave_room_for_others(rules, places):
    root = play(Battleship(**rules))
    assert list(root.actions()) == places.split()
    assert list(play(root, root.actions()[0]).actions()) == places.split()


def test_shots_miss_hit_and_sink():
    history = play(Battleship(2, 3, [2, 1], shots=6), "a1-a2", "b1-b2", "b3", "a3")
    assert history.information_set() == "0:a1-a2,b3"
    history = play(history, "b2", "b3", "a2", "a1", "b1", "a3")
    assert history.information_set() == "0:a1-a2,b3/b2 hit,b3,a2 miss,a1,b1 sunk,a3"
    history = play(history, "b3")
    assert history.information_set() == "1:b1-b2,a3/b2,b3 sunk,a2,a1 hit,b1,a3 miss,b3"
    assert not history.is_terminal()
    assert play(history, "a2").is_terminal()


@pytest.mark.parametrize("dice", [1, 2, 3, 5])
def test_claims_are_ordered_by_their_strength_in_the_paper(dice):
    # Neller and Lanctot (2013) number n dice of face r among six like this.
    def strength(claim):
        n, r = map(int, claim.split("x"))
        return 11 * n - 6 if r == 1 else 5 * n + n // 2 + r - 7

    claims = play(Dudo(dice), "1" * dice, "1" * dice).actions()

    assert sorted(claims) == sorted(f"{n}x{r}" for n in range(1, 2 * dice + 1) for r in "123456")
    assert list(claims) == sorted(claims, key=strength)


@pytest.mark.parametrize(("dice", "sides"), [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1)])
def test_sizes_are_rolls_times_rising_sequences_of_claims(dice, sides):
    tree = GameTree.from_rules(Dudo(dice, sides))
    rolls = math.comb(dice + sides - 1, dice)
    rising = 4 ** (dice * sides)
    # Every sequence of claims can be gone on from, and every one but the empty be challenged.
    assert tree.histories == 1 + rolls + rolls**2 * (2 * rising - 1)
    assert tree.terminals.size == rolls**2 * (rising - 1)
    assert tree.information_sets == (rolls * rising // 2, rolls * rising // 2)


def test_two_dice_with_the_claims_of_openspiel_are_its_game():
    # There ones come after the other faces of as many dice. OpenSpiel 2.0.2: 384 information sets
    # each, 1/16 for uniform play; the value is by the linear programs of others on its tree.
    class OtherOrder(Dudo):
        claims = tuple((number, face) for number in (1, 2, 3, 4) for face in (1, 0))

    game = ExtensiveFormGame.from_rules(OtherOrder(2, 2))
    assert game.tree.information_sets == (384, 384)
    assert game.value(uniform(game)) == pytest.approx([1 / 16, -1 / 16], abs=1e-12)
    assert solve_zero_sum(game).value == pytest.approx(7 / 8, abs=1e-9)


# Tables


@pytest.mark.parametrize(
    ("name", "joint", "payoff"),
    [
        ("traffic_light", [[0, 1 / 2], [1 / 2, 0]], 1 / 2),
        ("chicken", [[0, 1 / 4], [1 / 4, 1 / 2]], 5.25),
        ("shapley_game", np.full((3, 3), 1 / 9), 1 / 3),
        ("shapley_game", (np.eye(3) + np.roll(np.eye(3), 1, axis=1)) / 6, 1 / 2),
    ],
)
def test_no_player_gains_by_leaving_a_known_correlated_equilibrium(name, joint, payoff):
    payoffs, joint = load(name).payoffs, np.array(joint)
    for payoffs_of_player, played in ((payoffs[0], joint), (payoffs[1].T, joint.T)):
        # What each action would earn, in place of the one that is recommended
        instead = played @ payoffs_of_player.T
        assert np.diag(instead).sum() == pytest.approx(payoff)
        assert (instead <= np.diag(instead)[:, np.newaxis] + 1e-12).all()


def test_blotto_has_every_placement_once_and_compares_field_by_field():
    game = load("blotto")
    (actions, placements), payoffs = game.actions, game.payoffs[0]

    assert len(set(actions)) == len(actions) == math.comb(5 + 2, 2)
    assert list(placements) == list(actions)
    for i, placement in enumerate(actions):
        for j, opposing in enumerate(actions):
            pairs = list(zip(placement.split("-"), opposing.split("-"), strict=True))
            won, lost = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
            assert payoffs[i, j] == (won > lost) - (won < lost)


# The registry


def test_every_game_of_the_catalogue_can_be_loaded_by_its_name():
    assert {"blotto", "goofspiel", "kuhn_poker", "liars_dice"} <= set(OURS) <= set(vars(games))
    assert set(OURS) <= set(names())
    assert list(names()) == sorted(names())


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("name", OURS)
def test_a_game_is_called_what_it_was_loaded_by(name):
    assert load(name).name == load(f" {name}( )").name == name


test_a_name_of_no_game_is_refused_unevaluated = refusals(
    ("kuhn_pokr", ValueError, "no game 'kuhn_pokr'; did you mean 'kuhn_poker'"),
    ("xyzzy()", ValueError, "no game 'xyzzy'; the games are .*, blotto"),
    ("kuhn poker", ValueError, "write it as 'kuhn_poker"),
    ("kuhn_poker(decks=3)", ValueError, "kuhn_poker has no option 'decks'; did you mean 'deck'"),
    ("kuhn_poker(cards=3)", ValueError, "no option 'cards': they are players, deck"),
    *((f"kuhn_poker({two})", TypeError, "argument") for two in ("2, 3, 4", "2, players=3")),
    *(
        (f"kuhn_poker(deck={argument})", ValueError, "with literals")
        for argument in ("deck", "1 + 1", "print()", "[x for x in 'ab']", "f'{1}'")
    ),
    *((text, ValueError, "with literals") for text in ("", "a.b()", "3", "a; b", "\0", "(" * 999)),
    *((f"kuhn_poker{text}", ValueError, "with literals") for text in ("(", "(2", "()()")),
    ("kuhn_poker(deck=3, deck=4)", ValueError, "with literals"),
    ("kuhn_poker(**{'deck': 3})", ValueError, "no option 'None'"),
    call=load,
)


def test_two_functions_cannot_share_a_name_but_one_may_come_again():
    original = games.chicken

    def chicken():
        return original()

    with pytest.raises(ValueError, match="'chicken' is already registered by regretkit"):
        register(chicken)
    assert register(original) is original
    assert load("chicken").name == "chicken"
