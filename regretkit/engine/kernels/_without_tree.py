"""Compiled sampled iterations without a tree.

The rule, the sampling and the game's rules are functions, compiled into the iteration. Histories
are rows of integers on a stack. A hash table maps the key of an information set to its record, one
contiguous slice of ``store``.

Arrays hold the whole state of an iteration. So a call can return between any two histories, to
allocate memory or to check for interrupts, and the next call continues.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from regretkit._compiler import prefetch
from regretkit._util._typing import Indices, UInt32Array, Vector, as_int64
from regretkit.engine._batch_rules import RuleFunctions
from regretkit.engine.kernels._point import State, infoset_value, is_strategy
from regretkit.estimators._flat_tree import InitialChance
from regretkit.estimators._traversal import Choose, Decision, SamplingRule, as_if_even, deal, pick
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.play._infosets import HEAD, PARENT_BITS, PLAYER_MASK, SIZE, SIZE_BITS
from regretkit.trace._kernel import BlockFunction

WITHIN_BOUNDS = True
"""Indices are not negative, and slices lie within their array: the compiler adds no checks."""

DONE, FULL, PAUSED, UNKNOWN_STAGE, OTHER_ACTIONS, OTHER_PARENT, NO_ACTIONS, INVALID = range(8)
"""The status that a call returns."""

ITERATION, MOVER, SAMPLING, PENDING, VISITS, COUNT, USED, NAMED, VISITED = range(9)
KEY, PLAYER, LISTED, ENTRIES = range(9, 13)
"""Entries of ``cursor``, the state of a call:

``ITERATION``: the row of ``turns``. ``MOVER``: the column of ``turns``. ``SAMPLING``: 1 while a
sample is incomplete. ``PENDING``: histories on the stack. ``VISITS``: visited decision points.
``COUNT``: information sets. ``USED``, ``NAMED``: used entries of ``store`` and of ``actions``.
``VISITED``: visited histories. ``KEY``, ``PLAYER``: the information set of an error. ``LISTED``:
information sets in the hash table. ``ENTRIES``: the length of ``cursor``."""

LATER = -3
"""The actor of a history, before its stage is traced; the place of a record, before its search."""

NOWHERE = -2
"""The place of an information set without a record."""

SLOT_BITS, LAST_BIT = PARENT_BITS - SIZE_BITS, 62


class InfosetArrays(NamedTuple):
    """All visited information sets, in the order of their first visits."""

    table: Indices
    """Hash table of slots with two numbers: the key of an information set, and
    ``(place + 1 << SLOT_BITS) + player``, or 0 in an empty slot."""
    store: Vector
    """The records, each ``HEAD`` numbers and then the arrays by action."""
    heads: Indices
    """The memory of ``store`` as integers. A record's head has its kind, its key, a bit mask of the
    actions with later information sets, and as a float the sum at its parent sequence."""
    place: Indices
    """The beginning of each record in ``store``."""
    actions: UInt32Array
    """The legal actions of all information sets, concatenated."""
    known: Indices
    """The observations of all information sets, concatenated."""
    initial: Vector
    """The initial record, for each number of actions from 0 on."""
    initial_sums: Vector
    """The cumulative sums of the initial strategy, for each number of actions from 0 on."""
    longest: int
    """Length of the longest record."""
    columns: int
    """Numbers per action in a record."""
    observations: int
    """Number of observations of an information set."""


class Stack(NamedTuple):
    """Histories to visit, the next one last. Row 0 is a copy of the current history."""

    state: Indices
    """Rows: the place in ``store`` of each player's last sequence, then the state of the rules."""
    stage: Indices
    actor: Indices
    key: Indices
    """The key of the information set, if it may have a record."""
    place: Indices
    """The place of an opponent's record: ``LATER`` before the search, ``NOWHERE`` without one."""
    visit: Indices
    """The updated player's last visited decision point, -1 before its first."""
    action: Indices
    """The action at ``visit``."""
    scale: Vector
    """The factor of later payoffs: 1 / probability of the updated player's samples."""
    reach: Vector
    """The updated player's own reach probability."""


class Visits(NamedTuple):
    """Visited decision points to update, in the order of visits."""

    place: Indices
    """The place of the record."""
    kind: Indices
    """The expected kind of the record: parent sequence, player and number of actions."""
    parent: Indices
    """The previous decision point of the player, -1 for the first."""
    action: Indices
    """The action at ``parent``."""
    utility: Vector
    """Utilities of actions, shape ``(visits * maximum,)`` with the largest number of actions."""


