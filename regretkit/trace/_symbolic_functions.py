"""Functions on symbols: operations by block, functions of ``math``, new arrays."""

import contextlib
import functools
import math
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from regretkit.sets import Simplices
from regretkit.sets._simplices import BISECTIONS
from regretkit.trace._graph import (
    MATH,
    ONE,
    SIZE,
    Node,
    Per,
    as_boolean,
    constant,
    elementwise,
    fill,
    make,
    reduction,
    repeat,
)
from regretkit.trace._symbols import (
    KIND,
    RAISED,
    DomainError,
    Order,
    Symbol,
    Trace,
    UntraceableError,
    apply,
    refusing,
)

_ONE_BLOCK = refusing(
    "self.simplices picks one block, but a rule must treat all blocks equally; write it for whole "
    "arrays, as in x[mask], with operations of self.simplices"
)


class SymbolicSimplices(Simplices):
    """Simplices whose operations on symbols make nodes, and whose sizes are a symbol."""

    def __init__(self, simplices: Simplices, trace: Trace) -> None:
        vars(self).update(vars(simplices))
        vars(self).update(dict.fromkeys(("block", "select", "coordinates"), _ONE_BLOCK))
        self.actual, self._trace = simplices, trace
        self.sizes: Any = trace.symbol(SIZE, writeable=False)

    def __reduce__(self) -> Any:
        raise UntraceableError("a rule cannot be copied while it is traced")

    def _node(self, value: Any, per: Per = Per.ACTION) -> Node:
        node = self._trace.node(value)
        if node.per is Per.RULE and not isinstance(value, Symbol):
            return node
        if node.per is Per.RULE and self.blocks == 1 and per is Per.BLOCK:
            return fill(node, per)
        if node.per is not per:
            raise UntraceableError(f"expected {KIND[per]}, got {KIND[node.per]}")
        return node

    def _reduced(self, op: str, node: Node) -> Symbol:
        return self._trace.symbol(reduction(op, node))

    def sum(self, vector: Any) -> Any:
        return self._reduced("sum", self._node(vector))

    def dot(self, left: Any, right: Any) -> Any:
        return self._reduced("sum", elementwise("multiply", self._node(left), self._node(right)))

    def max(self, vector: Any) -> Any:
        return self._reduced("max", self._node(vector))

    def norm(self, vector: Any) -> Any:
        return self._reduced("norm", self._node(vector))

    def repeat(self, numbers: Any) -> Any:
        return self._trace.symbol(repeat(self._node(numbers, Per.BLOCK)))

    def add(self, regrets: Any, regret: Any) -> Any:
        nodes = self._node(regrets), self._node(regret)
        return self._trace.symbol(make("add_cancelling", *nodes, per=Per.ACTION))

    def expectation(self, utility: Any, strategy: Any) -> Any:
        nodes = self._node(utility), self._node(strategy)
        if is_played(*nodes):
            return self._trace.symbol(VALUE)
        largest = self.max(utility)
        return largest + self.dot(utility - self.repeat(largest), strategy)

    def regret(self, utility: Any, strategy: Any) -> Any:
        nodes = self._node(utility), self._node(strategy)
        if is_played(*reversed(nodes)):
            raise UntraceableError("the first argument of regret(utility, strategy) is the utility")
        return self._trace.symbol(make("regret", *nodes, per=Per.ACTION))

    def normalize(self, vector: Any) -> Any:
        return self._trace.symbol(make("normalize", self._node(vector), per=Per.ACTION))

    def cumulate(self, vector: Any) -> Any:
        return self._trace.symbol(make("cumulate", self._node(vector), per=Per.ACTION))

    def project(self, vector: Any) -> Any:
        return self._trace.symbol(make("project", self._node(vector), per=Per.ACTION))

    def best_response(self, utility: Any) -> Any:
        index = reduction("argmax", self._node(utility))
        chosen = make("chosen", index, per=Per.ACTION)
        value = Unknown(
            "the value of best_response, a sum over all blocks, is not available in one block"
        )
        return value, self._trace.symbol(chosen)

    def uniform(self) -> Any:
        return self._trace.symbol(repeat(elementwise("divide", ONE, SIZE)))

    def softmax(self, vector: Any, rate: Any = 1.0) -> Any:
        weights = np.exp((vector - self.repeat(self.max(vector))) * rate)
        return weights / self.repeat(self.sum(weights))

    def newton(self, start: Any, step: Callable[[Any], Any], *, tolerance: float = 1e-9) -> Any:
        begin = self._node(start, Per.BLOCK)
        self._trace.roots += 1
        iterate = make("iterate", per=Per.BLOCK, detail=self._trace.roots)
        move = self._node(step(self._trace.symbol(iterate)), Per.BLOCK)
        return self._trace.symbol(
            make("root", begin, iterate, move, per=Per.BLOCK, detail=tolerance)
        )

    def bisect(
        self, low: Any, high: Any, above: Callable[[Any], Any], *, steps: int = BISECTIONS
    ) -> Any:
        ends = self._node(low, Per.BLOCK), self._node(high, Per.BLOCK)
        self._trace.roots += 1
        iterate = make("iterate", per=Per.BLOCK, detail=self._trace.roots)
        above_it = as_boolean(self._node(above(self._trace.symbol(iterate)), Per.BLOCK))
        return self._trace.symbol(
            make("root", *ends, iterate, above_it, per=Per.BLOCK, detail=steps)
        )

    def sort(self, vector: Any) -> Any:
        node = self._node(vector)
        rank = make("rank", node, per=Per.ACTION)
        ordered = make("sorted", node, rank, per=Per.ACTION)
        return self._trace.symbol(ordered), Order(self._trace, rank)


