"""The graph of a rule: elementwise operations, and reductions of each block to a number.

Nodes are immutable, and equal nodes are one object. So common subexpressions are shared, and graphs
are equal if their output nodes are identical.
"""

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray


class Per(enum.IntEnum):
    """Whether a node has one number, one for each block, or one for each action."""

    RULE = 0
    BLOCK = 1
    ACTION = 2


class Elementwise(NamedTuple):
    """An operation on numbers: its NumPy function, and its code for one number."""

    numpy: Callable[..., Any]
    code: str
    boolean: bool = False


_WHOLE = "(float({}({{0}})) if abs({{0}}) < 4503599627370496.0 else {{0}})"
"""Rounding to an integer. Numbers from 2^52 on are integers, and may not fit an int64."""

SIGNS = {
    **{"add": "+", "subtract": "-", "multiply": "*"},
    **{"divide": "/", "remainder": "%", "floor_divide": "//"},
}
COMPARISONS = {
    **{"greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<="},
    **{"equal": "==", "not_equal": "!="},
}
"""Comparison operators, by their names in NumPy."""
_ALIKE = "sqrt exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh hypot fmod"
MATH = {**{name: name for name in _ALIKE.split()}, "arctan": "atan", "power": "pow"}
"""Functions of ``math``, by their names in NumPy."""


def operator(sign: str) -> str:
    """Return the code of an operator."""
    return f"({{0}} {sign} {{1}})"


def _function(name: str) -> Elementwise:
    ufunc = getattr(np, name)
    return Elementwise(ufunc, MATH[name] + ("({0})" if ufunc.nin == 1 else "({0}, {1})"))


ELEMENTWISE = {
    **{name: Elementwise(getattr(np, name), operator(sign)) for name, sign in SIGNS.items()},
    **{name: Elementwise(getattr(np, name), operator(s), True) for name, s in COMPARISONS.items()},
    **{name: _function(name) for name in MATH},
    "negative": Elementwise(np.negative, "(-{0})"),
    "absolute": Elementwise(np.absolute, "abs({0})"),
    "square": Elementwise(np.square, "({0} * {0})"),
    "sign": Elementwise(np.sign, "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0})"),
    "floor": Elementwise(np.floor, _WHOLE.format("floor")),
    "ceil": Elementwise(np.ceil, _WHOLE.format("ceil")),
    "trunc": Elementwise(np.trunc, _WHOLE.format("trunc")),
    "rint": Elementwise(np.rint, _WHOLE.format("round")),
    "maximum": Elementwise(np.maximum, "({1} if {0} < {1} or {1} != {1} else {0})"),
    "minimum": Elementwise(np.minimum, "({1} if {0} > {1} or {1} != {1} else {0})"),
    "fmax": Elementwise(np.fmax, "({1} if {0} < {1} or {0} != {0} else {0})"),
    "fmin": Elementwise(np.fmin, "({1} if {0} > {1} or {0} != {0} else {0})"),
    "logical_and": Elementwise(np.logical_and, "({0} and {1})", boolean=True),
    "logical_or": Elementwise(np.logical_or, "({0} or {1})", boolean=True),
    "logical_xor": Elementwise(np.logical_xor, "({0} != {1})", boolean=True),
    "logical_not": Elementwise(np.logical_not, "(not {0})", boolean=True),
    "isfinite": Elementwise(np.isfinite, "isfinite({0})", boolean=True),
    "isnan": Elementwise(np.isnan, "({0} != {0})", boolean=True),
    "isinf": Elementwise(np.isinf, "isinf({0})", boolean=True),
    "where": Elementwise(np.where, "({1} if {0} else {2})"),
    "as_float": Elementwise(lambda x: np.asarray(x, np.float64), "(1.0 if {0} else 0.0)"),
}
"""Elementwise operations, by their names in NumPy."""

_LOGICAL = {name for name in ELEMENTWISE if name.startswith("logical")}

REDUCTIONS = {"sum", "max", "norm", "argmax"}
"""Reductions of the actions of a block to one number."""

