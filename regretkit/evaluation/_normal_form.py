"""Normal forms: dominated actions, pure equilibria and Pareto optima."""

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import number
from regretkit.evaluation.exact._linear_programs import (
    check_form,
    maximize,
    payoff_rows,
    saddle_point,
    scaled,
)
from regretkit.games import NormalFormGame
from regretkit.games._game import check_player
from regretkit.sets import Simplices


def pure_equilibria(game: NormalFormGame, *, atol: float = 0.0) -> tuple[tuple[int, ...], ...]:
    """Return the outcomes where no player gains by another action, in lexicographic order.

    Each outcome is a tuple of one action for each player. ``atol`` is the largest tolerated gain,
    in units of payoff. Comparisons are exact.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes, matching_pennies
    >>> pure_equilibria(battle_of_the_sexes())
    ((0, 0), (1, 1))
    >>> pure_equilibria(matching_pennies())
    ()
    """
    check_form(game, NormalFormGame)
    atol = number(atol, "atol", minimum=0.0)
    stable = np.ones(game.payoffs.shape[1:], dtype=bool)
    for player, payoffs in enumerate(game.payoffs):
        gains = payoffs.max(axis=player, keepdims=True) - payoffs
        stable &= gains <= atol
    return _outcomes(np.argwhere(stable))


def pareto_optimal_outcomes(game: NormalFormGame) -> tuple[tuple[int, ...], ...]:
    """Return the Pareto optimal outcomes, in lexicographic order.

    An outcome is Pareto optimal unless another one pays every player at least as much, and one
    player more. Comparisons are exact, and ignore lotteries over outcomes.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> pareto_optimal_outcomes(prisoners_dilemma())
    ((0, 0), (0, 1), (1, 0))
    """
    check_form(game, NormalFormGame)
    payoffs = game.payoffs.reshape(game.players, -1).T
    distinct, outcome = np.unique(payoffs, axis=0, return_inverse=True)
    optimal, remaining = np.zeros(len(distinct), dtype=bool), np.arange(len(distinct))
    while remaining.size:
        # Rows are in lexicographic order, so no remaining row dominates the last one.
        best = remaining[-1]
        optimal[best] = True
        remaining = remaining[(distinct[remaining] > distinct[best]).any(axis=1)]
    return _outcomes(np.argwhere(optimal[outcome].reshape(game.payoffs.shape[1:])))


def _outcomes(indices: Indices) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, indices.tolist()))


# Dominance


def dominated_actions(
    game: NormalFormGame,
    player: int,
    *,
    strictly: bool = True,
    by_mixed: bool = True,
    rtol: float = 1e-9,
) -> tuple[int, ...]:
    """Return the actions of a player that another strategy dominates, in increasing order.

    Strategy x dominates action a strictly if it earns more against all actions of the others, and
    weakly if it never earns less and sometimes more:

        strictly:   u(x, o) > u(a, o) for all o
        weakly:     u(x, o) >= u(a, o) for all o, and u(x, o) > u(a, o) for one

    Strict dominance implies weak dominance. Actions of equal payoffs do not dominate each other.

    Parameters
    ----------
    by_mixed
        Whether x may be mixed. Comparisons with pure x are exact. A linear program for each
        remaining action searches for a mixed x.
    rtol
        The least gain of a mixed x, relative to the range of the player's payoffs. HiGHS may accept
        a loss of 1e-10.

    Examples
    --------
    An equal mixture of the first two rows dominates the last row, but neither row alone does:

    >>> from regretkit.games import matrix_game
    >>> game = matrix_game([[4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    >>> dominated_actions(game, 0), dominated_actions(game, 0, by_mixed=False)
    ((2,), ())
    """
    check_form(game, NormalFormGame)
    check_player(player, game.players)
    rtol = number(rtol, "rtol", minimum=0.0)
    payoffs = payoff_rows(game, player)
    tolerance = rtol * (payoffs.max() - payoffs.min())
    found: list[int] = []
    for action in range(len(payoffs)):
        # Compare only with actions that are not dominated so far. Dominance is transitive, so no
        # pair is missed, and two nearly equal actions cannot dominate each other.
        gains = np.delete(payoffs, [*found, action], axis=0) - payoffs[action]
        pure = (gains > 0.0).all(axis=1)
        if not strictly:
            pure = (gains >= 0.0).all(axis=1) & (gains > 0.0).any(axis=1)
        # With a single row, the only mixture is pure.
        if pure.any() or (by_mixed and len(gains) > 1 and _best_gain(gains, strictly) > tolerance):
            found.append(action)
    return tuple(found)


