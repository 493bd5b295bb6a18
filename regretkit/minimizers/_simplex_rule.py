"""The base class of rules over simplices, and the fields of their state."""

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
    """Declare an array of a ``SimplexRule``'s state.

    Parameters
    ----------
    per
        ``"action"`` for an array of shape ``(dimension,)``, ``"block"`` for shape ``(blocks,)``.
    start
        Initial value of all entries. With None, the rule creates the array itself or has none.

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
    # At runtime this is an attrs field; type checkers see the type of the attribute.
    metadata = {_PER: per, _START: None if start is None else float(start)}
    declared: object = field(
        init=False, repr=False, on_setattr=attrs.setters.NO_OP, metadata=metadata
    )
    return cast(Vector, declared)


@define(eq=False)
class SimplexRule(RegretMinimizer):
    """Base class of rules: minimizers on a product of simplices.

    Subclasses declare their state with ``state``. They define ``_propose`` and ``_learn`` for all
    blocks at once, with the operations of ``self.simplices``.

    Parameters
    ----------
    simplices
        A number of actions, a sequence with one number for each block, or ``Simplices``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> isinstance(RegretMatching([2, 3]), SimplexRule)
    True
    """

    # NO_OP: attrs would otherwise run a hook at each assignment, several times per iteration.
    simplices: Simplices = field(converter=as_simplices, on_setattr=attrs.setters.NO_OP)

    def on_domain(self, simplices: Simplices) -> RegretMinimizer:
        _, *names = inspect.signature(type(self)).parameters  # parameters are attributes
        held = {name: getattr(self, name if hasattr(self, name) else f"_{name}") for name in names}
        return type(self)(simplices, **held)

    def _learned(self) -> dict[str, Vector]:
        """Return the arrays of the state by name."""
        names = [field.name for field in attrs.fields(type(self)) if _PER in field.metadata]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def __attrs_post_init__(self) -> None:
        self.domain = self.simplices
        for attribute in attrs.fields(type(self)):
            if attribute.metadata.get(_START) is not None:
                by_action = attribute.metadata[_PER] == "action"
                size = self.simplices.dimension if by_action else self.simplices.blocks
                setattr(self, attribute.name, np.full(size, attribute.metadata[_START]))
