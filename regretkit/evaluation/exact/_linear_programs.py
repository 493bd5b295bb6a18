"""Linear programs over strategies, solved by HiGHS through SciPy."""

import math
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import field, frozen

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, number, quote
from regretkit.evaluation._gaps import only_opponent
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, Profile
from regretkit.games._game import check_game, check_player, tree_hint
from regretkit.games._memory_budget import require
from regretkit.games._profile import ProfileLike, as_vectors
from regretkit.games.public import PublicGame
from regretkit.games.tree._sequences import last_sequences, reach_of_chance
from regretkit.sets import DecisionDAG, DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Constrained: TypeAlias = Simplices | DecisionDAG
"""A set ``E x = e, x >= 0``."""


@frozen(eq=False)
class ExactSolution:
    """The value of a two-player zero-sum game, with strategies that prove it.

    Each player's strategy guarantees one end of an interval that contains the value:

        lower  =  min over y' of u(x, y')   <=   value   <=   max over x' of u(x', y)  =  upper

    ``duals[1]`` refers to player 1's payoffs, all other numbers to player 0's.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> solution = solve_zero_sum(kuhn_poker())
    >>> abs(solution.value + 1 / 18) < 1e-12, solution.gap < 1e-12
    (True, True)
    """

    value: float
    """The value for player 0: the middle of the interval."""
    lower: float
    """Security level of player 0's strategy, up to rounding."""
    upper: float
    """The most that player 0 can earn against player 1's strategy."""
    profile: Profile = field(repr=False)
    """A Nash equilibrium. Others may exist. Off its path, strategies may be suboptimal."""
    duals: tuple[Vector, ...] = field(repr=False)
    """The least d with ``E^T d >= u``, for each player's constraints E and utility u.

    ``d[0]`` is the player's value. In a tree, ``d[1 + j]`` is the largest payoff from decision
    point j on, times the probability that chance and the opponent play to j.
    """
    method: str
    """"linear program", or a text that begins with "finish"."""

    @property
    def gap(self) -> float:
        """``upper - lower``, the duality gap of ``profile``: the sum of both players' gains."""
        return self.upper - self.lower

    @classmethod
    def of(cls, game: Any, profile: ProfileLike, method: str) -> "ExactSolution":
        """Return a profile of a constant-sum game, with bounds by best responses."""
        played = Profile(as_vectors(game, profile), game.domains, game)
        duals = tuple(
            constraint_duals(domain, game.utility(player, played))
            for player, domain in enumerate(game.domains)
        )
        upper, _ = game.domains[0].best_response(game.utility(0, played))
        negated, _ = game.domains[1].best_response(-game.utility(1, played, payoff_of=0))
        lower = 0.0 - negated
        return cls(lower + (upper - lower) / 2, lower, upper, played, duals, method)

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        bounds = ("value", self.value), ("lower", self.lower), ("upper", self.upper)
        return facts(*bounds, ("gap", self.gap), ("by", self.method), profile=self.profile)


def solve_zero_sum(
    game: NormalFormGame | ExtensiveFormGame, *, time_limit: float | None = None
) -> ExactSolution:
    """Return the value of a two-player zero-sum game, equilibrium strategies and duals.

    It solves one linear program over player 0's strategies x, and its duals are player 1's y:

        maximize  <f, q>   subject to   F^T q <= A^T x,   E x = e,   x >= 0

    with A the payoffs of player 0, and ``E x = e`` and ``F y = f`` the constraints on strategies.
    Best responses to x and y give ``gap``, independently of HiGHS. It is at most 1e-12 of the
    largest payoff, or 1e-8 if payoffs differ by more than six orders of magnitude.

    Parameters
    ----------
    game
        A constant-sum game of two players, in normal form or in extensive form.
    time_limit
        Raise a RuntimeError after about this number of seconds. ``finish`` returns its best
        strategies instead.

    Examples
    --------
    >>> from regretkit.games import biased_rock_paper_scissors
    >>> solution = solve_zero_sum(biased_rock_paper_scissors())
    >>> solution.profile[0] * 16
    array([ 1., 10.,  5.])

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """
    limit = None if time_limit is None else number(time_limit, "time_limit", minimum=0.0)
    x, y, *_ = _saddle_of_player(check_constant_sum(game), 0, limit)
    return ExactSolution.of(game, [x, y], "linear program")


