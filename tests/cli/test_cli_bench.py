"""``regretkit bench``: results are kept, what is wrong is one line, and a terminal is live."""

import io
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import bench_victim
import pytest
from attrs import evolve

import regretkit
from regretkit.cli._commands import _bench
from regretkit.cli._commands._bench import _drawn
from regretkit.workbench import Experiment, _pool, read_results
from regretkit.workbench._pool import Entry
from regretkit.workbench._tasks import Outcome

DOCS = Path(regretkit.__file__).parents[1] / "docs"
HOW_TO = DOCS / "how_to" / "compare_on_many_games.md"
TUTORIAL = DOCS / "tutorials" / "5_test_your_idea.md"
HERE = ["--workers", "0", "--iterations", "20"]
SLOW = """

class Slow(Mine):
    def _learn(self, utility, strategy):
        import time
        time.sleep(0.01 if utility.max() < np.inf else 0.0)  # which cannot be traced
        super()._learn(utility, strategy)


class Raises(Mine):
    def _learn(self, utility, strategy):
        raise ZeroDivisionError("divided")


class TooLong(Mine):
    def _learn(self, utility, strategy):
        self.regrets += np.append(utility, 0.0)


class Outside(Mine):
    def _propose(self):
        return 2.0 * self.simplices.uniform()
"""


@pytest.fixture
def folder(folder, monkeypatch):
    """Return the working directory, with a user-defined rule."""
    (folder / "rule_of_bench.py").write_text(bench_victim.RULE + SLOW)
    for name in ("rule_of_bench", "my_rule"):  # of another test's folder
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


@pytest.mark.deep
@pytest.mark.parametrize(("page", "count"), [(HOW_TO, 9), (TUTORIAL, 7)])
def test_the_commands_of_the_page_run_without_errors(page, count, run, folder):
    text = page.read_text()
    (rule,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (folder / "my_rule.py").write_text(rule)
    commands = re.findall(r"^regretkit (.*)$", text, re.MULTILINE)
    assert len(commands) == count
    for command in commands:
        small = command.replace("--suite papers", "--suite smoke").replace("1000", "100")
        code, out, err = run(*shlex.split(small))
        assert (code, err) == (0, ""), command
        assert " in " in out


@pytest.mark.deep
def test_what_the_tutorial_says_of_its_rule_holds(report, folder):
    (rule,) = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "my_rule.py").write_text(rule)
    names = ["my_rule.py:MyRule(keep=0|0.5|1,gamma=1)", "cfr+"]
    rows = report("bench", *names, "--suite", "smoke", "--workers", "0")["rows"]
    for game in ("kuhn_poker", "leduc_poker"):
        last = {row["algorithm"]: row["nash_conv"] for row in rows if row["game"] == game}
        minimum, middle, maximum, plus = last.values()
        assert minimum == plus
        assert 2.5 * middle < maximum


def test_the_second_time_nothing_is_run(report, folder):
    words = ["bench", "rule_of_bench.py:Mine", "--game", "kuhn_poker(deck=3|4)", *HERE]
    first = report(*words, "--against", "cfr+,dcfr(gamma=2|4)")
    written = {path: path.stat().st_mtime_ns for path in (folder / "results").glob("*.json")}
    assert len(written) == 2 * 4
    assert {row["game"] for row in first["rows"]} == {"kuhn_poker(deck=3)", "kuhn_poker(deck=4)"}
    assert report(*words, "--against", "cfr+", "--against", "dcfr(gamma=2|4)") == first
    assert {path: path.stat().st_mtime_ns for path in written} == written
    more = report(*words, "--against", "cfr")
    assert len(more["rows"]) == len(first["rows"]) / 2
    assert len(list((folder / "results").glob("*.json"))) == 10


def test_the_command_of_a_result_plays_it_again_to_the_same_numbers(run, folder):
    names = ["rule_of_bench.py:Mine", "dcfr(alpha=1,gamma=2|4)", "--game", "kuhn_poker(deck=4)"]
    given = ["--seeds", "2", "--sample", "outcome", "--measures", "last_nash_conv,nash_conv"]
    run("bench", *names, *given, *HERE)
    first = read_results("results").runs
    assert len(first) == 6
    for one in first:
        again = shlex.split(one.command)
        code, _, err = run(*again[1:], "--workers", "0")
        assert (again[0], code, err) == ("regretkit", 0, "")
    clocks = {"seconds", "processor_seconds"}
    for one, other in zip(first, read_results("again").runs, strict=True):
        assert evolve(one, columns={}) == evolve(other, columns={})
        for name in {*one.columns} - clocks:
            assert one.columns[name] == other.columns[name]


