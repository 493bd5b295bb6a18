"""A public name means one thing, has a summary, an example, and a place in the reference."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import pytest

import regretkit as rk

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def public_packages():
    """Return the package and every package in it whose name is public."""
    found = pkgutil.walk_packages(rk.__path__, "regretkit.")
    names = [info.name for info in found if info.ispkg and "._" not in info.name]
    return [rk, *map(importlib.import_module, names)]


def parsed(module):
    return ast.parse(Path(module.__file__).read_text())


def reexported(module):
    """Return the names that a package's ``__init__`` imports as themselves (``X as X``)."""
    nodes = ast.walk(parsed(module))
    aliases = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return [alias.name for alias in aliases if alias.asname == alias.name]


def defined(module):
    """Return the public names that a module itself defines."""
    names = []
    for node in parsed(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names += [getattr(target, "name", getattr(target, "id", "_")) for target in targets]
    return [name for name in names if not name.startswith("_")]


PACKAGES = public_packages()
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in PACKAGES
    for name in reexported(module)
    if not inspect.ismodule(getattr(module, name))
}
# Aliases of types, and values such as the named algorithms, have no docstring of their own.
DOCUMENTED = {
    name: inspect.cleandoc(thing.__doc__ or "")
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing) or inspect.isroutine(thing)
}


def test_equal_public_names_are_the_same_object():
    places = defaultdict(list)
    for package in PACKAGES:
        for name in dir(package):
            thing = getattr(package, name)
            if not name.startswith("_") and not inspect.ismodule(thing):
                places[name].append(thing)

    assert len(places) > 200
    assert [n for n, found in places.items() if any(t is not found[0] for t in found)] == []


def test_a_public_name_has_a_summary_of_one_sentence_and_an_example():
    without = []
    for name, text in DOCUMENTED.items():
        summary, _, rest = text.partition("\n")
        if not re.fullmatch(r"\S.*\.", summary) or (rest and not rest.startswith("\n")):
            without.append(name)
        thing = PUBLIC[name]
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            continue  # shown in the example of the function that raises it
        examples = text.partition("\nExamples\n--------\n")[2]
        if not doctest.DocTestParser().get_examples(examples):
            without.append(name)
    assert without == []


def test_a_public_name_stands_in_the_reference():
    text = "\n".join(page.read_text() for page in REFERENCE.glob("*.md"))
    names = set(re.findall(r"`(\w+)`", text))
    for target in re.findall(r"^::: ([\w.]+)", text, re.MULTILINE):
        try:
            module = importlib.import_module(target)
        except ModuleNotFoundError:
            names.add(target.rpartition(".")[2])
        else:
            names.update(reexported(module), defined(module))
    assert [name for name in PUBLIC if name.rpartition(".")[2] not in names] == []


def test_what_was_written_without_its_paper_has_a_public_name():
    pages = [REFERENCE / "contrib.md", REFERENCE.parent / "explanation/differences_from_papers.md"]
    first_cells = re.findall(
        r"^\| (`[^|]*) \|", "".join(p.read_text() for p in pages), re.MULTILINE
    )
    listed = {name for cell in first_cells for name in re.findall(r"`([A-Za-z_]+)`", cell)}
    assert len(listed) > 30
    assert listed <= {name.rpartition(".")[2] for name in PUBLIC}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_star_import_brings_every_public_name_and_no_name_is_a_module_too(package):
    brought = {}
    exec(f"from {package.__name__} import *", brought)
    assert {*reexported(package)} <= brought.keys()
    # Where names are imported at their first use, they are listed; nothing else is.
    assert {*getattr(package, "__all__", reexported(package))} == {*reexported(package)}
    # `import regretkit.a.b` would find the function, and the reference would show the module.
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    public = {name for name in reexported(package) if not inspect.ismodule(getattr(package, name))}
    assert modules & public == set()
