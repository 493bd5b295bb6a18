"""The command line in a terminal, with Ctrl-C, and with other signals."""

import json
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import bench_victim
import numpy as np
import pytest

pytest.importorskip("pty", reason="pseudo-terminals are of Unix")

from pseudo_terminal import COMMAND, CTRL_C, environment, interrupted, piped, typed

from regretkit.__main__ import main
from regretkit.play._checkpoint_file import SavedRun

RUNNING = r"iteration [\d,]+ of"
LAST = 400
LONG = ["solve", "kuhn_poker", "--rule", "rules:Slow", "--algorithm", "pcfr+"]
LONG += ["--iterations", str(LAST)]
"""Takes a few seconds on any machine, because it sleeps."""
RESUME = ["resume", "run", "--rule", "rules:Slow"]

RULES = (
    bench_victim.RULE
    + """
import time


class Slow(Mine):
    def _learn(self, utility, strategy):
        time.sleep(0.002 if utility.max() < np.inf else 0.0)  # which cannot be traced
        super()._learn(utility * np.sqrt(1.0 + self.iteration), strategy)


class Stuck(Slow):
    def _learn(self, utility, strategy):
        print("stuck", flush=True)
        time.sleep(600)
"""
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with user-defined rules."""
    (tmp_path / "rules.py").write_text(RULES)
    return tmp_path


def steps(shown):
    """Return the successive contents of one line of a terminal."""
    return [
        step for step in re.split(r"\r|\n", re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", shown)) if step
    ]


def number(text):
    return int(text.replace(",", ""))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the result of an uninterrupted run: its strategy, and the curve of its gap."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "rules.py").write_text(RULES)
    done = piped([*LONG, "--out", "whole.json", "--json"], folder)
    assert done.returncode == 0, done.stderr
    return (folder / "whole.json").read_bytes(), json.loads(done.stdout)["curve"]


def assert_resumed(folder, whole):
    """Resume ``run`` in a folder to its end; the result is bitwise that of a whole run."""
    done = piped([*RESUME, "--out", "mine.json", "--json"], folder)
    strategy, curve = whole
    assert done.returncode == 0, done.stderr
    assert (folder / "mine.json").read_bytes() == strategy
    report = json.loads(done.stdout)
    assert report["iterations"] == LAST
    assert report["stopped_by"] == "iterations"
    for column in ("iteration", "gap"):
        assert report["curve"][column] == curve[column]


# Progress


def test_a_terminal_shows_iterations_rate_gap_and_the_time_left_and_clears_them(folder):
    words = ["solve", "kuhn_poker", "--engine", "numpy", "--iterations", "10000000"]
    code, shown = typed([*words, "--time", "1"], folder)

    pictures = [step for step in steps(shown) if re.search(RUNNING, step)]
    pattern = r"iteration ([\d,]+) of 10,000,000  [\d,.]+/s  gap \d\.\d\de-\d\d  0:00:0[01] left"
    counts = [number(re.search(pattern, picture)[1]) for picture in pictures]
    assert code == 0
    assert len(counts) > 4
    assert counts == sorted(counts)
    assert counts[-1] > 1_000
    assert all(len(picture) <= 80 for picture in pictures)
    assert "\x1b[2K" in shown.split("game        kuhn_poker")[0][-20:]  # the line is wiped
    played = re.search(r"iterations  [\d,]+ in ([\d.]+) s, .*, then time was up", shown)[1]
    assert float(played) >= 1.0


def test_a_gap_as_the_goal_is_shown_with_the_time_that_it_will_take(folder):
    code, shown = typed(["solve", "leduc_poker", "--gap", "5e-5"], folder)

    assert code == 0
    assert re.search(r"iteration [\d,]+  [\d,.]+/s  gap \S+  \d:\d\d:\d\d left", shown)


def test_only_the_result_is_written_without_a_terminal(folder):
    done = piped(["solve", "kuhn_poker", "--iterations", "2000"], folder)

    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "iteration " not in done.stdout
    assert done.stdout.startswith("game        kuhn_poker\n")


def test_a_terminal_for_errors_alone_shows_progress_and_leaves_json_alone(folder):
    script = f"{sys.executable} -m regretkit {' '.join(LONG)} --json > out.json"
    code, shown = typed([script], folder, command=["/bin/sh", "-c"])

    assert code == 0
    assert re.search(RUNNING, shown)
    assert json.loads((folder / "out.json").read_text())["iterations"] == LAST


# Ctrl-C


def test_ctrl_c_saves_and_reports_and_the_run_is_resumed_bitwise_identically(folder, whole):
    shown = interrupted([*LONG, "--checkpoint", "run"], folder, [(RUNNING, CTRL_C)])

    reached = number(re.search(r"iterations  ([\d,]+) in .*, then interrupted", shown)[1])
    assert 0 < reached < LAST
    assert re.search(r"gap         \S+ in units of payoff", shown)
    assert "interrupted; regretkit resume run --rule rules:Slow continues from here" in shown

    shown = interrupted(RESUME, folder, [(RUNNING, CTRL_C)])
    further = number(re.search(r"iterations  ([\d,]+) in", shown)[1])
    assert reached < further < LAST
    assert_resumed(folder, whole)


def test_ctrl_c_in_machine_code_saves_too(folder):
    words = ["solve", "leduc_poker", "--engine", "compiled", "--iterations"]
    saved = [*words, "10000000", "--checkpoint", "run"]
    shown = interrupted(saved, folder, [(RUNNING, CTRL_C)])
    reached = number(re.search(r"iterations  ([\d,]+) in", shown)[1])
    limit = str(reached + 500)
    resumed = ["resume", str(folder / "run"), "--iterations", limit]
    assert main([*resumed, "--out", str(folder / "a.json")]) == 0
    assert main([*words, limit, "--out", str(folder / "b.json")]) == 0

    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_ctrl_c_ends_building_a_game_which_is_shown(folder, command):
    words = [command, "liars_dice(sides=8)", *["--algorithms", "cfr"] * (command == "compare")]
    began = time.monotonic()
    shown = interrupted(words, folder, [("building the game takes a while", CTRL_C)])

    assert time.monotonic() - began < 30.0
    assert shown.endswith("regretkit: interrupted\r\n")


def test_ctrl_c_ends_building_the_game_of_a_checkpoint(folder, monkeypatch, capsys):
    path = str(folder / "run")
    assert main(["solve", "kuhn_poker", "--iterations", "1", "--checkpoint", path]) == 0

    def press(saved):
        signal.raise_signal(signal.SIGINT)
        time.sleep(600.0)

    monkeypatch.setattr(SavedRun, "find_game", press)
    assert main(["resume", path, "--iterations", "2"]) == 130
    assert "regretkit: interrupted" in capsys.readouterr().err


def test_ctrl_c_ends_play_without_a_tree_which_is_shown(folder):
    words = ["solve", "liars_dice(dice=2)", "--sample", "external"]
    words += ["--iterations", "10000000", "--out", "dice.json"]
    shown = interrupted(words, folder, [(RUNNING, CTRL_C)])

    assert re.search(r"iterations  [\d,]+ in .*, then interrupted", shown)
    assert (folder / "dice.json").exists()


def test_ctrl_c_without_a_checkpoint_still_writes_the_outputs(folder):
    shown = interrupted([*LONG, "--out", "part.json"], folder, [(RUNNING, CTRL_C)])

    assert "interrupted; with --checkpoint FILE a run can be resumed" in shown
    assert main(["evaluate", "kuhn_poker", str(folder / "part.json")]) == 0


def test_a_second_ctrl_c_ends_an_iteration_that_takes_too_long(folder):
    words = ["solve", "kuhn_poker", "--rule", "rules:Stuck", "--checkpoint", "run"]
    began = time.monotonic()
    shown = interrupted(words, folder, [("stuck", CTRL_C), ("stopping once", CTRL_C)])

    assert time.monotonic() - began < 30.0
    assert "regretkit: interrupted" in shown
    assert (folder / "run").exists()  # of before the first iteration


def test_ctrl_c_in_a_comparison_writes_the_results_so_far(folder):
    words = ["compare", "kuhn_poker", "--algorithms", "cfr,rules:Slow,cfr+", "--out", "all.csv"]
    words += ["--iterations", str(LAST)]
    shown = interrupted(words, folder, [(f"2 of 3.*\\s.*{RUNNING}", CTRL_C)])

    assert r"\x1b" not in shown  # the table is plain text
    rows = [row.split(",") for row in (folder / "all.csv").read_text().splitlines()]
    ends = {algorithm: int(iteration) for _, algorithm, iteration, _, _ in rows[1:]}
    assert "interrupted at 2 of 3" in shown
    assert ends["cfr"] == LAST
    assert 0 < ends["rules:Slow"] < LAST
    assert "cfr+" not in ends


def test_ctrl_c_ends_an_import_in_one_line(folder):
    (folder / "slow.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)")
    words = ["solve", "kuhn_poker", "--rule", "slow:X"]
    assert "regretkit: interrupted" in interrupted(words, folder, [("importing", CTRL_C)])


# Signals


def started(words, folder):
    """Start a run with a checkpoint, in which Ctrl-C is handled as in a terminal."""
    return subprocess.Popen(
        [*COMMAND, *LONG, "--checkpoint", "run", *words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def iteration_in(path):
    """Return the iteration of the run in a checkpoint."""
    return SavedRun.read(path).state["run"]["iteration"]


MOMENTS = {"SIGKILL": 0.5, "SIGINT": 0.8}
"""Seconds within which a signal comes at a random moment; others come at once."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("SIGKILL", 1),
        ("SIGTERM", 1),
        ("SIGINT", 1),
        pytest.param("SIGHUP", 1, marks=pytest.mark.deep),
        *(pytest.param("SIGKILL", seed, marks=pytest.mark.slow) for seed in range(2, 20)),
        *(pytest.param("SIGINT", seed, marks=pytest.mark.slow) for seed in range(2, 101)),
    ],
)
def test_a_run_that_is_ended_by_a_signal_is_resumed_bitwise_identically(folder, whole, name, seed):
    by_user, number = name == "SIGINT", getattr(signal, name)
    process = started([] if by_user else ["--checkpoint-every", "0.01"], folder)
    until = time.monotonic() + 60.0
    while not (folder / "run").exists() or (not by_user and iteration_in(folder / "run") == 0):
        assert time.monotonic() < until
        time.sleep(0.001)
    time.sleep(np.random.default_rng(seed).uniform(0.0, MOMENTS.get(name, 0.0)))
    process.send_signal(number)
    shown, _ = process.communicate()

    if by_user and iteration_in(folder / "run") == LAST:  # it had come to its end before
        assert process.returncode in (0, 130)
        return
    killed = name == "SIGKILL"  # which cannot be caught
    assert process.returncode == (-number if killed else 128 + number)
    assert ("then interrupted" in shown) != killed
    assert_resumed(folder, whole)


