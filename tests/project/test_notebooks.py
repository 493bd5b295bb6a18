"""Every notebook in examples/notebooks/ runs, draws, and finds what its text says."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples/notebooks").glob("*.py"))

# What each has to find, of the names that it leaves behind.
FOUND = {
    "own_rule": lambda left: all(
        left["rk"].nash_conv(left["game"], average) < 0.01 for average in left["averages"].values()
    ),
    "compose": lambda left: (
        left["difference"] == 0.0
        and np.isclose(left["whole"], left["first_part"] + left["second_part"])
        and left["rk"].nash_conv(left["game"], left["run"].average) < 0.02
    ),
    "correlated": lambda left: (
        left["learned"]["swap regret"][0].gap("ce")
        < 0.02
        < 0.1
        < left["learned"]["regret matching"][0].gap("ce")
    ),
    "own_game": lambda left: (
        np.isclose(left["exact"].value, 1 / 18)
        and left["rk"].nash_conv(left["larger"], left["average"]) < 1e-3
    ),
    "sampling": lambda left: (
        left["records"]["external"].values["nash_conv"][-1]
        < left["records"]["exact"].values["nash_conv"][-1]
        < left["records"]["outcome"].values["nash_conv"][-1]
    ),
}


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_notebook_finds_what_its_text_says(script, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    left = {"__name__": "__main__"}
    exec(compile(script.read_text(), str(script), "exec"), left)

    assert FOUND[script.stem](left)
    assert plt.get_fignums()
    assert capsys.readouterr().out.strip()