class Buffers(NamedTuple):
    """Buffers of the current history. ``dealt`` is that of the current sample."""

    dealt: Indices
    moves: Indices
    known: Indices
    chances: Vector
    probabilities: Vector
    sampled: UInt32Array
    """Positions of the sampled actions; without adaptive sampling, 0, 1, 2 and so on."""
    sampling: Vector
    workspace: Vector


class Stages(NamedTuple):
    """Stages of the game, and histories after the initial chance actions."""

    codes: Indices
    """Function numbers of each stage, as in ``TracedRules.codes``."""
    nexts: Indices
    """Stages that may follow each stage, as in ``TracedRules.nexts``."""
    chance: InitialChance
    """The distribution of the outcomes of the initial chance actions."""
    rows: Indices
    """The row of the history after each outcome."""
    stage: Indices
    """The stage after each outcome."""
    dealt: Indices
    """Numbers of the rules that depend on the outcome alone."""
    players: int


class SampleArrays(NamedTuple):
    """All that iterations without a tree read and write."""

    infosets: InfosetArrays
    stack: Stack
    visits: Visits
    buffers: Buffers
    stages: Stages
    data: tuple[Vector, Vector]
    sampling_parameters: Vector
    weight: Vector
    """The sum of the weights of all iterations."""


class Functions(NamedTuple):
    """The functions of a game, a rule and a sampling, compiled into the iterations."""

    rules: RuleFunctions
    choose: Choose
    """Samples actions of the updated player."""
    arrays_of_rule: Callable[..., State]
    """Returns the arrays of a rule: ``arrays_of_rule(store, first, size, workspace)``."""
    propose: BlockFunction
    """The rule's ``Kernel.propose``."""
    learn: BlockFunction
    """The rule's ``Kernel.learn``."""
    width: int
    """Length of a row of ``Stack.state``."""
    is_adaptive: bool
    """Whether ``choose`` depends on the strategy."""


# Iterations


def sampled_play(functions: Functions) -> Callable[..., int]:
    """Return ``iterate`` for these functions."""

    def play(
        simultaneous: bool,
        stop: int,
        turns: Indices,
        parameters: Vector,
        weights: Vector,
        arrays: SampleArrays,
        cursor: Indices,
        generator: np.random.Generator,
    ) -> int:
        given = Play(functions, arrays, cursor, generator)
        return iterate(simultaneous, stop, turns, parameters, weights, given)

    return play


class Play(NamedTuple):
    """Arguments that all functions share."""

    functions: Functions
    arrays: SampleArrays
    cursor: Indices
    generator: np.random.Generator


def iterate(
    simultaneous: bool, stop: int, turns: Indices, parameters: Vector, weights: Vector, play: Play
) -> int:
    """Play one iteration for each row of ``turns``, and return a status.

    The call returns ``PAUSED`` after ``stop`` visited histories. The other arguments are those of
    ``iterate_sampled``.
    """
    arrays, cursor = play.arrays, play.cursor
    list_all(arrays.infosets, cursor)  # add records made in Python; their keys are distinct
    while cursor[ITERATION] < turns.shape[0]:
        t, mover = cursor[ITERATION], cursor[MOVER]
        if mover == 0 and cursor[SAMPLING] == 0:
            arrays.weight[0] += weights[t]
        row = min(t, parameters.shape[0] - 1)
        if mover == turns.shape[1] or turns[t, mover] < 0:
            status = update_visited(parameters[row], play)
            if status != DONE:
                return status
            cursor[ITERATION], cursor[MOVER] = t + 1, 0
            continue
        player = turns[t, mover]
        if cursor[SAMPLING] == 0:
            begin_sample(play)
        while cursor[PENDING] > 0:
            if cursor[VISITED] >= stop:
                return PAUSED
            status = visit_history(player, play)
            if status != DONE:
                return status
        status = list_all(arrays.infosets, cursor)
        if status != DONE:
            return status
        cursor[SAMPLING], cursor[MOVER] = 0, mover + 1
        if not simultaneous:
            status = update_visited(parameters[row], play)
            if status != DONE:
                return status
    return DONE


