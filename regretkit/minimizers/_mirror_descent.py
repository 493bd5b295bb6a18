"""Follow the regularized leader and mirror descent, for any regularizer, and optimistic."""

from typing import final

from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive, truth
from regretkit.minimizers._regularizers import Euclidean, Regularizer, check_regularizer
from regretkit.minimizers.regret_matching._accumulators import Accumulator, Cumulative, State
from regretkit.minimizers.regret_matching._kernels import (
    BlockAccumulator,
    BlockLink,
    Parameters,
    project_euclidean,
)
from regretkit.minimizers.regret_matching._links import LinkFunction
from regretkit.minimizers.regret_matching._predictors import LastUtilityPrediction, NoPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices


@final
@frozen
class RegularizedLeaderLink(LinkFunction):
    """Play the regularized leader: ``argmax over x of <R, x> - phi(x) / rate``.

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
    >>> rule = RegularizedLeaderLink(regularizer=Euclidean(), rate=0.5)
    >>> rule.play(Simplices(3), np.array([2.0, 1.0, 0.0]))
    array([0.75, 0.25, 0.  ])
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return self.regularizer.leader(simplices, regrets, self.rate)

    @override
    def block_form(self) -> tuple[BlockLink, float] | None:
        leader = self.regularizer.block_form()
        return leader and (leader, self.rate)


@final
@frozen
class AgileProjection(Accumulator):
    """Keep only the leader of the regrets: agile mirror descent, of which Cumulative is lazy.

        R <- gradient of phi at z / rate,    with z the leader of R + g

    What z does not show is dropped: with the Euclidean regularizer, how much of its regret
    an action would still have to gain before it is played at all. A regularizer that always gives
    every action some weight shows everything, and then this is :class:`Cumulative`.

    Parameters
    ----------
    regularizer
        phi.
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> import numpy as np
    >>> accumulator, simplices = AgileProjection(regularizer=Euclidean(), rate=1.0), Simplices(2)
    >>> accumulator.update(simplices, accumulator.start(simplices), np.array([5.0, -5.0]), 1)
    {'regrets': array([1., 0.])}
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        moved = Cumulative().update(simplices, state, regret, iteration)
        if self.regularizer.interior:
            return moved
        leader = self.regularizer.leader(simplices, moved["regrets"], self.rate)
        return {"regrets": self.regularizer.gradient(leader) / self.rate}

    @override
    def block_form(self) -> BlockAccumulator | None:
        if self.regularizer.interior:
            return Cumulative().block_form()
        if not isinstance(self.regularizer, Euclidean):
            return None
        return BlockAccumulator(project_euclidean, Parameters(rate=self.rate))


@define(eq=False)
class _Regularized(ComposedRule):
    """What both rules share: hyperparameters, predictor and link function."""

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)
    optimistic: bool = field(default=False, validator=truth, kw_only=True)

    @override
    def _parts(self) -> Parts:
        predictor = LastUtilityPrediction() if self.optimistic else NoPrediction()
        link = RegularizedLeaderLink(regularizer=self.regularizer, rate=self.rate)
        return self._accumulator(), predictor, link

    def _accumulator(self) -> Accumulator:
        return Cumulative()


@final
@define(eq=False)
class FollowTheRegularizedLeader(_Regularized):
    """Follow the regularized leader: the best response to all utilities so far, less a penalty.

        x  =  argmax over x of <R, x> - phi(x) / rate
        R <-  R + u - <u, x>

    The optimistic form adds ``v = m - <m, x'>`` to R before it plays, with m the utility expected,
    by default the last one, and x' the last strategy. With entropy it is :class:`Hedge`, and its
    optimistic form :class:`OptimisticHedge`.

    Over T iterations with n actions the regret is at most D / rate, with D the range of phi, plus
    what moving costs: for the Euclidean regularizer ``rate / 2`` times the sum of ``|u|^2``, in the
    optimistic form of ``|u - m|^2``; for entropy ``rate / 8`` times that of the squared ranges of
    u, in the optimistic form of u - m.

    Parameters
    ----------
    regularizer
        phi: :class:`Entropy`, :class:`Euclidean`, :class:`Tsallis`, :class:`LogBarrier`.
    rate
        Learning rate, positive, in one over the unit of utility.
    optimistic
        Whether it plays against what it expects.

    Examples
    --------
    >>> from regretkit.minimizers import Euclidean
    >>> player = FollowTheRegularizedLeader(2, regularizer=Euclidean(), rate=0.5)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Abernethy, Hazan and Rakhlin (2008), "Competing in the dark: an efficient algorithm for bandit
    linear optimization", COLT. Syrgkanis, Agarwal, Luo and Schapire (2015), "Fast convergence of
    regularized learning in games", NIPS, for the optimistic form.
    """


@final
@define(eq=False)
class OnlineMirrorDescent(_Regularized):
    """Online mirror descent: a step along the utility, with a penalty on its length.

        x  =  z
        z <-  argmax over z' of <u, z'> - D(z', z) / rate

    with D the Bregman divergence of the regularizer phi, from the uniform distribution on. With
    the Euclidean regularizer, z moves by ``rate u`` and is projected: gradient descent. The
    optimistic form plays after another step, from z along the utility m expected:

        x  =  argmax over x' of <m, x'> - D(x', z) / rate

    With a regularizer that keeps every probability positive it is bitwise identical to
    :class:`FollowTheRegularizedLeader`. With others, an action that is not played returns sooner
    here when its utility rises. The bound on the regret is that of following the leader, with D
    the largest divergence from the uniform distribution.

    Parameters are those of :class:`FollowTheRegularizedLeader`.

    Examples
    --------
    >>> from regretkit.minimizers import Euclidean
    >>> player = OnlineMirrorDescent(2, regularizer=Euclidean(), rate=1.0)
    >>> for utility in ([100.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.next_strategy()
    array([0.5, 0.5])

    References
    ----------
    Rakhlin and Sridharan (2013), "Optimization, learning, and games with predictable sequences",
    NIPS. Zinkevich (2003), "Online convex programming and generalized infinitesimal gradient
    ascent", ICML.
    """

    @override
    def _accumulator(self) -> Accumulator:
        return AgileProjection(regularizer=self.regularizer, rate=self.rate)


@final
@frozen
class Reflected(Accumulator):
    """The gradient at the strategy played, plus the error of the prediction v that led to it.

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
    >>> accumulator, simplices = Reflected(regularizer=Euclidean(), rate=1.0), Simplices(2)
    >>> state = accumulator.start(simplices) | {"predicted_regrets": np.array([0.5, -0.5])}
    >>> accumulator.update(simplices, state, np.array([0.5, -0.5]), 1)
    {'regrets': array([1., 0.])}
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        predicted = state.get("predicted_regrets", 0.0)
        if self.regularizer.interior:
            return {"regrets": state["regrets"] + regret}
        leader = self.regularizer.leader(simplices, state["regrets"] + predicted, self.rate)
        return {"regrets": self.regularizer.gradient(leader) / self.rate + (regret - predicted)}


@final
@define(eq=False)
class ReflectedMirrorDescent(ComposedRule):
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
    regularizer
        phi: :class:`Entropy`, :class:`Euclidean`, :class:`Tsallis`, :class:`LogBarrier`.
    rate
        Learning rate, positive, in one over the unit of utility.

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
    def _parts(self) -> Parts:
        accumulator = Reflected(regularizer=self.regularizer, rate=self.rate)
        link = RegularizedLeaderLink(regularizer=self.regularizer, rate=self.rate)
        return accumulator, LastUtilityPrediction(), link
