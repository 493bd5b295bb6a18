"""Trigger deviations: maps by their definition, fixed points, what triggers gain."""

import numpy as np
import pytest
from factories import random_behavior, random_tree

import regretkit as rk
from regretkit.circuits import TriggerDeviations

COARSE = pytest.mark.parametrize("coarse", [False, True])


def way(tree, sequence):
    """Return the sequences on the way to one, itself included."""
    found = []
    while sequence:
        found.append(sequence)
        sequence = int(tree.parent_sequence[point_of(tree, sequence)])
    return found


def point_of(tree, sequence):
    return int(np.searchsorted(tree.first_sequence, sequence, side="right")) - 1


def moved(maps, coefficients, x):
    """Return where the mixture of the deviations sends x, one trigger at a time."""
    tree, image, place = maps.domain, np.zeros(x.size), 1 + maps.triggers
    for trigger in range(maps.triggers):
        point = trigger if maps.coarse else point_of(tree, 1 + trigger)
        source = tree.parent_sequence[point] if maps.coarse else 1 + trigger
        deviated = coefficients[1 + trigger] * x
        for s in range(1, x.size):
            after = point in [point_of(tree, before) for before in way(tree, s)]
            if after and (maps.coarse or source in way(tree, s)):
                deviated[s] = 0.0
        for s in range(1, x.size):
            if point in [point_of(tree, before) for before in way(tree, s)]:
                deviated[s] += x[source] * coefficients[place]
                place += 1
        image += deviated
    assert place == coefficients.size
    return image


@COARSE
def test_maps_are_those_of_the_definition_and_keep_their_fixed_points(coarse):
    generator = np.random.default_rng(18)
    for _ in range(40):
        tree = random_tree(generator)
        maps = TriggerDeviations(tree, coarse=coarse)
        c, x = (
            domain.sequence_form(random_behavior(generator, domain.simplices))
            for domain in (maps.coefficients, tree)
        )
        image, utility = maps.apply(c, x), generator.normal(size=x.size)
        fixed = maps.fixed_point(c)

        np.testing.assert_allclose(image, moved(maps, c, x), atol=1e-15)
        assert tree.contains(image, atol=1e-14)
        assert maps.utility(utility, x) @ c == pytest.approx(utility @ image, abs=1e-13)
        np.testing.assert_allclose(maps.apply(c, fixed), fixed, atol=1e-15 * x.size)
        assert tree.contains(fixed, atol=1e-15 * x.size)
        assert maps.domain == tree
        assert maps.cover_constants


@pytest.mark.parametrize(
    ("game", "dimensions"),
    [
        ("kuhn_poker", [49, 37]),
        ("kuhn_poker(players=3)", [145, 129, 97]),
        ("sheriff(items=3, bribe=3, rounds=2)", [1829, 345]),
    ],
)
def test_number_of_coefficients(game, dimensions):
    found = [TriggerDeviations(t).coefficients.dimension for t in rk.load(game).domains]
    assert found == dimensions
