"""What every leaf over simplices shares: its set, and where its state lives."""

import inspect
from typing import Literal, cast

import attrs
import numpy as np
from attrs import define, field

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices, as_simplices

_PER = "per"
_START = "start"


def state(per: Literal["action", "block"] = "action", *, start: float | None = 0.0) -> Vector:
    """Declare a field of a ``SimplexRule`` that the rule learns: an array of numbers.

    Parameters
    ----------
    per
        Whether there is one number for each action, shape ``(dimension,)``, or one for each
        block, shape ``(blocks,)``.
    start
        What every number is before anything was observed; None where the rule makes the array
        itself when it is built, or does without.

    Examples
    --------
    >>> from attrs import define
    >>> @define(eq=False)
    ... class FollowTheLeader(SimplexRule):
    ...     earned: Vector = state()
    ...
    ...     def _propose(self):
    ...         return self.simplices.best_response(self.earned)[1]
    ...
    ...     def _learn(self, utility, strategy):
    ...         self.earned += utility
    >>> player = FollowTheLeader(3)
    >>> player.observe_utility([0.0, 2.0, 1.0])
    >>> player.next_strategy()
    array([0., 1., 0.])
    """
    if per not in ("action", "block"):
        raise ValueError(f"per must be 'action' or 'block', got {quote(per)}")
    # An attrs field is what it is; the array that the field will hold is what readers see.
    metadata = {_PER: per, _START: None if start is None else float(start)}
    declared: object = field(
        init=False, repr=False, on_setattr=attrs.setters.NO_OP, metadata=metadata
    )
    return cast(Vector, declared)


@define(eq=False)
class SimplexRule(RegretMinimizer):
    """A leaf: a rule that plays every block of a product of simplices.

    Subclasses declare what they learn with ``state`` and fill in the two hooks. They work
    on all blocks at once, with the operations of ``self.simplices``.

    Parameters
    ----------
    simplices
        Where to play: a number of actions, several of them, or ``Simplices``.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, or a number of actions is below 1.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> isinstance(RegretMatching([2, 3]), SimplexRule)
    True
    """

    # Without the hook, attrs would look at every attribute that is set, in every iteration.
    simplices: Simplices = field(converter=as_simplices, on_setattr=attrs.setters.NO_OP)

    def on_domain(self, simplices: Simplices) -> RegretMinimizer:
        _, *names = inspect.signature(type(self)).parameters
        held = {name: name if hasattr(self, name) else f"_{name}" for name in names}
        if absent := [name for name in names if not hasattr(self, held[name])]:
            raise TypeError(
                f"{type(self).__name__} does not hold its arguments {', '.join(absent)} under "
                "their names, so that no equal rule can be built; keep them, as in self.rate = rate"
            )
        return type(self)(simplices, **{name: getattr(self, held[name]) for name in names})

    def _learned(self) -> dict[str, Vector]:
        """Return the arrays that the rule learns, by name."""
        names = [field.name for field in attrs.fields(type(self)) if _PER in field.metadata]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def __attrs_post_init__(self) -> None:
        self.domain = self.simplices
        for attribute in attrs.fields(type(self)):
            if attribute.metadata.get(_START) is not None:
                by_action = attribute.metadata[_PER] == "action"
                size = self.simplices.dimension if by_action else self.simplices.blocks
                setattr(self, attribute.name, np.full(size, attribute.metadata[_START]))
