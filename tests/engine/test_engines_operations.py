"""The compiled operations of simplices are bitwise identical to those in NumPy."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import regretkit as rk
from regretkit.engine._vectorized import CompiledSimplices, compile_block_functions
from regretkit.games import kuhn_poker
from regretkit.sets import Simplices

NUMBERS = st.floats(-1e200, 1e200) | st.sampled_from([0.0, -0.0, 1.0, 1e-320, -1e-320, 3.0])
SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def fast(sizes):
    simplices = Simplices(sizes)
    twin = CompiledSimplices(simplices, compile_block_functions())
    assert twin == simplices
    return twin


@st.composite
def simplices_and_vectors(draw):
    sizes = draw(SIZES | st.integers(1, 9).flatmap(lambda n: st.just([n] * (1_200 // n))))
    vector = arrays(np.float64, sum(sizes), elements=NUMBERS)
    if draw(st.booleans()):  # many equal ones, and blocks of zeros
        vector = arrays(np.float64, sum(sizes), elements=st.sampled_from([0.0, 1.0, 0.3]))
    return sizes, draw(vector), draw(vector)


def same(first, second):
    # Zeros may differ in their sign, which decides nothing.
    return np.array_equal(first, second) and first.dtype == second.dtype


@given(simplices_and_vectors())
def test_every_operation_is_bitwise_identical(case):
    sizes, left, right = case
    slow, quick = Simplices(sizes), fast(sizes)
    with np.errstate(all="ignore"):
        assert same(slow.sum(left), quick.sum(left))
        assert same(slow.max(left), quick.max(left))
        left, right = left / 2e100, right / 2e100
        assert same(slow.dot(left, right), quick.dot(left, right))
        assert same(slow.add(left, right), quick.add(left, right))
        assert same(slow.add(left, -left), np.zeros(left.size))
        assert same(slow.regret(left, right), quick.regret(left, right))
        assert same(slow.expectation(left, right), quick.expectation(left, right))
        assert same(slow.normalize(np.abs(left)), quick.normalize(np.abs(left)))
        assert same(slow.project(left), quick.project(left))
        assert same(slow.softmax(left), quick.softmax(left))


def test_results_are_new_arrays_that_may_be_written_to():
    simplices, vector = fast([2, 3]), np.arange(5.0)
    vector.setflags(write=False)
    for result in (simplices.sum(vector), simplices.normalize(vector)):
        result += 1.0
    assert np.array_equal(vector, np.arange(5.0))


@pytest.mark.parametrize(
    "vector",
    [np.arange(5), np.arange(10.0)[::2], np.arange(5.0).astype(np.float32), np.ones(5, dtype=bool)],
    ids=["integers", "every other", "single precision", "truth values"],
)
def test_other_arrays_are_taken_as_numpy_takes_them(vector):
    slow, quick = Simplices([2, 3]), fast([2, 3])
    for name in ("sum", "max", "normalize"):
        assert np.array_equal(getattr(slow, name)(vector), getattr(quick, name)(vector))
    assert np.array_equal(slow.dot(vector, vector), quick.dot(vector, vector))


@pytest.mark.parametrize("name", ["sum", "normalize"])
def test_a_vector_of_another_length_is_refused_as_ever(name):
    with pytest.raises(ValueError, match=r"\b(length|shape|operands|reduceat)\b"):
        getattr(fast([2, 3]), name)(np.ones(3))


def test_copies_and_pickles_do_without():
    simplices = fast([2, 3])
    for twin in (copy.deepcopy(simplices), pickle.loads(pickle.dumps(simplices))):
        assert twin == simplices
        assert type(twin) is Simplices
        assert same(twin.normalize(np.arange(5.0)), simplices.normalize(np.arange(5.0)))


def test_a_vectorized_run_gives_its_rules_compiled_operations_and_leaves_shared_sets_alone():
    seen = []

    def local(simplices):
        seen.append(simplices)
        return rk.RegretMatching(simplices)

    game = kuhn_poker()
    minimizers = [rk.CFR(tree, local) for tree in game.domains]
    rk.SelfPlay(game, minimizers, engine="vectorized").run(3)
    assert len(seen) == 2
    for minimizer, simplices in zip(minimizers, seen, strict=True):
        rule = minimizer.rule.simplices
        assert rule == simplices
        assert (type(rule), type(simplices)) == (CompiledSimplices, Simplices)
