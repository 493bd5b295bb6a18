"""Trace the rules of a game to functions of integers.

Tracing follows a batch of one history from the root. Values that depend on actions are symbolic.
Other values, such as the number of moves, are constants of a *stage*. Stages with identical code
share it.
"""

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from regretkit._state import attributes
from regretkit._util._typing import Indices
from regretkit.games._adapters import RulesHistory
from regretkit.games.tree._build import mixed
from regretkit.games.tree._history import CHANCE, LONGEST, TERMINAL
from regretkit.games.tree._rules import Batch, Rules
from regretkit.trace import UntraceableError
from regretkit.trace._cells import (
    Cell,
    Cells,
    Recorded,
    all_ways,
    cast,
    cell,
    code,
    computed_from,
    given,
    is_input,
    tracing,
)

_SIGNATURES = {
    "player": "state, at, dealt",
    "legal": "state, at, dealt, moves",
    "key": "state, at, dealt, known",
    "payoff": "state, at, dealt, player",
    "chance": "state, at, dealt, chances",
    "child": "state, at, dealt, action, to",
}
_Source: TypeAlias = tuple[Sequence[Any], Callable[[list[str]], list[str]]]
"""The outputs of a function, and a function from their names to its last lines."""
_QUIET = 32
"""Tracing pauses after this number of stages without new code."""
_MOST_STAGES, _MOST_LINES = 2_000, 10_000
_CHECKED = 20
"""Number of random plays that compare traced rules with the game's."""


class RuleFunctions(NamedTuple):
    """Rules as plain functions; ``kind`` is a stage's entry in ``TracedRules.codes``.

    ``state`` holds the row of a history from ``at`` on. ``dealt`` holds numbers that depend on the
    initial chance actions only.
    """

    player: Callable[..., int]
    legal: Callable[..., int]
    """Writes the legal actions to ``moves``, which needs one spare entry; returns their number."""
    key: Callable[..., int]
    """Writes the observations to ``known``; returns their hash, the key of the information set."""
    payoff: Callable[..., float]
    chance: Callable[..., None]
    """Writes the probability of each action."""
    child: Callable[..., int]
    """Writes the row after an action at ``to``; returns the index of its stage in ``nexts``."""
    deal: Callable[..., list[int]]
    """Returns ``dealt``, given the row after the initial chance actions."""


