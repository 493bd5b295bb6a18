"""One player of a run, as far as machine code is concerned."""

from collections.abc import Sequence
from itertools import chain
from typing import final

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.circuits import CFR
from regretkit.engine._forest import Forest
from regretkit.engine._mixture import mixture
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.minimizers._kernel import Kernel
from regretkit.play._engines import CannotStartError
from regretkit.play._self_play import SelfPlay
from regretkit.sets import StrategySet


def rule_of(minimizer: RegretMinimizer, domain: StrategySet) -> SimplexRule | str:
    """Return the one rule that plays all decision points of ``domain``, or why there is none."""
    rule = minimizer.rule if isinstance(minimizer, CFR) else minimizer
    if not isinstance(rule, SimplexRule):
        return f"{quote(rule)} is not a single rule over simplices"
    if minimizer.domain != domain:
        return f"{quote(minimizer)} plays on a part of its player's set"
    if rule._kernel() is None:
        return f"{quote(rule)} has no kernel"
    if minimizer._tracker is not None or rule._tracker is not None:
        return f"{quote(minimizer)} is tracked by a ledger, which wants to see every iteration"
    return rule


def kernel_of(rule: SimplexRule) -> Kernel:
    """Return a rule's kernel, which it has."""
    kernel = rule._kernel()
    if kernel is None:
        raise TypeError(f"{quote(rule)} was refused, and cannot be run")
    return kernel


@final
class Seat:
    """A player's minimizer, and its part of arrays in which those of all players lie end to end.

    The minimizer's rule holds views of the arrays, so that nothing is copied while machine code and
    Python take turns; what it holds anew is taken over.
    """

    def __init__(
        self,
        minimizer: RegretMinimizer,
        rule: SimplexRule,
        kernel: Kernel,
        player: int,
        forest: Forest,
        state: tuple[Vector, ...],
    ) -> None:
        self.minimizer, self.rule, self._kernel = minimizer, rule, kernel
        self.player, self.steady = player, not callable(kernel.parameters)
        self._learned_last = False
        self._given: tuple[Vector | None, Vector | None] = None, None
        sequences, points = forest.sequences, forest.points
        self._actions = slice(sequences[player] + 1, sequences[player + 1])
        # On simplices there is no empty sequence, which stands in front of a tree's actions.
        hidden = not isinstance(minimizer, CFR)
        self._own = slice(sequences[player] + hidden, sequences[player + 1])
        by_block = slice(points[player], points[player + 1])
        where = [self._actions] * len(kernel.state) + [by_block] * len(kernel.block_state)
        names = (*kernel.state, *kernel.block_state)
        parts = [array[part] for array, part in zip(state, where, strict=True)]
        self._held = dict(zip(names, parts, strict=True))
        self._check_names()

    def _check_names(self) -> None:
        learned = self.rule._learned()
        for name, here in self._held.items():
            if name not in learned or learned[name].shape != here.shape:
                raise ValueError(
                    f"the kernel of {quote(self.rule)} says that the rule learns {quote(name)}, "
                    f"shape {here.shape}, but it learns "
                    f"{ {name: array.shape for name, array in learned.items()} }"
                )

    def check(self, behavior: Vector) -> None:
        """Refuse what a kernel proposed if it is no number."""
        proposed = behavior[self._actions]
        # To add them up takes no room, and what is no number leaves no sum.
        with np.errstate(all="ignore"):
            suspect = not np.isfinite(proposed.sum())
        if suspect and not np.isfinite(proposed).all():
            raise ValueError(
                f"what the kernel of {quote(self.rule)} proposed must be finite, got "
                f"{shorten(str(proposed))}"
            )

    def own(self, array: Vector) -> Vector:
        """Return the player's coordinates of something that every sequence has."""
        return array[self._own]

    def take_over(self) -> None:
        """Take in what the rule has learned, unless it is there already."""
        learned = self.rule._learned()
        for name, here in self._held.items():
            if learned[name] is not here:
                here[...] = learned[name]
                self.rule._hold(name, here)

    def numbers(self, moves: NDArray[np.bool_]) -> Vector:
        """Return the kernel's numbers in iterations, in some of which the player learns."""
        kernel = self._kernel
        if not callable(kernel.parameters):
            return np.tile(np.array(kernel.parameters, dtype=np.float64), (moves.size, 1))
        many = getattr(kernel.parameters, "rows", None)
        if many is not None and moves.all():
            rows_at_once: Vector = many(self.rule.iteration + 1, moves.size)
            return rows_at_once
        counts = self.rule.iteration + np.cumsum(moves)
        rows = list(map(kernel.parameters, counts.tolist()))
        width = len(kernel.parameters_at(0))
        if set(map(len, rows)) - {width}:
            raise ValueError(f"the kernel of {quote(self.rule)} must always get as many numbers")
        return np.fromiter(chain.from_iterable(rows), np.float64).reshape(moves.size, width)

    def follow(self, kernel: Kernel) -> None:
        """Take over a kernel's numbers."""
        self._kernel = evolve(self._kernel, parameters=kernel.parameters)
        self.steady = not callable(kernel.parameters)

    def asks_as(self, other: "Seat") -> bool:
        """Return whether it wants the same numbers as another seat where both always learn."""
        mine, theirs = self._kernel.parameters, other._kernel.parameters
        return mine == theirs and self.rule.iteration == other.rule.iteration

    def count(self, moves: int) -> None:
        """Let the minimizer know in how many iterations it has learned."""
        self._learned_last = self._learned_last or moves > 0
        self.rule.iteration += moves
        if isinstance(self.minimizer, CFR):
            self.minimizer.iteration += moves

    def hand_back(self, strategy: Vector, behavior: Vector, utility: Vector) -> None:
        """Let the minimizer know what it would do next, and what it has learned from last."""
        minimizer, rule = self.minimizer, self.rule
        rule._strategy = frozen_copy(behavior[self._actions])
        if isinstance(minimizer, CFR):
            minimizer._strategy = frozen_copy(self.own(strategy))
            if self._learned_last:
                self.show(utility)
        self._learned_last = False
        self._given = rule._strategy, minimizer._strategy

    def show_regrets(self, regrets: Vector) -> None:
        """Let the rule have other regrets than those in the arrays, until it takes turns again."""
        self.rule._hold(next(iter(self._held)), regrets)

    def is_untouched(self) -> bool:
        """Return whether everything is still as it was handed back."""
        learned, (proposed, played) = self.rule._learned(), self._given
        if proposed is None or self.rule._strategy is not proposed:
            return False
        if self.minimizer._strategy is not played:
            return False
        return all(learned[name] is here for name, here in self._held.items())

    def show(self, utility: Vector | None) -> None:
        """Set the utilities that the minimizer exposes, None if unknown."""
        if isinstance(self.minimizer, CFR):
            own = None if utility is None else frozen_copy(utility[self._actions])
            self.minimizer._utilities = own