class Unknown(NDArrayOperatorsMixin):
    """A value that is not available while tracing: any use raises an error."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(self._text.format(name))

    def __array_ufunc__(self, ufunc: Any, *_: object, **__: object) -> Any:
        raise UntraceableError(self._text.format(ufunc.__name__))

    def __bool__(self) -> bool:
        raise UntraceableError(self._text.format("bool"))


UTILITY = make("input", per=Per.ACTION, detail="utility")
STRATEGY = make("input", per=Per.ACTION, detail="strategy")
VALUE = make("input", per=Per.BLOCK, detail="value")


def is_played(utility: Node, strategy: Node) -> bool:
    """Return whether an inner product is the value: that of the hook's utility and strategy."""
    return utility is UTILITY and strategy is STRATEGY


_UNDEFINED = {
    **dict.fromkeys(("log", "log2", "log10"), ("less_equal", 0.0)),
    "log1p": ("less_equal", -1.0),
    "sqrt": ("less", 0.0),
}
"""Comparisons that hold where functions of ``math`` raise a ValueError."""


def _scalar_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*values: Any) -> Any:
        if not any(isinstance(value, Symbol) for value in values):
            return function(*values)
        if name in _UNDEFINED and values[0].node.per is Per.RULE:
            comparison, bound = _UNDEFINED[name]
            undefined = elementwise(comparison, values[0].node, constant(bound))
            values[0].trace.raise_if(undefined, DomainError("math domain error"))
        return apply(name, *values)

    return call


_MATH = {function: name for name, function in MATH.items()} | {"fabs": "absolute"}
_MATH |= {name: name for name in ("trunc", "floor", "ceil", "isfinite", "isnan", "isinf")}
_LOCK = threading.RLock()


def _log(number: Any, *base: Any) -> Any:
    return _LOG(number) / _LOG(base[0]) if base else _LOG(number)


_LOG = _scalar_function(math.log, "log")
_SYMBOLIC = {name: _scalar_function(getattr(math, name), op) for name, op in _MATH.items()}
_SYMBOLIC["log"] = _log
_ACTUAL = {id(getattr(math, name)): name for name in _SYMBOLIC}


_NEW = ("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like")
_ACTUAL |= {id(getattr(np, name)): name for name in _NEW}
_ACTUAL[id(np)] = "numpy"


class _NumPy(types.ModuleType):
    """NumPy with replaced functions that make new arrays.

    NumPy's own namespace keeps the originals, as NumPy's code calls them too.
    """

    def __init__(self, functions: dict[str, Any]) -> None:
        super().__init__("numpy")
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


Place: TypeAlias = tuple[dict[str, Any], str, Any]
"""A namespace, a name in it, and its value."""


def places_of_functions(namespaces: list[dict[str, Any]]) -> list[Place]:
    """Return the places of functions of math and of functions that make arrays, under any name."""
    spaces = [math.__dict__, *namespaces]
    named = [(space, name, value) for space in spaces for name, value in space.items()]
    return [place for place in named if id(place[2]) in _ACTUAL]


@contextlib.contextmanager
def symbolic_functions(places: list[Place], trace: Trace) -> Iterator[None]:
    """Replace functions of ``math``, and functions that make arrays, by functions of symbols.

    Calls without symbols, and calls in other threads, behave as before. An ``UntraceableError``
    that the rule's code caught is raised again.
    """
    new = {name: _new(name, trace) for name in _NEW}
    symbolic = {**_SYMBOLIC, **new, "numpy": _NumPy(new)}
    with _LOCK:
        try:
            for namespace, name, value in places:
                namespace[name] = symbolic[_ACTUAL[id(value)]]
            RAISED.last = None
            yield
            if RAISED.last is not None:
                raise RAISED.last
        finally:
            for namespace, name, value in places:
                namespace[name] = value


def _new(name: str, trace: Trace) -> Callable[..., Any]:
    """Return a function that makes new arrays, as symbols if by action or block."""
    function, thread = getattr(np, name), threading.get_ident()

    @functools.wraps(function)
    def call(like: Any, *values: Any, **options: Any) -> Any:
        if threading.get_ident() != thread:
            return function(like, *values, **options)
        if name.startswith("full") and any(isinstance(v, Symbol) for v in values):
            filled = call(like, 0.0, **options)
            filled[...] = values[0]
            return filled
        array = function(like, *values, **options)
        if type(array) is not np.ndarray or array.dtype not in (np.float64, np.bool_):
            return array
        if name.startswith("empty"):
            array.fill(0)
        return trace.new(array)

    return call
