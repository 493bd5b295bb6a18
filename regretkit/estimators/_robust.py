"""Robust sampling: a uniformly drawn subset of own actions, one of every other player's."""

from collections.abc import Sequence
from typing import final

from attrs import define, field
from typing_extensions import override

from regretkit._util._validate import at_least_one
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators.flat._action_sampling import Choose, follow_some


@final
@define(eq=False)
class RobustSampling(TraversalEstimator):
    """Follow some actions of one's own, any of them as likely as others, and draw all else.

    Of n actions, min(k, n) are followed, so that each is with probability q = min(k, n) / n; the
    payoff at an end is divided by the q's on the way there. With k = 1 it is outcome sampling with
    nothing but exploration, and with as many as there are, external sampling.

    Its variance does not depend on what the player's strategy is, hence its name.

    Parameters
    ----------
    generator
        Draws. Depth first; at each of one's own histories, a number for each action in turn until
        it is clear which are followed.
    actions
        k, at least 1.
    baseline
        Baseline values of histories, none by default.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = RobustSampling(np.random.default_rng(1), actions=1)
    >>> bool(abs(sampling.utility(game, 0, uniform)).max() in (2.0, 4.0, 8.0))
    True

    References
    ----------
    Li, Hu, Zhang, Qi and Song (2020), "Double neural counterfactual regret minimization", ICLR. Its
    text could not be checked; the mean is, sample by sample.
    """

    actions: int = field(default=1, kw_only=True, validator=at_least_one)

    @override
    def _choose(self) -> Choose:
        return follow_some

    @override
    def _parameters(self) -> Sequence[float]:
        return (float(self.actions),)
