"""Bet sizes and the betting tree: by hand, and node by node against OpenSpiel's."""

import math

import pytest
from refusals import refusals

from regretkit.games import hold_em
from regretkit.games.poker._hold_em import parse_sizes
from regretkit.games.public import Chance, Compare, Decision, Free


def root(pot=100, stack=900, bets="", raises="", board="2c2d2h3c3d", **options):
    game = hold_em(board, ("AA", "KK"), pot, stack, bets, raises, **options)
    return game.tree.nodes[0]


def actions(node, path=()):
    """Return the actions after a path, without check, call and fold."""
    for name in path:
        node = node.children[name]
        if isinstance(node, Chance):
            node = next(iter(node.outcomes.values())).node
    return [name for name in node.children if name not in ("check", "call", "fold")]


@pytest.mark.parametrize(
    ("bets", "expected"),
    [
        ("50%", ["bet 50"]),
        ("33.5%", ["bet 34"]),  # half a chip upwards
        ("33.4%,33%", ["bet 33"]),
        ("75c, 50%", ["bet 50", "bet 75"]),
        ("a", ["all-in 900"]),
        ("900%,950c,a", ["all-in 900"]),
        ("e", ["all-in 900"]),  # on the last street a geometric bet is all-in
        ("2e", ["bet 168"]),  # 100 (1 + 2 r)^2 = 1900
        ("2e100%", ["bet 100"]),
        (".2%", []),
        ("", []),
    ],
)
def test_bets_are_as_large_as_their_sizes_say(bets, expected):
    assert actions(root(bets=bets)) == expected


@pytest.mark.parametrize(
    ("raises", "expected"),
    [
        ("50%", ["raise 150"]),  # to 50 + 50 % of 200
        ("2.5x", ["raise 125"]),
        ("60c", ["raise 110"]),
        ("49c,1.9x", []),  # less than the last bet
        ("a,800%", ["all-in 900"]),
        ("e", ["all-in 900"]),
    ],
)
def test_raises_are_as_large_as_their_sizes_say(raises, expected):
    assert actions(root(bets="50%", raises=raises), ["bet 50"]) == expected


def test_a_geometric_size_puts_in_all_chips_with_equal_shares_of_the_pot():
    node = root(board="2c2d2h3c", bets="e")
    (bet,) = actions(node)
    pot, left = 100, 900
    ratio = (math.sqrt(1 + 2 * left / pot) - 1) / 2
    assert bet == f"bet {round(ratio * pot)}"
    assert actions(node, [bet, "call"]) == [f"all-in {left - round(ratio * pot)}"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"add_allin_threshold": 9.0}, ["bet 100", "bet 400", "bet 440", "all-in 900"]),
        ({"add_allin_threshold": 8.9}, ["bet 100", "bet 400", "bet 440"]),
        # 460 are left after 440, in a pot of 980
        ({"force_allin_threshold": 0.47}, ["bet 100", "bet 400", "all-in 900"]),
        ({"force_allin_threshold": 0.46}, ["bet 100", "bet 400", "bet 440"]),
        # Relatively to the larger of two bets, in pots: (4.4 - t) / (1 + t)
        ({"merging_threshold": 0.1}, ["bet 100", "bet 440"]),
        ({"merging_threshold": 0.07}, ["bet 100", "bet 400", "bet 440"]),
    ],
)
def test_thresholds_add_force_and_merge(options, expected):
    assert actions(root(bets="100%,400%,440%", **options)) == expected


def test_sizes_go_by_player_and_street():
    sizes = {"turn": ("50%", "25%"), "river": "100%"}
    node = root(board="2c2d2h3c", bets=sizes, donks={"river": "10c"}, max_bets=1)
    assert actions(node) == ["bet 50"]
    assert actions(node, ["check"]) == ["bet 25"]
    assert actions(node, ["bet 50"]) == []
    assert actions(node, ["check", "check"]) == ["bet 100"]
    assert actions(node, ["bet 50", "call"]) == ["bet 200"]
    assert actions(node, ["check", "bet 25", "call"]) == ["bet 10"]  # a donk bet
    assert actions(node, ["check", "bet 25", "call", "check"]) == ["bet 150"]


# Payoffs


def test_the_loser_pays_half_the_pot_and_its_bets_and_the_winner_a_rake():
    node = root(100, 900, "50%", "", rake=0.05, cap=8)
    assert node.children["check"].children["check"] == Compare((45, -50), (-50, 45))
    bet = node.children["bet 50"]
    assert bet.children["fold"] == Free((45, -50))
    assert bet.children["call"] == Compare((92, -100), (-100, 92))  # 10, but for the cap
    assert bet.children["call"].tie == (-4, -4)


# OpenSpiel


def payoffs_of_state(state):
    if state.is_terminal():
        return list(state.returns())
    children = [payoffs_of_state(state.child(action)) for action in state.legal_actions()]
    return state.current_player(), children


def payoffs_of_node(node):
    if isinstance(node, Decision):
        return node.player, [payoffs_of_node(child) for child in node.children.values()]
    return list(node.payoff if isinstance(node, Free) else node.lose)


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("pot", [2, 10, 40, 1000])
@pytest.mark.parametrize("stack", [1, 5, 20, 21, 100, 180, 9500])
def test_pot_and_all_in_are_the_tree_of_universal_poker(pot, stack):
    pyspiel = pytest.importorskip("pyspiel")
    half = pot // 2
    game = pyspiel.load_game(
        "universal_poker",
        {
            **{"betting": "nolimit", "bettingAbstraction": "fcpa", "firstPlayer": "1"},
            **{"numPlayers": 2, "numRounds": 1, "numHoleCards": 1, "numBoardCards": "0"},
            **{"numSuits": 1, "numRanks": 2},
            **{"blind": f"{half} {half}", "stack": f"{half + stack} {half + stack}"},
        },
    )
    state = game.new_initial_state()
    state.apply_action(0)  # the lower card to player 0
    state.apply_action(1)
    assert payoffs_of_node(root(pot, stack, "100%,a", "100%,a")) == payoffs_of_state(state)


# Texts


def test_blanks_and_zeros_do_not_change_sizes():
    assert parse_sizes(" 2e , e,3e200.0%,.5%, 100c,") == parse_sizes("2e,e,3e200%,0.50%,100c")


test_bad_sizes_are_refused = refusals(
    ("50", "bets", "bets has the size '50' without a known unit; write '50%' of the pot"),
    ("100.50 %", "bets", "'100.50 %' without a known unit"),
    ("0%", "bets", "bets has the size '0%', which is zero; write"),
    ("2.5x", "bets", "bets has the size '2.5x', but no bet comes before"),
    (50, "bets", "bets must be a text such as '50%,a', a pair or a mapping, got 50"),
    call=parse_sizes,
    error=(TypeError, ValueError),
)
