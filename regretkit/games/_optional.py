"""Imports of packages that only some users need."""

import importlib
from types import ModuleType


def optional(package: str, extra: str) -> ModuleType:
    """Import a package, or raise an ImportError that names the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"this needs {package}, which cannot be imported: {error}; "
            f"pip install 'regretkit[{extra}]'"
        ) from error
