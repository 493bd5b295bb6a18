"""Checks of state: it determines the strategy, it can be saved and loaded, and it is not shared."""

import copy

from regretkit.checks._helpers import Make, play, require_same, twins, utilities


def equal_states_give_equal_strategies(make: Make) -> None:
    """Require that two minimizers in one state play the same against the same utilities."""
    left, right = twins(make)
    shown = utilities(left)
    require_same(play(left, shown), play(right, shown), "two in one state differ")


def copies_are_independent(make: Make) -> None:
    """Require that a copy starts from the same state and then shares none of it."""
    original = make()
    play(original, utilities(original))
    twin = make()
    twin.load_state_dict(original.state_dict())
    duplicate = copy.deepcopy(original)
    require_same(original.next_strategy(), duplicate.next_strategy(), "a copy plays otherwise")
    play(duplicate, utilities(original, seed=1))
    rest = utilities(original, seed=2)
    require_same(play(original, rest), play(twin, rest), "what a copy learned reached the original")


def state_round_trips(make: Make) -> None:
    """Require that a state, taken out and put into a new object, continues bitwise identically."""
    original, restored = make(), make()
    play(original, utilities(original))
    play(restored, utilities(original, seed=3, count=5))
    state = original.state_dict()
    restored.load_state_dict(state)
    rest = utilities(original, seed=1)
    expected = play(original, rest)
    require_same(expected, play(restored, rest), "a restored state continues differently")
    again = make()
    again.load_state_dict(state)
    require_same(expected, play(again, rest), "a state changed after it was taken out")
