"""Exact solutions of zero-sum games, by linear programming over sequence forms."""

from typing import final

import numpy as np
from attrs import field, frozen

from regretkit._typing import Vector
from regretkit._validate import quote
from regretkit.evaluation._arguments import check_solvable
from regretkit.evaluation._saddle import saddle
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile
from regretkit.sets import DecisionTree, Simplices


@final
@frozen(eq=False)
class ExactSolution:
    """The value of a two-player zero-sum game, and strategies that prove it.

    Each player's strategy guarantees one end of an interval that contains the value:

        lower  =  min over y' of u(x, y')   <=   value   <=   max over x' of u(x', y)  =  upper

    All numbers are in units of player 0's payoff, but for ``duals[1]``, which is in player 1's.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> solution = solve_zero_sum(kuhn_poker())
    >>> round(solution.value, 12), -1 / 18
    (-0.055555555556, -0.05555555555555555)
    >>> solution.gap < 1e-12
    True
    """

    value: float
    """What the game is worth to player 0: the middle of the interval."""
    lower: float
    """What player 0's strategy earns at least; rounding may put it a little above the value."""
    upper: float
    """What player 1's strategy lets player 0 earn at most."""
    profile: Profile = field(repr=False)
    """A Nash equilibrium; of several, any one. Off its path, play may be suboptimal."""
    duals: tuple[Vector, Vector] = field(repr=False)
    """What the constraints on each player's strategy are worth to it, in its own payoffs.

    In a normal form, the value to that player, shape ``(1,)``. In an extensive form, shape
    ``(1 + points,)``: the value, and then for each decision point the most that the player can
    earn from there on, times the probability that chance and the other play to there. With E the
    player's constraints and u its utility at ``profile``, they are the least d with
    ``E^T d >= u``; a strategy earns ``d[0]`` if it takes only sequences at which both are equal.
    """

    @property
    def gap(self) -> float:
        """How far apart the ends are, ``upper - lower``: the saddle gap of ``profile``.

        It is the primal value less the dual one, and the sum of what both players would gain.
        """
        return self.upper - self.lower

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        ends = ("value", self.value), ("lower", self.lower), ("upper", self.upper)
        return facts(*ends, ("gap", self.gap), profile=self.profile)


def solve_zero_sum(game: NormalFormGame | ExtensiveFormGame) -> ExactSolution:
    """Return the value of a two-player zero-sum game, equilibrium strategies and duals.

    One linear program over player 0's strategies x, whose duals are player 1's strategy y:

        maximize  <f, q>   subject to   F^T q <= A^T x,   E x = e,   x >= 0

    with A the payoffs of player 0, and ``E x = e`` and ``F y = f`` the constraints on strategies,
    in sequence form where the game is in extensive form. The payoffs need only add up to a
    constant.

    HiGHS keeps the constraints within 1e-10 of the largest entry of A, and takes entries of less
    than 1e-9 of it for zero. Negative probabilities of that size become zero, and every decision
    sums to one again. ``gap`` then says how good the strategies are, by best responses and not
    by what HiGHS says: 1e-12 of the largest payoff or less, but up to 1e-8 where payoffs differ
    by more than six orders of magnitude.

    Parameters
    ----------
    game
        A constant-sum game of two players, in normal form or in extensive form.

    Raises
    ------
    TypeError
        When ``game`` is in neither form.
    ValueError
        When it does not have two players, or what both earn together is not constant.
    RuntimeError
        When HiGHS gives up.

    Examples
    --------
    >>> from regretkit.games import biased_rock_paper_scissors
    >>> solution = solve_zero_sum(biased_rock_paper_scissors())
    >>> solution.profile[0] * 16
    array([ 1., 10.,  5.])
    >>> round(solution.value, 12) + 0.0
    0.0

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """
    check_solvable(game)
    if game.players != 2:
        raise ValueError(
            f"game must have two players, got {game.players}; maxmin says what one of several "
            "is sure of, best_correlated_equilibrium what all can agree on"
        )
    if game.constant_sum is None:
        raise ValueError(
            f"game must be constant-sum, but what both earn together differs in {quote(game)}; "
            "maxmin says what one of them is sure of, best_correlated_equilibrium what both can "
            "agree on"
        )
    found = saddle(game, 0)
    profile = Profile([found.own, found.others], game.domains, game)
    first, second = [
        _worth_of_constraints(game.domains[player], game.utility(player, profile))
        for player in (0, 1)
    ]
    value = found.lower + (found.upper - found.lower) / 2
    return ExactSolution(value, found.lower, found.upper, profile, (first, second))


def _worth_of_constraints(domain: Simplices | DecisionTree, utility: Vector) -> Vector:
    """Return the least d with ``E^T d >= u``, one for each constraint of a set."""
    if isinstance(domain, Simplices):
        worth = domain.max(utility)
    else:
        worth, at = np.empty(1 + domain.points), utility.copy()
        # Children come after their parents: going backwards, theirs is known first.
        for j in reversed(range(domain.points)):
            first = domain.first_sequence[j]
            worth[1 + j] = at[first : first + domain.sizes[j]].max()
            at[domain.parent_sequence[j]] += worth[1 + j]
        worth[0] = at[0]
    worth.setflags(write=False)
    return worth
