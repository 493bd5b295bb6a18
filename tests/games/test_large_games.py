"""Liar's dice and Goofspiel have the sizes, the payoffs and the values they are known for."""

import pytest
from corpus import reference

import regretkit as rk
from regretkit import evaluation, games

# OpenSpiel's name of a game, and ours
NAMES = {
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
NAMES |= {
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


@pytest.fixture(scope="module")
def openspiel():
    return reference("openspiel_values.json")


def uniform(game):
    return [domain.relative_interior_point() for domain in game.domains]


# Sizes


@pytest.mark.parametrize(
    ("call", "histories", "terminals", "information_sets"),
    [
        # As OpenSpiel 2.0.2 counts them
        ("liars_dice(sides=4)", 8_181, 4_080, 512),
        ("liars_dice(sides=5)", 51_181, 25_575, 2_560),
        ("liars_dice", 294_883, 147_420, 12_288),
        ("goofspiel(information='hidden')", 1_077, 576, 81),
        ("goofspiel(cards=5, information='hidden')", 26_931, 14_400, 1_062),
        # n^2 deals; 2n bids, each made or not in what leads to a history, which may end it
        ("liars_dice(sides=7)", 1 + 7 + 49 * (2 * 4**7 - 1), 49 * (4**7 - 1), 7 * 4**7 // 2),
    ],
)
def test_sizes_are_the_known_ones(call, histories, terminals, information_sets):
    tree = games.load(call).tree

    assert tree.histories == histories
    assert tree.terminals.size == terminals
    assert tree.information_sets == (information_sets,) * 2


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_uniform_play_are_those_of_openspiel(name, openspiel):
    game, known = games.load(NAMES[name]), openspiel[name]
    tree = game.tree

    assert tree.histories == known["histories"]
    assert tree.terminals.size == known["terminals"]
    assert (tree.player == games.CHANCE).sum() == known["chance_nodes"]
    assert tree.depth == known["depth"]
    assert [domain.points for domain in game.domains] == known["infosets"]
    assert [domain.dimension for domain in game.domains] == known["sequences"]
    assert game.value(uniform(game)) == pytest.approx(known["uniform_payoffs"], abs=1e-9)
    assert evaluation.nash_conv(game, uniform(game)) == pytest.approx(
        known["nash_conv_uniform"], abs=1e-9
    )


# Values


def interval(game, iterations):
    """Return what player 0 is sure of, and what player 1 lets it have at most."""
    average = rk.solve(game, "cfr+", iterations=iterations).average
    least = game.value(average)[1] - evaluation.best_response(game, 1, average)[0]
    most = evaluation.best_response(game, 0, average)[0]
    return game.value(average)[0] + least, most


@pytest.mark.parametrize(
    ("call", "value"),
    [
        # By linear programs, as fractions
        ("liars_dice(sides=1)", 1.0),
        ("liars_dice(sides=2)", 1 / 2),
        ("liars_dice(sides=3)", 1 / 9),
        ("liars_dice(dice=2, sides=2)", 7 / 8),
        ("liars_dice(sides=5)", 1 / 125),
        ("liars_dice", -7 / 258),
    ],
)
def test_what_both_sides_are_sure_of_encloses_the_known_value(call, value):
    low, high = interval(games.load(call), 200)

    assert low - 1e-12 <= value <= high + 1e-12
    assert high - low < 0.02


@pytest.mark.parametrize("information", games.catalogue._goofspiel.INFORMATION)
@pytest.mark.parametrize("order", games.catalogue._goofspiel.ORDERS)
@pytest.mark.parametrize("returns", ["win_loss", "point_difference"])
def test_goofspiel_is_fair(information, order, returns):
    # The order of bids in the tree does not matter, because it is hidden: the game is symmetric.
    game = games.goofspiel(3, order, information, returns=returns)
    x, y = uniform(game)

    assert game.value([x, y]) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert evaluation.best_response(game, 0, [x, y])[0] == pytest.approx(
        evaluation.best_response(game, 1, [x, y])[0], abs=1e-12
    )
    low, high = interval(game, 200)
    assert low - 1e-12 <= 0.0 <= high + 1e-12
    assert high - low < 0.02


def test_to_match_the_prize_is_the_best_answer_to_a_player_who_bids_at_random():
    # Ross (1971), for the difference of points, with any order of the prizes
    game = games.goofspiel(order="random", returns="point_difference")
    tree = game.domains[0]
    labels, behavior = tree.simplices.labels, tree.simplices.uniform()
    for number in range(tree.points):
        prize, actions = labels.block(number).split()[-1][:-1], labels.actions(number)
        if prize in actions:
            behavior[tree.simplices.block(number)] = [action == prize for action in actions]
    matching = [tree.sequence_form(behavior), game.domains[1].relative_interior_point()]

    best, _ = evaluation.best_response(game, 0, matching)

    assert game.value(matching)[0] == pytest.approx(best, abs=1e-12)
    assert best > game.value(uniform(game))[0] + 0.5


# What is seen


def test_dice_are_private_and_bids_are_public():
    tree = games.liars_dice(dice=2, sides=2).tree

    for player, labels in enumerate(tree.labels):
        split = [label.split() for label in labels]
        assert {dice for dice, *_ in split} == {"11", "12", "22"}
        # Any bids that rise, an even number of them before player 0 and an odd one before player 1
        heard = {" ".join(bids) for _, *bids in split}
        assert all(len(bids) % 2 == player and bids == sorted(bids) for _, *bids in split)
        assert len(heard) == 2**8 // 2
        assert len(labels) == 3 * len(heard)


@pytest.mark.parametrize("call", [*NAMES.values(), "liars_dice(sides=2, players=3)"])
def test_no_two_information_sets_of_a_player_share_a_label(call):
    for labels in games.load(call).tree.labels:
        assert len(set(labels)) == len(labels)


# Arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("liars_dice(dice=0)", "dice must be a whole number, at least 1, got 0"),
        ("liars_dice(sides=0)", "sides must be a whole number, at least 1, got 0"),
        ("liars_dice(players=1)", "players must be a whole number, at least 2, got 1"),
        ("goofspiel(cards=0)", "cards must be a whole number from 1 to 62, got 0"),
        ("goofspiel(players=1)", "players must be a whole number, at least 2, got 1"),
        ("goofspiel(turns=5)", "turns must be a whole number from 1 to 4, got 5"),
        ("goofspiel(order='up')", "order must be one of 'descending', .*, got 'up'"),
        ("goofspiel(information=True)", "information must be one of 'full', 'hidden', got True"),
        ("goofspiel(returns='points')", "returns must be one of 'win_loss', .*, got 'points'"),
    ],
)
def test_an_argument_out_of_range_is_refused_with_the_range(call, message):
    with pytest.raises(ValueError, match=message):
        games.load(call)


@pytest.mark.parametrize("call", ["liars_dice(sides=2.0)", "goofspiel(cards='four')"])
def test_a_number_that_is_not_whole_is_refused(call):
    with pytest.raises(TypeError, match="must be a whole number"):
        games.load(call)


@pytest.mark.parametrize(
    "call",
    [
        "liars_dice(sides=2)",
        "liars_dice(dice=2, sides=1, players=3)",
        "goofspiel(cards=3, order='random', information='hidden')",
        "goofspiel(cards=3, players=3, turns=1, returns='total_points')",
    ],
)
def test_a_name_says_which_arguments_made_the_game(call):
    assert games.load(call).name == call
