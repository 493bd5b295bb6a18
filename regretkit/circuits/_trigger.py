"""Trigger deviations of a decision tree, which define extensive-form correlated equilibria."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from regretkit._regret_tracker import RegretTracker
from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind
from regretkit.circuits._maps import DeviationSet
from regretkit.circuits._stationary import LocalDeviations
from regretkit.sets import DecisionTree
from regretkit.sets._labels import LazySequence

_Name: TypeAlias = Callable[[int], str]


class TriggerDeviations(DeviationSet[DecisionTree, DecisionTree]):
    """The mixtures of trigger deviations of a decision tree, or of coarse trigger deviations.

    A trigger is an action a at a decision point j. If the strategy plays a, the deviation plays a
    continuation q from j instead. A coarse trigger is a decision point j: q replaces the strategy
    from j, for all actions there.

    The coefficients are the strategies of one decision tree. Its first decision point chooses the
    trigger k with probability c[k]. A copy of the tree from j follows, where
    ``c[k, s] = c[k] q_k[s]``. With source(k) the sequence (j, a), or the parent sequence of j
    for a coarse trigger,

        map_c(x)[s]  =  x[s] (1 - sum of c[k] over triggers on the way to s)
                        + sum over k of x[source(k)] c[k, s]

    If all players minimize regret against trigger deviations, their play converges to
    extensive-form correlated equilibria (EFCE). With coarse triggers it converges to coarse ones
    (EFCCE).

    Parameters
    ----------
    tree
        The player's decision tree.
    coarse
        Whether triggers are decision points, not actions.

    Examples
    --------
    >>> maps = TriggerDeviations(DecisionTree([0, 2], [2, 2]))
    >>> maps.coefficients
    <DecisionTree: 7 decision points, 17 sequences>

    References
    ----------
    von Stengel and Forges (2008), "Extensive-form correlated equilibrium: definition and
    computational complexity", Mathematics of Operations Research 33(4). Farina, Celli, Marchesi
    and Gatti (2022), "Simple uncoupled no-regret learning dynamics for extensive-form correlated
    equilibrium", Journal of the ACM 69(6). Farina, Bianchi and Sandholm (2020), "Coarse correlation
    in extensive-form games", AAAI.
    """

    triggers: int
    """Number of triggers. Coordinate ``1 + k`` of the coefficients is c[k]."""
    local: LocalDeviations
    """What the coefficients do at each decision point, for all but the first of them."""
    cover_constants = True  # All first decision points together, as triggers, are a constant map.

    def __init__(self, tree: DecisionTree, *, coarse: bool = False) -> None:
        check_kind(tree, DecisionTree, "tree", "game.domains[0]")
        self.domain, self.coarse = tree, coarse
        # Triggers are numbered as the decision points, or as the actions there.
        at = np.repeat(np.arange(tree.points), 1 if coarse else tree.sizes)
        self.triggers = at.size
        trigger, point = _at_or_after(tree, at)
        self.coefficients = _coefficients(tree, at, trigger, point, coarse=coarse)
        copied = np.repeat(np.arange(point.size), tree.sizes[point])
        # Each coordinate behind a trigger copies a sequence; x[source] is passed on to it.
        source = tree.parent_sequence if coarse else 1 + np.arange(self.triggers)
        self._source = source[trigger[copied]]
        self._sequence = expand_ranges(tree.first_sequence[point], tree.sizes[point])
        # At its own decision point an action is replaced, and after it all that is played.
        parent = np.append(0, np.repeat(tree.parent_sequence, tree.sizes))
        replaces = (point == at[trigger])[copied] & (not coarse)
        weight = np.where(replaces, parent[self._source], self._source)
        factor, none = np.full(tree.dimension, -1), np.full(self.triggers, -1)
        factor[weight] = weight - 1
        self.local = LocalDeviations(
            tree,
            weight=np.append(np.zeros_like(none), weight),
            source=np.append(none, np.where(replaces, self._source - 1, -1)),
            target=np.append(none, self._sequence - 1),
            parent=parent,
            factor=factor,
        )

    def apply(self, coefficients: Vector, point: Vector) -> Vector:
        picked = coefficients[1 : 1 + self.triggers]
        if self.coarse:
            picked = self.domain.simplices.repeat(picked)
        deviating = np.zeros(self.domain.dimension)
        for level in self.domain.levels:
            deviating[level.sequences] = level.inflow(deviating) + picked[level.actions]
        passed = point[self._source] * coefficients[1 + self.triggers :]
        moved = segment_sum(self._sequence, passed, self.domain.dimension)
        moved += point * np.maximum(1.0 - deviating, 0.0)
        return moved

    def utility(self, utility: Vector, point: Vector) -> Vector:
        # A constant at a decision point of the coefficients, subtracted before it, changes the
        # utility of no strategy. Here what a trigger earns is its gain over the strategy, so that
        # a tie is exactly zero.
        behavior = self.domain.behavior(point)
        value, values = self.domain.counterfactual(utility, behavior)
        return np.append(value, self.local.gains(values, behavior, point))

    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return the fixed point of the map with these coefficients.

        From the first decision points on, with X the weight of x before decision point j, and r[a]
        the flow from the triggers before j to action a, x at j is the stationary distribution of
        the chain with rates

            from a' to a:  r[a] + X c[(j, a'), (j, a)]

        and with coarse triggers proportional to r[a], those at j included.
        """
        behavior, _ = self.local.play(coefficients[1:])
        return self.domain.sequence_form(behavior)

    def regret(self, tracker: RegretTracker) -> float | None:
        # The best continuation after each trigger, less what following it earned
        if not tracker.products:
            return None
        (joint,) = tracker.products
        earned = np.diag(joint).copy()
        following = np.zeros(self.domain.points)
        for level in reversed(self.domain.levels):
            following[level.points] = level.simplices.sum(earned[level.sequences])
            level.add_to_parents(earned, following[level.points])
        lost = following if self.coarse else earned[1:]
        gained = np.concatenate([np.zeros(1), -lost, joint[self._source, self._sequence]])
        return self.coefficients.best_response(gained)[0]

    def gains(self, utilities: Vector) -> Vector:
        """Return the gain of the best deviation at each trigger, shape ``(triggers,)``.

        Parameters
        ----------
        utilities
            Sum over iterations of what ``utility`` returned.
        """
        return self.coefficients.best_values(utilities)[1 : 1 + self.triggers]

    def best_gain(self, utilities: Vector, *, largest: bool = False) -> float:
        """Return the gain of the best deviation over the strategy.

        Without ``coarse``, it may use several triggers that do not follow each other, or none, so
        the gain is at least 0. The best coarse trigger may have a negative gain.

        Parameters
        ----------
        utilities
            Sum over iterations of the results of ``utility``.
        largest
            Deviate at a single trigger.
        """
        gains = self.gains(utilities)
        if largest:
            return float(gains.max()) if self.triggers else 0.0
        continuation = np.zeros(self.domain.dimension)
        for level in reversed(self.domain.levels):
            best = continuation[level.sequences]
            if not self.coarse:
                best = np.maximum(best, gains[level.actions])
            triggered = level.simplices.sum(best)
            if self.coarse:
                triggered = np.maximum(triggered, gains[level.points])
            level.add_to_parents(continuation, triggered)
        return float(continuation[0])

    def __repr__(self) -> str:
        kind = "coarse triggers" if self.coarse else "triggers"
        return f"<TriggerDeviations: {self.triggers} {kind} of {self.domain!r}>"


