"""What an estimator is, and the one that estimates nothing."""

import abc
from collections.abc import Sequence
from typing import final

from attrs import frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit.games import Game


class Estimator(abc.ABC):
    """Returns a player's utility, exactly or on average.

    Examples
    --------
    >>> isinstance(ExactUtility(), Estimator)
    True
    """

    @abc.abstractmethod
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return an estimate of ``game.utility(player, profile)`` whose mean is exact."""

    @final
    def variance(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return the variance of each coordinate of ``utility(game, player, profile)``.

        It goes through every sample that there may be, and so takes long unless the game is small.
        Nothing is drawn, and nothing learned.

        Raises
        ------
        TypeError, ValueError
            When samples are drawn in a way in which they cannot be gone through, or are too many.
        """
        from regretkit.estimators._enumeration import mean_and_variance

        return mean_and_variance(self, game, player, profile)[1]


@final
@frozen
class ExactUtility(Estimator):
    """The exact utility, over every chance outcome and every action.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.games import matching_pennies
    >>> ExactUtility().utility(matching_pennies(), 0, [np.ones(2) / 2, np.array([1.0, 0.0])])
    array([ 1., -1.])
    """

    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        return game.utility(player, profile)
