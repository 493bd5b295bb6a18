"""Values of zero-sum games by linear programs, and what a player can secure."""

from typing import Any

import numpy as np
from attrs import field, frozen

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, number, quote
from regretkit.evaluation._gaps import only_opponent
from regretkit.evaluation._linear_programs import payoff_matrix, payoff_rows, saddle_point
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, Profile
from regretkit.games._game import check_game, check_player, tree_hint
from regretkit.games.public import PublicGame
from regretkit.sets import DecisionTree, Simplices


@frozen(eq=False)
class ExactSolution:
    """The value of a two-player zero-sum game, and strategies that prove it.

    Each player's strategy guarantees one end of an interval that contains the value:

        lower  =  min over y' of u(x, y')   <=   value   <=   max over x' of u(x', y)  =  upper

    All numbers are in units of player 0's payoff, but for ``duals[1]``, which is in player 1's.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> solution = solve_zero_sum(kuhn_poker())
    >>> round(solution.value, 12), -1 / 18
    (-0.055555555556, -0.05555555555555555)
    >>> solution.gap < 1e-12
    True
    """

    value: float
    """The value to player 0: the middle of the interval."""
    lower: float
    """Security level of player 0's strategy; rounding may put it above the value."""
    upper: float
    """The most that player 0 can earn against player 1's strategy."""
    profile: Profile = field(repr=False)
    """A Nash equilibrium; of several, any one. Off its path, play may be suboptimal."""
    duals: tuple[Vector, Vector] = field(repr=False)
    """The least d with ``E^T d >= u``, for each player's constraints E and utility u.

    ``d[0]`` is the value to the player. In an extensive form the others, shape ``(1 + points,)``,
    are the most that it can earn from each decision point on, times the probability that chance
    and the other play to there.
    """
    method: str
    """How it was found: "linear program", or "finish" and of what."""

    @property
    def gap(self) -> float:
        """``upper - lower``, the duality gap of ``profile``: the sum of both players' gains."""
        return self.upper - self.lower

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        bounds = ("value", self.value), ("lower", self.lower), ("upper", self.upper)
        return facts(*bounds, ("gap", self.gap), ("by", self.method), profile=self.profile)


def solve_zero_sum(
    game: NormalFormGame | ExtensiveFormGame, *, time_limit: float | None = None
) -> ExactSolution:
    """Return the value of a two-player zero-sum game, equilibrium strategies and duals.

    One linear program over player 0's strategies x, whose duals are player 1's strategy y:

        maximize  <f, q>   subject to   F^T q <= A^T x,   E x = e,   x >= 0

    with A the payoffs of player 0, and ``E x = e`` and ``F y = f`` the constraints on strategies,
    in sequence form where the game is in extensive form. HiGHS keeps the constraints within 1e-10
    of the largest entry of A, and takes entries of less than 1e-9 of it for zero. ``gap`` measures
    the strategies by best responses, independently of what HiGHS reports: 1e-12 of the largest
    payoff or less, but up to 1e-8 where payoffs differ by more than six orders of magnitude.

    Parameters
    ----------
    game
        A constant-sum game of two players, in normal form or in extensive form.
    time_limit
        Give up after HiGHS ran for about this number of seconds; by default never. No strategies
        are known then; ``finish`` always has some.

    Examples
    --------
    >>> from regretkit.games import biased_rock_paper_scissors
    >>> solution = solve_zero_sum(biased_rock_paper_scissors())
    >>> solution.profile[0] * 16
    array([ 1., 10.,  5.])

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """
    limit = None if time_limit is None else number(time_limit, "time_limit", minimum=0.0)
    return exact_solution(game, *_saddle_of_player(check_constant_sum(game), 0, limit))


def check_constant_sum(game: Any, *, public: bool = False) -> Any:
    """Require a game of two players whose payoffs add up to a constant, public ones if asked."""
    if not (public and isinstance(game, PublicGame)):
        game = check_solvable(game)
    if game.players != 2:
        raise ValueError(f"game must have two players, got {game.players}")
    if game.constant_sum is None:
        raise ValueError(
            f"game must be constant-sum, but what both earn together differs in {quote(game)}; "
            "maxmin says what one of them is sure of"
        )
    return game


