"""Operations of simplices in terms of elementwise operations, sums and maxima."""

from collections.abc import Iterable

from regretkit._util._arrays import RESOLUTION
from regretkit.trace._block_symbols import VALUE, is_played
from regretkit.trace._graph import (
    ELEMENTWISE,
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
    reduction,
    repeat,
)

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
    below = elementwise("subtract", vector, repeat(reduction("max", vector)))
    below = elementwise("maximum", below, _FARTHEST)
    inner = sum(node.op == "root" for node in nodes_of([vector]))  # none of them is this search
    level = make("iterate", per=Per.BLOCK, detail=f"level {inner}")
    above = elementwise("greater", below, repeat(level))
    total = reduction("sum", elementwise("where", above, below, ZERO))
    count = reduction("sum", elementwise("where", above, ONE, ZERO))
    following = elementwise("divide", elementwise("subtract", total, ONE), count)
    step = elementwise("subtract", following, level)
    root = make("root", fill(_FARTHEST, Per.BLOCK), level, step, per=Per.BLOCK, detail=0.0)
    return elementwise("maximum", elementwise("subtract", below, repeat(root)), ZERO)


def _regret(utility: Node, strategy: Node, exact: bool) -> Node:
    if is_played(utility, strategy) and not exact:
        return elementwise("subtract", utility, repeat(VALUE))
    largest = reduction("max", utility)
    if is_played(utility, strategy):  # whose value is zero already if it cancels
        value, missed = VALUE, elementwise("subtract", VALUE, largest)
        missed = elementwise("negative", elementwise("absolute", missed))
    else:
        below = elementwise("subtract", utility, repeat(largest))
        missed = reduction("sum", elementwise("multiply", below, strategy))
        value = elementwise("add", largest, missed)
        if not exact:
            return elementwise("subtract", utility, repeat(value))
    magnitude = elementwise("subtract", elementwise("absolute", largest), missed)
    if value is not VALUE:
        value = _zero_cancelled(value, magnitude)
    return _zero_cancelled(elementwise("subtract", utility, repeat(value)), repeat(magnitude))
