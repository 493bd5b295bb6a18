"""The shape of the package: layers, sizes, and two things that it never does."""

import ast
from pathlib import Path

import pytest

import regretkit

ROOT = Path(regretkit.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# A layer may import only those above it; some do not exist yet.
LAYERS = [
    "_typing",
    "_lazily",
    "_errors",
    "_arrays",
    "_validate",
    "_state",
    "_files",
    "sets",
    "_accounts",
    "_cut",
    "minimizer",
    "_adversaries",
    "_laws",
    "checks",
    "minimizers",
    "circuits",
    "games",
    "evaluation",
    "play",
    "engine",
    "plots",
    "cli",
    "__main__",
]

each_module = pytest.mark.parametrize(
    "module", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES]
)


def layer_of(module: Path) -> str:
    return module.relative_to(ROOT).with_suffix("").parts[0]


def imported_modules(node: ast.AST, package: tuple[str, ...]) -> list[str]:
    """Return the dotted names that an import statement in ``package`` may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    parents = package[: len(package) - node.level + 1] if node.level else ()
    base = ".".join([*parents, *([node.module] if node.module else [])])
    if base == "regretkit":
        return [f"regretkit.{alias.name}" for alias in node.names]
    return [base]


def imported_layers(source: str, package: tuple[str, ...] = ("regretkit",)) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    names = [name for node in nodes for name in imported_modules(node, package)]
    ours = [name for name in names if f"{name}.".startswith("regretkit.")]
    return {name.removeprefix("regretkit.").split(".")[0] for name in ours}


def functions(module: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(module.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines_of(node: ast.AST) -> int:
    return node.end_lineno - node.lineno + 1


def lines_without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(function) is not None
    return lines_of(function) - (lines_of(function.body[0]) if documented else 0)


@each_module
def test_a_module_imports_only_its_own_layer_and_those_above(module):
    if module == ROOT / "__init__.py":
        return  # it gathers the public names of all layers
    allowed = LAYERS[: LAYERS.index(layer_of(module)) + 1]
    package = ("regretkit", *module.parent.relative_to(ROOT).parts)

    assert imported_layers(module.read_text(), package) <= set(allowed)


def test_every_module_belongs_to_a_layer():
    assert {layer_of(module) for module in MODULES} - {"__init__"} <= set(LAYERS)


@pytest.mark.parametrize(
    "source",
    [
        "import regretkit.games",
        "from regretkit import games",
        "from regretkit.games import Game",
        "from regretkit.games.catalogue import kuhn_poker",
        "from ..games import Game",
        "from .. import games",
        "def late():\n    from regretkit.games import Game",
    ],
)
def test_no_way_to_write_an_import_escapes_the_layers(source):
    assert imported_layers(source, ("regretkit", "sets")) == {"games"}


def test_the_package_root_is_itself_no_layer_that_could_be_imported():
    assert imported_layers("import regretkit") == {"regretkit"}


@each_module
def test_a_module_has_at_most_300_lines(module):
    assert len(module.read_text().splitlines()) <= 300


@each_module
def test_a_function_has_at_most_40_lines_besides_its_docstring(module):
    too_long = {f.name: n for f in functions(module) if (n := lines_without_docstring(f)) > 40}

    assert not too_long


@each_module
def test_the_library_never_prints(module):
    if layer_of(module) in {"cli", "__main__"}:
        return  # printing is what the command line is for
    names = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Name)]

    assert not [node.lineno for node in names if node.id == "print"]


@each_module
def test_the_library_never_validates_with_assert(module):
    # `python -O` removes asserts, and with them whatever they were meant to refuse.
    nodes = ast.walk(ast.parse(module.read_text()))

    assert not [node.lineno for node in nodes if isinstance(node, ast.Assert)]
