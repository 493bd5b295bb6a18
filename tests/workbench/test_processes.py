"""Processes, Ray and this one have the same results, also where they are killed."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bench_victim
import pytest

from regretkit.games import load_rules
from regretkit.workbench import Experiment, RayExecutor, read_results

HEDGE = "regretkit.minimizers:Hedge(rate=0.1)"


def results(folder):
    return bench_victim.results(read_results(folder))


@pytest.fixture
def rule(tmp_path):
    path = tmp_path / "my_rule.py"
    path.write_text(bench_victim.RULE)
    return path


def test_processes_and_any_executor_write_the_files_of_this_process(rule, tmp_path):
    made = bench_victim.experiment(rule)
    here = made.run(tmp_path / "here", workers=0)
    assert len(here.runs) == 3 * 7
    seen = []
    made.run(tmp_path / "processes", workers=2, watch=lambda *told: seen.append(told[:2]))
    assert seen == [(n, 21) for n in range(1, 22)]
    with ThreadPoolExecutor(1) as executor:
        made.run(tmp_path / "thread", executor=executor)
    for name in ("processes", "thread"):
        assert results(tmp_path / name) == results(tmp_path / "here")
        assert bench_victim.names(tmp_path / name) == bench_victim.names(tmp_path / "here")


@pytest.mark.deep
def test_ray_writes_the_files_of_this_process(rule, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed; pip install regretkit[ray]")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of a later version
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with rule.open("a") as file:
        file.write("\n\nclass Dies(Mine):\n    def _learn(self, utility, strategy):\n")
        file.write("        import os\n        float(utility[0]) < 1e9 and os._exit(1)\n")
    made = Experiment("kuhn_poker(deck=3|4)", f"cfr+, mccfr, {rule}:Mine, {rule}:Dies", 60)
    with RayExecutor(workers=1) as executor:
        found = made.run(tmp_path / "ray", executor=executor)
    assert len(found.failures) == 2
    safe = Experiment("kuhn_poker(deck=3|4)", f"cfr+, mccfr, {rule}:Mine", 60)
    safe.run(tmp_path / "here", workers=0)
    assert results(tmp_path / "ray") == results(tmp_path / "here")
    assert bench_victim.names(tmp_path / "ray") == bench_victim.names(tmp_path / "here")


def children(pid):
    """Return the processes that a process has begun."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed there")
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=[pytest.mark.deep, pytest.mark.slow])])
def test_killed_at_random_the_results_are_those_of_an_undisturbed_run(kills, rule, tmp_path):
    bench_victim.experiment(rule).run(tmp_path / "whole", workers=0)
    expected, draw, folder = results(tmp_path / "whole"), random.Random(kills), tmp_path / "killed"
    words = [sys.executable, bench_victim.__file__, str(folder), str(rule), "2"]
    killed = 0
    while killed < kills:
        for path in sorted(folder.glob("*.json"))[:-3]:  # so that there is work to kill
            path.unlink()
        process = subprocess.Popen(words)
        while process.poll() is None and killed < kills:
            while len(children(process.pid)) < 3 and process.poll() is None:
                time.sleep(0.02)  # two that compute, and one that cleans up behind them
            time.sleep(draw.uniform(0.0, 1.0))
            victim = draw.choice([process.pid, *children(process.pid)])
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.kill(victim, signal.SIGKILL)
                    killed += 1
        process.kill()
        process.wait()
    subprocess.run(words, check=True)
    assert results(folder) == expected
    assert bench_victim.names(folder) == bench_victim.names(tmp_path / "whole")
    assert not list(folder.glob("*.checkpoint"))


class Killed(BaseException):
    """As SIGKILL, it leaves the process no time for anything."""


@pytest.mark.parametrize(
    ("algorithm", "game", "measures"),
    [
        ("cfr+", "kuhn_poker", ("last_nash_conv", "efce_gap")),
        ("mccfr", "kuhn_poker", ("cce_gap",)),
        (HEDGE, "shapley_game", ("swap_regret",)),
        ("mccfr", load_rules("kuhn_poker"), ()),
    ],
)
def test_a_long_run_continues_from_its_checkpoint_to_the_same_bits(
    algorithm, game, measures, tmp_path, monkeypatch
):
    made = Experiment(game, algorithm, 60, measures=[*bench_victim.MEASURES, *measures])
    made.run(tmp_path / "whole", workers=0)
    monkeypatch.setattr("regretkit.workbench._tasks.SAVE_EVERY", 1e-9)
    monkeypatch.setattr("regretkit.play._checkpoint._PLAYED", 0.0)  # however long a save takes
    from regretkit.play import Checkpoint

    begun, save = [], Checkpoint.__call__

    def dying(self, run):
        begun[-1].append(run.iteration)
        stop = save(self, run)
        if len(begun[-1]) > 3:
            raise Killed
        return stop

    monkeypatch.setattr(Checkpoint, "__call__", dying)
    for _ in range(100):
        begun.append([])
        with contextlib.suppress(Killed):
            made.run(tmp_path / "killed", workers=0)
            break
    first = [iterations[0] for iterations in begun if iterations]
    assert len(first) > 2
    assert first == sorted(first)
    assert results(tmp_path / "killed") == results(tmp_path / "whole")
    assert not list((tmp_path / "killed").glob("*.checkpoint"))


def test_ctrl_c_returns_the_runs_so_far_and_ends_the_processes(tmp_path):
    def interrupt(done, *_):
        if done == 2:
            raise KeyboardInterrupt

    made = Experiment("kuhn_poker(deck=3:6:1)", "cfr, cfr+", 20)
    found = made.run(tmp_path, workers=2, watch=interrupt)
    assert found.interrupted
    assert len(found.runs) == 2
    assert found.runs == [run for run in made.run(tmp_path, workers=0).runs if run in found.runs]
