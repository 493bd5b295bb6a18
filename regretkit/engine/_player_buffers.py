"""Minimizers and averages whose arrays are views of those of a compiled run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from regretkit._state import is_ours, with_parts
from regretkit._util._arrays import Selection, shifted
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import ATOL, format_array, quote
from regretkit.circuits import CFR, EFR, PhiRegret, TriggerDeviations
from regretkit.engine._deviations import NO_DEVIATIONS, DeviationArrays
from regretkit.engine._layout import FlatTrees, Iterates
from regretkit.engine._support import learner_of, placed_rules
from regretkit.engine.kernels._iteration import State
from regretkit.minimizer import RegretMinimizer
from regretkit.play import Average
from regretkit.sets import Simplices
from regretkit.trace import Kernel, UntraceableError, find_kernel, upcoming_parameters
from regretkit.trace._build import KernelSet, combine
from regretkit.trace._snapshot import held_at, hold_at, owners

Give: TypeAlias = Callable[[Vector], Vector]
"""Makes of a part of an array what a minimizer holds: a copy, or a view."""


class RuleBuffers:
    """One rule of a compiled run, and its slices of all players' arrays.

    Between calls the rule holds views of these arrays, so that nothing is copied; arrays that were
    replaced in the meantime are copied back. Where its decision points do not follow one another,
    it holds copies.
    """

    def __init__(self, rule: Any, kernel: Kernel, actions: Selection, infosets: Selection) -> None:
        self.rule, self.kernel, self.actions, self.infosets = rule, kernel, actions, infosets
        self._copies = not isinstance(actions, slice)
        self._state: Sequence[Vector] = ()
        self._proposed: Vector | None = None
        self.foreign = not all(map(is_ours, with_parts(rule)))
        """Whether its code is not of this library."""
        self._numbers: Mapping[str, float] = {}
        """What single numbers will have become after the iterations to come."""
        self._views: dict[str, Vector] = {}

    def place(self, state: Sequence[Vector]) -> None:
        """Take the rule's arrays from these, of all players."""
        self._state = state[: len(self.kernel.layout)]
        self._views = self._held()

    def _held(self) -> dict[str, Vector]:
        """Return what the rule holds of the buffers, by path."""
        kernel = self.kernel
        places = zip(kernel.learned, self._state, kernel.layout, strict=False)
        return {path: array[self._place(part)] for path, array, part in places}

    def _place(self, by_action: bool) -> Selection:
        return self.actions if by_action else self.infosets

    def load(self) -> None:
        """Copy the rule's arrays into the buffers unless they are these already."""
        for path, array, part in zip(self._views, self._state, self.kernel.layout, strict=False):
            learned = held_at(self.rule, path)
            if self._copies:
                array[self._place(part)] = self._views[path] = learned
            elif learned is not self._views[path]:
                self._views[path][...] = learned
                hold_at(self.rule, path, self._views[path])
        extra = zip(self._state[len(self._views) :], self.kernel.further, strict=True)
        for array, (constant, part) in extra:
            if constant is not None:
                array[self._place(part)] = constant

    def same_code(self, exact: bool) -> bool:
        """Return whether the rule still has the functions that were compiled."""
        try:
            kernel = find_kernel(self.rule, exact=exact)
        except UntraceableError:
            return False
        functions = self.kernel.propose, self.kernel.learn, self.kernel.learned
        self.kernel = kernel  # whose parameters may have changed
        return (kernel.propose, kernel.learn, kernel.learned) == functions

    def advance(self, updates: int) -> None:
        """Count updates of the rule, and set the numbers that it learned in them."""
        self.rule.iteration += updates
        for path, number in self._numbers.items() if updates else ():
            whole = type(held_at(self.rule, path)) is int and number.is_integer()
            hold_at(self.rule, path, int(number) if whole else number)

    def store(self, behavior: Vector, give: Give) -> None:
        """Give the rule its next strategy, and copies of what it learned where it has no views."""
        if self._copies:
            self._views = self._held()
            for path, copy in self._views.items():
                hold_at(self.rule, path, copy)
        for _, part in owners(self.rule):
            part._strategy = None
        self._proposed = self.rule._strategy = give(behavior[self.actions])

    def release(self) -> None:
        """Take back what ``store`` gave."""
        self._proposed = self.rule._strategy = None

    def is_current(self) -> bool:
        """Return whether nothing was changed since ``store``."""
        current = all(held_at(self.rule, path) is view for path, view in self._views.items())
        return current and self._proposed is not None and self.rule._strategy is self._proposed

    def check(self, behavior: Vector) -> None:
        """Reject proposals of a kernel that are no distributions."""
        proposed, blocks = behavior[self.actions], self.rule.domain.blocks
        # Two numbers need no memory, and NaN, which is in no order with anything, fails both.
        with np.errstate(all="ignore"):
            total, minimum = float(proposed.sum()), float(proposed.min(initial=0.0))
        if not (abs(total - blocks) <= ATOL * blocks and minimum >= -ATOL):
            raise ValueError(
                f"what the kernel of {quote(self.rule)} proposed must be a distribution at every "
                f"decision point within {ATOL:g}, got {format_array(proposed)}; make each sum to 1 "
                "as self.simplices.normalize does"
            )

    def parameters(self, updates: NDArray[np.bool_]) -> Vector:
        """Return the kernel's parameters in iterations, some of which update the rule."""
        counts = np.cumsum(updates)
        last = int(counts[-1]) if counts.size else 0
        try:
            rows, self._numbers = upcoming_parameters(self.rule, self.kernel, last)
        except ValueError as error:
            error.args = (f"the kernel of {quote(self.rule)}: {error}",)
            raise
        chosen: Vector = rows[counts]
        return chosen


