"""What a rule's code can change, so that tracing leaves it as it was, and notices what changes."""

import copy
import operator
import pickle
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast, final

import numpy as np

from regretkit._util._state import Stateful
from regretkit.trace._paths import owners
from regretkit.trace._sources import ABSENT, inside, is_own, is_own_class, sources_of
from regretkit.trace._symbols import UntraceableError

A_GENERATOR = "a random generator"
_GENERATORS = (np.random.BitGenerator, np.random.Generator, np.random.RandomState, random.Random)
_MOST = 2000
"""Objects that are looked at, the nearest ones first."""
_ATOMS = {bool, int, float, complex, str, bytes, type(None), types.CodeType, types.ModuleType}
_ARITHMETIC = {"ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"}
_HIDDEN = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "_abc_impl"}

Contents: TypeAlias = np.ndarray[Any, Any] | bytes | list[Any]
"""Of an array, of a random generator, or objects, which count as the same if they are identical."""


class _Watched(NamedTuple):
    """Something that can be changed, by the name that a rule has for it."""

    name: str
    value: Any
    read: Callable[[], Contents]
    put: Callable[[Any], object]
    before: Contents


@final
class Snapshot:
    """All that a rule's code refers to and could change in place, as it is now.

    Raises
    ------
    UntraceableError
        When something that the rule holds refers to the rule itself, or changes when it is read; or
        when its code goes by errors of arithmetic, which symbols do not raise.
    """

    def __init__(self, rule: Any) -> None:
        self._watched: list[_Watched] = []
        self._parts = {id(part) for _, part in owners(rule)}
        waiting = deque(self._roots(rule))
        seen: dict[int, object] = {}
        while waiting and len(seen) < _MOST:
            name, value = waiting.popleft()
            if type(value) not in _ATOMS and id(value) not in seen and self._may_hold(name, value):
                seen[id(value)] = value  # so that its id stays its own
                for read, put in _accesses(value):
                    name = A_GENERATOR if isinstance(value, _GENERATORS) else name
                    self._watched.append(_Watched(name, value, read, put, copy.copy(read())))
                waiting.extend((name, held) for held in _held_in(value))

    def _roots(self, rule: Any) -> Iterator[tuple[str, object]]:
        """Yield all that a rule's code refers to, with names."""
        yield A_GENERATOR, cast(Any, np.random.get_state).__self__
        yield A_GENERATOR, cast(Any, random.getstate).__self__
        for namespace, name, value in sources_of(rule):
            if namespace is None:
                # Parts, and methods of them, are copied with the rule.
                if not {id(value), id(getattr(value, "__self__", None))} & self._parts:
                    yield f"self.{name}", value
            elif isinstance(namespace, types.FunctionType):
                if errors := _ARITHMETIC.intersection(namespace.__code__.co_names):
                    raise UntraceableError(
                        f"{namespace.__name__} goes by {min(errors)}, which machine code does not "
                        "raise; compare with 0 before you divide"
                    )
                yield f"a default argument of {namespace.__name__}", value
                yield f"an attribute of {namespace.__name__}", namespace
            elif isinstance(namespace, types.CellType):
                yield "a variable of an enclosing function", namespace
            elif isinstance(namespace, type):
                yield f"the class {namespace.__name__}", namespace
            elif type(namespace) is dict:
                yield f"the global {name}", value
                read, put = partial(_entry, namespace, name), partial(_put_entry, namespace, name)
                self._watched.append(_Watched(f"the global {name}", None, read, put, read()))

    def _may_hold(self, name: str, value: object) -> bool:
        """Return whether something is looked into; refuse what a copy of the rule would change."""
        elsewhere = name.startswith(("the global", "the class"))  # as in a list of all rules
        if id(value) in self._parts and not elsewhere:
            raise UntraceableError(
                f"{name} refers to the rule itself; write a method in its place, or pass what it "
                "needs"
            )
        if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
            raise UntraceableError(f"{name} changes when it is read; compute it of self.iteration")
        return id(value) not in self._parts

    def arrays(self) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
        """Yield the arrays among them, with names."""
        for watched in self._watched:
            if isinstance(watched.value, np.ndarray):
                yield watched.name, watched.value

    def restore(self) -> list[str]:
        """Let all be as it was, and return the names of what was changed."""
        changed = [watched for watched in self._watched if _differ(watched.read(), watched.before)]
        for watched in changed:
            watched.put(watched.before)
        return list(dict.fromkeys(watched.name for watched in changed))