def test_a_rule_that_fails_is_told_in_one_line_and_the_others_play(run, folder):
    names = ["rule_of_bench.py:Raises", "rule_of_bench.py:Mine"]
    games = ["--game", "kuhn_poker", "--game", "matching_pennies"]
    code, out, err = run("bench", *names, *games, *HERE)
    assert code == 1
    assert out.count("rule_of_bench.py:Mine") == 2
    assert "2 results in results" in out
    [line] = err.splitlines()
    assert "Raises on kuhn_poker, matching_pennies: " in line
    assert "ZeroDivisionError: divided (rule_of_bench.py, line" in line


def test_a_strategy_is_neither_a_result_nor_a_certificate(run, refused, folder):
    run("solve", "kuhn_poker", "--iterations", 1, "--out", "a.json")
    with pytest.warns(RuntimeWarning, match="no result of an experiment, but a 'regretkit strat"):
        assert not read_results(".").runs
    told = refused("verify", "a.json", "kuhn_poker", code=1)
    assert told.endswith(
        "CERTIFICATE: a.json holds no certificate: its format is 'regretkit strategy'\n"
    )


def test_errors_that_differ_in_sizes_alone_are_told_once_with_their_games(run, folder):
    names = ["rule_of_bench.py:TooLong", "rule_of_bench.py:Outside"]
    code, _, err = run("bench", *names, "--suite", "smoke,smoke", "--seeds", 1, *HERE)
    too_long, on_trees, on_matrices = err.splitlines()
    trees, matrices = "kuhn_poker, leduc_poker", "matching_pennies, random_matrix_game\\(10\\)"
    assert code == 1
    assert re.search(rf"TooLong on {trees}, {matrices}: .*shapes \(12,\) \(13,\)", too_long)
    assert re.search(rf"Outside on {trees}: .* a point of <DecisionTree: 6", on_trees)
    assert re.search(rf"Outside on {matrices}: .* a point of Simplices\(2\)", on_matrices)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("cfr", "--suite: name one of smoke, classic"),
        ("--suite smoke", "ALGORITHMS: name one at least"),
        ("cfr --suite papersss", "--suite: there is no suite 'papersss'"),
        ("cfr --game kuhn", "bench: there is no game 'kuhn'"),
        ("cfr --game 'liars_dice(dice=0)'", "bench: 'liars_dice.dice=0.': dice must be"),
        ("cfr --game phantom_tic_tac_toe", "bench: cfr needs a tree.* --sample in the shell"),
        ("'dcfr(alpha=2:1:1)' --suite smoke", "bench: .* the range '2:1:1' has no points"),
        ("nowhere.py:Mine --suite smoke", "bench: there is no file 'nowhere.py'"),
        ("bad_rule.py:Mine --suite smoke", "bench: bad_rule.*, line 1: "),
        ("cfr --suite smoke --measures gap", "bench: there is no measure 'gap'"),
        ("cfr --suite bad_rule.py:mine", "--suite: .* is not in TOML"),
        ("cfr --game kuhn_poker --workers 0 --out old", "bench: .*another version of regretkit"),
        ("cfr --game kuhn_poker --on rays", "bench: on must be 'ray', or the address"),
        ("cfr --game kuhn_poker --workers 0 --out bad_rule.py", "--out: .*bad_rule.py"),
    ],
)
def test_bad_input_is_told_in_one_line(words, problem, run, folder):
    (folder / "bad_rule.py").write_text("def broken(:\n")
    if "old" in words:
        run("bench", "cfr", "--game", "kuhn_poker", "--workers", "0", "--out", "old")
    for path in (folder / "old").glob("*.json"):
        path.write_text(
            path.read_text().replace('"format": 1, "written"', '"format": 9, "written"')
        )
    code, out, err = run("bench", *shlex.split(words))
    assert code in (1, 2)
    assert out == ""
    [line] = err.splitlines()
    assert re.search(problem, line), line


# The live table


def drawn(entries):
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=100).print(_drawn(entries, 2))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def entries(algorithms, games=("kuhn_poker", "chicken")):
    return [Entry(task) for task in Experiment(games, algorithms, 1_000).tasks]


def test_the_table_has_the_gaps_so_far_the_time_left_and_why_runs_failed():
    first, second, third, _ = each = entries("cfr,dcfr")
    first.report(500, 0.25, 3.0)
    second.finish(Outcome(reason="divided by zero"))
    third.report(100, None, 1.0)
    lines = drawn(each)
    assert re.fullmatch(r"1 of 4 runs, 1 failed, about \d+ s left", lines[0])
    assert lines[1].split() == ["cfr", "dcfr"]
    assert lines[2].split() == ["kuhn_poker", "0.25", "50%", "1", "failed"]
    assert lines[3].split() == ["chicken", "10%", "-"]
    assert lines[4] == "dcfr on kuhn_poker: divided by zero"


