"""Games expanded level by level: the same tree as history by history, and what is refused."""

import copy
import pickle
import tracemalloc

import attrs
import numpy as np
import pytest
from assert_games import changed
from attrs import evolve, field, frozen
from naive_games import decision, end, random_game
from naive_levels import AsLevel, Goofspiel, Leduc, LiarsDice
from refusals import refusals

from regretkit import games
from regretkit.games import CHANCE, TERMINAL, ExtensiveFormGame, GameTree
from regretkit.games.catalogue._small_poker import kuhn_history

ARRAYS = ("parent", "player", "information_set", "action", "probability", "payoffs", "terminals")


GOOFSPIEL = {"order": "descending", "information": "full", "players": 2, "returns": "win_loss"}
HIDDEN = {"information": "hidden"}


def rules_of(name, **given):
    """Return a call of the catalogue, and the naive history of the same rules."""
    call = f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
    if name == "liars_dice":
        return call, LiarsDice(**({"dice": 1} | given))
    if name == "leduc_poker":
        return call, Leduc(**given)
    rules = GOOFSPIEL | {"cards": 4} | given
    return call, Goofspiel(**({"turns": rules["cards"]} | rules))


LARGE = dict(
    [
        rules_of("liars_dice", sides=1),
        rules_of("liars_dice", sides=3),
        rules_of("liars_dice", dice=2, sides=2),
        rules_of("liars_dice", sides=2, players=3),
        rules_of("leduc_poker"),
        rules_of("leduc_poker", merge_suits=True),
        rules_of("leduc_poker", ranks=2, suits=3, merge_suits=True, raises=3),
        rules_of("leduc_poker", ranks=5, suits=1, raises=0),
        rules_of("leduc_poker", ranks=2, suits=4, raises=1),
        rules_of("leduc_poker", players=3, ranks=2, merge_suits=True),
        rules_of("leduc_poker", players=4, ranks=2, suits=3, merge_suits=True, raises=1),
        rules_of("goofspiel", cards=1),
        rules_of("goofspiel", cards=3),
        rules_of("goofspiel", **HIDDEN),
        rules_of("goofspiel", cards=3, order="ascending", **HIDDEN),
        rules_of("goofspiel", cards=3, order="random"),
        rules_of("goofspiel", cards=3, order="random", returns="point_difference", **HIDDEN),
        rules_of("goofspiel", cards=3, players=3, **HIDDEN),
        rules_of("goofspiel", cards=3, players=3, returns="total_points"),
        rules_of("goofspiel", cards=5, order="random", turns=1),
        rules_of("goofspiel", order="random", turns=2, **HIDDEN),
    ]
)
# By a walk, and again as levels: mixed levels, in which some are over and some are chance's
SMALL = {
    "kuhn": kuhn_history(),
    "kuhn, 3 players": kuhn_history(3),
    "leduc, suits merged": Leduc(merge_suits=True),
} | {
    f"random, {players} players, {seed}": random_game(np.random.default_rng(seed), players, 6)
    for players in (1, 2, 3)
    for seed in range(5)
}
# What information sets are called: close together, far apart, below zero, or in no order
KEYS = {
    "small": lambda number: number,
    "far apart": lambda number: number * 10**15,
    "negative": lambda number: -1 - number,
    "shuffled": lambda number: number * 7919 % 1_000_003 - 500_000,
}


