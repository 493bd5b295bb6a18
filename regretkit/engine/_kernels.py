"""Whole iterations, written so that a compiler understands them.

``begin``, ``iterate`` and ``backward`` are patterns. The four functions at the top are what they
leave open; :mod:`~regretkit.engine._specialize` puts others in their place, once for each rule and
each kind of payoffs, and makes machine code of the whole.
"""

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Indices, Narrow, Vector, whole
from regretkit.engine._forced import Forced, play_forced
from regretkit.engine._forest import Forest
from regretkit.engine._payoffs import Payoffs
from regretkit.engine._steps import EARN, LEARN, PARTS, part_of, turn_of
from regretkit.engine._table import Table

State = tuple[Vector, ...]


def earn(
    player: int,
    settled: bool,
    payoffs: Payoffs,
    strategy: Vector,
    utility: Vector,
    sequences: Narrow,
) -> None:
    """Set a player's utility while the others play ``strategy``, ``settled`` up to rounding."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def measure(a: int, player: int, payoffs: Payoffs, strategy: Vector) -> float:
    """Return the magnitudes that are added up in a sequence's utility."""
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
) -> float:
    """Let a rule say what it plays next at one decision point; return its regrets' size."""
    raise NotImplementedError  # left open: _specialize puts another in its place


def settle_regrets(
    block: int, first: int, last: int, rounding: float, state: State, numbers: Vector
) -> None:
    """Set those regrets at one decision point to zero that are at most ``rounding``."""
    raise NotImplementedError  # left open: _specialize puts another in its place


# One player's decision points, up the tree and down


def worth_of(first: int, last: int, utility: Vector, behavior: Vector) -> float:
    """Return the value of a decision point, the largest of its utilities set aside.

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


def climb(player: int, negligible: float, forest: Forest, table: Table) -> None:
    """Turn utilities into counterfactual ones, from the leaves up, zero where values cancel.

    No sum beyond ``negligible`` can be rounding.
    """
    utility, behavior, values = table.utility, table.behavior, table.magnitude
    end = whole(forest.points[player + 1])
    for back in range(end - whole(forest.points[player])):
        j = end - 1 - back
        first, last = whole(forest.first[j]), whole(forest.last[j])
        value = worth_of(first, last, utility, behavior)
        if abs(value) <= negligible and value != 0.0:
            largest = utility[first]
            for a in range(first, last):
                largest = max(largest, utility[a])
            if abs(value) <= RESOLUTION * (abs(largest) + abs(value - largest)):
                value = 0.0
        parent = whole(forest.parent[j])
        total = utility[parent] + value
        values[j] = abs(value)
        utility[parent] = total
        if abs(total) <= negligible and total != 0.0:
            settle_sum(j, parent, forest, utility, values)


def settle_sum(j: int, a: int, forest: Forest, utility: Vector, values: Vector) -> None:
    """Set a sequence's sum to zero if j was the last to be added, and all have cancelled."""
    begin, end = whole(forest.first_child[a]), whole(forest.first_child[a + 1])
    if whole(forest.children[end - 1]) == j:
        magnitude = 0.0
        for k in range(begin, end):
            magnitude += float(values[whole(forest.children[k])])
        if abs(utility[a]) <= RESOLUTION * magnitude:
            utility[a] = 0.0


def backward(
    player: int, numbers: Vector, payoffs: Payoffs, forest: Forest, table: Table, state: State
) -> None:
    """Climb, and let each decision point learn and propose on the way.

    Where the regrets that decide are so small that they may be rounding, magnitudes tell.
    """
    utility, behavior = table.utility, table.behavior
    negligible, count = payoffs.negligible[player], 0
    end = whole(forest.points[player + 1])
    for back in range(end - whole(forest.points[player])):
        j = end - 1 - back
        first, last = whole(forest.first[j]), whole(forest.last[j])
        value, size = decide(j, first, last, utility, behavior, numbers, state)
        utility[whole(forest.parent[j])] += value
        if 0.0 < size <= negligible:
            table.suspects[count] = j
            count += 1
    # Only now, since what is rare would be in the way of what is there each time.
    for k in range(count):
        settle(whole(table.suspects[k]), player, numbers, payoffs, forest, table, state)


