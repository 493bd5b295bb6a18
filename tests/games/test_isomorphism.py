"""Public games in which outcomes are merged that are the same up to a symmetry of the deal."""

import re

import numpy as np
import pytest
from attrs import evolve
from numpy.testing import assert_allclose
from public_games import leduc, on_tree, on_whole, random_profile
from refusals import refusals

from regretkit.evaluation import hold_em_report, nash_conv
from regretkit.games import Profile, fingerprint, hold_em
from regretkit.games.poker._cards import deck_cards, hand_names, hands_of
from regretkit.games.public import (
    Chance,
    Compare,
    Deal,
    Decision,
    Free,
    Outcome,
    PublicGame,
    PublicTree,
    Table,
)
from regretkit.play import ALGORITHMS, solve

ALL = ("*", "*")
TURN = ("2c3d3h4c", ALL, 40, 100)
DECK = {"deck": "2-4"}


def exchanged(text, one="d", other="h"):
    """Return cards, or a path, with two suits exchanged."""
    swap = {one: other, other: one}
    return re.sub(f"(?<=[2-9TJQKA])[{one}{other}]", lambda suit: swap[suit[0]], text)


def hand(name):
    return frozenset((name[:2], name[2:]))


def ranges(seed, deck="2-4"):
    """Return random ranges that exchanging diamonds and hearts leaves as they are."""
    names = hand_names(hands_of(deck_cards(deck)))
    drawn = np.random.default_rng(seed).uniform(0.5, 1, (2, len(names)))
    there = {hand(name): i for i, name in enumerate(names)}
    other = [there[hand(exchanged(name))] for name in names]
    return tuple((drawn + drawn[:, other]) / 2)


def endgame(*arguments, **options):
    return [hold_em(*arguments, **options, isomorphism=merged) for merged in (False, True)]


def tables(merged, seed=18):
    """Return a game of random tables with a coin of which the two sides exchange types."""
    generator, other = np.random.default_rng(seed), np.array([1, 0, 3, 2])
    drawn = generator.uniform(0.2, 0.8, (2, 4))
    share = drawn[0] / (drawn[0] + drawn[0, other])

    def table():
        return generator.normal(size=(4, 4))

    def coin():
        paid = table(), table()
        sides = [
            Decision(1, {"x": Table(x), "y": Table(y)})
            for x, y in (paid, [each[np.ix_(other, other)] for each in paid])
        ]
        if merged:
            return Chance({"u": Outcome(sides[0], 1, (share, None), {"v": 1})})
        factors = (share, None), (share[other], None)
        return Chance(
            {name: Outcome(*of) for name, *of in zip("uv", sides, (1, 1), factors, strict=True)}
        )

    def end():
        paid = table()
        return Table(paid + paid[np.ix_(other, other)])

    root = {first: Decision(1, {"x": coin(), "y": coin(), "z": end()}) for first in ("a", "b", "c")}
    return PublicGame(
        PublicTree(Decision(0, root)),
        Deal(
            ("abcd", "efgh"),
            weights=list(drawn + drawn[:, other]),
            symmetries=[(np.arange(4),) * 2, (other, other)] if merged else (),
        ),
    )


