"""The minimizers of a run: their state is copied to machine code and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from regretkit._state import is_ours, with_parts
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit._util._validate import ATOL, format_array, quote
from regretkit.circuits import CFR, EFR, PhiRegret, TriggerDeviations
from regretkit.engine._layout import Iterates
from regretkit.engine._support import PlacedRule, Structure
from regretkit.engine.kernels._iteration import over_range, over_sequences
from regretkit.minimizer import RegretMinimizer
from regretkit.play import Average
from regretkit.trace import Kernel, UntraceableError, find_kernel, upcoming_parameters
from regretkit.trace._rule import core_of, core_path, held_at, hold_at, owners


class Numbering(NamedTuple):
    """The map from sequences and points in the order of the game to those in machine code."""

    begin: UInt32Array
    """Empty sequence of each tree, and the number of sequences."""
    point_begin: UInt32Array
    """First decision point of each tree, and the number of decision points."""
    sequence: UInt32Array
    """The number of each sequence in machine code."""
    point: UInt32Array
    """The number of each decision point in machine code."""

    def sequences(self, tree: int) -> UInt32Array:
        """Return the numbers of a tree's sequences."""
        return self.sequence[self.begin[tree] : self.begin[tree + 1]]

    def points(self, tree: int) -> UInt32Array:
        """Return the numbers of a tree's decision points."""
        return self.point[self.point_begin[tree] : self.point_begin[tree + 1]]


class PlayedRule:
    """A rule of a run, and its entries in the common arrays.

    The circuits around a player's tree are one more rule, ``around`` the tree. They treat each
    sequence as a point of one action.
    """

    def __init__(
        self,
        placed: PlacedRule,
        tree: int,
        numbering: Numbering,
        exact: bool,
        around: bool = False,
    ) -> None:
        self.rule, self._exact, self.around = placed.rule, exact, around
        self.kernel: Kernel = find_kernel(placed.rule, exact=exact, anew=True)
        self._core = core_of(self.rule)
        self._path = core_path(self.rule) if around else None
        sequences = numbering.sequences(tree)
        self.actions = sequences if self.around else sequences[1:][placed.actions]
        self.points = numbering.points(tree)[placed.points]
        self.parts = [part for _, part in owners(placed.rule)]
        self.foreign = not all(map(is_ours, with_parts(placed.rule)))
        """Whether the rule is not regretkit's own."""
        self._arrays: list[tuple[Vector, UInt32Array]] = []
        self._numbers: Mapping[str, float] = {}
        """The scalar state after the next iterations."""

    def place(self, arrays: Sequence[Vector]) -> None:
        """Set the common arrays of the rule."""
        pairs = zip(arrays, self.kernel.layout, strict=True)
        self._arrays = [(array, self.actions if part else self.points) for array, part in pairs]

    def load(self, behavior: Vector) -> None:
        """Copy the state, the constants and the next strategy to the arrays."""
        if not self.around:
            behavior[self.actions] = self.rule.next_strategy()
        learned = [
            self._core.next_strategy() if path == self._path else held_at(self.rule, path)
            for path in self.kernel.learned
        ]
        constants = [constant for constant, _ in self.kernel.further]
        for numbers, (array, at) in zip([*learned, *constants], self._arrays, strict=True):
            array[at] = 0.0 if numbers is None else numbers

    def store(self, behavior: Vector) -> None:
        """Copy the state and the next strategy from the arrays."""
        for path, (array, at) in zip(self.kernel.learned, self._arrays, strict=False):
            if path == self._path:
                self._core._strategy = frozen(array[at])
            else:
                hold_at(self.rule, path, array[at])
        for part in self.parts:
            part._strategy = None
        if not self.around:
            self.rule._strategy = frozen(behavior[self.actions])

    def same_code(self) -> bool:
        """Return whether the rule still has the functions that were compiled."""
        try:
            kernel = find_kernel(self.rule, exact=self._exact)
        except UntraceableError:
            return False
        functions = self.kernel.propose, self.kernel.learn, self.kernel.learned
        self.kernel = kernel  # its parameters may have changed
        return (kernel.propose, kernel.learn, kernel.learned) == functions

    def advance(self, updates: int) -> None:
        """Count updates of the rule, and set its scalar state."""
        self.rule.iteration += updates
        for path, number in self._numbers.items() if updates else ():
            whole = type(held_at(self.rule, path)) is int and number.is_integer()
            hold_at(self.rule, path, int(number) if whole else number)

    def function(self, places: tuple[tuple[bool, int], ...]) -> Callable[..., None]:
        """Return the function to compile: the kernel over a range of points, or over sequences."""
        kernel = self.kernel.propose, self.kernel.learn
        if self._path is None:
            return over_range(*kernel, places)
        core = self.kernel.learned.index(self._path)
        return over_sequences(*kernel, tuple(row for _, row in places), core)

    def check(self, behavior: Vector) -> None:
        """Raise an error if the kernel's strategy is not a distribution at each point."""
        if self.around:  # circuits may return any vector
            return
        proposed, blocks = behavior[self.actions], self.points.size
        # A quick test by two numbers; the negated condition is also true of NaN.
        with np.errstate(all="ignore"):
            total, minimum = float(proposed.sum()), float(proposed.min(initial=0.0))
        if not (abs(total - blocks) <= ATOL * blocks and minimum >= -ATOL):
            raise ValueError(
                f"the strategy of {quote(self.rule)} must be a distribution at every "
                f"decision point within {ATOL:g}, got {format_array(proposed)}; make each sum to 1 "
                "as self.simplices.normalize does"
            )

    def parameters(self, updates: NDArray[np.bool_]) -> Vector:
        """Return the kernel's parameters in each iteration, given which ones update the rule."""
        counts = np.cumsum(updates)
        last = int(counts[-1]) if counts.size else 0
        try:
            rows, self._numbers = upcoming_parameters(self.rule, self.kernel, last)
        except ValueError as error:
            error.args = (f"the kernel of {quote(self.rule)}: {error}",)
            raise
        chosen: Vector = rows[counts]
        return chosen


