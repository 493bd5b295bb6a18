"""Profiles of the information sets that runs without a tree visited."""

import numpy as np


def names(profile):
    """Return each player's labels and actions, in order."""
    sets = [domain.simplices for domain in profile.domains]
    return [
        [(own.labels.block(i), own.labels.actions(i)) for i in range(own.blocks)] for own in sets
    ]


def assert_same(found, expected):
    """Compare information sets, actions and vectors, bit by bit."""
    assert names(found) == names(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