def exact_solution(
    game: NormalFormGame | ExtensiveFormGame,
    x: Vector,
    y: Vector,
    lower: float,
    upper: float,
    method: str = "linear program",
    duals: tuple[Vector, Vector] | None = None,
) -> ExactSolution:
    """Return strategies and the interval that they prove, with their duals."""
    profile = Profile([x, y], game.domains, game)
    first, second = duals or (
        constraint_duals(game.domains[player], game.utility(player, profile)) for player in (0, 1)
    )
    middle = lower + (upper - lower) / 2
    return ExactSolution(middle, lower, upper, profile, (first, second), method)


def constraint_duals(domain: Simplices | DecisionTree, utility: Vector) -> Vector:
    """Return the least d with ``E^T d >= u``, one for each constraint of a set."""
    if isinstance(domain, Simplices):
        return read_only(domain.max(utility))
    values = domain.best_values(utility)
    return read_only(np.append(values[0], domain.simplices.max(values[1:])))


@frozen(eq=False)
class SecurityLevel:
    """A security level: a payoff that a strategy guarantees, and the strategy.

    Examples
    --------
    >>> from regretkit.games import chicken
    >>> maxmin(chicken(), 0).strategy
    array([0., 1.])
    """

    value: float
    """The payoff of the player that ``strategy`` guarantees."""
    gap: float
    """Bound on the improvement by a better strategy; rounding may make it negative."""
    strategy: Vector = field(repr=False)
    """The player's of ``maxmin``, the others' of ``minmax``."""


def maxmin(game: NormalFormGame | ExtensiveFormGame, player: int) -> SecurityLevel:
    """Return the largest payoff that a player can guarantee against all strategies of the others.

        max over x of min over y of u(x, y)

    with x a mixed strategy of the player and y the joint strategy of the others, whose own
    payoffs do not matter. It equals ``minmax``, up to the gap.

    Parameters
    ----------
    game
        A game in normal form, or one of two players in extensive form.
    player
        Whose security level it is.

    Returns
    -------
    SecurityLevel
        ``strategy`` is the player's and earns at least ``value``, shape ``(dimension,)``.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> sure = maxmin(battle_of_the_sexes(), 0)
    >>> round(sure.value, 12), sure.strategy
    (1.2, array([0.4, 0.6]))
    """
    strategy, _, lower, upper = _saddle_of_player(game, player)
    return SecurityLevel(lower, upper - lower, strategy)


def minmax(game: NormalFormGame | ExtensiveFormGame, player: int) -> SecurityLevel:
    """Return the minmax value of a player: the least to which the others can limit its payoff.

        min over y of max over x of u(x, y)

    The others act together: where there are several, y is a distribution over their joint actions,
    the worst punishment in a repeated game whose punishers share a source of randomness.

    Parameters
    ----------
    game, player
        As in ``maxmin``.

    Returns
    -------
    SecurityLevel
        ``strategy`` is the others': of one, shape ``(dimension,)``; of several the probability of
        every joint action, shape ``(n_0, n_1, ...)`` without the player's own axis.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> held = minmax(battle_of_the_sexes(), 0)
    >>> round(held.value, 12), held.strategy
    (1.2, array([0.4, 0.6]))
    """
    _, correlated, lower, upper = _saddle_of_player(game, player)
    if isinstance(game, NormalFormGame):
        correlated = correlated.reshape(np.delete(game.payoffs.shape[1:], player))
    return SecurityLevel(upper, upper - lower, correlated)


def check_solvable(game: Game) -> NormalFormGame | ExtensiveFormGame:
    """Refuse what has no matrix of payoffs."""
    check_game(game)
    if not isinstance(game, NormalFormGame | ExtensiveFormGame):
        wanted = "a NormalFormGame or an ExtensiveFormGame"
        raise TypeError(must_be("game", wanted, game) + tree_hint(game))
    return game


def _saddle_of_player(
    game: NormalFormGame | ExtensiveFormGame, player: int, time_limit: float | None = None
) -> tuple[Vector, Vector, float, float]:
    """Return a ``saddle_point`` of one player's payoff, against all the others together."""
    check_solvable(game)
    check_player(player, game.players)
    if isinstance(game, NormalFormGame):
        opponents: Simplices | DecisionTree = Simplices(payoff_rows(game, player).shape[1])
    else:
        opponents = game.domains[only_opponent(game, player)]
    matrix, offset = payoff_matrix(game, player)
    x, y, lower, upper = saddle_point(matrix, game.domains[player], opponents, time_limit)
    return x, y, offset + lower, offset + upper
