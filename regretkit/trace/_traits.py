"""What holds for a rule, derived from its graph."""

from collections.abc import Iterable, Mapping

import numpy as np

from regretkit.trace._graph import (
    ONE,
    SIZE,
    ZERO,
    Node,
    Per,
    constant,
    elementwise,
    fill,
    make,
    nodes_of,
    nonnegative_nodes,
    rebuild,
)
from regretkit.trace._kernel import KernelTraits
from regretkit.trace._numbers import values_at
from regretkit.trace._rule import RuleGraph
from regretkit.trace._symbolic_functions import STRATEGY, UTILITY, VALUE

_DOUBLINGS, _DOUBLINGS_IN_FULL = 40, 16
_STEEPEST = 4.0


def traits_of(graph: RuleGraph, only_discounts: bool) -> KernelTraits:
    """Return what engines may rely on."""
    same = unchanged_by_zero(graph, nonnegative_arrays(graph))
    return KernelTraits(
        invariant_to_zero_utility=same and not _depends_on_iteration([graph.strategy]),
        only_discounts_on_zero_utility=only_discounts,
        ignores_singleton_blocks=ignores_singletons(graph),
    )


def nonnegative_arrays(graph: RuleGraph) -> set[str]:
    """Return the arrays whose numbers are never negative: not at first, and then by induction."""
    known = {name for name, least in graph.least.items() if least >= 0.0}
    while True:
        found = nonnegative_nodes(graph.learned.values(), known | {"strategy"})
        still = {name for name in known if graph.learned[name] in found}
        if still == known:
            return known
        known = still


def _inputs(graph: RuleGraph) -> dict[str, Node]:
    return {name: make("input", per=per, detail=name) for name, per in graph.per.items()}


def unchanged_by_zero(graph: RuleGraph, positive: set[str]) -> bool:
    """Return whether a zero utility leaves every array as it is."""
    inputs, learned = _inputs(graph), at_zero_utility(graph, positive)
    return all(learned[name] is inputs[name] for name in learned)


def discounts(graph: RuleGraph, positive: set[str]) -> tuple[str, Node, Node] | None:
    """Return the one array that a zero utility discounts, and the factors by sign, if that is all.

    Positive numbers must stay positive over any time, and the strategy must be proportional to
    them: then all of it can be discounted later, at once.
    """
    inputs, learned = _inputs(graph), at_zero_utility(graph, positive)
    changed = [name for name in learned if learned[name] is not inputs[name]]
    if len(changed) != 1 or graph.per[changed[0]] is not Per.ACTION:
        return None
    name = changed[0]
    array, new = inputs[name], learned[name]
    if new.op != "multiply" or array not in new.args:
        return None
    factor = new.args[1] if new.args[0] is array else new.args[0]
    if factor.op == "where" and factor.args[0] is elementwise("greater", array, ZERO):
        up, down = factor.args[1:]
    else:
        up = down = factor
    if up.per is not Per.RULE or down.per is not Per.RULE:
        return None
    if any(node.op in ("input", "call") for node in nodes_of([up, down])):
        return None  # not known beforehand
    part = make("normalize", elementwise("maximum", array, ZERO), per=Per.ACTION)
    if graph.strategy is not part or not _keeps_positive(up, down):
        return None
    return name, up, down


def _keeps_positive(up: Node, down: Node) -> bool:
    """Return whether discounts are at least 0, and leave positive numbers positive.

    They do if t iterations leave at least a power of 1 / t: if between t and 2 t the logarithms add
    up to a number that no t exceeds.
    """
    near = 2**_DOUBLINGS_IN_FULL
    powers = np.ldexp(1.0, np.arange(_DOUBLINGS_IN_FULL, _DOUBLINGS))
    t = np.concatenate([np.arange(2.0, near), powers])
    kept, dropped = values_at([up, down], t)
    if not ((kept > 0.0).all() and (dropped >= 0.0).all()):
        return False
    lost = -np.log(kept)
    until = np.concatenate([[0.0, 0.0, 0.0], np.cumsum(lost[: near - 2])])  # before each t
    doubled = np.arange(2, near // 2)
    steepness = np.concatenate([until[2 * doubled] - until[doubled], (lost * t)[near - 2 :]])
    return bool((steepness <= _STEEPEST).all())


def ignores_singletons(graph: RuleGraph) -> bool:
    """Return whether a block with one action plays it, and learns nothing."""
    if graph.alone.keys() != graph.per.keys():
        return False
    starts = {name: constant(number) for name, number in graph.alone.items()}
    known = {UTILITY: VALUE, STRATEGY: ONE, SIZE: ONE}
    known |= {node: starts[name] for name, node in _inputs(graph).items()}
    outputs = _folded([graph.strategy, *graph.learned.values()], known, set(), alone=True)
    bare = [node.args[0] if node.op == "fill" else node for node in outputs]
    return bare == [ONE, *(starts[name] for name in graph.learned)]


def at_zero_utility(graph: RuleGraph, positive: set[str]) -> dict[str, Node]:
    """Return what arrays become of a zero utility."""
    known = {UTILITY: fill(ZERO, Per.ACTION), VALUE: fill(ZERO, Per.BLOCK)}
    return dict(zip(graph.learned, _folded(graph.learned.values(), known, positive), strict=True))


def _depends_on_iteration(outputs: Iterable[Node]) -> bool:
    return any(
        node.op in ("iteration", "call") or (node.op == "input" and node.per is Per.RULE)
        for node in nodes_of(outputs)
    )


def _folded(
    outputs: Iterable[Node], known: Mapping[Node, Node], positive: set[str], alone: bool = False
) -> list[Node]:
    """Return outputs for known inputs, simplified where all numbers are finite.

    ``alone`` is for a block with a single action.
    """

    def replace(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node in known:
            return known[node]
        bare = [arg.args[0] if arg.op == "fill" else arg for arg in args]
        result = _fold(node, args, bare, positive, alone)
        return result if result is not None else _finite(node, args, bare, positive)

    return rebuild(outputs, replace)


def _fold(
    node: Node, args: tuple[Node, ...], bare: list[Node], positive: set[str], alone: bool
) -> Node | None:
    """Fold operations by block."""
    op, per = node.op, node.per
    if alone:
        if op in ("sum", "max", "cumulate", "repeat", "fill"):
            return bare[0]
        if op in ("normalize", "project", "chosen"):
            return ONE
        if op == "norm":
            return elementwise("absolute", bare[0])
    if op == "regret":
        if alone and bare[1] is ONE:
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
    """Fold what holds for finite numbers: ``x - x = 0``, ``0 x = 0``, ``[x]+ = x`` if x >= 0."""
    op = node.op
    if op == "subtract" and bare[0] is bare[1]:
        return _zero(node)
    if op == "multiply" and ZERO in bare:
        return _zero(node)
    if op == "divide" and bare[0] is ZERO:
        return _zero(node)
    if op in ("add", "subtract") and bare[1] is ZERO:
        return args[0]
    if op == "add" and bare[0] is ZERO:
        return args[1]
    if op == "maximum" and ZERO in bare:
        other = args[1] if bare[0] is ZERO else args[0]
        return other if other in nonnegative_nodes([other], positive) else None
    return None


def _zero(node: Node) -> Node:
    return ZERO if node.per is Per.RULE else fill(ZERO, node.per)
