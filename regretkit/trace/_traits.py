"""Traits of a rule, derived from its graph, and parameters of its kernel.

Parameters are numbers that no block affects: functions of the iteration and of scalar state.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit.trace._graph import (
    ONE,
    SIZE,
    ZERO,
    Node,
    Per,
    constant,
    elementwise,
    fill,
    nodes_of,
    nonnegative_nodes,
    rebuild,
    values_at,
)
from regretkit.trace._kernel import KernelTraits
from regretkit.trace._rule import RuleGraph, number_after, number_before
from regretkit.trace._symbolic_functions import STRATEGY, UTILITY, VALUE

Numbers = Mapping[str, float]


@lru_cache(maxsize=8)
def _rows(nodes: tuple[Node, ...], passed: int, count: int) -> Vector:
    """Return the nodes' values after ``passed`` iterations and after each of ``count`` more."""
    iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
    return read_only(np.ascontiguousarray(values_at(nodes, iterations).T))


@frozen
class Schedule:
    """The parameters of a kernel, by iteration.

    Parameters
    ----------
    nodes
        The node of each parameter.
    updates
        The node of each scalar state after an update, by path.
    """

    nodes: tuple[Node, ...]
    updates: Mapping[str, Node] = field(factory=dict, eq=lambda updates: tuple(updates.items()))

    @cached_property
    def _calls(self) -> bool:
        """Whether any parameter calls a function of the rule's author."""
        return any(node.op == "call" for node in nodes_of(self.nodes))

    def __call__(self, iteration: int) -> tuple[float, ...]:
        """Return the parameters of an iteration, for a rule without scalar state."""
        return tuple(self.following({}, iteration - 1, 1)[0][1].tolist())

    def following(self, numbers: Numbers, passed: int, count: int) -> tuple[Vector, Numbers]:
        """Return the parameters after ``passed`` iterations and after each of ``count`` more.

        ``numbers`` is the scalar state after ``passed`` iterations. The result has the parameters,
        shape ``(count + 1, parameters)``, and the scalar state at the end.
        """
        if not self.updates and not self._calls:
            return _rows(self.nodes, passed, count), {}  # cached for all players with this rule
        iterations = np.arange(passed, passed + count + 1, dtype=np.float64)
        paths = list(self.updates)
        learned = np.empty((len(paths), count + 2))
        learned[:, 1] = learned[:, 0] = [numbers[path] for path in paths]
        if paths:
            self._learn(learned, iterations)
        known: dict[Node, Vector] = {}
        for path, row in zip(paths, learned, strict=True):
            known[number_before(path)], known[number_after(path)] = row[:-1], row[1:]
        rows = values_at(self.nodes, iterations, known).T
        return np.ascontiguousarray(rows), dict(zip(paths, learned[:, -1].tolist(), strict=True))

    def _learn(self, learned: NDArray[np.float64], iterations: Vector) -> None:
        """Fill in the scalar state after each iteration."""
        waiting = []
        for k, (path, node) in enumerate(self.updates.items()):
            counts = node.op == "add" and node.args[0] is number_before(path)
            if node is number_before(path) or (counts and node.args[1].is_constant):
                step = node.args[1].detail if counts else 0.0
                learned[k, 2:] = step
                learned[k, 1:] = np.cumsum(learned[k, 1:])
            else:
                waiting.append(k)
        if not waiting:
            return
        nodes = list(self.updates.values())
        paths = list(self.updates)
        for t in range(1, iterations.size):
            known = {number_before(path): learned[k, t : t + 1] for k, path in enumerate(paths)}
            values = values_at([nodes[k] for k in waiting], iterations[t : t + 1], known)
            learned[waiting, t + 1] = values[:, 0]


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
    outputs = _folded([graph.strategy, *graph.learned.values()], known, set(), single=True)
    bare = [node.args[0] if node.op == "fill" else node for node in outputs]
    return bare == [ONE, *(starts[name] for name in graph.learned)]


def _folded(
    outputs: Iterable[Node], known: Mapping[Node, Node], positive: set[str], single: bool = False
) -> list[Node]:
    """Return outputs for known inputs, simplified under the assumption of finite numbers.

    ``single`` assumes a block with one action.
    """

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node in known:
            return known[node]
        bare = [arg.args[0] if arg.op == "fill" else arg for arg in args]
        result = _fold(node, args, bare, positive, single)
        return result if result is not None else _finite(node, args, bare, positive)

    return rebuild(outputs, replace)


def _fold(
    node: Node, args: tuple[Node, ...], bare: list[Node], positive: set[str], single: bool
) -> Node | None:
    """Fold operations by block."""
    op, per = node.op, node.per
    if single:
        if op in ("sum", "max", "cumulate", "repeat", "fill", "sorted", "unsorted"):
            return bare[0]
        if op == "rank":
            return ZERO
        if op in ("normalize", "project", "chosen"):
            return ONE
        if op == "norm":
            return elementwise("absolute", bare[0])
    if op == "regret":
        if single and bare[1] is ONE:
            return ZERO
        return fill(ZERO, per) if bare[0] is ZERO else None
    if op == "add_cancelling":
        if bare[1] is ZERO:
            return args[0]
        return args[1] if bare[0] is ZERO else None
    if op in ("sum", "max", "norm", "cumulate") and bare[0] is ZERO:
        return fill(ZERO, per)
    return None


def _finite(
    node: Node, args: tuple[Node, ...], bare: list[Node], positive: set[str]
) -> Node | None:
    """Fold identities of finite numbers: ``x - x = 0``, ``0 x = 0``, ``[x]+ = x`` if x >= 0."""
    op = node.op
    if (
        (op == "subtract" and bare[0] is bare[1])
        or (op == "multiply" and ZERO in bare)
        or (op == "divide" and bare[0] is ZERO)
    ):
        return ZERO if node.per is Per.RULE else fill(ZERO, node.per)
    if op in ("add", "subtract") and bare[1] is ZERO:
        return args[0]
    if op == "add" and bare[0] is ZERO:
        return args[1]
    if op == "maximum" and ZERO in bare:
        other = args[1] if bare[0] is ZERO else args[0]
        return other if other in nonnegative_nodes([other], positive) else None
    return None
