"""Compiled utilities, for each layout of payoffs.

Each sum has one order, so that Python and machine code are bitwise identical. Columns of a public
game are summed eight at a time. All eight numbers are read before any is written: a compiler then
sees independent operations and vectorizes them.
"""

import math
from typing import TypeAlias

from regretkit._util._arrays import RESOLUTION
from regretkit._util._typing import Vector, as_int64, span
from regretkit.engine._layout import (
    ChancePayoffs,
    DensePayoffs,
    Iterates,
    Payoffs,
    SlicedRows,
    SparsePayoffs,
    TerminalPayoffs,
    Trees,
)
from regretkit.engine._public_payoffs import LANES, PublicPayoffs


def compute_utility(player: int, payoffs: Payoffs, trees: Trees, iterates: Iterates) -> None:
    """Set a player's utility given all strategies; sums that cancel up to rounding become zero."""
    if isinstance(payoffs, SparsePayoffs):
        sparse_utility(player, payoffs, trees, iterates)
    elif isinstance(payoffs, TerminalPayoffs):
        terminal_utility(player, payoffs, trees, iterates)
    elif isinstance(payoffs, DensePayoffs):
        dense_utility(player, payoffs, trees, iterates)
    elif isinstance(payoffs, PublicPayoffs):
        public_utility(player, payoffs, trees, iterates)
    else:
        chance_utility(player, payoffs, trees, iterates)


def sparse_utility(player: int, payoffs: SparsePayoffs, trees: Trees, iterates: Iterates) -> None:
    """Set a player's utility to A x, with x the opponent's strategy."""
    strategy, utility, workspace = iterates.strategy, iterates.utility, payoffs.workspace
    rows, negligible = payoffs.rows, payoffs.negligible[player]
    # Sums of x that several rows share extend x beyond the sequences.
    for batch in span(payoffs.shared.offsets, player):
        multiply_batch(batch, False, payoffs.shared, strategy, workspace)
    sequences = utility.size
    for group in span(payoffs.sum_offsets, player):
        strategy[sequences + group] = workspace[group]
    for batch in span(rows.offsets, player):
        multiply_batch(batch, True, rows, strategy, workspace)
        zero_cancelled_rows(batch, negligible, rows, strategy, workspace)
    for a in span(trees.sequence_offsets, player):
        utility[a] = workspace[payoffs.row[a]]


def zero_cancelled_rows(
    batch: int, negligible: float, rows: SlicedRows, strategy: Vector, values: Vector
) -> None:
    """Set rows of a batch to zero if |sum| <= RESOLUTION * sum of |terms|.

    ``negligible`` bounds the rounding errors: larger sums need no second pass over their terms.
    """
    row, count = as_int64(rows.first[batch]), max(4 * as_int64(rows.slices[batch]), 1)
    least = math.inf
    for r in range(count):
        least = min(least, abs(values[row + r]) if values[row + r] != 0.0 else math.inf)
    if least <= negligible:
        for r in range(count):
            size = abs(values[row + r])
            if 0.0 < size <= negligible:
                magnitude = row_magnitude(r, batch, rows, strategy)
                values[row + r] = 0.0 if size <= RESOLUTION * magnitude else values[row + r]


