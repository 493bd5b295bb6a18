"""The kernel of a rule: found, kept, and shown as text."""

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import numpy as np
from attrs import define, field

from regretkit._state import attributes
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, quote
from regretkit.trace._build import build_kernel
from regretkit.trace._graph import as_text
from regretkit.trace._kernel import Kernel
from regretkit.trace._rule import refusal, trace_rule
from regretkit.trace._snapshot import (
    Source,
    held_at,
    is_plain,
    may_change,
    named,
    owners,
    sources_of,
)
from regretkit.trace._symbols import UntraceableError
from regretkit.trace._traits import Schedule

_MOST = 256
"""Rules that are remembered for others that are equal."""


@define
class _Found:
    """What was found for a rule, and from what."""

    kernel: Kernel | UntraceableError
    sources: list[Source]
    shape: list[object] = field(factory=list)
    """The classes of a rule and its parts, and the names that they hold."""
    numbers: dict[str, bytes] = field(factory=dict)
    """Of the arrays that it holds."""

    @cached_property
    def lasts(self) -> bool:
        """Whether nothing of it, but those arrays, can change without being replaced."""
        return not any(
            may_change(value) and (namespace is not None or not is_plain(value))
            for namespace, _, value in self.sources
            if namespace is not None or not isinstance(value, np.ndarray)
        )


_FOUND: dict[bool, WeakKeyDictionary[Any, _Found]] = {
    exact: WeakKeyDictionary() for exact in (False, True)
}


_EQUAL: dict[Hashable, _Found] = {}


def find_kernel(rule: Any, *, exact: bool = False) -> Kernel:
    """Return the kernel into which the NumPy code of a rule is traced.

    It is kept until the rule, its hyperparameters, or a function or constant that its code refers
    to is replaced.

    Raises
    ------
    UntraceableError
        When its code cannot be traced.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> kernel = find_kernel(RegretMatchingPlus([2, 3]))
    >>> kernel.state
    ('regrets',)
    >>> kernel.traits.invariant_to_zero_utility
    True
    """
    if isinstance(rule, type) or not hasattr(rule, "domain"):
        raise TypeError(must_be("rule", "a SimplexRule", rule, "pass one, as RegretMatching(3)"))
    found = _FOUND[exact].get(rule)
    if found is None or not _is_current(rule, found):
        found = _FOUND[exact][rule] = _found(rule, exact)
    if isinstance(found.kernel, UntraceableError):
        raise found.kernel
    return found.kernel


def kernel_or_none(rule: Any) -> Kernel | None:
    """Return the kernel of a rule, None if it cannot be traced."""
    try:
        return find_kernel(rule)
    except UntraceableError:
        return None


def upcoming_parameters(
    rule: Any, kernel: Kernel, count: int
) -> tuple[Vector, Mapping[str, float]]:
    """Return a kernel's parameters after the iterations so far, and after each of ``count`` more.

    Shape ``(count + 1, parameters)``; and what the single numbers that the rule learns will be.

    Examples
    --------
    >>> from regretkit import DiscountedRegretMatching
    >>> rule = DiscountedRegretMatching(3, alpha=1.0, beta=0.0)
    >>> upcoming_parameters(rule, find_kernel(rule), 2)[0]
    array([[1. , 1. ],
           [1. , 1. ],
           [0.5, 0.5]])
    """
    if isinstance(kernel.parameters, Schedule):
        numbers = {path: float(held_at(rule, path)) for path in kernel.numbers}
        return kernel.parameters.following(numbers, rule.iteration, count)
    return np.tile(np.array(kernel.parameters, np.float64), (count + 1, 1)), {}


def _found(rule: Any, exact: bool) -> _Found:
    """Trace a rule, unless one that is equal was traced."""
    sources, shape = list(sources_of(rule)), _shape(rule)
    numbers = {
        name: value.tobytes()
        for namespace, name, value in sources
        if namespace is None and isinstance(value, np.ndarray)
    }
    key = _key(rule, sources, exact)
    if key is not None and key in _EQUAL:
        equal = _EQUAL[key]
        if _is_current(None, equal):
            return _Found(equal.kernel, sources, shape)
    try:
        kernel: Kernel | UntraceableError = _built(rule, exact)
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
    return _Found(kernel, sources, shape, numbers)


