"""Every operation on blocks is the obvious one, and a block never feels its neighbours."""

import naive
import numpy as np
import pytest
from factories import random_behavior

from regretkit import Simplices
from regretkit.sets import as_simplices

# Sizes that take every path: one block, uniform and narrow, uniform and wide, ragged, with ones,
# and many blocks.
SIZES = {
    **{str(s): s for s in ([3], [1], [2] * 5, [1, 1, 1], [9] * 3, [2, 3, 1, 4])},
    **{str(s): s for s in ([12, 1, 7, 2, 40], [300])},
    "many of 3": [3] * 400,
    "many of 8": [8] * 200,
    "many of 2 to 4": [2, 3, 1, 4] * 100,
}
each_layout = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)


def in_blocks(sizes, vector):
    return [block.tolist() for block in np.split(np.asarray(vector), np.cumsum(sizes)[:-1])]


def end_to_end(blocks):
    return np.array([number for block in blocks for number in block])


def signed(generator, size):
    """Return numbers of both signs and many magnitudes, some of them zero."""
    numbers = generator.normal(size=size) * 10.0 ** generator.integers(-6, 7, size=size)
    return np.where(generator.random(size) < 0.2, 0.0, numbers)


# Against plain Python, block by block


@each_layout
def test_sums_products_maxima_and_running_sums_are_those_of_each_block(sizes):
    generator = np.random.default_rng(1)
    simplices = Simplices(sizes)
    u, v = signed(generator, (2, simplices.dimension))
    blocks, strategy_blocks = in_blocks(sizes, u), in_blocks(sizes, v)

    # From left to right, bitwise identical.
    np.testing.assert_array_equal(simplices.sum(u), [naive.total(b) for b in blocks])
    np.testing.assert_array_equal(
        simplices.dot(u, v), list(map(naive.dot, blocks, strategy_blocks))
    )
    np.testing.assert_array_equal(simplices.max(u), [max(b) for b in blocks])
    running = [[naive.total(b[: i + 1]) for i in range(len(b))] for b in blocks]
    np.testing.assert_array_equal(simplices.cumulate(u), end_to_end(running))


@each_layout
def test_sorting_is_that_of_each_block_and_its_order_goes_back(sizes):
    simplices = Simplices(sizes)
    u = np.round(signed(np.random.default_rng(3), simplices.dimension))
    ordered, order = simplices.sort(u)
    np.testing.assert_array_equal(ordered, end_to_end([sorted(b) for b in in_blocks(sizes, u)]))
    np.testing.assert_array_equal(ordered, u[order])
    back = np.empty(simplices.dimension)
    back[order] = ordered
    np.testing.assert_array_equal(back, u)


@each_layout
def test_bisection_and_newton_find_the_same_root(sizes):
    simplices = Simplices(sizes)
    squares = 1.0 + np.random.default_rng(4).random(simplices.blocks)
    halved = simplices.bisect(np.zeros(simplices.blocks), squares, lambda x: x * x < squares)
    newton = simplices.newton(
        np.ones(simplices.blocks), lambda x: np.maximum(squares - x * x, 0.0) / (2.0 * squares)
    )
    np.testing.assert_allclose(halved, np.sqrt(squares), rtol=1e-15)
    np.testing.assert_allclose(newton, np.sqrt(squares), rtol=1e-8)