class PlayerState:
    """One player of a run: its minimizer, its rules, and its entries in the common arrays."""

    def __init__(
        self, structure: Structure, player: int, numbering: Numbering, tree: int, *, exact: bool
    ) -> None:
        minimizer = structure.minimizer
        self.minimizer, self.player, self._learned = minimizer, player, False
        self.sequences = numbering.sequences(player)
        self._own_actions = self.sequences[1:]
        self._root = self.sequences[0]
        # Strategies on simplices lack the empty sequence, which precedes the actions.
        self.sequences = self.sequences[self.sequences.size - minimizer.dimension :]
        self.points = numbering.points(player)
        self._learner, self._learned_sequences = structure.learner, numbering.sequences(tree)
        self.rules = [PlayedRule(placed, tree, numbering, exact) for placed in structure.rules]
        self._wrapped = structure.wrapped
        if self._wrapped:
            circuits = PlacedRule(minimizer, slice(0, 0), slice(0, 0))
            self.rules.append(PlayedRule(circuits, player, numbering, exact, around=True))
        inner = {id(part) for played in self.rules for part in played.parts}
        self._around = [
            part
            for part in with_parts(minimizer)
            if isinstance(part, RegretMinimizer) and id(part) not in inner
        ]
        """The minimizer and its parts other than rules."""

    def load(self, iterates: Iterates) -> None:
        """Copy the state of all rules and the next strategies to the arrays."""
        for rule in self.rules:
            rule.load(iterates.behavior)
        iterates.strategy[self._root] = 1.0
        iterates.strategy[self.sequences] = self.minimizer.next_strategy()

    def store(self, iterates: Iterates, last_behavior: Vector | None = None) -> None:
        """Copy state, next strategy and last utilities from the arrays to the minimizer.

        ``last_behavior`` is b in the last update, for minimizers over deviations.
        """
        for rule in self.rules:
            rule.store(iterates.behavior)
        minimizer, learner, wrapped = self.minimizer, self._learner, self._wrapped
        for part in self._around:
            part._strategy = part._strategy if wrapped and part is learner else None
        if isinstance(learner, CFR):
            if not wrapped:
                learner._strategy = frozen(iterates.strategy[self._learned_sequences])
            if self._learned:
                learner._utilities = frozen(iterates.utility[self._learned_sequences[1:]])
        if minimizer is not learner or isinstance(minimizer, EFR):
            minimizer._strategy = frozen(iterates.strategy[self.sequences])
            if last_behavior is not None:
                self._store_played(iterates.behavior, last_behavior)
        self._learned = False

    def _store_played(self, behavior: Vector, last_behavior: Vector) -> None:
        """Copy the next and the last strategy to a minimizer over deviations."""
        minimizer, last = self.minimizer, last_behavior[self._own_actions]
        if isinstance(minimizer, EFR):
            minimizer._behavior = behavior[self._own_actions]
            minimizer._last = last if self._learned else minimizer._last
        elif isinstance(minimizer, PhiRegret) and self._learned:
            minimizer._last = cast("TriggerDeviations", minimizer.maps).domain.sequence_form(last)

    def forget_utilities(self) -> None:
        """Delete the minimizer's last utilities."""
        if isinstance(self.minimizer, CFR):
            self.minimizer._utilities = None

    def same_code(self) -> bool:
        """Return whether the rules still have the functions that were compiled."""
        return all(rule.same_code() for rule in self.rules)

    def advance(self, updates: int) -> None:
        """Count updates of the minimizer."""
        self._learned = self._learned or updates > 0
        for part in self._around:
            part.iteration += updates
        for rule in self.rules:
            rule.advance(updates)


def parameters_for(players: Sequence[PlayerState], turns: Indices) -> list[Vector]:
    """Return each rule's parameters by iteration, given the players updated in each.

    Constant parameters have a single row.
    """
    rules = [rule for player in players for rule in player.rules]
    if all(rule.kernel.parameters.constants is not None for rule in rules):
        turns = np.full((1, 1), -1)
    return [
        rule.parameters((turns == player.player).any(axis=1))
        for player in players
        for rule in player.rules
    ]


# Averages


def weight_after(average: Average, factors: Vector) -> float:
    """Return the weight of an average after strategies with these factors are added."""
    forgotten = np.flatnonzero(factors[:, 0] == 0.0)
    start, weight = (forgotten[-1], 0.0) if forgotten.size else (0, average._weight)
    # cumsum adds in order, as an average does: the results are bitwise identical.
    return float(np.cumsum(np.append(weight, factors[start:, 1]))[-1])


def advance_average(average: Average, count: int, weight: float) -> None:
    """Count strategies that were added to an average's sum, and set its weight."""
    average._weight = weight
    average.iteration += count


def frozen(array: Vector) -> Vector:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array
