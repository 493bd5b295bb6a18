"""Deviations in a tree: EFR, trigger deviations, and linear maps."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from attrs import define, field, frozen
from attrs.setters import NO_OP
from attrs.validators import in_, optional

from regretkit._regret_tracker import RegretBound, RegretTracker
from regretkit._util._arrays import (
    Selection,
    add_cancelling,
    as_slice,
    depths,
    expand_ranges,
    segment_sum,
)
from regretkit._util._errors import warn
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind, did_you_mean, must_be, quote
from regretkit.circuits._base import Circuit, LocalRule, local_minimizer, no_bound_by_block
from regretkit.circuits._cfr import CFR
from regretkit.circuits._phi_regret import DeviationSet, PhiRegret, SwapRegret
from regretkit.circuits._stationary import stationary
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.minimizers import RegretMatching
from regretkit.sets import DecisionDAG, DecisionTree, Simplices, SimplicesLike, as_simplices
from regretkit.sets._labels import LazySequence

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class _Stage(NamedTuple):
    """Decision points with equally many actions, and equally many choices before them."""

    simplices: Simplices
    actions: Selection
    """The coordinates of their actions in a behavioral strategy."""
    deviations: Selection
    weight: Indices
    """The weight of each deviation."""
    rate: Indices
    """The rate to which each deviation adds: of an action, or of a pair of actions."""
    by_action: bool
    """Whether rates into actions suffice: external maps alone, or two actions."""
    entries: Selection
    """The weights that are products with probabilities at these decision points."""

    def fixed_point(self, flow: Vector) -> Vector:
        """Return b with ``sum_k flow_k (f_k(b) - b) = 0`` at each decision point."""
        points, size = self.simplices.blocks, self.simplices.dimension
        if self.by_action:
            return self.simplices.normalize(segment_sum(self.rate, flow, size))
        sizes = self.simplices.sizes
        pairs = int(sizes @ sizes)
        rates = segment_sum(self.rate, flow, pairs + size)
        internal = rates[:pairs].reshape(points, -1, size // points)
        external = rates[pairs:].reshape(points, 1, -1)
        return stationary(sizes, (internal + external).ravel())


@define(eq=False, slots=False)
class LocalDeviations:
    """Deviations at the decision points of a tree.

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
        self.point = self.tree.point_of_sequence[1 + self.target]
        # Deviations of the same map differ only in weights: none, external, then internal.
        actions = self.tree.simplices.dimension
        maps, self._map = np.unique((self.source + 1) * actions + self.target, return_inverse=True)
        self._none, split = np.searchsorted(maps, [0, actions])
        self._target = maps[self._none : split]
        self._from, self._to = np.divmod(maps[split:] - actions, max(actions, 1))
        self._stages = [*self._staged()]

    def _staged(self) -> Iterator[_Stage]:
        """Yield the decision points with deviations, parents first."""
        tree, sizes = self.tree, self.tree.sizes
        moving = np.flatnonzero(self.source != self.target)
        point, follows = self.point[moving], tree.point_of_sequence[1 + self.factor]
        choices = depths(np.where(self.factor >= 0, self.parent, -1))
        depth = np.full(tree.points, -1)
        np.maximum.at(depth, point, choices[self.weight[moving]])
        for steps, n in np.unique(np.stack([depth, sizes])[:, depth >= 0], axis=1).T.tolist():
            points = np.flatnonzero((depth == steps) & (sizes == n))
            here = np.isin(point, points)
            deviations, actions = moving[here], tree.simplices.coordinates(points)
            source, target = self.source[deviations], self.target[deviations]
            rate = np.searchsorted(actions, target)
            by_action = n == 2 or bool((source < 0).all())
            if not by_action:
                pair = np.searchsorted(actions, source) * n
                pair += target - tree.simplices.first[point[here]]
                rate = np.where(source < 0, actions.size * n + rate, pair)
            yield _Stage(
                simplices=Simplices([n] * points.size),
                actions=as_slice(actions),
                deviations=as_slice(deviations),
                weight=self.weight[deviations],
                rate=rate,
                by_action=by_action,
                entries=as_slice(np.flatnonzero(np.isin(follows, points))),
            )

    def fixed_point(self, mixture: Vector) -> Vector:
        """Return the behavioral strategy that is the fixed point of a mixture of deviations."""
        behavior, weights = np.ones(self.tree.simplices.dimension), np.ones(self.parent.size)
        for stage in self._stages:
            flow = mixture[stage.deviations] * weights[stage.weight]
            behavior[stage.actions] = stage.fixed_point(flow)
            self._extend(weights, behavior, stage.entries)
        return behavior

    def weights(self, behavior: Vector) -> Vector:
        """Return the weights of a behavioral strategy."""
        weights = np.ones(self.parent.size)
        for stage in self._stages:
            self._extend(weights, behavior, stage.entries)
        return weights

    def _extend(self, weights: Vector, behavior: Vector, entries: Selection) -> None:
        weights[entries] = weights[self.parent[entries]] * behavior[self.factor[entries]]

    def gains(self, values: Vector, behavior: Vector, weights: Vector) -> Vector:
        """Return the gain of each deviation over a behavioral strategy."""
        regret = self.tree.simplices.regret(values, behavior)[self._target]
        difference = add_cancelling(values[self._to], -values[self._from])
        by_map = [np.zeros(self._none), regret, behavior[self._from] * difference]
        gained: Vector = weights[self.weight] * np.concatenate(by_map)[self._map]
        return gained

    def names(self, point: int) -> tuple[str, ...]:
        """Return the names of the deviations at a decision point."""
        return tuple(map(self._name, np.flatnonzero(self.point == point).tolist()))

    def _name(self, deviation: int) -> str:
        """Return the name of a deviation, as in ``bet -> pass after bet at 0``."""
        names_of, followed = self.tree.simplices.names_of, list[str]()
        weight, source = int(self.weight[deviation]), int(self.source[deviation])
        while weight:
            followed.insert(0, " at ".join(reversed(names_of(self.factor[weight]))))
            weight = int(self.parent[weight])
        changed = f"{names_of(source)[1]} " if source >= 0 else ""
        after = f" after {', '.join(followed)}" if followed else ""
        return f"{changed}-> {names_of(self.target[deviation])[1]}{after}"


