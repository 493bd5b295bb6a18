"""Objects that minimize regret and are no ``RegretMinimizer``, as one."""

from typing import Any, cast

from regretkit._util import _validate
from regretkit._util._state import ForeignState, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, quote
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import SimplicesLike, StrategySet
from regretkit.sets._simplices import as_set
from regretkit.trace._kernel import Kernel
from regretkit.trace._symbols import UntraceableError


class Adapter(RegretMinimizer):
    """A leaf around an object that has ``next_strategy`` and ``observe_utility``.

    The object is asked once in an iteration, and gets a copy of the utility. Its state is that of
    this leaf: all numbers, arrays, texts and random generators in its attributes, in lists and
    dicts there, and in the attributes of objects that it holds. It is saved and copied with a run.
    It is not compiled.

    Parameters
    ----------
    learner
        The object.
    domain
        Where it plays: a number of actions, several of them, or a set.

    Raises
    ------
    TypeError
        When ``learner`` does not have the two methods, or ``domain`` is none of these; and where
        its state is read or saved, when it holds what may be learned and is none of the above.

    Examples
    --------
    >>> import numpy as np
    >>> class Weights:
    ...     def __init__(self, actions):
    ...         self.weights = np.ones(actions)
    ...
    ...     def next_strategy(self):
    ...         return self.weights / self.weights.sum()
    ...
    ...     def observe_utility(self, utility):
    ...         self.weights *= np.exp(0.5 * utility)
    >>> player = Adapter(Weights(2), 2)
    >>> player.observe_utility([2.0, 0.0])
    >>> saved = player.state_dict()
    >>> player.observe_utility([0.0, 9.0])
    >>> player.load_state_dict(saved)
    >>> player.next_strategy().round(2)
    array([0.73, 0.27])
    """

    def __init__(self, learner: object, domain: SimplicesLike | StrategySet) -> None:
        names = ("next_strategy", "observe_utility")
        absent = [name for name in names if not callable(getattr(learner, name, None))]
        if absent or isinstance(learner, type):
            wanted = f"an object with {' and '.join(names)}"
            hint = f"it has no {absent[0]}" if absent else "build one of this class"
            raise TypeError(must_be("learner", wanted, learner, hint))
        self._learner: Stateful = (
            learner if isinstance(learner, Stateful) else ForeignState(learner)
        )
        self.domain = as_set(domain)

    @property
    def learner(self) -> object:
        """The object."""
        return self._learner.holder if isinstance(self._learner, ForeignState) else self._learner

    def __repr__(self) -> str:
        return f"Adapter({quote(self.learner)}, {self.domain!r})"

    def _propose(self) -> Vector:
        return _validate.floats(
            cast(Any, self.learner).next_strategy(), f"{type(self.learner).__name__}.next_strategy"
        ).copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        cast(Any, self.learner).observe_utility(utility.copy())

    def _kernel(self) -> Kernel:
        raise UntraceableError(f"{quote(self.learner)} is no RegretMinimizer of its own")
