"""What is killed at any instant, a process or the parent, leaves nothing that is half written."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import bench_victim
import pytest

from regretkit.games import load_rules
from regretkit.workbench import Experiment, read_results
from regretkit.workbench import _tasks as tasks

each_kill = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are listed there"
)


def results(folder):
    return bench_victim.results(read_results(folder))


def children(pid):
    """Return the processes that a process has begun."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


@each_kill
@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 1), pytest.param(200, 2, marks=[pytest.mark.deep, pytest.mark.slow])]
)
def test_killed_at_random_the_results_are_those_of_an_undisturbed_run(kills, seed, tmp_path):
    rule = tmp_path / "my_rule.py"
    rule.write_text(bench_victim.RULE)
    undisturbed = bench_victim.experiment(rule).run(tmp_path / "whole", workers=0)
    assert not undisturbed.failures
    expected, draw = results(tmp_path / "whole"), random.Random(seed)
    assert len(expected) == 3 * 7

    folder, killed = tmp_path / "killed", []
    words = [sys.executable, str(Path(bench_victim.__file__)), str(folder), str(rule), "2"]
    while len(killed) < kills:
        if len(list(folder.glob("*.json"))) > len(expected) - 4:  # so that there is work to kill
            for path in draw.sample(sorted(folder.glob("*.json")), k=12):
                path.unlink()
        process = subprocess.Popen(words)
        while process.poll() is None and len(killed) < kills:
            early = draw.random() < 0.2  # while it begins
            while not early and len(children(process.pid)) < 3 and process.poll() is None:
                time.sleep(0.02)  # two that compute, and one that cleans up behind them
            time.sleep(draw.uniform(0.0, 2.0))
            found = children(process.pid)
            victim = draw.choice([process.pid, *found])
            with contextlib.suppress(ProcessLookupError):  # it has ended
                if process.poll() is None:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim == process.pid)
        process.kill()
        process.wait()
    assert kills < 10 or kills / 10 < sum(killed) < kills / 1.4
    subprocess.run(words, check=True)
    assert results(folder) == expected
    assert bench_victim.names(folder) == bench_victim.names(tmp_path / "whole")
    assert not [*(folder / tasks.UNFINISHED).iterdir()]


class Killed(BaseException):
    """As SIGKILL, it leaves the process no time for anything."""


HEDGE = "regretkit.minimizers:Hedge(rate=0.1)"


@pytest.mark.parametrize(
    ("algorithm", "game", "measures"),
    [
        ("cfr+", "kuhn_poker", ("strategy_change", "efce_gap")),
        ("dcfr", "kuhn_poker", ()),
        ("mccfr", "kuhn_poker", ("cce_gap",)),
        (HEDGE, "kuhn_poker", ()),
        (HEDGE, "shapley_game", ("swap_regret",)),
        ("mccfr", load_rules("kuhn_poker"), ()),
    ],
)
def test_a_long_run_continues_from_its_checkpoint_to_the_same_bits(
    algorithm, game, measures, tmp_path, monkeypatch
):
    made = Experiment(game, algorithm, 60, measures=[*bench_victim.MEASURES, *measures])
    [task] = made.tasks
    (tmp_path / "whole").mkdir()
    tasks.execute(task, tmp_path / "whole", lambda *_: None)
    monkeypatch.setattr(tasks, "_SAVE_EVERY", 1e-9)
    monkeypatch.setattr("regretkit.play._checkpoint._PLAYED", 0.0)  # however long a save takes
    begun = []

    def report(iteration, value, seconds):
        begun[-1].append(iteration)
        if len(begun[-1]) > 9:
            raise Killed

    for _ in range(100):
        begun.append([])
        try:
            found = tasks.execute(task, tmp_path, report)
        except Killed:
            continue
        break
    assert found.reason == ""
    first = [iterations[0] for iterations in begun if iterations]
    assert len(first) > 2
    assert first == sorted(first)
    assert first[-1] > 40
    assert found.run is not None
    assert results(tmp_path) == results(tmp_path / "whole")
