"""Symbolic arrays: a rule's NumPy code on them records its graph."""

import contextlib
import functools
import math
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from regretkit._util._validate import quote
from regretkit.sets import Simplices
from regretkit.sets._simplices import BISECTIONS
from regretkit.trace._graph import (
    ELEMENTWISE,
    ITERATION,
    MATH,
    ONE,
    SIZE,
    ZERO,
    Node,
    Per,
    as_boolean,
    as_float,
    constant,
    elementwise,
    fill,
    make,
    nodes_of,
    reduction,
    repeat,
    values_at,
)

MIXES = " mixes the blocks"
"""Part of the message about a rule's code that mixes the blocks."""

RAISED = threading.local()
"""``last``, the last error: it is raised again if the rule's code catches it."""


class UntraceableError(Exception):
    """A rule's code cannot be traced; the message names an alternative where one exists."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        RAISED.last = self


class WrittenError(UntraceableError):
    """A rule's code writes to a constant array."""

    def __init__(self, array: Any) -> None:
        super().__init__(
            "a constant array cannot be written to; make it with np.zeros_like(x), or write "
            "x = x + y"
        )
        self.array = array


class DivisorError(ZeroDivisionError):
    """A number is divided by zero in some iterations."""


class DomainError(ValueError):
    """A function of ``math`` is undefined in some iterations."""


UFUNCS = {ELEMENTWISE[name].numpy: name for name in ELEMENTWISE}
UFUNCS |= {
    np.bitwise_and: "logical_and",
    np.bitwise_or: "logical_or",
    np.bitwise_xor: "logical_xor",
    np.invert: "logical_not",
    np.float_power: "power",
    np.fabs: "absolute",
}
_COMPOSED: dict[Any, Callable[..., Any]] = {
    np.divmod: lambda x, y: (x // y, x % y),
    np.exp2: lambda x: 2.0**x,
    np.logaddexp: lambda x, y: np.where(
        x == y, x + math.log(2.0), np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))
    ),
}
"""Ufuncs composed of others."""
_OPTIONS = {"out", "where", "dtype", "casting"}
"""Supported options of ufuncs."""
_BITWISE = {np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert}
_OF_BOOLEANS = {
    **dict.fromkeys(("add", "maximum", "fmax"), "logical_or"),
    **dict.fromkeys(("multiply", "minimum", "fmin"), "logical_and"),
}
"""Equivalents of operations on booleans only."""
_REDUCED = {np.add: "sum", np.maximum: "max"}
"""Ufuncs whose ``reduceat`` is a reduction by block."""
KIND = {
    Per.RULE: "one number",
    Per.BLOCK: "one number for each block",
    Per.ACTION: "one number for each action",
}


WHOLE = {ITERATION, elementwise("subtract", ITERATION, ONE)}
"""Nodes that are integers in Python: the iteration, in ``_propose`` and in ``_learn``."""

_QUOTIENTS = {"divide", "floor_divide", "remainder"}
_TRIED = np.array([*range(64), 1e7])
"""Iterations in which ``Trace.raise_if`` tests a condition."""
_MOST_DECISIONS = 64
"""Most branches on the iteration in one run of a hook."""


