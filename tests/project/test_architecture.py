"""The shape of the package: layers, sizes, and two things that it never does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import regretkit

ROOT = Path(regretkit.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# A layer may import only those above it, and `display` in a function; some do not exist yet.
LAYERS = [
    "_util",
    "sets",
    "_regret_tracker",
    "minimizer",
    "checks",
    "minimizers",
    "circuits",
    "games",
    "evaluation",
    "averaging",
    "estimators",
    "play",
    "engine",
    "display",
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
    return {layer for _, layer in _imports(ast.parse(source), package)}


def imported_late(source: str, package: tuple[str, ...] = ("regretkit",)) -> set[str]:
    """Return the layers that are imported in functions alone."""
    tree = ast.parse(source)
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    found = list(_imports(tree, package))
    return {layer for _, layer in found} - {layer for node, layer in found if node not in inside}


def _imports(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        for name in imported_modules(node, package):
            if name.startswith("regretkit.") or name == "regretkit":
                yield node, name.removeprefix("regretkit.").split(".")[0]


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
    source = module.read_text()
    drawing = imported_late(source, package) & {"display"}  # which each may do, once it is asked
    assert imported_layers(source, package) - drawing <= set(allowed)


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


@pytest.mark.parametrize(
    ("source", "late"),
    [
        ("from regretkit.display import simplex", set()),
        ("def draw():\n    from regretkit.display import simplex", {"display"}),
        ("class Game:\n    def draw(self):\n        import regretkit.display", {"display"}),
        ("import regretkit.display\ndef draw():\n    import regretkit.display", set()),
        ("class Game:\n    import regretkit.display", set()),
    ],
)
def test_an_import_is_late_if_it_is_in_functions_alone(source, late):
    assert imported_late(source) == late


def test_the_package_root_is_itself_no_layer_that_could_be_imported():
    assert imported_layers("import regretkit") == {"regretkit"}


@each_module
def test_a_module_has_at_most_600_lines(module):
    assert len(module.read_text().splitlines()) <= 600


@each_module
def test_a_function_has_at_most_45_lines_besides_its_docstring(module):
    too_long = {f.name: n for f in functions(module) if (n := lines_without_docstring(f)) > 45}
    assert not too_long


@each_module
def test_the_library_never_prints(module):
    if layer_of(module) in {"cli", "__main__"}:
        return  # printing is what the command line is for
    names = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Name)]
    assert not [node.lineno for node in names if node.id == "print"]


@each_module
def test_the_library_never_validates_with_assert(module):
    # `python -O` removes asserts, and with them the validation.
    nodes = ast.walk(ast.parse(module.read_text()))
    assert not [node.lineno for node in nodes if isinstance(node, ast.Assert)]


# Import circles


def top_level_imports(module: Path) -> set[Path]:
    """Return the modules of the package that a module imports when it is itself imported."""
    package = ("regretkit", *module.parent.relative_to(ROOT).parts)
    statements = [*ast.parse(module.read_text()).body]
    found = set()
    while statements:
        node = statements.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            statements += node.orelse
        elif isinstance(node, ast.If | ast.Try):
            statements += [child for child in ast.walk(node) if isinstance(child, ast.ImportFrom)]
        for name in imported_modules(node, package):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            for target in [name, *(f"{name}.{member}" for member in names)]:
                path = ROOT.parent.joinpath(*target.split("."))
                found |= {path.with_suffix(".py"), path / "__init__.py"} & {*MODULES}
    return found - {module}


def circles(imports: dict[Path, set[Path]]) -> list[list[Path]]:
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    number, low, stack, found = {}, {}, [], []

    def visit(module: Path) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for target in sorted(imports[module]):
            if target not in number:
                visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == number[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            found.extend([group] if len(group) > 1 else [])

    for module in imports:
        if module not in number:
            visit(module)
    return found


def test_no_modules_import_each_other_in_a_circle():
    imports = {module: top_level_imports(module) for module in MODULES}
    found = [[str(module.relative_to(ROOT)) for module in group] for group in circles(imports)]
    assert not found


def test_a_circle_is_found():
    first, second, third = (Path(name) for name in "abc")
    assert circles({first: {second}, second: {first}, third: {first}}) == [[first, second]]
