"""Cells: symbolic numbers, each an expression of others, and arrays of them.

A node of a rule's graph represents the numbers of all blocks. A cell represents one number. NumPy
code on arrays of cells records how each number is computed: they can be indexed, sorted, stacked
and written to.
"""

import functools
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from regretkit._compiler import LOCK
from regretkit.trace._graph import COMPARISONS, SIGNS, in_order, operator
from regretkit.trace._symbols import UntraceableError

Scalar: TypeAlias = "Cell | int | float | bool"
Result = TypeVar("Result")


class Cell:
    """An operation on numbers, or an input. Within a trace, equal cells are one object."""

    __slots__ = ("args", "kind", "natural", "op")

    def __init__(self, op: str, args: tuple[Any, ...], kind: str) -> None:
        self.op, self.args, self.kind = op, args, kind
        known = [is_natural(arg) for arg in args] if op in _NATURAL else [False]
        self.natural: bool = kind == "b" or _NATURAL.get(op, all)(known)
        """Whether it is provably nonnegative."""


Recorded: TypeAlias = dict[tuple[Any, ...], Cell]

CODES = {
    **{name: operator(sign) for name, sign in (SIGNS | COMPARISONS).items()},
    **{"left_shift": operator("<<"), "right_shift": operator(">>")},
    **{"bitwise_and": operator("&"), "bitwise_or": operator("|"), "bitwise_xor": operator("^")},
    "invert": "(~{0})",
    "negative": "(-{0})",
    "absolute": "abs({0})",
    "maximum": "({0} if {0} > {1} else {1})",
    "minimum": "({0} if {0} < {1} else {1})",
    "and": "({0} and {1})",
    "or": "({0} or {1})",
    "xor": "({0} != {1})",
    "not": "(not {0})",
    "where": "({1} if {0} else {2})",
    "signed": "((({0} + {1}) & {2}) - {1})",
    "unsigned": "({0} & {1})",
    "float": "float({0})",
    "int": "int({0})",
}
_LOGICAL = {"and", "or", "xor", "not"}
_NATURAL: dict[str, Callable[[list[bool]], bool]] = {
    **dict.fromkeys(("where", "int", "minimum", "floor_divide", "right_shift", "bitwise_or"), all),
    **dict.fromkeys(("maximum", "bitwise_and", "unsigned"), any),
    "remainder": lambda known: known[1],
}
"""Whether a result is nonnegative, given which operands are."""
_MAY_FAIL = {"divide", "floor_divide", "remainder", "left_shift", "right_shift"}
_MOST_WAYS = 64
"""Most paths through a function, by the outcomes of its branches."""


class Tracing(threading.local):
    """The trace of this thread."""

    cells: Recorded | None = None
    decided: dict[Cell, bool]
    """The outcome of each condition on which Python has branched, in order."""
    taken: tuple[bool, ...] = ()
    """Outcomes that this run repeats."""


TRACING = Tracing()


def _kind(value: Scalar) -> str:
    if isinstance(value, Cell):
        return value.kind
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"


def is_natural(value: Scalar) -> bool:
    """Return whether a number is provably nonnegative."""
    return value.natural if isinstance(value, Cell) else value >= 0


def cell(op: str, *args: Any) -> Any:
    """Return the result of an operation: a number if all operands are numbers, else a cell."""
    if op in _LOGICAL or op == "where":
        first = _truth(args[0])
        args = (first, _truth(args[1])) if op in ("and", "or", "xor") else (first, *args[1:])
    elif op != "input":
        args = tuple(_as_number(arg) for arg in args)
    simple = _simplified(op, args)
    if simple is not None:
        return simple
    if op == "where":
        kinds = [_kind(arg) for arg in args[1:]]
        kind = max(kinds, key="bif".index)
        if kinds[0] != kinds[1]:
            args = (args[0], *(cast(arg, kind) for arg in args[1:]))
    elif op in COMPARISONS or op in _LOGICAL:
        kind = "b"
    else:
        floating = op in ("divide", "float") or (op != "int" and "f" in map(_kind, args))
        kind = "f" if floating else "i"
    return _made(op, args, kind)


