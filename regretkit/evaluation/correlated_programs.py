"""The best correlated and coarse correlated equilibria, by linear programming over outcomes."""

from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from regretkit._typing import Vector
from regretkit._validate import quote, vector
from regretkit.evaluation._arguments import check_normal_form
from regretkit.evaluation._highs import maximize
from regretkit.evaluation._saddle import exponent_of, own_first
from regretkit.evaluation.correlated import cce_gaps, ce_gaps
from regretkit.games import NormalFormGame
from regretkit.games._game import check_player

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Objective: TypeAlias = Literal["welfare"] | int | ArrayLike
"""What is best: ``"welfare"``, the payoff of a player, or how much each player's payoff counts."""


@final
@frozen(eq=False)
class CorrelatedEquilibrium:
    """A correlated equilibrium, coarse or not, and the bound that proves it optimal.

    Examples
    --------
    >>> from regretkit.games import traffic_light
    >>> found = best_correlated_equilibrium(traffic_light())
    >>> round(found.value, 9), float(found.distribution[0, 0])
    (1.0, 0.0)
    """

    value: float
    """What was asked to be large: the welfare, a player's payoff, or the weighted sum."""
    bound: float
    """No such equilibrium has a larger one; the dual value. Rounding may put it a little below."""
    payoffs: Vector
    """Expected payoff of every player, shape ``(players,)``."""
    distribution: Vector = field(repr=False)
    """Probability of every outcome, shape ``(n_0, n_1, ...)``; of several equally good, any one."""
    gaps: Vector = field(repr=False)
    """What each player gains by deviating, shape ``(players,)``, in units of payoff.

    As :func:`ce_gaps` or :func:`cce_gaps` measure it; rounding may leave a little.
    """

    @property
    def gap(self) -> float:
        """The largest of ``gaps`` over the players, in units of payoff."""
        return float(self.gaps.max())

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        earned = [(f"payoff of player {i}", own) for i, own in enumerate(self.payoffs.tolist())]
        return facts(("value", self.value), ("bound", self.bound), ("gap", self.gap), *earned)


def best_correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare"
) -> CorrelatedEquilibrium:
    """Return the correlated equilibrium with the largest welfare, or payoff of one player.

    The linear program over distributions mu of outcomes, for every player i and all its actions
    a and b:

        maximize    sum over o of mu[o] w(o)
        subject to  sum over o with o_i = a of mu[o] (u_i(b, o_-i) - u_i(o))  <=  0

    HiGHS keeps the inequalities within 1e-10 of the largest difference of that player's payoffs;
    negative probabilities, of size 1e-10 at most, become zero, and the rest sums to one. What
    this leaves to gain is in ``gaps``, and ``bound - value`` is the primal-dual gap.

    Parameters
    ----------
    game
        A game in normal form.
    objective
        ``"welfare"`` for the sum of all payoffs, a number for the payoff of that player, or a
        weight for each player; with -1 for every player it is the worst equilibrium.

    Raises
    ------
    TypeError
        When ``game`` is not in normal form, or ``objective`` is none of these.
    ValueError
        When there is no such player, or not a finite weight for each.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    Chicken, in which a mediator may pay more than any Nash equilibrium:

    >>> from regretkit.games import chicken
    >>> best = best_correlated_equilibrium(chicken())
    >>> best.distribution
    array([[0.  , 0.25],
           [0.25, 0.5 ]])
    >>> best.payoffs
    array([5.25, 5.25])

    References
    ----------
    Aumann (1987), "Correlated equilibrium as an expression of Bayesian rationality",
    Econometrica 55(1).
    """
    check_normal_form(game)
    return _best(game, objective, coarse=False)


