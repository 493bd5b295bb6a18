"""Behavioral strategies as functions, mappings or vectors."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias, final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import floats, quote
from regretkit.games._adapters import InformationSet
from regretkit.games._game import ATOL, Game, as_strategies
from regretkit.games._profile import Profile
from regretkit.games._profile_table import behavior_of, simplices_of
from regretkit.sets import Simplices, StrategySet

BehavioralStrategy: TypeAlias = Callable[[Hashable, Sequence[Hashable]], ArrayLike]
"""Called with an information set and its actions, returns the probability of each action."""

BehavioralStrategyLike: TypeAlias = BehavioralStrategy | Mapping[Hashable, ArrayLike]
"""A function, or a mapping from information sets to the probabilities of their actions."""


def uniform_behavior(information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
    """Return equal probabilities at every information set.

    Examples
    --------
    >>> uniform_behavior("Kb", ["p", "b"])
    array([0.5, 0.5])
    """
    return np.full(len(actions), 1.0 / len(actions))


def behaviors(
    strategies: Sequence[BehavioralStrategyLike] | Sequence[Vector],
) -> tuple["ValidatedStrategy", ...]:
    """Return each player's behavioral strategy from a profile, or a function or dict each."""
    if isinstance(strategies, Profile):
        pairs = enumerate(zip(strategies, strategies.domains, strict=True))
        vectors = [VectorStrategy(vector, domain, player) for player, (vector, domain) in pairs]
        return tuple(ValidatedStrategy(vector, vector.player) for vector in vectors)
    if isinstance(strategies, Mapping | str) or not isinstance(strategies, Sequence):
        raise TypeError(
            "strategies must be a Profile, or a function or a dict for each player, got "
            f"{quote(strategies)}; pass a list of them"
        )
    functions = []
    for player, strategy in enumerate(strategies):
        if not callable(strategy) and not isinstance(strategy, Mapping):
            raise TypeError(
                f"strategies[{player}] must be a function of an information set and its actions, "
                f"or a dict from information sets to probabilities, got {quote(strategy)}"
            )
        behavior = MappingStrategy(strategy, player) if isinstance(strategy, Mapping) else strategy
        functions.append(ValidatedStrategy(behavior, player))
    return tuple(functions)


def behaviors_in(
    game: object, strategies: Sequence[BehavioralStrategyLike] | Sequence[Vector]
) -> tuple["ValidatedStrategy", ...]:
    """Return ``behaviors``; vectors are strategies of the game's players."""
    vectors = isinstance(strategies, Sequence) and all(
        isinstance(strategy, np.ndarray | list | tuple) for strategy in strategies
    )
    if vectors and not isinstance(strategies, Profile):
        if not hasattr(game, "domains"):
            raise TypeError(
                "strategies are vectors, which need the game's strategy sets: pass a Profile, or a "
                "function or a dict for each player"
            )
        known: Game = game  # type: ignore[assignment]
        strategies = Profile(as_strategies(known, strategies), known.domains)  # type: ignore[arg-type]
    return behaviors(strategies)


@final
@define(eq=False)
class ValidatedStrategy:
    """A behavioral strategy whose results are checked.

    Examples
    --------
    >>> ValidatedStrategy(uniform_behavior, 0)("Kb", ["p", "b"])
    array([0.5, 0.5])
    """

    behavior: BehavioralStrategy
    player: int

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probabilities of the actions, checked and divided by their sum."""
        answer = self.behavior(information_set, actions)
        try:
            probabilities = floats(answer, "probabilities")
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{self._at(information_set)} are no numbers: {quote(answer)}"
            ) from error
        if probabilities.shape != (len(actions),):
            raise ValueError(
                f"{self._at(information_set)} have shape {probabilities.shape}, but there are "
                f"{len(actions)} actions: {', '.join(map(repr, actions))}"
            )
        # Comparisons with NaN are false.
        if not (probabilities.min() >= -ATOL and abs(probabilities.sum() - 1.0) <= ATOL):
            raise ValueError(
                f"{self._at(information_set)} must be at least 0 and sum to 1, got {quote(answer)}"
            )
        probabilities = np.maximum(probabilities, 0.0)
        normalized: Vector = probabilities / probabilities.sum()
        return normalized

    def _at(self, information_set: Hashable) -> str:
        return f"player {self.player}'s probabilities at {quote(str(information_set))}"


@final
@define(eq=False)
class MappingStrategy:
    answers: Mapping[Hashable, ArrayLike]
    player: int

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> ArrayLike:
        if information_set not in self.answers and isinstance(information_set, InformationSet):
            information_set = information_set.label
        try:
            return self.answers[information_set]
        except KeyError:
            raise ValueError(
                f"strategies[{self.player}] has no entry for {quote(str(information_set))}; "
                "add it, or pass a function"
            ) from None


@final
@define(eq=False)
class VectorStrategy:
    """A vector of a player's set, by the numbers of information sets or their labels."""

    strategy: Vector
    domain: StrategySet
    player: int
    _simplices: Simplices = field(init=False)
    _behavior: Vector = field(init=False)
    _numbers: dict[str, int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._simplices = simplices_of(self.domain, self.player)
        self._behavior = behavior_of(self.strategy, self.domain)

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        numbered = isinstance(information_set, InformationSet)
        labels, label = self._simplices.labels, str(information_set)
        if isinstance(information_set, InformationSet):
            number = information_set.number
            fits = number < self._simplices.blocks
            if not fits or (labels.named and labels.block(number) != label):
                raise ValueError(
                    f"the strategy of player {self.player} has no information set {number} called "
                    f"{quote(label)}; it is of another game"
                )
        elif label in self._numbers:
            number = self._numbers[label]
        else:
            number = self._numbers[label] = labels.find(label)
        known = labels.actions(number)
        matches = len(known) == len(actions) if numbered else known == tuple(map(str, actions))
        if not matches:
            raise ValueError(
                f"the strategy of player {self.player} has actions {quote(list(known))} at "
                f"{quote(str(information_set))}, but the game has "
                f"{quote(list(map(str, actions)))}; it is of another game"
            )
        return self._behavior[self._simplices.block(number)]