class TracedRules:
    """The rules of a game, traced stage by stage on demand.

    Raises
    ------
    UntraceableError
        If the rules cannot be traced.
    """

    def __init__(self, rules: Rules, start: Batch, players: int, moves: int = 0) -> None:
        self._rules, self._players, self._moves = rules, players, moves
        # Rows have integers of 64 bits, which need no code to wrap around.
        self._start = Batch(start.length, **{n: _wide(c) for n, c in start.columns.items()})
        self._recorded: Recorded = {}
        self._numbers: dict[Any, int] = {}
        self.stages: list[Any] = []
        self._lines = 0
        self._bodies: dict[str, dict[str, int]] = {name: {} for name in _SIGNATURES}
        self._sources: dict[str, list[_Source]] = {name: [] for name in _SIGNATURES}
        self.codes: list[list[int]] = []
        """The number of each function, for each stage."""
        self.nexts: list[list[int]] = []
        """The stages that may follow each stage."""
        self.width, self.most_actions, self.observations = 1, 1, 0
        with tracing(self._recorded):
            self._stage(self._start)
        self.explore()
        self._check()

    def explore(self) -> bool:
        """Trace further stages until ``_QUIET`` have no new code; return whether any had."""
        quiet, new, kept = 0, False, self._kept()
        with tracing(self._recorded):
            while quiet < _QUIET and len(self.codes) < len(self.stages):
                previous = self._size()
                self._trace(len(self.codes))
                quiet = quiet + 1 if self._size() == previous else 0
                new |= quiet == 0
                if len(self.codes) > _MOST_STAGES or self._lines > _MOST_LINES:
                    raise UntraceableError("the code of the rules grows with the number of moves")
        return new or kept != self._kept()

    def _size(self) -> tuple[int, ...]:
        return (*(len(bodies) for bodies in self._bodies.values()), self.width, self.most_actions)

    def _kept(self) -> set[str]:
        """Return the entries of a row that no action changes after the initial chance actions."""
        stages, seen = {0}, set[int]()
        for _ in range(self._moves):
            stages = self._after(stages)
        while not stages <= seen:
            seen |= stages
            stages = self._after(stages)
        kept = {f"state[at + {k}]": k for k in range(self.width)}
        for number in {self.codes[stage][5] for stage in seen if stage < len(self.codes)}:
            written = self._sources["child"][number][0][1:]
            for name, k in [*kept.items()]:
                if k < len(written) and not is_input(written[k], name):
                    del kept[name]
        return {*kept}

    def _after(self, stages: set[int]) -> set[int]:
        return {k for stage in stages if stage < len(self.codes) for k in self.nexts[stage]}

    # Stages

    def _stage(self, batch: Any) -> tuple[int, list[Any]]:
        """Return the number of a batch's stage, and the row of its symbolic values."""
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

    @np.errstate(all="ignore")
    def after_chance(self) -> list[tuple[int, Indices]]:
        """Return the stage and the row after each outcome of the initial chance actions."""
        functions, outcomes = self.functions(dealt=False), [(0, np.zeros(self.width, np.int64))]
        legal, chances = [0] * (self.most_actions + 1), [0.0] * self.most_actions
        for _ in range(self._moves):
            following = []
            for stage, state in outcomes:
                kinds = self.codes[stage]
                count = functions.legal(kinds[1], state, 0, [], legal)
                functions.chance(kinds[4], state, 0, [], chances)
                for move in (move for move in legal[:count] if chances[move] > 0.0):
                    row = state.copy()
                    chosen = functions.child(kinds[5], row, 0, [], np.int64(move), 0)
                    following.append((self.nexts[stage][chosen], row))
            outcomes = following
        return outcomes

    def _trace(self, number: int) -> None:
        h, rules = copy.copy(self.stages[number]), self._rules
        (player,) = self._merged(lambda: rules.player(h))
        actors = _outcomes(player, self._players)
        made: dict[str, _Source] = dict.fromkeys(_SIGNATURES, ([0], _returned))
        made["player"] = [player], _returned
        targets, legal = list[int](), list[Any]()
        if TERMINAL in actors:
            paid = [cast(x, "f") for x in self._merged(lambda: rules.payoffs(h))]
            made["payoff"] = paid, _choice
        if actors - {TERMINAL}:
            legal = [cast(x, "b") for x in self._merged(lambda: rules.legal(h))]
            self.most_actions = max(self.most_actions, len(legal))
            runs = [*_runs(legal)]
            made["legal"] = [given for _, _, given in runs], partial(_counted, runs)
            action: Any = Cells.of(np.zeros(1, dtype=np.int64)).copy()
            action.values[0] = given("action", "i", natural=True)
            made["child"] = self._child(lambda: rules.child(h, action), targets)
        if actors - {TERMINAL, CHANCE}:
            key, *known = self._merged(lambda: self._observed(h))
            made["key"] = [cast(key, "i"), *(cast(x, "i") for x in known)], _known
        if CHANCE in actors:
            made["chance"] = self._chances(h, legal)
        self.codes.append([self._number(name, source) for name, source in made.items()])
        self.nexts.append(targets)

    def _observed(self, h: Batch) -> Any:
        """Return the key of the information set, then the observations."""
        zero = Cells.of(np.zeros(1, np.int64))
        blocks = [zero + column for column in self._rules.observed(h)]
        columns = [
            column for block in blocks for column in (block.T if block.ndim == 2 else [block])
        ]
        if (self.observations or len(columns)) != len(columns):
            raise UntraceableError("observed() has different numbers of columns")
        self.observations = len(columns)
        return np.concatenate([mixed(columns), *columns])

    def _number(self, name: str, source: _Source) -> int:
        """Return the number of a function; functions with the same code share it."""
        bodies, sources = self._bodies[name], self._sources[name]
        lines = code(*source)
        number = bodies.setdefault("\n".join(lines), len(sources))
        if number == len(sources):
            sources.append(source)
            self._lines += len(lines)
        return number

    def _chances(self, h: Batch, legal: Sequence[Any]) -> _Source:
        columns = [c for c, possible in enumerate(legal) if possible is not False]
        drawn = [
            cast(self._merged(partial(self._rules.chance, h, np.array([c])))[0], "f")
            for c in columns
        ]
        return drawn, lambda names: [
            *(f"chances[{c}] = {x}" for c, x in zip(columns, names, strict=True)),
            "return 0",  # the type of functions of stages without chance
        ]

    def _merged(self, method: Callable[[], Any]) -> list[Any]:
        """Return the entries of a method's result for the only history."""
        ways = [(met, [*Cells.of(found).values.ravel()]) for met, found in _ways(method)]
        return _together(ways)

    def _child(self, method: Callable[[], Any], targets: list[int]) -> _Source:
        ways = []
        for met, batch in _ways(method):
            stage, row = self._stage(batch)
            if stage not in targets:
                targets.append(stage)
            ways.append((met, [targets.index(stage), *row]))
        return _together(ways), lambda names: [
            *(f"state[to + {k}] = {name}" for k, name in enumerate(names[1:])),
            f"return {names[0]}",
        ]

    # Functions

    def functions(self, *, dealt: bool = True) -> RuleFunctions:
        """Return the functions of all stages so far.

        Without ``dealt``, they do not use ``dealt``, as for the initial chance actions.
        """
        sources = [source for name in _SIGNATURES for source in self._sources[name]]
        kept, known = self._kept() if dealt else (), dict[Cell, str]()
        for outputs, _ in sources:
            for found in computed_from(kept, outputs):
                known.setdefault(found, f"dealt[{len(known)}]")
        namespace: dict[str, Any] = {"__name__": __name__, "WITHIN_BOUNDS": True}
        for name, arguments in _SIGNATURES.items():
            lines = []
            for number, source in enumerate(self._sources[name]):
                body = "\n    ".join(code(*source, known))
                lines += [f"def {name}_{number}({arguments}):", f"    {body}"]
            lines.append(f"def {name}(kind, {arguments}):")
            last = len(self._sources[name]) - 1
            for number in range(last):
                lines.append(f"    if kind == {number}:")
                lines.append(f"        return {name}_{number}({arguments})")
            lines.append(f"    return {name}_{last}({arguments})")
            text = "\n".join(lines)
            exec(compile(text, "<rules of a game>", "exec"), namespace)
            for made in (name, *(f"{name}_{number}" for number in range(last + 1))):
                namespace[made].source = text
        body = "\n    ".join(code(known, lambda names: [f"return [{', '.join(names)}]"]))
        exec(f"def deal(state, at):\n    {body}", namespace)
        return RuleFunctions(*(namespace[name] for name in RuleFunctions._fields))

    @np.errstate(all="ignore")  # integers wrap around
    def _check(self) -> None:
        """Compare traced rules with the game's rules in random plays."""
        rules, initial, draws = self.functions(), self.functions(dealt=False), random.Random(1)
        for _ in range(_CHECKED):
            stage, dealt = 0, list[int]()
            history = RulesHistory(self._rules, self._start, named=False)
            state, moves = np.zeros(self.width, np.int64), [0] * (self.most_actions + 1)
            chances, known = [0.0] * self.most_actions, [0] * self.observations
            for length in range(LONGEST):
                if stage >= len(self.codes):
                    break
                functions = initial if length < self._moves else rules
                dealt = rules.deal(state, 0) if length == self._moves else dealt
                kinds, player = self.codes[stage], history.player()
                found: list[Any] = [functions.player(kinds[0], state, 0, dealt)]
                expected: list[Any] = [player]
                if player == TERMINAL:
                    found += [
                        functions.payoff(kinds[3], state, 0, dealt, i) for i in range(self._players)
                    ]
                    _compare(found, [*expected, *history.payoffs()])
                    break
                count = functions.legal(kinds[1], state, 0, dealt, moves)
                found += moves[:count]
                expected += history.actions()
                if player == CHANCE:
                    functions.chance(kinds[4], state, 0, dealt, chances)
                    found += [chances[move] for move in moves[:count]]
                    expected += [probability for _, probability in history.chance_outcomes()]
                else:
                    key = functions.key(kinds[2], state, 0, dealt, known)
                    found += [int(key), *known]
                    observed = history.information_set()
                    expected += [int(mixed(np.array(observed)[:, np.newaxis])[0]), *observed]
                _compare(found, expected)
                if count == 0:  # play raises the error
                    break
                move = np.int64(draws.choice(moves[:count]))
                history = history.child(move)
                stage = self.nexts[stage][functions.child(kinds[5], state, 0, dealt, move, 0)]