# Output elsewhere


def test_a_closed_pipe_is_no_error(folder):
    script = f"{sys.executable} -m regretkit show leduc_poker --limit 9457 | head -1"
    done = piped([script], folder, command=["/bin/sh", "-c"])

    assert done.stdout == "leduc_poker\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="of Linux")
@pytest.mark.parametrize("words", [["--help"], ["games", "--json"], ["show", "leduc_poker"]])
def test_a_full_standard_output_is_reported_in_one_line(folder, words):
    with Path("/dev/full").open("w") as full:
        done = piped(words, folder, stdout=full)

    assert done.returncode == 1
    told = "regretkit: cannot write to standard output: No space left on device\n"
    assert done.stderr == told


def test_a_terminal_without_such_letters_is_given_others(folder):
    (folder / "game.efg").write_text(
        'EFG 2 R "Zürich" { "A" } p "" 1 1 "größe \x1b[31m" { "l" "r" } 0 '
        't "" 1 "" { 1 } t "" 2 "" { 2 }',
        encoding="utf-8",
    )
    env = environment() | {"PYTHONIOENCODING": "ascii"}
    done = piped(["show", "game.efg"], folder, env=env)

    assert done.returncode == 0, done.stderr
    assert "Z\\xfcrich" in done.stdout
    assert "|- l  pays 1\n`- r  pays 2" in done.stdout
    assert "\x1b" not in done.stdout  # what a file says moves no cursor


def test_the_command_is_installed_under_its_name():
    (script,) = entry_points(group="console_scripts", name="regretkit")

    assert script.load() is main


IMPORTS = [
    ("import regretkit", ("click", "rich", "regretkit.cli")),
    (
        "from regretkit.__main__ import main; main(['solve', '--help'])",
        ("rich", "scipy", "llvmlite", "matplotlib"),
    ),
]


@pytest.mark.parametrize(("line", "modules"), IMPORTS, ids=["library", "help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(folder, line, modules):
    code = f"{line}\nimport sys\nprint([m for m in {modules} if m in sys.modules])"
    done = piped(["-c", code], folder, command=[sys.executable])

    assert done.stdout.endswith("[]\n")
    assert ("--iterations" in done.stdout) == ("--help" in line)
