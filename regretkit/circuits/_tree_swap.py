"""TreeSwap: regret against maps of a set to itself, from minimizers of external regret."""

from collections.abc import Callable, Mapping
from typing import final

import numpy as np
from attrs import Attribute, define, field
from typing_extensions import override

from regretkit._regret_tracker import RegretBound
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_one, quote, whole_number
from regretkit.circuits._base import as_minimizer, check_distinct, check_function
from regretkit.circuits._wrappers import Restart
from regretkit.minimizer import RegretMinimizer, TrackerOf


def _builds(
    _: object, attribute: "Attribute[Callable[[], RegretMinimizer]]", value: object
) -> None:
    check_function(value, attribute.name, hint="pass one, as in lambda: RegretMatching(3)")


def _at_least_two(_: object, attribute: "Attribute[int]", value: int) -> None:
    whole_number(value, attribute.name, least=2)


@final
@define(eq=False)
class TreeSwap(RegretMinimizer):
    """Play the mean of several layers that learn at different speeds, each M times slower.

    Layer k keeps its strategy for M^k iterations, then learns from their mean utility, and
    starts afresh after M^(k+1) iterations:

        x  =  mean over k of x_k

    After M^layers iterations, the mean regret against any affine map of the set to itself, which
    on a simplex is swap regret, is at most what one layer's external regret is over M steps,
    divided by M, plus the range of a utility over the set divided by the number of layers. No
    fixed point is computed, and the set may be any on which a minimizer plays.

    After any number of iterations, and for every affine map phi of the set to itself,

        sum of <u_t, phi(x_t) - x_t>  <=  (sum of the ranges of u_t  +  sum of M^k R_k) / layers

    where k runs over all layers but the slowest, and R_k adds up the regrets of layer k in each
    of its periods of M^(k+1) iterations, what it has yet to learn among them.

    A prediction goes to the fastest layer alone: what the others play until they learn is settled,
    and the bound rests on that.

    Against maps that are not affine the bound speaks of playing one layer drawn at random, and
    not of their mean: draw from ``members`` for that.

    Parameters
    ----------
    make
        Builds one layer, a new minimizer of external regret, each time it is called.
    layers
        Number of layers, at least 1.
    branching
        M, at least 2: how many times a layer learns before it starts afresh.

    Attributes
    ----------
    members
        The layers, the fastest first, each in a :class:`Restart`.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = TreeSwap(lambda: RegretMatching(2), layers=2, branching=3)
    >>> for _ in range(3):
    ...     player.observe_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Peng and Rubinstein (2024), "Fast swap regret minimization and applications to approximate
    correlated equilibria", STOC. Dagan, Daskalakis, Fishelson and Golowich (2024), "From external
    to swap regret 2.0: an efficient reduction for large action spaces", STOC. Their analysis
    stops after M^layers iterations; here the slowest layer then starts afresh like the others.
    """

    make: Callable[[], RegretMinimizer] = field(validator=_builds)
    layers: int = field(validator=at_least_one, kw_only=True)
    branching: int = field(validator=_at_least_two, kw_only=True)
    members: tuple[Restart, ...] = field(init=False, repr=False)
    _waiting: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        made = [as_minimizer(self.make(), "what make returned") for _ in range(self.layers)]
        check_distinct(made)
        self.members = tuple(Restart(member, every=self.branching) for member in made)
        self.domain = self.members[0].domain
        if any(member.domain != self.domain for member in self.members):
            raise ValueError(
                "make must return minimizers on one set, got "
                f"{quote([member.domain for member in self.members])}"
            )
        # What each layer has seen of its period: the sum of the mean utilities of the one below.
        self._waiting = np.zeros((self.layers, self.dimension))

    @property
    @override
    def scale_free(self) -> bool:
        return all(member.scale_free for member in self.members)

    @override
    def exemptions(self) -> Mapping[str, str]:
        return {
            **super().exemptions(),
            "regret_grows_slowly": "its regret falls with the number of layers, not with time: "
            "one over it is left for ever",
        }

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound | None:
        tracker = tracker_of(self)
        block = self.branching ** (self.layers - 1)
        if not tracker.contiguous or (self.iteration - tracker.iterations) % block:
            return None  # the trackers begin or resume in the middle of a layer's period
        total = tracker.width
        for k, member in enumerate(self.members[:-1]):
            total += self.branching**k * tracker_of(member.minimizer).tracking
            # Since its last update, its strategy and the comparator are constant.
            unseen = self._waiting[: k + 1].sum(axis=0)
            total += self.domain.best_response(unseen)[0]
            total -= self.domain.value(unseen, member.next_strategy())
        name, regret = ("swap R", tracker.swap) if tracker.on_simplices else ("R", tracker.external)
        return RegretBound(
            f"{name} <= (ranges of u + sum of M^k R of layer k in its periods) / layers",
            regret,
            total / self.layers,
            exact=False,
        )

    @override
    def _propose(self) -> Vector:
        mean: Vector = np.mean([member.next_strategy() for member in self.members], axis=0)
        return mean

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        passed = self.iteration + 1
        self._waiting[0] += utility
        for k, member in enumerate(self.members):
            period = self.branching**k
            if passed % period:
                break
            mean = self._waiting[k] / period
            if k + 1 < len(self.members):
                self._waiting[k + 1] += self._waiting[k]
            self._waiting[k] = 0.0
            member._update(mean)

    @override
    def _expect(self, prediction: Vector) -> None:
        self.members[0]._predict_internal(prediction)
