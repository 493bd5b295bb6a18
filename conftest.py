"""Settings that have to be in place before anything imports NumPy."""

import importlib.util
import os
import sys

import pytest

# The matrices in here are small: threads of the linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Plots are drawn into memory, and nowhere else.
os.environ.setdefault("MPLBACKEND", "Agg")

# Whose examples run only where an optional package is installed.
NEEDS = {
    "pyspiel": [
        "regretkit/games/openspiel/_tree.py",
        "regretkit/games/openspiel/_policy.py",
        "regretkit/games/openspiel/_history.py",
        "docs/how_to/sample_large_games.md",
        "docs/how_to/use_openspiel_games.md",
    ],
    "pygambit": ["regretkit/games/gambit/_pygambit.py"],
}
collect_ignore = [
    path
    for package, paths in NEEDS.items()
    if not importlib.util.find_spec(package)
    for path in paths
]


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
