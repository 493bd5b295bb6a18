"""A part of an iteration, for rules in Python."""

from typing import NamedTuple

from regretkit.engine._compiler import lanes
from regretkit.engine._layout import Iterates, Payoffs, Trees
from regretkit.engine.kernels._payoffs import compute_utility
from regretkit.engine.kernels._walks import at_points, backward, value_of

DISJOINT = True


class Passes(NamedTuple):
    """All that passes over trees read and write."""

    payoffs: Payoffs
    trees: Trees
    iterates: Iterates


def earn(player: int, earning: bool, propagating: bool, arrays: Passes) -> None:
    """Set a player's utility if ``earning``; turn it into counterfactual ones."""
    if earning:
        compute_utility(player, arrays.payoffs, arrays.trees, arrays.iterates)
    if propagating:
        backward(player, set_values_of_range, (), arrays)


def set_values_of_range(r: int, player: int, given: tuple[()], arrays: Passes) -> None:
    """Set the value of each point."""
    at_points(r, set_value, arrays.payoffs.negligible[player], arrays)


def set_value(
    point: int,
    first: int,
    actions: int,
    stride: int,
    wide: int,
    negligible: float,
    arrays: Passes,
) -> None:
    """Set the value of a point."""
    utility = lanes(arrays.iterates.utility, first, stride, wide)
    played = lanes(arrays.iterates.behavior, first, stride, wide)
    lanes(arrays.iterates.values, point, 1, wide)[0] = value_of(
        actions, negligible, utility, played
    )