@each_layout
def test_normalizing_softmax_and_regret_are_those_of_each_block(sizes):
    generator = np.random.default_rng(2)
    simplices = Simplices(sizes)
    u, x = signed(generator, simplices.dimension), random_behavior(generator, simplices)
    blocks, plays = in_blocks(sizes, u), in_blocks(sizes, x)
    normalized = simplices.normalize(np.maximum(u, 0.0))
    softmax = simplices.softmax(1e-3 * u)

    exact = {"rtol": 1e-13, "atol": 0.0}
    np.testing.assert_allclose(normalized, end_to_end(map(naive.in_proportion, blocks)), **exact)
    small = in_blocks(sizes, 1e-3 * u)
    np.testing.assert_allclose(softmax, end_to_end(map(naive.softmax, small)), **exact)
    near = {"rtol": 0.0, "atol": 1e-13 * max(1.0, np.abs(u).max())}
    regrets = end_to_end(map(naive.regret, blocks, plays))
    np.testing.assert_allclose(simplices.regret(u, x), regrets, **near)
    earned = list(map(naive.dot, blocks, plays))
    np.testing.assert_allclose(simplices.expectation(u, x), earned, **near)
    assert simplices.value(u, x) == pytest.approx(sum(earned), abs=near["atol"])


@pytest.mark.deep_beyond(11)
@each_layout
@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
def test_projection_finds_the_level_that_bisection_finds(sizes, scale):
    generator = np.random.default_rng(3)
    simplices = Simplices(sizes)
    vector = scale * generator.normal(size=simplices.dimension)
    projected = simplices.project(vector)
    expected = end_to_end(map(naive.project, in_blocks(sizes, vector)))
    np.testing.assert_allclose(projected, expected, atol=1e-12 * max(1.0, scale))


@each_layout
def test_projection_is_the_nearest_point_by_its_optimality_condition(sizes):
    # p is nearest to v exactly when <v - p, y - p> <= 0 for every vertex y of the set.
    generator = np.random.default_rng(4)
    simplices = Simplices(sizes)
    vector = generator.normal(size=simplices.dimension)

    nearest = simplices.project(vector)

    assert simplices.contains(nearest, atol=1e-12)
    farthest, _ = simplices.best_response(vector - nearest)
    assert farthest - (vector - nearest) @ nearest <= 1e-12


