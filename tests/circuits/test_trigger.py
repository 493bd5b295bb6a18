"""Trigger deviations: maps by their definition, what triggers gain, ties, and names."""

import copy
import itertools

import naive
import numpy as np
import pytest
from factories import random_behavior, random_tree

import regretkit as rk
from regretkit.circuits import (
    EFR,
    LinearDeviations,
    TriggerDeviations,
)
from regretkit.play import named

TWO = rk.DecisionTree([0], [2])
COARSE = pytest.mark.parametrize("coarse", [False, True])
ENGINE = pytest.mark.parametrize(
    "engine", ["numpy", pytest.param("compiled", marks=pytest.mark.deep)]
)


def way(tree, sequence):
    """Return the sequences on the way to one, itself included."""
    found = []
    while sequence:
        found.append(sequence)
        sequence = int(tree.parent_sequence[point_of(tree, sequence)])
    return found


def point_of(tree, sequence):
    return int(np.searchsorted(tree.first_sequence, sequence, side="right")) - 1


def points_to(tree, sequence):
    return [point_of(tree, s) for s in way(tree, sequence)]


def deviated(maps, trigger, x, continuation, share=1.0):
    """Return a share of where a trigger sends x; ``continuation`` has that share of q."""
    tree, image = maps.domain, share * x
    point = trigger if maps.coarse else point_of(tree, 1 + trigger)
    source = tree.parent_sequence[point] if maps.coarse else 1 + trigger
    for s in range(1, x.size):
        after = point in points_to(tree, s)
        if after and (maps.coarse or source in way(tree, s)):
            image[s] = 0.0
        if after:
            image[s] += x[source] * continuation[s]
    return image


def moved(maps, coefficients, x):
    """Return where the mixture of the deviations sends x, one trigger at a time."""
    tree, image, place = maps.domain, np.zeros(x.size), 1 + maps.triggers
    for trigger, share in enumerate(coefficients[1:place]):
        point = trigger if maps.coarse else point_of(tree, 1 + trigger)
        behind = [s for s in range(1, x.size) if point in points_to(tree, s)]
        continuation = np.zeros(x.size)
        continuation[behind] = coefficients[place : place + len(behind)]
        image += deviated(maps, trigger, x, continuation, share)
        place += len(behind)
    assert place == coefficients.size
    return image


@COARSE
def test_maps_are_those_of_the_definition(coarse):
    generator = np.random.default_rng(18)
    for _ in range(40):
        tree = random_tree(generator)
        maps = TriggerDeviations(tree, coarse=coarse)
        c, x = (
            domain.sequence_form(random_behavior(generator, domain.simplices))
            for domain in (maps.coefficients, tree)
        )
        np.testing.assert_allclose(maps.apply(c, x), moved(maps, c, x), rtol=0.0, atol=1e-15)


# What triggers gain


def some_play(generator, tree, iterations=3):
    """Return strategies, many of them pure, and utilities."""
    behaviors = [random_behavior(generator, tree.simplices) for _ in range(iterations)]
    return [(tree.sequence_form(b), generator.normal(size=tree.dimension)) for b in behaviors]


@COARSE
def test_gains_are_those_of_the_best_pure_continuations(coarse):
    generator = np.random.default_rng(5)
    for _ in range(12):
        tree = random_tree(generator, points=int(generator.integers(1, 4)))
        maps, history = TriggerDeviations(tree, coarse=coarse), some_play(generator, tree)
        total = sum(maps.utility(u, x) for x, u in history)
        gains = np.full(maps.triggers, -np.inf)
        for q in naive.pure_strategies(tree.parent_sequence, tree.sizes.tolist()):
            behavior = tree.behavior(np.array(q))
            for trigger in range(maps.triggers):
                point = trigger if coarse else point_of(tree, 1 + trigger)
                continuation = np.append(0.0, behavior)
                for j in range(tree.points):
                    before = tree.parent_sequence[j]
                    actions = tree.first_sequence[j] + np.arange(tree.sizes[j])
                    if j != point:
                        continuation[actions] *= continuation[before]
                gain = sum(u @ (deviated(maps, trigger, x, continuation) - x) for x, u in history)
                gains[trigger] = max(gains[trigger], gain)

        found = maps.coefficients.best_values(total)[1 : 1 + maps.triggers]
        np.testing.assert_allclose(found, gains, rtol=0.0, atol=1e-12)
        assert maps.best_gain(total, largest=True) == pytest.approx(gains.max(), abs=1e-12)
        assert maps.best_gain(total) == pytest.approx(together(maps, gains), abs=1e-12)


def together(maps, gains):
    """Return the largest sum of gains of triggers none of which comes after another."""
    tree = maps.domain

    def before(k):
        sequence = tree.parent_sequence[k] if maps.coarse else 1 + k
        at = way(tree, int(sequence))
        return {point_of(tree, s) for s in at} if maps.coarse else {s - 1 for s in at[1:]}

    best = 0.0
    for count in range(1, maps.triggers + 1):
        for chosen in itertools.combinations(range(maps.triggers), count):
            if not any(before(k) & {*chosen} for k in chosen):
                best = max(best, gains[[*chosen]].sum())
    return best


@ENGINE
@COARSE
@pytest.mark.parametrize(
    "game", ["kuhn_poker", "kuhn_poker(players=3)", "sheriff(3, 3, 2)", "goofspiel(4)"]
)
def test_payoffs_in_other_units_are_played_alike(game, coarse, engine):
    # Triggers tie where the strategy is pure, coarse ones always: rounding must not break a tie.
    # In Goofspiel it would, with coarse triggers whose gains are written as sums that cancel.
    game, played = rk.load(game), []
    for unit in (1.0, 1 / 3, 4.0):
        scaled = copy.copy(game)
        scaled.payoffs, scaled._rows = game.payoffs * unit, {}
        run = named("efcce" if coarse else "efce").start(scaled, engine=engine)
        played.append([np.concatenate(run.run(1).last_profile) for _ in range(100)])
    np.testing.assert_allclose(played[1], played[0], rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(played[2], played[0])


def test_coefficients_of_all_deviations_are_named_after_what_they_change():
    tree = rk.load("kuhn_poker").domains[0]
    names = TriggerDeviations(tree).coefficients.simplices.labels
    assert (names.block(0), names.block(2)) == ("trigger", "J: p -> Jpb")
    assert (names.actions(0)[:2], names.actions(2)) == (("J: p", "J: b"), ("p", "b"))
    assert TriggerDeviations(tree, coarse=True).coefficients.simplices.labels.block(2) == "J -> Jpb"
    actions = [["in", "out"], ["again", "no more"]]
    two = rk.DecisionTree([0, 1], [2, 2], labels=["a", "b"], actions=actions)
    names = LinearDeviations(two).coefficients.simplices.labels
    assert [names.block(k) for k in (0, 1, 9)] == ["a", "a | a: in", "b | b: no more"]
    assert names.actions(0) == ("in", "out", "query a")
    names = EFR(two, "csps").rule.domain.labels
    assert names.actions(1)[::3] == ("-> again", "no more -> again after in at a")
