"""What is done for each player does not grow with the number of players who never move."""

import numpy as np
import pytest
from naive_games import decision, end

import regretkit as rk
from regretkit.evaluation import nash_conv
from regretkit.games import ExtensiveFormGame
from regretkit.games import _game as game_module
from regretkit.play import Alternating, Simultaneous

ORDERS = [Simultaneous(), Alternating()]


def pennies_watched_by(watchers):
    """Return matching pennies with players who have no decision, and earn nothing."""

    def guess(*payoffs):
        sides = zip(("heads", "tails"), payoffs, strict=True)
        return decision(1, "second", **{side: end(p, -p, *[0.0] * watchers) for side, p in sides})

    root = decision(0, "first", heads=guess(1.0, -1.0), tails=guess(-1.0, 1.0))
    return ExtensiveFormGame.from_history(root)


class Counted:
    """Sequences of a game that count how many players they are asked about."""

    def __init__(self, sequences):
        self.sequences, self.asked = sequences, 0

    def __getitem__(self, player):
        self.asked += 1
        return self.sequences[player]


@pytest.fixture
def checked(monkeypatch):
    """Return a list of the players whose entries of a profile were checked."""
    players, check = [], game_module._check_entry

    def counting(strategy, domain, player, *, finite):
        players.append(player)
        check(strategy, domain, player, finite=finite)

    monkeypatch.setattr(game_module, "_check_entry", counting)
    return players


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_an_iteration_checks_each_strategy_a_bounded_number_of_times(order, checked):
    game = pennies_watched_by(100)
    players = [rk.CFR(domain, rk.RegretMatching) for domain in game.domains]
    run = rk.SelfPlay(game, players, order=order, engine="numpy").run(1)
    checked.clear()
    run.run(2)
    assert len(checked) <= 2 * 2 * 102


def test_nash_conv_checks_each_strategy_a_bounded_number_of_times(checked):
    game = pennies_watched_by(100)
    gap = nash_conv(game, [np.array([1.0, 0.75, 0.25]), np.array([1.0, 0.5, 0.5]), *[[1.0]] * 100])
    assert gap == pytest.approx(0.5)
    assert len(checked) == 102


def test_a_utility_looks_at_those_players_alone_who_have_a_decision():
    game = pennies_watched_by(100)
    game.sequences = counted = Counted(game.sequences)
    profile = [domain.relative_interior_point() for domain in game.domains]
    for player in range(102):
        game.utility(player, profile)
    assert counted.asked <= 3 * 102


def test_players_without_a_decision_change_nothing_for_the_others():
    alone, watched = pennies_watched_by(0), pennies_watched_by(3)
    runs = [
        rk.SelfPlay(game, [rk.CFR(domain, rk.RegretMatching) for domain in game.domains])
        for game in (alone, watched)
    ]
    for run in runs:
        run.minimizers[0].observe_utility([0.0, 1.0, -0.25])
        run.run(10)

    for first, second in zip(*(run.average for run in runs), strict=False):
        np.testing.assert_array_equal(first, second)


def test_an_entry_that_replaces_a_checked_one_is_checked():
    game = pennies_watched_by(1)
    checked = game_module.as_profile(
        [d.relative_interior_point() for d in game.domains], game.domains
    )

    with pytest.raises(ValueError, match=r"profile\[0\] must be finite"):
        checked[0] = [1.0, np.nan, 0.5]
    with pytest.raises(ValueError, match=r"profile\[2\] has shape \(2,\)"):
        checked[2] = [1.0, 1.0]
    checked[0] = [1.0, 1.0, 0.0]
    assert game_module.as_profile(checked, game.domains) is checked
