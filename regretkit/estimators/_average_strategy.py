"""Average-strategy sampling: what is played on average is followed, and all else drawn."""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from attrs import Attribute, define, field
from typing_extensions import override

from regretkit._util._state import is_finite_array
from regretkit._util._typing import Vector
from regretkit._util._validate import positive, quote
from regretkit.estimators._mccfr import TraversalEstimator, starts
from regretkit.estimators.flat._action_sampling import Choose, SamplingData, follow_average
from regretkit.games import Game
from regretkit.sets import Simplices, StrategySet


def _above_zero(_: object, attribute: "Attribute[float]", value: float) -> None:
    positive(_, attribute, value)
    if value > 1.0:
        raise ValueError(f"{attribute.name} must be above 0 and at most 1, got {quote(value)}")


@final
@define(eq=False)
class AverageStrategySampling(TraversalEstimator):
    """Follow those actions of one's own that were often played on average, and draw all else.

    Action a is followed, independently of the others, with probability

        q[a]  =  max(epsilon, (beta + tau s[a]) / (beta + sum of s)),    at most 1

    where s is the sum of the strategies, in sequence form, that the player was seen to play. The
    payoff at an end is divided by the q's on the way there.

    Its variance is that of external sampling where tau is large, for all actions that matter, and
    about ``u^2 / epsilon`` for those that were hardly ever played.

    Parameters
    ----------
    generator
        Draws. Depth first; at each of one's own histories, a number for each action that is not
        sure to be followed.
    epsilon
        Above 0, at most 1: the least probability.
    tau
        Above 0; the larger, the more actions are followed.
    beta
        Above 0; as long as fewer strategies were played than this, most actions are followed.
    baseline
        Baseline values of histories, none by default.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = AverageStrategySampling(np.random.default_rng(1), beta=1e6)

    As long as little was played, it follows all actions, as external sampling does:

    >>> from regretkit.play import ExternalSampling
    >>> external = ExternalSampling(np.random.default_rng(1))
    >>> drawn = [estimator.utility(game, 0, uniform) for estimator in (sampling, external)]
    >>> np.array_equal(*drawn)
    True

    References
    ----------
    Gibson, Burch, Lanctot and Szafron (2012), "Efficient Monte Carlo counterfactual regret
    minimization in games with many player actions", NIPS. Its text could not be checked; the mean
    is, sample by sample. There, s is a sampled estimate of what is added up here.
    """

    epsilon: float = field(default=0.05, kw_only=True, validator=_above_zero)
    tau: float = field(default=1_000.0, kw_only=True, validator=positive)
    beta: float = field(default=1e6, kw_only=True, validator=positive)
    _played: Vector | None = field(default=None, init=False, repr=False)
    """By sequence, how much of the strategies had come there when it was last visited."""
    _seen: Vector | None = field(default=None, init=False, repr=False)
    """By decision point, how much had come to the sequence before it then."""

    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        for name in ("_played", "_seen"):
            if not (state[name] is None or is_finite_array(state[name])):
                raise ValueError(f"{name} must be a vector of finite numbers, or nothing")

    @override
    def _choose(self) -> Choose:
        return follow_average

    @override
    def _parameters(self) -> Sequence[float]:
        return (self.epsilon, self.tau, self.beta)

    @override
    def _sampling_data(self, game: Game) -> SamplingData:
        size, points = int(starts(game.domains)[-1]), _points(game.domains)
        played, seen = self._played, self._seen
        if played is None or seen is None or (played.size, seen.size) != (size, points):
            self._played, self._seen = played, seen = np.zeros(size), np.zeros(points)
        return played, seen


def _points(domains: Sequence[StrategySet]) -> int:
    return sum(d.blocks if isinstance(d, Simplices) else getattr(d, "points", 0) for d in domains)
