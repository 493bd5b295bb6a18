"""Behavioral strategies: functions and mappings in place of a player's vector."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import define
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, did_you_mean, floats, must_be, quote
from regretkit.games._game import Game, as_strategies, check_linear, check_strategy
from regretkit.games._profile import Profile
from regretkit.games._profile_table import vector_of
from regretkit.sets import StrategySet

BehavioralStrategy: TypeAlias = Callable[[Hashable, Sequence[Hashable]], ArrayLike]
"""A function of an information set and its actions that returns their probabilities."""

BehavioralStrategyLike: TypeAlias = BehavioralStrategy | Mapping[Hashable, ArrayLike]
"""A function, or a mapping from information sets to the probabilities of their actions."""

ProfileLike: TypeAlias = Sequence[Vector | BehavioralStrategyLike]
"""For each player a vector of its set, a function, or a mapping."""


def uniform_behavior(information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
    """Return equal probabilities at every information set.

    Examples
    --------
    >>> uniform_behavior("Kb", ["p", "b"])
    array([0.5, 0.5])
    """
    return np.full(len(actions), 1.0 / len(actions))


@define(eq=False)
class Behavior:
    """A player's behavioral strategy, with checks of its probabilities."""

    strategy: BehavioralStrategyLike
    player: int

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probabilities of the actions, normalized."""
        if isinstance(self.strategy, Mapping):
            answer = self._entry(self.strategy, information_set)
        else:
            answer = self.strategy(information_set, actions)
        place = f"player {self.player}'s probabilities at {quote(str(information_set))}"
        probabilities = floats(answer, place)
        if probabilities.shape != (len(actions),):
            raise ValueError(
                f"{place} have shape {probabilities.shape}, but there are {len(actions)} actions: "
                f"{', '.join(map(repr, actions))}"
            )
        # Comparisons with NaN are false, so NaN raises.
        if not (probabilities.min() >= -ATOL and abs(probabilities.sum() - 1.0) <= ATOL):
            raise ValueError(f"{place} must be at least 0 and sum to 1, got {quote(answer)}")
        probabilities = np.maximum(probabilities, 0.0)
        normalized: Vector = probabilities / probabilities.sum()
        return normalized

    def _entry(self, answers: Mapping[Hashable, ArrayLike], information_set: Hashable) -> ArrayLike:
        name = str(information_set)
        for key in (information_set, name):
            if key in answers:
                return answers[key]
        hint = did_you_mean(name, [key for key in answers if isinstance(key, str)])
        raise ValueError(f"strategies[{self.player}] must have an entry for {quote(name)}{hint}")


def is_behavior(strategy: object) -> bool:
    """Return whether a strategy is a function or a mapping."""
    return callable(strategy) or isinstance(strategy, Mapping)


def behaviors(strategies: ProfileLike, game: object = None) -> tuple[Behavior, ...]:
    """Return each player's behavioral strategy. Vectors must lie in ``game.domains``."""
    if isinstance(strategies, Profile):
        return tuple(Behavior(strategies.behavior(i), i) for i in range(len(strategies)))
    if isinstance(strategies, Mapping | str) or not isinstance(strategies, Sequence):
        wanted = "a Profile, or a function or a dict for each player"
        raise TypeError(must_be("strategies", wanted, strategies))
    made, given = list[Behavior](), list[Any](strategies)
    for player, strategy in enumerate(given):
        behavior = strategy
        if not is_behavior(strategy):
            domains, name = getattr(game, "domains", ()), f"strategies[{player}]"
            if player >= len(domains):
                wanted = "a function of an information set and its actions, or a dict"
                raise TypeError(must_be(name, wanted, strategy))
            own = Profile([strategy], domains[player : player + 1])
            check_strategy(own[0], domains[player], player, name)
            behavior = own.behavior(0)
        made.append(Behavior(behavior, player))
    return tuple(made)


def as_vectors(
    game: Game, profile: ProfileLike, *, ignored_player: int | None = None
) -> list[Vector]:
    """Return ``as_strategies`` of a profile with functions or mappings converted to vectors.

    A function is called at every information set, reached or not.
    """
    check_linear(game)
    given: Any = profile
    if isinstance(given, Sequence) and any(map(is_behavior, given)):
        if len(given) != len(game.domains):
            raise ValueError(
                f"profile has {len(given)} strategies, but the game has {len(game.domains)} players"
            )
        given = [
            np.zeros(domain.dimension)
            if player == ignored_player
            else as_vector(entry, domain, player)
            for player, (entry, domain) in enumerate(zip(given, game.domains, strict=True))
        ]
    return as_strategies(game, given, ignored_player=ignored_player)


def as_vector(strategy: Vector | BehavioralStrategyLike, domain: StrategySet, player: int) -> Any:
    """Convert a function or a mapping to a vector of the player's set."""
    if not is_behavior(strategy):
        return strategy
    behavior: Any = strategy
    return vector_of(Behavior(behavior, player), domain, player)
