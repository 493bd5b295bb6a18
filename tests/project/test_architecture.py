"""The shape of the package: layers, hooks, and two things that it never does."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import regretkit

ROOT = Path(regretkit.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# A layer may import only those before it, and `display` in a function.
LAYERS = [
    *(
        "_util",
        "_compiler",
        "_machine_code",
        "_state",
        "sets",
        "_regret_tracker",
        "minimizer",
        "trace",
        "checks",
        "minimizers",
    ),
    *("circuits", "games", "evaluation", "estimators", "play", "engine", "display", "workbench"),
    *("cli", "__main__"),
]


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


def imports(source: str, package: tuple[str, ...]) -> dict[str, bool]:
    """Return the layers that code imports, and of each whether it does so in functions alone."""
    tree, found = ast.parse(source), {}
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    interior = {node for function in defined for node in ast.walk(function)}
    for node in ast.walk(tree):
        for name in imported_modules(node, package):
            if name.startswith("regretkit.") or name == "regretkit":
                layer = name.removeprefix("regretkit.").split(".")[0]
                found[layer] = found.get(layer, True) and node in interior
    return found


def test_a_module_imports_only_its_own_layer_and_those_before_it():
    wrong = {}
    for module in MODULES:
        if module == ROOT / "__init__.py":
            continue  # it gathers the public names of all layers
        package = ("regretkit", *module.parent.relative_to(ROOT).parts)
        imported = imports(module.read_text(), package)
        if imported.get("display"):  # which each may import once it is to draw
            del imported["display"]
        allowed = LAYERS[: LAYERS.index(layer_of(module)) + 1]
        if beyond := imported.keys() - {*allowed}:
            wrong[str(module.relative_to(ROOT))] = beyond
    assert wrong == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import regretkit.games", {"games": False}),
        ("from regretkit import games", {"games": False}),
        ("from ..games import Game", {"games": False}),
        ("from .. import games", {"games": False}),
        ("def late():\n    from regretkit.games import Game", {"games": True}),
        ("import regretkit.games\ndef late():\n    import regretkit.games", {"games": False}),
    ],
)
def test_no_way_to_write_an_import_escapes_the_layers(source, found):
    assert imports(source, ("regretkit", "sets")) == found


def test_the_library_never_prints_and_never_validates_with_assert():
    # `python -O` removes asserts, and with them the validation.
    found = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            prints = isinstance(node, ast.Name) and node.id == "print"
            if isinstance(node, ast.Assert) or (
                prints and layer_of(module) not in ("cli", "__main__")
            ):
                found.append((str(module.relative_to(ROOT)), node.lineno))
    assert found == []


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
    """Return the groups of modules that import each other."""
    modules = [*imports]
    edges = [[target in imports[module] for target in modules] for module in modules]
    _, group = connected_components(np.array(edges), connection="strong")
    groups = [[modules[i] for i in np.flatnonzero(group == k)] for k in range(group.max() + 1)]
    return [members for members in groups if len(members) > 1]


def test_no_modules_import_each_other_in_a_circle():
    imports = {module: top_level_imports(module) for module in MODULES}
    assert [[str(module.relative_to(ROOT)) for module in g] for g in circles(imports)] == []
    first, second, third = (Path(name) for name in "abc")
    assert circles({first: {second}, second: {first}, third: {first}}) == [[first, second]]


# Hooks

HOOKS = {  # the concrete methods that subclasses may override
    "Stateful": "_check_state _restored load_state_dict state_dict",
    "Run": "_restored state_dict",
    "RegretMinimizer": "_expect _regret_bound _restored _value no_guarantee on_domain",
    "SimplexRule": "on_domain",
    "RegretRule": "_expect _learn _propose accumulate link",
    "Proximal": "_point",
    "SingleMinimizerCircuit": "_inner _learn _transform on_domain",
    "DeviationSet": "regret",
    "StrategySet": "_key contains gain project value",
    "DecisionDAG": "_depths _ran reach",
    "Simplices": "add best_response bisect block coordinates cumulate dot expectation max newton "
    "norm normalize project regret repeat select softmax sort sum uniform",
    "Game": "_outcomes _value coarsen constant_sum deals history payoff_bounds realization "
    "refinement size",
    "Rules": "action_name chance label moves state",
    "Objects": "chance observed",
    "Averaging": "weights",
    "TraversalEstimator": "_parameters _sampling_data",
    "Order": "check_players iterate schedule",
    "Executor": "is_current",
    "KernelExecutor": "is_current",
}


def subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(subclasses, type.__subclasses__(cls)))


def overrides(cls: type) -> set[tuple[str, str]]:
    """Return the concrete methods of its bases in the package that a class has anew."""
    bases = [base for base in cls.__mro__[1:] if str(base.__module__).startswith("regretkit")]
    return {
        (base.__name__, name)
        for base in bases
        for name, method in vars(base).items()
        if name in vars(cls) and not name.startswith("__")
        if callable(method) or isinstance(method, property | classmethod | staticmethod)
        if not getattr(method, "__isabstractmethod__", False)
    }


def test_no_class_overrides_a_concrete_method_that_is_not_a_hook():
    for module in pkgutil.walk_packages(regretkit.__path__, "regretkit."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = [cls for cls in subclasses(object) if str(cls.__module__).startswith("regretkit")]
    found = set().union(*map(overrides, ours))
    assert found == {(cls, name) for cls, names in HOOKS.items() for name in names.split()}


# The suite


def test_files_of_the_smoke_run_exist_and_no_two_test_files_have_one_name():
    # pytest imports test files by their names alone.
    tests = [path.stem for path in (ROOT.parent / "tests").rglob("test_*.py")]
    smoke = re.findall(r'"(test_\w+)"', (ROOT.parent / "conftest.py").read_text())
    assert len(smoke) > 10
    assert {*smoke} <= {*tests}
    assert len(tests) == len({*tests})