SORTING = {
    "rank": "(x + 1.0 if {0}[b] < {0}[a] or ({0}[b] == {0}[a] and b < a) else x)",
    "sorted": "({0}[b] if {1}[b] == float(a - first) else x)",
    "unsorted": "({0}[b] if {1}[a] == float(b - first) else x)",
}
"""Sorting within a block: the rank of each entry, the entries by rank, and the inverse.

The code updates x, initially 0, for each pair of actions a and b."""

Detail: TypeAlias = Any
"""The value of a constant, the name of an input, an array, or the options of a root search."""


class Node:
    """One operation, or an input.

    Besides ``ELEMENTWISE`` and ``REDUCTIONS`` an operation is

    - ``"constant"``; ``"input"``, by name; ``"array"``, which is constant;
    - ``"size"``, the number of actions of a block; ``"iteration"``;
    - ``"repeat"``, from a number by block to one by action; ``"fill"``, from one number to equal
      numbers by action or block;
    - ``"cumulate"``, running sums of a block; ``"chosen"``, 1 at the index of the argument;
    - ``"normalize"``, ``"project"``, ``"add_cancelling"`` and ``"regret"``, as in ``Simplices``;
    - ``"rank"``, ``"sorted"`` and ``"unsorted"``, see ``SORTING``;
    - ``"root"``, a search in each block by Newton's method (arguments: start, ``"iterate"``, step)
      or bisection (arguments: low, high, ``"iterate"``, condition).
    """

    __slots__ = ("__weakref__", "args", "boolean", "detail", "op", "per")

    def __init__(
        self, op: str, args: tuple["Node", ...], per: Per, boolean: bool, detail: Detail
    ) -> None:
        self.op, self.args, self.per, self.boolean, self.detail = op, args, per, boolean, detail

    def __repr__(self) -> str:
        given = ", ".join([*map(repr, self.args), *([] if self.detail is None else [self.label()])])
        return self.label() if self.op in ("constant", "input") else f"{self.op}({given})"

    def label(self) -> str:
        """Return the detail as text."""
        if isinstance(self.detail, np.ndarray):
            return f"shape={self.detail.shape}"
        return self.detail if isinstance(self.detail, str) else repr(self.detail)

    @property
    def is_constant(self) -> bool:
        """Whether the node is a constant number."""
        return self.op == "constant"


_NODES: WeakValueDictionary[tuple[object, ...], Node] = WeakValueDictionary()


def make(op: str, *args: Node, per: Per | None = None, detail: Detail = None) -> Node:
    """Return the node of an operation, not simplified."""
    key: object = detail
    if isinstance(detail, np.ndarray):
        key = id(detail) if detail.flags.writeable else (detail.shape, detail.tobytes())
    elif isinstance(detail, float):  # repr distinguishes 0.0 from -0.0, and nan equals itself
        key = repr(detail)
    full = (op, *map(id, args), key, per)
    node = _NODES.get(full)
    if node is None:
        if per is None:
            per = max((arg.per for arg in args), default=Per.RULE)
        boolean = op in ELEMENTWISE and ELEMENTWISE[op].boolean
        if op == "where":
            boolean = args[1].boolean and args[2].boolean
        elif op in ("repeat", "fill"):
            boolean = args[0].boolean
        elif op == "constant":
            boolean = isinstance(detail, bool)
        node = _NODES[full] = Node(op, args, per, boolean, detail)
    return node


def constant(value: float | bool) -> Node:
    """Return the node of a number."""
    return make(
        "constant", detail=bool(value) if isinstance(value, bool | np.bool_) else float(value)
    )


ZERO, ONE = constant(0.0), constant(1.0)
SIZE = make("size", per=Per.BLOCK)
ITERATION = make("iteration", per=Per.RULE)


def as_float(node: Node) -> Node:
    """Convert a node to numbers: 1 for true, 0 for false."""
    if not node.boolean:
        return node
    return constant(float(node.detail)) if node.is_constant else make("as_float", node)


def as_boolean(node: Node) -> Node:
    """Convert a node to booleans: true where it is not zero."""
    return node if node.boolean else elementwise("not_equal", node, ZERO)