def rules_of(run: SelfPlay) -> list[SimplexRule]:
    """Return the rule of each player."""
    return [
        rule
        for minimizer, domain in zip(run.minimizers, run.game.domains, strict=True)
        if isinstance(rule := rule_of(minimizer, domain), SimplexRule)
    ]


def all_ignore_forced(run: SelfPlay) -> bool:
    """Return whether blocks of forced moves can be left out for all that rules know of them."""
    kernels = [kernel_of(rule) for rule in rules_of(run)]
    # Numbers by block would stand elsewhere if blocks were left out.
    return all(
        kernel.traits.ignores_singleton_blocks and not kernel.block_state for kernel in kernels
    )


def seated(run: SelfPlay, forest: Forest) -> tuple[list[Seat], tuple[Vector, ...], Kernel]:
    """Return a seat for each player, arrays that hold what all learn, and a kernel for all."""
    rules = rules_of(run)
    mixed = mixture([kernel_of(rule) for rule in rules])
    size, points = int(forest.sequences[-1]), int(forest.points[-1])
    state = tuple(np.zeros(size if by_action else points) for by_action in mixed.by_action)
    seats = [
        Seat(minimizer, rule, kernel, number, forest, state[part.begin : part.end])
        for number, (minimizer, rule, kernel, part) in enumerate(
            zip(run.minimizers, rules, mixed.kernels, mixed.parts, strict=True)
        )
    ]
    return seats, state, mixed.whole


def follow_rules(seats: Sequence[Seat]) -> None:
    """Look up the kernels' numbers again, which rules may have changed."""
    kernels = mixture([kernel_of(seat.rule) for seat in seats]).kernels
    for seat, kernel in zip(seats, kernels, strict=True):
        seat.follow(kernel)


def numbers_for(seats: Sequence[Seat], players: Indices) -> Vector:
    """Return the kernels' numbers in iterations, in each of which these players learn.

    A single row of them is for all iterations.
    """
    if all(seat.steady for seat in seats):
        no_update = np.zeros(1, dtype=np.bool_)
        return np.stack([seat.numbers(no_update) for seat in seats], axis=1)
    moves, one = [(players == seat.player).any(axis=1) for seat in seats], seats[0]
    if all(own.all() for own in moves) and all(seat.asks_as(one) for seat in seats):
        return np.repeat(one.numbers(moves[0])[:, None], len(seats), axis=1)
    pairs = zip(seats, moves, strict=True)
    return np.stack([seat.numbers(own) for seat, own in pairs], axis=1)


def uncompilable(seats: Sequence[Seat]) -> CannotStartError:
    """Return what to say when the rules' kernels are no machine code."""
    rules = list({repr(seat.rule): None for seat in seats})
    whose = rules[0] if len(rules) == 1 else f"one of {', '.join(rules)}"
    return CannotStartError(
        f"the kernel of {whose} cannot be compiled, see above; write it in plain loops over "
        "numbers in arrays, without making new arrays, or pass engine='vectorized', which does "
        "without it"
    )


def frozen_copy(array: Vector) -> Vector:
    """Return a read-only copy."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy
