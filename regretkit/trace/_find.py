"""The kernel of a rule, kept for as long as nothing changes that it was traced from."""

import contextlib
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, final
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field

from regretkit._util._state import attributes
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.trace._build import build_kernel
from regretkit.trace._kernel import Kernel
from regretkit.trace._numbers import Schedule
from regretkit.trace._paths import held_at, learned_at, learned_by, owners
from regretkit.trace._rule import trace_rule
from regretkit.trace._symbols import UntraceableError

_ABSENT = object()
_CHANGING = ("iteration", "_strategy", "_tracker", "_may_raise")
_MOST = 256
"""Rules that are remembered for others that are equal."""
_FIXED = {"regretkit", "numpy", "builtins", "math", "attr", "attrs", "abc", "_abc", "typing"}
"""Packages whose code does not change."""

Source: TypeAlias = tuple[object, str, object]
"""What names something, None for the rule itself, its name, and what it was."""


@final
@define
class _Found:
    """What was found for a rule, and from what."""

    kernel: Kernel | UntraceableError
    sources: list[Source]
    names: list[str] = field(factory=list)
    """Of all that the rule holds: what is new may take the place of what its class has."""


_FOUND: dict[bool, WeakKeyDictionary[Any, _Found]] = {
    exact: WeakKeyDictionary() for exact in (False, True)
}


_EQUAL: dict[Hashable, _Found] = {}


def find_kernel(rule: Any, *, exact: bool = False) -> Kernel:
    """Return the kernel that a rule has, or the one that its NumPy code is traced into.

    It is kept until the rule, its hyperparameters, or a function or constant that its code refers
    to is replaced.

    Raises
    ------
    UntraceableError
        When its code cannot be traced.
    TypeError
        When ``_kernel`` returns something else than a ``Kernel``.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> kernel = find_kernel(RegretMatchingPlus([2, 3]))
    >>> kernel.state
    ('regrets',)
    >>> kernel.traits.invariant_to_zero_utility
    True
    """
    written = rule._kernel() if hasattr(rule, "_kernel") else None
    if written is not None:
        if not isinstance(written, Kernel):
            raise TypeError(f"_kernel of {quote(rule)} must return a Kernel, got {quote(written)}")
        return written
    found = _FOUND[exact].get(rule)
    if found is None or not _is_current(rule, found):
        found = _FOUND[exact][rule] = _found(rule, exact)
    if isinstance(found.kernel, UntraceableError):
        raise found.kernel
    return found.kernel


def kernel_or_none(rule: Any) -> Kernel | None:
    """Return the kernel of a rule, None where it has none and cannot be traced."""
    try:
        return find_kernel(rule)
    except UntraceableError:
        return None


def upcoming_parameters(
    rule: Any, kernel: Kernel, count: int
) -> tuple[Vector, Mapping[str, float]]:
    """Return a kernel's parameters after the iterations so far, and after each of ``count`` more.

    Shape ``(count + 1, parameters)``; and what the single numbers that the rule learns will be.
    """
    if isinstance(kernel.parameters, Schedule):
        numbers = {path: float(held_at(rule, path)) for path in kernel.numbers}
        return kernel.parameters.following(numbers, rule.iteration, count)
    if not callable(kernel.parameters):
        return np.tile(np.array(kernel.parameters, np.float64), (count + 1, 1)), {}
    rows = [list(kernel.parameters(rule.iteration + k)) for k in range(count + 1)]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("parameters must always be as many numbers")
    return np.array(rows, np.float64).reshape(count + 1, -1), {}


def _found(rule: Any, exact: bool) -> _Found:
    """Trace a rule, unless one that is equal was traced."""
    sources, names = list(_sources(rule)), _held_names(rule)
    key = _key(rule, sources, exact)
    if key is not None and key in _EQUAL:
        equal = _EQUAL[key]
        if _is_current(None, equal):
            return _Found(equal.kernel, sources, names)
    try:
        kernel: Kernel | UntraceableError = build_kernel(trace_rule(rule), exact=exact)
    except UntraceableError as error:
        kernel = error.with_traceback(None)
    if isinstance(kernel, Kernel):
        learned = {*kernel.learned, *kernel.numbers}
        sources = [s for s in sources if s[0] is not None or s[1] not in learned]
    if key is not None:
        if len(_EQUAL) >= _MOST:
            _EQUAL.clear()
        shared = [source for source in sources if source[0] is not None]
        _EQUAL[key] = _Found(kernel, shared)
    return _Found(kernel, sources, names)


