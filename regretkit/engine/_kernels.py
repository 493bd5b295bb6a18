"""Whole iterations, written so that a compiler understands them.

``begin``, ``iterate`` and ``backward`` are patterns. The four functions at the top are what they
leave open; :mod:`~regretkit.engine._specialize` puts others in their place, once for each rule and
each kind of payoffs, and makes machine code of the whole.
"""

from regretkit._typing import Indices, Narrow, Vector, whole
from regretkit.engine._forced import Forced, play_forced
from regretkit.engine._forest import Forest
from regretkit.engine._payoffs import Payoffs
from regretkit.engine._steps import is_earning, turn_of
from regretkit.engine._table import Table

State = tuple[Vector, ...]


def earn(
    player: int, payoffs: Payoffs, strategy: Vector, utility: Vector, sequences: Narrow
) -> None:
    """Set a player's utility while the others play ``strategy``."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def form(*arrays: Vector) -> Payoffs:
    """Return arrays as the payoffs that they are."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def learn(
    block: int,
    first: int,
    last: int,
    utility: Vector,
    value: float,
    strategy: Vector,
    state: State,
    numbers: Vector,
) -> None:
    """Let a rule learn at one decision point."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def propose(
    block: int, first: int, last: int, strategy: Vector, state: State, numbers: Vector
) -> None:
    """Let a rule say what it plays next at one decision point."""
    raise NotImplementedError  # left open: _specialize puts another in its place


# One player's decision points, up the tree and down


def worth_of(first: int, last: int, utility: Vector, behavior: Vector) -> float:
    """Return what a decision point is worth, the largest of its utilities set aside.

    So equal utilities leave regrets of exactly zero.
    """
    if last - first == 1:
        return float(utility[first])
    top = float(utility[first])
    for a in range(first + 1, last):
        top = max(top, float(utility[a]))
    missed = 0.0
    for a in range(first, last):
        missed += float((utility[a] - top) * behavior[a])
    return top + missed


def climb(player: int, forest: Forest, utility: Vector, behavior: Vector) -> None:
    """Turn utilities into counterfactual ones, from the leaves up."""
    end = whole(forest.points[player + 1])
    for back in range(end - whole(forest.points[player])):
        j = end - 1 - back
        first, last = whole(forest.first[j]), whole(forest.last[j])
        utility[whole(forest.parent[j])] += worth_of(first, last, utility, behavior)


def backward(player: int, numbers: Vector, forest: Forest, table: Table, state: State) -> None:
    """Climb, and let each decision point learn and propose on the way."""
    utility, behavior = table.utility, table.behavior
    end = whole(forest.points[player + 1])
    for back in range(end - whole(forest.points[player])):
        j = end - 1 - back
        first, last = whole(forest.first[j]), whole(forest.last[j])
        value = decide(j, first, last, utility, behavior, numbers, state)
        utility[whole(forest.parent[j])] += value


def decide(
    j: int,
    first: int,
    last: int,
    utility: Vector,
    behavior: Vector,
    numbers: Vector,
    state: State,
) -> float:
    """Let a decision point learn and propose; return what it was worth."""
    # Most have few actions. For so many as it can see here, a compiler makes no loops, and the
    # processor need not guess where they end.
    if last - first == 2:
        return decide_among(j, first, first + 2, utility, behavior, numbers, state)
    if last - first == 1:
        return decide_among(j, first, first + 1, utility, behavior, numbers, state)
    if last - first == 3:
        return decide_among(j, first, first + 3, utility, behavior, numbers, state)
    return decide_among(j, first, last, utility, behavior, numbers, state)


def decide_among(
    j: int,
    first: int,
    last: int,
    utility: Vector,
    behavior: Vector,
    numbers: Vector,
    state: State,
) -> float:
    """Do so with any number of actions."""
    value = worth_of(first, last, utility, behavior)
    learn(j, first, last, utility, value, behavior, state, numbers)
    propose(j, first, last, behavior, state, numbers)
    return value


def forward(
    player: int,
    decay: float,
    weight: float,
    forest: Forest,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
) -> None:
    """Add x to the average, and make the new distributions the next x, from the root down."""
    root = whole(forest.sequences[player])
    total[root] = decay * total[root] + weight * strategy[root]
    strategy[root] = 1.0
    for j in range(whole(forest.points[player]), whole(forest.points[player + 1])):
        first, last = whole(forest.first[j]), whole(forest.last[j])
        reach = strategy[whole(forest.parent[j])]
        hand_down(first, last, reach, decay, weight, strategy, behavior, total)


def hand_down(
    first: int,
    last: int,
    reach: float,
    decay: float,
    weight: float,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
) -> None:
    """Add x at a decision point to the average, and make its new distribution the next x."""
    if last - first == 2:  # as above; a single action needs no more than a loop
        hand_down_among(first, first + 2, reach, decay, weight, strategy, behavior, total)
    elif last - first == 3:
        hand_down_among(first, first + 3, reach, decay, weight, strategy, behavior, total)
    else:
        hand_down_among(first, last, reach, decay, weight, strategy, behavior, total)


def hand_down_among(
    first: int,
    last: int,
    reach: float,
    decay: float,
    weight: float,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
) -> None:
    """Do so with any number of actions."""
    for a in range(first, last):
        total[a] = decay * total[a] + weight * strategy[a]
        strategy[a] = behavior[a] * reach


def stay(turn: Indices, decay: float, weight: float, forest: Forest, table: Table) -> None:
    """Add the x of all whose turn it is not."""
    sequences = forest.sequences
    for player in range(turn.size):
        idle = True
        for mover in turn:
            idle = idle and mover != player
        if idle:
            for a in range(whole(sequences[player]), whole(sequences[player + 1])):
                table.total[a] = decay * table.total[a] + weight * table.strategy[a]


# Iterations


def begin(numbers: Vector, forest: Forest, table: Table, state: State) -> None:
    """Work out every b and x from what was learned."""
    for player in range(forest.points.size - 1):
        table.strategy[whole(forest.sequences[player])] = 1.0
        for j in range(whole(forest.points[player]), whole(forest.points[player + 1])):
            first, last = whole(forest.first[j]), whole(forest.last[j])
            propose(j, first, last, table.behavior, state, numbers[player])
            reach = table.strategy[whole(forest.parent[j])]
            for a in range(first, last):
                table.strategy[a] = table.behavior[a] * reach


def remember(table: Table) -> None:
    """Note down x."""
    for a in range(table.played.size):
        table.played[a] = table.strategy[a]


def iterate(
    together: bool,
    turns: Indices,
    numbers: Vector,
    weights: Vector,
    payoffs: Payoffs,
    forest: Forest,
    forced: Forced,
    table: Table,
    state: State,
) -> None:
    """Play one iteration for each row of ``turns``: the players who learn, in turn, then -1.

    ``numbers[t, player]`` are the rule's, a single row of them for all iterations, and
    ``weights[t]`` what the average is multiplied by and what x counts. Where all learn
    ``together``, all utilities are worked out before anybody moves.
    """
    strategy, movers = table.strategy, turns.shape[1]
    for t in range(turns.shape[0]):
        decay, weight = weights[t, 0], weights[t, 1]
        if t == turns.shape[0] - 1:
            remember(table)
        for step in range(2 * movers):
            player = turns[t, turn_of(step, movers, together)]
            if player < 0:
                continue
            if is_earning(step, movers, together):
                earn(player, payoffs, strategy, table.utility, forest.sequences)
            else:
                own = numbers[min(t, numbers.shape[0] - 1), player]
                backward(player, own, forest, table, state)
                forward(player, decay, weight, forest, strategy, table.behavior, table.total)
        if turns[t, -1] < 0:
            stay(turns[t], decay, weight, forest, table)
    play_forced(0, forced.move.size, forced, table)


# Parts of an iteration, for rules that are no machine code. They take arrays one by one, since
# Python hands over a tuple of arrays ten times more slowly than the arrays.


def rise(
    player: int,
    earning: bool,
    climbing: bool,
    strategy: Vector,
    behavior: Vector,
    utility: Vector,
    first: Narrow,
    last: Narrow,
    parent: Narrow,
    points: Narrow,
    sequences: Narrow,
    *payoffs: Vector,
) -> None:
    """Set a player's utility; turn it into counterfactual ones."""
    if earning:
        earn(player, form(*payoffs), strategy, utility, sequences)
    if climbing:
        climb(player, Forest(first, last, parent, points, sequences), utility, behavior)


def fall(
    player: int,
    decay: float,
    weight: float,
    strategy: Vector,
    behavior: Vector,
    total: Vector,
    first: Narrow,
    last: Narrow,
    parent: Narrow,
    points: Narrow,
    sequences: Narrow,
) -> None:
    """Add x to the average, and make the new distributions the next x."""
    forest = Forest(first, last, parent, points, sequences)
    forward(player, decay, weight, forest, strategy, behavior, total)
