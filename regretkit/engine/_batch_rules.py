"""The rules of a game as functions of whole numbers, traced from a batch of histories.

A batch of one history is followed from the root, its arrays unknown as far as actions determine
them. What is known without them, such as the number of moves, distinguishes stages; the code of
most stages is that of others.
"""

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from regretkit._util._state import attributes
from regretkit._util._typing import Indices
from regretkit.games.tree._history import CHANCE, LONGEST, TERMINAL, HistoryBatch
from regretkit.trace import UntraceableError
from regretkit.trace._cell_arrays import Cells, tracing
from regretkit.trace._cells import Cell, Recorded, all_ways, cast, cell, code, given

_ROW: Indices = np.zeros(1, dtype=np.int64)
_SIGNATURES = {
    "player": "state, at",
    "legal": "state, at, moves",
    "key": "state, at",
    "payoff": "state, at, player",
    "chance": "state, at, chances",
    "child": "state, at, action, to",
}
_QUIET = 8
"""Stages without new code after which further ones are left until they are needed."""
_MOST_STAGES = 2_000
_CHECKED = 20
"""Random plays in which traced rules are compared with the game's."""


class RuleFunctions(NamedTuple):
    """Rules as plain functions; ``kind`` is a stage's entry in ``TracedRules.codes``.

    The state of a history is a row of ``state``, which begins at ``at``.
    """

    player: Callable[..., int]
    legal: Callable[..., int]
    """Writes the legal actions to ``moves``, with one spare entry; returns how many they are."""
    key: Callable[..., int]
    payoff: Callable[..., float]
    chance: Callable[..., None]
    """Writes the probability of each action."""
    child: Callable[..., int]
    """Writes the row after an action, at ``to``; returns which of ``nexts`` its stage is."""


