"""The command line in a terminal: progress, Ctrl-C, and closed pipes."""

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import bench_victim
import pytest

pytest.importorskip("pty", reason="pseudo-terminals are of Unix")

from pseudo_terminal import CTRL_C, interrupted, piped, typed

SLOW = """

class Slow(Mine):
    def _learn(self, utility, strategy):
        import time
        time.sleep(0.005 if float(utility[0]) < 1e9 else 0.0)  # which cannot be traced
        super()._learn(utility, strategy)
"""
RULE = ["--rule", "rules.py:Slow"]
LONG = ["solve", "kuhn_poker", *RULE, "--iterations", "300"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules.py").write_text(bench_victim.RULE + SLOW)
    return tmp_path


def test_ctrl_c_saves_a_run_that_is_resumed_to_the_same_bits(folder):
    presses = [(r"iteration [\d,]+ of", CTRL_C)]
    shown = interrupted([*LONG, "--checkpoint", "run"], folder, presses)
    assert "interrupted; regretkit resume run continues it" in shown
    assert "gap  " in shown
    resumed = piped(["resume", "run", *RULE, "--json", "--out", "a.json"], folder)
    whole = piped([*LONG, "--json", "--out", "b.json"], folder)
    assert [json.loads(done.stdout)["iterations"] for done in (resumed, whole)] == [300, 300]
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_ctrl_c_keeps_the_results_of_a_bench(folder):
    words = ["bench", "kuhn_poker", "--algorithms", "cfr,rules.py:Slow", "--iterations", "9000"]
    presses = [(r"1 of 2 runs", CTRL_C)]
    shown = interrupted([*words, "--workers", "2"], folder, presses)
    assert re.search("interrupted\\s+1 results in results", shown)
    assert len(list((folder / "results").glob("*.json"))) == 1


def test_ctrl_c_leaves_a_match_with_what_was_earned(folder):
    presses = [("p or b", b"b\r"), ("p or b", CTRL_C)]
    shown = interrupted(["play", "kuhn_poker", "uniform", "--seat", "0"], folder, presses)
    assert "You earned" in shown or "You finished no round" in shown


def test_progress_is_shown_at_a_terminal_alone(folder):
    code, shown = typed(LONG, folder)
    assert (code, "of 300" in shown) == (0, True)
    assert piped(LONG, folder).stderr == ""


def test_a_reader_that_closes_the_pipe_is_no_fault(folder):
    line = f"{sys.executable} -m regretkit games | head -2"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("game ")
    assert done.stderr == ""


def test_the_command_is_installed_under_its_name():
    [command] = [
        entry for entry in entry_points(group="console_scripts") if entry.name == "regretkit"
    ]
    assert command.value == "regretkit.__main__:main"
    assert "regretkit 0" in piped(["--version"], Path.cwd()).stdout
