"""EFR: which deviations its types contain, next to plain loops, CFR and OpenSpiel."""

import itertools
from functools import partial

import naive_efr
import numpy as np
import pytest
from factories import LEAVES, meets, random_tree, same_play
from naive_exact import with_payoffs
from refusals import refusals
from scipy.optimize import nnls

import regretkit as rk
from regretkit.circuits import (
    DEVIATION_TYPES,
    EFR,
    Deviations,
    TriggerDeviations,
    internal_maps,
)
from regretkit.evaluation import CorrelatedPlay, RegretLedger, nash_conv
from regretkit.minimizers import ConicBlackwell
from regretkit.play import SelfPlay, Simultaneous

TYPES = list(DEVIATION_TYPES)
EXTERNAL = [name for name in TYPES if not name.endswith("action")]
"""Types that contain the constant deviations."""
each_type = pytest.mark.parametrize("name", TYPES)


def naive_twin(tree, name, kind=naive_efr.EFR):
    return kind(tree.parent_sequence.tolist(), tree.sizes.tolist(), name)


def played(game, name, iterations, local=rk.RegretMatching):
    players = [EFR(tree, name, local) for tree in game.domains]
    return SelfPlay(game, players, order=Simultaneous(), engine="numpy").run(iterations)


# The same in plain loops


@pytest.mark.deep_beyond(9)
@pytest.mark.parametrize("seed", range(12))
@each_type
def test_plain_loops_come_to_the_same_strategies(name, seed):
    tree = random_tree(np.random.default_rng(seed))
    player, naive = EFR(tree, name), naive_twin(tree, name)

    for strategy, utility in meets(player, seed, iterations=25):
        expected = naive.sequence_form(naive.play())
        np.testing.assert_allclose(strategy, expected, rtol=0.0, atol=1e-12)
        naive.learn(utility.tolist())


