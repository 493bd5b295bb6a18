"""The base class of games, and checks of profiles and payoffs."""

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar

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
from regretkit.games.tree._history import History
from regretkit.sets import DecisionTree, StrategySet

Domain = TypeVar("Domain", bound=StrategySet, default=StrategySet, covariant=True)


class Game(abc.ABC, Generic[Domain]):
    """A game: a strategy set for each player, and the utilities of a profile.

    Payoffs u_i are linear in each player's strategy. Player i's utility vector

        g_i(x)  =  the gradient of u_i with respect to x_i,      u_i(x)  =  <g_i(x), x_i>

    does not depend on x_i, so it determines the payoff of every strategy of player i.

    In a ``GraphGame`` and an ``ImperfectRecallGame`` payoffs are not linear: strategies there are
    behaviors. To define a game, set ``domains`` and implement ``_utility``. Override ``_value`` if
    there is a faster way to compute it.

    Attributes
    ----------
    domains
        The strategy set of each player.
    name
        Name of the game, or None.
    linear
        Whether payoffs are linear in each player's strategy.
    recall_violation
        Description of an information set that violates perfect recall, or None.
    coarse_information_set
        For each player, the number of this game's information set that contains each information
        set of ``refinement``. None under perfect recall.

    Examples
    --------
    Player 0 chooses a in [0, 1], player 1 a distribution x. The payoff of player 0 is a x[0]:

    >>> from regretkit.sets import Box, Simplices
    >>> class Share(Game):
    ...     domains = (Box([0.0], [1.0]), Simplices(2))
    ...     def _utility(self, player, strategies, payoff_of):
    ...         sign = 1.0 if payoff_of == 0 else -1.0
    ...         if player == 0:
    ...             return sign * strategies[1][:1]
    ...         return sign * np.array([strategies[0][0], 0.0])
    >>> Share().value([np.array([0.5]), np.array([0.5, 0.5])])
    array([ 0.25, -0.25])
    """

    domains: tuple[Domain, ...]
    name: str | None = None
    linear: bool = True
    recall_violation: str | None = None
    coarse_information_set: Any = None

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.domains)

    @final
    def utility(
        self, player: int, profile: Sequence[Vector], payoff_of: int | None = None
    ) -> Vector:
        """Return the utility vector of ``player`` against the others' strategies in ``profile``.

        It is the gradient of the expected payoff of player ``payoff_of``, by default ``player``,
        with respect to the strategy of ``player``, shape ``(dimension,)``. If payoffs are linear,
        it does not depend on the player's entry of ``profile``, which is not checked.
        """
        check_player(player, self.players)
        ignored = player if self.linear else None
        strategies = as_profile(profile, self.domains, ignored_player=ignored)
        if payoff_of is None:
            payoff_of = player
        check_player(payoff_of, self.players, "payoff_of")
        return self._utility(player, strategies, payoff_of)

    @final
    def value(self, profile: Sequence[Vector]) -> Vector:
        """Return the expected payoff of every player, shape ``(players,)``."""
        return self._value(as_strategies(self, profile))

    @abc.abstractmethod
    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the utility vector of checked strategies."""

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        """Return the expected payoffs of checked strategies."""
        pairs = enumerate(zip(self.domains, strategies, strict=True))
        return np.array([d.value(self._utility(i, strategies, i), x) for i, (d, x) in pairs])

    def _outcomes(self) -> Vector | None:
        """Return the payoffs at all ends, shape ``(players, ends)``, None if unknown."""
        return None

    def realization(self, player: int, strategy: Vector) -> Vector:
        """Return the vector whose weighted sum is the average strategy.

        If payoffs are linear, it is the strategy itself. A behavior is weighted by the player's
        probability of reaching each information set, as in sequence form.
        """
        return strategy

    @property
    def constant_sum(self) -> float | None:
        """The sum of all payoffs if it is constant up to 1e-12 of the largest payoff, else None.

        None also if the payoffs are unknown.
        """
        paid = self._outcomes()
        return None if paid is None else constant(paid.sum(axis=0), paid)

    @property
    def size(self) -> int | None:
        """Number of histories, outcomes or nodes, None if unknown."""
        return None

    @property
    def payoff_bounds(self) -> tuple[tuple[float, float], ...] | None:
        """The least and the largest payoff of each player, None if unknown."""
        paid = self._outcomes()
        if paid is None:
            return None
        return tuple(zip(paid.min(axis=1).tolist(), paid.max(axis=1).tolist(), strict=True))

    @property
    def deals(self) -> bool:
        """Whether chance has a move."""
        return False

    @property
    def refinement(self) -> "Game[Any]":
        """The perfect-recall refinement; the game itself under perfect recall."""
        return self

    def coarsen(self, profile: Sequence[Vector]) -> Sequence[Vector]:
        """Return the profile of this game that corresponds to a profile of ``refinement``."""
        return profile

    def history(self) -> History:
        """Return the empty history, to play the game move by move."""
        raise TypeError(f"{quote(self)} has no histories; pass its rules, or a game with a tree")

    def _repr_html_(self) -> str:
        from regretkit.display._html import game_html

        return game_html(self)


def check_game(game: object) -> None:
    """Raise a TypeError unless ``game`` is a game."""
    if isinstance(game, Game):
        return
    if isinstance(game, str):
        raise TypeError(f"game must be a Game, got a name; pass games.load({quote(game)})")
    if isinstance(game, np.ndarray | list | tuple):
        raise TypeError(must_be("game", "a Game", game, "pass matrix_game(A)"))
    raise TypeError(must_be("game", "a Game", game, "build one with ExtensiveFormGame.from_rules"))


def tree_hint(game: object) -> str:
    """Return a hint to pass ``game.to_tree()``, empty if there is no such method."""
    return "; pass game.to_tree(), the same game as a tree" if hasattr(game, "to_tree") else ""


def check_player(player: int, players: int, name: str = "player") -> None:
    """Raise a ValueError unless ``player`` is a number from 0 to ``players - 1``."""
    is_number = isinstance(player, int | np.integer) and not isinstance(player, bool)
    if not (is_number and 0 <= player < players):
        raise ValueError(f"{name} must be one of 0 to {players - 1}, got {quote(player)}")


class ValidatedProfile(list[Vector]):
    """The result of ``as_profile``: one finite vector of the right length for each player.

    Assigning an entry checks this entry alone, which is fast for alternating updates.
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
    """Convert a profile to one finite vector of the right length for each player, or raise.

    The entry of ``ignored_player`` need not be finite. A ``ValidatedProfile`` of the same domains
    is returned unchanged.
    """
    if isinstance(profile, ValidatedProfile) and profile.domains is domains:
        return profile
    known: Any = profile
    if getattr(known, "visited", False):  # its domains hold the visited information sets only
        profile = known.on(domains)
    try:
        ordered(profile, "profile")
        strategies = [floats(strategy, "a strategy") for strategy in profile]
    except (TypeError, ValueError) as error:
        hint = "pass its average" if hasattr(profile, "average") else ""
        raise TypeError(must_be("profile", "one vector for each player", profile, hint)) from error
    if len(strategies) != len(domains):
        raise ValueError(
            f"profile has {len(strategies)} strategies, but the game has {len(domains)} players"
        )
    for player, (strategy, domain) in enumerate(zip(strategies, domains, strict=True)):
        _check_entry(strategy, domain, player, finite=player != ignored_player)
    return strategies if ignored_player is not None else ValidatedProfile(strategies, domains)


