"""The flat tree of a game: what its arrays mean, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from attrs import frozen
from naive_levels import Leduc
from refusals import refusals

from regretkit import games
from regretkit.games import CHANCE, GameTree
from regretkit.games.tree._history import TERMINAL

ROOTS = {
    "kuhn": games.as_history(games.KuhnPoker()),
    "kuhn, 3 players": games.as_history(games.KuhnPoker(3)),
    "leduc, suits merged": Leduc(merge_suits=True),
}
each_game = pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)


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
            for action in moves(history)
        ]
    return found


def moves(history):
    if history.is_terminal():
        return []
    if history.player() == CHANCE:
        return [action for action, _ in history.chance_outcomes()]
    return list(history.actions())


# What the arrays mean


@each_game
def test_histories_stand_level_by_level_in_the_order_of_their_parents_actions(root):
    tree = GameTree.from_history(root)
    paths = [tree.history_path(history) for history in range(tree.histories)]
    assert paths == [path for path, _ in by_level(root)]
    assert tree.depth == max(map(len, paths))


@each_game
def test_each_history_has_the_player_and_the_payoffs_of_the_rules(root):
    tree, histories = GameTree.from_history(root), [history for _, history in by_level(root)]
    assert tree.player.tolist() == [
        TERMINAL if history.is_terminal() else history.player() for history in histories
    ]
    assert tree.payoffs.tolist() == [
        list(history.payoffs()) for history in histories if history.is_terminal()
    ]
    assert (tree.player[tree.terminals] == TERMINAL).all()


@each_game
def test_two_histories_share_an_information_set_exactly_if_player_and_label_are_the_same(root):
    tree = GameTree.from_history(root)
    first_seen = [{} for _ in range(tree.players)]

    for index, (_, history) in enumerate(by_level(root)):
        if history.is_terminal() or history.player() == CHANCE:
            assert tree.information_set[index] == -1
            continue
        player, label = history.player(), history.information_set()
        numbers = first_seen[player]
        assert tree.information_set[index] == numbers.setdefault(label, len(numbers))
        assert tree.labels[player][numbers[label]] == label
        assert tree.actions[player][numbers[label]] == tuple(history.actions())
    assert tree.information_sets == tuple(map(len, first_seen))


def test_arrays_are_read_only_and_those_that_may_be_written_to_are_copied():
    payoffs = np.array([[1.0], [2.0]])
    view = payoffs.view()
    view.setflags(write=False)
    trees = one_choice(payoffs=payoffs), one_choice(payoffs=view)
    payoffs[0] = 7.0

    assert [tree.payoffs[0, 0] for tree in trees] == [1.0, 1.0]
    for name in (*WHOLE, "probability", "payoffs", "terminals"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(trees[0], name)[0] = 5


def test_a_game_that_is_over_at_once_has_one_history():
    tree = tree_of([3.0, 4.0])
    assert (tree.histories, tree.players, tree.depth) == (1, 2, 0)
    assert tree.payoffs.tolist() == [[3.0, 4.0]]
    assert tree.information_sets == (0, 0)
    assert tree.history_path(0) == ()


def test_one_label_names_an_information_set_of_every_player_that_uses_it():
    tree = tree_of(choice(0, "I", a=choice(1, "I", c=[0.0, 0.0]), b=choice(1, "I", c=[1.0, 1.0])))
    assert tree.labels == (("I",), ("I",))
    assert tree.actions == ((("a", "b"),), (("c",),))


def test_labels_and_actions_of_any_kind_are_named_by_str():
    tree = tree_of({"player": 0, "set": (1, "x"), "actions": [7, 8], 7: [0.0], 8: [1.0]})
    assert tree.labels == (("(1, 'x')",),)
    assert tree.actions == ((("7", "8"),),)


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


# What a walk refuses, with the history that shows it

K_PB, K_PC, K_BP = (
    choice(1, "K", **{a: [0, 0] for a in actions}) for actions in ("pb", "pc", "bp")
)
TWICE = {"player": 0, "actions": ["x", "y", "x"], "x": [0.0], "y": [0.0]}
NAN, INF = float("nan"), float("inf")


def before(node):
    """Return a choice with a node after the first action."""
    return choice(0, "J", a=node, b=[0.0])


test_what_makes_no_tree_is_refused_with_the_history_that_shows_it = refusals(
    (
        choice(0, a=K_PB, b=K_PC),
        r"information set 'K' of player 1 has actions \['p', 'b'\] at history 'a', "
        r"but \['p', 'c'\] at history 'b'; give",
    ),
    (chance(0.5, 0.5, J=choice(0, x=K_PB), Q=choice(0, x=K_BP)), "at history 'Q' 'x'; give"),
    (before(chance(0.5, 0.6, h=[0], t=[0])), r"at history 'a' sum to 1\.1, not to 1 .*divide"),
    *(
        (
            before(chance(first, second, h=[0.0], t=[0.0])),
            rf"outcome 'h' at history 'a' has probability {first}; pass",
        )
        for first, second in [(-0.5, 1.5), (NAN, 1.0), (INF, 0.0)]
    ),
    ({"chance": ["h", "t"]}, "pairs of an action and its probability, got .* at the"),
    (before(choice(0, "K")), r"actions\(\) is empty at history 'a'; .*is_terminal"),
    (before(chance()), r"chance_outcomes\(\) is empty at history 'a'"),
    (before(TWICE), r"actions\(\) has duplicates: .* at history 'a'"),
    (
        before({"chance": [("h", 0.5), ("h", 0.5)], "h": [0.0]}),
        r"chance_outcomes\(\) has duplicates: .* at history 'a'",
    ),
    (before([1.0, 2.0]), r"one number for each player, everywhere, got \[0.0\] at history 'b'"),
    *(
        (before(payoffs), "one number for each player, everywhere, got .* at history '[ab]'")
        for payoffs in (3.0, None, ["much", "little"], [[1.0], [2.0]])
    ),
    *((before([payoff]), rf"finite, got {payoff} at history 'a'") for payoff in (NAN, INF)),
    *(
        (before([payoff]), r"at most 1e\+100 in size, got .* at history 'a'")
        for payoff in (1.1e100, -1e308)
    ),
    ([], r"one number for each player, everywhere, got \[\] at the empty history"),
    (before(choice(2, "K", b=[0.0])), r"player 2 acts at history 'a', but .* 1 numbers"),
    *(
        (before(choice(player, "K", b=[1.0])), "CHANCE, which is -1, got .* at history 'a'")
        for player in (-2, -7, None, "Alice")
    ),
    call=tree_of,
    error=ValueError,
)


test_what_has_the_wrong_type_is_refused = refusals(
    (choice(0, ["I"], a=[0.0]), "unhashable type"),
    (before({"player": 0, "actions": None}), "NoneType"),
    (before(choice(0, "K", x=...)), r"child\(\) must return a History, got None"),
    ({"player": 0, "actions": [["x"]]}, "unhashable type"),
    call=tree_of,
    error=TypeError,
)


def test_what_is_no_history_is_refused():
    with pytest.raises(TypeError, match="the methods of a History, got 'kuhn' without"):
        GameTree.from_history("kuhn")


# What the constructor refuses


def one_choice(**changes):
    """Return the tree in which one player chooses between two ends, with some arguments changed."""
    arguments = {
        "parent": [-1, 0, 0],
        "player": [0, TERMINAL, TERMINAL],
        "information_set": [0, -1, -1],
        "action": [-1, 0, 1],
        "probability": [1.0, 1.0, 1.0],
        "payoffs": [[1.0], [2.0]],
        "labels": [["I"]],
        "actions": [[["a", "b"]]],
        "outcomes": [],
    }
    return GameTree(**(arguments | changes))


CHANCES = {"player": [CHANCE, -2, -2], "information_set": [-1, -1, -1], "labels": [[]]}
CHANCES |= {"actions": [[]], "outcomes": [["h", "t"]]}
WHOLE = ("parent", "player", "information_set", "action")
SHORT = {"probability": [1.0], "action": [-1], "information_set": [0], "player": [0]}


test_arrays_that_do_not_fit_together_are_refused = refusals(
    *[({name: value}, rf"{name} has shape \(1,\), but .* 3") for name, value in SHORT.items()],
    ({"payoffs": [1.0, 2.0]}, r"payoffs has shape \(2,\), .* pass shape \(2, 1\)"),
    ({"payoffs": [[1.0, 2.0], [3.0, 4.0]]}, r"2 terminal histories and 1 players"),
    ({"payoffs": [[1.0], [np.nan]]}, r"payoffs must be finite, got nan at history 'b'"),
    ({"labels": [], "actions": []}, "at least one player"),
    ({"labels": [["I"], []]}, "actions has lists for 1 players, but labels for 2"),
    ({"parent": [0, 0, 0]}, "parent must begin with -1"),
    ({"parent": [-1, -1, 0]}, r"parent\[1\] is -1, after -1; in breadth-first order"),
    ({"parent": [-1, 0, 2]}, r"parent\[2\] is 2, after 0; in breadth-first order"),
    ({"action": [-1, 1, 0]}, r"action\[1\] is 1, but history 1 is child 0 of its parent"),
    ({"player": [1, -2, -2]}, r"player\[0\] is 1, but must be one of 0 to 0"),
    ({"player": [0, -3, -2], "payoffs": [[1.0]]}, r"player\[1\] is -3"),
    ({"player": [0, 0, -2], "payoffs": [[1.0]]}, r"player\[1\] is 0, but .* 0 children"),
    ({"player": [-2] * 3, "payoffs": [[1.0]] * 3}, r"player\[0\] is -2, but .* 2 children"),
    ({"information_set": [0, 0, -1]}, r"information_set\[1\] is 0, but no player acts"),
    ({"information_set": [1, -1, -1]}, r"information_set\[0\] is 1, .* first occur"),
    ({"information_set": [-1, -1, -1]}, r"information_set\[0\] is -1, .* first occur"),
    ({"labels": [["I", "J"]]}, "1 information sets, but labels names 2 and actions 1"),
    ({"actions": [[["a", "b"], ["a"]]]}, "1 information sets, but labels names 1 and act"),
    ({"actions": [[["a"]]]}, "history 0 has 2 children, but .* has 1 actions"),
    ({"outcomes": [["h", "t"]]}, "for 1 chance histories, but there are 0"),
    ({**CHANCES, "outcomes": [["h"]]}, "history 0 has 2 children, but outcomes names 1"),
    ({"probability": [1.0, 0.5, 0.5]}, r"probability\[1\] is 0\.5, but chance does not lead"),
    ({**CHANCES, "probability": [1, 0.5, 0.4]}, "the empty history sum to 0.9, not to 1"),
    ({**CHANCES, "probability": [1, -1, 2]}, "'h' at the empty history has .* -1.0"),
    call=lambda changes: one_choice(**changes),
    error=ValueError,
)


test_numbers_of_more_than_32_bits_are_not_cut_to_what_would_do = refusals(
    ({"parent": [-1, 0, 2**32]}, rf"parent\[\d\] is {2**32}"),
    ({"player": [2**32, -2, -2]}, rf"player\[\d\] is {2**32}"),
    ({"information_set": [2**32, -1, -1]}, rf"information_set\[\d\] is {2**32}"),
    ({"action": [-1, 0, 2**32 + 1]}, rf"action\[\d\] is {2**32 + 1}"),
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
    *((history, ValueError, "history must be one of 0 to 2") for history in (-1, 3)),
    *((history, TypeError, "history must be a number, got") for history in ("x", None, 1.0)),
    call=one_choice().history_path,
)
