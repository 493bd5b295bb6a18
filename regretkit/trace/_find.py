"""Find, cache and describe the kernel of a rule."""

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import attrs
from attrs import define

from regretkit._compiler import LOCK
from regretkit._state import is_ours
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be
from regretkit.sets import Simplices
from regretkit.trace._build import build_kernel
from regretkit.trace._graph import as_text
from regretkit.trace._kernel import Kernel
from regretkit.trace._rule import declared, held_at, held_by, is_plain, owners, trace_rule
from regretkit.trace._symbols import UntraceableError

_MOST = 256
"""Maximum size of ``_SHARED``."""
_SHARED: dict[Hashable, Kernel | str] = {}
"""Kernels of regretkit's rules, or error texts, by class and hyperparameters."""


@define
class _Found:
    """The kernel of a rule, or an error text, for certain hyperparameters."""

    kernel: Kernel | str
    held: Mapping[str, object]
    learned: Collection[str]
    used: bool = False
    """Whether a run has started with this kernel."""


def find_kernel(rule: Any, *, exact: bool = False, anew: bool = False) -> Kernel:
    """Trace the NumPy code of a rule and return its kernel.

    Rules of regretkit are traced once for each class and hyperparameters. Other rules are traced
    when a run starts machine code, and again after a change of a hyperparameter. Globals and
    variables of enclosing functions are constants of a trace.

    Parameters
    ----------
    rule
        A rule over simplices, or a circuit around one.
    exact
        Whether sums that cancel up to rounding become zero, as in NumPy.
    anew
        Whether a run starts. If an earlier run used the kernel, the rule is traced again.

    Raises
    ------
    UntraceableError
        If the code cannot be traced.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> kernel = find_kernel(RegretMatchingPlus([2, 3]))
    >>> kernel.learned
    ('regrets',)
    >>> kernel.traits.invariant_to_zero_utility
    True
    """
    if isinstance(rule, type) or not hasattr(rule, "next_strategy"):
        raise TypeError(must_be("rule", "a minimizer", rule, "pass one, as RegretMatching(3)"))
    kept = vars(rule).setdefault("_kernels", {})
    found: _Found | None = kept.get(exact)
    held = held_by(dict(owners(rule)), declared(rule) if found is None else found.learned)
    if found is None or (anew and found.used) or held != found.held:
        found = kept[exact] = _found(rule, exact)
    found.used = found.used or anew
    if isinstance(found.kernel, str):
        raise UntraceableError(found.kernel)
    return found.kernel


def kernel_or_none(rule: Any) -> Kernel | None:
    """Return the kernel of a rule, or None if it cannot be traced."""
    try:
        return find_kernel(rule)
    except UntraceableError:
        return None


def _found(rule: Any, exact: bool) -> _Found:
    learned = {*declared(rule)}
    held = held_by(dict(owners(rule)), learned)
    key = exact, _shared_key(rule, held)
    kernel = _SHARED.get(key)
    if kernel is None:
        try:
            with LOCK:  # equal nodes are one object, also between threads
                kernel = build_kernel(trace_rule(rule), exact=exact)
        except UntraceableError as error:
            kernel = str(error)
        fixed = isinstance(kernel, Kernel) and len(kernel.further) > kernel.workspace
        if key[1] is not None and not fixed:
            if len(_SHARED) >= _MOST:
                _SHARED.clear()
            _SHARED[key] = kernel
    if isinstance(kernel, Kernel):
        learned |= {*kernel.learned, *kernel.numbers}
    held = {path: value for path, value in held.items() if path not in learned}
    return _Found(kernel, held, learned)


def _shared_key(rule: Any, held: Mapping[str, tuple[object, ...]]) -> Hashable:
    """Return all values on which the trace of a rule depends; None if rules cannot share it.

    Without arrays, a trace depends on the simplices in two respects only. With one block, arrays by
    block have the shape of numbers. With one action per block, both kinds of arrays have the same
    shape.
    """
    # A kernel that calls methods of its rule cannot be shared.
    ours = all(is_ours(part) and not part._number_functions for _, part in owners(rule))
    if not (ours and all(map(is_plain, held.values()))):
        return None
    domain = rule.domain
    if not isinstance(domain, Simplices):
        return frozenset(held.items())
    few = domain.blocks < 2, domain.dimension == domain.blocks
    return few, frozenset(item for item in held.items() if item[1] != (domain,))


def upcoming_parameters(
    rule: Any, kernel: Kernel, count: int
) -> tuple[Vector, Mapping[str, float]]:
    """Return a kernel's parameters in the next iterations, and the rule's scalar state after them.

    Row 0 of the parameters, shape ``(count + 1, parameters)``, is for the iterations so far, and
    row k for k more.

    Examples
    --------
    >>> from regretkit import DiscountedRegretMatching
    >>> rule = DiscountedRegretMatching(3, alpha=1.0, beta=0.0)

    The discount of positive regrets, and whether the update skips the discount:

    >>> upcoming_parameters(rule, find_kernel(rule), 3)[0][2:]
    array([[0.5       , 0.        ],
           [0.66666667, 0.        ]])
    """
    numbers = {path: float(held_at(rule, path)) for path in kernel.numbers}
    return kernel.parameters.following(numbers, rule.iteration, count)


_SHOWN = 1, 2, 10
"""Offsets of the iterations whose parameters are shown."""


def describe_kernel(rule: Any, *, exact: bool = False) -> str:
    """Return a description of a rule's kernel: state, graph, traits, parameters and code.

    Parameters
    ----------
    rule
        A rule over simplices, or a circuit around one.
    exact
        Whether to show the kernel of iterations over the whole game. It sets sums to zero that
        cancel up to rounding.

    Raises
    ------
    UntraceableError
        If the code cannot be traced.
    TypeError
        If ``rule`` is not a minimizer.

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
    kernel = find_kernel(rule, exact=exact)
    graph = trace_rule(rule)
    traits = attrs.asdict(kernel.traits).items()
    sections = {
        "state": "\n".join(
            f"{'bs'[x.by_action]}{k} = {x.name}, per {'action' if x.by_action else 'block'}"
            for k, x in enumerate(kernel.arrays)
            if x.name
        ),
        "_propose": as_text({"strategy": graph.strategy}),
        "_learn": as_text(graph.learned),
        "traits": "\n".join(f"{name}: {value}" for name, value in traits),
        "parameters": _parameters(rule, kernel),
        "code": kernel.source,
    }
    parts = [f"{title}:\n{text or 'none'}" for title, text in sections.items()]
    return "\n\n".join([repr(rule), *parts])


def _parameters(rule: Any, kernel: Kernel) -> str:
    constants = kernel.parameters.constants
    if constants is not None:
        return "\n".join(f"p{k} = {number!r}" for k, number in enumerate(constants))
    rows, _ = upcoming_parameters(rule, kernel, max(_SHOWN))
    iterations = ", ".join(str(rule.iteration + k) for k in _SHOWN)
    shown = [", ".join(f"{number:.6g}" for number in row) for row in rows[list(_SHOWN)].T]
    return "\n".join(f"p{k} = {x} in iterations {iterations}" for k, x in enumerate(shown))
