"""Best responses, as a function that is compiled: the backward pass with the largest value."""

from regretkit._util._typing import Vector, as_int64
from regretkit.engine._layout import FlatTrees, Iterates, Payoffs
from regretkit.engine.kernels._iteration import compute_utility


def respond(
    begin: int,
    end: int,
    scaling: bool,
    found: Vector,
    payoffs: Payoffs,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Find best responses of the players from ``begin`` to ``end``.

    ``found`` has for each player what a best response gains, and how far the strategy is from the
    player's set; ``iterates.utility`` is then what each sequence earns where best actions follow.
    With ``scaling``, distributions are scaled to sum to 1 instead of being looked at.
    """
    for player in range(found.shape[0]):
        if scaling:
            scale_distributions(player, trees, iterates.strategy)
        else:
            found[player, 1] = flow_error(player, trees, iterates.strategy)
    for player in range(begin, end):
        compute_utility(player, False, payoffs, trees, iterates)
        found[player, 0] = best_values(player, trees, iterates)


def scale_distributions(player: int, trees: FlatTrees, strategy: Vector) -> None:
    """Scale the weights at each decision point to sum to its inflow; uniform if all are zero."""
    strategy[trees.sequence_offsets[player]] = 1.0
    for run in range(as_int64(trees.run_offsets[player]), as_int64(trees.run_offsets[player + 1])):
        begin, end = as_int64(trees.runs[run, 0]), as_int64(trees.runs[run + 1, 0])
        if trees.runs[run, 1] == 2:  # unrolled, as in update_infoset
            scale_run(begin, end, 2, trees, strategy)
        elif trees.runs[run, 1] == 3:
            scale_run(begin, end, 3, trees, strategy)
        else:
            for j in range(begin, end):
                reach = float(strategy[trees.parent[j]])
                scale_distribution(
                    as_int64(trees.first[j]), as_int64(trees.last[j]), reach, strategy
                )


def scale_run(begin: int, end: int, actions: int, trees: FlatTrees, strategy: Vector) -> None:
    """Do so for decision points of one number of actions, side by side."""
    begin_actions = as_int64(trees.first[begin])
    for i in range(end - begin):
        first = begin_actions + actions * i
        reach = float(strategy[trees.parent[begin + i]])
        scale_distribution(first, first + actions, reach, strategy)


def scale_distribution(first: int, last: int, reach: float, strategy: Vector) -> None:
    """Do so at one decision point."""
    total = 0.0
    for a in range(first, last):
        total += float(strategy[a])
    for a in range(first, last):
        share = strategy[a] / total if total != 0.0 else 1.0 / (last - first)
        strategy[a] = share * reach


def flow_error(player: int, trees: FlatTrees, strategy: Vector) -> float:
    """Return the largest violation of what a strategy in sequence form is."""
    error = abs(float(strategy[trees.sequence_offsets[player]]) - 1.0)
    for run in range(as_int64(trees.run_offsets[player]), as_int64(trees.run_offsets[player + 1])):
        begin, end = as_int64(trees.runs[run, 0]), as_int64(trees.runs[run + 1, 0])
        if trees.runs[run, 1] == 2:  # unrolled, as in update_infoset
            error = max(error, run_error(begin, end, 2, trees, strategy))
        elif trees.runs[run, 1] == 3:
            error = max(error, run_error(begin, end, 3, trees, strategy))
        else:
            for j in range(begin, end):
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                reach = float(strategy[trees.parent[j]])
                error = max(error, infoset_error(first, last, reach, strategy))
    return error


def run_error(begin: int, end: int, actions: int, trees: FlatTrees, strategy: Vector) -> float:
    """Return it for decision points of one number of actions, side by side."""
    error, begin_actions = 0.0, as_int64(trees.first[begin])
    for i in range(end - begin):
        first = begin_actions + actions * i
        reach = float(strategy[trees.parent[begin + i]])
        error = max(error, infoset_error(first, first + actions, reach, strategy))
    return error


def infoset_error(first: int, last: int, reach: float, strategy: Vector) -> float:
    """Return it for one decision point."""
    error, total = 0.0, 0.0
    for a in range(first, last):
        total += float(strategy[a])
        error = max(error, -float(strategy[a]))
    return max(error, abs(total - reach))


def best_values(player: int, trees: FlatTrees, iterates: Iterates) -> float:
    """Turn utilities into what best actions earn, from the leaves up; return what they gain."""
    utility, gain = iterates.utility, 0.0
    stop = as_int64(trees.run_offsets[player + 1])
    for back in range(stop - as_int64(trees.run_offsets[player])):
        run = stop - 1 - back
        begin, end = as_int64(trees.runs[run, 0]), as_int64(trees.runs[run + 1, 0])
        if trees.runs[run, 1] == 2:  # unrolled, as in update_infoset
            gain += best_of_run(begin, end, 2, trees, iterates)
        elif trees.runs[run, 1] == 3:
            gain += best_of_run(begin, end, 3, trees, iterates)
        else:
            for step in range(end - begin):
                j = end - 1 - step
                first, last = as_int64(trees.first[j]), as_int64(trees.last[j])
                best = largest(first, last, utility)
                gain += shortfall(first, last, best, iterates)
                utility[trees.parent[j]] += best
    return gain


def best_of_run(begin: int, end: int, actions: int, trees: FlatTrees, iterates: Iterates) -> float:
    """Do so for decision points of one number of actions, of which none follows another."""
    begin_actions, values, gain = as_int64(trees.first[begin]), iterates.magnitude, 0.0
    for i in range(end - begin):
        first = begin_actions + actions * i
        values[i] = largest(first, first + actions, iterates.utility)
        gain += shortfall(first, first + actions, float(values[i]), iterates)
    for step in range(end - begin):
        i = end - begin - 1 - step
        iterates.utility[trees.parent[begin + i]] += values[i]
    return gain


def largest(first: int, last: int, utility: Vector) -> float:
    """Return the largest utility of a decision point's actions."""
    best = float(utility[first])
    for a in range(first + 1, last):
        best = max(best, float(utility[a]))
    return best


def shortfall(first: int, last: int, best: float, iterates: Iterates) -> float:
    """Return what a strategy earns less than the best actions do, weighted by its reach.

    With best actions afterwards, the sum over decision points is what a best response gains.
    """
    total = 0.0
    for a in range(first, last):
        total += float(iterates.strategy[a] * (best - iterates.utility[a]))
    return total
