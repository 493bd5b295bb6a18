"""An experiment's runs are those of solve, and no result is found under code that it is not of."""

import json
import shlex
import shutil
import subprocess
import sys
from functools import partial
from itertools import pairwise

import bench_victim
import pytest
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.play import Linear
from regretkit.workbench import Experiment, read_results

KUHN, RULES = games.kuhn_poker(), games.load_rules("kuhn_poker")
UNTRACED = "float(str(self.simplices.max(utility)[0])[:1] == '-')"


def gaps(found):
    """Return the last gap of each run."""
    return [run.last for run in found.runs]


def names(text, of="algorithms"):
    made = Experiment(**{"games": "kuhn_poker", "algorithms": "cfr"} | {of: text})
    return list(dict.fromkeys(task.names[of == "algorithms"] for task in made.tasks))


def test_a_grid_is_all_combinations_of_its_values():
    for text, points in {
        "cfr+": ["cfr+"],
        "dcfr(alpha=1:3:0.5)": [f"dcfr(alpha={a})" for a in ("1", "1.5", "2", "2.5", "3")],
        "dcfr(alpha=2:1:-0.5)": [f"dcfr(alpha={a})" for a in ("2", "1.5", "1")],
        "dcfr(alpha=.1:.2:.1|7, beta=0|1)": [
            f"dcfr(alpha={x},beta={y})" for x in (0.1, 0.2, 7) for y in "01"
        ],
        "dcfr(alpha=1e-3,beta=-1), cfr": ["dcfr(alpha=1e-3,beta=-1)", "cfr"],
    }.items():
        assert names(text) == points
    lengths = [f"battleship(lengths={x})" for x in ("[1, 2]", "[2]")]
    assert names("battleship(lengths=[1, 2]|[2])", "games") == lengths
    assert names("phantom_tic_tac_toe", "games") == ["phantom_tic_tac_toe"]  # without a tree
    assert names(["kuhn_poker", "kuhn_poker(2, deck=3|13)"], "games") == [
        *("kuhn_poker", "kuhn_poker(2,deck=3)", "kuhn_poker(2,deck=13)")
    ]


def test_an_expression_is_an_algorithm_with_other_hyperparameters():
    text = "dcfr(alpha=2,gamma=4,order=simultaneous,sampling=external)"
    [run] = Experiment("kuhn_poker", text, 30, seeds=[7]).run(workers=0).runs
    rule = partial(rk.minimizers.DiscountedRegretMatching, alpha=2, beta=0.0)
    power = rk.play.Power(4.0)
    same = rk.Algorithm(rule, order=rk.play.Simultaneous(), averaging=power, sampling="external")
    assert run.last == rk.solve(KUHN, same, iterations=30, seed=7).nash_conv()


test_what_is_no_experiment_is_refused = refusals(
    ({"games": "kuhn_pokers"}, ValueError, "did you mean 'kuhn_poker'"),
    ({"games": "kuhn_poker(cards=3)"}, ValueError, "unexpected keyword argument 'cards'"),
    ({"games": "none.efg"}, FileNotFoundError, "none.efg"),
    ({"games": ["kuhn_poker", "kuhn_poker"]}, ValueError, "twice"),
    ({"games": []}, ValueError, "must not be empty"),
    ({"algorithms": "cfrr"}, ValueError, "did you mean 'cfr'"),
    ({"algorithms": "dcfr(alpha=3:1:0.5)"}, ValueError, "no points"),
    ({"algorithms": "dcfr(alpha=:3)"}, ValueError, "first:last:step"),
    ({"algorithms": "dcfr(alpha=0:1:1e-9)"}, ValueError, "more than 10,000 points"),
    ({"algorithms": "dcfr(alpha=1|2"}, ValueError, "never closed"),
    ({"algorithms": "dcfr(delta=1)"}, ValueError, "no hyperparameter delta"),
    ({"algorithms": "dcfr(alpha='a')"}, ValueError, "alpha"),
    ({"algorithms": "nowhere.py:Mine"}, FileNotFoundError, "nowhere.py"),
    ({"algorithms": "no_module:Mine"}, ValueError, "No module named 'no_module'"),
    ({"algorithms": "regretkit.minimizers:Hedge"}, ValueError, "argument: 'rate'"),
    ({"iterations": 0}, ValueError, "iterations"),
    ({"measures": "gap"}, ValueError, "no measure 'gap'"),
    ({"seeds": 0}, ValueError, "seeds"),
    call=lambda given: Experiment(**{"games": "kuhn_poker", "algorithms": "cfr"} | given),
)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def broken(:", "rule.py, line 1"),
        ("raise SystemExit(3)", "SystemExit: 3 .rule.py, line 1"),
        ("1 / 0", "ZeroDivisionError.*line 1"),
        ("x = 1", "no attribute 'Mine'"),
    ],
)
def test_a_file_that_does_not_run_is_refused(source, problem, tmp_path):
    (tmp_path / "rule.py").write_text(source)
    with pytest.raises(ValueError, match=problem):
        Experiment("kuhn_poker", f"{tmp_path / 'rule.py'}:Mine", 10)


