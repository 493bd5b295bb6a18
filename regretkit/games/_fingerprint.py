"""Fingerprints: hashes that identify games independently of their names."""

import hashlib
import random
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit.games._adapters import as_history
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import Game, check_game
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.tree._history import (
    CHANCE,
    History,
    actions_of,
    check_length,
    outcomes_of,
    payoffs_of,
)
from regretkit.games.tree._rules import Rules

Part: TypeAlias = tuple[str, Vector | Indices | str]

_PLAYS = 20
"""Number of random plays in the fingerprint of rules."""

_KNOWN: WeakKeyDictionary[Game, str] = WeakKeyDictionary()


def fingerprint(game: Game | History | Rules) -> str:
    """Return 32 hexadecimal digits that identify a game independently of its name.

    They are the first half of a SHA-256 hash of

    ============== ================================================================================
    game           hashed
    ============== ================================================================================
    normal form    payoffs
    extensive form histories, information sets, probabilities and payoffs, without names
    rules          the histories of 20 random plays, with names of actions and information sets
    others         the players' sets, and utilities at two profiles, to six digits
    ============== ================================================================================

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


def _parts(game: Game) -> Iterable[Part]:
    """Return the data to hash."""
    if isinstance(game, NormalFormGame):
        return [("normal form", game.payoffs)]
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


def _digest(parts: Iterable[Part]) -> str:
    digest = hashlib.sha256()
    for name, part in parts:
        if isinstance(part, str):
            digest.update(f"{name} {len(part)} {part};".encode(errors="surrogatepass"))
            continue
        # + 0.0 turns -0.0 into 0.0. One byte order and width makes hashes independent of dtypes.
        numbers = part + 0.0 if part.dtype.kind == "f" else part
        kind = "<f8" if part.dtype.kind == "f" else "<i8"
        digest.update(f"{name} {part.shape};".encode())
        digest.update(np.ascontiguousarray(numbers, kind).data)
    return digest.hexdigest()[:32]


def _by_utilities(game: Game) -> Iterator[Part]:
    """Yield the sets, and at two profiles the norm of each utility and a random projection."""
    generator = np.random.default_rng(1)
    directions = [generator.normal(size=domain.dimension) for domain in game.domains]
    pairs = list(zip(game.domains, directions, strict=True))
    yield from (("set", repr(domain)) for domain in game.domains)
    inner = [domain.relative_interior_point() for domain in game.domains]
    outer = [domain.best_response(direction)[1] for domain, direction in pairs]
    for profile in (inner, outer):
        for player, direction in enumerate(directions):
            utility = game.utility(player, profile)
            size = float(np.abs(utility).max(initial=0.0))
            projection = float(utility @ direction) / (size or 1.0)
            yield "utility", f"{size:.5e} {round(projection, 6) + 0.0}"


def _by_plays(game: History | Rules) -> Iterator[Part]:
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
