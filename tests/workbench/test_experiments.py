"""An experiment's runs are those of solve, and what determines a result is its key."""

import errno
import json
import shutil
import subprocess
import sys
from functools import partial, wraps

import bench_victim
import pytest
from attrs import evolve
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.play import Linear
from regretkit.play._measures import sampled_gap
from regretkit.workbench import Experiment, _experiment, _tasks, read_results
from regretkit.workbench._expressions import algorithm_of, expand
from regretkit.workbench._pool import Entry, _next, seconds_left
from regretkit.workbench._results import digest, key_of
from regretkit.workbench._tasks import Outcome, identity_of

KUHN, RULES = games.kuhn_poker(), games.load_rules("kuhn_poker")


# Grids and expressions


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("cfr+", ["cfr+"]),
        ("dcfr(alpha=1:3:0.5)", [f"dcfr(alpha={a})" for a in ("1", "1.5", "2", "2.5", "3")]),
        ("dcfr(alpha=2:1:-0.5)", [f"dcfr(alpha={a})" for a in ("2", "1.5", "1")]),
        ("a(x=.1:.3:.1|7, y=b|c)", [f"a(x={x},y={y})" for x in (0.1, 0.2, 0.3, 7) for y in "bc"]),
        ("kuhn_poker(2, deck=3|13)", ["kuhn_poker(2,deck=3)", "kuhn_poker(2,deck=13)"]),
        ("battleship(lengths=[1, 2]|[2])", [f"battleship(lengths={x})" for x in ("[1, 2]", "[2]")]),
        ("my_rule.py:Mine(power=1|2)", ["my_rule.py:Mine(power=1)", "my_rule.py:Mine(power=2)"]),
        ("x(a=1e-3,b=-1)", ["x(a=1e-3,b=-1)"]),
        ("x(n=90:110:10)", ["x(n=90)", "x(n=100)", "x(n=110)"]),
    ],
)
def test_a_grid_is_all_combinations_of_its_values(text, points):
    assert expand(text) == points


def test_an_expression_is_an_algorithm_with_other_hyperparameters():
    assert algorithm_of("CFR+") == rk.play.named("cfr+")
    other = algorithm_of("dcfr(alpha=2,gamma=4,order=simultaneous,sampling=external)")
    assert other.averaging == rk.play.Power(4.0)
    assert other.order == rk.play.Simultaneous()
    assert other.sampling == "external"
    rule = other.local([2])
    assert (rule.alpha, rule.beta) == (2, 0.0)
    mine = algorithm_of("regretkit.minimizers:Hedge(rate=0.5)")
    assert mine.local([2]).rate == 0.5