def begin_sample(play: Play) -> None:
    """Sample the initial chance actions, and put the history after them on the stack."""
    functions, arrays, cursor, generator = play.functions, play.arrays, play.cursor, play.generator
    stack, stages = arrays.stack, arrays.stages
    outcome, moves = deal(stages.chance, generator, as_if_even)
    width = functions.width
    for k in range(width):
        stack.state[width + k] = stages.rows[outcome, k]
    for k in range(stages.dealt.shape[1]):
        arrays.buffers.dealt[k] = stages.dealt[outcome, k]
    stack.stage[1], stack.actor[1] = stages.stage[outcome], LATER
    stack.visit[1], stack.action[1], stack.scale[1], stack.reach[1] = -1, 0, 1.0, 1.0
    cursor[PENDING], cursor[SAMPLING] = 1, 1
    cursor[VISITED] += moves


def visit_history(player: int, play: Play) -> int:
    """Replace the last history of the stack by its sampled successors; return a status."""
    functions, arrays, cursor, generator = play.functions, play.arrays, play.cursor, play.generator
    stack, stages, buffers = arrays.stack, arrays.stages, arrays.buffers
    top, width, place, size = cursor[PENDING], functions.width, NOWHERE, 0
    stage, actor, at = stack.stage[top], stack.actor[top], stages.players
    if stage >= stages.codes.shape[0]:
        return UNKNOWN_STAGE
    if actor == player and is_full(arrays, cursor):
        return FULL
    for k in range(width):
        stack.state[k] = stack.state[top * width + k]
    buffers.sampled[0], buffers.sampling[0] = 0, 1.0
    if actor != LATER:
        cursor[VISITED] += 1
        size = functions.rules.legal(
            stages.codes[stage, 1], stack.state, at, buffers.dealt, buffers.moves
        )
    if actor == CHANCE:
        functions.rules.chance(
            stages.codes[stage, 4], stack.state, at, buffers.dealt, buffers.chances
        )
        for k in range(size):
            buffers.probabilities[k] = buffers.chances[buffers.moves[k]]
        buffers.sampled[0] = pick(generator, buffers.probabilities, 0, size)
    elif actor >= 0 and size == 0:
        code = stages.codes[stage, 2]
        cursor[KEY] = functions.rules.key(code, stack.state, at, buffers.dealt, buffers.known)
        cursor[PLAYER] = actor
        return NO_ACTIONS
    elif actor == player:
        return visit_own(size, player, play)
    elif actor >= 0:
        place = draw(size, play)
        if place < NOWHERE:
            return NOWHERE - place
    follow(1, place, size, player, play)
    return DONE


def visit_own(size: int, player: int, play: Play) -> int:
    """Visit a decision point of the updated player, as ``visit_history`` does.

    Unless sampling needs the strategy, successors are put on the stack before the search for the
    record: ``arrive`` has prefetched its slot, and the work hides the latency of memory.
    """
    functions, arrays, cursor, generator = play.functions, play.arrays, play.cursor, play.generator
    stack, visits, top, number = arrays.stack, arrays.visits, cursor[PENDING], cursor[VISITS]
    width, maximum, place = functions.width, arrays.buffers.chances.size, NOWHERE
    key, visit, action = int(stack.key[top]), int(stack.visit[top]), int(stack.action[top])
    kind = (sequence_of(int(stack.state[player]), player) << SIZE_BITS) + size
    stage = int(stack.stage[top])
    visits.kind[number], visits.parent[number], visits.action[number] = kind, visit, action
    cursor[VISITS] = number + 1
    sampled, buffers, store = size, arrays.buffers, arrays.infosets.store
    if functions.is_adaptive:  # otherwise ``buffers.sampled`` already lists all actions
        for a in range(maximum * number, maximum * number + size):
            visits.utility[a] = 0.0
        place = find_own(key, kind, visit, action, stage, play)
        if place < 0:
            return NOWHERE - place
        decision = Decision(0, 0, place + HEAD, size, float(stack.reach[top]), 1.0 / size)
        rule = SamplingRule(arrays.data, arrays.sampling_parameters, generator)
        sampled = functions.choose(decision, store, buffers.sampled, buffers.sampling, rule)
    follow(sampled, place, size, player, play)
    if not functions.is_adaptive:
        place = find_own(key, kind, visit, action, stage, play)
        if place < 0:
            return NOWHERE - place
    for k in range(top, cursor[PENDING] + 1):
        stack.state[k * width + player] = place + HEAD + size + stack.action[k]
    visits.place[number] = place
    return DONE


