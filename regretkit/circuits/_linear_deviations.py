"""All linear maps of sequence-form strategies to themselves: linear swap regret."""

from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np
from attrs import define
from typing_extensions import override

from regretkit._regret_tracker import RegretTracker
from regretkit._util._arrays import expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit.circuits._base import check_tree
from regretkit.circuits._maps import DeviationSet
from regretkit.sets import DecisionDAG, DecisionTree, StrategySet
from regretkit.sets._labels import LazySequence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LARGEST = 50_000_000
"""Number of coefficients that are not too many: building their DAG takes some ten gigabytes."""
_SHARES = 2.0**-26, 2.0**-40
"""What p is in ``fixed_point``: a small one only where the first is too large to settle."""
_STEPS = 64
"""Number of its steps with each of them, at most."""
_SETTLED = 4.0 * float(np.finfo(np.float64).eps)
"""How little a map moves a point that counts as fixed."""


@final
@define(eq=False, repr=False, init=False)
class LinearDeviations(DeviationSet):
    """All linear maps of the strategies of a decision tree to themselves.

    A player who is recommended x need not follow it: at any time, it may query what x plays at a
    decision point after the last sequence recommended, and act on that as it likes. The
    coefficients c are its strategy in this problem, a flow through a ``DecisionDAG`` of pairs. At
    pair (j, s) it has to act at its decision point j, and s was recommended so far. It plays an
    action a of j, which leads to the pairs (k, s) of the decision points k after a; or it queries a
    decision point k after s, which leads to the pairs (j, (k, b)) of all actions b of k:

        map_c(x)[j, a]  =  sum over s of c[(j, s), a] x[s],    map_c(x)[0]  =  1

    These are the untimed communication deviations. Each of them is a linear map of the set to
    itself, and each linear map of the set to itself is one of them. With N sequences and J decision
    points there are ``J N`` pairs and ``1 + N (N - 1) + J^2`` coefficients.

    Parameters
    ----------
    tree
        The player's decisions.

    Examples
    --------
    A single decision has the linear maps of a simplex, stochastic matrices. To query, and then to
    play the other action:

    >>> maps = LinearDeviations(DecisionTree([0], [2]))
    >>> other = maps.pairs.sequence_form(np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    >>> maps.apply(other, np.array([1.0, 0.9, 0.1]))
    array([1. , 0.1, 0.9])

    References
    ----------
    Zhang, Farina and Sandholm (2024), "Mediator interpretation and faster learning algorithms for
    linear correlated equilibria in general sequential games", ICLR. Farina and Pipis (2023),
    "Polynomial-time linear-swap regret minimization in imperfect-information sequential games",
    NeurIPS.
    """

    domain: StrategySet
    coefficients: StrategySet
    tree: DecisionTree
    """The domain."""
    pairs: DecisionDAG
    """Where the coefficients live."""
    _play: Indices
    """For each action of the tree and each sequence recommended, the coordinate that plays it."""
    _free: Indices
    """Coordinates from which all others follow: all actions but the last of a decision point."""
    _basis: "csr_array"
    """How they follow: the matrix that sends 1 and these coordinates to a strategy."""

    def __init__(self, tree: DecisionTree) -> None:
        from scipy.sparse import csr_array

        check_tree(tree)
        self.domain = self.tree = tree
        if (size := 1 + tree.dimension * (tree.dimension - 1) + tree.points**2) > _LARGEST:
            raise MemoryError(
                f"the linear maps of a tree with {tree.dimension:,} sequences have {size:,} "
                f"coefficients, more than {_LARGEST:,}; choose a smaller game"
            )
        points, length, first_action = tree.points, tree.dimension, tree.simplices.first
        before, point_of = tree.parent_sequence, np.repeat(np.arange(points), tree.sizes)
        following = np.bincount(before, minlength=length)
        # At pair (j, s), which is number j * length + s: the actions of j, then queries, one for
        # each decision point that follows s.
        sizes = tree.sizes[:, None] + following
        first = (1 + sizes.cumsum() - sizes.ravel()).reshape(sizes.shape)
        self._play = first[point_of] + (np.arange(length - 1) - first_action[point_of])[:, None]
        place = np.empty(points, dtype=np.int64)
        place[np.argsort(before, kind="stable")] = expand_ranges(
            np.zeros_like(following), following
        )
        query = first[:, before] + tree.sizes[:, None] + place
        # What leads to a pair: the action before j, with s recommended already; and the query that
        # s answers. -1 where there is none.
        start = np.where(np.arange(length) == 0, 0, -1)
        acted = np.vstack([start, self._play])[before]
        queried = np.hstack([np.full((points, 1), -1), query[:, point_of]])
        edges = np.stack([acted, queried], axis=2).reshape(-1, 2)
        self.coefficients = self.pairs = DecisionDAG(
            edges[edges >= 0],
            sizes.ravel(),
            parent_counts=(edges >= 0).sum(axis=1),
            labels=LazySequence(sizes.size, partial(_name, tree)),
            actions=LazySequence(sizes.size, partial(_actions, tree)),
        )
        last = tree.first_sequence + tree.sizes - 1
        self._free = np.delete(np.arange(length), np.append(0, last))
        basis = np.zeros((length, 1 + self._free.size))
        basis[np.append(0, self._free), np.arange(1 + self._free.size)] = 1.0
        for parent, begin, end in zip(before, tree.first_sequence, last, strict=True):
            basis[end] = basis[parent] - basis[begin:end].sum(axis=0)
        self._basis = csr_array(basis)

    @property
    @override
    def cover_constants(self) -> bool:
        return True

    def matrix(self, coefficients: Vector) -> Vector:
        """Return the matrix A of a map ``x -> A x``, shape ``(dimension, dimension)``."""
        return np.vstack([np.eye(1, self.tree.dimension), coefficients[self._play]])

    @override
    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        return np.append(point[0], coefficients[self._play] @ point)

    @override
    def utility(self, utility: Vector, point: Vector) -> Vector:
        earned = np.zeros(self.pairs.dimension)
        earned[0] = utility[0]
        earned[self._play] = utility[1:, None] * point
        return earned

    @override
    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker._joint:
            return None
        (joint,) = tracker._joint
        earned = np.zeros(self.pairs.dimension)
        earned[self._play] = joint[:, 1:].T
        return self.pairs.best_response(earned)[0] + float(joint[0, 0] - np.trace(joint))

    @override
    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return the limit of the means of z, A z, A A z and so on, z the interior point.

        It is what ``AveragedPowerIterate`` tends to. With a small share p,

            x  <-  p (I - (1 - p) A)^-1 x  =  x + (1 - p) (I - (1 - p) A)^-1 (A x - x),    from z

        Each step is a mean of such powers, and so keeps to the set, and fixed points where they
        are; an eigenvector of eigenvalue r shrinks by the factor ``p / |1 - (1 - p) r|``. All is
        computed in coordinates of the set's affine hull, all but one action of each decision point:
        outside, powers of A may grow.
        """
        from scipy.linalg import lu_factor, lu_solve

        step: Vector = coefficients[self._play[self._free - 1]] @ self._basis
        free: Vector = self.tree.relative_interior_point()[self._free]
        factors, share = (step, step), 0.0
        for number in range(_STEPS * len(_SHARES)):
            change = step[:, 0] + step[:, 1:] @ free - free
            if np.abs(change).max(initial=0.0) <= _SETTLED:
                break
            if number % _STEPS == 0:
                share = _SHARES[number // _STEPS]
                factors = lu_factor(np.eye(free.size) - (1.0 - share) * step[:, 1:])
            free += (1.0 - share) * lu_solve(factors, change)
        point: Vector = self._basis @ np.append(1.0, free)
        point[point <= _SETTLED] = 0.0  # what only leaves it shrinks, but never to zero
        return self.tree.sequence_form(self.tree.behavior(point))

    def __repr__(self) -> str:
        return f"LinearDeviations({self.tree!r})"


def _name(tree: DecisionTree, number: int) -> str:
    """Return the name of a pair: its decision point, and the last action recommended."""
    labels, (point, sequence) = tree.simplices.labels, divmod(number, tree.dimension)
    if sequence == 0:
        return labels.block(point)
    told = int(np.searchsorted(tree.first_sequence, sequence, side="right")) - 1
    action = labels.actions(told)[sequence - tree.first_sequence[told]]
    return f"{labels.block(point)} | {labels.block(told)}: {action}"


def _actions(tree: DecisionTree, number: int) -> tuple[str, ...]:
    labels, (point, sequence) = tree.simplices.labels, divmod(number, tree.dimension)
    following = np.flatnonzero(tree.parent_sequence == sequence).tolist()
    return *labels.actions(point), *(f"query {labels.block(k)}" for k in following)