def _key(rule: Any, sources: list[Source], exact: bool) -> Hashable | None:
    """Return what is equal for rules with equal code, None where that cannot be told."""
    if len(list(owners(rule))) > 1:  # a circuit's functions are bound to it
        return None
    held = [(name, value) for namespace, name, value in sources if namespace is None]
    kinds = tuple(type(value) for _, value in held)
    key = type(rule), exact, kinds, tuple(held)
    try:
        hash(key)
    except TypeError:
        return None
    return None if any(isinstance(value, float) and value != value for _, value in held) else key


# What a trace depends on


def _is_current(rule: Any, found: _Found) -> bool:
    if rule is not None and found.names != _held_names(rule):
        return False
    for namespace, name, value in found.sources:
        if namespace is None:
            now = learned_at(rule, [name]).get(name, _ABSENT)
        elif isinstance(namespace, Mapping):
            now = namespace.get(name, _ABSENT)
        else:
            now = getattr(namespace, name, _ABSENT)
        in_place = isinstance(value, dict | list | set)
        in_place |= namespace is not None and _may_change(value)
        if now is not value or in_place:  # what can change without being replaced may have changed
            return False
    return True


def _may_change(value: object) -> bool:
    """Return whether something can change without being replaced, and is not looked into."""
    if isinstance(value, np.ndarray):
        return True
    kind = value if isinstance(value, type) else type(value)
    return _is_own(kind.__module__) and not hasattr(kind, "__get__")


def _held_names(rule: Any) -> list[str]:
    return [path + name for path, part in owners(rule) for name, _ in attributes(part)]


def _sources(rule: Any) -> Iterator[Source]:
    """Yield the namespace, the name and the value of all that a rule's code refers to.

    Code of this library and of others does not change.
    """
    kinds = dict.fromkeys(type(part) for _, part in owners(rule))
    for path, part in owners(rule):
        learned = {id(array) for array in learned_by(part).values()} | {id(learned_by(part))}
        for name, value in attributes(part):
            if name not in _CHANGING and id(value) not in learned:
                kinds[type(value)] = None
                yield None, path + name, value
                if _is_own(type(value).__module__):
                    yield from ((value, inner, held) for inner, held in _constants_of(value))
    waiting: list[Any] = []
    bases = dict.fromkeys(b for kind in kinds for b in kind.__mro__ if _is_own(b.__module__))
    names = dict.fromkeys(n for base in bases for n in vars(base) if not n.startswith("__"))
    for base in bases:
        waiting.extend(vars(base).values())
        # Also what a class does not define now, and could in place of its parents.
        yield from ((vars(base), name, vars(base).get(name, _ABSENT)) for name in names)
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        function = getattr(getattr(value, "fget", value), "__func__", getattr(value, "fget", value))
        if isinstance(function, types.FunctionType) and id(function) not in seen:
            seen.add(id(function))
            for source in _used(function):
                yield source
                waiting.append(source[2])


def _constants_of(value: object) -> Iterator[tuple[str, object]]:
    """Yield what an object holds, and what its class does but for methods and the like."""
    named: dict[str, object] = {}
    for base in reversed(type(value).__mro__):
        named |= {n: held for n, held in vars(base).items() if not hasattr(held, "__get__")}
    named |= dict(attributes(value))
    yield from ((name, held) for name, held in named.items() if not name.startswith("__"))


def _used(function: types.FunctionType) -> Iterator[Source]:
    """Yield what a function is made of, the globals that it names, and what of modules."""
    by_attrs = function.__code__.co_filename.startswith("<attrs generated")
    if by_attrs or not _is_own(function.__globals__.get("__name__")):
        return
    for name in ("__code__", "__defaults__"):
        yield function, name, getattr(function, name)
    yield from _entries(function.__kwdefaults__ or {}, function.__kwdefaults__ or ())
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # which is empty
            yield cell, "cell_contents", cell.cell_contents
    names = list(_names(function.__code__))
    for source in _entries(function.__globals__, names):
        yield source
        if isinstance(source[2], types.ModuleType) and _is_own(source[2].__name__):
            yield from _entries(vars(source[2]), names)


def _entries(namespace: Mapping[str, Any], names: Iterable[str]) -> Iterator[Source]:
    for name in names:
        if name in namespace:
            yield namespace, name, namespace[name]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _is_own(module: str | None) -> bool:
    return (module or "").partition(".")[0] not in _FIXED
