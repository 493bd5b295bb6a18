"""Names that are there from the start, and whose modules are loaded when somebody asks for them."""

import importlib
import sys
from collections.abc import Callable, Mapping


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return what a package takes as its ``__getattr__``, to load names from modules of its own.

    Parameters
    ----------
    package
        The package's ``__name__``.
    modules
        For each module, relative to the package, the names that it has, with spaces between them.
    """
    home = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = importlib.import_module(f"{package}.{home[name]}")
        value = found if home[name] == name else getattr(found, name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def listed(package: str, modules: Mapping[str, str]) -> Callable[[], list[str]]:
    """Return what a package takes as its ``__dir__``, with the names of :func:`lazily` in it."""

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *" ".join(modules.values()).split()})

    return names
