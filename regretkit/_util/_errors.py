"""Texts of errors and warnings."""

import functools
import inspect
import warnings


def printable(text: str) -> str:
    """Return text with escapes for control characters, surrogates and the like."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def reason(error: BaseException) -> str:
    """Return the message of an error, or its class, and its notes."""
    if isinstance(error, OSError) and error.strerror:
        location = f"{str(error.filename)!r}: " if error.filename is not None else ""
        return f"{location}{error.strerror}"
    problem = str(error) or type(error).__name__
    return "; ".join([problem, *getattr(error, "__notes__", ())])


@functools.cache
def warn_once(text: str) -> None:
    """Warn at the first call with this text."""
    warn(text)


def warn(text: str) -> None:
    """Warn at the line that called regretkit."""
    frame, level = inspect.currentframe(), 1
    # Functions that attrs generates have no module name.
    while frame and frame.f_globals.get("__name__", "regretkit.").startswith("regretkit."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