def check_constant_sum(game: Any, *, public: bool = False) -> Any:
    """Require a constant-sum game of two players, in normal or extensive form or ``public``."""
    check_form(game, NormalFormGame, ExtensiveFormGame, *[PublicGame] * public)
    if game.players != 2:
        raise ValueError(f"game must have two players, got {game.players}")
    if game.constant_sum is None:
        raise ValueError(f"game must be constant-sum, got {quote(game)}; maxmin takes any payoffs")
    return game


def constraint_duals(domain: Simplices | DecisionTree, utility: Vector) -> Vector:
    """Return the least d with ``E^T d >= u``, shape ``(constraints,)``."""
    if isinstance(domain, Simplices):
        return read_only(domain.max(utility))
    values = domain.best_values(utility)
    return read_only(np.append(values[0], domain.simplices.max(values[1:])))


@frozen(eq=False)
class SecurityLevel:
    """The payoff that a strategy guarantees, and a strategy of the opponents that limits it.

    Examples
    --------
    >>> from regretkit.games import chicken
    >>> maxmin(chicken(), 0).strategy
    array([0., 1.])
    """

    value: float
    """The payoff that ``strategy`` guarantees."""
    gap: float
    """``opponents`` limits the payoff to ``value + gap``, up to rounding."""
    strategy: Vector = field(repr=False)
    """The strategy of the player."""
    opponents: Vector = field(repr=False)
    """The joint strategy of the opponents.

    In normal form, a probability for every joint action, shape ``(n_0, n_1, ...)`` without the
    player's axis.
    """


def maxmin(game: NormalFormGame | ExtensiveFormGame, player: int) -> SecurityLevel:
    """Return the largest payoff that a player can guarantee against all opponents.

        max over x of min over y of u(x, y)  =  min over y of max over x of u(x, y)

    with x a mixed strategy of the player and y a joint strategy of the opponents. Their own payoffs
    are ignored. The game must be in normal form or have two players.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> level = maxmin(battle_of_the_sexes(), 0)
    >>> round(level.value, 12), level.strategy, level.opponents
    (1.2, array([0.4, 0.6]), array([0.4, 0.6]))
    """
    strategy, opponents, lower, upper = _saddle_of_player(game, player)
    if isinstance(game, NormalFormGame):
        opponents = opponents.reshape(np.delete(game.payoffs.shape[1:], player))
    return SecurityLevel(lower, upper - lower, strategy, opponents)


def check_form(game: Game, *forms: type, hint: str = "") -> Any:
    """Require a game in one of ``forms``, by default normal or extensive."""
    forms = forms or (NormalFormGame, ExtensiveFormGame)
    check_game(game)
    if game.recall_violation is not None:
        raise ValueError(game.recall_violation)
    if not isinstance(game, forms):
        names = [form.__name__ for form in forms]
        wanted = " or ".join(f"{'an' if name[0] == 'E' else 'a'} {name}" for name in names)
        raise TypeError(must_be("game", wanted, game, tree_hint(game)[2:] or hint))
    return game


def _saddle_of_player(
    game: NormalFormGame | ExtensiveFormGame, player: int, time_limit: float | None = None
) -> tuple[Vector, Vector, float, float]:
    """Return the ``saddle_point`` of a player's payoff against all opponents together."""
    check_form(game)
    check_player(player, game.players)
    opponent = only_opponent(game, player) if isinstance(game, ExtensiveFormGame) else None
    matrix, offset = _payoff_matrix(game, player)
    opponents: Any = Simplices(matrix.shape[1]) if opponent is None else game.domains[opponent]
    x, y, lower, upper = saddle_point(matrix, game.domains[player], opponents, time_limit)
    return x, y, offset + lower, offset + upper


# Programs