def best_coarse_correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare"
) -> CorrelatedEquilibrium:
    """Return the coarse correlated equilibrium with the largest welfare, or payoff of one player.

    As :func:`best_correlated_equilibrium`, but a player has to decide on a deviation before it is
    told what to play: for every player i and its actions b,

        sum over o of mu[o] (u_i(b, o_-i) - u_i(o))  <=  0

    Parameters
    ----------
    game
        A game in normal form.
    objective
        ``"welfare"`` for the sum of all payoffs, a number for the payoff of that player, or a
        weight for each player; with -1 for every player it is the worst equilibrium.

    Raises
    ------
    TypeError
        When ``game`` is not in normal form, or ``objective`` is none of these.
    ValueError
        When there is no such player, or not a finite weight for each.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    Cooperate, defect, or stay at home: each is tempted by defecting as soon as it is told that it
    should cooperate, but not before.

    >>> table = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> game = NormalFormGame([table, table.T])
    >>> round(best_correlated_equilibrium(game).value, 9)
    2.0
    >>> best = best_coarse_correlated_equilibrium(game)
    >>> round(best.value, 9), best.distribution.diagonal()
    (3.0, array([0.5, 0. , 0.5]))

    References
    ----------
    Moulin and Vial (1978), "Strategically zero-sum games: the class of games whose completely
    mixed equilibria cannot be improved upon", International Journal of Game Theory 7(3-4).
    """
    check_normal_form(game)
    return _best(game, objective, coarse=True)


def _best(game: NormalFormGame, objective: Objective, *, coarse: bool) -> CorrelatedEquilibrium:
    from scipy.sparse import csr_array, vstack

    worth = _worth_of_outcomes(game, objective)
    # Less a constant, which changes no choice and might drown the differences
    least = worth.min()
    exponent = exponent_of(worth - least)
    scaled = np.ldexp(worth - least, -exponent)
    gained = csr_array(vstack([_gained(game, i, coarse=coarse) for i in range(game.players)]))
    optimum = maximize(
        scaled,
        nonpositive=gained,
        fixed=csr_array(np.ones((1, worth.size))),
        totals=np.ones(1),
    )
    # Weak duality: for nonnegative multipliers of the inequalities, the largest reduced objective
    # of an outcome bounds the objective of every equilibrium.
    bound = least + np.ldexp((scaled - gained.T @ optimum.prices).max(), exponent)
    distribution = np.maximum(optimum.point, 0.0)
    distribution /= distribution.sum()
    joint = distribution.reshape(game.payoffs.shape[1:])
    return CorrelatedEquilibrium(
        float(worth @ distribution),
        float(bound),
        _read_only(game.payoffs.reshape(game.players, -1) @ distribution),
        _read_only(joint),
        _read_only(cce_gaps(game, joint) if coarse else ce_gaps(game, joint)),
    )


def _worth_of_outcomes(game: NormalFormGame, objective: Objective) -> Vector:
    """Return what is to be large, for each outcome."""
    weights = _weights(objective, game.players)
    with np.errstate(over="ignore", invalid="ignore"):
        worth = weights @ game.payoffs.reshape(game.players, -1)
        spread = worth.max() - worth.min()
    if not np.isfinite(spread):
        raise ValueError(
            f"objective must leave weighted payoffs finite, got {quote(objective)}; "
            "only ratios of weights matter, so take smaller ones"
        )
    return worth


def _weights(objective: Objective, players: int) -> Vector:
    """Return how much each player's payoff counts."""
    if isinstance(objective, int | np.integer) and not isinstance(objective, bool):
        check_player(int(objective), players)
        return np.eye(1, players, int(objective)).ravel()
    if isinstance(objective, str) and objective == "welfare":
        return np.ones(players)
    if isinstance(objective, str) or np.ndim(objective) == 0:
        error = ValueError if isinstance(objective, str) else TypeError
        raise error(
            f"objective must be 'welfare', a player or a weight for each, got {quote(objective)}"
        )
    return vector(objective, players, "objective")


def _gained(game: NormalFormGame, player: int, *, coarse: bool) -> "csr_array":
    """Return what a player gains in each outcome by each deviation, a row for each of those.

    In a unit in which the largest is about one.
    """
    from scipy.sparse import csr_array

    payoffs = own_first(game, player)
    actions, others = payoffs.shape
    numbers = np.arange(game.payoffs[0].size).reshape(game.payoffs.shape[1:])
    outcome = np.moveaxis(numbers, player, 0).reshape(actions, others)
    told, instead = np.nonzero(~np.eye(actions, dtype=bool))
    gained = payoffs[instead] - payoffs[told]
    # A coarse deviation does not depend on the recommendation.
    deviation = instead if coarse else np.arange(told.size)
    rows, count = np.repeat(deviation, others), actions if coarse else told.size
    scaled = np.ldexp(gained, -exponent_of(gained)).ravel()
    return csr_array((scaled, (rows, outcome[told].ravel())), shape=(count, outcome.size))


def _read_only(array: Vector) -> Vector:
    array.setflags(write=False)
    return array
