"""Baselines: estimates of the values of histories, which reduce the variance of samples."""

from collections.abc import Mapping

import numpy as np
from attrs import Attribute, define, field

from regretkit._state import Stateful, is_finite_array
from regretkit._util._typing import Vector
from regretkit._util._validate import positive, quote
from regretkit.games import ExtensiveFormGame


def above_zero_to_one(_: object, attribute: "Attribute[float]", value: float) -> None:
    """Require a number above zero, at most one."""
    positive(_, attribute, value)
    if value > 1.0:
        raise ValueError(f"{attribute.name} must be above 0 and at most 1, got {quote(value)}")


@define(eq=False)
class LearnedBaseline(Stateful):
    """Baseline values of histories: averages of earlier samples, old ones discounted.

    An action that was not sampled gets its baseline value, and that of a sampled one is corrected.
    With b(ha) the baseline after action a at history h, and an action followed with probability q,

        u(ha)  =  b(ha) + 1[a was followed] (u(ha) - b(ha)) / q

    The correction has mean zero, so estimates stay unbiased, and a good baseline makes their
    variance small. Values are zero at first, and move at each visited history:

        b(h)  <-  b(h) + rate (u(h) - b(h))

    Parameters
    ----------
    rate
        The weight of the newest sample, above 0, at most 1.

    Examples
    --------
    >>> from regretkit.games import leduc_poker
    >>> from regretkit.play import OutcomeSampling
    >>> estimator = OutcomeSampling(np.random.default_rng(1), baseline=LearnedBaseline())

    References
    ----------
    Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling (2019), "Variance reduction in Monte Carlo
    counterfactual regret minimization (VR-MCCFR) for extensive form games using baselines", AAAI.
    Davis, Schmid and Bowling (2020), "Low-variance and zero-variance baselines for extensive-form
    games", ICML, for baselines by history.
    """

    rate: float = field(default=0.5, kw_only=True, validator=above_zero_to_one)
    values: Vector | None = field(default=None, init=False, repr=False)
    """Baseline values, shape ``(players, histories)``, None before the first sample."""

    def _check_state(self, state: Mapping[str, object]) -> None:
        if not (state["values"] is None or is_finite_array(state["values"], 2)):
            raise ValueError("values must be a matrix of finite numbers, or nothing")

    def values_in(self, game: ExtensiveFormGame) -> Vector:
        """Return the values in a game, zeros in one of another shape than the last."""
        shape = (game.players, game.tree.histories)
        if self.values is None or self.values.shape != shape:
            self.values = np.zeros(shape)
        return self.values
