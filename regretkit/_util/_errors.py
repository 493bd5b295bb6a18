"""Errors with fields, for callers that word the advice differently."""

import inspect
import re
import warnings
from collections.abc import Mapping
from typing import TypeVar

Error = TypeVar("Error", bound=Exception)


def advised(
    kind: type[Error], problem: str, advice: str, *, joint: str = "; ", argument: str = ""
) -> Error:
    """Return an error that ends in advice about what to pass in Python.

    Its field ``problem`` is the message without the advice, and its field ``argument`` names the
    argument that caused it, where one did. The class stays the built-in one.
    """
    error = kind(f"{problem}{joint}{advice}")
    vars(error).update(problem=problem, argument=argument)
    return error


def problem_of(error: BaseException) -> str:
    """Return what an error says, without advice about arguments in Python."""
    problem: str = getattr(error, "problem", str(error))
    return problem


def argument_of(error: BaseException) -> str:
    """Return the name of the argument that caused an error, empty where it is unknown."""
    argument: str = getattr(error, "argument", "")
    return argument


STRATEGIES = {"averag|avg|polic|strateg|profile": "strategies are in average and in current"}
"""The hint about attributes of runs."""


def absent(thing: object, name: str, hints: Mapping[str, str]) -> AttributeError:
    """Return the error about an attribute that is missing; hints go by a pattern of its name."""
    from regretkit._util._validate import did_you_mean  # not at the top: it imports NumPy

    close = did_you_mean(name, dir(type(thing)))
    hint = next((f"; {hint}" for part, hint in hints.items() if re.search(part, name)), close)
    return AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}{hint}")


def warn(text: str) -> None:
    """Warn at the line from which this library was called."""
    frame, level = inspect.currentframe(), 1
    # Functions that attrs has made have no module.
    while frame and frame.f_globals.get("__name__", "regretkit.").startswith("regretkit."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