def elementwise(op: str, *args: Node) -> Node:
    """Return an elementwise operation, simplified where results stay the same."""
    widest = max(arg.per for arg in args)
    if any(arg.op == "fill" for arg in args):
        inner = [arg.args[0] if arg.op == "fill" else arg for arg in args]
        if max(node.per for node in inner) is widest:
            args = tuple(inner)
        elif all(node.per is Per.RULE for node in inner):
            return fill(elementwise(op, *inner), widest)
    if op in _LOGICAL:
        args = tuple(map(as_boolean, args))
    elif op == "where":
        chosen = args[1:]
        if not all(arg.boolean for arg in chosen):
            chosen = tuple(map(as_float, chosen))
        args = (as_boolean(args[0]), *chosen)
    elif op != "as_float":
        args = tuple(map(as_float, args))
    if all(arg.is_constant for arg in args):
        with np.errstate(all="ignore"):
            value = ELEMENTWISE[op].numpy(*(arg.detail for arg in args))
        return constant(value.item() if isinstance(value, np.generic | np.ndarray) else value)
    result = _simplified(op, args) or make(op, *args)
    return result if result.per is widest else fill(result, widest)


def _simplified(op: str, args: tuple[Node, ...]) -> Node | None:
    """Return a simpler node equal to an operation, or None.

    ``x + 0`` becomes ``x``: only the sign of a zero may differ.
    """
    first, last = args[0], args[-1]
    if op == "where" and first.is_constant:
        return args[1] if first.detail else args[2]
    if op == "where" and args[1] is args[2]:
        return args[1]
    if op == "where" and last.op == "where" and last.args[0] is first:
        return elementwise("where", first, args[1], last.args[2])
    if (op in ("add", "subtract") and last is ZERO) or (
        op in ("multiply", "divide") and last is ONE
    ):
        return first
    if (op == "add" and first is ZERO) or (op == "multiply" and first is ONE):
        return last
    if op in ("add", "subtract") and last.is_constant and first.op in ("add", "subtract"):
        inner, passed = first.args
        if inner is ITERATION and passed.is_constant:  # exact for integers
            signs = {"add": 1.0, "subtract": -1.0}
            moved = signs[first.op] * passed.detail + signs[op] * last.detail
            return elementwise("add", ITERATION, constant(moved))
    if op == "power" and last.is_constant:
        if last.detail in (0.0, 1.0):
            return first if last.detail else ONE
        short = {2.0: "square", 0.5: "sqrt"}.get(last.detail)
        if short is None and last.detail in (3.0, 4.0) and first.per is not Per.RULE:
            square = elementwise("square", first)  # products are faster than a power
            return elementwise("multiply", square, first if last.detail == 3.0 else square)
        return make(short, first) if short else None
    if op in ("maximum", "minimum", "fmax", "fmin") and (
        first is last or (first.op == op and last in first.args)
    ):
        return first
    return None


def repeat(node: Node) -> Node:
    """Return the node that gives each action the number of its block."""
    if node.op == "fill":
        return fill(node.args[0], Per.ACTION)
    return node if node.per is Per.RULE else make("repeat", node, per=Per.ACTION)


def fill(node: Node, per: Per) -> Node:
    """Return the node that gives all blocks or actions the same number."""
    return make("fill", node, per=per)


def reduction(op: str, node: Node) -> Node:
    """Return the node that reduces each block to a number."""
    return make(op, as_float(node), per=Per.BLOCK)


# Traversal


def nodes_of(outputs: Iterable[Node]) -> Iterator[Node]:
    """Yield the outputs and all nodes below them, each after its arguments."""
    return in_order(outputs, lambda node: node.args)