def _made(op: str, args: tuple[Any, ...], kind: str) -> Cell:
    if TRACING.cells is None:
        raise UntraceableError("a symbolic value is used outside its trace")
    key = (op, kind, *((arg if isinstance(arg, Cell) else (type(arg), arg)) for arg in args))
    return TRACING.cells.setdefault(key, Cell(op, args, kind))


def given(name: str, kind: str, *, natural: bool = False) -> Cell:
    """Return an input with the code ``name``."""
    made = _made("input", (name,), kind)
    made.natural = natural
    return made


def _truth(value: Any) -> Any:
    if isinstance(value, Cell):
        return value if value.kind == "b" else cell("not_equal", value, 0)
    return bool(value)


def _as_number(value: Any) -> Any:
    if isinstance(value, Cell) and value.kind == "b":
        return _made("int", (value,), "i")
    return int(value) if isinstance(value, bool) else value


def cast(value: Any, kind: str) -> Any:
    """Convert a number to a kind: boolean, integer or float."""
    if kind == "b":
        return _truth(value)
    value = _as_number(value)
    if not isinstance(value, Cell):
        return int(value) if kind == "i" else float(value)
    return value if value.kind == kind else cell("float" if kind == "f" else "int", value)


def _simplified(op: str, args: tuple[Any, ...]) -> Any:
    """Return a simpler value equal to an operation, or None."""
    known = [not isinstance(arg, Cell) for arg in args]
    first: Any = args[0]
    last: Any = args[-1]
    if op == "where":
        if known[0]:
            return args[1] if first else last
        equal = type(args[1]) is type(last) and (args[1] is last or (known[1] and args[1] == last))
        return args[1] if equal else None
    if op in ("and", "or") and any(known):
        constant, other = (first, last) if known[0] else (last, first)
        return other if constant == (op == "and") else constant
    if op == "not" and not known[0] and first.op == "not":
        return first.args[0]
    if op != "input" and all(known):
        scope: dict[str, Any] = {f"x{k}": arg for k, arg in enumerate(args)}
        try:
            return eval(CODES[op].format(*scope), {"float": float, "int": int, "abs": abs}, scope)
        except ArithmeticError:
            return None
    if op in ("add", "bitwise_or", "bitwise_xor") and known[0] and not first and _kind(last) == "i":
        return last
    if op in ("add", "subtract", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        return first if known[1] and not last and _kind(first) == _kind(last) == "i" else None
    if op == "equal" and known[1] and first.op == "where":  # usually a test of the acting player
        outcomes = first.args[1:]
        if not any(isinstance(outcome, Cell) for outcome in outcomes):
            matches = [outcome == last for outcome in outcomes]
            return (
                cell("where", first.args[0], *matches)
                if matches[0] == matches[1]
                else (first.args[0] if matches[0] else cell("not", first.args[0]))
            )
    return None


# Paths through a function


def all_ways(function: Callable[[], Result]) -> list[tuple[Any, Result]]:
    """Run a function once for every combination of its branches, and return the results.

    Each result comes with the condition of its path. These conditions exclude each other.
    """
    ways: list[tuple[Any, Result]] = []
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        if len(ways) >= _MOST_WAYS:
            raise UntraceableError("the code branches on symbolic values too often")
        TRACING.decided, TRACING.taken = {}, waiting.pop()
        result, outcomes = function(), [*TRACING.decided.values()]
        waiting += [(*outcomes[:k], False) for k in range(len(TRACING.taken), len(outcomes))]
        conditions = [c if met else cell("not", c) for c, met in TRACING.decided.items()]
        ways.append((functools.reduce(functools.partial(cell, "and"), conditions, True), result))
    return ways


def decide(value: Any) -> bool:
    condition = _truth(value)
    if not isinstance(condition, Cell):
        return bool(condition)
    if condition.op == "not":
        return not decide(condition.args[0])
    decided, taken = TRACING.decided, TRACING.taken
    if condition not in decided:
        decided[condition] = taken[len(decided)] if len(decided) < len(taken) else True
    return decided[condition]


# Code


def is_input(value: Any, name: str) -> bool:
    """Return whether a number is the input of this name."""
    return isinstance(value, Cell) and value.op == "input" and value.args[0] == name


def _cells(values: Iterable[Any]) -> list[Cell]:
    return [value for value in values if isinstance(value, Cell)]


def _ordered(outputs: Iterable[Any], known: Container[Cell] = ()) -> Iterator[Cell]:
    """Yield cells without a name in ``known``, each after its operands."""
    return in_order(_cells(outputs), lambda x: () if x in known else _cells(x.args))


def computed_from(inputs: Container[str], outputs: Iterable[Any]) -> Iterator[Cell]:
    """Yield the integers within outputs that depend on these inputs only.

    Operands of such an integer are left out, as are operations that could fail for other actions.
    """
    outputs, independent = [*outputs], set[Cell]()
    for node in _ordered(outputs):
        cells = set(_cells(node.args))
        if node.op == "input":
            if node.args[0] in inputs:
                independent.add(node)
        elif cells <= independent and not (node.op in _MAY_FAIL and node.args[1] in cells):
            independent.add(node)
    last = {node for node in independent if node.kind == "i" and node.op != "input"}
    for node in _ordered(outputs, last):
        if node in last:
            yield node


def code(
    outputs: Iterable[Any],
    results: Callable[[list[str]], list[str]],
    known: Mapping[Cell, str] = MappingProxyType({}),
) -> list[str]:
    """Return lines that compute outputs, then the lines ``results(names of the outputs)``.

    ``known`` has the code of cells that were computed before.
    """
    outputs, names, lines = [*outputs], dict[Cell, str](), list[str]()
    for node in _ordered(outputs, known):
        computed = known.get(node) or node.args[0]  # of an input, its code
        if node.op != "input" and node not in known:
            terms = [names[arg] if isinstance(arg, Cell) else repr(arg) for arg in node.args]
            computed = CODES[node.op].format(*terms)
        names[node] = f"v{len(lines)}"
        lines.append(f"{names[node]} = {computed}")
    return lines + results([names[x] if isinstance(x, Cell) else repr(x) for x in outputs])


# Arrays

_MAKERS: dict[str, Callable[..., Any]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "empty": np.empty,
    "full": np.full,
}
"""The functions that tracing replaces."""
_zeros, _ones = np.zeros, np.ones

_OF_BOOLEANS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not"}
_OF_BOOLEANS |= {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_ROUNDING = {"add", "subtract", "multiply", "left_shift", "negative", "invert"}
"""Operations whose results may overflow narrow integers."""
_UFUNCS: dict[Any, str] = {
    getattr(np, name): name for name in CODES if isinstance(getattr(np, name, None), np.ufunc)
}
_UFUNCS |= {np.logical_and: "and", np.logical_or: "or", np.logical_xor: "xor"}
_UFUNCS |= {np.logical_not: "not"}

_MOST_CHOICES = 256
"""Most entries that a symbolic index may choose from."""


@contextmanager
def tracing(cells: Recorded) -> Iterator[None]:
    """Trace within this context; arrays of ``np.zeros`` and the like then accept cells."""
    thread = threading.get_ident()

    def replaced(make: Callable[..., Any]) -> Callable[..., Any]:
        def maker(*args: Any, **options: Any) -> Any:
            symbolic = any(isinstance(arg, Cells) for arg in args)
            if threading.get_ident() != thread or (symbolic and make is not _MAKERS["full"]):
                return make(*args, **options)
            if symbolic:  # np.full(shape, symbol)
                return np.broadcast_to(args[1], args[0]).copy()
            array = make(*args, **options)
            return Cells.of(array) if array.dtype.kind in "bif" else array

        return maker

    with LOCK:
        TRACING.cells, TRACING.decided, TRACING.taken = cells, {}, ()
        try:
            for name, make in _MAKERS.items():
                setattr(np, name, replaced(make))
            yield
        finally:
            for name, make in _MAKERS.items():
                setattr(np, name, make)
            TRACING.cells = None


class Cells(NDArrayOperatorsMixin):
    """An array of cells and numbers."""

    __array_priority__ = 1000

    def __init__(self, values: NDArray[np.object_], dtype: Any) -> None:
        self.values, self.dtype = values, np.dtype(dtype)
        if self.dtype.kind not in "biuf" or self.dtype == np.uint64:
            raise UntraceableError(f"arrays of {self.dtype} cannot be traced")

    @classmethod
    def of(cls, value: Any) -> "Cells":
        """Convert an array; one of cells is returned unchanged."""
        if isinstance(value, Cells):
            return value
        array = np.asarray(value)
        return cls(array.astype(object), array.dtype)

    shape = property(lambda self: self.values.shape)
    size = property(lambda self: self.values.size)
    ndim = property(lambda self: self.values.ndim)
    T = property(lambda self: Cells(self.values.T, self.dtype))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with more than one element is ambiguous")
        return decide(self.values.item())

    def __index__(self) -> int:
        value = self.values.item() if self.size == 1 else None
        if isinstance(value, int) and self.dtype.kind in "iu":
            return value
        raise UntraceableError("Python needs the value of a symbolic integer")

    def __array__(self, *_: object, **__: object) -> Any:
        raise UntraceableError("a function needs the values of a symbolic array")

    def copy(self) -> "Cells":
        """Return a copy."""
        return Cells(self.values.copy(), self.dtype)

    def astype(self, dtype: Any, **_: object) -> "Cells":
        """Convert the numbers to another type."""
        dtype = np.dtype(dtype)
        kind = "i" if dtype.kind == "u" else dtype.kind
        values = _each(lambda x: _fit(cast(x, kind), dtype), self.values)
        return Cells(values, dtype)

    def __getattr__(self, name: str) -> Any:
        function = _METHODS.get(name)
        if function is None:
            raise UntraceableError(f"x.{name} cannot be traced")
        return functools.partial(function, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if ufunc is np.divmod and method == "__call__":
            return inputs[0] // inputs[1], inputs[0] % inputs[1]
        if method == "reduce" and ufunc in _UFUNCS:
            result = _reduced(ufunc, inputs[0], **options)
        elif method == "__call__" and ufunc in _UFUNCS and not options:
            result = _applied(ufunc, inputs)
        else:
            raise UntraceableError(f"np.{ufunc.__name__} with {method} cannot be traced")
        if isinstance(out, Cells):
            out[...] = result.astype(out.dtype)
            return out
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _FUNCTIONS:
            return _FUNCTIONS[func](*args, **kwargs)
        if func.__name__ not in _SHAPES:
            raise UntraceableError(f"np.{func.__name__} cannot be traced")
        found: list[Any] = []

        def plain(value: Any) -> Any:
            if isinstance(value, tuple | list):
                return type(value)(plain(inner) for inner in value)
            if isinstance(value, Cells | np.ndarray):
                found.append(value.dtype)
                return Cells.of(value).values
            return value

        values = func(plain(args[0]), *args[1:], **kwargs)
        return Cells(values, np.result_type(*found))

    def __getitem__(self, key: Any) -> "Cells":
        key, unknown = _resolved(key)
        if unknown is not None:
            (_, first), *rest = _chosen(key, unknown, self)
            result = self[first]
            for met, chosen in rest:
                result = _where(met, self[chosen], result)
            return result
        return Cells(np.asarray(self.values[key], object), self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        value = Cells.of(value).astype(self.dtype)
        key, unknown = _resolved(key)
        if unknown is None:
            self.values[key] = value.values if value.ndim else value.values.item()
            return
        for met, chosen in _chosen(key, unknown, self):
            self[chosen] = _where(met, value, self[chosen])


def _each(function: Callable[..., Any], *arrays: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def _fit(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a result computed in 64 bits as an integer of a narrower type, which wraps around."""
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return cell("unsigned", value, 2**bits - 1)
    if dtype.kind == "i" and (bits < 64 or not isinstance(value, Cell)):
        return cell("signed", value, 2 ** (bits - 1), 2**bits - 1)
    return value


def _scalar(ufunc: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return the operation on numbers whose result has this type."""
    name = _UFUNCS[ufunc]
    if dtype.kind == "b":
        name = _OF_BOOLEANS.get(name, name)
    if name in _ROUNDING and dtype.kind in "iu":
        return lambda *numbers: _fit(cell(name, *numbers), dtype)
    return functools.partial(cell, name)


def _applied(ufunc: Any, inputs: Sequence[Any]) -> Cells:
    samples = [_ones(1, x.dtype) if hasattr(x, "dtype") else x for x in inputs]
    dtype = ufunc(*samples).dtype
    operands = [Cells.of(x) for x in inputs]
    if dtype.kind == "f":
        operands = [x.astype(np.float64) for x in operands]
    return Cells(_each(_scalar(ufunc, dtype), *(x.values for x in operands)), dtype)


def _reduced(
    ufunc: Any, value: Any, axis: Any = 0, keepdims: bool = False, dtype: Any = None, **options: Any
) -> Cells:
    if any(option is not np._NoValue and option is not None for option in options.values()):
        raise UntraceableError(f"np.{ufunc.__name__}.reduce with {[*options]} cannot be traced")
    value = Cells.of(value)
    value = value.astype(dtype or ufunc.reduce(_ones(1, value.dtype)).dtype)
    if value.size == 0 or isinstance(axis, tuple):
        raise UntraceableError("an empty reduction, or one along several axes, cannot be traced")
    values = value.values if axis is not None else value.values.ravel()
    step = np.frompyfunc(_scalar(ufunc, value.dtype), 2, 1)
    result = np.asarray(step.reduce(values, axis or 0, keepdims=keepdims), object)
    if axis is None and keepdims:
        result = result.reshape((1,) * value.ndim)
    return Cells(result, value.dtype)


def _resolved(key: Any) -> tuple[tuple[Any, ...], int | None]:
    """Return an index as a tuple, and the position of its symbolic part."""
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, Cells):
            if part.dtype.kind == "b":  # branch on each entry
                part = np.array([decide(x) for x in part.values.flat], bool).reshape(part.shape)
            elif not any(isinstance(x, Cell) for x in part.values.ravel()):
                part = part.values.astype(np.int64)
        parts.append(part)
    unknown = [k for k, part in enumerate(parts) if isinstance(part, Cells)]
    return tuple(parts), unknown[0] if unknown else None


def _chosen(
    key: tuple[Any, ...], unknown: int, array: Cells
) -> Iterator[tuple[Cells, tuple[Any, ...]]]:
    """Yield an index for each value of its symbolic part, and the condition for this value."""
    leading = [part for part in key[:unknown] if part is not None]
    if any(
        part is Ellipsis or (isinstance(part, np.ndarray) and part.dtype == bool)
        for part in leading
    ):
        raise UntraceableError("x[..., k] with a symbolic index k cannot be traced")
    choices, shape = array.shape[len(leading)], key[unknown].shape
    if choices > _MOST_CHOICES:
        raise UntraceableError(f"a symbolic index chooses from {choices} entries")

    def from_start(x: Any) -> Any:
        return x if is_natural(x) else cell("where", cell("less", x, 0), cell("add", x, choices), x)

    index = Cells(_each(from_start, key[unknown].values), np.int64)
    for k in range(choices):
        yield index == k, (*key[:unknown], np.array(np.broadcast_to(k, shape)), *key[unknown + 1 :])


# Functions of arrays


def _where(condition: Any, chosen: Any, other: Any) -> Cells:
    samples = [_ones(1, x.dtype) if hasattr(x, "dtype") else x for x in (chosen, other)]
    dtype = np.where([True], *samples).dtype
    operands = [Cells.of(x).astype(dtype).values for x in (chosen, other)]
    return Cells(
        _each(functools.partial(cell, "where"), Cells.of(condition).values, *operands), dtype
    )


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Cells:
    return _reduced(np.add, Cells.of(a).astype(np.bool_).astype(np.int64), axis, keepdims)


def _argbest(ufunc: Any, a: Any, axis: Any = None) -> Cells:
    a = Cells.of(a)
    lines = a.values.reshape(-1) if axis is None else np.moveaxis(a.values, axis, 0)
    parts = [Cells(np.asarray(part, object), a.dtype) for part in lines]
    best, index = parts[0], Cells.of(_zeros(parts[0].shape, np.int64))
    for k, part in enumerate(parts[1:], 1):
        pair = (x.astype(np.int64) if a.dtype.kind == "b" else x for x in (part, best))
        better = _applied(ufunc, [*pair])
        best, index = _where(better, part, best), _where(better, k, index)
    return index


def _sort(a: Any, axis: int = -1) -> Cells:
    lines = [*np.moveaxis(Cells.of(a).values, axis, 0)]
    for end in range(len(lines) - 1, 0, -1):
        for k in range(end):
            pair = lines[k : k + 2]
            lines[k], lines[k + 1] = (
                _each(functools.partial(cell, name), *pair) for name in ("minimum", "maximum")
            )
    return Cells(np.moveaxis(np.stack(lines), 0, axis), a.dtype)


def _take_along_axis(a: Any, indices: Any, axis: int) -> Cells:
    a, indices = Cells.of(a), Cells.of(indices)
    grid = [*np.ix_(*map(range, indices.shape))]
    key: list[Any] = [np.broadcast_to(part, indices.shape) for part in grid]
    key[axis] = indices
    chosen: Cells = a[tuple(key)]
    return chosen


def _flatnonzero(a: Any) -> Any:
    return np.flatnonzero([decide(x) for x in Cells.of(a).values.ravel()])


def _ravel_multi_index(multi_index: Any, dims: Sequence[int]) -> Any:
    return functools.reduce(
        lambda total, pair: total * pair[1] + pair[0], zip(multi_index, dims, strict=True), 0
    )


def _like(value: Any) -> Callable[..., Cells]:
    def make(a: Any, fill_value: Any = value, dtype: Any = None, **_: object) -> Cells:
        filled = np.broadcast_to(Cells.of(fill_value).values, a.shape).copy()
        return Cells(filled, Cells.of(fill_value).dtype).astype(dtype or a.dtype)

    return make


def _shaped(name: str) -> Callable[..., Any]:
    def method(array: Cells, *args: Any, **options: Any) -> Cells:
        return Cells(getattr(array.values, name)(*args, **options), array.dtype)

    return method


_SHAPES = {"concatenate", "stack", "hstack", "vstack", "column_stack", "append", "broadcast_to"}
_SHAPES |= {"transpose", "reshape", "ravel", "squeeze", "expand_dims", "moveaxis", "swapaxes"}
_SHAPES |= {"repeat", "tile", "flip", "roll", "copy", "take", "atleast_1d", "atleast_2d"}
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.sort: _sort,
    np.count_nonzero: _count_nonzero,
    np.argmax: functools.partial(_argbest, np.greater),
    np.argmin: functools.partial(_argbest, np.less),
    np.take_along_axis: _take_along_axis,
    np.flatnonzero: _flatnonzero,
    np.ravel_multi_index: _ravel_multi_index,
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _like(0),
}


def _mean(a: Any, axis: Any = None, **options: Any) -> Any:
    return a.sum(axis, **options) / (a.size if axis is None else a.shape[axis])


def _reducing(ufunc: Any) -> Callable[..., Any]:
    def method(a: Any, axis: Any = None, **options: Any) -> Any:
        return _reduced(ufunc, a, axis=axis, **options)

    return method


_REDUCERS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_REDUCERS |= {"any": np.logical_or, "all": np.logical_and}
_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reducing(ufunc) for name, ufunc in _REDUCERS.items()},
    **{"mean": _mean, "argmax": _FUNCTIONS[np.argmax], "argmin": _FUNCTIONS[np.argmin]},
}
_FUNCTIONS |= {getattr(np, name): method for name, method in _METHODS.items()}
_SHAPED = ("reshape", "ravel", "squeeze", "transpose", "repeat", "item")
_METHODS |= {name: _shaped(name) for name in _SHAPED}
