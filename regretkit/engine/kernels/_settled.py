"""Utilities of public games, as a function that is compiled.

Each sum has one order, so that Python and machine code are bitwise identical. Eight columns are
summed at once; all eight numbers are read before any is written, so that a compiler sees that they
do not depend on each other, and takes a few in one instruction.
"""

from typing import TypeAlias

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64
from regretkit.engine._layout import FlatTrees, Iterates
from regretkit.engine._settled import LANES, SettledPayoffs

Lanes: TypeAlias = tuple[float, float, float, float, float, float, float, float]

NONE: Lanes = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def settled_utility(
    player: int,
    zero_cancelled: bool,
    payoffs: SettledPayoffs,
    trees: FlatTrees,
    iterates: Iterates,
) -> None:
    """Set a player's utility to what its types earn against the opponent's reach."""
    for a in range(
        as_int64(trees.sequence_offsets[player]), as_int64(trees.sequence_offsets[player + 1])
    ):
        iterates.utility[a] = 0.0
    for group in range(
        as_int64(payoffs.group_offsets[player]), as_int64(payoffs.group_offsets[player + 1])
    ):
        if payoffs.groups[group, 6] < payoffs.groups[group + 1, 6]:
            sum_table(group, player, payoffs, iterates.strategy)
        else:
            sum_columns(group, player, payoffs, iterates.strategy)
        for segment in range(
            as_int64(payoffs.groups[group, 5]), as_int64(payoffs.groups[group + 1, 5])
        ):
            earn(segment, player, payoffs, iterates.utility)


def sum_columns(group: int, player: int, payoffs: SettledPayoffs, strategy: Vector) -> None:
    """Compute the sums over the opponent's types, for all columns of a group."""
    begin, free = as_int64(payoffs.groups[group, 3]), as_int64(payoffs.groups[group, 4])
    for column in range(begin, as_int64(payoffs.groups[group + 1, 3]), LANES):
        read_reach(column, player, payoffs, strategy)
        for k in range(payoffs.by_card.size):
            payoffs.by_card[k] = 0.0
        compared = column < free
        total = sweep(group, player, payoffs) if compared else add_up(group, player, payoffs)
        write_sums(column - begin, compared, payoffs.pays_ties[group], player, total, payoffs)


def read_reach(column: int, player: int, payoffs: SettledPayoffs, strategy: Vector) -> None:
    """Compute the reach of the opponent's types in eight columns."""
    columns, reach, types = payoffs.columns, payoffs.reach, as_int64(payoffs.types[1 - player])
    for lane in range(LANES):
        first, step = as_int64(columns[column + lane, 0]), as_int64(columns[column + lane, 1])
        places, priors = as_int64(columns[column + lane, 2]), as_int64(columns[column + lane, 3])
        for j in range(types):
            sequence = first + step * as_int64(payoffs.places[places + j])
            reach[LANES * j + lane] = strategy[sequence] * payoffs.priors[priors + j]
    for lane in range(LANES):
        reach[LANES * types + lane] = 0.0


def sweep(group: int, player: int, payoffs: SettledPayoffs) -> Lanes:
    """Add up the reach from the weakest type on, and note it below and up to each own type."""
    own, other, below = payoffs.own, payoffs.other, payoffs.below
    first, begin = as_int64(payoffs.groups[group, 1]), as_int64(payoffs.groups[group, 2])
    total, i, j = NONE, 0, 0
    for level in range(as_int64(payoffs.groups[group, 0]), as_int64(payoffs.groups[group + 1, 0])):
        own_end, other_end = as_int64(payoffs.levels[level, 0]), as_int64(payoffs.levels[level, 1])
        for k in range(i, own_end):
            hand = as_int64(own[first + k])
            store(below[0], LANES * hand, without_cards(total, hand, player, payoffs))
        for k in range(j, other_end):
            total = add_type(as_int64(other[begin + k]), total, player, payoffs)
        for k in range(i, own_end):
            hand = as_int64(own[first + k])
            store(below[1], LANES * hand, without_cards(total, hand, player, payoffs))
        i, j = own_end, other_end
    return total


