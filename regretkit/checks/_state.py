"""Checks of state: it determines the strategy, it can be saved and loaded, and it is not shared."""

import copy

from regretkit.checks._helpers import Make, play, require_same, twins, utilities


def equal_states_give_equal_strategies(make: Make) -> None:
    """Require that two minimizers in one state play the same against the same utilities."""
    first, second = twins(make)
    shown = utilities(first)
    require_same(play(first, shown), play(second, shown), "two in one state differ")


def copies_are_independent(make: Make) -> None:
    """Require that a copy starts from the same state and then shares none of it."""
    original = make()
    play(original, utilities(original))
    twin = make()
    twin.load_state_dict(original.state_dict())
    duplicate = copy.deepcopy(original)
    require_same(original.next_strategy(), duplicate.next_strategy(), "a copy plays otherwise")
    play(duplicate, utilities(original, seed=1))
    further = utilities(original, seed=2)
    require_same(play(original, further), play(twin, further), "a copy shares state")


def state_round_trips(make: Make) -> None:
    """Require that a state, taken out and put into a new object, continues bitwise identically."""
    original, restored = make(), make()
    play(original, utilities(original))
    play(restored, utilities(original, seed=3, count=5))
    state = original.state_dict()
    restored.load_state_dict(state)
    further = utilities(original, seed=1)
    expected = play(original, further)
    require_same(expected, play(restored, further), "a restored state continues differently")
    reloaded = make()
    reloaded.load_state_dict(state)
    require_same(expected, play(reloaded, further), "a state changed after it was taken out")
