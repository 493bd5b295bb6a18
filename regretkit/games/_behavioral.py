"""Behavioral strategies: functions, mappings, vectors, and those of visited information sets."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast, overload

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike

from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, did_you_mean, floats, must_be, number, quote
from regretkit.games._adapters import InformationSet, distinct
from regretkit.games._fingerprint import fingerprint
from regretkit.games._game import Game, as_strategies, check_game, check_linear
from regretkit.games._profile import Profile
from regretkit.games._profile_table import (
    NO_TREE,
    VERSION,
    behavior_in,
    behavior_of,
    entries_of,
    expect,
    label_of,
    read_json,
    record_of,
    simplices_of,
    strategy_of,
    thresholded,
    write_json,
)
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Rules
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    import pandas as pd

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


def behaviors(strategies: ProfileLike) -> tuple["ValidatedStrategy", ...]:
    """Return each player's behavioral strategy from a profile, or a function or dict each."""
    if isinstance(strategies, Profile):
        vectors = enumerate(zip(strategies, strategies.domains, strict=True))
        return tuple(
            ValidatedStrategy(VectorStrategy(vector, domain, player), player)
            for player, (vector, domain) in vectors
        )
    if isinstance(strategies, Mapping | str) or not isinstance(strategies, Sequence):
        wanted = "a Profile, or a function or a dict for each player"
        hint = "its average, run.average" if hasattr(strategies, "average") else "a list of them"
        raise TypeError(must_be("strategies", wanted, strategies, f"pass {hint}"))
    for player, strategy in enumerate(strategies):
        if not is_behavior(strategy):
            each = "; of a profile for all players, run.average, pass run.average[0]"
            raise TypeError(
                f"strategies[{player}] must be a function of an information set and its actions, "
                f"or a dict from information sets to probabilities, got {quote(strategy)}"
                + "; pass its average, run.average" * hasattr(strategy, "average")
                + each * isinstance(strategy, tuple)
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
    vectors = any(isinstance(strategy, np.ndarray | list | tuple) for strategy in known)
    if isinstance(strategies, Profile) or not vectors:
        return behaviors(strategies)
    if not hasattr(game, "domains"):
        raise TypeError(
            "strategies are vectors, which need the game's strategy sets: pass a whole profile, "
            "as run.average, or a function or a dict for each player"
        )
    typed = cast("Game", game)
    by_vector = behaviors(Profile(as_vectors(typed, strategies), typed.domains))
    given = zip(strategies, by_vector, strict=True)
    return behaviors([one if is_behavior(one) else vector.behavior for one, vector in given])


def as_vectors(
    game: Game, profile: ProfileLike, *, ignored_player: int | None = None
) -> list[Vector]:
    """Return ``as_strategies``; a player's strategy may also be a function or a mapping.

    Such a strategy is asked at every information set, reached or not.
    """
    check_game(game)
    check_linear(game)
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
    for j in range(simplices.blocks):
        information_set = InformationSet(j, label_of(simplices, j) or "")
        actions = distinct(simplices.labels.actions(j))
        behavior[simplices.block(j)] = answer(information_set, actions)
    return strategy_of(behavior, domain)


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
            problem = f"{self._at(information_set)} are no numbers: {quote(answer)}"
            raise TypeError(problem) from error
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
            name = str(information_set)
            known = [key for key in self.answers if isinstance(key, str)]
            if not name:  # in normal form
                raise ValueError(
                    f"strategies[{self.player}] must be a probability for each action in normal "
                    f"form, got {quote(self.answers)}; pass a vector such as [0.5, 0.5]"
                ) from None
            raise ValueError(
                f"strategies[{self.player}] must have an entry for {quote(name)}; "
                f"add it, or pass a function{did_you_mean(name, known)}"
            ) from None


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
        known, names = labels.actions(number), tuple(map(str, actions))
        if len(known) != len(names) or not (numbered or known == names):
            raise ValueError(
                f"the strategy of player {self.player} has actions {quote(list(known))} at "
                f"{quote(label)}, but the game has {quote(list(names))}; it is of another game"
            )
        return self._behavior[self._simplices.block(number)]


@define(eq=False, repr=False)
class VisitedStrategy:
    """What a player does at the information sets that were visited, and uniformly at all others.

    It holds distributions over actions by information set, and can be iterated over. Called with an
    information set and its actions, it returns their probabilities, as everything does that takes a
    behavioral strategy; an information set of a game's tree, or of a file, is found by its label.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, Sampled
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = Sampled(kuhn_poker(), RegretMatching, sampling).run(50)
    >>> first, second = run.average
    >>> len(first), {str(information_set) for information_set in first} >= {"J", "Q", "K"}
    (6, True)
    >>> first("unheard of", ["p", "b"])
    array([0.5, 0.5])
    """

    _keys: Sequence[Hashable] = ()
    """The information sets, each behind the one before it in the player's tree."""
    _actions: Sequence[tuple[Hashable, ...]] = ()
    _parents: Sequence[int] = ()
    """The player's last sequence before each of them, numbered as in its tree."""
    _behavior: Vector = field(factory=partial(np.empty, 0))
    """Their distributions, concatenated."""
    _simplices: Simplices = field(init=False)
    _numbers: dict[Hashable, int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._simplices = Simplices(list(map(len, self._actions)))
        self._numbers = {key: number for number, key in enumerate(self._keys)}

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probability of each action."""
        if information_set in self._numbers:
            return self[information_set]
        if isinstance(information_set, InformationSet):
            information_set = information_set.label
        number = self._by_label.get(str(information_set))
        return uniform_behavior("", actions) if number is None else self[self._keys[number]]

    @cached_property
    def _by_label(self) -> dict[str, int]:
        by_label = {str(key): number for key, number in self._numbers.items()}
        if len(by_label) < len(self):
            raise ValueError("information sets cannot be found by labels, which are not unique")
        return by_label

    def actions(self, information_set: Hashable) -> tuple[Hashable, ...]:
        """Return the actions at an information set that was visited."""
        return self._actions[self._numbers[information_set]]

    def __getitem__(self, information_set: Hashable) -> Vector:
        return self._behavior[self._simplices.block(self._numbers[information_set])]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<what to do at {len(self)} information sets>"

    def _records(self) -> Iterator[dict[str, Any]]:
        """Yield what a file holds of each information set."""
        for place, (key, actions) in enumerate(zip(self._keys, self._actions, strict=True)):
            yield record_of(place, str(key), map(str, actions), self[key].tolist())

    def _tree(self) -> DecisionTree:
        """Return the player's decision tree, as far as it was visited."""
        return DecisionTree(
            self._parents,
            self._simplices.sizes,
            labels=map(str, self._keys),
            actions=[[str(action) for action in actions] for actions in self._actions],
        )


class VisitedProfile(tuple[VisitedStrategy, ...]):
    """One strategy for each player, at the information sets that were visited.

    ``Sampled.average`` returns it. ``StrategyAgent`` plays it, ``sampled_value`` and the other
    estimates take it, and so do all functions of ``evaluation`` together with the game's tree.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, Sampled
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> average = Sampled(kuhn_poker(), RegretMatching, sampling).run(500).average
    >>> average.profile["Kb"].round(1)
    array([0., 1.])
    >>> print(average.threshold(0.3).profile)  # doctest: +ELLIPSIS
    player 0
      ...
    """

    @overload
    def __getitem__(self, key: SupportsIndex) -> VisitedStrategy: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[VisitedStrategy, ...]: ...
    @overload
    def __getitem__(self, key: str | tuple[int, str | int]) -> Vector: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a player's strategy; by label, the distribution at an information set."""
        return self.profile[key] if isinstance(key, str | tuple) else super().__getitem__(key)

    @cached_property
    def profile(self) -> Profile:
        """The same as a ``Profile`` on the players' decision trees, as far as they were visited.

        It prints as a table, and can be asked by label; as a strategy of the whole game, which has
        more information sets, it must not be taken.
        """
        trees = [strategy._tree() for strategy in self]
        pairs = zip(trees, self, strict=True)
        return Profile([tree.sequence_form(strategy._behavior) for tree, strategy in pairs], trees)

    def _repr_html_(self) -> str:
        return self.profile._repr_html_()

    def threshold(self, minimum: float) -> "VisitedProfile":
        """Return it without actions of probability below a threshold, as ``evaluation.threshold``.

        Parameters
        ----------
        minimum
            The threshold, from 0, which changes nothing, to 1, which leaves the most probable
            actions.
        """
        minimum = number(minimum, "minimum", minimum=0.0, maximum=1.0)
        return VisitedProfile(
            evolve(strategy, behavior=thresholded(strategy._behavior, strategy._simplices, minimum))
            for strategy in self
        )

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of ``Profile.to_csv``."""
        self.profile.to_csv(path)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``Profile.to_dataframe``, for which pandas has to be installed."""
        return self.profile.to_dataframe()

    def to_json(self, path: str | PathLike[str], game: History | Rules | None = None) -> None:
        """Write it into a file, from which ``from_json`` reads it by labels.

        With the rules of its game, it has their ``fingerprint``.

        Raises
        ------
        OSError
            When the file cannot be written.
        """
        parents = [strategy._parents for strategy in self]
        head: dict[str, Any] = {"format": NO_TREE, "version": VERSION, "parents": parents}
        head |= {} if game is None else {"fingerprint": fingerprint(game)}
        write_json(head, map(VisitedStrategy._records, self), path)

    @classmethod
    def from_json(
        cls, path: str | PathLike[str], game: History | Rules | None = None
    ) -> "VisitedProfile":
        """Return what ``to_json`` wrote, with labels in place of information sets.

        With the rules of a game, the file is refused if it has the ``fingerprint`` of others.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When it is something else, with the place, or of another game.
        """
        source, read = str(path), read_json(Path(path))
        written = read.pop("fingerprint", None) if isinstance(read, dict) else None
        data = entries_of(read, NO_TREE, source)
        if game is not None and written not in (None, known := fingerprint(game)):
            raise ValueError(
                f"{source} was written for another game, of fingerprint {quote(written)}, and this "
                f"one has {known}"
            )
        players, parents = data["players"], data["parents"]
        fits = isinstance(players, list) and isinstance(parents, list)
        expect(
            fits and len(players) == len(parents), source, "have parents for each player", parents
        )
        return cls(
            _read(records, parent, f"{source}: players[{player}]")
            for player, (records, parent) in enumerate(zip(players, parents, strict=True))
        )


def _read(records: Any, parents: Any, place: str) -> VisitedStrategy:
    try:
        labels, actions = zip(*((row["label"], row["actions"]) for row in records), strict=True)
        tree = DecisionTree(parents, list(map(len, actions)), labels=labels, actions=actions)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{place} are no information sets with parents: {error}") from error
    behavior = behavior_in(records, tree.simplices, place)
    expect(len(set(labels)) == tree.points, place, "have labels that differ", labels)
    parents = tree.parent_sequence.tolist()
    return VisitedStrategy(labels, list(map(tuple, actions)), parents, behavior)
