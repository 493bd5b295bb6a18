"""A strategy for each player, as vectors and as a table."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, final, overload

from regretkit._util import _validate
from regretkit._util._files import write_csv
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._fingerprint import describe
from regretkit.games._game import Game, as_profile, check_game
from regretkit.games._profile_files import read_json, write_json
from regretkit.games._profile_json import as_dict, game_of, strategies
from regretkit.games._profile_table import (
    Row,
    behavior_of,
    blocks_of,
    never_reached,
    rows,
    simplices_of,
    table,
)
from regretkit.sets import Simplices, StrategySet

if TYPE_CHECKING:
    import pandas as pd


@final
class Profile(tuple[Vector, ...]):
    """One strategy for each player: a tuple of vectors that knows where they live.

    ``profile[0]`` is player 0's vector. ``profile["Kb"]`` is the distribution over actions at the
    information set of that label, and ``profile[1, "Kb"]`` or ``profile[1, 4]`` says whose it is.
    Printing it shows a table. It can be written into files, and read from them.

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
    """The game, or only what files say about it."""

    def __new__(
        cls,
        strategies: Iterable[Vector],
        domains: Sequence[StrategySet],
        game: Game | Mapping[str, str | None] | None = None,
    ) -> "Profile":
        """Put one strategy for each player together.

        Parameters
        ----------
        strategies
            For each player a vector of its set.
        domains
            The players' sets, as in ``game.domains``.
        game
            The game, for files to say which one it is; or what :meth:`to_dict` says about it.

        Raises
        ------
        TypeError, ValueError
            When there is not one finite vector of the right length for each player.
        """
        vectors = [vector.copy() for vector in as_profile(strategies, domains)]
        for vector in vectors:
            vector.setflags(write=False)
        if not (game is None or isinstance(game, Mapping)):
            check_game(game)
        self = super().__new__(cls, vectors)
        self.domains, self._game = tuple(domains), game
        return self

    # Nothing in it ever changes; and a pickle needs to hold no game.

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
                "this profile does not know which game it is of, and a file must say so; build "
                "it as Profile(strategies, game.domains, game)"
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
            here = simplices_of(self.domains[player], player).block(number)
            return behavior_of(self[player], self.domains[player])[here]
        if not isinstance(key, slice):
            self._check_player(key, least=-len(self))
        return super().__getitem__(key)

    def unreached(self, player: int) -> Indices:
        """Return the numbers of the information sets to which the player's own play never comes.

        What is shown there is uniform play, which stands for no play at all.
        """
        return never_reached(self[player], self.domains[player])

    # In other forms, and back

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dicts, lists, texts and numbers, as a JSON file has it.

        Under ``"players"``, for each player a list of its information sets with their numbers,
        labels, actions and the probabilities of these; under ``"game"`` the game's name and its
        :func:`~regretkit.games.fingerprint`.

        Raises
        ------
        ValueError
            When it does not know its game, or a player's set is not made of decisions.
        """
        return as_dict(self, self._described())

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_dict` into a file, which :meth:`from_json` reads.

        Errors are those of :meth:`to_dict`, and an OSError where the file cannot be written.
        """
        write_json(self.to_dict(), path)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a table into a file, for spreadsheets: a line for each action.

        Its columns are ``player``, ``information_set``, ``label``, ``action``, ``probability``
        and ``reach``, the probability that the player's own play comes there. It does not say of
        which game it is, and is not read again. A label or an action that a spreadsheet would take
        for a formula is written behind an apostrophe.

        Raises
        ------
        ValueError
            When a player's set is not made of decisions.
        OSError
            When the file cannot be written.
        """
        write_csv(path, Row._fields, rows(self))

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of :meth:`to_csv` for pandas, which has to be installed.

        Raises
        ------
        ImportError
            When pandas is not installed.
        ValueError
            When a player's set is not made of decisions.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_dataframe needs pandas; install it with pip install 'regretkit[pandas]'"
            ) from error
        return pd.DataFrame(rows(self), columns=list(Row._fields))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], game: Game | None = None) -> "Profile":
        """Return the profile that :meth:`to_dict` made ``data`` of; see :meth:`from_json`."""
        return cls._read(data, game, "data")

    @classmethod
    def from_json(cls, path: str | PathLike[str], game: Game | None = None) -> "Profile":
        """Return the profile in a file of the format that :meth:`to_json` writes.

        Parameters
        ----------
        path
            The file.
        game
            The game it is of; by default the one of the catalogue that has the name in the file.
            That is built only where its size is in proportion to the file's; a game that is much
            larger, and one that is not registered, has to be passed.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When the file is of another game, or holds no strategy: it is cut off or no JSON; an
            information set is unknown, missing or there twice, or called otherwise; probabilities
            are none, or do not sum to 1 within 1e-6. The error says where.
        """
        path = Path(path)
        return cls._read(read_json(path), game, str(path))

    @classmethod
    def _read(cls, data: object, game: Game | None, what: str) -> "Profile":
        try:
            game = game_of(data, what) if game is None else game
            return cls(strategies(data, game, what), game.domains, game)
        except RecursionError as error:
            raise ValueError(f"{what} is nested too deeply to be a strategy") from error

    # Information sets by their names

    def _simplices(self, player: int) -> Simplices | None:
        return blocks_of(self.domains[player])

    def _place(self, key: str | tuple[int, str | int]) -> tuple[int, int]:
        """Return the player and the number of an information set."""
        if isinstance(key, str):
            key = self._owner(key), key
        if len(key) != 2:
            raise TypeError(
                f"a key of several parts is (player, information set), got {quote(key)}"
            )
        player, name = key
        self._check_player(player)
        simplices = self._simplices(player)
        if simplices is None:
            raise ValueError(
                f"player {player} has no information sets, it plays on "
                f"{quote(self.domains[player])}; ask for profile[{player}]"
            )
        if isinstance(name, str) and not simplices.labels.named:
            raise self._unnamed(name)
        return player, simplices.labels.find(name)

    def _check_player(self, player: SupportsIndex, *, least: int = 0) -> None:
        try:
            number = operator.index(player)
        except TypeError as error:
            raise TypeError(
                f"a player has a number, got {quote(player)}; try profile[0] or profile[0, 'label']"
            ) from error
        if not least <= number < len(self):
            raise ValueError(f"there is no player {player}: they go from 0 to {len(self) - 1}")

    def _unnamed(self, label: str) -> ValueError:
        return ValueError(
            f"there is no information set {quote(label)}, because none is named, as in a normal "
            "form: ask for a player's strategy, as in profile[0]"
        )

    def _owner(self, label: str) -> int:
        """Return the one player who has an information set of this label."""
        owners = [
            player
            for player in range(len(self))
            if (simplices := self._simplices(player)) and simplices.labels.numbers(label)
        ]
        if len(owners) > 1:
            shown = ", ".join(f"profile[{player}, {quote(label)}]" for player in owners)
            raise ValueError(f"label {quote(label)} is ambiguous: ask for one of {shown}")
        if not owners:
            known = [
                simplices.labels.block(number)
                for player in range(len(self))
                if (simplices := self._simplices(player)) and simplices.labels.named
                for number in range(simplices.blocks)
            ]
            if not known:
                raise self._unnamed(label)
            shown = _validate.candidates(known)
            raise ValueError(
                f"no player has an information set {quote(label)}; the labels are {shown}"
            )
        return owners[0]

    def __str__(self) -> str:
        return "\n".join(
            line
            for player, strategy in enumerate(self)
            for line in table(player, strategy, self.domains[player])
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from regretkit.display._html import profile_html

        return profile_html(self)