def draw(size: int, play: Play) -> int:
    """Sample an opponent's action; return the place of its record, as ``find_own`` does.

    Without a record, the opponent plays the rule's initial strategy.
    """
    arrays, cursor, generator = play.arrays, play.cursor, play.generator
    stack, infosets, top = arrays.stack, arrays.infosets, cursor[PENDING]
    sampled, actor = arrays.buffers.sampled, int(stack.actor[top])
    if stack.place[top] == LATER:
        locate_all(stack, infosets, top)
    place = int(stack.place[top])
    if place == NOWHERE:
        maximum = arrays.buffers.chances.size
        sums = infosets.initial_sums[maximum * size : maximum * size + size]
        first = InitialChance(np.uint32(0), np.uint32(0), sums)
        sampled[0], _ = deal(first, generator, as_if_even)
        return NOWHERE
    kind = (sequence_of(int(stack.state[actor]), actor) << SIZE_BITS) + size
    if infosets.heads[place] != kind:
        return NOWHERE - difference(place, kind, infosets, cursor)
    sampled[0] = pick(generator, infosets.store, place + HEAD, size)
    return place


def follow(sampled: int, place: int, size: int, player: int, play: Play) -> None:
    """Put the histories after sampled actions on the stack, the first on top."""
    functions, arrays, cursor = play.functions, play.arrays, play.cursor
    stack, stages, buffers, infosets = arrays.stack, arrays.stages, arrays.buffers, arrays.infosets
    top, width, players = cursor[PENDING], functions.width, stages.players
    stage, actor = stack.stage[top], stack.actor[top]
    visit, action = stack.visit[top], stack.action[top]
    scale, reach = stack.scale[top], stack.reach[top]
    cursor[PENDING] = top - 1
    for step in range(sampled):
        k = sampled - 1 - step
        a, to = as_int64(buffers.sampled[k]), (cursor[PENDING] + 1) * width
        own, following = reach, stage
        for p in range(width):
            stack.state[to + p] = stack.state[p]
        if actor != LATER:
            kind, move = stages.codes[stage, 5], buffers.moves[a]
            chosen = functions.rules.child(
                kind, stack.state, players, buffers.dealt, move, to + players
            )
            following = stages.nexts[stage, chosen]
        if actor == player:
            visit, action = cursor[VISITS] - 1, a
            if functions.is_adaptive:
                own = reach * infosets.store[place + HEAD + a]
        elif actor >= 0:
            known = place != NOWHERE and leads(place, a, infosets)
            stack.state[to + actor] = place + HEAD + size + a if known else NOWHERE
        to = cursor[PENDING] + 1
        stack.stage[to], stack.visit[to], stack.action[to] = following, visit, action
        stack.scale[to], stack.reach[to] = scale, own
        if functions.is_adaptive:
            # Importance sampling: payoffs are divided by the probability of the sample.
            stack.scale[to] = scale / buffers.sampling[k]
        arrive(to, player, play)


def arrive(top: int, player: int, play: Play) -> None:
    """Put a history on the stack and prefetch its slot, or add the payoff of a terminal."""
    functions, arrays, cursor = play.functions, play.arrays, play.cursor
    stack, stages, visits, infosets = arrays.stack, arrays.stages, arrays.visits, arrays.infosets
    at, dealt = top * functions.width + stages.players, arrays.buffers.dealt
    stage, visit = stack.stage[top], stack.visit[top]
    if stage >= stages.codes.shape[0]:
        stack.actor[top], cursor[PENDING] = LATER, top
        return
    actor = functions.rules.player(stages.codes[stage, 0], stack.state, at, dealt)
    if actor == TERMINAL:
        cursor[VISITED] += 1
        if visit >= 0:
            paid = functions.rules.payoff(stages.codes[stage, 3], stack.state, at, dealt, player)
            entry = visit * arrays.buffers.chances.size + stack.action[top]
            visits.utility[entry] = stack.scale[top] * paid
        return
    stack.actor[top], cursor[PENDING] = actor, top
    if actor < 0:
        return
    listed = stack.state[at - stages.players + actor] != NOWHERE
    # An information set has a record only if its parent sequence has one.
    stack.place[top] = LATER if listed else NOWHERE
    if actor == player or listed:  # the updated player's new records need the slot, too
        code, known = stages.codes[stage, 2], arrays.buffers.known
        stack.key[top] = functions.rules.key(code, stack.state, at, dealt, known)
        prefetch(infosets.table, first_slot(int(stack.key[top]), actor, infosets))


def settle(place: int, size: int, infosets: InfosetArrays, weight: Vector) -> None:
    """Bring a record's weighted sums up to date: S[a] += b[a] (S[p] - S[p at the last visit])."""
    store = infosets.store
    parent = (infosets.heads[place] >> PARENT_BITS) - 1
    reached = store[parent] if parent >= 0 else weight[0]
    gained = reached - store[place + 3]
    if gained != 0.0:
        store[place + 3] = reached
        for a in range(place + HEAD, place + HEAD + size):
            store[a + size] += gained * store[a]


