"""Self-play without a tree in machine code, of games that are given as rules over columns."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
from attrs import define

from regretkit._compiler import CannotCompileError
from regretkit._machine_code import MachineCode, false, true
from regretkit._state import Stateful
from regretkit._util._arrays import expand_ranges
from regretkit._util._errors import warn_once
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.engine._batch_rules import TracedRules
from regretkit.engine.kernels import _point
from regretkit.engine.kernels import _without_tree as kernels
from regretkit.engine.kernels._without_tree import HEAD, Infosets, LazyArrays
from regretkit.estimators._flat_tree import InitialChance
from regretkit.estimators._mccfr import NONE
from regretkit.estimators._traversal import even_search_start, follow_all, search_start
from regretkit.games._adapters import RulesHistory
from regretkit.games.tree._build import mixed
from regretkit.play._engines import CannotStartError, Executor
from regretkit.play._infoset_records import KernelRecord, invalid_strategy
from regretkit.play._infoset_table import InfosetTable
from regretkit.play._lazy_tree import imperfect_recall, no_actions
from regretkit.trace import Kernel, UntraceableError

_FEW, _ROOM = 2**10, 2**24
"""Information sets, and their numbers, for which there is room at first; memory that is never
touched costs nothing."""

_GATHERED = 2**14
"""Information sets whose numbers are copied at once."""

_PAUSE = 1_000_000
"""Histories between two looks at the clock and at interrupts."""


@define(eq=False)
class FlatInfosets:
    """All information sets that were visited, in arrays that grow."""

    arrays: Infosets
    cursor: Indices

    def count(self, player: int) -> int:
        """Return how many a player has."""
        return self._of(player)[0].size

    def _of(self, player: int) -> tuple[Indices, Indices, Indices]:
        """Return the numbers of a player's information sets, all places, and the kinds there."""
        places = self.arrays.place[: self.cursor[kernels.COUNT]]
        kinds = self.arrays.heads[places]
        players = kinds >> kernels.SIZE_BITS & kernels.PLAYER_MASK
        return np.flatnonzero(players == player), places, kinds

    def observed(self, numbers: Indices | slice) -> Indices:
        """Return the observations of information sets, a row each."""
        count, width = int(self.cursor[kernels.COUNT]), self.arrays.observations
        known: Indices = self.arrays.known[: count * width].reshape(count, width)[numbers]
        return known

    def table(self, player: int) -> InfosetTable:
        """Return a player's information sets."""
        numbers, places, kinds = self._of(player)
        sizes, places, infosets = kinds & kernels.SIZE, places[numbers], self.arrays
        named, sizes = (np.cumsum(sizes) - sizes)[numbers], sizes[numbers]
        sequence = (kinds[numbers] >> kernels.PARENT_BITS) - 1
        parent = np.searchsorted(places, sequence, side="right") - 1
        action = sequence - places[parent] - HEAD - sizes[parent]
        strategy, arrays = places + HEAD, infosets.columns - 2
        return InfosetTable(
            keys=self.observed(numbers),
            actions=_gathered(infosets.actions, named, sizes).astype(np.int64),
            sizes=sizes,
            parent=parent,
            parent_action=np.where(parent < 0, 0, action),
            reach=infosets.store[places + 3],
            total=_gathered(infosets.store, strategy + sizes, sizes),
            strategy=_gathered(infosets.store, strategy, sizes),
            state=_gathered(infosets.store, strategy + 2 * sizes, arrays * sizes),
            discounts=np.empty(0),
            minimizers=[],
        )

    def add(self, player: int, table: InfosetTable, arrays: LazyArrays) -> LazyArrays:
        """Add a player's information sets; iterations write them into the hash table."""
        cursor, sizes, columns = self.cursor, table.sizes, self.arrays.columns
        known = np.asarray(table.keys, np.int64).reshape(sizes.size, self.arrays.observations)
        keys, actions = mixed(known.T) if known.size else 0, np.asarray(table.actions)
        lengths, count, named = HEAD + columns * sizes, sizes.size, actions.size
        arrays = self.grow(arrays, count, int(lengths.sum()), named)
        places, infosets = cursor[kernels.USED] + np.cumsum(lengths) - lengths, self.arrays
        store, heads, following = infosets.store, infosets.heads, table.parent >= 0
        previous, action = table.parent[following], table.parent_action[following]
        heads[places] = (player << kernels.SIZE_BITS) + sizes
        sequence = places[previous] + HEAD + sizes[previous] + action
        heads[places[following]] += (sequence + 1) << kernels.PARENT_BITS
        heads[places + 1], heads[places + 2], store[places + 3] = keys, 0, table.reach
        np.bitwise_or.at(heads, places[previous] + 2, 1 << np.minimum(action, kernels.LAST_BIT))
        store[expand_ranges(places + HEAD, sizes)] = table.strategy
        store[expand_ranges(places + HEAD + sizes, sizes)] = table.total
        store[expand_ranges(places + HEAD + 2 * sizes, (columns - 2) * sizes)] = table.state
        first, name = int(cursor[kernels.COUNT]), int(cursor[kernels.NAMED])
        infosets.place[first : first + count] = places
        infosets.actions[name : name + named] = actions
        begin = first * infosets.observations
        infosets.known[begin : begin + known.size] = known.ravel()
        cursor[kernels.COUNT] += count
        cursor[kernels.USED] += lengths.sum()
        cursor[kernels.NAMED] += named
        return arrays

    def grow(self, arrays: LazyArrays, count: int = 0, used: int = 0, named: int = 0) -> LazyArrays:
        """Double what is too small for one more information set than these."""
        infosets, cursor, visits, stack = self.arrays, self.cursor, arrays.visits, arrays.stack
        count, maximum = int(cursor[kernels.COUNT]) + count + 1, arrays.buffers.chances.size
        while count > infosets.place.size:
            infosets = _doubled(infosets, "place")
        while cursor[kernels.USED] + used + infosets.longest > infosets.store.size:
            infosets = _doubled(infosets, "store")
            infosets = infosets._replace(heads=infosets.store.view(np.int64))
        while count * infosets.observations > infosets.known.size:
            infosets = _doubled(infosets, "known")
        while cursor[kernels.NAMED] + named + maximum > infosets.actions.size:
            infosets = _doubled(infosets, "actions")
        table, slots = infosets.table, infosets.table.size
        while 4 * count > slots:
            slots *= 2
        if slots > table.size:
            infosets = infosets._replace(table=_zeros(slots))
            if cursor[kernels.LISTED]:
                MachineCode(kernels.copy_table, {})(table, infosets)
        if cursor[kernels.VISITS] >= visits.place.size:
            visits = _doubled(visits, *visits._fields)
        while cursor[kernels.PENDING] + maximum >= stack.stage.size:
            stack = _doubled(stack, *stack._fields)
        self.arrays = infosets
        return arrays._replace(infosets=infosets, visits=visits, stack=stack)


