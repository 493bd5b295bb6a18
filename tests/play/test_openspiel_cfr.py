"""CFR and CFR+ play on OpenSpiel's games as OpenSpiel's own solvers do, iteration after iteration.

The gaps of both averages are compared after each of the first hundred iterations, and after eleven
of these in games of which OpenSpiel takes long to measure one. Rounding is amplified by iteration,
and so no more than 1e-9 is asked for. Where several actions have exactly the same regret, no bound
on rounding helps: whether that is zero, or some 1e-17 of it is left for one action, decides what is
played next. OpenSpiel decides it by rounding, and regretkit does not. Such games are named, and of
each it is shown that the two differ first where all of our regrets are zero.
"""

import numpy as np
import pytest

import regretkit as rk
from regretkit import evaluation, games

pyspiel = pytest.importorskip(
    "pyspiel", reason="OpenSpiel is not installed: pip install 'regretkit[openspiel]'"
)

EQUAL = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(numdice=1,dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "goofspiel(num_cards=3,imp_info=False,points_order=descending)",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    "blotto(coins=7,fields=3)",
    "blotto(coins=4,fields=2,players=3)",
    "bargaining(max_turns=2,max_num_instances=2)",
    "first_sealed_auction(max_value=4)",
    "zerosum(game=first_sealed_auction(max_value=3))",
    "nim(pile_sizes=1;2;3,is_misere=False)",
    "matrix_brps",
    "repeated_game(stage_game=matrix_brps(),num_repetitions=3)",
    "python_iterated_prisoners_dilemma(max_game_length=3)",
    "misere(game=kuhn_poker())",
    "add_noise(epsilon=0.1,seed=7,game=kuhn_poker())",
    "add_noise(epsilon=0.5,seed=1,game=liars_dice(numdice=1,dice_sides=3))",
]
TIED = [
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
    "allow_repeated_shots=True,loss_multiplier=1.0)",
    "dark_hex(num_cols=2,num_rows=2,gameversion=adh,obstype=reveal-nothing)",
    "sheriff(max_items=2,max_bribe=2,num_rounds=2)",
    "oshi_zumo(coins=5,size=1,horizon=3)",
]
SOLVERS = {"cfr": "CFRSolver", "cfr+": "CFRPlusSolver"}

LAST = 100
FEWER = (1, 2, 3, 5, 8, 13, 20, 30, 50, 75, LAST)
LARGE = (
    "leduc_poker",
    "liars_dice(numdice=2,dice_sides=2)",
    "python_iterated_prisoners_dilemma(max_game_length=3)",
)
"""Games of which OpenSpiel takes more than four seconds to measure a hundred averages."""


def as_turn_based(game):
    simultaneous = game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    return pyspiel.convert_to_turn_based(game) if simultaneous else game


def both(name, algorithm):
    """Return our game, OpenSpiel's, its solver, and our run before the first iteration."""
    game = games.from_openspiel(name)
    turn_based = as_turn_based(pyspiel.load_game(name))
    solver = getattr(pyspiel, SOLVERS[algorithm])(turn_based)
    run = rk.play.named(algorithm).start(game, engine="compiled")
    return game, turn_based, solver, run


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize("algorithm", SOLVERS)
@pytest.mark.parametrize("name", EQUAL)
def test_the_average_is_as_far_from_equilibrium_as_that_of_openspiel(name, algorithm):
    game, turn_based, solver, run = both(name, algorithm)
    measured = FEWER if name in LARGE else range(1, LAST + 1)

    for iteration in range(1, LAST + 1):
        solver.evaluate_and_update_policy()
        run.run(1)
        if iteration in measured:
            expected = pyspiel.nash_conv(turn_based, solver.average_policy())
            assert evaluation.nash_conv(game, run.average) == pytest.approx(expected, rel=1e-9)

    policy = games.to_openspiel_policy(game, run.average)
    found = evaluation.nash_conv(game, run.average)
    assert abs(pyspiel.nash_conv(turn_based, policy) - found) < 1e-10
    assert found < evaluation.nash_conv(game, [x.relative_interior_point() for x in game.domains])


def apart(game, solver, run):
    """Yield our regrets at each information set that the next iteration plays differently."""
    policy = solver.current_policy()
    for player, labels in enumerate(game.tree.labels):
        rule = run.minimizers[player].rule
        behavior = rule.next_strategy()
        for number, label in enumerate(labels):
            block = rule.simplices.block(number)
            expected = [probability for _, probability in policy.get_state_policy(label)]
            if not np.allclose(behavior[block], expected, rtol=0.0, atol=1e-6):
                yield rule.regrets[block]


@pytest.mark.parametrize("algorithm", SOLVERS)
@pytest.mark.parametrize("name", TIED)
def test_what_is_played_differs_first_where_regrets_tie(name, algorithm):
    game, _, solver, run = both(name, algorithm)
    scale = np.abs(game.tree.payoffs).max()

    for _ in range(20):
        solver.evaluate_and_update_policy()
        run.run(1)
        different = list(apart(game, solver, run))
        if different:
            break

    assert different
    # Of what is positive, nothing is left but rounding.
    assert max(difference.max() for difference in different) < 1e-15 * scale
