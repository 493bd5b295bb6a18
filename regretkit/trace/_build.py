"""From the graph of a rule to its kernel, and from several kernels to one."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from regretkit._util._arrays import RESOLUTION
from regretkit.trace._emit import Loops
from regretkit.trace._graph import (
    ELEMENTWISE,
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
from regretkit.trace._kernel import BlockFunction, Kernel
from regretkit.trace._rule import RuleGraph
from regretkit.trace._symbolic_functions import STRATEGY, UTILITY, VALUE, is_played
from regretkit.trace._traits import Schedule, discounts, nonnegative_arrays, traits_of

_FARTHEST = constant(-1.0)


_JUMPS = {"sign", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}
_JUMPS |= {"floor", "ceil", "trunc", "rint", "floor_divide", "remainder", "fmod"}
_JUMPS |= {"sqrt", "power", "log", "log2", "log10"}
"""Operations that make a large difference of a small one, at zero or elsewhere."""


def lower(outputs: Iterable[Node], exact: bool = False) -> list[Node]:
    """Return a graph without ``normalize``, ``project``, ``regret`` and ``add_cancelling``.

    What cancels up to rounding is zero, as it is in NumPy, with ``exact``, or where rounding would
    decide: where it is compared, divided by, or the like.
    """
    outputs = list(outputs)
    compared = _compared(outputs)

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.op == "normalize":
            return _normalize(args[0])
        if node.op == "project":
            return _project(args[0])
        if node.op == "regret":
            return _regret(args[0], args[1], exact or node in compared)
        if node.op == "add_cancelling":
            total = elementwise("add", *args)
            return _zero_cancelled(total, args[1]) if exact or node in compared else total
        return None

    return rebuild(outputs, replace)


def _compared(outputs: list[Node]) -> set[Node]:
    """Return what is compared, or divided by, and of what that is made, number by number."""
    found: set[Node] = set()
    for node in reversed(list(nodes_of(outputs))):
        if node.op in _JUMPS or (node in found and node.op in (*ELEMENTWISE, "repeat")):
            found.update(node.args)
        elif node.op == "divide":
            found.add(node.args[1])
    return found


def _zero_cancelled(total: Node, magnitude: Node) -> Node:
    rounding = elementwise("multiply", constant(RESOLUTION), elementwise("absolute", magnitude))
    cancelled = elementwise("less_equal", elementwise("absolute", total), rounding)
    return elementwise("where", cancelled, ZERO, total)


def _normalize(vector: Node) -> Node:
    total = reduction("sum", vector)
    empty = repeat(elementwise("equal", total, ZERO))
    if vector in nonnegative_nodes([vector], set()):  # whose sum is zero where all of it is
        uniform = repeat(elementwise("divide", ONE, SIZE))
    else:
        uniform = elementwise("divide", elementwise("add", vector, ONE), repeat(SIZE))
    return elementwise("where", empty, uniform, elementwise("divide", vector, repeat(total)))


def _project(vector: Node) -> Node:
    """Subtract what leaves positive parts that sum to one.

    Those that cannot be positive are left out until all that remain are (Michelot, 1986): a Newton
    search, which ends after as many steps as there are actions.
    """
    shifted = elementwise("subtract", vector, repeat(reduction("max", vector)))
    shifted = elementwise("maximum", shifted, _FARTHEST)
    inner = sum(node.op == "root" for node in nodes_of([vector]))  # none of them is this search
    level = make("iterate", per=Per.BLOCK, detail=f"level {inner}")
    greater = elementwise("greater", shifted, repeat(level))
    total = reduction("sum", elementwise("where", greater, shifted, ZERO))
    count = reduction("sum", elementwise("where", greater, ONE, ZERO))
    following = elementwise("divide", elementwise("subtract", total, ONE), count)
    step = elementwise("subtract", following, level)
    root = make("root", fill(_FARTHEST, Per.BLOCK), level, step, per=Per.BLOCK, detail=0.0)
    return elementwise("maximum", elementwise("subtract", shifted, repeat(root)), ZERO)


def _regret(utility: Node, strategy: Node, exact: bool) -> Node:
    if is_played(utility, strategy) and not exact:
        return elementwise("subtract", utility, repeat(VALUE))
    largest = reduction("max", utility)
    if is_played(utility, strategy):  # whose value is zero already if it cancels
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


_WRITTEN_OUT = {0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf}
"""Numbers that stand in the code; others are parameters, so that a change compiles nothing."""

SIGNATURES = {
    "propose": "block, first, last, strategy, state, parameters",
    "learn": "block, first, last, utility, value, strategy, state, parameters",
}


def build_kernel(graph: RuleGraph, *, exact: bool = False) -> Kernel:
    """Return the kernel of a rule's graph.

    With ``exact``, what cancels up to rounding is zero, as it is in NumPy.
    """
    names = {per: [n for n in graph.per if graph.per[n] is per] for per in (Per.ACTION, Per.BLOCK)}
    found = discounts(graph, nonnegative_arrays(graph))
    slots: dict[Node, None] = {}
    if found is not None:
        first, *factors = found
        names[Per.ACTION].sort(key=lambda name: name != first)
        slots = dict.fromkeys([*factors])
        if len(slots) == 1:  # the same for both signs, but two parameters
            slots = {factors[0]: None, make("add", factors[1], ZERO): None}
    order = [*names[Per.ACTION], *names[Per.BLOCK]]
    traits = traits_of(graph, found is not None)
    inputs = {make("input", per=graph.per[name], detail=name): name for name in order}
    changed = {name: node for name, node in graph.learned.items() if inputs.get(node) != name}
    outputs = lower([graph.strategy, *changed.values()], exact)
    outputs = _with_slots(outputs, slots)
    arrays = list(dict.fromkeys(n for n in nodes_of(outputs) if n.op == "array"))
    arrays.sort(key=lambda node: node.per is not Per.ACTION)
    functions: dict[str, dict[str, Node]] = {
        "propose": {"strategy": outputs[0]},
        "learn": {f"s{order.index(n)}": node for n, node in zip(changed, outputs[1:], strict=True)},
    }
    workspace = _Workspace(len(order))
    place = {make("input", per=graph.per[n], detail=n): k for k, n in enumerate(order)}
    source = _source(
        functions, place, arrays, list(slots), workspace, traits.ignores_singleton_blocks
    )
    propose, learn = _functions(source["compiled"], source["plain"])
    nodes = tuple(slots)
    parameters: Any = Schedule(nodes, graph.numbers)
    if all(node.is_constant for node in nodes) and not graph.numbers:
        parameters = tuple(float(node.detail) for node in nodes)
    return Kernel(
        propose,
        learn,
        state=names[Per.ACTION],
        block_state=names[Per.BLOCK],
        parameters=parameters,
        traits=traits,
        workspace=workspace.maximum,
        constants=tuple(node.detail for node in arrays if node.per is Per.ACTION),
        block_constants=tuple(node.detail for node in arrays if node.per is not Per.ACTION),
    )


def _with_slots(outputs: list[Node], slots: dict[Node, None]) -> list[Node]:
    """Return outputs in which parameters stand for numbers that no block has a part in."""

    def parameter(node: Node) -> Node:
        if node.per is not Per.RULE:
            return node
        if node.is_constant and (node.boolean or node.detail in _WRITTEN_OUT):
            return node
        slots.setdefault(node)
        slot = make("input", per=Per.RULE, detail=f"parameter {list(slots).index(node)}")
        return elementwise("not_equal", slot, ZERO) if node.boolean else slot

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.per is Per.RULE:
            return node
        return again(node, tuple(map(parameter, args)))

    return [parameter(node) for node in rebuild(outputs, replace)]


class _Workspace:
    """Arrays by action behind those of the state, as many as are asked for."""

    def __init__(self, begin: int) -> None:
        self.begin, self.maximum = begin, 0

    def names(self, *first: str) -> Iterable[str]:
        yield from first
        count = 0
        while True:
            count += 1
            self.maximum = max(self.maximum, count)
            yield f"w{count - 1}"


def _source(
    functions: Mapping[str, Mapping[str, Node]],
    place: Mapping[Node, int],
    arrays: list[Node],
    slots: list[Node],
    workspace: _Workspace,
    ignores_singletons: bool,
) -> dict[str, str]:
    bodies: dict[tuple[str, str], list[str]] = {}
    names = {node: f"s{k}" if node.per is Per.ACTION else f"b{k}" for node, k in place.items()}
    names |= {node: f"c{k}" if node.per is Per.ACTION else f"d{k}" for k, node in enumerate(arrays)}
    for k in range(len(slots)):
        names[make("input", per=Per.RULE, detail=f"parameter {k}")] = f"p{k}"
    names |= {UTILITY: "utility", STRATEGY: "strategy", VALUE: "value", SIZE: "size"}
    for kind in ("compiled", "plain"):
        for function, outputs in functions.items():
            arguments = ["strategy"] if function == "propose" else []
            loops = Loops(outputs, names, workspace.names(*arguments), plain=kind == "plain")
            bodies[kind, function] = loops.code()
    code = {}
    for kind in ("compiled", "plain"):
        lines: list[str] = []
        for function, signature in SIGNATURES.items():
            body = bodies[kind, function]
            text = "\n".join(body)
            lines.append(f"def {function}({signature}):")
            if ignores_singletons:
                shortcut = "strategy[first] = 1.0" if function == "propose" else None
                lines += ["    if last - first == 1:"]
                lines += [f"        {shortcut}"] if shortcut else []
                lines += ["        return"]
            lines += [f"    {line}" for line in _loads(text, place, arrays, slots, workspace)]
            lines += [f"    {line}" for line in body] or ["    return"]
            lines.append("")
        code[kind] = "\n".join(lines)
    return code


def _loads(
    text: str,
    place: Mapping[Node, int],
    arrays: list[Node],
    slots: list[Node],
    workspace: _Workspace,
) -> list[str]:
    """Return lines that load what a body uses."""
    used = set(re.findall(r"[a-z_]+\d*", text))
    lines = ["size = last - first"] if "size" in used else []
    lines += [f"p{k} = parameters[{k}]" for k in range(len(slots)) if f"p{k}" in used]
    lines += [f"s{k} = state[{k}]" for k in place.values() if f"s{k}" in used]
    lines += [f"b{k} = state[{k}][block]" for k in place.values() if f"b{k}" in used]
    begin = workspace.begin
    lines += [f"w{k} = state[{begin + k}]" for k in range(workspace.maximum) if f"w{k}" in used]
    begin += workspace.maximum
    lines += [f"c{k} = state[{begin + k}]" for k in range(len(arrays)) if f"c{k}" in used]
    lines += [f"d{k} = state[{begin + k}][block]" for k in range(len(arrays)) if f"d{k}" in used]
    return lines


# Code

_MATH_NAMES = """exp expm1 log log1p log2 log10 sqrt pow fmod hypot tanh sin cos atan floor ceil
tan sinh cosh trunc isfinite isinf"""
_MATH: dict[str, Any] = {name: getattr(math, name) for name in _MATH_NAMES.split()}
_CONSTANTS = {"inf": math.inf, "nan": math.nan}


def _unguarded(function: Callable[..., float], ufunc: Callable[..., Any]) -> Callable[..., float]:
    """Return a function that has an infinite value, or none, where that of math raises."""

    def call(*numbers: float) -> float:
        try:
            return function(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(ufunc(*numbers))

    return call


_UFUNCS = {"pow": np.power, "atan": np.arctan}
_PLAIN: dict[str, Any] = {
    name: function
    if name in ("isfinite", "isinf")
    else _unguarded(function, _UFUNCS.get(name) or getattr(np, name))
    for name, function in _MATH.items()
}
_PLAIN |= {
    "divide": _unguarded(lambda x, y: x / y, np.divide),
    "remainder": _unguarded(lambda x, y: x % y, np.remainder),
    "floor_divide": _unguarded(lambda x, y: x // y, np.floor_divide),
}


@cache
def _functions(compiled: str, plain: str) -> tuple[BlockFunction, BlockFunction]:
    """Return ``propose`` and ``learn``: one and the same functions for the same code."""
    found = []
    namespace, as_python = {**_MATH, **_CONSTANTS}, {**_PLAIN, **_CONSTANTS}
    exec(compile(compiled, "<kernel of a traced rule>", "exec"), namespace)
    exec(compile(plain, "<kernel of a traced rule>", "exec"), as_python)
    for name in SIGNATURES:
        function = namespace[name]
        function.__module__ = __name__
        function.source = compiled
        function.py_func = as_python[name]
        found.append(function)
    return found[0], found[1]


class KernelSet(NamedTuple):
    """The kernels of a run's rules as one."""

    propose: BlockFunction
    learn: BlockFunction
    by_action: tuple[bool, ...]
    """For each array of ``state``, whether it has a number for each action, or block."""
    begin: tuple[int, ...]
    """Which array is the first of each kernel's."""
    code: tuple[int, ...]
    """The number of each kernel's functions; kernels may share them."""

    @property
    def dispatches(self) -> bool:
        """Whether the last two arrays say whose block it is, and where its parameters begin."""
        return len(self.by_action) > 0 and self.propose.__name__ == "propose_any"


