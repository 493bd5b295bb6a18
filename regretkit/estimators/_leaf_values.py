"""Utilities of a game with a depth limit whose leaves are valued by a function of beliefs."""

from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Vector
from regretkit._util._validate import floats, must_be
from regretkit.estimators._estimator import Estimator
from regretkit.games import DepthLimitedGame, Game
from regretkit.games.tree._sequences import last_sequences, reach_of_chance


@frozen(eq=False)
class LeafValues(Estimator):
    """The utility in a ``DepthLimitedGame`` in which the payoffs of leaves depend on beliefs.

    It is the utility of the game whose leaves have the payoffs that a function returns for the
    profile's probabilities of leaves. Self-play converges to equilibria if the function returns
    values of optimal play after the leaves.

    Parameters
    ----------
    values
        A function of the probability of the moves of player 0, of player 1, and of chance before
        each leaf, shape ``(3, leaves)``. It returns the payoffs of ``game.leaves``, in this order,
        shape ``(leaves, 2)``.

    Examples
    --------
    >>> from regretkit import solve
    >>> from regretkit.games import DepthLimitedGame, Profile, kuhn_poker
    >>> game = kuhn_poker()
    >>> limited = DepthLimitedGame(game, 4, Profile.uniform(game), player=1)
    >>> draw = LeafValues(lambda reach: np.zeros((reach.shape[1], 2)))
    >>> run = solve(limited, "cfr+", iterations=10, estimator=draw)
    """

    values: Callable[[NDArray[np.float64]], ArrayLike]

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if not isinstance(game, DepthLimitedGame) or game.ends.shape[1] > 1:
            wanted = "a DepthLimitedGame without continuations"
            raise TypeError(must_be("game", wanted, game))
        at = game.ends[:, 0]
        last, chance = last_sequences(game.tree)[:, at], reach_of_chance(game.tree)[at]
        known = game.tree.payoffs[np.searchsorted(game.tree.terminals, at)]
        reach = np.stack([*(x[own] for x, own in zip(profile, last, strict=True)), chance])
        paid = floats(self.values(reach), "values(reach)")
        if paid.shape != known.shape:
            raise ValueError(f"values must have shape {known.shape}, got {paid.shape}")
        gained = reach[1 - player] * chance * (paid - known)[:, player]
        utility = game.utility(player, profile)
        return utility + segment_sum(last[player], gained, utility.size)
