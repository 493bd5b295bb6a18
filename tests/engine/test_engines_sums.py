"""Machine code and the Python it is made of do the same arithmetic in the same order."""

from functools import partial

import numpy as np
import pytest
from forests import (
    between,
    dense,
    in_python,
    iterated,
    planted,
    same_bits,
    seeds,
    shapes,
    some_order,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import regretkit as rk
from regretkit import NormalFormGame
from regretkit.engine._layout import (
    NO_SINGLETONS,
    flatten_trees,
    lay_out_payoffs,
    without_singletons,
)

RULE = rk.RegretMatchingPlus(1)


def assert_python_agrees(forest, payoffs, order, forced=NO_SINGLETONS):
    compiled = iterated(RULE, forest, payoffs, order(), forced=forced)
    with pytest.MonkeyPatch.context() as patch:
        code = partial(in_python, monkeypatch=patch)
        written = iterated(RULE, forest, payoffs, order(), forced=forced, code=code)
    assert same_bits(compiled, written)


@settings(max_examples=30)
@given(shapes, shapes, seeds, st.booleans())
def test_two_players_on_any_trees_agree_bitwise(first, second, seed, leave_out):
    forest = planted(first, second, seed=seed)
    payoffs, forced = between(forest, seed), NO_SINGLETONS
    if leave_out:
        forest, payoffs, forced = without_singletons(forest, payoffs)
    assert_python_agrees(forest, payoffs, partial(some_order, seed), forced)


@settings(max_examples=30)
@given(shapes, shapes, shapes, seeds)
def test_three_players_on_any_trees_agree_bitwise(one, two, three, seed):
    forest = planted(one, two, three, seed=seed)
    assert_python_agrees(forest, between(forest, seed), partial(some_order, seed))


@pytest.mark.parametrize("opponents", [["star"], ["star", "idle"]])
def test_long_sums_have_one_order(opponents):
    forest = planted("star", *opponents, seed=2)
    assert_python_agrees(forest, dense(forest, 2), partial(some_order, 0))


@pytest.mark.parametrize("sizes", [(7, 29), (2, 7, 9)])
def test_sums_over_a_normal_form_have_one_order(sizes):
    payoffs = np.random.default_rng(5).normal(size=(len(sizes), *sizes))
    game = NormalFormGame(payoffs)
    forest = flatten_trees(game.domains)
    assert_python_agrees(forest, lay_out_payoffs(game, forest), partial(some_order, 0))
