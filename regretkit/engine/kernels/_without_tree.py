"""Sampled iterations without a tree, as functions that are compiled.

Placeholders are a rule, what samples actions, and the rules of a game, which say what a history is
like and what comes after it. Histories are rows of whole numbers on a stack; information sets are
found by a hash of their numbers, and everything that is known of one lies together in memory.

All that an iteration has come to is in arrays. So it can be left between any two histories, to make
room or to look at the clock, and be continued by the next call.
"""

from typing import NamedTuple

import numpy as np

from regretkit._util._typing import Indices, UInt32Array, Vector, as_int64
from regretkit.engine.kernels._iteration import State, infoset_value, learn, propose
from regretkit.estimators.flat._flat_tree import InitialChance
from regretkit.estimators.flat._traversal import Decision, SamplingRule, deal, pick
from regretkit.games.tree._history import CHANCE, TERMINAL

DONE, FULL, PAUSED, UNKNOWN_STAGE, OTHER_ACTIONS, OTHER_PARENT, NO_ACTIONS = range(7)
"""Why a call returns."""

ITERATION, MOVER, SAMPLING, PENDING, VISITS, COUNT, USED, NAMED, VISITED, KEY, PLAYER = range(11)
"""Entries of ``cursor``: the iteration of this call, which of its players learns, whether its
sample is begun, histories on the stack, visited decision points, information sets, how much of
``store`` and of ``actions`` they take, histories visited; and the information set of an error."""

NOWHERE = -2
"""In place of a player's last sequence: at an information set where it has not learned."""

HEAD = 3
"""Numbers of a record before its strategy: how many actions it has, where in ``store`` the sum of
the player's last sequence is, -1 for the empty one, and how large that was at the last visit. The
strategy is followed by the sums of its sequences, and by the arrays of the rule."""

_PLAYER_BITS = 8


class Infosets(NamedTuple):
    """All information sets that were visited, in this order."""

    table: Indices
    """A hash table: in each slot the number of an information set, and where its record is."""
    store: Vector
    """Their records."""
    place: Indices
    """Where each record begins,"""
    key: Indices
    """the information set's number in the game,"""
    player: UInt32Array
    """and its player."""
    actions: UInt32Array
    """The numbers of the legal actions, one information set after the other."""
    initial: Vector
    """The record of a new information set, for each number of actions from 0 on."""
    longest: int
    """Numbers of the longest record,"""
    columns: int
    """and for each action of any."""


class Stack(NamedTuple):
    """Histories to visit, the next one last."""

    state: Indices
    """Rows: what the game's rules need, and where in ``store`` each player's last sequence is."""
    stage: Indices
    visit: Indices
    """The last visited decision point of the player who learns, -1 for none,"""
    action: Indices
    """and which of its actions was taken there."""
    scale: Vector
    """Factor of payoffs below."""
    reach: Vector
    """The player's own reach probability."""


class Visits(NamedTuple):
    """The decision points that learn, in the order in which they were visited."""

    place: Indices
    player: Indices
    parent: Indices
    """The one before, -1 for none,"""
    action: Indices
    """and the action there."""
    utility: Vector
    """As many for each as any information set has actions."""


class Scratch(NamedTuple):
    """Buffers of a single history."""

    moves: Indices
    chances: Vector
    probabilities: Vector
    sampled: UInt32Array
    sampling: Vector
    workspace: Vector


class Stages(NamedTuple):
    """Stages of the game, and where play begins."""

    codes: Indices
    nexts: Indices
    chance: InitialChance
    rows: Indices
    """The history after each outcome of the initial chance moves,"""
    stage: Indices
    """and its stage."""
    players: int


class LazyArrays(NamedTuple):
    """All that iterations without a tree read and write."""

    infosets: Infosets
    stack: Stack
    visits: Visits
    scratch: Scratch
    stages: Stages
    data: tuple[Vector, Vector]
    sampling_parameters: Vector
    weight: Vector
    """The sum of the weights of all iterations."""


