"""Odd games that are valid, and games that are refused for imperfect recall."""

import numpy as np
import pytest
from naive_games import chance, decision, end
from refusals import refusals

import regretkit as rk
from regretkit import games


def game_of(root):
    return rk.ExtensiveFormGame.from_history(root)


# Odd games that are fine


def test_a_player_who_never_moves_sits_through_a_game():
    # Player 1 watches, is paid, and changes nothing for player 0 and player 2.
    def choose(player, low, high):
        return decision(player, f"{player}", l=low, h=high)

    game = game_of(
        choose(0, choose(2, end(1, 7, 0), end(0, 7, 1)), choose(2, end(2, 7, 3), end(4, 7, 2)))
    )
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]

    run = rk.SelfPlay(game, players).run(200)

    assert game.domains[1].dimension == 1
    # High dominates for player 0, and then low is better for player 2.
    np.testing.assert_allclose(game.value(run.current), [2.0, 7.0, 3.0], atol=1e-12)


def test_an_information_set_with_one_action_is_as_good_as_none():
    def answer(action):
        ends = {"a": end(1.0), "b": end(3.0)}
        last = decision(0, "last", **ends)
        return decision(0, "only", on=last) if action else last

    long, short = game_of(answer(True)), game_of(answer(False))
    mixed = np.array([0.25, 0.75])

    strategy = long.domains[0].sequence_form(np.array([1.0, *mixed]))
    np.testing.assert_array_equal(
        long.value([strategy]), short.value([short.domains[0].sequence_form(mixed)])
    )
    for local in (rk.RegretMatching, rk.RegretMatchingPlus, rk.PredictiveRegretMatchingPlus):
        runs = [
            rk.SelfPlay(game, [rk.CFR(game.domains[0], local)]).run(20) for game in (long, short)
        ]
        np.testing.assert_array_equal(*(run.average["last"] for run in runs))


# Imperfect recall


def ask(player, label, *payoffs):
    return decision(player, label, x=end(*payoffs), y=end(*payoffs))


def told(coin):
    """Player 1 learns the coin before its first move, and no longer knows it at its second."""
    return decision(1, coin, on=ask(1, "later", 0.0, 1.0))


BAD_MEMORY = decision(
    0,
    "0",
    a=decision(2, "c", l=ask(2, "d", 0, 0, 0), r=ask(2, "d", 0, 0, 0)),
    b=decision(1, "b", l=ask(0, "e", 0, 0, 0)),
)


test_forgetting_is_refused_with_two_histories_that_show_it = refusals(
    (
        decision(0, "first", a=ask(0, "second", 1.0), b=ask(0, "second", 1.0)),
        r"player 0 cannot tell 'a' from 'b', .* 'second'",  # its own action
    ),
    (
        chance([0.5, 0.5], heads=told("heads"), tails=told("tails")),
        r"imperfect recall: player 1 cannot tell 'heads' 'on' from 'tails' 'on'.* 'later'",
    ),
    (
        # That it moved: the absent-minded driver, whose second exit looks like the first
        decision(0, "exit", out=end(0.0), on=decision(0, "exit", out=end(4.0), on=end(1.0))),
        "cannot tell the empty history from 'on'",
    ),
    (BAD_MEMORY, r"player 2 cannot tell 'a' 'l' from 'a' 'r'"),  # among good ones
    call=game_of,
    error=ValueError,
)


def test_a_profile_of_behavior_instead_of_sequences_is_refused():
    game = games.kuhn_poker()
    behavior = [domain.simplices.uniform() for domain in game.domains]
    with pytest.raises(ValueError, match=r"profile\[0\] must have shape \(13,\), got \(12,\)"):
        game.value(behavior)