# Runs


def test_each_run_is_that_of_solve():
    made = Experiment({"mine": KUHN}, "cfr+, mccfr", 40, seeds=[3, 5], measures="exploitability")
    found = made.run(workers=0)
    expected = {("cfr+", None): rk.solve(KUHN, "cfr+", iterations=40)}
    for seed in (3, 5):
        expected["mccfr", seed] = rk.solve(KUHN, "mccfr", seed=seed, iterations=40)
    for run in found.runs:
        same = expected[run.algorithm, run.seed]
        assert run.last == same.exploitability()
        at = run.columns["iteration"]
        assert (at[:3], at[-1]) == ([1, 2, 3], 40)
        assert all(after <= 1.25 * before + 1 for before, after in pairwise(at))
        histories = 58 * 2 * 40 if run.seed is None else same.estimator.visited
        assert run.columns["visited"][-1] == histories
    assert len(found.runs) == 3


def test_the_gap_of_the_last_iterate_is_measured():
    measures = ("last_nash_conv",)
    [run] = Experiment("regret_matching_cycle", "cfr+", 300, measures=measures).run(workers=0).runs
    last = run.columns["last_nash_conv"]
    played = rk.solve(games.regret_matching_cycle(), "cfr+", iterations=300)
    assert last[-1] == rk.nash_conv(played.game, played.last_profile)


def test_a_run_ends_at_its_gap_or_when_its_time_is_up():
    [run] = Experiment("kuhn_poker", "cfr+", target_gap=0.01).run(workers=0).runs
    assert run.columns["nash_conv"][-2] > 0.01 >= run.last
    [run] = Experiment("kuhn_poker", "cfr+", time_limit=0.05).run(workers=0).runs
    assert 0.05 <= run.columns["seconds"][-1] < 5.0


def test_without_a_tree_runs_are_those_of_solve_and_end_with_a_sampled_gap():
    made = Experiment({"mine": RULES}, "mccfr, cfr", 40, seeds=[3], measures="nash_conv")
    found = made.run(workers=0)
    [run], [reason] = found.runs, found.failures.values()
    assert "needs a tree" in reason
    same = rk.solve(RULES, "mccfr", iterations=40, seed=3)
    record = rk.play.Recorder(["local_best_response", "visited"])
    record(same)
    assert run.columns["iteration"] == [40]
    assert run.columns["local_best_response"] == record.values["local_best_response"]
    assert run.columns["visited"] == record.values["visited"]
    often = Experiment(RULES, "mccfr", 40, seeds=[3], measures="local_best_response")
    [run] = often.run(workers=0).runs
    assert run.columns["iteration"][:3] == [1, 2, 3]
    assert run.columns["local_best_response"][-1:] == record.values["local_best_response"]


def test_imperfect_recall_is_played_where_it_is_accepted():
    text = "examples/games/absent_minded_driver.efg"
    accepted = Experiment(text, "cfr", 30, imperfect_recall=True).run(workers=0)
    same = rk.solve(games.load(text), "cfr", iterations=30, imperfect_recall=True)
    assert gaps(accepted) == [same.nash_conv()]
    assert "imperfect" in str(Experiment(text, "cfr", 30).run(workers=0).failures)


