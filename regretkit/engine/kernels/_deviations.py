"""Iterations of players that learn over deviations, as functions that are compiled.

Such a player has two trees: its own, and its learner's, with a coordinate for each deviation. Its
utility becomes what the deviations gain, and the strategy that their mixture fixes is played.
"""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64, backwards, span
from regretkit.engine._compiler import separate
from regretkit.engine._deviations import DeviationArrays
from regretkit.engine.kernels._iteration import (
    Arrays,
    backpropagate_value,
    backward_pass,
    forward_pass,
    set_sequence_form,
)

# Templates in place of those of CFR


def update_by_deviations(player: int, parameters: Vector, arrays: Arrays) -> None:
    """Update a player's rule, with what deviations gain where it learns over them."""
    learner = as_int64(arrays.deviations.learners[player])
    if learner != player:
        set_gains(player, learner, arrays)
    backward_pass(learner, parameters, arrays)


def advance_by_deviations(player: int, decay: float, weight: float, arrays: Arrays) -> None:
    """Add x to the average, and compute the next one."""
    learner = as_int64(arrays.deviations.learners[player])
    if learner != player:
        set_fixed_points(player, learner, arrays)
    forward_pass(player, decay, weight, arrays.trees, arrays.iterates)


def initialize_fixed_points(arrays: Arrays) -> None:
    """Compute b and x of all players that learn over deviations."""
    for player in range(arrays.deviations.learners.size):
        learner = as_int64(arrays.deviations.learners[player])
        if learner != player:
            set_fixed_points(player, learner, arrays)
            set_sequence_form(player, arrays.trees, arrays.iterates)


# Gains


def set_gains(player: int, learner: int, arrays: Arrays) -> None:
    """Set the utility of each deviation."""
    trees, iterates, deviations = arrays.trees, arrays.iterates, arrays.deviations
    utility, gains, pairs = iterates.utility, deviations.gains, deviations.pairs
    for j in backwards(trees.infoset_offsets, player):
        first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
        if last - first == 2:  # unrolled, as in update_infoset
            set_gains_of_actions(j, first, first + 2, player, arrays)
        elif last - first == 3:
            set_gains_of_actions(j, first, first + 3, player, arrays)
        else:
            set_gains_of_actions(j, first, last, player, arrays)
    number = trees.sequence_offsets[trees.sequence_offsets.size - 1]
    for k in span(pairs.begin, player):
        source, target = pairs.source[k], pairs.target[k]
        gained = difference(float(utility[target]), float(utility[source]))
        gains[number + k] = iterates.behavior[source] * gained
    for c in span(trees.sequence_offsets, learner):
        utility[c] = deviations.weights[deviations.weight[c]] * gains[deviations.gain[c]]


def set_gains_of_actions(j: int, first: int, last: int, player: int, arrays: Arrays) -> None:
    """Propagate the value of a decision point; set the regrets there, and keep b."""
    iterates, deviations = arrays.iterates, arrays.deviations
    negligible = arrays.payoffs.negligible[player]
    value = backpropagate_value(j, first, last, negligible, arrays.trees, iterates)
    set_regrets(first, last, value, iterates.utility, deviations.gains)
    for a in range(first, last):
        deviations.last_behavior[a] = iterates.behavior[a]


def set_regrets(first: int, last: int, value: float, utility: Vector, regrets: Vector) -> None:
    """Set the regrets at a decision point of this value, zero where they are rounding."""
    top = float(utility[first])
    for a in range(first + 1, last):
        top = max(top, float(utility[a]))
    rounding = RESOLUTION * (abs(top) + abs(value - top))
    for a in range(first, last):
        regret = utility[a] - value
        regrets[a] = 0.0 if abs(regret) <= rounding else regret


def difference(left: float, right: float) -> float:
    """Return the difference of two numbers, exactly zero where it is rounding."""
    return 0.0 if abs(left - right) <= RESOLUTION * abs(right) else left - right


# Fixed points


def set_fixed_points(player: int, learner: int, arrays: Arrays) -> None:
    """Set the b that the learner's mixture of deviations fixes, from the root to the leaves."""
    trees, iterates, deviations = arrays.trees, arrays.iterates, arrays.deviations
    products, weights, rates = deviations.products, deviations.weights, deviations.rates
    set_sequence_form(learner, trees, iterates)
    begin, end = trees.infoset_offsets[player], trees.infoset_offsets[player + 1]
    for a in span(trees.sequence_offsets, player):
        rates[a] = 0.0
    for k in range(deviations.flows.pairs[begin], deviations.flows.pairs[end]):
        rates[k] = 0.0
    add_flows(deviations.first_weight[player], iterates.strategy, deviations)
    for j in span(trees.infoset_offsets, player):
        first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
        if last - first == 2:  # unrolled; there are no pairs then
            normalize_rates(first, first + 2, rates, iterates.behavior)
        elif deviations.flows.pairs[j + 1] > deviations.flows.pairs[j]:
            set_fixed_point(j, first, last, iterates.behavior, deviations)
        elif last - first == 3:
            normalize_rates(first, first + 3, rates, iterates.behavior)
        else:
            normalize_rates(first, last, rates, iterates.behavior)
        for k in span(products.begin, j):
            part = weights[products.parent[k]] * iterates.behavior[products.action[k]]
            weights[products.weight[k]] = part
            add_flows(products.weight[k], iterates.strategy, deviations)


def add_flows(weight: int, mixture: Vector, deviations: DeviationArrays) -> None:
    """Add all rates of one weight."""
    flows, rates, factor = deviations.flows, deviations.rates, float(deviations.weights[weight])
    if factor > 0.0:
        for k in span(flows.begin, weight):
            rates[flows.rate[k]] += factor * mixture[flows.coordinate[k]]


