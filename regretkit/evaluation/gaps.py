"""How far a profile is from equilibrium: best responses and what they gain."""

from collections.abc import Sequence

import numpy as np

from regretkit._typing import Vector
from regretkit._validate import vector
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games._game import as_strategies, check_game, check_player, check_strategy


def expected_value(game: Game, profile: Sequence[Vector]) -> Vector:
    """Return the expected payoff of every player, shape ``(players,)``, in units of payoff.

    Parameters
    ----------
    game
        The game.
    profile
        A strategy for each player.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, or ``profile`` is not one strategy for each player.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> expected_value(matching_pennies(), [np.array([1.0, 0.0]), np.array([0.75, 0.25])])
    array([ 0.5, -0.5])
    """
    strategies = as_strategies(game, profile)
    return game.value(strategies)


def best_response(game: Game, player: int, profile: Sequence[Vector]) -> tuple[float, Vector]:
    """Return the most that a player can earn against the others, and a strategy that earns it.

    The value is in units of payoff. Of several best responses it is the one that takes the first
    best action everywhere.

    Parameters
    ----------
    game
        The game.
    player
        Who responds.
    profile
        A strategy for each player; the responder's own is not looked at.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, there is no such player, or the others' entries of ``profile`` are
        not their strategies.

    Examples
    --------
    >>> from regretkit.games import rock_paper_scissors
    >>> game = rock_paper_scissors()
    >>> value, strategy = best_response(game, 0, [np.ones(3) / 3, np.array([0.4, 0.3, 0.3])])
    >>> round(value, 12), strategy
    (0.1, array([0., 1., 0.]))
    """
    check_game(game)
    check_player(player, len(game.domains))
    strategies = as_strategies(game, profile, ignored_player=player)
    return game.domains[player].best_response(game.utility(player, strategies))


def gains(game: Game, profile: Sequence[Vector]) -> Vector:
    """Return what each player would gain by a best response, shape ``(players,)``.

    In units of payoff; zero for all players exactly at the Nash equilibria. Rounding may leave it
    a few units in the last place off, below zero as well.

    Parameters
    ----------
    game
        The game.
    profile
        A strategy for each player.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, or ``profile`` is not one strategy for each player.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> gains(prisoners_dilemma(), [np.array([1.0, 0.0]), np.array([1.0, 0.0])])
    array([5., 5.])
    """
    strategies, found = as_strategies(game, profile), []
    for player, (domain, strategy) in enumerate(zip(game.domains, strategies, strict=True)):
        utility = game.utility(player, strategies)
        found.append(domain.best_response(utility)[0] - domain.worth(utility, strategy))
    return np.array(found)


def nash_conv(game: Game, profile: Sequence[Vector]) -> float:
    """Return the sum over players of what a best response gains, in units of payoff.

        NashConv(x)  =  sum_i ( max over y of u_i(y, x_-i)  -  u_i(x) )

    It is ``players`` times :func:`exploitability`, and in a two-player zero-sum game it is the
    :func:`saddle_gap`.

    Parameters
    ----------
    game
        The game.
    profile
        A strategy for each player.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, or ``profile`` is not one strategy for each player.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> round(nash_conv(game, [domain.interior_point() for domain in game.domains]), 12)
    0.916666666667
    """
    return float(gains(game, profile).sum())


def exploitability(game: Game, profile: Sequence[Vector]) -> float:
    """Return the mean over players of what a best response gains, in units of payoff.

    It is :func:`nash_conv` divided by the number of players.

    Parameters
    ----------
    game
        The game.
    profile
        A strategy for each player.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, or ``profile`` is not one strategy for each player.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> round(exploitability(game, [domain.interior_point() for domain in game.domains]), 12)
    0.458333333333
    """
    return nash_conv(game, profile) / len(game.domains)


def saddle_gap(game: Game, profile: Sequence[Vector], *, of: int = 0) -> float:
    """Return how far two players are from a saddle point of one's payoff, in its units.

        max over x' of u(x', y)  -  min over y' of u(x, y')

    The payoffs of the other player are ignored: it pays what the one earns. In a zero-sum game it
    is :func:`nash_conv`, the sum of both players' gains.

    Parameters
    ----------
    game
        A game of two players.
    profile
        A strategy for each of them.
    of
        The player whose payoff u is, 0 or 1.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none or does not have two players, or ``profile`` is not one strategy for
        each of them.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> saddle_gap(matching_pennies(), [np.array([1.0, 0.0]), np.array([0.5, 0.5])])
    1.0
    """
    strategies = as_strategies(game, profile)
    if len(strategies) != 2:
        raise ValueError(
            f"game must have two players for a saddle point, got {len(strategies)}; "
            "use nash_conv for others"
        )
    check_player(of, 2)
    other = 1 - of
    highest, _ = game.domains[of].best_response(game.utility(of, strategies))
    negated, _ = game.domains[other].best_response(-game.utility(other, strategies, payoff_of=of))
    return highest + negated


def worst_case_value(
    game: NormalFormGame | ExtensiveFormGame, player: int, strategy: Vector
) -> float:
    """Return the least that one player's strategy earns against all strategies of the others.

    In units of payoff. The others act as one adversary of the player; their own payoffs do not
    matter.

    Parameters
    ----------
    game
        A game of two players, or a normal-form game of any number.
    player
        Whose strategy it is.
    strategy
        The strategy, shape ``(dimension,)``.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, there is no such player, ``strategy`` is not one of its strategies,
        or the game is in extensive form and has more than two players.

    Examples
    --------
    >>> from regretkit.games import rock_paper_scissors
    >>> worst_case_value(rock_paper_scissors(), 0, np.array([0.5, 0.25, 0.25]))
    -0.25
    """
    check_game(game)
    check_player(player, len(game.domains))
    domain = game.domains[player]
    own = vector(strategy, domain.dimension, "strategy")
    check_strategy(own, domain, player, "strategy")
    if isinstance(game, NormalFormGame):
        own_first = np.moveaxis(game.payoffs[player], player, 0)
        return float(np.einsum("a...,a->...", own_first, own).min())
    if len(game.domains) != 2:
        raise ValueError(
            f"game must have two players in extensive form, got {len(game.domains)}: what several "
            "opponents can do together there is not linear in their strategies"
        )
    other = 1 - player
    profile = [own if i == player else d.interior_point() for i, d in enumerate(game.domains)]
    lowest, _ = game.domains[other].best_response(-game.utility(other, profile, payoff_of=player))
    return -lowest
