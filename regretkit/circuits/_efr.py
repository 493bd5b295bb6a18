"""EFR: one minimizer over the deviations at each decision point of a tree."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, final

import numpy as np
from attrs import define, evolve, field, frozen
from attrs.setters import NO_OP
from attrs.validators import in_, optional
from numpy.typing import NDArray
from typing_extensions import override

from regretkit._regret_tracker import RegretBound
from regretkit._util._arrays import (
    Selection,
    add_cancelling,
    as_slice,
    depths,
    expand_ranges,
    segment_sum,
)
from regretkit._util._state import NOT_STATE
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import did_you_mean, must_be, quote
from regretkit.circuits._base import (
    LocalDeviations,
    LocalRule,
    TreeCircuit,
    check_tree,
    coupling_reason,
    local_minimizer,
)
from regretkit.circuits._stationary import _stationary
from regretkit.minimizer import TrackerOf
from regretkit.minimizers import RegretMatching
from regretkit.sets import DecisionTree, Simplices
from regretkit.sets._labels import LazySequence

Memory: TypeAlias = Literal["counterfactual", "action", "partial_sequence", "causal", "behavioral"]
LocalMaps: TypeAlias = Literal["external", "internal"]
_MOST = 10_000_000
"""Weights up to which behavioral deviations are laid out."""
_MAPS = in_(("external", "internal"))


@final
@frozen
class Deviations:
    """A type of deviations in a tree: what a player remembers, and how it then deviates.

    A deviating player is recommended an action at each decision point. At decision point j a
    memory state is a set of recommendations before j that it remembers, and its weight w is the
    probability of these. After action a of a decision point with the weights w_1, ..., w_k, of
    which w_k is that of having followed all recommendations, the weights are

        counterfactual      1
        action              w_k b(a)
        partial_sequence    w_1, ..., w_k, w_k b(a)
        causal              w_1, ..., w_k, and w_k b(c) for each action c
        behavioral          w_i b(c) for each i and each action c

    and before the first decision the only weight is 1. Single actions are passed over.

    Parameters
    ----------
    memory
        The weights, one of the names above.
    local
        Maps at a decision point: ``"external"`` ones play one action in place of all,
        ``"internal"`` ones play one action in place of another.
    after
        Maps where not all recommendations have been followed; by default those of ``local``.

    Examples
    --------
    >>> DEVIATION_TYPES["csps"]
    Deviations(memory='causal', local='internal', after='external')

    References
    ----------
    Morrill, D'Orazio, Sarfati, Lanctot, Wright, Greenwald and Bowling (2021), "Efficient deviation
    types and learning for hindsight rationality in extensive-form games", ICML, PMLR 139.
    """

    memory: Memory = field(
        validator=in_(("counterfactual", "action", "partial_sequence", "causal", "behavioral"))
    )
    local: LocalMaps = field(validator=_MAPS)
    after: LocalMaps | None = field(default=None, validator=optional(_MAPS))


DEVIATION_TYPES: Mapping[str, Deviations] = MappingProxyType(
    {
        "blind_cf": Deviations("counterfactual", "external"),
        "informed_cf": Deviations("counterfactual", "internal"),
        "blind_action": Deviations("action", "external"),
        "informed_action": Deviations("action", "internal"),
        "bps": Deviations("partial_sequence", "external"),
        "cfps": Deviations("partial_sequence", "internal"),
        "csps": Deviations("causal", "internal", after="external"),
        "tips": Deviations("causal", "internal"),
        "bhv": Deviations("behavioral", "internal"),
    }
)
"""The types of deviations with a name, by it."""


def _deviations(value: str | Deviations) -> Deviations:
    if isinstance(value, Deviations):
        return value
    if not isinstance(value, str):
        raise TypeError(must_be("deviations", "the name of a type, or Deviations", value))
    if value.lower() not in DEVIATION_TYPES:
        known = ", ".join(map(repr, DEVIATION_TYPES))
        raise ValueError(
            f"deviations must be one of {known}, or Deviations(memory, local), got {quote(value)}"
            f"{did_you_mean(value, DEVIATION_TYPES)}"
        )
    return DEVIATION_TYPES[value.lower()]


@final
@define(eq=False)
class EFR(TreeCircuit):
    """Extensive-form regret minimization: regret against a type of deviations in a tree.

    At decision point j with counterfactual utilities q there is a deviation k for each weight w
    and each local map f. A minimizer of external regret picks a distribution m over them, a fixed
    point b of their mixture is played, and the minimizer learns from what each would have gained:

        sum_k m_k w_k (f_k(b) - b)  =  0,    minimizer learns  w_k <f_k(b) - b, q>

    So the minimizer earns nothing, and its regret against k is that of k. The regret against a
    deviation of the whole tree is the sum of those of its parts, one for each decision point and
    memory state, and at most the sum of their positive parts. The weights follow from b at the
    decision points before j, which are played in the same iteration.

    With ``RegretMatching`` it is EFR of the paper. Any minimizer with a regret bound on each
    simplex will do: that bound is all that is used. It must be one over all weights of a decision
    point together, since a fixed point solves one equation there.

    Parameters
    ----------
    tree
        The player's decisions; or ``Simplices``, for decisions of which none follows another.
    deviations
        A name in ``DEVIATION_TYPES``, or ``Deviations``.
    local
        Called with simplices, one for each decision point of two and more actions, with a
        coordinate for each deviation there, returns one minimizer for all of them.

    Attributes
    ----------
    rule
        The minimizer that ``local`` returned, whose coordinates are named after deviations.

    Examples
    --------
    >>> tree = DecisionTree([0, 2], [2, 2])
    >>> player = EFR(tree, "csps")
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])
    >>> player.rule
    RegretMatching(simplices=Simplices([2, 6]))
    >>> player.rule.domain.labels.actions(1)[::2]
    ('-> 0', '-> 0 after 0 at 0', '0 -> 1 after 1 at 0')

    References
    ----------
    Morrill, D'Orazio, Sarfati, Lanctot, Wright, Greenwald and Bowling (2021), "Efficient deviation
    types and learning for hindsight rationality in extensive-form games", ICML, PMLR 139.

    Notes
    -----
    What a decision point may expect depends on what is played above and below it, so that the last
    strategy stands in for the coming one when a utility is predicted.
    """

    tree: DecisionTree | Simplices
    deviations: Deviations = field(default=DEVIATION_TYPES["csps"], converter=_deviations)
    local: LocalRule = RegretMatching
    _layout: "_Layout" = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False, on_setattr=NO_OP)
    """The last behavioral strategy that was played."""
    _behavior: Vector = field(init=False, repr=False, on_setattr=NO_OP, metadata=NOT_STATE)
    _weights: Vector = field(init=False, repr=False, on_setattr=NO_OP, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        check_tree(self.tree, DecisionTree | Simplices)
        self.domain = self.tree
        self._layout = _Layout(self.tree, self.deviations)
        self.rule = local_minimizer(self.local, self._layout.simplices)
        if reason := coupling_reason(self.rule):
            warnings.warn(f"EFR has no regret bound here: {reason}", RuntimeWarning, stacklevel=3)
        self._last = self._layout.tree.simplices.uniform()

    @override
    def _weaker_guarantee(self) -> str:
        if self._layout.constant is None:
            return (
                "what is small is the regret against its deviations, which do not contain the "
                "constant ones"
            )
        return coupling_reason(self.rule)

    @override
    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        inner, constant = tracker_of(self.rule), self._layout.constant
        earned = self._layout.simplices.sum(inner._earned_by_action)
        name = "earned by the deviations at each decision point = 0"
        fixed = RegretBound(name, float(np.abs(earned).sum()), 0.0, exact=True)
        if constant is None:
            return fixed
        bound = float(np.maximum(inner.utilities[constant], 0.0).sum())
        statement = "R <= sum over decision points and deviations of their positive R"
        regret = tracker_of(self).external
        return RegretBound(statement, regret, bound, exact=False, also=(fixed,))

    @override
    def _propose(self) -> Vector:
        behavior = self._play_points()
        flat = isinstance(self.tree, Simplices)
        return behavior.copy() if flat else self._layout.tree.sequence_form(behavior)

    @override
    def _play_points(self) -> Vector:
        self._behavior, self._weights = self._layout.play(self.rule.next_strategy())
        return self._behavior

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._learn_points(self._layout.values(utility, self._behavior))

    @override
    def _learn_points(self, values: Vector) -> None:
        self._last = self._behavior
        self.rule._update(self._layout.gains(values, self._behavior, self._weights))

    @override
    def _expect(self, prediction: Vector) -> None:
        values = self._layout.values(prediction, self._last)
        weights = self._layout.weights(self._last)
        self.rule._predict_internal(self._layout.gains(values, self._last, weights))


# Where the deviations of all decision points stand in one vector


@frozen(eq=False)
class _Stage:
    """Decision points with equally many actions, and equally many choices before them."""

    simplices: Simplices
    """The decision points side by side."""
    actions: Selection
    """Where their actions stand in a behavioral strategy."""
    deviations: Selection
    """Where their deviations stand,"""
    weight: Indices
    """the weight of each,"""
    rate: Indices
    """and the rate that it adds to; a rate for each action if ``closed``, see ``fixed_point``."""
    closed: bool
    """Whether the rates into actions say it all: external maps, or two actions."""
    entries: Selection
    """The weights that follow from these decision points,"""
    parent: Indices
    """that of which each is a part,"""
    factor: Indices
    """and the action whose probability is the part."""

    def fixed_point(self, flow: Vector) -> Vector:
        """Return b with ``sum_k flow_k (f_k(b) - b) = 0`` at each decision point, side by side."""
        points, size = self.simplices.blocks, self.simplices.dimension
        if self.closed:
            return self.simplices.normalize(segment_sum(self.rate, flow, size))
        pairs = size * (size // points)
        rates = segment_sum(self.rate, flow, pairs + size)
        internal = rates[:pairs].reshape(points, -1, size // points)
        fixed = _stationary(internal + rates[pairs:].reshape(points, 1, -1))
        return fixed.reshape(-1)

    def extend(self, weights: Vector, behavior: Vector) -> None:
        """Fill in the weights that follow."""
        weights[self.entries] = weights[self.parent] * behavior[self.factor]


@final
class _Layout:
    """Weights and deviations at all decision points of a tree with two actions or more."""

    simplices: Simplices
    """A block for each of these decision points, a coordinate for each deviation."""
    constant: Indices | None
    """The deviations that constant ones are made of, None where there are not enough."""

    def __init__(self, domain: DecisionTree | Simplices, deviations: Deviations) -> None:
        self._padded = isinstance(domain, Simplices)
        if isinstance(domain, Simplices):
            names = domain.labels.select(np.arange(domain.blocks))
            domain = DecisionTree(np.zeros(domain.blocks, np.int64), domain.sizes, **names)
        self.tree, sizes, first = domain, domain.sizes, domain.simplices.first
        memory = _Memory(domain, deviations.memory)
        self._parent, self._factor, choices = memory.parent, memory.factor, memory.choices
        self._after = memory.after

        # Of each deviation: its decision point, its weight, and which action it replaces by which
        local, after = deviations.local, deviations.after or deviations.local
        followed = memory.weight == memory.followed[memory.point]
        internal = np.where(followed, local == "internal", after == "internal")
        count = sizes[memory.point] * np.where(internal, sizes[memory.point] - 1, 1)
        point, self._weight = np.repeat(memory.point, count), np.repeat(memory.weight, count)
        internal = np.repeat(internal, count)
        number, size = expand_ranges(np.zeros_like(count), count), sizes[point]
        source = np.where(internal, number // (size - 1), 0)
        target = np.where(internal, number % (size - 1), number)
        target += internal & (target >= source)

        labels = domain.simplices.labels.select(choices)["labels"]
        blocks = np.bincount(point, minlength=domain.points)[choices]
        called = LazySequence(blocks.size, self._names)
        self.simplices = Simplices(blocks, labels=labels, actions=called)
        constant = np.flatnonzero((self._weight == 0) | (deviations.memory == "behavioral"))
        covered = np.unique(point[constant]).size == choices.size
        self.constant = constant if covered else None

        # Deviations of the same map differ in their weights alone: first external, then internal
        actions, width = domain.simplices.dimension, int(sizes.max(initial=1))
        pair = actions + (first[point] + source) * width + target
        maps, self._map = np.unique(
            np.where(internal, pair, first[point] + target), return_inverse=True
        )
        split = np.searchsorted(maps, actions)
        self._target, (self._from, to) = maps[:split], np.divmod(maps[split:] - actions, width)
        self._to = to + np.repeat(first, sizes)[self._from]

        self._points = domain.simplices
        kinds = point, internal, source, target
        self.stages = [*self._staged(memory, *kinds)]

    def _names(self, block: int) -> tuple[str, ...]:
        """Return the names of the deviations at a decision point."""
        return tuple(map(self._name, self.simplices.coordinates(block).tolist()))

    def _name(self, deviation: int) -> str:
        """Return the name of a deviation, as in ``bet -> pass after bet at 0``."""
        number, weight = int(self._map[deviation]) - self._target.size, int(self._weight[deviation])
        external = number < 0
        target = self._target[number] if external else self._to[number]
        changed = "" if external else f"{self._action(self._from[number])[1]} "
        told = []
        while weight:
            point, action = self._action(self._factor[weight])
            told.append(f"{action} at {point}")
            weight = int(self._parent[weight])
        continuation = f" after {', '.join(reversed(told))}" if told else ""
        return f"{changed}-> {self._action(target)[1]}{continuation}"

    def _action(self, action: int) -> tuple[str, str]:
        """Return the names of an action's decision point, and of the action."""
        points = self.tree.simplices
        point = int(np.searchsorted(points.first, action, side="right")) - 1
        names = points.labels.actions(point)
        return points.labels.block(point), names[action - int(points.first[point])]

    def _staged(
        self,
        memory: "_Memory",
        point: Indices,
        internal: NDArray[np.bool_],
        source: Indices,
        target: Indices,
    ) -> Iterator[_Stage]:
        sizes, choices = self.tree.sizes, memory.choices
        place = np.zeros(sizes.size, np.int64)
        for depth, n in np.unique(np.stack([memory.depth, sizes])[:, choices], axis=1).T.tolist():
            points = choices[(memory.depth[choices] == depth) & (sizes[choices] == n)]
            place[points] = np.arange(points.size)
            at_depth = np.flatnonzero((memory.depth[point] == depth) & (sizes[point] == n))
            new = np.flatnonzero(np.isin(memory.after, points))
            rate = place[point[at_depth]] * n + target[at_depth]
            closed = n == 2 or not internal[at_depth].any()
            if not closed:
                pairs = (place[point[at_depth]] * n + source[at_depth]) * n + target[at_depth]
                rate = np.where(internal[at_depth], pairs, points.size * n * n + rate)
            yield _Stage(
                simplices=Simplices([n] * points.size),
                actions=as_slice(self.tree.simplices.coordinates(points)),
                deviations=as_slice(at_depth),
                weight=self._weight[at_depth],
                rate=rate,
                closed=closed,
                entries=as_slice(new),
                parent=memory.parent[new],
                factor=memory.factor[new],
            )

    def local_deviations(self) -> LocalDeviations:
        """Return the deviations in the order of the rule's coordinates."""
        source = np.concatenate([np.full(self._target.size, -1), self._from])[self._map]
        target = np.concatenate([self._target, self._to])[self._map]
        factor = np.where(self._after >= 0, self._factor, -1)
        return LocalDeviations(self._weight, source, target, self._parent, factor)

    def replace(self, function: Callable[[Simplices], Simplices]) -> None:
        """Replace simplices by equal ones, such as those with operations in machine code."""
        self._points = function(self._points)
        self.stages = [evolve(s, simplices=function(s.simplices)) for s in self.stages]

    def play(self, mixture: Vector) -> tuple[Vector, Vector]:
        """Return the behavioral strategy that a mixture of deviations fixes, and the weights."""
        behavior, weights = np.ones(self.tree.simplices.dimension), np.ones(self._parent.size)
        for stage in self.stages:
            flow = mixture[stage.deviations] * weights[stage.weight]
            behavior[stage.actions] = stage.fixed_point(flow)
            stage.extend(weights, behavior)
        return behavior, weights

    def weights(self, behavior: Vector) -> Vector:
        """Return the weights of a behavioral strategy."""
        weights = np.ones(self._parent.size)
        for stage in self.stages:
            stage.extend(weights, behavior)
        return weights

    def values(self, utility: Vector, behavior: Vector) -> Vector:
        """Return the counterfactual utilities of all actions."""
        if self._padded:
            return utility
        return self.tree.counterfactual(utility, behavior)[1]

    def gains(self, values: Vector, behavior: Vector, weights: Vector) -> Vector:
        """Return what each deviation gains over a behavioral strategy."""
        difference = add_cancelling(values[self._to], -values[self._from])
        gains: Vector = behavior[self._from] * difference
        if self._target.size:
            regret = self._points.regret(values, behavior)
            gains = np.concatenate([regret[self._target], gains])
        gained: Vector = weights[self._weight] * gains[self._map]
        return gained