test_what_is_no_experiment_is_refused = refusals(
    ({"games": "kuhn_pokers"}, ValueError, "no game 'kuhn_pokers'; did you mean kuhn_poker"),
    ({"games": "kuhn_poker(cards=3)"}, ValueError, "unexpected keyword argument 'cards'"),
    ({"games": "none.efg"}, ValueError, "there is no file 'none.efg'"),
    ({"games": "liars_dice(dice=0)"}, ValueError, "'liars_dice.dice=0.': dice must be a whole"),
    ({"games": "kuhn_poker(deck=3|1)"}, ValueError, "'kuhn_poker.deck=1.': deck must be"),
    ({"games": "blotto(fields='two')"}, TypeError, "blotto.*: fields must be a whole number"),
    ({"games": "phantom_tic_tac_toe(x=1)"}, ValueError, "keyword argument 'x'"),
    ({"games": "phantom_tic_tac_toe"}, ValueError, "cfr needs a tree.* pass sampling='outcome'"),
    ({"games": RULES}, ValueError, "cfr needs a tree, and KuhnHistory has its rules alone"),
    ({"games": RULES, "sampling": "chance"}, ValueError, "sampling needs the game's tree"),
    ({"games": ["kuhn_poker", "kuhn_poker"]}, ValueError, "games has 'kuhn_poker' twice"),
    ({"games": []}, ValueError, "games must be one at least"),
    ({"algorithms": "cfrr"}, ValueError, "there is no algorithm 'cfrr'.*did you mean 'cfr'"),
    ({"algorithms": "dcfr(alpha=3:1:0.5)"}, ValueError, "the range '3:1:0.5' has no points"),
    ({"algorithms": "dcfr(alpha=1:3:0)"}, ValueError, "the range '1:3:0' has no points"),
    ({"algorithms": "dcfr(alpha=:3)"}, ValueError, "a range is first:last:step"),
    *(
        ({"algorithms": f"dcfr(alpha={meant})"}, ValueError, r"write 0:1:step, .*, or 0\|1$")
        for meant in ("0..1", "0:1", "0-1", "0;1", "0 to 1", "0...1", "0:1:")
    ),
    ({"algorithms": "dcfr(alpha=)"}, ValueError, "each once with its name"),
    ({"algorithms": "dcfr(alpha=1|)"}, ValueError, "a grid without points"),
    ({"algorithms": "dcfr(alpha=0:1:1e-9)"}, ValueError, "more than 10,000 points"),
    ({"algorithms": "dcfr(alpha=1|2"}, ValueError, "has no closing parenthesis"),
    ({"algorithms": "dcfr(delta=1)"}, ValueError, "no hyperparameter 'delta', only alpha"),
    ({"algorithms": {"mine": "dcfr(alpha=1|2)"}}, ValueError, "algorithms has 'mine' twice"),
    ({"algorithms": "dcfr(1.5)"}, ValueError, "arguments are given each once with its name"),
    ({"algorithms": "dcfr(alpha=1,alpha=2)"}, ValueError, "each once"),
    ({"algorithms": "cfr(order=random)"}, ValueError, "order must be alternating or"),
    ({"algorithms": "cfr(sampling=all)"}, ValueError, "sampling"),
    ({"algorithms": "mine.py"}, ValueError, "must name the class of a rule.*mine.py:MyRule"),
    ({"algorithms": "mine.py:(a=1)"}, ValueError, "must name the class of a rule"),
    ({"algorithms": "nowhere.py:Mine"}, ValueError, "there is no file 'nowhere.py'"),
    ({"algorithms": "no_module:Mine"}, ValueError, "there is no module 'no_module'"),
    ({"algorithms": "regretkit.minimizers:Hedge"}, TypeError, "argument: 'rate'"),
    ({"iterations": 0}, ValueError, "iterations must be a whole number, at least 1"),
    ({"measures": "gap"}, ValueError, "there is no measure 'gap'"),
    ({"measures": []}, ValueError, "measures must be one at least"),
    ({"seeds": 0}, ValueError, "seeds must be different whole numbers, one at least"),
    call=lambda given: Experiment(**{"games": "kuhn_poker", "algorithms": "cfr"} | given),
)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import not_there_at_all", "not_there_at_all"),
        ("def broken(:", "SyntaxError|invalid syntax"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError.*line 1"),
        ("x = 1", "has no 'Mine'"),
    ],
)
def test_a_rule_file_that_does_not_import_is_refused(source, problem, tmp_path):
    path = tmp_path / f"rule_{digest(source)}.py"
    path.write_text(source)
    with pytest.raises((ValueError, TypeError), match=problem):
        Experiment("kuhn_poker", f"{path}:Mine", 10)


# Runs


def test_each_run_is_that_of_solve(tmp_path):
    made = Experiment({"mine": KUHN}, "cfr+, mccfr", 40, seeds=[3, 5], measures="exploitability")
    found = made.run(tmp_path, workers=0)
    expected = {("cfr+", None): rk.solve(KUHN, "cfr+", iterations=40)}
    for seed in (3, 5):
        expected["mccfr", seed] = rk.solve(KUHN, "mccfr", seed=seed, iterations=40)
    for run in found.runs:
        same = expected[run.algorithm, run.seed]
        assert run.last == pytest.approx(same.exploitability(), rel=1e-12)
        assert run.columns["iteration"][:3] == [1, 2, 3]
        assert run.columns["iteration"][-1] == 40
        histories = 58 * 2 * 40 if run.seed is None else same.estimator.visited
        assert run.columns["visited"][-1] == histories
    assert len(found.runs) == 3


