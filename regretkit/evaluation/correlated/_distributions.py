"""Correlated equilibria of normal forms: gaps of a distribution, and optimal equilibria."""

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from regretkit._util._arrays import read_only
from regretkit._util._typing import Vector
from regretkit._util._validate import floats, must_be, vector
from regretkit.evaluation.exact._linear_programs import (
    check_form,
    exponent_of,
    maximize,
    payoff_rows,
    scaled,
)
from regretkit.games import NormalFormGame
from regretkit.games._game import check_player
from regretkit.sets import Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def cce_gaps(game: NormalFormGame, distribution: ArrayLike) -> Vector:
    """Return each player's gain from the best fixed action, shape ``(players,)``.

        max over b of  sum over o of mu[o] (u_i(b, o_-i) - u_i(o))

    in units of payoff, with mu the joint distribution: the probability of every outcome o, shape
    ``(n_0, n_1, ...)``. All gains are at most zero exactly at a coarse correlated equilibrium.

    Examples
    --------
    >>> from regretkit.games import shapley_game
    >>> cce_gaps(shapley_game(), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    array([0., 1.])
    """
    joints = _joints(game, distribution)
    return np.array([joint.sum(axis=0).max() - np.trace(joint) for joint in joints])


def ce_gaps(game: NormalFormGame, distribution: ArrayLike) -> Vector:
    """Return each player's gain from the best rule "play f(a) for a", shape ``(players,)``.

        sum over a of  max over b of  sum over o with o_i = a of mu[o] (u_i(b, o_-i) - u_i(o))

    in units of payoff. All gains are zero exactly at a correlated equilibrium. ``distribution`` is
    mu, as in ``cce_gaps``.

    Examples
    --------
    >>> from regretkit.games import chicken
    >>> ce_gaps(chicken(), [[0.0, 0.25], [0.25, 0.5]])
    array([0., 0.])
    """
    return np.array([swap_gain(joint) for joint in _joints(game, distribution)])


def swap_gain(joint: Vector) -> float:
    """Return the sum over a of ``max_b K[a, b] - K[a, a]``."""
    return float((joint.max(axis=1) - np.diag(joint)).sum())


def _joints(game: NormalFormGame, distribution: ArrayLike) -> list[Vector]:
    """Return K_i[a, b] of each player: the sum over o with o_i = a of mu[o] u_i(b, o_-i)."""
    mu = check_distribution(game, distribution)
    joints = []
    for player in range(game.players):
        weights, payoffs = (np.moveaxis(a, player, 0) for a in (mu, game.payoffs[player]))
        rows = len(payoffs)
        joints.append(weights.reshape(rows, -1) @ payoffs.reshape(rows, -1).T)
    return joints


def check_distribution(game: NormalFormGame, distribution: ArrayLike) -> Vector:
    """Require a distribution over the outcomes of a normal form."""
    check_form(game, NormalFormGame, hint="CorrelatedPlay takes other games")
    mu, shape = floats(distribution, "distribution"), game.payoffs.shape[1:]
    if mu.shape != shape:
        raise ValueError(f"distribution must have shape {shape}, got {mu.shape}")
    return check_probabilities(mu, "distribution")


def check_probabilities(mu: Vector, name: str) -> Vector:
    """Require probabilities that sum to one."""
    if not (mu >= 0.0).all() or not abs(mu.sum() - 1.0) <= 1e-9:
        raise ValueError(
            must_be(name, "nonnegative and sum to one within 1e-9", mu, f"their sum is {mu.sum()}")
        )
    return mu


# Optimal equilibria

Objective: TypeAlias = Literal["welfare"] | int | ArrayLike
"""``"welfare"``, the number of a player, or a weight for each player's payoff."""


@frozen(eq=False)
class Optimum:
    """An optimal equilibrium, in normal or extensive form."""

    value: float
    """The objective: the welfare, a player's payoff, or the weighted sum."""
    bound: float
    """The dual value, an upper bound on ``value`` up to rounding."""
    payoffs: Vector
    """Expected payoff of every player, shape ``(players,)``."""
    gaps: Vector = field(repr=False)
    """Each player's gain from the best deviation of the concept, 0 up to rounding."""

    @property
    def gap(self) -> float:
        """The largest of ``gaps`` over the players, in units of payoff."""
        return float(self.gaps.max())

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        payoffs = [(f"payoff of player {i}", paid) for i, paid in enumerate(self.payoffs.tolist())]
        return facts(("value", self.value), ("bound", self.bound), ("gap", self.gap), *payoffs)


@frozen(eq=False)
class CorrelatedEquilibrium(Optimum):
    """A correlated equilibrium and the bound that proves it optimal.

    Examples
    --------
    >>> from regretkit.games import traffic_light
    >>> found = best_correlated_equilibrium(traffic_light())
    >>> round(found.value, 9), float(found.distribution[0, 0])
    (1.0, 0.0)
    """

    distribution: Vector = field(repr=False)
    """Probability of every outcome, shape ``(n_0, n_1, ...)``. Other optima may exist."""


