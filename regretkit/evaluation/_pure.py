"""Pure equilibria and Pareto-optimal outcomes, by going through all outcomes."""

import math
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games import Game, NormalFormGame
from regretkit.games._game import check_game


def pure_equilibria(game: NormalFormGame, *, atol: float = 0.0) -> tuple[tuple[int, ...], ...]:
    """Return the outcomes at which no player gains by another action, in lexicographic order.

    Each outcome is a tuple of one action per player.

    Parameters
    ----------
    game
        A game in normal form.
    atol
        Largest gain to tolerate, in units of payoff, at least 0; comparisons are exact.

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
    stable = np.ones(game.payoffs.shape[1:], dtype=bool)
    for player, payoffs in enumerate(game.payoffs):
        gains = payoffs.max(axis=player, keepdims=True) - payoffs
        stable &= gains <= atol
    return _outcomes(np.argwhere(stable))


def pareto_optimal_outcomes(game: NormalFormGame) -> tuple[tuple[int, ...], ...]:
    """Return the Pareto optimal outcomes, in lexicographic order.

    An outcome is excluded if another pays every player at least as much and some player more; the
    comparisons are exact, and only between outcomes, not lotteries over them. Each outcome is a
    tuple of one action per player.

    Parameters
    ----------
    game
        A game in normal form.

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
    """Return which of the distinct, sorted rows are not dominated by another row."""
    undominated = np.zeros(len(points), dtype=bool)
    remaining = np.arange(len(points))
    while remaining.size:
        # The last in order could only be dominated by a later row, and none remains.
        best = remaining[-1]
        undominated[best] = True
        remaining = remaining[(points[remaining] > points[best]).any(axis=1)]
    return undominated


def _outcomes(indices: Indices) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(action) for action in outcome) for outcome in indices)


def check_normal_form(game: Game) -> None:
    """Require a game in normal form."""
    check_game(game)
    if not isinstance(game, NormalFormGame):
        raise TypeError(
            f"game must be a NormalFormGame, whose outcomes can be enumerated, got {quote(game)}"
        )


def check_tolerance(value: float, name: str) -> None:
    """Require a finite number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {quote(value)}")
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} must be finite and at least 0, got {quote(value)}")
