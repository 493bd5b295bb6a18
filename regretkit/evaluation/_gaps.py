"""Best responses, their gains, and gaps of profiles."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._lazy_import import import_registered
from regretkit._util._typing import Vector
from regretkit._util._validate import vector
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games._game import (
    as_profile,
    check_game,
    check_linear,
    check_player,
    check_strategy,
)
from regretkit.games._profile import (
    BehavioralStrategyLike,
    ProfileLike,
    as_vector,
    as_vectors,
    is_behavior,
)
from regretkit.games.public import PublicGame
from regretkit.sets import DecisionDAG

_FEW = 0.1
"""Estimated seconds of NumPy on a game, after which compiled code computes its gaps."""

_WORK: WeakKeyDictionary[Game, tuple[float, float]] = WeakKeyDictionary()
"""Estimated seconds of NumPy for each game: for one gap, and for all gaps so far."""

_RESPONDERS: list[Callable[[Any], AbstractContextManager[Any]]] = []
"""The compiled best responses of the engine, if registered."""


def register_responder(responder: Callable[[Any], AbstractContextManager[Any]]) -> None:
    """Register the engine's best responses, for large games."""
    _RESPONDERS.append(responder)


def expected_value(game: Game, profile: ProfileLike) -> Vector:
    """Return the expected payoff of every player, shape ``(players,)``, in units of payoff.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> expected_value(matching_pennies(), [np.array([1.0, 0.0]), np.array([0.75, 0.25])])
    array([ 0.5, -0.5])
    """
    strategies = as_vectors(game, profile)
    return game.value(strategies)


