"""Arrays of cells: NumPy code on them records how each number is computed."""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from regretkit.trace._cells import (
    CODES,
    TRACING,
    Cell,
    Recorded,
    cast,
    cell,
    decide,
    is_natural,
)
from regretkit.trace._graph import COMPARISONS
from regretkit.trace._symbols import UntraceableError

_zeros, _ones = np.zeros, np.ones  # tracing replaces these functions

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

    TRACING.cells, TRACING.decided, TRACING.taken = cells, {}, ()
    try:
        for name, make in makers.items():
            setattr(np, name, replaced(make))
        yield
    finally:
        for name, make in makers.items():
            setattr(np, name, make)
        TRACING.cells = None


# Arrays


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


def _applied(ufunc: Any, inputs: Sequence[Any]) -> Cells:
    samples = [_ones(1, x.dtype) if hasattr(x, "dtype") else x for x in inputs]
    dtype = ufunc(*samples).dtype
    operands = [Cells.of(x) for x in inputs]
    name = _UFUNCS[ufunc]
    if dtype.kind == "b" and name in _OF_BOOLEANS:
        name = _OF_BOOLEANS[name]
    rounds = name in _ROUNDING and dtype.kind in "iu"
    apply = functools.partial(cell, name)
    if dtype.kind == "f" and name not in COMPARISONS:
        operands = [x.astype(np.float64) for x in operands]
    values = _each(
        (lambda *x: _fit(apply(*x), dtype)) if rounds else apply, *(x.values for x in operands)
    )
    return Cells(values, dtype)


def _reduced(
    ufunc: Any, value: Any, axis: Any = 0, keepdims: bool = False, dtype: Any = None, **options: Any
) -> Cells:
    if any(option is not np._NoValue and option is not None for option in options.values()):
        raise UntraceableError(f"np.{ufunc.__name__}.reduce with {[*options]} cannot be traced")
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
        raise UntraceableError("an empty reduction, or one along several axes, cannot be traced")
    parts = [Cells(np.asarray(part, object), value.dtype) for part in flat]
    result = functools.reduce(lambda x, y: _applied(ufunc, (x, y)), parts).astype(result_type)
    return Cells(result.values.reshape(shape), result.dtype) if keepdims else result


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
