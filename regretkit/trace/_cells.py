"""Arrays whose numbers are not known yet: NumPy code on them records how each is computed.

In contrast to the symbols of rules, which stand for all blocks at once, here every number is an
expression of its own, a cell, so that arrays can be indexed, sorted, stacked and written to.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from regretkit.trace._symbols import UntraceableError

_zeros, _ones, _empty = np.zeros, np.ones, np.empty  # which are replaced while code is traced

Scalar: TypeAlias = "Cell | int | float | bool"
Result = TypeVar("Result")


@final
class Cell:
    """An operation on numbers, or an input. Equal ones are one object within a tracing."""

    __slots__ = ("args", "kind", "op")

    def __init__(self, op: str, args: tuple[Any, ...], kind: str) -> None:
        self.op, self.args, self.kind = op, args, kind


Recorded: TypeAlias = dict[tuple[Any, ...], Cell]

_CODES = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "floor_divide": "({0} // {1})",
    "remainder": "({0} % {1})",
    "left_shift": "({0} << {1})",
    "right_shift": "({0} >> {1})",
    "bitwise_and": "({0} & {1})",
    "bitwise_or": "({0} | {1})",
    "bitwise_xor": "({0} ^ {1})",
    "invert": "(~{0})",
    "negative": "(-{0})",
    "absolute": "abs({0})",
    "maximum": "({0} if {0} > {1} else {1})",
    "minimum": "({0} if {0} < {1} else {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
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
_COMPARED = {"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}
_LOGICAL = {"and", "or", "xor", "not"}
_OF_BOOLEANS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not"}
_OF_BOOLEANS |= {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_ROUNDING = {"add", "subtract", "multiply", "left_shift", "negative", "invert"}
"""Operations whose results narrow integers may not hold."""
_UFUNCS: dict[Any, str] = {
    getattr(np, name): name for name in _CODES if isinstance(getattr(np, name, None), np.ufunc)
}
_UFUNCS |= {np.logical_and: "and", np.logical_or: "or", np.logical_xor: "xor"}
_UFUNCS |= {np.logical_not: "not"}

_MOST_WAYS = 64
"""Ways through a function, by the outcomes of its decisions."""
_MOST_CHOICES = 256
"""Entries among which an index that is not known yet may choose."""


@final
class Tracing(threading.local):
    """What is recorded in this thread."""

    cells: Recorded | None = None
    decided: dict[Cell, bool]
    """The outcome of each condition that Python has asked for, in order."""
    taken: tuple[bool, ...] = ()
    """Those to repeat."""


_TRACING = Tracing()


def _kind(value: Scalar) -> str:
    if isinstance(value, Cell):
        return value.kind
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"


def cell(op: str, *args: Any) -> Any:
    """Return the result of an operation: a number where all are known, else a cell."""
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
    elif op in _COMPARED or op in _LOGICAL:
        kind = "b"
    else:
        floating = op in ("divide", "float") or (op != "int" and "f" in map(_kind, args))
        kind = "f" if floating else "i"
    return _made(op, args, kind)


def _made(op: str, args: tuple[Any, ...], kind: str) -> Cell:
    if _TRACING.cells is None:
        raise UntraceableError("a value is used that is known only while its code is traced")
    key = (op, kind, *((arg if isinstance(arg, Cell) else (type(arg), arg)) for arg in args))
    return _TRACING.cells.setdefault(key, Cell(op, args, kind))


def given(name: str, kind: str) -> Cell:
    """Return an input, whose code is ``name``."""
    return _made("input", (name,), kind)


def _truth(value: Any) -> Any:
    if isinstance(value, Cell):
        return value if value.kind == "b" else cell("not_equal", value, 0)
    return bool(value)


def _as_number(value: Any) -> Any:
    if isinstance(value, Cell) and value.kind == "b":
        return _made("int", (value,), "i")
    return int(value) if isinstance(value, bool) else value


def cast(value: Any, kind: str) -> Any:
    """Return a number as one of a kind: a boolean, an integer or a float."""
    if kind == "b":
        return _truth(value)
    value = _as_number(value)
    if not isinstance(value, Cell):
        return int(value) if kind == "i" else float(value)
    return value if value.kind == kind else cell("float" if kind == "f" else "int", value)


def _simplified(op: str, args: tuple[Any, ...]) -> Any:
    """Return what an operation is where that is known without it, None otherwise."""
    known = [not isinstance(arg, Cell) for arg in args]
    first: Any = args[0]
    last: Any = args[-1]
    if op == "where":
        if known[0]:
            return args[1] if first else last
        same = type(args[1]) is type(last) and (args[1] is last or (known[1] and args[1] == last))
        return args[1] if same else None
    if op in ("and", "or") and any(known):
        constant, other = (first, last) if known[0] else (last, first)
        return other if constant == (op == "and") else constant
    if op == "not" and not known[0] and first.op == "not":
        return first.args[0]
    if op != "input" and all(known):
        scope: dict[str, Any] = {f"x{k}": arg for k, arg in enumerate(args)}
        try:
            return eval(_CODES[op].format(*scope), {"float": float, "int": int, "abs": abs}, scope)
        except ArithmeticError:
            return None
    if op in ("add", "bitwise_or", "bitwise_xor") and known[0] and not first and _kind(last) == "i":
        return last
    if op in ("add", "subtract", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        return first if known[1] and not last and _kind(first) == _kind(last) == "i" else None
    if op == "equal" and known[1] and first.op == "where":  # who acts, most often
        outcomes = first.args[1:]
        if not any(isinstance(outcome, Cell) for outcome in outcomes):
            matches = [outcome == last for outcome in outcomes]
            return (
                cell("where", first.args[0], *matches)
                if matches[0] == matches[1]
                else (first.args[0] if matches[0] else cell("not", first.args[0]))
            )
    return None


# Ways through a function


def all_ways(function: Callable[[], Result]) -> list[tuple[Any, Result]]:
    """Run a function once for each outcome of its decisions; return its results.

    Each comes with the condition of its way, which excludes the others.
    """
    ways: list[tuple[Any, Result]] = []
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        if len(ways) >= _MOST_WAYS:
            raise UntraceableError("Python decides by what is not known yet again and again")
        _TRACING.decided, _TRACING.taken = {}, waiting.pop()
        result, outcomes = function(), [*_TRACING.decided.values()]
        waiting += [(*outcomes[:k], False) for k in range(len(_TRACING.taken), len(outcomes))]
        conditions = [c if met else cell("not", c) for c, met in _TRACING.decided.items()]
        ways.append((functools.reduce(functools.partial(cell, "and"), conditions, True), result))
    return ways


def _decide(value: Any) -> bool:
    condition = _truth(value)
    if not isinstance(condition, Cell):
        return bool(condition)
    if condition.op == "not":
        return not _decide(condition.args[0])
    decided, taken = _TRACING.decided, _TRACING.taken
    if condition not in decided:
        decided[condition] = taken[len(decided)] if len(decided) < len(taken) else True
    return decided[condition]


@contextmanager
def tracing(cells: Recorded) -> Iterator[None]:
    """Record within; new arrays that code makes by ``np.zeros`` and the like can be written to."""
    makers = {name: getattr(np, name) for name in ("zeros", "ones", "empty", "full")}
    thread = threading.get_ident()

    def replaced(make: Callable[..., Any]) -> Callable[..., Any]:
        def maker(*args: Any, **options: Any) -> Any:
            symbolic = any(isinstance(arg, Cells) for arg in args)
            if threading.get_ident() != thread or (symbolic and make is not makers["full"]):
                return make(*args, **options)
            if symbolic:  # np.full(shape, symbol)
                return np.broadcast_to(args[1], args[0]).copy()
            array = make(*args, **options)
            return Cells.of(array) if array.dtype.kind in "bif" else array

        return maker

    _TRACING.cells, _TRACING.decided, _TRACING.taken = cells, {}, ()
    try:
        for name, make in makers.items():
            setattr(np, name, replaced(make))
        yield
    finally:
        for name, make in makers.items():
            setattr(np, name, make)
        _TRACING.cells = None


# Arrays


@final
class Cells(NDArrayOperatorsMixin):
    """An array of cells and known numbers."""

    __array_priority__ = 1000

    def __init__(self, values: NDArray[np.object_], dtype: Any) -> None:
        self.values, self.dtype = values, np.dtype(dtype)
        if self.dtype.kind not in "biuf" or self.dtype == np.uint64:
            raise UntraceableError(f"arrays of {self.dtype} are not traced")

    @classmethod
    def of(cls, value: Any) -> "Cells":
        """Return an array of known numbers; one of cells is returned unchanged."""
        if isinstance(value, Cells):
            return value
        array = np.asarray(value)
        values = _empty(array.shape, object)
        values.reshape(-1)[:] = array.reshape(-1).tolist()
        return cls(values, array.dtype)

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
        return _decide(self.values.item())

    def __index__(self) -> int:
        value = self.values.item() if self.size == 1 else None
        if isinstance(value, int) and self.dtype.kind in "iu":
            return value
        raise UntraceableError("Python asks for a whole number that is not known yet")

    def __array__(self, *_: object, **__: object) -> Any:
        raise UntraceableError("a function asks for numbers that are not known yet")

    def copy(self) -> "Cells":
        """Return an array of its own."""
        return Cells(self.values.copy(), self.dtype)

    def astype(self, dtype: Any, **_: object) -> "Cells":
        """Return the numbers as those of another type."""
        dtype = np.dtype(dtype)
        kind = "i" if dtype.kind == "u" else dtype.kind
        values = _each(lambda x: _fit(cast(x, kind), dtype), self.values)
        return Cells(values, dtype)

    def __getattr__(self, name: str) -> Any:
        function = _METHODS.get(name)
        if function is None:
            raise UntraceableError(f"x.{name} is not traced")
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
            raise UntraceableError(f"np.{ufunc.__name__} with {method} is not traced")
        if isinstance(out, Cells):
            out[...] = result.astype(out.dtype)
            return out
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _FUNCTIONS:
            return _FUNCTIONS[func](*args, **kwargs)
        if func.__name__ not in _SHAPES:
            raise UntraceableError(f"np.{func.__name__} is not traced")
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
            choices = [self[chosen] for chosen in _chosen(key, unknown, self)]
            index, result = Cells.of(key[unknown]), choices[0]
            for k, choice in enumerate(choices[1:], 1):
                result = _where(index == k, choice, result)
            return result
        values = self.values[key]
        if not isinstance(values, np.ndarray):
            values = _boxed(values)
        return Cells(values, self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        value = Cells.of(value).astype(self.dtype)
        key, unknown = _resolved(key)
        if unknown is None:
            self.values[key] = value.values if value.ndim else value.values.item()
            return
        index = Cells.of(key[unknown])
        for k, chosen in enumerate(_chosen(key, unknown, self)):
            self[chosen] = _where(index == k, value, self[chosen])


def _boxed(value: Any) -> NDArray[np.object_]:
    values = _empty((), object)
    values[()] = value
    return values


def _each(function: Callable[..., Any], *arrays: NDArray[np.object_]) -> NDArray[np.object_]:
    arrays = tuple(np.broadcast_arrays(*arrays))
    values = _empty(arrays[0].shape, object)
    flat = [array.ravel().tolist() for array in arrays]
    filled = values.reshape(-1)
    for k, entries in enumerate(zip(*flat, strict=True)):
        filled[k] = function(*entries)
    return values


def _fit(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an integer is in a narrow type, where it wraps around."""
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return cell("unsigned", value, 2**bits - 1)
    if dtype.kind == "i" and bits < 64:
        return cell("signed", value, 2 ** (bits - 1), 2**bits - 1)
    return value


