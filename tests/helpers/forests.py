"""Random trees and payoffs as machine code sees them, and iterations on them."""

import numpy as np
from factories import random_tree
from hypothesis import strategies as st

from regretkit.engine._jit import compile_iterations, specialize
from regretkit.engine._layout import (
    NO_SINGLETONS,
    flatten_trees,
    shared_sums,
    sparse_payoffs,
    terminal_payoffs,
    zero_iterates,
)
from regretkit.engine.kernels import _iteration
from regretkit.games.tree._sequences import payoff_rows
from regretkit.play import Alternating, RandomPlayer, Simultaneous
from regretkit.sets import DecisionTree
from regretkit.trace import find_kernel

seeds = st.integers(0, 2**32 - 1)


# Decision trees of all shapes


def star(generator):
    """Nothing but decision points at the root."""
    return DecisionTree([0] * 40, generator.integers(1, 4, size=40).tolist())


def chain(generator):
    """Each decision point after the last sequence."""
    sizes = generator.integers(1, 4, size=40).tolist()
    return DecisionTree([0, *np.cumsum(sizes)[:-1].tolist()], sizes)


def broad(generator):
    """A root with many actions, each with a chain behind it, numbered level by level."""
    width, depth = 12, 5
    parents = [0] + [1 + a for a in range(width)]
    for level in range(1, depth):
        previous = 1 + width + 2 * width * (level - 1)
        parents += [previous + 2 * a for a in range(width)]
    return DecisionTree(parents, [width] + [2] * width * depth)


def bushes(generator):
    return random_tree(generator, 120)


def idle(generator):
    """A player who never decides anything."""
    return DecisionTree([], [])


SHAPES = {shape.__name__: shape for shape in (star, chain, broad, bushes, idle)}
shapes = st.sampled_from(list(SHAPES))


def planted(*names, seed):
    generator = np.random.default_rng(seed)
    return flatten_trees([SHAPES[name](generator) for name in names])


def between(forest, seed):
    """Return payoffs between random sequences of all players, at chance's mercy."""
    generator = np.random.default_rng(seed)
    sizes = np.diff(forest.sequence_offsets)
    many = int(sizes.sum())
    ends = np.stack([generator.integers(0, size, size=many) for size in sizes])
    ends = np.unique(ends, axis=1) + forest.sequence_offsets[:-1, None]
    # Few different numbers, so that sequences are worth the same and share sums.
    payoffs = generator.integers(-3, 4, size=ends.shape) * 0.1
    return laid_payoffs(ends, payoffs, forest)


def dense(forest, seed):
    """Return payoffs for every combination of sequences, no two of them the same."""
    generator = np.random.default_rng(seed)
    ends = np.indices(np.diff(forest.sequence_offsets)).reshape(forest.players, -1)
    ends = ends + forest.sequence_offsets[:-1, None]
    payoffs = generator.normal(size=ends.shape)
    return laid_payoffs(ends, payoffs, forest)


def laid_payoffs(ends, payoffs, forest):
    """Return payoffs in an engine's form, with a bound that has many regrets looked at."""
    bound = np.full(forest.players, 0.1)
    if forest.players > 2:
        return terminal_payoffs(ends, payoffs, int(forest.sequence_offsets[-1]), bound)
    part, sizes = (
        ends - forest.sequence_offsets[:2, None].astype(np.int64),
        np.diff(forest.sequence_offsets),
    )
    rows = [
        payoff_rows(part[p], part[1 - p], payoffs[p], int(sizes[p]), int(sizes[1 - p]))
        for p in range(2)
    ]
    return sparse_payoffs(rows, forest, bound)


# Iterations


def laid_out(forest, payoffs, rule):
    """Return a table in its initial state, and the initial state of a rule."""
    kernel = find_kernel(rule, exact=True)
    by_action = [np.zeros(forest.sequence_offsets[-1]) for _ in kernel.state]
    by_point = [np.zeros(forest.first.size) for _ in kernel.block_state]
    room = [np.zeros(forest.sequence_offsets[-1]) for _ in range(kernel.workspace)]
    return zero_iterates(forest, shared_sums(payoffs)), (*by_action, *by_point, *room)


def machine_code(kernel, payoffs):
    """Return ``initialize`` and ``iterate`` for a kernel, as machine code."""
    return compile_iterations(kernel, type(payoffs), exact=True)[:2]


def in_python(kernel, payoffs, monkeypatch):
    """Return ``initialize`` and ``iterate`` for a kernel, as they are written."""
    for placeholder, function in specialize(kernel, type(payoffs), exact=True).items():
        monkeypatch.setattr(_iteration, placeholder.__name__, function)
    return _iteration.initialize, _iteration.iterate


def iterated(rule, forest, payoffs, order, count=6, forced=NO_SINGLETONS, code=machine_code):
    """Return all numbers that some iterations leave behind."""
    kernel = find_kernel(rule, exact=True)
    table, state = laid_out(forest, payoffs, rule)
    turns = order.schedule(forest.players, count)
    numbers = np.array([rule_numbers(kernel, t) for t in range(count + 1)])
    numbers = np.repeat(numbers[:, None], forest.players, axis=1)
    weights = np.stack([np.full(count, 0.75), np.arange(1.0, count + 1)], axis=1)
    initialize, iterate = code(kernel, payoffs)
    learners = np.arange(forest.players, dtype=np.uint32)
    initialize(numbers[0], learners, forest, table, state)
    arrays = _iteration.Arrays(payoffs, forest, forced, table, state)
    iterate(turns.simultaneous, turns.players, numbers[1:], weights, arrays)
    size = forest.sequence_offsets[-1]
    return np.concatenate([table.strategy[:size], *table[1:5], *state])


def rule_numbers(kernel, t):
    return kernel.parameters(t) if callable(kernel.parameters) else kernel.parameters


def same_bits(first, second):
    return np.array_equal(first.view(np.int64), second.view(np.int64))


def some_order(seed):
    generator = np.random.default_rng(seed)
    return [Alternating(), Alternating(first=1), Simultaneous(), RandomPlayer(generator)][seed % 4]
