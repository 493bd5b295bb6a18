"""The checks of state: it is plain, exact, a copy, and a refused state changes nothing."""

import copy
import json

import numpy as np
import pytest
from test_contract import ROWS, every_row, goes_on, trained

import regretkit as rk

PLAIN = (bool, int, float, str, type(None), np.ndarray)


def leaves(state, place=""):
    """Yield the name and value of everything in nested dicts that is no dict."""
    for key, value in state.items():
        assert type(key) is str
        if type(value) is dict:
            yield from leaves(value, f"{place}/{key}")
        else:
            yield f"{place}/{key}", value


def edited(state, path, edit):
    """Return a copy of ``state`` in which ``edit`` was done to the dict that holds ``path``."""
    result = copy.deepcopy(state)
    *parents, last = path.strip("/").split("/")
    holder = result
    for name in parents:
        holder = holder[name]
    edit(holder, last)
    return result


def replaced(state, path, value):
    return edited(state, path, lambda holder, last: holder.__setitem__(last, value))


def removed(state, path):
    return edited(state, path, lambda holder, last: holder.pop(last))


def broken(state):
    """Yield states that do not fit where ``state`` does, and what is wrong with each."""
    yield "nothing", {}
    yield "more than all", {**state, "extra": 1.0}
    yield "no dict", list(state.items())
    for path, value in leaves(state):
        yield f"no {path}", removed(state, path)
        yield f"{path} as a dict", replaced(state, path, {"0": 1.0})
        yield f"{path} as an object", replaced(state, path, object())
        if isinstance(value, np.ndarray):
            yield f"{path} longer", replaced(state, path, np.append(value, 0.0))
            yield f"{path} as text", replaced(state, path, "regrets")
            yield f"{path} as whole numbers", replaced(state, path, np.ones(value.shape, int))
            yield f"{path} as a number", replaced(state, path, 1.0)
            yield f"{path} as None", replaced(state, path, None)
        if type(value) is int and not path.startswith("/generator"):
            yield f"{path} as text", replaced(state, path, "many")
            yield f"{path} as an array", replaced(state, path, np.ones(3))
            yield f"{path} as None", replaced(state, path, None)


def accepts(player, state):
    try:
        player.load_state_dict(state)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.deep_beyond(35)
@every_row
def test_a_state_is_plain(make):
    for path, value in leaves(trained(make).state_dict()):
        assert type(value) in PLAIN, path
        assert not isinstance(value, np.ndarray) or value.dtype != object, path


@pytest.mark.deep_beyond(35)
@every_row
def test_a_state_saved_before_next_strategy_loads_after_it(make):
    player = trained(make)
    state = player.state_dict()
    strategy = player.next_strategy().copy()
    player.load_state_dict(state)
    np.testing.assert_array_equal(player.next_strategy(), strategy)


@pytest.mark.deep_beyond(35)
@every_row
def test_a_state_survives_a_prediction_that_is_still_to_come_true(make):
    player, fresh = trained(make), make()
    player.expect_utility(np.random.default_rng(1).normal(size=player.dimension))
    fresh.load_state_dict(player.state_dict())
    np.testing.assert_array_equal(fresh.next_strategy(), player.next_strategy())


@pytest.mark.deep_beyond(35)
@every_row
def test_a_state_is_a_copy(make):
    player = trained(make)
    state = player.state_dict()
    kept = copy.deepcopy(state)

    fresh = make()
    fresh.load_state_dict(state)
    np.testing.assert_equal(fresh.state_dict(), kept)
    played = goes_on(player)
    np.testing.assert_equal(state, kept)  # the player has learned, its old state has not changed

    for _, value in leaves(state):
        if isinstance(value, np.ndarray):
            value[...] = 7  # writing into it is safe
    np.testing.assert_array_equal(goes_on(fresh), played)


@pytest.mark.deep_beyond(5)
@every_row
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(make):
    player, twin = trained(make), trained(make)
    state = player.state_dict()

    accepted = []
    for kind, wrong in broken(state):
        if accepts(player, wrong):
            accepted.append(kind)
            player = trained(make)
        np.testing.assert_equal(player.state_dict(), state)

    np.testing.assert_array_equal(goes_on(player), goes_on(twin))
    assert accepted == []


@pytest.mark.deep_beyond(2)
@every_row
def test_the_state_of_another_minimizer_is_refused(make):
    player = trained(make)
    state = player.state_dict()
    others = [trained(make_other).state_dict() for make_other in ROWS.values()]

    def shape(state):
        return {path: np.shape(value) for path, value in leaves(state)}

    for foreign in others:
        if shape(foreign) != shape(state):
            with pytest.raises((TypeError, ValueError)):
                player.load_state_dict(foreign)
    np.testing.assert_equal(player.state_dict(), state)


@pytest.mark.deep_beyond(20)
@every_row
@pytest.mark.parametrize("verb", ["observe_utility", "expect_utility"])
def test_a_refused_utility_changes_nothing(make, verb):
    player, twin = trained(make), trained(make)
    state, good = player.state_dict(), np.zeros(player.dimension)
    wrong = [np.append(good, 0.0), good[:, None], ["one"] * player.dimension, None, {}]
    wrong += [np.where(np.arange(good.size) == good.size - 1, x, good) for x in (np.nan, -np.inf)]
    wrong += [good + 1e301, good[:-1], "abc"]

    for utility in wrong:
        with pytest.raises((TypeError, ValueError), match=r"utility|prediction"):
            getattr(player, verb)(utility)

    np.testing.assert_equal(player.state_dict(), state)
    np.testing.assert_array_equal(goes_on(player), goes_on(twin))


@pytest.mark.deep_beyond(35)
@every_row
def test_a_state_of_lists_will_do_so_that_it_can_be_written_as_text(make):
    player, fresh = trained(make), make()
    text = json.dumps(player.state_dict(), default=lambda array: array.tolist())
    fresh.load_state_dict(json.loads(text))
    np.testing.assert_array_equal(goes_on(fresh), goes_on(player))


def test_a_complex_utility_is_refused_and_not_cut_to_its_real_part():
    with pytest.raises(TypeError, match="utility must be numbers"):
        rk.RegretMatching(2).observe_utility([1j, 2.0])


def test_a_refused_state_says_what_was_wanted_and_where():
    player = rk.CFR(rk.DecisionTree([0, 2], [2, 2]), rk.RegretMatching)
    state = player.state_dict()

    missing = removed(state, "/rule/regrets")
    with pytest.raises(ValueError, match=r"state\['rule'\] .*'regrets'.*, got \[.*"):
        player.load_state_dict(missing)
    longer = replaced(state, "/rule/regrets", np.zeros(5))
    with pytest.raises(ValueError, match=r"must have shape \(4,\) .* got \(5,\)"):
        player.load_state_dict(longer)
