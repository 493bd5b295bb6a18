"""Build the kernel of a rule's graph, derive its traits, and combine kernels."""

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from regretkit._util._arrays import RESOLUTION
from regretkit.trace._emit import Loops
from regretkit.trace._graph import (
    ELEMENTWISE,
    MATH,
    ONE,
    SIZE,
    ZERO,
    Node,
    Per,
    again,
    constant,
    elementwise,
    fill,
    make,
    nodes_of,
    nonnegative_nodes,
    rebuild,
    reduction,
    repeat,
)
from regretkit.trace._kernel import BlockFunction, Kernel, KernelArray, KernelTraits, Schedule
from regretkit.trace._rule import RuleGraph
from regretkit.trace._symbols import STRATEGY, UTILITY, VALUE, is_played

_FARTHEST = constant(-1.0)


_JUMPS = {"sign", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}
_JUMPS |= {"floor", "ceil", "trunc", "rint", "floor_divide", "remainder", "fmod"}
_JUMPS |= {"sqrt", "power", "log", "log2", "log10", "rank"}
"""Discontinuous or steep operations: they amplify rounding errors, at zero or elsewhere."""


def lower(outputs: Iterable[Node], exact: bool = False) -> list[Node]:
    """Express ``normalize``, ``project``, ``regret`` and ``add_cancelling`` by other operations.

    With ``exact``, sums that cancel up to rounding become zero, as in NumPy. Otherwise this holds
    only for operands of ``_JUMPS`` and divisors, where a rounding error would matter.
    """
    outputs = list(outputs)
    compared = _compared(outputs)

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.op in _LOWERED:
            return _LOWERED[node.op](*args)
        strict = exact or node in compared
        if node.op == "regret":
            return _regret(args[0], args[1], strict)
        if node.op == "add_cancelling":
            total = elementwise("add", *args)
            return _zero_cancelled(total, args[1]) if strict else total
        return None

    return rebuild(outputs, replace)


def _compared(outputs: list[Node]) -> set[Node]:
    """Return operands of ``_JUMPS``, divisors, and the nodes they are computed from elementwise."""
    found: set[Node] = set()
    for node in reversed(list(nodes_of(outputs))):
        if node.op in _JUMPS or (node in found and node.op in (*ELEMENTWISE, "repeat")):
            found.update(node.args)
        elif node.op == "divide":
            found.add(node.args[1])
    return found


def _zero_cancelled(total: Node, magnitude: Node) -> Node:
    """Return total, or zero where |total| <= RESOLUTION * |magnitude|."""
    rounding = elementwise("multiply", constant(RESOLUTION), elementwise("absolute", magnitude))
    cancelled = elementwise("less_equal", elementwise("absolute", total), rounding)
    return elementwise("where", cancelled, ZERO, total)


def _normalize(vector: Node) -> Node:
    """Return x / sum(x), or (x + 1) / size where the sum is zero."""
    total = reduction("sum", vector)
    empty = repeat(elementwise("equal", total, ZERO))
    if vector in nonnegative_nodes([vector], set()):  # sum(x) = 0 implies x = 0
        uniform = repeat(elementwise("divide", ONE, SIZE))
    else:
        uniform = elementwise("divide", elementwise("add", vector, ONE), repeat(SIZE))
    return elementwise("where", empty, uniform, elementwise("divide", vector, repeat(total)))


def _project(vector: Node) -> Node:
    """Return the Euclidean projection [x - level]+ onto the simplex (Michelot, 1986).

    The level solves sum [x - level]+ = 1. Newton's method drops entries at or below the level and
    ends after at most as many steps as there are actions.
    """
    shifted = elementwise("subtract", vector, repeat(reduction("max", vector)))
    shifted = elementwise("maximum", shifted, _FARTHEST)
    inner = sum(node.op == "root" for node in nodes_of([vector]))  # for a unique name
    level = make("iterate", per=Per.BLOCK, detail=f"level {inner}")
    greater = elementwise("greater", shifted, repeat(level))
    # level <- (sum of entries above the level - 1) / (number of these entries)
    total = reduction("sum", elementwise("where", greater, shifted, ZERO))
    count = reduction("sum", elementwise("where", greater, ONE, ZERO))
    following = elementwise("divide", elementwise("subtract", total, ONE), count)
    step = elementwise("subtract", following, level)
    root = make("root", fill(_FARTHEST, Per.BLOCK), level, step, per=Per.BLOCK, detail=0.0)
    return elementwise("maximum", elementwise("subtract", shifted, repeat(root)), ZERO)


