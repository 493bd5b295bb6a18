"""Invalid arguments are refused in one line with the value given and the values allowed."""

import builtins
import json
import os
import shlex
import sys
from pathlib import Path

import pytest

import regretkit as rk
from regretkit import games
from regretkit.__main__ import main
from regretkit.cli._run import RunMonitor
from regretkit.play import SelfPlay, resume

EXAMPLES = Path(__file__).parents[2] / "examples" / "games"

RULES = """
from regretkit import RegretMatching, SimplexRule

class Unfinished(SimplexRule):
    def _propose(self):
        return self.simplices.uniform()

class Other:
    def __init__(self, simplices):
        pass

one = RegretMatching(2)
number = 3

def needs_rate(simplices, *, rate):
    return RegretMatching(simplices)
"""

LONG = "n" * 300

WRONG = [
    # The name of a command
    ("sovle kuhn_poker", "No such command 'sovle'"),
    ("certify kuhn_poker", "No such command 'certify'; exact proves, with --certificate FILE"),
    ("solve kuhn_poker --exact", "No such option '--exact'; the command is regretkit exact"),
    ("solve kuhn_poker --target-gap 0.1", "'--target-gap'; a gap to stop at is --gap"),
    ("bench --rule rules:Unfinished", "write regretkit bench MODULE:CLASS"),
    ("--wrong", "--wrong"),
    ("plot curves.csv", "No such command 'plot'; solve and compare draw a figure, with --plot"),
    ("'kuhn_poker(deck=4)'", "it is a game, try regretkit solve 'kuhn_poker(deck=4)'"),
    # Games
    ("solve", "Missing argument 'GAME'"),
    ("solve kuhn", "GAME: there is no game 'kuhn'; did you mean kuhn_poker?"),
    ("solve ''", "GAME: got nothing; name a game of the catalogue"),
    ("solve 'kuhn_poker('", "GAME: cannot read 'kuhn_poker('"),
    ("solve kuhn_poker:deck=4", "write 'kuhn_poker(deck=4)' in quotation marks"),
    ("solve 'kuhn_poker(players=1)'", "GAME: players must be a whole number from 2 to 13, got 1"),
    ("solve 'kuhn_poker(cards=3)'", "unexpected keyword argument 'cards'; it is kuhn_poker("),
    ("solve 'kuhn_poker(deck=open(1))'", "must be literals"),
    ("solve 'liars_dice(sides=40)'", "memory"),
    ("solve kuhn_poker chicken", "argument (chicken); regretkit compare plays many games"),
    ("solve kuhn_poker deck=4", "a game's arguments are written as in 'kuhn_poker(deck=5)'"),
    ("compare kuhn_poker cfr,dcfr", "cfr,dcfr are algorithms; name them after --algorithms"),
    ("compare kuhn_poker --algorithms 'cfr;dcfr'", "algorithms are separated by commas"),
    ("report nothere", "No such file or directory; name one that regretkit bench --out wrote"),
    ("solve nothere.efg", "GAME: 'nothere.efg': No such file or directory; name an"),
    ("solve cut.efg", "GAME: cut.efg, line 2, column"),
    ("solve odd.efg", r"got '\x1b[31m"),
    ("solve folder", "GAME: 'folder': Is a directory"),
    (f"solve {EXAMPLES}/absent_minded_driver.efg", "imperfect recall: player 0"),
    ("solve openspiel:nope", "OpenSpiel has no game 'nope'"),
    ("exact 'kuhn_poker(players=3)'", "is solved exactly with --concept only"),
    ("exact chicken --concept efce", "--concept: chicken is in normal form"),
    ("exact kuhn_poker --concept ce", "'ce' is not one of 'efce', 'efcce', 'nfcce'"),
    ("games nope", "NAME: there is no game 'nope'; the games are"),
    # Numbers
    ("solve kuhn_poker --iterations ten", "at least 1, got 'ten'"),
    ("solve kuhn_poker --iterations 0", "'--iterations': must be a whole number"),
    ("solve kuhn_poker --iterations 1.5", "at least 1, got '1.5'"),
    ("solve kuhn_poker --gap 0", "'--gap': must be a finite number above 0, got '0'"),
    ("solve kuhn_poker --gap nan", "above 0, got 'nan'"),
    ("solve kuhn_poker --time inf", "above 0, got 'inf'"),
    ("solve kuhn_poker --seed 3", "--seed: got 3, but nothing is drawn"),
    ("solve kuhn_poker --seed x --sample chance", "at least 0, got 'x'"),
    ("show kuhn_poker --limit 0", "at least 1, got '0'"),
    ("evaluate kuhn_poker uniform --threshold 2", "from 0 to 1, got '2'"),
    # Limits without a guarantee
    ("solve chicken --gap 1e-9", "pass --iterations or --time as well"),
    ("solve kuhn_poker --gap 1e-30", "--gap: 1e-30 alone could go on forever"),
    ("solve kuhn_poker --gap 1 --rule 'rules_typed:needs_rate(rate=1)'", "--gap: 1"),
    ("compare kuhn_poker chicken --algorithms cfr --gap 1e-9", "--gap: 1e-09"),
    # Words
    ("solve kuhn_poker --itrations 5", "--iterations"),
    ("solve kuhn_poker --algorithm crf+", "--algorithm: there is no algorithm 'crf+'"),
    ("solve kuhn_poker --algorithm 'dcfr(alpha=1|2)'", "is a grid, which compare and bench play"),
    ("solve kuhn_poker --algorithm 'dcfr(aplha=1)'", "no hyperparameter 'aplha', only alpha"),
    ("compare kuhn_poker --algorithms 'dcfr(alpha=0..1)'", "write 0:1:step"),
    ("solve kuhn_poker --algorithm cfr --algorithm dcfr", "got cfr and dcfr; compare plays sev"),
    ("solve kuhn_poker --algorithm 'cfr dcfr'", "are separated by commas; write cfr,dcfr"),
    ("solve kuhn_poker --algorithm 'cfr dcfr (alpha=2)'", "write cfr,dcfr(alpha=2)"),
    ("compare kuhn_poker --algorithms 'cfr  dcfr(alpha = 2)'", "write cfr,dcfr(alpha = 2)"),
    ("trace my_rules", "or pass a rule's class, in a shell module:Class"),
    ("solve kuhn_poker --engine fast", "'fast' is not one of 'auto'"),
    ("solve kuhn_poker --sample some", "'some' is not one of 'chance'"),
    ("solve chicken --sample chance", "--sample: game must be in extensive form"),
    ("compare kuhn_poker", "Missing option '--algorithms'"),
    ("compare kuhn_poker --algorithms ,", "--algorithms: got none; name some of cfr"),
    ("compare kuhn_poker --algorithms cfr,nope", "--algorithms: there is no"),
    ("compare kuhn_poker nope --algorithms cfr", "GAMES: there is no game 'nope'"),
    (
        "compare 'kuhn_poker,kuhn_poker(deck=4, players=2)' --algorithms cfr",
        "separated by spaces; write kuhn_poker 'kuhn_poker(deck=4, players=2)'",
    ),
    ("compare kuhn_poker, --algorithms cfr", "separated by spaces; write kuhn_poker"),
    ("compare kuhn_poker --algorithms cfr dcfr", "GAMES: dcfr is an algorithm"),
    ("compare kuhn_poker --algorithms x:Y", "--algorithms: there is no module 'x'"),
    ("evaluate kuhn_poker uniform --purify --threshold .1", "--purify: it is"),
    # Rules
    ("solve kuhn_poker --rule my_rules.py", "got 'my_rules.py'; write my_rules:MyRule"),
    ("solve kuhn_poker --rule regretkit:Hedge", "as in 'regretkit:Hedge(name=value)'"),
    ("solve kuhn_poker --rule Mine", "--rule: must be module:Class, got 'Mine'"),
    ("solve kuhn_poker --rule rules_typed.py:Other", "write rules_typed:Other"),
    ("solve kuhn_poker --rule nothere:X", "there is no module 'nothere'"),
    ("solve kuhn_poker --rule broken:X", "--rule: broken: broken.py, line 2: "),
    ("solve kuhn_poker --rule ends:X", "ends failed with SystemExit"),
    ("solve kuhn_poker --rule needs:X", "needs failed with ModuleNotFoundError"),
    ("solve kuhn_poker --rule rules_typed:Nope", "has no 'Nope'; it has RegretMatching"),
    ("solve kuhn_poker --rule rules_typed:Unfinished", "is abstract, it lacks _learn"),
    ("solve kuhn_poker --rule rules_typed:Other", "rules_typed:Other cannot play"),
    ("solve kuhn_poker --rule rules_typed:one", "is a minimizer already"),
    ("solve kuhn_poker --rule rules_typed:number", "is 3, and neither a class"),
    ("solve kuhn_poker --rule rules_typed:needs_rate", "pass them as in 'rules_typed:need"),
    ("solve kuhn_poker --rule 'rules_typed:needs_rate(1)'", "literals with their names"),
    ("solve kuhn_poker --rule 'rules_typed:needs_rate(rate=x)'", "literals with their"),
    ("solve kuhn_poker --rule 'rules_typed:needs_rate(raet=1)'", "argument 'raet'; it has"),
    ("solve kuhn_poker --rule regretkit.play:cfr --algorithm cfr", "leave one"),
    # Files to write
    ("solve kuhn_poker --out a.txt", "--out: the name of the file must end in .json or"),
    ("solve kuhn_poker --out nowhere/a.json", "there is no folder 'nowhere'; make it"),
    (f"solve kuhn_poker --out {LONG}.json", "File name too long"),
    (f"solve kuhn_poker --checkpoint {LONG}", "File name too long"),
    (f"compare kuhn_poker,{LONG} --algorithms cfr", "separated by spaces; write kuhn"),
    ("solve kuhn_poker --out pipe.json", "--out: 'pipe.json': is a device or a pipe"),
    ("solve kuhn_poker --plot pipe.svg", "--plot: 'pipe.svg': is a device or a pipe"),
    ("solve kuhn_poker --checkpoint /dev/null", "'/dev/null': is a device or a pipe"),
    ("convert kuhn_poker pipe.efg", "OUT: 'pipe.efg': is a device or a pipe"),
    ("show kuhn_poker --plot pipe.svg", "--plot: 'pipe.svg': is a device or a pipe"),
    ("solve kuhn_poker --plot a.gif", "--plot: the name of the file must end in .svg"),
    ("solve kuhn_poker --checkpoint folder", "--checkpoint: 'folder': is a folder"),
    ("solve kuhn_poker --checkpoint run", "regretkit resume run continues it"),
    ("show blotto --plot a.svg", "pass --limit 441"),
    ("exact chicken --out a.json", "--out: chicken is no zero-sum game"),
    ("exact chicken --time 1", "--time: chicken is no zero-sum game"),
    ("exact kuhn_poker --finish --linear-program", "--finish: got --linear-program as well"),
    ("convert kuhn_poker", "Missing argument 'OUT'"),
    ("convert kuhn_poker a.txt", "OUT: the name of the file must end in .efg or .nfg"),
    ("convert kuhn_poker a.nfg", "kuhn_poker is in extensive form, got 'a.nfg'; let"),
    ("convert chicken a.efg", "chicken is in normal form, got 'a.efg'; let"),
    ("convert nope a.efg", "IN: there is no game 'nope'"),
    ("compare kuhn_poker --algorithms cfr --out a.json", "must end in .csv"),
    # Files to read
    ("play run", "GAME: 'run' is a checkpoint; regretkit resume run continues it"),
    ("play kuhn_poker run", "STRATEGY: 'run' is a checkpoint; regretkit resume run continues it"),
    ("resume", "Missing argument 'FILE'"),
    ("resume nothere", "FILE: 'nothere': No such file or directory; name one that solve"),
    ("resume cut", "FILE: cut is truncated"),
    ("resume a_strategy.json", "FILE: a_strategy.json is no checkpoint of regretkit"),
    ("resume folder", "FILE: 'folder': Is a directory"),
    ("resume run --game chicken", "belongs to the game kuhn_poker"),
    ("resume run --rule regretkit:RegretMatching", "run is of another run: minimizers"),
    ("resume run --iterations x", "at least 1, got 'x'"),
    ("evaluate kuhn_poker", "Missing argument 'STRATEGY'"),
    ("evaluate kuhn_poker nothere.json", "STRATEGY: 'nothere.json': No such file"),
    ("evaluate kuhn_poker ''", "STRATEGY: got nothing; name a file in .json"),
    ("play kuhn_poker ' '", "STRATEGY: got nothing; name a file in .json"),
    ("evaluate chicken a_strategy.json", "STRATEGY: a_strategy.json belongs to the game"),
    ("evaluate kuhn_poker cut", "name a file in .json that solve --out"),
    ("evaluate kuhn_poker a.csv", "tables in .csv are not read; name a file in .json"),
    ("solve a_strategy.json", "strategies in .json; the game comes first"),
    ("verify kuhn_poker proof.json", "the game comes first, except after a certificate"),
    ("solve kuhn-poker", "cannot read 'kuhn-poker'; did you mean 'kuhn_poker'?"),
    ("solve kuhn_poker dcfr", "(dcfr); write --algorithm dcfr"),
    ("games kuhn", "did you mean kuhn_poker? The games"),
    # Who plays
    ("play", "Missing argument 'GAME'"),
    ("play kuhn_poker uniform uniform", "of which you are one; name one for all the"),
    ("play 'kuhn_poker(players=3)' uniform uniform uniform", "others, or 2, one for each, got 3"),
    ("play kuhn_poker uniform uniform uniform --matches 5", "players, or 2, one for each, got 3"),
    (
        "play 'kuhn_poker(players=3)' uniform uniform uniform uniform",
        "name one for all the others, or 2, one for each, got 4",
    ),
    (
        "play 'kuhn_poker(players=3)' uniform uniform uniform uniform --matches 5",
        "name one for all players, or 3, one for each, got 4",
    ),
    (f"play {EXAMPLES}/absent_minded_driver.efg uniform", "name none, got 1"),
    ("play kuhn_poker --seat 2", "has 2 players, numbered from 0 to 1, got 2"),
    ("play kuhn_poker --seat -1", "'--seat': must be a whole number, at least 0"),
    ("play kuhn_poker --seed x", "at least 0, got 'x'"),
    ("play kuhn_poker --rounds 0", "'--rounds': must be a whole number, at least 1"),
    ("play kuhn_poker --matches 0", "'--matches': must be a whole number, at least 1"),
    ("play kuhn_poker --matches 5 --rounds 5", "--rounds: is how long you play"),
    ("play kuhn_poker --matches 5 --seat 0", "--seat: uniform plays for all"),
]


