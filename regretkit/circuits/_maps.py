"""Sets of maps of a strategy set to itself: what one might wish to have played instead.

Regret against a set of maps is what one would have earned more by passing every strategy through
the best map of the set. Constant maps give external regret, all stochastic matrices swap regret.
"""

import abc
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from attrs import define
from numpy.typing import ArrayLike, NDArray

from regretkit._regret_tracker import RegretTracker
from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, must_be, quote, shorten, whole_number
from regretkit.circuits._base import check_tree
from regretkit.circuits._stationary import _stationary
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

_LARGEST_ATOL = 1e-3
"""How far from one the sum of a row may be allowed to be."""


def mapped(value: ArrayLike, space: StrategySet, name: str) -> Vector:
    """Return numbers for a map, one for each coordinate of a set, in which they need not lie."""
    found = floats(value, name)
    if found.shape != (space.dimension,):
        raise ValueError(
            f"{name} has shape {found.shape}, but the maps take a vector of {quote(space)}; pass "
            f"shape ({space.dimension},)"
        )
    return found


class DeviationSet(abc.ABC):
    """A convex set of maps of a domain to itself, linear in their coefficients.

    Examples
    --------
    >>> maps = StochasticMatrices(2)
    >>> maps.apply(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.9, 0.1]))
    array([0.1, 0.9])
    """

    domain: StrategySet
    """The set X that the maps send to itself."""
    coefficients: StrategySet
    """Where the coefficients of a map live."""

    @property
    def cover_constants(self) -> bool:
        """Whether small regret against them is known to mean small external regret.

        It is where each constant map is one of them, or does what some of them do together, each
        to another action.
        """
        return False

    @abc.abstractmethod
    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        """Return where the map with these coefficients sends a point, a new array."""

    @abc.abstractmethod
    def utility(self, utility: Vector, point: Vector) -> Vector:
        """Return what each coefficient earns: the gradient of ``<u, map(point)>``, a new array."""

    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return a point that the map with these coefficients sends to itself, a new array."""
        wanted = "a set of deviations that has a fixed_point, such as MarkovDeviations"
        raise TypeError(must_be("maps", wanted, self, "pass a fixed_point of your own for others"))

    def regret(self, tracker: RegretTracker) -> float | None:
        """Return the regret of a player against the best of these maps, from its own tracker.

        It is computed from what was played and what was learned alone, never from ``utility``,
        so that a ledger can hold one to the other. None, where these sums are not enough to tell.
        """
        return None


class MarkovDeviations(DeviationSet):
    """Maps of simplices to themselves by stochastic matrices, ``x -> x M``, one in each block.

    Examples
    --------
    >>> from regretkit.circuits import constant_maps
    >>> isinstance(constant_maps(3), MarkovDeviations)
    True
    """

    @abc.abstractmethod
    def stationary(self, coefficients: Vector) -> Vector:
        """Return the stationary distribution of the matrix with these coefficients."""

    def fixed_point(self, coefficients: Vector) -> Vector:
        return self.stationary(mapped(coefficients, self.coefficients, "coefficients"))

    def regret(self, tracker: RegretTracker) -> float | None:
        # A linear function on simplices is known from its values at the corners, and so is the
        # best one: the first corner, and in each block the action that adds most to it.
        domain, blocks = self.domain, self.coefficients
        if not (isinstance(domain, Simplices) and isinstance(blocks, Simplices)):
            return None
        if not tracker.on_simplices:
            return None
        corner = np.zeros(blocks.dimension)
        corner[blocks.first] = 1.0
        best = start = self._gain(tracker, corner, domain)
        for number in range(len(blocks.sizes)):
            block, maximum = blocks.block(number), start
            for unit in np.eye(blocks.sizes[number])[1:]:
                vertex = corner.copy()
                vertex[block] = unit
                maximum = max(maximum, self._gain(tracker, vertex, domain))
            best += maximum - start
        return best

    def _gain(self, tracker: RegretTracker, coefficients: Vector, domain: Simplices) -> float:
        # <M, J> - tr(J) in each block, where J is the sum of all x_t u_t'. Row a of all the
        # matrices is the image of the point that plays their actions a.
        gain = -sum(float(np.trace(joint)) for joint in tracker._joint)
        for action in range(domain.sizes.max()):
            point = np.zeros(domain.dimension)
            point[domain.first + np.minimum(action, domain.sizes - 1)] = 1.0
            moved = self.apply(coefficients, point)
            for number, joint in enumerate(tracker._joint):
                if action < len(joint):
                    gain += float(moved[domain.block(number)] @ joint[action])
        return gain


@define(eq=False, repr=False, init=False)
class StochasticMatrices(MarkovDeviations):
    """All stochastic matrices, in every block of some simplices: the maps of swap regret.

    The coefficients are the rows of the matrices, each a distribution over the block: first the
    rows of block 0, then those of block 1, and so on.

    Parameters
    ----------
    simplices
        What the maps send to itself: a number of actions, several, or ``Simplices``.

    Examples
    --------
    >>> StochasticMatrices([2, 3]).coefficients
    Simplices([2, 2, 3, 3, 3])
    """

    domain: StrategySet
    coefficients: StrategySet
    simplices: Simplices
    """The domain."""
    rows: Simplices
    """The rows of all matrices, where the coefficients live."""
    _source: Indices
    _target: Indices
    _by_size: list[tuple[Indices, Indices]]

    def __init__(self, simplices: SimplicesLike) -> None:
        self.domain = self.simplices = as_simplices(simplices)
        sizes = self.simplices.sizes
        self.coefficients = self.rows = Simplices(np.repeat(sizes, sizes))
        self._source = np.repeat(np.arange(self.simplices.dimension), self.rows.sizes)
        self._target = self.simplices.coordinates(np.repeat(np.arange(sizes.size), sizes))
        first = np.cumsum(sizes**2) - sizes**2
        self._by_size = []
        for size in np.unique(sizes):
            block, square = sizes == size, np.arange(size * size).reshape(size, size)
            rows = first[block][:, None, None] + square
            self._by_size.append((rows, self.simplices.first[block][:, None] + np.arange(size)))

    @property
    def cover_constants(self) -> bool:
        return True

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        coefficients = mapped(coefficients, self.coefficients, "coefficients")
        moved = coefficients * mapped(point, self.domain, "point")[self._source]
        return segment_sum(self._target, moved, self.domain.dimension)

    def utility(self, utility: Vector, point: Vector) -> Vector:
        return point[self._source] * utility[self._target]

    def stationary(self, coefficients: Vector) -> Vector:
        distribution = np.empty(self.domain.dimension)
        for rows, states in self._by_size:
            distribution[states] = _stationary(coefficients[rows])
        return distribution

    def regret(self, tracker: RegretTracker) -> float | None:
        return tracker.swap if tracker.on_simplices else None

    def __repr__(self) -> str:
        return f"StochasticMatrices({self.domain!r})"


@define(eq=False, repr=False, init=False)
class FiniteDeviations(MarkovDeviations):
    """All mixtures of some stochastic matrices over one simplex.

    The map with coefficients c sends x to ``sum_k c_k x M_k``, with c on a simplex.

    Parameters
    ----------
    matrices
        M, shape ``(maps, n, n)``: nonnegative rows that sum to one.
    atol
        How far the sum of a row may be from one, from 0 to 0.001. Each row is divided by its sum.

    Examples
    --------
    >>> stay, swap = np.eye(2), np.eye(2)[::-1]
    >>> maps = FiniteDeviations([stay, swap])
    >>> maps.apply(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([0.5, 0.5])
    """

    domain: StrategySet
    coefficients: StrategySet
    matrices: NDArray[np.float64]
    """M, shape ``(maps, n, n)``, read-only."""
    _map: Indices
    _origin: Indices
    _target: Indices
    _share: Vector

    def __init__(self, matrices: ArrayLike, *, atol: float = 1e-9) -> None:
        wanted = f"a number from 0 to {_LARGEST_ATOL:g}"
        if isinstance(atol, bool) or not isinstance(atol, Real):
            raise TypeError(must_be("atol", wanted, atol))
        if not 0.0 <= atol <= _LARGEST_ATOL:
            hint = "divide rows that are farther from one by their sums"
            raise ValueError(must_be("atol", wanted, atol, hint))
        try:
            self.matrices = np.array(matrices, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"matrices must be square matrices, got {quote(matrices)}") from error
        shape = self.matrices.shape
        if len(shape) != 3 or shape[1] != shape[2] or 0 in shape:
            raise ValueError(
                f"matrices has shape {shape}; pass one square matrix for each map, (maps, n, n)"
            )
        totals = self.matrices.sum(axis=2)
        # Written so that NaN, which is in no order with anything, fails it too.
        is_distribution = (self.matrices >= 0.0).all(axis=2) & (np.abs(totals - 1.0) <= atol)
        if not is_distribution.all():
            number, row = (int(i) for i in np.argwhere(~is_distribution)[0])
            raise ValueError(
                f"matrices[{number}] leaves the simplex: its row {row} is "
                f"{shorten(str(self.matrices[number, row]))}, which is no distribution; "
                "pass nonnegative rows that sum to one"
            )
        self.matrices /= totals[:, :, None]
        self.matrices.setflags(write=False)
        self.domain = Simplices(shape[1])
        self.coefficients = Simplices(shape[0])
        # By number: of what map, from which action, to which one, how much. Most maps move little.
        moves = self.matrices * ~np.eye(shape[1], dtype=bool)
        self._map, self._origin, self._target = np.nonzero(moves)
        self._share = moves[self._map, self._origin, self._target]

    @property
    def cover_constants(self) -> bool:
        sends = self.matrices == 1.0  # map k sends action a to action b, entry (k, a, b)
        constants = sends.all(axis=1).any(axis=0)
        moved = len(sends[0]) - np.diagonal(sends, axis1=1, axis2=2).sum(axis=1)
        pairs = sends[moved <= 1].any(axis=0) | np.eye(len(constants), dtype=bool)
        return bool((constants | pairs.all(axis=0)).all())

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        coefficients = mapped(coefficients, self.coefficients, "coefficients")
        point = mapped(point, self.domain, "point")
        moved: Vector = np.einsum("k,kij,i->j", coefficients, self.matrices, point)
        return moved

    def utility(self, utility: Vector, point: Vector) -> Vector:
        # So that where all utilities are equal no map gains by rounding.
        gains = point[self._origin] * (utility[self._target] - utility[self._origin])
        return self.domain.value(utility, point) + self._total(gains)

    def stationary(self, coefficients: Vector) -> Vector:
        # The diagonal, what stays, does not matter.
        n = self.domain.dimension
        shares = coefficients[self._map] * self._share
        mixture = segment_sum(self._origin * n + self._target, shares, n * n).reshape(1, n, n)
        distribution: Vector = _stationary(mixture)[0]
        return distribution

    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker.on_simplices:
            return None
        joint = tracker._joint[0]
        gains = joint[self._origin, self._target] - joint[self._origin, self._origin]
        return float(self._total(gains).max())

    def _total(self, gains: Vector) -> Vector:
        """Return what each map gains in all, given what each of its moves gains as a whole."""
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
    whole_number(actions, "actions", minimum=1)
    matrices = np.zeros((actions, actions, actions))
    matrices[np.arange(actions), :, np.arange(actions)] = 1.0
    return FiniteDeviations(matrices)


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
    whole_number(actions, "actions", minimum=2)
    pairs = [(a, b) for a in range(actions) for b in range(actions) if a != b]
    matrices = np.tile(np.eye(actions), (len(pairs), 1, 1))
    for number, (a, b) in enumerate(pairs):
        matrices[number, a] = np.eye(actions)[b]
    return FiniteDeviations(matrices)


_LARGEST = 50_000_000
"""Number of coefficients that are not too many: building their DAG takes some ten gigabytes."""
_SHARES = 2.0**-26, 2.0**-40
"""What p is in ``fixed_point``: a small one only where the first is too large to settle."""
_STEPS = 64
"""Number of its steps with each of them, at most."""
_SETTLED = 4.0 * float(np.finfo(np.float64).eps)
"""How little a map moves a point that counts as fixed."""


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
        preceding, point_of = tree.parent_sequence, np.repeat(np.arange(points), tree.sizes)
        following = np.bincount(preceding, minlength=length)
        # At pair (j, s), which is number j * length + s: the actions of j, then queries, one for
        # each decision point that follows s.
        sizes = tree.sizes[:, None] + following
        first = (1 + sizes.cumsum() - sizes.ravel()).reshape(sizes.shape)
        self._play = first[point_of] + (np.arange(length - 1) - first_action[point_of])[:, None]
        place = np.empty(points, dtype=np.int64)
        place[np.argsort(preceding, kind="stable")] = expand_ranges(
            np.zeros_like(following), following
        )
        query = first[:, preceding] + tree.sizes[:, None] + place
        # What leads to a pair: the action before j, with s recommended already; and the query that
        # s answers. -1 where there is none.
        start = np.where(np.arange(length) == 0, 0, -1)
        acted = np.vstack([start, self._play])[preceding]
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
        for parent, begin, end in zip(preceding, tree.first_sequence, last, strict=True):
            basis[end] = basis[parent] - basis[begin:end].sum(axis=0)
        self._basis = csr_array(basis)

    @property
    def cover_constants(self) -> bool:
        return True

    def matrix(self, coefficients: Vector) -> Vector:
        """Return the matrix A of a map ``x -> A x``, shape ``(dimension, dimension)``."""
        coefficients = mapped(coefficients, self.pairs, "coefficients")
        return np.vstack([np.eye(1, self.tree.dimension), coefficients[self._play]])

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        coefficients = mapped(coefficients, self.pairs, "coefficients")
        point = mapped(point, self.tree, "point")
        return np.append(point[0], coefficients[self._play] @ point)

    def utility(self, utility: Vector, point: Vector) -> Vector:
        earned = np.zeros(self.pairs.dimension)
        earned[0] = utility[0]
        earned[self._play] = utility[1:, None] * point
        return earned

    def regret(self, tracker: RegretTracker) -> float | None:
        if not tracker._joint:
            return None
        (joint,) = tracker._joint
        earned = np.zeros(self.pairs.dimension)
        earned[self._play] = joint[:, 1:].T
        return self.pairs.best_response(earned)[0] + float(joint[0, 0] - np.trace(joint))

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

        coefficients = mapped(coefficients, self.pairs, "coefficients")
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