def _gathered(array: Any, begin: Indices, lengths: Indices) -> Any:
    """Return ranges of an array one after the other; indices of few of them are in memory."""
    pieces = range(0, begin.size, _GATHERED)
    found, end = np.empty(int(lengths.sum()), array.dtype), 0
    for chosen in (slice(k, k + _GATHERED) for k in pieces):
        index = expand_ranges(begin[chosen], lengths[chosen])
        found[end : end + index.size] = array[index]
        end += index.size
    return found


def _zeros(size: int) -> Indices:
    return np.zeros(size, np.int64)


def _doubled(arrays: Any, *names: str) -> Any:
    """Return arrays of which some are twice as long."""
    larger = {}
    for name in names:
        array = getattr(arrays, name)
        larger[name] = np.empty(2 * array.size, array.dtype)  # in huge pages, which are faster
        larger[name][: array.size] = array
    return arrays._replace(**larger)


class LazyExecutor(Executor):
    """Plays a run without a tree, or raises ``UntraceableError`` with the reason why it cannot."""

    def __init__(self, run: Any) -> None:
        self._run, tree = run, run._tree
        if not isinstance(run.game, RulesHistory):
            raise UntraceableError("the game is not given as rules over columns")
        if isinstance(run.order, Stateful):
            raise UntraceableError(f"{quote(run.order)} draws who learns")
        if any(rule is not run._rules[0] for rule in run._rules):
            raise UntraceableError("players have different rules")
        game, moves = run.game, tree.initial_chance[1]
        self._rules = TracedRules(game.rules, game.h, run.players, moves)
        self._kernel, self._initial = _common_kernel(tree.factories[0], self._rules.most_actions)
        infosets = self._infosets()
        self._stack_and_buffers(infosets)
        self._flat: FlatInfosets = run._flat or FlatInfosets(infosets, _zeros(kernels.ENTRIES))
        self._code = self._compiled()
        simultaneous, turns, weights, parameters = self._upcoming(1)
        try:
            self._call(simultaneous, 0, turns[:0], weights, parameters)
        except CannotCompileError as error:
            raise CannotStartError(str(error)) from error
        self._visits = 1_000.0

    # Arrays

    def _infosets(self) -> Infosets:
        """Return those of the run, or empty ones."""
        if self._run._flat is not None:
            return cast("Infosets", self._run._flat.arrays)
        count, room = _FEW, max(_ROOM, 2 * self._initial.size)
        store, maximum = np.empty(room), self._rules.most_actions
        longest = self._initial.size // (maximum + 1)
        strategies = self._initial.reshape(-1, longest)[:, HEAD : HEAD + maximum]
        return Infosets(
            table=_zeros(4 * count),
            store=store,
            heads=store.view(np.int64),
            place=np.zeros(count, np.int64),
            actions=np.empty(room, np.uint32),
            known=np.empty(room, np.int64),
            initial=self._initial,
            initial_sums=strategies.cumsum(axis=1).ravel(),
            longest=longest,
            columns=2 + len(self._kernel.state),
            observations=self._rules.observations,
        )

    def _stack_and_buffers(self, infosets: Infosets) -> None:
        maximum, width = self._rules.most_actions, self._rules.width + self._run.players
        rows, visits = 64 + 2 * maximum, 64
        whole = partial(_zeros, rows)
        state, scale, reach = _zeros(rows * width), np.zeros(rows), np.zeros(rows)
        stack = kernels.Stack(
            state, whole(), whole(), whole(), whole(), whole(), whole(), scale, reach
        )
        whole = partial(_zeros, visits)
        visited = kernels.Visits(whole(), whole(), whole(), whole(), np.zeros(visits * maximum))
        stages = self._stages()
        buffers = kernels.Buffers(
            _zeros(stages.dealt.shape[1]),
            np.zeros(maximum + 1, np.int64),
            _zeros(max(1, self._rules.observations)),
            np.zeros(maximum),
            np.zeros(maximum),
            np.arange(maximum, dtype=np.uint32),
            np.zeros(maximum),
            np.zeros(max(1, self._kernel.workspace) * maximum),
        )
        estimator: Any = self._run.estimator
        parameters = np.array(estimator._parameters(), np.float64)
        self._arrays = LazyArrays(
            infosets, stack, visited, buffers, stages, (NONE, NONE), parameters, np.zeros(1)
        )

    @np.errstate(over="ignore")
    def _stages(self) -> kernels.Stages:
        rules, players = self._rules, self._run.players
        nexts = np.zeros((len(rules.nexts), max(map(len, rules.nexts))), np.int64)
        for row, targets in zip(nexts, rules.nexts, strict=True):
            row[: len(targets)] = targets
        sums, moves, _ = self._run._tree.initial_chance
        outcomes, deal = rules.after_chance(), rules.functions().deal
        rows = np.full((len(outcomes), rules.width + players), -1, np.int64)
        for row, (_, state) in zip(rows, outcomes, strict=True):
            row[players:] = state
        chance = InitialChance(np.uint32(0), np.uint32(moves), np.array(sums))
        stages = np.array([stage for stage, _ in outcomes], np.int64)
        dealt = np.array([[*deal(state, 0), 0] for _, state in outcomes], np.int64)
        return kernels.Stages(np.array(rules.codes), nexts, chance, rows, stages, dealt, players)

    def _compiled(self) -> MachineCode:
        kernel, given = self._kernel, self._rules.functions()
        choose = self._run.estimator._choose()
        return MachineCode(
            kernels.iterate_lazily,
            {
                kernels.row_width: _constant(self._rules.width + self._run.players),
                kernels.player_of: given.player,
                kernels.legal: given.legal,
                kernels.key_of: given.key,
                kernels.payoff: given.payoff,
                kernels.chance_moves: given.chance,
                kernels.child: given.child,
                kernels.choose: choose,
                kernels.is_adaptive: false if choose is follow_all else true,
                kernels.arrays_of_rule: _views(len(kernel.state), kernel.workspace),
                _point.propose: kernel.propose,
                _point.learn: kernel.learn,
                search_start: even_search_start,
            },
            1,
        )

    # Iterations

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        run, tree = self._run, self._run._tree
        if run._flat is None:  # what was learned in Python
            for player in range(run.players):
                self._arrays = self._flat.add(player, tree.table(player), self._arrays)
            run._flat = self._flat
            tree.clear()
        self._arrays.weight[0] = tree.weight
        while iterations > 0 and not interrupted():
            count = int(min(iterations, max(1.0, _PAUSE / self._visits), 10_000))
            iterations -= self._advance(count, interrupted)
            tree.weight = float(self._arrays.weight[0])

    def _upcoming(self, count: int) -> tuple[bool, Indices, Vector, Vector]:
        """Return whether players learn at once, whose turns follow, and weights and parameters."""
        run = self._run
        players, simultaneous = run.order.schedule(run.players, count)
        turns = np.ascontiguousarray(players, dtype=np.int64)
        weights = np.array([run._weight(run.iteration + 1 + k) for k in range(count)])
        return bool(simultaneous), turns, weights, self._parameters(turns)

    def _call(
        self, simultaneous: bool, stop: int, turns: Indices, weights: Vector, parameters: Vector
    ) -> int:
        """Call the machine code, which plays these turns on from where ``cursor`` is."""
        arrays, cursor, generator = self._arrays, self._flat.cursor, self._run.estimator.generator
        status: int = self._code(
            simultaneous, stop, turns, parameters, weights, arrays, cursor, generator
        )
        return status

    def _advance(self, count: int, interrupted: Callable[[], bool]) -> int:
        """Play iterations, fewer after an interrupt; return how many."""
        run, cursor = self._run, self._flat.cursor
        simultaneous, turns, weights, parameters = self._upcoming(count)
        cursor[: kernels.VISITS + 1], cursor[kernels.VISITED] = 0, 0
        stop = _PAUSE
        while True:
            status = self._call(simultaneous, stop, turns, weights, parameters)
            if status == kernels.DONE:
                break
            if status == kernels.PAUSED:
                stop += _PAUSE
                if interrupted():  # once this iteration is whole
                    turns = turns[: cursor[kernels.ITERATION] + 1].copy()
            elif status == kernels.FULL:
                run._tree.check_memory(int(cursor[kernels.COUNT]))
                self._arrays = self._flat.grow(self._arrays)
            elif status == kernels.UNKNOWN_STAGE:
                if self._rules.explore():
                    raise UntraceableError("the game changes its kind after many moves")
                self._arrays = self._arrays._replace(stages=self._stages())
            else:
                self._refuse(status)
        visited = int(cursor[kernels.VISITED])
        self._visits = visited / len(turns)
        run.estimator.visited += visited
        run.iteration += len(turns)
        for player, factory in enumerate(run._tree.factories):
            factory.iteration += int(np.count_nonzero(turns == player))
        return len(turns)

    def _parameters(self, turns: Indices) -> Vector:
        """Return the rule's parameters, by iteration and player."""
        kernel, factories = self._kernel, self._run._tree.factories
        if not callable(kernel.parameters):
            return np.tile(np.array(kernel.parameters, np.float64), (1, len(factories), 1))
        learned = [
            factory.iteration + np.cumsum((turns == player).any(axis=1))
            for player, factory in enumerate(factories)
        ]
        first = min(int(times[0]) for times in learned)
        last = max(int(times[-1]) for times in learned)
        rows = np.array([kernel.parameters_at(t) for t in range(first, last + 1)], np.float64)
        return np.ascontiguousarray(np.stack([rows[times - first] for times in learned], axis=1))

    def _refuse(self, status: int) -> None:
        key, player = (int(self._flat.cursor[k]) for k in (kernels.KEY, kernels.PLAYER))
        if status == kernels.NO_ACTIONS:
            known = self._arrays.buffers.known.tolist()
            raise no_actions(player, self._run._tree.label(player, known))
        heads, places = self._flat.arrays.heads, self._flat.arrays.place
        number = int(np.argmax(heads[places[: self._flat.cursor[kernels.COUNT]] + 1] == key))
        name = self._run._tree.label(player, self._flat.observed(slice(None))[number].tolist())
        if status == kernels.OTHER_PARENT:
            raise imperfect_recall(player, name)
        if status == kernels.INVALID:
            infosets = self._flat.arrays
            with np.errstate(over="ignore"):
                place = kernels.place_at(kernels.find(key, player, infosets), infosets)
            begin, size = place + HEAD, int(infosets.heads[place] & kernels.SIZE)
            rule = self._run._tree.factories[player].template(size)._rule_name()
            raise invalid_strategy(rule, name, infosets.store[begin : begin + size].tolist())
        raise ValueError(
            f"information set {quote(name)} of player {player} has different actions at different "
            "histories; give them the same actions, or different information sets"
        )


