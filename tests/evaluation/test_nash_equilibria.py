"""Nash equilibria and quantal responses that other packages find."""

import sys

import numpy as np
import pytest

from regretkit import NormalFormGame, evaluation, games
from regretkit.evaluation import nash_conv, nash_equilibria, quantal_response_path

SOLVERS = ["nashpy", "pygambit"]


@pytest.fixture
def solver(request):
    pytest.importorskip(request.param)
    return request.param


each_solver = pytest.mark.parametrize("solver", SOLVERS, indirect=True)


@each_solver
@pytest.mark.parametrize(
    ("game", "equilibria"),
    [
        (games.chicken(), [(0, 1), (1 / 3, 1 / 3), (1, 0)]),
        (games.battle_of_the_sexes(), [(0, 0), (0.6, 0.4), (1, 1)]),
        (games.prisoners_dilemma(), [(0, 0)]),
        (games.traffic_light(crash=-3.0), [(0, 1), (0.25, 0.25), (1, 0)]),
    ],
)
def test_all_equilibria_of_textbook_games_are_found(solver, game, equilibria):
    found = nash_equilibria(game, solver=solver)
    first = [[profile[0][0], profile[1][0]] for profile in found]
    np.testing.assert_allclose(first, equilibria, atol=1e-9)


@each_solver
def test_random_games_have_an_odd_number_of_equilibria_with_the_pure_ones_among_them(solver):
    generator = np.random.default_rng(0)
    for sizes in [(2, 3), (3, 3), (4, 3), (4, 4)] * 2:
        game = NormalFormGame(generator.normal(size=(2, *sizes)))
        found = nash_equilibria(game, solver=solver)
        assert len(found) % 2 == 1
        assert max(nash_conv(game, profile) for profile in found) < 1e-9
        pure = {
            tuple(int(np.argmax(strategy)) for strategy in profile)
            for profile in found
            if min(strategy.max() for strategy in profile) > 1 - 1e-9
        }
        assert pure == set(evaluation.pure_equilibria(game))


def test_both_packages_find_the_same():
    for name in SOLVERS:
        pytest.importorskip(name)
    game = NormalFormGame(np.random.default_rng(3).normal(size=(2, 4, 3)))
    by_both = [nash_equilibria(game, solver=name) for name in SOLVERS]
    for one, other in zip(*by_both, strict=True):
        np.testing.assert_allclose(np.concatenate(one), np.concatenate(other), atol=1e-9)


def test_three_players_who_want_to_go_to_a_bar_for_one():
    pytest.importorskip("pygambit")
    game = games.el_farol(players=3, capacity=1)
    found = nash_equilibria(game)
    going = sorted(sum(strategy[0] > 0.99 for strategy in profile) for profile in found)
    assert going.count(1) >= 3  # one goes alone, and others may be indifferent
    assert max(nash_conv(game, profile) for profile in found) < 1e-3


def test_quantal_responses_are_fixed_points_from_uniform_play_to_an_equilibrium():
    pytest.importorskip("pygambit")
    game = games.biased_rock_paper_scissors()
    path = quantal_response_path(game)
    assert path[0].precision == 0
    np.testing.assert_allclose(path[0].profile[0], 1 / 3)
    for precision, profile in path:
        for player in range(2):
            utility = precision * game.utility(player, profile)
            response = np.exp(utility - utility.max())
            np.testing.assert_allclose(profile[player], response / response.sum(), atol=1e-5)
    np.testing.assert_allclose(path[-1].profile[0], np.array([1, 10, 5]) / 16, atol=1e-4)


@pytest.mark.parametrize(
    ("game", "given", "error", "message"),
    [
        (games.kuhn_poker(), {}, TypeError, "must be a NormalFormGame"),
        (games.chicken(), {"solver": "lemke"}, ValueError, "solver must be 'pygambit'.*'lemke'"),
        (games.el_farol(3), {"solver": "nashpy"}, ValueError, "must have two players, got 3"),
        (games.el_farol(1), {}, ValueError, "at least two players, got 1"),
    ],
)
def test_other_games_and_solvers_are_refused(game, given, error, message):
    with pytest.raises(error, match=message):
        nash_equilibria(game, **given)


@pytest.mark.parametrize("package", SOLVERS)
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    extra = "gambit" if package == "pygambit" else "nashpy"
    with pytest.raises(ImportError, match=rf"{package}.*regretkit\[{extra}\]"):
        nash_equilibria(games.chicken(), solver=package)
