"""What it means that two games are the same, and trees that differ in a part."""

import inspect

import numpy as np

from regretkit import NormalFormGame
from regretkit.games import GameTree


def changed(tree, **arguments):
    """Return a tree with some of its arguments changed."""
    names = inspect.signature(GameTree).parameters
    return GameTree(**({name: getattr(tree, name) for name in names} | arguments))


def assert_same_tree(first, second):
    for field in ("parent", "player", "information_set", "action", "probability", "payoffs"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field), err_msg=field)
    # Names may be made when they are asked for.
    assert [list(part) for part in first.labels] == [list(part) for part in second.labels]
    assert [list(map(tuple, part)) for part in first.actions] == [
        list(map(tuple, part)) for part in second.actions
    ]
    assert list(map(tuple, first.outcomes)) == list(map(tuple, second.outcomes))


def assert_same_game(first, second):
    assert type(first) is type(second)
    assert first.name == second.name
    if isinstance(first, NormalFormGame):
        np.testing.assert_array_equal(first.payoffs, second.payoffs)
        assert first.actions == second.actions
    else:
        assert_same_tree(first.tree, second.tree)
