"""Games in normal form."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import RESOLUTION, zero_cancelled
from regretkit._util._typing import Vector
from regretkit._util._validate import floats, strings
from regretkit.games._adapters import NormalFormHistory
from regretkit.games._game import Game, check_payoffs
from regretkit.sets import Simplices

Names: TypeAlias = tuple[tuple[str, ...], ...]


def _payoffs(value: ArrayLike) -> NDArray[np.float64]:
    payoffs = floats(value, "payoffs").copy()
    if payoffs.ndim < 2 or payoffs.shape[0] != payoffs.ndim - 1 or 0 in payoffs.shape:
        wanted = "(players, actions of player 0, actions of player 1, ...)"
        raise ValueError(
            f"payoffs must have shape {wanted}, got {payoffs.shape}; for one matrix of a zero-sum "
            "game use matrix_game"
        )
    check_payoffs(payoffs, str)
    payoffs.setflags(write=False)
    return payoffs


def _names(value: Iterable[Iterable[str]] | None) -> Names | None:
    return None if value is None else tuple(map(tuple, value))


@define(eq=False, repr=False)
class NormalFormGame(Game[Simplices]):
    """A game in which all players simultaneously choose one action each.

    Parameters
    ----------
    payoffs
        Finite payoffs of all players, shape ``(players, n_0, n_1, ...)`` with n_i the number of
        actions of player i.
    actions
        For each player, a name for each action.
    name
        Name of the game.

    Examples
    --------
    Chicken, with actions "dare" and "yield":

    >>> game = NormalFormGame([[[0, 7], [2, 6]], [[0, 2], [7, 6]]])
    >>> game.value([np.array([0.5, 0.5]), np.array([0.5, 0.5])])
    array([3.75, 3.75])
    >>> game.utility(0, [np.array([0.5, 0.5]), np.array([0.0, 1.0])])
    array([7., 6.])
    """

    payoffs: NDArray[np.float64] = field(converter=_payoffs)
    actions: Names | None = field(default=None, converter=_names, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    domains: tuple[Simplices, ...] = field(init=False)
    _tensors: dict[tuple[int, int], NDArray[np.float64]] = field(init=False, factory=dict)
    """By ``(player, payoff_of)``, the payoffs of ``payoff_of`` with the player's axis first."""

    def __attrs_post_init__(self) -> None:
        sizes = self.payoffs.shape[1:]
        names = [None] * len(sizes) if self.actions is None else list(self.actions)
        if len(names) != len(sizes):
            raise ValueError(
                f"actions must have a list for each of {len(sizes)} players, got {len(names)}"
            )
        self.domains = tuple(
            Simplices(n, actions=None if own is None else [strings(own, n, f"actions[{i}]")])
            for i, (own, n) in enumerate(zip(names, sizes, strict=True))
        )

    @property
    def size(self) -> int:
        """Number of outcomes."""
        return int(self.payoffs[0].size)

    def _outcomes(self) -> Vector:
        return self.payoffs.reshape(self.players, -1)

    def history(self) -> NormalFormHistory:
        """Return the empty history of the game in which players choose in turn, unobserved."""
        return NormalFormHistory(self)

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the expected payoff of each action of ``player``, shape ``(n,)``."""
        if (player, payoff_of) not in self._tensors:
            moved = np.moveaxis(self.payoffs[payoff_of], player, 0)
            self._tensors[player, payoff_of] = np.ascontiguousarray(moved)
        tensor = self._tensors[player, payoff_of]
        utility = self._contracted(tensor, player, strategies)
        # Sum the magnitudes, a second pass, only if terms may have cancelled.
        small = np.abs(utility) <= RESOLUTION * np.abs(tensor).max()
        if (small & (utility != 0.0)).any():
            zero_cancelled(utility, self._contracted(np.abs(tensor), player, strategies))
        return utility

    def _contracted(
        self, tensor: NDArray[np.float64], player: int, strategies: Sequence[Vector]
    ) -> NDArray[np.float64]:
        """Return the product of a tensor, the player's axis first, and the others' strategies."""
        for opponent in reversed([i for i in range(self.players) if i != player]):
            # einsum, not @: it sums all rows in the same order, so actions with equal payoffs
            # have bitwise identical utilities.
            tensor = np.einsum("...j,j->...", tensor, strategies[opponent])
        return tensor.copy() if self.players == 1 else tensor

    def __repr__(self) -> str:
        sizes = " x ".join(str(count) for count in self.payoffs.shape[1:])
        return f"<{self.name or 'NormalFormGame'}: {sizes} actions>"


def matrix_game(
    payoffs: ArrayLike,
    others: ArrayLike | None = None,
    *,
    actions: Sequence[Sequence[str]] | None = None,
    name: str | None = None,
) -> NormalFormGame:
    """Return the two-player game with payoff matrices A and B, by default zero-sum with B = -A.

    Parameters
    ----------
    payoffs
        The payoffs A of the row player, player 0, shape ``(rows, columns)``, finite.
    others
        The payoffs B of the column player, player 1, of the same shape.
    actions
        Names of the rows, and names of the columns.
    name
        Name of the game.

    Examples
    --------
    >>> game = matrix_game([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])
    >>> game.value([np.array([1, 1, 10]) / 12, np.array([4, 5, 3]) / 12])
    array([ 0.25, -0.25])
    """
    matrix = floats(payoffs, "payoffs")
    if matrix.ndim != 2:
        raise ValueError(
            f"payoffs must have shape (rows, columns), got {matrix.shape}; use NormalFormGame for "
            "other games"
        )
    others = -matrix if others is None else others
    both = np.stack([matrix, floats(others, "others")])
    return NormalFormGame(both, actions=actions, name=name)
