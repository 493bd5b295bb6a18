"""Change what a minimizer learns from, and when: restart it, discount its past, or freeze it."""

import abc
from collections.abc import Callable, Mapping
from typing import final

import numpy as np
from attrs import define, evolve, field
from typing_extensions import override

from regretkit._regret_tracker import RegretBound
from regretkit._util import _validate
from regretkit._util._state import NOT_STATE, StateDict, generators
from regretkit._util._typing import Vector
from regretkit._util._validate import quote, whole_number
from regretkit.circuits._base import SingleMinimizerCircuit, check_distinct, check_function
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.sets import Simplices

_EVERY = "pass 10, or a function of the iteration that says whether to restart after it"


@define(eq=False)
class _SameDomain(SingleMinimizerCircuit):
    """Plays on the domain of its minimizer."""

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer])
        self.domain = self.minimizer.domain

    @override
    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        minimizer = self.minimizer.on_domain(simplices)
        return None if minimizer is None else evolve(self, minimizer=minimizer)


@define(eq=False)
class LearningWrapper(_SameDomain):
    """Plays what its minimizer plays, and decides what that one learns."""

    @final
    @override
    def exemptions(self) -> Mapping[str, str]:
        return {**super().exemptions(), "regret_grows_slowly": self._weaker_guarantee()}

    @abc.abstractmethod
    def _weaker_guarantee(self) -> str:
        """Say what is guaranteed, other than that the regret grows slower than time."""

    @final
    @override
    def _propose(self) -> Vector:
        return self.minimizer.next_strategy().copy()

    @final
    @override
    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class StrategyWrapper(_SameDomain):
    """Plays a point made of what its minimizer plays, which learns from the same utilities."""

    @abc.abstractmethod
    def _transform(self, strategy: Vector) -> Vector:
        """Return what is played where the minimizer would play ``strategy``, a new array."""

    @final
    @override
    def _propose(self) -> Vector:
        return self._transform(self.minimizer.next_strategy())

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(prediction)


