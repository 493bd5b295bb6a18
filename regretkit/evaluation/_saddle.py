"""Saddle points: what one player can be sure of, against all the others at once."""

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from regretkit._typing import Vector
from regretkit.evaluation._arguments import check_solvable
from regretkit.evaluation._highs import maximize
from regretkit.games import ExtensiveFormGame, NormalFormGame
from regretkit.games._game import check_player
from regretkit.games.tree._sequences import last_sequences, reach_of_chance
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@frozen
class Saddle:
    """A strategy of one player, one of the others together, and what either is sure of."""

    own: Vector
    """The player's strategy."""
    others: Vector
    """The others' strategy: that of the one opponent, or a distribution over what they may do."""
    lower: float
    """What the player's strategy earns at least."""
    upper: float
    """What the player earns at most against the others' strategy."""


def saddle(game: NormalFormGame | ExtensiveFormGame, player: int) -> Saddle:
    """Return a saddle point of one player's payoff, against all the others together.

    The bounds do not rest on what HiGHS reports: they are best responses to the strategies that
    are returned, which lie in their sets.
    """
    check_solvable(game)
    check_player(player, game.players)
    own, others = game.domains[player], _together(game, player)
    own_strategy, others_strategy = saddle_point(
        _payoff_matrix(game, player, less=_offset(game, player)), own, others
    )
    matrix = _payoff_matrix(game, player)
    lowest, _ = others.best_response(-(matrix.T @ own_strategy))
    highest, _ = own.best_response(matrix @ others_strategy)
    return Saddle(own_strategy, others_strategy, 0.0 - lowest, highest)


def saddle_point(
    matrix: "csr_array", own: Simplices | DecisionTree, others: Simplices | DecisionTree
) -> tuple[Vector, Vector]:
    """Return x and y where ``x^T A y`` has a saddle point: x maximizes it, and y minimizes it.

    With ``E x = e`` and ``F y = f`` the constraints of the two sets, x and q solve

        maximize  <f, q>   subject to   F^T q <= A^T x,   E x = e,   x >= 0

    and y is what the inequalities cost. Both are repaired where HiGHS left them outside their
    sets: negative numbers, of size 1e-10 at most, become zero, and each decision sums to one.

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """
    from scipy.sparse import csr_array, hstack

    (E, e), (F, f) = _constraints(own), _constraints(others)
    scaled = matrix.copy()
    entries: Vector = np.asarray(matrix.data, dtype=np.float64)
    scaled.data = np.ldexp(entries, -exponent_of(entries))
    optimum = maximize(
        np.concatenate([np.zeros(own.dimension), f]),
        nonpositive=csr_array(hstack([-scaled.T, F.T])),
        fixed=csr_array(hstack([E, csr_array((e.size, f.size))])),
        totals=e,
        free=f.size,
    )
    return _repaired(optimum.point[: own.dimension], own), _repaired(optimum.prices, others)


def exponent_of(numbers: Vector) -> int:
    """Return the power of two by which to divide numbers so that the largest is about one.

    A power of two, so that payoffs in another unit of that kind lead to the same bits.
    """
    return int(np.frexp(np.abs(numbers).max(initial=0.0))[1])


def _constraints(domain: Simplices | DecisionTree) -> tuple["csr_array", Vector]:
    """Return E and e, with which a set is ``E x = e, x >= 0``."""
    from scipy.sparse import csr_array

    simplices = domain.simplices if isinstance(domain, DecisionTree) else domain
    block, action = np.repeat(np.arange(simplices.blocks), simplices.sizes), simplices.dimension
    if isinstance(domain, Simplices):
        ones = np.ones(action)
        shape = simplices.blocks, action
        return csr_array((ones, (block, np.arange(action))), shape=shape), np.ones(shape[0])
    # Row 0 is the empty sequence; row 1 + j is what leaves decision point j less what comes there.
    rows = np.concatenate([[0], 1 + block, 1 + np.arange(domain.points)])
    columns = np.concatenate([np.arange(domain.dimension), domain.parent_sequence])
    signs = np.concatenate([np.ones(domain.dimension), -np.ones(domain.points)])
    shape = 1 + domain.points, domain.dimension
    return csr_array((signs, (rows, columns)), shape=shape), np.eye(1, shape[0])[0]


def _repaired(point: Vector, domain: Simplices | DecisionTree) -> Vector:
    weights = np.maximum(point, 0.0)
    if isinstance(domain, DecisionTree):
        repaired = domain.sequence_form(domain.behavior(weights))
    else:
        repaired = domain.normalize(weights)
    repaired.setflags(write=False)
    return repaired


# A player against the others


def _together(game: NormalFormGame | ExtensiveFormGame, player: int) -> Simplices | DecisionTree:
    """Return where all the others play together."""
    if isinstance(game, NormalFormGame):
        others = np.delete(game.payoffs.shape[1:], player)
        return Simplices(int(np.prod(others)))
    if game.players != 2:
        raise ValueError(
            f"game must have two players in extensive form, got {game.players}: what several "
            "opponents can do together there is not linear in their strategies"
        )
    return game.domains[1 - player]


def _offset(game: NormalFormGame | ExtensiveFormGame, player: int) -> float:
    """Return the payoff of a player that is nearest to zero; less it, none is drowned by others."""
    own = _own_payoffs(game, player)
    return float(np.clip(0.0, own.min(), own.max()))


def _own_payoffs(game: NormalFormGame | ExtensiveFormGame, player: int) -> Vector:
    if isinstance(game, NormalFormGame):
        return own_first(game, player)
    return game.tree.payoffs[:, player]


def own_first(game: NormalFormGame, player: int) -> Vector:
    """Return a player's payoffs, shape ``(own actions, what the others may do)``."""
    payoffs = np.moveaxis(game.payoffs[player], player, 0)
    own: Vector = payoffs.reshape(len(payoffs), -1)
    return own


def _payoff_matrix(
    game: NormalFormGame | ExtensiveFormGame, player: int, *, less: float = 0.0
) -> "csr_array":
    """Return what a player earns, ``less`` taken away, by its coordinates and the others'."""
    from scipy.sparse import csr_array

    payoffs = _own_payoffs(game, player) - less
    if isinstance(game, NormalFormGame):
        return csr_array(payoffs)
    last = last_sequences(game.tree)[:, game.tree.terminals]
    weighted = reach_of_chance(game.tree)[game.tree.terminals] * payoffs
    shape = game.domains[player].dimension, game.domains[1 - player].dimension
    # Ends with the same sequences of both players are added up.
    return csr_array((weighted, (last[player], last[1 - player])), shape=shape)
