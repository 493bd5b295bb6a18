"""Names of a package whose modules are imported at the first use of a name."""

import importlib
import re
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
            raise _absent(package, name)
        found = importlib.import_module(f"{package}.{home[name]}")
        value = found if home[name] == name else getattr(found, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return load, names, sorted({*imported, *home} - {"TYPE_CHECKING", "lazy_import"})


def say_where(package: str) -> None:
    """Have a package say where a name is that it does not have."""

    def refuse(name: str) -> object:
        raise _absent(package, name)

    vars(sys.modules[package])["__getattr__"] = refuse  # which no type checker is to take for names


def _absent(package: str, name: str) -> Exception:
    """Return the error about a name that a package does not have."""
    import inspect  # not at the top: the root alone is imported at once
    from opcode import opname

    frame = inspect.currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    if name == "__version__":
        return AttributeError(f"no {name} here; importlib.metadata.version({package!r}) has it")
    if name.startswith("_") or caller is None or caller.f_code.co_name == "_handle_fromlist":
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    # An import tells nothing of an AttributeError.
    if opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from {package!r}{_home_of(name, package)}")
    return AttributeError(f"module {package!r} has no attribute {name!r}{_home_of(name, package)}")


_SYNONYMS = {
    "^list|^avail|^all": "games are listed by games.names(), algorithms by play.ALGORITHMS",
    "internal|blum": "swap regret, which bounds internal regret, is minimized by SwapRegret",
    "^help|^docs?$|^man": "Python's help explains it, as in help(regretkit.solve)",
    "solver|trainer|^cfr[a-z]": "CFR is played by solve(game, 'cfr', iterations=1000)",
}
"""What there is in place of names that other libraries have, by patterns of them."""


def _home_of(name: str, package: str) -> str:
    """Return which public module has a name, or one like it, to end an error message.

    Figures do not have the names of anything else.
    """
    from regretkit._util._validate import did_you_mean

    lazy = vars(sys.modules["regretkit"])["_LATER"]
    public = [f"regretkit.{module}" for module in (*lazy, "minimizers.contrib", "trace")]
    found = [(m, public_name) for m in public for public_name in dir(importlib.import_module(m))]
    homes = {
        public_name: f"{m}.{public_name}"
        for m, public_name in found
        if f"{m}.{public_name}" not in sys.modules
    }
    algorithm = name.lower().replace("_", "").replace("plus", "+")
    if name == "save":
        return "; a run has save(path), and regretkit.games.save writes a game"
    if package == "regretkit.display":
        figures = [each for each in importlib.import_module(package).__all__ if each.islower()]
        return f"; figures are {', '.join(figures)}"
    if name in homes:
        return f"; it is {homes[name]}"
    evaluation = importlib.import_module("regretkit.evaluation")
    if hasattr(evaluation.CorrelatedPlay, name):
        return f"; it is a method of {homes['CorrelatedPlay']}, which a run takes as a callback"
    if "plot" in name:
        return "; figures are in regretkit.display, as display.convergence and display.heat_map"
    if algorithm in importlib.import_module("regretkit.play").ALGORITHMS:
        return f"; it is an algorithm, as in solve(game, {algorithm!r})"
    if hints := [hint for synonym, hint in _SYNONYMS.items() if re.search(synonym, algorithm)]:
        return f"; {hints[0]}"
    return re.sub("'(.*)'", lambda close: homes[close[1]], did_you_mean(name, homes))


def optional(package: str, extra: str) -> ModuleType:
    """Import a package, or raise an ImportError that names the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"this needs {package}, which cannot be imported: {error}; "
            f"pip install 'regretkit[{extra}]'"
        ) from error
