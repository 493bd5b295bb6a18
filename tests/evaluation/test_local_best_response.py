"""Local best responses: never above best responses, and what naive recursion finds."""

from collections import defaultdict

import numpy as np
import pytest
from naive_games import decision, end, expected_value, moves, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, games
from regretkit.evaluation import (
    best_response,
    local_best_response,
    sampled_local_best_response,
)
from regretkit.games import Dudo, uniform_behavior

CATALOGUE = {
    "kuhn": games.kuhn_poker(),
    "kuhn of three": games.kuhn_poker(3),
    "leduc": games.leduc_poker(),
    "liars dice": games.liars_dice(sides=3),
}
SURE, KUHN = 1 - 1e-6, games.kuhn_poker()
UNIFORM = [domain.relative_interior_point() for domain in KUHN.domains]

each_game = pytest.mark.parametrize("game", CATALOGUE.values(), ids=CATALOGUE)


def profiles(game, count=4):
    yield [domain.relative_interior_point() for domain in game.domains]
    for seed in range(count):
        yield random_profile(np.random.default_rng(seed), game)[0]


@each_game
def test_it_never_earns_more_than_a_best_response(game):
    generator = np.random.default_rng(7)
    smaller = 0
    for profile in profiles(game):
        for player, domain in enumerate(game.domains):
            best, _ = best_response(game, player, profile)
            mixed = domain.simplices.normalize(generator.exponential(size=domain.dimension - 1))
            for continuation in (None, domain.sequence_form(mixed)):
                for lookahead in (1, 2, 3):
                    value, strategy = local_best_response(
                        game, player, profile, lookahead=lookahead, continuation=continuation
                    )
                    assert value <= best + 1e-12
                    smaller += value < best - 1e-6
                    # It is what the strategy earns, which is one.
                    assert domain.contains(strategy)
                    played = [strategy if i == player else x for i, x in enumerate(profile)]
                    assert game.value(played)[player] == pytest.approx(value, abs=1e-12)
    assert smaller > 0  # the bound is not always tight


def naive_response(root, player, behavior):
    """Return what the greedy response does at each information set that the others play to."""
    by_set = defaultdict(list)

    def visit(history, weight):
        if history.is_terminal():
            return
        if history.player() == player:
            by_set[str(history.information_set())].append((weight, history))
            for action in history.actions():
                visit(history.child(action), weight)
        else:
            for p, child in moves(history, behavior):
                visit(child, weight * p)

    visit(root, 1.0)
    chosen = {}
    for known, histories in by_set.items():
        actions = list(histories[0][1].actions())
        worth = [
            sum(w * expected_value(h.child(action), behavior)[player] for w, h in histories)
            for action in actions
        ]
        chosen[player, known] = np.eye(len(actions))[int(np.argmax(worth))]
    return chosen


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_greedy_response_that_naive_recursion_finds(seed):
    generator = np.random.default_rng(seed)
    root = random_game(generator, 2 + seed % 2)
    game = ExtensiveFormGame.from_history(root)
    profile, behavior = random_profile(generator, game)
    for player in range(game.players):
        value, _ = local_best_response(game, player, profile)
        naive = expected_value(root, behavior | naive_response(root, player, behavior))
        assert value == pytest.approx(naive[player], abs=1e-12)


@pytest.mark.parametrize("player", [0, 1])
def test_a_sampled_bound_lies_below_what_a_best_response_earns(player):
    game = games.dudo(sides=3)
    uniform = [domain.relative_interior_point() for domain in game.domains]
    best, _ = best_response(game, player, uniform)

    found = sampled_local_best_response(
        Dudo(sides=3),
        player,
        [uniform_behavior] * 2,
        1_000,
        np.random.default_rng(player),
        rollouts=8,
        bounds=(-1.0, 1.0),
    )
    low, _ = found.bernstein_interval(SURE)
    # And well above what uniform play earns
    assert game.value(uniform)[player] < low <= best


def test_what_the_player_goes_on_with_matters():
    # To go in and then take the second prize is best, but not for who takes the first.
    root = decision(
        0, "door", stay=end(1.0), go=decision(0, "prize", first=end(0.0), second=end(3.0))
    )
    game = ExtensiveFormGame.from_history(root)
    first, second = np.array([1.0, 0.5, 0.5, 0.5, 0.0]), np.array([1.0, 0.5, 0.5, 0.0, 0.5])

    assert local_best_response(game, 0, [first])[0] == 1.0
    assert local_best_response(game, 0, [first], lookahead=2)[0] == 3.0
    assert local_best_response(game, 0, [first], continuation=second)[0] == 3.0
    generator = np.random.default_rng(0)
    for continuation, earned in ((None, 1.0), ({"prize": [0, 1], "door": [1, 0]}, 3.0)):
        found = sampled_local_best_response(
            game, 0, [first], 3, generator, continuation=continuation
        )
        assert found.mean == earned


test_what_is_no_question_is_refused = refusals(
    (lambda: local_best_response(KUHN, 2, UNIFORM), "player must be one of 0 to 1"),
    (lambda: local_best_response(KUHN, 0, UNIFORM, lookahead=0), "lookahead"),
    (lambda: local_best_response(KUHN, 0, UNIFORM, continuation=np.ones(3)), "continuation"),
    (lambda: sampled_local_best_response(KUHN, 0, UNIFORM, 3, 0, rollouts=0), "rollouts"),
    error=ValueError,
)


def test_no_further_game_is_begun_once_the_time_is_over():
    given = games.kuhn_poker(), 0, [uniform_behavior] * 2, 100, 1
    limited = sampled_local_best_response(*given, time_limit=1e-9)
    assert limited.samples == 1
    assert limited.mean == sampled_local_best_response(*given[:3], 1, 1).mean
    assert sampled_local_best_response(*given, time_limit=600.0).samples == 100
