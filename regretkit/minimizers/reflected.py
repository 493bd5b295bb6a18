"""Reflected mirror descent: one step, from where one was, corrects the last prediction as well."""

from typing import final

from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Cumulative
from regretkit.minimizers.mirror_descent import Leader
from regretkit.minimizers.predictors import LastUtility
from regretkit.minimizers.regularizers import Regularizer, check_regularizer
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor, State
from regretkit.sets import Simplices


@final
@frozen
class Reflected(Memory):
    """Remember what was played, and by how much the prediction v that led there was wrong.

        R <- gradient of phi at x / rate + g - v,    with x the leader of R + v

    Parameters
    ----------
    regularizer
        phi.
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.minimizers import Euclidean
    >>> memory, simplices = Reflected(regularizer=Euclidean(), rate=1.0), Simplices(2)
    >>> state = memory.start(simplices) | {"predicted_regrets": np.array([0.5, -0.5])}
    >>> memory.remember(simplices, state, np.array([0.5, -0.5]), 1)
    {'regrets': array([1., 0.])}
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def start(self, simplices: Simplices) -> State:
        return Cumulative().start(simplices)

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        predicted = state.get("predicted_regrets", 0.0)
        if self.regularizer.interior:
            return {"regrets": state["regrets"] + regret}
        leader = self.regularizer.leader(simplices, state["regrets"] + predicted, self.rate)
        return {"regrets": self.regularizer.gradient(leader) / self.rate + (regret - predicted)}


@final
@define(eq=False)
class ReflectedMirrorDescent(AbstractByRoles):
    """Optimistic mirror descent with one step an iteration, from the last strategy played.

    With m the utility expected, by default the last one, and m' what was expected before u came,

        x <-  argmax over x' of <u - m' + m, x'> - D(x', x) / rate

    and D the Bregman divergence of the regularizer phi. :class:`OnlineMirrorDescent` in its
    optimistic form makes a second step, from a point that it does not play; a regularizer that
    always gives every action some weight makes them the same. The regret is at most D / rate, with
    D the largest divergence from the uniform distribution, plus for the Euclidean regularizer
    ``rate / 2`` times the sum of ``|u - m|^2``: add up the condition of optimality of every step.

    Parameters
    ----------
    simplices
        Where to play: a number of actions, several of them, or ``Simplices``.
    regularizer
        phi: :class:`Entropy`, :class:`Euclidean`, :class:`Tsallis`, :class:`LogBarrier`.
    rate
        Learning rate, positive, in one over the unit of utility.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, ``regularizer`` is
        none, or ``rate`` is not positive and finite.

    Examples
    --------
    Projected gradient descent along twice the last utility less the one before:

    >>> from regretkit.minimizers import Euclidean
    >>> player = ReflectedMirrorDescent(2, regularizer=Euclidean(), rate=0.25)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.next_strategy()
    array([0.375, 0.625])

    References
    ----------
    Joulani, Gyorgy and Szepesvari (2017), "A modular analysis of adaptive (non-)convex
    optimization: optimism, composite objectives, and variational bounds", ALT. Its text could not
    be checked; recurrence and bound are tested.
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        memory = Reflected(regularizer=self.regularizer, rate=self.rate)
        return memory, LastUtility(), Leader(regularizer=self.regularizer, rate=self.rate)
