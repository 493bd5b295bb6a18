"""Strategy profiles: vectors, behavioral strategies, tables and files."""

import json
import math
import textwrap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

import numpy as np
from attrs import define
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._errors import printable
from regretkit._util._files import read_file, replace_file, rows_to_csv, rows_to_dataframe
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import (
    ATOL,
    candidates,
    did_you_mean,
    floats,
    must_be,
    quote,
    vector,
)
from regretkit.games._adapters import InformationSet, distinct
from regretkit.games._fingerprint import fingerprint
from regretkit.games._game import (
    Game,
    as_profile,
    as_strategies,
    check_game,
    check_linear,
    check_strategy,
)
from regretkit.games._registry import load, names
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Rules
from regretkit.sets import DecisionTree, Simplices, StrategySet
from regretkit.sets._base import as_sets

if TYPE_CHECKING:
    import pandas as pd

BehavioralStrategy: TypeAlias = Callable[[Hashable, Sequence[Hashable]], ArrayLike]
"""A function of an information set and its actions that returns their probabilities."""

BehavioralStrategyLike: TypeAlias = BehavioralStrategy | Mapping[Hashable, ArrayLike]
"""A function, or a mapping from information sets to the probabilities of their actions."""

ProfileLike: TypeAlias = Sequence[Vector | BehavioralStrategyLike]
"""For each player a vector of its set, a function, or a mapping."""

Key: TypeAlias = int | str | tuple[int, str | int]
"""A player, or an information set: its label, or its player and its label or number."""

Stated: TypeAlias = Game | History | Rules
Origin: TypeAlias = Stated | Mapping[str, str | None] | None
"""A game, its rules, or its description as in ``to_dict``."""

MOST = 60
"""Largest number of information sets of a player in a printed table."""

_ZERO, _ZEROS = 0.00005, 3
"""Smallest probability that does not print as 0.0000; most such zeros in one row of a table."""

_WIDTH, _NAME = 80, 30
"""Characters in a line of a printed table, and in the longest name that shares its line."""

_ROUNDING = 1e-12
"""Distance of a sum of probabilities from 1 up to which they are not normalized."""

_COLUMNS: tuple[str, ...] = ("player", "information_set", "label", "action", "probability", "reach")
"""Columns of ``to_csv``; ``reach`` is the player's probability of reaching the information set."""

_FORMAT, _VERSION = "regretkit strategy", 1
_RECORD = {"information_set", "label", "actions", "probabilities"}


