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
    **{str(s): s for s in ([3], [1], [2] * 5, [9] * 3, [2, 3, 1, 4], [12, 1, 7, 2, 40], [300])},
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
def test_what_adds_up_or_compares_has_the_bits_of_a_loop_over_each_block(sizes):
    generator = np.random.default_rng(1)
    simplices = Simplices(sizes)
    u, v = signed(generator, (2, simplices.dimension))
    blocks, others = in_blocks(sizes, u), in_blocks(sizes, v)
    running = [[naive.total(b[: i + 1]) for i in range(len(b))] for b in blocks]
    numbers = generator.normal(size=len(sizes))
    repeated = [[number] * size for number, size in zip(numbers, sizes, strict=True)]
    ties = np.round(u)
    ordered, order = simplices.sort(ties)
    back = np.empty(simplices.dimension)
    back[order] = ordered

    for found, expected in [
        (simplices.sum(u), [naive.total(b) for b in blocks]),
        (simplices.dot(u, v), list(map(naive.dot, blocks, others))),
        (simplices.max(u), [max(b) for b in blocks]),
        (simplices.cumulate(u), end_to_end(running)),
        (simplices.repeat(numbers), end_to_end(repeated)),
        (simplices.uniform(), end_to_end([[1.0 / size] * size for size in sizes])),
        (ordered, end_to_end([sorted(b) for b in in_blocks(sizes, ties)])),
        (ordered, ties[order]),
        (back, ties),
    ]:
        np.testing.assert_array_equal(found, expected)


@each_layout
def test_what_divides_or_takes_exponentials_is_that_of_each_block_up_to_rounding(sizes):
    generator = np.random.default_rng(2)
    simplices = Simplices(sizes)
    u, x = signed(generator, simplices.dimension), random_behavior(generator, simplices)
    blocks, plays = in_blocks(sizes, u), in_blocks(sizes, x)
    small = in_blocks(sizes, 1e-3 * u)
    earned = list(map(naive.dot, blocks, plays))
    near, size = 1e-13, max(1.0, np.abs(u).max())

    for found, expected, unit in [
        (simplices.normalize(np.maximum(u, 0.0)), map(naive.in_proportion, blocks), 0.0),
        (simplices.softmax(1e-3 * u), map(naive.softmax, small), 0.0),
        (simplices.softmax(u, 1e-3), map(naive.softmax, small), 1.0),
        (simplices.regret(u, x), map(naive.regret, blocks, plays), size),
        (simplices.expectation(u, x), [earned], size),
        (simplices.norm(u), [[naive.dot(b, b) ** 0.5 for b in blocks]], size),
        (simplices.project(u / size), [naive.project([n / size for n in b]) for b in blocks], 10.0),
        (simplices.project(5 * x), [naive.project([5 * n for n in b]) for b in plays], 10.0),
    ]:
        expected = end_to_end(expected)
        np.testing.assert_allclose(found, expected, rtol=near, atol=near * unit)
    assert simplices.value(u, x) == pytest.approx(sum(earned), abs=near * size)


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
def test_the_best_response_is_the_first_of_the_best_in_each_block(sizes):
    simplices = Simplices(sizes)
    utility = np.random.default_rng(6).integers(0, 3, size=simplices.dimension).astype(float)
    blocks = in_blocks(sizes, utility)

    value, response = simplices.best_response(utility)

    assert value == sum(max(block) for block in blocks)
    firsts = [[float(i == b.index(max(b))) for i in range(len(b))] for b in blocks]
    np.testing.assert_array_equal(response, end_to_end(firsts))


@each_layout
def test_selected_blocks_are_where_their_coordinates_say(sizes):
    generator = np.random.default_rng(8)
    simplices, vector = Simplices(sizes), generator.normal(size=sum(sizes))
    chosen = generator.permutation(len(sizes))[:3]

    blocks = [in_blocks(sizes, vector)[j] for j in chosen]
    np.testing.assert_array_equal(vector[simplices.coordinates(chosen)], end_to_end(blocks))
    assert simplices.select(chosen) == Simplices([sizes[j] for j in chosen])
    for j in chosen:
        np.testing.assert_array_equal(vector[simplices.block(j)], in_blocks(sizes, vector)[j])


# What is exact


