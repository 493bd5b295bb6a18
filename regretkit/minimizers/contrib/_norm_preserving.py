"""Predictive regret matching+ whose vector of regrets never gets shorter."""

from typing import final

import numpy as np
from attrs import define, frozen
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit.minimizers.contrib._norms import norms
from regretkit.minimizers.regret_matching._accumulators import Accumulator, State
from regretkit.minimizers.regret_matching._links import PositivePartLink
from regretkit.minimizers.regret_matching._predictors import LastUtilityPrediction
from regretkit.minimizers.regret_matching._rule import ComposedRule, Parts
from regretkit.sets import Simplices


@final
@frozen
class NormPreserving(Accumulator):
    """Negative regret is dropped, but the norm of no block ever falls.

        Q' = [Q + g]+;  if |Q'| < |Q|, then Q' = [Q + g + c]+ with the c for which |Q'| = |Q|

    Examples
    --------
    >>> NormPreserving().update(
    ...     Simplices(2), {"regrets": np.array([5.0, 0.0])}, np.array([-3.0, 1.0]), 1
    ... )
    {'regrets': array([4., 3.])}
    """

    lower_bound = 0.0

    @override
    def update(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        moved = simplices.add(state["regrets"], regret)
        lengths = norms(simplices, state["regrets"])
        regrets = np.maximum(moved, 0.0)
        shorter = np.flatnonzero(norms(simplices, regrets) < lengths)
        if shorter.size:
            where, few = simplices.coordinates(shorter), Simplices(simplices.sizes[shorter])
            regrets[where] = restore_norm(few, moved[where], lengths[shorter])
        return {"regrets": regrets}


@final
@define(eq=False)
class IREGPredictiveRegretMatchingPlus(ComposedRule):
    """Predictive regret matching+ in which the norm of the regrets never falls.

    With m the utility expected, by default the last one, and x' the last strategy,

        x  =  [Q + v]+ / sum [Q + v]+,    v = m - <m, x'>
        Q' =  [Q + g]+,    g = u - <u, x>
        Q' =  [Q + g + c]+  with the c for which |Q'| = |Q|, where Q' would be shorter
        Q <-  Q'

    The norm is one over the step size, so that here step sizes never grow. The rule has no
    hyperparameter and does not depend on the unit of utility, and still its last iterate
    converges in zero-sum matrix games. The regret is at most the root of the sum of
    ``|g - v|^2``.

    Examples
    --------
    A wrong prediction leads to regret that would shorten Q to [1, 0]:

    >>> player = IREGPredictiveRegretMatchingPlus(2)
    >>> player.observe_utility([10.0, 0.0])
    >>> player.regrets
    array([5., 0.])
    >>> player.expect_utility([0.0, 20.0])
    >>> player.observe_utility([0.0, 4.0])
    >>> player.regrets
    array([4., 3.])

    References
    ----------
    Zhang, Anagnostides and Sandholm (2025), "Scale-invariant regret matching and online learning
    with optimal convergence: bridging theory and practice in zero-sum games", arXiv:2510.04407,
    whose IREG-PRM+ keeps this invariant. Only the abstract could be read: that the norm is kept
    by a constant added to all regrets is a reconstruction, which their rule may differ from.
    """

    @override
    def _parts(self) -> Parts:
        return NormPreserving(), LastUtilityPrediction(), PositivePartLink()


def restore_norm(simplices: Simplices, vector: Vector, lengths: Vector) -> Vector:
    """Return the positive parts of these lengths that one number added to each block leaves.

    Of ``[v + c]+`` the norm grows with c; if its k largest entries are positive, it is the root
    of a quadratic in c. Every length is positive.
    """
    raised = np.empty(simplices.dimension)
    for blocks, where in simplices._groups():
        raised[where] = _restore_rows(vector[where], lengths[blocks])
    return raised


def _restore_rows(rows: Vector, lengths: Vector) -> Vector:
    top = rows.max(axis=1, keepdims=True)
    # In units of the length, rounded to a power of two; what is further below stays below.
    target, exponents = np.frexp(lengths)
    below = np.maximum(rows - top, -2.0 * lengths[:, None])
    below = np.ldexp(below, -exponents[:, None])
    falling, counts = np.sort(below, axis=1)[:, ::-1], np.arange(1, rows.shape[1] + 1)
    sums, squares = np.cumsum(falling, axis=1), np.cumsum(falling * falling, axis=1)
    # The squared norm when c is such that the entry itself has just reached zero
    reached = squares - 2.0 * sums * falling + counts * falling * falling
    kept = np.count_nonzero(reached < (target * target)[:, None], axis=1)
    chosen = np.arange(len(rows)), kept - 1
    linear, constant = sums[chosen], squares[chosen] - target * target
    root = np.sqrt(np.maximum(linear * linear - kept * constant, 0.0))
    height = (root - linear) / kept
    raised: Vector = np.ldexp(np.maximum(below + height[:, None], 0.0), exponents[:, None])
    return raised
