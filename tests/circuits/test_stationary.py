"""Stationary distributions against exact rational arithmetic, and what must not change them."""

from fractions import Fraction

import numpy as np
import pytest
from refusals import refusals

from regretkit.circuits import stationary_distribution

LIMIT = Fraction(1, 10**12)


def exact(matrix):
    """Return the mean of the closed classes' distributions, in fractions.

    The diagonal is one minus the rest of the row, exactly, so that rows need not sum to one.
    """
    n = len(matrix)
    moves = [[Fraction(float(matrix[i][j])) * (i != j) for j in range(n)] for i in range(n)]
    reach = [_reachable(moves, i) for i in range(n)]
    classes = {frozenset(reach[i]) for i in range(n) if all(i in reach[j] for j in reach[i])}
    answer = [Fraction(0)] * n
    for members in map(sorted, classes):
        for state, weight in zip(members, _balance(moves, members), strict=True):
            answer[state] = weight / len(classes)
    return answer


def _reachable(moves, start):
    found, waiting = {start}, [start]
    while waiting:
        i = waiting.pop()
        new = {j for j, rate in enumerate(moves[i]) if rate > 0} - found
        found |= new
        waiting += new
    return found


def _balance(moves, members):
    """Solve x Q = 0, sum(x) = 1 within one closed class, by Gauss and Jordan in fractions."""
    m = len(members)
    rows = []
    for j in members[1:]:  # one balance equation is redundant
        inflow = [moves[i][j] for i in members]
        inflow[members.index(j)] = -sum(moves[j])
        rows.append([*inflow, Fraction(0)])
    rows.append([Fraction(1)] * (m + 1))
    for k in range(m):
        pivot = next(r for r in range(k, m) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for r in range(m):
            if r != k and rows[r][k] != 0:
                rows[r] = [a - rows[r][k] * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def assert_right(matrix):
    """Every component is right to 1e-12 of itself; exact zeros are exactly zero."""
    found = stationary_distribution(matrix)
    for actual, expected in zip(found, exact(matrix), strict=True):
        assert abs(Fraction(float(actual)) - expected) <= LIMIT * expected, (matrix, found)


def chain(generator, n, smallest=1.0, zeros=0.0):
    """A random chain with off-diagonal entries from 1 down to ``smallest``, log-uniform."""
    rates = np.exp(generator.uniform(np.log(smallest), 0.0, size=(n, n))) / n
    rates[generator.random((n, n)) < zeros] = 0.0
    np.fill_diagonal(rates, 0.0)
    return rates + np.diag(1.0 - rates.sum(axis=1))


@pytest.mark.parametrize("smallest", [0.5, 1e-6, 1e-12, 1e-100])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_every_component_is_right_at_every_coupling(n, smallest):
    generator = np.random.default_rng(n)
    for _ in range(10):
        assert_right(chain(generator, n, smallest))


@pytest.mark.parametrize("smallest", [0.5, 1e-12, 1e-100])
@pytest.mark.parametrize("zeros", [0.4, 0.7, 0.9])
def test_transient_states_and_several_closed_classes_are_right(zeros, smallest):
    generator = np.random.default_rng(7)
    for n in [2, 3, 4, 6]:
        for _ in range(12):
            assert_right(chain(generator, n, smallest, zeros))


@pytest.mark.parametrize("coupling", [1e-12, 1e-200, 1e-300])
def test_nearly_decomposable_chains_are_right(coupling):
    # Three classes of two, on a ring that is hardly connected, one way faster than the other.
    blocks = np.kron(np.eye(3), [[0.5, 0.5], [0.25, 0.75]])
    for i in range(3):
        blocks[2 * i, 2 * ((i + 1) % 3)] += coupling
        blocks[2 * i + 1, 2 * ((i + 2) % 3) + 1] += coupling / 8.0
    assert_right(blocks)
    assert stationary_distribution(blocks) == pytest.approx(np.tile([1 / 9, 2 / 9], 3), rel=1e-12)


def test_products_that_underflow_on_the_way_are_right():
    # 0 -> 1 -> 2 at 1e-200 each: eliminating 1 first leaves 0 -> 2 at 1e-400, and still the
    # answer is 1, 1e-200, 1e-200.
    tiny = 1e-200
    line = np.array([[1.0, tiny, 0.0], [1.0, 0.0, tiny], [0.0, tiny, 1.0]])
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        assert_right(line[np.ix_(order, order)])


def test_a_component_below_the_smallest_float_is_zero_and_the_others_are_right():
    # In units of visits to state 0, those to state 1 are 1e600, beyond the largest float.
    found = stationary_distribution([[0.0, 1.0, 0.0], [0.0, 1.0, 1e-300], [1e-300, 1.0, 0.0]])
    np.testing.assert_allclose(found, [0.0, 1.0, 1e-300], rtol=1e-15)


@pytest.mark.parametrize("smallest", [0.5, 1e-12, 1e-250])
@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_renaming_the_states_renames_the_answer(zeros, smallest):
    generator = np.random.default_rng(3)
    for n in [2, 5, 9]:
        matrix, order = chain(generator, n, smallest, zeros), generator.permutation(n)
        renamed = stationary_distribution(matrix[np.ix_(order, order)])
        np.testing.assert_allclose(renamed, stationary_distribution(matrix)[order], rtol=1e-13)
        np.testing.assert_array_equal(renamed == 0.0, stationary_distribution(matrix)[order] == 0.0)


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("smallest", [0.5, 1e-300])
@pytest.mark.parametrize("blocks", [1, 2, 3, 63, 64, 200])
@pytest.mark.parametrize("n", [1, 3, 12, 30])
def test_a_block_has_the_bits_that_it_has_alone(n, blocks, smallest):
    # Some blocks are dense, some reducible, and at 1e-300 some underflow on the way.
    generator = np.random.default_rng(n + blocks)
    batch = np.array(
        [
            chain(generator, n, smallest if b % 3 == 0 else 0.5, 0.8 if b % 2 else 0.0)
            for b in range(blocks)
        ]
    )
    joint = stationary_distribution(batch)
    assert joint.shape == (blocks, n)
    for matrix, found in zip(batch, joint, strict=True):
        np.testing.assert_array_equal(found, stationary_distribution(matrix))
        np.testing.assert_array_equal(found, stationary_distribution(matrix[None])[0])
    np.testing.assert_array_equal(joint[::-1], stationary_distribution(batch[::-1]))


@pytest.mark.parametrize("smallest", [0.5, 1e-250])
def test_without_machine_code_the_bits_are_the_same(smallest, monkeypatch):
    generator = np.random.default_rng(5)
    chains = [np.array([chain(generator, n, smallest, 0.4) for _ in range(5)]) for n in (1, 3, 8)]
    compiled = [*map(stationary_distribution, chains)]
    monkeypatch.setattr("regretkit.circuits._stationary.ran", lambda *_: False)
    for found, expected in zip(map(stationary_distribution, chains), compiled, strict=True):
        np.testing.assert_array_equal(found, expected)


test_what_is_no_chain_is_refused = refusals(
    ([0.5, 0.5], r"matrix must have shape \(..., n, n\), got \(2,\)"),
    ([[0.5, 0.5]], r"got \(1, 2\)"),
    (np.empty((0, 0)), r"got \(0, 0\)"),
    ([[1.0, 0.0], [1.5, -0.5]], r"rows that sum to one, but row \(1,\) is \[ 1.5 -0.5\]"),
    ([[1.0, 0.0], [np.nan, 1.0]], r"row \(1,\) is \[nan  1.\]"),
    ([[1.0, 0.0], [np.inf, 1.0]], r"row \(1,\) is \[inf  1.\]"),
    ([[1.0, 0.0], [0.5, 0.75]], r"row \(1,\) is \[0.5  0.75\]"),
    (np.array([np.eye(2), np.ones((2, 2))]), r"row \(1, 0\) is \[1. 1.\]"),
    call=stationary_distribution,
    error=ValueError,
)
