"""The conic Blackwell algorithm: regret matching+ on any convex set."""

from typing import final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import positive
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers._gradient_descent import as_projectable, project
from regretkit.sets import StrategySet

_LIMIT = 200
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


@final
@define(eq=False)
class ConicBlackwell(RegretMinimizer):
    """The conic Blackwell algorithm+: regret matching+ on any set onto which one can project.

    Lift the set X to height kappa, and let C be the cone of all ``t (kappa, y)`` with t at least 0
    and y in X. Then, with (a, r) the aggregate payoff,

        x       =  kappa r / a,  the set's canonical interior point when a = 0
        (a, r) <-  nearest point of C to (a - <u, x> / kappa, r + u)

    It has no rate, and is independent of the unit of utility. The regret against y is at most
    ``|(kappa, y)|`` times the root of the sum of ``|u|^2 + <u, x>^2 / kappa^2``: what is added is
    orthogonal to the aggregate, and projecting costs nothing against points of C.

    A product of simplices is one set here, and not one for each block; as a local rule of CFR it
    goes in through :class:`PerDecisionPoint`.

    Parameters
    ----------
    domain
        The set X, with a method ``project``: simplices, a box, a ball.
    kappa
        The height, positive, in the unit of the points of X: best about the largest length of
        one, which on the simplex is 1.

    Examples
    --------
    >>> from regretkit.sets import Ball
    >>> player = ConicBlackwell(Ball([0.0, 0.0], 1.0))
    >>> player.observe_utility([0.0, 3.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Grand-Clement and Kroer (2021), "Conic Blackwell algorithm: parameter-free convex-concave
    saddle-point solving", NeurIPS. Of that only the abstract could be read. The rule is checked,
    for kappa = 1, against predictive treeplex Blackwell+, of which its authors say that on the
    simplex and without predictions it is this algorithm: Chakrabarti, Grand-Clement and Kroer
    (2024), "Extensive-form game solving via Blackwell approachability on treeplexes", NeurIPS.
    The paper's weights of iterations are left out, and its closed forms of the projection are
    replaced by one search that asks X for its nearest points.
    """

    domain: StrategySet = field(converter=as_projectable)
    kappa: float = field(default=1.0, validator=positive, kw_only=True)
    _height: float = field(default=0.0, init=False, repr=False)
    _payoff: Vector = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._payoff = np.zeros(self.dimension)

    @property
    @override
    def scale_free(self) -> bool:
        return True

    @override
    def _weaker_guarantee(self) -> str:
        # The bound has the factor kappa + |y|^2 / kappa, and the payoffs a range of about the
        # diagonal of the smallest box around the set.
        axes = np.eye(self.dimension)
        sides = [sum(self.domain.best_response(s * axis)[0] for s in (-1.0, 1.0)) for axis in axes]
        diagonal, middle = float(np.linalg.norm(sides)), self.domain.relative_interior_point()
        square = float(middle @ middle) + diagonal**2 / 4.0
        if self.kappa + square / self.kappa <= 2.0 * diagonal or not diagonal:
            return ""
        return (
            "on a set far from the origin, or with a kappa far from the size of its points, its "
            "bound is many times the range of payoffs"
        )

    @override
    def _propose(self) -> Vector:
        if self._height == 0.0:
            return self.domain.relative_interior_point()
        return self._payoff / (self._height / self.kappa)

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        height = self._height - self.domain.value(utility, strategy) / self.kappa
        payoff = self._payoff + utility
        # In units of the largest number: cones know none, and squares stay in range.
        unit = max(abs(height), float(np.abs(payoff).max(initial=0.0)))
        if unit == 0.0:
            self._height, self._payoff = 0.0, np.zeros(self.dimension)
            return
        factor, point = self._nearest(height / unit, payoff / unit)
        self._height, self._payoff = unit * factor * self.kappa, unit * factor * point

    def _nearest(self, height: float, payoff: Vector) -> tuple[float, Vector]:
        """Return t and the point y with ``t (kappa, y)`` nearest to ``(height, payoff)``.

        Half the squared distance, as a function of t with the best y for it, is convex with
        derivative ``kappa (kappa t - height) - <y, payoff - t y>``; its root is bracketed by 0 and
        the length of what is projected, and searched by the Illinois method.
        """
        largest, corner = self.domain.best_response(payoff)
        low, at_low = 0.0, -self.kappa * height - largest
        if at_low >= 0.0:
            return 0.0, corner
        high = float(np.hypot(height, np.linalg.norm(payoff))) / self.kappa
        at_high, point = self._slope(high, height, payoff)
        if at_high <= 0.0:
            return high, point
        factor, side = high, 0
        for _ in range(_LIMIT):
            factor = (low * at_high - high * at_low) / (at_high - at_low)
            slope, point = self._slope(factor, height, payoff)
            if abs(slope) <= _ROUNDING * self.kappa or high - low <= _ROUNDING * high:
                break
            if slope < 0.0:
                low, at_low = factor, slope
                at_high, side = (at_high / 2.0 if side == -1 else at_high), -1
            else:
                high, at_high = factor, slope
                at_low, side = (at_low / 2.0 if side == 1 else at_low), 1
        return factor, point

    def _slope(self, factor: float, height: float, payoff: Vector) -> tuple[float, Vector]:
        """Return the derivative at t = ``factor``, and the point y that is best there."""
        point = project(self.domain, payoff / factor)
        rest = payoff - factor * point
        return self.kappa * (self.kappa * factor - height) - float(point @ rest), point
