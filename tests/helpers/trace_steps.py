"""One iteration of a rule: as it is written, and by the loops of its kernel as plain Python."""

import textwrap
from operator import attrgetter

import numpy as np

from regretkit.sets import Simplices
from regretkit.trace import find_kernel, upcoming_parameters

RTOL = 1e-12
FREE = 1e-9
"""Where differences of rounding add up."""
SIMPLICES = Simplices([3, 1, 2, 5])
"""What most rules are traced on here."""


def held(rule, path):
    """Return what stands at a path of attributes, through lists as well."""
    for part in path.replace("]", "").replace("[", ".").split("."):
        rule = rule[int(part)] if part.isdigit() else attrgetter(part)(rule)
    return rule


def learned_by(rule, kernel):
    """Return copies of the arrays that a rule or a circuit learns, by path."""
    return {path: np.array(held(rule, path), np.float64) for path in kernel.learned}


def step(rule, utility):
    """Let a rule play and learn, and return what it played."""
    with np.errstate(all="ignore"):
        strategy = rule.next_strategy().copy()
        rule.observe_utility(utility.copy())
    return strategy


def by_kernel(kernel, simplices, parameters, state, utility, strategy=None, compiled=None):
    """Return what a kernel proposes, and what it learns, block by block.

    With a ``strategy``, that one is learned from in place of the proposed one; ``compiled`` are
    functions to call in place of the plain ones; ``parameters`` are those before the iteration and
    after it.
    """
    propose, learn = compiled or kernel.in_python
    arrays = [state[name].copy() for name in kernel.learned]
    for array, by_action in kernel.further:
        size = simplices.dimension if by_action else simplices.blocks
        arrays.append(np.full(size, np.nan) if array is None else np.asarray(array, np.float64))
    proposed, arrays = np.full(simplices.dimension, np.nan), tuple(arrays)
    ranges = [*zip(simplices.first.tolist(), simplices.sizes.tolist(), strict=True)]
    before, after = (np.array(numbers, np.float64) for numbers in parameters)
    with np.errstate(all="ignore"):
        for block, (first, size) in enumerate(ranges):
            propose(block, first, first + size, proposed, arrays, before)
        played = proposed if strategy is None else strategy.copy()
        values = simplices.expectation(utility, played).tolist()
        for block, (first, size) in enumerate(ranges):
            value, given = values[block], utility.copy()
            learn(block, first, first + size, given, value, played, arrays, after)
    return {"strategy": proposed, **dict(zip(kernel.learned, arrays, strict=False))}


def by_block(simplices, array):
    """Return the largest size of a number in each block."""
    return np.abs(array) if array.size == simplices.blocks else simplices.max(np.abs(array))


def errors(simplices, found, expected, scales):
    """Return, for each block, the largest difference, relative to the scale of its numbers."""
    worst = np.zeros(simplices.blocks)
    for name, array in expected.items():
        difference = np.nan_to_num(by_block(simplices, found[name] - array), nan=np.inf)
        scale = np.maximum(scales, by_block(simplices, array))
        worst = np.maximum(worst, difference / scale)
    return worst


def assert_traced(rule, iterations=5, seed=0):
    """Require that a rule, or a circuit, and its kernels compute the same.

    Each iteration from the rule's own state, and all of them in a row, each from the state and the
    strategy that it came to itself.
    """
    generator, simplices = np.random.default_rng(seed), rule.domain
    ones, kernels = np.ones(simplices.blocks), [find_kernel(rule), find_kernel(rule, exact=True)]
    free = {kernel: learned_by(rule, kernel) for kernel in kernels}
    for _ in range(iterations):
        utility = generator.normal(size=simplices.dimension)
        own = {kernel: learned_by(rule, kernel) for kernel in kernels}
        upcoming = {kernel: upcoming_parameters(rule, kernel, 1) for kernel in kernels}
        strategy = step(rule, utility)
        for kernel, (parameters, numbers) in upcoming.items():
            assert numbers == {path: held(rule, path) for path in kernel.numbers}
            expected = {"strategy": strategy, **learned_by(rule, kernel)}
            for state, played, rtol in ((own, strategy, RTOL), (free, None, FREE)):
                found = by_kernel(kernel, simplices, parameters, state[kernel], utility, played)
                wrong = errors(simplices, found, expected, ones)
                assert (wrong <= rtol).all(), (found, expected)
            free[kernel] = {path: found[path] for path in kernel.learned}


def written(code, namespace):
    """Return a function ``change(self, r)`` as if it were the first of a module's lines."""
    text, scope = f"def change(self, r):\n{textwrap.indent(code, '    ')}", {}
    exec(compile(text, namespace["__file__"], "exec"), namespace, scope)
    return scope["change"]
