"""Rules that are composed of an accumulator, a predictor and a link function."""

import abc
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TypeAlias, cast, final

import numpy as np
from attrs import define, field, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import of_kind
from regretkit.minimizers._kernel import Kernel, KernelTraits
from regretkit.minimizers._simplex_rule import SimplexRule
from regretkit.minimizers.regret_matching._kernels import (
    BY_ACTION,
    BY_BLOCK,
    LINK_RATE,
    NEXT_POSITIVE_DISCOUNT,
    POSITIVE_DISCOUNT,
    PREDICTION_WEIGHT,
    Parameters,
    build_learn,
    build_propose,
    positive_part,
    settle_predicted,
    settle_regrets,
)
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
        copy = self.state["regrets"].copy()
        copy.setflags(write=False)
        return copy

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
    def _kernel(self) -> Kernel | None:
        accumulator, predictor = self.accumulator.block_form(), self.predictor.block_form()
        link = self.link.block_form()
        if accumulator is None or predictor is None or link is None:
            return None
        adaptive = "prediction_weight" in self.state
        if not self.state.keys() <= {*BY_ACTION, *BY_BLOCK} or predictor.adaptive != adaptive:
            return None
        if adaptive and not predictor.repeats:
            return None  # its arrays would be others than kernels with adaptive steps know

        plain, traits = "predicted_regrets" not in self.state, accumulator.traits
        schedule = _Schedule(self.accumulator, predictor.weight, link[1], accumulator.parameters)
        return Kernel(
            build_propose(link[0], not plain, adaptive),
            build_learn(accumulator.update, not plain, predictor.repeats),
            state=[name for name in BY_ACTION if name in self.state],
            block_state=[name for name in BY_BLOCK if name in self.state],
            parameters=schedule if callable(accumulator.parameters) else schedule(1),
            traits=KernelTraits(
                invariant_to_zero_utility=plain and traits.invariant_to_zero_utility,
                # All positive regrets are discounted alike, and played in the same proportion.
                only_discounts_on_zero_utility=(
                    plain and traits.only_discounts_on_zero_utility and link[0] is positive_part
                ),
                ignores_singleton_blocks=traits.ignores_singleton_blocks,
                returns_size=True,
            ),
            settle_regrets=settle_regrets if plain else settle_predicted,
        )

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
@frozen
class _Schedule:
    """A kernel's parameters, iteration by iteration or many at once; equal for equal rules."""

    accumulator: Accumulator
    prediction_weight: float
    link_rate: float
    parameters: Parameters | Callable[[int], Parameters] = field(eq=False)

    def __call__(self, iteration: int) -> tuple[float, ...]:
        return tuple(self.rows(iteration, 1)[0].tolist())

    def rows(self, first: int, count: int) -> Vector:
        """Return those of ``count`` iterations, shape ``(count, parameters)``."""
        parameters = self.parameters
        if callable(parameters):
            numbers = chain.from_iterable(map(parameters, range(first, first + count + 1)))
            rows = np.fromiter(numbers, np.float64).reshape(count + 1, -1)
        else:
            rows = np.tile(parameters, (count + 1, 1))
        following = slice(NEXT_POSITIVE_DISCOUNT, NEXT_POSITIVE_DISCOUNT + 2)
        rows[:-1, following] = rows[1:, POSITIVE_DISCOUNT : POSITIVE_DISCOUNT + 2]
        rows[:, PREDICTION_WEIGHT], rows[:, LINK_RATE] = self.prediction_weight, self.link_rate
        return rows[:-1]


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