def update_visited(parameters: Vector, play: Play) -> int:
    """Propagate values over visited decision points and update the rule at each; return a status.

    The sums are brought up to date first, from the root to the leaves, with the previous b.
    """
    functions, arrays, cursor = play.functions, play.arrays, play.cursor
    visits, infosets, maximum = arrays.visits, arrays.infosets, arrays.buffers.chances.size
    for number in range(cursor[VISITS]):
        place, kind = int(visits.place[number]), int(visits.kind[number])
        if infosets.heads[place] != kind:
            return difference(place, kind, infosets, cursor)
        settle(place, kind & SIZE, infosets, arrays.weight)
    for step in range(cursor[VISITS]):
        number = cursor[VISITS] - 1 - step
        place, kind = int(visits.place[number]), int(visits.kind[number])
        begin, size, player = place + HEAD, kind & SIZE, kind >> SIZE_BITS & PLAYER_MASK
        utility = visits.utility[maximum * number : maximum * number + size]
        strategy = infosets.store[begin : begin + size]
        state = functions.arrays_of_rule(
            infosets.store, begin + 2 * size, size, arrays.buffers.workspace
        )
        value = infoset_value(0, size, utility, strategy)
        if visits.parent[number] >= 0:
            visits.utility[maximum * visits.parent[number] + visits.action[number]] = value
        functions.learn(0, 0, size, utility, value, strategy, state, parameters[player])
        functions.propose(0, 0, size, strategy, state, parameters[player])
        if not is_strategy(size, strategy):
            cursor[KEY], cursor[PLAYER] = infosets.heads[place + 1], player
            return INVALID
    cursor[VISITS] = 0
    return DONE


def views(arrays: tuple[tuple[bool, int], ...]) -> Callable[..., tuple[Vector, ...]]:
    """Return a function that returns a rule's arrays as views of a record or of the workspace.

    ``arrays`` gives for each array whether it is in the record, and its position there.
    """

    def views_of(store: Vector, first: int, size: int, workspace: Vector) -> tuple[Vector, ...]:
        return tuple(
            store[first + k * size : first + (k + 1) * size]
            if kept
            else workspace[k * size : (k + 1) * size]
            for kept, k in arrays
        )

    return views_of


# Information sets


def is_full(arrays: SampleArrays, cursor: Indices) -> bool:
    """Return whether any array may be too small for one more visit."""
    infosets, maximum, count = arrays.infosets, arrays.buffers.chances.size, cursor[COUNT] + 1
    return bool(
        count > infosets.place.size
        or 4 * count > infosets.table.size  # two numbers a slot: at most half of the slots
        or cursor[USED] + infosets.longest > infosets.store.size
        or cursor[NAMED] + maximum > infosets.actions.size
        or count * infosets.observations > infosets.known.size
        or cursor[PENDING] + maximum >= arrays.stack.stage.size
        or cursor[VISITS] >= arrays.visits.place.size
    )


def find_own(key: int, kind: int, visit: int, action: int, stage: int, play: Play) -> int:
    """Return the place of the updated player's record at the current history; create it if needed.

    ``visit`` and ``action`` are the player's previous decision point and its action there. An error
    returns ``NOWHERE - status``.
    """
    functions, arrays, cursor = play.functions, play.arrays, play.cursor
    infosets, before = arrays.infosets, int(arrays.visits.place[max(visit, 0)])
    if visit < 0 or leads(before, action, infosets):
        status = list_all(infosets, cursor)
        if status != DONE:
            return NOWHERE - status
        place = place_at(find(key, kind >> SIZE_BITS & PLAYER_MASK, infosets), infosets)
        if place != NOWHERE:
            prefetch(infosets.heads, place)
            return place
    if visit >= 0:
        lead(before, action, infosets)
    stages, buffers = arrays.stages, arrays.buffers
    code = stages.codes[stage, 2]
    functions.rules.key(code, arrays.stack.state, stages.players, buffers.dealt, buffers.known)
    return create(key, kind, infosets, buffers.moves, buffers.known, cursor)


def leads(place: int, action: int, infosets: InfosetArrays) -> bool:
    """Return whether the player may have records after an action."""
    return bool(infosets.heads[place + 2] >> min(action, LAST_BIT) & 1)


