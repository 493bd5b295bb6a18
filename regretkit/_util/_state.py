"""State of learned objects: to a plain dict and back, bitwise identical.

The state of an object is every array, number, text and generator that it holds beyond the
arguments of its constructor, and the state of its parts: of anything ``Stateful`` that it
holds, alone, in a tuple or a list, or in a dict. All else that it holds counts as part of
its configuration.
"""

import copy
import enum
import inspect
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from regretkit._util._validate import quote, shorten

Leaf: TypeAlias = bool | int | float | str | NDArray[np.generic] | None
StateDict: TypeAlias = dict[str, "Leaf | StateDict"]

DERIVED = {"derived": "but by chance"}
"""Attrs metadata of a field that follows from the others, unless a generator had a part in it."""

NOT_STATE = {"derived": "always"}
"""Attrs metadata of a field that is no part of the state."""


_MOST_ITERATIONS = 2**63


class Stateful:
    """Base class of everything whose state can be taken out, put back, and saved with a run.

    The state is every array, number, random generator and part that is an attribute and was not
    passed to the constructor.

    Examples
    --------
    An averaging that counts how often it was asked:

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
        """Return a copy of the state: a plain dict of arrays, numbers and such dicts.

        An object of the same configuration that loads it continues bitwise identically.
        """
        with self._access(writes=False):
            return {name: _taken(value) for name, value in _state_items(self)}

    def load_state_dict(self, state: StateDict) -> None:
        """Continue from a state that ``state_dict`` returned for an object built the same way.

        Raises
        ------
        TypeError, ValueError
            When ``state`` does not fit; the state of this object is then as it was.
        """
        with self._access(writes=True):
            # First find out that everything fits, and only then change anything.
            replace = _fitted(self, state, "state")
            replace()

    def _access(self, *, writes: bool) -> AbstractContextManager[object]:
        """Return a context in which the state is read or replaced, or refuse access now."""
        return nullcontext()

    def _check_state(self, state: Mapping[str, object]) -> None:
        """Refuse a state that this object could not have come to, by a ValueError.

        Names, shapes and types have been checked, in the parts as well. Nothing by default.
        """

    def _restored(self) -> None:
        """Clear caches derived from the state before it was replaced."""


class ForeignState(Stateful):
    """The state of an object of any class: all numbers, texts and generators that it holds.

    Those of the objects that it holds belong to it, and what its constructor was given, because
    that may be what it learns.
    """

    def __init__(self, holder: object) -> None:
        self.holder = holder
        self._inner: dict[str, ForeignState] = {}

    def held(self) -> Iterator[tuple[str, object]]:
        """Yield the attributes of the object, those that are no more than theirs as such states."""
        for name, value in attributes(self.holder):
            known = self._inner.get(name)
            if _is_plain(value) and (known is None or known.holder is not value):
                self._inner[name] = ForeignState(value)
            yield name, self._inner[name] if _is_plain(value) else value

    def items(self) -> Iterator[tuple[str, object]]:
        """Yield what is state; refuse what may be and cannot be read."""
        for name, value in attributes(self):
            if _is_mutable(value) or _is_state(value):
                yield name, value
            elif not _is_constant(value):
                raise self._unreadable(f"its attribute {name} may be learned, {quote(value)}")
        if not hasattr(self.holder, "__dict__") and not attrs_fields(type(self.holder)):
            raise self._unreadable("it has no __dict__")

    def _unreadable(self, reason: str) -> TypeError:
        return TypeError(
            f"the state of {quote(self.holder)} cannot be read: {reason}; keep numbers, arrays, "
            "numpy Generators, or lists and dicts of them, in its attributes"
        )


def _is_plain(value: object) -> bool:
    """Say whether an object is no more than its attributes."""
    kind = type(value)
    return (
        hasattr(value, "__dict__")
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and not isinstance(value, Stateful)
        and not _is_constant(value)
    )


def _is_constant(value: object) -> bool:
    constant = is_ours(value)  # as sets and games
    return constant or callable(value) or isinstance(value, types.ModuleType | enum.Enum)


def is_ours(thing: object) -> bool:
    """Say whether an object's class is one of this library."""
    return type(thing).__module__.startswith("regretkit.")


def parts(thing: object) -> Iterator[tuple[str, Stateful]]:
    """Yield the name and the object of each part directly below ``thing``."""
    for name, value in attributes(thing):
        if isinstance(value, Stateful):
            yield name, value
        elif isinstance(value, tuple | list | dict):
            yield from _parts_in(name, value)


