"""The contract: what it means to minimize regret.

A minimizer plays on a compact convex set X. In each iteration it plays a point x of X, observes a
utility vector u, and earns ``<u, x>``. Its regret,

    max over y in X of  sum_t <u_t, y>  -  sum_t <u_t, x_t>,

grows slower than the number of iterations.
"""

import abc
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
    """An online decision maker on a convex set: a rule, or a circuit of other minimizers.

    Callers use the three final methods. Authors set ``domain`` when the minimizer is built, and
    define ``_propose``, ``_learn`` and, where they apply, the other hooks. The final methods check
    what hooks receive.

    Attributes
    ----------
    domain
        The set X on which it plays.
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

    # Without hooks: attrs would put one before every attribute that is set, in every iteration.
    domain: StrategySet = field(init=False, repr=False, on_setattr=NO_OP)
    iteration: int = field(init=False, repr=False, on_setattr=NO_OP)
    # It is state, because engines round it in different ways.
    _strategy: Vector | None = field(default=None, init=False, repr=False, on_setattr=NO_OP)
    _tracker: RegretTracker | None = field(
        init=False, repr=False, on_setattr=NO_OP, metadata=NOT_STATE
    )

    scale_free: ClassVar[bool] = False
    """Whether utilities times a power of two lead to the same bits, if this holds for its parts."""
    _number_functions: ClassVar[tuple[str, ...]] = ()
    """Methods of a whole number that a trace calls in each iteration instead of tracing."""

    def __new__(cls, *_arguments: object, **_named: object) -> "RegretMinimizer":  # noqa: D102 - not for callers
        # Here and not in __init__, so that an author's own __init__ owes nothing to this class.
        make_fields(cls)
        self = super().__new__(cls)
        self.iteration = 0
        self._strategy = None
        self._tracker = None
        return self

    @property
    def dimension(self) -> int:
        """Number of coordinates of a strategy, and so of a utility."""
        return self.domain.dimension

    @property
    def no_guarantee(self) -> str:
        """Why its regret may grow in proportion to time, empty where it does not."""
        return ""

    def on_domain(self, simplices: Simplices) -> "RegretMinimizer | None":
        """Return a new, untrained minimizer of the same rule over other simplices.

        None where the rule does not play on arbitrary simplices.
        """
        return None

    @final
    def next_strategy(self) -> Vector:
        """Return this iteration's strategy, shape ``(dimension,)``, read-only.

        Every call before the next ``observe_utility`` returns the same array.
        """
        if self._strategy is None:
            name = f"the result of {type(self).__name__}._propose"
            self._strategy = vector(self._propose(), self.dimension, name)
        self._strategy.setflags(write=False)  # a loaded state is writeable
        return self._strategy

    @final
    def observe_utility(self, utility: ArrayLike) -> None:
        """Learn from this iteration's utility, shape ``(dimension,)``, and end the iteration."""
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
        """Predict the coming iteration's utility, in place of the minimizer's own prediction.

        It applies to the coming iteration only. Minimizers that do not predict ignore it.
        """
        checked = vector(prediction, self.dimension, "prediction", largest=LARGEST)
        # A rule that ignores predictions keeps its strategy, which may have been drawn at random.
        if type(self)._expect is not RegretMinimizer._expect:
            self._expect(checked)
            self._strategy = None

    @abc.abstractmethod
    def _propose(self) -> Vector:
        """Return the strategy that the current state implies, a new array."""

    @abc.abstractmethod
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        """Update the state by one iteration, and return None.

        ``self.iteration`` is the number of iterations before. Keep no reference to either array.
        """

    def _expect(self, prediction: Vector) -> None:
        """Take ``prediction`` for the coming utility. Keep no reference to it."""

    def _value(self, utility: Vector) -> float:
        """Return the value of this iteration's strategy."""
        return self.domain.value(utility, self.next_strategy())

    def _regret_bound(self, tracker_of: "TrackerOf") -> RegretBound | None:
        """Return what is proven about its regret, given the trackers of itself and its parts."""
        return None

    def __str__(self) -> str:
        from regretkit.display._circuits import circuit_text

        return circuit_text(self)

    def _repr_html_(self) -> str:
        from regretkit.display._circuits import circuit_html

        return circuit_html(self)

    def __reduce__(self) -> tuple[object, ...]:
        # A copy has all attributes, declared as fields or not, and no tracker.
        left_out = "_tracker", "_kernels"
        held = {name: value for name, value in attributes(self) if name not in left_out}
        return _rebuilt, (type(self), held)

    def _restored(self) -> None:
        self._strategy = None
        if self._tracker is not None:
            self._tracker.contiguous = False


TrackerOf: TypeAlias = Callable[[RegretMinimizer], RegretTracker]
"""Returns the tracker of a minimizer in the circuit."""


def _rebuilt(kind: type[RegretMinimizer], held: Mapping[str, object]) -> RegretMinimizer:
    minimizer = kind.__new__(kind)
    for name, value in held.items():
        object.__setattr__(minimizer, name, value)
    return minimizer


_FIELD = type(field())


def make_fields(kind: type[RegretMinimizer]) -> None:
    """Apply ``attrs.define`` to a class that declares fields, unless its author did."""
    for base in reversed(kind.__mro__):
        if not issubclass(base, RegretMinimizer) or "__attrs_attrs__" in vars(base):
            continue
        if get_annotations(base) or any(isinstance(value, _FIELD) for value in vars(base).values()):
            define(base, eq=False, slots=False)
