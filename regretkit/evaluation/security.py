"""What one player is sure of, and what the others can hold it to."""

from typing import final

import numpy as np
from attrs import field, frozen

from regretkit._typing import Vector
from regretkit.evaluation._saddle import saddle
from regretkit.games import ExtensiveFormGame, NormalFormGame


@final
@frozen(eq=False)
class Guarantee:
    """A payoff that a strategy guarantees, and the strategy.

    Examples
    --------
    >>> from regretkit.games import chicken
    >>> maxmin(chicken(), 0).strategy
    array([0., 1.])
    """

    value: float
    """The payoff of the player in question, in its unit, that ``strategy`` guarantees."""
    gap: float
    """What a better strategy could add at most, in the same unit; rounding, below zero as well."""
    strategy: Vector = field(repr=False)
    """Who plays it and what shape it has, the function says that returned it."""


def maxmin(game: NormalFormGame | ExtensiveFormGame, player: int) -> Guarantee:
    """Return the largest payoff that a player can guarantee against all strategies of the others.

        max over x of min over y of u(x, y)

    with x a mixed strategy of the player and y what the others do together. Their own payoffs do
    not matter. By the minimax theorem it is equal to :func:`minmax`, up to the gap.

    Parameters
    ----------
    game
        A game in normal form, or one of two players in extensive form.
    player
        Who is to be sure of it.

    Returns
    -------
    Guarantee
        ``strategy`` is the player's and earns at least ``value``, shape ``(dimension,)``.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is in neither form, or in extensive form and not of two players, or there is
        no such player.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> sure = maxmin(battle_of_the_sexes(), 0)
    >>> round(sure.value, 12), sure.strategy
    (1.2, array([0.4, 0.6]))
    """
    found = saddle(game, player)
    return Guarantee(found.lower, found.upper - found.lower, found.own)


def minmax(game: NormalFormGame | ExtensiveFormGame, player: int) -> Guarantee:
    """Return the least to which the others can hold a player that knows their strategy.

        min over y of max over x of u(x, y)

    The others act together: where there are several, y is a distribution over what all of them
    do, and not only a strategy for each. It is the worst punishment in a repeated game whose
    punishers share a coin that the punished one does not see. By the minimax theorem it is equal
    to :func:`maxmin`, up to the gap.

    Parameters
    ----------
    game
        A game in normal form, or one of two players in extensive form.
    player
        Who is held down.

    Returns
    -------
    Guarantee
        ``strategy`` is the others', and against it the player earns at most ``value``. That of a
        single opponent has shape ``(dimension,)``; that of several is the probability of
        everything they may do, shape ``(n_0, n_1, ...)`` without the player's own axis.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is in neither form, or in extensive form and not of two players, or there is
        no such player.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> held = minmax(battle_of_the_sexes(), 0)
    >>> round(held.value, 12), held.strategy
    (1.2, array([0.4, 0.6]))
    """
    found = saddle(game, player)
    together = found.others
    if isinstance(game, NormalFormGame):
        together = together.reshape(np.delete(game.payoffs.shape[1:], player))
    return Guarantee(found.upper, found.upper - found.lower, together)
