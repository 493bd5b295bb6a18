"""Self-play without a tree in machine code, of games that are given as rules over columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from regretkit._compiler import CannotCompileError
from regretkit._machine_code import MachineCode
from regretkit._state import Stateful
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.engine._batch_rules import TracedRules
from regretkit.engine.kernels import _without_tree as kernels
from regretkit.engine.kernels._without_tree import InfosetArrays, SampleArrays
from regretkit.estimators._flat_tree import InitialChance
from regretkit.estimators._mccfr import NONE
from regretkit.estimators._traversal import follow_all
from regretkit.games._adapters import RulesHistory
from regretkit.games.tree._build import mixed
from regretkit.play._engines import CannotStartError, Executor
from regretkit.play._infosets import (
    HEAD,
    PARENT_BITS,
    PLAYER_MASK,
    SIZE,
    SIZE_BITS,
    Infosets,
    PointRule,
)
from regretkit.play._sampled import imperfect_recall, initial_chance, no_actions, other_actions
from regretkit.trace import Kernel, UntraceableError

_SLOTS = 2**12
"""Initial size of the hash table."""

_PAUSE = 1_000_000
"""Visited histories between two checks for interrupts."""


def _zeros(size: int) -> Indices:
    return np.zeros(size, np.int64)


def _doubled(arrays: Any) -> Any:
    """Return arrays of twice the length."""
    larger = [np.concatenate([column, np.empty_like(column)]) for column in arrays]
    return type(arrays)(*larger)


class RulesExecutor(Executor):
    """Plays a run without a tree; raises ``UntraceableError`` for unsupported runs."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._infosets: Infosets = run.infosets
        if not isinstance(run.game, RulesHistory):
            raise UntraceableError("the game is not given by Rules")
        if isinstance(run.order, Stateful):
            raise UntraceableError(f"{quote(run.order)} has state of its own")
        if any(rule is not self._infosets.rules[0] for rule in self._infosets.rules):
            raise UntraceableError("players have different rules")
        game, self._chance = run.game, initial_chance(run.game)[:2]
        self._rules = TracedRules(game.rules, game.h, run.players, self._chance[1])
        points = [self._infosets.point(0, size) for size in range(1, self._rules.most_actions + 1)]
        self._kernel, self._initial = _common_kernel(points), _initial(points)
        self._infosets.width = self._rules.observations
        self._cursor, self._table = _zeros(kernels.ENTRIES), _zeros(_SLOTS)
        self._arrays = self._new_arrays()
        self._code = self._compiled()
        self._find_all()
        simultaneous, turns, weights, parameters = self._upcoming(1)
        try:
            self._call(simultaneous, 0, turns[:0], weights, parameters)
        except CannotCompileError as error:
            raise CannotStartError(str(error)) from error
        self._visits = 1_000.0

    # Arrays

    def _infoset_arrays(self) -> InfosetArrays:
        """Return the arrays of all information sets, with space for one more."""
        infosets, maximum = self._infosets, self._rules.most_actions
        longest = self._initial.shape[1]
        infosets.reserve(1, longest, maximum)
        table, slots = self._table, self._table.size
        while 4 * (infosets.count + 1) > slots:
            slots *= 2
        if slots > table.size:
            self._table = _zeros(slots)
        arrays = InfosetArrays(
            table=self._table,
            store=infosets.cells,
            heads=infosets.heads,
            place=infosets.place,
            actions=infosets.actions,
            known=infosets.known,
            initial=self._initial.ravel(),
            initial_sums=self._initial[:, HEAD : HEAD + maximum].cumsum(axis=1).ravel(),
            longest=longest,
            columns=(longest - HEAD) // maximum,
            observations=infosets.width,
        )
        if slots > table.size and self._cursor[kernels.LISTED]:
            MachineCode(kernels.copy_table)(table, arrays)
        return arrays

    def _new_arrays(self) -> SampleArrays:
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
        parameters = np.array(self._run.estimator._parameters(), np.float64)
        return SampleArrays(
            self._infoset_arrays(),
            stack,
            visited,
            buffers,
            stages,
            (NONE, NONE),
            parameters,
            np.zeros(1),
        )

    def _grow(self) -> None:
        """Allocate space for one more information set, visit and history."""
        arrays, cursor = self._arrays, self._cursor
        visits, stack, maximum = arrays.visits, arrays.stack, self._rules.most_actions
        if cursor[kernels.VISITS] >= visits.place.size:
            visits = _doubled(visits)
        if cursor[kernels.PENDING] + maximum >= stack.stage.size:
            stack = _doubled(stack)
        infosets = self._infoset_arrays()
        self._arrays = arrays._replace(infosets=infosets, visits=visits, stack=stack)

    @np.errstate(over="ignore")
    def _stages(self) -> kernels.Stages:
        rules, players = self._rules, self._run.players
        nexts = np.zeros((len(rules.nexts), max(map(len, rules.nexts))), np.int64)
        for row, targets in zip(nexts, rules.nexts, strict=True):
            row[: len(targets)] = targets
        sums, moves = self._chance
        outcomes, deal = rules.after_chance(), rules.functions().deal
        rows = np.full((len(outcomes), rules.width + players), -1, np.int64)
        for row, (_, state) in zip(rows, outcomes, strict=True):
            row[players:] = state
        chance = InitialChance(np.uint32(0), np.uint32(moves), np.array(sums))
        stages = np.array([stage for stage, _ in outcomes], np.int64)
        dealt = np.array([[*deal(state, 0), 0] for _, state in outcomes], np.int64)
        return kernels.Stages(np.array(rules.codes), nexts, chance, rows, stages, dealt, players)

    def _compiled(self) -> MachineCode:
        kernel, choose = self._kernel, self._run.estimator._choose()
        functions = kernels.Functions(
            rules=self._rules.functions(),
            choose=choose,
            arrays_of_rule=_views(kernel),
            propose=kernel.propose,
            learn=kernel.learn,
            width=self._rules.width + self._run.players,
            is_adaptive=choose is not follow_all,
        )
        return MachineCode(kernels.sampled_play(functions), 1)

    # Iterations

    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._find_all()
        self._arrays = self._arrays._replace(infosets=self._infoset_arrays())
        self._arrays.weight[0] = self._run.weight
        while iterations > 0 and not interrupted():
            count = int(min(iterations, max(1.0, _PAUSE / self._visits), 10_000))
            iterations -= self._advance(count, interrupted)

    @np.errstate(over="ignore")
    def _find_all(self) -> None:
        """Set the keys and action masks of records made in Python."""
        infosets = self._infosets
        rows = np.arange(int(self._cursor[kernels.LISTED]), infosets.count)
        if not rows.size:
            return
        place, heads, width = infosets.place[rows], infosets.heads, infosets.width
        known = infosets.known[rows[0] * width : infosets.count * width].reshape(-1, width)
        heads[place + 1], heads[place + 2] = mixed(known.T), 0
        cell = (heads[place] >> PARENT_BITS) - 1
        cell = cell[cell >= 0]
        parent = infosets.place[np.searchsorted(infosets.place[: rows[-1]], cell, "right") - 1]
        action = cell - parent - HEAD - (heads[parent] & SIZE)
        np.bitwise_or.at(heads, parent + 2, 1 << np.minimum(action, kernels.LAST_BIT))

    def _upcoming(self, count: int) -> tuple[bool, Indices, Vector, Vector]:
        """Return the next iterations: simultaneous, turns, weights and parameters."""
        run = self._run
        players, simultaneous = run.order.schedule(run.players, count)
        turns = np.ascontiguousarray(players, dtype=np.int64)
        weights = np.array([run.weight_of(run.iteration + 1 + k) for k in range(count)])
        return bool(simultaneous), turns, weights, self._parameters(turns)

    def _call(
        self, simultaneous: bool, stop: int, turns: Indices, weights: Vector, parameters: Vector
    ) -> int:
        """Call the machine code, which continues from ``cursor``; return its status."""
        infosets, cursor, generator = self._infosets, self._cursor, self._run.estimator.generator
        cursor[_SIZES] = infosets.count, infosets.used, infosets.named
        status: int = self._code(
            simultaneous, stop, turns, parameters, weights, self._arrays, cursor, generator
        )
        infosets.count, infosets.used, infosets.named = map(int, cursor[_SIZES])
        return status

    def _advance(self, count: int, interrupted: Callable[[], bool]) -> int:
        """Play iterations, fewer after an interrupt; return their number."""
        run, cursor = self._run, self._cursor
        simultaneous, turns, weights, parameters = self._upcoming(count)
        cursor[: kernels.VISITS + 1], cursor[kernels.VISITED] = 0, 0
        stop = _PAUSE
        while True:
            status = self._call(simultaneous, stop, turns, weights, parameters)
            if status == kernels.DONE:
                break
            if status == kernels.PAUSED:
                stop += _PAUSE
                if interrupted():  # finish this iteration only
                    turns = turns[: cursor[kernels.ITERATION] + 1].copy()
            elif status == kernels.FULL:
                self._grow()
            elif status == kernels.UNKNOWN_STAGE:
                if self._rules.explore():
                    raise UntraceableError("late moves of the game need new code")
                self._arrays = self._arrays._replace(stages=self._stages())
            else:
                self._refuse(status)
        visited = int(cursor[kernels.VISITED])
        self._visits = visited / len(turns)
        run.weight = float(self._arrays.weight[0])
        run.estimator.visited += visited
        run.iteration += len(turns)
        for player in range(run.players):
            run.updates[player] += int(np.count_nonzero(turns == player))
        return len(turns)

    def _parameters(self, turns: Indices) -> Vector:
        """Return the rule's parameters, by iteration and player."""
        kernel, updates = self._kernel, self._run.updates
        if (constants := kernel.parameters.constants) is not None:
            return np.tile(np.array(constants, np.float64), (1, len(updates), 1))
        learned = [
            done + np.cumsum((turns == player).any(axis=1)) for player, done in enumerate(updates)
        ]
        first = min(int(times[0]) for times in learned)
        last = max(int(times[-1]) for times in learned)
        rows = np.array([kernel.parameters_at(t) for t in range(first, last + 1)], np.float64)
        return np.ascontiguousarray(np.stack([rows[times - first] for times in learned], axis=1))

    def _refuse(self, status: int) -> None:
        run, infosets = self._run, self._infosets
        key, player = (int(self._cursor[k]) for k in (kernels.KEY, kernels.PLAYER))
        if status == kernels.NO_ACTIONS:
            raise no_actions(player, run.label(player, self._arrays.buffers.known.tolist()))
        places = infosets.place[: infosets.count]
        own = infosets.heads[places] >> SIZE_BITS & PLAYER_MASK == player
        row = int(np.argmax(own & (infosets.heads[places + 1] == key)))
        name, place = run.label(player, infosets.key(row)), int(places[row])
        if status == kernels.OTHER_PARENT:
            raise imperfect_recall(player, name)
        if status == kernels.INVALID:
            rule = infosets.rule_at(place)
            raise rule.invalid(infosets.cells[place + HEAD :][: rule.size].tolist())
        raise other_actions(player, name)


