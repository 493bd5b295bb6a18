"""The regret matching family: rules composed of an accumulator, a predictor and a link function."""

import abc
import math
from collections.abc import Mapping
from typing import Never, TypeAlias, cast

import numpy as np
from attrs import define, field

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit._util._validate import at_least_zero, extended, of_kind, quote
from regretkit.minimizers._roles import (
    Accumulator,
    Cumulative,
    Discounted,
    DiscountedNonNegative,
    LastUtilityPrediction,
    LinearAccumulator,
    LinkFunction,
    NonNegative,
    NoPrediction,
    PositivePartLink,
    Predictor,
    State,
)
from regretkit.minimizers._simplex_rule import SimplexRule

Parts: TypeAlias = tuple[Accumulator, Predictor, LinkFunction]

_LOWER_BOUNDS = {"last_strategy": 0.0, "prediction_weight": 0.0, "errors": 0.0, "steps": 0.0}


@define(eq=False)
class ComposedRule(SimplexRule):
    """A rule that plays ``x = link(R + v)`` from its accumulator's R and its predictor's v.

    With regret ``g = u - <u, x>`` in iteration t,

        x  =  link(R + v),    R <- update(R, g, t),    v <- predict(g, x)

    Regret matching adds up every regret, regret matching+ drops what is negative, Hedge plays
    exponential weights instead of positive parts, and so on. A subclass is a published name: it
    declares its hyperparameters and says in ``_parts`` of what it is composed.

    Attributes
    ----------
    accumulator, predictor, link
        The parts: values that hold hyperparameters and no state.
    state
        Arrays by name, with one number for each action or one for each block; ``"regrets"`` is R.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> RegretMatchingPlus(3).accumulator
    NonNegative()
    """

    accumulator: Accumulator = field(init=False, repr=False)
    predictor: Predictor = field(init=False, repr=False)
    link: LinkFunction = field(init=False, repr=False)
    state: State = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.accumulator, self.predictor, self.link = self._parts()
        self.state = self.accumulator.start(self.simplices) | self.predictor.start(self.simplices)

    @abc.abstractmethod
    def _parts(self) -> Parts:
        """Return the parts that this name stands for."""

    @property
    def regrets(self) -> Vector:
        """R, shape ``(dimension,)``, read-only: what the accumulator made of all regrets."""
        return read_only(self.state["regrets"].copy())

    @regrets.setter
    def regrets(self, value: Never) -> None:
        raise AttributeError(
            f"regrets is a copy, which cannot be {quote(value)}; write to what is held, as in "
            "rule.state['regrets'][:] = values, before it plays"
        )

    @property
    def scale_free(self) -> bool:
        return self.accumulator.scale_free and self.link.scale_free

    def _propose(self) -> Vector:
        return self._play(self.predictor.predict(self.state))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        updated = self.accumulator.update(self.simplices, self.state, regret, self.iteration + 1)
        self.state = updated | self.predictor.observe(self.state, regret, strategy)

    def _expect(self, prediction: Vector) -> None:
        expected = self.predictor.expect(self.simplices, self.state, prediction, self._play(None))
        self.state = self.state | expected

    def _play(self, predicted: Vector | None) -> Vector:
        if predicted is None:
            return self.link.play(self.simplices, self.state["regrets"])
        regrets = self.accumulator.discounted(self.simplices, self.state, self.iteration + 1)
        return self.link.play(self.simplices, self.simplices.add(regrets, predicted))

    def _learned(self) -> State:
        return self.state

    def _hold(self, name: str, array: Vector) -> None:
        self.state[name] = array

    def _check_state(self, state: Mapping[str, object]) -> None:
        self._check_learned(cast("Mapping[str, Vector]", state["state"]))

    def _check_learned(self, learned: Mapping[str, Vector]) -> None:
        bounds = {**_LOWER_BOUNDS, "regrets": self.accumulator.lower_bound}
        for name, array in learned.items():
            bound = bounds.get(name, -np.inf)
            valid = np.isfinite(array) & (np.asarray(array) >= bound)
            if not valid.all():
                raise ValueError(
                    f"{name} of {type(self).__name__} must be finite numbers, at least {bound:g}, "
                    f"got {np.asarray(array)[~valid][0]}"
                )