def _wide(column: Any) -> Any:
    return column.astype(np.int64) if column.dtype.kind in "iu" else column


def _compare(found: Sequence[Any], expected: Sequence[Any]) -> None:
    if [*found] != [*expected]:
        raise UntraceableError(f"traced rules return {found}, the game's rules {expected}")


def _ways(method: Callable[[], Any]) -> list[tuple[Any, Any]]:
    try:
        return all_ways(method)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise UntraceableError(f"{type(error).__name__}: {error}") from error


def _together(ways: Sequence[tuple[Any, list[Any]]]) -> list[Any]:
    """Merge the entries of all paths into one list, as long as the longest."""
    length = max(len(entries) for _, entries in ways)
    padded = [(met, entries + [0] * (length - len(entries))) for met, entries in ways]
    result = padded[-1][1]
    for met, entries in padded[:-1]:
        result = [cell("where", met, *pair) for pair in zip(entries, result, strict=True)]
    return result


def _outcomes(player: Any, players: int) -> set[int]:
    """Return the possible values of the acting player."""
    if not isinstance(player, Cell):
        return {int(player)}
    if player.op == "where":
        return _outcomes(player.args[1], players) | _outcomes(player.args[2], players)
    return {TERMINAL, CHANCE, *range(players)} if player.op != "input" else {*range(players)}


