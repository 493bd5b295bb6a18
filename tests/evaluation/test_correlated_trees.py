"""Gaps of correlated play in trees: by their definition, by numbers of others, and in order."""

from pathlib import Path

import naive_efr
import numpy as np
import pytest
from naive_correlation import Definition, information_sets
from naive_games import chance, decision, end, random_game
from refusals import refusals

from regretkit import (
    CFR,
    ExtensiveFormGame,
    NormalFormGame,
    RegretMatching,
    RegretMatchingPlus,
    SelfPlay,
    games,
)
from regretkit.evaluation import CorrelatedPlay
from regretkit.play import (
    Last,
    Linear,
    Simultaneous,
    resume,
    solve,
)

ALL = ["efcce", "efce", "linear"]
GAMES = Path(__file__).parents[2] / "examples" / "games"


def watched(game, iterations, rule=RegretMatchingPlus, **options):
    """Return the gaps of self-play by CFR."""
    play = CorrelatedPlay(game, ALL)
    players = [CFR(tree, rule) for tree in game.domains]
    SelfPlay(game, players, **{"order": Simultaneous()} | options).run(iterations, callbacks=[play])
    return play


def random_behavior(generator, definition_sets):
    """Return a distribution at every information set, some of them without some actions."""
    behavior = {}
    for player, sets in enumerate(definition_sets):
        for label, (actions, _) in sets.items():
            weights = generator.exponential(size=len(actions))
            weights[generator.random(len(actions)) < 0.3] = 0.0
            weights[generator.integers(len(actions))] += 0.1
            behavior[player, str(label)] = weights / weights.sum()
    return behavior


def small_game(seed):
    """Return a game of 2 to 4 players with chance that has few plans, and some iterations of it."""
    players, sizes, levels = 2 + seed % 3, [[99]], 0
    generator = np.random.default_rng(seed)
    while sum(map(sum, sizes)) > 24 or max(map(sum, sizes)) > 12 or levels < 1 + seed % 2:
        root = random_game(generator, players, depth=int(generator.integers(2, 5)))
        sets = [information_sets(root, player) for player in range(players)]
        sizes = [[len(actions) for actions, _ in own.values()] for own in sets]
        levels = max([1 + len(way) for own in sets for _, way in own.values()], default=0)
    played = [(generator.exponential(), random_behavior(generator, sets)) for _ in range(4)]
    return root, players, played


# By definition


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("seed", range(200))
def test_gaps_are_those_of_the_definition(seed):
    root, players, played = small_game(seed)
    game = ExtensiveFormGame.from_history(root)
    play, defined = CorrelatedPlay(game, ALL), Definition(root, players, played)
    for weight, behavior in played:
        named = [
            {label: behavior[player, label] for label in game.tree.labels[player]}
            for player in range(players)
        ]
        play.add(named, weight)

    for player in range(players):
        assert play.gaps("cce")[player] == pytest.approx(defined.nfcce(player), abs=1e-12)
        assert play.gaps("linear")[player] == pytest.approx(defined.linear(player), abs=1e-8)
        for notion, coarse in ("efcce", True), ("efce", False):
            largest = defined.largest(player, coarse=coarse)
            found = play.gaps(notion, largest=True)[player]
            assert found == pytest.approx(largest, abs=1e-12)
            together = defined.all_at_once(player, coarse=coarse)
            assert play.gaps(notion)[player] == pytest.approx(together, abs=1e-12)
        assert play.gaps("linear")[player] <= defined.nfce(player) + 1e-12


# Numbers from outside


def test_to_be_out_of_the_in_out_game_is_no_efce():
    # Two changes of one choice gain nothing; the definition of von Stengel and Forges gains 1.
    play = CorrelatedPlay(games.in_out(), ALL)
    play.add([{label: [0.0, 1.0] for label in ("", "in", "out")}])
    for gap in play.gap("efce"), play.gap("efcce"), play.gap("cce"), play.gap("linear"):
        assert gap == 1.0
    tree = play.game.domains[0]
    actions = naive_efr.EFR(tree.parent_sequence, tree.sizes, "informed_action")
    utility = play.game.utility(0, [tree.relative_interior_point()])
    gains = actions.gains(dict(enumerate([0.0, 1.0] * 3, 1)), utility)
    assert max(map(max, gains)) == 0.0


EXTENDED_SHAPLEY = [
    # Iterates from the second on, EFCCE gap, EFCE gap: the sums of both players, as Morrill et al.
    # (2021) published them
    (2, 0.0833333333, 0.0833333333),
    (17, 0.1536143791, 0.3205882353),
    (51, 0.0835611708, 0.2831824857),
]


def test_the_play_of_cfr_in_extended_shapley_has_the_gaps_that_were_published():
    game, found = games.extended_shapley(), {}
    players, play = [CFR(tree, RegretMatching) for tree in game.domains], CorrelatedPlay(game, ALL)
    for iteration in range(52):
        if iteration == 2:
            # All is tied until here. In the published run rounding decides between hands, for two
            # of player 0's; regrets of 1e-12 decide in the same way.
            players[0].observe_utility(1e-12 * np.array([0, 1, 0, 1, 0, 0, 0, 0, 0, 0]))
            players[1].observe_utility(np.zeros(4))
        profile = [player.next_strategy() for player in players]
        for number, player in enumerate(players):
            player.observe_utility(game.utility(number, profile))
        if iteration:
            play.add(profile)
            found[iteration] = play.gaps("efcce").sum(), play.gaps("efce").sum()
    for iterates, *published in EXTENDED_SHAPLEY:
        assert found[iterates] == pytest.approx(published, abs=1e-10)