def test_a_public_game_counts_its_nodes_once_for_each_type():
    # Aces and queens, 12 hands, bet or check; kings, 6 hands, fold or call, or check; 3 ends.
    made = Experiment("hold_em(bets=('100%', ''), raises='')", "cfr+", 20)
    [run] = made.run(workers=0).runs
    assert run.columns["visited"][-1] == 20 * 2 * 6 * (12 + 6)
    assert run.last < run.columns["nash_conv"][0]


# Own code


@pytest.fixture
def rule(tmp_path):
    """Return what writes a rule into a file and returns its name; ``step`` scales regrets."""
    path = tmp_path / "my_rule.py"

    def write(step="1.0", head=""):
        source = bench_victim.RULE.replace("+= self", f"+= {step} * self")
        path.write_text(f"{head}\n{source}")
        return f"{path}:Mine"

    return write


def fresh(made, **options):
    """Return the gaps without any folder."""
    return gaps(made.run(workers=0, **options))


@pytest.mark.parametrize("step", ["{}", f"({UNTRACED} + {{}})"])
def test_an_edited_file_is_run_again_and_by_the_code_that_was_read(step, rule, tmp_path):
    folder = tmp_path / "results"
    text = rule(step.format(0.25))
    first = Experiment("kuhn_poker", text, 40)
    rule(step.format(4.0))
    second = Experiment("kuhn_poker", text, 40)
    one, two = fresh(first), fresh(second)
    assert one != two or step == "{}"  # regret matching does not depend on the scale
    assert gaps(second.run(folder, workers=0)) == two
    assert gaps(first.run(folder, workers=0)) == one
    assert gaps(read_results(folder)) == one  # the newest
    assert len(list(folder.glob("*.json"))) == 2
    columns = first.run(folder, workers=0).runs[0].columns
    assert first.run(folder, workers=0).runs[0].columns == columns  # with its clocks


def test_a_rule_that_is_edited_while_a_bench_runs_is_that_of_its_beginning(rule, tmp_path):
    text = rule(f"({UNTRACED} + 0.25)")
    made = Experiment(["kuhn_poker(deck=3|4)", "chicken"], text, 40)
    expected = fresh(made)
    for workers in (0, 2):
        rule(f"({UNTRACED} + 0.25)")
        edit = lambda *_: rule(f"({UNTRACED} + 4.0)")  # noqa: E731
        assert gaps(made.run(tmp_path / str(workers), workers=workers, watch=edit)) == expected
        again = Experiment(["kuhn_poker(deck=3|4)", "chicken"], text, 40)
        assert gaps(again.run(tmp_path / str(workers), workers=0)) == fresh(again) != expected


@pytest.mark.parametrize("extra", ["", " + float(str(self.regrets[0])[:1] == '-')"])
def test_a_rule_at_a_prompt_that_is_defined_again_is_run_again(extra, tmp_path):
    def made(power):
        space = {}
        exec(bench_victim.RULE.replace("self.power", f"({power}{extra})"), space)
        return Experiment("kuhn_poker", {"mine": space["Mine"]}, 40)

    for power in (1.0, 3.0):
        assert gaps(made(power).run(tmp_path, workers=0)) == fresh(made(power))
        assert gaps(made(power).run(tmp_path, workers=0)) == fresh(made(power))


def test_a_constant_in_another_file_counts(rule, tmp_path):
    helper = tmp_path / f"helper_{tmp_path.name.replace('-', '_')}.py"
    helper.write_text("STEP = 0.25\n")
    text = rule(f"(STEP + {UNTRACED})", f"from {helper.stem} import STEP")
    made, found = Experiment("kuhn_poker", text, 40), []
    for step in (0.25, 4.0):
        helper.write_text(f"STEP = {step}\n")
        found.append(gaps(made.run(tmp_path / "results", workers=1)))
        assert found[-1] == gaps(made.run(workers=1))
    assert found[0] != found[1]


GAME = """
from regretkit.games import matrix_game

STAKE = {stake}
mine = matrix_game([[STAKE, -1.0], [-1.0, 1.0]])


def scaled(by=1.0):
    return matrix_game([[by * STAKE, -1.0], [-1.0, 1.0]])
"""


