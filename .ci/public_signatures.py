"""Show in the reference the constructors that attrs writes, and no private names.

A Griffe extension, named in ``mkdocs.yml``.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import attrs
import griffe
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector

PRIVATE = re.compile(r"\b_[A-Za-z]")


class PublicSignatures(griffe.Extension):
    """Give every attrs class the ``__init__`` that it has at run time, and hide private names."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add the constructor of one class, if attrs made it; name its nearest public bases."""
        real = getattr(importlib.import_module(cls.module.path), cls.name, None)
        if not inspect.isclass(real):
            return
        if any(PRIVATE.match(str(base)) for base in cls.bases):
            cls.bases = list(dict.fromkeys(public_bases(real)))
        if not attrs.has(real) or "__init__" in cls.members:
            return
        parameters = map(shown, inspect.signature(real.__init__).parameters.values())
        init = griffe.Function("__init__", parameters=griffe.Parameters(*parameters))
        cls.set_member("__init__", init)

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Hide how a field is declared, and values that are private."""
        if PRIVATE.search(str(attr.value)) or str(attr.value).startswith(("field(", "state(")):
            attr.value = None

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Show the value of a default that is a private constant, and no type that is private."""
        for parameter in func.parameters:
            if PRIVATE.search(str(parameter.annotation)):
                parameter.annotation = None
            if PRIVATE.match(str(parameter.default)):
                module = importlib.import_module(func.module.path)
                parameter.default = default_name(getattr(module, str(parameter.default)))


def public_bases(real: type) -> Iterator[str]:
    """Yield the names of a class's bases, and of those of its private bases in their place."""
    for base in real.__bases__:
        if base.__name__.startswith("_"):
            yield from public_bases(base)
        elif base.__module__.startswith("regretkit"):
            yield base.__name__


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
