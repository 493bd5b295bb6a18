"""Public games: sums over pairs of types, game trees, and the catalogue's games."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from public_games import (
    kuhn,
    leduc,
    liars_dice,
    on_tree,
    one_card,
    points_on,
    random_profile,
    river,
)
from refusals import refusals

from regretkit import games, nash_conv, solve
from regretkit.games import fingerprint
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

GAMES = {
    "kuhn": kuhn(5),
    "leduc": leduc(3),
    "merged": leduc(2, [[1, 2], [3, 1]], merged=True),
    "dice": liars_dice(1, 4),
    "two dice": liars_dice(2, 2),
    "one card": one_card([3.0, 1.0, 2.0], [2.0, 2.5]),
    "river": river(5),
    "ties": river(5, 1, ties=True),
    "rake": river(5, 2, 0.05, ties=True),
}
each_game = pytest.mark.parametrize("name", GAMES)


# Sums


@settings(max_examples=60)
@given(st.integers(0, 2), st.integers(1, 9), st.booleans(), st.integers(0, 2**32))
def test_sums_are_those_over_all_pairs(held, count, ties, seed):
    generator = np.random.default_rng(seed)
    deck = max(count, 2 * held)
    cards = [[generator.permutation(deck)[:held] for _ in range(count)] for _ in range(2)]
    distinct = [np.unique(np.sort(each, axis=1), axis=0) for each in cards]
    if held == 0:
        distinct = [np.empty((count, 0), dtype=int)] * 2
    strength = generator.integers(0, 3 if ties else 99, deck + 1)
    # A strength of the cards, so that equal hands are equally strong
    strengths = [np.array([strength[hand].sum() for hand in each]) for each in distinct]
    if held < 2:
        strengths = [generator.integers(0, 3 if ties else 99, len(each)) for each in distinct]
    names = [[str(i) for i in range(len(each))] for each in distinct]
    deal = Deal(names, cards=distinct, strengths=strengths)
    pairs = deal.pairs()
    met = [[not set(a) & set(b) for b in distinct[1].tolist()] for a in distinct[0].tolist()]
    assert np.array_equal(pairs, met)
    for player in (0, 1):
        own, other = strengths[player], strengths[1 - player]
        reach = generator.exponential(size=(3, len(other)))
        sums = deal.meeting(player, "").sums(reach)
        can_meet = (pairs if player == 0 else pairs.T)[np.newaxis]
        beaten = np.sign(own[:, np.newaxis] - other)
        for found, weight in zip(sums[:3], (1, beaten, beaten == 0), strict=True):
            expected = (can_meet * weight * reach[:, np.newaxis]).sum(axis=2)
            assert np.abs(found - expected).max() <= 1e-13 * reach.sum(axis=1).max()
        assert np.array_equal(deal.meeting(player).sums(reach).free == 0, sums.free == 0)


def test_what_rounding_leaves_is_nothing():
    held = np.array([[0, 1], [0, 2], [1, 3], [0, 4], [1, 5], [6, 7]])
    deal = Deal(["abcdef"] * 2, cards=[held] * 2, strengths=[np.arange(6)] * 2)
    # The first type meets the last alone, which is not there; what is left is 1.5 - 0.9 - 0.6.
    reach = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.0]])
    sums = deal.meeting(0, "").sums(reach)
    assert reach.cumsum()[-1] - reach[0, [0, 1, 3]].sum() - reach[0, [0, 2, 4]].sum() + 0.1 != 0
    assert sums.free[0, 0] == sums.more[0, 0] == 0
    assert (sums.free[0, 1:] > 0.1).all()


# Trees


@each_game
def test_a_public_game_is_its_game_tree(name):
    game = GAMES[name]
    tree = game.to_tree()
    for seed in range(3):
        profile = random_profile(game, seed)
        same = on_tree(game, tree, profile)
        assert game.value(profile) == pytest.approx(tree.value(same), abs=1e-13)
        assert nash_conv(game, profile) == pytest.approx(nash_conv(tree, same), abs=1e-12)
        for player in (0, 1):
            points, ours = points_on(game, tree, player), game.domains[player]
            there = np.append(0, 1 + ours.simplices.coordinates(points))
            for payer in (0, 1):
                utility = game.utility(player, profile, payer)[there]
                assert utility == pytest.approx(tree.utility(player, same, payer), abs=1e-13)
    total = tree.constant_sum
    assert game.constant_sum == (None if total is None else pytest.approx(total, abs=1e-12))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *(("kuhn", "kuhn_poker(deck=5)"), ("leduc", "leduc_poker")),
        *(("dice", "liars_dice(sides=4)"), ("two dice", "liars_dice(dice=2, sides=2)")),
        ("four ranks", "leduc_poker(ranks=4)"),
    ],
)
def test_public_games_of_the_catalogue_are_the_catalogues(name, known):
    game, known = (leduc(4) if name == "four ranks" else GAMES[name]), games.load(known)
    assert [tree.points for tree in game.domains] == [tree.points for tree in known.domains]
    ours, theirs = (solve(each, "cfr+", iterations=10) for each in (game, known))
    gaps = nash_conv(game, ours.average), nash_conv(known, theirs.average)
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "merged", "two dice", "river"])
def test_histories_of_a_public_game_make_the_same_tree(name):
    game = GAMES[name]
    walked, built = games.GameTree.from_history(games.as_history(game)), game.to_tree().tree
    for part in ("parent", "player", "information_set", "payoffs"):
        assert np.array_equal(getattr(walked, part), getattr(built, part)), part
    assert walked.probability == pytest.approx(built.probability, rel=1e-12)
    assert walked.labels == built.labels
    assert walked.outcomes == built.outcomes
    assert walked.actions == built.actions


# Tables


def test_a_table_of_comparisons_is_a_comparison():
    cards = np.arange(4)
    table = np.sign(cards[:, np.newaxis] - cards)
    deal = Deal(("abcd", "abcd"), cards=[cards[:, np.newaxis]] * 2, strengths=[cards] * 2)

    def game(showdown):
        call = Decision(1, {"fold": Free(1), "call": showdown(2)})
        root = Decision(0, {"check": showdown(1), "bet": call})
        return PublicGame(PublicTree(root), deal)

    compared, listed = game(lambda x: Compare(x, -x)), game(lambda x: Table(x * table))
    profile = random_profile(compared)
    for player in (0, 1):
        utility = compared.utility(player, profile)
        assert listed.utility(player, profile) == pytest.approx(utility, abs=1e-15)
    assert listed.to_tree().value(on_tree(listed, listed.to_tree(), profile)) == pytest.approx(
        listed.value(profile)
    )


# Types at a node


@each_game
def test_what_types_earn_adds_up_to_the_value(name):
    game = GAMES[name]
    profile = random_profile(game)
    pairs = game.deal.pairs()
    for player in (0, 1):
        reach = [game.reach(i, profile) for i in (0, 1)]
        met = reach[player] * ((pairs if player == 0 else pairs.T) @ reach[1 - player])
        earned = game.ev(player, profile)
        assert met @ np.nan_to_num(earned) / met.sum() == pytest.approx(game.value(profile)[player])


@each_game
def test_evs_of_many_nodes_are_those_of_each(name):
    game = GAMES[name]
    profile, tree = random_profile(game, 3), game.tree
    paths = [tree.path(node) for node in reversed(range(len(tree.nodes)))]
    for player in (0, 1):
        together = game.evs(player, profile, paths)
        np.testing.assert_array_equal(together, [game.ev(player, profile, path) for path in paths])
    assert game.evs(0, profile, []) == []


def test_equity_is_the_share_of_weaker_types():
    game = kuhn(5)
    assert game.equity(0) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    profile = [tree.relative_interior_point() for tree in game.domains]
    assert game.equity(1, "/b", profile) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    # With the public card still to come: a jack pairs with one of the 4 cards that are left.
    dealt = leduc(3)
    jack = (4 * 1 / 2 * 0 + 1) / 5  # against 1 jack, 2 queens and 2 kings
    assert dealt.equity(0)[0] == pytest.approx(_equity(dealt, 0))
    assert jack < dealt.equity(0)[0] < dealt.equity(0)[2] < dealt.equity(0)[4]


def _equity(game, own):
    """Return how often a card of Leduc poker wins, by listing all deals."""
    won = []
    for other in set(range(6)) - {own}:
        for public in set(range(6)) - {own, other}:
            strength = [9 if card // 2 == public // 2 else card // 2 for card in (own, other)]
            won.append((np.sign(strength[0] - strength[1]) + 1) / 2)
    return np.mean(won)


def test_locked_nodes_are_played_as_told():
    game = GAMES["river"]
    profile = random_profile(game)
    locked = game.lock({node: game.behavior(profile, node) for node in ("/check/bet", "/bet")})
    assert locked.tree.player[locked.tree.find("/check/bet")] == games.CHANCE
    free, tree = on_tree(game, locked, profile), locked.to_tree()
    assert locked.value(free) == pytest.approx(game.value(profile))
    assert tree.value(on_tree(locked, tree, free)) == pytest.approx(game.value(profile))


def test_a_locked_node_may_be_told_by_the_names_of_its_actions():
    game = GAMES["river"]
    names = [*game.tree.nodes[0].children]
    shares = np.random.default_rng(1).dirichlet(np.ones(len(names)), game.deal.sizes[0])
    told = dict(zip(names, shares.T, strict=True))
    assert fingerprint(game.lock({"/": told})) == fingerprint(game.lock({"/": shares}))
    first, *others = names
    always, same = {first: 1.0} | dict.fromkeys(others, 0.0), [1.0] + [0.0] * len(others)
    each = np.tile(same, (game.deal.sizes[0], 1))
    told = [fingerprint(game.lock({"/": behavior})) for behavior in (always, same, each)]
    assert told == told[:1] * 3


CARDS = np.arange(3)
DEAL = Deal(("abc", "abc"), cards=[CARDS[:, np.newaxis]] * 2, strengths=[CARDS] * 2)
BET = Decision(0, {"bet": Compare(1, -1), "fold": Free(-1)})
SAME = Deal(("a", "a"), cards=([[1]], [[1]]))


def made(root, deal=DEAL):
    return PublicGame(PublicTree(root), deal)


test_what_is_no_public_game_is_refused = refusals(
    (lambda: PublicTree(Free(1)), TypeError, "root must be a Decision or a Chance"),
    (lambda: Decision(0, {"a": 1}), TypeError, "a node must be a Decision, a Chance or"),
    (lambda: Free((1, 2, 3)), ValueError, "one number, or one for each player"),
    (lambda: Table([1.0, 2.0]), ValueError, "payoffs must have shape"),
    (lambda: made(BET, SAME), ValueError, "no strengths"),
    (
        lambda: made(Decision(0, {"a": Table([[1.0]])})),
        ValueError,
        r"must have shape \(3, 3\), got \(1, 1\)",
    ),
    (lambda: made(Chance({"x": Outcome(BET, 1, ([1], None))})), ValueError, "'/x' must have shape"),
    (lambda: made(BET).equity(0, "/fold"), ValueError, "got none"),
)
test_what_is_no_deal_is_refused = refusals(
    ("ab", "aa", {}, "types\\[1\\] must be .* without duplicates"),
    ("ab", "ab", {"weights": ([1], [1, 1])}, "2 finite numbers"),
    ("a", "a", {"cards": ([[1, 1]], [[1, 2]])}, "different cards"),
    ("a", "a", {"cards": ([[1, 2]],) * 2, "strengths": ([1], [2])}, "must be equally strong"),
    call=lambda first, second, options: Deal((first, second), **options),
    error=ValueError,
)
test_what_is_no_behavior_is_refused = refusals(
    ({"/bet": [1]}, "must be a decision"),
    ({"/": [1]}, "must have shape .*, got \\(1,\\)"),
    ({"/": [[1, 0], [1, np.nan], [2, -1]]}, r"sum to 1 for each type, got \[1.0, nan\] for b"),
    ({"/": {"bet": 1}}, "must be of actions 'bet', 'fold', got {'bet': 1}"),
    call=made(BET).lock,
    error=ValueError,
)