def player_of(kind: int, state: Indices, at: int) -> int:
    """Return who acts; this and the following are those of ``RuleFunctions``."""
    raise NotImplementedError


def legal(kind: int, state: Indices, at: int, moves: Indices) -> int:
    """Write the legal actions, and return how many they are."""
    raise NotImplementedError


def key_of(kind: int, state: Indices, at: int) -> int:
    """Return the number of the information set."""
    raise NotImplementedError


def payoff(kind: int, state: Indices, at: int, player: int) -> float:
    """Return a player's payoff."""
    raise NotImplementedError


def chance_moves(kind: int, state: Indices, at: int, chances: Vector) -> None:
    """Write the probability of each action of chance."""
    raise NotImplementedError


def child(kind: int, state: Indices, at: int, action: int, to: int) -> int:
    """Write the history after an action; return which of the next stages it is at."""
    raise NotImplementedError


def choose(
    decision: Decision,
    behavior: Vector,
    actions: UInt32Array,
    probabilities: Vector,
    rule: SamplingRule,
) -> int:
    """Sample actions of the player who learns."""
    raise NotImplementedError


def arrays_of_rule(store: Vector, first: int, size: int, workspace: Vector) -> State:
    """Return the arrays of a rule at an information set, which begin at ``first``."""
    raise NotImplementedError


# Iterations


def iterate_lazily(
    simultaneous: bool,
    stop: int,
    turns: Indices,
    parameters: Vector,
    weights: Vector,
    arrays: LazyArrays,
    cursor: Indices,
    generator: np.random.Generator,
) -> int:
    """Play one iteration for each row of ``turns``, and return why no more is played.

    ``stop`` is the number of visited histories from which the call returns between any two. The
    other arguments are as in ``iterate_sampled``.
    """
    while cursor[ITERATION] < turns.shape[0]:
        t, mover = cursor[ITERATION], cursor[MOVER]
        if mover == 0 and cursor[SAMPLING] == 0:
            arrays.weight[0] += weights[t]
        row = min(t, parameters.shape[0] - 1)
        if mover == turns.shape[1] or turns[t, mover] < 0:
            update_visited(parameters[row], arrays, cursor)
            cursor[ITERATION], cursor[MOVER] = t + 1, 0
            continue
        player = turns[t, mover]
        if cursor[SAMPLING] == 0:
            begin_sample(arrays, cursor, generator)
        while cursor[PENDING] > 0:
            if cursor[VISITED] >= stop:
                return PAUSED
            status = visit_history(player, arrays, cursor, generator)
            if status != DONE:
                return status
        cursor[SAMPLING], cursor[MOVER] = 0, mover + 1
        if not simultaneous:
            update_visited(parameters[row], arrays, cursor)
    return DONE


def begin_sample(arrays: LazyArrays, cursor: Indices, generator: np.random.Generator) -> None:
    """Draw the initial chance moves."""
    stack, stages = arrays.stack, arrays.stages
    outcome, moves = deal(stages.chance, generator)
    for k in range(stages.rows.shape[1]):
        stack.state[k] = stages.rows[outcome, k]
    stack.stage[0], stack.visit[0], stack.action[0] = stages.stage[outcome], -1, 0
    stack.scale[0], stack.reach[0] = 1.0, 1.0
    cursor[PENDING], cursor[SAMPLING] = 1, 1
    cursor[VISITED] += moves