# By an implementation of others' formulas, apart from this library: the largest trigger
@pytest.mark.parametrize(
    ("call", "iterations", "gaps"),
    [
        ("kuhn_poker", 10, (0.0644036209, 0.0490629315)),
        ("sheriff(2, 1, 1)", 10, (2.1716140859, 0.0397282689)),
        ("signalling", 25, (0.0, 1 / 100)),
    ],
)
def test_learners_of_efce_have_the_pinned_gaps(call, iterations, gaps):
    play = CorrelatedPlay(games.load(call), ["efce"])
    solve(play.game, "efce", iterations=iterations, callbacks=[play], engine="numpy")
    np.testing.assert_allclose(play.gaps("efce", largest=True), gaps, rtol=0.0, atol=1e-8)


# What has to hold


def guess_pair():
    """Return a game of one player, who guesses a coin in one of two rooms."""
    guesses = {"right": end(1.0), "wrong": end(0.0)}
    rooms = {room: decision(0, room, **guesses) for room in ("left", "right")}
    return ExtensiveFormGame.from_history(chance([0.5, 0.5], **rooms))


def test_the_largest_trigger_may_gain_half_of_what_a_fixed_strategy_gains():
    play = CorrelatedPlay(guess_pair(), ALL)
    play.add([{label: [0.0, 1.0] for label in ("left", "right")}])
    assert play.gaps("efce", largest=True) == play.gaps("efcce", largest=True) == [0.5]
    for name in ("cce", *ALL):
        assert play.gaps(name) == [1.0]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)], ids=str)
def test_with_one_decision_triggers_are_swaps(shape):
    generator = np.random.default_rng(len(shape))
    game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
    play = CorrelatedPlay(game, ALL)
    for weight in generator.exponential(size=10):
        play.add([generator.dirichlet(np.ones(n)) for n in shape], weight)
    ce, cce = play.gaps("ce"), play.gaps("cce")
    for found, expected in [
        (play.gaps("efce"), ce),
        (play.gaps("linear"), ce),
        (play.gaps("efcce", largest=True), cce),
        (play.gaps("efcce"), cce.clip(min=0.0)),
    ]:
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)


# Weights, state, and runs


def test_iterations_of_a_run_count_by_the_averaging():
    game, profiles = games.kuhn_poker(), []
    play = CorrelatedPlay(game, ALL, averaging=Linear())
    solve(
        game, "cfr+", iterations=5, callbacks=[play, lambda run: profiles.append(run.last_profile)]
    )
    weighted = CorrelatedPlay(game, ALL)
    for weight, profile in enumerate(profiles, start=1):
        weighted.add(profile, weight)
    assert play.total_weight == 15.0
    for name in ALL:
        np.testing.assert_array_equal(play.gaps(name), weighted.gaps(name))


@pytest.mark.parametrize("call", ["kuhn_poker", "chicken"])
def test_an_infinite_weight_discards_what_was_played_before(call):
    game = games.load(call)
    play, last = (CorrelatedPlay(game, ["linear"], averaging=of) for of in (Last(), None))
    run = solve(game, "cfr+", iterations=4, callbacks=[play], engine="numpy")
    last.add(run.last_profile)
    assert play.total_weight == 1.0
    for name in "linear", "cce":
        np.testing.assert_array_equal(play.gaps(name), last.gaps(name))


def test_a_checkpoint_holds_what_was_played(tmp_path):
    game, path = games.kuhn_poker(), tmp_path / "run"
    play, again = CorrelatedPlay(game, ALL), CorrelatedPlay(game, ALL)
    run = solve(game, "cfr", iterations=5, callbacks=[play])
    run.save(path, callbacks=[play])
    resume(path, callbacks=[again]).run(5, callbacks=[again])
    run.run(5, callbacks=[play])
    for name in ALL:
        np.testing.assert_array_equal(again.gaps(name), play.gaps(name))
    with pytest.raises(ValueError, match="_sums"):
        CorrelatedPlay(game, ["efce"]).load_state_dict(play.state_dict())


# Refusals


def played(*deviations, game=None):
    play = CorrelatedPlay(game or games.kuhn_poker(), deviations)
    play.add([tree.relative_interior_point() for tree in play.game.domains])
    return play


test_what_has_no_gap_is_refused = refusals(
    (
        lambda: CorrelatedPlay(games.kuhn_poker(), "efce"),
        TypeError,
        "must be a sequence of 'efcce'",
    ),
    (lambda: played("EFCI"), ValueError, "must be a sequence of .* got 'efci'; did you mean"),
    (
        lambda: played(game=games.load(GAMES / "absent_minded_driver.efg")),
        ValueError,
        "imperfect recall: player 0 cannot tell",
    ),
    (lambda: CorrelatedPlay(games.kuhn_poker()).gaps("cce"), ValueError, "add a joint"),
    (lambda: played("efce").gaps("linear"), ValueError, r"notion must be .*'efce'.* got 'linear'"),
    (lambda: played().gaps("ce"), TypeError, "game must be in normal form for 'ce'"),
)
