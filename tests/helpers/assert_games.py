"""What it means that two games are the same."""

import numpy as np

from regretkit import NormalFormGame


def assert_same_tree(one, other):
    for field in ("parent", "player", "information_set", "action", "probability", "payoffs"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    # Names may be made when they are asked for.
    assert [list(own) for own in one.labels] == [list(own) for own in other.labels]
    assert [list(map(tuple, own)) for own in one.actions] == [
        list(map(tuple, own)) for own in other.actions
    ]
    assert list(map(tuple, one.outcomes)) == list(map(tuple, other.outcomes))


def assert_same_game(one, other):
    assert type(one) is type(other)
    assert one.name == other.name
    if isinstance(one, NormalFormGame):
        np.testing.assert_array_equal(one.payoffs, other.payoffs)
        assert one.actions == other.actions
    else:
        assert_same_tree(one.tree, other.tree)
