"""Sets of maps of a strategy set to itself, and the regret against the best of them.

Constant maps give external regret, all stochastic matrices swap regret.
"""

import abc
from functools import partial
from typing import TYPE_CHECKING, Generic

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar

from regretkit._regret_tracker import RegretTracker
from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, whole_number
from regretkit.circuits._stationary import check_stochastic, stationary
from regretkit.sets import (
    DecisionDAG,
    DecisionTree,
    Simplices,
    SimplicesLike,
    StrategySet,
    as_simplices,
)
from regretkit.sets._labels import LazySequence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Domain = TypeVar("Domain", bound=StrategySet, default=StrategySet, covariant=True)
Coefficients = TypeVar("Coefficients", bound=StrategySet, default=StrategySet, covariant=True)


class DeviationSet(abc.ABC, Generic[Domain, Coefficients]):
    """A convex set of maps of a domain to itself, linear in their coefficients.

    Examples
    --------
    >>> maps = StochasticMatrices(2)
    >>> maps.apply(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.9, 0.1]))
    array([0.1, 0.9])
    """

    domain: Domain
    """The set X that the maps send to itself."""
    coefficients: Coefficients
    """The set of the coefficients of a map."""
    cover_constants: bool = False
    """Whether small regret against the maps implies small external regret, as constant maps do."""

    @abc.abstractmethod
    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        """Return the image of a point under the map with these coefficients, a new array."""

    @abc.abstractmethod
    def utility(self, utility: Vector, point: Vector) -> Vector:
        """Return the gradient of ``<u, map(point)>`` in the coefficients, a new array."""

    @abc.abstractmethod
    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return a fixed point of the map with these coefficients, a new array."""

    def regret(self, tracker: RegretTracker) -> float | None:
        """Return a player's regret against the best map, from its tracker; None if unknown.

        It does not use ``utility``, so that a ledger compares the two.
        """
        return None


class StochasticMatrices(DeviationSet[Simplices, Simplices]):
    """All stochastic matrices in every block of some simplices: the maps of swap regret.

    The coefficients are the rows of the matrices, first those of block 0. The fixed point is
    ``stationary_distribution``.

    Parameters
    ----------
    simplices
        The domain: a number of actions, several, or ``Simplices``.

    Examples
    --------
    >>> maps = StochasticMatrices([2, 3])
    >>> maps.coefficients
    Simplices([2, 2, 3, 3, 3])
    >>> StochasticMatrices(2).fixed_point(np.array([0.5, 0.5, 0.25, 0.75]))
    array([0.33333333, 0.66666667])
    """

    cover_constants = True

    def __init__(self, simplices: SimplicesLike) -> None:
        self.domain = as_simplices(simplices)
        sizes = self.domain.sizes
        self.coefficients = Simplices(np.repeat(sizes, sizes))
        self._source = np.repeat(np.arange(self.domain.dimension), self.coefficients.sizes)
        self._target = self.domain.coordinates(np.repeat(np.arange(sizes.size), sizes))

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        moved = coefficients * point[self._source]
        return segment_sum(self._target, moved, self.domain.dimension)

    def utility(self, utility: Vector, point: Vector) -> Vector:
        return point[self._source] * utility[self._target]

    def fixed_point(self, coefficients: Vector) -> Vector:
        return stationary(self.domain.sizes, coefficients)

    def regret(self, tracker: RegretTracker) -> float | None:
        return tracker.swap if tracker.on_simplices else None

    def __repr__(self) -> str:
        return f"StochasticMatrices({self.domain!r})"


class FiniteDeviations(DeviationSet[Simplices, Simplices]):
    """All mixtures of some stochastic matrices over one simplex.

    The map with coefficients c sends x to ``sum_k c_k x M_k``, with c on a simplex.

    Parameters
    ----------
    matrices
        M, shape ``(maps, n, n)``: nonnegative rows that sum to one, up to 1e-6. Each row is divided
        by its sum.

    Examples
    --------
    >>> stay, swap = np.eye(2), np.eye(2)[::-1]
    >>> maps = FiniteDeviations([stay, swap])
    >>> maps.apply(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([0.5, 0.5])
    """

    matrices: NDArray[np.float64]
    """M, shape ``(maps, n, n)``, read-only."""

    def __init__(self, matrices: ArrayLike) -> None:
        self.matrices = check_stochastic(matrices, "matrices", dimensions=(3,)).copy()
        self.matrices /= self.matrices.sum(axis=2, keepdims=True)
        self.matrices.setflags(write=False)
        maps, n, _ = self.matrices.shape
        self.domain, self.coefficients = Simplices(n), Simplices(maps)
        sends = self.matrices == 1.0  # map k sends action a to action b, entry (k, a, b)
        constants = sends.all(axis=1).any(axis=0)
        moved = n - np.diagonal(sends, axis1=1, axis2=2).sum(axis=1)
        pairs = sends[moved <= 1].any(axis=0) | np.eye(n, dtype=bool)
        self.cover_constants = bool((constants | pairs.all(axis=0)).all())
        # Each move: of which map, from which action, to which one, how much. Most maps move little.
        moves = self.matrices * ~np.eye(n, dtype=bool)
        self._map, self._origin, self._target = np.nonzero(moves)
        self._share = moves[self._map, self._origin, self._target]

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        moved: Vector = np.einsum("k,kij,i->j", coefficients, self.matrices, point)
        return moved

    def utility(self, utility: Vector, point: Vector) -> Vector:
        # Differences, so that no map gains by rounding where all utilities are equal
        gains = point[self._origin] * (utility[self._target] - utility[self._origin])
        return self.domain.value(utility, point) + self._total(gains)

    def fixed_point(self, coefficients: Vector) -> Vector:
        # Without the diagonal, which does not matter
        n = self.domain.dimension
        shares = coefficients[self._map] * self._share
        mixture = segment_sum(self._origin * n + self._target, shares, n * n)
        return stationary(self.domain.sizes, mixture)

    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker.on_simplices:
            return None
        joint = tracker.products[0]
        gains = joint[self._origin, self._target] - joint[self._origin, self._origin]
        return float(self._total(gains).max())

    def _total(self, gains: Vector) -> Vector:
        """Return the gain of each map, given the gain of each whole move."""
        return segment_sum(self._map, self._share * gains, self.coefficients.dimension)

    def __repr__(self) -> str:
        return f"<FiniteDeviations {len(self.matrices)} matrices over {self.domain!r}>"


def constant_maps(actions: int) -> FiniteDeviations:
    """Return the maps that always play one action: regret against them is external regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 1.

    Examples
    --------
    >>> constant_maps(3).matrices[1]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    units = np.eye(whole_number(actions, "actions", minimum=1))
    return FiniteDeviations(np.repeat(units[:, None], actions, axis=1))


def internal_maps(actions: int) -> FiniteDeviations:
    """Return the maps that play b wherever a was played, for each pair: internal regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 2.

    Examples
    --------
    >>> internal_maps(3).matrices[0]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])

    References
    ----------
    Stoltz and Lugosi (2005), "Internal regret in on-line portfolio selection", Machine Learning 59.
    """
    units = np.eye(whole_number(actions, "actions", minimum=2))
    source, target = np.nonzero(units == 0.0)
    matrices = np.tile(units, (source.size, 1, 1))
    matrices[np.arange(source.size), source] = units[target]
    return FiniteDeviations(matrices)


_MAX_COEFFICIENTS = 50_000_000
"""Building the DAG of so many coefficients takes some ten gigabytes."""
_SHARES = 2.0**-26, 2.0**-40
"""The shares p in ``fixed_point``, the second where the first does not converge."""
_STEPS = 64
"""Number of steps with each share, at most."""
_SETTLED = 4.0 * float(np.finfo(np.float64).eps)
"""The distance by which a map moves a point that counts as fixed."""


class LinearDeviations(DeviationSet[DecisionTree, DecisionDAG]):
    """All linear maps of the strategies of a decision tree to themselves.

    A player with the recommendation x may query, at any time, the action of x at a decision point
    after the last sequence recommended. The coefficients c are its strategy in this problem, a flow
    through a ``DecisionDAG`` of pairs. At pair (j, s) it acts at its decision point j, and s is
    recommended so far. It plays an action a of j, which leads to the pairs (k, s) of the decision
    points k after a, or queries a decision point k after s, which leads to the pairs (j, (k, b)) of
    all actions b of k:

        map_c(x)[j, a]  =  sum over s of c[(j, s), a] x[s],    map_c(x)[0]  =  1

    These untimed communication deviations are all linear maps of the set to itself. With N
    sequences and J decision points there are ``J N`` pairs and ``1 + N (N - 1) + J^2``
    coefficients.

    Parameters
    ----------
    tree
        The player's decisions.

    Examples
    --------
    The map that queries the only decision, and then plays the other action:

    >>> maps = LinearDeviations(DecisionTree([0], [2]))
    >>> other = maps.coefficients.sequence_form(np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    >>> maps.apply(other, np.array([1.0, 0.9, 0.1]))
    array([1. , 0.1, 0.9])

    References
    ----------
    Zhang, Farina and Sandholm (2024), "Mediator interpretation and faster learning algorithms for
    linear correlated equilibria in general sequential games", ICLR. Farina and Pipis (2023),
    "Polynomial-time linear-swap regret minimization in imperfect-information sequential games",
    NeurIPS.
    """

    cover_constants = True
    _basis: "csr_array"
    """All coordinates from free ones: the matrix that sends 1 and these to a strategy."""

    def __init__(self, tree: DecisionTree) -> None:
        from scipy.sparse import csr_array

        check_kind(tree, DecisionTree, "tree", "game.domains[0]")
        self.domain = tree
        if (size := 1 + tree.dimension * (tree.dimension - 1) + tree.points**2) > _MAX_COEFFICIENTS:
            raise MemoryError(
                f"the linear maps of a tree with {tree.dimension:,} sequences have {size:,} "
                f"coefficients, more than {_MAX_COEFFICIENTS:,}; choose a smaller game"
            )
        points, length, first_action = tree.points, tree.dimension, tree.simplices.first
        preceding, point_of = tree.parent_sequence, np.repeat(np.arange(points), tree.sizes)
        following = np.bincount(preceding, minlength=length)
        # Pair (j, s) has the number j * length + s. Its actions are those of j, then a query for
        # each decision point that follows s.
        sizes = tree.sizes[:, None] + following
        first = (1 + sizes.cumsum() - sizes.ravel()).reshape(sizes.shape)
        # For each action of the tree and each sequence recommended, the coordinate that plays it
        self._play = first[point_of] + (np.arange(length - 1) - first_action[point_of])[:, None]
        place = np.empty(points, dtype=np.int64)
        place[np.argsort(preceding, kind="stable")] = expand_ranges(
            np.zeros_like(following), following
        )
        query = first[:, preceding] + tree.sizes[:, None] + place
        # The parents of a pair: the action before j at the same s, and the query that s answers
        start = np.where(np.arange(length) == 0, 0, -1)
        acted = np.vstack([start, self._play])[preceding]
        queried = np.hstack([np.full((points, 1), -1), query[:, point_of]])
        edges = np.stack([acted, queried], axis=2).reshape(-1, 2)
        self.coefficients = DecisionDAG(
            edges[edges >= 0],
            sizes.ravel(),
            parent_counts=(edges >= 0).sum(axis=1),
            labels=LazySequence(sizes.size, partial(_name, tree)),
            actions=LazySequence(sizes.size, partial(_actions, tree)),
        )
        # All coordinates follow from free ones: all actions but the last of a decision point.
        last = tree.first_sequence + tree.sizes - 1
        self._free = np.delete(np.arange(length), np.append(0, last))
        basis = np.zeros((length, 1 + self._free.size))
        basis[np.append(0, self._free), np.arange(1 + self._free.size)] = 1.0
        for parent, begin, end in zip(preceding, tree.first_sequence, last, strict=True):
            basis[end] = basis[parent] - basis[begin:end].sum(axis=0)
        self._basis = csr_array(basis)

    def matrix(self, coefficients: Vector) -> Vector:
        """Return the matrix A of a map ``x -> A x``, shape ``(dimension, dimension)``."""
        return np.vstack([np.eye(1, self.domain.dimension), coefficients[self._play]])

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        return np.append(point[0], coefficients[self._play] @ point)

    def utility(self, utility: Vector, point: Vector) -> Vector:
        earned = np.zeros(self.coefficients.dimension)
        earned[0] = utility[0]
        earned[self._play] = utility[1:, None] * point
        return earned

    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker.products:
            return None
        (joint,) = tracker.products
        earned = np.zeros(self.coefficients.dimension)
        earned[self._play] = joint[:, 1:].T
        return self.coefficients.best_response(earned)[0] + float(joint[0, 0] - np.trace(joint))

    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return the limit of ``AveragedPowerIterate``, from the interior point z.

        With a small share p,

            x  <-  p (I - (1 - p) A)^-1 x  =  x + (1 - p) (I - (1 - p) A)^-1 (A x - x),    from z

        Each step is a mean of powers of A, so that it does not leave the set. An eigenvector of
        eigenvalue r shrinks by ``p / |1 - (1 - p) r|``. Coordinates are those of the set's affine
        hull, as outside powers of A may grow.
        """
        from scipy.linalg import lu_factor, lu_solve

        step: Vector = coefficients[self._play[self._free - 1]] @ self._basis
        free: Vector = self.domain.relative_interior_point()[self._free]
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
        return self.domain.sequence_form(self.domain.behavior(point))

    def __repr__(self) -> str:
        return f"LinearDeviations({self.domain!r})"


def _name(tree: DecisionTree, number: int) -> str:
    """Return the name of a pair: its decision point, and the last action recommended."""
    labels, (point, sequence) = tree.simplices.labels, divmod(number, tree.dimension)
    if sequence == 0:
        return labels.block(point)
    return f"{labels.block(point)} | {': '.join(tree.simplices.names_of(sequence - 1))}"


def _actions(tree: DecisionTree, number: int) -> tuple[str, ...]:
    labels, (point, sequence) = tree.simplices.labels, divmod(number, tree.dimension)
    following = np.flatnonzero(tree.parent_sequence == sequence).tolist()
    return *labels.actions(point), *(f"query {labels.block(k)}" for k in following)
