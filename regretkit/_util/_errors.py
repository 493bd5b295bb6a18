"""Errors with fields, for callers that word the advice differently."""

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
