"""One iteration of a rule: as it is written, by its kernel, and by the NumPy code of its graph."""

import textwrap

import numpy as np

from regretkit.sets import Simplices
from regretkit.trace import find_kernel, upcoming_parameters
from regretkit.trace._rule import held_at, trace_rule
from tests.helpers.emit_numpy import numpy_functions

RTOL = 1e-12
FREE = 1e-9
"""Where differences of rounding add up."""


def as_written(rule, iteration, state, utility):
    """Return what a rule proposes, and what it learns of a utility, by name."""
    rule.iteration, rule._strategy = iteration, None
    for name, array in state.items():
        setattr(rule, name, array.copy())
    with np.errstate(all="ignore"):
        strategy = np.array(rule._propose(), np.float64)
        strategy.setflags(write=False)
        given = utility.copy()
        rule._learn(given, strategy)
    np.testing.assert_array_equal(given, utility)
    return {"strategy": strategy, **{n: a.copy() for n, a in rule._learned().items()}}


def by_kernel(
    kernel, simplices, iteration, state, utility, *, strategy=None, compiled=None, parameters=None
):
    """Return the same by a kernel, as plain Python, block by block.

    With a ``strategy``, that one is learned from in place of the proposed one; ``compiled`` are
    functions to call in place of the plain ones; ``parameters`` are those before the iteration and
    after it, where they do not depend on its number alone.
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
        if parameters is None:
            parameters = map(kernel.parameters_at, (iteration, iteration + 1))
        before, after = (np.array(numbers, np.float64) for numbers in parameters)
        for block, (first, last) in enumerate(zip(begins, ends, strict=True)):
            propose(block, first, last, proposed, arrays, before)
        played = proposed if strategy is None else strategy.copy()
        values = simplices.expectation(utility, played)
        for block, (first, last) in enumerate(zip(begins, ends, strict=True)):
            value = float(values[block])
            learn(block, first, last, utility.copy(), value, played, arrays, after)
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


def learned_by(rule, graph):
    """Return copies of the arrays that a rule or a circuit learns, and the numbers, by path."""
    arrays = {path: held_at(rule, path).copy() for path in graph.per}
    return arrays, {path: held_at(rule, path) for path in graph.numbers}


def assert_traced(rule, iterations=5, seed=0):
    """Require that a rule, or a circuit, its kernels and the code of its graph compute the same.

    Each iteration from the rule's own state, and all of them in a row, each from the state and the
    strategy that it came to itself.
    """
    generator, simplices = np.random.default_rng(seed), rule.domain
    graph, ones = trace_rule(rule), np.ones(simplices.blocks)
    kernels = [find_kernel(rule), find_kernel(rule, exact=True)]
    free = dict.fromkeys([numpy_functions(graph), *kernels], learned_by(rule, graph))
    for _ in range(iterations):
        utility = generator.normal(size=simplices.dimension)
        given, own = (simplices, rule.iteration), learned_by(rule, graph)
        upcoming = {kernel: upcoming_parameters(rule, kernel, 1) for kernel in kernels}
        strategy = step(rule, utility)
        arrays, numbers = learned_by(rule, graph)
        expected = {"strategy": strategy, **arrays}
        for way in free:
            for state, played, rtol in ((own, strategy, RTOL), (free[way], None, FREE)):
                found, counted = one_way(way, upcoming.get(way), *given, *state, utility, played)
                assert found.keys() == expected.keys()
                assert (errors(simplices, found, expected, ones) <= rtol).all(), (found, expected)
                assert counted == numbers
            free[way] = {name: found[name] for name in arrays}, counted


def one_way(way, upcoming, simplices, iteration, arrays, numbers, utility, strategy):
    """Return the strategy and the arrays by a kernel, or functions of a graph, and the numbers."""
    given = simplices, iteration
    if upcoming is not None:
        parameters, after = upcoming
        found = by_kernel(way, *given, arrays, utility, strategy=strategy, parameters=parameters)
        return found, after
    found = by_graph(way, *given, {**arrays, **numbers}, utility, strategy=strategy)
    return found, {path: found.pop(path) for path in numbers}


def written(code, namespace):
    """Return a function ``change(self, r)`` as if it were the first of a module's lines."""
    text, scope = f"def change(self, r):\n{textwrap.indent(code, '    ')}", {}
    exec(compile(text, namespace["__file__"], "exec"), namespace, scope)
    return scope["change"]


def step(rule, utility):
    """Let a rule play and learn without the checks of its caller, and return what it played."""
    with np.errstate(all="ignore"):
        strategy = rule._strategy = np.array(rule._propose(), np.float64)
        strategy.setflags(write=False)
        rule._learn(utility.copy(), strategy)
    rule.iteration += 1
    rule._strategy = None
    return strategy


SIMPLICES = Simplices([3, 1, 2, 5])
"""What most rules are traced on here."""