@final
@define(eq=False)
class Restart(LearningWrapper):
    """Let a minimizer begin anew from time to time.

    After some of the iterations the minimizer is put back into the state in which it was when
    this object was built. Random generators alone keep their state, so that it does not draw
    the same numbers again.

    Within a period, between two restarts, the minimizer's own regret bound holds. Summed over all
    periods, these regrets are the regret against comparators that are constant within each period.
    It bounds the regret against a fixed point; with a regret of order root T and periods of
    length k it is of order T / root k.

    Parameters
    ----------
    minimizer
        Any.
    every
        A number of iterations k, at least 1: it restarts after every k-th. Or a function of the
        number of an iteration, from 1, that says whether to restart after it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Restart(RegretMatching(2), every=3)
    >>> for _ in range(4):
    ...     print(player.next_strategy())
    ...     player.observe_utility([1.0, 0.0])
    [0.5 0.5]
    [1. 0.]
    [1. 0.]
    [0.5 0.5]
    """

    every: int | Callable[[int], bool] = field(kw_only=True)
    _start: StateDict = field(init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if callable(self.every):
            check_function(self.every, "every", 1, hint=_EVERY)
            if not isinstance(due := self.every(1), bool | np.bool_):
                raise TypeError(f"every(1) must be True or False, got {quote(due)}; {_EVERY}")
        elif isinstance(self.every, int | np.integer):
            whole_number(self.every, "every", least=1)
        else:
            raise TypeError(
                "every must be a whole number, at least 1, or a function, got "
                f"{quote(self.every)}; {_EVERY}"
            )
        self._start = self.minimizer.state_dict()

    @override
    def _weaker_guarantee(self) -> str:
        return "the bound is the sum of those of the periods between restarts"

    def _is_due(self, iteration: int) -> bool:
        if callable(self.every):
            return self.every(iteration)
        return iteration % self.every == 0

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        periods = RegretBound(
            "R <= sum of R over the periods", tracker.external, inner.tracking, exact=False
        )
        return RegretBound(
            "R = R of the minimizer", tracker.external, inner.external, exact=True, also=(periods,)
        )

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        due = self._is_due(self.iteration + 1)
        self.minimizer._update(utility)
        if due:
            kept = [(g, g.bit_generator.state) for g in generators(self.minimizer)]
            self.minimizer.load_state_dict(self._start)
            for generator, state in kept:
                generator.bit_generator.state = state
            if self.minimizer._tracker is not None:
                self.minimizer._tracker.begin_period()

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(prediction)


@final
@define(eq=False)
class Discount(LearningWrapper):
    """Let later iterations count for more, and so earlier ones for less.

        the minimizer learns from w_t u_t

    The minimizer's own regret is then the weighted one, exactly, and it keeps its bound for
    utilities that are larger by the weights:

        max over y of  sum_t w_t <u_t, y - x_t>

    Divided by the sum of the weights it bounds the gap of averages with the same weights:
    ``weight=float`` goes with ``Linear`` averaging. Regret matching under it is linear regret
    matching. A minimizer that predicts by itself predicts the last weighted utility.

    Parameters
    ----------
    minimizer
        Any.
    weight
        The weight w of an iteration by its number t, from 1: finite, not negative. Only ratios
        matter to a minimizer that is scale-free.

    Examples
    --------
    >>> from regretkit import LinearRegretMatching, RegretMatching
    >>> player, linear = Discount(RegretMatching(2), weight=float), LinearRegretMatching(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    ...     linear.observe_utility(utility)
    >>> bool((player.next_strategy() == linear.next_strategy()).all())
    True

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI, for linear weights.
    """

    weight: Callable[[int], float] = field(kw_only=True)

    _update_may_raise = True

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        hint = "pass one of the iteration, as float for the weights 1, 2, 3, ..."
        check_function(self.weight, "weight", 1, hint=hint)
        self._coming_weight()

    @override
    def _weaker_guarantee(self) -> str:
        return "what is small is the regret weighted as the utilities are"

    def _coming_weight(self) -> float:
        name = f"weight({self.iteration + 1})"
        weight = _validate.number(self.weight(self.iteration + 1), name)
        if weight < 0.0:
            raise ValueError(f"{name} must be at least 0, got {quote(weight)}")
        return weight

    def _weighted(self, weight: float, utility: Vector) -> Vector:
        with np.errstate(over="ignore"):
            weighted = weight * utility
        name = f"weight({self.iteration + 1}) * utility"
        return _validate.vector(weighted, self.dimension, name, largest=_validate.LARGEST)

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        return RegretBound(
            "weighted R = R of the minimizer",
            tracker_of(self).weighted,
            tracker_of(self.minimizer).external,
            exact=True,
        )

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        weight = self._coming_weight()
        self.minimizer._update(self._weighted(weight, utility))
        if self._tracker is not None:
            self._tracker.record_weighted(weight, utility, strategy)

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(self._weighted(self._coming_weight(), prediction))


@final
@define(eq=False)
class Freeze(LearningWrapper):
    """Let a minimizer stop learning.

    After a number of iterations it neither learns nor expects anything any more, and plays the
    strategy that it had reached for ever. There is no bound on its regret from then on: with S
    the iterations in which it learned, and x what it plays since,

        R  =  max over y of sum <u_t, y>  -  what it earned in S  -  sum over t not in S of <u_t, x>

    Parameters
    ----------
    minimizer
        Any.
    after
        From how many iterations it learns, 0 or more; with 0 it always plays its first strategy.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = Freeze(RegretMatching(2), after=1)
    >>> for utility in ([1.0, 0.0], [0.0, 100.0], [0.0, 100.0]):
    ...     player.observe_utility(utility)
    >>> player.next_strategy()
    array([1., 0.])
    """

    after: int = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        whole_number(self.after, "after", least=0)

    @override
    def _weaker_guarantee(self) -> str:
        return "once it stops learning, its regret is linear in the worst case"

    @property
    def frozen(self) -> bool:
        """Whether it has stopped learning."""
        return self.iteration >= self.after

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker, inner = tracker_of(self), tracker_of(self.minimizer)
        if not tracker.contiguous:
            return None  # it may have been frozen at one strategy, thawed, and frozen at another
        best, _ = self.domain.best_response(tracker.utilities)
        frozen_value = self.domain.value(tracker.utilities - inner.utilities, self.next_strategy())
        return RegretBound(
            "R = best of all u - earned until frozen - <later u, x>",
            tracker.external,
            best - inner.earned - frozen_value,
            exact=True,
        )

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        if not self.frozen:
            self.minimizer._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        if not self.frozen:
            self.minimizer._predict_internal(prediction)