def saddle_point(
    matrix: "csr_array",
    rows: Constrained,
    columns: Simplices | DecisionTree,
    time_limit: float | None = None,
) -> tuple[Vector, Vector, float, float]:
    """Return a saddle point (x, y) of ``x^T A y``, and its lower and upper bound.

    With ``F y = f`` the constraints on y, the strategy x and values q solve

        maximize  <f, q>   subject to   F^T q <= A^T x

    and y are the duals of the inequalities. Best responses give the bounds: the least payoff of x,
    and the largest payoff against y.
    """
    from scipy.sparse import csr_array, hstack

    F, f = constraints(columns)
    objective = np.concatenate([np.zeros(rows.dimension), f])
    nonpositive = csr_array(hstack([-scaled(matrix).T, F.T]))
    x, prices = maximize(objective, rows, nonpositive, time_limit)
    y = repaired(prices, columns)
    lowest, _ = columns.best_response(-(matrix.T @ x))
    highest, _ = rows.best_response(matrix @ y)
    return x, y, 0.0 - lowest, highest


def exponent_of(numbers: Vector) -> int:
    """Return the power of two that scales numbers to about one. Such scaling is exact."""
    return int(np.frexp(np.abs(numbers).max(initial=0.0))[1])


def scaled(matrix: "csr_array") -> "csr_array":
    """Return a matrix divided by a power of two, with a largest entry of about one."""
    found = matrix.copy()
    entries: Vector = np.asarray(matrix.data, dtype=np.float64)
    found.data = np.ldexp(entries, -exponent_of(entries))
    return found


def constraints(domain: Constrained) -> tuple["csr_array", Vector]:
    """Return E and e of a set ``E x = e, x >= 0``."""
    from scipy.sparse import csr_array

    simplices = domain if isinstance(domain, Simplices) else domain.simplices
    block = np.repeat(np.arange(simplices.blocks), simplices.sizes)
    if isinstance(domain, Simplices):
        entries = np.ones(block.size), (block, np.arange(block.size))
        return csr_array(entries, shape=(domain.blocks, block.size)), np.ones(domain.blocks)
    parents = domain.parent_sequences
    entered = np.repeat(np.arange(domain.points), domain.parent_counts)
    # Row 0 is the empty sequence; row 1 + j is the flow out of decision point j minus the flow in.
    rows, dimension = np.concatenate([[0], 1 + block, 1 + entered]), domain.dimension
    signs = np.repeat([1.0, -1.0], [dimension, parents.size])
    entries = signs, (rows, np.append(np.arange(dimension), parents))
    return csr_array(entries, shape=(1 + domain.points, dimension)), np.eye(1, 1 + domain.points)[0]


def repaired(point: Vector, domain: Constrained) -> Vector:
    """Return the nonnegative part of a point, with each decision normalized."""
    weights = np.maximum(point, 0.0)
    if isinstance(domain, Simplices):
        return read_only(domain.normalize(weights))
    return read_only(domain.sequence_form(domain.behavior(weights)))


def payoff_rows(game: NormalFormGame, player: int) -> Vector:
    """Return a player's payoffs, shape ``(actions, joint actions of the others)``."""
    payoffs: Vector = np.moveaxis(game.payoffs[player], player, 0)
    return payoffs.reshape(len(payoffs), -1)


@frozen(eq=False)
class Terminals:
    """The terminals of positive chance probability, or the outcomes of a normal form."""

    sequences: Indices
    """Last sequence, or action, of each player, shape ``(players, terminals)``."""
    chance: Vector
    """Probability of chance's actions, shape ``(terminals,)``."""
    payoffs: Vector
    """Payoffs minus ``offsets``, shape ``(players, terminals)``."""
    offsets: Vector
    """Each player's number in its payoff range nearest to zero; subtracting it keeps precision."""

    @classmethod
    def of(cls, game: NormalFormGame | ExtensiveFormGame) -> "Terminals":
        """Return the terminals of a game."""
        if isinstance(game, NormalFormGame):
            paid: Vector = game.payoffs.reshape(game.players, -1)
            sequences = np.indices(game.payoffs.shape[1:]).reshape(game.players, -1)
            chance = np.ones(paid.shape[1])
        else:
            tree, chance = game.tree, reach_of_chance(game.tree)[game.tree.terminals]
            reached = np.flatnonzero(chance > 0.0)
            sequences = last_sequences(tree)[:, tree.terminals[reached]]
            chance, paid = chance[reached], tree.payoffs[reached].T
        offsets = np.clip(0.0, paid.min(axis=1), paid.max(axis=1))
        return cls(sequences, chance, paid - offsets[:, None], offsets)