def assert_same_arrays(tree, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    assert tree.information_sets == expected.information_sets
    for names, expected_sizes in zip(tree.sizes, expected.sizes, strict=True):
        np.testing.assert_array_equal(names, expected_sizes)


# The same tree


@pytest.mark.deep_beyond(8)
@pytest.mark.parametrize("call", LARGE)
def test_a_game_built_in_arrays_is_the_one_that_its_rules_say_history_by_history(call):
    game = games.load(call)
    expected = GameTree.from_history(LARGE[call])
    assert_same_arrays(game.tree, expected)
    assert game.tree.labels == expected.labels
    assert game.tree.actions == expected.actions
    assert game.tree.outcomes == expected.outcomes
    for history in range(0, game.tree.histories, 7):
        assert game.tree.history_path(history) == expected.history_path(history)


@pytest.mark.deep_beyond(24)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("root", SMALL.values(), ids=SMALL)
def test_levels_make_the_tree_of_their_histories_with_any_numbers(root, key):
    tree = GameTree.from_batch(AsLevel([root], key))
    expected = GameTree.from_history(root)
    assert_same_arrays(tree, expected)
    assert tree.labels == expected.labels


@pytest.mark.parametrize("root", SMALL.values(), ids=SMALL)
def test_actions_need_not_be_numbered_without_gaps(root):
    # With more than eight columns the possible actions fill more than a byte of bits.
    tree = GameTree.from_batch(AsLevel([root], spread=11))
    assert_same_arrays(tree, GameTree.from_history(root))
    for own, sizes in zip(tree.actions, tree.sizes, strict=True):
        for names, size in zip(own, sizes, strict=True):
            assert names == tuple(map(str, range(size)))


def test_an_information_set_may_have_histories_of_different_lengths():
    # Player 0 does not see whether player 1 moved once or twice before it.
    last = decision(0, "I", a=end(1.0, 0.0), b=end(2.0, 0.0))
    root = decision(1, "start", a=last, b=decision(1, "again", a=last, b=last))
    tree = GameTree.from_batch(AsLevel([root]))
    assert_same_arrays(tree, GameTree.from_history(root))
    assert tree.information_sets == (1, 2)


# Lazy names


def test_names_are_found_by_number_and_by_label_as_those_that_are_held():
    game = games.liars_dice(sides=4)
    held = ExtensiveFormGame.from_history(LiarsDice(1, 4))
    profile = games.Profile([d.relative_interior_point() for d in game.domains], game.domains)

    for player, domain in enumerate(game.domains):
        labels, expected = domain.simplices.labels, held.domains[player].simplices.labels
        for number in range(0, domain.points, 5):
            label = labels.block(number)
            assert label == expected.block(number)
            assert labels.find(label) == number
            assert labels.actions(number) == expected.actions(number)
            np.testing.assert_array_equal(profile[label], profile[player, number])
    with pytest.raises(ValueError, match=r"no decision point '5'; the labels are '1', .* in all"):
        game.domains[0].simplices.labels.find("5")


def test_parts_of_a_tree_keep_the_names():
    simplices = games.liars_dice(sides=3).domains[0].simplices
    subset = simplices.select([5, 0])
    assert subset.labels.block(0) == simplices.labels.block(5)
    assert subset.labels.actions(1) == simplices.labels.actions(0)
    assert subset.labels.find(simplices.labels.block(0)) == 1


@pytest.mark.parametrize(
    "duplicated", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))]
)
def test_a_game_with_such_names_can_be_copied_and_stored(duplicated):
    game = games.goofspiel(cards=3, information="hidden")
    copied = duplicated(game)
    assert_same_arrays(copied.tree, game.tree)
    assert copied.tree.labels == game.tree.labels
    assert copied.tree.actions == game.tree.actions
    np.testing.assert_array_equal(copied.payoffs, game.payoffs)


def test_a_tree_built_from_the_arrays_of_another_is_the_same_and_shares_them():
    tree = games.liars_dice(sides=3).tree
    rebuilt = changed(tree)
    for name in [attribute.name for attribute in attrs.fields(GameTree)]:
        np.testing.assert_equal(getattr(rebuilt, name), getattr(tree, name))
    # They are read-only, so that copies are needless.
    assert np.shares_memory(rebuilt.parent, tree.parent)
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1