def settle(
    j: int,
    player: int,
    numbers: Vector,
    payoffs: Payoffs,
    forest: Forest,
    table: Table,
    state: State,
) -> None:
    """Propose again at a decision point, without those of its regrets that are rounding."""
    first, last = whole(forest.first[j]), whole(forest.last[j])
    size = propose(j, first, last, table.behavior, state, numbers)
    # What the utilities came to is a lower bound of their magnitudes, and mostly tells.
    magnitude = largest_of(first, last, table.utility)
    if size > RESOLUTION * magnitude:
        magnitude = magnitude_below(j, player, payoffs, forest, table)
    rounding = RESOLUTION * magnitude
    if size <= rounding:
        settle_regrets(j, first, last, rounding, state, numbers)
        propose(j, first, last, table.behavior, state, numbers)


def magnitude_below(j: int, player: int, payoffs: Payoffs, forest: Forest, table: Table) -> float:
    """Return the largest sum of magnitudes at a decision point, of all that is added behind it."""
    points, magnitude = table.points, table.magnitude
    points[0], count, k = j, 1, 0
    while k < count:
        point = whole(points[k])
        for a in range(whole(forest.first[point]), whole(forest.last[point])):
            magnitude[a] = measure(a, player, payoffs, table.strategy)
            for c in range(whole(forest.first_child[a]), whole(forest.first_child[a + 1])):
                points[count] = forest.children[c]
                count += 1
        k += 1
    largest = 0.0
    while k > 0:  # children come behind their parents
        k -= 1
        point = whole(points[k])
        largest = largest_of(whole(forest.first[point]), whole(forest.last[point]), magnitude)
        if k > 0:
            magnitude[whole(forest.parent[point])] += largest
    return largest


def largest_of(first: int, last: int, numbers: Vector) -> float:
    """Return the largest magnitude of some numbers."""
    largest = 0.0
    for a in range(first, last):
        largest = max(largest, abs(float(numbers[a])))
    return largest


def decide(
    j: int,
    first: int,
    last: int,
    utility: Vector,
    behavior: Vector,
    numbers: Vector,
    state: State,
) -> tuple[float, float]:
    """Let a decision point learn and propose; return its value, and the size of its regrets."""
    # Most have few actions. For a number that it knows, a compiler makes no loops, and the
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
) -> tuple[float, float]:
    """Do so with any number of actions."""
    value = worth_of(first, last, utility, behavior)
    learn(j, first, last, utility, value, behavior, state, numbers)
    return value, propose(j, first, last, behavior, state, numbers)


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
    """Play one iteration for each row of ``turns``: the players updated, in turn, then -1.

    ``numbers[t, player]`` are the rule's, a single row of them for all iterations, and
    ``weights[t]`` the factors of the average and of x. Where all are updated ``together``, all
    utilities are computed before any update.
    """
    strategy, movers = table.strategy, turns.shape[1]
    for t in range(turns.shape[0]):
        decay, weight = weights[t, 0], weights[t, 1]
        if t == turns.shape[0] - 1:
            remember(table)
        for step in range(PARTS * movers):
            player = turns[t, turn_of(step, movers, together)]
            if player < 0:
                continue
            part = part_of(step, movers, together)
            if part == EARN:
                earn(player, False, payoffs, strategy, table.utility, forest.sequences)
            elif part == LEARN:
                own = numbers[min(t, numbers.shape[0] - 1), player]
                backward(player, own, payoffs, forest, table, state)
            else:
                forward(player, decay, weight, forest, strategy, table.behavior, table.total)
        if turns[t, -1] < 0:
            stay(turns[t], decay, weight, forest, table)
    play_forced(forced, table)


# Parts of an iteration, for rules that are no machine code. They take arrays one by one, since
# Python hands over a tuple of arrays ten times more slowly than the arrays.


def rise(
    player: int,
    earning: bool,
    climbing: bool,
    strategy: Vector,
    behavior: Vector,
    utility: Vector,
    magnitude: Vector,
    first: Narrow,
    last: Narrow,
    parent: Narrow,
    points: Narrow,
    sequences: Narrow,
    first_child: Narrow,
    children: Narrow,
    *arrays: Vector,
) -> None:
    """Set a player's utility; turn it into counterfactual ones."""
    payoffs = form(*arrays)
    if earning:
        earn(player, True, payoffs, strategy, utility, sequences)
    if climbing:
        forest = Forest(first, last, parent, points, sequences, first_child, children)
        table = Table(
            strategy, behavior, utility, strategy, strategy, magnitude, children, children
        )
        climb(player, payoffs.negligible[player], forest, table)


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
    first_child: Narrow,
    children: Narrow,
) -> None:
    """Add x to the average, and make the new distributions the next x."""
    forest = Forest(first, last, parent, points, sequences, first_child, children)
    forward(player, decay, weight, forest, strategy, behavior, total)