def row_magnitude(r: int, batch: int, rows: SlicedRows, strategy: Vector) -> float:
    """Return the sum of |A[i, j] x[j]| in a row of a batch."""
    length, begin = as_int64(rows.length[batch]), as_int64(rows.begin[batch])
    stride = 4 if rows.slices[batch] > 0 else 1
    magnitude = 0.0
    for entry in range(length):
        k = begin + stride * (length * (r // stride) + entry) + r % stride
        magnitude += abs(rows.value[k] * strategy[rows.column[k]])
    return magnitude


def multiply_batch(
    batch: int, weighted: bool, rows: SlicedRows, strategy: Vector, values: Vector
) -> None:
    """Multiply each row of a batch by the strategy; without ``weighted``, entries are 1."""
    slices, length = as_int64(rows.slices[batch]), as_int64(rows.length[batch])
    if slices == 0:
        single, begin = 0.0, as_int64(rows.begin[batch])
        for k in range(begin, begin + length):
            single += term(k, weighted, rows, strategy)
        values[rows.first[batch]] = single
    # A constant length allows the compiler to unroll the loop. Most rows are this short.
    elif length == 1:
        multiply_slices(batch, 1, weighted, rows, strategy, values)
    elif length == 2:
        multiply_slices(batch, 2, weighted, rows, strategy, values)
    elif length == 3:
        multiply_slices(batch, 3, weighted, rows, strategy, values)
    elif length == 4:
        multiply_slices(batch, 4, weighted, rows, strategy, values)
    else:
        multiply_slices(batch, length, weighted, rows, strategy, values)


def multiply_slices(
    batch: int, length: int, weighted: bool, rows: SlicedRows, strategy: Vector, values: Vector
) -> None:
    """Multiply rows of one length, four at once: entries of four rows alternate in memory."""
    first, begin = as_int64(rows.first[batch]), as_int64(rows.begin[batch])
    for number in range(as_int64(rows.slices[batch])):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for entry in range(length):
            k = begin + 4 * (length * number + entry)
            a += term(k, weighted, rows, strategy)
            b += term(k + 1, weighted, rows, strategy)
            c += term(k + 2, weighted, rows, strategy)
            d += term(k + 3, weighted, rows, strategy)
        to = first + 4 * number
        values[to], values[to + 1], values[to + 2], values[to + 3] = a, b, c, d


def term(k: int, weighted: bool, rows: SlicedRows, strategy: Vector) -> float:
    """Return an entry of a row times the strategy."""
    played = float(strategy[rows.column[k]])
    return float(rows.value[k] * played) if weighted else played


def terminal_utility(
    player: int, payoffs: TerminalPayoffs, trees: Trees, iterates: Iterates
) -> None:
    """Set u[a] = sum over terminals z after a of payoff(z) times the opponents' reach of z."""
    strategy, utility = iterates.strategy, iterates.utility
    for a in span(trees.sequence_offsets, player):
        utility[a] = 0.0
    for number in span(payoffs.offsets, player):
        value, magnitude = 0.0, 0.0
        for k in span(payoffs.begin, number):
            reach = payoffs.payoff[k]  # includes the probability of chance
            for o in range(payoffs.others.shape[1]):
                reach *= strategy[payoffs.others[k, o]]
            value += reach
            magnitude += abs(reach)
        earned = 0.0 if abs(value) <= RESOLUTION * magnitude else value
        utility[payoffs.sequence[number]] = earned


def chance_utility(player: int, payoffs: ChancePayoffs, trees: Trees, iterates: Iterates) -> None:
    """Sample chance's actions, then set a player's utility from the terminals that follow them.

    As in NumPy, sums that cancel are not set to zero.
    """
    drawn = payoffs.drawn
    for a in span(trees.sequence_offsets, player):
        iterates.utility[a] = 0.0
    for history in range(drawn.size):
        drawn[history] = 0
        # Skip histories after chance actions that were not sampled.
        if drawn[payoffs.previous_history[history]] == payoffs.previous[history]:
            move = draw_move(history, payoffs)
            drawn[history] = move
            payoffs.visited[0] += as_int64(payoffs.behind[move])
            add_terminals(move, player, payoffs, iterates)


def draw_move(history: int, payoffs: ChancePayoffs) -> int:
    """Sample chance's action at a history; a single action needs no random number."""
    move = as_int64(payoffs.first[history])
    if as_int64(payoffs.first[history + 1]) - move > 1:
        number = payoffs.generator.random()
        while number >= payoffs.high[move]:
            move += 1
    return move


def add_terminals(move: int, player: int, payoffs: ChancePayoffs, iterates: Iterates) -> None:
    """Add the payoffs at terminals after a chance action, times the opponents' reach."""
    for k in span(payoffs.begin, move):
        value = payoffs.payoff[k, player]
        for opponent in range(payoffs.payoff.shape[1]):
            if opponent != player:
                value *= iterates.strategy[payoffs.sequences[k, opponent]]
        iterates.utility[payoffs.sequences[k, player]] += value


def dense_utility(player: int, payoffs: DensePayoffs, trees: Trees, iterates: Iterates) -> None:
    """Set a player's utility: its payoff tensor times each opponent's strategy, last axis first."""
    strategy, utility = iterates.strategy, iterates.utility
    sizes = payoffs.sizes
    entries = 1
    for size in sizes:
        entries *= as_int64(size)
    half = payoffs.workspace.size // 2
    table = payoffs.payoff[player * entries : (player + 1) * entries]
    buffer = 0  # results alternate between both halves of the workspace
    for step in range(sizes.size):
        opponent = sizes.size - 1 - step
        if opponent != player:
            size = as_int64(sizes[opponent])
            for action in range(size):
                payoffs.mixture[action] = strategy[action_of(opponent, action, payoffs)]
            entries //= size
            result = payoffs.workspace[buffer * half : buffer * half + entries]
            contract(table, payoffs.mixture[:size], result)
            table, buffer = result, 1 - buffer
    for a in span(trees.sequence_offsets, player):
        utility[a] = 0.0
    for action in range(as_int64(sizes[player])):
        value = table[action]
        if 0.0 < abs(value) <= payoffs.negligible[player]:
            magnitude = dense_magnitude(action, player, payoffs, strategy)
            value = 0.0 if abs(value) <= RESOLUTION * magnitude else value
        utility[action_of(player, action, payoffs)] = value


def action_of(player: int, action: int, payoffs: DensePayoffs) -> int:
    """Return the sequence of a player's action."""
    return as_int64(payoffs.first[player]) + as_int64(payoffs.stride[player]) * action


def dense_magnitude(action: int, player: int, payoffs: DensePayoffs, strategy: Vector) -> float:
    """Return the sum of the magnitudes of the terms in an action's utility."""
    sizes, players = payoffs.sizes, payoffs.sizes.size
    outcomes = 1
    for opponent in range(players):
        outcomes *= as_int64(sizes[opponent]) if opponent != player else 1
    begin = outcomes * (player * as_int64(sizes[player]) + action)
    magnitude = 0.0
    for outcome in range(outcomes):
        # The digits of `outcome` in mixed radix are the opponents' actions.
        term, digits = abs(payoffs.payoff[begin + outcome]), outcome
        for step in range(players):
            opponent = players - 1 - step
            size = as_int64(sizes[opponent])
            if opponent != player:
                term *= strategy[action_of(opponent, digits % size, payoffs)]
                digits //= size
        magnitude += term
    return magnitude


def contract(table: Vector, strategy: Vector, result: Vector) -> None:
    """Set result = table @ strategy.

    Eight partial sums per row, each of every eighth product, allow parallel instructions.
    """
    size = strategy.size
    for row in range(result.size):
        payoffs = table[row * size : (row + 1) * size]
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for eight in range(size // 8):
            k = 8 * eight
            a += payoffs[k] * strategy[k]
            b += payoffs[k + 1] * strategy[k + 1]
            c += payoffs[k + 2] * strategy[k + 2]
            d += payoffs[k + 3] * strategy[k + 3]
            e += payoffs[k + 4] * strategy[k + 4]
            f += payoffs[k + 5] * strategy[k + 5]
            g += payoffs[k + 6] * strategy[k + 6]
            h += payoffs[k + 7] * strategy[k + 7]
        # The order in which a vector of eight is halved: fixed, for bitwise identical results
        value = ((a + e) + (c + g)) + ((b + f) + (d + h))
        for k in range(size - size % 8, size):
            value += payoffs[k] * strategy[k]
        result[row] = value


Lanes: TypeAlias = tuple[float, float, float, float, float, float, float, float]

NONE: Lanes = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def public_utility(player: int, payoffs: PublicPayoffs, trees: Trees, iterates: Iterates) -> None:
    """Set a player's utility in a public game, type by type, against the opponent's reach.

    With r[t] the reach of the opponent's type t, a type s needs three sums over the types t that
    share no card with s: free = sum r[t], more = sum of sign(s - t) r[t], and tie = sum of r[t]
    over types t as strong as s. Each takes O(types), by inclusion and exclusion over cards.
    """
    for a in span(trees.sequence_offsets, player):
        iterates.utility[a] = 0.0
    for group in span(payoffs.group_offsets, player):
        if payoffs.groups.table[group] < payoffs.groups.table[group + 1]:
            sum_table(group, player, payoffs, iterates.strategy)
        else:
            sum_columns(group, player, payoffs, iterates.strategy)
        for segment in span(payoffs.groups.segments, group):
            add_utility(segment, player, payoffs, iterates.utility)


def sum_columns(group: int, player: int, payoffs: PublicPayoffs, strategy: Vector) -> None:
    """Compute ``free``, ``more`` and ``tie`` of each type, for all columns of a group."""
    columns = span(payoffs.groups.columns, group)
    begin, free = columns.start, as_int64(payoffs.groups.free[group])
    for column in range(begin, columns.stop, LANES):
        read_reach(column, player, payoffs, strategy)
        for k in range(payoffs.by_card.size):
            payoffs.by_card[k] = 0.0
        compared = column < free
        total = sweep(group, player, payoffs) if compared else add_up(group, player, payoffs)
        write_sums(column - begin, compared, payoffs.pays_ties[group], player, total, payoffs)


def read_reach(column: int, player: int, payoffs: PublicPayoffs, strategy: Vector) -> None:
    """Set the reach of the opponent's types in eight columns: strategy times prior."""
    columns, reach, types = payoffs.columns, payoffs.reach, as_int64(payoffs.types[1 - player])
    for lane in range(LANES):
        k = column + lane
        first, step = as_int64(columns.first[k]), as_int64(columns.step[k])
        places, priors = as_int64(columns.places[k]), as_int64(columns.priors[k])
        for j in range(types):
            sequence = first + step * as_int64(payoffs.places[places + j])
            reach[LANES * j + lane] = strategy[sequence] * payoffs.priors[priors + j]
    for lane in range(LANES):  # one more type of reach zero: the twin of a type without one
        reach[LANES * types + lane] = 0.0


def sweep(group: int, player: int, payoffs: PublicPayoffs) -> Lanes:
    """Sum the reach from the weakest type on, and return the total.

    For each own type s, store below[0] = sum of r[t] over t weaker than s, and below[1] = the sum
    over t at most as strong as s. Types that share a card with s are left out.
    """
    own, other, below = payoffs.own, payoffs.other, payoffs.below
    first, begin = as_int64(payoffs.groups.own[group]), as_int64(payoffs.groups.other[group])
    total, i, j = NONE, 0, 0
    for level in span(payoffs.groups.levels, group):
        own_end = as_int64(payoffs.own_level[level])
        other_end = as_int64(payoffs.other_level[level])
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


def add_up(group: int, player: int, payoffs: PublicPayoffs) -> Lanes:
    """Return the sum of the reach of all types."""
    total = NONE
    for k in span(payoffs.groups.other, group):
        total = add_type(as_int64(payoffs.other[k]), total, player, payoffs)
    return total


def add_type(other: int, total: Lanes, player: int, payoffs: PublicPayoffs) -> Lanes:
    """Add the reach of an opponent's type to the total and to the sums of its two cards."""
    place = other if player == 1 else other + as_int64(payoffs.types[0])
    reach = load(payoffs.reach, LANES * other)
    for k in range(2):
        card = LANES * as_int64(payoffs.added_cards[place, k])
        store(payoffs.by_card, card, add(load(payoffs.by_card, card), reach))
    return add(total, reach)


def without_cards(total: Lanes, own: int, player: int, payoffs: PublicPayoffs) -> Lanes:
    """Return total - by_card[c1] - by_card[c2], with c1 and c2 the cards of the player's type.

    This subtracts the twin, the opponent's type with the same two cards, twice.
    """
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
    payoffs: PublicPayoffs,
) -> None:
    """Write ``free`` of eight columns, and ``more`` and ``tie`` if types are compared.

    The loops have no condition. A compiler would turn one into masked stores, which are slow on
    memory that was never touched.
    """
    types, below, bound = as_int64(payoffs.types[player]), payoffs.below, scale(RESOLUTION, total)
    store(payoffs.total, column, total)
    if compared:
        for i in range(types):
            # more = weaker - stronger = below[0] + below[1] - whole: the twin cancels
            whole = write_free(column, i, player, total, bound, payoffs)
            pair = add(load(below[0], LANES * i), load(below[1], LANES * i))
            store_apart(payoffs.sums[1], column, i, types, subtract(pair, whole), bound)
    else:
        for i in range(types):
            write_free(column, i, player, total, bound, payoffs)
    if compared and pays_ties:
        for i in range(types):
            between = subtract(load(below[1], LANES * i), load(below[0], LANES * i))
            # The twin is as strong as the type: add back one of its two subtractions.
            tie = add(between, load(payoffs.reach, LANES * twin(i, player, payoffs)))
            store_apart(payoffs.sums[2], column, i, types, tie, bound)


def write_free(
    column: int, i: int, player: int, total: Lanes, bound: Lanes, payoffs: PublicPayoffs
) -> Lanes:
    """Write ``free`` of a type in eight columns, and return ``free`` less the reach of the twin."""
    # free = total - by_card[c1] - by_card[c2] + twin, as the twin was subtracted twice
    whole = without_cards(total, i, player, payoffs)
    free = add(whole, load(payoffs.reach, LANES * twin(i, player, payoffs)))
    store_apart(payoffs.sums[0], column, i, as_int64(payoffs.types[player]), free, bound)
    return whole


def twin(own: int, player: int, payoffs: PublicPayoffs) -> int:
    """Return the opponent's type with the same cards, or the type of reach zero."""
    return as_int64(payoffs.twins[own if player == 0 else own + as_int64(payoffs.types[0])])


def sum_table(group: int, player: int, payoffs: PublicPayoffs, strategy: Vector) -> None:
    """Set ``free`` to the payoff table of a group times the opponent's reach.

    |sum| <= RESOLUTION * max |table| * total reach counts as a rounding error.
    """
    own, opposing = as_int64(payoffs.types[player]), as_int64(payoffs.types[1 - player])
    columns, table = span(payoffs.groups.columns, group), as_int64(payoffs.groups.table[group])
    largest = 0.0
    for k in range(table, table + own * opposing):
        largest = max(largest, abs(payoffs.table[k]))
    for column in range(columns.start, columns.stop, LANES):
        read_reach(column, player, payoffs, strategy)
        for lane in range(LANES):
            total, k = 0.0, column - columns.start + lane
            for j in range(opposing):
                total += payoffs.reach[LANES * j + lane]
            payoffs.total[k] = largest * total
            for i in range(own):
                value = 0.0
                for j in range(opposing):
                    entry = payoffs.table[table + i * opposing + j]
                    value += entry * payoffs.reach[LANES * j + lane]
                value = 0.0 if abs(value) <= RESOLUTION * (largest * total) else value
                payoffs.sums[0, k * own + i] = value


def add_utility(segment: int, player: int, payoffs: PublicPayoffs, utility: Vector) -> None:
    """Add the payoffs at the terminals of a segment to the utility of each type's sequence.

    u[sequence of i] += prior[i] sum over terminals of (f free[i] + m more[i] + t tie[i]), with the
    factors f, m and t of each terminal.
    """
    segments = payoffs.segments
    first, step = as_int64(segments.first[segment]), as_int64(segments.step[segment])
    places, priors = as_int64(segments.places[segment]), as_int64(segments.priors[segment])
    types, earned, sums, size = as_int64(payoffs.types[player]), payoffs.earned, payoffs.sums, 0.0
    for i in range(types):
        earned[i] = 0.0
    for terminal in span(payoffs.segment_begin, segment):
        column = as_int64(payoffs.column_of_terminal[terminal])
        free, more, tie, sizes = payoffs.factors[terminal]
        size += sizes * payoffs.total[column]
        at = column * types
        # Loops without a condition, as in ``write_sums``
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
        prior = payoffs.priors[priors + i]
        if prior > 0.0 and abs(earned[i]) > RESOLUTION * size:
            sequence = first + step * as_int64(payoffs.places[places + i])
            utility[sequence] += earned[i] * prior


# Eight numbers


def load(array: Vector, k: int) -> Lanes:
    """Read eight contiguous numbers."""
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
    """Write eight contiguous numbers."""
    array[k], array[k + 1], array[k + 2], array[k + 3] = x[0], x[1], x[2], x[3]
    array[k + 4], array[k + 5], array[k + 6], array[k + 7] = x[4], x[5], x[6], x[7]


def store_apart(array: Vector, column: int, i: int, types: int, x: Lanes, bound: Lanes) -> None:
    """Write the sums of a type to eight columns; sums within the bound become zero."""
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
    """Return x, or zero if |x| <= bound."""
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