@define(eq=False)
class Composed(ComposedRule):
    """A rule without a name of its own, composed of any accumulator, predictor and link function.

    Parameters
    ----------
    accumulator
        How regrets add up.
    link
        Which strategy follows from them.
    predictor
        What is predicted of the coming regrets; nothing by default.

    Examples
    --------
    Hedge that drops negative regret:

    >>> from regretkit.minimizers import NonNegative, SoftmaxLink
    >>> player = Composed(2, accumulator=NonNegative(), link=SoftmaxLink(rate=1.0))
    >>> player.observe_utility([0.0, -2.0])
    >>> player.regrets
    array([1., 0.])
    """

    accumulator: Accumulator = field(kw_only=True, validator=of_kind(Accumulator, "NonNegative()"))
    link: LinkFunction = field(kw_only=True, validator=of_kind(LinkFunction, "PositivePartLink()"))
    predictor: Predictor = field(
        factory=NoPrediction, kw_only=True, validator=of_kind(Predictor, "LastUtilityPrediction()")
    )

    def _parts(self) -> Parts:
        return self.accumulator, self.predictor, self.link


_FORGETFUL = "with alpha below 1 it remembers a share of the past that falls to nothing"
_FORGETFUL_AT_FIRST = "with a shift above 4 it remembers little of the past, at first or for ever"


@define(eq=False)
class RegretMatching(ComposedRule):
    """Regret matching: play each action in proportion to its positive regret.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + u - <u, x>

    Over T iterations with n actions and utilities in a range of Delta, the regret is at most
    ``Delta sqrt(n T)``, and never more than the root of the sum of ``|u - <u, x>|^2``. With weights
    that never increase the weighted regret is at most
    ``Delta sqrt(n) sum_t w_t (sqrt(t) - sqrt(t - 1))``, which vanishes relative to the sum of the
    weights if that sum is infinite, as it is for ``t^p`` with p from -1 to 0. With increasing
    weights nothing is guaranteed: the regret with w_t = t can stay at half of the range.

    Examples
    --------
    >>> player = RegretMatching(3)
    >>> player.observe_utility([0.0, 3.0, 2.0])
    >>> player.regrets
    array([-1.66666667,  1.33333333,  0.33333333])
    >>> player.next_strategy()
    array([0. , 0.8, 0.2])

    References
    ----------
    Hart and Mas-Colell (2000), "A simple adaptive procedure leading to correlated equilibrium",
    Econometrica 68(5).
    """

    def _parts(self) -> Parts:
        return Cumulative(), NoPrediction(), PositivePartLink()


@define(eq=False)
class RegretMatchingPlus(ComposedRule):
    """Regret matching+: negative regret is dropped in every iteration.

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q + u - <u, x>]+

    An action with low utilities for a long time is played again as soon as its utility exceeds the
    value of the current strategy. The regret bound is that of ``RegretMatching``, for weights
    that never increase as well. With weights that never decrease the weighted regret is at most
    ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, so that with ``w_t = t^p`` and p >= 0, relative to
    the sum of the weights, it is at most ``(p + 1) Delta sqrt(n / T)``. Powers from -1 to 0 keep it
    vanishing, more slowly from -1/2 down; no rule has such a guarantee below -1. In zero-sum games
    the average usually converges much faster than that of ``RegretMatching``.

    Examples
    --------
    >>> player = RegretMatchingPlus(3)
    >>> player.observe_utility([0.0, 3.0, 0.0])
    >>> player.regrets
    array([0., 2., 0.])

    References
    ----------
    Tammelin (2014), "Solving large imperfect information games using CFR+", arXiv:1407.5042.
    """

    def _parts(self) -> Parts:
        return NonNegative(), NoPrediction(), PositivePartLink()