def _regret(utility: Node, strategy: Node, exact: bool) -> Node:
    """Return u - <u, x>, with <u, x> = max u + <u - max u, x>: zero for equal utilities."""
    if is_played(utility, strategy) and not exact:
        return elementwise("subtract", utility, repeat(VALUE))
    largest = reduction("max", utility)
    if is_played(utility, strategy):  # the engine has set a value to zero that cancels
        value, missed = VALUE, elementwise("subtract", VALUE, largest)
        missed = elementwise("negative", elementwise("absolute", missed))
    else:
        difference = elementwise("subtract", utility, repeat(largest))
        missed = reduction("sum", elementwise("multiply", difference, strategy))
        value = elementwise("add", largest, missed)
        if not exact:
            return elementwise("subtract", utility, repeat(value))
    magnitude = elementwise("subtract", elementwise("absolute", largest), missed)
    if value is not VALUE:
        value = _zero_cancelled(value, magnitude)
    return _zero_cancelled(elementwise("subtract", utility, repeat(value)), repeat(magnitude))


_LOWERED = {"normalize": _normalize, "project": _project}
_WRITTEN_OUT = {0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf}
"""Constants in the code. Other numbers are parameters: a new value needs no compilation."""

SIGNATURES = {
    "propose": "block, first, last, strategy, state, parameters",
    "learn": "block, first, last, utility, value, strategy, state, parameters",
}


def build_kernel(graph: RuleGraph, *, exact: bool = False) -> Kernel:
    """Return the kernel of a rule's graph.

    With ``exact``, sums that cancel up to rounding become zero, as in NumPy.
    """
    traits, slots = traits_of(graph), dict[Node, None]()
    order = sorted(graph.per, key=lambda name: graph.per[name] is not Per.ACTION)
    inputs = [graph.inputs[name] for name in order]
    becomes = {k: graph.learned[name] for k, name in enumerate(order)}
    changed = {k: node for k, node in becomes.items() if node is not inputs[k]}
    outputs = lower([graph.strategy, *changed.values()], exact)
    outputs = _with_slots(outputs, slots)
    arrays = list(dict.fromkeys(n for n in nodes_of(outputs) if n.op == "array"))
    arrays.sort(key=lambda node: node.per is not Per.ACTION)
    functions: dict[str, dict[str, Node]] = {
        "propose": {"strategy": outputs[0]},
        "learn": {
            f"s{k}" if inputs[k].per is Per.ACTION else f"state[{k}]": node
            for k, node in zip(changed, outputs[1:], strict=True)
        },
    }
    code, workspace = _code(functions, inputs, arrays, len(slots), traits)
    propose, learn = _functions(code)
    own = [KernelArray(graph.per[name] is Per.ACTION, name) for name in order]
    constants = [KernelArray(n.per is Per.ACTION, constant=n.detail) for n in arrays]
    return Kernel(
        propose=propose,
        learn=learn,
        arrays=(*own, *[KernelArray(True)] * workspace, *constants),
        parameters=Schedule(tuple(slots), graph.numbers),
        traits=traits,
    )


def _with_slots(outputs: list[Node], slots: dict[Node, None]) -> list[Node]:
    """Replace numbers that do not depend on a block by parameters."""

    def parameter(node: Node) -> Node:
        if node.per is not Per.RULE:
            return node
        if node.is_constant and (node.boolean or node.detail in _WRITTEN_OUT):
            return node
        slots.setdefault(node)
        slot = _slot(list(slots).index(node))
        return elementwise("not_equal", slot, ZERO) if node.boolean else slot

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.per is Per.RULE:
            return node
        return again(node, tuple(map(parameter, args)))

    return [parameter(node) for node in rebuild(outputs, replace)]


def _slot(number: int) -> Node:
    return make("input", per=Per.RULE, detail=f"parameter {number}")


def _code(
    functions: Mapping[str, Mapping[str, Node]],
    inputs: list[Node],
    arrays: list[Node],
    slots: int,
    traits: KernelTraits,
) -> tuple[str, int]:
    """Return the code of functions, and their number of workspace arrays."""
    names = {UTILITY: "utility", STRATEGY: "strategy", VALUE: "value", SIZE: "size"}
    names |= {_slot(k): f"p{k}" for k in range(slots)}
    for (by_action, by_block), nodes in (("sb", inputs), ("cd", arrays)):
        names |= {
            node: f"{by_action if node.per is Per.ACTION else by_block}{k}"
            for k, node in enumerate(nodes)
        }
    bodies: dict[str, list[str]] = {}
    for function, outputs in functions.items():
        free = chain(["strategy"] * (function == "propose"), (f"w{k}" for k in count()))
        bodies[function] = Loops(outputs, names, free).code()
    used = {name: set(re.findall(r"[a-z_]+\d*", "\n".join(body))) for name, body in bodies.items()}
    workspace = len(
        {name for both in used.values() for name in both if name.strip("0123456789") == "w"}
    )
    state = [*map(names.__getitem__, inputs), *(f"w{k}" for k in range(workspace))]
    state += map(names.__getitem__, arrays)
    loads = {"size": "last - first"} | {f"p{k}": f"parameters[{k}]" for k in range(slots)}
    loads |= {name: f"state[{k}]{'[block]' * (name[0] in 'bd')}" for k, name in enumerate(state)}
    lines: list[str] = []
    for function, signature in SIGNATURES.items():
        lines.append(f"def {function}({signature}):")
        if traits.ignores_singleton_blocks:
            lines.append("    if last - first == 1:")
            lines += ["        strategy[first] = 1.0"] * (function == "propose")
            lines.append("        return")
        lines += [f"    {name} = {load}" for name, load in loads.items() if name in used[function]]
        lines += [f"    {line}" for line in bodies[function]] or ["    return"]
        lines.append("")
    return "\n".join(lines), workspace


