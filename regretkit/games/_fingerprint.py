"""Fingerprints: hashes that identify games independently of their names."""

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote, shorten
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import Game, check_game
from regretkit.games._normal_form import NormalFormGame
from regretkit.games._registry import check_small, load, names
from regretkit.games.tree._history import (
    CHANCE,
    History,
    actions_of,
    check_length,
    outcomes_of,
    payoffs_of,
)
from regretkit.games.tree._rules import Rules
from regretkit.sets import DecisionTree, Simplices

Numbers: TypeAlias = Vector | Indices

_DIGITS = 6
"""Decimals of the utilities that identify a game without a table of payoffs."""

_PLAYS = 20
"""Random plays that identify rules."""

_BYTES_OF_ANY_GAME, _BYTES_A_BYTE = 2**23, 4_000
"""Memory for building a game that a file names: a constant, and for each byte of the file."""

_MOST_SHOWN = 150
"""Largest number of characters of a file that a message quotes."""

_KNOWN: WeakKeyDictionary[Game, str] = WeakKeyDictionary()


def fingerprint(game: Game | History | Rules) -> str:
    """Return 32 hexadecimal digits that identify a game independently of its name.

    Two games share them if all their numbers are equal: the payoffs of a game in normal form, the
    histories, probabilities and payoffs of one in extensive form, the public tree and the deal of a
    public game. Names of games, information sets and actions do not matter. Other games are
    identified by the players' sets and by a few utilities, to six digits; and rules alone by what
    some random plays meet, names included.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, read_efg, write_efg
    >>> game = kuhn_poker()
    >>> fingerprint(game) == fingerprint(read_efg(write_efg(game)))
    True
    >>> fingerprint(game) == fingerprint(kuhn_poker(deck=4))
    False
    """
    if isinstance(game, History | Rules):
        return _digest(_by_plays(game))
    check_game(game)
    if game not in _KNOWN:
        _KNOWN[game] = _digest(_parts(game))
    return _KNOWN[game]


def _parts(game: Game) -> "Iterable[tuple[str, Numbers | str]]":
    """Return what identifies a game."""
    from regretkit.games.public import PublicGame  # not at the top: it takes time to load

    if isinstance(game, NormalFormGame):
        return [("normal form", game.payoffs)]
    if isinstance(game, PublicGame):
        return game._numbers()
    if not isinstance(game, ExtensiveFormGame):
        return _by_utilities(game)
    tree = game.tree
    return [
        ("extensive form", tree.parent),
        ("player", tree.player),
        ("information set", tree.information_set),
        ("action", tree.action),
        ("probability", tree.probability),
        ("payoffs", tree.payoffs),
    ]


def describe(game: Game | History) -> dict[str, str | None]:
    """Return the description of a game in files."""
    name = getattr(game, "name", None)
    return {"name": name if isinstance(name, str) else None, "fingerprint": fingerprint(game)}


def is_description(value: object) -> bool:
    """Return whether a value has the form of a result of ``describe``."""
    if not isinstance(value, dict) or value.keys() != {"name", "fingerprint"}:
        return False
    return isinstance(value["fingerprint"], str) and isinstance(value["name"], str | None)


def check_described(game: Game | History, described: Mapping[str, str | None], source: str) -> None:
    """Raise a ValueError unless a game has the fingerprint in a file."""
    found, wanted = fingerprint(game), described["fingerprint"]
    if found != wanted:
        raise ValueError(
            f"{source} belongs to the game {_shown(described['name'])} (fingerprint "
            f"{_shown(wanted)}), but this is {quote(game)} (fingerprint {found}); pass the game it "
            "was made for"
        )


def find_described(described: Mapping[str, str | None], source: str, size: int) -> Game:
    """Return the game that a file of ``size`` bytes belongs to, found by its name.

    The name is not trusted: it may be a registered one with small literals as arguments, and the
    game may take memory in proportion to the file, which lists all of its information sets.
    """
    name = described["name"] or ""
    belongs = f"{source} belongs to the game {_shown(name)}"
    # A file must not point to another file, which load would read.
    if name.partition("(")[0] not in names():
        raise ValueError(f"{belongs}, and no registered game is called so; pass it as game")
    limit = _BYTES_OF_ANY_GAME + _BYTES_A_BYTE * size
    try:
        check_small(name)
        game = load(name, memory_limit=limit)
    except Exception as error:  # of any factory, including a user's
        told = shorten(str(error), _MOST_SHOWN)
        raise ValueError(
            f"{belongs}, which is not built from its name: {told}; pass it as game"
        ) from error
    check_described(game, described, source)
    return game


def _shown(name: str | None) -> str:
    return shorten(ascii(name)[1:-1], _MOST_SHOWN) if name else "without a name"


def _digest(parts: Iterable[tuple[str, Numbers | str]]) -> str:
    digest = hashlib.sha256()
    for name, part in parts:
        if isinstance(part, str):
            digest.update(f"{name} {len(part)} {part};".encode(errors="surrogatepass"))
            continue
        # One dtype for all integer and float types, and no negative zero
        numbers = part + 0.0 if part.dtype.kind == "f" else part
        kind = "<f8" if part.dtype.kind == "f" else "<i8"
        digest.update(f"{name} {part.shape};".encode())
        digest.update(np.ascontiguousarray(numbers, kind).data)
    return digest.hexdigest()[:32]


def _by_utilities(game: Game) -> Iterator[tuple[str, Numbers | str]]:
    for domain in game.domains:
        if isinstance(domain, DecisionTree):
            yield "parents", domain.parent_sequence
            yield "tree", domain.sizes
        elif isinstance(domain, Simplices):
            yield "simplices", domain.sizes
        else:
            yield "set", f"{type(domain).__name__} of dimension {domain.dimension}"
    generator = np.random.default_rng(1)
    directions = [generator.normal(size=domain.dimension) for domain in game.domains]
    pairs = list(zip(game.domains, directions, strict=True))
    inner = [domain.relative_interior_point() for domain in game.domains]
    outer = [domain.best_response(direction)[1] for domain, direction in pairs]
    for profile in (inner, outer):
        for player, direction in enumerate(directions):
            yield "worth", _rounded(game.utility(player, profile), direction)


def _by_plays(game: History | Rules) -> Iterator[tuple[str, Numbers | str]]:
    from regretkit.games._adapters import as_history  # not at the top: it takes time to load

    generator = random.Random(1)
    for _ in range(_PLAYS):
        history = as_history(game)
        for moves in count():
            if history.is_terminal():
                break
            check_length(moves)
            player = history.player()
            if player == CHANCE:
                actions, probabilities = zip(*outcomes_of(history), strict=True)
                yield "chance", np.array(probabilities)
            else:
                actions = tuple(actions_of(history))
                yield "information set", f"{player} {history.information_set()!r}"
            yield "actions", repr(actions)
            history = history.child(generator.choice(actions))
        yield "payoffs", np.array(payoffs_of(history), dtype=np.float64)


def _rounded(utility: Vector, direction: Vector) -> Indices:
    """Return the projection of a utility on a direction, and its size, as rounded integers."""
    size = float(np.abs(utility).max(initial=0.0))
    projection = float(utility @ direction) / size if size > 0.0 else 0.0
    digits = round(projection * 10**_DIGITS)
    mantissa = f"{size:.{_DIGITS - 1}e}".encode()
    return np.array([digits, *mantissa], dtype=np.int64)