def lead(place: int, action: int, infosets: InfosetArrays) -> None:
    """Set the bit of an action: the player has a record after it."""
    infosets.heads[place + 2] |= 1 << min(action, LAST_BIT)


def locate_all(stack: Stack, infosets: InfosetArrays, top: int) -> None:
    """Find the records of the last history of the stack and of its siblings.

    One pass over all of them overlaps the waits for memory.
    """
    k = top
    while k > 0 and stack.visit[k] == stack.visit[top]:
        if stack.actor[k] >= 0 and stack.place[k] == LATER:
            slot = find(int(stack.key[k]), int(stack.actor[k]), infosets)
            stack.place[k] = place_at(slot, infosets)
            prefetch(infosets.heads, max(stack.place[k], 0))
        k -= 1


def find(key: int, player: int, infosets: InfosetArrays) -> int:
    """Return the slot of an information set, or the empty slot for it, by linear probing."""
    table, slot = infosets.table, first_slot(key, player, infosets)
    while table[slot + 1] != 0 and not (
        table[slot] == key and table[slot + 1] & PLAYER_MASK == player
    ):
        slot = slot + 2 & table.size - 1  # the size is a power of two
    return slot


def place_at(slot: int, infosets: InfosetArrays) -> int:
    """Return the place of a slot's record, or ``NOWHERE`` for an empty slot."""
    found = infosets.table[slot + 1]
    return int((found >> SLOT_BITS) - 1) if found != 0 else NOWHERE


def difference(place: int, kind: int, infosets: InfosetArrays, cursor: Indices) -> int:
    """Return the status for a record that is not of this kind, and store its key and player."""
    cursor[KEY], cursor[PLAYER] = infosets.heads[place + 1], kind >> SIZE_BITS & PLAYER_MASK
    return OTHER_ACTIONS if (infosets.heads[place] ^ kind) & SIZE else OTHER_PARENT


def create(
    key: int, kind: int, infosets: InfosetArrays, moves: Indices, known: Indices, cursor: Indices
) -> int:
    """Create the record of an information set, not yet in the table; return its place."""
    place, count, size, store = cursor[USED], cursor[COUNT], kind & SIZE, infosets.store
    length = HEAD + infosets.columns * size
    for k in range(HEAD, length):
        store[place + k] = infosets.initial[size * infosets.longest + k]
    infosets.heads[place], infosets.heads[place + 1] = kind, key
    infosets.heads[place + 2], store[place + 3], infosets.place[count] = 0, 0.0, place
    for k in range(size):
        infosets.actions[cursor[NAMED] + k] = moves[k]
    for k in range(infosets.observations):
        infosets.known[count * infosets.observations + k] = known[k]
    cursor[USED], cursor[COUNT], cursor[NAMED] = place + length, count + 1, cursor[NAMED] + size
    return int(place)


def list_all(infosets: InfosetArrays, cursor: Indices) -> int:
    """Add all new information sets to the table; return a status."""
    table, heads = infosets.table, infosets.heads
    while cursor[LISTED] < cursor[COUNT]:
        place = infosets.place[cursor[LISTED]]
        key, kind = int(heads[place + 1]), int(heads[place])
        player = kind >> SIZE_BITS & PLAYER_MASK
        slot = find(key, player, infosets)
        if table[slot + 1] != 0:
            return difference(place_at(slot, infosets), kind, infosets, cursor)
        table[slot], table[slot + 1] = key, ((place + 1) << SLOT_BITS) + player
        cursor[LISTED] += 1
    return DONE


def sequence_of(last: int, player: int) -> int:
    """Return the upper bits of a record's kind: the last sequence plus one, then the player."""
    return (last + 1 << PARENT_BITS - SIZE_BITS) + player


def first_slot(key: int, player: int, infosets: InfosetArrays) -> int:
    """Return the first slot of a search: the hash as a fraction of the table's size."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(player)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    # floor(hash / 2^32 * slots): slots have the same order in tables of all sizes, so that
    # ``copy_table`` writes to memory in order.
    slots = np.uint64(infosets.table.size >> 1)
    return as_int64((mixed >> np.uint64(32)) * slots >> np.uint64(32)) << 1


def copy_table(table: Indices, infosets: InfosetArrays) -> None:
    """Copy the slots of a smaller table to that of ``infosets``."""
    for slot in range(0, table.size, 2):
        if table[slot + 1] != 0:
            to = find(int(table[slot]), int(table[slot + 1]) & PLAYER_MASK, infosets)
            infosets.table[to], infosets.table[to + 1] = table[slot], table[slot + 1]
