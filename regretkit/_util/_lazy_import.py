"""Imports that wait until they are needed."""

import importlib
import sys
import threading
from collections.abc import Callable, Mapping
from types import ModuleType


def lazy_import(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package of lazy imports.

    ``modules`` has the public names of each module, separated by spaces. A module whose own name
    is among them is a public name itself.
    """
    home = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = importlib.import_module(f"{package}.{home[name]}")
        value = found if home[name] == name else getattr(found, name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *home}), sorted(home)


on_first_run: list[Callable[[], object]] = []
"""Imports that wait for ``import_registered``."""


_LOCK = threading.RLock()


def import_registered() -> None:
    """Run the waiting imports, each once; other threads wait for them."""
    with _LOCK:
        while on_first_run:
            on_first_run.pop()()


def optional(package: str, extra: str) -> ModuleType:
    """Import a package, or raise an ImportError that names the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'regretkit[{extra}]'") from error
