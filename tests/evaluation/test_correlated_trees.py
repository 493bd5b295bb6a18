"""Gaps of correlated play in trees: by their definition, by numbers of others, and in order."""

import itertools
from pathlib import Path

import naive_efr
import naive_trigger
import numpy as np
import pytest
from naive_correlation import Definition, information_sets
from naive_exact import with_payoffs
from naive_games import chance, decision, end, random_game

from regretkit import (
    CFR,
    ExtensiveFormGame,
    NormalFormGame,
    RegretMatching,
    RegretMatchingPlus,
    SelfPlay,
    games,
)
from regretkit.circuits import DeviationSet, TriggerDeviations
from regretkit.evaluation import CorrelatedPlay, RegretLedger
from regretkit.play import (
    Alternating,
    At,
    Last,
    Linear,
    Recorder,
    Simultaneous,
    every,
    geometric,
    named,
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


@pytest.mark.deep_beyond(12)
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


def test_the_device_of_von_stengel_and_forges_is_an_efce():
    # The professor hires at the signal of a good student, which a bad one does not know.
    game = games.signalling()
    play, payoffs = CorrelatedPlay(game, ALL), []
    for good, bad in itertools.product(np.eye(2), repeat=2):
        profile = [{"G": good, "B": bad}, {"X": good, "Y": good[::-1]}]
        play.add(profile)
        payoffs.append(game.value([*play_vectors(game, profile)]))
    np.testing.assert_allclose(np.mean(payoffs, axis=0), [3.5, 6.5], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(play.gaps("efce"), 0.0, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(play.gaps("efcce"), 0.0, rtol=0.0, atol=1e-15)
    # By a linear map a bad student sends what a good one is told to, and is always hired.
    np.testing.assert_allclose(play.gaps("linear"), [1.5, 0.0], rtol=0.0, atol=1e-15)


def play_vectors(game, profile):
    for tree, labels, chosen in zip(game.domains, game.tree.labels, profile, strict=True):
        yield tree.sequence_form(np.concatenate([chosen[label] for label in labels]))


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
    (6, 0.1944444444, 0.2916666667),
    (17, 0.1536143791, 0.3205882353),
    (26, 0.1101527008, 0.3357533358),
    (51, 0.0835611708, 0.2831824857),
    (101, 0.0482626163, 0.3153449225),
]


def test_the_play_of_cfr_in_extended_shapley_has_the_gaps_that_were_published():
    game, found = games.extended_shapley(), {}
    players, play = [CFR(tree, RegretMatching) for tree in game.domains], CorrelatedPlay(game, ALL)
    for iteration in range(102):
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
    ("game", "iterations", "gaps"),
    [
        ("kuhn_poker", 5, (0.1288072417, 0.1023195876)),
        ("kuhn_poker", 10, (0.0644036209, 0.0490629315)),
        ("chicken", 10, (0.1760921692,) * 2),
        ("sheriff(2, 1, 1)", 10, (2.1716140859, 0.0397282689)),
    ],
)
def test_learners_of_efce_have_the_pinned_gaps(game, iterations, gaps):
    game = games.load(game)
    if isinstance(game, NormalFormGame):
        game = ExtensiveFormGame.from_history(games.as_history(game))
    play = CorrelatedPlay(game, ["efce"])
    solve(game, "efce", iterations=iterations, callbacks=[play])
    np.testing.assert_allclose(play.gaps("efce", largest=True), gaps, rtol=0.0, atol=1e-8)


def test_learners_in_goofspiel_have_the_gaps_of_the_formulas_in_sixty_digits():
    # Rounding decides between ties after a few iterations in plain floating point.
    game = games.goofspiel(3, returns="total_points")
    precise, play = CorrelatedPlay(game, ["efce"]), CorrelatedPlay(game, ["efce"])
    for profile in naive_trigger.trajectory(game, 10):
        precise.add(profile)
    solve(game, "efce", iterations=10, callbacks=[play])
    for found in precise, play:
        np.testing.assert_allclose(
            found.gaps("efce", largest=True), 0.4228953588, rtol=0.0, atol=1e-8
        )


@pytest.mark.parametrize("unit", [1.0, 1 / 3])
@pytest.mark.parametrize("iterations", [4, 10, 25])
def test_learners_of_the_signalling_game_have_simple_gaps(iterations, unit):
    game = games.signalling()
    play = CorrelatedPlay(with_payoffs(game, unit * game.tree.payoffs), ["efce"])
    solve(play.game, "efce", iterations=iterations, callbacks=[play])
    largest, fixed = play.gaps("efce", largest=True), play.gaps("cce")
    np.testing.assert_allclose(largest, [0.0, unit / (4 * iterations)], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(fixed, [0.0, unit / (2 * iterations)], rtol=0.0, atol=1e-12)


def test_cfr_plus_on_kuhn_poker_has_the_pinned_gaps():
    play = watched(games.kuhn_poker(), 100)
    pinned = [0.0094684998, 0.0108621872], [0.0215402958, 0.0174401002]
    np.testing.assert_allclose(play.gaps("efce", largest=True), pinned[0], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(play.gaps("cce"), pinned[1], rtol=0.0, atol=1e-8)


# What has to hold


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize(
    "game",
    [
        *("kuhn_poker", "kuhn_poker(players=3)", "signalling", "in_out", "extended_shapley"),
        *(
            "sheriff(2, 1, 2)",
            "goofspiel(3, players=2)",
            "tiny_hanabi",
            "battleship(1, 2, shots=1)",
        ),
    ],
)
def test_finer_deviations_gain_more(game):
    for order in Simultaneous(), Alternating():
        play = watched(games.load(game), 20, RegretMatching, order=order)
        gaps = play.gaps("cce"), play.gaps("efcce"), play.gaps("efce"), play.gaps("linear")
        for coarser, finer in itertools.pairwise(gaps):
            assert (coarser <= finer + 1e-12).all()
        assert (play.gaps("efce", largest=True) <= play.gaps("efce") + 1e-12).all()


def guess_pair():
    """Return a game of one player, who guesses a coin in one of two rooms."""
    guesses = {"right": end(1.0), "wrong": end(0.0)}
    rooms = {room: decision(0, room, **guesses) for room in ("left", "right")}
    return ExtensiveFormGame.from_history(chance([0.5, 0.5], **rooms))


def test_the_largest_trigger_may_gain_half_of_what_a_fixed_strategy_gains():
    play = CorrelatedPlay(guess_pair(), ALL)
    play.add([{label: [0.0, 1.0] for label in ("left", "right")}])
    assert play.gaps("efce", largest=True) == play.gaps("efcce", largest=True) == [0.5]
    assert (
        play.gaps("cce") == play.gaps("efce") == play.gaps("efcce") == play.gaps("linear") == [1.0]
    )


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)], ids=str)
def test_with_one_decision_triggers_are_swaps(shape):
    generator = np.random.default_rng(len(shape))
    game = NormalFormGame(generator.normal(size=(len(shape), *shape)))
    play, joint = CorrelatedPlay(game, ALL), np.zeros(shape)
    for weight in generator.exponential(size=10):
        profile = [generator.dirichlet(np.ones(n)) for n in shape]
        play.add(profile, weight)
        joint += weight * np.einsum("a,b->ab", *profile) if len(shape) == 2 else 0.0
    np.testing.assert_allclose(play.gaps("efce"), play.gaps("ce"), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(play.gaps("linear"), play.gaps("ce"), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(
        play.gaps("efcce", largest=True), play.gaps("cce"), rtol=0.0, atol=1e-13
    )
    np.testing.assert_allclose(
        play.gaps("efcce"), play.gaps("cce").clip(min=0.0), rtol=0.0, atol=1e-13
    )
    if len(shape) == 2:
        mu = joint / play.total_weight
        for player, payoffs in enumerate((game.payoffs[0], game.payoffs[1].T)):
            weighted = (mu if player == 0 else mu.T) @ payoffs.T
            internal = (weighted - np.diag(weighted)[:, None]).max()
            assert play.gaps("efce", largest=True)[player] == pytest.approx(internal, abs=1e-13)


class Constants(DeviationSet):
    """All constant maps of a tree: regret against them is external regret."""

    def __init__(self, tree):
        self.domain = self.coefficients = tree

    def apply(self, coefficients, point):
        return coefficients.copy()

    def utility(self, utility, point):
        return utility.copy()


def test_deviations_of_ones_own_are_measured():
    game = games.leduc_poker(ranks=2, merge_suits=True)
    play = CorrelatedPlay(game, [Constants, "efce", TriggerDeviations])
    solve(game, "cfr", iterations=5, callbacks=[play])
    np.testing.assert_allclose(play.gaps(Constants), play.gaps("cce"), rtol=0.0, atol=1e-12)
    for largest in True, False:
        own = play.gaps(TriggerDeviations, largest=largest)
        np.testing.assert_array_equal(own, play.gaps("efce", largest=largest))


def certain_chance(*payoffs):
    """Return a game in which chance never goes one way; the second player moves last."""
    ends = iter(payoffs)
    second = {a: decision(1, "second", left=next(ends), right=next(ends)) for a in "ab"}
    never = decision(0, "two", a=end(9.0, 9.0), b=end(0.0, 0.0))
    root = chance([1.0, 0.0], first=decision(0, "one", **second), never=never)
    return ExtensiveFormGame.from_history(root)


EDGES = {
    "one player": games.in_out(),
    "a player without decisions": ExtensiveFormGame.from_history(
        decision(1, "only", a=end(3.0, 0.0), b=end(0.0, 1.0))
    ),
    "equal payoffs": with_payoffs(games.kuhn_poker(), np.full((30, 2), 1 / 3)),
    "certain chance": certain_chance(end(2.0, 1.0), end(0.0, 0.0), end(0.0, 0.0), end(1.0, 2.0)),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(
    ("algorithm", "gap"),
    [("efce", "efce"), ("efcce", "efcce"), ("efr-csps", "efce"), ("linear-swap", "linear")],
)
def test_learners_come_to_equilibria_in_edge_cases(edge, algorithm, gap):
    play = CorrelatedPlay(EDGES[edge], ALL)
    run = named(algorithm).start(EDGES[edge], engine="numpy")
    RegretLedger(run, strict=True)
    run.run(100, callbacks=[play])
    assert play.gaps(gap).min() >= -1e-15
    assert play.gaps(gap).max() <= 0.05 * (edge != "equal payoffs") + 1e-15


def test_a_player_without_decisions_gains_nothing():
    play = CorrelatedPlay(EDGES["a player without decisions"], ALL)
    play.add([{}, {"only": [1.0, 0.0]}])
    for gaps in play.gaps("efcce"), play.gaps("efce"), play.gaps("linear"), play.gaps("cce"):
        np.testing.assert_array_equal(gaps, [0.0, 1.0])
    np.testing.assert_array_equal(play.gaps("efce", largest=True), [0.0, 1.0])


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


def test_an_infinite_weight_discards_what_was_played_before():
    for game in (games.kuhn_poker(), games.chicken()):
        names = ALL if isinstance(game, ExtensiveFormGame) else ["linear"]
        play, last = (CorrelatedPlay(game, names, averaging=of) for of in (Last(), None))
        run = solve(game, "cfr+", iterations=4, callbacks=[play])
        last.add(run.last_profile)
        assert play.total_weight == 1.0
        for name in names:
            np.testing.assert_array_equal(play.gaps(name), last.gaps(name))
        np.testing.assert_array_equal(play.gaps("cce"), last.gaps("cce"))
        run.run(1)
        play.add(run.last_profile, 2.0)
        last.add(run.last_profile, 2.0)
        np.testing.assert_array_equal(play.gaps("cce"), last.gaps("cce"))


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


@pytest.mark.parametrize("engine", ["numpy", pytest.param("compiled", marks=pytest.mark.deep)])
def test_gaps_are_recorded_in_every_engine(engine):
    records = [Recorder(["efce_gap", "cce_gap"]) for _ in range(2)]
    for record, name in zip(records, ["numpy", engine], strict=True):
        watch = At(geometric(2), record)
        solve(games.kuhn_poker(), "dcfr", iterations=20, engine=name, callbacks=[watch])
    for gap in records[0].values:
        values = [record.values[gap] for record in records]
        np.testing.assert_allclose(*values, rtol=0.0, atol=1e-12)


def test_a_recorder_measures_gaps_of_all_iterations_by_name():
    game = games.kuhn_poker()
    names = [f"{name}_gap" for name in ("cce", *ALL)]
    record, play, seen = Recorder(names), CorrelatedPlay(game, ALL), []
    watching = [play, At(every(3), record), At(every(3), lambda _: seen.append(play.gap("efce")))]
    run = solve(game, "dcfr", iterations=4, callbacks=watching)
    run.run(3, callbacks=watching)
    assert record.iterations == [3, 6]
    assert record.values["efce_gap"] == seen
    run.run(2, callbacks=[play, last := At(every(9), record)])
    for name in names:
        assert record.values[name][-1] == play.gap(name.removesuffix("_gap"))
    assert last.period == 9
    with pytest.raises(ValueError, match="efce_gap is over all iterations, and this run was not"):
        run.run(1, callbacks=[Recorder("efce_gap")])
    other = solve(games.signalling(), "cfr", iterations=1)
    with pytest.raises(ValueError, match="this run was not watched from its first one"):
        other.run(1, callbacks=[record])
    # The same record of another run begins anew.
    again = solve(game, "dcfr", iterations=3, callbacks=[record])
    assert again.iteration == 3
    assert record.values["efce_gap"][-1] == seen[0]


def test_a_recorder_continues_with_the_gaps_of_a_resumed_run(tmp_path):
    game, path, names = games.kuhn_poker(), tmp_path / "run", ["efce_gap", "cce_gap"]
    whole, half, rest, late = (At(every(5), Recorder(names)) for _ in range(4))
    run = solve(game, "cfr", iterations=10, callbacks=[whole, half])
    run.save(path, callbacks=[half])
    resume(path, callbacks=[rest]).run(10, callbacks=[rest])
    run.run(10, callbacks=[whole])
    assert rest.callback.values == whole.callback.values
    assert len(rest.callback.values["efce_gap"]) == 4
    # What was played without the record is missing from its gaps, in a restored one too.
    run.save(path, callbacks=[half])
    with pytest.raises(ValueError, match="this run was not watched from its first one"):
        resume(path, callbacks=[late]).run(10, callbacks=[late])


def test_what_begin_returns_is_called_after_every_iteration():
    calls = []

    class Watcher:
        def begin(self, run):
            return [lambda run: calls.append(run.iteration)]

        def __call__(self, run):
            calls.append("called")

    solve(games.kuhn_poker(), "cfr", iterations=3, callbacks=[At(every(2), Watcher())])
    assert calls == [1, 2, "called", 3]


# Refusals


@pytest.mark.parametrize(
    ("deviations", "error", "message"),
    [
        ("efce", TypeError, "deviations must be a sequence of 'efcce', .*, got 'efce'"),
        (["nfcce"], ValueError, "got 'nfcce'"),
        (["EFCI"], ValueError, "each of deviations must be one of .*, got 'efci'.*did you mean"),
        ([3], TypeError, r"deviations must be a sequence of .*, got \[3\]"),
        (None, TypeError, "deviations must be a sequence of .*, got None"),
    ],
)
def test_deviations_that_are_none_are_refused(deviations, error, message):
    with pytest.raises(error, match=message):
        CorrelatedPlay(games.kuhn_poker(), deviations)


def test_games_of_imperfect_recall_are_refused():
    with pytest.raises(ValueError, match="imperfect recall: player 0 cannot tell"):
        CorrelatedPlay(games.load(GAMES / "absent_minded_driver.efg"), ["efce"])


def test_gaps_that_were_not_asked_for_are_refused():
    play = CorrelatedPlay(games.kuhn_poker(), ["efce"])
    with pytest.raises(ValueError, match="nothing was played yet"):
        play.gaps("efce")
    play.add([tree.relative_interior_point() for tree in play.game.domains])
    with pytest.raises(
        ValueError, match=r"notion must be .*'efce'.* got 'linear'; build Correlated"
    ):
        play.gaps("linear")
