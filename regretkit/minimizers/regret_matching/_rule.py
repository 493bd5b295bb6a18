"""Rules that are composed of an accumulator, a predictor and a link function."""

import abc
from collections.abc import Mapping
from typing import TypeAlias, cast, final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit._util._validate import of_kind
from regretkit.minimizers._simplex_rule import SimplexRule
from regretkit.minimizers.regret_matching._roles import (
    Accumulator,
    LinkFunction,
    NoPrediction,
    Predictor,
    State,
)

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

    @final
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

    @property
    @final
    @override
    def scale_free(self) -> bool:
        return self.accumulator.scale_free and self.link.scale_free

    @final
    @override
    def _propose(self) -> Vector:
        return self._play(self.predictor.predict(self.state))

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        updated = self.accumulator.update(self.simplices, self.state, regret, self.iteration + 1)
        self.state = updated | self.predictor.observe(self.state, regret, strategy)

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        expected = self.predictor.expect(self.simplices, self.state, prediction, self._play(None))
        self.state = self.state | expected

    def _play(self, predicted: Vector | None) -> Vector:
        if predicted is None:
            return self.link.play(self.simplices, self.state["regrets"])
        regrets = self.accumulator.discounted(self.simplices, self.state, self.iteration + 1)
        return self.link.play(self.simplices, self.simplices.add(regrets, predicted))

    @final
    @override
    def _learned(self) -> State:
        return self.state

    @final
    @override
    def _hold(self, name: str, array: Vector) -> None:
        self.state[name] = array

    @final
    @override
    def _check_state(self, state: Mapping[str, object]) -> None:
        self._check_learned(cast("Mapping[str, Vector]", state["state"]))

    @final
    @override
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


@final
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

    @override
    def _parts(self) -> Parts:
        return self.accumulator, self.predictor, self.link