# EFR

Memory: TypeAlias = Literal["counterfactual", "action", "partial_sequence", "causal", "behavioral"]
LocalMaps: TypeAlias = Literal["external", "internal"]
_MAX_WEIGHTS = 10_000_000


@frozen
class Deviations:
    """A type of deviations in a tree: what a player remembers, and how it then deviates.

    A mediator recommends an action at each decision point. A memory is a set of recommendations
    before decision point j, and its weight w is their probability. Let the weights at a decision
    point be w_1, ..., w_k, where w_k is the probability of having followed all recommendations.
    After action a there, the weights are

        counterfactual      1
        action              w_k b(a)
        partial_sequence    w_1, ..., w_k, w_k b(a)
        causal              w_1, ..., w_k, and w_k b(c) for each action c
        behavioral          w_i b(c) for each i and each action c

    Before the first decision the only weight is 1. Decision points with a single action change
    nothing.

    Parameters
    ----------
    memory
        The weights, one of the names above.
    local
        Maps at a decision point. ``"external"`` maps play one action in place of all,
        ``"internal"`` maps play one action in place of another.
    after
        Maps where not all recommendations have been followed, by default those of ``local``.

    Examples
    --------
    >>> DEVIATION_TYPES["csps"]
    Deviations(memory='causal', local='internal', after='external')

    References
    ----------
    Morrill, D'Orazio, Sarfati, Lanctot, Wright, Greenwald and Bowling (2021), "Efficient deviation
    types and learning for hindsight rationality in extensive-form games", ICML, PMLR 139.
    """

    memory: Memory = field(validator=in_(get_args(Memory)))
    local: LocalMaps = field(validator=in_(get_args(LocalMaps)))
    after: LocalMaps | None = field(default=None, validator=optional(in_(get_args(LocalMaps))))


