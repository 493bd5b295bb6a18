"""Linear programs, solved by HiGHS through SciPy."""

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from regretkit._typing import Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TOLERANCE = 1e-10
"""How far HiGHS may leave a constraint unmet; the smallest that it accepts."""


@frozen
class Optimum:
    """An optimal point of a linear program, and what its inequalities cost there."""

    point: Vector
    """The variables, within HiGHS's tolerance of the constraints."""
    prices: Vector
    """What the optimum would gain for each unit by which an inequality gave way, at least 0."""


def maximize(
    worth: Vector,
    *,
    nonpositive: "csr_array",
    fixed: "csr_array",
    totals: Vector,
    free: int = 0,
) -> Optimum:
    """Maximize <worth, z> subject to ``nonpositive z <= 0``, ``fixed z = totals`` and ``z >= 0``.

    The last ``free`` variables may have either sign. Entries should be at most about one in size:
    HiGHS's tolerances are absolute, and it takes entries below 1e-9 for zero.

    Raises
    ------
    RuntimeError
        When HiGHS finds no optimum, neither by the simplex method nor by an interior point.
    """
    from scipy.optimize import linprog

    bounds = np.tile([0.0, np.inf], (worth.size, 1))
    bounds[worth.size - free :, 0] = -np.inf
    said = []
    for method in ("highs-ds", "highs-ipm"):
        solved: Any = linprog(
            -worth,
            A_ub=nonpositive,
            b_ub=nonpositive @ np.zeros(worth.size),
            A_eq=fixed,
            b_eq=totals,
            bounds=bounds,
            method=method,
            options={
                "primal_feasibility_tolerance": _TOLERANCE,
                "dual_feasibility_tolerance": _TOLERANCE,
            },
        )
        if solved.status == 0:
            return Optimum(solved.x, np.maximum(-solved.ineqlin.marginals, 0.0))
        said.append(f"{method}: {solved.message}")
    raise RuntimeError(
        "HiGHS found no optimum of a linear program that has one; payoffs of very different sizes "
        f"may be the reason, so rescale or round them. It says: {'; '.join(said)}"
    )
