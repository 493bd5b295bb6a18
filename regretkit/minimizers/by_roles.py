"""A rule made of roles: a memory, a predictor and a playing rule."""

import abc
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast, final

import numpy as np
from attrs import define, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import of_kind
from regretkit.minimizers._by_block import (
    add_regret,
    fade_and_add,
    in_proportion,
    lesson,
    proposal,
    settle_predicted,
    settle_regrets,
)
from regretkit.minimizers._kernel import Kernel, KernelTraits
from regretkit.minimizers.predictors import NoPrediction
from regretkit.minimizers.roles import Memory, PlayingRule, Predictor, State
from regretkit.minimizers.simplex_rule import SimplexRule

_BY_ACTION = ("regrets", "predicted_regrets", "last_strategy", "trust")
_BY_BLOCK = ("errors", "steps")
"""The arrays that kernels know, in the order in which they get them."""

_LEAST = {"last_strategy": 0.0, "trust": 0.0, "errors": 0.0, "steps": 0.0}
"""The least number that these may hold."""


@final
class _Numbers:
    """A kernel's numbers: a memory's, and others that never change."""

    def __init__(self, memory: Callable[[int], tuple[float, ...]], others: Sequence[float]) -> None:
        self._memory, self._others = memory, others
        self.rows = self._rows if hasattr(memory, "rows") else None

    def __call__(self, iteration: int) -> tuple[float, ...]:
        numbers = self._memory(iteration)
        return (*numbers, *self._others, 1.0 / numbers[2])

    def _rows(self, first: int, count: int) -> Vector:
        """Return those of so many iterations."""
        rows: Vector = self._memory.rows(first, count)  # type: ignore[attr-defined]
        others = np.tile(self._others, (count, 1))
        return np.concatenate([rows, others, 1.0 / rows[:, 2:3]], axis=1)


@cache
def _numbers(memory: Callable[[int], tuple[float, ...]], *others: float) -> _Numbers:
    """Return a kernel's numbers, the same ones for equal roles."""
    return _Numbers(memory, others)


@define(eq=False)
class AbstractByRoles(SimplexRule):
    """A rule that plays ``x = play(R + v)`` from its memory's regrets R and its predictor's v.

    A subclass is a published name: it declares its hyperparameters and says in ``_roles`` which
    memory, predictor and playing rule it stands for.

    Attributes
    ----------
    memory, predictor, playing
        The roles.
    state
        Arrays by name, with one number for each action or one for each block; ``"regrets"`` is R.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> RegretMatchingPlus(3).memory
    Plus()
    """

    memory: Memory = field(init=False, repr=False)
    predictor: Predictor = field(init=False, repr=False)
    playing: PlayingRule = field(init=False, repr=False)
    state: State = field(init=False, repr=False)

    @final
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.memory, self.predictor, self.playing = self._roles()
        self.state = self.memory.start(self.simplices) | self.predictor.start(self.simplices)

    @abc.abstractmethod
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        """Return the roles that this name stands for."""

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
        for name, array in learned.items():
            least = self.memory.least if name == "regrets" else _LEAST.get(name, -np.inf)
            right = np.isfinite(array) & (np.asarray(array) >= least)
            if not right.all():
                wrong = np.asarray(array)[~right][0]
                raise ValueError(
                    f"{name} of {type(self).__name__} must be finite numbers, at least {least:g}, "
                    f"got {wrong}"
                )

    @final
    @override
    def _kernel(self) -> Kernel | None:
        memory, belief = self.memory.by_block(), self.predictor.belief()
        play = self.playing.by_block()
        if memory is None or belief is None or play is None:
            return None
        if not self.state.keys() <= {*_BY_ACTION, *_BY_BLOCK}:
            return None
        if belief.trusted != ("trust" in self.state):
            return None

        numbers = _numbers(memory.numbers, belief.weight, play[1])
        predictive = "predicted_regrets" in self.state
        return Kernel(
            proposal(play[0], predictive, belief.trusted),
            lesson(memory.remember, predictive, belief.repeats),
            state=[name for name in _BY_ACTION if name in self.state],
            block_state=[name for name in _BY_BLOCK if name in self.state],
            parameters=numbers(1) if memory.steady else numbers,
            traits=KernelTraits(
                # What adds nothing and expects nothing stays as it is.
                invariant_to_zero_utility=memory.remember is add_regret and not predictive,
                # All that is positive fades alike, and is played in the same proportion.
                only_discounts_on_zero_utility=(
                    memory.lasting and not predictive and play[0] is in_proportion
                ),
                # A single action is never regretted.
                ignores_singleton_blocks=memory.remember in (add_regret, fade_and_add),
                returns_size=True,
            ),
            settle_regrets=settle_predicted if predictive else settle_regrets,
        )

    @property
    def regrets(self) -> Vector:
        """R, shape ``(dimension,)``, read-only: what the memory made of every action's regret."""
        copy = self.state["regrets"].copy()
        copy.setflags(write=False)
        return copy

    @property
    @final
    @override
    def scale_free(self) -> bool:
        return self.memory.scale_free and self.playing.scale_free

    @final
    @override
    def _propose(self) -> Vector:
        return self._play(self.predictor.predict(self.state))

    @final
    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        regret = self.simplices.regret(utility, strategy)
        remembered = self.memory.remember(self.simplices, self.state, regret, self.iteration + 1)
        self.state = remembered | self.predictor.observe(self.state, regret, strategy)

    @final
    @override
    def _expect(self, prediction: Vector) -> None:
        expected = self.predictor.expect(self.simplices, self.state, prediction, self._play(None))
        self.state = self.state | expected

    def _play(self, predicted: Vector | None) -> Vector:
        if predicted is None:
            return self.playing.play(self.simplices, self.state["regrets"])
        carried = self.memory.carried(self.simplices, self.state, self.iteration + 1)
        return self.playing.play(self.simplices, self.simplices.add(carried, predicted))


@final
@define(eq=False)
class ByRoles(AbstractByRoles):
    """A rule without a name of its own, made of whichever roles one likes.

    With regret ``g = u - <u, x> 1`` in iteration t,

        x  =  play(R + v),    R <- remember(R, g, t),    v <- predict(g, x)

    Parameters
    ----------
    simplices
        Where to play: a number of actions, several of them, or ``Simplices``.
    remember
        The memory.
    play
        The playing rule.
    predict
        The predictor; nothing is predicted by default.

    Raises
    ------
    TypeError, ValueError
        When ``simplices`` is none of these, or a number of actions is below 1.

    Examples
    --------
    Hedge that forgets negative regret:

    >>> from regretkit.minimizers import Exponential, Plus
    >>> player = ByRoles(2, remember=Plus(), play=Exponential(rate=1.0))
    >>> player.observe_utility([0.0, -2.0])
    >>> player.regrets
    array([1., 0.])
    """

    remember: Memory = field(kw_only=True, validator=of_kind(Memory, "Plus()"))
    play: PlayingRule = field(kw_only=True, validator=of_kind(PlayingRule, "Proportional()"))
    predict: Predictor = field(
        factory=NoPrediction, kw_only=True, validator=of_kind(Predictor, "LastUtility()")
    )

    @override
    def _roles(self) -> tuple[Memory, Predictor, PlayingRule]:
        return self.remember, self.predict, self.play
