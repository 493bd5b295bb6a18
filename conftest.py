"""Settings that have to be in place before anything imports NumPy, and the tiers of the suite."""

import doctest
import gc
import importlib.util
import os
import re
import sys
from collections import defaultdict

import pytest
from hypothesis import settings

# The matrices in here are small: threads of the linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Plots are drawn into memory, and nowhere else.
os.environ.setdefault("MPLBACKEND", "Agg")

# Whose examples run only where an optional package is installed.
NEEDS = {
    "pyspiel": [
        "regretkit/games/bridges/_openspiel.py",
        "regretkit/games/bridges/_openspiel_states.py",
        "docs/how_to/sample_large_games.md",
        "docs/how_to/use_openspiel_games.md",
    ],
    "pygambit": ["regretkit/games/bridges/_pygambit.py"],
    "plotly": ["regretkit/workbench/_report.py"],
}
collect_ignore = [
    path
    for package, paths in NEEDS.items()
    if not importlib.util.find_spec(package)
    for path in paths
]

# The fence after an example is not its output.
_parse = doctest.DocTestParser.parse
doctest.DocTestParser.parse = lambda parser, text, name="<string>": _parse(
    parser, re.sub(r"(?m)^ *```\w*$", "", text), name
)

# The main suite draws fewer examples, the same every time; --hypothesis-profile=ci draws a
# hundred, as the deep suite does.
settings.register_profile("main", settings.get_profile("ci"), max_examples=20)

# The files of the smoke run, which collects no others: what each package is there for.
SMOKE = {
    *("test_sets", "test_decision_problems", "test_recurrences", "test_cfr"),
    *("test_normal_form", "test_nfg", "test_orders", "test_averaging"),
    *("test_unbiased", "test_gaps", "test_machine_code", "test_public_names"),
}

# The files of the deep suite: processes, terminals, figures, results on disk, texts of the
# repository, and searches for rare faults. The main suite tests what the library computes.
DEEP_FOLDERS = {"display", "workbench", "explanation", "how_to"}
DEEP = {
    *("test_architecture", "test_examples", "test_files", "test_import", "test_markdown"),
    *("test_cli", "test_cli_bench", "test_cli_terminal", "test_checkpoints_killed"),
    *("test_last_iterate", "test_fixed_strategy", "test_dynamics", "test_corpus"),
    *("test_formats_fuzz", "test_compiler_programs", "test_compiler_refusals", "test_guard"),
    *("test_regret_growth", "test_random_rules", "test_isomorphism", "test_certificates"),
    *("test_engines_public", "test_gambit_corpus"),
    *("test_random_compositions", "literature"),
}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without collections of garbage, which then leave the tests alone.

    They are hundreds of thousands of objects that live until the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()  # of the classes that attrs replaced, which are still among the subclasses
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path, config):
    """Leave out, where ``-m smoke`` is all that is asked for, the files that have no such test."""
    if config.option.markexpr == "smoke" and collection_path.suffix in (".py", ".md"):
        return True if collection_path.stem not in SMOKE else None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as deep, and as beyond, the cases that ``deep_beyond(n)`` leaves out of the main suite.

    So are the files of ``DEEP``. The rest of the files in ``SMOKE`` is marked as smoke.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("deep_beyond") and not item.get_closest_marker("slow"):
            cases[item.parent, item.originalname].append(item)
    for several in cases.values():
        (count,) = several[0].get_closest_marker("deep_beyond").args
        main = {round(k * len(several) / count) for k in range(count)}
        for place, item in enumerate(several):
            if place not in main:
                item.add_marker(pytest.mark.deep)
                item.add_marker(pytest.mark.beyond)
    for item in items:
        if item.path.stem in DEEP or item.path.parent.name in DEEP_FOLDERS:
            item.add_marker(pytest.mark.deep)
        markers = {marker.name for marker in item.iter_markers()}
        if item.path.stem in SMOKE and not markers & {"deep", "slow"}:
            item.add_marker(pytest.mark.smoke)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    """Close the figures of every test and every example."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _the_same_catalogue():
    """Forget the games that a test or an example has put into the catalogue."""
    from regretkit.games import _registry

    before = dict(_registry._FACTORIES)
    yield
    _registry._FACTORIES.clear()
    _registry._FACTORIES.update(before)
