"""What a rule is compiled to, as text."""

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import attrs

from regretkit._util._validate import quote
from regretkit.trace._find import find_kernel, upcoming_parameters
from regretkit.trace._graph import as_text
from regretkit.trace._kernel import Kernel
from regretkit.trace._rule import trace_rule

_SHOWN = 1, 2, 10
"""Iterations from now on whose parameters are shown."""


def describe_kernel(rule: Any, *, exact: bool = False) -> str:
    """Return what a rule is compiled to: its graph, its kernel's traits and parameters, its code.

    Parameters
    ----------
    rule
        A rule over simplices, or a circuit around one.
    exact
        Whether to show the code of ``engine="compiled-exact"``.

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
    traced = not hasattr(rule, "_kernel") or rule._kernel() is None
    sections = {"state": _state(kernel)}
    if traced:
        graph = trace_rule(rule)
        sections["_propose"] = as_text({"strategy": graph.strategy})
        sections["_learn"] = as_text(graph.learned)
    traits = attrs.asdict(kernel.traits).items()
    sections["traits"] = "\n".join(f"{name}: {value}" for name, value in traits)
    sections["parameters"] = "\n".join(_parameters(rule, kernel))
    sections["code" if traced else "code, written by hand"] = _code(kernel, traced)
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


def _code(kernel: Kernel, traced: bool) -> str:
    if traced:
        return str(getattr(kernel.propose, "source", "")).rstrip()
    functions = (kernel.propose, kernel.learn)
    try:
        sources = [inspect.getsource(getattr(f, "py_func", f)) for f in functions]
    except OSError:  # typed at a prompt
        return "not in a file"
    return "\n".join(textwrap.dedent(source) for source in sources).rstrip()
