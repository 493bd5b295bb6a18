"""Settings that have to be in place before anything imports NumPy."""

import importlib.util
import os

# The matrices in here are small: threads of the linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Whose examples run only where an optional package is installed.
NEEDS = {
    "pyspiel": [
        "regretkit/games/interop/openspiel.py",
        "regretkit/games/interop/policy.py",
        "docs/how_to/use_openspiel_games.md",
    ],
    "pygambit": ["regretkit/games/interop/gambit.py"],
}
collect_ignore = [
    path
    for package, paths in NEEDS.items()
    if not importlib.util.find_spec(package)
    for path in paths
]