def _returned(names: list[str]) -> list[str]:
    return [f"return {names[0]}"]


def _known(names: list[str]) -> list[str]:
    written = [f"known[{k}] = {name}" for k, name in enumerate(names[1:])]
    return [*written, f"return {names[0]}"]


def _choice(names: list[str]) -> list[str]:
    options = [f"{name} if player == {k} else" for k, name in enumerate(names[:-1])]
    return [f"return {' '.join(options)} {names[-1]}"]


def _runs(legal: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield ranges of columns and their legal actions: ``(begin, end, legal)``.

    For a single column, ``legal`` is a boolean. For several, it is the first legal column, and all
    later columns of the range are legal.
    """
    column = 0
    while column < len(legal):
        end, threshold = column + 1, _threshold(legal[column], column)
        while threshold and end < len(legal) and _threshold(legal[end], end) == threshold:
            end += 1
        if threshold and end > column + 1:
            first = cell("add", *threshold)
            yield column, end, cell("maximum", cell("minimum", first, end), column)
        else:
            yield column, column + 1, legal[column]
        column = end


def _threshold(legal: Any, column: int) -> tuple[Any, int] | None:
    """Return a cell and a number whose sum is the first legal column, or None."""
    if not isinstance(legal, Cell) or legal.op not in ("greater", "less"):
        return None
    greater, smaller = legal.args if legal.op == "greater" else reversed(legal.args)
    if isinstance(greater, Cell) or not isinstance(smaller, Cell) or smaller.kind != "i":
        return None
    return (smaller, column + 1 - int(greater)) if float(greater).is_integer() else None


def _counted(runs: Sequence[tuple[int, int, Any]], names: list[str]) -> list[str]:
    lines = ["n = 0"]
    for (column, end, _), name in zip(runs, names, strict=True):
        if end > column + 1:  # write all columns without a branch
            lines += [f"for k in range({end - column}):", f"    moves[n + k] = {name} + k"]
            lines.append(f"n += {end} - {name}")
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
