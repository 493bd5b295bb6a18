"""Every public name has a summary, an example that runs, and a place in the reference."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import regretkit

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def parsed(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__).read_text())


def reexported(module: ModuleType) -> list[str]:
    """Return the names that a package's ``__init__`` imports as themselves (``X as X``)."""
    nodes = ast.walk(parsed(module))
    aliases = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return [alias.name for alias in aliases if alias.asname == alias.name]


def defined(module: ModuleType) -> list[str]:
    """Return the public names that a module itself defines."""
    names = []
    for node in parsed(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names += [getattr(target, "name", getattr(target, "id", "_")) for target in targets]
    return [name for name in names if not name.startswith("_")]


def packages() -> list[ModuleType]:
    found = pkgutil.walk_packages(regretkit.__path__, "regretkit.")
    names = [info.name for info in found if info.ispkg and "._" not in info.name]
    return [regretkit, *map(importlib.import_module, names)]


def public_objects() -> dict[str, object]:
    found = {}
    for module in packages():
        for name in reexported(module):
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                found[f"{module.__name__}.{name}"] = thing
    return found


def names_in_reference() -> set[str]:
    """Return what the pages name in backticks, and what their directives expand to."""
    text = "\n".join(page.read_text() for page in REFERENCE.glob("*.md"))
    names = set(re.findall(r"`(\w+)`", text))
    for target in re.findall(r"^::: ([\w.]+)", text, re.MULTILINE):
        try:
            module = importlib.import_module(target)
        except ModuleNotFoundError:
            names.add(target.rpartition(".")[2])
        else:
            names.update(reexported(module), defined(module))
    return names


PUBLIC = public_objects()
# Aliases of types, and values such as the named algorithms, have no docstring of their own.
DOCUMENTED = {
    name: thing
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing) or inspect.isroutine(thing)
}
# An exception is shown in the example of the function that raises it.
SHOWN = [
    name
    for name, thing in DOCUMENTED.items()
    if not (inspect.isclass(thing) and issubclass(thing, BaseException))
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_public_name_has_a_summary_of_one_sentence(name):
    summary, _, rest = inspect.cleandoc(DOCUMENTED[name].__doc__ or "").partition("\n")
    assert re.fullmatch(r"\S.*\.", summary)
    assert not rest or rest.startswith("\n")


@pytest.mark.parametrize("name", SHOWN)
def test_a_public_name_has_an_example_that_runs(name):
    docstring = inspect.cleandoc(DOCUMENTED[name].__doc__ or "")
    _, _, section = docstring.partition("\nExamples\n--------\n")
    assert doctest.DocTestParser().get_examples(section)


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.__name__)
def test_a_public_name_is_not_also_the_name_of_a_module(package):
    # `import regretkit.a.b` would find the function, and the reference would show the module.
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    public = {name for name in reexported(package) if not inspect.ismodule(getattr(package, name))}
    assert modules & public == set()


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.__name__)
def test_a_star_import_brings_every_public_name(package):
    brought = {}
    exec(f"from {package.__name__} import *", brought)
    assert {*reexported(package)} <= brought.keys()
    # Where names are imported at their first use, they are listed; nothing else is.
    assert {*getattr(package, "__all__", reexported(package))} == {*reexported(package)}


@pytest.mark.deep_beyond(20)
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_stands_in_the_reference(name):
    assert name.rpartition(".")[2] in names_in_reference()