@pytest.mark.deep_beyond(5)
@pytest.mark.parametrize("size", range(1, 15))
@pytest.mark.parametrize("scale", [1e-9, 0.3, 2.0, 1e12])
def test_many_blocks_are_projected_bitwise_as_each_alone(size, scale):
    # Many narrow blocks of one size are sorted and added up by column, a single block by row.
    generator = np.random.default_rng(size)
    count = 1_200 // size
    rows = scale * generator.normal(size=(count, size))
    rows[::3] = scale * generator.integers(-2, 3, size=(len(rows[::3]), size))  # ties
    rows[::7] = np.sort(rows[::7], axis=1)

    joint = Simplices([size] * count).project(rows.ravel()).reshape(rows.shape)

    np.testing.assert_array_equal(joint, [Simplices(size).project(row) for row in rows])
    found = [naive.project([number - max(row) for number in row]) for row in rows.tolist()]
    np.testing.assert_allclose(joint, found, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("operation", ["sum", "max", "project"])
def test_more_blocks_than_a_cache_holds_get_the_bits_that_a_few_get(size, operation):
    generator = np.random.default_rng(size)
    few, count = Simplices([size] * 100), 500
    vector = signed(generator, count * few.dimension)
    joint = getattr(Simplices([size] * 100 * count), operation)(vector)
    parts = [getattr(few, operation)(part) for part in np.split(vector, count)]
    np.testing.assert_array_equal(joint, np.concatenate(parts))


def test_a_tree_with_decisions_of_every_size_is_projected_size_by_size():
    generator = np.random.default_rng(11)
    sizes = generator.integers(1, 12, size=1_500)
    simplices = Simplices(sizes)
    vector = signed(generator, simplices.dimension)
    projected = simplices.project(vector)
    alone = [Simplices(len(block)).project(np.array(block)) for block in in_blocks(sizes, vector)]
    np.testing.assert_array_equal(projected, np.concatenate(alone))


@each_layout
def test_the_best_response_is_the_first_of_the_best_in_each_block(sizes):
    generator = np.random.default_rng(6)
    simplices = Simplices(sizes)
    utility = generator.integers(0, 3, size=simplices.dimension).astype(float)
    blocks = in_blocks(sizes, utility)

    value, response = simplices.best_response(utility)

    assert value == sum(max(block) for block in blocks)
    firsts = [[float(i == b.index(max(b))) for i in range(len(b))] for b in blocks]
    np.testing.assert_array_equal(response, end_to_end(firsts))


@each_layout
def test_every_action_gets_the_number_of_its_block(sizes):
    simplices = Simplices(sizes)
    numbers = np.random.default_rng(7).normal(size=len(sizes))
    repeated = [[number] * size for number, size in zip(numbers, sizes, strict=True)]
    np.testing.assert_array_equal(simplices.repeat(numbers), end_to_end(repeated))
    uniform = [[1.0 / size] * size for size in sizes]
    np.testing.assert_array_equal(simplices.uniform(), end_to_end(uniform))
    np.testing.assert_array_equal(simplices.relative_interior_point(), simplices.uniform())


@each_layout
def test_selected_blocks_are_where_their_coordinates_say(sizes):
    generator = np.random.default_rng(8)
    simplices = Simplices(sizes, labels=[f"point {j}" for j in range(len(sizes))])
    vector = generator.normal(size=simplices.dimension)
    chosen = generator.permutation(len(sizes))[:3]

    selected = simplices.select(chosen)

    blocks = [in_blocks(sizes, vector)[j] for j in chosen]
    np.testing.assert_array_equal(vector[simplices.coordinates(chosen)], end_to_end(blocks))
    assert selected == Simplices([sizes[j] for j in chosen])
    assert [selected.labels.block(i) for i in range(len(chosen))] == [f"point {j}" for j in chosen]


# What is exact


OPERATIONS = {
    "sum": lambda s, u, x: s.sum(u),
    "dot": lambda s, u, x: s.dot(u, x),
    "cumulate": lambda s, u, x: s.cumulate(u),
    "max": lambda s, u, x: s.max(u),
    "expectation": lambda s, u, x: s.expectation(u, x),
    "regret": lambda s, u, x: s.regret(u, x),
    "normalize": lambda s, u, x: s.normalize(np.abs(u)),
    "normalize_zero": lambda s, u, x: s.normalize(0.0 * u),
    "softmax": lambda s, u, x: s.softmax(u),
    "project": lambda s, u, x: s.project(u),
    "uniform": lambda s, u, x: s.uniform(),
    "best_response": lambda s, u, x: s.best_response(u)[1],
}
NEIGHBOURS = {
    "uniform": lambda size: ([size] * 3, [size] * 4),
    "ragged": lambda size: ([1, 5, 2], [3]),
    "last": lambda size: ([7, size, 1, 1], []),
    "first": lambda size: ([], [64, 2]),
    "many": lambda size: ([2] * 700, [3] * 700),
    "alike": lambda size: ([size] * 700, [size] * 700),
}


@pytest.mark.deep_beyond(100)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("size", [*range(1, 13), 31, 200, 1000])
def test_a_block_among_others_has_the_bits_that_it_has_alone(operation, neighbours, size):
    generator = np.random.default_rng(size)
    previous, following = NEIGHBOURS[neighbours](size)
    joint, alone = Simplices([*previous, size, *following]), Simplices(size)
    block = joint.block(len(previous))
    u, x = signed(generator, joint.dimension), random_behavior(generator, joint)

    result = OPERATIONS[operation](joint, u, x)
    by_itself = OPERATIONS[operation](alone, u[block], x[block])

    per_block = result.size == joint.blocks != joint.dimension
    found_block = result[len(previous)] if per_block else result[block]
    np.testing.assert_array_equal(found_block, by_itself[0] if per_block else by_itself)


@pytest.mark.parametrize("exponent", [-300, -20, 0, 20, 290])
def test_equal_utilities_leave_no_regret_at_all(exponent):
    # Strategies sum to one only up to rounding; u - <u, x> computed plainly would be noise, which
    # a normalization turns into play.
    generator = np.random.default_rng(9)
    simplices = Simplices(generator.integers(1, 9, size=200))
    strategy = random_behavior(generator, simplices)
    worth = generator.normal(size=200) * 10.0**exponent
    utility = simplices.repeat(worth)

    np.testing.assert_array_equal(simplices.regret(utility, strategy), 0.0)
    np.testing.assert_array_equal(simplices.expectation(utility, strategy), worth)


def test_normalizing_nothing_gives_the_uniform_distribution_in_that_block_only():
    tiny = 5e-324  # not zero: the smallest number that there is
    vector = np.array([0.0, 0.0, 0.0, tiny, 0.0, 0.0])
    normalized = Simplices([3, 2, 1]).normalize(vector)
    np.testing.assert_array_equal(normalized, [1 / 3, 1 / 3, 1 / 3, 1.0, 0.0, 1.0])


def test_softmax_of_numbers_beyond_the_range_of_exp_is_finite():
    weights = Simplices([2, 2]).softmax(np.array([1e6, 1e6, -1e6, 0.0]))
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0.0, 1.0])


