"""The games of the catalogue have the sizes, the payoffs and the solutions they are known for."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from naive_games import uniform
from refusals import refusals

from regretkit import games
from regretkit.evaluation import best_response, solve_zero_sum
from regretkit.games import KuhnPoker, NormalFormGame, _registry, matrix_game
from regretkit.games._registry import call_text, load, names, register

OURS = [
    name
    for name, factory in sorted(_registry._FACTORIES.items())
    if factory.__module__.startswith("regretkit.games.catalogue")
]


def play(start, *actions):
    """Return the history after some actions; ``start`` is a history, or the rules of a game."""
    history = games.as_history(start)
    for action in actions:
        history = history.child(action)
    return history


def after(text, **arguments):
    """Return the history of Leduc poker after the actions in ``text``."""
    return play(games.LeducPoker(**arguments), *text.split())


@pytest.mark.parametrize(("ranks", "suits"), [(3, 1), (2, 2), (3, 2), (2, 3), (4, 2)])
def test_leduc_sizes_are_deals_times_betting(ranks, suits):
    tree = games.leduc_poker(ranks=ranks, suits=suits).tree
    cards = ranks * suits
    deals = cards * (cards - 1)
    # A round has 15 histories: 6 decisions, 3 of each player; 4 folds; 5 ends of the round.
    assert tree.histories == 1 + cards + deals * (15 + 5 * (cards - 2) * 15)
    assert tree.terminals.size == deals * (4 + 5 * (cards - 2) * 9)
    assert tree.information_sets == (3 * cards + 5 * deals * 3,) * 2


def test_long_rounds_are_named_in_full():
    labels = games.leduc_poker(ranks=3, suits=1, raises=15).tree.labels
    longest = f"c{'r' * 15}"
    assert f"Js:{longest}c/Ks:{longest}" in labels[0]


@pytest.mark.parametrize(("raises", "fits"), [(6, True), (7, False)])
def test_rounds_of_leduc_have_at_most_thirty_actions(raises, fits):
    with nullcontext() if fits else pytest.raises(ValueError, match="at most 30 actions"):
        games.LeducPoker(players=5, raises=raises)


# Kuhn poker


@pytest.mark.parametrize(
    ("players", "actions", "payoffs"),
    [
        (2, "KJpp", [1, -1]),
        (2, "KJbp", [1, -1]),
        (2, "JKbp", [1, -1]),
        (2, "JKbb", [-2, 2]),
        (2, "KQpbp", [-1, 1]),
        (2, "KQpbb", [2, -2]),
        (3, "TQKppp", [-1, -1, 2]),
        (3, "TQKbpp", [2, -1, -1]),
        (3, "TQKpbpp", [-1, 2, -1]),
        (3, "QTKpbpb", [3, -2, -1]),
        (3, "QTKppbbb", [-2, -2, 4]),
    ],
)
def test_the_pot_goes_to_the_best_card_of_those_who_bet(players, actions, payoffs):
    history = play(KuhnPoker(players), *actions)
    assert history.is_terminal()
    assert history.payoffs() == payoffs


def test_a_deck_has_the_highest_ranks_and_the_ace_is_low():
    for deck, cards in ((3, "JQK"), (5, "9TJQK"), (13, "A23456789TJQK")):
        dealt = play(KuhnPoker(deck=deck)).chance_outcomes()
        assert "".join(card for card, _ in dealt) == cards
    decks = {"ranks": 3}, {"ranks": 2, "suits": 3, "merge_suits": True}
    dealt = [[name for name, _ in after("", **leduc).chance_outcomes()] for leduc in decks]
    assert dealt == [["Js", "Jh", "Qs", "Qh", "Ks", "Kh"], ["Q", "K"]]


# Leduc poker


@pytest.mark.parametrize(
    ("actions", "payoffs"),
    [
        ("Js Ks r f", [1, -1]),
        ("Js Ks c r f", [-1, 1]),
        ("Js Ks r r f", [-3, 3]),
        ("Js Ks c c Qs c c", [-1, 1]),
        ("Js Ks c c Jh c c", [1, -1]),
        ("Js Jh c c Ks r c", [0, 0]),
        ("Ks Js r c Kh r f", [3, -3]),
        ("Ks Js r r c Kh r r f", [-9, 9]),
        ("Ks Js r r c Kh r r c", [13, -13]),
    ],
)
def test_pairs_beat_high_cards_and_ties_split(actions, payoffs):
    history = after(actions)
    assert history.is_terminal()
    assert history.payoffs() == payoffs


def test_among_three_players_folding_leaves_the_pot_to_the_others():
    history = after("Ts Js Jh r f c Ks", players=3)
    assert (history.player(), history.information_set()) == (0, "Ts:rfc/Ks:")
    history = play(history, "c", "r")
    assert (history.player(), tuple(history.actions())) == (0, ("f", "c", "r"))
    assert play(history, "c").payoffs() == [-7, -1, 8]
    assert play(history, "f").payoffs() == [-3, -1, 4]


def test_three_players_who_tie_split_in_three():
    history = after("Qs Qh Qd r c c Ks c c c", players=3, ranks=2, suits=4)
    assert history.payoffs() == [0, 0, 0]


def test_a_round_has_at_most_two_raises_and_no_fold_without_a_raise():
    dealt = after("Js Ks")
    assert tuple(dealt.actions()) == ("c", "r")
    assert tuple(play(dealt, "r").actions()) == ("f", "c", "r")
    assert tuple(play(dealt, "r", "r").actions()) == ("f", "c")
    assert tuple(play(dealt, "r", "r", "c", "Qs").actions()) == ("c", "r")


def test_merged_suits_are_dealt_as_often_as_their_cards():
    assert dict(after("J", merge_suits=True).chance_outcomes()) == pytest.approx(
        {"J": 1 / 5, "Q": 2 / 5, "K": 2 / 5}
    )
    assert dict(after("J J c c", merge_suits=True).chance_outcomes()) == pytest.approx(
        {"Q": 1 / 2, "K": 1 / 2}
    )


def test_a_leduc_label_says_what_the_player_saw():
    history = after("Ks Js c r c Qh c")
    assert (history.player(), history.information_set()) == (1, "Js:crc/Qh:c")


# Tables


@pytest.mark.parametrize(
    ("name", "joint", "payoff"),
    [
        ("traffic_light", [[0, 1 / 2], [1 / 2, 0]], 1 / 2),
        ("chicken", [[0, 1 / 4], [1 / 4, 1 / 2]], 5.25),
        ("shapley_game", np.full((3, 3), 1 / 9), 1 / 3),
        ("shapley_game", (np.eye(3) + np.roll(np.eye(3), 1, axis=1)) / 6, 1 / 2),
    ],
)
def test_no_player_gains_by_leaving_a_known_correlated_equilibrium(name, joint, payoff):
    payoffs, joint = load(name).payoffs, np.array(joint)
    for payoffs_of_player, played in ((payoffs[0], joint), (payoffs[1].T, joint.T)):
        # What each action would earn, in place of the one that is recommended
        instead = played @ payoffs_of_player.T
        assert np.diag(instead).sum() == pytest.approx(payoff)
        assert (instead <= np.diag(instead)[:, np.newaxis] + 1e-12).all()


def test_blotto_has_every_placement_once_and_compares_field_by_field():
    game = load("blotto")
    (actions, placements), payoffs = game.actions, game.payoffs[0]

    assert len(set(actions)) == len(actions) == math.comb(5 + 2, 2)
    assert list(placements) == list(actions)
    for i, placement in enumerate(actions):
        for j, opposing in enumerate(actions):
            pairs = list(zip(placement.split("-"), opposing.split("-"), strict=True))
            won, lost = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
            assert payoffs[i, j] == (won > lost) - (won < lost)


# Liar's dice and Goofspiel


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("information", ["full", "hidden"])
@pytest.mark.parametrize("order", ["descending", "ascending", "random"])
@pytest.mark.parametrize("returns", ["win_loss", "point_difference"])
def test_goofspiel_is_fair(information, order, returns):
    # The order of bids in the tree does not matter, because it is hidden: the game is symmetric.
    game = games.goofspiel(3, order, information, returns=returns)
    x, y = uniform(game)

    assert game.value([x, y]) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert best_response(game, 0, [x, y])[0] == pytest.approx(
        best_response(game, 1, [x, y])[0], abs=1e-12
    )
    assert solve_zero_sum(game).value == pytest.approx(0.0, abs=1e-9)


def test_to_match_the_prize_is_the_best_answer_to_a_player_who_bids_at_random():
    # Ross (1971), for the difference of points, with any order of the prizes
    game = games.goofspiel(order="random", returns="point_difference")
    tree = game.domains[0]
    labels, behavior = tree.simplices.labels, tree.simplices.uniform()
    for number in range(tree.points):
        prize, actions = labels.block(number).split()[-1][:-1], labels.actions(number)
        if prize in actions:
            behavior[tree.simplices.block(number)] = [action == prize for action in actions]
    matching = [tree.sequence_form(behavior), game.domains[1].relative_interior_point()]

    best, _ = best_response(game, 0, matching)

    assert game.value(matching)[0] == pytest.approx(best, abs=1e-12)
    assert best > game.value(uniform(game))[0] + 0.5


def test_dice_are_private_and_bids_are_public():
    tree = games.liars_dice(dice=2, sides=2).tree

    for player, labels in enumerate(tree.labels):
        split = [label.split() for label in labels]
        assert {dice for dice, *_ in split} == {"11", "12", "22"}
        # Any bids that rise, an even number of them before player 0 and an odd one before player 1
        heard = {" ".join(bids) for _, *bids in split}
        assert all(len(bids) % 2 == player and bids == sorted(bids) for _, *bids in split)
        assert len(heard) == 2**8 // 2
        assert len(labels) == 3 * len(heard)


# The registry


def test_every_game_of_the_catalogue_can_be_loaded_by_its_name():
    assert {"blotto", "goofspiel", "kuhn_poker", "liars_dice"} <= set(OURS) <= set(vars(games))
    assert set(OURS) <= set(names())
    assert list(names()) == sorted(names())


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("name", OURS)
def test_a_game_is_called_what_it_was_loaded_by(name):
    assert load(name).name == load(f" {name}( )").name == name


test_a_name_of_no_game_is_refused_unevaluated = refusals(
    ("kuhn_pokr", ValueError, "no game 'kuhn_pokr'; did you mean 'kuhn_poker'"),
    ("xyzzy()", ValueError, "no game 'xyzzy'; the games are .*, blotto"),
    ("kuhn poker", ValueError, "write it as 'kuhn_poker"),
    ("kuhn_poker(decks=3)", ValueError, "kuhn_poker has no option 'decks'; did you mean 'deck'"),
    ("kuhn_poker(cards=3)", ValueError, "no option 'cards': they are players, deck"),
    *((f"kuhn_poker({two})", TypeError, "argument") for two in ("2, 3, 4", "2, players=3")),
    *(
        (f"kuhn_poker(deck={argument})", ValueError, "with literals")
        for argument in ("deck", "1 + 1", "print()", "[x for x in 'ab']", "f'{1}'")
    ),
    *((text, ValueError, "with literals") for text in ("", "a.b()", "3", "a; b", "\0", "(" * 999)),
    *((f"kuhn_poker{text}", ValueError, "with literals") for text in ("(", "(2", "()()")),
    ("kuhn_poker(deck=3, deck=4)", ValueError, "with literals"),
    ("kuhn_poker(**{'deck': 3})", ValueError, "no option 'None'"),
    call=load,
)


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError, match="game must be named by a string such as"):
        load(KuhnPoker)


def test_two_functions_cannot_share_a_name_but_one_may_come_again():
    original = games.chicken

    def chicken():
        return original()

    with pytest.raises(ValueError, match="a game called 'chicken' already, from regretkit"):
        register(chicken)
    assert register(original) is original
    assert load("chicken").name == "chicken"


def test_a_name_holds_long_arguments_as_a_whole(monkeypatch):
    monkeypatch.setattr(_registry, "_FACTORIES", dict(_registry._FACTORIES))

    @register
    def row(payoffs: tuple[float, ...]) -> NormalFormGame:
        return matrix_game([payoffs], name=call_text(row, payoffs=payoffs))

    game = row(tuple(i / 7 for i in range(100)))

    np.testing.assert_array_equal(load(game.name).payoffs, game.payoffs)
