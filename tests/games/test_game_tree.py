"""The flat tree of a game: what its arrays mean, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from attrs import frozen
from naive_levels import Leduc
from refusals import refusals

from regretkit import games
from regretkit.games import CHANCE, TERMINAL, GameTree

ROOTS = {
    "kuhn": games.as_history(games.KuhnPoker()),
    "kuhn, 3 players": games.as_history(games.KuhnPoker(3)),
    "leduc, suits merged": Leduc(merge_suits=True),
}


@frozen
class Written:
    """A history of a game that is written down as nested dictionaries.

    ``{"player": 0, "set": "I", "a": ..., "b": ...}`` acts, ``{"chance": [("h", 0.5), ...]}`` is
    chance's, ``...`` is no history, and anything else is the payoffs at the end.
    """

    node: object

    def is_terminal(self):
        return not isinstance(self.node, dict)

    def player(self):
        return CHANCE if "chance" in self.node else self.node["player"]

    def chance_outcomes(self):
        return self.node["chance"]

    def actions(self):
        return self.node.get("actions", [a for a in self.node if a not in {"player", "set"}])

    def child(self, action):
        return None if self.node[action] is ... else Written(self.node[action])

    def information_set(self):
        return self.node.get("set", "I")

    def payoffs(self):
        return self.node


def choice(player=0, label="I", **children):
    return {"player": player, "set": label, **children}


def chance(*probabilities, **children):
    return {"chance": list(zip(children, probabilities, strict=True)), **children}


def tree_of(node):
    return GameTree.from_history(Written(node))


def by_level(root):
    """Return all histories in breadth-first order, each with its path, found naively."""
    level, found = [((), root)], []
    while level:
        found += level
        level = [
            ((*path, action), history.child(action))
            for path, history in level
            if not history.is_terminal()
            for action in (
                [a for a, _ in history.chance_outcomes()]
                if history.player() == CHANCE
                else history.actions()
            )
        ]
    return found


# What the arrays mean


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_arrays_say_what_the_histories_do_one_by_one(root):
    tree, known = GameTree.from_history(root), by_level(root)
    assert [tree.history_path(history) for history in range(tree.histories)] == [
        p for p, _ in known
    ]
    assert tree.depth == max(len(path) for path, _ in known)
    histories = [history for _, history in known]
    ends = [history for history in histories if history.is_terminal()]
    assert tree.payoffs.tolist() == [list(history.payoffs()) for history in ends]
    assert tree.payoff_bounds == tuple(zip(tree.payoffs.min(0), tree.payoffs.max(0), strict=True))
    seen = [{} for _ in range(tree.players)]
    for index, history in enumerate(histories):
        player = TERMINAL if history.is_terminal() else history.player()
        assert tree.player[index] == player
        if player < 0:
            assert tree.information_set[index] == -1
            continue
        number = seen[player].setdefault(history.information_set(), len(seen[player]))
        assert tree.information_set[index] == number
        assert tree.labels[player][number] == history.information_set()
        assert tree.actions[player][number] == tuple(history.actions())
    assert tree.information_sets == tuple(map(len, seen))


def test_sizes_are_those_of_the_names_which_rules_give_when_asked():
    tree = GameTree.from_rules(games.LeducPoker())
    for sizes, actions in zip(tree.sizes, tree.actions, strict=True):
        assert sizes.tolist() == [*map(len, actions)]


def test_arrays_are_read_only_and_those_that_may_be_written_to_are_copied():
    payoffs = np.array([[1.0], [2.0]])
    view = payoffs.view()
    view.setflags(write=False)
    trees = one_choice(payoffs=payoffs), one_choice(payoffs=view)
    payoffs[0] = 7.0

    assert [tree.payoffs[0, 0] for tree in trees] == [1.0, 1.0]
    for name in (*WHOLE, "action", "probability", "payoffs", "terminals"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(trees[0], name)[0] = 5


def test_a_player_without_moves_and_imperfect_recall_are_fine():
    repeated = choice(0, "I", a=[1.0, 0.0], b=[2.0, 0.0])
    tree = tree_of(choice(0, "I", a=repeated, b=repeated))
    assert tree.information_sets == (1, 0)
    assert tree.information_set.tolist() == [0, 0, 0, -1, -1, -1, -1]


def test_chance_may_give_an_outcome_probability_zero_and_be_off_by_rounding():
    third = float(Fraction(1, 3))
    certain = tree_of(chance(1.0, 0.0, h=[1.0], t=[2.0]))
    thirds = tree_of(chance(third, third, third, a=[0.0], b=[0.0], c=[0.0]))
    assert certain.probability.tolist() == [1.0, 1.0, 0.0]
    assert thirds.probability[1:].tolist() == [third] * 3


# What histories may not do, with the history that shows it


def before(node):
    """Return a choice with a node after the first action."""
    return choice(0, "J", a=node, b=[0.0])


K_PB, K_PC = (choice(1, "K", **{a: [0, 0] for a in actions}) for actions in ("pb", "pc"))
TWICE = {"player": 0, "actions": ["x", "y", "x"], "x": [0.0], "y": [0.0]}
NAN = float("nan")
test_what_makes_no_tree_is_refused_with_the_history_that_shows_it = refusals(
    (
        choice(0, a=K_PB, b=K_PC),
        r"information set 'K' of player 1 has actions \['p', 'b'\] at history 'a', "
        r"but \['p', 'c'\] at history 'b'; histories of",
    ),
    *(
        (before(chance(*drawn, h=[0.0], t=[0.0])), "at history 'a' must be at least 0 and sum to 1")
        for drawn in [(0.5, 0.6), (-0.5, 1.5), (NAN, 1.0)]
    ),
    (before(choice(0, "K")), r"actions\(\) must be at least one.* \[\] at history 'a'"),
    (before(TWICE), r"without duplicates, got .* at history 'a'"),
    (before([1.0, 2.0]), r"one number for each player, everywhere, got \[0.0\] at history 'b'"),
    (before(None), "one number for each player, everywhere, got .* at history '[ab]'"),
    (before([NAN]), "finite, got nan at history 'a'"),
    (before([1.1e100]), r"at most 1e\+100 in size, got .* at history 'a'"),
    ([], r"one number for each player, everywhere, got \[\] at the empty history"),
    (before(choice(2, "K", b=[0.0])), r"player 2, .* acts at history 'a', but .* only 1 columns"),
    (before(choice(-2, "K", b=[1.0])), "CHANCE, which is -1, got .* at history 'a'"),
    call=tree_of,
    error=ValueError,
)
test_what_has_the_wrong_type_is_refused = refusals(
    (choice(0, ["I"], a=[0.0]), "unhashable type"),
    (before({"player": 0, "actions": None}), "NoneType"),
    (before(choice(0, "K", x=...)), r"child\('x'\) must be a new History, got None"),
    call=tree_of,
    error=TypeError,
)


def test_what_is_no_history_is_refused():
    with pytest.raises(TypeError, match="the methods of a History, got 'kuhn' without"):
        GameTree.from_history("kuhn")


# What arrays by hand may not say


def one_choice(**changes):
    """Return the tree in which one player chooses between two ends, with some arguments changed."""
    arguments = {
        "parent": [-1, 0, 0],
        "player": [0, TERMINAL, TERMINAL],
        "information_set": [0, -1, -1],
        "probability": [1.0, 1.0, 1.0],
        "payoffs": [[1.0], [2.0]],
        "labels": [["I"]],
        "actions": [[["a", "b"]]],
        "outcomes": [],
    }
    return GameTree(**(arguments | changes))


CHANCES = {"player": [CHANCE, -2, -2], "information_set": [-1, -1, -1], "labels": [[]]}
CHANCES |= {"actions": [[]], "outcomes": [["h", "t"]]}
WHOLE = ("parent", "player", "information_set")
test_arrays_that_do_not_fit_together_are_refused = refusals(
    ({"probability": [1.0]}, r"probability must have shape \(3,\) for 3 histories.*, got \(1,\)"),
    ({"payoffs": [1.0, 2.0]}, r"payoffs must have shape \(2, 1\) .*, got \(2,\)"),
    ({"payoffs": [[1.0], [np.nan]]}, r"payoffs must be finite, got nan at history 'b'"),
    ({"labels": [["I"], []], "payoffs": [[1.0, 2.0]] * 2}, "a list for each player, got 2 and 1"),
    ({"parent": [0, 0, 0]}, "parent must begin with -1"),
    ({"parent": [-1, 0, 2]}, "not decrease, and precede its children"),
    ({"player": [1, -2, -2]}, r"player\[0\] is 1, but player is 0 to 0"),
    ({"player": [0, 0, -2], "payoffs": [[1.0]]}, r"player\[1\] is 0, .* without children"),
    ({"information_set": [0, 0, -1]}, r"information_set\[1\] is 0, .* where no player acts"),
    ({"information_set": [1, -1, -1]}, r"information_set\[0\] is 1, .* first occurrence"),
    ({"labels": [["I", "J"]]}, "1 information sets, but 2 labels and 1 tuples of actions"),
    ({"actions": [[["a"]]]}, r"information_set\[0\] is 0, .* the same actions"),
    ({**CHANCES, "outcomes": [["h"]]}, "outcomes must name the outcomes of each"),
    ({"probability": [1.0, 0.5, 0.5]}, r"probability\[1\] is 0\.5, .* 1 after players"),
    ({**CHANCES, "probability": [1, 0.5, 0.4]}, "the empty history must .* sum to 1"),
    # Numbers of more than 32 bits are not cut.
    ({"information_set": [2**32, -1, -1]}, rf"information_set\[\d\] is {2**32}"),
    call=lambda changes: one_choice(**changes),
    error=ValueError,
)
test_what_are_no_numbers_or_not_whole_is_refused = refusals(
    *(({name: [0.5, 1.0, 2.0]}, f"{name} must be whole numbers") for name in WHOLE),
    ({"payoffs": [["much"], ["little"]]}, "payoffs must be numbers"),
    call=lambda changes: one_choice(**changes),
    error=TypeError,
)
test_the_path_of_a_history_that_is_not_there_is_refused = refusals(
    (3, ValueError, "history must be one of 0 to 2"),
    ("x", TypeError, "history must be a number, got"),
    call=one_choice().history_path,
)