def _check_entry(strategy: Vector, domain: StrategySet, player: int, *, finite: bool) -> None:
    """Raise a ValueError unless a vector has the right length and is finite."""
    if strategy.shape != (domain.dimension,):
        raise ValueError(
            f"profile[{player}] must have shape ({domain.dimension},), got {strategy.shape}"
            f"{_sequence_form(domain)}"
        )
    if finite and not is_finite(strategy):
        raise ValueError(f"profile[{player}] must be finite, got {format_array(strategy)}")


def as_strategies(
    game: Game, profile: Iterable[ArrayLike], *, ignored_player: int | None = None
) -> list[Vector]:
    """Return ``as_profile``, and raise unless each strategy lies in its player's set."""
    check_game(game)
    strategies = as_profile(profile, game.domains, ignored_player=ignored_player)
    for player, (strategy, domain) in enumerate(zip(strategies, game.domains, strict=True)):
        if player != ignored_player:
            check_strategy(strategy, domain, player, f"profile[{player}]")
    return strategies


def check_strategy(strategy: Vector, domain: StrategySet, player: int, name: str) -> None:
    """Raise a ValueError unless a strategy lies in its player's set."""
    if not domain.contains(strategy, atol=ATOL):
        raise ValueError(
            f"{name} must be a strategy of player {player}, a point of {quote(domain)} within "
            f"{ATOL:g}, got {format_array(strategy)}{_sequence_form(domain)}"
        )


def _sequence_form(domain: StrategySet) -> str:
    """Return a hint to convert behavioral strategies, empty unless the set is a tree."""
    tree = "; convert a behavioral strategy with tree.sequence_form(behavior)"
    return tree if isinstance(domain, DecisionTree) else ""


def check_recall(game: Game[Any]) -> None:
    """Raise an error unless ``game`` is a game of perfect recall."""
    check_game(game)
    if game.recall_violation is not None:
        raise ValueError(
            f"{game.recall_violation}; or pass imperfect_recall=True to solve, without a "
            "convergence guarantee"
        )


def check_linear(game: Game[Any]) -> None:
    """Raise an error unless ``game`` is a game of perfect recall and linear payoffs."""
    check_recall(game)
    if not game.linear:
        raise ValueError(
            f"payoffs are not linear in the behaviors of {quote(game)}; evaluate its "
            "to_tree_profile(profile, game) in the game's tree"
        )


def is_finite(array: NDArray[np.float64]) -> bool:
    """Return whether all numbers are finite."""
    return bool(np.isfinite(array).all())


def check_payoffs(payoffs: NDArray[np.float64], describe: Callable[[tuple[int, ...]], str]) -> None:
    """Raise a ValueError unless payoffs are finite and so small that sums cannot overflow."""
    # Comparisons with NaN are false, so NaN is not small.
    small = not payoffs.size or (payoffs.min() >= -LARGEST and payoffs.max() <= LARGEST)
    if not small:
        wrong = np.argwhere(~(np.abs(payoffs) <= LARGEST))
        first = tuple(int(i) for i in wrong[0])
        wanted = f"at most {LARGEST:g} in size" if np.isfinite(payoffs[first]) else "finite"
        raise ValueError(f"payoffs must be {wanted}, got {payoffs[first]} at {describe(first)}")


def constant(totals: NDArray[np.float64], payoffs: NDArray[np.float64]) -> float | None:
    """Return the common value of ``totals`` up to rounding errors of ``payoffs``, or None."""
    low, high = float(totals.min()), float(totals.max())
    return (low + high) / 2 if high - low <= 1e-12 * float(np.abs(payoffs).max()) else None