def visit_history(
    player: int, arrays: LazyArrays, cursor: Indices, generator: np.random.Generator
) -> int:
    """Visit the last history of the stack, and put those that follow in its place."""
    stack, stages, scratch = arrays.stack, arrays.stages, arrays.scratch
    top = cursor[PENDING] - 1
    begin, stage = top * stages.rows.shape[1], stack.stage[top]
    at = begin + stages.players
    if stage >= stages.codes.shape[0]:
        return UNKNOWN_STAGE
    actor = player_of(stages.codes[stage, 0], stack.state, at)
    if actor == player and is_full(arrays, cursor):
        return FULL
    cursor[VISITED] += 1
    if actor == TERMINAL:
        value = stack.scale[top] * payoff(stages.codes[stage, 3], stack.state, at, player)
        if stack.visit[top] >= 0:
            most = scratch.chances.size
            arrays.visits.utility[stack.visit[top] * most + stack.action[top]] = value
        cursor[PENDING] = top
        return DONE
    size = legal(stages.codes[stage, 1], stack.state, at, scratch.moves)
    if actor == CHANCE:
        chance_moves(stages.codes[stage, 4], stack.state, at, scratch.chances)
        for k in range(size):
            scratch.probabilities[k] = scratch.chances[scratch.moves[k]]
        follow(pick(generator, scratch.probabilities, 0, size), top, top, arrays)
        return DONE
    infosets, parent, place = arrays.infosets, int(stack.state[begin + actor]), NOWHERE
    if actor == player or parent != NOWHERE:  # where no player has learned, none has further on
        cursor[KEY], cursor[PLAYER] = key_of(stages.codes[stage, 2], stack.state, at), actor
        place = find(size, parent, actor == player, infosets, scratch.moves, cursor)
        if place < NOWHERE:
            return NOWHERE - place
    if actor == player:
        return decide(place, size, arrays, cursor, generator)
    if place == NOWHERE:
        drawn = pick(generator, infosets.initial, size * infosets.longest + HEAD, size)
        stack.state[begin + actor] = NOWHERE
    else:
        drawn = pick(generator, infosets.store, place + HEAD, size)
        stack.state[begin + actor] = place + HEAD + size + drawn
    follow(drawn, top, top, arrays)
    return DONE


def follow(k: int, top: int, to: int, arrays: LazyArrays) -> None:
    """Write the history after the k-th legal action of one on the stack, which may be itself."""
    stack, stages = arrays.stack, arrays.stages
    width, stage, players = stages.rows.shape[1], stack.stage[top], stages.players
    chosen = child(
        stages.codes[stage, 5],
        stack.state,
        top * width + players,
        arrays.scratch.moves[k],
        to * width + players,
    )
    stack.stage[to] = stages.nexts[stage, chosen]


def decide(
    place: int, size: int, arrays: LazyArrays, cursor: Indices, generator: np.random.Generator
) -> int:
    """Note a decision point of the player who learns, and follow actions that are sampled."""
    stack, visits, scratch, store = (
        arrays.stack,
        arrays.visits,
        arrays.scratch,
        arrays.infosets.store,
    )
    top, number, player = cursor[PENDING] - 1, cursor[VISITS], cursor[PLAYER]
    settle(place, size, store, arrays.weight)
    scale, reach = stack.scale[top], stack.reach[top]
    visits.place[number], visits.player[number] = place, player
    visits.parent[number], visits.action[number] = stack.visit[top], stack.action[top]
    for a in range(scratch.chances.size * number, scratch.chances.size * number + size):
        visits.utility[a] = 0.0
    cursor[VISITS] = number + 1
    decision = Decision(0, 0, place + HEAD, size, float(reach), 1.0 / size)
    rule = SamplingRule(arrays.data, arrays.sampling_parameters, generator)
    sampled = choose(decision, store, scratch.sampled, scratch.sampling, rule)
    width, players = arrays.stages.rows.shape[1], arrays.stages.players
    for k in range(sampled):  # the first on top, the last in place of this history
        a, to = as_int64(scratch.sampled[k]), top + sampled - 1 - k
        follow(a, top, to, arrays)
        for p in range(players):
            stack.state[to * width + p] = stack.state[top * width + p]
        stack.state[to * width + player] = place + HEAD + size + a
        stack.visit[to], stack.action[to] = number, a
        stack.scale[to] = scale / scratch.sampling[k]
        stack.reach[to] = reach * store[place + HEAD + a]
    cursor[PENDING] = top + sampled
    return DONE


def settle(place: int, size: int, store: Vector, weight: Vector) -> None:
    """Add what was played since the last visit, as ``settle_sums`` does."""
    parent = as_int64(store[place + 1])
    reached = store[parent] if parent >= 0 else weight[0]
    gained = reached - store[place + 2]
    if gained != 0.0:
        store[place + 2] = reached
        for a in range(place + HEAD, place + HEAD + size):
            store[a + size] += gained * store[a]