DEVIATION_TYPES: Mapping[str, Deviations] = {
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
"""The named types of deviations."""


def _deviations(value: str | Deviations) -> Deviations:
    if isinstance(value, Deviations):
        return value
    if value not in DEVIATION_TYPES:
        wanted = f"one of {', '.join(map(repr, DEVIATION_TYPES))}, or Deviations(memory, local)"
        close = did_you_mean(str(value), DEVIATION_TYPES)
        raise ValueError(must_be("deviations", wanted, value) + close)
    return DEVIATION_TYPES[value]


@define(eq=False)
class EFR(Circuit):
    """Extensive-form regret minimization: regret against a type of deviations in a tree.

    At decision point j with the counterfactual utilities q, there is a deviation k for each weight
    w and each local map f. A minimizer of external regret plays a distribution m over them. EFR
    plays a fixed point b of their mixture, and the minimizer observes the gains:

        sum_k m_k w_k (f_k(b) - b)  =  0,    utility of the minimizer  =  w_k <f_k(b) - b, q>

    So the minimizer earns nothing, and its regret against k is the regret of deviation k. The
    regret against a deviation of the whole tree is a sum of these, one for each decision point and
    memory, and at most the sum of their positive parts. The weights depend on b at earlier decision
    points of the same iteration.

    With ``RegretMatching`` it is the paper's EFR. Any minimizer with a regret bound on each simplex
    will do. It plays all weights of a decision point together, since one equation determines the
    fixed point there.

    Parameters
    ----------
    tree
        The player's decision tree, or ``Simplices`` for independent decisions.
    deviations
        A name in ``DEVIATION_TYPES``, or ``Deviations``.
    local
        A function of simplices that returns one minimizer on all of them. There is a simplex for
        each decision point with two or more actions, with a coordinate for each deviation there.

    Attributes
    ----------
    rule
        The result of ``local``. Its coordinates have the names of deviations.

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
    A prediction is evaluated at the last strategy, because the next one depends on the predictions
    at all decision points.
    """

    tree: DecisionTree | Simplices
    deviations: Deviations = field(default=DEVIATION_TYPES["csps"], converter=_deviations)
    local: LocalRule = RegretMatching
    rule: RegretMinimizer = field(init=False, repr=False)
    local_deviations: LocalDeviations = field(init=False, repr=False)
    _simplices: Simplices = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False, on_setattr=NO_OP)
    """The behavioral strategy of the last iteration."""
    _behavior: Vector = field(init=False, repr=False, on_setattr=NO_OP)

    def __attrs_post_init__(self) -> None:
        self.domain = tree = self.tree
        if isinstance(tree, Simplices):
            names = tree.labels.select(np.arange(tree.blocks))
            tree = DecisionTree(np.zeros(tree.blocks, np.int64), tree.sizes, **names)
        check_kind(tree, DecisionTree, "tree", "game.domains[0]")
        self.local_deviations = found = _list_deviations(tree, self.deviations)
        choices = np.flatnonzero(tree.sizes > 1)
        self._simplices = Simplices(
            np.bincount(found.point, minlength=tree.points)[choices],
            labels=tree.simplices.labels.select(choices)["labels"],
            actions=LazySequence(tree.points, found.names).select(choices),
        )
        self.rule = local_minimizer(self.local, self._simplices)
        if reason := no_bound_by_block(self.rule):
            warn(f"EFR has no regret bound here: {reason}")
        self._last = tree.simplices.uniform()
        self._behavior = found.fixed_point(self.rule.next_strategy())

    def _constant(self) -> Indices | None:
        """Return the deviations that sum to constant strategies, None if there are none."""
        found = self.local_deviations
        always = self.deviations.memory == "behavioral"
        constant = np.flatnonzero((found.weight == 0) | always)
        covered = np.unique(found.point[constant]).size == self._simplices.blocks
        return constant if covered else None

    @property
    def no_guarantee(self) -> str:
        if self._constant() is None:
            return "its deviations do not contain the constant ones"
        return no_bound_by_block(self.rule)

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        inner, constant = tracker_of(self.rule), self._constant()
        earned = self._simplices.sum(inner.earned_by_action)
        name = "earned by the deviations at each decision point = 0"
        fixed = RegretBound(name, float(np.abs(earned).sum()), 0.0, exact=True)
        if constant is None:
            return fixed
        bound = float(np.maximum(inner.utilities[constant], 0.0).sum())
        statement = "R <= sum over decision points and deviations of their positive R"
        regret = tracker_of(self).external
        return RegretBound(statement, regret, bound, exact=False, also=(fixed,))

    def _propose(self) -> Vector:
        self._behavior = self.local_deviations.fixed_point(self.rule.next_strategy())
        strategy = self.local_deviations.tree.sequence_form(self._behavior)
        return strategy[strategy.size - self.dimension :]  # simplices lack the empty sequence

    def _gains(self, utility: Vector, behavior: Vector) -> Vector:
        """Return the gain of each deviation over a behavioral strategy."""
        found = self.local_deviations
        padding = np.zeros(found.tree.dimension - self.dimension)
        _, values = found.tree.counterfactual(np.append(padding, utility), behavior)
        return found.gains(values, behavior, found.weights(behavior))

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self._last = self._behavior
        self.rule.observe_utility(self._gains(utility, self._behavior))

    def _expect(self, prediction: Vector) -> None:
        self.rule.expect_utility(self._gains(prediction, self._last))


