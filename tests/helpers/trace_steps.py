"""One iteration of a rule: as it is written, by its kernel, and by the NumPy code of its graph."""

import numpy as np

from regretkit.sets import Simplices
from regretkit.trace import find_kernel
from regretkit.trace._emit_numpy import numpy_functions
from regretkit.trace._rule import trace_rule

RTOL = 1e-12


def as_written(rule, iteration, state, utility):
    """Return what a rule proposes, and what it learns of a utility, by name."""
    rule.iteration, rule._strategy = iteration, None
    for name, array in state.items():
        rule._hold(name, array.copy())
    with np.errstate(all="ignore"):
        strategy = np.array(rule._propose(), np.float64)
        strategy.setflags(write=False)
        given = utility.copy()
        rule._learn(given, strategy)
    np.testing.assert_array_equal(given, utility)
    return {"strategy": strategy, **{n: a.copy() for n, a in rule._learned().items()}}


def by_kernel(kernel, simplices, iteration, state, utility, *, strategy=None, compiled=None):
    """Return the same by a kernel, as plain Python, block by block.

    With a ``strategy``, that one is learned from in place of the proposed one; ``compiled`` are
    functions to call in place of the plain ones.
    """
    propose, learn = compiled or (kernel.propose.py_func, kernel.learn.py_func)
    arrays = [state[name].copy() for name in kernel.learned]
    for array, by_action in kernel.further:
        size = simplices.dimension if by_action else simplices.blocks
        arrays.append(np.full(size, np.nan) if array is None else np.asarray(array, np.float64))
    proposed = np.full(simplices.dimension, np.nan)
    begins, ends = simplices.first.tolist(), (simplices.first + simplices.sizes).tolist()
    arrays = tuple(arrays)
    with np.errstate(all="ignore"):
        parameters = np.array(kernel.parameters_at(iteration), np.float64)
        for block, (first, last) in enumerate(zip(begins, ends, strict=True)):
            propose(block, first, last, proposed, arrays, parameters)
        played = proposed if strategy is None else strategy.copy()
        values = simplices.expectation(utility, played)
        parameters = np.array(kernel.parameters_at(iteration + 1), np.float64)
        for block, (first, last) in enumerate(zip(begins, ends, strict=True)):
            value = float(values[block])
            learn(block, first, last, utility.copy(), value, played, arrays, parameters)
    learned = dict(zip(kernel.learned, arrays, strict=False))
    return {"strategy": proposed, **learned}


def by_graph(functions, simplices, iteration, state, utility, *, strategy=None):
    """Return the same by ``propose`` and ``learn`` in the NumPy code of a graph."""
    propose, learn = functions
    with np.errstate(all="ignore"):
        proposed = propose(simplices, float(iteration), None, state)
        played = proposed if strategy is None else strategy
        learned = learn(simplices, iteration + 1.0, utility, played, state)
    return {"strategy": proposed, **learned}


def errors(simplices, found, expected, scales):
    """Return, for each block, the largest difference, relative to the scale of its numbers."""
    worst = np.zeros(simplices.blocks)
    for name, array in expected.items():
        difference = _by_block(simplices, np.abs(found[name] - array))
        difference = np.where(np.isnan(difference), np.inf, difference)
        scale = np.maximum(scales, _by_block(simplices, np.abs(array)))
        worst = np.maximum(worst, difference / scale)
    return worst


def _by_block(simplices, array):
    if array.size == simplices.blocks:
        return array
    return np.maximum.reduceat(array, simplices.first)


def are_finite(simplices, outputs):
    """Return the blocks in which all outputs are finite."""
    finite = np.ones(simplices.blocks, bool)
    for array in outputs.values():
        finite &= np.isfinite(_by_block(simplices, np.abs(array)))
    return finite


def assert_traced(rule, iterations=4, seed=0):
    """Require that a rule, its kernels and its graph compute the same, from the rule's states."""
    generator, simplices = np.random.default_rng(seed), rule.simplices
    functions = numpy_functions(trace_rule(rule))
    kernels = [find_kernel(rule), find_kernel(rule, exact=True)]
    state = {name: array.copy() for name, array in rule._learned().items()}
    for t in range(iterations):
        utility = generator.normal(size=simplices.dimension)
        expected = as_written(rule, t, state, utility)
        strategy, ones = expected["strategy"], np.ones(simplices.blocks)
        given = simplices, t, state, utility
        for found in [by_kernel(k, *given, strategy=strategy) for k in kernels] + [
            by_graph(functions, *given, strategy=strategy)
        ]:
            assert found.keys() == expected.keys()
            assert (errors(simplices, found, expected, ones) <= RTOL).all(), (found, expected)
        state = {name: array for name, array in expected.items() if name != "strategy"}


SIMPLICES = Simplices([3, 1, 2, 5])
"""What most rules are traced on here."""