@final
class _Memory:
    """The weights of a tree, each the product of another one and the probability of an action.

    The first is 1.
    """

    choices: Indices
    """The decision points of two actions or more."""
    depth: Indices
    """For each decision point, how many of these are before it."""
    point: Indices
    """For each weight of each of these decision points, the decision point,"""
    weight: Indices
    """and the number of the weight."""
    followed: Indices
    """For each decision point, the weight of having followed all recommendations."""
    after: Indices
    """For each weight, the decision point that it follows from, -1 for the first,"""
    parent: Indices
    """the weight of which it is a part,"""
    factor: Indices
    """and the action whose probability is the part."""

    def __init__(self, tree: DecisionTree, memory: Memory) -> None:
        self._tree, sizes = tree, tree.sizes
        self.choices = np.flatnonzero(sizes > 1)
        self._point_of = tree._point_of_sequence
        # The last sequence before a decision point at which there was a choice
        self._before = tree.parent_sequence.copy()
        while (single := np.append(sizes, 2)[self._point_of[self._before]] == 1).any():
            self._before[single] = tree.parent_sequence[self._point_of[self._before[single]]]
        # Weights that are all 1 follow from no decision point before.
        needed = memory != "counterfactual"
        self.depth = depths(self._point_of[self._before]) * needed
        if memory == "behavioral":
            self._behavioral()
            return
        self.followed = self._before * needed
        # A weight for each sequence: that of the sequence before, times the probability
        inner = np.unique(self._point_of[self.followed[self.choices]])
        self.after = np.where(np.isin(self._point_of, inner), self._point_of, -1)
        self.parent = np.append(0, np.repeat(self._before, sizes))
        self.factor = np.arange(-1, tree.simplices.dimension)
        found = [*self._paths()] if memory in ("partial_sequence", "causal") else []
        found = found or [(self.choices, self.followed[self.choices])]
        points, weights = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        if memory == "causal":  # all actions of the decision points on the path
            on_path = self._point_of[weights]
            choices = np.where(on_path >= 0, sizes[on_path], 1)
            begin = np.where(on_path >= 0, tree.first_sequence[on_path], 0)
            points, weights = np.repeat(points, choices), expand_ranges(begin, choices)
        order = np.lexsort((weights, points))
        self.point, self.weight = points[order], weights[order]

    def _paths(self) -> Iterator[tuple[Indices, Indices]]:
        """Yield decision points and sequences on the way to them, until the empty one."""
        points, sequences = self.choices, self._before[self.choices]
        while points.size:
            yield points, sequences
            points, sequences = points[sequences > 0], sequences[sequences > 0]
            sequences = self._before[self._point_of[sequences]]

    def _behavioral(self) -> None:
        """Fill in the weights of all combinations of actions at the decision points before."""
        tree, sizes = self._tree, self._tree.sizes
        # Where the weights of a decision point begin, how many they are, and those that follow it
        begin, end, self.followed = np.zeros((3, tree.points), dtype=np.int64)
        count = np.ones(tree.points, dtype=np.int64)
        inner = np.isin(np.arange(tree.points), self._point_of[self._before[self.choices]])
        extended, total = [np.zeros(0, dtype=np.int64)], 1
        for depth in range(self.depth.max(initial=-1) + 1):
            starts = self.choices[self.depth[self.choices] == depth]
            if depth:
                last = self._point_of[self._before[starts]]
                begin[starts], count[starts] = end[last], count[last] * sizes[last]
                action = self._before[starts] - tree.first_sequence[last]
                offset = (self.followed[last] - begin[last]) * sizes[last]
                self.followed[starts] = end[last] + offset + action
            extended.append(starts[inner[starts]])
            ways = count[extended[-1]] * sizes[extended[-1]]
            end[extended[-1]] = total + np.cumsum(ways) - ways
            total += int(ways.sum())
            if total > _MOST:
                raise ValueError(
                    f"behavioral deviations have over {_MOST:,} weights in {quote(tree)}; pass "
                    "others, such as deviations='csps'"
                )
        starts = np.concatenate(extended)
        repeated = np.repeat(sizes[starts], count[starts])
        self.after = np.append(-1, np.repeat(starts, count[starts] * sizes[starts]))
        parents = np.repeat(expand_ranges(begin[starts], count[starts]), repeated)
        self.parent = np.append(0, parents)
        first = np.repeat(tree.simplices.first[starts], count[starts])
        self.factor = np.append(-1, expand_ranges(first, repeated))
        self.point = np.repeat(self.choices, count[self.choices])
        self.weight = expand_ranges(begin[self.choices], count[self.choices])
