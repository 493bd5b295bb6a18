"""Memories that watch how far regrets move, in place of a learning rate."""

from typing import final

import numpy as np
from attrs import field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers._blocks import longer, norms, raise_to
from regretkit.minimizers._by_block import BlockMemory, learn_trust
from regretkit.minimizers.roles import Memory, State
from regretkit.sets import Simplices


@final
@frozen
class NormKeeping(Memory):
    """Negative regret is forgotten, but no block ever gets shorter.

        Q' = [Q + g]+;  if |Q'| < |Q|, then Q' = [Q + g + c]+ with the c for which |Q'| = |Q|

    Examples
    --------
    >>> NormKeeping().remember(
    ...     Simplices(2), {"regrets": np.array([5.0, 0.0])}, np.array([-3.0, 1.0]), 1
    ... )
    {'regrets': array([4., 3.])}
    """

    @property
    @override
    def least(self) -> float:
        return 0.0

    @override
    def start(self, simplices: Simplices) -> State:
        return {"regrets": np.zeros(simplices.dimension)}

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        moved = simplices.add(state["regrets"], regret)
        lengths = norms(simplices, state["regrets"])
        regrets = np.maximum(moved, 0.0)
        shorter = np.flatnonzero(norms(simplices, regrets) < lengths)
        if shorter.size:
            where, few = simplices.coordinates(shorter), Simplices(simplices.sizes[shorter])
            regrets[where] = raise_to(few, moved[where], lengths[shorter])
        return {"regrets": regrets}

    @override
    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        return dict(state)


@final
@frozen
class LearningTrust(Memory):
    """Negative regret is forgotten, and trust in predictions is learned from their errors.

        Q <- [Q + g]+,    trust <- 1 / (1 + alpha)
        alpha = min(sqrt(E / S), limit),  E = sum |g - v|^2,  S = sum |Q's steps|^2

    E and S add up over all iterations of a block, and v is what was predicted, before any trust
    came in; alpha is the limit as long as S is 0.

    Parameters
    ----------
    limit
        The largest alpha, positive.

    Examples
    --------
    An unpredicted first regret moves Q by as much as it missed the prediction:

    >>> memory, simplices = LearningTrust(limit=5.0), Simplices(2)
    >>> state = memory.start(simplices) | {"predicted_regrets": np.zeros(2)}
    >>> memory.remember(simplices, state, np.array([1.0, 0.0]), 1)["trust"]
    array([0.5, 0.5])
    """

    limit: float = field(default=5.0, validator=positive, kw_only=True)

    @property
    @override
    def least(self) -> float:
        return 0.0

    @override
    def start(self, simplices: Simplices) -> State:
        nothing = np.zeros(simplices.blocks)
        return {
            "regrets": np.zeros(simplices.dimension),
            "trust": np.full(simplices.dimension, 1.0 / (1.0 + self.limit)),
            "errors": nothing,
            "steps": nothing.copy(),
        }

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        regrets = simplices.add(state["regrets"], regret)
        np.maximum(regrets, 0.0, out=regrets)
        moved = regrets - state["regrets"]
        # Roots of sums of squares: sums of squares could overflow.
        steps = longer(state["steps"], norms(simplices, moved))
        missed = np.subtract(regret, state.get("predicted_regrets", 0.0), out=moved)
        errors = longer(state["errors"], norms(simplices, missed))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Where nothing has moved yet the quotient is infinite, or no number.
            alpha = np.fmin(errors / steps, self.limit)
        trust = simplices.repeat(1.0 / (1.0 + alpha))
        return {"regrets": regrets, "trust": trust, "errors": errors, "steps": steps}

    @override
    def by_block(self) -> BlockMemory:
        numbers = (self.limit, 1.0, 1.0, 0.0, 1.0, 1.0)
        return BlockMemory(learn_trust, lambda _: numbers)

    @override
    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        # After one iteration of zero utility nothing is predicted, and nothing moves.
        nothing = np.zeros(simplices.dimension)
        return self.remember(simplices, state, nothing, iteration) if count else dict(state)