def _payoff_matrix(game: NormalFormGame | ExtensiveFormGame, player: int) -> tuple[Any, float]:
    """Return the payoff matrix, a player against the others' joint coordinates, and its offset."""
    from scipy.sparse import csr_array

    ends, sizes = Terminals.of(game), [domain.dimension for domain in game.domains]
    last = [*ends.sequences]
    if isinstance(game, ExtensiveFormGame) and game._merged is not None:
        last = [own[at] for own, at in zip(game._merged, last, strict=True)]
    row, rows = last.pop(player), sizes.pop(player)
    column = np.zeros_like(row)
    for own, size in zip(last, sizes, strict=True):
        column = column * size + own
    # csr_array adds up terminals with the same sequences of all players.
    values = ends.chance * ends.payoffs[player]
    matrix = csr_array((values, (row, column)), shape=(rows, math.prod(sizes)))
    matrix.eliminate_zeros()
    return matrix, float(ends.offsets[player])


# HiGHS

_TOLERANCE = 1e-10
"""Feasibility tolerance of HiGHS; the smallest that it accepts."""
_BYTES_AN_ENTRY = 500
"""Peak bytes of HiGHS for each nonzero of a program, rounded up."""


def maximize(
    objective: Vector,
    domain: Constrained,
    nonpositive: "csr_array",
    time_limit: float | None = None,
) -> tuple[Vector, Vector]:
    """Maximize ``<objective, (x, q)>`` over x in a set and any q, if ``nonpositive (x, q) <= 0``.

    Return x, repaired, and the nonnegative duals of the inequalities. It tries the simplex method
    first, or for a DAG the interior point method with crossover, and then the other one. Scale
    entries to about one: HiGHS's tolerances are absolute, and it drops entries below 1e-9.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    (E, e), free = constraints(domain), objective.size - domain.dimension
    fixed = csr_array(hstack([E, csr_array((e.size, free))]))
    bounds = np.tile([0.0, np.inf], (objective.size, 1))
    bounds[domain.dimension :, 0] = -np.inf
    entries = int(nonpositive.nnz + fixed.nnz)
    needed = entries * _BYTES_AN_ENTRY
    require(f"{entries:,} entries", needed, when="in its linear program")
    end = time.monotonic() + (math.inf if time_limit is None else time_limit)
    tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    messages, methods = [], ("highs-ds", "highs-ipm")
    for method in methods if isinstance(domain, Simplices | DecisionTree) else reversed(methods):
        solved: Any = linprog(
            -objective,
            A_ub=nonpositive,
            b_ub=nonpositive @ np.zeros(objective.size),
            A_eq=fixed,
            b_eq=e,
            bounds=bounds,
            method=method,
            options=dict.fromkeys(tolerances, _TOLERANCE)
            | {"time_limit": max(end - time.monotonic(), 0.0)},
        )
        if solved.status == 0:
            prices = np.maximum(-solved.ineqlin.marginals, 0.0)
            return repaired(solved.x[: domain.dimension], domain), prices
        if time.monotonic() >= end:
            raise RuntimeError(
                f"HiGHS did not solve the linear program within time_limit={time_limit:g} seconds; "
                "solve(game, exact=True, time_limit=...) returns the best strategies so far"
            )
        messages.append(f"{method}: {solved.message}")
    raise RuntimeError(
        f"HiGHS found no optimum, perhaps because of the range of payoffs: {'; '.join(messages)}"
    )