@final
class TracedRules:
    """The rules of a game, as far as stages were needed.

    Raises
    ------
    UntraceableError
        When a method of the batch does what cannot be traced.
    """

    def __init__(self, root: HistoryBatch, players: int) -> None:
        self._root, self._players = root, players
        self._recorded: Recorded = {}
        self._numbers: dict[Any, int] = {}
        self.stages: list[Any] = []
        self._bodies: dict[str, dict[str, int]] = {name: {} for name in _SIGNATURES}
        self.codes: list[list[int]] = []
        """For each stage, which code each function has."""
        self.nexts: list[list[int]] = []
        """For each stage, those that may follow."""
        self.width, self.most_actions = 1, 1
        with tracing(self._recorded):
            self._stage(root)
        self.explore()
        self._check()

    def explore(self) -> bool:
        """Trace further stages, until several bring nothing new; return whether code is new."""
        quiet, new = 0, False
        with tracing(self._recorded):
            while quiet < _QUIET and len(self.codes) < len(self.stages):
                before = self._size()
                self._trace(len(self.codes))
                quiet = quiet + 1 if self._size() == before else 0
                new |= quiet == 0
                if len(self.codes) > _MOST_STAGES:
                    raise UntraceableError(f"the game has more than {_MOST_STAGES} kinds of stages")
        return new

    def _size(self) -> tuple[int, ...]:
        return (*(len(bodies) for bodies in self._bodies.values()), self.width, self.most_actions)

    # Stages

    def _stage(self, batch: Any) -> tuple[int, list[Any]]:
        """Return the number of a batch's stage, and the row of what is not known of it."""
        symbolic, row, key = copy.copy(batch), list[Any](), list[Any]()
        for name, value in attributes(batch):
            if not isinstance(value, Cells | np.ndarray):
                if _holds_cells(value):
                    raise UntraceableError(f"{name} holds arrays within {type(value).__name__}")
                key.append((name, value if _is_plain(value) else id(value)))
                continue
            array = Cells.of(value)
            entries: list[Any] = []
            for entry in array.values.ravel():
                if isinstance(entry, Cell):
                    if entry.kind == "f":
                        raise UntraceableError(
                            f"{name} has floats, which rows of state do not hold"
                        )
                    read = f"state[at + {len(row)}]"
                    row.append(cast(entry, "i"))
                    entry = (
                        given(read, "i")
                        if entry.kind == "i"
                        else cell("not_equal", given(read, "i"), 0)
                    )
                entries.append(entry)
            known = tuple(None if isinstance(x, Cell) else x for x in entries)
            key.append((name, array.shape, array.dtype.str, known))
            cells = array.copy()
            cells.values.reshape(-1)[:] = entries
            object.__setattr__(symbolic, name, cells)
        full = type(batch), tuple(key)
        if full not in self._numbers:
            self._numbers[full] = len(self.stages)
            self.stages.append(symbolic)
            self.width = max(self.width, len(row))
        return self._numbers[full], row

    def after_chance(self, moves: int) -> list[tuple[int, list[int]]]:
        """Return the stage and the row after each outcome of the first moves, all of chance."""
        functions, outcomes = self.functions(), [(0, [0] * self.width)]
        legal, chances = [0] * (self.most_actions + 1), [0.0] * self.most_actions
        for _ in range(moves):
            following = []
            for stage, state in outcomes:
                kinds = self.codes[stage]
                count = functions.legal(kinds[1], state, 0, legal)
                functions.chance(kinds[4], state, 0, chances)
                for move in (move for move in legal[:count] if chances[move] > 0.0):
                    row = state.copy()
                    chosen = functions.child(kinds[5], row, 0, move, 0)
                    following.append((self.nexts[stage][chosen], row))
            outcomes = following
        return outcomes

    def _trace(self, number: int) -> None:
        batch = copy.copy(self.stages[number])
        (player,) = self._merged(batch.player)
        actors = _outcomes(player, self._players)
        lines = {name: ["return 0"] for name in _SIGNATURES}
        lines["player"] = code([player], lambda names: [f"return {names[0]}"])
        targets, legal = list[int](), list[Any]()
        if TERMINAL in actors:
            paid = [cast(x, "f") for x in self._merged(lambda: batch.payoffs(_ROW))]
            lines["payoff"] = code(paid, _choice)
        if actors - {TERMINAL}:
            legal = [cast(x, "b") for x in self._merged(lambda: batch.actions(_ROW))]
            self.most_actions = max(self.most_actions, len(legal))
            runs = [*_runs(legal)]
            lines["legal"] = code([given for _, _, given in runs], partial(_counted, runs))
            action = Cells.of(_ROW).copy()
            action.values[0] = given("action", "i")
            lines["child"] = self._child(lambda: batch.child(_ROW, action), targets)
        if actors - {TERMINAL, CHANCE}:
            (key,) = self._merged(lambda: batch.information_set(_ROW))
            lines["key"] = code([cast(key, "i")], lambda names: [f"return {names[0]}"])
        if CHANCE in actors:
            lines["chance"] = self._chances(batch, legal)
        self.codes.append(
            [
                self._bodies[name].setdefault("\n    ".join(body), len(self._bodies[name]))
                for name, body in lines.items()
            ]
        )
        self.nexts.append(targets)

    def _chances(self, batch: Any, legal: Sequence[Any]) -> list[str]:
        columns = [c for c, possible in enumerate(legal) if possible is not False]
        drawn = [
            cast(self._merged(partial(batch.probability, _ROW, np.array([c])))[0], "f")
            for c in columns
        ]
        return code(
            drawn,
            lambda names: [f"chances[{c}] = {x}" for c, x in zip(columns, names, strict=True)],
        )

    def _merged(self, method: Callable[[], Any]) -> list[Any]:
        """Return the entries of what a method returns for its only history."""
        ways = [(met, [*Cells.of(found).values.ravel()]) for met, found in _ways(method)]
        return _together(ways)

    def _child(self, method: Callable[[], Any], targets: list[int]) -> list[str]:
        ways = []
        for met, batch in _ways(method):
            stage, row = self._stage(batch)
            if stage not in targets:
                targets.append(stage)
            ways.append((met, [targets.index(stage), *row]))
        return code(
            _together(ways),
            lambda names: [
                *(f"state[to + {k}] = {name}" for k, name in enumerate(names[1:])),
                f"return {names[0]}",
            ],
        )

    # Functions

    def functions(self) -> RuleFunctions:
        """Return the functions of all stages so far."""
        namespace: dict[str, Any] = {"__name__": __name__}
        for name, arguments in _SIGNATURES.items():
            lines = []
            for body, number in self._bodies[name].items():
                lines += [f"def {name}_{number}({arguments}):", f"    {body}"]
            lines.append(f"def {name}(kind, {arguments}):")
            last = len(self._bodies[name]) - 1
            for number in range(last):
                lines.append(f"    if kind == {number}:")
                lines.append(f"        return {name}_{number}({arguments})")
            lines.append(f"    return {name}_{last}({arguments})")
            exec(compile("\n".join(lines), "<rules of a game>", "exec"), namespace)
        return RuleFunctions(*(namespace[name] for name in _SIGNATURES))

    def _check(self) -> None:
        """Compare traced rules with the game's in random plays."""
        functions, draws = self.functions(), random.Random(1)
        for _ in range(_CHECKED):
            stage, batch = 0, self._root
            state, moves = [0] * self.width, [0] * (self.most_actions + 1)
            chances = [0.0] * self.most_actions
            for _ in range(LONGEST):
                if stage >= len(self.codes):
                    break
                kinds, player = self.codes[stage], int(batch.player()[0])
                found: list[Any] = [functions.player(kinds[0], state, 0)]
                expected: list[Any] = [player]
                if player == TERMINAL:
                    found += [functions.payoff(kinds[3], state, 0, i) for i in range(self._players)]
                    _compare(found, expected + batch.payoffs(_ROW)[0].tolist())
                    break
                count = functions.legal(kinds[1], state, 0, moves)
                found += moves[:count]
                expected += np.flatnonzero(batch.actions(_ROW)[0]).tolist()
                if player == CHANCE:
                    functions.chance(kinds[4], state, 0, chances)
                    found += [chances[move] for move in moves[:count]]
                    drawn = batch.probability(np.zeros(count, np.int64), np.array(moves[:count]))
                    expected += drawn.tolist()
                else:
                    found.append(functions.key(kinds[2], state, 0))
                    expected.append(int(batch.information_set(_ROW)[0]))
                _compare(found, expected)
                if count == 0:  # refused where it is played
                    break
                move = draws.choice(moves[:count])
                batch = batch.child(_ROW, np.array([move]))
                stage = self.nexts[stage][functions.child(kinds[5], state, 0, move, 0)]


