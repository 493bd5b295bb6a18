"""Rules over columns make the tree of their histories; wrong answers raise errors with a path."""

import numpy as np
import pytest
from naive_games import decision, end, random_game
from naive_levels import AsRules, Goofspiel, Leduc, LiarsDice
from refusals import refusals

from regretkit import games
from regretkit.games import (
    CHANCE,
    TERMINAL,
    Batch,
    ExtensiveFormGame,
    GameTree,
    KuhnPoker,
    Rules,
)

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
        rules_of("liars_dice", sides=3),
        rules_of("liars_dice", dice=2, sides=2),
        rules_of("liars_dice", sides=2, players=3),
        rules_of("leduc_poker"),
        rules_of("leduc_poker", merge_suits=True),
        rules_of("leduc_poker", ranks=2, suits=3, merge_suits=True, raises=3),
        rules_of("leduc_poker", players=3, ranks=2, merge_suits=True),
        rules_of("leduc_poker", players=4, ranks=2, suits=3, merge_suits=True, raises=1),
        rules_of("goofspiel", cards=1),
        rules_of("goofspiel", **HIDDEN),
        rules_of("goofspiel", cards=3, order="ascending", **HIDDEN),
        rules_of("goofspiel", cards=3, order="random"),
        rules_of("goofspiel", cards=3, order="random", returns="point_difference", **HIDDEN),
        rules_of("goofspiel", cards=3, players=3, **HIDDEN),
        rules_of("goofspiel", cards=5, order="random", turns=1),
        rules_of("goofspiel", order="random", turns=2, **HIDDEN),
    ]
)
# As objects, and again as columns: mixed levels, in which some are over and some are chance's
SMALL = {
    "kuhn": games.as_history(KuhnPoker()),
    "kuhn, 3 players": games.as_history(KuhnPoker(3)),
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
def test_rules_make_the_tree_of_their_histories_with_any_observations(root, key):
    tree = GameTree.from_rules(AsRules(root, key))
    expected = GameTree.from_history(root)
    assert_same_arrays(tree, expected)
    assert tree.labels == expected.labels


@pytest.mark.parametrize("root", SMALL.values(), ids=SMALL)
def test_actions_need_not_be_numbered_without_gaps(root):
    tree = GameTree.from_rules(AsRules(root, spread=11))
    assert_same_arrays(tree, GameTree.from_history(root))
    for own, sizes in zip(tree.actions, tree.sizes, strict=True):
        for names, size in zip(own, sizes, strict=True):
            assert names == tuple(map(str, range(size)))


def test_an_information_set_may_have_histories_of_different_lengths():
    # Player 0 does not see whether player 1 moved once or twice before it.
    last = decision(0, "I", a=end(1.0, 0.0), b=end(2.0, 0.0))
    root = decision(1, "start", a=last, b=decision(1, "again", a=last, b=last))
    tree = GameTree.from_rules(AsRules(root))
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


# What is refused, with a history that shows it


class Rounds(Rules):
    """Two rounds: chance draws one of two, then a player guesses; ``broken`` changes one answer."""

    def __init__(self, broken):
        self.broken = broken

    def _answer(self, h, method, answer):
        change = self.broken.get((h.length, method))
        return answer if change is None else change(answer)

    def start(self):
        return Batch(moves=np.zeros((1, 2), dtype=int))

    def player(self, h):
        return self._answer(h, "player", np.full(h.size, (CHANCE, 0, TERMINAL)[h.length]))

    def legal(self, h):
        return self._answer(h, "legal", np.ones((h.size, 2), dtype=bool))

    def child(self, h, action):
        moves = h.moves.copy()
        moves[:, h.length] = action
        return h.then(moves=moves)

    def chance(self, h, action):
        return self._answer(h, "chance", np.full(h.size, 0.5))

    def observed(self, h):
        return self._answer(h, "observed", (np.zeros(h.size, dtype=int),))

    def payoffs(self, h):
        won = h.moves[:, 0] == h.moves[:, 1]
        return self._answer(h, "payoffs", np.where(won, 1.0, -1.0).reshape(-1, 1))

    def action_name(self, player, action):
        return "ht"[action % 2] if player == CHANCE else "HT"[action % 2]

    def label(self, player, observed):
        return f"set {observed}"


def closed(answer, *cells):
    answer = answer.copy()
    for cell in cells:
        answer[cell] = False
    return answer


def test_the_rounds_are_a_game_while_nothing_is_broken():
    tree = GameTree.from_rules(Rounds({}))
    assert (tree.histories, tree.terminals.size, tree.information_sets) == (7, 4, (1,))
    assert tree.payoffs.ravel().tolist() == [1.0, -1.0, -1.0, 1.0]
    assert tree.history_path(5) == ("t", "H")


def rounds(length, method, change):
    return GameTree.from_rules(Rounds({(length, method): change}))


test_an_answer_that_does_not_fit_is_refused = refusals(
    (1, "player", lambda a: np.append(a, a), "could not be broadcast"),
    (1, "player", lambda a: a + 0.5, r"player\(\) must return players"),
    (1, "player", lambda a: a + 3, r"player 3, .* acts at history 'h', but .* only 1 columns"),
    (1, "legal", lambda a: a[:1], r"shape \(2, actions\), got shape \(1, 2\)"),
    (1, "legal", lambda a: a * 1.0, "type float64"),
    (1, "legal", lambda a: closed(a, 1), "no action of player 0 is legal at history 't'"),
    (1, "legal", lambda a: a[:, :0], "no action of player 0 is legal at history 'h'"),
    (
        1,
        "legal",
        lambda a: closed(a, (1, 0)),
        r"\['H', 'T'\] at history 'h', but \['T'\] at history 't'",
    ),
    (
        1,
        "legal",
        lambda a: closed(np.column_stack([a, a]), (0, [0, 1]), (1, [2, 3])),
        "'set 0' of player 0 has actions .* at history 'h', but .* at history 't'",
    ),
    (0, "chance", lambda a: a[:0], "cannot assign"),
    (0, "chance", lambda a: a + 0.1, "chance at the empty history must .* sum to 1"),
    (0, "chance", lambda a: a * np.nan, r"at the empty history must .* got \[nan, nan\]"),
    (1, "observed", lambda a: (a[0][:1],), r"shape \(2,\), got shape \(1,\)"),
    (1, "observed", lambda a: (a[0] * 0.5,), r"observed\(\) .* type float64"),
    (2, "payoffs", lambda a: a[:, 0], r"payoffs\(\) must have shape .* got \(4,\)"),
    (2, "payoffs", lambda a: a[:3], r"shape \(4, players\), got \(3, 1\)"),
    (2, "payoffs", lambda a: a * np.inf, "finite, got inf at history 'h' 'H', player 0"),
    call=rounds,
    error=ValueError,
)


test_other_things_are_refused = refusals(
    *("liars_dice", None, KuhnPoker, games.as_history(KuhnPoker())),
    call=GameTree.from_rules,
    error=TypeError,
    match="rules must be the Rules of a game, got",
)


def test_as_many_columns_must_be_observed_everywhere():
    class Forgetful(Rounds):
        def player(self, h):
            return (0, 0, TERMINAL)[h.length]

        def observed(self, h):
            return (0,) * (1 + h.length)

    with pytest.raises(ValueError, match="the same number of columns, got 1 and 2"):
        GameTree.from_rules(Forgetful({}))


def test_chance_is_uniform_and_names_are_numbers_unless_rules_say_otherwise():
    class Plain(Rounds):
        chance, action_name, label = Rules.chance, Rules.action_name, Rules.label

    tree = GameTree.from_rules(Plain({}))
    assert tree.probability.tolist() == [1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert tree.history_path(5) == ("1", "0")
    assert tree.labels == (("0",),)
