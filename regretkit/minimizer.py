"""The base class of minimizers.

A minimizer plays on a compact convex set X. In each iteration t it plays a point x_t of X, observes
a utility vector u_t, and earns ``<u_t, x_t>``. Its regret

    max over y in X of  sum_t <u_t, y>  -  sum_t <u_t, x_t>

grows slower than the number of iterations.
"""

import abc
import threading
from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import ClassVar, TypeAlias, final

from attrs import define, field
from attrs.setters import NO_OP
from numpy.typing import ArrayLike

from regretkit._regret_tracker import RegretBound as RegretBound
from regretkit._regret_tracker import RegretTracker as RegretTracker
from regretkit._state import NOT_STATE, Stateful, attributes
from regretkit._util._typing import Vector
from regretkit._util._validate import LARGEST, vector
from regretkit.sets import Simplices, StrategySet


@define(eq=False, slots=False)
class RegretMinimizer(Stateful, abc.ABC):
    """A regret minimizer on a convex set: a rule, or a circuit of other minimizers.

    Callers use the three final methods. A subclass sets ``domain`` in its constructor, and defines
    ``_propose``, ``_learn`` and optionally the other hooks. The final methods validate arguments
    before they call a hook.

    Attributes
    ----------
    domain
        The set X of strategies.
    iteration
        Number of utilities observed so far.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = RegretMatching(3)
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.next_strategy()
    array([0., 1., 0.])
    """

    # NO_OP: attrs would otherwise run a hook at each assignment, several times per iteration.
    domain: StrategySet = field(init=False, repr=False, on_setattr=NO_OP)
    iteration: int = field(init=False, repr=False, on_setattr=NO_OP)
    # The strategy is part of the state: engines round differently, so it cannot be recomputed.
    _strategy: Vector | None = field(default=None, init=False, repr=False, on_setattr=NO_OP)
    _tracker: RegretTracker | None = field(
        init=False, repr=False, on_setattr=NO_OP, metadata=NOT_STATE
    )

    scale_free: ClassVar[bool] = False
    """Whether scaling all utilities by a power of two leaves strategies bitwise identical.

    A circuit may set it if the property follows from that of its parts.
    """
    _number_functions: ClassVar[tuple[str, ...]] = ()
    """Methods of an integer that a compiled run calls in each iteration, outside the kernel."""

    def __new__(cls, *_arguments: object, **_named: object) -> "RegretMinimizer":  # noqa: D102 - not for callers
        # In __new__, so that a subclass with its own __init__ need not call this class's.
        make_fields(cls)
        self = super().__new__(cls)
        self.iteration = 0
        self._strategy = None
        self._tracker = None
        return self

    @property
    def dimension(self) -> int:
        """Number of coordinates of a strategy and of a utility."""
        return self.domain.dimension

    @property
    def no_guarantee(self) -> str:
        """Why the regret may grow linearly in the number of iterations; empty if it cannot."""
        return ""

    def on_domain(self, simplices: Simplices) -> "RegretMinimizer | None":
        """Return a new minimizer with the same parameters over other simplices.

        The result is None if the rule does not support arbitrary simplices.
        """
        return None

    @final
    def next_strategy(self) -> Vector:
        """Return this iteration's strategy, a read-only array of shape ``(dimension,)``.

        Calls before the next ``observe_utility`` return the same array.
        """
        if self._strategy is None:
            name = f"the result of {type(self).__name__}._propose"
            self._strategy = vector(self._propose(), self.dimension, name)
        self._strategy.setflags(write=False)  # also after load_state_dict, which sets a copy
        return self._strategy

    @final
    def observe_utility(self, utility: ArrayLike) -> None:
        """Update with this iteration's utility, shape ``(dimension,)``, and end the iteration."""
        checked = vector(utility, self.dimension, "utility", largest=LARGEST)
        strategy = self.next_strategy()
        learn: Callable[[Vector, Vector], object] = self._learn
        if learn(checked, strategy) is not None:
            raise TypeError(f"{type(self).__name__}._learn must return None")
        self.iteration += 1
        self._strategy = None
        if self._tracker is not None:
            self._tracker.record(checked, strategy)

    @final
    def expect_utility(self, prediction: ArrayLike) -> None:
        """Replace the minimizer's own prediction of the next utility, shape ``(dimension,)``.

        The prediction holds for one iteration. Minimizers without predictions ignore it.
        """
        checked = vector(prediction, self.dimension, "prediction", largest=LARGEST)
        # Without the hook, keep the strategy: proposing again could draw another one at random.
        if type(self)._expect is not RegretMinimizer._expect:
            self._expect(checked)
            self._strategy = None

    @abc.abstractmethod
    def _propose(self) -> Vector:
        """Return this iteration's strategy, computed from the state, as a new array."""

    @abc.abstractmethod
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        """Update the state with the utility and the strategy of iteration ``self.iteration + 1``.

        Return None, and keep no reference to either array.
        """

    def _expect(self, prediction: Vector) -> None:
        """Set the prediction of the next utility. Keep no reference to the array."""

    def _value(self, utility: Vector) -> float:
        """Return the value of this iteration's strategy."""
        return self.domain.value(utility, self.next_strategy())

    def _regret_bound(self, tracker_of: "TrackerOf") -> RegretBound | None:
        """Return the regret bound, evaluated with the trackers of the minimizer and its parts."""
        return None

    def __str__(self) -> str:
        from regretkit.display._circuits import circuit_text

        return circuit_text(self)

    def _repr_html_(self) -> str:
        from regretkit.display._circuits import circuit_html

        return circuit_html(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Copies have all attributes, also those that are no attrs fields, except the tracker.
        left_out = "_tracker", "_kernels"
        held = {name: value for name, value in attributes(self) if name not in left_out}
        return _rebuilt, (type(self), held)

    def _restored(self) -> None:
        self._strategy = None
        if self._tracker is not None:
            self._tracker.contiguous = False


TrackerOf: TypeAlias = Callable[[RegretMinimizer], RegretTracker]
"""Maps a minimizer of a circuit to its tracker."""


def _rebuilt(kind: type[RegretMinimizer], held: Mapping[str, object]) -> RegretMinimizer:
    minimizer = kind.__new__(kind)
    for name, value in held.items():
        object.__setattr__(minimizer, name, value)
    return minimizer


_FIELD = type(field())
_DEFINING = threading.RLock()
"""Held while a class is changed: other threads wait until it is whole."""


def make_fields(kind: type[RegretMinimizer]) -> None:
    """Apply ``attrs.define`` to each base class that declares fields without it."""
    with _DEFINING:
        for base in reversed(kind.__mro__):
            if not issubclass(base, RegretMinimizer) or "__attrs_attrs__" in vars(base):
                continue
            if get_annotations(base) or any(isinstance(x, _FIELD) for x in vars(base).values()):
                define(base, eq=False, slots=False)
