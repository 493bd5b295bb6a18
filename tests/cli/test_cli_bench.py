"""``regretkit bench``: results are kept, what is wrong is one line; figures and pages of them."""

import re
import shlex
from pathlib import Path

import bench_victim
import pytest

import regretkit

DOCS = Path(regretkit.__file__).parents[1] / "docs"
HOW_TO = DOCS / "how_to" / "compare_on_many_games.md"
TUTORIAL = DOCS / "tutorials" / "5_test_your_idea.md"
HERE = ["--workers", "0", "--iterations", "20"]
RAISES = """

class Raises(Mine):
    def _learn(self, utility, strategy):
        raise ZeroDivisionError("divided")


class TooLong(Mine):
    def _learn(self, utility, strategy):
        self.regrets += np.append(utility, 0.0)
"""


@pytest.fixture
def folder(folder):
    """Return the working directory, with a rule of one's own."""
    (folder / "rule_of_bench.py").write_text(bench_victim.RULE + RAISES)
    return folder


@pytest.mark.deep
@pytest.mark.parametrize("page", [HOW_TO, TUTORIAL])
def test_the_commands_of_the_page_run_without_errors(page, run, folder):
    text = page.read_text()
    (rule,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (folder / "my_rule.py").write_text(rule)
    commands = re.findall(r"^regretkit (.*)$", text, re.MULTILINE)
    assert len(commands) > 5
    for command in commands:
        small = command.replace("--suite papers", "--suite smoke").replace("1000", "100")
        if "--on ray" not in small:
            code, _, err = run(*shlex.split(small))
            assert (code, err) == (0, ""), command


@pytest.mark.deep
def test_what_the_tutorial_says_of_its_rule_holds(report, folder):
    (rule,) = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "my_rule.py").write_text(rule)
    names = "my_rule.py:MyRule(keep=0|0.5|1,gamma=1),cfr+"
    words = ["--algorithms", names, "--suite", "smoke", "--workers", "0"]
    rows = report("bench", *words)["rows"]
    for game in ("kuhn_poker", "leduc_poker"):
        last = {row["algorithm"]: row["nash_conv"] for row in rows if row["game"] == game}
        minimum, middle, maximum, plus = last.values()
        assert minimum == plus
        assert 2.5 * middle < maximum


def test_the_second_time_nothing_is_run(report, folder):
    words = ["bench", "kuhn_poker(deck=3|4)", *HERE, "--algorithms", "rule_of_bench.py:Mine"]
    first = report(*words, "--algorithms", "cfr+,dcfr(gamma=2|4)")
    written = {path: path.stat().st_mtime_ns for path in (folder / "results").glob("*.json")}
    assert len(written) == 2 * 4
    assert {row["game"] for row in first["rows"]} == {"kuhn_poker(deck=3)", "kuhn_poker(deck=4)"}
    assert report(*words, "--algorithms", "cfr+", "--algorithms", "dcfr(gamma=2|4)") == first
    assert {path: path.stat().st_mtime_ns for path in written} == written
    more = report(*words, "--algorithms", "cfr")
    assert len(more["rows"]) == len(first["rows"]) / 2
    assert len(list((folder / "results").glob("*.json"))) == 10


def test_rules_that_fail_are_told_in_one_line_each_and_the_others_play(run, folder):
    names = ",".join(f"rule_of_bench.py:{name}" for name in ("Raises", "TooLong", "Mine"))
    words = ["kuhn_poker", "matching_pennies", "--algorithms", names]
    code, out, err = run("bench", *words, *HERE)
    assert (code, err) == (1, "")
    assert re.findall(r"^\w+ +(\w+) .*?(failed)?$", out, re.MULTILINE)[1:7] == 2 * [
        *(("Raises", "failed"), ("TooLong", "failed"), ("Mine", "")),
    ]
    first, second = out.splitlines()[7:9]
    assert "Raises on kuhn_poker, matching_pennies: " in first
    assert "ZeroDivisionError: divided (rule_of_bench.py, line" in first
    assert "TooLong on kuhn_poker, matching_pennies: " in second


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--algorithms cfr", "--suite"),
        ("--suite smoke", "--algorithms"),
        ("--algorithms cfr --suite papersss", "--suite: there is no suite 'papersss'"),
        ("kuhn --algorithms cfr", "no game 'kuhn'"),
        ("--algorithms bad_rule.py:Mine --suite smoke", r"bad_rule\.py, line 1"),
        ("kuhn_poker --algorithms cfr --workers 0 --out bad_rule.py", "--out.*bad_rule"),
    ],
)
def test_bad_input_is_told_in_one_line(words, problem, run, folder):
    (folder / "bad_rule.py").write_text("def broken(:\n")
    code, out, err = run("bench", *shlex.split(words))
    assert code in (1, 2)
    assert out == ""
    [line] = err.splitlines()
    assert re.search(problem, line), line


@pytest.fixture
def results(run, folder):
    names = ["--algorithms", "cfr,cfr+,mccfr", "--seeds", "2"]
    run("bench", "kuhn_poker(deck=3|4)", *names, *HERE)
    return folder / "results"


def test_results_are_drawn_and_written_as_a_table(report, run, results):
    profile = ["b.svg", "--kind", "profile", "--against", "visited"]
    for words in (["a.pdf"], profile, ["c.tex", "--gap", "1"]):
        found = report("figure", results, "--out", *words)
        assert found == {"runs": 8, "out": words[0]}
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert "share of 2 games" in Path("b.svg").read_text()
    assert Path("c.tex").read_text().startswith(r"\begin{tabular}{lrrr}")
    ranks = report("figure", results, "--kind", "ranking")
    assert ranks["games"] == ["kuhn_poker(deck=3)", "kuhn_poker(deck=4)"]
    assert "average rank" in run("figure", results, "--kind", "ranking")[1]
    given = ["--only", "kuhn_poker(deck=4)", "--algorithms", "cfr,mccfr", "--width", "column"]
    assert report("figure", results, "--out", "d.png", *given)["runs"] == 3


def test_results_are_written_as_a_page(report, results):
    pytest.importorskip("plotly", reason="the extra report is not installed")
    asked = "--algorithms", "cfr", "--measure", "nash_conv"
    told = report("report", results, "--out", "a.html", *asked)
    assert told == {"runs": 2, "out": "a.html"}
    assert Path("a.html").read_text().count('"seed": null') == 2


def test_what_cannot_be_drawn_is_one_line(refused, results):
    for words, problem in (
        (["nowhere"], "FOLDER: .*nowhere"),
        (["."], "FOLDER: '.' has no results"),
        ([results, "--out", "a.tex", "--kind", "profile"], "profile"),
        ([results, "--only", "chess"], "FOLDER: .*'chess'"),
        ([results, "--measure", "gap"], "no column 'gap'"),
    ):
        assert re.search(problem, refused("figure", "--out", "a.pdf", *words))


def test_labels_are_kept_with_the_results(run, report, refused, folder):
    words = "bench", "kuhn_poker", "--algorithms", "rule_of_bench.py:Mine(power=2),cfr", *HERE
    label = "--label", "rule_of_bench.py:Mine(power=2)=Squared"
    for more, name in ((), "Mine(power=2)"), (label, "Squared"):
        rows = report(*words, *more)["rows"]
        assert [*dict.fromkeys(row["algorithm"] for row in rows)] == [name, "cfr"]
    report("figure", "results", "--out", "a.tex", "--label", "cfr=CFR with alternation")
    assert "game & Squared & CFR with alternation" in Path("a.tex").read_text()
    assert "--label: there is no algorithm 'x' to label" in refused(*words, "--label", "x=y")
