"""From a graph back to NumPy code over all blocks: a second back end, which checks the first."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from regretkit.trace._graph import ELEMENTWISE, ITERATION, SIZE, Node, Per, make, nodes_of, number
from regretkit.trace._rule import RuleGraph, number_after, number_before
from regretkit.trace._symbolic_functions import STRATEGY, UTILITY, VALUE

NumPyFunction: TypeAlias = Callable[..., Any]

_GIVEN = {
    UTILITY: "utility",
    STRATEGY: "strategy",
    VALUE: "value",
    SIZE: "simplices.sizes",
    ITERATION: "iteration",
}
_OPERATIONS = {
    "sum": "simplices.sum({0})",
    "max": "simplices.max({0})",
    "norm": "simplices.norm({0})",
    "argmax": "simplices.best_response({0})[1]",
    "chosen": "{0}",
    "repeat": "simplices.repeat({0})",
    "cumulate": "simplices.cumulate({0})",
    "normalize": "simplices.normalize({0})",
    "project": "simplices.project({0})",
    "add_cancelling": "simplices.add({0}, {1})",
    "regret": "simplices.regret({0}, {1})",
    "as_float": "({0} * 1.0)",
    "rank": "ranks(simplices, {0})",
    "sorted": "{0}[np.lexsort(({1}, simplices.block_of))]",
    "unsorted": "{0}[simplices.repeat(simplices.first) + {1}.astype(int)]",
}
_LENGTHS = {Per.BLOCK: "simplices.blocks", Per.ACTION: "simplices.dimension"}


def numpy_code(graph: RuleGraph) -> str:
    """Return functions ``propose`` and ``learn`` in NumPy, an operation a line.

    They are called as ``propose(simplices, iteration, strategy, arrays)``, which returns a
    strategy, and ``learn(simplices, iteration, utility, strategy, arrays)``, which returns what
    becomes of ``arrays``, by name; single numbers that the rule learns are among them. Iterations
    count as in a ``RuleGraph``.
    """
    names = _names(graph)
    lines = ["def propose(simplices, iteration, strategy, arrays):"]
    lines += [f"    {line}" for line in _lines([graph.strategy], names)]
    lines += [f"    return {names[graph.strategy]}", ""]
    names = _names(graph)
    lines += ["def learn(simplices, iteration, utility, strategy, arrays):"]
    lines += ["    value = simplices.expectation(utility, strategy)"]
    learned = {**graph.learned, **graph.numbers}
    lines += [f"    {line}" for line in _lines(learned.values(), names)]
    entries = ", ".join(f"{name!r}: {names[node]}" for name, node in learned.items())
    return "\n".join([*lines, f"    return {{{entries}}}", ""])


def numpy_functions(graph: RuleGraph) -> tuple[NumPyFunction, NumPyFunction]:
    """Return ``propose`` and ``learn`` of ``numpy_code``."""
    held = ("array", "function")
    constants = {name: node.detail for node, name in _names(graph).items() if node.op in held}
    namespace: dict[str, Any] = {
        "np": np,
        "inf": np.inf,
        "nan": np.nan,
        "ranks": _ranks,
        **constants,
    }
    exec(compile(numpy_code(graph), "<NumPy code of a traced rule>", "exec"), namespace)
    return namespace["propose"], namespace["learn"]


def _ranks(simplices: Any, vector: Any) -> Any:
    ranks = np.empty(vector.size)
    ranks[simplices.sort(vector)[1]] = np.arange(vector.size)
    return ranks - simplices.repeat(simplices.first)


def _names(graph: RuleGraph) -> dict[Node, str]:
    """Return the code of each input, of each array that never changes, and of functions."""
    names = dict(_GIVEN)
    for name, per in graph.per.items():
        names[make("input", per=per, detail=name)] = f"arrays[{name!r}]"
    for name in graph.numbers:
        names[number_before(name)] = names[number_after(name)] = f"arrays[{name!r}]"
    for node in nodes_of([graph.strategy, *graph.learned.values(), *graph.numbers.values()]):
        if node.op == "array":
            names[node] = f"constant_{len(names)}"
        if node.op == "call":
            names[_function(node)] = f"function_{len(names)}"
    return names


def _function(node: Node) -> Node:
    """Return a node that stands for the function of a call."""
    return make("function", per=Per.RULE, detail=node.detail)


def _lines(outputs: Iterable[Node], names: dict[Node, str]) -> Iterator[str]:
    """Yield the code of what outputs need beyond what has a name, and name it."""
    searched: dict[Node, set[Node]] = {}  # what a node depends on that only a search knows
    for node in nodes_of(outputs):
        searched[node] = set().union(*(searched[arg] for arg in node.args))
        if node.op == "root":
            searched[node].discard(node.args[-2])
        if node.op == "iterate" and node not in names:
            searched[node] = {node}
        if node in names or searched[node]:
            continue
        args = [names.get(arg, "") for arg in node.args]
        if node.is_constant:
            names[node] = repr(node.detail) if node.boolean else number(node.detail)
            continue
        name = f"v{len(names)}"
        if node.op == "root":
            inside = {**names, node.args[-2]: f"x{len(names)}"}
            yield f"def step(x{len(names)}):"
            for line in _lines([node.args[-1]], inside):
                yield f"    {line}"
            yield f"    return {inside[node.args[-1]]}"
            if len(args) == 4:
                yield f"{name} = simplices.bisect({args[0]}, {args[1]}, step, steps={node.detail})"
            else:
                yield f"{name} = simplices.newton({args[0]}, step, tolerance={node.detail!r})"
        elif node.op == "call":
            yield f"{name} = {names[_function(node)]}(int({args[0]}))"
        else:
            yield f"{name} = {_expression(node, args)}"
        names[node] = name


def _expression(node: Node, args: list[str]) -> str:
    if node.op == "fill":
        return f"np.full({_LENGTHS[node.per]}, {args[0]})"
    if node.op in _OPERATIONS:
        return _OPERATIONS[node.op].format(*args)
    return f"np.{ELEMENTWISE[node.op].numpy.__name__}({', '.join(args)})"