@each_type
def test_the_rule_observes_what_each_deviation_gains(name):
    tree = random_tree(np.random.default_rng(5), 8)
    player, naive = EFR(tree, name), naive_twin(tree, name)
    tracker = RegretLedger(player).tracker(player.rule)
    totals = np.zeros(player.rule.dimension)

    for strategy, utility in meets(player, seed=2):
        behavior = naive.play()
        np.testing.assert_allclose(naive.sequence_form(behavior), strategy, rtol=0.0, atol=1e-10)
        totals += np.concatenate(naive.gains(behavior, utility.tolist()))
        naive.learn(utility.tolist())

    def by_point(regrets):  # the order of the weights of a decision point is free
        return [sorted(part) for part in np.split(regrets, player.rule.domain.first[1:])]

    for found, expected in zip(by_point(tracker.utilities), by_point(totals), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@each_type
def test_deviations_are_named_after_what_they_change_and_what_they_remember(name):
    tree = rk.DecisionTree([0, 1, 4, 2], [3, 3, 3, 3], labels=[*"abcd"], actions=[[*"uvw"]] * 4)
    player, naive = EFR(tree, name), naive_twin(tree, name)

    def name_of(weight, change):
        told = [f"{'uvw'[(a - 1) % 3]} at {'abcd'[naive.owner[a]]}" for a in weight]
        moved = [(a, to) for a, to in change.items() if a != to]
        origin = f"{'uvw'[(moved[0][0] - 1) % 3]} " if len(moved) == 1 else ""
        after = f" after {', '.join(told)}" if told else ""
        return f"{origin}-> {'uvw'[(moved[0][1] - 1) % 3]}{after}"

    labels = player.rule.domain.labels
    for block, deviations in enumerate(naive.deviations):
        assert {*labels.actions(block)} == {name_of(*found) for found in deviations}
        assert labels.block(block) == "abcd"[block]


# Special cases


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("rule", [leaf for leaf, _ in LEAVES.values()], ids=LEAVES)
def test_blind_counterfactual_deviations_are_cfr_with_the_same_rule(rule):
    tree = random_tree(np.random.default_rng(3), 9)
    same_play(EFR(tree, "blind_cf", rule), rk.CFR(tree, rule), atol=1e-12)


def test_informed_counterfactual_deviations_are_cfr_with_internal_regret_matching():
    def internal(actions):
        if actions == 1:
            return rk.RegretMatching(1)
        return rk.PhiRegret(rk.RegretMatching(actions * (actions - 1)), internal_maps(actions))

    tree = random_tree(np.random.default_rng(4), 9)
    other = rk.CFR(tree, rk.PerDecisionPoint(internal))
    same_play(EFR(tree, "informed_cf"), other, atol=1e-12)


@each_type
def test_at_one_decision_point_it_is_external_or_internal_regret_matching(name):
    blind = DEVIATION_TYPES[name].local == "external"
    maps = internal_maps(3)
    other = rk.RegretMatching(3) if blind else rk.PhiRegret(rk.RegretMatching(6), maps)
    same_play(EFR(rk.Simplices(3), name), other, atol=1e-12)
    tree = EFR(rk.DecisionTree([0], [3]), name)
    for strategy, utility in meets(EFR(rk.Simplices(3), name), seed=3):
        np.testing.assert_array_equal(tree.next_strategy()[1:], strategy)
        tree.observe_utility([0.0, *utility])


@each_type
def test_single_actions_change_nothing(name):
    """A decision without a choice is put before each decision point and after each action."""
    plain, padded = rk.DecisionTree([0, 1], [3, 2]), rk.DecisionTree([0, 1, 2, 5], [1, 3, 1, 2])
    # Sequences: 0; 1; 2, 3, 4; 5; 6, 7
    same = np.array([0, 2, 3, 4, 6, 7])
    player, other = EFR(plain, name), EFR(padded, name)
    for strategy, utility in meets(player, seed=4):
        np.testing.assert_array_equal(other.next_strategy()[same], strategy)
        other.observe_utility(np.eye(padded.dimension)[same].T @ utility)
    assert other.rule.domain == player.rule.domain


@each_type
def test_players_without_a_choice_play_on(name):
    for tree in (rk.DecisionTree([], []), rk.DecisionTree([0, 1], [1, 1])):
        player = EFR(tree, name)
        assert player.rule.dimension == 0
        for strategy, _ in meets(player, seed=1, iterations=5):
            np.testing.assert_array_equal(strategy, np.ones(tree.dimension))


# Which deviations are contained

TREE = rk.DecisionTree([0, 1, 4, 2], [3, 3, 3, 2])
"""Three decisions one after the other, and another one aside."""
TO = {1: 1, 2: 4}
"""The sequence before each of the inner decision points."""


def at_or_after(point):
    """Return which sequences are at a decision point or after it."""
    inside = np.zeros(TREE.dimension)
    for j in range(TREE.points):
        if j == point or inside[TREE.parent_sequence[j]]:
            inside[1 + TREE.simplices.first[j] :][: TREE.sizes[j]] = 1.0
    return inside


def after(sequence):
    """Return which sequences are a sequence or after it."""
    inside = np.zeros(TREE.dimension)
    inside[sequence] = 1.0
    for j in range(TREE.points):
        if inside[TREE.parent_sequence[j]]:
            inside = np.maximum(inside, at_or_after(j))
    return inside


class Changed:
    """A behavior of which some decision points are changed."""

    def __init__(self, behavior):
        self.behavior = behavior.copy()

    def play(self, sequence):
        """Play the action of a sequence in place of all."""
        block = TREE.simplices.block(int(TREE.simplices.block_of[sequence - 1]))
        self.behavior[block] = 0.0
        self.behavior[sequence - 1] = 1.0
        return self

    def swap(self, origin, target):
        """Play one action in place of another."""
        self.behavior[target - 1] += self.behavior[origin - 1]
        self.behavior[origin - 1] = 0.0
        return self

    def form(self):
        return TREE.sequence_form(self.behavior)

    def triggered_in(self, followed, origin):
        """Return a sequence form: followed, and this one after ``origin`` was recommended."""
        point = TREE.simplices.block_of[origin - 1]
        reached = followed[TREE.parent_sequence[point]]
        own = self.form()
        conditional = own / own[TREE.parent_sequence[point]] if reached else own
        moved = followed[origin] * at_or_after(point) * conditional
        return followed * (1.0 - after(origin)) + moved


def pairs(point):
    sequences = range(TREE.first_sequence[point], TREE.first_sequence[point] + TREE.sizes[point])
    return itertools.permutations(sequences, 2)


def actions_of(point):
    return range(TREE.first_sequence[point], TREE.first_sequence[point] + TREE.sizes[point])


def way(point):
    """Return the sequences that lead to a decision point."""
    return {0: [], 1: [1], 2: [1, 4], 3: [2]}[point]


def to(behavior, point, start=0):
    """Return what plays to a decision point from its ancestor number ``start`` on."""
    changed = Changed(behavior)
    for sequence in way(point)[start:]:
        changed.play(sequence)
    return changed


def external(b):
    for chosen in itertools.product(*map(actions_of, range(4))):
        changed = Changed(b)
        for sequence in chosen:
            changed.play(sequence)
        yield changed.form()


def partial_sequence(b, start, *, informed):
    """Follow up to the ancestor ``start(point)``, then play to the point, and deviate there."""
    for point in range(4):
        if informed:
            for origin, target in pairs(point):
                yield to(b, point, start(point)).swap(origin, target).form()
        else:
            for target in actions_of(point):
                yield to(b, point, start(point)).play(target).form()


def counterfactual(b, *, informed):
    return partial_sequence(b, lambda point: 0, informed=informed)


def action(b, *, informed):
    return partial_sequence(b, lambda point: len(way(point)), informed=informed)


def middle(b, *, informed):
    return partial_sequence(b, lambda point: min(1, len(way(point))), informed=informed)


def causal(b, *, informed):
    """Deviate from the second decision point on, when it is reached or on a recommendation."""
    x = Changed(b).form()
    for first, last in itertools.product(actions_of(1), actions_of(2)):
        if not informed:
            yield Changed(b).play(first).play(last).form()
        else:
            for origin in actions_of(1):
                yield Changed(b).play(first).play(last).triggered_in(x, origin)
    for chosen in itertools.product(actions_of(0), actions_of(1), actions_of(2)):
        if informed:
            changed = Changed(b)
            for sequence in chosen:
                changed.play(sequence)
            yield from (changed.triggered_in(x, origin) for origin in actions_of(0))


def twice_informed(b):
    """On a recommendation play to a later point, and deviate there on another one."""
    x = Changed(b).form()
    for origin in actions_of(0):
        for point in (1, 2, 3):
            for swap in pairs(point):
                yield to(b, point).swap(*swap).triggered_in(x, origin)


def thrice_informed(b):
    """Play to the second point on a recommendation, on to the third on another, deviate there."""
    x = Changed(b).form()
    for first, second in itertools.product([2, 3], [5, 6]):
        for swap in pairs(2):
            inner = to(b, 1)
            then = to(b, 2).swap(*swap).triggered_in(inner.form(), second)
            moved = x[first] * at_or_after(0) * then
            yield x * (1.0 - after(first)) + moved


FAMILIES = {
    "external": (external, EXTERNAL),
    "blind counterfactual": (partial(counterfactual, informed=False), EXTERNAL),
    "informed counterfactual": (
        partial(counterfactual, informed=True),
        ["informed_cf", "cfps", "tips", "bhv"],
    ),
    "blind action": (
        partial(action, informed=False),
        ["blind_action", "informed_action", "bps", "cfps", "csps", "tips", "bhv"],
    ),
    "informed action": (
        partial(action, informed=True),
        ["informed_action", "cfps", "csps", "tips", "bhv"],
    ),
    "blind partial sequence": (
        partial(middle, informed=False),
        ["bps", "cfps", "csps", "tips", "bhv"],
    ),
    "informed partial sequence": (partial(middle, informed=True), ["cfps", "tips", "bhv"]),
    "coarse triggers": (partial(causal, informed=False), ["bps", "cfps", "csps", "tips", "bhv"]),
    "triggers": (partial(causal, informed=True), ["csps", "tips", "bhv"]),
    "twice informed": (twice_informed, ["tips", "bhv"]),
    "thrice informed": (thrice_informed, ["bhv"]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_type_contains_what_the_table_says(family):
    """What a deviation gains is a sum of what those of a type gain, wherever it is contained.

    A family is contained if all of its deviations are: nonnegative multiples of the gains of a
    type's deviations add up to its own gain, on random behaviors and utilities.
    """
    deviations, containing = FAMILIES[family]
    generator = np.random.default_rng(1)
    samples = [
        (random_weights(generator), generator.normal(size=TREE.dimension)) for _ in range(150)
    ]
    gained = np.array(
        [[u @ (changed - Changed(b).form()) for changed in deviations(b)] for b, u in samples]
    )
    found = []
    for name in TYPES:
        naive = naive_twin(TREE, name)
        terms = np.array(
            [np.concatenate(naive.gains(dict(enumerate(b, 1)), u)) for b, u in samples]
        )
        misses = [nnls(terms, column)[1] for column in gained.T]
        assert max(misses) < 1e-8 or max(misses) > 1e-3
        found += [name] * (max(misses) < 1e-8)
    assert found == [name for name in TYPES if name in containing]


def random_weights(generator):
    return TREE.simplices.normalize(generator.exponential(size=TREE.simplices.dimension))


# Bounds

BEST = [
    *[(name, rk.RegretMatching) for name in TYPES],
    ("csps", rk.RegretMatchingPlus),
    ("csps", rk.PredictiveRegretMatchingPlus),
    ("tips", partial(rk.Hedge, rate=0.3)),
    ("cfps", partial(rk.SwapRegret, expert=rk.RegretMatching)),
]


@pytest.mark.parametrize(("name", "local"), BEST, ids=lambda value: str(value)[:40])
def test_the_regret_bound_holds_after_every_iteration(name, local):
    player = EFR(random_tree(np.random.default_rng(1), 9), name, local)
    ledger = RegretLedger(player, strict=True)
    list(meets(player, seed=1))
    bound = ledger.regret_bounds()["top"]
    assert bound.exact == (name not in EXTERNAL)
    assert bound.regret > 1.0 or bound.exact


@pytest.mark.parametrize("name", ["bps", "csps", "bhv"])
def test_regret_at_a_decision_point_stays_below_the_bound_of_regret_matching(name):
    """The root of the sum of squares of what was gained bounds every deviation's regret."""
    player = EFR(random_tree(np.random.default_rng(8), 6), name)
    tracker, domain = RegretLedger(player).tracker(player.rule), player.rule.domain
    sums = [np.zeros(domain.dimension)]
    for _ in meets(player, seed=7):
        sums.append(tracker.utilities.copy())
    squares = np.cumsum([domain.sum(gained**2) for gained in np.diff(sums, axis=0)], axis=0)
    largest = np.array([domain.max(np.maximum(total, 0.0)) for total in sums[1:]])
    assert (largest**2 <= squares * (1.0 + 1e-9)).all()
    assert (largest[-1] > 1.0).all()


@pytest.mark.parametrize(("name", "coarse"), [("bps", True), ("csps", False), ("tips", False)])
def test_what_triggers_gain_is_at_most_the_sum_of_positive_regrets(name, coarse):
    tree = random_tree(np.random.default_rng(6), 9)
    player, triggers = EFR(tree, name), TriggerDeviations(tree, coarse=coarse)
    tracker = RegretLedger(player).tracker(player.rule)
    total = np.zeros(triggers.coefficients.dimension)
    for strategy, utility in meets(player, seed=5):
        assert triggers.best_gain(total) <= np.maximum(tracker.utilities, 0.0).sum() + 1e-9
        total += triggers.utility(utility, strategy)
    assert triggers.best_gain(total) > 1.0


def efce_gap(name, iterations):
    """Return what triggers gain on average, over both players, in extended Shapley."""
    game = rk.load("extended_shapley")
    run, play = played(game, name, 0), CorrelatedPlay(game, ["efce"])
    run.minimizers[0].observe_utility(np.arange(game.domains[0].dimension))  # away from a tie
    run.run(iterations, callbacks=[play])
    return play.gaps("efce").sum()


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", ["csps", "tips", "bhv"])
def test_play_of_types_with_triggers_tends_to_extensive_form_correlated_equilibria(name):
    assert efce_gap(name, 600) < 0.05


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", ["bps", "blind_cf"])
def test_play_of_types_without_triggers_does_not(name):
    assert efce_gap(name, 600) > 0.2


@pytest.mark.parametrize(
    "game",
    ["kuhn_poker(players=3)", "sheriff(items=2, bribe=1, rounds=2)", "in_out", "shapley_game"],
)
@pytest.mark.parametrize("name", ["efr-cfps", "efr-csps", "efr-tips"])
def test_any_number_of_players_and_chance_keep_their_bounds(game, name):
    run = rk.play.named(name).start(rk.load(game), engine="numpy")
    RegretLedger(run, strict=True)
    run.run(40)


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("name", EXTERNAL)
def test_averages_approach_an_equilibrium_of_a_zero_sum_game(name):
    game = rk.load("kuhn_poker")
    gaps = [nash_conv(game, played(game, name, iterations).average) for iterations in (20, 1000)]
    assert gaps[1] < 0.02 < 0.1 < gaps[0]


# Engines


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("local", [rk.RegretMatching, rk.PredictiveRegretMatchingPlus])
@pytest.mark.parametrize("call", ["kuhn_poker", "shapley_game", "in_out"])
def test_the_compiled_engine_agrees_with_numpy_and_hands_over_to_it(call, local):
    game = rk.load(call)

    def run(engine):
        players = [EFR(domain, "csps", local) for domain in game.domains]
        return SelfPlay(game, players, order=Simultaneous(), engine=engine).run(30)

    first, second = run("compiled"), run("numpy")
    assert [run.engine for run in (first, second)] == ["compiled", "numpy"]
    assert [player.iteration for player in first.minimizers] == [30] * game.players
    third = run("numpy")
    third.load_state_dict(first.state_dict())
    for more in (first, second, third):
        more.run(20)
    for x, y, z in zip(first.average, second.average, third.average, strict=True):
        np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(x, z, rtol=0.0, atol=1e-12)


# Ties


@pytest.mark.deep_beyond(4)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "call", ["kuhn_poker", "kuhn_poker(players=3)", "sheriff(items=3, bribe=3, rounds=2)"]
)
def test_ties_are_ties_in_another_unit_of_payoff(name, call):
    game = rk.load(call)
    runs = [played(each, name, 0) for each in (game, with_payoffs(game, game.tree.payoffs / 3.0))]
    for _ in range(100):
        first, second = (run.run(1).current for run in runs)
        for x, y in zip(first, second, strict=True):
            np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-9)


# Published numbers, and OpenSpiel

ROWS = {
    "blind_cf": (0.1924170004, 0.0513494717),
    "informed_cf": (0.1924170004, 0.0513494717),
    "blind_action": (0.4604166667, 0.4635929362),
    "informed_action": (0.4604166667, 0.4635929362),
    "bps": (0.1536897086, 0.0472860108),
    "cfps": (0.1536897086, 0.0472860108),
}


@pytest.mark.parametrize(("name", "expected"), ROWS.items(), ids=ROWS)
def test_gaps_on_kuhn_poker_are_those_of_another_implementation(name, expected):
    game = rk.load("kuhn_poker")
    run = played(game, name, 10)
    found = nash_conv(game, run.average), nash_conv(game, run.run(90).average)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8)


