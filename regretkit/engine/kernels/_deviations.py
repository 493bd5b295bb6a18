"""Compiled steps of players whose minimizer chooses deviations.

Such a player has two trees: its own, and one with a coordinate for each deviation. The second tree
observes the gains of the deviations as its utility. The player's next behavioral strategy b is a
fixed point of the mixture of deviations: b M = b, with M the mixture's transition matrix.
"""

from typing import Any

from regretkit._compiler import lanes
from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64, span
from regretkit.circuits._stationary import set_stationary
from regretkit.engine._deviations import DeviationArrays
from regretkit.engine.kernels._walks import at_points, backward, forward, value_of

DISJOINT = True


def initialize_fixed_points(arrays: Any) -> None:
    """Compute b and x of all players with deviations."""
    for player in range(arrays.deviations.learners.size):
        set_fixed_points(player, arrays)
        forward(player, 1.0, 0.0, arrays.trees, arrays.iterates)


# Gains


def set_gains(player: int, arrays: Any) -> None:
    """Set the utility of each deviation to its weight times its gain."""
    trees, iterates, deviations = arrays.trees, arrays.iterates, arrays.deviations
    utility, gains, pairs = iterates.utility, deviations.gains, deviations.pairs
    learner = as_int64(deviations.learners[player])
    if learner != player:
        backward(player, set_gains_of_range, (), arrays)
        for k in span(pairs.begin, player):
            source, target = pairs.source[k], pairs.target[k]
            # b[source] (u[target] - u[source]): the gain of target in place of source
            gained = difference(float(utility[target]), float(utility[source]))
            gains[utility.size + k] = iterates.behavior[source] * gained
        for c in span(trees.sequence_offsets, learner):
            utility[c] = deviations.weights[deviations.weight[c]] * gains[deviations.gain[c]]


def set_gains_of_range(r: int, player: int, given: tuple[()], arrays: Any) -> None:
    """Set values and regrets at the points of a range, and store b."""
    at_points(r, set_gains_of_point, arrays.payoffs.negligible[player], arrays)


def set_gains_of_point(
    point: int, first: int, actions: int, stride: int, wide: int, negligible: float, arrays: Any
) -> None:
    """Set the value and the regrets at a point, and store b."""
    iterates, deviations = arrays.iterates, arrays.deviations
    utility = lanes(iterates.utility, first, stride, wide)
    played = lanes(iterates.behavior, first, stride, wide)
    value = value_of(actions, negligible, utility, played)
    lanes(iterates.values, point, 1, wide)[0] = value
    set_regrets(actions, value, utility, lanes(deviations.gains, first, stride, wide))
    kept = lanes(deviations.last_behavior, first, stride, wide)
    for k in range(actions):
        kept[k] = played[k]


def set_regrets(n: int, value: float, utility: Vector, regrets: Vector) -> None:
    """Set the regrets u[k] - value at a decision point; rounding errors become zero."""
    top = utility[0]
    for k in range(1, n):
        top = max(top, utility[k])
    # `value_of` computes value = top + difference: its error scales with both terms.
    rounding = RESOLUTION * (abs(top) + abs(value - top))
    for k in range(n):
        regret = utility[k] - value
        regrets[k] = 0.0 if abs(regret) <= rounding else regret


def difference(left: float, right: float) -> float:
    """Return left - right, or exactly zero if it is a rounding error."""
    return 0.0 if abs(left - right) <= RESOLUTION * abs(right) else left - right


# Fixed points


def set_fixed_points(player: int, arrays: Any) -> None:
    """Set b to the fixed point of the mixture of deviations, from the root to the leaves."""
    trees, iterates, deviations = arrays.trees, arrays.iterates, arrays.deviations
    points, products = deviations.points, deviations.products
    weights, rates = deviations.weights, deviations.rates
    learner = as_int64(deviations.learners[player])
    if learner == player:
        return
    forward(learner, 1.0, 0.0, trees, iterates)
    begin, end = points.begin[player], points.begin[player + 1]
    for a in span(trees.sequence_offsets, player):
        rates[a] = 0.0
    for k in range(deviations.flows.pairs[begin], deviations.flows.pairs[end]):
        rates[k] = 0.0
    add_flows(deviations.first_weight[player], iterates.strategy, deviations)
    for j in span(points.begin, player):
        if deviations.flows.pairs[j + 1] > deviations.flows.pairs[j]:
            set_fixed_point(j, iterates.behavior, deviations)
        else:
            normalize_rates(j, iterates.behavior, deviations)
        # Deviations below j have the weight of their parent times b at the action between.
        for k in span(products.begin, j):
            part = weights[products.parent[k]] * iterates.behavior[products.action[k]]
            weights[products.weight[k]] = part
            add_flows(products.weight[k], iterates.strategy, deviations)


def add_flows(weight: int, mixture: Vector, deviations: DeviationArrays) -> None:
    """Add ``weights[weight]`` times the mixture to the rates."""
    flows, rates, factor = deviations.flows, deviations.rates, float(deviations.weights[weight])
    if factor > 0.0:
        for k in span(flows.begin, weight):
            # rate[k] += weight * mixture[coordinate]
            rates[flows.rate[k]] += factor * mixture[flows.coordinate[k]]


def normalize_rates(j: int, behavior: Vector, deviations: DeviationArrays) -> None:
    """Set b at a point whose rates do not depend on the action left: b[k] = rate[k] / sum."""
    first, stride, actions = deviations.points.place[j]
    rates, total = deviations.rates, 0.0
    for k in range(actions):
        total += rates[first + stride * k]
    for k in range(actions):
        rate = rates[first + stride * k]
        behavior[first + stride * k] = rate / total if total > 0.0 else 1.0 / actions


def set_fixed_point(j: int, behavior: Vector, deviations: DeviationArrays) -> None:
    """Set b at a point with a rate for each pair of actions."""
    first, stride, size = deviations.points.place[j]
    begin, end = as_int64(deviations.flows.pairs[j]), as_int64(deviations.flows.pairs[j + 1])
    rates = deviations.rates
    # rates[i, j] += rate[j]: moves to action j from any action i.
    for k in range(begin, end):
        rates[k] += rates[first + stride * ((k - begin) % size)]
    chain, at = rates[begin:end], (first, stride)
    set_stationary(size, at, behavior, chain, deviations.scales, deviations.by_action)
