"""Every game of the catalogue next to OpenSpiel's, its arguments, and its name."""

import numpy as np
import pytest
from corpus import assert_as_in_openspiel, reference
from naive_games import uniform
from refusals import refusals

from regretkit import ExtensiveFormGame, evaluation
from regretkit.games._registry import load

# OpenSpiel's name of a game, and ours
TREES = {
    "kuhn_poker": "kuhn_poker",
    "kuhn_poker(players=3)": "kuhn_poker(players=3)",
    "leduc_poker": "leduc_poker",
    "leduc_poker(suit_isomorphism=True)": "leduc_poker(merge_suits=True)",
    "liars_dice(numdice=1,dice_sides=2)": "liars_dice(sides=2)",
    "liars_dice(numdice=1,dice_sides=3)": "liars_dice(sides=3)",
    "liars_dice(numdice=1,dice_sides=5)": "liars_dice(sides=5)",
    "liars_dice(numdice=2,dice_sides=2)": "liars_dice(dice=2, sides=2)",
} | {
    f"goofspiel(num_cards={cards},imp_info={hidden},points_order={order})": (
        f"goofspiel(cards={cards}, order={order!r}, information={'hidden' if hidden else 'full'!r})"
    )
    for cards, hidden, order in [
        (2, False, "ascending"),
        (2, True, "descending"),
        (2, True, "random"),
        (3, False, "descending"),
        (3, True, "descending"),
        (4, False, "descending"),
        (4, True, "ascending"),
        (4, True, "descending"),
    ]
}
GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order={},returns_type={})"
TREES |= {
    GOOFSPIEL.format(4, "descending", "total_points"): (
        "goofspiel(information='hidden', returns='total_points')"
    ),
    GOOFSPIEL.format(4, "random", "point_difference"): (
        "goofspiel(order='random', information='hidden', returns='point_difference')"
    ),
    "goofspiel(num_cards=6,num_turns=2,imp_info=True,points_order=random)": (
        "goofspiel(cards=6, order='random', information='hidden', turns=2)"
    ),
}
TABLES = {
    "matrix_rps": "rock_paper_scissors",
    "matrix_brps": "biased_rock_paper_scissors",
    "matrix_mp": "matching_pennies",
    "matrix_pd": "prisoners_dilemma",
    "matrix_bos": "battle_of_the_sexes",
    "matrix_shapleys_game": "shapley_game",
    "blotto(coins=7,fields=3)": "blotto(soldiers=7)",
}

# OpenSpiel 2.0.2's games of the same rules: histories, terminals, information sets of each player,
# what uniform play earns them, and for the smaller ones its gap. Dudo with one die each is its
# ``liars_dice``, in which the highest face is wild and is claimed after the others. Its
# ``oshi_zumo`` is turned into a game in which player 1 does not see player 0's bid.
KNOWN = [
    ("battleship(1, 2, shots=1)", 23, 12, (3, 3), (0.25, -0.25), 0.0),
    ("battleship(loss_multiplier=2.0)", 1_573, 1_072, (53, 109), (-0.1875, -0.5625), 0.0),
    ("battleship(repeated_shots=True)", 2_581, 1_936, (53, 157), (25 / 256, -25 / 256), 3 / 32),
    ("battleship(shots=3)", 3_877, 2_224, (341, 397), (0.1875, -0.1875), 0.0),
    ("battleship(2, 2, [2], [2])", 3_029, 2_048, (133, 337), (1 / 18, -1 / 18), 1 / 3),
    ("battleship(2, 2, [1, 2], [1, 2])", 13_685, 9_216, (397, 1_189), (0.0, 0.0), 1 / 3),
    ("battleship(2, 2, [2, 1], [1, 2])", 13_685, 9_216, (397, 1_189), (0.0, 0.0), 1 / 6),
    ("battleship(2, 2, [2, 2], [1, 2], 2, 1.5, True)", 5493, 4096, (73, 277), (-0.1875,) * 2, 0.75),
    ("battleship(2, 3)", 23_839, 19_116, (187, 751), (1 / 18, -1 / 18), None),
    ("battleship(3, 2, [2], None, 2, 0.0)", 52_095, 41_748, (512, 2_395), (1 / 15, 14 / 225), None),
    ("battleship(1, 4, [2, 2], [1.0, 3.0], 2, 0.5)", 863, 576, (37, 107), (1 / 3, 1 / 3), 8 / 3),
    ("battleship(1, 3, [2, 1], [1, 2], 2, 1.0, True)", 495, 324, (35, 99), (0.0, 0.0), 4 / 3),
    ("dudo(sides=1)", 9, 3, (2, 2), (1 / 2, -1 / 2), 1.0),
    ("dudo(sides=2)", 127, 60, (16, 16), (1 / 8, -1 / 8), 1.125),
    ("dudo(sides=3)", 1_147, 567, (96, 96), (1 / 54, -1 / 54), 1.1111111111111112),
    ("dudo(sides=4)", 8_181, 4_080, (512, 512), (-0.015625, 0.015625), 1.3101190476190476),
    ("dudo(sides=5)", 51_181, 25_575, (2_560, 2_560), (-0.028, 0.028), 1.4417417989417993),
    pytest.param(
        *("dudo", 294_883, 147_420, (12_288, 12_288), (-7 / 216, 7 / 216), None),
        marks=pytest.mark.deep,
    ),
    *(
        (f"oshi_zumo({rules})", histories, terminals, (sets, sets), (0.0, 0.0), gap)
        for rules, histories, terminals, sets, gap in [
            ("coins=2, minimum_bid=0, horizon=3", 197, 96, 34, 1.0925925925925926),
            ("coins=5, minimum_bid=0, horizon=3", 4_064, 2_646, 371, 1.3487037037037035),
            ("coins=6, minimum_bid=0, horizon=3", 8_413, 5_768, 644, 1.3798461289277615),
            ("4, 2, minimum_bid=0, horizon=4, alesia=True", 8_815, 4_840, 1_211, 0.04325),
            ("", 738, 230, 214, 1.3),
            ("alesia=True", 738, 230, 214, 0.9),
            ("size=0", 115, 68, 16, 1.6),
            ("size=2", 861, 256, 256, 1.5666666666666667),
            ("coins=6", 2_612, 826, 748, 1.3444444444444443),
            ("coins=6, horizon=2", 393, 256, 36, 0.6888888888888889),
            ("coins=6, size=2, minimum_bid=2", 211, 64, 64, 1.2),
            ("coins=7, minimum_bid=2, alesia=True", 519, 163, 153, 0.6666666666666667),
            ("coins=7, minimum_bid=3", 117, 36, 36, 1.2),
            ("coins=9, minimum_bid=2", 3_077, 988, 890, 1.3319444444444444),
        ]
    ),
]


