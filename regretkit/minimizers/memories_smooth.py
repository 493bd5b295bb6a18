"""Memories that stay away from zero, where regret matching is at its most nervous."""

from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._blocks import lift
from regretkit.minimizers.roles import Memory, State
from regretkit.sets import Simplices


@final
@frozen
class Smooth(Memory):
    """Regrets sum to at least one: ``Q <- P(Q + rate g)``, starting at ``1/n``.

    P finds the nearest point of ``{z >= 0, sum z >= 1}``.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> Smooth(rate=1.0).remember(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([0.75, 0.25])}
    """

    scale_free = False

    rate: float = field(validator=positive, kw_only=True)

    @property
    @override
    def least(self) -> float:
        return 0.0

    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": simplices.uniform()}

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        return {"regrets": lift(simplices, state["regrets"] + self.rate * regret)}


@final
@frozen
class SmoothCorrected(Memory):
    """What was played from, corrected by what had been predicted wrongly, starting at ``1/n``.

        Q <- P(Q + rate v) + rate (g - v)

    P finds the nearest point of ``{z >= 0, sum z >= 1}``, and v is what was predicted. It goes
    with :class:`Weighted` predictions, by the same rate, and :class:`SmoothProportional` play.

    Parameters
    ----------
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> SmoothCorrected(rate=1.0).remember(
    ...     Simplices(2), {"regrets": np.array([0.5, 0.5])}, np.array([-0.5, -1.0]), 1
    ... )
    {'regrets': array([ 0. , -0.5])}
    """

    scale_free = False

    rate: float = field(validator=positive, kw_only=True)

    @property
    @override
    def least(self) -> float:
        return 0.0

    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": simplices.uniform()}

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        predicted = state.get("predicted_regrets", np.zeros_like(regret))
        played = lift(simplices, state["regrets"] + self.rate * predicted)
        return {"regrets": played + self.rate * (regret - predicted)}


@final
@frozen
class Restarting(Memory):
    """Negative regret is forgotten, and small regrets are raised to a floor.

        Q <- [Q + g]+,  and Q <- floor where no regret of a block exceeds it

    It starts at the floor. After a restart its ``"trust"`` in predictions is 0 for one iteration,
    otherwise 1.

    Parameters
    ----------
    floor
        What regrets are raised to, positive, in the unit of utility.

    Examples
    --------
    >>> Restarting(floor=1.0).remember(
    ...     Simplices([2, 2]), {"regrets": np.ones(4)}, np.array([0.5, -0.5, -0.5, 0.0]), 1
    ... )
    {'regrets': array([1.5, 0.5, 1. , 1. ]), 'trust': array([1., 1., 0., 0.])}
    """

    scale_free = False

    floor: float = field(validator=positive, kw_only=True)

    @property
    @override
    def least(self) -> float:
        return 0.0

    @override
    def start(self, simplices: Simplices) -> State:
        ones = np.ones(simplices.dimension)
        return {"regrets": self.floor * ones, "trust": ones}

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        regrets = np.maximum(simplices.add(state["regrets"], regret), 0.0)
        trust = simplices.repeat(np.where(simplices.max(regrets) > self.floor, 1.0, 0.0))
        return {"regrets": np.where(trust > 0.0, regrets, self.floor), "trust": trust}

    @override
    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        # What has been raised to the floor is raised to it again and again.
        nothing = np.zeros(simplices.dimension)
        return self.remember(simplices, state, nothing, iteration) if count else dict(state)
