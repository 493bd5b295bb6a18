"""Public games: equal to their game trees, and to the catalogue's."""

import numpy as np
import pytest

from regretkit import games, nash_conv, solve
from tests.helpers import public_games

GAMES = {
    "kuhn": (lambda: public_games.kuhn(5), "kuhn_poker(deck=5)"),
    "leduc": (lambda: public_games.leduc(3), "leduc_poker"),
    "dice": (lambda: public_games.liars_dice(1, 4), "liars_dice(sides=4)"),
    "two dice": (lambda: public_games.liars_dice(2, 2), None),
}


def random_profile(game, seed=0):
    generator = np.random.default_rng(seed)
    return [
        tree.sequence_form(tree.simplices.normalize(generator.exponential(size=tree.dimension - 1)))
        for tree in game.domains
    ]


def on_tree(game, tree, profile):
    """Return the profile of a game's tree with the same behavior at every label."""
    strategies = []
    for ours, theirs, strategy in zip(game.domains, tree.domains, profile, strict=True):
        behavior, labels = ours.behavior(strategy), theirs.simplices.labels
        numbers = np.array(
            [ours.simplices.labels.find(labels.block(point)) for point in range(theirs.points)]
        )
        strategies.append(theirs.sequence_form(behavior[ours.simplices.coordinates(numbers)]))
    return strategies


@pytest.mark.parametrize("name", GAMES)
def test_a_public_game_is_its_game_tree(name):
    game = GAMES[name][0]()
    tree = game.to_tree()
    for seed in range(3):
        profile = random_profile(game, seed)
        same = on_tree(game, tree, profile)
        assert game.value(profile) == pytest.approx(tree.value(same), abs=1e-13)
        assert nash_conv(game, profile) == pytest.approx(nash_conv(tree, same), abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "dice"])
def test_public_games_of_the_catalogue_are_the_catalogues(name):
    game, known = GAMES[name][0](), games.load(GAMES[name][1])
    assert [tree.points for tree in game.domains] == [tree.points for tree in known.domains]
    ours, theirs = (solve(each, "cfr+", iterations=10) for each in (game, known))
    gaps = nash_conv(game, ours.average), nash_conv(known, theirs.average)
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)


@pytest.mark.parametrize("name", GAMES)
def test_histories_of_a_public_game_make_the_same_tree(name):
    game = GAMES[name][0]()
    walked, built = games.GameTree.from_history(games.as_history(game)), game.to_tree().tree
    for part in ("parent", "player", "information_set", "payoffs"):
        assert np.array_equal(getattr(walked, part), getattr(built, part)), part
    assert walked.probability == pytest.approx(built.probability, rel=1e-12)
    assert walked.labels == built.labels
    assert walked.actions == built.actions