def _differ(now: Any, before: Any) -> bool:
    if isinstance(now, list):
        return len(now) != len(before) or not all(map(operator.is_, now, before))
    if isinstance(now, np.ndarray):
        if (now.shape, now.dtype) != (before.shape, before.dtype):
            return True
        if now.dtype != np.float64:
            return bool(now.tobytes() != before.tobytes())
        one, other = (np.ascontiguousarray(x).view(np.uint64) for x in (now, before))
        return not np.array_equal(one, other)  # also nan, and the sign of zero
    return bool(now != before)


def _held_in(value: Any) -> Iterator[object]:
    """Yield what something holds."""
    yield from inside(value)
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | set | deque):
        yield from value
    elif isinstance(value, np.ndarray):
        yield value.base
        yield from value.flat if value.dtype == object else ()
    elif isinstance(value, types.FunctionType):
        yield from (value.__closure__ or (), value.__defaults__, value.__kwdefaults__)
    elif isinstance(value, types.MethodType | types.BuiltinMethodType):
        yield value.__self__
    if _has_attributes(value):
        yield from _attributes(value).values()


def _accesses(value: Any) -> Iterator[tuple[Callable[[], Contents], Callable[[Any], object]]]:
    """Yield functions that read what something holds, and that put it back."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        yield lambda: list(value.flat), partial(_put_objects, value)
    elif isinstance(value, np.ndarray):
        yield lambda: value, partial(np.copyto, value)
    elif isinstance(value, np.random.Generator):
        yield from _accesses(value.bit_generator)
    elif isinstance(value, np.random.BitGenerator):
        yield _pickled(lambda: value.state), lambda b: setattr(value, "state", pickle.loads(b))
    elif isinstance(value, np.random.RandomState):
        yield _pickled(value.get_state), lambda before: value.set_state(pickle.loads(before))
    elif isinstance(value, random.Random):
        yield _pickled(value.getstate), lambda before: value.setstate(pickle.loads(before))
    elif isinstance(value, dict):
        yield lambda: [*value.keys(), *value.values()], partial(_put_entries, value)
    elif isinstance(value, list | deque):
        yield lambda: list(value), partial(_put_items, value, value.extend)
    elif isinstance(value, set):
        yield lambda: list(value), partial(_put_items, value, value.update)
    if _has_attributes(value):
        yield partial(_flat, value), partial(_put_attributes, value)


def _pickled(read: Callable[[], object]) -> Callable[[], bytes]:
    return lambda: pickle.dumps(read())


def _put_items(value: Any, add: Callable[[Any], object], before: list[object]) -> None:
    value.clear()
    add(before)


def _put_objects(value: np.ndarray[Any, Any], before: list[object]) -> None:
    for k, x in enumerate(before):
        value.flat[k] = x


def _entry(namespace: dict[str, Any], name: str) -> list[object]:
    return [namespace.get(name, ABSENT)]


def _put_entry(namespace: dict[str, Any], name: str, before: list[object]) -> None:
    namespace[name] = before[0]
    if before[0] is ABSENT:
        del namespace[name]


def _put_entries(value: dict[Any, Any], before: list[Any]) -> None:
    count = len(before) // 2
    value.clear()
    value.update(zip(before[:count], before[count:], strict=True))


# Attributes


def _flat(value: Any) -> list[object]:
    held = _attributes(value)
    return [*held, *held.values()]


def _has_attributes(value: object) -> bool:
    """Return whether something is the author's own, as far as attributes are concerned."""
    if isinstance(value, types.CellType | types.SimpleNamespace | Stateful):
        return True
    if isinstance(value, types.FunctionType):
        return is_own(value.__globals__.get("__name__"))
    return is_own_class(value if isinstance(value, type) else type(value))


def _attributes(value: Any) -> dict[str, object]:
    if isinstance(value, types.CellType):
        return {} if value == types.CellType() else {"cell_contents": value.cell_contents}
    held = {name: x for name, x in getattr(value, "__dict__", {}).items() if name not in _HIDDEN}
    for kind in filter(_has_attributes, type(value).__mro__):
        slots = [n for n, x in vars(kind).items() if isinstance(x, types.MemberDescriptorType)]
        held |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return held


def _put_attributes(value: Any, before: list[Any]) -> None:
    held = dict(zip(before[: len(before) // 2], before[len(before) // 2 :], strict=True))
    base: Any = type if isinstance(value, type) else object
    now = _attributes(value)
    for name in now.keys() - held.keys():
        base.__delattr__(value, name)
    for name, old in held.items():
        if now.get(name, ABSENT) is not old:
            base.__setattr__(value, name, old)
