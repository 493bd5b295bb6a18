"""Checks of what exact answers are asked about."""

import math
from numbers import Real

from regretkit._validate import quote
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games._game import check_game


def check_solvable(game: Game) -> None:
    """Refuse what has no matrix of payoffs."""
    check_game(game)
    if not isinstance(game, NormalFormGame | ExtensiveFormGame):
        raise TypeError(
            f"game must be a NormalFormGame or an ExtensiveFormGame, got {quote(game)}; "
            "their payoffs are what a linear program is made of"
        )


def check_normal_form(game: Game) -> None:
    """Refuse what has no table of payoffs."""
    check_game(game)
    if not isinstance(game, NormalFormGame):
        raise TypeError(
            f"game must be a NormalFormGame, whose outcomes can be gone through, got {quote(game)}"
        )


def check_tolerance(value: float, name: str) -> None:
    """Refuse what is no finite number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {quote(value)}")
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} must be finite and at least 0, got {quote(value)}")