def in_order(outputs: Iterable[Any], args: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Yield the outputs and everything below them, each after its arguments."""
    seen: set[Any] = set()
    stack = [(node, False) for node in reversed([*outputs])]
    while stack:
        node, expanded = stack.pop()
        if expanded and node not in seen:
            seen.add(node)
            yield node
        elif node not in seen:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed([*args(node)]))


def rebuild(
    outputs: Iterable[Node], replace: Callable[[Node, tuple[Node, ...]], Node | None]
) -> list[Node]:
    """Return a copy of a graph with each node replaced by ``replace(node, new arguments)``.

    If ``replace`` returns None, the operation is applied to its new arguments.
    """
    outputs = list(outputs)
    new: dict[Node, Node] = {}
    for node in nodes_of(outputs):
        args = tuple(new[arg] for arg in node.args)
        replaced = replace(node, args)
        if replaced is None:
            replaced = again(node, args)
        new[node] = replaced
    return [new[node] for node in outputs]


def again(node: Node, args: tuple[Node, ...]) -> Node:
    """Apply a node's operation to other arguments."""
    if node.op in ELEMENTWISE:
        return elementwise(node.op, *args)
    if all(old is arg for old, arg in zip(node.args, args, strict=True)):
        return node
    if node.op in ("repeat", "fill"):
        return repeat(args[0]) if node.op == "repeat" else fill(args[0], node.per)
    return make(node.op, *args, per=node.per, detail=node.detail)


# Numbers of the rule


def number_before(path: str) -> Node:
    """Return the node of a scalar state before an iteration."""
    return make("input", per=Per.RULE, detail=f"{path} before")


def number_after(path: str) -> Node:
    """Return the node of a scalar state after an iteration."""
    return make("input", per=Per.RULE, detail=f"{path} after")


def values_at(
    nodes: Sequence[Node],
    iterations: NDArray[np.float64],
    known: Mapping[Node, NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Return the nodes' values in each iteration, shape ``(nodes, iterations)``."""
    values: dict[Node, Any] = dict(known or {})
    with np.errstate(all="ignore"):
        for node in nodes_of(nodes):
            if node in values:
                continue
            if node.op == "constant":
                values[node] = np.asarray(node.detail)
            elif node.op == "iteration":
                values[node] = iterations
            elif node.op == "call":
                [times] = (values[arg] for arg in node.args)
                values[node] = np.array([node.detail(int(t)) for t in times], np.float64)
            else:
                given = [values[arg] for arg in node.args]
                values[node] = ELEMENTWISE[node.op].numpy(*given)
    rows = [np.broadcast_to(values[node], iterations.shape) for node in nodes]
    return np.array(rows, np.float64).reshape(len(nodes), iterations.size)


_NEVER_NEGATIVE = {"size", "iteration", "absolute", "square", "sqrt", "exp", "norm", "as_float"}
_NEVER_NEGATIVE |= {"project", "chosen", "hypot", "rank"}
_AS_ARGUMENTS = {"add", "multiply", "divide", "minimum", "sum", "max", "repeat", "fill", "cumulate"}
_AS_ARGUMENTS |= {"normalize", "add_cancelling", "sorted", "unsorted"}


def nonnegative_nodes(outputs: Iterable[Node], inputs: set[str]) -> set[Node]:
    """Return the nodes that are provably nonnegative or NaN, given nonnegative inputs."""
    found: set[Node] = set()
    for node in nodes_of(outputs):
        known = [arg in found for arg in node.args]
        if (
            node.op in _NEVER_NEGATIVE
            or (node.op == "constant" and node.detail >= 0.0)
            or (node.op == "input" and node.detail in inputs)
            or (node.op == "maximum" and any(known))
            or (node.op == "where" and all(known[1:]))
            or (node.op == "power" and known[0])
            or (node.op in _AS_ARGUMENTS and all(known))
        ):
            found.add(node)
    return found


def number(value: float) -> str:
    """Return the code of a number."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0.0 else "(-inf)"
    return repr(float(value)) if value >= 0.0 and not str(value).startswith("-") else f"({value!r})"


def as_text(outputs: Mapping[str, Node]) -> str:
    """Return a graph as text, one operation per line."""
    names: dict[Node, str] = {}
    lines: list[str] = []
    for node in nodes_of(outputs.values()):
        if node.op in ("constant", "input", "size", "iteration"):
            names[node] = node.label() if node.detail is not None else node.op
            continue
        names[node] = f"%{len(lines)}"
        given = [names[arg] for arg in node.args] + (
            [node.label()] if node.detail is not None else []
        )
        lines.append(
            f"{names[node]:>5} = {node.op}({', '.join(given)})  # per {node.per.name.lower()}"
        )
    return "\n".join([*lines, *(f"{name} <- {names[node]}" for name, node in outputs.items())])
