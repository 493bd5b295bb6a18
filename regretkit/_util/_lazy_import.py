"""Names of a package whose modules are imported at the first use of a name."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def lazy_import(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``.

    What the package has imported when it calls this, other than modules, is in ``__all__`` too.

    Parameters
    ----------
    package
        The package's ``__name__``.
    modules
        For each module, relative to the package, the names that it has, with spaces between them;
        the name of a module stands for the module itself.
    """
    home = {name: module for module, names in modules.items() for name in names.split()}
    imported = {
        name
        for name, value in vars(sys.modules[package]).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = importlib.import_module(f"{package}.{home[name]}")
        value = found if home[name] == name else getattr(found, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return load, names, sorted({*imported, *home} - {"TYPE_CHECKING", "lazy_import"})


def optional(package: str, extra: str) -> ModuleType:
    """Import a package, or raise an ImportError that names the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"this needs {package}, which cannot be imported: {error}; "
            f"pip install 'regretkit[{extra}]'"
        ) from error
