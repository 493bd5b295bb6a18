"""What a rule holds by path, what its code refers to, and what tracing must leave as it was."""

import abc
import builtins
import contextlib
import copy
import dis
import functools
import operator
import os
import pickle
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import attrs
import numpy as np

from regretkit._state import Stateful, attributes
from regretkit.minimizer import RegretMinimizer
from regretkit.trace._symbols import UntraceableError


def owners(minimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield a minimizer and the parts that are its attributes, each with its path."""
    yield "", minimizer
    for name, value in attributes(minimizer):
        if isinstance(value, Stateful) and isinstance(value, RegretMinimizer):  # the first is fast
            for path, part in owners(value):
                yield f"{name}.{path}", part


def learned_by(part: Any) -> dict[str, Any]:
    """Return the arrays that a part declares as learned, by name; none for a circuit."""
    return part._learned() if hasattr(part, "_learned") else {}


def learned_at(minimizer: Any, paths: Iterable[str]) -> dict[str, Any]:
    """Return the arrays at those paths where there is one."""
    found = {}
    for path in paths:
        with contextlib.suppress(AttributeError):
            found[path] = held_at(minimizer, path)
    return found


def held_at(minimizer: Any, path: str) -> Any:
    """Return what is held at a path."""
    return getattr(*_owner(minimizer, path))


def hold_at(minimizer: Any, path: str, value: Any) -> None:
    """Hold something at a path from now on."""
    owner, name = _owner(minimizer, path)
    object.__setattr__(owner, name, value)


def _owner(minimizer: Any, path: str) -> tuple[Any, str]:
    *parts, name = path.split(".")
    for part in parts:
        minimizer = getattr(minimizer, part)
    return minimizer, name


Source: TypeAlias = tuple[object, str, object]
"""What names something, None for the rule itself, its name, and what it was."""

ABSENT = object()
"""What is not there."""
_CHANGING = ("iteration", "_strategy", "_tracker")
_STORE_GLOBAL, _IMPORT_NAME = dis.opmap["STORE_GLOBAL"], dis.opmap["IMPORT_NAME"]
_FIXED = {"regretkit", "numpy", "builtins", "math", "attr", "attrs", "abc", "_abc", "typing"}
"""Packages whose code does not change."""


@functools.cache
def is_own(module: str | None) -> bool:
    """Return whether a module is the author's own: not Python's, or one whose code is fixed."""
    package = (module or "").partition(".")[0]
    if package in _FIXED:
        return False
    file = getattr(sys.modules.get(package), "__file__", None)
    of_python = file is None or Path(file).is_relative_to(Path(os.__file__).parent)
    return package not in sys.stdlib_module_names or not of_python


def is_own_class(kind: type) -> bool:
    """Return whether a class is the author's own; one made by ``type()`` may say "abc"."""
    made = kind.__module__ == "abc" and vars(abc).get(kind.__name__) is not kind
    return is_own(kind.__module__) or made


def named(rule: Any, namespace: object, name: str) -> object:
    """Return what a source names now."""
    if namespace is None:
        try:
            return held_at(rule, name)
        except AttributeError:
            return ABSENT
    if isinstance(namespace, type):  # as it stands there, not as an attribute is looked up
        return vars(namespace).get(name, ABSENT)
    if isinstance(namespace, Mapping):
        return namespace.get(name, ABSENT)
    return getattr(namespace, name, ABSENT)


def may_change(value: object) -> bool:
    """Return whether something can change without being replaced, and is not looked into."""
    if isinstance(value, float | int | str | None):
        return is_own(type(value).__module__)
    if isinstance(value, tuple | frozenset | functools.partial):
        return any(map(may_change, inside(value)))
    if isinstance(value, types.MethodType | types.BuiltinMethodType):
        return may_change(value.__self__)
    if isinstance(value, _FOLLOWED):
        return False
    if isinstance(value, np.ndarray | dict | list | set | bytearray):
        return True
    if isinstance(value, type):
        return is_own(value.__module__)
    return type(value).__module__.partition(".")[0] not in _FIXED


_FOLLOWED = (
    *(types.FunctionType, types.ModuleType, property, staticmethod, classmethod),
    functools.cached_property,
)


def is_plain(value: object) -> bool:
    """Return whether attributes are all that an object holds."""
    kind = type(value)
    if not (is_own_class(kind) or kind is types.SimpleNamespace) or isinstance(value, Collection):
        return False
    has_slots = any("__slots__" in vars(base) for base in kind.__mro__)
    return attrs.has(kind) or (hasattr(value, "__dict__") and not has_slots)


def sources_of(rule: Any) -> Iterator[Source]:
    """Yield the namespace, the name and the value of all that a rule's code refers to.

    Code of this library and of others does not change.
    """
    kinds = dict.fromkeys(type(part) for _, part in owners(rule))
    waiting: list[Any] = []
    for path, part in owners(rule):
        learned = {id(array) for array in learned_by(part).values()}
        for name, value in attributes(part):
            if name not in _CHANGING and id(value) not in learned:
                kinds[type(value)] = None
                waiting.append(value)
                yield None, path + name, value
                if is_plain(value):
                    for inner, held in _constants_of(value):
                        waiting.append(held)
                        yield value, inner, held
    bases = dict.fromkeys(b for kind in kinds for b in kind.__mro__ if is_own_class(b))
    names = dict.fromkeys(
        name
        for base in bases
        for name, value in vars(base).items()
        if not name.startswith("__") or isinstance(value, _FOLLOWED)
    )
    for base in bases:
        waiting.extend(vars(base).values())
        # Also what a class does not define now, and could in place of its parents.
        yield from ((base, name, vars(base).get(name, ABSENT)) for name in names)
    seen: dict[int, object] = {}
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        waiting.extend(inside(value))
        if isinstance(value, types.FunctionType):
            for source in _used(value):
                yield source
                waiting.append(source[2])


def inside(value: Any) -> Iterable[Any]:
    """Return what a value without contents of its own that could change is made of."""
    if isinstance(value, tuple | frozenset):
        return value
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if isinstance(value, staticmethod | classmethod | types.MethodType):
        return (value.__func__,)
    return ()


def _constants_of(value: object) -> Iterator[tuple[str, object]]:
    """Yield what an object holds, and what its class does but for methods and the like."""
    held: dict[str, object] = {}
    for base in reversed(type(value).__mro__):
        held |= {n: inner for n, inner in vars(base).items() if not hasattr(inner, "__get__")}
    held |= dict(attributes(value))
    yield from ((name, inner) for name, inner in held.items() if not name.startswith("__"))


def _used(function: types.FunctionType) -> Iterator[Source]:
    """Yield what a function is made of, the globals that it names, and what of modules."""
    by_attrs = function.__code__.co_filename.startswith("<attrs generated")
    space = function.__globals__
    if by_attrs or not is_own(space.get("__name__")):
        return
    for name in ("__code__", "__defaults__"):
        yield function, name, getattr(function, name)
    yield from _entries(function.__kwdefaults__ or {}, function.__kwdefaults__ or ())
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # which is empty
            yield cell, "cell_contents", cell.cell_contents
    codes = list(_codes(function.__code__))
    operations = {operation for code in codes for operation in code.co_code[::2]}
    names = dict.fromkeys(name for code in codes for name in _names(code))
    yield from _entries(space, names)
    for name in names:
        # What may take the place of a builtin, and what the function may define
        if name not in space and (_STORE_GLOBAL in operations or name in vars(builtins)):
            yield space, name, ABSENT
    waiting = [space.get(name) for name in names]
    if _IMPORT_NAME in operations:
        modules = [*names, *(f"{space.get('__package__')}.{name}" for name in names)]
        imported = list(_entries(sys.modules, [name for name in modules if is_own(name)]))
        yield from imported
        waiting += [module for _, _, module in imported]
    seen = set()
    while waiting:
        module = waiting.pop()
        if isinstance(module, types.ModuleType) and is_own(module.__name__) and module not in seen:
            seen.add(module)
            for source in _entries(vars(module), names):
                yield source
                waiting.append(source[2])


def _entries(namespace: Mapping[str, Any], names: Iterable[str]) -> Iterator[Source]:
    for name in names:
        if name in namespace:
            yield namespace, name, namespace[name]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    # Names that code looks up as text, as for getattr
    yield from (text for text in code.co_consts if isinstance(text, str) and text.isidentifier())


A_GENERATOR = "a random generator"
_GENERATORS = (np.random.BitGenerator, np.random.Generator, np.random.RandomState, random.Random)
_MOST = 2000
"""Objects that are looked at, the nearest ones first."""
_ATOMS = {bool, int, float, complex, str, bytes, type(None), types.CodeType, types.ModuleType}
_ARITHMETIC = {"ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"}
_HIDDEN = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "_abc_impl"}