class Trace:
    """The shapes and branches that all symbols of one run of a hook share.

    Code may branch on the iteration. The hook then runs once for each outcome: this run takes the
    outcomes ``decisions``, and True at further branches.
    """

    def __init__(self, blocks: int, dimension: int, decisions: tuple[bool, ...] = ()) -> None:
        self.shapes: dict[Per, tuple[int, ...]] = {
            Per.RULE: (),
            Per.BLOCK: (blocks,),
            Per.ACTION: (dimension,),
        }
        self.decisions, self.conditions = decisions, list[Node]()
        self.roots = 0
        self.first: object = None  # ``Simplices.first``, to recognize reduceat
        self.played: Node | None = None
        """The strategy that ``_propose`` returned, which ``_learn`` receives."""

    def symbol(self, node: Node, writeable: bool = True) -> "Symbol":
        """Return a symbolic array of a node's values."""
        return Symbol(self, node, writeable)

    def new(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a symbol in place of a new array by action or block, otherwise the array."""
        by = [per for per in (Per.BLOCK, Per.ACTION) if array.shape == self.shapes[per]]
        return self.symbol(self._array(array)) if len(by) == 1 and array.size else array

    def decide(self, condition: Node) -> bool:
        """Return the outcome of a branch on a number."""
        if len(self.conditions) == _MOST_DECISIONS:
            raise UntraceableError(
                "the code branches on the iteration too often, as in a loop; use np.where or a "
                "formula"
            )
        if condition.is_constant:
            return bool(condition.detail)
        if condition not in self.conditions:
            self.conditions.append(condition)
        taken = self.conditions.index(condition)
        return self.decisions[taken] if taken < len(self.decisions) else True

    def raise_if(self, condition: Node, error: Exception) -> None:
        """Raise an error in the iterations in which a condition holds."""
        known = not any(inner.op in ("input", "call") for inner in nodes_of([condition]))
        if known and not values_at([condition], _TRIED).any():
            return
        if self.decide(condition):
            raise error

    def node(self, value: Any) -> Node:
        """Return the node of a symbol, a number or an array."""
        if isinstance(value, Symbol):
            return value.node
        if isinstance(value, bool | np.bool_ | int | float | np.number):
            return constant(value)  # type: ignore[arg-type]
        if isinstance(value, np.ndarray):
            return self._array(value)
        raise UntraceableError(f"{quote(value)} is neither a number nor an array of floats")

    def _array(self, array: np.ndarray[Any, Any]) -> Node:
        if array.dtype.kind not in "bif":
            raise UntraceableError(f"an array of {array.dtype} is not numeric")
        if array.size == 1 and array.shape in ((), (1,)) and self.shapes[Per.ACTION] != (1,):
            return constant(array.item())
        per = next((p for p in (Per.ACTION, Per.BLOCK) if array.shape == self.shapes[p]), None)
        if per is None:
            raise ValueError(
                f"an array of shape {array.shape} fits neither actions, {self.shapes[Per.ACTION]}, "
                f"nor blocks, {self.shapes[Per.BLOCK]}"
            )
        if self.shapes[Per.ACTION] == self.shapes[Per.BLOCK]:
            raise UntraceableError(
                "every block has one action, so arrays by action look like arrays by block"
            )
        if (array == array[0]).all():
            return fill(constant(array[0]), per)
        detail = array.astype(np.float64)
        detail.setflags(write=False)
        node = make("array", per=per, detail=detail)
        return elementwise("not_equal", node, ZERO) if array.dtype == bool else node


def refusing(text: str) -> Callable[..., Any]:
    """Return a method that raises ``UntraceableError``."""

    def refuse(*_: object, **__: object) -> Any:
        raise UntraceableError(text)

    return refuse


class Order:
    """The order that ``sort`` returns; it can only index arrays."""

    def __init__(self, trace: Trace, rank: Node) -> None:
        self.trace, self.rank = trace, rank

    __array__ = refusing(
        "the order of sort can only index computed arrays, as in x[order]; make constants with "
        "np.zeros_like(x), or store them in the rule"
    )


class HeldArray(np.ndarray[Any, Any]):
    """An array attribute of a rule, which becomes state when a symbol is written to it."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, Symbol | Order):
            return super().__getitem__(key)
        return key.trace.symbol(key.trace.node(np.asarray(self)))[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Symbol | Order) or isinstance(value, Symbol):
            raise WrittenError(self)
        super().__setitem__(key, value)


class Symbol(NDArrayOperatorsMixin):
    """A symbolic array: operations on it make nodes of a graph.

    Like an array, it can be changed in place, and all references see the change. With a ``mask``,
    it represents the entries where the mask is true, as ``x[x < 0]`` does.
    """

    __array_priority__ = 1000

    def __init__(
        self, trace: Trace, node: Node, writeable: bool = True, mask: Node | None = None
    ) -> None:
        self.trace, self.node, self.mask, self._writeable = trace, node, mask, writeable

    # As an array

    @property  # type: ignore[misc]  # nothing sets it
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The type of the value, for ``isinstance`` and ``np.isscalar``."""
        if self.node.per is not Per.RULE:
            return np.ndarray
        return int if self.node in WHOLE else type(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        if self.mask is not None:
            raise UntraceableError("the shape of x[mask] depends on the mask; use np.where")
        return self.trace.shapes[self.node.per]

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: np.dtype(np.bool_ if self.node.boolean else np.float64))
    T = property(lambda self: self)

    def __len__(self) -> int:
        return self.shape[0]

    def copy(self) -> "Symbol":
        """Return a copy."""
        return Symbol(self.trace, self.node, mask=self.mask)

    __copy__ = copy

    def __pos__(self) -> "Symbol":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "Symbol":
        return self.copy()

    def astype(self, dtype: Any, copy: bool = True) -> "Symbol":
        """Convert to booleans or floats."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self._new(elementwise("not_equal", self.node, ZERO))
        if np.dtype(dtype) == np.float64 or (kind in "iu" and self.node.boolean):
            return self._new(elementwise("as_float", self.node) if self.node.boolean else self.node)
        hint = "rounds numbers; leave it out" if kind == "f" else "cuts numbers off; use np.floor"
        raise UntraceableError(f"astype({quote(dtype)}) {hint}")

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:
        """Return the clipped array."""
        return _clip(self, min, max, **options)

    def fill(self, value: Any) -> None:
        """Set every entry."""
        self[...] = value

    def setflags(self, *, write: bool) -> None:
        """Do nothing: a symbol's own flag decides whether it is writeable."""

    def _new(self, node: Node) -> "Symbol":
        return Symbol(self.trace, node, mask=self.mask)

    def __getitem__(self, key: Any) -> "Symbol":
        if _is_all(key):
            return self  # a view
        if isinstance(key, Order):
            return self._new(make("sorted", self.node, key.rank, per=Per.ACTION))
        if (mask := self._as_mask(key)) is not None:
            return Symbol(self.trace, self.node, mask=mask)
        raise UntraceableError(
            f"x[{quote(key)}] picks single entries; use a mask, as in x[x < 0], np.where, or an "
            "operation of self.simplices"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.mask is not None or not self._writeable:
            raise ValueError("assignment destination is read-only")
        node = value.node if isinstance(value, Symbol) else self.trace.node(value)
        if isinstance(key, Order):
            check_shapes([node, self.node])
            if node.per is Per.ACTION:
                node = make("unsorted", as_float(node), key.rank, per=Per.ACTION)
        elif (mask := self._as_mask(key)) is not None:
            if isinstance(value, Symbol) and value.mask not in (None, mask):
                raise UntraceableError("x[mask] = y[other mask] depends on the masks; use np.where")
            if node.per is not Per.RULE and not (isinstance(value, Symbol) and value.mask):
                raise UntraceableError("x[mask] = y needs y[mask]; use np.where(mask, y, x)")
            node = elementwise("where", mask, node, self.node)
        elif not _is_all(key):
            raise UntraceableError(
                f"x[{quote(key)}] = ... sets single entries; use a mask, as in x[x < 0] = 0"
            )
        self._set(node)

    def _as_mask(self, key: Any) -> Node | None:
        """Return the node of a key that is a boolean mask, otherwise None."""
        is_mask = isinstance(key, np.ndarray) and key.dtype == np.bool_ and key.shape == self.shape
        node = self.trace.node(key) if is_mask or isinstance(key, Symbol) else None
        return node if node and node.boolean and node.per is self.node.per else None

    def _set(self, node: Node) -> None:
        if node.per not in (Per.RULE, self.node.per):
            raise _broadcast(self.node.per, node.per)
        if node.per is not self.node.per:  # every entry is this number
            node = fill(node, self.node.per)
        self.node = as_boolean(node) if self.node.boolean else as_float(node)

    # As a number

    def __bool__(self) -> bool:
        if self.node.is_constant:
            return bool(self.node.detail)
        if self.node.per is Per.RULE and self.mask is None:
            return self.trace.decide(
                elementwise("not_equal", self.node, ZERO) if not self.node.boolean else self.node
            )
        branches = "the code branches on values of an array (if, while, and, or, min, max, assert)"
        raise UntraceableError(f"{branches}; use np.where")

    def _value(self, hint: str) -> Any:
        if self.node.is_constant:
            return self.node.detail
        raise UntraceableError(hint)

    def __float__(self) -> float:
        text = "float(), or a function outside NumPy, needs a value; use NumPy's functions"
        return float(self._value(f"{text}, or those of math on the iteration"))

    def __int__(self) -> int:
        return int(self._value("int() needs a value; use np.floor"))

    __str__ = refusing("a text (str, print, an f-string) needs a value; leave it out")
    __index__ = refusing(
        "Python needs an integer (range, x[k], math.factorial); compare, as in "
        "self.iteration % 3 == 0, or write a formula"
    )
    __iter__ = refusing("a Python loop iterates over entries; write it for whole arrays")
    __array__ = refusing(
        "np.array, or a function of other libraries, needs values; use NumPy's elementwise "
        "functions and the operations of self.simplices"
    )

    __hash__: Any = refusing(
        "a set, a dict or functools.lru_cache needs a value; use a tuple, as in "
        "self.iteration in (3, 4), np.where, or the function without a cache"
    )

    # As an operand

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduceat" and ufunc in _REDUCED and inputs[1] is self.trace.first:
            return self._new(reduction(_REDUCED[ufunc], self.node))
        if ufunc in _COMPOSED and method == "__call__" and not options:
            return _COMPOSED[ufunc](*inputs)
        if ufunc not in UFUNCS or method != "__call__" or options.keys() - _OPTIONS:
            called = f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
            raise UntraceableError(called + _mixing(ufunc.__name__, _UNKNOWN))
        target, where = options.pop("out", (None,))[0], options.pop("where", True)
        _check_dtype(options.get("dtype"))
        _check_made(target)
        result = apply(ufunc, *inputs, as_numbers=options.get("dtype") is not None)
        if where is not True:
            if target is None:
                raise UntraceableError("where= without out= leaves entries undefined; use np.where")
            result.node = elementwise("where", self.trace.node(where), result.node, target.node)
        if target is None or target.node.per is Per.RULE:  # a number is never changed in place
            return result
        if not target._writeable:
            raise ValueError("output array is read-only")
        target._set(result.node)
        return target

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Any:
        if function in _FUNCTIONS:
            return _FUNCTIONS[function](*args, **options)
        raise UntraceableError(f"np.{function.__name__}{_mixing(function.__name__, _UNKNOWN)}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {quote(name)}")
        return partial(refusing(f".{name}(){_mixing(name)}"), self)


def apply(function: Any, *values: Any, as_numbers: bool = False) -> Symbol:
    """Apply an elementwise function, a ufunc or a name, to symbols and numbers.

    With ``as_numbers``, booleans count as 0 and 1.
    """
    name: Any = UFUNCS.get(function, function)
    trace = next(value.trace for value in values if isinstance(value, Symbol))
    mask, nodes = _common_mask(values), [trace.node(value) for value in values]
    check_shapes(nodes)
    if function in _BITWISE and not all(node.boolean for node in nodes):
        raise UntraceableError(
            f"np.{function.__name__} works on the bits of numbers; use % 2 and //, or compare"
        )
    if name != "where" and not as_numbers and all(node.boolean for node in nodes):
        if name in MATH:
            text = f"np.{name} of booleans has numbers of 8 or 16 bits; use x.astype(float)"
            raise UntraceableError(text)
        name = _OF_BOOLEANS.get(name, name)
    if name in _QUOTIENTS and all(node.per is Per.RULE for node in nodes):
        trace.raise_if(elementwise("equal", nodes[1], ZERO), DivisorError())
    return Symbol(trace, elementwise(name, *nodes), mask=mask)


def _check_made(target: Any) -> None:
    if not isinstance(target, Symbol | None):
        raise WrittenError(target)


def _is_all(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


_OVER_BLOCKS = {
    **dict.fromkeys(("max", "amax", "any", "all"), "max(x)"),
    **dict.fromkeys(("min", "amin"), "max(-x)"),
    **dict.fromkeys(("dot", "matmul", "vdot", "inner"), "dot(x, y)"),
    **{"sum": "sum(x)", "norm": "norm(x)", "cumsum": "cumulate(x)", "repeat": "repeat(x)"},
    **dict.fromkeys(("sort", "argsort"), "sort(x)"),
    **{"argmax": "best_response(x)", "mean": "sum(x), divided by self.simplices.sizes"},
}
"""Operations by block in place of NumPy's over all entries."""
_UNKNOWN = " is not supported; use elementwise functions and operations of self.simplices"


def _mixing(name: str, otherwise: str = MIXES) -> str:
    known = _OVER_BLOCKS.get(name)
    return f"{MIXES}; use self.simplices.{known}" if known else otherwise


def check_shapes(nodes: list[Node]) -> None:
    """Raise an error for operands by action and by block."""
    pers = {node.per for node in nodes}
    if {Per.BLOCK, Per.ACTION} <= pers:
        raise _broadcast(Per.BLOCK, Per.ACTION)


def _broadcast(left: Per, right: Per) -> UntraceableError:
    return UntraceableError(
        f"{KIND[left]} and {KIND[right]} do not fit; use self.simplices.repeat(x)"
    )


def _common_mask(values: tuple[Any, ...]) -> Node | None:
    masks = {value.mask for value in values if isinstance(value, Symbol) and value.mask}
    arrays = [v for v in values if isinstance(v, Symbol) and v.node.per is not Per.RULE]
    if len(masks) > 1 or (masks and any(value.mask is None for value in arrays)):
        raise UntraceableError("x[mask] and another array differ in shape; use np.where")
    return masks.pop() if masks else None


def _check_dtype(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise UntraceableError(f"numbers of {np.dtype(dtype)} are not supported; leave out dtype")


# Functions of NumPy other than ufuncs


def _where(condition: Any, *chosen: Any) -> Any:
    if not chosen:
        raise UntraceableError("np.where(mask) picks single entries; give it two values")
    return apply("where", condition, *chosen)


def _clip(values: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    clipped = values if low is None else np.maximum(values, low)
    clipped = clipped if high is None else np.minimum(clipped, high)
    if (out := options.pop("out", None)) is not None:
        _copyto(out, clipped)
        return out
    return clipped


def _round(values: Any, decimals: int = 0) -> Any:
    return np.rint(values * 10.0**decimals) / 10.0**decimals


def _full_like(like: Symbol, value: Any, dtype: Any = None, **_: Any) -> Any:
    _check_dtype(dtype)
    filled = like.copy()
    filled[...] = value
    return filled


def _copyto(target: Symbol, source: Any, where: Any = True) -> None:
    _check_made(target)
    target[...] = source if where is True else apply("where", where, source, target)


def _nan_to_num(values: Symbol, *, nan: float = 0.0, **options: Any) -> Any:
    if options:
        raise UntraceableError("np.nan_to_num supports only nan=; use np.where")
    largest = np.finfo(np.float64).max
    return _clip(apply("where", np.isnan(values), nan, values), -largest, largest)


def _repeat(values: Symbol, counts: Any) -> Any:
    if not isinstance(counts, Symbol) or counts.node is not SIZE or values.node.per is Per.ACTION:
        raise UntraceableError(
            "np.repeat supports only numbers by block; use self.simplices.repeat"
        )
    return Symbol(values.trace, repeat(values.node))


def _select(conditions: Any, choices: Any, default: Any = 0.0) -> Any:
    chosen = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        chosen = _where(condition, choice, chosen)
    return chosen


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: _round,
    np.full_like: _full_like,
    np.zeros_like: partial(_full_like, value=0.0),
    np.empty_like: partial(_full_like, value=0.0),
    np.ones_like: partial(_full_like, value=1.0),
    np.copy: lambda values, **_: values.copy(),
    np.shape: lambda values: values.shape,
    np.copyto: _copyto,
    np.nan_to_num: _nan_to_num,
    np.repeat: _repeat,
    np.select: _select,
}


# Operations by block

UTILITY = make("input", per=Per.ACTION, detail="utility")
STRATEGY = make("input", per=Per.ACTION, detail="strategy")
VALUE = make("input", per=Per.BLOCK, detail="value")


def is_played(utility: Node, strategy: Node) -> bool:
    """Return whether an inner product is the value: that of the hook's utility and strategy."""
    return utility is UTILITY and strategy is STRATEGY


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


def _operation(op: str, per: Per = Per.ACTION) -> Any:
    """Return a method of ``Simplices`` that makes a node of its arguments by action."""

    def method(self: "SymbolicSimplices", *vectors: Any) -> Symbol:
        nodes = [as_float(self._node(vector)) for vector in vectors]
        return self._trace.symbol(make(op, *nodes, per=per))

    return method


_ONE_BLOCK = refusing(
    "self.simplices picks one block, but a rule must treat all blocks equally; write it for whole "
    "arrays, as in x[mask], with operations of self.simplices"
)


class SymbolicSimplices(Simplices):
    """Simplices whose operations on symbols make nodes, and whose sizes are a symbol."""

    sum, max, norm = (_operation(op, Per.BLOCK) for op in ("sum", "max", "norm"))
    normalize, cumulate, project = map(_operation, ("normalize", "cumulate", "project"))
    add, _regret = _operation("add_cancelling"), _operation("regret")
    block = select = coordinates = _ONE_BLOCK

    def __init__(self, simplices: Simplices, trace: Trace) -> None:
        vars(self).update(vars(simplices))
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

    def dot(self, left: Any, right: Any) -> Any:
        product = elementwise("multiply", self._node(left), self._node(right))
        return self._trace.symbol(reduction("sum", product))

    def repeat(self, numbers: Any) -> Any:
        return self._trace.symbol(repeat(self._node(numbers, Per.BLOCK)))

    def expectation(self, utility: Any, strategy: Any) -> Any:
        if is_played(self._node(utility), self._node(strategy)):
            return self._trace.symbol(VALUE)
        largest = self.max(utility)
        return largest + self.dot(utility - self.repeat(largest), strategy)

    def regret(self, utility: Any, strategy: Any) -> Any:
        if is_played(self._node(strategy), self._node(utility)):
            raise UntraceableError("the first argument of regret(utility, strategy) is the utility")
        return self._regret(utility, strategy)

    def best_response(self, utility: Any) -> Any:
        index = reduction("argmax", self._node(utility))
        value = Unknown(
            "the value of best_response, a sum over all blocks, is not available in one block"
        )
        return value, self._trace.symbol(make("chosen", index, per=Per.ACTION))

    def uniform(self) -> Any:
        return self._trace.symbol(repeat(elementwise("divide", ONE, SIZE)))

    def softmax(self, vector: Any, rate: Any = 1.0) -> Any:
        weights = np.exp((vector - self.repeat(self.max(vector))) * rate)
        return weights / self.repeat(self.sum(weights))

    def newton(self, start: Any, step: Callable[[Any], Any], *, tolerance: float = 1e-9) -> Any:
        return self._root([start], step, lambda node: node, tolerance)

    def bisect(
        self, low: Any, high: Any, above: Callable[[Any], Any], *, steps: int = BISECTIONS
    ) -> Any:
        return self._root([low, high], above, as_boolean, steps)

    def _root(
        self,
        ends: list[Any],
        function: Callable[[Any], Any],
        convert: Callable[[Node], Node],
        detail: float,
    ) -> Symbol:
        nodes = [self._node(end, Per.BLOCK) for end in ends]
        self._trace.roots += 1
        iterate = make("iterate", per=Per.BLOCK, detail=self._trace.roots)
        moved = convert(self._node(function(self._trace.symbol(iterate)), Per.BLOCK))
        return self._trace.symbol(
            make("root", *nodes, iterate, moved, per=Per.BLOCK, detail=detail)
        )

    def sort(self, vector: Any) -> Any:
        node = self._node(vector)
        rank = make("rank", node, per=Per.ACTION)
        ordered = make("sorted", node, rank, per=Per.ACTION)
        return self._trace.symbol(ordered), Order(self._trace, rank)


# Functions of math, and functions that make arrays

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


def _log(number: Any, *base: Any) -> Any:
    return _LOG(number) / _LOG(base[0]) if base else _LOG(number)


_MATH = {function: name for name, function in MATH.items()} | {"fabs": "absolute"}
_MATH |= {name: name for name in ("trunc", "floor", "ceil", "isfinite", "isnan", "isinf")}
_SYMBOLIC = {name: _scalar_function(getattr(math, name), op) for name, op in _MATH.items()}
_LOG, _SYMBOLIC["log"] = _SYMBOLIC["log"], _log
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