def test_the_best_iterate_is_the_least_of_the_last_ones(tmp_path):
    measures = "last_nash_conv", "best_nash_conv"
    found = Experiment("regret_matching_cycle", "cfr+", 300, measures=measures)
    [run] = found.run(tmp_path, workers=0).runs
    last = run.columns["last_nash_conv"]
    assert run.columns["best_nash_conv"] == [min(last[: n + 1]) for n in range(len(last))]
    played = rk.solve(games.regret_matching_cycle(), "cfr+", iterations=300)
    assert last[-1] == rk.nash_conv(played.game, played.last_profile)


def test_what_was_run_is_found_under_any_name(tmp_path, monkeypatch):
    first = Experiment("kuhn_poker", "dcfr", 50).run(tmp_path, workers=0)
    monkeypatch.setattr(_tasks, "_measured", None)
    again = Experiment({"same": KUHN}, "dcfr(alpha=1.5,gamma=2)", 50).run(tmp_path, workers=0)
    assert not again.failures
    assert again.runs[0].columns == first.runs[0].columns
    assert again.runs[0].game == "same"


def test_without_a_tree_runs_are_those_of_solve_and_end_with_a_sampled_gap(tmp_path):
    made = Experiment({"mine": RULES}, "mccfr", 40, seeds=[3], measures=["nash_conv", "visited"])
    [run] = made.run(tmp_path, workers=0).runs
    same = rk.solve(RULES, "mccfr", iterations=40, seed=3)
    assert run.columns["iteration"] == [40]
    assert run.columns["local_best_response"] == [sampled_gap(same)]
    assert run.columns["visited"] == [same.estimator.visited]
    assert run.measure == "local_best_response"
    often = Experiment(RULES, "mccfr", 40, seeds=[3], measures="local_best_response")
    [run] = often.run(tmp_path, workers=0).runs
    assert run.columns["iteration"][:3] == [1, 2, 3]
    assert run.columns["local_best_response"][-1] == sampled_gap(same)


def test_a_game_whose_tree_does_not_fit_is_played_without_it_by_what_samples(tmp_path):
    named = ["kuhn_poker(memory_limit=1000)", "kuhn_poker"]
    made = Experiment(named, "mccfr(sampling=outcome), cfr", 30)
    found = made.run(tmp_path, workers=0)
    by_place = {(run.game, run.algorithm): run for run in found.runs}
    [(place, reason)] = found.failures.items()
    assert place == (named[0], "cfr", None)
    assert "58 histories, which take about" in reason
    assert reason.endswith("--sample in the shell, to play without a tree")
    run = by_place[named[0], "mccfr(sampling=outcome)"]
    same = rk.solve(RULES, "mccfr", sampling="outcome", iterations=30)
    assert run.columns["local_best_response"] == [sampled_gap(same)]
    assert "nash_conv" in by_place["kuhn_poker", "mccfr(sampling=outcome)"].columns
    beside = Entry(made.tasks[0])  # first it waits for room
    lacking = Outcome(reason="too large", needs_memory=True)
    states = [beside.settle(lacking, beside=True), beside.settle(lacking, beside=True)]
    assert (states, beside.task.without_tree, beside.state) == ([False, False], True, "waiting")
    assert beside.settle(lacking, beside=False)
    assert beside.state == "failed"


def key(algorithm="cfr+", game="kuhn_poker", **given):
    [task] = Experiment(game, [algorithm], **{"iterations": 50, **given}).tasks
    return key_of(identity_of(task, task.start(task.load())))


def test_all_that_determines_a_result_is_in_its_key(monkeypatch):
    keys = [
        key(),
        key("cfr"),
        key("cfr+(gamma=2)"),
        key("cfr+(order=simultaneous)"),
        key("dcfr"),
        key("dcfr(alpha=2)"),
        key("efr-csps"),
        key("efr-cfps"),
        key("mccfr"),
        key("mccfr(sampling=outcome)"),
        key(seeds=[1], sampling="external"),
        key(seeds=[2], sampling="external"),
        key(game="kuhn_poker(deck=4)"),
        key(iterations=60),
        key(measures="exploitability"),
        key("mccfr", game=RULES),
        key("mccfr", game=RULES, seeds=[1]),
        key("mccfr", game=games.load_rules("kuhn_poker(deck=4)")),
        key("mccfr(sampling=outcome)", game=RULES),
        key("lcfr(sampling=outcome)", game=RULES),
    ]
    monkeypatch.setattr(_tasks, "versions", lambda: {"numpy": "another"})
    keys.append(key())
    assert len({*keys}) == len(keys)
    monkeypatch.undo()
    assert key("cfr") == key("cfr", game=KUHN)
    assert key("cfr") != key(rk.Algorithm("cfr", averaging=Linear()))