def add_up(group: int, player: int, payoffs: SettledPayoffs) -> Lanes:
    """Add up the reach of all types."""
    total = NONE
    for k in range(as_int64(payoffs.groups[group, 2]), as_int64(payoffs.groups[group + 1, 2])):
        total = add_type(as_int64(payoffs.other[k]), total, player, payoffs)
    return total


def add_type(other: int, total: Lanes, player: int, payoffs: SettledPayoffs) -> Lanes:
    """Add the reach of one of the opponent's types to all sums that it belongs to."""
    place = other if player == 1 else other + as_int64(payoffs.types[0])
    reach = load(payoffs.reach, LANES * other)
    for k in range(2):
        card = LANES * as_int64(payoffs.added_cards[place, k])
        store(payoffs.by_card, card, add(load(payoffs.by_card, card), reach))
    return add(total, reach)


def without_cards(total: Lanes, own: int, player: int, payoffs: SettledPayoffs) -> Lanes:
    """Return a sum less those of the types that share a card with the player's type."""
    place = own if player == 0 else own + as_int64(payoffs.types[0])
    for k in range(2):
        card = LANES * as_int64(payoffs.read_cards[place, k])
        total = subtract(total, load(payoffs.by_card, card))
    return total


def write_sums(
    column: int,
    compared: bool,
    pays_ties: int,
    player: int,
    total: Lanes,
    payoffs: SettledPayoffs,
) -> None:
    """Compute ``free``, and ``more`` and ``tie`` if types are compared, of eight columns.

    In loops without a condition: a compiler makes masks of one, and where these leave out memory
    that was never touched, processors take five times as long.
    """
    types, below, bound = as_int64(payoffs.types[player]), payoffs.below, scale(RESOLUTION, total)
    store(payoffs.total, column, total)
    if compared:
        for i in range(types):
            whole = write_free(column, i, player, total, bound, payoffs)
            both = add(load(below[0], LANES * i), load(below[1], LANES * i))
            store_apart(payoffs.sums[1], column, i, types, subtract(both, whole), bound)
    else:
        for i in range(types):
            write_free(column, i, player, total, bound, payoffs)
    if compared and pays_ties:
        for i in range(types):
            between = subtract(load(below[1], LANES * i), load(below[0], LANES * i))
            tie = add(between, load(payoffs.reach, LANES * twin(i, player, payoffs)))
            store_apart(payoffs.sums[2], column, i, types, tie, bound)


def write_free(
    column: int, i: int, player: int, total: Lanes, bound: Lanes, payoffs: SettledPayoffs
) -> Lanes:
    """Write ``free`` of a type in eight columns, and return it without the type's twin."""
    whole = without_cards(total, i, player, payoffs)
    free = add(whole, load(payoffs.reach, LANES * twin(i, player, payoffs)))
    store_apart(payoffs.sums[0], column, i, as_int64(payoffs.types[player]), free, bound)
    return whole


def twin(own: int, player: int, payoffs: SettledPayoffs) -> int:
    """Return the opponent's type with the cards of a type."""
    return as_int64(payoffs.twins[own if player == 0 else own + as_int64(payoffs.types[0])])


def sum_table(group: int, player: int, payoffs: SettledPayoffs, strategy: Vector) -> None:
    """Multiply the table of a group by the opponent's reach."""
    own, others = as_int64(payoffs.types[player]), as_int64(payoffs.types[1 - player])
    begin, table = as_int64(payoffs.groups[group, 3]), as_int64(payoffs.groups[group, 6])
    largest = 0.0
    for k in range(table, table + own * others):
        largest = max(largest, abs(payoffs.table[k]))
    for column in range(begin, as_int64(payoffs.groups[group + 1, 3]), LANES):
        read_reach(column, player, payoffs, strategy)
        for lane in range(LANES):
            total = 0.0
            for j in range(others):
                total += payoffs.reach[LANES * j + lane]
            payoffs.total[column - begin + lane] = largest * total
            for i in range(own):
                value = 0.0
                for j in range(others):
                    entry = payoffs.table[table + i * others + j]
                    value += entry * payoffs.reach[LANES * j + lane]
                value = 0.0 if abs(value) <= RESOLUTION * (largest * total) else value
                payoffs.sums[0, (column - begin + lane) * own + i] = value


