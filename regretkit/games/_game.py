"""The game protocol, and checks of profiles and payoffs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Vector
from regretkit._util._validate import (
    ATOL,
    LARGEST,
    floats,
    format_array,
    must_be,
    ordered,
    quote,
)
from regretkit.games.tree._history import check_methods
from regretkit.games.tree._rules import Rules
from regretkit.sets import DecisionTree, StrategySet


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
        """The strategy set of each player."""
        ...

    def utility(
        self, player: int, profile: Sequence[Vector], payoff_of: int | None = None
    ) -> Vector:
        """Return the utility vector of ``player`` while the others play ``profile``.

        It is the gradient of the expected payoff of player ``payoff_of``, by default ``player``,
        with respect to the strategy of ``player``, shape ``(dimension,)``. The player's entry of
        ``profile`` is ignored.
        """
        ...

    def value(self, profile: Sequence[Vector]) -> Vector:
        """Return the expected payoff of every player, shape ``(players,)``."""
        ...


def check_game(game: Game) -> None:
    """Raise a TypeError unless the value is a game."""
    if isinstance(game, str):
        raise TypeError(f"game must be a Game, got its name; pass games.load({quote(game)})")
    wanted = ("domains", "utility", "value")
    if not isinstance(game, type) and all(hasattr(game, name) for name in wanted):
        return
    if isinstance(game, np.ndarray | list | tuple):
        hint = "pass matrix_game(A), or NormalFormGame(A, B)"
        learners = isinstance(game, list | tuple) and hasattr((*game, None)[0], "next_strategy")
        if learners or hasattr(game, "to_json"):  # strategies
            hint = "the game comes first"
        raise TypeError(f"game must be a Game, got {quote(game)}; {hint}")
    if not isinstance(game, Rules):
        check_methods(game)
    if hasattr(game, "payoffs") and hasattr(game, "child"):
        hint = f"pass an object, {game.__name__}(), and " if isinstance(game, type) else ""
        raise TypeError(
            f"game must be a Game, got its rules, {quote(game)}; {hint}build its tree with "
            "ExtensiveFormGame.from_rules or from_history; solve, sampled_value, "
            "sampled_local_best_response and uniform_behavior need none"
        )
    if type(game).__module__.startswith("pygambit"):
        hint = "from_pygambit(game) reads one of pygambit"
        raise TypeError(must_be("game", "a Game", game, hint))
    raise TypeError(
        f"game must be a Game, with domains, utility and value, got {quote(game)}; "
        "pass one such as games.load('kuhn_poker')"
    )


def tree_hint(game: object) -> str:
    """Return what to pass in place of a game that can be turned into a game tree."""
    return "; pass game.to_tree(), the same game as a tree" if hasattr(game, "to_tree") else ""


def game_repr_html(game: Any) -> str:
    """Return a game as HTML, for notebooks."""
    from regretkit.display._html import game_html

    return game_html(game)


def check_player(player: int, players: int, name: str = "player") -> None:
    """Raise a ValueError unless the player is in the game."""
    is_number = isinstance(player, int | np.integer) and not isinstance(player, bool)
    if not (is_number and 0 <= player < players):
        raise ValueError(f"{name} must be one of 0 to {players - 1}, got {quote(player)}")


class ValidatedProfile(list[Vector]):
    """One finite vector of the right length for each player, as ``as_profile`` returns it.

    A replaced entry is checked alone, which alternating updates of many players need.
    """

    def __init__(self, strategies: Iterable[Vector], domains: Sequence[StrategySet]) -> None:
        super().__init__(strategies)
        self.domains = domains

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

    The entry of ``ignored_player`` need not be finite. A profile that was checked for the same
    domains is returned unchanged.
    """
    if isinstance(profile, ValidatedProfile) and profile.domains is domains:
        return profile
    try:
        ordered(profile, "profile")
        strategies = [floats(strategy, "a strategy") for strategy in profile]
    except (TypeError, ValueError) as error:
        hint = "Profile.from_labels(game, ...) makes one of probabilities by information set"
        if not any(isinstance(domain, DecisionTree) for domain in domains):
            hint = "pass [[0.5, 0.5], ...], a probability for each action"
        if hasattr(profile, "last_profile"):
            hint = "pass its average, run.average"
        elif hasattr(profile, "profile"):
            hint = "pass its profile, solution.profile"
        elif isinstance(profile, list | tuple) and any(
            hasattr(entry, "average") or hasattr(entry, "to_json") for entry in profile
        ):
            hint = "pass one player's strategy in each place, as run.average[0]"
        raise TypeError(must_be("profile", "one vector for each player", profile, hint)) from error
    if len(strategies) != len(domains):
        raise ValueError(
            f"profile has {len(strategies)} strategies, but the game has {len(domains)} players; "
            "pass one strategy for each"
        )
    for player, (strategy, domain) in enumerate(zip(strategies, domains, strict=True)):
        _check_entry(strategy, domain, player, finite=player != ignored_player)
    return strategies if ignored_player is not None else ValidatedProfile(strategies, domains)


