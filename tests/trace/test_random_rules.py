"""Random rules: what their NumPy code computes, the loops of their kernels compute."""

import re

import numpy as np
import pytest
from random_rules import random_rule
from trace_steps import RTOL, by_block, by_kernel, errors, learned_by

from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel

LARGEST = 1e6
ULPS = 2.0**-50
PERTURBATIONS = 24
REFUSED = (
    "constant array|the order of sort|np.array, or a function of other|setting an array element"
)
"""Arrays of constants that are written to in place are refused."""
BY_ORDER = {1692}
"""Rules that divide by a sum of numbers which cancel in one order only, whatever their digits."""


def as_written(rule, iteration, state, utility):
    """Return what a new rule of this kind proposes and learns, None if that is no number."""
    fresh = rule.on_domain(rule.simplices)
    fresh.iteration = iteration
    for name, array in state.items():
        setattr(fresh, name, array.copy())
    with np.errstate(all="ignore"):
        try:
            strategy = fresh.next_strategy().copy()
            fresh.observe_utility(utility)
        except ValueError:  # what is proposed is not finite
            return None
    return {"strategy": strategy, **{name: getattr(fresh, name).copy() for name in state}}


def draw(generator, rule, kernel):
    """Return a state with zeros and equal numbers in it, and a utility of any unit.

    Blocks with a single action are in their first state if they are said to stay there.
    """
    simplices, state = rule.simplices, {}
    for name, array in learned_by(rule.on_domain(rule.simplices), kernel).items():
        numbers = generator.normal(size=array.size) * generator.choice([0.1, 1.0, 3.0])
        rounded = np.round(generator.normal(size=array.size))
        state[name] = np.where(generator.random(array.size) < 0.3, rounded, numbers)
        if kernel.traits.ignores_singleton_blocks:
            alone = simplices.sizes == 1
            alone = alone if array.size == simplices.blocks else np.repeat(alone, simplices.sizes)
            state[name][alone] = array[alone]
    utility = generator.normal(size=simplices.dimension)
    utility = np.round(utility) if generator.random() < 0.3 else utility
    return state, utility * 2.0 ** generator.integers(-3, 4)


def perturbed(generator, array):
    """Return an array changed by rounding; equal numbers stay equal, and zeros zero."""
    values, place = np.unique(array, return_inverse=True)
    factors = 1.0 + ULPS * generator.integers(-2, 3, size=values.size)
    return (values * factors)[place.reshape(array.shape)]


def rounding(generator, rule, iteration, state, utility, expected, scales):
    """Return by how much the NumPy form changes, in each block, by rounding of its inputs.

    Where a compared quantity is within rounding of its threshold, or numbers nearly cancel, no two
    ways to compute the same agree.
    """
    worst = np.zeros(rule.simplices.blocks)
    for _ in range(PERTURBATIONS):
        near = {name: perturbed(generator, array) for name, array in state.items()}
        found = as_written(rule, iteration, near, perturbed(generator, utility))
        found = found or {name: np.full_like(array, np.nan) for name, array in expected.items()}
        worst = np.maximum(worst, errors(rule.simplices, found, expected, scales))
    return worst


def check(seed):
    """Compare a rule; return how many blocks were compared, and in how many rounding decided."""
    generator, exact = np.random.default_rng(seed), seed % 2 == 1
    simplices = Simplices([*generator.integers(1, 8, size=generator.integers(2, 6)).tolist(), 2])
    source, kind = random_rule(seed)
    rule = kind(simplices)
    kernel = find_kernel(rule, exact=exact)
    compared = decided = 0
    state, utility = draw(generator, rule, kernel)
    for t in range(3):
        expected = as_written(rule, t, state, utility)
        if expected is not None:
            inputs = [*state.values(), utility, np.ones(simplices.blocks)]
            scales = np.max([by_block(simplices, array) for array in inputs], axis=0)
            finite = np.isfinite([by_block(simplices, a) for a in expected.values()]).all(axis=0)
            parameters = [*map(kernel.parameters_at, (t, t + 1))]
            given = simplices, parameters, state, utility, expected["strategy"]
            differences = errors(simplices, by_kernel(kernel, *given), expected, scales)
            compared += int(finite.sum())
            wrong = finite & (differences > RTOL)
            if wrong.any():
                spread = rounding(generator, rule, t, state, utility, expected, scales)
                wrong &= ~(16.0 * spread >= differences)
                decided += int((finite & (differences > RTOL)).sum())
            if wrong.any() and not exact:  # what cancels up to rounding counts as zero in NumPy
                other = find_kernel(rule, exact=True)
                parameters = [*map(other.parameters_at, (t, t + 1))]  # it may have more of them
                exactly = by_kernel(other, simplices, parameters, *given[2:])
                wrong &= errors(simplices, exactly, expected, scales) > RTOL
            assert not wrong.any(), f"seed {seed}, blocks {wrong} of {simplices}:\n{source}"
        following, utility = draw(generator, rule, kernel)
        learned = {name: (expected or {}).get(name, np.array([np.inf])) for name in state}
        calm = all((np.abs(array) < LARGEST).all() for array in learned.values())
        state = learned if calm else following
    return compared, decided


