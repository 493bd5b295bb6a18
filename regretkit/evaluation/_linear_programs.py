"""Linear programs over strategies, solved by HiGHS through SciPy."""

import math
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from attrs import frozen

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit.games import ExtensiveFormGame, NormalFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._sequences import last_sequences, reach_of_chance
from regretkit.sets import DecisionDAG, DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Constrained: TypeAlias = Simplices | DecisionTree | DecisionDAG
"""A set ``E x = e, x >= 0``."""


def saddle_point(
    matrix: "csr_array",
    rows: Constrained,
    columns: Simplices | DecisionTree,
    time_limit: float | None = None,
) -> tuple[Vector, Vector, float, float]:
    """Return x and y where ``x^T A y`` has a saddle point: x maximizes it, and y minimizes it.

    With ``F y = f`` the constraints of the second set, x of the first and q solve

        maximize  <f, q>   subject to   F^T q <= A^T x

    and y are the dual values of the inequalities. After them come the least that x earns, and the
    most that is possible against y. These are values of best responses to the returned strategies,
    which are feasible, and do not depend on what HiGHS reports.
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
    """Return the power of two by which to divide numbers so that the largest is about one.

    Scaling by a power of two is exact, and leaves the solution bitwise identical.
    """
    return int(np.frexp(np.abs(numbers).max(initial=0.0))[1])


def scaled(matrix: "csr_array") -> "csr_array":
    """Return a matrix divided by a power of two, so that its largest entry is about one."""
    found = matrix.copy()
    entries: Vector = np.asarray(matrix.data, dtype=np.float64)
    found.data = np.ldexp(entries, -exponent_of(entries))
    return found


def constraints(domain: Constrained) -> tuple["csr_array", Vector]:
    """Return E and e, with which a set is ``E x = e, x >= 0``."""
    from scipy.sparse import csr_array

    rows, columns, signs, totals = constraint_entries(domain)
    return csr_array((signs, (rows, columns)), shape=(totals.size, domain.dimension)), totals


def constraint_entries(domain: Constrained) -> tuple[Indices, Indices, Vector, Vector]:
    """Return the row, the column and the value of every entry of E, and e."""
    simplices = domain if isinstance(domain, Simplices) else domain.simplices
    block, action = np.repeat(np.arange(simplices.blocks), simplices.sizes), simplices.dimension
    if isinstance(domain, Simplices):
        return block, np.arange(action), np.ones(action), np.ones(simplices.blocks)
    if isinstance(domain, DecisionTree):
        parents, entered = domain.parent_sequence, np.arange(domain.points)
    else:
        parents = domain.parent_sequences
        entered = np.repeat(np.arange(domain.points), domain.parent_counts)
    # Row 0 is the empty sequence; row 1 + j is the flow out of decision point j minus the flow in.
    rows = np.concatenate([[0], 1 + block, 1 + entered])
    columns = np.concatenate([np.arange(domain.dimension), parents])
    signs = np.concatenate([np.ones(domain.dimension), -np.ones(parents.size)])
    return rows, columns, signs, np.eye(1, 1 + domain.points)[0]


def repaired(point: Vector, domain: Constrained) -> Vector:
    """Return the nonnegative part of a point, with each decision normalized."""
    weights = np.maximum(point, 0.0)
    if isinstance(domain, Simplices):
        return read_only(domain.normalize(weights))
    return read_only(domain.sequence_form(domain.behavior(weights)))


def payoff_rows(game: NormalFormGame, player: int) -> Vector:
    """Return a player's payoffs, shape ``(actions, joint actions of the others)``."""
    payoffs = np.moveaxis(game.payoffs[player], player, 0)
    rows: Vector = payoffs.reshape(len(payoffs), -1)
    return rows