def test_own_games_are_named_by_file_and_module_and_run_again_once_edited(tmp_path, monkeypatch):
    path = tmp_path / f"games_{tmp_path.name.replace('-', '_')}.py"
    for stake in (2.0, 5.0):
        path.write_text(GAME.format(stake=stake))
        made = Experiment([f"{path}:mine", f"{path}:scaled(by=1|3)"], "cfr", 40)
        expected = [
            rk.solve(games.matrix_game([[x, -1.0], [-1.0, 1.0]]), "cfr", iterations=40).nash_conv()
            for x in (stake, stake, 3 * stake)
        ]
        assert gaps(made.run(tmp_path / "results", workers=0)) == expected
    monkeypatch.chdir(tmp_path)
    assert fresh(Experiment(f"{path.stem}:mine", "cfr", 40)) == expected[:1]


def test_equal_expressions_of_other_games_algorithms_and_numbers_are_other_runs(tmp_path):
    cases = [
        ("kuhn_poker", "cfr+", {}),
        ("kuhn_poker", "cfr+(gamma=2)", {}),
        ("kuhn_poker", "mccfr", {}),
        ("kuhn_poker", "mccfr", {"seeds": [1]}),
        ("kuhn_poker", "cfr+", {"iterations": 60}),
        ("kuhn_poker", "cfr+", {"measures": "exploitability"}),
        ("kuhn_poker", "cfr+", {"target_gap": 0.1}),
        ("kuhn_poker", "cfr+", {"sampling": "outcome"}),
        ("kuhn_poker", "cfr+", {"sampling": "external"}),
        ("kuhn_poker(deck=4)", "cfr+", {}),
        ({"kuhn_poker": games.kuhn_poker(deck=5)}, "cfr+", {}),
        ("kuhn_poker", {"cfr+": rk.Algorithm("cfr", averaging=Linear())}, {}),
        ("kuhn_poker", {"cfr+": rk.Algorithm("cfr")}, {}),
        ("kuhn_poker", {"cfr+": rk.play.named("efr-csps")}, {}),
        ("kuhn_poker", {"cfr+": rk.play.named("efr-cfps")}, {}),
    ]
    for number, (game, algorithm, given) in enumerate(cases):
        for _ in range(2):
            Experiment(game, algorithm, **{"iterations": 40} | given).run(tmp_path, workers=0)
            assert len(list(tmp_path.glob("*.json"))) == number + 1


# What fails


BAD = """
import os
import sys


class Raises(Mine):
    def _learn(self, utility, strategy):
        if self.iteration > 5:
            raise ZeroDivisionError("divided")


class Ends(Mine):
    def _learn(self, utility, strategy):
        sys.exit(3)


class Dies(Mine):
    def _learn(self, utility, strategy):
        if float(utility[0]) < 1e9:  # of a number, and of nothing that is traced
            os._exit(1)


class DiesOnce(Mine):
    def _learn(self, utility, strategy):
        if float(utility[0]) < 1e9 and not os.path.exists(__file__ + ".died"):
            open(__file__ + ".died", "x")
            os._exit(1)
        super()._learn(utility, strategy)
"""


def test_a_rule_that_fails_costs_its_own_runs_alone(tmp_path, capfd):
    path = tmp_path / "failing_rules.py"
    path.write_text(bench_victim.RULE + "\nprint('imported')\n" + BAD)
    text = ", ".join(f"{path}:{name}" for name in ("Raises", "Ends", "Mine"))
    found = Experiment("kuhn_poker", text, 20).run(tmp_path / "results", workers=0)
    assert [run.algorithm for run in found.runs] == ["Mine"]
    first, second = found.failures.values()
    assert "ZeroDivisionError: divided (failing_rules.py, line" in first
    assert "SystemExit: 3 (failing_rules.py, line" in second
    assert "imported" not in capfd.readouterr().out


def test_a_rule_that_ends_its_process_costs_its_own_runs_alone(tmp_path):
    path = tmp_path / "ending_rules.py"
    path.write_text(bench_victim.RULE + BAD)
    text = f"cfr, {path}:Dies, {path}:DiesOnce, cfr+"
    found = Experiment("kuhn_poker", text, 10).run(tmp_path / "r", workers=2)
    assert [run.algorithm for run in found.runs] == ["cfr", "DiesOnce", "cfr+"]
    [reason] = found.failures.values()
    assert "process ended" in reason