@define(eq=False)
class LinearRegretMatching(ComposedRule):
    """Regret matching in which iteration t counts t times.

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R + t (u - <u, x>)

    It plays the same strategies as ``DiscountedRegretMatching`` with exponents 1 and 1,
    whose regrets are these divided by t. The regret with weights w_t = t, divided by their sum, is
    at most ``2 Delta sqrt(n / (3 T))``, the bound of ``RegretMatching`` for utilities t u. The
    average to take is the one with these weights.

    Examples
    --------
    >>> player = LinearRegretMatching(2)
    >>> for utility in ([1.0, 0.0], [0.0, 1.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([0.5, 1.5])

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI.
    """

    def _parts(self) -> Parts:
        return LinearAccumulator(), NoPrediction(), PositivePartLink()


@define(eq=False)
class DiscountedRegretMatching(ComposedRule):
    """Regret matching that discounts old regrets, by a factor that depends on their sign.

    Before adding in iteration t, with s = t - 1 and f(e) = 1 / (1 + s^-e),

        x  =  [R]+ / sum [R]+,  uniform when no regret is positive
        R <-  R f(alpha) where R > 0,  R f(beta) elsewhere
        R <-  R + u - <u, x>

    The average is to discount as well: with the default exponents and weights t^2, the weighted
    regret divided by the sum of the weights is at most ``6 Delta (sqrt(n) + 1 / sqrt(T)) /
    sqrt(T)`` (Theorem 3 of the paper, at a single decision point).

    Nothing is discounted at s = 0. An infinite exponent is the limit: f(inf) = 1 keeps all,
    f(-inf) = 0 drops all, so that (inf, inf) is ``RegretMatching`` and (inf, -inf) plays
    as ``RegretMatchingPlus`` does: what is negative is forgotten one iteration later, which
    no strategy shows.

    Parameters
    ----------
    alpha, beta
        Exponents for positive and for all other regrets, any number or plus or minus infinity.

    Examples
    --------
    >>> player = DiscountedRegretMatching(2, alpha=1.5, beta=0.0)
    >>> for utility in ([1.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([ 0.25, -0.25])

    References
    ----------
    Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret
    minimization", AAAI. The paper discounts after adding instead of before, which scales all
    positive regrets alike and so plays the same strategies.
    """

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    beta: float = field(default=0.0, validator=extended, kw_only=True)

    def _weaker_guarantee(self) -> str:
        return "" if self.alpha >= 1.0 else _FORGETFUL

    def _parts(self) -> Parts:
        accumulator = Discounted(alpha=self.alpha, beta=self.beta)
        return accumulator, NoPrediction(), PositivePartLink()


@define(eq=False)
class DiscountedRegretMatchingPlus(ComposedRule):
    """Regret matching+ that discounts old regrets.

    In iteration t, with s = t - 1,

        x  =  Q / sum Q,  uniform when Q = 0
        Q <-  [Q s^alpha / (s^alpha + shift) + u - <u, x>]+

    It is what DCFR+ plays at every decision point. With alpha = inf, or with shift = 0, nothing
    is discounted, and it is ``RegretMatchingPlus``.

    With weights that increase at least as fast as the discounts, ``w_t >= w_(t-1) (1 + shift /
    s^alpha)``, the weighted regret is at most ``w_T sqrt(sum_t |u_t - <u_t, x_t>|^2)``, since Q
    is then at least the regret discounted by w. For alpha >= 1 these are the weights ``t^p`` with
    p >= max(1, shift).

    Parameters
    ----------
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.
    shift
        How strongly old regrets are discounted at first, at least 0.

    Examples
    --------
    >>> player = DiscountedRegretMatchingPlus(2, alpha=1.0, shift=3.0)
    >>> for utility in ([2.0, 0.0], [0.0, 0.0]):
    ...     player.observe_utility(utility)
    >>> player.regrets
    array([0.25, 0.  ])

    References
    ----------
    Xu, Li, Liu, Fu, Fu, Xing and Cheng (2024), "Minimizing weighted counterfactual regret with
    optimistic online mirror descent", IJCAI. The shift of 1.5 is that of the authors' code; other
    implementations read 1 in the paper, whose own text could not be checked.
    """

    alpha: float = field(default=1.5, validator=extended, kw_only=True)
    shift: float = field(default=1.5, validator=at_least_zero, kw_only=True)

    def _weaker_guarantee(self) -> str:
        if self.shift == 0.0 or self.alpha == math.inf:
            return ""
        if self.alpha < 1.0:
            return _FORGETFUL
        return _FORGETFUL_AT_FIRST if self.shift > 4.0 else ""

    def _parts(self) -> Parts:
        accumulator = DiscountedNonNegative(alpha=self.alpha, shift=self.shift)
        return accumulator, NoPrediction(), PositivePartLink()


