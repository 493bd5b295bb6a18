"""Best responses in machine code: bitwise those of NumPy, and used where they pay off."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine_cases import Written
from public_games import kuhn, leduc, liars_dice, random_profile, river

import regretkit as rk
from regretkit._compiler import CannotCompileError
from regretkit.engine import _responses
from regretkit.engine._responses import Responder
from regretkit.evaluation import (
    _gaps,
    best_response,
    best_response_gains,
    nash_conv,
    solve_zero_sum,
)
from regretkit.games.public import Decision, Free, PublicGame, PublicTree

PUBLIC = {
    "kuhn": kuhn(5),
    "leduc": leduc(2),
    "dice": liars_dice(1, 3),
    "river with rake": river(5, 2, 0.05, ties=True),
    "river": river(9, 3),
}
STORED = ("kuhn_poker", "kuhn_poker(players=3)", "goofspiel(cards=4)", "sheriff", "leduc_poker")
GAMES = PUBLIC | {name: rk.load(name) for name in STORED}


@pytest.fixture
def numpy_alone(monkeypatch):
    """Compute all gaps by NumPy."""
    monkeypatch.setattr(_gaps, "_FEW", np.inf)


@pytest.fixture
def in_python(monkeypatch):
    """Run what is compiled as it is written."""
    monkeypatch.setattr(_responses, "MachineCode", Written)


@pytest.fixture
def anew(monkeypatch):
    """Forget what was measured and compiled before."""
    for name in ("_UNSUPPORTED", "_IDLE"):
        monkeypatch.setattr(_responses, name, type(getattr(_responses, name))())
    monkeypatch.setattr(_gaps, "_WORK", type(_gaps._WORK)())


def profile_of(game, seed):
    """Return a random profile, which plays some actions never."""
    generator, found = np.random.default_rng(seed), []
    for domain in game.domains:
        weights = generator.exponential(size=domain.dimension - 1)
        weights *= generator.random(weights.size) < 0.7
        found.append(domain.sequence_form(domain.simplices.normalize(weights)))
    return found


def assert_as_numpy(game, responder):
    """Check gains and best responses, for some profiles."""
    # In symmetric games, what is played uniformly cancels.
    uniform = [domain.relative_interior_point() for domain in game.domains]
    for profile in [uniform, *(profile_of(game, seed) for seed in range(3))]:
        gains = best_response_gains(game, profile)
        assert np.array_equal(responder.gains(profile), gains)
        assert (gains >= 0.0).all()
        for player, domain in enumerate(game.domains):
            value, strategy = best_response(game, player, profile)
            found, same = domain.best_response_by_values(responder.best_values(profile, player))
            assert found == value
            assert np.array_equal(strategy, same)
            assert domain.contains(strategy)
            played = [strategy if i == player else x for i, x in enumerate(profile)]
            size = np.abs(game.payoffs).max()
            assert game.value(played)[player] == pytest.approx(value, abs=1e-12 * size)


@pytest.mark.parametrize("name", GAMES)
def test_what_is_compiled_finds_the_best_responses_of_numpy(name, in_python, numpy_alone):
    assert_as_numpy(GAMES[name], Responder(GAMES[name]))


@pytest.mark.parametrize(
    "name",
    [
        "river with rake",
        pytest.param("leduc_poker", marks=pytest.mark.deep),
        pytest.param("kuhn_poker(players=3)", marks=pytest.mark.deep),
    ],
)
def test_machine_code_finds_the_best_responses_of_numpy(name, numpy_alone):
    assert_as_numpy(GAMES[name], Responder(GAMES[name]))


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_an_equilibrium_leaves_nothing_to_gain(name, in_python, numpy_alone):
    game = GAMES[name]
    profile = solve_zero_sum(game).profile
    for gains in (best_response_gains(game, profile), Responder(game).gains(profile)):
        assert (gains >= 0.0).all()
        assert gains.max() <= 1e-14


# Where it is used


@pytest.fixture
def used(in_python, anew, monkeypatch):
    """Return what machine code was asked for."""
    calls = []

    def count(name):
        method = getattr(Responder, name)

        def counted(self, *given):
            calls.append(name)
            return method(self, *given)

        monkeypatch.setattr(Responder, name, counted)

    for name in ("gains", "best_values"):
        count(name)
    return calls


@pytest.fixture
def at_once(monkeypatch):
    """Let machine code compute the first gap."""
    monkeypatch.setattr(_gaps, "_FEW", 0.0)


def test_few_gaps_of_a_small_game_are_numpys(used):
    game = kuhn(4)
    for seed in range(10):
        nash_conv(game, random_profile(game, seed))
    assert used == []


@pytest.mark.parametrize("game", [kuhn(4), rk.load("kuhn_poker(players=3)")], ids=repr)
def test_of_games_with_many_gaps_they_are_of_machine_code(game, used, at_once):
    profile = profile_of(game, 0)
    found = best_response_gains(game, profile), best_response(game, 1, profile)
    assert used == ["gains", "best_values"]
    want = Responder(game).gains(profile)
    assert np.array_equal(found[0], want)
    assert found[1][0] == pytest.approx(want[1] + game.value(profile)[1], abs=1e-14)


def test_it_is_used_once_there_were_many_gaps(used, monkeypatch):
    game = kuhn(4)
    monkeypatch.setattr(_gaps, "_FEW", 2.5 * _gaps._work(game))
    for _ in range(4):
        nash_conv(game, random_profile(game))
    assert len(used) == 2


def that_cannot_compile(monkeypatch):
    def refuse(*_):
        raise CannotCompileError("too difficult")

    monkeypatch.setattr(_responses, "warn_once", lambda text: None)
    monkeypatch.setattr(Responder, "__init__", refuse)
    return kuhn(4)


def of_a_larger_tree(monkeypatch):
    monkeypatch.setattr(_responses, "MOST_KEPT", 10)
    return rk.load("kuhn_poker")


def of_huge_payoffs(monkeypatch):
    tree = PublicTree(Decision(0, {"a": Free(1e100), "b": Free(-1e100)}))
    return PublicGame(tree, kuhn(4).deal)


@pytest.mark.parametrize("case", [that_cannot_compile, of_a_larger_tree, of_huge_payoffs])
def test_where_machine_code_cannot_numpy_does_it(case, used, at_once, monkeypatch):
    game = case(monkeypatch)
    assert nash_conv(game, random_profile(game)) > 0.0
    assert nash_conv(game, random_profile(game)) > 0.0
    assert used == []


def test_what_is_no_strategy_is_refused_as_numpy_does(used, at_once):
    game = kuhn(4)
    first, second = random_profile(game)
    broken = [
        np.append(1.0, 2.0 * second[1:]),
        2.0 * second,
        np.append(1.0, np.tile([2.0, -1.0], second.size // 2)),
    ]
    for strategy in broken:
        with pytest.raises(ValueError, match=r"profile\[1\] must be a strategy of player 1"):
            nash_conv(game, [first, strategy])
        with pytest.raises(ValueError, match=r"profile\[1\] must be a strategy of player 1"):
            best_response(game, 0, [first, strategy])
        with pytest.raises(ValueError, match=r"profile\[1\] must be a strategy of player 1"):
            nash_conv(game, iter([first, strategy]))
        best_response(game, 1, [first, strategy])  # whose own is ignored
    with pytest.raises(ValueError, match="must be finite"):
        nash_conv(game, [first, np.full_like(second, np.nan)])
    with pytest.raises(ValueError, match="has 1 strategies"):
        nash_conv(game, [first])


def test_a_run_is_measured_in_machine_code(used, at_once):
    run = rk.play.named("cfr+").start(kuhn(4), engine="numpy").run(5)
    gap = run.nash_conv()
    assert used == ["gains"]
    assert gap == nash_conv(run.game, run.average)


def test_functions_are_asked_as_numpy_does(used, at_once):
    game = kuhn(4)
    uniform = [domain.relative_interior_point() for domain in game.domains]
    asked = nash_conv(game, [lambda _, actions: np.ones(len(actions)) / len(actions)] * 2)
    assert asked == pytest.approx(nash_conv(game, uniform), abs=1e-14)


def test_another_thread_may_take_the_last_arrays(used, at_once):
    class Taken(list):
        def __bool__(self):
            return True

    game = kuhn(4)
    _responses._IDLE[game] = Taken()
    assert nash_conv(game, random_profile(game)) > 0.0
    assert used == ["gains"]


@pytest.mark.deep
def test_threads_do_not_disturb_each_other(anew, at_once):
    game = river(24, 1)
    profiles = [random_profile(game, seed) for seed in range(8)]
    expected = [nash_conv(game, profile) for profile in profiles]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: nash_conv(game, profiles[k % 8]), range(400)))
    assert found == expected * 50
