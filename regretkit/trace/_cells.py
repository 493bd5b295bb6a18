"""Cells: symbolic numbers, each an expression of others.

A node of a rule's graph represents the numbers of all blocks. A cell represents one number: arrays
of cells can be indexed, sorted, stacked and written to.
"""

import functools
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from regretkit.trace._graph import COMPARISONS, SIGNS, in_order, operator
from regretkit.trace._symbols import UntraceableError

Scalar: TypeAlias = "Cell | int | float | bool"
Result = TypeVar("Result")


class Cell:
    """An operation on numbers, or an input. Within a trace, equal cells are one object."""

    __slots__ = ("args", "kind", "natural", "op")

    def __init__(self, op: str, args: tuple[Any, ...], kind: str) -> None:
        self.op, self.args, self.kind = op, args, kind
        known = [is_natural(arg) for arg in args] if op in _NATURAL else [False]
        self.natural: bool = kind == "b" or _NATURAL.get(op, all)(known)
        """Whether it is provably nonnegative."""


Recorded: TypeAlias = dict[tuple[Any, ...], Cell]

CODES = {
    **{name: operator(sign) for name, sign in (SIGNS | COMPARISONS).items()},
    **{"left_shift": operator("<<"), "right_shift": operator(">>")},
    **{"bitwise_and": operator("&"), "bitwise_or": operator("|"), "bitwise_xor": operator("^")},
    "invert": "(~{0})",
    "negative": "(-{0})",
    "absolute": "abs({0})",
    "maximum": "({0} if {0} > {1} else {1})",
    "minimum": "({0} if {0} < {1} else {1})",
    "and": "({0} and {1})",
    "or": "({0} or {1})",
    "xor": "({0} != {1})",
    "not": "(not {0})",
    "where": "({1} if {0} else {2})",
    "signed": "((({0} + {1}) & {2}) - {1})",
    "unsigned": "({0} & {1})",
    "float": "float({0})",
    "int": "int({0})",
}
_LOGICAL = {"and", "or", "xor", "not"}
_NATURAL: dict[str, Callable[[list[bool]], bool]] = {
    **dict.fromkeys(("where", "int", "minimum", "floor_divide", "right_shift", "bitwise_or"), all),
    **dict.fromkeys(("maximum", "bitwise_and", "unsigned"), any),
    "remainder": lambda known: known[1],
}
"""Whether a result is nonnegative, given which operands are."""
_MAY_FAIL = {"divide", "floor_divide", "remainder", "left_shift", "right_shift"}
_MOST_WAYS = 64
"""Most paths through a function, by the outcomes of its branches."""


class Tracing(threading.local):
    """The trace of this thread."""

    cells: Recorded | None = None
    decided: dict[Cell, bool]
    """The outcome of each condition on which Python has branched, in order."""
    taken: tuple[bool, ...] = ()
    """Outcomes that this run repeats."""


TRACING = Tracing()


def _kind(value: Scalar) -> str:
    if isinstance(value, Cell):
        return value.kind
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"


def is_natural(value: Scalar) -> bool:
    """Return whether a number is provably nonnegative."""
    return value.natural if isinstance(value, Cell) else value >= 0


def cell(op: str, *args: Any) -> Any:
    """Return the result of an operation: a number if all operands are numbers, else a cell."""
    if op in _LOGICAL or op == "where":
        first = _truth(args[0])
        args = (first, _truth(args[1])) if op in ("and", "or", "xor") else (first, *args[1:])
    elif op != "input":
        args = tuple(_as_number(arg) for arg in args)
    simple = _simplified(op, args)
    if simple is not None:
        return simple
    if op == "where":
        kinds = [_kind(arg) for arg in args[1:]]
        kind = max(kinds, key="bif".index)
        if kinds[0] != kinds[1]:
            args = (args[0], *(cast(arg, kind) for arg in args[1:]))
    elif op in COMPARISONS or op in _LOGICAL:
        kind = "b"
    else:
        floating = op in ("divide", "float") or (op != "int" and "f" in map(_kind, args))
        kind = "f" if floating else "i"
    return _made(op, args, kind)


def _made(op: str, args: tuple[Any, ...], kind: str) -> Cell:
    if TRACING.cells is None:
        raise UntraceableError("a symbolic value is used outside its trace")
    key = (op, kind, *((arg if isinstance(arg, Cell) else (type(arg), arg)) for arg in args))
    return TRACING.cells.setdefault(key, Cell(op, args, kind))


def given(name: str, kind: str, *, natural: bool = False) -> Cell:
    """Return an input with the code ``name``."""
    made = _made("input", (name,), kind)
    made.natural = natural
    return made


def _truth(value: Any) -> Any:
    if isinstance(value, Cell):
        return value if value.kind == "b" else cell("not_equal", value, 0)
    return bool(value)


def _as_number(value: Any) -> Any:
    if isinstance(value, Cell) and value.kind == "b":
        return _made("int", (value,), "i")
    return int(value) if isinstance(value, bool) else value