@frozen(eq=False)
class Terminals:
    """The terminals that chance may reach."""

    sequences: Indices
    """Last sequence of each player, shape ``(players, terminals)``."""
    chance: Vector
    """Probability of chance's moves, shape ``(terminals,)``."""
    payoffs: Vector
    """Payoffs without ``offsets``, shape ``(players, terminals)``."""
    offsets: Vector
    """The payoff of each player that is nearest to zero, so that small differences count."""

    @classmethod
    def of(cls, game: ExtensiveFormGame) -> "Terminals":
        """Return the terminals of a game."""
        tree = game.tree
        chance = reach_of_chance(tree)[tree.terminals]
        reached = np.flatnonzero(chance > 0.0)
        paid = tree.payoffs[reached].T
        offsets = np.clip(0.0, paid.min(axis=1), paid.max(axis=1))
        sequences = last_sequences(tree)[:, tree.terminals[reached]]
        return cls(sequences, chance[reached], paid - offsets[:, None], offsets)


def payoff_matrix(
    game: NormalFormGame | ExtensiveFormGame, player: int
) -> tuple["csr_array", float]:
    """Return payoffs of a player by its coordinates and the others', without an offset, and that.

    It is the payoff nearest to zero, so that small differences count.
    """
    from scipy.sparse import csr_array

    if isinstance(game, NormalFormGame):
        payoffs = payoff_rows(game, player)
        offset = float(np.clip(0.0, payoffs.min(), payoffs.max()))
        return csr_array(payoffs - offset), offset
    ends = Terminals.of(game)
    last: Any = ends.sequences
    if game._merged is not None:
        last = [own[at] for own, at in zip(game._merged, last, strict=True)]
    shape = game.domains[player].dimension, game.domains[1 - player].dimension
    # Terminals with the same sequences of both players are added up.
    entries = ends.chance * ends.payoffs[player], (last[player], last[1 - player])
    return csr_array(entries, shape=shape), float(ends.offsets[player])


# HiGHS

_TOLERANCE = 1e-10
"""How far HiGHS may leave a constraint unmet; the smallest that it accepts."""
_BYTES_AN_ENTRY = 500
"""Peak memory of HiGHS for each entry of a sparse program, rounded up."""


def maximize(
    objective: Vector,
    domain: Constrained,
    nonpositive: "csr_array",
    time_limit: float | None = None,
) -> tuple[Vector, Vector]:
    """Maximize ``<objective, (x, q)>`` over x of a set and any q, with ``nonpositive (x, q) <= 0``.

    Return x, and the gain of the optimum per unit of slack of each inequality, at least 0. Where
    HiGHS left x outside its set, it is projected: negative numbers, of size 1e-10 at most, become
    zero, and each decision sums to one.

    The simplex method comes first, or for a DAG the interior point method with crossover; where one
    fails, and that is not for lack of time, the other follows. Entries should be at most about one
    in size: HiGHS's tolerances are absolute, and it takes entries below 1e-9 for zero.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    (E, e), free = constraints(domain), objective.size - domain.dimension
    fixed = csr_array(hstack([E, csr_array((e.size, free))]))
    bounds = np.tile([0.0, np.inf], (objective.size, 1))
    bounds[domain.dimension :, 0] = -np.inf
    entries = int(nonpositive.nnz + fixed.nnz)
    when = "in its linear program"
    MemoryBudget().require(f"{entries:,} entries", entries * _BYTES_AN_ENTRY, when=when)
    end = time.monotonic() + (math.inf if time_limit is None else time_limit)
    tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    messages, methods = [], ("highs-ds", "highs-ipm")
    for method in reversed(methods) if isinstance(domain, DecisionDAG) else methods:
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
                f"HiGHS did not solve the linear program within time_limit={time_limit:g} seconds, "
                "and until then it has no strategies, so that no gap is known; solve(game, "
                "exact=True, time_limit=...) returns the best so far"
            )
        messages.append(f"{method}: {solved.message}")
    raise RuntimeError(
        "HiGHS found no optimum of a linear program that has one; payoffs of very different sizes "
        f"may be the reason, so rescale or round them. It says: {'; '.join(messages)}"
    )
