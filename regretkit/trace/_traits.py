"""Traits of a rule, derived from its graph."""

from collections.abc import Callable, Iterable, Mapping

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
)
from regretkit.trace._kernel import KernelTraits
from regretkit.trace._rule import RuleGraph
from regretkit.trace._symbols import STRATEGY, UTILITY, VALUE


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
