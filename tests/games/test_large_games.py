"""Liar's dice and Goofspiel have the sizes, the payoffs and the values they are known for."""

import pytest
from naive_games import uniform

import regretkit as rk
from regretkit import evaluation, games

# Values


def interval(game, iterations):
    """Return what player 0 is sure of, and what player 1 lets it have at most."""
    average = rk.solve(game, "cfr+", iterations=iterations).average
    minimum = game.value(average)[1] - evaluation.best_response(game, 1, average)[0]
    maximum = evaluation.best_response(game, 0, average)[0]
    return game.value(average)[0] + minimum, maximum


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("information", games.catalogue._bidding_games.INFORMATION)
@pytest.mark.parametrize("order", games.catalogue._bidding_games.ORDERS)
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