def combine(kernels: Sequence[Kernel], single: bool) -> KernelSet:
    """Return kernels as one; ``single`` where no player has several."""
    codes: dict[tuple[object, ...], int] = {}
    begins: list[int] = []
    by_action: list[bool] = []
    signature: list[tuple[BlockFunction, BlockFunction, int, int]] = []
    for kernel in kernels:
        key = kernel.propose, kernel.learn, len(kernel.state), kernel.layout
        if key not in codes:
            codes[key] = len(codes)
            begins.append(len(by_action))
            by_action += kernel.layout
            signature.append((kernel.propose, kernel.learn, begins[-1], len(by_action)))
    numbers = [codes[k.propose, k.learn, len(k.state), k.layout] for k in kernels]
    begin = tuple(begins[number] for number in numbers)
    if single and len(codes) == 1:
        first = kernels[0]
        return KernelSet(first.propose, first.learn, tuple(by_action), begin, tuple(numbers))
    propose, learn = _dispatching(tuple(signature), len(by_action))
    return KernelSet(propose, learn, (*by_action, False, False), begin, tuple(numbers))


@cache
def _dispatching(
    signature: tuple[tuple[BlockFunction, BlockFunction, int, int], ...], arrays: int
) -> tuple[BlockFunction, BlockFunction]:
    namespace: dict[str, BlockFunction] = {}
    lines = []
    for kind, arguments in SIGNATURES.items():
        lines += [
            f"def {kind}_any({arguments}):",
            f"    given = parameters[int(state[{arrays + 1}][block]) :]",
        ]
        for number, (propose, learn, begin, end) in enumerate(signature):
            namespace[f"{kind}_{number}"] = propose if kind == "propose" else learn
            own = "".join(f"state[{k}], " for k in range(begin, end))
            passed = arguments.replace("state, parameters", f"({own}), given")
            lines += [
                f"    if state[{arrays}][block] == {number}.0:",
                f"        {kind}_{number}({passed})",
            ]
    exec(compile("\n".join(lines), "<kernels of a run>", "exec"), namespace)
    for kind in SIGNATURES:
        namespace[f"{kind}_any"].__module__ = __name__
    return namespace["propose_any"], namespace["learn_any"]
