"""From the graph of a rule to its kernel."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from regretkit.trace._block_symbols import STRATEGY, UTILITY, VALUE
from regretkit.trace._emit import Loops
from regretkit.trace._graph import (
    SIZE,
    ZERO,
    Node,
    Per,
    again,
    elementwise,
    make,
    nodes_of,
    rebuild,
)
from regretkit.trace._kernel import BlockFunction, Kernel
from regretkit.trace._lower import lower
from regretkit.trace._numbers import Schedule
from regretkit.trace._rule import RuleGraph
from regretkit.trace._traits import discounts, nonnegative_arrays, traits_of

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
        workspace=workspace.most,
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
        self.begin, self.most = begin, 0

    def names(self, *before: str) -> Iterable[str]:
        yield from before
        count = 0
        while True:
            count += 1
            self.most = max(self.most, count)
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
            before = ["strategy"] if function == "propose" else []
            loops = Loops(outputs, names, workspace.names(*before), plain=kind == "plain")
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
    lines += [f"w{k} = state[{begin + k}]" for k in range(workspace.most) if f"w{k}" in used]
    begin += workspace.most
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
