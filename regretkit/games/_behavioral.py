"""Behavioral strategies as functions, mappings or vectors."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias, cast, final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, did_you_mean, floats, quote
from regretkit.games._adapters import InformationSet, distinct
from regretkit.games._game import Game, as_strategies, check_game
from regretkit.games._profile import Profile
from regretkit.games._profile_table import behavior_of, label_of, simplices_of, strategy_of
from regretkit.sets import Simplices, StrategySet

BehavioralStrategy: TypeAlias = Callable[[Hashable, Sequence[Hashable]], ArrayLike]
"""Called with an information set and its actions, returns the probability of each action."""

BehavioralStrategyLike: TypeAlias = BehavioralStrategy | Mapping[Hashable, ArrayLike]
"""A function, or a mapping from information sets to the probabilities of their actions."""

ProfileLike: TypeAlias = Sequence[Vector | BehavioralStrategyLike]
"""For each player a vector of its set, a function or a mapping."""


def uniform_behavior(information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
    """Return equal probabilities at every information set.

    Examples
    --------
    >>> uniform_behavior("Kb", ["p", "b"])
    array([0.5, 0.5])
    """
    return np.full(len(actions), 1.0 / len(actions))


def behaviors(
    strategies: ProfileLike,
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
    for player, strategy in enumerate(strategies):
        if not is_behavior(strategy):
            raise TypeError(
                f"strategies[{player}] must be a function of an information set and its actions, "
                f"or a dict from information sets to probabilities, got {quote(strategy)}"
                + "; pass its average, run.average"
                * hasattr(strategy, "last_profile")
            )
    given = cast("Sequence[BehavioralStrategyLike]", strategies)
    return tuple(_validated(strategy, player) for player, strategy in enumerate(given))


def is_behavior(strategy: object) -> bool:
    """Return whether a strategy is a function or a mapping."""
    return callable(strategy) or isinstance(strategy, Mapping)


def _validated(strategy: BehavioralStrategyLike, player: int) -> "ValidatedStrategy":
    behavior = MappingStrategy(strategy, player) if isinstance(strategy, Mapping) else strategy
    return ValidatedStrategy(behavior, player)


def behaviors_in(game: object, strategies: ProfileLike) -> tuple["ValidatedStrategy", ...]:
    """Return ``behaviors``; vectors are strategies of the game's players."""
    known = strategies if isinstance(strategies, Sequence) else ()
    vectors = [isinstance(strategy, np.ndarray | list | tuple) for strategy in known]
    if isinstance(strategies, Profile) or not any(vectors):
        return behaviors(strategies)
    if not hasattr(game, "domains"):
        raise TypeError(
            "strategies are vectors, which need the game's strategy sets: pass a Profile, or a "
            "function or a dict for each player"
        )
    typed = cast("Game", game)
    numbered = enumerate(zip(as_vectors(typed, strategies), typed.domains, strict=True))
    by_vector = [VectorStrategy(vector, domain, player) for player, (vector, domain) in numbered]
    given = zip(strategies, by_vector, strict=True)
    return behaviors([each if is_behavior(each) else vector for each, vector in given])


def as_vectors(
    game: Game, profile: ProfileLike, *, ignored_player: int | None = None
) -> list[Vector]:
    """Return ``as_strategies``; a player's strategy may also be a function or a mapping.

    Such a strategy is asked at every information set, reached or not.
    """
    check_game(game)
    given: Any = profile
    if isinstance(given, Sequence) and any(map(is_behavior, given)):
        # One more or less is refused below; the entry of an ignored player is not asked.
        domains = [*game.domains, *game.domains[:1] * (len(given) - len(game.domains))]
        given = [
            np.zeros(domain.dimension)
            if player == ignored_player
            else as_vector(entry, domain, player)
            for player, (entry, domain) in enumerate(zip(given, domains, strict=False))
        ]
    return as_strategies(game, given, ignored_player=ignored_player)


def as_vector(strategy: Vector | BehavioralStrategyLike, domain: StrategySet, player: int) -> Any:
    """Return a function or a mapping as a vector of a player's set, and all else as it is."""
    if not is_behavior(strategy):
        return strategy
    answer = _validated(cast("BehavioralStrategyLike", strategy), player)
    simplices = simplices_of(domain, player)
    behavior = np.empty(simplices.dimension)
    for number in range(simplices.blocks):
        information_set = InformationSet(number, label_of(simplices, number) or "")
        actions = distinct(simplices.labels.actions(number))
        behavior[simplices.block(number)] = answer(information_set, actions)
    return strategy_of(behavior, domain)


@final
@define(eq=False)
class ValidatedStrategy:
    """A behavioral strategy whose results are checked."""

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
            name, known = (
                str(information_set),
                [key for key in self.answers if isinstance(key, str)],
            )
            raise ValueError(
                f"strategies[{self.player}] must have an entry for {quote(name)}; "
                f"add it, or pass a function{did_you_mean(name, known)}"
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
