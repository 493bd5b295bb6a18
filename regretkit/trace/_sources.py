"""What the code of a rule refers to: hyperparameters, functions, and constants."""

import abc
import builtins
import contextlib
import dis
import functools
import os
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import numpy as np

from regretkit._util._state import attributes
from regretkit.trace._paths import held_at, learned_by, owners

Source: TypeAlias = tuple[object, str, object]
"""What names something, None for the rule itself, its name, and what it was."""

ABSENT = object()
"""What is not there."""
_CHANGING = ("iteration", "_strategy", "_tracker", "_may_raise")
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
    has_slots = any("__slots__" in vars(base) for base in kind.__mro__)
    known = attrs.has(kind) or (hasattr(value, "__dict__") and not has_slots)
    own = is_own_class(kind) or kind is types.SimpleNamespace
    return known and own and not isinstance(value, Collection)


def sources_of(rule: Any) -> Iterator[Source]:
    """Yield the namespace, the name and the value of all that a rule's code refers to.

    Code of this library and of others does not change.
    """
    kinds = dict.fromkeys(type(part) for _, part in owners(rule))
    waiting: list[Any] = []
    for path, part in owners(rule):
        learned = {id(array) for array in learned_by(part).values()} | {id(learned_by(part))}
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
