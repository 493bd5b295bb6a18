"""The games of the catalogue have the sizes, the payoffs and the solutions they are known for."""

import math

import numpy as np
import pytest
from refusals import refusals

from regretkit import games
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
