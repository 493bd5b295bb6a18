"""Checks of what a run is put together from; each message names the argument."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from attrs import Attribute

from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.circuits._base import as_minimizers, check_distinct
from regretkit.games import Game
from regretkit.games._game import ATOL, check_game, format_array
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import DecisionTree, StrategySet

Thing = TypeVar("Thing", bound=Callable[..., object])

_DIRECTIONS = 4
"""Number of directions, and of opposite ones, in which a set is searched from its inner point."""


def as_seats(game: Game, minimizers: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return one minimizer for each player of a game, or refuse what came."""
    check_game(game)
    seated = as_minimizers(minimizers, "minimizers")
    if len(seated) != len(game.domains):
        raise ValueError(
            f"minimizers must be one for each of the {len(game.domains)} players, got {len(seated)}"
        )
    for player, minimizer in enumerate(seated):
        check_seat(minimizer, game.domains[player], player, f"minimizers[{player}]")
    check_distinct(seated)
    return seated


def check_seat(minimizer: RegretMinimizer, domain: StrategySet, player: int, name: str) -> None:
    """Refuse a minimizer that plays what its player cannot."""
    if minimizer.dimension != domain.dimension:
        raise ValueError(
            f"{name} plays in dimension {minimizer.dimension}, but player {player} plays on "
            f"{quote(domain)}; build it there{_how(domain)}"
        )
    if minimizer.domain == domain:
        return
    for point in _probes(minimizer.domain):
        if not domain.contains(point, atol=ATOL):
            raise ValueError(
                f"{name} plays on {quote(minimizer.domain)}, where {format_array(point)} lies, but "
                f"player {player} plays on {quote(domain)}; build it there{_how(domain)}"
            )


def _how(domain: StrategySet) -> str:
    tree = ": play on the tree, as in CFR(tree, RegretMatching)"
    return tree if isinstance(domain, DecisionTree) else ""


def _probes(domain: StrategySet) -> Iterable[Vector]:
    """Yield points of a set: an inner one, and the outermost ones in a few fixed directions."""
    yield domain.relative_interior_point()
    for direction in np.random.default_rng(1).normal(size=(_DIRECTIONS, domain.dimension)):
        for utility in (direction, -direction):
            yield domain.best_response(utility)[1]


def check_callable(_: object, attribute: "Attribute[Thing]", value: Thing) -> None:
    """Require something that can be called."""
    called(value, attribute.name)


def called(value: object, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function or something like one, got {quote(value)}")


def as_callbacks(callbacks: Iterable[Thing]) -> list[Thing]:
    """Return callbacks as a list, or refuse what came."""
    if not isinstance(callbacks, Iterable):
        raise TypeError(
            f"callbacks must be a sequence of functions, got {quote(callbacks)}; "
            "for a single one pass callbacks=[callback]"
        )
    watching = list(callbacks)
    for number, callback in enumerate(watching):
        called(callback, f"callbacks[{number}]")
    return watching