CHANGES = {
    "default=2.0": "default=POWER",
    "np.maximum(self.regrets, 0.0)": "positive(self.regrets)",
    "+= self": "+= STEP * self",
    "\n\n@define": """
POWER = 2.0


def positive(x):
    return np.maximum(x, 0.0)


@define""",
}
STEPS = {
    "traced": "1.0",
    "in time": "(0.5 + 1 / (self.iteration + 1))",
    "untraced": "float(str(self.simplices.max(utility)[0])[:1] == '-') * 1.0",
}


@pytest.mark.parametrize("step", STEPS)
def test_an_edited_rule_is_run_again_and_a_commented_one_is_not(step, tmp_path):
    source, places = bench_victim.RULE, []
    for old, new in {**CHANGES, "STEP": STEPS[step]}.items():
        assert old in source
        source = source.replace(old, new)

    def edited(old, new):
        assert old in source
        path = tmp_path / f"rule_{step.replace(' ', '_')}_{len(places)}.py"
        places.append(path)
        path.write_text(source.replace(old, new))
        return key(f"{path}:Mine")

    first, commented = edited("numpy", "numpy"), edited("import numpy", "# why\nimport numpy")
    others = [
        edited("** self.power", "** (self.power + 1)"),
        edited("POWER = 2.0", "POWER = 3.0"),
        edited("np.maximum(x, 0.0)", "np.maximum(x, 0.1)"),
        edited("rk.state()", "rk.state(start=0.5)"),
        edited("1.0" if "1.0" in STEPS[step] else "0.5", "0.25"),
    ]
    assert (first == commented) == (step != "untraced")
    assert len({*others, first}) == len(others) + 1


HELPED = "from {helper} import STEP\n" + bench_victim.RULE.replace("+= self", "+= STEP * self")


def test_what_is_known_is_found_without_its_game_until_a_source_changes(tmp_path, monkeypatch):
    name = f"indexed_{tmp_path.name}"
    monkeypatch.setattr(_experiment, "is_own", lambda module: module.startswith("indexed"))
    rule, helper = tmp_path / f"{name}.py", tmp_path / f"{name}_helper.py"
    rule.write_text(source := HELPED.format(helper=helper.stem))
    helper.write_text("STEP = 1.0\n")
    made = Experiment("kuhn_poker", f"{rule}:Mine, cfr+", 20)

    def found(made=made, **given):
        entries = [Entry(task) for task in made.tasks]
        index = _experiment.Index(tmp_path, **{"here": False, **given})
        index.find(entries)
        return index, [entry for entry in entries if entry.state == "found"], entries

    index, nothing, entries = found()
    assert nothing == []
    for entry in entries:
        entry.finish(_tasks.execute(entry.task, tmp_path, lambda *_: None))
    index.note()
    first = [entry.outcome.run for entry in entries]
    assert [entry.outcome.run for entry in found()[1]] == first
    assert len(found(here=True)[1]) == 1  # not that of a module that may be older than its file
    longer = Experiment("kuhn_poker", "cfr+", 21)
    measured = Experiment("kuhn_poker", "cfr+", 20, measures="visited")
    assert [found(made)[1] for made in (longer, measured)] == [[], []]
    for path, changed in (
        (rule, source.replace("2.0", "3.0")),
        (helper, "STEP = 2.0\n"),
        (rule, f"{source}\nTABLE = open('table')\n"),  # whose content is not looked at
        (rule, f"{source}\ndef later():\n    from parts.later import STEP\n"),
        (rule, f"{source}\nif True: import later\n"),
    ):
        before = path.read_text()
        path.write_text(changed)
        assert [entry.outcome.run for entry in found()[1]] == first[1:]
        path.write_text(before)
    (tmp_path / "index").write_text("half a li\n" + (tmp_path / "index").read_text())
    index, again, _ = found()
    assert [entry.outcome.run for entry in again] == first
    for path in tmp_path.glob("*.json"):
        path.unlink()
    assert found()[1] == []  # what is not there any more