def test_without_a_terminal_there_is_a_line_now_and_then(run, folder, monkeypatch):
    words = ["bench", "cfr,cfr+", "--game", "kuhn_poker", *HERE]
    assert run(*words)[2] == ""
    monkeypatch.setattr(_bench, "_TOLD_EVERY", 0.0)
    lines = run(*words, "--out", "told")[2].splitlines()
    assert all(re.match(r"regretkit: \d of 2 runs", line) for line in lines)
    assert re.search(r"; cfr on kuhn_poker 0\.\S+ \d+%$", lines[0])
    assert lines[-1].startswith("regretkit: 2 of 2 runs")
    assert run(*words, "--out", "quiet", "--quiet")[2] == ""


def test_where_there_are_many_algorithms_they_are_the_rows():
    each = entries("dcfr(alpha=1:10:1)")
    assert drawn(each)[1].split() == ["kuhn_poker", "chicken"]
    assert len(drawn(each)) == 2 + 10
    wide = entries("dcfr(alpha=1:10:1)", ["random_matrix_game(3,seed=0:9:1)"])
    wide[3].report(500, 0.5, 1.0)
    assert [line.split()[-2:] for line in drawn(wide)[2:]] == [["0.5", "50%"]]


def test_a_process_that_begins_gets_no_ctrl_c():
    pytest.importorskip("pty", reason="signals are blocked on Unix")
    blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    with _pool._inherited():
        told = subprocess.run([sys.executable, "-c", blocked], capture_output=True, check=True)
    assert told.stdout == b"True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.deep
@pytest.mark.parametrize("count", [0, 1])
def test_a_terminal_is_live_and_ctrl_c_keeps_the_results(folder, count):
    pseudo_terminal = pytest.importorskip("pseudo_terminal")
    words = "bench cfr rule_of_bench.py:Slow --game kuhn_poker --iterations 2000 --workers 2"
    presses = [(rf"{count} of 2 runs", pseudo_terminal.CTRL_C)]
    shown = pseudo_terminal.interrupted(words.split(), folder, presses)
    assert f"the same command continues from the {count} results so far" in shown
    assert "kuhn_poker" in shown
    assert r"\x1b" not in shown
    assert len(list((folder / "results").glob("*.json"))) == count


# Figures


@pytest.fixture
def results(run, folder):
    run("bench", "cfr,cfr+,mccfr", "--game", "kuhn_poker(deck=3|4)", "--seeds", "2", *HERE)
    return folder / "results"


def test_results_are_drawn_and_written_as_a_table(report, results):
    profile = ["b.svg", "--kind", "profile", "--against", "visited"]
    for words in (["a.pdf"], profile, ["c.tex", "--gap", "1"]):
        found = report("figure", results, "--out", *words)
        assert found == {"runs": 8, "out": words[0]}
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert "share of games" in Path("b.svg").read_text()
    assert Path("c.tex").read_text().startswith(r"\begin{tabular}{lrrr}")
    ranks = report("figure", results, "--out", "r.svg", "--kind", "ranking")["ranking"]
    assert len(ranks["pairs"]) == 3
    assert ranks["games"] == ["kuhn_poker(deck=3)", "kuhn_poker(deck=4)"]
    assert "critical difference" in Path("r.svg").read_text()
    report("figure", results, "--out", "r.TEX", "--kind", "ranking")
    assert r"\bottomrule" in Path("r.TEX").read_text()
    given = ["--only", "kuhn_poker(deck=4)", "--algorithms", "cfr,mccfr", "--width", "column"]
    assert report("figure", results, "--out", "d.png", *given)["runs"] == 3


def test_results_are_written_as_a_page(report, refused, results):
    pytest.importorskip("plotly", reason="the extra report is not installed")
    asked = "--algorithms", "cfr", "--measure", "nash_conv"
    told = report("report", results, "--out", "a.html", *asked)
    assert told == {"runs": 2, "out": "a.html"}
    assert "2 runs of 1 algorithms on 2 games" in Path("a.html").read_text()
    for words, problem in (
        ([results, "--out", "a.pdf"], "--out: the name of the file must end in .html"),
        ([results, "--measure", "gap"], "FOLDER: cfr on .* has no column 'gap'"),
        ([results, "--out", "no/such/a.html"], "--out: .*no/such"),
        ([results, "--against", "hours"], "--against"),
    ):
        assert re.search(problem, refused("report", *words))


def test_what_cannot_be_drawn_is_one_line(refused, results):
    for words, problem in (
        (["nowhere"], "FOLDER: .*nowhere"),
        (["."], "FOLDER: there are no results in '.'; regretkit bench writes them"),
        ([results, "--out", "a.tex", "--kind", "profile"], "FOLDER: a profile is no table"),
        ([results, "--only", "chess"], "--only: there are no results of 'chess', only of 'kuhn"),
        ([results, "--algorithms", "cfr,RM"], "--algorithms: there are no results of 'RM', only"),
        ([results, "--only", "kuhn_poker(deck=4)", "--kind", "ranking"], "FOLDER: a ranking is of"),
        ([results, "--measure", "gap"], "FOLDER: cfr on .* has no column 'gap'"),
    ):
        assert re.search(problem, refused("figure", "--out", "a.pdf", *words))