def test_damaged_changed_and_swapped_files_are_left_out_and_run_again(tmp_path):
    made = Experiment("kuhn_poker", "cfr, cfr+", 20)
    whole = gaps(made.run(tmp_path, workers=0))
    first, second = sorted(tmp_path.glob("*.json"))
    one, two = first.read_bytes(), second.read_bytes()
    content = json.loads(two)
    content["columns"]["nash_conv"][-1] = 0.0
    columns = json.dumps(content).encode()
    seed = two.replace(b'"seed": null', b'"seed": 1')
    for damaged in (two[:100], b"", b"[" * 10**5, columns, seed, one):
        second.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match=second.name):
            assert len(read_results(tmp_path).runs) == 1
        with pytest.warns(RuntimeWarning, match="the run is repeated"):
            assert gaps(made.run(tmp_path, workers=0)) == whole
        assert sorted(gaps(read_results(tmp_path))) == sorted(whole)
    first.write_bytes(second.read_bytes())
    second.write_bytes(one)
    with pytest.warns(RuntimeWarning, match="another run"):
        assert read_results(tmp_path).runs == []


def test_runs_of_another_machine_are_merged_by_copying_their_files(tmp_path):
    mine = Experiment("kuhn_poker", "cfr, cfr+", 20).run(tmp_path / "a", workers=0)
    Experiment("kuhn_poker", "cfr+, dcfr", 20).run(tmp_path / "b", workers=0)
    for path in (tmp_path / "b").glob("*.json"):
        shutil.copy(path, tmp_path / "a")
    found = read_results(tmp_path / "a")
    assert [run.algorithm for run in found.runs] == ["cfr", "cfr+", "dcfr"]
    assert found.runs[0].columns == mine.runs[0].columns
    more = Experiment("kuhn_poker", "pcfr+, cfr+, lcfr", 20)  # of which the second is there
    again = more.run(tmp_path / "a", workers=0)
    assert [run.algorithm for run in again.runs] == ["pcfr+", "cfr+", "lcfr"]
    assert gaps(again) == fresh(more)
    with pytest.raises(FileNotFoundError):
        read_results(tmp_path / "c")


def test_the_command_of_a_result_plays_it_again(tmp_path):
    made = Experiment("kuhn_poker(deck=4)", "mccfr", 20, seeds=[2], measures="exploitability")
    [run] = made.run(tmp_path / "a", workers=0).runs
    words = run.command.replace("--out=again", f"--out={tmp_path / 'b'}")
    subprocess.run([sys.executable, "-m", *shlex.split(words)], check=True, capture_output=True)
    again = {other.seed: other for other in read_results(tmp_path / "b").runs}
    assert again[2].columns["exploitability"] == run.columns["exploitability"]


def test_results_are_in_the_order_that_was_given(tmp_path):
    for text in ("pcfr+, cfr", "dcfr, cfr", "cfr+"):
        Experiment(["leduc_poker", "kuhn_poker"], text, 3).run(tmp_path, workers=0)
    found = read_results(tmp_path)
    assert found.algorithms == ["pcfr+", "cfr", "dcfr", "cfr+"]
    assert list(found.curves()) == ["leduc_poker", "kuhn_poker"]


def test_own_code_is_called_by_its_name_without_the_file_unless_two_have_one(rule, tmp_path):
    text = rule()
    (tmp_path / "b.py").write_text((tmp_path / "my_rule.py").read_text())
    assert names(f"{text}(power=1|2), cfr") == ["Mine(power=1)", "Mine(power=2)", "cfr"]
    both = [text, f"{tmp_path / 'b.py'}:Mine"]
    assert names(both) == both
    assert names({"grid": f"{text}(power=1|2)"}) == ["grid(power=1)", "grid(power=2)"]


# In processes


def test_what_other_processes_cannot_build_runs_in_this_one(tmp_path):
    made = Experiment("kuhn_poker", {"mine": lambda simplices: rk.RegretMatching(simplices)}, 10)
    assert made.run(tmp_path / "a", workers=2).runs[0].algorithm == "mine"
    program = "from regretkit.workbench import Experiment; Experiment('chicken', 'cfr', 1).run"
    typed = f"{program}({str(tmp_path / 'b')!r}, workers=2)"
    subprocess.run([sys.executable, "-"], input=typed, text=True, check=True)
    assert len(read_results(tmp_path / "b").runs) == 1
