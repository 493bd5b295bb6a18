"""A strategy for each player, as vectors and as a table."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    SupportsIndex,
    TypeAlias,
    overload,
)

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._errors import printable
from regretkit._util._files import rows_to_dataframe, write_csv
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._fingerprint import describe
from regretkit.games._game import Game, as_profile, check_game, check_strategy
from regretkit.games._profile_table import (
    MOST,
    TREE,
    VERSION,
    behavior_of,
    blocks_of,
    distribution,
    label_of,
    reach_of,
    read_json,
    record_of,
    simplices_of,
    strategies,
    strategy_of,
    write_json,
)
from regretkit.sets import StrategySet
from regretkit.sets._base import as_sets

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS: tuple[str, ...] = ("player", "information_set", "label", "action", "probability", "reach")
"""Columns of a table, with the probability that the player's strategy reaches the set last."""

Key: TypeAlias = int | str | tuple[int, str | int]
"""A player, or an information set: its label, or its player and its label or number."""


class Profile(tuple[Vector, ...]):
    """One strategy for each player: a tuple of vectors with the players' strategy sets.

    ``profile[0]`` is player 0's vector. ``profile["Kb"]`` is the distribution over actions at the
    information set with that label; ``profile[1, "Kb"]`` and ``profile[1, 4]`` name the player too.
    Printing a profile shows a table; it can be written to files and read from them.

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
    _game: Game | Mapping[str, str | None] | None
    """The game, or its description in files."""

    def __new__(
        cls,
        strategies: Iterable[Vector],
        domains: Sequence[StrategySet],
        game: Game | Mapping[str, str | None] | None = None,
    ) -> "Profile":
        """Build a profile from one strategy for each player.

        Parameters
        ----------
        strategies
            For each player a vector of its set.
        domains
            The players' sets, as in ``game.domains``.
        game
            The game, which files name; or its description as in ``to_dict``.

        Raises
        ------
        TypeError, ValueError
            When there is not one finite vector of the right length for each player.
        """
        domains = as_sets(domains, "domains")
        vectors = [vector.copy() for vector in as_profile(strategies, domains)]
        for vector in vectors:
            vector.setflags(write=False)
        if not (game is None or isinstance(game, Mapping)):
            check_game(game)
        self = super().__new__(cls, vectors)
        self.domains, self._game = domains, game
        return self

    @classmethod
    def uniform(cls, game: Game) -> "Profile":
        """Return the profile that plays all actions with the same probability.

        On a set without information sets it is ``relative_interior_point``. What is no game
        raises a TypeError.

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
            As ``replace`` takes them; errors are the same.
        otherwise
            What is played at the other information sets: ``"uniform"``, or None to refuse a profile
            that lacks one where there is a choice.

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
        if otherwise is None:
            uniform._check_complete(strategies)
        return profile

    def replace(self, strategies: Mapping[Key, ArrayLike]) -> "Profile":
        """Return this profile with other strategies at some information sets.

        What an information set plays is kept only where the player's own strategy reaches it, and
        becomes uniform elsewhere: a profile holds realization weights.

        Parameters
        ----------
        strategies
            By the keys of ``profile[key]``, what that is to be: the distribution over the actions
            of an information set, as ``{"J": [0.8, 0.2]}`` or ``{(1, "Kb"): [0, 1]}``; or all of a
            player's vector, as ``{0: vector}``.

        Raises
        ------
        TypeError, ValueError
            When ``strategies`` is no mapping, has an information set twice or one that is not in
            the game, or a value is no distribution over its actions, within 1e-6.

        Examples
        --------
        >>> from regretkit.games import kuhn_poker
        >>> profile = Profile.uniform(kuhn_poker()).replace({"J": [1, 0], (1, "Kb"): [0.1, 0.9]})
        >>> profile["J"], profile["Kb"]
        (array([1., 0.]), array([0.1, 0.9]))
        """
        vectors, places = self._split(strategies)
        for player, vector in vectors.items():
            check_strategy(vector, self.domains[player], player, f"strategies[{player}]")
        played = [vectors.get(player, vector) for player, vector in enumerate(self)]
        for player, changed in places.items():
            domain = self.domains[player]
            simplices, behavior = simplices_of(domain, player), behavior_of(played[player], domain)
            behavior = behavior.copy()
            for number, (key, value) in changed.items():
                actions = simplices.labels.actions(number)
                place = f"strategies[{quote(key)}]"
                behavior[simplices.block(number)] = distribution(value, actions, place)
            played[player] = strategy_of(behavior, domain)
        return Profile(played, self.domains, self._game)

    def _split(
        self, strategies: Mapping[Key, ArrayLike]
    ) -> tuple[dict[int, Vector], dict[int, dict[int, tuple[Key, ArrayLike]]]]:
        """Return the vectors by player, and the rest by player and information set."""
        if not isinstance(strategies, Mapping):
            raise TypeError(
                "strategies must map information sets to the probabilities of their actions, as in "
                f"{{'J': [0.8, 0.2]}}, got {quote(strategies)}"
            )
        vectors: dict[int, Vector] = {}
        places: dict[int, dict[int, tuple[Key, ArrayLike]]] = {}
        for key, value in strategies.items():
            if isinstance(key, str | tuple):
                player, number = self._place(key)
                if number in places.setdefault(player, {}):
                    raise ValueError(f"strategies has {quote(key)} twice, by two of its names")
                places[player][number] = key, value
            else:
                self._check_player(key)
                dimension = self.domains[key].dimension
                vectors[int(key)] = _validate.vector(value, dimension, f"strategies[{quote(key)}]")
        return vectors, places

    def _check_complete(self, strategies: Mapping[Key, ArrayLike]) -> None:
        """Refuse strategies that lack an information set where there is a choice."""
        vectors, places = self._split(strategies)
        missing = []
        for player, domain in enumerate(self.domains):
            simplices, given = blocks_of(domain), places.get(player, {})
            if simplices is None and player not in vectors:
                missing.append(str(player))
            elif simplices is not None and player not in vectors:
                missing += [
                    quote(label_of(simplices, number) or (player, number))
                    for number in np.flatnonzero(simplices.sizes > 1).tolist()
                    if number not in given
                ]
        if missing:
            ellipsis = f" and {len(missing) - 6} more" if len(missing) > 6 else ""
            raise ValueError(
                f"strategies lacks {', '.join(missing[:6])}{ellipsis}; add them, or pass "
                "otherwise='uniform'"
            )

    # Profiles are immutable; a pickle holds the description of the game instead of the game.

    def __copy__(self) -> "Profile":
        return self

    def __deepcopy__(self, memo: object) -> "Profile":
        return self

    def __reduce__(self) -> tuple[type["Profile"], tuple[object, ...]]:
        game = self._game if self._game is None else self._described()
        return Profile, (tuple(self), self.domains, game)

    def _described(self) -> Mapping[str, str | None]:
        if self._game is None:
            raise ValueError(
                "this profile has no game, which a file must name; build it as "
                "Profile(strategies, game.domains, game)"
            )
        return self._game if isinstance(self._game, Mapping) else describe(self._game)

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
        if not isinstance(key, slice):
            self._check_player(key, minimum=-len(self))
        return super().__getitem__(key)

    def unreached(self, player: int) -> Indices:
        """Return the numbers of the information sets that the player's strategy does not reach.

        The distribution that is shown there is uniform.
        """
        return np.flatnonzero(reach_of(self[player], self.domains[player]) == 0.0)

    # Export and import

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain dicts, lists, strings and numbers, as in a JSON file.

        Under ``"players"``, for each player a list of its information sets with their numbers,
        labels, actions and the probabilities of these; under ``"game"`` the game's name and its
        ``fingerprint``.

        Raises
        ------
        ValueError
            When the profile has no game, or a player's set has no information sets.
        """
        players = [list(self._records(player)) for player in range(len(self))]
        return {**self._head(), "players": players}

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write ``to_dict`` into a file, which ``from_json`` reads.

        Errors are those of ``to_dict``, and an OSError where the file cannot be written.
        """
        write_json(self._head(), map(self._records, range(len(self))), path)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a table for spreadsheets, with a line for each action.

        Its columns are ``player``, ``information_set``, ``label``, ``action``, ``probability``
        and ``reach``, the probability that the player's strategy reaches the information set. It
        does not name the game and cannot be read back. A label or an action that a spreadsheet
        would take for a formula is preceded by an apostrophe. Errors are those of ``to_json``, but
        no game is needed.
        """
        write_csv(path, _COLUMNS, self._rows())

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``to_csv`` for pandas.

        An ImportError says that pandas is not installed, a ValueError that a player's set has no
        information sets.
        """
        rows = (dict(zip(_COLUMNS, row, strict=True)) for row in self._rows())
        return rows_to_dataframe(_COLUMNS, rows)

    def _head(self) -> dict[str, Any]:
        return {"format": TREE, "version": VERSION, "game": dict(self._described())}

    def _records(self, player: int) -> Iterator[dict[str, Any]]:
        """Yield what a file holds of each information set of a player."""
        domain = self.domains[player]
        simplices, behavior = simplices_of(domain, player), behavior_of(self[player], domain)
        for number in range(simplices.blocks):
            label, actions = label_of(simplices, number), simplices.labels.actions(number)
            probabilities = behavior[simplices.block(number)].tolist()
            yield record_of(number, label, actions, probabilities)

    def _rows(self) -> Iterator[tuple[object, ...]]:
        """Yield a row for each action of each information set of each player."""
        for player, domain in enumerate(self.domains):
            reach = reach_of(self[player], domain)
            for record in self._records(player):
                number, label, actions, probabilities = record.values()
                for action, probability in zip(actions, probabilities, strict=True):
                    yield player, number, label, action, probability, float(reach[number])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], game: Game | None = None) -> "Profile":
        """Return the profile of the result of ``to_dict``; see ``from_json``."""
        return cls._read(data, game, "data")

    @classmethod
    def from_json(cls, path: str | PathLike[str], game: Game | None = None) -> "Profile":
        """Return the profile in a file of the format that ``to_json`` writes.

        Parameters
        ----------
        path
            The file.
        game
            The game; by default the registered game that the file names. That is built only if its
            size is in proportion to the file's; other games must be passed.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When the file is of another game, is no complete JSON, or holds no strategy:
            information sets are unknown, missing, duplicate or have other names, or probabilities
            do not sum to 1 within 1e-6. The error gives the place.
        """
        if not isinstance(path, str | PathLike):
            hint = "pass from_json(path, game)"
            raise TypeError(_validate.must_be("path", "the path of a file", path, hint))
        path = Path(path)
        return cls._read(read_json(path), game, str(path))

    @classmethod
    def _read(cls, data: object, game: Game | None, source: str) -> "Profile":
        try:
            played, game = strategies(data, game, source)
            return cls(played, game.domains, game)
        except RecursionError as error:
            raise ValueError(f"{source} is nested too deeply to be a strategy") from error

    # Information sets by name

    def _place(self, key: str | tuple[int, str | int]) -> tuple[int, int]:
        if isinstance(key, str):
            key = self._owner(key), key
        if len(key) != 2:
            raise TypeError(
                f"a key of several parts is (player, information set), got {quote(key)}"
            )
        player, name = key
        self._check_player(player)
        simplices = blocks_of(self.domains[player])
        if simplices is None:
            raise ValueError(
                f"player {player} has no information sets, it plays on "
                f"{quote(self.domains[player])}; ask for profile[{player}]"
            )
        if isinstance(name, str) and not simplices.labels.named:
            raise _unnamed(name)
        return player, simplices.labels.find(name)

    def _check_player(self, player: SupportsIndex, *, minimum: int = 0) -> None:
        try:
            number = operator.index(player)
        except TypeError as error:
            raise TypeError(
                f"a player has a number, got {quote(player)}; try profile[0] or profile[0, 'label']"
                "; labels are texts, as str(('K', 'pb'))"
            ) from error
        if not minimum <= number < len(self):
            raise ValueError(f"there is no player {player}: they go from 0 to {len(self) - 1}")

    def _owner(self, label: str) -> int:
        """Return the only player with an information set of this label."""
        sets = [(player, blocks_of(domain)) for player, domain in enumerate(self.domains)]
        named = [(player, own) for player, own in sets if own is not None and own.labels.named]
        owners = [player for player, own in named if own.labels.numbers(label)]
        if len(owners) > 1:
            shown = ", ".join(f"profile[{player}, {quote(label)}]" for player in owners)
            raise ValueError(f"label {quote(label)} is ambiguous: ask for one of {shown}")
        if owners:
            return owners[0]
        known = [own.labels.block(number) for _, own in named for number in range(own.blocks)]
        if not known:
            raise _unnamed(label)
        raise ValueError(
            f"no player has an information set {quote(label)}; the labels are "
            f"{_validate.candidates(known)}{_validate.did_you_mean(label, known)}"
        )

    def __str__(self) -> str:
        return "\n".join(line for player in range(len(self)) for line in self._table(player))

    def _table(self, player: int) -> Iterator[str]:
        """Yield the lines of a player's printed strategy."""
        yield f"player {player}"
        simplices = blocks_of(self.domains[player])
        if simplices is None:
            yield f"  {self[player]}"
            return
        behavior = behavior_of(self[player], self.domains[player])
        unreached = set(self.unreached(player).tolist())
        names = [
            printable(label_of(simplices, i) or "") for i in range(min(simplices.blocks, MOST))
        ]
        width = max(map(len, names), default=0)
        for number, name in enumerate(names):
            actions = map(printable, simplices.labels.actions(number))
            pairs = zip(actions, behavior[simplices.block(number)], strict=True)
            played = "  ".join(f"{action} {probability:.4f}" for action, probability in pairs)
            flag = "  (never reached)" if number in unreached else ""
            yield f"  {name:<{width}}  {played}{flag}"
        if simplices.blocks > MOST:
            yield f"  ... {simplices.blocks - MOST} more information sets"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from regretkit.display._html import profile_html

        return profile_html(self)


def _unnamed(label: str) -> ValueError:
    return ValueError(
        f"there is no information set {quote(label)}, because none is named, as in a normal form: "
        "strategies go by player, as in profile[0] or {0: [0.5, 0.5]}"
    )