OPERATIONS = {
    "sum": lambda s, u, x: s.sum(u),
    "dot": lambda s, u, x: s.dot(u, x),
    "cumulate": lambda s, u, x: s.cumulate(u),
    "max": lambda s, u, x: s.max(u),
    "norm": lambda s, u, x: s.norm(u),
    "sort": lambda s, u, x: s.sort(u)[0],
    "add": lambda s, u, x: s.add(u, x),
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


@pytest.mark.deep_beyond(60)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("size", [*range(1, 10), 31, 200])
def test_a_block_among_others_has_the_bits_that_it_has_alone(operation, neighbours, size):
    generator = np.random.default_rng(size)
    previous, following = NEIGHBOURS[neighbours](size)
    joint, alone = Simplices([*previous, size, *following]), Simplices(size)
    block = joint.block(len(previous))
    u, x = signed(generator, joint.dimension), random_behavior(generator, joint)
    copies = u.copy(), x.copy()

    result = OPERATIONS[operation](joint, u, x)
    by_itself = OPERATIONS[operation](alone, u[block], x[block])

    per_block = result.size == joint.blocks != joint.dimension
    found = result[len(previous)] if per_block else result[block]
    np.testing.assert_array_equal(found, by_itself[0] if per_block else by_itself)
    np.testing.assert_array_equal([u, x], copies)  # arguments are left alone


@pytest.mark.parametrize("exponent", [-300, -20, 0, 20, 290])
@pytest.mark.parametrize("blocks", [1, 200])
def test_equal_utilities_leave_no_regret_at_all(exponent, blocks):
    # Strategies sum to one only up to rounding; u - <u, x> computed plainly would be noise, which
    # a normalization turns into play.
    generator = np.random.default_rng(9)
    simplices = Simplices(generator.integers(2, 9, size=blocks))
    strategy = random_behavior(generator, simplices)
    worth = generator.normal(size=blocks) * 10.0**exponent
    utility = simplices.repeat(worth)

    np.testing.assert_array_equal(simplices.regret(utility, strategy), 0.0)
    np.testing.assert_array_equal(simplices.expectation(utility, strategy), worth)


@pytest.mark.parametrize("others", [[], [3, 1]])
def test_what_cancels_up_to_rounding_is_zero_and_what_does_not_stays(others):
    # 2^-44 of the magnitudes that are added up is the limit.
    simplices = Simplices([2, *others])
    rest = np.zeros(sum(others))
    for size in (2.0**-46, 2.0**-42):
        kept = size > 2.0**-44
        total = simplices.add(np.append([1.0 + size, 0.5], rest), np.append([-1.0, 0.5], rest))
        assert total.tolist() == [size if kept else 0.0, 1.0, *rest]
        # Earned is 1/2 (1 + 2 size) - 1/2 = size, from magnitudes that add up to 2.
        utility, strategy = np.append([1.0 + 4 * size, -1.0], rest), simplices.uniform()
        earned = simplices.expectation(utility, strategy)[0]
        assert earned == (2.0 * size if 2.0 * size > 2.0**-44 * 3.0 else 0.0)
        regret = simplices.regret(np.append([1.0, 1.0 + 4 * size], rest), strategy)[:2]
        assert regret.tolist() == ([-2 * size, 2 * size] if kept else [0.0, 0.0])


def test_normalizing_nothing_gives_the_uniform_distribution_in_that_block_only():
    tiny = 5e-324  # not zero: the smallest number that there is
    normalized = Simplices([3, 2, 1]).normalize(np.array([0.0, 0.0, 0.0, tiny, 0.0, 0.0]))
    np.testing.assert_array_equal(normalized, [1 / 3, 1 / 3, 1 / 3, 1.0, 0.0, 1.0])


def test_softmax_of_numbers_beyond_the_range_of_exp_is_finite():
    weights = Simplices([2, 2]).softmax(np.array([1e6, 1e6, -1e6, 0.0]))
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0.0, 1.0])


@pytest.mark.parametrize("size", [0.0, 1e-320, 1e-200, 1.0, 1e200, 1e300])
def test_norms_neither_overflow_nor_vanish(size):
    with np.errstate(all="raise", under="ignore"):
        lengths = Simplices([3, 2]).norm(size * np.array([3.0, -4.0, 0.0, 5.0, 12.0]))
    near = 1e-3 if size < 1e-300 else 1e-15
    np.testing.assert_allclose(lengths, [5.0 * size, 13.0 * size], rtol=near)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_whole_numbers_are_numbers_too_and_the_empty_product_has_none(operation):
    for sizes in ([3], [2, 3, 1, 4], [9] * 3):
        simplices = Simplices(sizes)
        u = np.random.default_rng(12).integers(-3, 4, size=simplices.dimension)
        x = simplices.uniform()
        expected = OPERATIONS[operation](simplices, u.astype(float), x)
        for narrow in (u, u.astype(np.int8)):
            result = OPERATIONS[operation](simplices, narrow, x)
            np.testing.assert_array_equal(result, expected)
    assert OPERATIONS[operation](Simplices([]), np.empty(0), np.empty(0)).shape == (0,)


def test_a_point_is_inside_if_each_block_sums_to_one():
    simplices = Simplices([2, 2])
    assert simplices.contains([0.5, 0.5, 1.0, 0.0])
    assert not simplices.contains([0.5, 0.5, 1.0, 1e-3])
    assert not simplices.contains([0.5, 0.5, 1.1, -0.1])
    assert not simplices.contains([1.0, 1.0, 0.0, 0.0])  # two in all, but not one in each block
    assert as_simplices(4) == Simplices([4])
    assert as_simplices(simplices) is simplices
