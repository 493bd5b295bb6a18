"""Importing the package is quick, and loads nothing that only some of its users need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ["scipy", "llvmlite", "matplotlib"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return what runs code as where the package is installed: installers compile what they copy.

    The first run compiles and keeps what it compiled, even if this environment forbids that.
    """
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(code):
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        ).stdout

    run("import regretkit")
    return run


def best_seconds(run, code):
    # Of the processor, and the best of five: what else the machine does can only add to a time.
    timed = f"{code}\nimport time; print(time.process_time())"
    return min(float(run(timed)) for _ in range(5))


def test_importing_takes_a_few_times_as_long_as_numpy_alone(run):
    # Below 0.3 seconds where NumPy takes 0.08; a ratio holds on slower and busier machines too.
    nothing, numpy = best_seconds(run, "pass"), best_seconds(run, "import numpy")
    assert best_seconds(run, "import regretkit") - nothing < 4.0 * (numpy - nothing)


def test_importing_loads_no_heavy_package(run):
    loaded = run(
        f"import sys, regretkit; print(*(name for name in {HEAVY} if name in sys.modules))"
    )
    assert loaded.split() == []


def test_a_minimizer_as_text_loads_neither_play_nor_figures(run):
    code = "import sys, regretkit as rk; text = str(rk.RegretMatching(3)); print(*sys.modules)"
    loaded = run(code).split()
    assert not {"matplotlib", "regretkit.play", "regretkit.display._games"} & {*loaded}


def test_the_root_and_the_start_of_the_shell_import_not_even_numpy(run):
    # The command line begins with it, and is to be interrupted in one line from there on.
    assert run("import sys, regretkit.__main__; print('numpy' in sys.modules)").strip() == "False"
