"""The contract: what it means to minimize regret.

A minimizer plays on a compact convex set X. In each iteration it is asked for a point x of X,
then shown a utility vector u, and obtains ``<u, x>``. It promises that its regret,

    max over y in X of  sum_t <u_t, y>  -  sum_t <u_t, x_t>,

grows slower than the number of iterations. Nothing in this module knows what a game is.
"""

import abc
import copy
from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Any, ClassVar, Self, TypeAlias, cast, final

from attrs import define, field
from attrs.setters import NO_OP
from numpy.typing import ArrayLike

from regretkit._regret_tracker import RegretBound as RegretBound
from regretkit._regret_tracker import RegretTracker as RegretTracker
from regretkit._state import NOT_STATE, Stateful, attributes, parts
from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit.sets import Simplices, StrategySet


@define(eq=False, slots=False)
class RegretMinimizer(Stateful, abc.ABC):
    """An online decision maker on a convex set.

    Callers use the final methods. Authors say where the minimizer plays, by setting ``domain``
    when it is built, and fill in the two abstract hooks, and those of the others that apply; they
    may rely on what the final methods have checked. A subclass is a leaf or a circuit of other
    minimizers.

    Constructors raise a ``TypeError`` if an argument is of a wrong kind, as where a part is no
    minimizer, and a ``ValueError`` if it is out of its range, does not fit the others, or is one
    object in two places. The message names the argument.

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
    """Whether the same bits are played when utilities are multiplied by a power of two, provided
    that this holds for its parts."""
    _number_functions: ClassVar[tuple[str, ...]] = ()
    """Methods of a whole number that a trace calls iteration by iteration instead of tracing."""

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

    def exemptions(self) -> Mapping[str, str]:
        """Return the checks of ``checks`` that it does not pass, each with the reason.

        What its parts do not pass, it need not pass either.
        """
        found: dict[str, str] = {}
        for _, part in parts(self):
            if isinstance(part, RegretMinimizer):
                found.update(part.exemptions())
        if reason := self._weaker_guarantee():
            found["regret_grows_slowly"] = reason
        return found

    def on_domain(self, simplices: Simplices) -> "RegretMinimizer | None":
        """Return a new, untrained minimizer of the same rule over other simplices.

        None where the rule does not play on arbitrary simplices.
        """
        return None

    @final
    def next_strategy(self) -> Vector:
        """Return this iteration's strategy, shape ``(dimension,)``, read-only.

        Asking changes nothing: every call before the next ``observe_utility`` returns the
        same array.
        """
        if self._strategy is None:
            name = f"what {type(self).__name__}._propose returned"
            self._strategy = _validate.vector(self._propose(), self.dimension, name)
        self._strategy.setflags(write=False)  # a restored one could be written to
        return self._strategy

    @final
    def observe_utility(self, utility: ArrayLike) -> None:
        """Learn from this iteration's utility, shape ``(dimension,)``, and end the iteration."""
        checked = _checked(utility, self.dimension, "utility")
        strategy = self.next_strategy()
        learn: Callable[[Vector, Vector], object] = self._learn
        if learn(checked, strategy) is not None:
            raise TypeError(f"{type(self).__name__}._learn must return nothing")
        self.iteration += 1
        self._strategy = None
        if self._tracker is not None:
            self._tracker.record(checked, strategy)

    @final
    def expect_utility(self, prediction: ArrayLike) -> None:
        """Tell a predictive minimizer what the coming iteration's utility is expected to be.

        It replaces what the minimizer would have predicted, for the coming iteration only. Others
        take no notice.
        """
        checked = _checked(prediction, self.dimension, "prediction")
        # One that ignores predictions keeps its strategy, which it may have drawn at random.
        if type(self)._expect is not RegretMinimizer._expect:
            self._expect(checked)
            self._strategy = None

    @abc.abstractmethod
    def _propose(self) -> Vector:
        """Compute a new array holding the strategy that the current state implies."""

    @abc.abstractmethod
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        """Fold one iteration into the state, and return nothing.

        ``self.iteration`` is how many there were before. Keep no reference to either array.
        """

    def _expect(self, prediction: Vector) -> None:
        """Take ``prediction`` for the coming utility. Keep no reference to it."""

    def _weaker_guarantee(self) -> str:
        """Say why its regret may grow in proportion to time, empty where it does not."""
        return ""

    def _value(self, utility: Vector) -> float:
        """Return the value of this iteration's strategy."""
        return self.domain.value(utility, self.next_strategy())

    def _regret_bound(self, tracker_of: "TrackerOf") -> RegretBound | None:
        """Return what is proven about its regret, given the trackers of itself and its parts."""
        return None

    # Pictures of it and its parts

    def __str__(self) -> str:
        from regretkit.display._circuits import circuit_text

        return circuit_text(self)

    def _repr_html_(self) -> str:
        from regretkit.display._circuits import circuit_html

        return circuit_html(self)

    # Copies are not tracked, and hold all attributes of a subclass, declared as fields or not.

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        duplicate = cast(Self, type(self).__new__(type(self)))
        memo[id(self)] = duplicate
        for name, value in self._held():
            object.__setattr__(duplicate, name, copy.deepcopy(value, memo))
        return duplicate

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), dict(self._held()))

    def _held(self) -> list[tuple[str, object]]:
        kept = ("_tracker", "_kernels")
        return [(name, value) for name, value in attributes(self) if name not in kept]

    def _restored(self) -> None:
        self._strategy = None
        if self._tracker is not None:
            self._tracker.contiguous = False


class _NoDomain:
    """What is read before ``domain`` is set."""

    def __get__(self, minimizer: object, kind: type) -> Self:
        if minimizer is None:
            return self
        text = f"{kind.__name__} has no domain; its __init__ must set it or call super().__init__"
        raise AttributeError(text)


cast(Any, RegretMinimizer).domain = _NoDomain()

TrackerOf: TypeAlias = Callable[[RegretMinimizer], RegretTracker]
"""Returns the tracker of a minimizer in the circuit."""


def _checked(value: ArrayLike, dimension: int, name: str) -> Vector:
    return _validate.vector(value, dimension, name, largest=_validate.LARGEST)


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
