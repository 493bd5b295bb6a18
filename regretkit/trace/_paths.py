"""What a minimizer and its parts hold, by paths such as ``"minimizer.regrets"``."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from regretkit._util._state import attributes
from regretkit.minimizer import RegretMinimizer


def owners(minimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield a minimizer and the parts that are its attributes, each with its path."""
    yield "", minimizer
    for name, value in attributes(minimizer):
        if isinstance(value, RegretMinimizer):
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
    owner, name = _owner(minimizer, path)
    learned = learned_by(owner)
    return learned[name] if name in learned else getattr(owner, name)


def hold_at(minimizer: Any, path: str, value: Any) -> None:
    """Hold something at a path from now on."""
    owner, name = _owner(minimizer, path)
    if name in learned_by(owner):
        owner._hold(name, value)
    else:
        object.__setattr__(owner, name, value)


def _owner(minimizer: Any, path: str) -> tuple[Any, str]:
    *parts, name = path.split(".")
    for part in parts:
        minimizer = getattr(minimizer, part)
    return minimizer, name
