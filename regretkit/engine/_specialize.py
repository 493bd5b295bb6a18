"""Functions with placeholders, in which these are replaced by other functions."""

import hashlib
import types
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Specialization: TypeAlias = dict[Any, Any]
"""The function that replaces each placeholder."""

Make: TypeAlias = Callable[[Any, Specialization], Any]
"""What is made of a function that another one calls, in place of its placeholders."""

_COMPILER = "_specialize.py", "_machine_code.py", "_numba.py"
"""Files of this folder on which machine code depends."""


def specialized(function: Any, specialization: Specialization, make: Make) -> Any:
    """Return a copy of a function for which what it calls is replaced by what ``make`` returns."""
    names = {}
    for name, value in _used(function):
        names[name] = replacement = _replacement(value, specialization)
        if isinstance(replacement, types.FunctionType) and replacement is not function:
            names[name] = make(replacement, specialization)
    copied = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names[name]) for name in function.__code__.co_freevars),
    )
    copied.__module__, copied.__qualname__ = function.__module__, function.__qualname__
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _replacement(value: Any, specialization: Specialization) -> Any:
    return _python(specialization.get(_python(value), value) if callable(value) else value)


def _python(function: Any) -> Any:
    """Return the Python function of one that Numba has compiled."""
    if isinstance(function, types.FunctionType):
        return function  # a kernel, whose ``py_func`` is for checks without a compiler
    plain = getattr(function, "py_func", None)
    return plain if isinstance(plain, types.FunctionType) else function


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def digest(template: Any, specialization: Specialization) -> str:
    """Return a digest of all that determines a specialized template: its code and what it uses."""
    total = hashlib.sha256()
    total.update(_compiler())  # how things are compiled matters as well
    numbers: dict[Any, int] = {template: 0}
    waiting = [template]
    while waiting:
        function = waiting.pop()
        total.update(_code(function.__code__))
        total.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
        for name, value in _used(function):
            value = _replacement(value, specialization)
            if isinstance(value, types.FunctionType):
                # By number: closures of one definition share their name, and differ.
                if value not in numbers:
                    numbers[value] = len(numbers)
                    waiting.append(value)
                total.update(f"{name}=#{numbers[value]}".encode())
            elif isinstance(value, types.ModuleType):
                total.update(f"{name}={value.__name__}".encode())
                for inner in function.__code__.co_names:
                    # Not getattr: a builtin may share its name with a deprecated attribute.
                    total.update(inner.encode() + _constant(vars(value).get(inner)))
            else:
                total.update(name.encode() + _constant(value))
    return total.hexdigest()[:16]


@cache
def _compiler() -> bytes:
    return b"".join(Path(__file__).with_name(name).read_bytes() for name in _COMPILER)


@lru_cache(maxsize=256)
def _code(code: types.CodeType) -> bytes:
    """Return what determines code; the repr of nested code would contain its memory address."""
    inner = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, inner, code.co_names, code.co_freevars)).encode()


def _constant(value: object) -> bytes:
    """Return what determines a value that code uses, as far as it is plain."""
    if isinstance(value, np.ndarray):  # whose repr shows only a part
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    plain = isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic)
    return repr(value if plain else getattr(value, "__qualname__", type(value))).encode()


# Constants in place of placeholders


def true() -> bool:
    return True


def false() -> bool:
    return False
