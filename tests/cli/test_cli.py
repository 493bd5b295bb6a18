"""The command line reports values of the library, and values known from the literature."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import bench_victim
import numpy as np
import pytest
from pseudo_terminal import COMMAND

import regretkit as rk
from regretkit import evaluation, games
from regretkit.__main__ import main
from regretkit.cli import _console
from regretkit.cli._commands._games import LARGE
from regretkit.cli._run import iterations_to
from regretkit.games import Profile
from regretkit.games.public import PublicGame
from regretkit.play import Algorithm, Checkpoint, Every, Recorder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "games"

RULES = (
    bench_victim.RULE.replace("default=2.0", "default=1.0")
    + """
from regretkit.play import Algorithm, Linear


@define(eq=False)
class Breaks(Mine):
    def _learn(self, utility, strategy):
        if self.iteration == 20:
            raise ZeroDivisionError("no luck")
        super()._learn(utility, strategy)


@define(eq=False)
class Quits(Breaks):
    def _learn(self, utility, strategy):
        if self.iteration == 20:
            raise SystemExit(0)
        super()._learn(utility, strategy)


@define(eq=False)
class QuitsAtOnce(Mine):
    def _propose(self):
        raise SystemExit(0)


def quits_when_built(simplices):
    raise SystemExit(0)