@pytest.mark.parametrize("name", TREES)
def test_sizes_and_uniform_play_are_those_of_openspiel(name):
    assert_as_in_openspiel(load(TREES[name]), name)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_openspiel(name):
    game, known = load(TABLES[name]), reference("openspiel_values.json")[name]
    payoffs = [game.payoffs[player].mean() for player in (0, 1)]
    gains = [game.utility(player, uniform(game)).max() - payoffs[player] for player in (0, 1)]
    assert game.payoffs[0].size == known["terminals"]
    assert payoffs == pytest.approx(known["uniform_payoffs"], abs=1e-9)
    assert sum(gains) == pytest.approx(known["nash_conv_uniform"], abs=1e-9)


@pytest.mark.deep_beyond(11)
@pytest.mark.parametrize(
    ("call", "histories", "terminals", "information_sets", "payoffs", "gap"), KNOWN
)
def test_sizes_and_uniform_play_are_the_known_ones(
    call, histories, terminals, information_sets, payoffs, gap
):
    game = load(call)
    profile = uniform(game)
    assert (game.tree.histories, game.tree.terminals.size) == (histories, terminals)
    assert game.tree.information_sets == information_sets
    assert game.value(profile) == pytest.approx(payoffs, abs=1e-12)
    assert gap is None or evaluation.nash_conv(game, profile) == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "histories", "terminals", "information_sets"),
    [
        # As OpenSpiel 2.0.2 counts them
        ("kuhn_poker(players=4)", 7_886, 3_960, (40,) * 4),
        ("liars_dice(sides=4)", 8_181, 4_080, (512,) * 2),
        ("liars_dice", 294_883, 147_420, (12_288,) * 2),
        ("goofspiel(cards=5, information='hidden')", 26_931, 14_400, (1_062,) * 2),
        pytest.param(
            *("leduc_poker(players=3, merge_suits=True)", 223_881, 126_996, (2_476,) * 3),
            marks=pytest.mark.slow,
        ),
        # After each of its deals, Kuhn poker has 9 histories, of which 5 are terminal.
        ("kuhn_poker(deck=2)", 1 + 2 + 2 * 9, 2 * 5, (4, 4)),
        ("kuhn_poker(deck=13)", 1 + 13 + 156 * 9, 156 * 5, (26, 26)),
        # n^2 deals; 2n bids, each made or not in what leads to a history, which may end it
        ("liars_dice(sides=7)", 1 + 7 + 49 * (2 * 4**7 - 1), 49 * (4**7 - 1), (7 * 4**7 // 2,) * 2),
    ],
)
def test_sizes_for_other_arguments(call, histories, terminals, information_sets):
    tree = load(call).tree
    assert (tree.histories, tree.terminals.size) == (histories, terminals)
    assert tree.information_sets == information_sets


@pytest.mark.parametrize("call", [*TREES.values(), "liars_dice(sides=2, players=3)", "dudo(2, 2)"])
def test_no_two_information_sets_of_a_player_share_a_label(call):
    for labels in load(call).tree.labels:
        assert len(set(labels)) == len(labels)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize(
    "name",
    [
        "kuhn_poker(players=4)",
        "leduc_poker",
        "leduc_poker(players=3, ranks=2, merge_suits=True)",
        "liars_dice(sides=3, players=3)",
        "goofspiel(cards=3, players=3)",
        *("blotto", "rock_paper_scissors", "biased_rock_paper_scissors", "matching_pennies"),
    ],
)
def test_what_one_wins_others_lose(name):
    game = load(name)
    payoffs = game.tree.payoffs.T if isinstance(game, ExtensiveFormGame) else game.payoffs
    # Pots are split in three at most: nothing is lost but rounding.
    assert np.abs(payoffs.sum(axis=0)).max() < 1e-12


# Arguments


test_an_argument_out_of_range_or_of_the_wrong_kind_is_refused = refusals(
    ("kuhn_poker(players=13)", ValueError, "players must be at most 12"),
    ("kuhn_poker(players=3, deck=2)", ValueError, "deck must be at least players, 3, got 2"),
    ("leduc_poker(ranks=1)", ValueError, "2 players need at least 3 cards, but 1 ranks in 2 suits"),
    ("traffic_light(crash=1e999)", ValueError, "crash must be a finite number, got inf"),
    ("battleship(lengths=[])", ValueError, "lengths must have one number for each ship, got none"),
    ("battleship(lengths=[3])", ValueError, r"ships of lengths \[3\] do not fit on 2 x 2 cells"),
    ("battleship(values=[1.0, 2.0])", ValueError, "values must be 1 numbers, got 2"),
    ("battleship(values=[-1.0])", ValueError, r"values must be at least 0, got \[-1.0\]"),
    ("battleship(loss_multiplier=-1)", ValueError, "a finite number, at least 0, got -1"),
    ("battleship(shots=5)", ValueError, "shots must be at most 4, got 5"),
    ("goofspiel(turns=5)", ValueError, "turns must be at most cards, 4, got 5"),
    ("goofspiel(order='up')", ValueError, "order must be one of 'descending', .*, got 'up'"),
    ("oshi_zumo(minimum_bid=6)", ValueError, "minimum_bid must be at most 5, got 6"),
    ("oshi_zumo(minimum_bid=0)", ValueError, "horizon must be a whole number if minimum_bid is 0"),
    ("kuhn_poker(players=2.0)", TypeError, "players must be a whole number.*, got 2.0"),
    ("leduc_poker(merge_suits=1)", TypeError, "merge_suits must be True or False, got 1"),
    ("battleship(lengths='ship')", TypeError, "lengths must be a sequence, got 'ship'"),
    ("pursuit_evasion(goals='abc')", TypeError, "goals must be numbers, got 'abc'"),
    call=load,
)


LONG_NAMES = [
    "leduc_poker(ranks=4, merge_suits=True)",
    "battleship(height=1, lengths=(2,), loss_multiplier=2.0)",
    "battleship(shots=1, repeated_shots=True)",
    "liars_dice(sides=2)",
    "liars_dice(dice=2, sides=1, players=3)",
    "goofspiel(cards=3, order='random', information='hidden')",
    "goofspiel(cards=3, players=3, turns=1, returns='total_points')",
    "oshi_zumo(coins=2, size=3, minimum_bid=0, horizon=4, alesia=True)",
    "pursuit_evasion(turns=2, goals=(1.0, 2.0))",
]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("kuhn_poker(3)", "kuhn_poker(players=3)"),
        ("kuhn_poker(deck=3)", "kuhn_poker"),
        ("blotto(5, fields=2)", "blotto(fields=2)"),
        ("traffic_light(-10)", "traffic_light(crash=-10.0)"),
        ("battleship(2, 2, [1], [1])", "battleship"),
        ("battleship(values=[2])", "battleship(values=(2.0,))"),
        ("dudo(1, 2)", "dudo(sides=2)"),
        ("dudo(sides=2, dice=2)", "dudo(dice=2, sides=2)"),
        ("oshi_zumo(3)", "oshi_zumo(coins=3)"),
        ("oshi_zumo(coins=5, alesia=False, horizon=None)", "oshi_zumo"),
        *zip(LONG_NAMES, LONG_NAMES, strict=True),
    ],
)
def test_a_name_says_which_arguments_made_the_game(call, name):
    assert load(call).name == name
    assert load(name).name == name
