"""Minimizers and averages whose arrays are views of those of a compiled run."""

from collections.abc import Sequence
from itertools import chain
from typing import final

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.averaging import Average
from regretkit.circuits import CFR
from regretkit.engine._layout import FlatTrees, Iterates
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.play._engines import CannotStartError
from regretkit.trace import UntraceableError, find_kernel


@final
class PlayerBuffers:
    """One player of a compiled run: its minimizer, and its slices of all players' arrays.

    Between calls the rule holds views of these arrays, so that nothing is copied; arrays that were
    replaced in the meantime are copied back.
    """

    def __init__(
        self,
        minimizer: RegretMinimizer,
        rule: SimplexRule,
        player: int,
        trees: FlatTrees,
        state: tuple[Vector, ...],
        exact: bool,
    ) -> None:
        self.minimizer, self.rule, self.player, self._exact = minimizer, rule, player, exact
        self.kernel = kernel = find_kernel(rule, exact=exact)
        self._learned = False
        self._stored: tuple[Vector | None, Vector | None] = None, None
        begin, end = trees.sequence_offsets[player : player + 2].tolist()
        self.actions = slice(begin + 1, end)
        # Strategies on simplices do not have the empty sequence, which precedes the actions.
        self.sequences = slice(begin + (not isinstance(minimizer, CFR)), end)
        self.infosets = slice(*trees.infoset_offsets[player : player + 2].tolist())
        by_action = [True] * len(kernel.state) + [False] * len(kernel.block_state)
        by_action += [part for _, part in kernel.further]
        pairs = zip(state, by_action, strict=True)
        views = [array[self.actions if part else self.infosets] for array, part in pairs]
        self._views = dict(zip(kernel.learned, views, strict=False))
        self._further = views[len(self._views) :]
        learned = rule._learned()
        for name, view in self._views.items():
            if name not in learned or learned[name].shape != view.shape:
                raise ValueError(
                    f"the kernel of {quote(rule)} says that the rule learns {quote(name)}, "
                    f"shape {view.shape}, but it learns "
                    f"{ {name: array.shape for name, array in learned.items()} }"
                )
        if rule.simplices.blocks:
            self._check_functions()

    def _check_functions(self) -> None:
        """Call the kernel once as plain Python, which notices what is read beyond an array."""
        kernel, learned, actions = self.kernel, self.rule._learned(), self.rule.simplices.block(0)
        state = [learned[name][actions].copy() for name in kernel.state]
        state += [learned[name][:1].copy() for name in kernel.block_state]
        for array, by_action in kernel.further:
            part = actions if by_action else slice(1)
            state.append(np.zeros(actions.stop) if array is None else array[part].astype(float))
        zeros, iteration = np.zeros(actions.stop), self.rule.iteration
        for name, known in {"propose": (), "learn": (zeros.copy(), 0.0)}.items():
            function = getattr(kernel, name)
            plain, numbers = getattr(function, "py_func", function), np.empty(0)
            try:
                numbers = np.array(kernel.parameters_at(iteration + bool(known)), np.float64)
                with np.errstate(all="ignore"):
                    plain(0, 0, actions.stop, *known, zeros, tuple(state), numbers)
            except IndexError as error:
                raise CannotStartError(
                    f"the kernel of {quote(self.rule)} reads beyond its arrays in {name} ({error}):"
                    f" state has {len(state)} arrays and parameters {numbers.size} numbers; "
                    "declare in Kernel(...) what it reads"
                ) from error
            except Exception:  # the compiler refuses it, or knows how to divide by zero
                continue

    def load(self) -> None:
        """Copy the rule's arrays into the buffers unless they are these already."""
        learned = self.rule._learned()
        for name, view in self._views.items():
            if learned[name] is not view:
                view[...] = learned[name]
                self.rule._hold(name, view)
        self.kernel = find_kernel(self.rule, exact=self._exact)  # its parameters may have changed
        for view, (array, _) in zip(self._further, self.kernel.further, strict=True):
            if array is not None:
                view[...] = array

    def same_code(self) -> bool:
        """Return whether the rule still has the functions that were compiled."""
        try:
            kernel = find_kernel(self.rule, exact=self._exact)
        except UntraceableError:
            return False
        mine = self.kernel.propose, self.kernel.learn, self.kernel.learned
        return (kernel.propose, kernel.learn, kernel.learned) == mine

    def store(self, iterates: Iterates) -> None:
        """Give the minimizer its next strategy, and the utilities of its last update."""
        minimizer, rule = self.minimizer, self.rule
        rule._strategy = frozen_copy(iterates.behavior[self.actions])
        if isinstance(minimizer, CFR):
            minimizer._strategy = frozen_copy(iterates.strategy[self.sequences])
            if self._learned:
                minimizer._utilities = frozen_copy(iterates.utility[self.actions])
        self._learned = False
        self._stored = rule._strategy, minimizer._strategy

    def forget_utilities(self) -> None:
        """Leave the minimizer without utilities of a last update."""
        if isinstance(self.minimizer, CFR):
            self.minimizer._utilities = None

    def is_current(self) -> bool:
        """Return whether nothing was changed since ``store``."""
        rule, (proposed, strategy) = self.rule, self._stored
        if proposed is None or rule._strategy is not proposed:
            return False
        learned = rule._learned()
        same = all(learned[name] is view for name, view in self._views.items())
        return same and self.minimizer._strategy is strategy

    def advance(self, updates: int) -> None:
        """Count updates of the minimizer."""
        self._learned = self._learned or updates > 0
        self.rule.iteration += updates
        if isinstance(self.minimizer, CFR):
            self.minimizer.iteration += updates

    def check(self, behavior: Vector) -> None:
        """Reject proposals of a kernel that are not finite."""
        proposed = behavior[self.actions]
        # A sum needs no memory, and is not finite if one term is not.
        with np.errstate(all="ignore"):
            suspect = not np.isfinite(proposed.sum())
        if suspect and not np.isfinite(proposed).all():
            raise ValueError(
                f"what the kernel of {quote(self.rule)} proposed must be finite, got "
                f"{shorten(str(proposed))}"
            )

    def parameters(self, updates: NDArray[np.bool_]) -> Vector:
        """Return the kernel's parameters in iterations, some of which update the player."""
        kernel = self.kernel
        if not callable(kernel.parameters):
            return np.tile(np.array(kernel.parameters, dtype=np.float64), (updates.size, 1))
        many = getattr(kernel.parameters, "rows", None)
        if many is not None and updates.all():
            at_once: Vector = many(self.rule.iteration + 1, updates.size)
            return at_once
        counts = self.rule.iteration + np.cumsum(updates)
        rows = list(map(kernel.parameters, counts.tolist()))
        width = len(kernel.parameters_at(0))
        if set(map(len, rows)) - {width}:
            raise ValueError(f"the kernel of {quote(self.rule)} must always get as many numbers")
        return np.fromiter(chain.from_iterable(rows), np.float64).reshape(updates.size, width)


def initial_parameters(players: Sequence[PlayerBuffers]) -> Vector:
    """Return each kernel's parameters before the next iteration."""
    no_update = np.zeros(1, dtype=np.bool_)
    return np.concatenate([player.parameters(no_update) for player in players])


def parameters_for(players: Sequence[PlayerBuffers], turns: Indices) -> Vector:
    """Return the kernels' parameters in iterations, in each of which these players are updated.

    A single row is for all iterations.
    """
    if not any(callable(player.kernel.parameters) for player in players):
        return initial_parameters(players)[None]
    updates, first = [(turns == player.player).any(axis=1) for player in players], players[0]
    alike = all(
        updated.all()
        and player.kernel.parameters is first.kernel.parameters
        and player.rule.iteration == first.rule.iteration
        for player, updated in zip(players, updates, strict=True)
    )
    if alike:
        return np.repeat(first.parameters(updates[0])[:, None], len(players), axis=1)
    pairs = zip(players, updates, strict=True)
    return np.stack([player.parameters(updated) for player, updated in pairs], axis=1)


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