def test_what_a_game_and_an_installed_package_depend_on_is_part_of_the_place(tmp_path, monkeypatch):
    def place(game, algorithm="cfr"):
        made = Experiment("kuhn_poker", "cfr", 20).tasks[0]
        task = evolve(made, game=game, algorithm=algorithm)
        return _experiment._place(task, _experiment._own_sources())

    def pennies(stake=1.0):
        return games.matching_pennies()

    for name, factory in {
        "bound": partial(games.matching_pennies),
        "wrapped": wraps(games.matching_pennies)(pennies),
        "plain": pennies,
    }.items():
        monkeypatch.setitem(_experiment._FACTORIES, name, factory)
    (site := tmp_path / "site-packages").mkdir()
    script = tmp_path / "script.py"
    script.write_text("STAKE = 2.0\n")
    monkeypatch.setattr(_experiment, "is_own", lambda name: name == "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    monkeypatch.syspath_prepend(site)
    cases = [("bound",), ("wrapped",), ("plain",), ("kuhn_poker", "mine.rules:Mine")]
    first = [place(*case) for case in [*cases, ("kuhn_poker",)]]
    script.write_text("STAKE = 5.0\n")
    second = [place(*case) for case in [*cases, ("kuhn_poker",)]]
    (site / "mine-2.0.dist-info").mkdir()
    third = [place(*case) for case in [*cases, ("kuhn_poker",)]]
    assert None not in first
    assert first[-1] == second[-1] == third[-1]
    assert all(len(set(places)) == 3 for places in zip(first[:-1], second, third, strict=False))
    monkeypatch.setattr(_experiment, "version", lambda _: "1")
    assert place("openspiel:efg_game(filename=mine.efg)") is None
    assert place("openspiel:kuhn_poker") is not None


def test_an_edit_while_it_runs_is_not_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(_experiment, "_own_sources", lambda: str(len(list(tmp_path.iterdir()))))
    made = Experiment("kuhn_poker", "cfr+", 20)
    (entry,) = map(Entry, [evolve(made.tasks[0], algorithm="regretkit.minimizers:RegretMatching")])
    index = _experiment.Index(tmp_path, here=False)
    index.find([entry])
    entry.finish(_tasks.execute(entry.task, tmp_path, lambda *_: None))  # which writes a file
    index.note()
    assert not (tmp_path / "index").read_text()


def test_a_suite_that_is_finished_opens_without_building_games(tmp_path, monkeypatch):
    made = Experiment(["kuhn_poker", "matching_pennies"], "cfr, dcfr", 20)
    first = made.run(tmp_path, workers=0)
    monkeypatch.setattr(_tasks, "load", None)
    monkeypatch.setattr(_tasks.Task, "start", None)
    again = made.run(tmp_path)
    assert (again.runs, again.failures) == (first.runs, {})


# What fails


ENDING = """
import os


class Dies(Mine):
    def _learn(self, utility, strategy):
        os._exit(1)
"""
BAD = """
import sys
from functools import partial, wraps


class Raises(Mine):
    def _learn(self, utility, strategy):
        if self.iteration > 5:
            raise ZeroDivisionError("divided")


class IsNan(Mine):
    def _propose(self):
        return np.full(self.simplices.dimension, np.nan)


class Ends(Mine):
    def _learn(self, utility, strategy):
        sys.exit(3)


class Opens(Mine):
    def _learn(self, utility, strategy):
        open("/nowhere/at/all")
"""


def test_a_rule_that_fails_costs_its_own_runs_alone(tmp_path, capfd):
    path = tmp_path / "failing_rules.py"
    path.write_text(bench_victim.RULE + "\nprint('imported')\n" + BAD)
    names = ["Raises", "IsNan", "Ends", "Opens", "Mine"]
    made = Experiment("kuhn_poker", [f"{path}:{name}" for name in names], 20)
    found = made.run(tmp_path / "results", workers=0)
    assert [run.algorithm for run in found.runs] == [f"{path}:Mine"]
    reasons = [found.failures["kuhn_poker", f"{path}:{name}", None] for name in names[:-1]]
    assert "ZeroDivisionError: divided (failing_rules.py, line" in reasons[0]
    assert "finite, got nan" in reasons[1]
    assert "SystemExit: 3 (failing_rules.py, line" in reasons[2]
    assert "/nowhere/at/all" in reasons[3]
    assert "imported" not in capfd.readouterr().out


@pytest.mark.deep
def test_a_rule_that_ends_its_process_costs_its_own_runs_alone(tmp_path):
    path = tmp_path / "ending_rules.py"
    path.write_text(bench_victim.RULE + ENDING)
    made = Experiment("kuhn_poker", f"cfr, {path}:Dies, cfr+", 10)
    found = made.run(tmp_path / "results", workers=2)
    assert [run.algorithm for run in found.runs] == ["cfr", "cfr+"]
    [reason] = found.failures.values()
    assert "its process ended 5 times" in reason


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path, monkeypatch):
    made = Experiment(["kuhn_poker", "matching_pennies"], "cfr", 20)
    write, written = _tasks.write_run, []

    def full(folder, run, identity):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))
        written.append(run)
        write(folder, run, identity)

    monkeypatch.setattr(_tasks, "write_run", full)
    with pytest.raises(OSError, match="No space left"):
        made.run(tmp_path, workers=0)
    assert len(read_results(tmp_path).runs) == 1
    monkeypatch.undo()
    assert len(made.run(tmp_path, workers=0).runs) == 2


