"""Fixed points: stationary distributions of Markov chains, and of deviations at decision points.

The rows of swap regret's matrices are strategies: often reducible, as regret matching plays exact
zeros, or nearly so, as multiplicative weights play 1e-200. Eigenvectors and linear solves fail
there. The elimination of Grassmann, Taksar and Heyman never subtracts, so that every component
keeps its leading digits, however small it is.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from attrs import define, frozen
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import Selection, add_cancelling, as_slice, depths, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import floats, format_array, number
from regretkit.sets import DecisionTree, Simplices

_Booleans: TypeAlias = NDArray[np.bool_]


def stationary_distribution(matrix: ArrayLike, *, tolerance: float = 1e-9) -> Vector:
    """Return the stationary distribution of a Markov chain, or of each of many.

    The result x >= 0 satisfies x P = x and sum(x) = 1. States are eliminated from the last to the
    first:

        P[i, j] <-  P[i, j] + P[i, k] P[k, j] / sum_{l < k} P[k, l],   i, j < k

    No step subtracts, and the diagonal is not read. So each component is accurate to a small
    multiple of n rounding errors, even where entries of 1e-200 couple classes. Components below the
    smallest float become zero.

    If the chain has several closed classes, the result is the mean of their stationary
    distributions; transient states get exactly zero. Only exact zeros separate classes.

    Parameters
    ----------
    matrix
        P, shape ``(n, n)``, or ``(blocks, n, n)`` for many chains at once: nonnegative rows that
        sum to one.
    tolerance
        How far the sum of a row may be from one.

    Returns
    -------
    Vector
        Shape ``(n,)``, or ``(blocks, n)``. A block has the bits that it would have alone.

    Examples
    --------
    >>> stationary_distribution([[0.5, 0.5], [0.25, 0.75]])
    array([0.33333333, 0.66666667])

    State 0 is left for good; states 1 and 2 are closed classes of their own:

    >>> stationary_distribution([[0.2, 0.4, 0.4], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    array([0. , 0.5, 0.5])

    References
    ----------
    Grassmann, Taksar and Heyman (1985), "Regenerative analysis and steady state distributions for
    Markov chains", Operations Research 33(5).

    O'Cinneide (1993), "Entrywise perturbation theory and error analysis for Markov chains",
    Numerische Mathematik 65(1): why the result is accurate in every component.
    """
    matrices = check_stochastic(matrix, tolerance, "matrix", dimensions=(2, 3))
    return _stationary(matrices) if matrices.ndim == 3 else _stationary(matrices[None])[0]


def check_stochastic(
    value: ArrayLike, tolerance: float, name: str, *, dimensions: tuple[int, ...]
) -> Vector:
    """Return square matrices of nonnegative rows that sum to one, up to a small tolerance."""
    number(tolerance, "tolerance", minimum=0.0, maximum=1e-3)
    matrices = floats(value, name)
    shape = matrices.shape
    if len(shape) not in dimensions or shape[-1] != shape[-2] or not shape[-1]:
        forms = " or ".join("(n, n)" if n == 2 else "(k, n, n)" for n in dimensions)
        raise ValueError(f"{name} must have shape {forms}, got {shape}")
    with np.errstate(over="ignore"):
        deviation = np.abs(matrices.sum(axis=-1) - 1.0)
    # NaN fails it too.
    wrong = ~((matrices >= 0.0).all(axis=-1) & (deviation <= tolerance))
    if wrong.any():
        row = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{name} must have nonnegative rows that sum to one, but row {row} is "
            f"{format_array(matrices[row])}"
        )
    return matrices


def _stationary(matrices: Vector) -> Vector:
    """Return the stationary distributions of many chains, which are not checked."""
    same_class = _closed_classes(matrices)
    recurrent = np.diagonal(same_class, axis1=1, axis2=2)
    lower = np.tri(len(recurrent.T), k=-1, dtype=np.bool_)
    first = recurrent & ~(same_class & lower).any(axis=2)
    # Blocks last, so that every operation runs along them; none for a single one.
    inputs = matrices * same_class, same_class, first, ~recurrent
    rates, *masks = (
        np.array(np.moveaxis(array, 0, -1) if len(array) != 1 else array[0], np.float64, order="C")
        for array in inputs
    )
    try:
        with np.errstate(under="raise", over="raise"):
            distributions = _eliminate(_total, rates.copy(), *masks)
    except FloatingPointError:
        # In one block at least; the others get the same bits either way.
        wide = [_Wide.lift(array) for array in (rates, *masks)]
        distributions = _eliminate(_Wide.total, *wide).lower()
    distributions = distributions / first.sum(axis=1)
    return np.ascontiguousarray(distributions.T.reshape(recurrent.shape))


def _closed_classes(matrices: Vector) -> _Booleans:
    """Return whether two states are in one closed class together, shape ``(blocks, n, n)``."""
    reach = (matrices > 0.0) | np.eye(matrices.shape[1], dtype=np.bool_)
    while not reach.all():
        steps = reach.astype(np.float32)  # by BLAS, which has no product of truth values
        longer = steps @ steps > 0.0  # paths of up to twice as many steps
        if (longer == reach).all():
            break
        reach = longer
    backwards = reach.transpose(0, 2, 1)
    recurrent: _Booleans = np.logical_and.reduce(reach <= backwards, axis=2)
    same_class: _Booleans = reach & backwards & recurrent[:, :, None]
    return same_class


# From this number of blocks on, a loop over the terms outruns ``accumulate``; bitwise identical.
_MANY = 64


def _eliminate(
    total: Callable[[Any], Any], rates: Any, same_class: Any, first: Any, transient: Any
) -> Any:
    """Eliminate the states from the last to the first, put them back, and normalize each class.

    All are arrays of float64, or ``_Wide``, with blocks, if there are several, as the last axis.
    ``rates`` is overwritten. The others hold zeros and ones: whether two states are in one closed
    class, the first state of each class, and the states of no closed class.
    """
    # A state from which no lower state can be reached sends nothing, and any divisor will do.
    stay = first + transient
    for k in range(len(rates) - 1, 0, -1):
        leaving = total(rates[k, :k]) + stay[k]
        # Divide first: the quotient is a probability, so the product is no larger than its factors.
        rates[:k, :k] += rates[:k, k, None] * (rates[k, :k] / leaving)
        rates[:k, k] /= leaving
    visits = first.copy()
    for k in range(1, len(rates)):
        visits[k] += total(visits[:k] * rates[:k, k])
    return visits / (total(same_class * visits[:, None]) + transient)


def _total(terms: Vector) -> Vector:
    """Sum over the first axis, in order: ``sum`` groups its terms by the shape of the array."""
    if terms[0].size < _MANY:
        sums: Vector = np.add.accumulate(terms, axis=0)[-1]
        return sums
    sums = terms[0].copy()
    for term in terms[1:]:
        sums += term
    return sums


class _Wide:
    """Nonnegative numbers with the digits of a float64 and any size: mantissa times 2**exponent.

    They round as float64 does, so both give the same bits unless float64 underflows or overflows.
    """

    _ZERO = -(1 << 40)  # The exponent of zero, below all others, also after a few products.
    _SPAN = 1800  # Within this range of exponents, float64 holds the terms of a sum.

    def __init__(self, mantissa: Vector, exponent: Indices) -> None:
        self.mantissa, self.exponent = mantissa, exponent

    @staticmethod
    def lift(numbers: Vector, exponent: Indices | int = 0) -> "_Wide":
        """Return ``numbers * 2**exponent``, with mantissas in [0.5, 1) or zero."""
        mantissa, shift = np.frexp(numbers)
        return _Wide(
            mantissa, np.where(mantissa > 0.0, exponent + shift.astype(np.int64), _Wide._ZERO)
        )

    def lower(self, unit: Indices | int = 0) -> Vector:
        """Return the numbers over ``2**unit`` as float64, zero where they are too small."""
        shift = np.clip(self.exponent - unit, -2000, 2000).astype(np.int32)
        numbers: Vector = np.ldexp(self.mantissa, shift)
        return numbers

    def copy(self) -> "_Wide":
        return _Wide(self.mantissa.copy(), self.exponent.copy())

    def total(self) -> "_Wide":
        """Sum over the first axis, in order."""
        unit = self.exponent.max(axis=0)
        smallest = np.where(self.mantissa > 0.0, self.exponent, unit).min(axis=0)
        if (unit - smallest).max(initial=0) < _Wide._SPAN:
            # With the largest just below 2**900, none is subnormal and no sum overflows.
            return _Wide.lift(_total(self.lower(unit - 900)), unit - 900)
        sums = self[0]
        for k in range(1, len(self)):
            sums = sums + self[k]
        return sums

    def __len__(self) -> int:
        return len(self.mantissa)

    def __getitem__(self, key: Any) -> "_Wide":
        return _Wide(self.mantissa[key], self.exponent[key])

    def __setitem__(self, key: Any, numbers: "_Wide") -> None:
        self.mantissa[key], self.exponent[key] = numbers.mantissa, numbers.exponent

    def __add__(self, other: "_Wide") -> "_Wide":
        unit = np.maximum(self.exponent, other.exponent)
        return _Wide.lift(self.lower(unit) + other.lower(unit), unit)

    def __mul__(self, other: "_Wide") -> "_Wide":
        return _Wide.lift(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def __truediv__(self, other: "_Wide") -> "_Wide":
        return _Wide.lift(self.mantissa / other.mantissa, self.exponent - other.exponent)


# Deviations at decision points


@define(eq=False, slots=False)
class LocalDeviations:
    """Deviations at the decision points of a tree, one for each action of a learner's set.

    Deviation k plays its target in place of one action, its source, or of all. Its weight w is a
    product of probabilities of actions before the decision point. Against a behavioral strategy b
    with the counterfactual utilities q it gains

        w_k b[source] (q[target] - q[source])    or    w_k (q[target] - <b, q>)

    With f_k(b) the deviation's strategy, a mixture m of deviations has the fixed point b with
    ``sum_k m_k w_k (f_k(b) - b) = 0`` at each decision point.
    """

    tree: DecisionTree
    weight: Indices
    """The weight of each deviation, by number."""
    source: Indices
    """The action that each deviation replaces, -1 for all actions."""
    target: Indices
    """The action that each deviation plays instead, -1 for no deviation."""
    parent: Indices
    """For each weight, the other weight in the product."""
    factor: Indices
    """For each weight, the action in the product, -1 for the weight 1."""

    def __attrs_post_init__(self) -> None:
        tree, source, target = self.tree, self.source, self.target
        # Deviations of the same map differ in their weights alone: none, external, then internal
        self._points, actions = tree.simplices, tree.simplices.dimension
        maps, self._map = np.unique((source + 1) * actions + target, return_inverse=True)
        self._none, split = np.searchsorted(maps, [0, actions])
        self._target = maps[self._none : split]
        self._from, self._to = np.divmod(maps[split:] - actions, max(actions, 1))
        self._stages = [*self._staged()]

    def _staged(self) -> "Iterator[_Stage]":
        tree = self.tree
        first, sizes, owner = tree.simplices.first, tree.sizes, tree.point_of_sequence
        moving = np.flatnonzero(self.source != self.target)
        point, follows = owner[1 + self.target[moving]], owner[1 + self.factor]
        depth = np.full(tree.points, -1)
        factors = depths(np.where(self.factor >= 0, self.parent, -1))
        np.maximum.at(depth, point, factors[self.weight[moving]])
        for steps, n in np.unique(np.stack([depth, sizes])[:, depth >= 0], axis=1).T.tolist():
            points = np.flatnonzero((depth == steps) & (sizes == n))
            here = np.isin(point, points)
            deviations, new = moving[here], np.flatnonzero(np.isin(follows, points))
            source, target = self.source[deviations], self.target[deviations]
            actions = tree.simplices.coordinates(points)
            rate = np.searchsorted(actions, target)
            closed = n == 2 or bool((source < 0).all())
            if not closed:
                pairs = np.searchsorted(actions, source) * n + target - first[point[here]]
                rate = np.where(source < 0, actions.size * n + rate, pairs)
            yield _Stage(
                simplices=Simplices([n] * points.size),
                actions=as_slice(actions),
                deviations=as_slice(deviations),
                weight=self.weight[deviations],
                rate=rate,
                closed=closed,
                entries=as_slice(new),
                parent=self.parent[new],
                factor=self.factor[new],
            )

    def play(self, mixture: Vector) -> tuple[Vector, Vector]:
        """Return the behavioral strategy that a mixture of deviations fixes, and the weights."""
        behavior, weights = np.ones(self._points.dimension), np.ones(self.parent.size)
        for stage in self._stages:
            flow = mixture[stage.deviations] * weights[stage.weight]
            behavior[stage.actions] = stage.fixed_point(flow)
            stage.extend(weights, behavior)
        return behavior, weights

    def weights(self, behavior: Vector) -> Vector:
        """Return the weights of a behavioral strategy."""
        weights = np.ones(self.parent.size)
        for stage in self._stages:
            stage.extend(weights, behavior)
        return weights

    def gains(self, values: Vector, behavior: Vector, weights: Vector) -> Vector:
        """Return what each deviation gains over a behavioral strategy."""
        regret = self._points.regret(values, behavior)[self._target]
        difference = add_cancelling(values[self._to], -values[self._from])
        by_map = [np.zeros(self._none), regret, behavior[self._from] * difference]
        gained: Vector = weights[self.weight] * np.concatenate(by_map)[self._map]
        return gained


@frozen(eq=False)
class _Stage:
    """Decision points with equally many actions, and equally many choices before them."""

    simplices: Simplices
    """The decision points side by side."""
    actions: Selection
    """The coordinates of their actions in a behavioral strategy."""
    deviations: Selection
    """The coordinates of their deviations."""
    weight: Indices
    """The weight of each deviation."""
    rate: Indices
    """The rate to which each deviation adds; one for each action if ``closed``."""
    closed: bool
    """Whether rates into actions suffice: external maps alone, or two actions."""
    entries: Selection
    """The weights that are products with probabilities at these decision points."""
    parent: Indices
    """For each such weight, the weight in the product."""
    factor: Indices
    """For each such weight, the action in the product."""

    def fixed_point(self, flow: Vector) -> Vector:
        """Return b with ``sum_k flow_k (f_k(b) - b) = 0`` at each decision point, side by side."""
        points, size = self.simplices.blocks, self.simplices.dimension
        if self.closed:
            return self.simplices.normalize(segment_sum(self.rate, flow, size))
        pairs = size * (size // points)
        rates = segment_sum(self.rate, flow, pairs + size)
        internal = rates[:pairs].reshape(points, -1, size // points)
        return _stationary(internal + rates[pairs:].reshape(points, 1, -1)).reshape(-1)

    def extend(self, weights: Vector, behavior: Vector) -> None:
        """Fill in the weights that follow."""
        weights[self.entries] = weights[self.parent] * behavior[self.factor]