def cast(value: Any, kind: str) -> Any:
    """Convert a number to a kind: boolean, integer or float."""
    if kind == "b":
        return _truth(value)
    value = _as_number(value)
    if not isinstance(value, Cell):
        return int(value) if kind == "i" else float(value)
    return value if value.kind == kind else cell("float" if kind == "f" else "int", value)


def _simplified(op: str, args: tuple[Any, ...]) -> Any:
    """Return a simpler value equal to an operation, or None."""
    known = [not isinstance(arg, Cell) for arg in args]
    first: Any = args[0]
    last: Any = args[-1]
    if op == "where":
        if known[0]:
            return args[1] if first else last
        equal = type(args[1]) is type(last) and (args[1] is last or (known[1] and args[1] == last))
        return args[1] if equal else None
    if op in ("and", "or") and any(known):
        constant, other = (first, last) if known[0] else (last, first)
        return other if constant == (op == "and") else constant
    if op == "not" and not known[0] and first.op == "not":
        return first.args[0]
    if op != "input" and all(known):
        scope: dict[str, Any] = {f"x{k}": arg for k, arg in enumerate(args)}
        try:
            return eval(CODES[op].format(*scope), {"float": float, "int": int, "abs": abs}, scope)
        except ArithmeticError:
            return None
    if op in ("add", "bitwise_or", "bitwise_xor") and known[0] and not first and _kind(last) == "i":
        return last
    if op in ("add", "subtract", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        return first if known[1] and not last and _kind(first) == _kind(last) == "i" else None
    if op == "equal" and known[1] and first.op == "where":  # usually a test of the acting player
        outcomes = first.args[1:]
        if not any(isinstance(outcome, Cell) for outcome in outcomes):
            matches = [outcome == last for outcome in outcomes]
            return (
                cell("where", first.args[0], *matches)
                if matches[0] == matches[1]
                else (first.args[0] if matches[0] else cell("not", first.args[0]))
            )
    return None


# Paths through a function


def all_ways(function: Callable[[], Result]) -> list[tuple[Any, Result]]:
    """Run a function once for each outcome of its branches, and return its results.

    Each result comes with the condition of its path. These conditions exclude each other.
    """
    ways: list[tuple[Any, Result]] = []
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        if len(ways) >= _MOST_WAYS:
            raise UntraceableError("the code branches on symbolic values too often")
        TRACING.decided, TRACING.taken = {}, waiting.pop()
        result, outcomes = function(), [*TRACING.decided.values()]
        waiting += [(*outcomes[:k], False) for k in range(len(TRACING.taken), len(outcomes))]
        conditions = [c if met else cell("not", c) for c, met in TRACING.decided.items()]
        ways.append((functools.reduce(functools.partial(cell, "and"), conditions, True), result))
    return ways


def decide(value: Any) -> bool:
    condition = _truth(value)
    if not isinstance(condition, Cell):
        return bool(condition)
    if condition.op == "not":
        return not decide(condition.args[0])
    decided, taken = TRACING.decided, TRACING.taken
    if condition not in decided:
        decided[condition] = taken[len(decided)] if len(decided) < len(taken) else True
    return decided[condition]


# Code


def is_input(value: Any, name: str) -> bool:
    """Return whether a number is the input of this name."""
    return isinstance(value, Cell) and value.op == "input" and value.args[0] == name


def _cells(values: Iterable[Any]) -> list[Cell]:
    return [value for value in values if isinstance(value, Cell)]


def _ordered(outputs: Iterable[Any], known: Container[Cell] = ()) -> Iterator[Cell]:
    """Yield cells without a name in ``known``, each after its operands."""
    return in_order(_cells(outputs), lambda x: () if x in known else _cells(x.args))


def computed_from(inputs: Container[str], outputs: Iterable[Any]) -> Iterator[Cell]:
    """Yield the integers within outputs that depend on these inputs only.

    Operands of such an integer are left out, as are operations that could fail for other actions.
    """
    outputs, independent = [*outputs], set[Cell]()
    for node in _ordered(outputs):
        cells = set(_cells(node.args))
        if node.op == "input":
            if node.args[0] in inputs:
                independent.add(node)
        elif cells <= independent and not (node.op in _MAY_FAIL and node.args[1] in cells):
            independent.add(node)
    last = {node for node in independent if node.kind == "i" and node.op != "input"}
    for node in _ordered(outputs, last):
        if node in last:
            yield node


def code(
    outputs: Iterable[Any],
    results: Callable[[list[str]], list[str]],
    known: Mapping[Cell, str] = MappingProxyType({}),
) -> list[str]:
    """Return lines that compute outputs, then the lines ``results(names of the outputs)``.

    ``known`` has the code of cells that were computed before.
    """
    outputs, names, lines = [*outputs], dict[Cell, str](), list[str]()
    for node in _ordered(outputs, known):
        computed = known.get(node) or node.args[0]  # of an input, its code
        if node.op != "input" and node not in known:
            terms = [names[arg] if isinstance(arg, Cell) else repr(arg) for arg in node.args]
            computed = CODES[node.op].format(*terms)
        names[node] = f"v{len(lines)}"
        lines.append(f"{names[node]} = {computed}")
    return lines + results([names[x] if isinstance(x, Cell) else repr(x) for x in outputs])