class PlayerBuffers:
    """One player of a compiled run: its minimizer, its rules, and its slices of the arrays."""

    def __init__(
        self,
        minimizer: RegretMinimizer,
        player: int,
        trees: FlatTrees,
        exact: bool,
        learner: int | None = None,
    ) -> None:
        self.minimizer, self.player, self._exact = minimizer, player, exact
        self._learned = self._took_utilities = False
        self._stored: Vector | None = None
        self._given: Vector | None = None
        begin, end = trees.sequence_offsets[player : player + 2].tolist()
        # Strategies on simplices do not have the empty sequence, which precedes the actions.
        self.sequences = slice(begin + (minimizer.dimension < end - begin), end)
        self.own_actions = slice(begin + 1, end)
        self.learner, tree = learner_of(minimizer), player if learner is None else learner
        begin, end = trees.sequence_offsets[tree : tree + 2].tolist()
        self.actions, self.learned_sequences = slice(begin + 1, end), slice(begin, end)
        """Of the tree on which its rules play, its own unless it learns over deviations."""
        self.infosets = slice(*trees.infoset_offsets[tree : tree + 2].tolist())
        placed = placed_rules(minimizer)
        self.rules = []
        for rule, points, own in placed:
            actions = shifted(own, self.actions.start)
            # All of them are fewer without singletons.
            infosets = shifted(points, self.infosets.start)
            kernel = find_kernel(rule, exact=exact)
            self.rules.append(
                RuleBuffers(rule, kernel, actions, self.infosets if len(placed) == 1 else infosets)
            )
        inner = {id(part) for buffers in self.rules for _, part in owners(buffers.rule)}
        self._around = [
            part
            for part in with_parts(minimizer)
            if isinstance(part, RegretMinimizer) and id(part) not in inner
        ]
        """The minimizer and its parts that are no rules."""

    def load(self) -> None:
        """Copy the rules' arrays into the buffers."""
        for rule in self.rules:
            rule.load()

    def same_code(self) -> bool:
        """Return whether the rules still have the functions that were compiled."""
        unchanged = learner_of(self.minimizer) is self.learner
        return unchanged and all(rule.same_code(self._exact) for rule in self.rules)

    def keep_strategy(self, behavior: Vector, strategy: Vector) -> None:
        """Play what was proposed already, though a hyperparameter may have changed since."""
        proposed = [(part.actions, part.rule._strategy) for part in self.rules]
        kept = [(actions, played) for actions, played in proposed if played is not None]
        if all(np.array_equal(behavior[actions], played) for actions, played in kept):
            return
        for actions, played in kept:
            behavior[actions] = played
        minimizer, own = self.minimizer, behavior[self.own_actions]
        if isinstance(minimizer, CFR):
            strategy[self.sequences] = minimizer.tree.sequence_form(own)
        elif isinstance(minimizer.domain, Simplices):
            strategy[self.sequences] = own
        # What deviations fix is computed anew from their mixtures.

    def store(
        self, iterates: Iterates, give: Give, deviations: DeviationArrays = NO_DEVIATIONS
    ) -> None:
        """Give the minimizer its next strategy, and the utilities of its last update."""
        for rule in self.rules:
            rule.store(iterates.behavior, give)
        for part in self._around:
            part._strategy = None
        minimizer, learner = self.minimizer, self.learner
        if isinstance(learner, CFR):
            learner._strategy = give(iterates.strategy[self.learned_sequences])
            if self._learned or self._took_utilities:
                learner._utilities = self._given = give(iterates.utility[self.actions])
        if minimizer is not learner or isinstance(minimizer, EFR):
            minimizer._strategy = give(iterates.strategy[self.sequences])
            self._store_played(iterates.behavior, deviations.last_behavior)
        self._learned = self._took_utilities = False
        self._stored = minimizer._strategy

    def _store_played(self, behavior: Vector, last: Vector) -> None:
        """Give a minimizer over deviations what it keeps of its next and of its last strategy."""
        minimizer, last = self.minimizer, last[self.own_actions].copy()
        if isinstance(minimizer, EFR):
            minimizer._behavior = behavior[self.own_actions].copy()
            minimizer._weights = minimizer._layout.local.weights(minimizer._behavior)
            minimizer._last = last if self._learned else minimizer._last
        elif isinstance(minimizer, PhiRegret) and self._learned:
            minimizer._last = cast("TriggerDeviations", minimizer.maps).tree.sequence_form(last)

    def release(self) -> None:
        """Take back what ``store`` gave."""
        self._stored = self.minimizer._strategy = self.learner._strategy = None
        for rule in self.rules:
            rule.release()
        if isinstance(self.learner, CFR) and self._given is not None:
            if self.learner._utilities is self._given:
                self.learner._utilities, self._took_utilities = None, True
            self._given = None

    def forget_utilities(self) -> None:
        """Leave the minimizer without utilities of a last update."""
        if isinstance(self.minimizer, CFR):
            self.minimizer._utilities = None

    def is_current(self) -> bool:
        """Return whether nothing was changed since ``store``."""
        current = all(rule.is_current() for rule in self.rules)
        return current and self.minimizer._strategy is self._stored

    def advance(self, updates: int) -> None:
        """Count updates of the minimizer."""
        self._learned = self._learned or updates > 0
        for part in self._around:
            part.iteration += updates
        for rule in self.rules:
            rule.advance(updates)

    def parameters(self, updates: NDArray[np.bool_]) -> Vector:
        """Return the parameters of all rules, side by side, in iterations of which some update."""
        rows = [rule.parameters(updates) for rule in self.rules]
        joined: Vector = np.concatenate(rows, axis=1)
        return joined

    @property
    def are_constant(self) -> bool:
        """Whether its parameters are the same in every iteration."""
        return not any(callable(rule.kernel.parameters) for rule in self.rules)


