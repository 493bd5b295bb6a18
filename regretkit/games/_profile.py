"""Strategy profiles: vectors, tables and files."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._errors import printable
from regretkit._util._files import replace_file, rows_to_dataframe, write_csv
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import candidates, did_you_mean, must_be, quote, vector
from regretkit.games._adapters import InformationSet
from regretkit.games._fingerprint import fingerprint
from regretkit.games._game import Game, as_profile, check_game, check_strategy
from regretkit.games._profile_table import (
    MOST,
    behavior_in,
    behavior_of,
    blocks_of,
    distribution,
    label_of,
    reach_of,
    read_json,
    shown_actions,
    simplices_of,
    strategy_of,
    table_lines,
    thresholded,
    vector_of,
    visited_tree,
)
from regretkit.games._registry import load, names
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Rules
from regretkit.sets import DecisionTree, StrategySet
from regretkit.sets._base import as_sets

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS: tuple[str, ...] = ("player", "information_set", "label", "action", "probability", "reach")
"""Columns of ``to_csv``; ``reach`` is the player's probability of reaching the information set."""

_FORMAT, _VERSION = "regretkit strategy", 1

Key: TypeAlias = int | str | tuple[int, str | int]
"""A player, or an information set: its label, or its player and its label or number."""

Stated: TypeAlias = Game | History | Rules
Origin: TypeAlias = Stated | Mapping[str, str | None] | None
"""A game, its rules, or its description as in ``to_dict``."""


class Profile(tuple[Vector, ...]):
    """One strategy for each player: a tuple of vectors with the players' strategy sets.

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

    @classmethod
    def from_labels(
        cls,
        game: Game,
        strategies: Mapping[Key, ArrayLike],
        *,
        otherwise: Literal["uniform"] | None = None,
    ) -> "Profile":
        """Return the profile with these distributions at the information sets.

        Parameters
        ----------
        game
            The game.
        strategies
            Distributions by label, as in ``replace``.
        otherwise
            The strategy at all other information sets: ``"uniform"``, or None to raise a ValueError
            if one of them has more than one action.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> strategies = {"J": [0.8, 0.2], "Kb": [0, 1]}
        >>> profile = Profile.from_labels(kuhn_poker(), strategies, otherwise="uniform")
        >>> profile["J"], profile["Q"]
        (array([0.8, 0.2]), array([0.5, 0.5]))
        """
        if otherwise not in ("uniform", None):
            raise ValueError(f"otherwise must be 'uniform' or None, got {quote(otherwise)}")
        uniform = cls.uniform(game)
        profile = uniform.replace(strategies)
        if otherwise is None and (missing := list(uniform._missing(strategies))):
            raise ValueError(
                f"strategies lacks {candidates(missing, 6)}; add them, or pass otherwise='uniform'"
            )
        return profile

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
            simplices = simplices_of(domain, player)
            behavior = behavior_of(played[player], domain).copy()
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
        for player, (strategy, domain) in enumerate(zip(self, self.domains, strict=True)):
            behavior, simplices = behavior_of(strategy, domain), simplices_of(domain, player)
            played.append(strategy_of(thresholded(behavior, simplices, minimum), domain))
        return self._with(played)

    def _with(self, strategies: Iterable[Vector]) -> "Profile":
        return Profile(strategies, self.domains, self._game, self._visited)

    def _missing(self, strategies: Mapping[Any, ArrayLike]) -> Iterator[str]:
        """Yield the information sets of at least two actions that ``strategies`` lacks."""
        given = {self._place(key) for key in strategies if isinstance(key, str | tuple)}
        for player, domain in enumerate(self.domains):
            simplices = blocks_of(domain)
            if player in strategies or simplices is None:
                continue
            for i in np.flatnonzero(simplices.sizes > 1).tolist():
                if (player, i) not in given:
                    yield label_of(simplices, i) or f"{player, i}"

    # Profiles are immutable. A pickle holds the game's description, not the game.

    def __copy__(self) -> "Profile":
        return self

    def __deepcopy__(self, memo: object) -> "Profile":
        return self

    def __reduce__(self) -> tuple[type["Profile"], tuple[object, ...]]:
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
            block = simplices_of(self.domains[player], player).block(number)
            return behavior_of(self[player], self.domains[player])[block]
        return super().__getitem__(key)

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
        domain = self.domains[player]
        simplices, played = simplices_of(domain, player), behavior_of(self[player], domain)
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
        labels, label = simplices_of(self.domains[player], player).labels, str(information_set)
        if self._visited is not None:
            number = self._visited[player].get(information_set)
            if number is not None and labels.block(number) == label:
                return number
            return labels.find(label) if labels.numbers(label) else None
        if not isinstance(information_set, InformationSet):
            return labels.find(label)
        number, blocks = information_set.number, simplices_of(self.domains[player], player).blocks
        if number >= blocks or (labels.named and labels.block(number) != label):
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
        write_csv(path, _COLUMNS, self._rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_csv`` as a pandas data frame."""
        rows = (dict(zip(_COLUMNS, row, strict=True)) for row in self._rows())
        return rows_to_dataframe(_COLUMNS, rows)

    def _records(self, player: int) -> Iterator[dict[str, Any]]:
        """Yield the record of each information set of a player, for files."""
        domain = self.domains[player]
        simplices, behavior = simplices_of(domain, player), behavior_of(self[player], domain)
        for number in range(simplices.blocks):
            yield {
                "information_set": number,
                "label": label_of(simplices, number),
                "actions": list(simplices.labels.actions(number)),
                "probabilities": behavior[simplices.block(number)].tolist(),
            }

    def _rows(self) -> Iterator[tuple[object, ...]]:
        """Yield a row for each action of each information set of each player."""
        for player, domain in enumerate(self.domains):
            reach = reach_of(self[player], domain)
            for record in self._records(player):
                number, label, actions, probabilities = record.values()
                for action, probability in zip(actions, probabilities, strict=True):
                    yield player, number, label, action, probability, float(reach[number])

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
        return cls._read(read_json(Path(path)), game, str(path))

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
            note = "(never reached)" if number in unreached else ""
            note = f"{zeros} others 0.0000" if zeros else note
            rows.append((printable(label_of(simplices, number) or ""), pairs, note))
        yield from table_lines(rows)
        if simplices.blocks > MOST:
            yield f"  ... {simplices.blocks - MOST} more information sets"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from regretkit.display._html import profile_html

        return profile_html(self)


def _named(name: str | None, source: str) -> Game:
    """Return the registered game of this name, for a profile from ``source``."""
    if str(name).partition("(")[0] not in names():
        raise ValueError(f"{source} belongs to the game {quote(name)}; pass it as game")
    try:
        return load(str(name))
    except (TypeError, ValueError, MemoryError) as error:
        raise ValueError(f"{source}: {quote(name)} fails: {error}; pass it as game") from error