@pytest.fixture
def folder(folder):
    """Return the working directory, with files that are what they should not be."""
    Path("rules_typed.py").write_text(RULES)
    Path("broken.py").write_text("x = 1\ny = = 2\n")
    Path("ends.py").write_text("import sys\nsys.exit(0)\n")
    Path("needs.py").write_text("import a_module_that_does_not_exist\n")
    Path("cut.efg").write_text('EFG 2 R "cut" { "A" }\np "" 1 1 "x" { "l" "r" } 0')
    Path("odd.efg").write_text("\x1b[31mEFG")
    Path("folder").mkdir()
    for name in ("pipe.json", "pipe.svg", "pipe.efg"):
        os.mkfifo(name)
    run = rk.solve(games.kuhn_poker(), "cfr+", iterations=3)
    run.save("run")
    Path("cut").write_bytes(Path("run").read_bytes()[:400])
    run.average.to_json("a_strategy.json")
    return folder


@pytest.mark.deep_beyond(20)
@pytest.mark.parametrize(("line", "said"), WRONG, ids=[line[-60:] for line, _ in WRONG])
def test_invalid_arguments_are_refused_in_one_line(folder, capfd, line, said):
    if "openspiel:nope" in line:
        pytest.importorskip("pyspiel")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    code = main(shlex.split(line))
    out, err = capfd.readouterr()  # of the process, and not only of Python

    assert code == 2
    assert out == ""
    assert err.startswith("regretkit: ")
    assert err.count("\n") == 1
    assert said in err
    assert err.strip().isprintable()
    after = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


