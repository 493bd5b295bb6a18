"""Messages quote at most 200 characters of what came, all by one function."""

import ast
from pathlib import Path

import numpy as np
import pytest

import regretkit as rk
from regretkit import games, play
from regretkit.__main__ import main
from regretkit._util._validate import quote

LONG = "n" * 100_000
ROOT = Path(rk.__file__).parent

WRONG = {
    "the name of a game": lambda: games.load(LONG),
    "the arguments of a game": lambda: games.load(f"kuhn_poker(deck='{'n' * 900}')"),
    "an algorithm": lambda: rk.solve(games.kuhn_poker(), LONG, iterations=1),
    "an engine": lambda: rk.solve(games.kuhn_poker(), "cfr", iterations=1, engine=LONG),
    "a hyperparameter": lambda: rk.Hedge(3, learning_rate=LONG),
    "a list in place of numbers": lambda: rk.RegretMatching(3).observe_utility([LONG, LONG, 1.0]),
    "an array": lambda: rk.RegretMatching(3).observe_utility(np.array([LONG] * 3)),
    "a list of sizes": lambda: rk.Simplices([0] * 100_000),
    "payoffs": lambda: rk.matrix_game([[1.0] * 9_999, [1.0]]),
    "actions": lambda: rk.NormalFormGame(np.zeros((1, 2)), actions=LONG),
    "an information set": lambda: rk.solve(games.kuhn_poker(), iterations=1).average[LONG],
    "places": lambda: play.TrajectoryRecorder([3.5] * 100_000),
    "the name of a file": lambda: games.save(games.kuhn_poker(), LONG),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_a_message_stays_short_however_long_what_came_is(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "words",
    [
        [LONG],
        [f"--{LONG}"],
        ["solve", LONG],
        ["solve", f"{LONG}.efg"],
        ["solve", "kuhn_poker", LONG],
        ["solve", "kuhn_poker", "--algorithm", LONG],
        ["solve", "kuhn_poker", "--iterations", LONG],
        ["solve", "kuhn_poker", "--engine", LONG],
        ["solve", "kuhn_poker", "--rule", LONG],
        ["solve", "kuhn_poker", "--rule", f"{LONG}:X"],
        ["solve", "kuhn_poker", "--rule", f"regretkit:{LONG}"],
        ["solve", "kuhn_poker", "--out", f"{LONG}.json"],
        ["compare", LONG, "--algorithms", "cfr"],
        ["convert", "kuhn_poker", f"{LONG}.nfg"],
        ["evaluate", "kuhn_poker", LONG],
        ["resume", LONG],
    ],
    ids=lambda words: " ".join(word[:12] for word in words),
)
def test_the_command_line_never_repeats_more_than_the_beginning(words, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert len(err) < 1_500
    assert "n" * 201 not in err


def test_what_is_quoted_is_the_repr_of_its_beginning():
    assert quote("it's") == repr("it's")
    assert quote([1, 2]) == "[1, 2]"
    assert len(quote(LONG)) == 200
    assert quote(LONG) == f"'{'n' * 196}..."
    assert quote(list(range(1_000)), 20) == "[0, 1, 2, 3, 4, 5..."


def quoted_elsewhere(module):
    """Return the lines of a module where an error quotes the whole ``repr`` of a value."""
    raised = [
        node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Raise)
    ]
    values = [value for node in raised for value in ast.walk(node)]
    return [
        value.lineno
        for value in values
        if isinstance(value, ast.FormattedValue) and value.conversion == ord("r")
    ]


@pytest.mark.parametrize(
    "module",
    [
        path for path in sorted(ROOT.rglob("*.py")) if path.name != "_lazy_import.py"
    ],  # names in code
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_error_quotes_by_that_function(module):
    assert not quoted_elsewhere(module)