def _list_deviations(tree: DecisionTree, deviations: Deviations) -> LocalDeviations:
    """Return the deviations of a type at all decision points with several actions."""
    # For each pair of such a decision point and a weight
    point, weight, followed, parent, factor = _remembered(tree, deviations.memory)
    after = deviations.after or deviations.local
    internal = np.where(followed, deviations.local == "internal", after == "internal")
    sizes, first = tree.sizes[point], tree.simplices.first[point]
    count = sizes * np.where(internal, sizes - 1, 1)
    # For each deviation: internal ones list the targets of each source.
    number = expand_ranges(np.zeros_like(count), count)
    internal, sizes, first = (np.repeat(array, count) for array in (internal, sizes, first))
    source, target = np.divmod(number, np.where(internal, sizes - 1, sizes))
    target += internal & (target >= source)
    return LocalDeviations(
        tree,
        weight=np.repeat(weight, count),
        source=np.where(internal, first + source, -1),
        target=first + target,
        parent=parent,
        factor=factor,
    )


_State: TypeAlias = tuple[list[int], int]
"""The weights before a decision point, and the one of having followed all recommendations."""


def _remembered(tree: DecisionTree, memory: Memory) -> tuple[Indices, ...]:
    """Return the weights of a type of memory.

    The first three arrays have, for each pair of a decision point with several actions and a weight
    there, the point, the weight, and whether it is that of following all recommendations. The
    others have, for each weight, the factors of the product.
    """
    parent, factor = [0], [-1]

    def after(first: int, size: int, weights: list[int], followed: int) -> list[_State]:
        """Return the state after each action of a decision point."""
        if memory == "counterfactual":
            return [(weights, followed)] * size
        base = weights if memory == "behavioral" else [followed]
        new = range(len(parent), len(parent) + len(base) * size)
        if new.stop > _MAX_WEIGHTS:
            raise ValueError(
                f"behavioral deviations have over {_MAX_WEIGHTS:,} weights in {quote(tree)}; pass "
                "others, such as deviations='csps'"
            )
        parent.extend(np.repeat(base, size).tolist())
        factor.extend([*range(first, first + size)] * len(base))
        kept = [] if memory in ("action", "behavioral") else weights
        last = new[base.index(followed) * size :][:size]
        if memory in ("causal", "behavioral"):
            return [([*kept, *new], now) for now in last]
        return [([*kept, now], now) for now in last]

    states: dict[int, _State] = {0: ([0], 0)}  # by the last sequence with several actions
    last = [*range(tree.dimension)]
    at: dict[int, _State] = {}  # by decision point with several actions
    owner, sizes = tree.point_of_sequence.tolist(), tree.sizes.tolist()
    firsts = tree.first_sequence.tolist()
    for point, sequence in enumerate(tree.parent_sequence.tolist()):
        sequence = last[sequence]
        if sizes[point] == 1:
            last[firsts[point]] = sequence
            continue
        if sequence not in states:
            j = owner[sequence]
            states |= enumerate(after(firsts[j] - 1, sizes[j], *at[j]), firsts[j])
        at[point] = states[sequence]
    count = [len(weights) for weights, _ in at.values()]
    points = np.repeat(np.fromiter(at, np.int64, len(at)), count)
    weight = np.fromiter((w for weights, _ in at.values() for w in weights), np.int64)
    followed = np.repeat(np.array([now for _, now in at.values()], dtype=np.int64), count)
    return points, weight, weight == followed, np.array(parent), np.array(factor)