FORGED = [("algorithm", 3), ("algorithm", "crf+"), ("sample", "all"), ("gap_limit", "small")]


@pytest.mark.parametrize(("name", "value"), [*FORGED, ("rule", 1)])
def test_a_forged_checkpoint_is_refused(folder, capsys, name, value):
    monitor = RunMonitor()
    monitor.game, monitor.algorithm, monitor.iterations_limit = "kuhn_poker", "cfr+", 30
    setattr(monitor, name, value)
    rk.solve(games.kuhn_poker(), "cfr+", iterations=3).save("mine", callbacks=[monitor])

    assert main(["resume", "mine"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_deleted_working_folder_is_reported(tmp_path, capsys, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    for words in (["--rule", "nothere:X"], ["--out", "a.json"], ["--checkpoint", "a"]):
        assert main(["solve", "kuhn_poker", *words]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"regretkit: {words[0]}: ")
        assert err.count("\n") == 1
    installed = ["--rule", "regretkit:RegretMatching", "--iterations", "3"]
    assert main(["solve", "kuhn_poker", *installed]) == 0


def test_output_of_a_module_goes_to_standard_error(folder, capsys):
    Path("talks.py").write_text(
        "from regretkit import RegretMatching\n"
        "print('imported')\n"
        "def rule(simplices):\n"
        "    return RegretMatching(simplices)\n"
    )

    assert main(["solve", "kuhn_poker", "--rule", "talks:rule", "--iterations", "3", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["iterations"] == 3
    assert said.err == "imported\n"


def test_a_missing_package_is_named_with_its_extra(folder, capsys, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "pyspiel"):
        monkeypatch.setitem(sys.modules, name, None)

    for line, extra in [
        ("solve kuhn_poker --plot a.svg", "plot"),
        ("show kuhn_poker --plot a.svg", "plot"),
        ("show openspiel:kuhn_poker", "openspiel"),
    ]:
        assert main(line.split()) == 1
        assert f"pip install 'regretkit[{extra}]'" in capsys.readouterr().err


WRITTEN = [
    ("convert kuhn_poker", "old.efg", "OUT: cannot write 'old.efg'"),
    ("show kuhn_poker --plot", "old.svg", "--plot: cannot write 'old.svg'"),
    ("solve kuhn_poker --iterations 3 --out", "old.csv", "strategy to 'old.csv'"),
    ("solve kuhn_poker --iterations 3 --out", "old.json", "strategy to 'old.json'"),
    ("solve kuhn_poker --iterations 3 --plot", "old.svg", "figure to 'old.svg'"),
    ("compare chicken --algorithms cfr --iterations 3 --out", "old.csv", "--out"),
]


@pytest.mark.parametrize(("line", "name", "told"), WRITTEN)
def test_a_file_that_cannot_be_replaced_is_left_as_it_was(
    folder, capsys, monkeypatch, line, name, told
):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    if name == "old.svg":
        pytest.importorskip("matplotlib")
    Path(name).write_text("of before")
    before = {*folder.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert main([*line.split(), name]) == 1

    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert told in err
    assert "No space left on device" in err
    assert Path(name).read_text() == "of before"
    Path(name).chmod(0o600)
    assert main([*line.split(), name]) == 0
    assert Path(name).read_text() != "of before"
    assert Path(name).stat().st_mode & 0o777 == 0o600
    assert {*folder.iterdir()} == before


@pytest.mark.parametrize("more", [["50"], ["100000", "--checkpoint-every", "0.05"]])
def test_a_checkpoint_that_cannot_be_written_later_leaves_the_last_one(
    folder, capsys, monkeypatch, more
):
    save = SelfPlay.save

    def first_only(run, *args, **options):
        if run.iteration > 0:
            raise OSError(28, "No space left on device")
        save(run, *args, **options)

    monkeypatch.setattr(SelfPlay, "save", first_only)
    words = ["solve", "kuhn_poker", "--engine", "numpy", "--checkpoint", "new", "--iterations"]

    assert main([*words, *more]) == 1
    err = capsys.readouterr().err
    assert "--checkpoint: cannot write 'new': No space left on device" in err
    assert resume("new").iteration == 0


def test_an_error_of_the_library_is_named_and_shown_on_request(folder, capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError("oh")

    monkeypatch.setattr("regretkit.play._solve.solve_zero_sum", broken)

    assert main(["exact", "kuhn_poker"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "is a fault of regretkit's: KeyError: 'oh'; --traceback shows where" in err
    with pytest.raises(KeyError):
        main(["exact", "kuhn_poker", "--traceback"])


@pytest.mark.parametrize("wish", [[], ["--help"], ["solve", "--help"], ["compare", "-h"]])
def test_help_is_shown(capsys, wish):
    assert main(wish) == 0

    said = capsys.readouterr()
    assert said.out.startswith("Usage: regretkit")
    assert said.err == ""


def test_names_and_rules_are_never_evaluated(folder, capsys, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(builtins, "eval", refuse)
    monkeypatch.setattr("os.system", refuse)
    for word in ("kuhn_poker(deck=__import__('os').system('ls'))", "kuhn_poker(**{})"):
        assert main(["show", word]) == 2
    rule = "rules_typed:needs_rate(rate=__import__('os').system('ls'))"
    assert main(["solve", "kuhn_poker", "--rule", rule]) == 2


def test_a_checkpoint_never_decides_which_code_is_run(folder, capsys):
    rule = "rules_typed:needs_rate(rate=1)"
    words = ["solve", "kuhn_poker", "--iterations", "3", "--rule", rule, "--checkpoint", "new"]
    assert main(words) == 0
    Path("rules_typed.py").write_text("raise SystemExit('this was run')")
    sys.modules.pop("rules_typed")

    assert main(["resume", "new"]) == 2
    assert f"'{rule}'; pass it again" in capsys.readouterr().err
