"""The command line reports values of the library, and values known from the literature."""

import csv
import io
import re
import shlex
import shutil
from pathlib import Path

import bench_victim
import click
import numpy as np
import pytest

import regretkit as rk
from regretkit import evaluation, games
from regretkit.games import Profile
from regretkit.play import Algorithm, Recorder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "games"
DRIVER, SWITCH = "driver.efg", "--imperfect-recall"
TICTACTOE = "phantom_tic_tac_toe"
MINE = "rules.py:Mine(power=1.5)"
RULES = (
    bench_victim.RULE
    + """
from regretkit.play import Algorithm, Linear

linear = Algorithm(Mine, averaging=Linear())


@define(eq=False)
class Breaks(Mine):
    def _learn(self, utility, strategy):
        if float(utility[0]) < 1e9 and self.iteration == 20:
            raise ZeroDivisionError("no luck")
        super()._learn(utility, strategy)


def quits(simplices):
    raise SystemExit(0)


def deck(cards=3):
    return rk.games.kuhn_poker(deck=cards)


poker = deck()
"""
)


@pytest.fixture
def folder(folder):
    """Return the working directory, with rules and games of one's own."""
    (folder / "rules.py").write_text(RULES)
    shutil.copy(EXAMPLES / "absent_minded_driver.efg", DRIVER)
    return folder


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


# games, show, convert, trace


def test_the_catalogue_is_listed_with_the_sizes_that_its_games_have(report, run):
    rows = {row["name"]: row for row in report("games")["games"]}
    assert rows.keys() - games.names() == {TICTACTOE}
    for name in games.names():
        game, row = games.load(name), rows[name]
        assert row["players"] == game.players
        if isinstance(game, rk.ExtensiveFormGame):
            assert row["histories"] == game.tree.histories
            assert row["information_sets"] == list(game.tree.information_sets)
        elif row["form"] == "normal":
            assert row["actions"] == list(game.payoffs.shape[1:])
    for name in ("leduc_poker", TICTACTOE):
        assert name in run("games", name)[1]


def test_games_are_shown_drawn_and_converted(run, report, folder):
    out = run("show", "kuhn_poker", "--limit", 4)[1]
    assert re.search("form +extensive\nplayers +2\nhistories +58", out)
    assert "54 longer histories omitted" in out
    assert "public" in run("show", "hold_em")[1]
    assert "imperfect recall" in run("show", DRIVER)[1]
    assert "2, 7" in run("show", "chicken")[1]
    facts = report("show", "kuhn_poker", "--plot", "a.svg")
    assert (facts["histories"], facts["information_sets"]) == (58, [6, 6])
    assert Path("a.svg").read_text().startswith("<?xml")
    for game, path in (("leduc_poker", "a.efg"), ("traffic_light", "a.nfg")):
        report("convert", game, path)
        assert games.fingerprint(games.load(path)) == games.fingerprint(games.load(game))


def test_a_rule_is_shown_as_it_is_traced(report):
    text = report("trace", "dcfr(alpha=3)")["text"]
    assert "alpha=3" in text
    assert report("trace", MINE)["text"] != report("trace", "rules.py:Mine")["text"]
    assert "def forward(" in report("trace", "cfr+", "--driver")["text"]
    assert "let s0 = state[0]" in report("trace", MINE, "--javascript")["text"]


def test_pages_run_algorithms_or_show_a_strategy(report):
    found = report("page", "kuhn_poker", "cfr+", MINE, "--out", "page.html", "--title", "Mine")
    page = Path("page.html").read_text()
    assert found == {"out": "page.html", "characters": len(page)}
    assert "<title>Mine</title>" in page
    assert f"page kuhn_poker cfr+ {MINE} --out page.html --title Mine" in page.replace("'", "")
    assert '"label":"CFR+"' in page
    report("solve", "kuhn_poker", "--iterations", "5", "--out", "kuhn.json")
    report("page", "kuhn.json", "--out", "strategy.html")
    shown = Path("strategy.html").read_text()
    assert "<title>Kuhn poker</title>" in shown
    assert "function showSolution" in shown