OPENSPIEL = {
    "blind_cf": "blind cf",
    "informed_cf": "informed cf",
    "blind_action": "blind action",
    "informed_action": "informed action",
    **{name: name for name in ("bps", "cfps", "csps", "tips", "bhv")},
}


class OfOpenSpiel(naive_efr.EFR):
    """The deviations that version 2.0.2 of OpenSpiel plays, after its code.

    A weight names which recommendations are followed, up to a point. The action taken instead is
    left out of it, where the paper has its probability.
    """

    def __init__(self, parents, sizes, deviations):
        self.name = deviations
        super().__init__(parents, sizes, deviations)

    def deviations_at(self, j):
        path, before = (), self.parents[j]
        while before:
            path, before = (before, *path), self.parents[self.owner[before]]
        alternatives = [self.actions[self.owner[sequence]] for sequence in path]
        beginnings = [path[:i] for i in range(len(path))]
        modified = [w for w, many in zip(beginnings, alternatives, strict=True) for _ in many]
        twice = [(), path, *beginnings] if path else [()]
        combined = [
            chosen[:-1]
            for i in range(len(path))
            for chosen in itertools.product(*alternatives[: i + 1])
        ]
        external, internal = {
            "blind_cf": ([()], []),
            "informed_cf": ([], [()]),
            "blind_action": ([path], []),
            "informed_action": ([], [path]),
            "bps": (twice, []),
            "cfps": ([], twice),
            "csps": ([*modified, path, ()], [()]),
            "tips": ([], [*modified, ()]),
            "bhv": ([], combined or [()]),
        }[self.name]
        actions = self.actions[j]
        blind = [dict.fromkeys(actions, to) for to in actions]
        pairs = itertools.permutations(actions, 2)
        informed = [{a: to if a == origin else a for a in actions} for origin, to in pairs]
        return [
            *itertools.product(external, blind),
            *itertools.product(internal, informed),
        ]