_SIZES = [kernels.COUNT, kernels.USED, kernels.NAMED]


def _common_kernel(points: list[PointRule]) -> Kernel:
    """Return the common kernel of all numbers of actions, or raise ``UntraceableError``."""
    found = [point.kernel for point in points if point.kernel is not None]
    if len(found) < len(points):
        raise UntraceableError("the rule has no kernel")
    kernel, *others = found
    for other in others:
        if _made_of(other) != _made_of(kernel):
            raise UntraceableError("the rule differs between numbers of actions")
    return kernel


def _made_of(kernel: Any) -> list[object]:
    """Return a key that is equal for kernels with the same code and arrays."""
    code = [getattr(part, "source", part) for part in (kernel.propose, kernel.learn)]
    return [*code, kernel.learned, kernel.layout, kernel.parameters.constants]


def _initial(points: list[PointRule]) -> Vector:
    """Return the initial record of an information set, for each number of actions from 0 on."""
    initial = np.zeros((len(points) + 1, HEAD + len(points[-1].initial)))
    for size, point in enumerate(points, 1):
        initial[size, HEAD : HEAD + len(point.initial)] = point.initial
    return initial


def _views(kernel: Kernel) -> Callable[..., Any]:
    """Return a function that returns a rule's arrays as views of a record or of the workspace."""
    learned = len(kernel.learned)
    kept = [(True, k) for k in range(len(kernel.arrays) - kernel.workspace)]
    kept[learned:learned] = [(False, k) for k in range(kernel.workspace)]
    return kernels.views((*kept,))