# solve


@pytest.mark.parametrize("algorithm", ["dcfr", "efce", "cfr,cfr+"])
def test_reported_values_are_those_of_the_library(report, folder, algorithm):
    words = ("solve", "kuhn_poker", "--algorithm", algorithm, "--iterations", 300)
    came = report(*words, "--out", "a.json")
    chosen = algorithm.split(",") if "," in algorithm else algorithm
    run = rk.solve(games.kuhn_poker(), chosen, iterations=300)
    assert (came["iterations"], came["stopped_by"]) == (300, "iterations")
    assert came["gap"] == came["curve"]["gap"][-1] == run.nash_conv()
    assert came["exploitability"] == came["gap"] / 2
    assert came["value"] == run.game.value(run.average).tolist()
    for found, expected in zip(Profile.from_json("a.json"), run.average, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_limits_stop_a_run_where_the_library_stops(report, run):
    words = ("solve", "kuhn_poker", "--algorithm", "dcfr")
    same = rk.solve(games.kuhn_poker(), "dcfr", target_gap=1e-3)
    came = report(*words, "--gap", 1e-3)
    assert (came["iterations"], came["stopped_by"]) == (same.iteration, "gap")
    assert abs(came["value"][0] + 1 / 18) <= came["gap"] <= 1e-3
    assert report(*words, "--gap", 1e-9, "--iterations", 5, code=3)["stopped_by"] == "iterations"
    came = report(*words, "--time", 0.2)
    assert came["stopped_by"] == "time"
    assert 0.2 <= came["seconds"] < 5.0


def test_the_curve_is_measured_and_drawn(report):
    words = ("solve", "signalling", "--algorithm", "efce", "--iterations", 50)
    curve = report(*words, "--measure", "efce_gap", "--plot", "a.svg")["curve"]
    record = Recorder({"gap": "nash_conv", "efce_gap": "efce_gap"})
    rk.solve(games.signalling(), "efce", iterations=50, callbacks=[record])
    assert (curve["iteration"][0], curve["iteration"][-1]) == (1, 50)
    for name in ("gap", "efce_gap"):
        assert curve[name] == [record.values[name][t - 1] for t in curve["iteration"]]
    assert "iterations" in Path("a.svg").read_text()


@pytest.mark.parametrize(
    ("words", "algorithm"),
    [
        (["--rule", MINE], lambda mine, linear: mine),
        (["--algorithm", MINE], lambda mine, linear: mine),
        (["--rule", MINE, "--algorithm", "dcfr"], lambda mine, linear: (mine, "dcfr")),
        (["--rule", "rules:linear"], lambda mine, linear: linear),
    ],
)
def test_a_rule_plays_as_in_the_library(report, words, algorithm):
    space = {}
    exec(RULES, space)
    made = algorithm(lambda simplices: space["Mine"](simplices, power=1.5), space["linear"])
    if isinstance(made, tuple):
        made = Algorithm(made[0], averaging=rk.play.named(made[1]).averaging)
    run = rk.solve(games.kuhn_poker(), made, iterations=60)
    came = report("solve", "kuhn_poker", *words, "--iterations", 60)
    assert came["gap"] == pytest.approx(run.nash_conv(), rel=1e-12)


def test_games_of_ones_own_and_from_elsewhere_are_solved(report):
    expected = rk.solve(games.kuhn_poker(deck=4), iterations=60).nash_conv()
    for text in ("rules.py:deck(cards=4)", "rules:deck(4)"):
        assert report("solve", text, "--iterations", 60)["gap"] == expected
    for text in ("rules.py:poker", EXAMPLES / "three_card_poker.efg"):
        came = report("solve", text)
        assert abs(came["value"][0] + 1 / 18) <= came["gap"] < 1e-3
    rows = report("compare", "rules.py:poker", "--algorithms", f"cfr,{MINE}")["rows"]
    assert {row["game"] for row in rows} == {"poker"}
    assert report("exact", "rules.py:poker")["value"][0] == pytest.approx(-1 / 18)


def test_samples_depend_on_the_seed_and_on_nothing_else(report):
    words = ("solve", "kuhn_poker", "--sample", "outcome", "--iterations", 50)
    gaps = [report(*words, "--seed", seed)["gap"] for seed in (1, 1, 2)]
    assert gaps[0] == gaps[1] != gaps[2]
    assert report(*words)["gap"] == report(*words, "--seed", 0)["gap"]
    assert report("solve", "kuhn_poker", "--sample", "--iterations", 1)["sample"] == "external"


def test_imperfect_recall_needs_the_option_and_is_measured_by_shared_strategies(report, refused):
    for words in (["solve", DRIVER], ["evaluate", DRIVER, "uniform"], ["exact", DRIVER]):
        assert "cannot tell the empty history from 'go on'" in refused(*words)
    came = report("solve", DRIVER, SWITCH, "--algorithm", "dcfr", "--iterations", 60)
    game = games.load(DRIVER)
    run = rk.solve(game, "dcfr", iterations=60, imperfect_recall=True)
    profile = game.coarsen(run.average)
    assert came["imperfect_recall"] is True
    assert came["value"] == pytest.approx(list(game.refinement.value(profile)), abs=1e-12)
    assert came["gap"] == pytest.approx(rk.nash_conv(game.refinement, profile), abs=1e-12)
    assert "perfect recall" in refused("solve", DRIVER, SWITCH, "--gap", 0.1)


def test_a_game_without_a_tree_is_played_by_its_rules(report, refused, run):
    words = ("solve", TICTACTOE, "--sample", "outcome", "--iterations", 30, "--seed", 3)
    told = report(*words, "--out", "a.json")
    rules = games.load_rules(TICTACTOE)
    same = rk.solve(rules, "lcfr", sampling="outcome", seed=3, iterations=30)
    assert told["information_sets"] == list(same.information_sets)
    assert "no gap without the tree" in run(*words)[1]
    told = report("evaluate", TICTACTOE, "a.json", "--samples", 3, "--seed", 4)
    values = evaluation.sampled_value(rules, Profile.from_json("a.json", rules), 3, 4)
    assert told["value"] == [value.mean for value in values]
    assert "--sample" in refused("solve", TICTACTOE)
    assert "--gap" in refused(*words, "--gap", 0.1)


def test_public_games_are_played_evaluated_and_solved(report):
    report("solve", "hold_em", "--iterations", 20, "--out", "played.json")
    assert report("evaluate", "hold_em", "played.json")["gap"] > 0.0
    came = report("exact", "hold_em", "--finish", "--rational", "--certificate", "proof.json")
    assert came["fraction"] == report("verify", "proof.json", "hold_em")["fraction"] == "25"


# resume


@pytest.mark.parametrize(
    ("game", "words", "again"),
    [
        ("kuhn_poker", ["--rule", MINE], ["--rule", MINE]),
        ("kuhn_poker", ["--algorithm", "efce", "--measure", "efce_gap"], ["--measure", "efce_gap"]),
        ("rules.py:poker", [], ["--game", "rules.py:poker"]),
        (DRIVER, [SWITCH], ["--game", DRIVER]),
        (TICTACTOE, ["--sample", "outcome"], ["--game", TICTACTOE]),
    ],
)
def test_a_run_is_resumed_beyond_its_first_limit(report, folder, game, words, again):
    report("solve", game, *words, "--iterations", 40, "--checkpoint", "run")
    came = report("resume", "run", *again, "--iterations", 90, "--out", "a.json")
    whole = report("solve", game, *words, "--iterations", 90, "--out", "b.json")
    assert came["iterations"] == 90
    if "curve" in whole:
        (at, gaps), (all_at, all_gaps) = (
            (made["curve"]["iteration"], made["curve"]["gap"]) for made in (whole, came)
        )
        assert {*zip(at, gaps, strict=True)} <= {*zip(all_at, all_gaps, strict=True)}
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_checkpoints_of_the_library_and_of_the_command_line_are_alike(report, run, refused):
    rk.play.dcfr.start(games.kuhn_poker(), horizon=60).run(20).save("run")
    code, out, err = run("resume", "run")
    assert (code, "iterations  60 in" in out) == (0, True)
    assert "measurements start again" in err
    assert rk.play.resume("run").iteration == 60
    report("solve", DRIVER, SWITCH, "--iterations", 20, "--checkpoint", "other")
    assert "game" in refused("resume", "other", "--iterations", 30)
    assert "exists; " in refused("solve", "kuhn_poker", "--checkpoint", "run")


# evaluate, exact


def test_uniform_play_of_kuhn_poker_has_the_gap_that_is_known(report):
    came = report("evaluate", "kuhn_poker", "uniform")
    assert came["gap"] == pytest.approx(11 / 12, abs=1e-12)
    assert came["value"] == pytest.approx([1 / 8, -1 / 8], abs=1e-12)
    assert report("evaluate", "kuhn_poker", "equilibrium")["gap"] < 1e-12


def test_a_strategy_in_a_file_is_evaluated_and_cleaned(report, folder):
    solved = report("solve", "kuhn_poker", "--iterations", 100, "--out", "a.json")
    cleaned = report("evaluate", "kuhn_poker", "a.json", "--threshold", 0.05, "--out", "b.json")
    pure = report("evaluate", "kuhn_poker", "a.json", "--purify", "--out", "c.csv")
    profile = Profile.from_json("a.json", games.kuhn_poker())
    after = evaluation.nash_conv(games.kuhn_poker(), profile.threshold(0.05))
    assert cleaned["gap_before"] == pytest.approx(solved["gap"], abs=1e-12)
    assert report("evaluate", "kuhn_poker", "b.json")["gap"] == pytest.approx(after)
    assert pure["gap"] > solved["gap"]  # an equilibrium of poker needs to bluff
    rows = csv.DictReader(Path("c.csv").read_text().splitlines())
    assert {float(row["probability"]) for row in rows} <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize("how", [[], ["--finish"], ["--linear-program"]])
def test_a_value_is_exact_and_proven_in_fractions(report, refused, folder, how):
    came = report("exact", "kuhn_poker", *how, "--certificate", "proof.json", "--out", "a.json")
    assert came["lower"] - 1e-12 <= -1 / 18 <= came["upper"] + 1e-12
    assert report("evaluate", "kuhn_poker", "a.json")["gap"] < 1e-12
    assert came["fraction"] == report("verify", "proof.json", "kuhn_poker")["fraction"] == "-1/18"
    path = folder / "proof.json"
    path.write_text(path.read_text().replace("-1/18", "-1/19"))
    refused("verify", path, "kuhn_poker", code=1)


@pytest.mark.parametrize(
    ("asked", "gaps"),
    [
        (["exact", "chicken"], ["0", "0"]),
        (["exact", "sheriff(2, 1, 1)", "--concept", "efcce"], ["0", "0"]),
        (["evaluate", "kuhn_poker(players=3)", "uniform"], ["35/64", "133/192", "79/96"]),
    ],
)
def test_gains_are_proven_in_fractions(report, asked, gaps):
    assert report(*asked, "--certificate", "proof.json")["gaps"] == gaps
    assert report("verify", "proof.json", asked[1])["gaps"] == gaps


def test_exact_reports_the_equilibria_of_games_that_are_not_zero_sum(report):
    came, dilemma = report("exact", "chicken"), report("exact", "prisoners_dilemma")
    assert dilemma["strictly_dominated"] == [["cooperate"], ["cooperate"]]
    assert came["maxmin"] == pytest.approx([2.0, 2.0])
    assert came["pure_equilibria"] == [["dare", "yield"], ["yield", "dare"]]
    assert came["best_correlated_equilibrium"]["payoffs"] == pytest.approx([5.25, 5.25])
    came = report("exact", "sheriff(items=2, bribe=1, rounds=1)", "--concept", "nfcce")
    assert came["nfcce"]["value"] == pytest.approx(70 / 13, abs=1e-9)


@pytest.mark.filterwarnings("ignore:finish reached its time_limit")
def test_exact_ends_in_time_with_the_gap_so_far(report):
    came = report("exact", "leduc_poker", "--time", "1e-3", "--out", "a.json", code=3)
    gap = report("evaluate", "leduc_poker", "a.json")["gap"]
    assert 1e-6 < came["gap"] == pytest.approx(gap)


# compare


def test_many_algorithms_on_many_games_make_one_tidy_table(run, report):
    words = ("compare", "kuhn_poker", "chicken", "--algorithms", f"cfr,dcfr(alpha=1|2),{MINE}")
    came = report(*words, "--iterations", 40, "--out", "a.csv", "--plot", "a.svg")
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert len(rows) == len(came["rows"])
    assert len({(row["game"], row["algorithm"]) for row in rows}) == 2 * 4
    last = rk.solve(games.kuhn_poker(), "cfr", iterations=40).nash_conv()
    assert [r for r in came["rows"] if r["algorithm"] == "cfr"][-1]["iteration"] == 40
    kuhn = [r for r in came["rows"] if (r["game"], r["algorithm"]) == ("kuhn_poker", "cfr")]
    assert kuhn[-1]["nash_conv"] == last
    assert run(*words, "--gap", 0.05)[0] == 0


# What is refused, or fails


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        ("solve kuhn", 2, "GAME: .*kuhn_poker"),
        ("solve kuhn_poker(cards=3)", 2, "GAME: .*cards"),
        ("solve none.efg", 2, "GAME: .*none.efg"),
        ("solve nowhere.py:game", 2, "GAME: .*nowhere.py"),
        ("solve kuhn_poker --algorithm cfrr", 2, "--algorithm: .*'cfr'"),
        ("solve kuhn_poker --rule rules.py:Nothing", 2, "--rule: .*'Nothing'"),
        ("solve kuhn_poker --rule rules.py:quits", 2, "SystemExit: 0 .rules.py, line"),
        ("solve kuhn_poker --rule rules.py:Breaks", 1, "iteration 21: .*no luck .rules.py, line"),
        ("solve kuhn_poker --iterations 0", 2, "--iterations"),
        ("solve kuhn_poker --gap 0", 2, "--gap"),
        ("solve kuhn_poker --out a.txt", 2, "--out: must end in .json or .csv"),
        ("solve kuhn_poker --out no/such/a.json", 2, "--out: .*no/such"),
        ("solve kuhn_poker --seed 1", 2, "seed"),
        ("solve kuhn_poker --algoritm cfr", 2, "--algorithm"),
        ("resume rules.py", 2, "FILE: .*rules.py"),
        ("evaluate kuhn_poker rules.py", 2, "STRATEGY: .*rules.py"),
        ("exact chicken --concept efce", 2, "GAME: .*ExtensiveFormGame"),
        ("exact sheriff --rational", 2, "--concept"),
        ("exact chicken --finish", 2, "need a two-player zero-sum game"),
        ("convert hold_em a.efg", 2, "OUT"),
        ("trace rules.py:quits", 2, "NAME: .*SystemExit"),
        ("page kuhn_poker --out a.html", 2, "ALGORITHMS: algorithms must have at least one"),
        ("page kuhn_poker cfrr --out a.html", 2, "ALGORITHMS: .*'cfr'"),
        ("page kuhn.json cfr", 2, "STRATEGY: is shown without algorithms"),
        ("page kuhn cfr --out a.html", 2, "GAME: .*kuhn_poker"),
        ("page kuhn_poker cfr --out a.txt", 2, "--out: must end in .html"),
        ("trace rules.py:Breaks", 1, "cannot be traced"),
        ("compare kuhn_poker --algorithms dcfr(alpha=2:1:1)", 2, "no points"),
        ("play kuhn_poker uniform uniform uniform", 2, "STRATEGY"),
        ("frobnicate", 2, "frobnicate"),
    ],
)
def test_what_is_wrong_is_one_line(refused, words, code, problem):
    told = refused(*words.split(" "), code=code)
    assert re.search(problem, told), told


def test_a_traceback_is_shown_on_request(run):
    with pytest.raises(click.ClickException, match="kuhn_poker"):
        run("solve", "kuhn", "--traceback")
