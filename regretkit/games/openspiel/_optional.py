"""Packages that only some users want."""

import importlib
from types import ModuleType


def optional(package: str, extra: str) -> ModuleType:
    """Return a package, or say how to come by it.

    Parameters
    ----------
    package
        What to import.
    extra
        With which extra of ours it is installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"this needs {package}, which cannot be imported: {error}; "
            f"pip install 'regretkit[{extra}]'"
        ) from error