Contents: TypeAlias = np.ndarray[Any, Any] | bytes | list[Any] | dict[Any, Any]
"""Of an array, of a random generator, or objects, which count as the same if they are identical."""


class _Watched(NamedTuple):
    """Something that can be changed, by the name that a rule has for it."""

    name: str
    value: Any
    read: Callable[[], Contents]
    put: Callable[[Any], object]
    before: Contents


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
        yield A_GENERATOR, cast("Any", np.random.get_state).__self__
        yield A_GENERATOR, cast("Any", random.getstate).__self__
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
        shared = name.startswith(("the global", "the class"))  # as in a list of all rules
        if id(value) in self._parts and not shared:
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


def _differ(current: Any, saved: Any) -> bool:
    if isinstance(current, dict):
        return _differ([*current, *current.values()], [*saved, *saved.values()])
    if isinstance(current, list):
        return len(current) != len(saved) or not all(map(operator.is_, current, saved))
    if isinstance(current, np.ndarray):
        if (current.shape, current.dtype) != (saved.shape, saved.dtype):
            return True
        if current.dtype != np.float64:
            return bool(current.tobytes() != saved.tobytes())
        first, other = (np.ascontiguousarray(x).view(np.uint64) for x in (current, saved))
        return not np.array_equal(first, other)  # also nan, and the sign of zero
    return bool(current != saved)


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
    elif isinstance(value, np.random.RandomState | random.Random):
        names = ("get_state", "set_state", "getstate", "setstate")
        read, put = (getattr(value, name) for name in names if hasattr(value, name))
        yield _pickled(read), lambda state: put(pickle.loads(state))
    elif isinstance(value, dict):
        yield lambda: value, partial(_put_items, value, value.update)
    elif isinstance(value, list | deque):
        yield lambda: list(value), partial(_put_items, value, value.extend)
    elif isinstance(value, set):
        yield lambda: list(value), partial(_put_items, value, value.update)
    if _has_attributes(value):
        yield partial(_attributes, value), partial(_put_attributes, value)