def place_rules(players: Sequence[PlayerBuffers], trees: FlatTrees) -> tuple[KernelSet, State]:
    """Return the kernels of all rules as one, and the arrays of all players."""
    rules = [rule for player in players for rule in player.rules]
    single = all(len(player.rules) == 1 for player in players)
    kernels = combine([rule.kernel for rule in rules], single)
    sequences, infosets = trees.sequence_offsets[-1], trees.infoset_offsets[-1]
    state = tuple(np.zeros(sequences if part else infosets) for part in kernels.by_action)
    for rule, begin in zip(rules, kernels.begin, strict=True):
        rule.place(state[begin:])
    if kernels.dispatches:
        chosen, parameters = state[-2:]
        codes = iter(kernels.code)
        for player in players:
            begin = 0
            for rule in player.rules:
                chosen[rule.infosets], parameters[rule.infosets] = next(codes), begin
                begin += upcoming_parameters(rule.rule, rule.kernel, 0)[0].shape[1]
    return kernels, state


def initial_parameters(players: Sequence[PlayerBuffers]) -> Vector:
    """Return each player's parameters before the next iteration."""
    parameters: Vector = parameters_for(players, np.full((1, 1), -1))[0]
    return parameters


def parameters_for(players: Sequence[PlayerBuffers], turns: Indices) -> Vector:
    """Return the kernels' parameters in iterations, in each of which these players are updated.

    A single row is for all iterations.
    """
    if all(player.are_constant for player in players):
        turns = np.full((1, 1), -1)
    rows = [player.parameters((turns == player.player).any(axis=1)) for player in players]
    widest = max(row.shape[1] for row in rows)
    all_rows: Vector = np.zeros((len(turns), len(players), widest))
    for player, row in enumerate(rows):
        all_rows[:, player, : row.shape[1]] = row
    return all_rows


# Averages


def load_total(average: Average, total: Vector) -> None:
    """Copy the weighted sum of an average into ``total``, which the average then holds."""
    if average._total is not total:
        total[...] = 0.0 if average._total is None else average._total
    average._total = total


def weight_after(average: Average, factors: Vector) -> float:
    """Return the weight of an average once strategies with these factors are added."""
    forgotten = np.flatnonzero(factors[:, 0] == 0.0)
    start, weight = (forgotten[-1], 0.0) if forgotten.size else (0, average._weight)
    # One by one, in order, as they are added one by one
    return float(np.cumsum(np.append(weight, factors[start:, 1]))[-1])


def advance_average(average: Average, count: int, weight: float) -> None:
    """Count strategies that were added to the sum that an average holds, and set its weight."""
    average._weight = weight
    average.iteration += count


def frozen_copy(array: Vector) -> Vector:
    """Return a read-only copy."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy
