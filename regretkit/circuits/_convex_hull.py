"""Minimize regret on the convex hull of several sets: a mixer weighs the members' strategies."""

from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit import sets
from regretkit._regret_tracker import RegretBound
from regretkit._util._typing import Vector
from regretkit._util._validate import one_space, quote, shorten
from regretkit.circuits._base import are_minimizers, as_tuple, check_distinct, is_minimizer
from regretkit.minimizer import RegretMinimizer, TrackerOf


@final
@define(eq=False)
class ConvexHull(RegretMinimizer):
    """Play on the convex hull of the members' sets.

    Member i proposes a point x_i of its own set, and the mixer weighs the proposals:

        x  =  sum_i w_i x_i,  with w the mixer's strategy

    Every member learns from u itself. The mixer learns what each proposal was worth, the vector
    of ``<u, x_i>``. The regret is at most the mixer's plus the largest of the members'.

    Parameters
    ----------
    members
        Minimizers on sets in one space, two or more.
    mixer
        A minimizer on the simplex with one action for each member.

    Examples
    --------
    >>> from regretkit import Point, RegretMatching
    >>> player = ConvexHull([Point([1.0, 0.0]), RegretMatching(2)], mixer=RegretMatching(2))
    >>> player.next_strategy()
    array([0.75, 0.25])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """

    members: tuple[RegretMinimizer, ...] = field(converter=as_tuple, validator=are_minimizers)
    mixer: RegretMinimizer = field(validator=is_minimizer)
    _weights: sets.Simplices = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if len(self.members) < 2:
            raise ValueError(
                f"members of a hull must be two or more, got {len(self.members)}; "
                "one alone needs no hull"
            )
        one_space([member.dimension for member in self.members], "members")
        check_distinct([*self.members, self.mixer])
        _check_weighs(self.mixer, len(self.members))
        self._weights = sets.Simplices(len(self.members))
        self.domain = sets.Hull([member.domain for member in self.members]).canonical()

    @property
    @override
    def scale_free(self) -> bool:
        return self.mixer.scale_free and all(member.scale_free for member in self.members)

    def _member_values(self, utility: Vector) -> Vector:
        return np.array([member._value(utility) for member in self.members])

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        members = max(tracker_of(member).external for member in self.members)
        return RegretBound(
            "R <= R of the mixer + largest R of a member",
            tracker_of(self).external,
            tracker_of(self.mixer).external + members,
            exact=False,
        )

    @override
    def _propose(self) -> Vector:
        proposals = np.array([member.next_strategy() for member in self.members])
        # einsum and not @: its order of summation is the same in every column
        mixed: Vector = np.einsum("i,ij->j", self.mixer.next_strategy(), proposals)
        return mixed

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        # The mixer first: once a member has learned, the point that it proposed is gone.
        worths = self._member_values(utility)
        if not np.isfinite(worths).all():
            raise ValueError(
                f"utility makes the members' proposals worth {shorten(str(worths))}, beyond double "
                "precision; rescale it"
            )
        self.mixer._update(worths)
        for member in self.members:
            member._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        # The members first: what they are going to propose is what the mixer must weigh.
        for member in self.members:
            member._predict_internal(prediction)
        self.mixer._predict_internal(self._member_values(prediction))

    @override
    def _value(self, utility: Vector) -> float:
        # From the members' values, without the mixed point.
        return self._weights.value(self._member_values(utility), self.mixer.next_strategy())


def _check_weighs(mixer: RegretMinimizer, count: int) -> None:
    """Refuse a mixer whose strategies are not weights of ``count`` members."""
    if mixer.dimension != count:
        raise ValueError(
            f"mixer plays in dimension {mixer.dimension}, but there are {count} members to weigh; "
            f"pass one on the simplex with {count} actions"
        )
    if mixer.domain == sets.Simplices(count):
        return
    ones = np.ones(count)
    total = mixer.domain.best_response(ones)[0], -mixer.domain.best_response(-ones)[0]
    least = [-mixer.domain.best_response(-unit)[0] for unit in np.eye(count)]
    if min(least) < -1e-9 or not np.allclose(total, 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(
            f"mixer plays on {quote(mixer.domain)}, whose points are not weights that sum to one; "
            f"pass one on the simplex with {count} actions"
        )
