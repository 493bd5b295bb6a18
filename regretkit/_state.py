"""The state of objects as plain dicts, restored bitwise identically.

The parts of an object are its ``Stateful`` attributes, alone or in tuples, lists and dicts.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from regretkit._util._validate import must_be, quote

Leaf: TypeAlias = bool | int | float | str | NDArray[np.generic] | None
StateDict: TypeAlias = dict[str, "Leaf | StateDict"]

NOT_STATE = {"state": "never"}
"""Attrs metadata of a field that does not belong to the state."""

Changes: TypeAlias = list[Callable[[], object]]

_NUMBER = bool | int | float | np.number
_LEAF = _NUMBER | np.generic | np.ndarray | str | None


class Stateful:
    """Base class of objects whose state can be copied, restored, and saved with a run.

    The state contains all random generators and parts. It also contains each array, number, string
    or None among the attributes, except arguments of the constructor.

    Examples
    --------
    An averaging that counts its calls. The count is its state:

    >>> from regretkit.play import Averaging, Stateful
    >>> class Counting(Averaging, Stateful):
    ...     def __init__(self):
    ...         self.asked = 0
    ...
    ...     def weight(self, t, horizon):
    ...         self.asked += 1
    ...         return 1.0
    >>> averaging = Counting()
    >>> averaging.weight(1, None)
    1.0
    >>> averaging.state_dict()
    {'asked': 1}
    """

    def state_dict(self) -> StateDict:
        """Return a copy of the state: a nested dict of arrays, numbers and strings.

        An object with the same constructor arguments can load it and continue bitwise identically.
        """
        return {name: _taken(value) for name, value in _state_of(self).items()}

    def load_state_dict(self, state: StateDict) -> None:
        """Restore a state that ``state_dict`` returned for an object with the same arguments.

        A state of other names, types or shapes raises a TypeError or ValueError and changes
        nothing.
        """
        changes: Changes = []  # applied only after the whole state has been checked
        _fitted(self, state, "state", changes)
        for change in changes:
            change()

    def _check_state(self, state: Mapping[str, object]) -> None:
        """Raise a ValueError if values of the state are invalid. Names and shapes are valid."""

    def _restored(self) -> None:
        """Clear caches that depend on the old state. It is called before the new one is set."""


def attributes(thing: object) -> Iterator[tuple[str, object]]:
    """Yield the name and value of each attribute, from slots and ``__dict__``."""
    kind: Any = type(thing)
    names = {**_field_names(kind), **getattr(thing, "__dict__", {})}
    for name in names:
        value = getattr(thing, name, _ABSENT)
        if value is not _ABSENT:
            yield name, value


_ABSENT = object()


@lru_cache(maxsize=1_000)
def _field_names(kind: type) -> dict[str, None]:
    """Return the attrs fields of a class with instances: their number is final."""
    return dict.fromkeys(field.name for field in attrs_fields(kind))


def attrs_fields(kind: type) -> "tuple[attrs.Attribute[object], ...]":
    """Return the attrs fields of a class, empty if it is no attrs class."""
    return attrs.fields(kind) if attrs.has(kind) else ()


def parts(thing: object) -> Iterator[tuple[str, Stateful]]:
    """Yield the path and the object of each direct part of ``thing``."""
    for name, value in attributes(thing):
        for path, leaf in leaves(value, name):
            if isinstance(leaf, Stateful):
                yield path, leaf


def with_parts(thing: object) -> Iterator[object]:
    """Yield ``thing`` and its parts at any depth, in preorder."""
    yield thing
    for _, part in parts(thing):
        yield from with_parts(part)


def generators(thing: object) -> Iterator[np.random.Generator]:
    """Yield the random generators among the attributes of ``thing`` and its parts."""
    for holder in with_parts(thing):
        for _, value in attributes(holder):
            if isinstance(value, np.random.Generator):
                yield value


def is_ours(thing: object) -> bool:
    """Return whether regretkit defines the object's class."""
    return type(thing).__module__.startswith("regretkit.")


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path and value of each leaf of nested tuples, lists and dicts."""
    if isinstance(value, tuple | list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{quote(key)}]")
    else:
        yield path, value


def _changes_in_place(value: object) -> bool:
    return any(isinstance(leaf, Stateful | np.random.Generator) for _, leaf in leaves(value))


@lru_cache(maxsize=256)
def _configuration(kind: type) -> set[str]:
    """Return the names of attributes that are not state, without leading underscores."""
    marked = (f for f in attrs_fields(kind) if f.metadata.get("state") is not None)
    return {*inspect.signature(kind).parameters, *(field.name.lstrip("_") for field in marked)}


def _state_of(thing: object) -> dict[str, object]:
    kind: Any = type(thing)
    configuration, kinds = _configuration(kind), Stateful | np.random.Generator | _LEAF

    def is_state(name: str, value: object) -> bool:
        if name.lstrip("_") in configuration:
            return _changes_in_place(value)
        return all(isinstance(leaf, kinds) for _, leaf in leaves(value))

    return {name: value for name, value in attributes(thing) if is_state(name, value)}


def _taken(value: object) -> Leaf | StateDict:
    if isinstance(value, Stateful):
        return value.state_dict()
    if isinstance(value, np.random.Generator):
        return _taken(value.bit_generator.state)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.generic):
        return value.item()  # type: ignore[no-any-return]
    if isinstance(value, tuple | list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        return {str(key): _taken(item) for key, item in value.items()}
    return value  # type: ignore[return-value]


def _fitted(current: object, saved: Any, path: str, changes: Changes) -> object:
    """Return a copy of ``saved`` that can replace ``current``, or raise an error.

    Parts and generators stay the same objects. Their updates are appended to ``changes``.
    """
    if isinstance(current, Stateful):
        _fit_object(current, saved, path, changes)
        return current
    if isinstance(current, np.random.Generator):
        _fit_generator(current, saved, path, changes)
        return current
    if isinstance(current, dict | tuple | list):
        items = current if isinstance(current, dict) else dict(enumerate(current))
        keys = {str(key): key for key in items}
        if items is not current and isinstance(saved, dict) and not _changes_in_place(current):
            keys = {str(key): key for key in range(len(saved))}  # numbers may have been added
        entries = _entries(saved, keys, path)
        fitted = {keys[k]: _fitted(items.get(keys[k]), v, p, changes) for k, v, p in entries}
        return fitted if items is current else cast(Any, type(current))(fitted.values())
    if isinstance(current, np.ndarray) or (
        current is None and isinstance(saved, list | np.ndarray)
    ):
        return _fitted_array(current, saved, path)
    kinds = _LEAF if current is None else str if isinstance(current, str) else _NUMBER
    if not isinstance(saved, kinds):
        raise TypeError(f"{path} must be like {quote(current)}, got {quote(saved)}")
    if current is not None and saved != saved:
        raise ValueError(f"{path} must be a number, got nan")
    return _taken(saved)


def _fit_object(current: Stateful, saved: Any, path: str, changes: Changes) -> None:
    state = _state_of(current)
    entries = _entries(saved, state, path)
    count = saved.get("iteration", 0)
    if type(count) is not int or not 0 <= count < 2**63:
        raise ValueError(f"{path}['iteration'] must be a number of iterations, got {quote(count)}")
    # A field whose default is None may be None in the saved state, whatever it is now.
    optional = {field.name for field in attrs_fields(type(current)) if field.default is None}
    fitted: dict[str, object] = {}
    for name, value, place in entries:
        absent = value is None and name in optional
        fitted[name] = None if absent else _fitted(state[name], value, place, changes)
    current._check_state(saved)

    def replace() -> None:
        current._restored()
        for name, value in fitted.items():
            if value is not state[name]:
                setattr(current, name, value)

    changes.append(replace)


def _fitted_array(
    current: NDArray[np.generic] | None, saved: Any, path: str
) -> NDArray[np.generic]:
    array = np.array(saved)  # a state from JSON has lists
    if current is not None and (array.shape, array.dtype) != (current.shape, current.dtype):
        raise ValueError(
            f"{path} must have shape {current.shape} and dtype {current.dtype}, "
            f"got {array.shape} and {array.dtype}"
        )
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise ValueError(f"{path} must hold numbers, got {quote(array)}")
    return array


def _fit_generator(current: np.random.Generator, saved: Any, path: str, changes: Changes) -> None:
    def replace(generator: np.random.Generator = current) -> None:
        generator.bit_generator.state = saved

    try:
        replace(copy.deepcopy(current))
        _check_bits(saved)
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        kind = type(current.bit_generator).__name__
        raise ValueError(f"{path} is not the state of a {kind}: {quote(error)}") from error
    changes.append(replace)


def _check_bits(saved: Mapping[str, Any]) -> None:
    """Raise a ValueError for states that NumPy accepts but that break its generators.

    NumPy would read beyond an array, or draw the same number forever.
    """
    kind, state = saved["bit_generator"], saved["state"]
    if kind == "MT19937" and not 0 <= state["pos"] <= 624:
        raise ValueError("pos must be from 0 to 624")
    if kind == "MT19937" and not np.any(np.asarray(state["key"])[1:]):
        raise ValueError("key must not be all zeros")
    if kind == "Philox" and not 0 <= saved["buffer_pos"] <= 4:
        raise ValueError("buffer_pos must be from 0 to 4")
    if kind in ("PCG64", "PCG64DXSM") and state["inc"] % 2 == 0:
        raise ValueError("inc must be odd")


def _entries(saved: Any, wanted: Iterable[str], path: str) -> list[tuple[str, Any, str]]:
    """Check the names of a dict's entries; return the name, value and path of each."""
    names = [*wanted]
    if not isinstance(saved, dict) or saved.keys() != {*names}:
        given = [*saved] if isinstance(saved, dict) else saved
        raise ValueError(must_be(path, f"a dict with the entries {quote(names)}", given))
    return [(name, saved[name], f"{path}[{name!r}]") for name in names]


def is_finite_array(value: object, dimensions: int = 1) -> bool:
    """Return whether a value is an array of finite 64-bit floats with ``dimensions`` axes."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == dimensions
        and bool(np.isfinite(value).all())
    )