def with_parts(thing: object) -> Iterator[object]:
    """Yield ``thing``, and after it its parts at any depth, each before its own."""
    yield thing
    for _, part in parts(thing):
        yield from with_parts(part)


def generators(thing: object) -> Iterator[np.random.Generator]:
    """Yield the random generators that ``thing`` and its parts hold."""
    for holder in with_parts(thing):
        for _, value in attributes(holder):
            if isinstance(value, np.random.Generator):
                yield value


def _parts_in(name: str, value: object) -> Iterator[tuple[str, Stateful]]:
    if isinstance(value, Stateful):
        yield name, value
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from _parts_in(f"{name}[{number}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts_in(f"{name}[{quote(key)}]", item)


def attributes(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, ForeignState):
        yield from thing.held()
        return
    kind: Any = type(thing)
    fields = _field_names(kind)
    for name in fields:
        if (value := getattr(thing, name, _ABSENT)) is not _ABSENT:
            yield name, value
    for name, value in getattr(thing, "__dict__", {}).items():
        if name not in fields:
            yield name, value


def _state_items(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, ForeignState):
        yield from thing.items()
        return
    kind, held = type(thing), dict(attributes(thing))
    own = [v for v in held.values() if isinstance(v, np.random.Generator | ForeignState)]
    by_chance = any(isinstance(v, np.random.Generator) or any(generators(v)) for v in own)
    marks = {"always"} if by_chance else {"always", "but by chance"}
    derived = (field for field in attrs_fields(kind) if field.metadata.get("derived") in marks)
    left_out = {*inspect.signature(kind).parameters, *(f.name.lstrip("_") for f in derived)}
    for name, value in held.items():
        if _is_mutable(value) or (name.lstrip("_") not in left_out and _is_state(value)):
            yield name, value


_ABSENT = object()


@lru_cache(maxsize=256)
def _field_names(kind: Any) -> dict[str, None]:
    return dict.fromkeys(field.name for field in attrs_fields(kind))


def attrs_fields(kind: type) -> "tuple[attrs.Attribute[object], ...]":
    return attrs.fields(kind) if attrs.has(kind) else ()


def _leaves(value: object) -> Iterator[object]:
    """Yield what tuples, lists and dicts hold at any depth, or else the value."""
    if isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _is_mutable(value: object) -> bool:
    """Say whether a value changes in place, so that it is state wherever it came from."""
    return any(isinstance(leaf, Stateful | np.random.Generator) for leaf in _leaves(value))


_STATE = Stateful | np.random.Generator | np.ndarray | np.generic | bool | int | float | str | None


def _is_state(value: object) -> bool:
    return all(isinstance(leaf, _STATE) for leaf in _leaves(value))


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
        return {str(number): _taken(item) for number, item in enumerate(value)}
    if isinstance(value, dict):
        return {str(key): _taken(item) for key, item in value.items()}
    return value  # type: ignore[return-value]


def _fitted(current: object, saved: object, path: str) -> Callable[[], object]:
    """Check that ``saved`` can replace ``current``; return what does so and gives the result."""
    if isinstance(current, Stateful):
        return _fitted_object(current, saved, path)
    if isinstance(current, np.random.Generator):
        return _fitted_generator(current, saved, path)
    if isinstance(current, dict):
        names = {str(key): key for key in current}
        entries = _entries(saved, names, path)
        fits = {names[k]: _fitted(current[names[k]], v, f"{path}[{quote(k)}]") for k, v in entries}
        return lambda: {key: fit() for key, fit in fits.items()}
    if isinstance(current, tuple | list):
        return _fitted_sequence(current, saved, path)
    if isinstance(current, np.ndarray):
        return _fitted_array(current, saved, path)
    if current is None and isinstance(saved, list) and _are_numbers(saved):
        saved = np.array(saved)  # an array that was written as text
    if not _like(saved, current):
        raise TypeError(f"{path} must be something like {quote(current)}, got {quote(saved)}")
    if isinstance(saved, float) and math.isnan(saved) and current is not None:
        raise ValueError(f"{path} must be a number, got nan")
    return lambda: _taken(saved)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, bool | int | float) for value in values)


def _like(saved: object, current: object) -> bool:
    """Say whether a number, a text or nothing may take the place of another such thing."""
    if current is None:
        return not isinstance(saved, dict | tuple | list) and _is_state(saved)
    if isinstance(current, str):
        return isinstance(saved, str)
    return isinstance(saved, bool | int | float | np.number)