# Code

_MATH: dict[str, Any] = {name: getattr(math, name) for name in MATH.values()}
_COMPILED: dict[str, Any] = _MATH | {
    **{name: getattr(math, name) for name in ("floor", "ceil", "trunc", "isfinite", "isinf")},
    **{"inf": math.inf, "nan": math.nan},
}


def _unguarded(function: Callable[..., float], ufunc: Callable[..., Any]) -> Callable[..., float]:
    """Return a function with NumPy's value, infinite or NaN, where Python raises."""

    def call(*numbers: float) -> float:
        try:
            return function(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(ufunc(*numbers))

    return call


_DIVISIONS = {
    ast.Div: _unguarded(lambda x, y: x / y, np.divide),
    ast.Mod: _unguarded(lambda x, y: x % y, np.remainder),
    ast.FloorDiv: _unguarded(lambda x, y: x // y, np.floor_divide),
}
_PLAIN = _COMPILED | {MATH[name]: _unguarded(_MATH[MATH[name]], getattr(np, name)) for name in MATH}
_PLAIN |= {kind.__name__: function for kind, function in _DIVISIONS.items()}


class _Plain(ast.NodeTransformer):
    """Replaces divisions by functions that return inf or NaN instead of raising an error."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if type(node.op) not in _DIVISIONS or getattr(node.right, "id", "") == "size":
            return node
        name = ast.Name(type(node.op).__name__, ast.Load())
        return ast.Call(name, [node.left, node.right], [])


@cache
def _functions(code: str) -> tuple[BlockFunction, BlockFunction]:
    """Return ``propose`` and ``learn``, the same objects for the same code."""
    compiled, plain = dict(_COMPILED), dict(_PLAIN)
    exec(compile(code, "<kernel of a traced rule>", "exec"), compiled)
    tree = ast.fix_missing_locations(_Plain().visit(ast.parse(code)))
    exec(compile(tree, "<kernel of a traced rule>", "exec"), plain)
    for name in SIGNATURES:
        function = compiled[name]
        function.__module__ = __name__
        function.source = code
        function.py_func = plain[name]
    return compiled["propose"], compiled["learn"]


# Traits


def traits_of(graph: RuleGraph) -> KernelTraits:
    """Return the traits of a rule's graph."""
    known = {UTILITY: fill(ZERO, Per.ACTION), VALUE: fill(ZERO, Per.BLOCK)}
    learned = _folded(graph.learned.values(), known, nonnegative_arrays(graph))
    unchanged = [graph.inputs[name] for name in graph.learned]
    by_time = any(
        node.op in ("iteration", "call") or (node.op == "input" and node.per is Per.RULE)
        for node in nodes_of([graph.strategy])
    )
    return KernelTraits(
        invariant_to_zero_utility=learned == unchanged and not by_time,
        ignores_singleton_blocks=_ignores_singletons(graph),
    )


def nonnegative_arrays(graph: RuleGraph) -> set[str]:
    """Return the arrays that are never negative, by induction from their initial values."""
    known = {name for name, minimum in graph.minimum.items() if minimum >= 0.0}
    while True:
        found = nonnegative_nodes(graph.learned.values(), known | {"strategy"})
        kept = {name for name in known if graph.learned[name] in found}
        if kept == known:
            return known
        known = kept


def _ignores_singletons(graph: RuleGraph) -> bool:
    """Return whether a block with one action keeps its initial state and plays the action."""
    if graph.alone.keys() != graph.per.keys():
        return False
    starts = {name: constant(number) for name, number in graph.alone.items()}
    known = {UTILITY: VALUE, STRATEGY: ONE, SIZE: ONE}
    known |= {node: starts[name] for name, node in graph.inputs.items()}
    outputs = _folded([graph.strategy, *graph.learned.values()], known, set(), _with_one_action)
    return [*map(_bare, outputs)] == [ONE, *(starts[name] for name in graph.learned)]


def _folded(
    outputs: Iterable[Node],
    known: Mapping[Node, Node],
    positive: set[str],
    fold: Callable[[str, list[Node]], Node | None] = lambda op, bare: None,
) -> list[Node]:
    """Return outputs for known inputs, simplified under the assumption of finite numbers.

    ``fold`` returns the result of an operation, or None if it is unknown.
    """

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        bare = [*map(_bare, args)]
        found = known.get(node) or fold(node.op, bare)
        if found is None and _vanishes(node.op, bare):
            return ZERO if node.per is Per.RULE else fill(ZERO, node.per)
        return found or _simpler(node.op, args, bare, positive)

    return rebuild(outputs, replace)


def _bare(node: Node) -> Node:
    return node.args[0] if node.op == "fill" else node


def _with_one_action(op: str, bare: list[Node]) -> Node | None:
    """Return the result of an operation in a block with one action, or None."""
    if op in ("sum", "max", "cumulate", "repeat", "fill", "sorted", "unsorted"):
        return bare[0]
    if op in ("normalize", "project", "chosen"):
        return ONE
    if op == "norm":
        return elementwise("absolute", bare[0])
    return ZERO if op == "rank" or (op == "regret" and bare[1] is ONE) else None


_OF_ZERO = {"sum", "max", "norm", "cumulate", "regret", "divide"}
"""Operations that are zero if their first operand is."""


def _vanishes(op: str, bare: list[Node]) -> bool:
    """Return whether an operation on finite numbers is zero: ``x - x``, ``0 x``, ``0 / x``."""
    if op == "subtract":
        return bare[0] is bare[1]
    return (op in _OF_ZERO and bare[0] is ZERO) or (op == "multiply" and ZERO in bare)


def _simpler(op: str, args: tuple[Node, ...], bare: list[Node], positive: set[str]) -> Node | None:
    """Return the operand that is the result for finite numbers, as of ``x + 0``, or None."""
    if op in ("add", "subtract", "add_cancelling") and bare[1] is ZERO:
        return args[0]
    if op in ("add", "add_cancelling") and bare[0] is ZERO:
        return args[1]
    if op == "maximum" and ZERO in bare:
        other = args[bare[0] is ZERO]
        return other if other in nonnegative_nodes([other], positive) else None
    return None


# Several kernels


class KernelSet(NamedTuple):
    """The kernels of a run's rules, combined into one."""

    propose: BlockFunction
    learn: BlockFunction
    by_action: tuple[bool, ...]
    """Whether each array of ``state`` is by action; otherwise it is by block."""
    begin: tuple[int, ...]
    """Each kernel's first array."""
    code: tuple[int, ...]
    """Each kernel's number of functions; kernels may share it."""
    dispatches: bool
    """Whether the last two arrays hold each block's functions and offset of parameters."""


def combine(kernels: Sequence[Kernel], single: bool) -> KernelSet:
    """Combine kernels; with ``single``, each player has only one."""
    keys = [(kernel.propose, kernel.learn, kernel.layout) for kernel in kernels]
    codes = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    ends = [0, *accumulate(len(layout) for *_, layout in codes)]
    by_action = tuple(chain.from_iterable(layout for *_, layout in codes))
    numbers = tuple(codes[key] for key in keys)
    begin = tuple(ends[number] for number in numbers)
    if single and len(codes) == 1:
        return KernelSet(*keys[0][:2], by_action, begin, numbers, False)
    spans = (tuple(range(*pair)) for pair in pairwise(ends))
    signature = tuple(
        (float(number), propose, learn, rows)
        for ((propose, learn, _), number), rows in zip(codes.items(), spans, strict=True)
    )
    functions = _dispatching(signature, len(by_action))
    return KernelSet(*functions, (*by_action, False, False), begin, numbers, True)


@cache
def _dispatching(
    signature: tuple[tuple[float, BlockFunction, BlockFunction, tuple[int, ...]], ...], arrays: int
) -> tuple[BlockFunction, BlockFunction]:
    """Return functions that dispatch on the last but one array of ``state``, by block."""

    def propose_any(
        block: int, first: int, last: int, strategy: Any, state: Any, parameters: Any
    ) -> None:
        given = parameters[int(state[arrays + 1][block]) :]
        for number, propose, _, rows in signature:
            if state[arrays][block] == number:
                propose(block, first, last, strategy, tuple(state[k] for k in rows), given)

    def learn_any(
        block: int,
        first: int,
        last: int,
        utility: Any,
        value: float,
        strategy: Any,
        state: Any,
        parameters: Any,
    ) -> None:
        given = parameters[int(state[arrays + 1][block]) :]
        for number, _, learn, rows in signature:
            if state[arrays][block] == number:
                own = tuple(state[k] for k in rows)
                learn(block, first, last, utility, value, strategy, own, given)

    return propose_any, learn_any