class Profile(tuple[Vector, ...]):
    """One strategy for each player: a tuple of vectors, and the players' strategy sets.

    ``profile[0]`` is player 0's vector. ``profile["Kb"]`` is the distribution over actions at the
    information set with the label ``"Kb"``. ``profile[1, "Kb"]`` and ``profile[1, 4]`` select the
    player, and the information set by label or number. ``print`` shows a table.

    A run without a tree returns a profile with ``visited`` True. Its sets hold only the information
    sets that the run visited; the strategy at all others is uniform. Functions that take a profile
    also take this one, and find its information sets in the game's tree by label.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> domains = kuhn_poker().domains
    >>> profile = Profile([domain.relative_interior_point() for domain in domains], domains)
    >>> profile["Kb"]
    array([0.5, 0.5])
    >>> print(profile)  # doctest: +ELLIPSIS
    player 0
      J    p 0.5000  b 0.5000
      ...
    """

    domains: tuple[StrategySet, ...]
    _game: Origin
    _visited: tuple[dict[Hashable, int], ...] | None
    """For each player, the numbers of the visited information sets; None if all are included."""

    def __new__(
        cls,
        strategies: Iterable[Vector],
        domains: Sequence[StrategySet],
        game: Origin = None,
        information_sets: Sequence[Iterable[Hashable]] | None = None,
    ) -> "Profile":
        """Return the profile of these vectors.

        Parameters
        ----------
        strategies
            For each player a vector of its set.
        domains
            The players' sets, as in ``game.domains``.
        game
            The game, its rules, or its description as in ``to_dict``. Files contain its name.
        information_sets
            For each player, its visited information sets in order, as ``History.information_set``
            returns them. By default, the profile includes all information sets.
        """
        domains = as_sets(domains, "domains")
        vectors = [strategy.copy() for strategy in as_profile(strategies, domains)]
        for strategy in vectors:
            strategy.setflags(write=False)
        if not (game is None or isinstance(game, Game | Mapping | History | Rules)):
            check_game(game)
        self = super().__new__(cls, vectors)
        self.domains, self._game, self._visited = domains, game, None
        if information_sets is not None:
            self._visited = tuple({key: i for i, key in enumerate(own)} for own in information_sets)
        return self

    @classmethod
    def uniform(cls, game: Game) -> "Profile":
        """Return the profile in which all actions of an information set are equally likely.

        On a set without information sets it is ``relative_interior_point``.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> Profile.uniform(kuhn_poker())["Kb"]
        array([0.5, 0.5])
        """
        check_game(game)
        sets = [(domain, blocks_of(domain)) for domain in game.domains]
        played = [
            domain.relative_interior_point()
            if simplices is None
            else strategy_of(simplices.uniform(), domain)
            for domain, simplices in sets
        ]
        return cls(played, game.domains, game)

    def replace(self, strategies: Mapping[Key, ArrayLike]) -> "Profile":
        """Return this profile with other strategies at some information sets.

        A profile holds realization weights. So at information sets that the player's new strategy
        does not reach, distributions become uniform.

        Parameters
        ----------
        strategies
            New values by the keys of ``profile[key]``: the distribution over actions at an
            information set, as ``{"J": [0.8, 0.2]}`` or ``{(1, "Kb"): [0, 1]}``, or a player's
            whole vector, as ``{0: vector}``.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> profile = Profile.uniform(kuhn_poker()).replace({"J": [1, 0], (1, "Kb"): [0.1, 0.9]})
        >>> profile["J"], profile["Kb"]
        (array([1., 0.]), array([0.1, 0.9]))
        """
        if not isinstance(strategies, Mapping):
            wanted = "a mapping of information sets to probabilities, as {'J': [0.8, 0.2]}"
            raise TypeError(must_be("strategies", wanted, strategies))
        played: list[Vector] = list(self)
        changed: dict[tuple[int, int], tuple[Any, ArrayLike]] = {}
        key: Any
        for key, value in strategies.items():
            if isinstance(key, str | tuple):
                place = self._place(key)
                if place in changed:
                    raise ValueError(f"strategies has {quote(key)} twice, under two keys")
                changed[place] = key, value
            else:
                domain, name = self.domains[key], f"strategies[{key}]"
                played[key] = vector(value, domain.dimension, name)
                check_strategy(played[key], domain, key, name)
        for player in {player for player, _ in changed}:
            domain = self.domains[player]
            simplices, behavior = simplices_of(domain, player), behavior_of(played[player], domain)
            behavior = behavior.copy()
            for (owner, number), (key, value) in changed.items():
                if owner == player:
                    actions, name = simplices.labels.actions(number), f"strategies[{quote(key)}]"
                    behavior[simplices.block(number)] = distribution(value, actions, name)
            played[player] = strategy_of(behavior, domain)
        return self._with(played)

    def threshold(self, minimum: float) -> "Profile":
        """Set probabilities below a threshold to 0, and normalize each distribution.

        The most probable actions of each information set always remain.

        Parameters
        ----------
        minimum
            The threshold, from 0, which changes nothing, to 1, which leaves only the most probable
            actions.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> profile = Profile.uniform(kuhn_poker()).replace({"J": [0.9, 0.1]})
        >>> profile.threshold(0.2)["J"]
        array([1., 0.])
        """
        minimum = _validate.number(minimum, "minimum", minimum=0.0, maximum=1.0)
        played = []
        for player, domain in enumerate(self.domains):
            simplices, behavior = self._distributions(player)
            limit = simplices.repeat(np.minimum(simplices.max(behavior), minimum))
            kept = np.where(behavior >= limit, behavior, 0.0)
            # Distributions that lose no action stay bitwise identical.
            lost = simplices.repeat(simplices.sum((kept != behavior).astype(np.float64))) > 0.0
            kept = np.where(lost, simplices.normalize(kept), behavior)
            played.append(strategy_of(kept, domain))
        return self._with(played)

    def _with(self, strategies: Iterable[Vector]) -> "Profile":
        return Profile(strategies, self.domains, self._game, self._visited)

    def __reduce__(self) -> tuple[type["Profile"], tuple[object, ...]]:
        # A copy holds the game's description, not the game.
        game = None if self._game is None else self._description()
        keys = None if self._visited is None else [*map(list, self._visited)]
        return Profile, (tuple(self), self.domains, game, keys)

    def _description(self) -> Mapping[str, str | None]:
        """Return the game's name and fingerprint, for files."""
        if self._game is None:
            raise ValueError("this profile has no game; pass Profile(strategies, domains, game)")
        if isinstance(self._game, Mapping):
            return self._game
        name = getattr(self._game, "name", None)
        known = name if isinstance(name, str) else None
        return {"name": known, "fingerprint": fingerprint(self._game)}

    # Information sets

    @overload
    def __getitem__(self, key: SupportsIndex | str | tuple[int, str | int]) -> Vector: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Vector, ...]: ...
    def __getitem__(
        self, key: SupportsIndex | slice | str | tuple[int, str | int]
    ) -> Vector | tuple[Vector, ...]:
        """Return a player's vector, or the distribution over actions at an information set."""
        if isinstance(key, str | tuple):
            player, number = self._place(key)
            simplices, behavior = self._distributions(player)
            return behavior[simplices.block(number)]
        return super().__getitem__(key)

    def _distributions(self, player: int) -> tuple[Simplices, Vector]:
        """Return a player's information sets, and its distributions there, concatenated."""
        domain = self.domains[player]
        return simplices_of(domain, player), behavior_of(self[player], domain)

    @property
    def visited(self) -> bool:
        """Whether the profile includes only the information sets that a run visited."""
        return self._visited is not None

    def unreached(self, player: int) -> Indices:
        """Return the numbers of the information sets that the player's strategy does not reach.

        The profile shows uniform distributions there.
        """
        return np.flatnonzero(reach_of(self[player], self.domains[player]) == 0.0)

    def behavior(self, player: int) -> Callable[[Hashable, Sequence[Hashable]], Vector]:
        """Return a player's behavioral strategy.

        The result is a function of an information set and its actions, and returns their
        probabilities. They are equal at information sets that a run without a tree did not visit.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> play = Profile.uniform(kuhn_poker()).replace({"J": [0.9, 0.1]}).behavior(0)
        >>> play("J", ["p", "b"])
        array([0.9, 0.1])
        """
        simplices, played = self._distributions(player)
        numbers: dict[Hashable, int | None] = {}

        def play(information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
            if information_set not in numbers:
                numbers[information_set] = self._number(player, information_set)
            number = numbers[information_set]
            if number is None:
                return np.full(len(actions), 1.0 / len(actions))
            known, names = simplices.labels.actions(number), tuple(map(str, actions))
            by_name = not isinstance(information_set, InformationSet)
            if len(known) != len(names) or (by_name and known != names):
                raise ValueError(
                    f"player {player} has actions {quote(list(known))} at "
                    f"{quote(str(information_set))}, but the game has {quote(list(names))}: the "
                    "profile belongs to another game"
                )
            return played[simplices.block(number)]

        return play

    def _number(self, player: int, information_set: Hashable) -> int | None:
        """Return the number of an information set of a history, None if not visited."""
        simplices, label = simplices_of(self.domains[player], player), str(information_set)
        labels = simplices.labels
        if self._visited is not None:
            number = self._visited[player].get(information_set)
            if number is not None and labels.block(number) == label:
                return number
            return labels.find(label) if labels.numbers(label) else None
        if not isinstance(information_set, InformationSet):
            return labels.find(label)
        number = information_set.number
        if number >= simplices.blocks or (labels.named and labels.block(number) != label):
            raise ValueError(
                f"player {player} has no information set {number} with label {quote(label)}: the "
                "profile belongs to another game"
            )
        return number

    def on(self, domains: Sequence[StrategySet], game: Origin = None) -> "Profile":
        """Return the profile on other strategy sets, where it finds information sets by label.

        Use it to extend a profile of visited information sets to the whole game.

        Examples
        --------
        >>> from regretkit import solve
        >>> from regretkit.games import kuhn_poker, load_rules
        >>> average = solve(load_rules("kuhn_poker"), sampling="external", iterations=3).average
        >>> tree = kuhn_poker()
        >>> average.on(tree.domains, tree).unreached(0)
        array([], dtype=int64)
        """
        played = [
            vector_of(self.behavior(player), domain, player)
            for player, (_, domain) in enumerate(zip(self, domains, strict=True))
        ]
        return Profile(played, domains, game)

    def _place(self, key: str | tuple[int, str | int]) -> tuple[int, int]:
        """Return the player and the number of an information set."""
        player, name = (self._owner(key), key) if isinstance(key, str) else key
        return player, simplices_of(self.domains[player], player).labels.find(name)

    def _owner(self, label: str) -> int:
        """Return the player with an information set of this label."""
        sets = [simplices for simplices in map(blocks_of, self.domains) if simplices is not None]
        owners = [i for i, own in enumerate(sets) if own.labels.numbers(label)]
        if len(owners) == 1:
            return owners[0]
        if owners:
            shown = ", ".join(f"profile[{player}, {quote(label)}]" for player in owners)
            raise ValueError(f"label {quote(label)} is ambiguous: use one of {shown}")
        known = [own.labels.block(i) for own in sets if own.labels.named for i in range(own.blocks)]
        hint = did_you_mean(label, known) if known else "; select a player, as in profile[0]"
        raise ValueError(f"no player has an information set {quote(label)}{hint}")

    # Files and tables

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as dicts, lists, strings and numbers, as in a JSON file.

        ======== ==================================================================================
        key      value
        ======== ==================================================================================
        format   ``"regretkit strategy"``
        version  1
        game     the game's ``name`` and ``fingerprint``
        players  for each player a list of its information sets: ``information_set`` (number),
                 ``label``, ``actions``, ``probabilities``
        parents  only if ``visited``: the ``parent_sequence`` of each player's decision tree
        ======== ==================================================================================
        """
        head = {"format": _FORMAT, "version": _VERSION, "game": dict(self._description())}
        if self._visited is not None:
            trees = [domain for domain in self.domains if isinstance(domain, DecisionTree)]
            head["parents"] = [tree.parent_sequence.tolist() for tree in trees]
        players = [list(self._records(player)) for player in range(len(self))]
        return {**head, "players": players}

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write ``to_dict`` to a JSON file. ``from_json`` reads it."""
        data = self.to_dict()
        players = [",".join("\n" + json.dumps(each) for each in own) for own in data.pop("players")]
        text = "\n], [".join(players)
        replace_file(path, [f'{json.dumps(data)[:-1]}, "players": [[{text}\n]]}}\n'.encode()])

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a table for spreadsheets, with a row for each action.

        Its columns are ``player``, ``information_set``, ``label``, ``action``, ``probability``
        and ``reach``, the probability that the player's strategy reaches the information set. An
        apostrophe precedes labels and actions that a spreadsheet would read as formulas. The table
        does not contain the game, and no function reads it back.
        """
        rows_to_csv(path, _COLUMNS, self._rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_csv`` as a pandas data frame."""
        return rows_to_dataframe(_COLUMNS, self._rows())

    def _records(self, player: int) -> Iterator[dict[str, Any]]:
        """Yield the record of each information set of a player, for files."""
        simplices, behavior = self._distributions(player)
        for number in range(simplices.blocks):
            yield {
                "information_set": number,
                "label": label_of(simplices, number),
                "actions": list(simplices.labels.actions(number)),
                "probabilities": behavior[simplices.block(number)].tolist(),
            }

    def _rows(self) -> Iterator[dict[str, object]]:
        """Yield a row for each action of each information set of each player."""
        for player, domain in enumerate(self.domains):
            reach = reach_of(self[player], domain)
            for record in self._records(player):
                number, label, actions, probabilities = record.values()
                for action, probability in zip(actions, probabilities, strict=True):
                    cells = player, number, label, action, probability, float(reach[number])
                    yield dict(zip(_COLUMNS, cells, strict=True))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], game: Stated | None = None) -> "Profile":
        """Return the profile with these data, as ``to_dict`` returns them; see ``from_json``."""
        return cls._read(data, game, "data")

    @classmethod
    def from_json(cls, path: str | PathLike[str], game: Stated | None = None) -> "Profile":
        """Read a profile from a file that ``to_json`` wrote.

        Parameters
        ----------
        path
            The file.
        game
            The game, or the rules if the run had no tree, with the fingerprint in the file. By
            default ``load`` builds the game from its name in the file; a profile of visited
            information sets does not need it.
        """
        return cls._read(read_json(path), game, str(path))

    @classmethod
    def _read(cls, data: Any, game: Any, source: str) -> "Profile":
        try:
            if (data["format"], data["version"]) != (_FORMAT, _VERSION):
                raise ValueError(f"{source} must have format {quote(_FORMAT)}, version {_VERSION}")
            described, players = data["game"], data["players"]
            keys, places = None, [f"{source}: players[{i}]" for i in range(len(players))]
            origin: Origin = game
            if "parents" in data:
                three = zip(players, data["parents"], places, strict=True)
                domains: Sequence[StrategySet] = [visited_tree(*each) for each in three]
                keys = [[record["label"] for record in records] for records in players]
                origin = {name: described[name] for name in ("name", "fingerprint")}
            else:
                origin = game = _named(described["name"], source) if game is None else game
                domains = game.domains
            if game is not None and (found := fingerprint(game)) != described["fingerprint"]:
                raise ValueError(
                    f"{source} belongs to the game {quote(described['name'])} (fingerprint "
                    f"{quote(described['fingerprint'], 60)}), not to {quote(game)} ({found})"
                )
            if len(players) != len(domains):
                raise ValueError(f"{source}: players must be a list of {len(domains)}")
            played = [
                strategy_of(behavior_in(players[i], simplices_of(domain, i), places[i]), domain)
                for i, domain in enumerate(domains)
            ]
            return cls(played, domains, origin if game is None else game, keys)
        except (TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"{source} is not a profile of regretkit: {error!r}") from error

    # Display

    def __str__(self) -> str:
        return "\n".join(line for player in range(len(self)) for line in self._lines(player))

    def _lines(self, player: int) -> Iterator[str]:
        """Yield the lines of a player's printed strategy."""
        yield f"player {player}"
        simplices = blocks_of(self.domains[player])
        if simplices is None:
            yield f"  {self[player]}"
            return
        behavior = behavior_of(self[player], self.domains[player])
        unreached, rows = set(self.unreached(player).tolist()), []
        for number in range(min(simplices.blocks, MOST)):
            actions = [*map(printable, simplices.labels.actions(number))]
            pairs, zeros = shown_actions(actions, behavior[simplices.block(number)])
            notes = ["(never reached)"] if number in unreached else []
            notes = [f"{zeros} others 0.0000"] if zeros else notes
            pairs = [(action, round(share, 4)) for action, share in pairs]
            row = printable(label_of(simplices, number) or ""), pairs, notes
            if row not in rows or not row[0]:  # equal parts of an information set are one row
                rows.append(row)
        yield from table_lines(rows)
        if simplices.blocks > MOST:
            yield f"  ... {simplices.blocks - MOST} more information sets"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from regretkit.display._html import profile_html

        return profile_html(self)