def start_without_tree(run: Any) -> LazyExecutor | None:
    """Return what plays a run in machine code, None where it cannot be."""
    try:
        return LazyExecutor(run)
    except UntraceableError:
        return None
    except CannotStartError as error:
        warn_once(f"{error}; the run is played in Python")
        return None


def _common_kernel(factory: Any, maximum: int) -> tuple[Kernel, Vector]:
    """Return the kernel of a rule for all numbers of actions, and the records of new ones.

    Raises
    ------
    UntraceableError
        When there is none, or where no sample comes it has something to learn.
    """
    records = [factory.template(size) for size in range(1, maximum + 1)]
    if not all(isinstance(record, KernelRecord) for record in records):
        raise UntraceableError("the rule has no kernel")
    kernel: Kernel = records[0].shared.kernel
    if not kernel.traits.invariant_to_zero_utility or not all(kernel.layout):
        raise UntraceableError("the rule learns where no sample comes, or has numbers by block")
    if kernel.constants:
        raise UntraceableError("the rule has arrays that never change")
    for record in records:
        other = record.shared.kernel
        same = _code(other) == _code(kernel)
        same = same and other.state == kernel.state and other.workspace == kernel.workspace
        constant = callable(kernel.parameters) or tuple(other.parameters) == tuple(
            kernel.parameters
        )
        if not (same and constant and callable(other.parameters) == callable(kernel.parameters)):
            raise UntraceableError("the rule differs between numbers of actions")
    parts = 2 + len(kernel.state)
    initial = np.zeros((maximum + 1, HEAD + parts * maximum))
    for size, record in enumerate(records, 1):
        numbers = [0.0] * HEAD + [*record.strategy, *[0.0] * size]
        numbers += [x for array in record.state for x in array]
        initial[size, : len(numbers)] = numbers
    return kernel, initial.ravel()


def _code(kernel: Kernel) -> list[object]:
    """Return what equals that of kernels with the same code: its text, where it was traced."""
    return [getattr(part, "source", part) for part in (kernel.propose, kernel.learn)]


def _views(arrays: int, workspace: int) -> Callable[..., Any]:
    """Return the function that makes views of a rule's arrays."""
    parts = [f"store[first + {k} * size : first + {k + 1} * size]" for k in range(arrays)]
    parts += [f"workspace[{k} * size : {k + 1} * size]" for k in range(max(workspace, not arrays))]
    return _made("store, first, size, workspace", f"({', '.join(parts)},)")


def _constant(number: int) -> Callable[..., Any]:
    """Return the function that returns a number."""
    return _made("", str(number))


def _made(arguments: str, result: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    text = f"def made({arguments}):\n    return {result}\n"
    exec(compile(text, "<functions of a game>", "exec"), namespace)
    namespace["made"].source = text
    return cast("Callable[..., Any]", namespace["made"])