def test_no_python_object_is_made_for_a_history():
    games.liars_dice(sides=3)
    tracemalloc.start()
    game = games.liars_dice(sides=5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One int object alone takes 32 bytes, and a history has five numbers and a label.
    assert peak < 140 * game.tree.histories


# What is refused, with a history that shows it


@frozen(eq=False)
class Rounds:
    """Two rounds: chance draws one of two, then a player guesses; ``broken`` changes one answer."""

    broken: dict
    length: int = 0
    moves: np.ndarray = field(factory=lambda: np.zeros((1, 0), dtype=int))

    def _answer(self, method, answer, *arguments):
        change = self.broken.get((self.length, method))
        return answer if change is None else change(answer, *arguments)

    def player(self):
        mover = (CHANCE, 0, TERMINAL)[self.length]
        return self._answer("player", np.full(len(self.moves), mover))

    def actions(self, at):
        return self._answer("actions", np.ones((at.size, 2), dtype=bool))

    def child(self, at, action):
        moves = np.column_stack([self.moves[at], action])
        return self._answer("child", evolve(self, length=self.length + 1, moves=moves))

    def probability(self, at, action):
        return self._answer("probability", np.full(at.size, 0.5))

    def information_set(self, at):
        return self._answer("information_set", np.zeros(at.size, dtype=int))

    def payoffs(self, at):
        won = self.moves[at, 0] == self.moves[at, 1]
        return self._answer("payoffs", np.where(won, 1.0, -1.0).reshape(-1, 1))

    def action_name(self, player, action):
        return "ht"[action] if player == CHANCE else "HT"[action]

    def label(self, player, information_set):
        return f"set {information_set}"


def closed(answer, *cells):
    answer = answer.copy()
    for cell in cells:
        answer[cell] = False
    return answer


def test_the_rounds_are_a_game_while_nothing_is_broken():
    tree = GameTree.from_batch(Rounds({}))
    assert (tree.histories, tree.terminals.size, tree.information_sets) == (7, 4, (1,))
    assert tree.payoffs.ravel().tolist() == [1.0, -1.0, -1.0, 1.0]
    assert tree.history_path(5) == ("t", "H")


def rounds(length, method, change):
    return GameTree.from_batch(Rounds({(length, method): change}))


test_an_answer_that_does_not_fit_is_refused = refusals(
    (1, "player", lambda a: a[:1], r"player\(\) has shape \(1,\) .* there are 2 histories"),
    (1, "player", lambda a: a + 0.5, r"player\(\) has shape \(2,\) and type float64"),
    (1, "player", lambda a: a - [0, 7], r"got -7 at history 't'"),
    (1, "player", lambda a: a + np.array([0, 2**32]), r"got 4294967296 at history 't'"),
    (1, "player", lambda a: a + 3, r"player 3 acts at history 'h', but .* 1 numbers"),
    (0, "actions", lambda a: a[0], r"actions\(\) has shape \(2,\) .* lies at the empty"),
    (1, "actions", lambda a: a[:1], r"actions\(\) has shape \(1, 2\) .* lies at history 'h'"),
    (1, "actions", lambda a: a * 1.0, "type float64 for 2 histories"),
    (1, "actions", lambda a: closed(a, 1), r"actions\(\) is empty at history 't'; allow"),
    (1, "actions", lambda a: a[:, :0], r"actions\(\) is empty at history 'h'"),
    (
        1,
        "actions",
        lambda a: closed(a, (1, 0)),
        "'set 0' of player 0 has other actions at history 'h' than at history 't'",
    ),
    (
        1,
        "actions",
        lambda a: closed(np.column_stack([a, a]), (0, [0, 1]), (1, [2, 3])),
        "'set 0' of player 0 has other actions at history 'h' than at history 't'",
    ),
    (0, "probability", lambda a: a[:1], r"probability\(\) has shape \(1,\) for 2 moves"),
    (0, "probability", lambda a: a + 0.1, "chance at the empty history sum to 1.2"),
    (0, "probability", lambda a: a - [1, -1], "outcome 'h' at the empty history has .* -0.5"),
    (0, "probability", lambda a: a * np.nan, "outcome 'h' at the empty history has .* nan"),
    (1, "information_set", lambda a: a[:1], r"information_set\(\) has shape \(1,\)"),
    (1, "information_set", lambda a: a * 0.5, r"information_set\(\) .* type float64"),
    (2, "payoffs", lambda a: a[:, 0], r"payoffs\(\) has shape \(4,\) for 4 .* 'h' 'H'"),
    (2, "payoffs", lambda a: a[:3], r"payoffs\(\) has shape \(3, 1\) .* \(4, players\)"),
    (2, "payoffs", lambda a: a * np.inf, "finite, got inf at history 'h' 'H', player 0"),
    call=rounds,
    error=ValueError,
)


def test_payoffs_for_other_players_than_at_the_first_end_are_refused():
    root = decision(0, "I", a=end(1.0), b=decision(0, "J", c=end(1.0, 2.0)))
    with pytest.raises(ValueError, match=r"has shape \(1, 2\) .* '1' '0'; return .* \(1, 1\)"):
        GameTree.from_batch(AsLevel([root]))


test_what_is_no_level_is_refused = refusals(
    *("liars_dice", None, Rounds, kuhn_history()),
    call=GameTree.from_batch,
    error=TypeError,
    match="root must have the methods of a HistoryBatch, got",
)


def test_a_child_that_is_no_level_is_refused():
    with pytest.raises(TypeError, match=r"child\(\) must return a HistoryBatch, got None"):
        rounds(0, "child", lambda level: None)