def update_visited(parameters: Vector, arrays: LazyArrays, cursor: Indices) -> None:
    """Propagate values over visited decision points, and update the rule at each."""
    visits, infosets, most = arrays.visits, arrays.infosets, arrays.scratch.chances.size
    for step in range(cursor[VISITS]):
        number = cursor[VISITS] - 1 - step
        place = visits.place[number]
        size, begin = int(infosets.store[place]), int(place + HEAD)
        utility = visits.utility[most * number : most * number + size]
        strategy = infosets.store[begin : begin + size]
        state = arrays_of_rule(infosets.store, begin + 2 * size, size, arrays.scratch.workspace)
        value = infoset_value(0, size, utility, strategy)
        if visits.parent[number] >= 0:
            visits.utility[most * visits.parent[number] + visits.action[number]] = value
        given = parameters[visits.player[number]]
        learn(0, 0, size, utility, value, strategy, state, given)
        propose(0, 0, size, strategy, state, given)
    cursor[VISITS] = 0


# Information sets


def is_full(arrays: LazyArrays, cursor: Indices) -> bool:
    """Return whether some array may be too small for one more visit."""
    infosets, most, count = arrays.infosets, arrays.scratch.chances.size, cursor[COUNT] + 1
    return bool(
        count > infosets.place.size
        or 4 * count > infosets.table.size
        or cursor[USED] + infosets.longest > infosets.store.size
        or cursor[NAMED] + most > infosets.actions.size
        or cursor[PENDING] + most > arrays.stack.stage.size
        or cursor[VISITS] >= arrays.visits.place.size
    )


def find(
    size: int, parent: int, creates: bool, infosets: Infosets, moves: Indices, cursor: Indices
) -> int:
    """Return where the record of an information set is, a new one if there is none.

    Without ``creates``, ``NOWHERE`` if there is none; less by the reason where it is an error.
    """
    table, store, key, player = infosets.table, infosets.store, cursor[KEY], cursor[PLAYER]
    last = table.size // 2 - 1
    slot = slot_of(key, player, last)
    while table[2 * slot + 1] != 0:
        entry = table[2 * slot + 1] - 1
        if table[2 * slot] == key and entry & ((1 << _PLAYER_BITS) - 1) == player:
            place = entry >> _PLAYER_BITS
            if store[place] != size:
                return NOWHERE - OTHER_ACTIONS
            return place if store[place + 1] == parent else NOWHERE - OTHER_PARENT
        slot = (slot + 1) & last
    if size == 0:
        return NOWHERE - NO_ACTIONS
    if not creates:
        return NOWHERE
    place, count = cursor[USED], cursor[COUNT]
    table[2 * slot], table[2 * slot + 1] = key, (place << _PLAYER_BITS) + player + 1
    infosets.place[count], infosets.key[count], infosets.player[count] = place, key, player
    length = HEAD + infosets.columns * size
    for k in range(length):
        store[place + k] = infosets.initial[size * infosets.longest + k]
    store[place + 1] = parent
    for k in range(size):
        infosets.actions[cursor[NAMED] + k] = moves[k]
    cursor[USED], cursor[COUNT], cursor[NAMED] = place + length, count + 1, cursor[NAMED] + size
    return int(place)


def slot_of(key: int, player: int, last: int) -> int:
    """Return where a search for an information set begins."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(player)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return as_int64(mixed & np.uint64(last))


def insert_all(count: int, infosets: Infosets) -> None:
    """Write all information sets into an empty table."""
    table, last = infosets.table, infosets.table.size // 2 - 1
    for k in range(count):
        key, player = infosets.key[k], as_int64(infosets.player[k])
        slot = slot_of(key, player, last)
        while table[2 * slot + 1] != 0:
            slot = (slot + 1) & last
        table[2 * slot] = key
        table[2 * slot + 1] = (infosets.place[k] << _PLAYER_BITS) + player + 1
