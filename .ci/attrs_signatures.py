"""Show in the reference the constructors that attrs writes, which no source file holds.

A Griffe extension, named in ``mkdocs.yml``.
"""

import importlib
import inspect
import re
from typing import Any

import attrs
import griffe
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector


class AttrsSignatures(griffe.Extension):
    """Give every attrs class the ``__init__`` that it has at run time."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add the constructor of one class, if attrs made it."""
        real = getattr(importlib.import_module(cls.module.path), cls.name, None)
        if not (inspect.isclass(real) and attrs.has(real)) or "__init__" in cls.members:
            return
        parameters = map(shown, inspect.signature(real.__init__).parameters.values())
        init = griffe.Function("__init__", parameters=griffe.Parameters(*parameters))
        cls.set_member("__init__", init)


def shown(parameter: inspect.Parameter) -> griffe.Parameter:
    """Return a parameter as the reference shows it."""
    return griffe.Parameter(
        parameter.name,
        kind=griffe.ParameterKind[parameter.kind.name.lower()],
        annotation=type_name(parameter.annotation),
        default=default_name(parameter.default),
    )


def default_name(default: object) -> str | None:
    """Return a default the way a caller would write it, or dots where attrs computes it."""
    if default is inspect.Parameter.empty:
        return None
    return "..." if default is attrs.NOTHING else getattr(default, "__name__", repr(default))


def type_name(annotation: object) -> str | None:
    """Return a type without the modules it comes from, and aliases by their names."""
    if annotation is inspect.Parameter.empty:
        return None
    # A union with ArrayLike is one flat union: its members are next to each other.
    return (
        without_modules(annotation)
        .replace(without_modules(Vector), "Vector")
        .replace(without_modules(ArrayLike | None), "ArrayLike | None")
        .replace(without_modules(ArrayLike), "ArrayLike")
    )


def without_modules(annotation: object) -> str:
    """Return ``float64`` for ``numpy.float64``, wherever it stands in a type."""
    return re.sub(r"\b\w+\.(?=\w)", "", inspect.formatannotation(annotation))
