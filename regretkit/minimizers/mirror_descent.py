"""Follow the regularized leader and mirror descent, for any regularizer, and optimistic."""

from typing import final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive, truth
from regretkit.minimizers._by_block import BlockMemory, Play, stay_with_the_nearest
from regretkit.minimizers.by_roles import AbstractByRoles
from regretkit.minimizers.memories import Cumulative
from regretkit.minimizers.predictors import LastUtility, NoPrediction
from regretkit.minimizers.regularizers import Euclidean, Regularizer, check_regularizer
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor, State
from regretkit.sets import Simplices


@final
@frozen
class Leader(PlayingRule):
    """Play the regularized leader: ``argmax over x of <R, x> - phi(x) / rate``.

    Parameters
    ----------
    regularizer
        phi.
    rate
        Learning rate, positive, in one over the unit of utility.

    Examples
    --------
    >>> from regretkit.minimizers import Euclidean
    >>> rule = Leader(regularizer=Euclidean(), rate=0.5)
    >>> rule.play(Simplices(3), np.array([2.0, 1.0, 0.0]))
    array([0.75, 0.25, 0.  ])
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        return self.regularizer.leader(simplices, regrets, self.rate)

    @override
    def by_block(self) -> tuple[Play, float] | None:
        play = self.regularizer.by_block()
        return play and (play, self.rate)


@final
@frozen
class Anchored(Memory):
    """Only the leader is remembered, not how far the others are behind it.

        R <- gradient of phi at z / rate,    with z the leader of R + g

    What cannot be seen in z is forgotten: with the Euclidean regularizer, how much of its regret
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
    >>> from regretkit.minimizers import Euclidean
    >>> memory, simplices = Anchored(regularizer=Euclidean(), rate=1.0), Simplices(2)
    >>> memory.remember(simplices, memory.start(simplices), np.array([5.0, -5.0]), 1)
    {'regrets': array([1., 0.])}
    """

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)

    @override
    def start(self, simplices: Simplices) -> State:
        return Cumulative().start(simplices)

    @override
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        moved = Cumulative().remember(simplices, state, regret, iteration)
        if self.regularizer.interior:
            return moved
        leader = self.regularizer.leader(simplices, moved["regrets"], self.rate)
        return {"regrets": self.regularizer.gradient(leader) / self.rate}

    @override
    def by_block(self) -> BlockMemory | None:
        if self.regularizer.interior:
            return Cumulative().by_block()
        if not isinstance(self.regularizer, Euclidean):
            return None
        numbers = (self.rate, 1.0, 1.0, 0.0, 1.0, 1.0)
        return BlockMemory(stay_with_the_nearest, lambda _: numbers)

    @override
    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        if self.regularizer.interior or count == 0:
            return dict(state)
        # The leader of a leader is itself: once is often enough.
        return self.remember(simplices, state, np.zeros(simplices.dimension), iteration)


@define(eq=False)
class _Regularized(AbstractByRoles):
    """What the two rules share: their hyperparameters, and how they play and predict."""

    regularizer: Regularizer = field(validator=check_regularizer, kw_only=True)
    rate: float = field(validator=positive, kw_only=True)
    optimistic: bool = field(default=False, validator=truth, kw_only=True)

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        predictor = LastUtility() if self.optimistic else NoPrediction()
        playing = Leader(regularizer=self.regularizer, rate=self.rate)
        return self._memory(), predictor, playing

    def _memory(self) -> Memory:
        return Cumulative()


@final
@define(eq=False)
class FollowTheRegularizedLeader(_Regularized):
    """Follow the regularized leader: play what would have been best so far, less a penalty.

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
    simplices
        Where to play: a number of actions, several of them, or ``Simplices``.
    regularizer
        phi: :class:`Entropy`, :class:`Euclidean`, :class:`Tsallis`, :class:`LogBarrier`.
    rate
        Learning rate, positive, in one over the unit of utility.
    optimistic
        Whether it plays against what it expects.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, ``regularizer`` is
        none, or ``rate`` is not positive and finite.

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
    """Online mirror descent: go where utility points, but not far from where one is.

        x  =  z
        z <-  argmax over z' of <u, z'> - D(z', z) / rate

    with D the Bregman divergence of the regularizer phi, from the uniform distribution on. With
    the Euclidean regularizer, z moves by ``rate u`` and is projected: gradient descent. The
    optimistic form goes once more where it expects utility m to point, from z, to play:

        x  =  argmax over x' of <m, x'> - D(x', z) / rate

    With a regularizer that keeps every probability positive it is bitwise identical to
    :class:`FollowTheRegularizedLeader`. Others differ: here, an action that is out of play is soon
    back when it earns. The bound on the regret is that of following the leader, with D the largest
    divergence from the uniform distribution.

    Parameters
    ----------
    simplices
        Where to play: a number of actions, several of them, or ``Simplices``.
    regularizer
        phi: :class:`Entropy`, :class:`Euclidean`, :class:`Tsallis`, :class:`LogBarrier`.
    rate
        Learning rate, positive, in one over the unit of utility.
    optimistic
        Whether it plays against what it expects.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, a number of actions is below 1, ``regularizer`` is
        none, or ``rate`` is not positive and finite.

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
    def _memory(self) -> Memory:
        return Anchored(regularizer=self.regularizer, rate=self.rate)