@define(eq=False)
class PredictiveRegretMatching(ComposedRule):
    """Regret matching that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [R + v]+ / sum [R + v]+,    v = m - <m, x'>
        R <-  R + u - <u, x>

    The regret is at most the root of the sum of ``|g - v|^2``, with g the regret that came and
    v the one predicted: small when predictions are good. That holds for the plain regret, and with
    growing weights nothing does.

    Examples
    --------
    >>> player = PredictiveRegretMatching(2)
    >>> player.expect_utility([1.0, 0.0])
    >>> player.next_strategy()
    array([1., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell
    approachability: connecting regret matching and mirror descent", AAAI.
    """

    def _parts(self) -> Parts:
        return Cumulative(), LastUtilityPrediction(), PositivePartLink()


@define(eq=False)
class PredictiveRegretMatchingPlus(ComposedRule):
    """Regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q <-  [Q + u - <u, x>]+

    With weights that never decrease, all equal ones among them, the weighted regret is at most
    ``w_T sqrt(sum_t |g_t - v_t|^2)``, with g the regret that came and v the one predicted.

    Examples
    --------
    >>> player = PredictiveRegretMatchingPlus(2)
    >>> player.observe_utility([1.0, 0.0])
    >>> player.expect_utility([0.0, 2.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell
    approachability: connecting regret matching and mirror descent", AAAI.
    """

    def _parts(self) -> Parts:
        return NonNegative(), LastUtilityPrediction(), PositivePartLink()


@define(eq=False)
class PredictiveDiscountedRegretMatchingPlus(ComposedRule):
    """Discounted regret matching+ that adds the regrets it expects before it plays.

    With m the utility expected, by default the last one, x' the last strategy, s = t - 1 in
    iteration t and d = s^alpha / (s^alpha + 1),

        x  =  [Q d + v]+ / sum [Q d + v]+,    v = m - <m, x'>
        Q <-  [Q d + u - <u, x>]+

    It is what PDCFR+ plays at every decision point. With alpha = inf nothing is discounted, and it
    is ``PredictiveRegretMatchingPlus``. For alpha >= 1 and weights ``t^p`` with p >= 1, the
    weighted regret is at most ``T^p sqrt(sum_t |g_t - v_t|^2)``, with g = u - <u, x>.

    Parameters
    ----------
    alpha
        Exponent, any number or plus or minus infinity; infinite ones are the limits.

    Examples
    --------
    Q is discounted by half when the prediction is added to it:

    >>> player = PredictiveDiscountedRegretMatchingPlus(2, alpha=1.0)
    >>> player.observe_utility([2.0, 0.0])
    >>> player.expect_utility([0.0, 1.0])
    >>> player.next_strategy()
    array([0., 1.])

    References
    ----------
    Xu, Li, Liu, Fu, Fu, Xing and Cheng (2024), "Minimizing weighted counterfactual regret with
    optimistic online mirror descent", IJCAI.
    """

    alpha: float = field(default=2.3, validator=extended, kw_only=True)

    def _weaker_guarantee(self) -> str:
        return "" if self.alpha >= 1.0 else _FORGETFUL

    def _parts(self) -> Parts:
        return DiscountedNonNegative(alpha=self.alpha), LastUtilityPrediction(), PositivePartLink()