def best_correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare", *, coarse: bool = False
) -> CorrelatedEquilibrium:
    """Return the correlated equilibrium with the largest welfare, or payoff of one player.

    The linear program is over distributions mu of outcomes o, with objective w:

        maximize    sum over o of mu[o] w(o)
        subject to  sum over o with o_i = a of mu[o] (u_i(b, o_-i) - u_i(o))  <=  0

    for every player i and all its actions a and b. For a coarse equilibrium, a deviation does not
    depend on the recommendation a, so the sum is over all o. ``gaps`` are the remaining gains of
    the solution of HiGHS, and ``bound - value`` is its primal-dual gap.

    Parameters
    ----------
    objective
        ``"welfare"`` for the sum of all payoffs, a player's number for its payoff, or a weight for
        each player. Weights of -1 give the worst equilibrium.
    coarse
        Whether to return a coarse correlated equilibrium.

    Examples
    --------
    In chicken, a mediator can achieve a larger welfare than any Nash equilibrium:

    >>> from regretkit.games import chicken
    >>> best = best_correlated_equilibrium(chicken())
    >>> best.distribution
    array([[0.  , 0.25],
           [0.25, 0.5 ]])
    >>> best.payoffs
    array([5.25, 5.25])

    With actions cooperate, defect and stay at home, a player gains by defecting after the
    recommendation to cooperate, but not before:

    >>> table = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> game = NormalFormGame([table, table.T])
    >>> [round(best_correlated_equilibrium(game, coarse=c).value, 9) for c in (False, True)]
    [2.0, 3.0]

    References
    ----------
    Aumann (1987), "Correlated equilibrium as an expression of Bayesian rationality",
    Econometrica 55(1).

    Moulin and Vial (1978), "Strategically zero-sum games: the class of games whose completely
    mixed equilibria cannot be improved upon", International Journal of Game Theory 7(3-4).
    """
    from scipy.sparse import csr_array, vstack

    hint = "for a tree use best_extensive_form_correlated_equilibrium"
    check_form(game, NormalFormGame, hint=hint)
    payoffs = game.payoffs.reshape(game.players, -1)
    values = weighted_payoffs(payoffs, objective)
    # Subtract the minimum: it does not affect the optimum, and a large one would cost precision.
    minimum = values.min()
    exponent = exponent_of(values - minimum)
    differences = np.ldexp(values - minimum, -exponent)
    gains = csr_array(
        vstack([_deviation_gains(game, i, coarse=coarse) for i in range(game.players)])
    )
    distribution, prices = maximize(differences, Simplices(values.size), gains)
    # Weak duality: for multipliers p >= 0 of the inequalities G mu <= 0, every equilibrium mu has
    # <w, mu> <= <w - G^T p, mu> <= max over o of (w - G^T p)[o].
    bound = minimum + np.ldexp((differences - gains.T @ prices).max(), exponent)
    joint = distribution.reshape(game.payoffs.shape[1:])
    return CorrelatedEquilibrium(
        float(values @ distribution),
        float(bound),
        read_only(payoffs @ distribution),
        read_only((cce_gaps if coarse else ce_gaps)(game, joint)),
        joint,
    )


def weighted_payoffs(payoffs: Vector, objective: Objective) -> Vector:
    """Return the objective at each outcome, for payoffs of shape ``(players, outcomes)``."""
    players, weights = len(payoffs), objective
    if isinstance(objective, int | np.integer) and not isinstance(objective, bool):
        check_player(int(objective), players)
        weights = np.eye(1, players, int(objective))[0]
    elif isinstance(objective, str) and objective == "welfare":
        weights = np.ones(players)
    elif isinstance(objective, str | bool) or np.ndim(objective) == 0:
        wanted = "'welfare', a player or a weight for each player"
        raise ValueError(must_be("objective", wanted, objective))
    with np.errstate(over="ignore", invalid="ignore"):
        values: Vector = vector(weights, players, "objective") @ payoffs
        spread = values.max() - values.min()
    if not np.isfinite(spread):
        raise ValueError(must_be("objective", "smaller, so that payoffs are finite", objective))
    return values


def _deviation_gains(game: NormalFormGame, player: int, *, coarse: bool) -> "csr_array":
    """Return a player's gains at each outcome, one row per deviation, scaled to about one."""
    from scipy.sparse import csr_array

    payoffs = payoff_rows(game, player)
    actions, outcomes = payoffs.shape
    numbers = np.arange(game.payoffs[0].size).reshape(game.payoffs.shape[1:])
    outcome = np.moveaxis(numbers, player, 0).reshape(actions, outcomes)
    recommended, alternative = np.nonzero(~np.eye(actions, dtype=bool))
    gains = payoffs[alternative] - payoffs[recommended]
    # A coarse deviation does not depend on the recommendation.
    deviation = alternative if coarse else np.arange(recommended.size)
    rows, count = np.repeat(deviation, outcomes), actions if coarse else recommended.size
    entries = gains.ravel(), (rows, outcome[recommended].ravel())
    return scaled(csr_array(entries, shape=(count, outcome.size)))