def earn(segment: int, player: int, payoffs: SettledPayoffs, utility: Vector) -> None:
    """Add what each type earns at the terminals of a segment to the utility of its sequence."""
    first, step, places, priors, begin = payoffs.segments[segment]
    types, earned, sums, size = as_int64(payoffs.types[player]), payoffs.earned, payoffs.sums, 0.0
    for i in range(types):
        earned[i] = 0.0
    for terminal in range(as_int64(begin), as_int64(payoffs.segments[segment + 1, 4])):
        column = as_int64(payoffs.column_of_terminal[terminal])
        free, more, tie, sizes = payoffs.factors[terminal]
        size += sizes * payoffs.total[column]
        at = column * types
        # Without a condition in a loop, as in ``write_sums``
        if tie != 0.0:
            for i in range(types):
                paid = free * sums[0, at + i] + more * sums[1, at + i]
                earned[i] += paid + tie * sums[2, at + i]
        elif more != 0.0:
            for i in range(types):
                earned[i] += free * sums[0, at + i] + more * sums[1, at + i]
        else:
            for i in range(types):
                earned[i] += free * sums[0, at + i]
    for i in range(types):
        prior = payoffs.priors[as_int64(priors) + i]
        if prior > 0.0 and abs(earned[i]) > RESOLUTION * size:
            place = as_int64(payoffs.places[as_int64(places) + i])
            utility[as_int64(first) + as_int64(step) * place] += earned[i] * prior


# Eight numbers


def load(array: Vector, k: int) -> Lanes:
    """Return eight numbers that stand side by side."""
    return (
        array[k],
        array[k + 1],
        array[k + 2],
        array[k + 3],
        array[k + 4],
        array[k + 5],
        array[k + 6],
        array[k + 7],
    )


def store(array: Vector, k: int, x: Lanes) -> None:
    """Write eight numbers side by side."""
    array[k], array[k + 1], array[k + 2], array[k + 3] = x[0], x[1], x[2], x[3]
    array[k + 4], array[k + 5], array[k + 6], array[k + 7] = x[4], x[5], x[6], x[7]


def store_apart(array: Vector, column: int, i: int, types: int, x: Lanes, bound: Lanes) -> None:
    """Write the sums of one type, zero up to a bound, to eight columns."""
    k = column * types + i
    array[k] = cleaned(x[0], bound[0])
    array[k + types] = cleaned(x[1], bound[1])
    array[k + 2 * types] = cleaned(x[2], bound[2])
    array[k + 3 * types] = cleaned(x[3], bound[3])
    array[k + 4 * types] = cleaned(x[4], bound[4])
    array[k + 5 * types] = cleaned(x[5], bound[5])
    array[k + 6 * types] = cleaned(x[6], bound[6])
    array[k + 7 * types] = cleaned(x[7], bound[7])


def cleaned(x: float, bound: float) -> float:
    """Return zero for what is rounding."""
    return 0.0 if abs(x) <= bound else x


def add(x: Lanes, y: Lanes) -> Lanes:
    """Return the sums of eight pairs."""
    return (
        x[0] + y[0],
        x[1] + y[1],
        x[2] + y[2],
        x[3] + y[3],
        x[4] + y[4],
        x[5] + y[5],
        x[6] + y[6],
        x[7] + y[7],
    )


def subtract(x: Lanes, y: Lanes) -> Lanes:
    """Return the differences of eight pairs."""
    return (
        x[0] - y[0],
        x[1] - y[1],
        x[2] - y[2],
        x[3] - y[3],
        x[4] - y[4],
        x[5] - y[5],
        x[6] - y[6],
        x[7] - y[7],
    )


def scale(s: float, x: Lanes) -> Lanes:
    """Return eight products."""
    return (s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5], s * x[6], s * x[7])