def _applied(ufunc: Any, inputs: Sequence[Any]) -> Cells:
    samples = [_ones(1, x.dtype) if hasattr(x, "dtype") else x for x in inputs]
    dtype = ufunc(*samples).dtype
    operands = [Cells.of(x) for x in inputs]
    name = _UFUNCS[ufunc]
    if dtype.kind == "b" and name in _OF_BOOLEANS:
        name = _OF_BOOLEANS[name]
    rounds = name in _ROUNDING and dtype.kind in "iu"
    apply = functools.partial(cell, name)
    if dtype.kind == "f" and name not in _COMPARED:
        operands = [x.astype(np.float64) for x in operands]
    values = _each(
        (lambda *x: _fit(apply(*x), dtype)) if rounds else apply, *(x.values for x in operands)
    )
    return Cells(values, dtype)


def _reduced(
    ufunc: Any, value: Any, axis: Any = 0, keepdims: bool = False, dtype: Any = None, **more: Any
) -> Cells:
    if any(option is not np._NoValue and option is not None for option in more.values()):
        raise UntraceableError(f"np.{ufunc.__name__}.reduce with {[*more]} is not traced")
    value = Cells.of(value)
    result_type = dtype or ufunc.reduce(_ones(1, value.dtype)).dtype
    if ufunc is np.add:
        value = value.astype(result_type)
    if axis is None:
        flat, shape = value.values.reshape(-1), (1,) * value.ndim
    else:
        flat = np.moveaxis(value.values, axis, 0)
        shape = tuple(1 if k == axis % value.ndim else n for k, n in enumerate(value.shape))
    if not len(flat) or isinstance(axis, tuple):
        raise UntraceableError("a reduction of nothing, or along several axes, is not traced")
    parts = [
        Cells(part if isinstance(part, np.ndarray) else _boxed(part), value.dtype) for part in flat
    ]
    result = functools.reduce(lambda x, y: _applied(ufunc, (x, y)), parts).astype(result_type)
    return Cells(result.values.reshape(shape), result.dtype) if keepdims else result