# Trigger deviations


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
    local_deviations: LocalDeviations
    """The deviations at each decision point, one for each coefficient but the first."""
    cover_constants = True  # All first decision points together, as triggers, are a constant map.

    def __init__(self, tree: DecisionTree, *, coarse: bool = False) -> None:
        check_kind(tree, DecisionTree, "tree", "game.domains[0]")
        self.domain, self.coarse = tree, coarse
        # Triggers have the numbers of the decision points, or of the actions there.
        at = np.repeat(np.arange(tree.points), 1 if coarse else tree.sizes)
        self.triggers = at.size
        trigger, point = self._trigger, self._point = _at_or_after(tree, at)
        sizes, parent = tree.sizes[point], tree.parent_sequence[point]
        # A copy of a decision point follows its trigger, or the copy of its parent sequence.
        first = 1 + at.size + np.cumsum(sizes) - sizes
        owner = tree.point_of_sequence[parent]
        keys = trigger * tree.points
        is_first = point == at[trigger]
        upper = np.searchsorted(keys + point, np.where(is_first, keys, keys + owner))
        copies = np.where(is_first, 1 + trigger, first[upper] + parent - tree.first_sequence[owner])
        self.coefficients = DecisionTree(
            np.append(0, copies)[: None if at.size else 0],
            np.append(at.size, sizes)[: None if at.size else 0],
            labels=LazySequence(1 + point.size, self._label),
            actions=LazySequence(1 + point.size, self._actions),
        )
        # Coordinate s behind trigger k copies a sequence, to which x[source(k)] moves.
        source = tree.parent_sequence if coarse else 1 + np.arange(self.triggers)
        self._source = np.repeat(source[trigger], sizes)
        self._sequence = expand_ranges(tree.first_sequence[point], sizes)
        # A trigger's own decision point has internal deviations, those after it external ones.
        internal = np.repeat(is_first & (not coarse), sizes)
        before = np.append(0, np.repeat(tree.parent_sequence, tree.sizes))
        weight = np.where(internal, before[self._source], self._source)
        factor, choices = np.full(tree.dimension, -1), np.full(self.triggers, -1)
        factor[weight] = weight - 1
        self.local_deviations = LocalDeviations(
            tree,
            weight=np.append(np.zeros_like(choices), weight),
            source=np.append(choices, np.where(internal, self._source - 1, -1)),
            target=np.append(choices, self._sequence - 1),
            parent=before,
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
        # The gradient is unique up to constants: adding one at a decision point of the
        # coefficients and subtracting it before changes no value. Here a trigger earns its gain
        # over the strategy, so that ties are exactly zero.
        behavior = self.domain.behavior(point)
        value, values = self.domain.counterfactual(utility, behavior)
        return np.append(value, self.local_deviations.gains(values, behavior, point))

    def fixed_point(self, coefficients: Vector) -> Vector:
        """Return the fixed point of the map with these coefficients, from the root to the leaves.

        Let X be the weight of x before decision point j, and r[a] the flow from earlier triggers to
        action a. The strategy at j is the stationary distribution of the chain with the rates

            from a' to a:  r[a] + X c[(j, a'), (j, a)]

        With coarse triggers it is proportional to r[a], where r includes the trigger at j.
        """
        behavior = self.local_deviations.fixed_point(coefficients[1:])
        return self.domain.sequence_form(behavior)

    def regret(self, tracker: RegretTracker) -> float | None:
        # The best continuation after each trigger, minus the earnings of following it
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
        gains = self.coefficients.best_values(utilities)[1 : 1 + self.triggers]
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

    def _name(self, trigger: int) -> str:
        """Return the name of a trigger."""
        points = self.domain.simplices
        return points.labels.block(trigger) if self.coarse else ": ".join(points.names_of(trigger))

    def _label(self, number: int) -> str:
        """Return the name of a decision point of the coefficients."""
        if number == 0:
            return "trigger"
        point = self.domain.simplices.labels.block(self._point[number - 1])
        return f"{self._name(int(self._trigger[number - 1]))} -> {point}"

    def _actions(self, number: int) -> tuple[str, ...]:
        """Return the names of the actions there."""
        if number == 0:
            return tuple(map(self._name, range(self.triggers)))
        return self.domain.simplices.labels.actions(self._point[number - 1])

    def __repr__(self) -> str:
        kind = "coarse triggers" if self.coarse else "triggers"
        return f"<TriggerDeviations: {self.triggers} {kind} of {self.domain!r}>"


def _at_or_after(tree: DecisionTree, at: Indices) -> tuple[Indices, Indices]:
    """Return all pairs of a trigger k and a decision point at or after its own, ``at[k]``."""
    before = tree.point_of_sequence[tree.parent_sequence]
    upper = lower = np.arange(tree.points)
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    while upper.size:
        pairs.append(np.stack([upper, lower]))
        upper = before[upper]
        upper, lower = upper[upper >= 0], lower[upper >= 0]
    upper, lower = np.concatenate(pairs, axis=1)
    # Triggers at a decision point have consecutive numbers.
    count = np.bincount(at, minlength=tree.points)
    trigger = expand_ranges((np.cumsum(count) - count)[upper], count[upper])
    point = np.repeat(lower, count[upper])
    order = np.lexsort((point, trigger))
    return trigger[order], point[order]


def trigger_regret(
    domain: DecisionTree | SimplicesLike, local: LocalRule, *, coarse: bool = False
) -> RegretMinimizer:
    """Return a minimizer of regret against all trigger deviations, or all coarse ones.

    On a tree it is ``PhiRegret`` with CFR over ``TriggerDeviations``. On simplices it is
    ``SwapRegret``. Coarse triggers of simplices are constant actions, so it is the rule itself.

    Parameters
    ----------
    domain
        The player's decision tree, or simplices.
    local
        The local rule of CFR, or the experts of ``SwapRegret``.
    coarse
        Whether triggers are decision points, not actions.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> player = trigger_regret(DecisionTree([0, 2], [2, 2]), RegretMatchingPlus)
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])
    """
    if isinstance(domain, DecisionTree):
        maps = TriggerDeviations(domain, coarse=coarse)
        return PhiRegret(CFR(maps.coefficients, local), maps)
    return local_minimizer(local, as_simplices(domain)) if coarse else SwapRegret(domain, local)


# Linear maps

_MAX_COEFFICIENTS = 50_000_000
"""With so many coefficients, building the DAG takes about ten gigabytes."""
_SHARES = 2.0**-26, 2.0**-40
"""The shares p in ``fixed_point``. The second applies if the first does not converge."""
_STEPS = 64
"""Largest number of steps with each share."""
_SETTLED = 4.0 * float(np.finfo(np.float64).eps)
"""Largest distance that a map moves a point that counts as fixed."""


class LinearDeviations(DeviationSet[DecisionTree, DecisionDAG]):
    """All linear maps of the strategies of a decision tree to themselves.

    A mediator draws a recommendation x. The player may query it at any time. The answer to a query
    is the recommended action at a decision point k that follows the answers so far, the sequence s.
    The coefficients c are a strategy of this problem, a flow through a ``DecisionDAG`` of pairs. At
    pair (j, s) the player is at decision point j, and the recommendations so far are s. It either
    plays an action a of j, which leads to the pairs (k, s) of the decision points k after a. Or it
    queries a decision point k after s, which leads to the pairs (j, (k, b)) of the actions b of k:

        map_c(x)[j, a]  =  sum over s of c[(j, s), a] x[s],    map_c(x)[0]  =  1

    These untimed communication deviations are all linear maps of the set to itself. With N
    sequences and J decision points there are ``J N`` pairs and ``1 + N (N - 1) + J^2``
    coefficients.

    Parameters
    ----------
    tree
        The player's decision tree.

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
    """The matrix that maps 1 and the free coordinates to all coordinates of a strategy."""

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
        # Pair (j, s) has the number j * length + s. Its actions are the actions of j, then a query
        # for each decision point after s.
        sizes = tree.sizes[:, None] + following
        first = (1 + sizes.cumsum() - sizes.ravel()).reshape(sizes.shape)
        # The coordinate of each action of the tree after each recommended sequence
        self._play = first[point_of] + (np.arange(length - 1) - first_action[point_of])[:, None]
        place = np.empty(points, dtype=np.int64)
        place[np.argsort(preceding, kind="stable")] = expand_ranges(
            np.zeros_like(following), following
        )
        query = first[:, preceding] + tree.sizes[:, None] + place
        # The parents of a pair: the action before j at the same s, and the query with answer s
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
        # Free coordinates: all actions but the last of each decision point
        last = tree.first_sequence + tree.sizes - 1
        self._free = np.delete(np.arange(length), np.append(0, last))
        basis = np.zeros((length, 1 + self._free.size))
        basis[np.append(0, self._free), np.arange(1 + self._free.size)] = 1.0
        for parent, begin, end in zip(preceding, tree.first_sequence, last, strict=True):
            basis[end] = basis[parent] - basis[begin:end].sum(axis=0)
        self._basis = csr_array(basis)

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
        """Return the limit of the means of z, A z, ..., A^n z, with z the interior point.

        With a small share p, the iteration

            x  <-  p (I - (1 - p) A)^-1 x  =  x + (1 - p) (I - (1 - p) A)^-1 (A x - x)

        starts at z. Each step is a mean of powers of A, so it stays in the set. An eigenvector of
        eigenvalue r shrinks by ``p / |1 - (1 - p) r|``. The code computes in coordinates of the
        set's affine hull, because powers of A may grow outside of the hull.
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
        point[point <= _SETTLED] = 0.0  # transient coordinates shrink, but never reach zero
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
    """Return the names of the actions at a pair."""
    labels, (point, sequence) = tree.simplices.labels, divmod(number, tree.dimension)
    following = np.flatnonzero(tree.parent_sequence == sequence).tolist()
    return *labels.actions(point), *(f"query {labels.block(k)}" for k in following)


def linear_swap_regret(domain: DecisionTree | SimplicesLike, local: LocalRule) -> RegretMinimizer:
    """Return a minimizer of regret against all linear maps of a player's strategies.

    On a tree it is ``PhiRegret`` with CFR over ``LinearDeviations``, and on simplices
    ``SwapRegret``. If all players of a game use it, their play converges to linear correlated
    equilibria.

    Parameters
    ----------
    domain
        The player's decision tree, or simplices.
    local
        The local rule of CFR, or the experts of ``SwapRegret``.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> player = linear_swap_regret(DecisionTree([0], [2]), RegretMatchingPlus)
    >>> player.observe_utility([0.0, 1.0, 0.0])
    >>> player.next_strategy()
    array([1., 1., 0.])
    """
    if not isinstance(domain, DecisionTree):
        return SwapRegret(domain, local)
    maps = LinearDeviations(domain)
    return PhiRegret(CFR(maps.coefficients, local), maps)