def _at_or_after(tree: DecisionTree, at: Indices) -> tuple[Indices, Indices]:
    """Return all pairs of a trigger, at the given decision points, and a point at or after it."""
    owner = tree.point_of_sequence
    points = ancestors = np.arange(tree.points)
    after_trigger, at_trigger = [], []
    while points.size:
        after_trigger.append(ancestors)
        at_trigger.append(points)
        ancestors = owner[tree.parent_sequence[ancestors]]
        points, ancestors = points[ancestors >= 0], ancestors[ancestors >= 0]
    if not after_trigger:
        return at, at
    upper, lower = np.concatenate(after_trigger), np.concatenate(at_trigger)
    # Triggers at a decision point have numbers that follow each other.
    count = np.bincount(at)
    first = np.cumsum(count) - count
    trigger = expand_ranges(first[upper], count[upper])
    point = np.repeat(lower, count[upper])
    order = np.lexsort((point, trigger))
    return trigger[order], point[order]


def _coefficients(
    tree: DecisionTree, at: Indices, trigger: Indices, point: Indices, *, coarse: bool
) -> DecisionTree:
    """Return the tree of the coefficients."""
    if not at.size:
        return DecisionTree([], [])
    sizes = tree.sizes[point]
    starts = 1 + at.size + np.cumsum(sizes) - sizes
    # A copy comes after the trigger, or after the copy of the sequence before it.
    parent, is_first = tree.parent_sequence[point], point == at[trigger]
    owner = tree.point_of_sequence[parent]
    keys = trigger * tree.points
    upper = np.searchsorted(keys + point, np.where(is_first, keys, keys + owner))
    offset = parent - tree.first_sequence[owner]
    parents = np.where(is_first, 1 + trigger, starts[upper] + offset)
    names = partial(_trigger_name, tree, coarse)
    labels = partial(_point_name, tree, names, trigger, point)
    actions = partial(_action_names, tree, names, at.size, point)
    return DecisionTree(
        np.append(0, parents),
        np.append(at.size, sizes),
        labels=LazySequence(1 + point.size, labels),
        actions=LazySequence(1 + point.size, actions),
    )


def _trigger_name(tree: DecisionTree, coarse: bool, trigger: int) -> str:
    """Return the name of a trigger, a decision point or an action there."""
    points = tree.simplices
    return points.labels.block(trigger) if coarse else ": ".join(points.names_of(trigger))


def _point_name(
    tree: DecisionTree, names: _Name, trigger: Indices, point: Indices, number: int
) -> str:
    if number == 0:
        return "trigger"
    return f"{names(int(trigger[number - 1]))} -> {tree.simplices.labels.block(point[number - 1])}"


def _action_names(
    tree: DecisionTree, names: _Name, triggers: int, point: Indices, number: int
) -> tuple[str, ...]:
    if number == 0:
        return tuple(map(names, range(triggers)))
    return tree.simplices.labels.actions(point[number - 1])