def _resolved(key: Any) -> tuple[tuple[Any, ...], int | None]:
    """Return an index as a tuple, and which part of it is not known yet."""
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, Cells):
            if part.dtype.kind == "b":  # decided entry by entry
                flags = _empty(part.shape, bool)
                flags.reshape(-1)[:] = [_decide(x) for x in part.values.ravel()]
                part = flags
            elif not any(isinstance(x, Cell) for x in part.values.ravel()):
                part = part.values.astype(np.int64)
        parts.append(part)
    unknown = [k for k, part in enumerate(parts) if isinstance(part, Cells)]
    return tuple(parts), unknown[0] if unknown else None


def _chosen(key: tuple[Any, ...], unknown: int, array: Cells) -> Iterator[tuple[Any, ...]]:
    """Yield an index with each value of the part that is not known yet."""
    before = [part for part in key[:unknown] if part is not None]
    if any(
        part is Ellipsis or (isinstance(part, np.ndarray) and part.dtype == bool) for part in before
    ):
        raise UntraceableError("x[..., k] with an index k that is not known yet is not traced")
    choices, shape = array.shape[len(before)], key[unknown].shape
    if choices > _MOST_CHOICES:
        raise UntraceableError(f"an index that is not known yet chooses among {choices} entries")
    for k in range(choices):
        yield (*key[:unknown], np.array(np.broadcast_to(k, shape)), *key[unknown + 1 :])


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
    parts = [Cells(p if isinstance(p, np.ndarray) else _boxed(p), a.dtype) for p in lines]
    best, index = parts[0], Cells.of(_zeros(parts[0].shape, np.int64))
    for k, part in enumerate(parts[1:], 1):
        better = (
            _applied(ufunc, (part.astype(np.int64), best.astype(np.int64)))
            if a.dtype.kind == "b"
            else _applied(ufunc, (part, best))
        )
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
    return np.flatnonzero([_decide(x) for x in Cells.of(a).values.ravel()])


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
_METHODS: dict[str, Callable[..., Any]] = {
    name: _shaped(name) for name in ("reshape", "ravel", "squeeze", "transpose", "repeat", "item")
}
for _name, _ufunc in {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}.items():
    _reduce = functools.partial(_reduced, _ufunc)

    def _method(a: Any, axis: Any = None, *, f: Any = _reduce, **options: Any) -> Any:
        return f(a, axis=axis, **options)

    _METHODS[_name] = _FUNCTIONS[getattr(np, _name)] = _method
