"""Hold'em endgames against published numbers, independent solvers, linear programs and symmetry."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from public_games import random_profile
from refusals import refusals

import regretkit as rk
from benchmarks.libratus import read_libratus
from regretkit.evaluation import duality_gap, nash_conv, solve_zero_sum
from regretkit.games import Profile, hold_em, load
from regretkit.games.poker import parse_range, write_range
from regretkit.games.poker._cards import (
    bits_of,
    card_of,
    deck_cards,
    hand_names,
    hands_of,
    strengths,
)
from regretkit.games.public import Decision
from regretkit.play import solve

RANGES = (
    "22+,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,87s,76s,65s,ATo+,KJo+,QJo",
    "JJ-22:0.75,QQ+:0.25,A2s+,K8s+,Q9s+,J8s+,T8s+,97s+,86s+,75s+,65s,54s,AJo:0.5,ATo,KTo+,QTo+,JTo",
)
OF_C = {
    **{"board": "QsJh2h8c3d", "ranges": RANGES, "pot": 180, "stack": 910},
    **{"bets": ("50%,100%,a", "33%,75%,150%,a"), "raises": "60%,a", "max_bets": 4},
}
ALL = ("*", "*")
ENDGAMES = {
    "A": {"bets": ("100%", ""), "raises": ""},
    "B": {"board": "2c3d3h5c6c", "ranges": ALL, "pot": 40, "stack": 180, "deck": "2-6"},
    "B16": {"board": "2c3d3h5c4c", "ranges": ALL, "pot": 40, "stack": 180, "deck": "2-5"},
    "C": OF_C,
    "R": OF_C | {"rake": 0.05, "cap": 12},
    "D": {"board": "KsTh7s4d2s", "ranges": ALL, "pot": 1000, "stack": 9500},
    "T": {"board": "2c3d3h5c", "ranges": ALL, "pot": 40, "stack": 40, "deck": "2-5"},
    "U": {"board": "2c3d3h4c", "ranges": ALL, "pot": 40, "stack": 100, "deck": "2-4"},
}


@pytest.fixture(scope="module")
def games():
    made = {}

    def game(key):
        if key not in made:
            made[key] = hold_em(**ENDGAMES[key])
        return made[key]

    return game


def average(game, algorithm, iterations):
    return solve(game, algorithm, iterations=iterations, engine="numpy").average


@pytest.mark.parametrize(
    ("key", "hands", "decisions", "terminals"),
    [
        ("A", (12, 6), (1, 2), 3),
        ("B", (105, 105), (6, 6), 21),
        ("B16", (55, 55), (6, 6), 21),
        ("C", (226, 251), (14, 14), 53),
        ("D", (1081, 1081), (6, 6), 21),
        ("T", (66, 66), (26, 26), 86),
        ("U", (28, 28), (68, 68), 222),
    ],
)
def test_endgames_have_the_sizes_of_a_reference(games, key, hands, decisions, terminals):
    game = games(key)
    assert game.deal.sizes == hands
    assert tuple(np.bincount(game.tree.player[game.tree.player >= 0])) == decisions
    assert len(game.tree.terminals) == terminals


# NashConv of average strategies, from a solver in vector form that shares no code with this one.
# At one iteration, which is uniform play, those of C, R and D are also postflop-solver's; those
# of B up to 30 iterations and of B16 under CFR+ are also those of OpenSpiel's universal_poker.
# Those of PCFR+ are from a run in which an earlier kernel of this library summed in another order;
# on D rounding moves them after 50 iterations.
# In A regrets are exact ties from the second iteration on: that solver's numbers there are what
# rounding made of them, and exact fractions are below.
NASH_CONV = {
    ("B", "cfr"): {1: 71.7140822141, 10: 18.1841940239, 100: 1.94762105354},
    ("B", "cfr+"): {
        10: 9.27434590693,
        30: 1.91240605413,
        100: 0.372953086623,
    },
    ("B", "dcfr"): {10: 5.17967247561, 100: 0.138036158569},
    ("B", "pcfr+"): {10: 5.44809548692, 100: 0.344546625916, 1000: 0.0160094927732},
    ("B16", "cfr+"): {1: 75.7138047138, 10: 10.3720129806, 50: 1.01479246534},
    ("C", "cfr"): {1: 337.618219516, 10: 107.737062623, 100: 11.7383996165},
    ("C", "cfr+"): {10: 60.0566897733, 100: 2.93017318046},
    ("C", "dcfr"): {10: 41.0678569326, 100: 1.39494765231},
    ("R", "cfr+"): {1: 335.560318653, 10: 58.6501154152, 100: 2.86029436124},
    ("R", "dcfr"): {10: 43.3664004324, 100: 1.33350514208},
    ("D", "cfr"): {1: 3097.97473657, 10: 853.203917662, 100: 86.6271727037},
    ("D", "cfr+"): {10: 452.344652238, 100: 15.1472228677},
    ("D", "dcfr"): {10: 252.062855471, 100: 7.29789},
    ("D", "pcfr+"): {10: 290.179340115, 100: 15.4940443437, 1000: 0.728352819881},
}
PINNED = [
    pytest.param(*case, iterations, expected, marks=[pytest.mark.deep] if iterations > 10 else [])
    for case, numbers in NASH_CONV.items()
    for iterations, expected in numbers.items()
]


@pytest.mark.parametrize(("key", "algorithm", "iterations", "expected"), PINNED)
def test_nash_conv_is_that_of_a_reference(games, key, algorithm, iterations, expected):
    game = games(key)
    # Of the others fewer digits are stable.
    few = {7.29789: 2e-5, 15.4940443437: 2e-6, 0.728352819881: 2e-6}
    rtol = 1e-9 if algorithm in ("cfr", "cfr+") else few.get(expected, 1e-8)
    assert_allclose(nash_conv(game, average(game, algorithm, iterations)), expected, rtol=rtol)


DEFENDED = (
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("ranges", "bets", "hands", "decisions", "expected"),
    [
        (DEFENDED, "50%,100%", (167, 250), 3374, 526.996829),
        (ALL, "100%", (1128, 1128), 1352, 552.639248),
    ],
)
def test_uniform_play_of_a_turn_loses_what_it_does_in_a_reference(
    ranges, bets, hands, decisions, expected
):
    # To 7 digits also in postflop-solver, which computes in single precision
    game = hold_em("Td9d6hQc", ranges, 200, 900, bets, "100%")
    assert game.deal.sizes == hands
    assert np.count_nonzero(game.tree.player >= 0) == decisions
    assert_allclose(nash_conv(game, Profile.uniform(game)), expected, rtol=1e-9)


# After 1,000 iterations, NashConv and the value of player 0 from the same solver. Of DCFR fewer
# digits are stable: exact ties, of which small decks have the most, are broken by rounding.
LONG = {
    ("B", "cfr"): (0.217117957372, -1.3227656912, 1e-9),
    ("B", "cfr+"): (0.011937676266, -1.29433923361, 1e-9),
    ("B", "dcfr"): (0.001296, -1.293172, 2e-3),
    ("C", "cfr"): (1.38264147312, 6.02213600352, 1e-9),
    ("C", "cfr+"): (0.147005557514, 6.21700020423, 1e-9),
    ("C", "dcfr"): (0.046523, 6.236573, 2e-5),
    ("R", "cfr+"): (0.139344886021, 0.907888960506, 1e-9),
    ("R", "dcfr"): (0.0426424262, 0.889427567, 1e-8),
    ("D", "cfr"): (9.1102784169, -36.2865491861, 1e-9),
    ("D", "cfr+"): (0.850877150942, -35.5301577144, 1e-9),
    ("D", "dcfr"): (0.158119, -35.332723, 2e-5),
}


@pytest.mark.deep
@pytest.mark.parametrize(("key", "algorithm"), LONG)
def test_long_runs_are_those_of_a_reference(games, key, algorithm):
    game, (expected, value, rtol) = games(key), LONG[key, algorithm]
    profile = average(game, algorithm, 1000)
    assert_allclose(nash_conv(game, profile), expected, rtol=rtol)
    assert_allclose(game.value(profile)[0], value, rtol=1e-9 if rtol < 1e-6 else 1e-6)


VALUES = {  # from linear programs and from 20,000 iterations of DCFR
    "A": (25, 25),
    "B": (-1.2931528923777, -1.2931528923777),
    "C": (6.23630, 6.23652),
    "D": (-35.32381, -35.32309),
}


@pytest.mark.parametrize(
    "key", ["A", "B", *(pytest.param(key, marks=pytest.mark.deep) for key in "CD")]
)
def test_the_value_of_the_game_lies_between_what_the_players_can_secure(games, key):
    game = games(key)
    profile = average(game, "dcfr", 200)
    response = game.domains[1].best_response(game.utility(1, profile))[0]
    maximum = game.domains[0].best_response(game.utility(0, profile))[0]
    low, high = VALUES[key]
    assert -response - 1e-9 <= high
    assert low <= maximum + 1e-9
    assert_allclose(maximum + response, duality_gap(game, profile), atol=1e-9)
    assert maximum + response < 0.01 * ENDGAMES[key].get("pot", 100)


@pytest.mark.deep
@pytest.mark.parametrize("key", ["T", "U"])
def test_a_turn_has_the_value_that_a_linear_program_finds_on_its_tree(games, key):
    game = games(key)
    value = solve_zero_sum(game.to_tree()).value
    profile = average(game, "dcfr", 300)
    low = -game.domains[1].best_response(game.utility(1, profile))[0]
    high = game.domains[0].best_response(game.utility(0, profile))[0]
    assert low - 1e-9 <= value <= high + 1e-9
    assert high - low < 0.05


def test_cfr_of_the_smallest_endgame_is_that_in_exact_fractions(games):
    # Aces and queens bet 100 into 100 or check, kings fold or call: by hand, without a library
    regrets = {hand: [Fraction(0), Fraction(0)] for hand in "AQK"}
    played = {hand: [] for hand in "AQK"}

    def bets(hand):
        check, bet = (max(regret, 0) for regret in regrets[hand])
        return bet / (check + bet) if check + bet else Fraction(1, 2)

    for _ in range(50):
        probability = bets("K")
        for hand, wins in (("A", 1), ("Q", -1)):
            bet = (1 - probability) * 50 + probability * 150 * wins
            learn(regrets[hand], played[hand], bets(hand), 50 * wins, bet)
        ace, queen = bets("A"), bets("Q")
        learn(regrets["K"], played["K"], bets("K"), -50 * (ace + queen) / 2, 75 * (queen - ace))
    game = games("A")
    profile = average(game, "cfr", 50)
    for player, hand, label in (
        (0, "A", "AsAh /"),
        (0, "Q", "QsQd /"),
        (1, "K", "KsKh /all-in 100"),
    ):
        assert_allclose(profile[player, label][1], float(sum(played[hand]) / 50), atol=1e-12)


def learn(regrets, played, probability, first, second):
    """Add a utility to the regrets of two actions, and the strategy to those that were played."""
    value = (1 - probability) * first + probability * second
    regrets[0] += first - value
    regrets[1] += second - value
    played.append(probability)


# What holds of every endgame

SMALL = {
    **{"board": "2c3d3h5c", "ranges": ("22+:0.5,54s,42", "*"), "pot": 40, "stack": 90},
    **{"deck": "2-6", "bets": "50%,a", "raises": "a", "rake": 0.1, "cap": 7},
}


def test_no_dead_hand_decides():
    game = hold_em(**SMALL)
    for domain in game.domains:
        for point in range(domain.points):
            hand, path = domain.simplices.labels.block(point).split(" /")
            board = {"2c", "3d", "3h", "5c", *path.split("/")}
            assert not board & {hand[:2], hand[2:]}


def naive_value(game, played, terms):
    """Return the expected payoffs and the expected rake, pair by pair of hands and by the rules."""
    total, weight_of_all = np.zeros(3), 0.0
    names, (first, second) = game.deal.types, game.deal.weights
    board = [card_of(terms["board"][i : i + 2]) for i in range(0, 8, 2)]
    deck = [4 * rank + suit for rank in range(5) for suit in range(4)]
    hands = [[(card_of(n[:2]), card_of(n[2:])) for n in player] for player in names]
    for (i, one), (j, two) in itertools.product(enumerate(hands[0]), enumerate(hands[1])):
        if set(one) & set(two):
            continue
        weight = first[i] * second[j]
        weight_of_all += weight
        pair = (names[0][i], one), (names[1][j], two)
        seen = {*board, *one, *two}
        total += weight * follow(played, pair, game.tree.nodes[0], "", board, deck, seen)
    return total / weight_of_all


def follow(played, pair, node, path, board, deck, seen):
    """Return the expected payoffs and rake of two hands from a node on."""

    def after(child, name, board=board):
        return follow(played, pair, child, f"{path}/{name}", board, deck, seen)

    if isinstance(node, Decision):
        (name, _), children = pair[node.player], node.children.items()
        behavior = played[node.player, f"{name} {path or '/'}"]
        return sum(
            p * after(child, name) for p, (name, child) in zip(behavior, children, strict=True)
        )
    if hasattr(node, "outcomes"):
        left = [card for card in deck if card not in seen]
        dealt = {name: card_of(name) for name in node.outcomes if card_of(name) in left}
        nodes = [after(node.outcomes[name].node, name, [*board, c]) for name, c in dealt.items()]
        return sum(nodes) / len(left)
    if hasattr(node, "payoff"):
        return np.array([*node.payoff, -sum(node.payoff)])
    one, two = (int(strengths(bits_of(np.array([*board, *hand])))) for _, hand in pair)
    earned = node.win if one > two else node.lose if one < two else node.tie
    return np.array([*earned, -sum(earned)])


@pytest.mark.deep
def test_values_and_rake_are_the_sums_over_pairs_of_hands_by_the_rules():
    terms = SMALL | {"ranges": ("66:0.5,5s4s", "55,6s4s:0.2")}
    game = hold_em(**terms)
    profile = random_profile(game)
    played = {}
    for player, domain in enumerate(game.domains):
        behavior, simplices = domain.behavior(profile[player]), domain.simplices
        for point in range(domain.points):
            label = player, simplices.labels.block(point)
            played[label] = behavior[simplices.block(point)]
    first, second, rake = naive_value(game, played, terms)
    assert rake > 0.5
    assert_allclose(game.value(profile), [first, second], atol=1e-11)
    assert_allclose(-game.value(profile).sum(), rake, atol=1e-11)


@pytest.mark.parametrize("board", ["2c3d3h5c6c", "2c3d3h5c"])
def test_other_suits_change_nothing_but_names(board):
    names = hand_names(hands_of(deck_cards("2-6")))
    weights = np.random.default_rng(4).random((2, len(names)))
    chosen = [{name: w for name, w in zip(names, row, strict=True) if w > 0.8} for row in weights]
    game = hold_em(**SMALL | {"board": board, "ranges": chosen})
    ranges = [{swapped(name): weight for name, weight in row.items()} for row in chosen]
    other = hold_em(**SMALL | {"board": swapped(board), "ranges": ranges})
    profile, there = average(game, "cfr+", 5), average(other, "cfr+", 5)
    assert_allclose(other.value(there), game.value(profile), atol=1e-12)
    for player in (0, 1):
        evs = dict(
            zip(map(cards_of, other.deal.types[player]), other.ev(player, there), strict=True)
        )
        expected = [evs[cards_of(swapped(name))] for name in game.deal.types[player]]
        assert_allclose(game.ev(player, profile), expected, atol=1e-11)
    for node in np.flatnonzero(game.tree.player >= 0).tolist():
        path, player = game.tree.path(node), game.tree.player[node]
        place = {cards_of(name): i for i, name in enumerate(other.deal.types[player])}
        hands = [place[cards_of(swapped(name))] for name in game.deal.types[player]]
        renamed = tuple(swapped(step) if len(step) == 2 else step for step in path)
        found = other.behavior(there, renamed)[hands]
        assert_allclose(found, game.behavior(profile, path), rtol=0, atol=1e-12)


def swapped(text):
    """Return cards in other suits: of c d h s they become h c s d."""
    return text.translate(str.maketrans("cdhs", "hcsd"))


def cards_of(name):
    return frozenset((name[:2], name[2:]))


def test_a_board_that_no_hand_improves_leaves_nothing_to_play_for():
    game = hold_em("AsKsQsJsTs", ("99-77", "*"), 100, 100, "100%", "")
    calling = game.lock({"/all-in 100": [0, 1], "/check/all-in 100": [0, 1]})
    profile = average(calling, "cfr+", 20)
    uniform = Profile.uniform(calling)
    for player in (0, 1):
        assert (calling.utility(player, uniform) == 0.0).all()
        assert np.array_equal(profile[player], uniform[player])
    assert (game.equity(0) == 0.5).all()


def test_hands_without_weight_change_nothing():
    game = hold_em(**SMALL | {"ranges": ("66,54s", "55")})
    weights = parse_range("66,54s", "2-6"), parse_range("*:0,55", "2-6")
    same = hold_em(**SMALL | {"ranges": weights})
    assert same.deal.types == game.deal.types
    for one, other in zip(average(game, "dcfr", 5), average(same, "dcfr", 5), strict=True):
        assert np.array_equal(one, other)


def test_equity_is_the_share_of_pairs_and_rivers_won():
    game = hold_em("2c3d3h5c", ("66,5s4s", "55,6s4s"), 40, 90, deck="2-6")
    equity = game.equity(0)
    first, second = (
        [(card_of(name[:2]), card_of(name[2:])) for name in names] for names in game.deal.types
    )
    board = [card_of(name) for name in ("2c", "3d", "3h", "5c")]
    for one, found in zip(first, equity, strict=True):
        results = []
        for two in second:
            for river in {*range(20)} - {*one, *two, *board}:
                if not set(one) & set(two):
                    a, b = (
                        int(strengths(bits_of(np.array([*board, river, *hand]))))
                        for hand in (one, two)
                    )
                    results.append((a > b) + (a == b) / 2)
        assert_allclose(found, np.mean(results), atol=1e-12)


# Published endgames, read where they stand

LIBRATUS = Path(__file__).parents[3] / "shared" / "libratus"
with_files = pytest.mark.skipif(
    not LIBRATUS.exists(), reason="the endgames have no licence, so they are not in this repository"
)


@with_files
@pytest.mark.parametrize(
    ("number", "board", "pot", "stack", "positive"),
    [
        (1, "7s9h9cTc", 500, 19_750, (828, 965)),
        (2, "Ts6hAh7c", 4780, 17_610, (855, 405)),
        (3, "4s8hTc9h2s", 500, 19_750, (1033, 1059)),
    ],
)
def test_the_endgames_of_libratus_are_read(number, board, pot, stack, positive):
    endgame = read_libratus(LIBRATUS / f"subgame{number}.txt")
    assert (endgame["board"], endgame["pot"], endgame["stack"]) == (board, pot, stack)
    assert tuple(np.count_nonzero(weights) for weights in endgame["ranges"]) == positive
    assert parse_range(endgame["ranges"][0]).max() <= 1.0
    for weights in endgame["ranges"]:
        assert np.array_equal(parse_range(write_range(weights)), weights)


@with_files
def test_reach_numbers_belong_to_the_hands_in_the_published_order(tmp_path):
    text = (LIBRATUS / "subgame3.txt").read_text()
    numbers = text.split("-reach ")[1].split()
    cards = [rank + suit for rank in "23456789TJQKA" for suit in "shdc"]
    pairs = [one + two for one, two in itertools.combinations(cards, 2)]
    expected = dict(zip(pairs, map(float, numbers[1326:]), strict=True))
    assert np.array_equal(
        read_libratus(LIBRATUS / "subgame3.txt")["ranges"][1], parse_range(expected)
    )


@with_files
@pytest.mark.deep
def test_an_endgame_of_libratus_is_solved_to_a_small_share_of_the_pot():
    game = hold_em(**read_libratus(LIBRATUS / "subgame3.txt"))
    assert nash_conv(game, average(game, "dcfr", 500)) / 2 < 0.003 * 500


@with_files
@pytest.mark.deep
@pytest.mark.parametrize("number", [1, 2])
def test_the_turns_of_libratus_are_solved_to_a_small_share_of_the_pot(number):
    endgame = read_libratus(LIBRATUS / f"subgame{number}.txt")
    game = hold_em(**endgame, bets={"river": "100%"}, raises="")
    assert len(game.tree.names[game.tree.find("/check/check")]) == 48
    assert nash_conv(game, average(game, "dcfr", 40)) / 2 < 0.003 * endgame["pot"]


# Names and refusals


@pytest.mark.parametrize("key", ["A", "B16", "R", "U"])
def test_the_name_of_an_endgame_is_loaded_again(games, key):
    game = games(key)
    again = load(game.name)
    assert again.name == game.name
    assert again.deal.types == game.deal.types
    assert rk.games.fingerprint(again) == rk.games.fingerprint(game)


def test_a_long_name_is_the_board():
    weights = np.random.default_rng(0).random(1326)
    assert hold_em(ranges=(weights, "*")).name == "hold_em on 2c 2d 2h 3c 3d"


test_bad_endgames_are_refused = refusals(
    ({"board": "2c2d2h3c2c"}, "has 2c twice; give every card once"),
    ({"board": "2c 2d"}, "board must be a turn or a river, got '2c 2d'; write four or five cards"),
    ({"ranges": ("22", "KK")}, r"ranges\[0\] has no hand of positive weight without a card of"),
    ({"ranges": ("AA", "KK:0")}, r"ranges\[1\] has no hand of positive weight"),
    ({"ranges": ("AA", "")}, r"ranges\[1\] has no hand of positive weight"),
    ({"ranges": ("AhAs", "AhKh,AsKs")}, r"no hand of ranges\[0\] can meet one of ranges\[1\]"),
    ({"board": "2c2d3c3d", "ranges": ALL, "deck": "2-4cd"}, "the deck is too small; add hands"),
    ({"ranges": "AA"}, r"ranges must be a pair, one for each player, got 'AA'; pass \('22\+,AK'"),
    ({"ranges": ("AA:-1", "KK")}, "the weight of 'AA' must be finite and at least 0, got -1.0"),
    ({"ranges": ({"AA": np.nan}, "KK")}, "the weight of 'AA' must be finite"),
    ({"bets": "50"}, "bets has the size '50', which has no known unit; write '50%' of the pot"),
    ({"raises": "50q"}, "raises has the size '50q', which has no known unit"),
    ({"bets": ("a", "a", "a")}, "bets must be one text, or one for each of two players"),
    ({"bets": {"flop": "a"}}, "bets has sizes for 'flop'; the streets are river"),
    ({"pot": 0}, "pot must be a whole number, at least 1, got 0"),
    ({"stack": 0.5}, "stack must be a whole number"),
    ({"rake": 1.5}, "rake must be from 0 to 1, got 1.5"),
    ({"rake": float("nan")}, "rake must be from 0 to 1, got nan"),
    ({"cap": -1}, "cap must be a finite number, at least 0, got -1"),
    ({"max_bets": 0}, "max_bets must be a whole number, at least 1, got 0"),
    (
        {"bets": "1c", "raises": "1c", "stack": 9500},
        "more than 60 bets and raises; pass max_bets=4",
    ),
    ({"deck": "2-B"}, "deck must be ranks, each once"),
    ({"merging_threshold": -0.1}, "merging_threshold must be a finite number, at least 0"),
    call=lambda options: hold_em(**options),
    error=(ValueError, TypeError),
)


@pytest.mark.deep
def test_a_tree_of_very_many_bets_is_refused():
    sizes = {"bets": "9%,50%,99%,a", "raises": "9%,50%,99%,199%", "stack": 10**6}
    with pytest.raises(
        ValueError, match="more than 50,000 decisions; pass fewer sizes, or max_bet"
    ):
        hold_em(**sizes)