def normalize_rates(first: int, last: int, rates: Vector, behavior: Vector) -> None:
    """Set b where deviations play an action in place of all others, or of the only other one."""
    total = 0.0
    for a in range(first, last):
        total += float(rates[a])
    for a in range(first, last):
        behavior[a] = rates[a] / total if total > 0.0 else 1.0 / (last - first)


def set_fixed_point(
    j: int, first: int, last: int, behavior: Vector, deviations: DeviationArrays
) -> None:
    """Set b where there are rates of pairs."""
    begin, end = as_int64(deviations.flows.pairs[j]), as_int64(deviations.flows.pairs[j + 1])
    rates, size = deviations.rates, last - first
    for k in range(begin, end):
        rates[k] += rates[first + (k - begin) % size]
    chain = rates[begin:end]
    set_stationary(size, first, behavior, chain, deviations.by_action, deviations.by_pair)


# Stationary distributions, as in ``circuits/_stationary.py``. Numbers that may leave the range of a
# float have a scale, a power of 2^512, and none is rounded that would not be without.


@separate  # since it is rarely called
def set_stationary(
    size: int,
    first: int,
    distribution: Vector,
    rates: Vector,
    by_action: tuple[Vector, Vector],
    by_pair: tuple[Vector, Vector],
) -> None:
    """Set the stationary distribution of a chain; with several closed classes, the mean of all."""
    scales, closed = by_pair
    visits, visit_scales = by_action
    classes = keep_closed_classes(size, rates, scales, closed)
    for k in range(size - 1, 0, -1):
        eliminate(k, size, rates, scales)
    for k in range(size):
        # The first state of a class is its unit; states of no class have no visits.
        visit, scale = float(closed[size * k + k]), 0.0
        for i in range(k):
            if closed[size * i + k] > 0.0:
                visit = 0.0
        for i in range(k):
            term = float(visits[i] * rates[size * i + k])
            added, its_scale = rescaled(term, float(visit_scales[i] + scales[size * i + k]))
            visit, scale = scaled_sum(visit, scale, added, its_scale)
        visits[k], visit_scales[k] = visit, scale
    for k in range(size):
        total, scale = 0.0, 0.0
        for i in range(size):
            if closed[size * i + k] > 0.0:
                total, scale = scaled_sum(total, scale, float(visits[i]), float(visit_scales[i]))
        share = visits[k] / total if total > 0.0 else 0.0
        scale = visit_scales[k] - scale
        while scale < 0.0 and share > 0.0:
            share *= 2.0**-512
            scale += 1.0
        distribution[first + k] = share / classes


def keep_closed_classes(size: int, rates: Vector, scales: Vector, same: Vector) -> float:
    """Keep rates within closed classes; set which states share one, and return their number."""
    reach = scales
    for k in range(size * size):
        reach[k] = 1.0 if rates[k] > 0.0 or k // size == k % size else 0.0
    for k in range(size):
        for i in range(size):
            if reach[size * i + k] > 0.0:
                for j in range(size):
                    reach[size * i + j] = max(reach[size * i + j], reach[size * k + j])
    classes = 0.0
    for i in range(size):
        is_closed, is_first = True, True
        for j in range(size):
            is_closed = is_closed and reach[size * i + j] <= reach[size * j + i]
            is_first = is_first and not (j < i and reach[size * i + j] > 0.0)
        for j in range(size):
            same[size * i + j] = reach[size * i + j] if is_closed else 0.0
        classes += 1.0 if is_closed and is_first else 0.0
    for k in range(size * size):
        rates[k], scales[k] = rescaled(float(rates[k]), 0.0)
        rates[k] *= same[k]
    return classes


def eliminate(k: int, size: int, rates: Vector, scales: Vector) -> None:
    """Eliminate a state: what passed through it is sent on to where it would have gone."""
    leaving, scale = 0.0, 0.0
    for j in range(k):
        leaving, scale = scaled_sum(
            leaving, scale, float(rates[size * k + j]), float(scales[size * k + j])
        )
    if leaving == 0.0:
        return
    for i in range(k):
        rate, its_scale = float(rates[size * i + k]), float(scales[size * i + k])
        if rate > 0.0:
            for j in range(k):
                share, power = rescaled(
                    float(rates[size * k + j] / leaving), float(scales[size * k + j] - scale)
                )
                term, power = rescaled(rate * share, its_scale + power)
                rates[size * i + j], scales[size * i + j] = scaled_sum(
                    float(rates[size * i + j]), float(scales[size * i + j]), term, power
                )
            rates[size * i + k], scales[size * i + k] = rescaled(rate / leaving, its_scale - scale)


def scaled_sum(one: float, scale: float, other: float, its_scale: float) -> tuple[float, float]:
    """Return the sum of two numbers, each with its scale."""
    if other == 0.0 or (one > 0.0 and scale > its_scale + 1.0):
        return one, scale
    if one == 0.0 or its_scale > scale + 1.0:
        return other, its_scale
    if scale > its_scale:
        other *= 2.0**-512
    elif its_scale > scale:
        one, scale = one * 2.0**-512, its_scale
    return rescaled(one + other, scale)


def rescaled(number: float, scale: float) -> tuple[float, float]:
    """Return a number between 2^-256 and 2^256 with its scale."""
    while number >= 2.0**256:
        number, scale = number * 2.0**-512, scale + 1.0
    while 0.0 < number < 2.0**-256:
        number, scale = number * 2.0**512, scale - 1.0
    return number, scale