linear = Algorithm(Mine, averaging=Linear())
"""
)


def table(path):
    """Return the rows of a table in a file."""
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def folder(folder):
    """Return the working directory, with user-defined rules."""
    (folder / "rules_of_my_own.py").write_text(RULES)
    return folder


# What the page about it says


@pytest.mark.deep
def test_the_commands_of_the_page_run_without_errors(run, folder, monkeypatch):
    page = (ROOT / "docs" / "how_to" / "use_the_command_line.md").read_text()
    (rule,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (folder / "my_rules.py").write_text(rule)
    (folder / "examples").symlink_to(ROOT / "examples")
    commands = re.findall(r"^regretkit (.*)$", page, re.MULTILINE)

    assert len(commands) > 15
    for command in commands:
        monkeypatch.setattr("sys.stdin", io.StringIO())  # no input
        code, out, err = run(*shlex.split(command))
        assert (code, err) == (0, ""), command
        assert out, command


# games, show


def test_the_catalogue_is_listed_with_the_sizes_that_its_games_have(report, run):
    rows = {row["name"]: row for row in report("games")["games"]}
    code, out, _ = run("games")

    assert rows.keys() - games.names() == {"phantom_tic_tac_toe"}  # without a tree
    rows = {name: row for name, row in rows.items() if name != "phantom_tic_tac_toe"}
    assert list(rows) == list(games.names())
    assert LARGE.keys() - rows.keys() == {"phantom_tic_tac_toe"}
    assert code == 0
    for name, row in rows.items():
        game = games.load(name)
        assert row["players"] == game.players
        assert name in out
        if isinstance(game, rk.ExtensiveFormGame):
            assert row["histories"] == game.tree.histories
            assert row["information_sets"] == list(game.tree.information_sets)
            assert f"{game.tree.histories:,}" in out
        elif isinstance(game, PublicGame):
            assert row["information_sets"] == [domain.points for domain in game.domains]
        else:
            assert row["actions"] == list(game.payoffs.shape[1:])


@pytest.mark.deep_beyond(2)
@pytest.mark.skipif(os.name != "posix", reason="descriptors are closed by a shell of Unix")
@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("solve kuhn_poker --iterations 5 --quiet --json", 0),
        ("solve kuhn_poker --iterations 5", 0),
        ("play kuhn_poker --rounds 1 --json", 0),
        ("solve nothing", 2),
    ],
)
def test_streams_may_be_closed(folder, words, code, closed):
    line = f"exec {shlex.join([*COMMAND, *shlex.split(words)])} {closed}"
    came = subprocess.run(
        ["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )

    assert came.returncode == code
    if ("--json" in words, code) == (True, 0) and ">&-" not in closed.split():
        assert json.loads(came.stdout)["game"] == "kuhn_poker"
    elif code == 0:
        assert bool(came.stdout) == (">&-" not in closed.split())
    if "2>&-" not in closed:
        assert came.stderr.startswith("regretkit: GAME: ") == (code == 2)
    assert "fault" not in came.stderr


def test_a_game_is_explained_with_its_arguments(run):
    code, out, _ = run("games", "leduc_poker")

    assert code == 0
    assert out.startswith("leduc_poker(players")
    assert "merge_suits" in out
    assert ">>>" not in out
    assert run("games", "leduc_poker(players=3)")[1] == out


def test_a_tree_is_shown_with_every_history_chance_and_payoff(run):
    code, out, _ = run("show", "kuhn_poker")

    tree = out[out.index("\nchance\n") :]
    assert code == 0
    assert "histories         58, of which 30 are terminal" in out
    assert len(tree.strip().splitlines()) == 58
    assert tree.count("  pays ") == 30
    assert tree.count(" (0.333333)  chance") == 3
    assert tree.count("player 1 at 'Kb'") == 2  # against a jack and a queen
    # Both passed with jack and queen: the player with the queen wins one.
    assert (
        "├─ Q (0.5)  player 0 at 'J'\n│  │  ├─ p  player 1 at 'Qp'\n│  │  │  ├─ p  pays -1, 1"
        in out
    )


SHOWN = [
    (
        "show leduc_poker --limit 100",
        r"\n\nchance\n([^\n]+\n){99}\n"
        r"9,357 longer histories are left out: --limit 9457 shows them too\.\n\Z",
    ),
    ("show chicken", "\n       dare  yield\ndare   0, 0   7, 2\nyield  2, 7   6, 6\n"),
    (f"show {EXAMPLES}/three_voters.nfg", "2 x 2 x 2\n.*player 2: 0\n.*player 2: 1\n"),
    (f"show {EXAMPLES}/absent_minded_driver.efg", "imperfect recall\n.*at 'exit'\n.*at 'exit'\n"),
    ("solve kuhn_poker --iterations 500", r"  Kb +p 0\.0000  b 1\.0000\n"),
    ("solve leduc_poker --iterations 5", "--out FILE writes it"),
    ("solve kuhn_poker --gap 1e-9 --iterations 20", "the gap asked for was not reached"),
    ("exact chicken", "\n  0.5  yield, yield\n"),
    ("exact 'sheriff(items=1, bribe=1, rounds=1)'", "\n--concept efce reports"),
]


@pytest.mark.parametrize(("line", "pattern"), SHOWN)
def test_games_and_results_are_shown(run, line, pattern):
    code, out, err = run(*shlex.split(line))

    assert re.search(pattern, out, re.DOTALL)
    assert (code, err) == (3 if "not reached" in pattern else 0, "")


def test_the_json_facts_of_a_game_agree_with_the_game(report):
    facts, game = report("show", "kuhn_poker(players=3)"), games.kuhn_poker(players=3)

    assert facts["name"] == "kuhn_poker(players=3)"
    assert facts["information_sets"] == [16, 16, 16]
    assert facts["depth"] == game.tree.depth
    assert facts["constant_sum"] == 0.0
    assert facts["fingerprint"] == games.fingerprint(game)


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("show kuhn_poker --plot a.svg", []),
        (
            "solve kuhn_poker --iterations 30 --plot a.svg",
            ["Kuhn poker, CFR", "iterations", "NashConv (units of payoff)"],
        ),
        (
            "compare kuhn_poker chicken blotto --algorithms cfr,cfr+ --iterations 9 --plot a.svg",
            ["Kuhn poker -->", "Chicken -->", "Blotto -->"],
        ),
        (
            "compare kuhn_poker --algorithms cfr --iterations 9 --plot a.svg --against seconds",
            ["time (seconds) -->"],
        ),
    ],
)
def test_figures_are_drawn_into_files(run, folder, line, texts):
    pytest.importorskip("matplotlib")

    assert run(*shlex.split(line))[0] == 0
    text = (folder / "a.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for said in texts:
        assert text.count(f"<!-- {said}") == 1


def test_trees_are_drawn_in_other_formats(run, folder):
    pytest.importorskip("matplotlib")

    for name, begins in (("tree.pdf", b"%PDF"), ("tree.png", b"\x89PNG")):
        assert run("show", "kuhn_poker", "--plot", name)[0] == 0
        assert (folder / name).read_bytes().startswith(begins)


# solve


def test_kuhn_poker_is_solved_to_its_value(report):
    came = report("solve", "kuhn_poker", "--gap", 1e-4, "--engine", "numpy")

    assert abs(came["value"][0] + 1 / 18) <= came["gap"] <= 1e-4
    assert came["stopped_by"] == "gap"
    assert came["value"][1] == -came["value"][0]
    assert came["exploitability"] == came["gap"] / 2


@pytest.mark.parametrize("algorithm", ["cfr", "dcfr", "pcfr+", "efr-tips", "efce"])
def test_reported_values_are_those_of_the_library(report, folder, algorithm):
    came = report(
        "solve", "kuhn_poker", "--algorithm", algorithm, "--iterations", 300, "--out", "a.json"
    )

    run = rk.solve(games.kuhn_poker(), algorithm, iterations=300)
    written = Profile.from_json(folder / "a.json")
    assert came["iterations"] == 300
    assert came["stopped_by"] == "iterations"
    assert came["gap"] == rk.nash_conv(run.game, run.average)
    assert came["value"] == run.game.value(run.average).tolist()
    for found, expected in zip(written, run.average, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_a_gap_stops_where_the_library_stops(report):
    words = ("solve", "kuhn_poker", "--algorithm", "dcfr", "--engine", "numpy")
    run = rk.solve(games.kuhn_poker(), "dcfr", target_gap=1e-3, engine="numpy")

    assert report(*words, "--gap", 1e-3)["iterations"] == run.iteration


def test_the_curve_is_the_gap_at_those_iterations(report):
    curve = report("solve", "kuhn_poker", "--iterations", 50)["curve"]

    record = Recorder({"gap": lambda run: rk.nash_conv(run.game, run.average)})
    rk.solve(games.kuhn_poker(), "cfr+", iterations=50, callbacks=[record])
    assert curve["iteration"][0] == 1
    assert curve["iteration"][-1] == 50
    assert curve["gap"] == [record.values["gap"][t - 1] for t in curve["iteration"]]
    assert curve["seconds"] == sorted(curve["seconds"])


def test_time_stops_a_run(report):
    came = report("solve", "kuhn_poker", "--engine", "numpy", "--time", 0.2)

    assert came["stopped_by"] == "time"
    assert 0.2 <= came["seconds"] < 2.0
    assert came["iterations"] > 1


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_time_until_a_gap_is_guessed_from_the_power_with_which_it_falls(power):
    iterations = [2**k for k in range(12)]
    gaps = [5.0 / t**power for t in iterations]

    # 5 / t**p is 0.001 at t = 5000**(1/p)
    assert iterations_to(0.001, iterations, gaps) == pytest.approx(5_000 ** (1 / power))
    assert iterations_to(0.001, iterations, [1.0] * 12) == np.inf


@pytest.mark.parametrize("game", ["openspiel:kuhn_poker", EXAMPLES / "three_card_poker.efg"])
def test_a_game_from_elsewhere_is_solved(report, game):
    if "openspiel" in str(game):
        pytest.importorskip("pyspiel")
    came = report("solve", game, "--iterations", 1e3)

    assert abs(came["value"][0] + 1 / 18) <= came["gap"] < 1e-3


def test_the_catalogue_comes_before_a_file_of_the_same_name(report, folder):
    for name in ("kuhn_poker", "kuhn_poker.txt"):  # the format is that of the content
        (folder / name).write_bytes((EXAMPLES / "toll_road.efg").read_bytes())

    assert report("show", "kuhn_poker")["name"] == "kuhn_poker"
    assert report("show", "./kuhn_poker")["name"] == "Toll road"
    assert report("show", "kuhn_poker.txt")["name"] == "Toll road"


def test_drawn_utilities_depend_on_the_seed_and_on_nothing_else(report):
    words = ("solve", "kuhn_poker", "--sample", "outcome", "--iterations", 50)

    gaps = [report(*words, "--seed", seed)["gap"] for seed in (1, 1, 2)]
    assert gaps[0] == gaps[1] != gaps[2]
    assert report(*words)["gap"] == report(*words, "--seed", 0)["gap"]


def test_a_name_of_several_lines_is_shown_on_one(run, folder):
    (folder / "lines.efg").write_text(
        'EFG 2 R "Lines" { "A" } p "" 1 1 "two\nlines" { "l" "also\ntwo" } 0 '
        't "" 1 "" { 1 } t "" 2 "" { 0 }'
    )
    _, out, _ = run("solve", "lines.efg", "--iterations", 20)

    assert re.search(r"player 0\n  two\\nlines  l 0\.9\d+  also\\ntwo 0\.0\d+\n$", out)
    _, out, _ = run("show", "lines.efg")
    assert out.endswith("at 'two\\nlines'\n├─ l  pays 1\n└─ also\\ntwo  pays 0\n")


def test_slow_work_is_announced_on_a_terminal(capfd, monkeypatch):
    def waited(seconds):
        with _console.slow_notice("wait", 0.02), _console.silent_descriptor():
            time.sleep(seconds)
        return capfd.readouterr().err

    assert waited(0.3) == ""  # no terminal
    monkeypatch.setattr(_console, "is_terminal", lambda _: True)
    assert waited(0.3) == "regretkit: wait\n"
    assert waited(0.0) == ""


# Rules of one's own


LINEAR = Algorithm(rk.RegretMatching, averaging=rk.play.Linear())


@pytest.mark.parametrize(
    ("words", "algorithm"),
    [
        (["rules_of_my_own:Mine"], "cfr"),  # with power 1 it is regret matching
        (["rules_of_my_own:linear"], LINEAR),
        (["regretkit:DiscountedRegretMatching(alpha=1.5,beta=0.)", "--algorithm", "dcfr"], "dcfr"),
    ],
)
def test_a_rule_plays_as_in_the_library(report, words, algorithm):
    came = report("solve", "kuhn_poker", "--iterations", 100, "--rule", *words)

    run = rk.solve(games.kuhn_poker(), algorithm, iterations=100)
    assert came["gap"] == pytest.approx(rk.nash_conv(run.game, run.average), rel=1e-9)
    assert came["rule"] == words[0]


def test_hyperparameters_of_a_rule_are_passed_to_it(report):
    words = ("solve", "kuhn_poker", "--iterations", 100, "--rule")

    one, two = (report(*words, f"rules_of_my_own:Mine(power={p})")["gap"] for p in (1, 2))
    assert one != two


def test_a_rule_that_fails_is_blamed_with_its_line(run):
    code, out, err = run("solve", "kuhn_poker", "--rule", "rules_of_my_own:Breaks")

    line = RULES.splitlines().index('            raise ZeroDivisionError("no luck")') + 1
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "iteration 21: rules_of_my_own:Breaks failed with ZeroDivisionError: no luck" in err
    assert f"(rules_of_my_own.py, line {line}, in _learn)" in err


@pytest.mark.parametrize("engine", ["numpy", "vectorized"])
@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("Quits", "iteration 21: rules_of_my_own:Quits failed with SystemExit: 0 (rules_of_my_own"),
        ("QuitsAtOnce", "rules_of_my_own:QuitsAtOnce failed with SystemExit: 0 (rules_of_my_own"),
    ],
)
def test_a_rule_that_ends_the_program_is_a_rule_that_fails(refused, engine, rule, told):
    words = ("solve", "kuhn_poker", "--engine", engine, "--rule", f"rules_of_my_own:{rule}")
    assert told in refused(*words, code=1)


def test_a_traceback_is_shown_on_request(folder):
    with pytest.raises(Exception, match="no luck"):
        main(["solve", "kuhn_poker", "--rule", "rules_of_my_own:Breaks", "--traceback"])


# Checkpoints


MINE = "rules_of_my_own:Mine(power=2)"


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["--algorithm", "pcfr+"], []),
        (["--algorithm", "dcfr (alpha=2.5,gamma=3)"], []),
        (["--rule", MINE], ["--rule", MINE]),
        (["--sample", "external", "--seed", 5], []),
        (["--algorithm", "efce", "--measure", "efce_gap", "--measure", "cce_gap"], []),
    ],
)
def test_a_run_is_resumed_beyond_its_first_limit(report, folder, words, again):
    report("solve", "kuhn_poker", *words, "--iterations", 40, "--checkpoint", "run")
    came = report("resume", "run", *again, "--iterations", 90, "--out", "a.json")
    whole = report("solve", "kuhn_poker", *words, "--iterations", 90, "--out", "b.json")

    assert came["iterations"] == 90
    assert came["gap"] == whole["gap"]
    curves = [report["curve"] | {"seconds": []} for report in (came, whole)]
    assert curves[0] == curves[1]
    assert came.keys() == whole.keys()
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_gaps_of_correlated_play_are_measured(report, refused):
    words = "solve", "kuhn_poker", "--algorithm", "efce", "--iterations", 20, "--measure"
    record = rk.play.Recorder(["efce_gap"])
    rk.solve(rk.load("kuhn_poker"), "efce", iterations=20, callbacks=[rk.play.Every(20, record)])
    assert report(*words, "efce_gap")["curve"]["efce_gap"][-1] == record.values["efce_gap"][0]
    told = refused(*words, "ce_gap")
    assert "--measure: game must be in normal form for its CE gaps" in told


def test_the_gap_is_measured_before_a_run_is_resumed(report):
    # It is 0.0460 at iteration 30, where it is measured, and 0.0517 at 36.
    report("solve", "kuhn_poker", "--algorithm", "cfr", "--iterations", 36, "--checkpoint", "run")
    came = report("resume", "run", "--iterations", 90, "--gap", 0.047)

    assert (came["iterations"], came["stopped_by"]) == (39, "gap")
    assert came["gap"] <= 0.047


def test_a_checkpoint_of_the_library_is_resumed(report, folder):
    rk.play.dcfr.start(games.kuhn_poker(), horizon=60).run(20).save(folder / "run")

    came = report("resume", "run")
    assert came["algorithm"] == "dcfr"
    assert came["iterations"] == 60
    assert (
        came["gap"]
        == report("solve", "kuhn_poker", "--algorithm", "dcfr", "--iterations", 60)["gap"]
    )


def test_a_checkpoint_of_the_command_line_is_resumed_in_the_library(report, folder):
    came = report("solve", "kuhn_poker", "--iterations", 50, "--checkpoint", "run")

    run = rk.play.resume(folder / "run")
    assert run.iteration == 50
    assert rk.nash_conv(run.game, run.average) == came["gap"]


def test_callback_state_in_a_checkpoint_is_not_lost(refused, folder):
    record = Every(10, Recorder({"t": lambda run: run.iteration}))
    watch = Checkpoint(folder / "run", every=20, callbacks=[record])
    rk.solve(games.kuhn_poker(), "cfr+", iterations=20, callbacks=[watch])
    before = (folder / "run").read_bytes()

    told = refused("resume", "run", "--iterations", 40)
    assert "holds the state of callbacks ['Every']" in told
    assert (folder / "run").read_bytes() == before


def test_a_game_in_a_file_is_named_again_wherever_it_is_now(report, refused, folder):
    (folder / "here.efg").write_bytes((EXAMPLES / "three_card_poker.efg").read_bytes())
    report("solve", "here.efg", "--iterations", 20, "--checkpoint", "run")

    told = refused("resume", "run", "--iterations", 30)
    assert "here.efg, which is not in the catalogue; pass it with --game" in told
    (folder / "here.efg").rename(folder / "there.efg")
    assert report("resume", "run", "--iterations", 30, "--game", "there.efg")["iterations"] == 30


def test_nothing_is_played_where_nothing_is_left(run, folder):
    run("solve", "kuhn_poker", "--iterations", 20, "--checkpoint", "run")
    before = (folder / "run").read_bytes()
    code, out, err = run("resume", "run")

    assert code == 0
    assert "iterations  20 in" in out
    assert "nothing is left to play after 20 iterations: a limit was reached" in err
    assert "limits count from the first iteration: to continue, pass more --iterations" in err
    assert (folder / "run").read_bytes() == before


# evaluate, exact, convert


def test_uniform_play_of_kuhn_poker_has_the_gap_that_is_known(report):
    came = report("evaluate", "kuhn_poker", "uniform")

    assert came["gap"] == pytest.approx(11 / 12, abs=1e-12)
    assert came["value"] == pytest.approx([1 / 8, -1 / 8], abs=1e-12)
    assert sum(came["gains"]) == pytest.approx(came["gap"], abs=1e-12)


def test_a_strategy_in_a_file_is_evaluated_and_cleaned(report, folder):
    solved = report("solve", "kuhn_poker", "--iterations", 100, "--out", "a.json")
    plain = report("evaluate", "kuhn_poker", "a.json")
    cleaned = report("evaluate", "kuhn_poker", "a.json", "--threshold", 0.05, "--out", "b.json")
    pure = report("evaluate", "kuhn_poker", "a.json", "--purify", "--out", "c.csv")

    game = games.kuhn_poker()
    profile = Profile.from_json(folder / "a.json", game)
    assert plain["gap"] == pytest.approx(solved["gap"], abs=1e-12)
    assert cleaned["gap_before"] == pytest.approx(plain["gap"], abs=1e-12)
    assert cleaned["gap"] == pytest.approx(evaluation.threshold(game, profile, 0.05).gap_after)
    assert report("evaluate", "kuhn_poker", "b.json")["gap"] == pytest.approx(cleaned["gap"])
    assert pure["gap"] > plain["gap"]  # an equilibrium of poker needs to bluff
    rows = table(folder / "c.csv")
    assert {float(row["probability"]) for row in rows} <= {0.0, 0.5, 1.0}


def test_the_value_of_kuhn_poker_is_exact(report, folder):
    came = report("exact", "kuhn_poker", "--out", "a.json")

    assert came["value"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)
    assert came["lower"] - 1e-12 <= -1 / 18 <= came["upper"] + 1e-12
    assert report("evaluate", "kuhn_poker", "a.json")["gap"] < 1e-12


@pytest.mark.parametrize("how", [[], ["--finish"]])
def test_a_value_is_proven_in_fractions(report, refused, folder, how):
    came = report("exact", "kuhn_poker", *how, "--certificate", "proof.json")

    assert came["fraction"] == report("verify", "proof.json", "kuhn_poker")["fraction"] == "-1/18"
    path = folder / "proof.json"
    path.write_text(path.read_text().replace("-1/18", "-1/19"))
    told = refused("verify", path, "kuhn_poker", code=1)
    assert "lower of player 0 is not what the profile proves" in told
    told = refused("exact", "sheriff", "--rational")
    assert "no zero-sum game of two players; add --concept" in told


@pytest.mark.filterwarnings("ignore:finish ended at its time_limit")
def test_exact_ends_in_time_with_the_gap_so_far(run, report, refused, folder):
    asked = "exact", "leduc_poker", "--time", "1e-3"
    code, out, _ = run(*asked, "--json", "--out", "a.json")
    came = json.loads(out)
    assert (code, came["method"].split(", ")[1]) == (3, "out of time")
    assert 1e-6 < came["gap"] == pytest.approx(report("evaluate", "leduc_poker", "a.json")["gap"])

    assert "the profile itself proves a value of" in refused(*asked, "--rational", code=1)
    code, out, _ = run("exact", "kuhn_poker", "--time", "60")
    assert (code, "by      finish after" in out) == (0, True)
    told = refused(*asked, "--linear-program", code=1)
    assert "did not solve the linear program within time_limit=0.001" in told
    code, out, _ = run("exact", "kuhn_poker", "--linear-program", "--time", "60")
    assert (code, "by      linear program" in out) == (0, True)
    words = "exact", "sheriff", "--concept", "efce", "--rational", "--time", "1e-6"
    told = refused(*words, code=1)
    assert "no proof within time_limit" in told


@pytest.mark.parametrize("how", [["--finish"], ["--linear-program"]])
def test_a_file_is_proven_and_verified_with_the_fractions_that_it_gives(
    report, refused, folder, how
):
    proof, poker = folder / "proof.json", EXAMPLES / "three_card_poker.efg"
    assert report("exact", poker, *how, "--certificate", proof)["fraction"] == "-1/18"
    came = report("verify", proof, poker)
    assert (came["fraction"], set(came["readings"].values())) == ("-1/18", {"1/6"})
    changed = folder / "changed.efg"
    changed.write_text(poker.read_text().replace('"JQ" 1/6 "JK" 1/6', '"JQ" 1/12 "JK" 3/12'))
    assert "the certificate is of another game" in refused("verify", proof, changed, code=1)
    marks = [games.fingerprint(games.load(str(path))) for path in (poker, changed)]
    proof.write_text(proof.read_text().replace(*marks))
    told = refused("verify", proof, changed, code=1)
    assert "other fractions are meant by the game's floats" in told


@pytest.mark.parametrize(
    ("asked", "gaps"),
    [
        (["exact", "chicken"], ["0", "0"]),
        (["exact", "sheriff(2, 1, 1)", "--concept", "efcce"], ["0", "0"]),
        (["evaluate", "kuhn_poker(players=3)", "uniform"], ["35/64", "133/192", "79/96"]),
    ],
)
def test_gains_are_proven_in_fractions(report, refused, folder, asked, gaps):
    came = report(*asked, "--certificate", "proof.json")
    assert came["gaps"] == gaps
    assert report("verify", "proof.json", asked[1])["gaps"] == gaps
    path = folder / "proof.json"
    path.write_text(path.read_text().replace('"upper": ["', '"upper": ["1'))
    told = refused("verify", path, asked[1], code=1)
    assert "upper of player 0 is not what the profile proves" in told


def test_what_a_float_stands_for_is_said(run, folder):
    (folder / "game.nfg").write_text(
        'NFG 1 R "coin" {"a" "b"} {2 2} 0.1 -0.1 -0.2 0.2 -0.2 0.2 0.3 -0.3'
    )
    code, out, _ = run("exact", folder / "game.nfg", "--rational")
    assert code == 0
    assert "exactly -1/80" in out
    assert "read    -0.3 as -3/10, -0.2 as -1/5, -0.1 as -1/10, 3 more" in out


def test_exact_reports_the_equilibria_of_chicken(report):
    came = report("exact", "chicken")

    dilemma = report("exact", "prisoners_dilemma")
    assert dilemma["strictly_dominated"] == [["cooperate"], ["cooperate"]]
    assert came["maxmin"] == pytest.approx([2.0, 2.0])
    assert came["pure_equilibria"] == [["dare", "yield"], ["yield", "dare"]]
    assert came["best_correlated_equilibrium"]["payoffs"] == pytest.approx([5.25, 5.25])


@pytest.mark.parametrize(
    ("game", "concept", "value"),
    [
        ("sheriff(items=2, bribe=1, rounds=1)", "nfcce", 70 / 13),
        ("goofspiel(cards=3, players=3, returns='total_points')", "efce", 6.0),
    ],
)
def test_exact_reports_correlated_equilibria_of_trees_if_asked_to(report, game, concept, value):
    came = report("exact", game, "--concept", concept)

    assert came[concept]["value"] == pytest.approx(value, abs=1e-9)
    assert came[concept]["bound"] == pytest.approx(value, abs=1e-9)
    assert sum(came[concept]["payoffs"]) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("game", "path"), [("leduc_poker", "a.efg"), ("traffic_light", "a.nfg")])
def test_a_converted_game_is_the_same_game(report, folder, game, path):
    report("convert", game, path)

    assert games.fingerprint(games.load(folder / path)) == games.fingerprint(games.load(game))


# compare


def test_many_algorithms_on_many_games_make_one_tidy_table(run, report, folder):
    names = "cfr,cfr+,rules_of_my_own:Mine(power=2)"
    words = ("compare", "kuhn_poker", "chicken", "--algorithms", names)
    code, out, err = run(*words, "--iterations", 60, "--out", "all.csv")

    rows = table(folder / "all.csv")
    assert (code, err) == (0, "")
    assert list(rows[0]) == ["game", "algorithm", "iteration", "seconds", "gap"]
    assert len({(row["game"], row["algorithm"]) for row in rows}) == 6
    gaps = {(r["game"], r["algorithm"], int(r["iteration"])): float(r["gap"]) for r in rows}
    assert len(gaps) == len(rows)
    for name in ("cfr", "cfr+"):
        solved = rk.solve(games.kuhn_poker(), name, iterations=60)
        assert gaps["kuhn_poker", name, 60] == rk.nash_conv(solved.game, solved.average)
    best = min(("cfr", "cfr+"), key=lambda name: gaps["chicken", name, 60])
    assert re.search(rf"^chicken +{re.escape(best)} .*  \*$", out, re.MULTILINE)
    shown = report(*words, "--iterations", 60)["rows"]
    assert [row["gap"] for row in shown] == [float(row["gap"]) for row in rows]


@pytest.mark.parametrize("rule", ["Breaks", "Quits"])
def test_a_rule_that_fails_does_not_stop_the_others(run, folder, rule):
    words = ("compare", "kuhn_poker", "chicken", "--algorithms", f"rules_of_my_own:{rule},cfr")
    code, out, err = run(*words, "--iterations", 50, "--out", "all.csv")

    rows = table(folder / "all.csv")
    assert code == 1
    assert err.count("the other runs continue") == 2
    played = {(row["game"], row["algorithm"]) for row in rows}
    assert played == {("kuhn_poker", "cfr"), ("chicken", "cfr")}
    assert "cfr" in out


def test_seeds_of_a_comparison_are_runs_of_their_own(run, report, refused, folder):
    words = ("compare", "kuhn_poker", "--algorithms", "cfr,mccfr", "--iterations", 20)
    rows = report(*words, "--seed", 4, "--seeds", 2)["rows"]

    last = {(row["algorithm"], row["seed"]): row["gap"] for row in rows}
    assert list(last) == [("cfr", None), ("mccfr", 4), ("mccfr", 5)]
    for seed in (4, 5):
        solved = rk.solve(games.kuhn_poker(), "mccfr", seed=seed, iterations=20)
        assert last["mccfr", seed] == pytest.approx(solved.nash_conv(), abs=1e-12)
    code, out, err = run(*words, "--seeds", 2, "--out", "all.csv", "--plot", "all.svg")
    assert (code, err) == (0, "")
    assert list(table(folder / "all.csv")[0])[:3] == ["game", "algorithm", "seed"]
    assert re.search(r"^kuhn_poker +mccfr .* to .* 2$", out, re.MULTILINE)
    told = refused("compare", "kuhn_poker", "--algorithms", "cfr", "--seeds", 2)
    assert "--seeds: got 2, but nothing is drawn at random" in told


def test_a_list_of_algorithms_plays_by_player(report):
    words = ("solve", "kuhn_poker", "--iterations", 20, "--algorithm")
    for text, rules in {
        "cfr,cfr+": ["cfr", "cfr+"],
        "cfr,rules_of_my_own:Mine(power=2)": None,
        "rules_of_my_own:Mine": None,
    }.items():
        shown = report(*words, text)
        assert shown["iterations"] == 20
        if rules is not None:
            solved = rk.solve(games.kuhn_poker(), rules, iterations=20)
            assert shown["gap"] == pytest.approx(solved.nash_conv(), abs=1e-12)


def test_the_default_algorithm_depends_on_the_sampling(report):
    words = ("solve", "kuhn_poker", "--iterations", 20)
    assert report(*words)["algorithm"] == "cfr+"
    assert report(*words, "--sample", "external")["algorithm"] == "lcfr"
    shown = report(*words, "--algorithm", "mccfr", "--seed", 7)
    solved = rk.solve(games.kuhn_poker(), "mccfr", seed=7, iterations=20)
    assert shown["sample"] == "external"
    assert shown["gap"] == pytest.approx(solved.nash_conv(), abs=1e-12)


def test_a_saved_run_of_mccfr_and_of_a_list_is_resumed(report, run):
    for number, words in enumerate((["mccfr", "--seed", 7], ["cfr,cfr+"])):
        file = f"{number}.checkpoint"
        run("solve", "kuhn_poker", "--iterations", 10, "--checkpoint", file, "--algorithm", *words)
        resumed = report("resume", file, "--iterations", 20)
        whole = report("solve", "kuhn_poker", "--iterations", 20, "--algorithm", *words)
        assert resumed["gap"] == whole["gap"]