def utility_arguments(
    domains: Sequence[StrategySet],
    player: int,
    profile: Sequence[Vector],
    payoff_of: int | None,
) -> tuple[list[Vector], int]:
    """Return the checked profile and the player whose payoff is meant, for ``Game.utility``."""
    check_player(player, len(domains))
    strategies = as_profile(profile, domains, ignored_player=player)
    if payoff_of is None:
        return strategies, player
    check_player(payoff_of, len(domains), "payoff_of")
    return strategies, payoff_of


def _check_entry(strategy: Vector, domain: StrategySet, player: int, *, finite: bool) -> None:
    """Raise a ValueError for a vector of the wrong length or with values that are not finite."""
    if strategy.shape != (domain.dimension,):
        raise ValueError(
            f"profile[{player}] has shape {strategy.shape}, but player {player} plays in "
            f"dimension {domain.dimension}; pass shape ({domain.dimension},)"
            + (f", of a profile run.average[{player}]" * (strategy.ndim > 1))
            + _sequence_form(domain)
        )
    if finite and not is_finite(strategy):
        raise ValueError(
            f"profile[{player}] must be finite, got {format_array(strategy)}; repair it"
        )


def as_strategies(
    game: Game, profile: Iterable[ArrayLike], *, ignored_player: int | None = None
) -> list[Vector]:
    """Return a profile whose strategies lie in the players' sets, or raise."""
    check_game(game)
    strategies = as_profile(profile, game.domains, ignored_player=ignored_player)
    for player, (strategy, domain) in enumerate(zip(strategies, game.domains, strict=True)):
        if player != ignored_player:
            check_strategy(strategy, domain, player, f"profile[{player}]")
    return strategies


def check_strategy(strategy: Vector, domain: StrategySet, player: int, name: str) -> None:
    """Raise a ValueError unless a vector is a strategy of a player."""
    if not domain.contains(strategy, atol=ATOL):
        raise ValueError(
            f"{name} must be one of player {player}'s, a point of {quote(domain)} within "
            f"{ATOL:g}, got {format_array(strategy)}{_sequence_form(domain)}"
        )


def _sequence_form(domain: StrategySet) -> str:
    """Return a hint for behavioral strategies, which are not in sequence form."""
    tree = "; on a tree it is in sequence form, tree.sequence_form(behavior)"
    return tree if isinstance(domain, DecisionTree) else ""


def is_finite(array: NDArray[np.float64]) -> bool:
    """Return whether all numbers are finite."""
    return bool(np.isfinite(array).all())


def check_payoffs(payoffs: NDArray[np.float64], describe: Callable[[tuple[int, ...]], str]) -> None:
    """Raise a ValueError for payoffs that are not finite, or whose sums might overflow."""
    # Comparisons with NaN are false.
    small = not payoffs.size or (payoffs.min() >= -LARGEST and payoffs.max() <= LARGEST)
    if not small:
        wrong = np.argwhere(~(np.abs(payoffs) <= LARGEST))
        first = tuple(int(i) for i in wrong[0])
        wanted = f"at most {LARGEST:g} in size" if np.isfinite(payoffs[first]) else "finite"
        raise ValueError(
            f"payoffs must be {wanted}, got {payoffs[first]} at {describe(first)}; "
            "rescale or repair them"
        )


def constant(totals: NDArray[np.float64], payoffs: NDArray[np.float64]) -> float | None:
    """Return the common value of ``totals`` up to the rounding of ``payoffs``, or None."""
    low, high = float(totals.min()), float(totals.max())
    return (low + high) / 2 if high - low <= 1e-12 * float(np.abs(payoffs).max()) else None