WEIGHTS = np.random.default_rng(1).uniform(0.5, 1, (2, 3))
CASES = {
    "leduc": lambda: (leduc(3, WEIGHTS), leduc(3, WEIGHTS, merged=True)),
    "tables": lambda: (tables(False), tables(True)),
    "turn": lambda: endgame(*TURN[:1], ranges(5), *TURN[2:], **DECK),
    "rake": lambda: endgame(*TURN, rake=0.05, cap=5, **DECK),
    "one suit": lambda: endgame("2d3d4d6d", ALL, 40, 40, "100%", "", deck="2-6"),
    "river": lambda: endgame("2d3d4d6d6c", ALL, 40, 90, deck="2-6"),
    "three suits": lambda: endgame("2c2d3c3d", ("44,43,5h4h", "*"), 40, 60, deck="2-5cdh"),
    # Exchanging clubs and hearts moves no hand onto a river deuce or off it, yet changes strengths.
    "strengths": lambda: endgame("3c3h4c4h", ("6c5c,6h5h,5d5s", "6c6h,6d5d"), 40, 60, deck="2-6"),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    return CASES[request.param]()


def test_merging_leaves_fewer_decision_points(pair):
    whole, merged = pair
    for player in (0, 1):
        assert merged.domains[player].points < whole.domains[player].points


def test_values_are_those_of_the_whole_game(pair):
    whole, merged = pair
    profile = random_profile(merged)
    there = on_whole(merged, whole, profile)
    assert_allclose(merged.value(profile), whole.value(there), atol=1e-12)
    assert_allclose(nash_conv(merged, profile), nash_conv(whole, there), rtol=1e-12)


def test_types_have_what_they_have_in_the_whole_game(pair):
    whole, merged = pair
    profile = random_profile(merged, 2)
    there = on_whole(merged, whole, profile)
    decisions = np.flatnonzero(whole.tree.player >= 0)
    for node in map(whole.tree.path, decisions[:: max(1, decisions.size // 40)].tolist()):
        for player in (0, 1):
            both = (merged, profile), (whole, there)
            for read in (PublicGame.reach, PublicGame.ev):
                assert_allclose(*(read(game, player, x, node) for game, x in both), atol=1e-11)
            if whole.deal.strengths:
                for read in ((None, None), (there, profile)):
                    found, expected = (
                        game.equity(player, node, x) for game, x in zip(pair, read, strict=True)
                    )
                    assert_allclose(found, expected, atol=1e-11)


def test_the_game_tree_is_the_same():
    # Three suits that the board lacks have permutations that are not their own inverses.
    thirds = hold_em("2d3d4d5d", ("22", "33,54o"), 40, 40, "100%", "", deck="2-5", isomorphism=True)
    for merged in (leduc(2, merged=True), thirds):
        profile, tree = random_profile(merged, 3), merged.to_tree()
        there = on_tree(merged, tree, profile)
        assert_allclose(merged.value(profile), tree.value(there), atol=1e-12)
        assert_allclose(nash_conv(merged, profile), nash_conv(tree, there), rtol=1e-12)


# Play

# mccfr plays trees alone, and the others weigh what is gained at one decision point against others,
# which have more or fewer types there.
OTHERS = "mccfr", "linear-swap", "efce", "efcce"
NAMES = [name for name in ALGORITHMS if name not in OTHERS]


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("name", NAMES)
def test_play_is_that_of_the_whole_game(name):
    # One of few random games in which no regrets come close to a tie, where rounding grows; later
    # those of lcfr do
    whole, merged = CASES["tables"]()
    found, expected = (
        solve(game, name, iterations=60, engine="numpy").average for game in (merged, whole)
    )
    for ours, theirs in zip(on_whole(merged, whole, found), expected, strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=1e-10)


# Suits


def rivers(game):
    return game.tree.names[game.tree.find("/check/check")]


def test_rivers_are_merged_up_to_suits():
    assert [len(rivers(game)) for game in CASES["turn"]()] == [8, 6]
    assert [len(rivers(game)) for game in CASES["one suit"]()] == [16, 6]


@pytest.mark.parametrize("player", [0, 1])
def test_one_weight_breaks_the_merging(player):
    weights = ranges(5)
    names = hand_names(hands_of(deck_cards("2-4")))
    weights[player][names.index("4h2d")] *= 1 + 1e-15
    whole, merged = endgame(*TURN[:1], weights, *TURN[2:], **DECK)
    assert rivers(merged) == rivers(whole)
    assert fingerprint(merged) == fingerprint(whole)


def test_images_have_the_hands_in_other_suits():
    merged = CASES["turn"]()[1]
    profile = random_profile(merged)
    assert "2d" in rivers(merged)
    assert "2h" not in rivers(merged)
    for player, names in enumerate(merged.deal.types):
        there = {hand(name): i for i, name in enumerate(names)}
        other = [there[hand(exchanged(name))] for name in names]
        for path in ("/check/check/2d/check", "/check/bet 40/call/4d", "/check/check/2d"):
            image = exchanged(path)
            assert_allclose(
                merged.reach(player, profile, image), merged.reach(player, profile, path)[other]
            )
            assert_allclose(
                merged.ev(player, profile, image), merged.ev(player, profile, path)[other]
            )
            assert_allclose(merged.equity(player, image), merged.equity(player, path)[other])
    report = hold_em_report(merged, profile, nodes=["/check/check/2d", "/check/check/2h"])
    first, second = (node["hands"] for node in report["nodes"].values())
    both = {hand(exchanged(name)): about for name, about in first.items()}
    assert {hand(name): about for name, about in second.items()} == both


# What is told of types that are merged


def test_locked_behavior_holds_for_all_images():
    whole, merged = CASES["leduc"]()
    behavior = np.random.default_rng(0).dirichlet(np.ones(2), 6)
    other = [1, 0, 3, 2, 5, 4]
    shown = "/c/c/Qs", "/c/c/Qh"
    locked = merged.lock({shown[1]: behavior})
    expected = whole.lock({shown[1]: behavior, shown[0]: behavior[other]})
    profile = random_profile(locked)
    there = on_whole(locked, expected, profile)
    assert_allclose(locked.value(profile), expected.value(there), atol=1e-12)
    assert_allclose(nash_conv(locked, profile), nash_conv(expected, there), rtol=1e-12)


@pytest.mark.parametrize("case", ["leduc", "turn", "river", "strengths"])
def test_locks_change_no_equity(case):
    for game in CASES[case]():
        profile = random_profile(game, 4)
        decisions = list(map(game.tree.path, np.flatnonzero(game.tree.player >= 0).tolist()))
        told = {node: game.behavior(profile, node) for node in decisions[::3]}
        locked = game.lock(told)
        # Each type takes one action, so that most types fold or do not come to a node
        pure = {node: np.eye(b.shape[1])[b.argmax(axis=1)] for node, b in told.items()}
        twice = game.lock(dict(list(pure.items())[::2])).lock(dict(list(pure.items())[1::2]))
        there = on_whole(game, locked, profile)
        for node in decisions[:: max(1, len(decisions) // 40)]:
            for player in (0, 1):
                dealt, played = (game.equity(player, node, x) for x in (None, profile))
                for other in (locked, twice):
                    assert np.array_equal(other.equity(player, node), dealt, equal_nan=True)
                assert_allclose(locked.equity(player, node, there), played, atol=1e-11)


def test_a_locked_opponent_plays_to_a_node_as_told():
    for game in CASES["turn"]():
        behavior = game.behavior(random_profile(game), "/")
        pure = np.eye(behavior.shape[1])[behavior.argmax(axis=1)]
        locked = game.lock({"/": pure})
        bets = pure[:, game.tree.names[0].index("bet 40")] > 0
        weights = game.deal.weights[0] * bets
        betting = evolve(game, deal=evolve(game.deal, weights=[weights, game.deal.weights[1]]))
        found = locked.equity(1, "/bet 40", Profile.uniform(locked))
        assert_allclose(found, betting.equity(1, "/bet 40"), atol=1e-12)


SWAP = [([0, 1], [0, 1]), ([1, 0], [1, 0])]
PAID = Decision(0, {"a": Free(1), "b": Compare(1, -1)})


def two(**options):
    return Deal(("ab", "cd"), **options)


EVEN = two(strengths=([0, 1], [0.5, 0.5]), symmetries=SWAP)


def made(root, deal=EVEN):
    return PublicGame(PublicTree(root), deal)


def coin(probability=0.5, images=("t",), symmetries=(0,), factors=(None, None)):
    """Return a toss of which one side is played, and the others are its images."""
    outcome = Outcome(PAID, probability, factors, dict.fromkeys(images, 1), symmetries)
    return Chance({"h": outcome})


TOLD = Outcome(Free(1), factors=([1, 0], None)), Outcome(Free(-1), factors=([0, 1], None))


test_what_is_no_symmetry_is_refused = refusals(
    (lambda: two(symmetries=[([0, 0], [0, 1])]), "symmetries must be permutations of 2 types"),
    (
        # Type a would play x and type b y, which share a decision point.
        lambda: made(
            Decision(0, {"x": Chance(dict(zip("ht", TOLD, strict=True))), "y": Free(0)}),
            two(symmetries=SWAP),
        ),
        r"images of outcome '/x/h' must be all its images under symmetries \(0, 1\)",
    ),
    (lambda: made(coin(1 / 3, ("t", "u"))), "must be all its images .*, got {'t': 1, 'u': 1}"),
    (
        lambda: two(weights=([1, 1], [1, 2]), symmetries=SWAP),
        r"symmetries\[1\] must preserve weights and compatible types",
    ),
    (
        lambda: made(coin(), two(strengths=([0, 1], [1, 1]))),
        r"'/h' must be among symmetries \(\) of the deal, .*, got \(0,\) and {'t': 1}",
    ),
    (
        lambda: leduc(2, merged=True).lock({"/": [[0.5, 0.5], [0.4, 0.6], [1, 0], [1, 0]]}),
        "the behavior at '/' must be equal for types that symmetries of the deal exchange",
    ),
    error=ValueError,
)


@pytest.mark.parametrize("kept", [[0], []])
def test_a_deal_that_chance_makes_unequal_is_played_apart(kept):
    # Before the coin falls both types play alike, and after it each for itself; the symmetries
    # of its side are the identity, named or not.
    game = made(coin(symmetries=kept))
    labels = game.domains[0].simplices.labels
    assert [labels.block(i) for i in range(game.domains[0].points)] == ["a /h", "b /h"]