def _pickled(read: Callable[[], object]) -> Callable[[], bytes]:
    return lambda: pickle.dumps(read())


def _put_items(value: Any, add: Callable[[Any], object], saved: object) -> None:
    value.clear()
    add(saved)


def _put_objects(value: np.ndarray[Any, Any], saved: list[object]) -> None:
    for k, x in enumerate(saved):
        value.flat[k] = x


def _entry(namespace: dict[str, Any], name: str) -> list[object]:
    return [namespace.get(name, ABSENT)]


def _put_entry(namespace: dict[str, Any], name: str, saved: list[object]) -> None:
    namespace[name] = saved[0]
    if saved[0] is ABSENT:
        del namespace[name]


# Attributes


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
    known = getattr(value, "__dict__", {})
    if not isinstance(known, Mapping):  # of an object that has every attribute
        known = {}
    held = {name: x for name, x in known.items() if name not in _HIDDEN}
    for kind in filter(_has_attributes, type(value).__mro__):
        slots = [n for n, x in vars(kind).items() if isinstance(x, types.MemberDescriptorType)]
        held |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return held


def _put_attributes(value: Any, held: dict[str, object]) -> None:
    base: Any = type if isinstance(value, type) else object
    current = _attributes(value)
    for name in current.keys() - held.keys():
        base.__delattr__(value, name)
    for name, old in held.items():
        if current.get(name, ABSENT) is not old:
            base.__setattr__(value, name, old)
