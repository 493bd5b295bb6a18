"""Pure equilibria and Pareto-optimal outcomes, by going through all outcomes."""

import numpy as np
from numpy.typing import NDArray

from regretkit._typing import Indices, Vector
from regretkit.evaluation._arguments import check_normal_form, check_tolerance
from regretkit.games import NormalFormGame


def pure_equilibria(game: NormalFormGame, *, atol: float = 0.0) -> tuple[tuple[int, ...], ...]:
    """Return the outcomes at which no player gains by another action, in lexicographic order.

    Each is the action of every player. The comparisons are exact.

    Parameters
    ----------
    game
        A game in normal form.
    atol
        How much a player may gain all the same, in units of payoff, at least 0.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is not in normal form, or ``atol`` is negative or no finite number.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes, matching_pennies
    >>> pure_equilibria(battle_of_the_sexes())
    ((0, 0), (1, 1))
    >>> pure_equilibria(matching_pennies())
    ()
    """
    check_normal_form(game)
    check_tolerance(atol, "atol")
    stays = np.ones(game.payoffs.shape[1:], dtype=bool)
    for player, payoffs in enumerate(game.payoffs):
        gained = payoffs.max(axis=player, keepdims=True) - payoffs
        stays &= gained <= atol
    return _outcomes(np.argwhere(stays))


def pareto_optimal_outcomes(game: NormalFormGame) -> tuple[tuple[int, ...], ...]:
    """Return the Pareto optimal outcomes, in lexicographic order.

    An outcome is excluded if another pays every player at least as much and some player more; the
    comparisons are exact. Only outcomes are compared, and not lotteries over them. Each outcome is
    the action of every player.

    Parameters
    ----------
    game
        A game in normal form.

    Raises
    ------
    TypeError
        When ``game`` is not in normal form.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> pareto_optimal_outcomes(prisoners_dilemma())
    ((0, 0), (0, 1), (1, 0))
    """
    check_normal_form(game)
    payoffs = game.payoffs.reshape(game.players, -1).T
    distinct, which = np.unique(payoffs, axis=0, return_inverse=True)
    optimal = _undominated(distinct)[which.ravel()]
    return _outcomes(np.argwhere(optimal.reshape(game.payoffs.shape[1:])))


def _undominated(points: Vector) -> NDArray[np.bool_]:
    """Say which rows no other row is at least equal to everywhere; rows are distinct and sorted."""
    undominated = np.zeros(len(points), dtype=bool)
    waiting = np.arange(len(points))
    while waiting.size:
        # The last one in order can only be dominated by one that came after it, and none is left.
        best = waiting[-1]
        undominated[best] = True
        waiting = waiting[(points[waiting] > points[best]).any(axis=1)]
    return undominated


def _outcomes(indices: Indices) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(action) for action in outcome) for outcome in indices)