# Sets of strategies


def blocks_of(domain: StrategySet) -> Simplices | None:
    """Return the simplices of a player's information sets, None if the set has none."""
    if isinstance(domain, DecisionTree):
        return domain.simplices
    return domain if isinstance(domain, Simplices) else None


def simplices_of(domain: StrategySet, player: int) -> Simplices:
    """Return ``blocks_of``, or raise a ValueError if the set has no information sets."""
    simplices = blocks_of(domain)
    if simplices is None:
        raise ValueError(
            f"player {player} plays on {quote(domain)}, which has no information sets; use "
            f"profile[{player}]"
        )
    return simplices


def behavior_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the distributions over actions at all information sets, concatenated."""
    return domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy


def strategy_of(behavior: Vector, domain: StrategySet) -> Vector:
    """Return the vector of a player's set with these distributions at its information sets."""
    return domain.sequence_form(behavior) if isinstance(domain, DecisionTree) else behavior


def reach_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the probability that a player's strategy reaches each of its information sets."""
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    simplices = blocks_of(domain)
    return np.ones(0 if simplices is None else simplices.blocks)


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return the label of an information set, None if they have no labels."""
    return simplices.labels.block(number) if simplices.labels.named else None


def vector_of(
    behavior_at: Callable[[Hashable, Sequence[Hashable]], Vector], domain: StrategySet, player: int
) -> Vector:
    """Evaluate a behavioral strategy at every information set, and return it as a vector."""
    simplices = simplices_of(domain, player)
    behavior = np.empty(simplices.dimension)
    for number in range(simplices.blocks):
        information_set = InformationSet(number, label_of(simplices, number) or "")
        actions = distinct(simplices.labels.actions(number))
        behavior[simplices.block(number)] = behavior_at(information_set, actions)
    return strategy_of(behavior, domain)


def distribution(value: ArrayLike, actions: Sequence[str], place: str) -> Vector:
    """Return the probabilities of these actions, or raise a ValueError unless they sum to 1."""
    probabilities = floats(value, place)
    if probabilities.shape != (len(actions),):
        raise ValueError(
            f"{place} must have {len(actions)} probabilities, of the actions "
            f"{candidates(actions)}, got {quote(value, 60)}"
        )
    total = math.fsum(probabilities)
    if not (probabilities.min() >= 0.0 and abs(total - 1.0) <= ATOL):  # nor NaN
        raise ValueError(
            f"{place} must have probabilities from 0 to 1 that sum to 1 within {ATOL:g}, got "
            f"{quote(value, 60)}"
        )
    return probabilities if abs(total - 1.0) <= _ROUNDING else probabilities / total


# Behavioral strategies


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
    behavior: Any = strategy
    return (
        vector_of(Behavior(behavior, player), domain, player) if is_behavior(behavior) else behavior
    )


# Printed tables


def shown_actions(
    actions: Sequence[str], probabilities: Vector
) -> tuple[list[tuple[str, float]], int]:
    """Return the actions that a table shows, and the number of omitted actions."""
    pairs = list(zip(actions, probabilities.tolist(), strict=True))
    played = [pair for pair in pairs if pair[1] >= _ZERO]
    zeros = len(pairs) - len(played)
    return (played, zeros) if played and zeros > _ZEROS else (pairs, 0)


def table_lines(
    rows: Sequence[tuple[str, list[tuple[str, float]], list[str]]],
) -> Iterator[str]:
    """Yield the lines of a table with rows of a name, actions with probabilities, and notes."""
    width = max((len(name) for name, *_ in rows if len(name) <= _NAME), default=0)
    widths = [len(action) for _, pairs, _ in rows for action, _ in pairs]
    column = max((size for size in widths if size <= _NAME), default=0)
    for name, pairs, notes in rows:
        items = [f"{action:<{column}} {probability:.4f}" for action, probability in pairs] + notes
        if len(name) > width:
            yield f"  {name}"
            name = ""
        # Lines break between items only: \0 replaces the spaces within them.
        lines = textwrap.wrap(
            "  ".join(item.replace(" ", "\0") for item in items),
            _WIDTH,
            initial_indent=f"  {name:<{width}}  ",
            subsequent_indent=" " * (4 + width),
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from (line.replace("\0", " ") for line in lines)


# Reading


def behavior_in(records: Any, simplices: Simplices, place: str) -> Vector:
    """Return the distributions in the records of a file, concatenated."""
    if not isinstance(records, list) or len(records) != simplices.blocks:
        raise ValueError(f"{place} must be a list of {simplices.blocks} information sets")
    behavior = np.empty(simplices.dimension)
    for number, record in enumerate(records):
        at, actions = f"{place}[{number}]", simplices.labels.actions(number)
        if not isinstance(record, dict) or record.keys() != _RECORD:
            raise ValueError(f"{at} must have the entries {sorted(_RECORD)}")
        known = {"information_set": number, "label": label_of(simplices, number)}
        for name, value in {**known, "actions": list(actions)}.items():
            if record[name] != value:
                raise ValueError(
                    f"{at}: {name} must be {quote(value, 60)}, got {quote(record[name], 60)}"
                )
        behavior[simplices.block(number)] = distribution(record["probabilities"], actions, at)
    return behavior


def visited_tree(records: Any, parents: Any, place: str) -> DecisionTree:
    """Return the decision tree of the visited information sets in a file."""
    labels, actions = [row["label"] for row in records], [row["actions"] for row in records]
    if len(set(labels)) < len(labels):
        raise ValueError(f"{place} must have distinct labels")
    try:
        return DecisionTree(parents, list(map(len, actions)), labels=labels, actions=actions)
    except ValueError as error:
        raise ValueError(f"{place} and its parents are no decision tree: {error}") from error


def read_json(path: str | PathLike[str]) -> object:
    """Return the value in a JSON file. Errors give the file, the line and the column."""
    try:
        return json.loads(read_file(path).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def _named(name: str | None, source: str) -> Game:
    """Return the registered game of this name, for a profile from ``source``."""
    if str(name).partition("(")[0] not in names():
        raise ValueError(f"{source} belongs to the game {quote(name)}; pass it as game")
    try:
        return load(str(name))
    except (TypeError, ValueError, MemoryError) as error:
        raise ValueError(f"{source}: {quote(name)} fails: {error}; pass it as game") from error