def _fitted_object(current: Stateful, saved: object, path: str) -> Callable[[], object]:
    items = dict(_state_items(current))
    entries = _entries(saved, items, path)
    count = dict(entries).get("iteration", 0)
    if type(count) is not int or not 0 <= count < _MOST_ITERATIONS:
        raise ValueError(f"{path}['iteration'] must be a number of iterations, got {quote(count)}")
    optional = {field.name for field in attrs_fields(type(current)) if field.default is None}
    holder: object = current.holder if isinstance(current, ForeignState) else current
    foreign = holder is not current

    def replaced(name: str, value: object) -> object:
        # A field that begins as None may be None again, independently of its current value.
        if value is None and (foreign or name in optional):
            return None
        # What an object of any class has not learned yet may become a list.
        return [] if foreign and items[name] is None and isinstance(value, dict) else items[name]

    fits = {k: _fitted(replaced(k, v), v, f"{path}[{quote(k)}]") for k, v in entries}
    current._check_state(dict(entries))

    def replace() -> object:
        current._restored()
        for name, fit in fits.items():
            replacement = fit()
            if replacement is not items[name]:
                setattr(holder, name, replacement)
        return current

    return replace


def _fitted_generator(
    current: np.random.Generator, saved: object, path: str
) -> Callable[[], object]:
    def replace(generator: np.random.Generator) -> object:
        generator.bit_generator.state = cast("StateDict", saved)
        return generator

    try:
        replace(copy.deepcopy(current))
        _check_bits(cast("StateDict", saved))
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        kind = type(current.bit_generator).__name__
        raise ValueError(
            f"{path} is not the state of a {kind} generator: {shorten(str(error))}"
        ) from error
    return lambda: replace(current)


def _check_bits(saved: Mapping[str, Any]) -> None:
    """Refuse states that NumPy takes, but with which it reads beyond an array or never varies."""
    state = saved["state"]
    # The next number is read at this position of a buffer; the last one says that it is used up.
    sizes = {"MT19937": (state, "pos", 624), "Philox": (saved, "buffer_pos", 4)}
    if saved["bit_generator"] in sizes:
        holder, name, maximum = sizes[saved["bit_generator"]]
        if not 0 <= holder[name] <= maximum:
            raise ValueError(f"{name} must be from 0 to {maximum}, got {quote(holder[name])}")
    if saved["bit_generator"] == "MT19937" and not np.any(np.asarray(state["key"])[1:]):
        raise ValueError("key must not be all zeros")
    if saved["bit_generator"] in ("PCG64", "PCG64DXSM") and state["inc"] % 2 == 0:
        raise ValueError(f"inc must be odd, got {quote(state['inc'])}")


def _fitted_sequence(
    current: tuple[object, ...] | list[object], saved: object, path: str
) -> Callable[[], object]:
    names = [str(number) for number in range(len(current))]
    # A list of numbers may have grown; a list of parts has as many as were built.
    if not _is_mutable(current) and isinstance(saved, dict):
        names = [str(number) for number in range(len(saved))]
        current = type(current)([None] * len(names))
    entries = dict(_entries(saved, names, path))
    fits = [
        _fitted(item, entries[name], f"{path}[{quote(name)}]")
        for name, item in zip(names, current, strict=True)
    ]
    kind = type(current)
    return lambda: kind(fit() for fit in fits)


def _fitted_array(current: NDArray[np.generic], saved: object, path: str) -> Callable[[], object]:
    try:
        array = np.asarray(saved)
    except ValueError as error:
        raise ValueError(f"{path} must be an array, got {quote(saved)}") from error
    if array.shape != current.shape or array.dtype != current.dtype:
        raise ValueError(
            f"{path} has shape {array.shape} and type {array.dtype}, but {current.shape} and "
            f"{current.dtype} are wanted; pass the state of an object built the same way"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{path} must hold numbers, got nan at {int(np.isnan(array).argmax())}")
    return array.copy


def _entries(saved: object, wanted: Iterable[str], path: str) -> list[tuple[str, object]]:
    if not isinstance(saved, dict):
        raise TypeError(f"{path} must be a dict as state_dict returns it, got {quote(saved)}")
    names = list(wanted)
    if saved.keys() != set(names):
        raise ValueError(
            f"{path} has the entries {quote(sorted(saved))}, but {quote(sorted(names))} are "
            "wanted; pass the state of an object built the same way"
        )
    return [(name, saved[name]) for name in names]


def is_finite_array(value: object, dimensions: int = 1) -> bool:
    """Say whether a value in a state is an array of finite floats of that many dimensions."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == dimensions
        and bool(np.isfinite(value).all())
    )