def _built(rule: Any, exact: bool) -> Kernel:
    """Return a kernel whose numbers are those of Python.

    Whole numbers are exact in Python alone, as in a linear congruential generator.
    """
    kernel = build_kernel(trace_rule(rule), exact=exact)
    schedule = kernel.parameters
    if isinstance(schedule, Schedule):
        numbers = {path: float(held_at(rule, path)) for path in kernel.numbers}
        if schedule.loses_digits(numbers, rule.iteration):
            text = "whole numbers beyond 2**53 are divided (%, //), where floats are not exact"
            raise refusal(rule, "_learn", f"{text}; keep products smaller")
    return kernel


def _key(rule: Any, sources: list[Source], exact: bool) -> Hashable | None:
    """Return what is equal for rules with equal code, None where that cannot be told."""
    if len(list(owners(rule))) > 1:  # a circuit's functions are bound to it
        return None
    held = [(name, value) for namespace, name, value in sources if namespace is None]
    if any(may_change(value) for _, value in held):
        return None
    key = type(rule), exact, tuple((name, _exactly(value)) for name, value in held)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _exactly(value: object) -> Hashable:
    """Return what equals nothing but the same kind of thing: 1.0 is not 1, nor 0.0 -0.0."""
    if isinstance(value, tuple):
        return type(value), *map(_exactly, value)
    return type(value), repr(value) if isinstance(value, float | complex | np.generic) else value


# What a trace depends on


def _is_current(rule: Any, found: _Found) -> bool:
    if not found.lasts or (rule is not None and found.shape != _shape(rule)):
        return False
    return all(
        named(rule, namespace, name) is value
        and (
            namespace is not None
            or not isinstance(value, np.ndarray)
            or found.numbers.get(name) == value.tobytes()
        )
        for namespace, name, value in found.sources
    )


def _shape(rule: Any) -> list[object]:
    """Return all names that a rule holds: what is new may take the place of what its class has."""
    found: list[object] = []
    for path, part in owners(rule):
        found += [type(part), *(path + name for name, _ in attributes(part))]
    return found


_SHOWN = 1, 2, 10
"""Iterations from now on whose parameters are shown."""


def describe_kernel(rule: Any, *, exact: bool = False) -> str:
    """Return what a rule is compiled to: its graph, its kernel's traits and parameters, its code.

    Parameters
    ----------
    rule
        A rule over simplices, or a circuit around one.
    exact
        Whether to show the code of whole iterations, which compares sums with their terms.

    Raises
    ------
    UntraceableError
        When its code cannot be traced; the message says why.
    TypeError
        When it is no minimizer.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> text = describe_kernel(RegretMatchingPlus([2, 3]))
    >>> print(text.partition("_learn:")[0].rstrip())
    RegretMatchingPlus(simplices=Simplices([2, 3]))
    <BLANKLINE>
    state:
    s0 = regrets, per action
    <BLANKLINE>
    _propose:
       %0 = maximum(regrets, 0.0)  # per action
       %1 = normalize(%0)  # per action
    strategy <- %1
    """
    if not hasattr(rule, "next_strategy"):
        raise TypeError(f"rule must be a minimizer, got {quote(rule)}")
    kernel = find_kernel(rule, exact=exact)
    graph, sections = trace_rule(rule), {"state": _state(kernel)}
    sections["_propose"] = as_text({"strategy": graph.strategy})
    sections["_learn"] = as_text(graph.learned)
    traits = attrs.asdict(kernel.traits).items()
    sections["traits"] = "\n".join(f"{name}: {value}" for name, value in traits)
    sections["parameters"] = "\n".join(_parameters(rule, kernel))
    sections["code"] = kernel.source
    parts = [f"{title}:\n{text or 'none'}" for title, text in sections.items()]
    return "\n\n".join([repr(rule), *parts])


def _state(kernel: Kernel) -> str:
    by_block = set(kernel.block_state)
    lines = [
        f"b{k} = {name}, per block" if name in by_block else f"s{k} = {name}, per action"
        for k, name in enumerate(kernel.learned)
    ]
    return "\n".join(lines)


def _parameters(rule: Any, kernel: Kernel) -> Iterator[str]:
    if not callable(kernel.parameters):
        yield from (f"p{k} = {number!r}" for k, number in enumerate(kernel.parameters))
        return
    rows, _ = upcoming_parameters(rule, kernel, max(_SHOWN))
    iterations = ", ".join(str(rule.iteration + k) for k in _SHOWN)
    for k, numbers in enumerate(rows[list(_SHOWN)].T):
        shown = ", ".join(f"{number:.6g}" for number in numbers)
        yield f"p{k} = {shown} in iterations {iterations}"
