"""Operations by block on symbols, in place of those of simplices on arrays."""

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from regretkit.sets._simplices import BlockOps
from regretkit.trace._graph import ONE, SIZE, Node, Per, elementwise, make, reduction, repeat
from regretkit.trace._symbols import KIND, Symbol, Trace, UntraceableError


class SymbolicOps(BlockOps):
    """The operations of simplices on symbols."""

    def __init__(self, ops: BlockOps, trace: Trace) -> None:
        self._actual, self._trace = ops, trace
        self.dimension, self.width, self._sizes = ops.dimension, ops.width, ops._sizes

    def _node(self, value: Any, per: Per = Per.ACTION) -> Node:
        node = self._trace.node(value)
        if node.per is Per.RULE and not isinstance(value, Symbol):
            return node
        if node.per is not per:
            raise UntraceableError(f"{KIND[per]} is needed, but there is {KIND[node.per]}")
        return node

    def _reduced(self, op: str, node: Node) -> Symbol:
        return self._trace.symbol(reduction(op, node))

    @override
    def sum(self, vector: Any) -> Any:
        node = self._node(vector)
        if node.op == "multiply" and (is_played(*node.args) or is_played(*reversed(node.args))):
            return self._trace.symbol(VALUE)
        return self._reduced("sum", node)

    @override
    def dot(self, left: Any, right: Any) -> Any:
        nodes = [self._node(left), self._node(right)]
        if is_played(*nodes) or is_played(*reversed(nodes)):
            return self._trace.symbol(VALUE)
        return self._reduced("sum", elementwise("multiply", *nodes))

    @override
    def max(self, vector: Any) -> Any:
        return self._reduced("max", self._node(vector))

    @override
    def norm(self, vector: Any) -> Any:
        return self._reduced("norm", self._node(vector))

    @override
    def repeat(self, numbers: Any) -> Any:
        return self._trace.symbol(repeat(self._node(numbers, Per.BLOCK)))

    @override
    def subtract_per_block(self, vector: Any, numbers: Any) -> Any:
        return vector - self.repeat(numbers)

    @override
    def add(self, left: Any, right: Any) -> Any:
        nodes = self._node(left), self._node(right)
        return self._trace.symbol(make("add_cancelling", *nodes, per=Per.ACTION))

    @override
    def expectation(self, utility: Any, strategy: Any) -> Any:
        nodes = self._node(utility), self._node(strategy)
        if is_played(*nodes):
            return self._trace.symbol(VALUE)
        largest = self.max(utility)
        return largest + self.dot(utility - self.repeat(largest), strategy)

    @override
    def regret(self, utility: Any, strategy: Any) -> Any:
        nodes = self._node(utility), self._node(strategy)
        return self._trace.symbol(make("regret", *nodes, per=Per.ACTION))

    @override
    def normalize(self, vector: Any) -> Any:
        return self._trace.symbol(make("normalize", self._node(vector), per=Per.ACTION))

    @override
    def cumulate(self, vector: Any) -> Any:
        return self._trace.symbol(make("cumulate", self._node(vector), per=Per.ACTION))

    @override
    def project(self, vector: Any) -> Any:
        return self._trace.symbol(make("project", self._node(vector), per=Per.ACTION))

    @override
    def best_response(self, utility: Any) -> Any:
        index = reduction("argmax", self._node(utility))
        chosen = make("chosen", index, per=Per.ACTION)
        return _Unknown("the value of best_response, a sum over all blocks"), self._trace.symbol(
            chosen
        )

    @override
    def uniform(self) -> Any:
        return self._trace.symbol(repeat(elementwise("divide", ONE, SIZE)))

    @override
    def newton(self, start: Any, step: Callable[[Any], Any], tolerance: float) -> Any:
        begin = self._node(start, Per.BLOCK)
        self._trace.roots += 1
        iterate = make("iterate", per=Per.BLOCK, detail=self._trace.roots)
        move = self._node(step(self._trace.symbol(iterate)), Per.BLOCK)
        return self._trace.symbol(
            make("root", begin, iterate, move, per=Per.BLOCK, detail=tolerance)
        )


class _Unknown:
    """A number that no block knows."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(f"{self._what}, is not known to a block")


UTILITY = make("input", per=Per.ACTION, detail="utility")
STRATEGY = make("input", per=Per.ACTION, detail="strategy")
VALUE = make("input", per=Per.BLOCK, detail="value")


def is_played(utility: Node, strategy: Node) -> bool:
    """Return whether an inner product is the value of the strategy that was played."""
    return utility is UTILITY and strategy is STRATEGY