@pytest.mark.deep
@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_system_that_is_full_loses_nothing(workers, tmp_path):
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(tiny)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root mounts a file system that is soon full")
    try:
        made = Experiment("kuhn_poker(deck=3:8:1)", "cfr, cfr+", 100)
        with pytest.raises(OSError, match="No space left"):
            made.run(tiny / "results", workers=workers)
        written = read_results(tiny / "results").runs
        assert 0 < len(written) < 12
        subprocess.run(["mount", "-o", "remount,size=1m", str(tiny)], check=True)
        found = made.run(tiny / "results", workers=workers).runs
        assert len(found) == 12
        assert all(run in found for run in written)  # with their clocks
    finally:
        subprocess.run(["umount", str(tiny)], check=True)


def test_damaged_files_are_left_out_and_run_again(tmp_path):
    made = Experiment("kuhn_poker", "cfr, cfr+", 20)
    whole = made.run(tmp_path, workers=0)
    first, second = sorted(tmp_path.glob("*.json"))
    cut, other = second.read_bytes()[:100], first.read_bytes()
    for damaged in (cut, b"", b"[]", b"\xff", other, b"[" * 10**5):
        second.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match=f"{second.name} is damaged"):
            assert len(read_results(tmp_path).runs) == 1
    with pytest.warns(RuntimeWarning, match="it is run again"):
        again = made.run(tmp_path, workers=0)
    for run, other in zip(whole.runs, again.runs, strict=True):
        assert run.columns["nash_conv"] == other.columns["nash_conv"]


def test_a_folder_of_another_version_is_refused_and_unchanged(tmp_path):
    made = Experiment("kuhn_poker", "cfr", 20)
    made.run(tmp_path, workers=0)
    [path] = tmp_path.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    before = path.read_bytes()
    other = Experiment("kuhn_poker", "cfr+", 20)
    for read in (
        lambda: read_results(tmp_path),
        lambda: made.run(tmp_path, workers=0),
        lambda: other.run(tmp_path, workers=0),
    ):
        with pytest.raises(ValueError, match="another version of regretkit, in format 99"):
            read()
    assert path.read_bytes() == before
    assert [*tmp_path.glob("*.json")] == [path]


def test_runs_of_another_machine_are_merged_by_copying_their_files(tmp_path):
    mine = Experiment("kuhn_poker", "cfr, cfr+", 20).run(tmp_path / "a", workers=0)
    Experiment("kuhn_poker", "cfr+, dcfr", 20).run(tmp_path / "b", workers=0)
    for path in (tmp_path / "b").glob("*.json"):
        shutil.copy(path, tmp_path / "a")
    found = read_results(tmp_path / "a")
    assert [run.algorithm for run in found.runs] == ["cfr", "cfr+", "dcfr"]
    assert found.runs[0].columns == mine.runs[0].columns
    with pytest.raises(FileNotFoundError):
        read_results(tmp_path / "c")


