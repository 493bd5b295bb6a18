"""Pursuit-evasion has the values and the size that its rules lead to, written down once more."""

from itertools import product

import pytest
from refusals import refusals

from regretkit.evaluation import solve_zero_sum
from regretkit.games import ExtensiveFormGame, PursuitEvasion, as_history, load

# The same rules for one history: nodes are words, knowledge is a tuple.

AHEAD = {"S": ["a1", "a2", "a3"]}
AHEAD |= {f"{x}{n}": [f"{y}{n}"] for x, y in ("ab", "bc", "cg") for n in "123"}
AHEAD["b1"], AHEAD["b3"] = ["b2", "c1"], ["b2", "c3"]
BESIDE = {"1": "12", "2": "123", "3": "23"}
PAID = {"g1": 5.0, "g2": 10.0, "g3": 3.0}


class Naive:
    """A turn is two moves, of which the second does not see the first."""

    def __init__(self, turns, at="S", rows="22", traces=(), knows=((), ()), hidden=False):
        self.turns, self.at, self.rows, self.traces = turns, at, rows, frozenset(traces)
        self.knows, self.hidden = knows, hidden

    def is_terminal(self):
        met = not self.hidden and self.at in (f"a{self.rows[0]}", f"c{self.rows[1]}")
        return met or self.at in PAID or (not self.hidden and len(self.knows[1]) == self.turns)

    def player(self):
        return int(self.hidden)

    def chance_outcomes(self):
        return ()

    def actions(self):
        if self.hidden:
            return ["".join(pair) for pair in product(*(BESIDE[row] for row in self.rows))]
        return [*AHEAD[self.at], *([] if self.at == "S" else ["stay"])]

    def child(self, action):
        mine, theirs = self.knows
        if not self.hidden:
            at, traces = (self.at, self.traces - {self.at}) if action == "stay" else (action, None)
            traces = self.traces | {at} if traces is None else traces
            return Naive(self.turns, at, self.rows, traces, ((*mine, action), theirs), hidden=True)
        found = tuple(f"{x}{row}" in self.traces for x, row in zip("ac", action, strict=True))
        knows = mine, (*theirs, (action, found))
        return Naive(self.turns, self.at, action, self.traces, knows)

    def information_set(self):
        return f"{self.player()}{self.knows[self.player()]}"

    def payoffs(self):
        won = PAID.get(self.at, 0.0)
        if self.at in (f"a{self.rows[0]}", f"c{self.rows[1]}"):
            won = -1.0
        return [won, -won]


@pytest.mark.parametrize("turns", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.deep)])
def test_the_game_is_that_of_rules_written_for_one_history(turns):
    game = load(f"pursuit_evasion(turns={turns})")
    naive = ExtensiveFormGame.from_history(Naive(turns))
    for tree in (game.tree, naive.tree):
        assert tree.histories == naive.tree.histories
        assert tree.terminals.size == naive.tree.terminals.size
        assert [len(part) for part in tree.labels] == [len(part) for part in naive.tree.labels]
    assert sorted(game.payoffs[0]) == sorted(naive.payoffs[0])
    values = [solve_zero_sum(each).value for each in (game, naive)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_a_mark_follows_the_patrol_that_found_a_trace():
    history = as_history(PursuitEvasion())
    for action in ("a1", "2 2", "b1", "1 1", "wait"):
        history = history.child(action)
    assert history.information_set() == "1:2 2,1! 1"


test_what_is_no_game_is_refused = refusals(
    ("pursuit_evasion(turns=0)", "turns must be a whole number from 1 to 1000, got 0"),
    ("pursuit_evasion(goals=[])", "goals must be 1 to 9 numbers, one for each row"),
    ("pursuit_evasion(goals=[1]*10)", "literals"),
    ("pursuit_evasion(goals=(1, 1, 1, 1, 1, 1, 1, 1, 1, 1))", "goals must be 1 to 9 numbers"),
    call=load,
    error=ValueError,
)
