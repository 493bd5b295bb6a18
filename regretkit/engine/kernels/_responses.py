"""Best responses, as a function that is compiled: the backward pass with the largest value.

All sums are in the order of NumPy, and zero where NumPy's are, so that both are bitwise identical.
"""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64, backwards, span
from regretkit.engine._layout import FlatTrees, Iterates, Payoffs
from regretkit.engine.kernels._iteration import compute_utility


def respond(
    begin: int,
    end: int,
    found: Vector,
    payoffs: Payoffs,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Find best responses of the players from ``begin`` to ``end``.

    ``found`` has for each player what a best response gains, and how far the strategy is from the
    player's set; ``iterates.utility`` is then what each sequence earns where best actions follow.
    """
    for player in range(begin, end):
        compute_utility(player, True, payoffs, trees, iterates)
        best_values(player, trees, iterates)
    for player in range(found.shape[0]):
        measure(player, found[player], trees, iterates)


# From the leaves to the root


def best_values(player: int, trees: FlatTrees, iterates: Iterates) -> None:
    """Turn utilities into what best actions earn; ``total`` has the terms' magnitudes."""
    utility, total = iterates.utility, iterates.total
    root = as_int64(trees.sequence_offsets[player])
    for k in range(as_int64(trees.sequence_offsets[player + 1]) - root):
        total[k] = 0.0
    for run in backwards(trees.run_offsets, player):
        if trees.run_actions[run] == 2:  # unrolled, as in update_infoset
            best_of_run(run, 2, root, trees, iterates)
        elif trees.run_actions[run] == 3:
            best_of_run(run, 3, root, trees, iterates)
        else:
            for j in backwards(trees.run_begin, run):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                best = best_of_actions(first, last, root, iterates)
                add_to_parent(as_int64(trees.parent[j]), best, root, iterates)
    utility[root] = uncancelled(float(utility[root]), float(total[0]))


def best_of_run(run: int, actions: int, root: int, trees: FlatTrees, iterates: Iterates) -> None:
    """Do so for a run."""
    begin, values = as_int64(trees.run_begin[run]), iterates.magnitude
    first, count = as_int64(trees.first[begin]), as_int64(trees.run_begin[run + 1]) - begin
    for i in range(count):
        at = first + actions * i
        values[i] = best_of_actions(at, at + actions, root, iterates)
    for i in range(count - 1, -1, -1):
        add_to_parent(as_int64(trees.parent[begin + i]), float(values[i]), root, iterates)


def best_of_actions(first: int, last: int, root: int, iterates: Iterates) -> float:
    """Return the largest value of the actions at a decision point, once all terms are in them."""
    utility, total = iterates.utility, iterates.total
    for a in range(first, last):
        utility[a] = uncancelled(float(utility[a]), float(total[a - root]))
    return largest(first, last, utility)


def add_to_parent(parent: int, value: float, root: int, iterates: Iterates) -> None:
    """Add the value of a decision point to its parent sequence."""
    iterates.utility[parent] += value
    iterates.total[parent - root] += abs(value)


def uncancelled(value: float, magnitude: float) -> float:
    """Return a sum, zero where its terms cancel up to rounding."""
    return 0.0 if abs(value) <= RESOLUTION * magnitude else value


def largest(first: int, last: int, utility: Vector) -> float:
    """Return the largest utility of a decision point's actions."""
    best = float(utility[first])
    for a in range(first + 1, last):
        best = max(best, float(utility[a]))
    return best


# What comes of it


def measure(player: int, found: Vector, trees: FlatTrees, iterates: Iterates) -> None:
    """Find what a best response gains, and the largest violation of what a strategy is.

    With best actions afterwards, the gain is the sum of what a strategy earns less than the best
    actions at each decision point, weighted by its reach.
    """
    found[0] = 0.0
    found[1] = abs(float(iterates.strategy[trees.sequence_offsets[player]]) - 1.0)
    for run in span(trees.run_offsets, player):
        if trees.run_actions[run] == 2:  # unrolled, as in update_infoset
            measure_run(run, 2, found, trees, iterates)
        elif trees.run_actions[run] == 3:
            measure_run(run, 3, found, trees, iterates)
        else:
            for j in span(trees.run_begin, run):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                reach = float(iterates.strategy[trees.parent[j]])
                found[0] += shortfall(first, last, iterates)
                found[1] = max(found[1], violation(first, last, reach, iterates.strategy))


def measure_run(
    run: int, actions: int, found: Vector, trees: FlatTrees, iterates: Iterates
) -> None:
    """Do so for a run."""
    gain, error, begin = found[0], found[1], as_int64(trees.run_begin[run])
    first, count = as_int64(trees.first[begin]), as_int64(trees.run_begin[run + 1]) - begin
    for i in range(count):
        at, reach = first + actions * i, float(iterates.strategy[trees.parent[begin + i]])
        gain += shortfall(at, at + actions, iterates)
        error = max(error, violation(at, at + actions, reach, iterates.strategy))
    found[0], found[1] = gain, error


def shortfall(first: int, last: int, iterates: Iterates) -> float:
    """Return what a strategy earns less than the best actions at a decision point."""
    best, total = largest(first, last, iterates.utility), 0.0
    for a in range(first, last):
        total += float(iterates.strategy[a] * (best - iterates.utility[a]))
    return total


def violation(first: int, last: int, reach: float, strategy: Vector) -> float:
    """Return how far weights at a decision point are from such that sum to its inflow."""
    error, total = 0.0, 0.0
    for a in range(first, last):
        total += float(strategy[a])
        error = max(error, -float(strategy[a]))
    return max(error, abs(total - reach))