def compare(seeds):
    totals, refusals = np.zeros(2), []
    for seed in sorted({*seeds} - BY_ORDER):
        try:
            totals += check(seed)
        except UntraceableError as error:
            refusals.append(f"{seed}: {error}")
    compared, decided = totals
    assert compared > 5 * len(seeds)
    assert decided <= 2e-3 * compared
    assert len(refusals) <= 0.02 * len(seeds) + 1
    assert not [refusal for refusal in refusals if not re.search(REFUSED, refusal)]


@pytest.mark.parametrize("hundred", range(2))
def test_random_rules_are_computed_alike_in_both_forms(hundred):
    compare(range(100 * hundred, 100 * (hundred + 1)))


@pytest.mark.parametrize(
    "part",
    [pytest.param(p, marks=pytest.mark.slow if p > 2 else pytest.mark.deep) for p in range(20)],
)
def test_ten_thousand_random_rules_are_computed_alike_in_both_forms(part):
    compare(range(500 * part, 500 * (part + 1)))


# What is bitwise identical


def played(rule, kernel, utilities):
    """Return the strategies that a rule plays against utilities: as written, and by its kernel."""
    both = []
    for way in ("written", "kernel"):
        state, strategies = learned_by(rule.on_domain(rule.simplices), kernel), []
        for t, utility in enumerate(utilities):
            if way == "written":
                outputs = as_written(rule, t, state, utility)
                if outputs is None:
                    return None
            else:
                parameters = [*map(kernel.parameters_at, (t, t + 1))]
                outputs = by_kernel(kernel, rule.simplices, parameters, state, utility)
            strategies.append(outputs.pop("strategy"))
            state = outputs
        both.append(np.array(strategies))
    return both


def scaled(generator, simplices):
    utilities = generator.normal(size=(4, simplices.dimension))
    return [utilities, 2.0 ** int(generator.integers(-8, 9)) * utilities]


def all_tied(generator, simplices):
    return [np.array([simplices.repeat(u) for u in generator.normal(size=(4, simplices.blocks))])]


def some_tied(generator, simplices):
    numbers = generator.integers(-2, 3, size=simplices.dimension)
    return [np.array([generator.normal(size=5)[numbers] for _ in range(4)])]


@pytest.mark.parametrize("relation", [scaled, all_tied, some_tied])
def test_what_is_bitwise_identical_as_written_is_so_in_the_kernel(relation):
    total = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        simplices = Simplices([*generator.integers(1, 6, size=3).tolist(), 4])
        rule = random_rule(seed, 2)[1](simplices)
        try:
            kernel = find_kernel(rule, exact=seed % 2 == 1)
        except UntraceableError:
            continue
        plays = [played(rule, kernel, u) for u in relation(generator, simplices)]
        if None in plays:
            continue
        # Of each strategy, whether it is the same in another unit, and whether pairs are equal.
        block = np.repeat(np.arange(simplices.blocks), simplices.sizes)
        same = [
            [one[way][:, :, None] == other[way][:, None, :] for way in range(2)]
            for one, other in zip(plays, plays[::-1], strict=True)
        ]
        within = block[:, None] == block
        for written_form, emitted in same:
            total += int((written_form & within).sum())
            assert not (written_form & within & ~emitted).any(), seed
    assert total > 1_000