def best_response(game: Game, player: int, profile: ProfileLike) -> tuple[float, Vector]:
    """Return the value of a best response to the opponents, and the best response.

    The value is in units of payoff. The best response takes the first best action at every decision
    point. The player's own entry of ``profile`` is ignored.

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
    domain = game.domains[player]
    values = _in_machine_code(game, profile, player)
    if values is not None and isinstance(domain, DecisionDAG):
        return domain.best_response_by_values(values)
    strategies = as_vectors(game, profile, ignored_player=player)
    return domain.best_response(game.utility(player, strategies))


def best_response_gains(game: Game, profile: ProfileLike) -> Vector:
    """Return each player's gain from a best response, shape ``(players,)``.

        gain_i(x)  =  max over y of u_i(y, x_-i)  -  u_i(x)

    in units of payoff. A profile is a Nash equilibrium exactly if all gains are zero. Rounding may
    change gains by a few units in the last place of the payoffs, even to negative numbers.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> best_response_gains(prisoners_dilemma(), [np.array([1.0, 0.0]), np.array([1.0, 0.0])])
    array([5., 5.])
    """
    check_game(game)
    gains = _in_machine_code(game, profile)
    if gains is not None:
        return gains
    strategies = as_vectors(game, profile)
    players = enumerate(zip(game.domains, strategies, strict=True))
    return np.array([d.gain(game.utility(player, strategies), x) for player, (d, x) in players])


def _in_machine_code(game: Any, profile: Any, player: int | None = None) -> Vector | None:
    """Return all gains, or a player's sequence values, by compiled code; None to use NumPy.

    The choice depends on the estimated work so far, not on a clock. Both give the same bits.
    """
    if not isinstance(game, ExtensiveFormGame | PublicGame):
        return None
    work, spent = _WORK.get(game) or (_work(game), 0.0)
    _WORK[game] = work, spent + work
    if spent + work < _FEW or not isinstance(profile, Sequence) or any(map(is_behavior, profile)):
        return None
    import_registered()
    with _RESPONDERS[0](game) as lent:
        if lent is None:
            return None
        strategies = as_profile(profile, game.domains, ignored_player=player)
        found: Vector | None = (
            lent.gains(strategies) if player is None else lent.best_values(strategies, player)
        )
    return found


def _work(game: ExtensiveFormGame | PublicGame) -> float:
    """Return the estimated seconds of all utilities and one pass over each set in NumPy."""
    sequences = sum(domain.dimension for domain in game.domains)
    return len(game.domains) * 5e-5 + sequences * 1e-7 + game.payoffs.size * 1e-8


def nash_conv(game: Game, profile: ProfileLike) -> float:
    """Return the sum of the players' gains from best responses, in units of payoff.

        NashConv(x)  =  sum_i ( max over y of u_i(y, x_-i)  -  u_i(x) )

    In a two-player zero-sum game it equals the ``duality_gap``.

    Examples
    --------
    >>> from regretkit.games import Profile, kuhn_poker
    >>> game = kuhn_poker()
    >>> round(nash_conv(game, Profile.uniform(game)), 12)
    0.916666666667
    """
    return float(best_response_gains(game, profile).sum())


def exploitability(game: Game, profile: ProfileLike) -> float:
    """Return the mean of the players' gains from best responses, in units of payoff.

    It is ``nash_conv`` divided by the number of players.

    Examples
    --------
    >>> from regretkit.games import Profile, kuhn_poker
    >>> game = kuhn_poker()
    >>> round(exploitability(game, Profile.uniform(game)), 12)
    0.458333333333
    """
    return nash_conv(game, profile) / len(game.domains)


def duality_gap(game: Game, profile: ProfileLike, *, payoff_of: int = 0) -> float:
    """Return the duality gap of two strategies, in units of one player's payoff u.

        max over x' of u(x', y)  -  min over y' of u(x, y')

    with u the payoff of player ``payoff_of``, 0 or 1. The gap is zero exactly at the saddle points
    of u. The opponent's payoffs are ignored. In a zero-sum game it equals ``nash_conv``.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> duality_gap(matching_pennies(), [np.array([1.0, 0.0]), np.array([0.5, 0.5])])
    1.0
    """
    strategies = as_vectors(game, profile)
    if len(strategies) != 2:
        raise ValueError(
            f"game must have two players for a saddle point, got {len(strategies)}; "
            "nash_conv takes any number"
        )
    check_player(payoff_of, 2, "payoff_of")
    opponent = 1 - payoff_of
    highest, _ = game.domains[payoff_of].best_response(game.utility(payoff_of, strategies))
    negated, _ = game.domains[opponent].best_response(
        -game.utility(opponent, strategies, payoff_of=payoff_of)
    )
    return highest + negated


def security_value(
    game: NormalFormGame | ExtensiveFormGame,
    player: int,
    strategy: Vector | BehavioralStrategyLike,
) -> float:
    """Return the least payoff of one player's strategy against all strategies of the opponents.

        min over y of u_player(strategy, y)

    in units of payoff. The opponents act as one adversary; their own payoffs are ignored.

    Parameters
    ----------
    game
        A game of two players, or a normal form.
    strategy
        A vector, shape ``(dimension,)``, a function or a mapping.

    Examples
    --------
    >>> from regretkit.games import rock_paper_scissors
    >>> security_value(rock_paper_scissors(), 0, np.array([0.5, 0.25, 0.25]))
    -0.25
    """
    check_linear(game)
    check_player(player, len(game.domains))
    domain = game.domains[player]
    fixed = vector(as_vector(strategy, domain, player), domain.dimension, "strategy")
    check_strategy(fixed, domain, player, "strategy")
    if isinstance(game, NormalFormGame):
        payoffs = np.moveaxis(game.payoffs[player], player, 0)
        return float(np.einsum("a...,a->...", payoffs, fixed).min())
    opponent = only_opponent(game, player)
    profile = [
        fixed if i == player else d.relative_interior_point() for i, d in enumerate(game.domains)
    ]
    utility = -game.utility(opponent, profile, payoff_of=player)
    lowest, _ = game.domains[opponent].best_response(utility)
    return -lowest


def only_opponent(game: Game, player: int) -> int:
    """Return the opponent of a player in a game of two."""
    if len(game.domains) != 2:
        raise ValueError(
            f"game must have two players in extensive form, got {len(game.domains)}; "
            "team_maxmin(game, player) takes several opponents"
        )
    return 1 - player