def _compare(found: Sequence[Any], expected: Sequence[Any]) -> None:
    if [*found] != [*expected]:
        raise UntraceableError(f"traced rules give {found} where the game's give {expected}")


def _ways(method: Callable[[], Any]) -> list[tuple[Any, Any]]:
    try:
        return all_ways(method)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise UntraceableError(f"{type(error).__name__}: {error}") from error


def _together(ways: Sequence[tuple[Any, list[Any]]]) -> list[Any]:
    """Return the entries of all ways as one list, of their number where that differs."""
    length = max(len(entries) for _, entries in ways)
    padded = [(met, entries + [0] * (length - len(entries))) for met, entries in ways]
    result = padded[-1][1]
    for met, entries in padded[:-1]:
        result = [cell("where", met, *pair) for pair in zip(entries, result, strict=True)]
    return result


def _outcomes(player: Any, players: int) -> set[int]:
    """Return who may act."""
    if not isinstance(player, Cell):
        return {int(player)}
    if player.op == "where":
        return _outcomes(player.args[1], players) | _outcomes(player.args[2], players)
    return {TERMINAL, CHANCE, *range(players)} if player.op != "input" else {*range(players)}


def _choice(names: list[str]) -> list[str]:
    options = [f"{name} if player == {k} else" for k, name in enumerate(names[:-1])]
    return [f"return {' '.join(options)} {names[-1]}"]


def _runs(legal: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield columns of actions, from one to before another, and which of them are legal.

    Those of a single column by a truth value, others by the first that is.
    """
    column = 0
    while column < len(legal):
        after, threshold = column + 1, _threshold(legal[column], column)
        while threshold and after < len(legal) and _threshold(legal[after], after) == threshold:
            after += 1
        if threshold and after > column + 1:
            first = cell("add", *threshold)
            yield column, after, cell("maximum", cell("minimum", first, after), column)
        else:
            yield column, column + 1, legal[column]
        column = after


def _threshold(legal: Any, column: int) -> tuple[Any, int] | None:
    """Return an expression and a number whose sum is the first legal column."""
    if not isinstance(legal, Cell) or legal.op not in ("greater", "less"):
        return None
    more, less = legal.args if legal.op == "greater" else reversed(legal.args)
    if isinstance(more, Cell) or not isinstance(less, Cell) or less.kind != "i":
        return None
    return (less, column + 1 - int(more)) if float(more).is_integer() else None


def _counted(runs: Sequence[tuple[int, int, Any]], names: list[str]) -> list[str]:
    lines = ["n = 0"]
    for (column, after, _), name in zip(runs, names, strict=True):
        if after > column + 1:  # all at once, without a branch
            lines += [f"for k in range({after - column}):", f"    moves[n + k] = {name} + k"]
            lines.append(f"n += {after} - {name}")
        elif name != "False":
            lines += [f"moves[n] = {column}", "n += 1" if name == "True" else f"n += {name}"]
    return [*lines, "return n"]


def _is_plain(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _holds_cells(value: object) -> bool:
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list | tuple | set):
        items = value
    return any(isinstance(item, Cells) or _holds_cells(item) for item in items)
