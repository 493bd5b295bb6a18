"""Checks of the minimizers that a circuit is built from."""

import inspect
import sys
from collections.abc import Iterable

from regretkit._util._state import Stateful, parts
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer


def as_part(value: RegretMinimizer, name: str) -> RegretMinimizer:
    """Return ``value`` if it is a minimizer; say what would do if not."""
    if isinstance(value, RegretMinimizer):
        return value
    if isinstance(value, type) and issubclass(value, RegretMinimizer):
        raise TypeError(
            f"{name} must be a minimizer, got the class {value.__name__}; "
            f"build one, as in {value.__name__}(3)"
        )
    raise TypeError(f"{name} must be a RegretMinimizer, got {quote(value)}")


def as_parts(values: Iterable[RegretMinimizer], name: str) -> tuple[RegretMinimizer, ...]:
    """Return ``values`` as a tuple of minimizers."""
    if isinstance(values, RegretMinimizer):
        raise TypeError(f"{name} must be a sequence of minimizers, got the single {quote(values)}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of minimizers, got {quote(values)}")
    return tuple(as_part(value, f"{name}[{i}]") for i, value in enumerate(values))


def check_function(value: object, name: str, *arguments: object, hint: str) -> None:
    """Refuse what is no function, or cannot be called with such arguments."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {quote(value)}; {hint}")
    try:
        inspect.signature(value).bind(*arguments)
    except TypeError as error:
        count = len(arguments)
        raise TypeError(
            f"{name} must be a function of {count} argument{'s' * (count != 1)}, got "
            f"{quote(value)}: {error}; {hint}"
        ) from error
    except ValueError:
        return  # some that are built in do not say what they take


_FRAMES = 8
"""A level of a circuit takes at most so many of the calls that Python lets be open at once."""


def check_distinct(minimizers: Iterable[RegretMinimizer]) -> None:
    """Refuse one object in two places, at any depth, and a circuit too deep to be called."""
    seen: set[int] = set()
    waiting: list[tuple[Stateful, int]] = [(minimizer, 1) for minimizer in minimizers]
    while waiting:
        part, depth = waiting.pop()
        if id(part) in seen:
            raise ValueError(
                f"the same minimizer object, {quote(part)}, stands in two places and would learn "
                "twice in an iteration; build one for each, as in [make() for _ in range(n)]"
            )
        seen.add(id(part))
        check_depth(depth)
        waiting += [(below, depth + 1) for _, below in parts(part)]


def check_depth(depth: int) -> None:
    """Refuse a circuit that is nested deeper than Python lets functions call each other."""
    if depth * _FRAMES > sys.getrecursionlimit():
        raise ValueError(
            f"parts are nested {depth} levels deep, too deep for Python's recursion limit of "
            f"{sys.getrecursionlimit()}; raise it with sys.setrecursionlimit, or play trees by CFR"
        )