def gaps_of_openspiel(name, iterations):
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    from open_spiel.python.algorithms import efr, exploitability

    game = pyspiel.load_game("kuhn_poker")
    solver = efr.EFRSolver(game, OPENSPIEL[name])
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
        yield exploitability.nash_conv(game, solver.average_policy())


def gaps(name, iterations):
    game = rk.load("kuhn_poker")
    run = played(game, name, 0)
    return [nash_conv(game, run.run(1).average) for _ in range(iterations)]


def gaps_in_plain_loops(name, iterations, kind):
    game = rk.load("kuhn_poker")
    players = [naive_twin(tree, name, kind) for tree in game.domains]
    totals = [np.zeros(tree.dimension) for tree in game.domains]
    found = []
    for t in range(1, iterations + 1):
        profile = [np.array(player.sequence_form(player.play())) for player in players]
        for number, player in enumerate(players):
            totals[number] += profile[number]
            player.learn(game.utility(number, profile).tolist())
        found.append(nash_conv(game, [total / t for total in totals]))
    return found


@pytest.mark.parametrize("name", ["blind_cf", "informed_cf", "blind_action", "informed_action"])
def test_counterfactual_and_action_deviations_are_those_of_openspiel(name):
    expected = list(gaps_of_openspiel(name, 40))
    np.testing.assert_allclose(gaps(name, 40), expected, rtol=0.0, atol=1e-10)


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("name", ["bps", "cfps", "csps", "tips", "bhv"])
def test_the_other_types_of_openspiel_have_other_weights(name):
    """Its numbers are those of weights that are not the type's; with the type's they are ours."""
    theirs = list(gaps_of_openspiel(name, 30))
    ours = gaps(name, 30)
    wrong, right = (gaps_in_plain_loops(name, 30, kind) for kind in (OfOpenSpiel, naive_efr.EFR))
    np.testing.assert_allclose(theirs, wrong, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(ours, right, rtol=0.0, atol=1e-9)
    assert np.abs(np.subtract(ours, theirs)).max() > 1e-3


@pytest.mark.parametrize("name", ["tips", "bhv"])
def test_two_types_of_openspiel_are_cfr_on_kuhn_poker(name):
    np.testing.assert_allclose(
        list(gaps_of_openspiel(name, 30)), gaps("blind_cf", 30), rtol=0.0, atol=1e-10
    )


# What is refused

TREE_OF_TWO = rk.DecisionTree([0], [2])


test_what_is_no_type_or_no_tree_is_refused = refusals(
    (TREE_OF_TWO, "csp", ValueError, "deviations must be one of 'blind_cf', .*did you mean 'csps'"),
    (TREE_OF_TWO, "causal", ValueError, r"or Deviations\(memory, local\), got 'causal'"),
    (
        TREE_OF_TWO,
        3,
        TypeError,
        "deviations must be a str, got 3; pass one, such as 'csps'",
    ),
    (rk.RegretMatching(2), "csps", TypeError, "tree must be a DecisionTree, got Regret"),
    (TREE_OF_TWO, "csps", rk.RegretMatching(2), TypeError, "local must be"),
    call=EFR,
)


def test_names_of_types_may_have_capitals():
    assert EFR(TREE_OF_TWO, "CSPS").deviations is DEVIATION_TYPES["csps"]


test_deviations_that_there_are_not_are_refused = refusals(
    ("perfect", "internal", ValueError, "'memory' must be in"),
    ("causal", "swap", ValueError, "'local' must be in"),
    ("causal", "internal", "swap", ValueError, "'after' must be in"),
    call=Deviations,
)


def test_behavioral_deviations_of_a_deep_tree_are_refused_with_their_number():
    chain = rk.DecisionTree(range(0, 60, 2), [2] * 30)
    with pytest.raises(ValueError, match="over 10,000,000 weights in <DecisionTree: 30"):
        EFR(chain, "bhv")
    assert EFR(chain, "tips").rule.dimension == 2 * sum(1 + 2 * depth for depth in range(30))


def test_a_rule_without_a_bound_at_each_decision_point_is_warned_of():
    with pytest.warns(RuntimeWarning, match="EFR has no regret bound here"):
        EFR(rk.DecisionTree([0, 1], [2, 2]), "csps", ConicBlackwell)
