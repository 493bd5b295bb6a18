"""Operations on blocks and trees in machine code give the bits of NumPy.

Vectors with gaps, and DAGs, are left to NumPy, so that public calls have both.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regretkit.sets import DecisionDAG, DecisionTree, Simplices

NUMBERS = st.floats(-1e100, 1e100) | st.sampled_from([0.0, -0.0, 1.0, 1e-320, -1e-320, 3.0])
TIES = st.sampled_from([0.0, -0.0, 1.0, 0.3, 0.1, 0.2, -0.3])
SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=12)


def vectors(size):
    return st.sampled_from([NUMBERS, TIES]).flatmap(
        lambda numbers: arrays(np.float64, size, elements=numbers)
    )


def with_gaps(vector):
    return np.repeat(vector, 2)[::2]


def same(first, second):
    return first.tobytes() == second.tobytes()


@given(SIZES | st.integers(1, 9).map(lambda n: [n] * (1_200 // n)), st.data())
def test_blocks(sizes, data):
    simplices = Simplices(sizes)
    left, right = (data.draw(vectors(simplices.dimension)) for _ in range(2))
    shares = simplices.normalize(abs(right))
    for name, given_ in [
        ("regret", (left, shares)),
        ("add", (left, right)),
        ("normalize", (abs(left),)),
    ]:
        operation = getattr(simplices, name)
        assert same(operation(*given_), operation(*map(with_gaps, given_))), name


@st.composite
def trees(draw):
    sizes = draw(SIZES)
    before = np.cumsum([0, *sizes])
    parents = [draw(st.integers(0, int(last))) for last in before[:-1]]
    return DecisionTree(parents, sizes), DecisionDAG(parents, sizes)


@given(trees(), st.data())
def test_trees_and_dags_of_one_parent_each(pair, data):
    tree, dag = pair
    utility = data.draw(vectors(tree.dimension))
    behavior = tree.simplices.normalize(abs(data.draw(vectors(tree.dimension - 1))))
    strategy = tree.sequence_form(behavior)
    assert (dag.depth, dag.dimension, dag.points) == (tree.depth, tree.dimension, tree.points)
    assert same(dag.sequence_form(behavior), strategy)
    assert same(dag.reach(strategy), tree.reach(strategy))
    assert same(tree.best_values(utility), dag.best_values(utility))
    assert same(tree.best_response(utility)[1], dag.best_response(utility)[1])
    (value, earned), (other, others) = (x.counterfactual(utility, behavior) for x in pair)
    assert value == other
    assert same(earned, others)