@each_layout
@pytest.mark.parametrize("operation", OPERATIONS)
def test_whole_numbers_are_numbers_too(sizes, operation):
    simplices = Simplices(sizes)
    u = np.random.default_rng(12).integers(-3, 4, size=simplices.dimension)
    x = simplices.uniform()
    result = OPERATIONS[operation](simplices, u, x)
    as_floats = OPERATIONS[operation](simplices, u.astype(float), x)
    np.testing.assert_array_equal(result, as_floats)


def test_operations_leave_their_arguments_alone():
    generator = np.random.default_rng(10)
    simplices = Simplices([2, 3, 4])
    utility, strategy = generator.normal(size=9), random_behavior(generator, simplices)
    previous = utility.copy(), strategy.copy()

    for operation in OPERATIONS.values():
        operation(simplices, utility, strategy)

    np.testing.assert_array_equal(utility, previous[0])
    np.testing.assert_array_equal(strategy, previous[1])


# As a set, and as a value


def test_a_point_is_inside_up_to_a_tolerance_of_the_callers():
    simplices = Simplices([2, 2])
    assert simplices.contains([0.5, 0.5, 1.0, 0.0])
    assert not simplices.contains([0.5, 0.5, 1.0, 1e-3])
    assert simplices.contains([0.5, 0.5, 1.0, 1e-3], atol=1e-2)
    assert not simplices.contains([0.5, 0.5, 1.1, -0.1])
    assert not simplices.contains([1.0, 1.0, 0.0, 0.0])  # two in all, but not one in each block


def test_simplices_are_equal_when_their_sizes_are():
    assert Simplices([2, 3]) == Simplices((2, 3), labels=["a", "b"])
    assert hash(Simplices([2, 3])) == hash(Simplices([2, 3]))
    assert Simplices([2, 3]) != Simplices([3, 2])
    assert Simplices(6) != Simplices([3, 3])
    assert as_simplices(4) == Simplices([4])
    equal = Simplices(4)
    assert as_simplices(equal) is equal


def test_the_empty_product_has_dimension_zero():
    empty = Simplices([])
    assert empty.dimension == empty.blocks == 0
    assert empty.best_response([])[0] == 0.0
    assert empty.contains([])
    for operation in OPERATIONS.values():
        assert operation(empty, np.empty(0), np.empty(0)).shape == (0,)


@pytest.mark.parametrize("sizes", [0, -1, [2, 0], [3, -2]])
def test_a_block_without_actions_is_refused(sizes):
    with pytest.raises(ValueError, match="each at least 1"):
        Simplices(sizes)


@pytest.mark.parametrize("sizes", [2.0, [2.5], "3", [True], [[2, 2]], None, ["a"]])
def test_sizes_that_are_not_whole_numbers_are_refused(sizes):
    with pytest.raises(TypeError, match=r"sizes must be (whole numbers|a sequence)"):
        Simplices(sizes)