@frozen(eq=False)
class Elimination:
    """The result of an iterated elimination of dominated actions.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> left = eliminate_dominated(prisoners_dilemma())
    >>> left.kept, left.rounds
    (((1,), (1,)), (((0, 0), (1, 0)),))
    """

    game: NormalFormGame
    """The remaining game, in which no action is dominated."""
    kept: tuple[tuple[int, ...], ...] = field(repr=False)
    """The original numbers of each player's remaining actions."""
    rounds: tuple[tuple[tuple[int, int], ...], ...]
    """The removals of each round, as pairs of a player and the original number of its action."""


def eliminate_dominated(
    game: NormalFormGame, *, strictly: bool = True, by_mixed: bool = True, rtol: float = 1e-9
) -> Elimination:
    """Remove dominated actions repeatedly, until no action is dominated.

    Each round removes all dominated actions of all players at once. With strict dominance, the
    result does not depend on the order, and keeps every Nash and correlated equilibrium. In a game
    of two players, the rationalizable actions remain. With weak dominance, the result may depend on
    the order, and may lose some equilibria, but never all. Parameters are those of
    ``dominated_actions``.

    Examples
    --------
    >>> from regretkit.games import matrix_game
    >>> left = eliminate_dominated(matrix_game([[4.0, 0.0, 5.0], [0.0, 4.0, 5.0], [1.0, 1.0, 9.0]]))
    >>> left.rounds
    (((1, 2),), ((0, 2),))

    References
    ----------
    Pearce (1984), "Rationalizable strategic behavior and the problem of perfection",
    Econometrica 52(4).
    """
    check_form(game, NormalFormGame)
    kept = [tuple(range(count)) for count in game.payoffs.shape[1:]]
    rounds, remaining = list[tuple[tuple[int, int], ...]](), game
    while True:
        removed = tuple(
            (player, own[action])
            for player, own in enumerate(kept)
            for action in dominated_actions(
                remaining, player, strictly=strictly, by_mixed=by_mixed, rtol=rtol
            )
        )
        if not removed:
            return Elimination(remaining, tuple(kept), tuple(rounds))
        rounds.append(removed)
        kept = [tuple(a for a in own if (i, a) not in removed) for i, own in enumerate(kept)]
        names = game.actions and [
            [names[action] for action in chosen]
            for names, chosen in zip(game.actions, kept, strict=True)
        ]
        payoffs = game.payoffs[np.ix_(range(game.players), *kept)]
        remaining = NormalFormGame(payoffs, actions=names, name=game.name)


def _best_gain(gains: Vector, strictly: bool) -> float:
    """Return the gain that decides whether a mixture of the rows dominates.

    For strict dominance, max over x of the least entry of ``x @ gains``. For weak dominance, the
    largest entry of ``x @ gains`` at the x that maximizes its sum, subject to all entries >= 0.
    """
    from scipy.sparse import csr_array

    rows, columns = gains.shape
    if strictly:
        return saddle_point(csr_array(gains), Simplices(rows), Simplices(columns))[2]
    # A row of zeros keeps the program feasible.
    padded = scaled(csr_array(np.vstack([gains, np.zeros(columns)])))
    objective: Vector = padded.sum(axis=1) / columns
    mixture, _ = maximize(objective, Simplices(rows + 1), csr_array(-padded.T))
    return float((mixture[:-1] @ gains).max())