# In processes


@pytest.mark.deep
def test_processes_and_this_one_have_the_same_bits(tmp_path):
    path = tmp_path / "rule_of_processes.py"
    path.write_text(bench_victim.RULE + BAD)
    made = Experiment(
        ["kuhn_poker(deck=3|4)", "leduc_poker"], f"cfr+, mccfr, {path}:Mine, {path}:Raises", 60
    )
    seen = []
    two = made.run(
        tmp_path / "2", workers=2, watch=lambda each: seen.append([e.state for e in each])
    )
    none = made.run(tmp_path / "0", workers=0)
    assert [*two.failures] == [*none.failures]
    assert len(two.failures) == 3
    for run, other in zip(two.runs, none.runs, strict=True):
        clocks = {"seconds", "processor_seconds"}
        for name in run.columns.keys() - clocks:
            assert run.columns[name] == other.columns[name]
    names = [{path.name for path in (tmp_path / n).glob("*.json")} for n in "20"]
    assert names[0] == names[1]
    assert {*seen[-1]} == {"done", "failed"}


def test_what_other_processes_cannot_build_is_refused(tmp_path):
    made = Experiment("kuhn_poker", {"mine": lambda simplices: rk.RegretMatching(simplices)}, 10)
    with pytest.raises(ValueError, match=r"mine on kuhn_poker cannot be sent.*my_rule.py:MyRule"):
        made.run(tmp_path, workers=1)
    assert made.run(tmp_path, workers=0).runs[0].algorithm == "mine"


def entries(*histories, iterations=1_000):
    tasks = Experiment(["kuhn_poker"], "cfr", iterations).tasks
    return [Entry(evolve(tasks[0], histories=n)) for n in histories]


def test_large_games_wait_for_room():
    class Busy:
        def __init__(self, entry):
            self.entry = entry

    large, middle, small = waiting = entries(10**9, 10**7, 10)
    assert _next(waiting, [], 1e9) is large  # alone
    assert _next(waiting[1:], [Busy(large)], 1e9) is None
    assert _next([middle, small], [Busy(entries(10**6)[0])], 1e9) is small
    small.alone = True
    assert _next([small], [Busy(middle)], 1e12) is None
    assert _next([large], [Busy(small)], 1e18) is None
    assert _next([small], [], 1.0) is small


def test_the_time_left_is_that_of_the_work_left():
    first, second = each = entries(10**7, 2 * 10**7)
    assert seconds_left(each, 1) is None
    first.report(500, 0.1, 3.0)
    assert seconds_left(each, 1) == pytest.approx(3.0 + 12.0, rel=0.01)
    second.report(1_000, 0.1, 12.0)
    assert seconds_left(each, 2) == pytest.approx(1.5, rel=0.01)


def test_the_time_in_which_runs_begin_counts():
    first, *_ = each = entries(10, 10, 10)
    first.begin()
    first.began -= 1.0
    first.report(1_000, 0.1, 0.001)
    assert seconds_left(each, 1) == pytest.approx(2.0, rel=0.1)


def test_a_program_that_no_process_can_import_is_refused(tmp_path):
    program = "from regretkit.workbench import Experiment; Experiment('chicken', 'cfr', 1).run"
    words = [sys.executable, "-"]
    typed = f"{program}({str(tmp_path)!r}, workers=2)"
    ended = subprocess.run(words, input=typed, capture_output=True, text=True)
    assert "ValueError: the program is '<stdin>', which other processes" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_public_game_counts_its_nodes_once_for_each_type(tmp_path):
    # Aces and queens, 12 hands, bet or check; kings, 6 hands, fold or call, or check; 3 ends.
    made = Experiment("hold_em(bets=('100%', ''), raises='')", "cfr+", 20)
    [run] = made.run(tmp_path, workers=0).runs
    assert run.columns["visited"][-1] == 20 * 2 * 6 * (12 + 6)
    assert run.last < run.columns["nash_conv"][0]
