"""Dominated actions of a normal-form game, and what is left without them."""

from typing import final

import numpy as np
from attrs import field, frozen

from regretkit._typing import Vector
from regretkit.evaluation._arguments import check_normal_form, check_tolerance
from regretkit.evaluation._highs import maximize
from regretkit.evaluation._saddle import exponent_of, own_first, saddle_point
from regretkit.games import NormalFormGame
from regretkit.games._game import check_player
from regretkit.sets import Simplices


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

    What is dominated strictly is so weakly too. Actions of equal payoffs do not dominate each
    other.

    Parameters
    ----------
    game
        A game in normal form.
    player
        Whose actions they are.
    strictly
        Whether x has to earn more always.
    by_mixed
        Whether x may be mixed. Comparisons with pure x are exact; a mixed x is found by a linear
        program for each action that is left.
    rtol
        For mixed x only: what it earns more, relative to the range of the player's payoffs, counts
        if it is more than this. HiGHS may take a loss of 1e-10 for none.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is not in normal form, there is no such player, or ``rtol`` is negative or
        no finite number.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    The last row is worse than half of each of the others, but than neither of them:

    >>> from regretkit.games import matrix_game
    >>> game = matrix_game([[4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    >>> dominated_actions(game, 0), dominated_actions(game, 0, by_mixed=False)
    ((2,), ())
    """
    check_normal_form(game)
    check_player(player, game.players)
    check_tolerance(rtol, "rtol")
    payoffs = own_first(game, player)
    tolerance = rtol * (payoffs.max() - payoffs.min())
    found: list[int] = []
    for action in range(len(payoffs)):
        # What is dominated need not dominate: what dominates it does. So within a tolerance, two
        # actions that are nearly the same are not both found.
        gained = np.delete(payoffs, [*found, action], axis=0) - payoffs[action]
        if _by_pure(gained, strictly) or (by_mixed and _by_mixed(gained, strictly, tolerance)):
            found.append(action)
    return tuple(found)


@final
@frozen(eq=False)
class Elimination:
    """What is left of a game without dominated actions, and in which order they went.

    Examples
    --------
    >>> from regretkit.games import prisoners_dilemma
    >>> left = eliminate_dominated(prisoners_dilemma())
    >>> left.kept, left.rounds
    (((1,), (1,)), (((0, 0), (1, 0)),))
    """

    game: NormalFormGame
    """The game in which nothing is dominated any more."""
    kept: tuple[tuple[int, ...], ...] = field(repr=False)
    """For each player, the numbers that its actions had in the game of before."""
    rounds: tuple[tuple[tuple[int, int], ...], ...]
    """What each round removed: a player, and the number of its action in the game of before."""


def eliminate_dominated(
    game: NormalFormGame, *, strictly: bool = True, by_mixed: bool = True, rtol: float = 1e-9
) -> Elimination:
    """Remove dominated actions, then what is dominated without them, until nothing is.

    Each round removes at once all that is dominated, of all players. What strict dominance
    leaves does not depend on that, and holds every Nash and correlated equilibrium; in a game of
    two players they are the rationalizable actions. Weak dominance may leave something else when
    taken in another order, and may lose equilibria, though never all of them.

    Parameters
    ----------
    game
        A game in normal form.
    strictly, by_mixed, rtol
        As in :func:`dominated_actions`.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is not in normal form, or ``rtol`` is negative or no finite number.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    >>> from regretkit.games import matrix_game
    >>> left = eliminate_dominated(matrix_game([[4.0, 0.0, 5.0], [0.0, 4.0, 5.0], [1.0, 1.0, 9.0]]))
    >>> left.rounds
    (((1, 2),), ((0, 2),))
    >>> left.game.payoffs[0]
    array([[4., 0.],
           [0., 4.]])

    References
    ----------
    Pearce (1984), "Rationalizable strategic behavior and the problem of perfection",
    Econometrica 52(4).
    """
    check_normal_form(game)
    kept = [tuple(range(count)) for count in game.payoffs.shape[1:]]
    rounds: list[tuple[tuple[int, int], ...]] = []
    left = game
    while True:
        removed = []
        for player in range(game.players):
            here = dominated_actions(left, player, strictly=strictly, by_mixed=by_mixed, rtol=rtol)
            removed += [(player, kept[player][action]) for action in here]
        if not removed:
            return Elimination(left, tuple(kept), tuple(rounds))
        gone = set(removed)
        kept = [tuple(a for a in own if (i, a) not in gone) for i, own in enumerate(kept)]
        rounds.append(tuple(removed))
        left = _restricted(game, kept)


def _restricted(game: NormalFormGame, kept: list[tuple[int, ...]]) -> NormalFormGame:
    payoffs = game.payoffs[np.ix_(range(game.players), *kept)]
    names = game.actions and [
        [names[action] for action in own] for names, own in zip(game.actions, kept, strict=True)
    ]
    return NormalFormGame(payoffs, actions=names, name=game.name)


def _by_pure(gained: Vector, strictly: bool) -> bool:
    """Say whether one of the rows dominates zero."""
    if strictly:
        return bool((gained > 0.0).all(axis=1).any())
    return bool(((gained >= 0.0).all(axis=1) & (gained > 0.0).any(axis=1)).any())


def _by_mixed(gained: Vector, strictly: bool, tolerance: float) -> bool:
    """Say whether a mixture of the rows dominates zero, by more than a tolerance."""
    if len(gained) < 2:
        return False  # then the only mixture is pure
    if strictly:
        return bool(_most_always(gained).min() > tolerance)
    return bool(_never_less(gained).max() > tolerance)


def _most_always(gained: Vector) -> Vector:
    """Return what the maximin mixture earns against each joint action of the others."""
    from scipy.sparse import csr_array

    rows, columns = gained.shape
    mixture, _ = saddle_point(csr_array(gained), Simplices(rows), Simplices(columns))
    return mixture @ gained


def _never_less(gained: Vector) -> Vector:
    """Return what the mixture earns that never earns less than zero, and most in all."""
    from scipy.sparse import csr_array

    # With a row of zeros, there is such a mixture.
    rows = np.ldexp(np.vstack([gained, np.zeros(gained.shape[1])]), -exponent_of(gained))
    optimum = maximize(
        rows.sum(axis=1) / rows.shape[1],
        nonpositive=csr_array(-rows.T),
        fixed=csr_array(np.ones((1, len(rows)))),
        totals=np.ones(1),
    )
    mixture = Simplices(len(rows)).normalize(np.maximum(optimum.point, 0.0))
    return mixture[:-1] @ gained
