"""The kernel of a rule, kept for as long as nothing changes that it was traced from."""

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, final
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define

from regretkit._util._state import attributes
from regretkit._util._validate import quote
from regretkit.trace._build import build_kernel
from regretkit.trace._kernel import Kernel
from regretkit.trace._rule import trace_rule
from regretkit.trace._symbols import UntraceableError

_ABSENT = object()
_FIXED = {"regretkit", "numpy", "builtins", "math", "attr", "attrs", "abc", "typing"}
"""Packages whose code does not change."""

Source: TypeAlias = tuple[Mapping[str, Any] | None, str, object]
"""Where something is named, None for the rule itself, its name, and what it was."""


@final
@define
class _Found:
    """What was found for a rule, and from what."""

    kernel: Kernel | UntraceableError
    sources: list[Source]


_FOUND: dict[bool, WeakKeyDictionary[Any, _Found]] = {
    exact: WeakKeyDictionary() for exact in (False, True)
}


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
    written = rule._kernel()
    if written is not None:
        if not isinstance(written, Kernel):
            raise TypeError(f"_kernel of {quote(rule)} must return a Kernel, got {quote(written)}")
        return written
    found = _FOUND[exact].get(rule)
    if found is None or not _is_current(rule, found):
        sources = list(_sources(rule))
        try:
            kernel: Kernel | UntraceableError = build_kernel(trace_rule(rule), exact=exact)
        except UntraceableError as error:
            kernel = error.with_traceback(None)
        found = _FOUND[exact][rule] = _Found(kernel, sources)
    if isinstance(found.kernel, UntraceableError):
        raise found.kernel
    return found.kernel


def kernel_or_none(rule: Any) -> Kernel | None:
    """Return the kernel of a rule, None where it has none and cannot be traced."""
    try:
        return find_kernel(rule)
    except UntraceableError:
        return None


# What a trace depends on


def _is_current(rule: Any, found: _Found) -> bool:
    for namespace, name, value in found.sources:
        now = getattr(rule, name, _ABSENT) if namespace is None else namespace.get(name, _ABSENT)
        if now is not value or isinstance(value, dict | list | set | np.ndarray):
            return False
    return True


def _sources(rule: Any) -> Iterator[Source]:
    """Yield the namespace, the name and the value of all that a rule's code refers to.

    Code of this library and of others does not change.
    """
    learned = {id(array) for array in rule._learned().values()} | {id(rule._learned())}
    kinds = {type(rule): None}
    for name, value in attributes(rule):
        if name not in ("iteration", "_strategy", "_tracker") and id(value) not in learned:
            kinds[type(value)] = None
            yield None, name, value
    waiting: list[Any] = []
    for base in dict.fromkeys(base for kind in kinds for base in kind.__mro__):
        if _is_own(base.__module__):
            waiting.extend(vars(base).values())
            yield from _entries(vars(base), [n for n in vars(base) if not n.startswith("__")])
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        function = getattr(getattr(value, "fget", value), "__func__", getattr(value, "fget", value))
        if isinstance(function, types.FunctionType) and id(function) not in seen:
            seen.add(id(function))
            for source in _used(function):
                yield source
                waiting.append(source[2])
            waiting.extend(cell.cell_contents for cell in function.__closure__ or ())


def _used(function: types.FunctionType) -> Iterator[Source]:
    """Yield the globals that a function names, and what it names of modules among them."""
    if not _is_own(function.__module__):
        return
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
