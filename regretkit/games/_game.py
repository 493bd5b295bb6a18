"""What a game is to those who learn in it."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit._util._validate import LARGEST, _squares, floats, ordered, quote
from regretkit.sets import DecisionTree, StrategySet

ATOL = 1e-6
"""How far a strategy may lie outside its set, through rounding over a long run."""


class Game(Protocol):
    """A game in which every player's payoff is linear in each player's strategy.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> game: Game = matching_pennies()
    >>> game.domains
    (Simplices(2), Simplices(2))
    """

    @property
    def domains(self) -> tuple[StrategySet, ...]:
        """The set on which each player plays."""
        ...

    def utility(
        self, player: int, profile: Sequence[Vector], payoff_of: int | None = None
    ) -> Vector:
        """Return what each coordinate of ``player`` is worth while the others play ``profile``.

        It is the gradient of the expected payoff of player ``of``, by default of ``player``
        itself, shape ``(dimension,)``. The player's own entry of ``profile`` is not looked at.
        """
        ...

    def value(self, profile: Sequence[Vector]) -> Vector:
        """Return the expected payoff of every player, shape ``(players,)``."""
        ...


def check_game(game: Game) -> None:
    """Refuse what is no game."""
    if isinstance(game, str):
        raise TypeError(f"game must be a Game, got its name; pass games.load({quote(game)})")
    wanted = ("domains", "utility", "value")
    if isinstance(game, type) or not all(hasattr(game, name) for name in wanted):
        raise TypeError(
            f"game must be a Game, with domains, utility and value, got {quote(game)}; "
            "pass one such as games.load('kuhn_poker')"
        )


def check_player(player: int, players: int) -> None:
    """Refuse a player that is not in the game."""
    whole = isinstance(player, int | np.integer) and not isinstance(player, bool)
    if not (whole and 0 <= player < players):
        raise ValueError(f"player must be one of 0 to {players - 1}, got {quote(player)}")


@final
class ValidatedProfile(list[Vector]):
    """One finite vector of the right length for each player, as :func:`as_profile` returns it.

    An entry that is replaced is checked alone, so that a run of many players who learn one after
    the other does not check all of them for each.
    """

    def __init__(self, strategies: Iterable[Vector], domains: Sequence[StrategySet]) -> None:
        super().__init__(strategies)
        self.domains = domains

    @override
    def __setitem__(self, player: Any, strategy: Any) -> None:
        vector = np.asarray(strategy, dtype=np.float64)
        _check_entry(vector, self.domains[player], player, finite=True)
        super().__setitem__(player, vector)


def as_profile(
    profile: Iterable[ArrayLike],
    domains: Sequence[StrategySet],
    *,
    ignored_player: int | None = None,
) -> list[Vector]:
    """Return one finite vector of the right length for each player, or raise.

    The entry of player ``ignored_player``, which is ignored, need not be finite. A profile that was
    checked for the same domains is returned as it is.
    """
    if isinstance(profile, ValidatedProfile) and profile.domains is domains:
        return profile
    try:
        ordered(profile, "profile")
        strategies = [floats(strategy, "a strategy") for strategy in profile]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"profile must be one vector for each player, got {quote(profile)}"
        ) from error
    if len(strategies) != len(domains):
        raise ValueError(
            f"profile has {len(strategies)} strategies, but the game has {len(domains)} players; "
            "pass one strategy for each"
        )
    for player, (strategy, domain) in enumerate(zip(strategies, domains, strict=True)):
        _check_entry(strategy, domain, player, finite=player != ignored_player)
    return strategies if ignored_player is not None else ValidatedProfile(strategies, domains)


def _check_entry(strategy: Vector, domain: StrategySet, player: int, *, finite: bool) -> None:
    """Refuse a vector that has another length than a player's strategies, or is not finite."""
    if strategy.shape != (domain.dimension,):
        raise ValueError(
            f"profile[{player}] has shape {strategy.shape}, but player {player} plays in "
            f"dimension {domain.dimension}; pass shape ({domain.dimension},)"
            f"{_sequence_form(domain)}"
        )
    if finite and not is_finite(strategy):
        raise ValueError(
            f"profile[{player}] must be finite, got {format_array(strategy)}; repair it"
        )


def as_strategies(
    game: Game, profile: Iterable[ArrayLike], *, ignored_player: int | None = None
) -> list[Vector]:
    """Return a profile that lies in the players' sets, or refuse the game or what came."""
    check_game(game)
    strategies = as_profile(profile, game.domains, ignored_player=ignored_player)
    for player, (strategy, domain) in enumerate(zip(strategies, game.domains, strict=True)):
        if player != ignored_player:
            check_strategy(strategy, domain, player, f"profile[{player}]")
    return strategies


def check_strategy(strategy: Vector, domain: StrategySet, player: int, name: str) -> None:
    """Refuse a vector that is no strategy of a player."""
    if not domain.contains(strategy, atol=ATOL):
        raise ValueError(
            f"{name} must be one of player {player}'s, a point of {quote(domain)} within "
            f"{ATOL:g}, got {format_array(strategy)}{_sequence_form(domain)}"
        )


def _sequence_form(domain: StrategySet) -> str:
    """Say how to come by a strategy, where behavior may be mistaken for one."""
    tree = "; on a tree it is in sequence form, tree.sequence_form(behavior)"
    return tree if isinstance(domain, DecisionTree) else ""


def format_array(array: NDArray[np.float64]) -> str:
    """Return an array as messages show it, cut where it is long."""
    return np.array2string(array, threshold=8, max_line_width=200)


def is_finite(array: NDArray[np.float64]) -> bool:
    """Say whether all numbers are finite."""
    # The sum of squares is the quickest look at all of them, and almost always settles it.
    return math.isfinite(_squares(array)) or bool(np.isfinite(array).all())


def check_payoffs(payoffs: NDArray[np.float64], where: Callable[[tuple[int, ...]], str]) -> None:
    """Refuse payoffs that are not finite, or so large that sums of them might not be."""
    # NaN is in no order with anything, and fails it too.
    small = not payoffs.size or (payoffs.min() >= -LARGEST and payoffs.max() <= LARGEST)
    if not small:
        wrong = np.argwhere(~(np.abs(payoffs) <= LARGEST))
        first = tuple(int(i) for i in wrong[0])
        wanted = f"at most {LARGEST:g} in size" if np.isfinite(payoffs[first]) else "finite"
        raise ValueError(
            f"payoffs must be {wanted}, got {payoffs[first]} at {where(first)}; "
            "rescale or repair them"
        )


def constant(totals: NDArray[np.float64], payoffs: NDArray[np.float64]) -> float | None:
    """Return the number that all ``totals`` are, up to the rounding of ``payoffs``, or None."""
    low, high = float(totals.min()), float(totals.max())
    return (low + high) / 2 if high - low <= 1e-12 * float(np.abs(payoffs).max()) else None