_METHODS["argmax"], _METHODS["argmin"] = _FUNCTIONS[np.argmax], _FUNCTIONS[np.argmin]


def _mean(a: Any, axis: Any = None, **options: Any) -> Any:
    return a.sum(axis, **options) / (a.size if axis is None else a.shape[axis])


_METHODS["mean"] = _FUNCTIONS[np.mean] = _mean


# Code


def code(outputs: Iterable[Any], results: Callable[[list[str]], list[str]]) -> list[str]:
    """Return lines that compute outputs, and then do with their names what ``results`` says."""
    outputs, names, lines = [*outputs], dict[Cell, str](), list[str]()
    stack = [(output, False) for output in reversed(outputs) if isinstance(output, Cell)]
    while stack:
        node, expanded = stack.pop()
        if node in names:
            continue
        if node.op == "input":  # read before anything is written
            names[node] = name = f"v{len(lines)}"
            lines.append(f"{name} = {node.args[0]}")
        elif expanded:
            names[node] = name = f"v{len(lines)}"
            terms = [names[arg] if isinstance(arg, Cell) else repr(arg) for arg in node.args]
            lines.append(f"{name} = {_CODES[node.op].format(*terms)}")
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args) if isinstance(arg, Cell))
    return lines + results([names[x] if isinstance(x, Cell) else repr(x) for x in outputs])
