"""EFR: one minimizer over the deviations at each decision point of a tree."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from attrs import define, field, frozen
from attrs.setters import NO_OP
from attrs.validators import in_, optional
from numpy.typing import NDArray

from regretkit._regret_tracker import RegretBound
from regretkit._util._arrays import expand_ranges
from regretkit._util._errors import warn
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind, did_you_mean, must_be, quote
from regretkit.circuits._base import (
    Circuit,
    LocalRule,
    local_minimizer,
    no_bound_by_block,
)
from regretkit.circuits._stationary import LocalDeviations
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.minimizers import RegretMatching
from regretkit.sets import DecisionTree, Simplices
from regretkit.sets._labels import LazySequence

Memory: TypeAlias = Literal["counterfactual", "action", "partial_sequence", "causal", "behavioral"]
LocalMaps: TypeAlias = Literal["external", "internal"]
_MAX_WEIGHTS = 10_000_000
"""Number of weights up to which behavioral deviations are listed."""
_MAPS = in_(("external", "internal"))


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
    check_kind(value, str, "deviations", "'csps', or Deviations(memory, local)")
    if value.lower() not in DEVIATION_TYPES:
        wanted = f"one of {', '.join(map(repr, DEVIATION_TYPES))}, or Deviations(memory, local)"
        raise ValueError(
            must_be("deviations", wanted, value) + did_you_mean(value, DEVIATION_TYPES)
        )
    return DEVIATION_TYPES[value.lower()]


@define(eq=False)
class EFR(Circuit):
    """Extensive-form regret minimization: regret against a type of deviations in a tree.

    At decision point j with counterfactual utilities q there is a deviation k for each weight w
    and each local map f. A minimizer of external regret picks a distribution m over them, a fixed
    point b of their mixture is played, and the minimizer learns from what each would have gained:

        sum_k m_k w_k (f_k(b) - b)  =  0,    minimizer learns  w_k <f_k(b) - b, q>

    So the minimizer earns nothing, and its regret against k is that of k. The regret against a
    deviation of the whole tree is the sum of those of its parts, one for each decision point and
    memory state, and at most the sum of their positive parts. The weights follow from b at the
    decision points before j, which are played in the same iteration.

    With ``RegretMatching`` it is the paper's EFR. Any minimizer with a regret bound on each simplex
    will do. It plays over all weights of a decision point together, as one equation determines the
    fixed point there.

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
    A predicted utility is evaluated at the last strategy in place of the coming one, which depends
    on all decision points.
    """

    tree: DecisionTree | Simplices
    deviations: Deviations = field(default=DEVIATION_TYPES["csps"], converter=_deviations)
    local: LocalRule = RegretMatching
    rule: RegretMinimizer = field(init=False, repr=False)
    _layout: "_Layout" = field(init=False, repr=False)
    _last: Vector = field(init=False, repr=False, on_setattr=NO_OP)
    """The last behavioral strategy that was played."""
    _behavior: Vector = field(init=False, repr=False, on_setattr=NO_OP)
    _weights: Vector = field(init=False, repr=False, on_setattr=NO_OP)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.tree, Simplices):
            check_kind(self.tree, DecisionTree, "tree", "game.domains[0]")
        self.domain = self.tree
        self._layout = _Layout(self.tree, self.deviations)
        self.rule = local_minimizer(self.local, self._layout.simplices)
        if reason := no_bound_by_block(self.rule):
            warn(f"EFR has no regret bound here: {reason}")
        self._last = self._layout.tree.simplices.uniform()
        self._behavior, self._weights = self._layout.local.play(self.rule.next_strategy())

    @property
    def no_guarantee(self) -> str:
        if self._layout.constant is None:
            return "its deviations do not contain the constant ones"
        return no_bound_by_block(self.rule)

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        inner, constant = tracker_of(self.rule), self._layout.constant
        earned = self._layout.simplices.sum(inner.earned_by_action)
        name = "earned by the deviations at each decision point = 0"
        fixed = RegretBound(name, float(np.abs(earned).sum()), 0.0, exact=True)
        if constant is None:
            return fixed
        bound = float(np.maximum(inner.utilities[constant], 0.0).sum())
        statement = "R <= sum over decision points and deviations of their positive R"
        regret = tracker_of(self).external
        return RegretBound(statement, regret, bound, exact=False, also=(fixed,))

    def _propose(self) -> Vector:
        self._behavior, self._weights = self._layout.local.play(self.rule.next_strategy())
        flat = isinstance(self.tree, Simplices)
        return self._behavior.copy() if flat else self._layout.tree.sequence_form(self._behavior)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        values = self._layout.values(utility, self._behavior)
        self._last = self._behavior
        self.rule.observe_utility(self._layout.local.gains(values, self._behavior, self._weights))

    def _expect(self, prediction: Vector) -> None:
        values = self._layout.values(prediction, self._last)
        weights = self._layout.local.weights(self._last)
        self.rule.expect_utility(self._layout.local.gains(values, self._last, weights))


# The deviations of all decision points


class _Layout:
    """Deviations at all decision points of a tree with two actions or more."""

    simplices: Simplices
    """A block for each of these decision points, a coordinate for each deviation."""
    local: LocalDeviations
    """Them, in the order of these coordinates."""
    constant: Indices | None
    """The deviations that constant ones are made of, None where there are not enough."""

    def __init__(self, domain: DecisionTree | Simplices, deviations: Deviations) -> None:
        self._padded = isinstance(domain, Simplices)
        if isinstance(domain, Simplices):
            names = domain.labels.select(np.arange(domain.blocks))
            domain = DecisionTree(np.zeros(domain.blocks, np.int64), domain.sizes, **names)
        self.tree, sizes, first = domain, domain.sizes, domain.simplices.first
        memory = _remember(domain, deviations.memory)

        # Of each deviation: its decision point, its weight, and which action it replaces by which
        local, after = deviations.local, deviations.after or deviations.local
        internal = np.where(memory.is_followed, local == "internal", after == "internal")
        count = sizes[memory.point] * np.where(internal, sizes[memory.point] - 1, 1)
        point, weight = np.repeat(memory.point, count), np.repeat(memory.weight, count)
        internal = np.repeat(internal, count)
        number, size = expand_ranges(np.zeros_like(count), count), sizes[point]
        source = np.where(internal, number // (size - 1), -1)
        target = np.where(internal, number % (size - 1), number)
        target += internal & (target >= source)
        source = np.where(internal, first[point] + source, -1)
        self.local = LocalDeviations(
            domain, weight, source, first[point] + target, memory.parent, memory.factor
        )

        choices = np.flatnonzero(sizes > 1)
        labels = domain.simplices.labels.select(choices)["labels"]
        blocks = np.bincount(point, minlength=domain.points)[choices]
        called = LazySequence(blocks.size, self._names)
        self.simplices = Simplices(blocks, labels=labels, actions=called)
        constant = np.flatnonzero((weight == 0) | (deviations.memory == "behavioral"))
        covered = np.unique(point[constant]).size == choices.size
        self.constant = constant if covered else None

    def _names(self, block: int) -> tuple[str, ...]:
        """Return the names of the deviations at a decision point."""
        return tuple(map(self._name, self.simplices.coordinates(block).tolist()))

    def _name(self, deviation: int) -> str:
        """Return the name of a deviation, as in ``bet -> pass after bet at 0``."""
        local, names_of, told = self.local, self.tree.simplices.names_of, []
        weight, source = int(local.weight[deviation]), int(local.source[deviation])
        while weight:
            point, action = names_of(local.factor[weight])
            told.append(f"{action} at {point}")
            weight = int(local.parent[weight])
        changed = f"{names_of(source)[1]} " if source >= 0 else ""
        continuation = f" after {', '.join(reversed(told))}" if told else ""
        return f"{changed}-> {names_of(local.target[deviation])[1]}{continuation}"

    def values(self, utility: Vector, behavior: Vector) -> Vector:
        """Return the counterfactual utilities of all actions."""
        if self._padded:
            return utility
        return self.tree.counterfactual(utility, behavior)[1]


@frozen(eq=False)
class _Memory:
    """The weights of a tree, each the product of another one and the probability of an action.

    The first is 1. Pairs are those of a decision point of two or more actions and a weight there.
    """

    point: Indices
    """The decision point of each pair."""
    weight: Indices
    """The weight of each pair."""
    is_followed: NDArray[np.bool_]
    """Whether the weight of each pair is that of following all recommendations."""
    parent: Indices
    """For each weight, the weight in the product."""
    factor: Indices
    """For each weight, the action in the product, -1 for the first."""


def _remember(tree: DecisionTree, memory: Memory) -> _Memory:
    """Return the weights of a type of memory."""
    parent, factor = [0], [-1]

    def after(actions: range, weights: list[int], followed: int) -> list[tuple[list[int], int]]:
        """Return the weights after each action, and that of having followed, from those before."""
        if len(actions) == 1 or memory == "counterfactual":
            return [(weights, followed)] * len(actions)
        base = weights if memory == "behavioral" else [followed]
        new = range(len(parent), len(parent) + len(base) * len(actions))
        if new.stop > _MAX_WEIGHTS:
            raise ValueError(
                f"behavioral deviations have over {_MAX_WEIGHTS:,} weights in {quote(tree)}; pass "
                "others, such as deviations='csps'"
            )
        parent.extend(np.repeat(base, len(actions)).tolist())
        factor.extend([*actions] * len(base))
        last = new[base.index(followed) * len(actions) :][: len(actions)]
        if memory == "action":
            return [([now], now) for now in last]
        if memory == "partial_sequence":
            return [([*weights, now], now) for now in last]
        remembered = [*new] if memory == "behavioral" else [*weights, *new]
        return [(remembered, now) for now in last]

    sizes, owner = tree.sizes.tolist(), tree.point_of_sequence.tolist()
    parents, first = tree.parent_sequence.tolist(), tree.simplices.first.tolist()
    leads_on = [*(size > 1 for size in sizes), True]  # to a choice; the last is the empty sequence
    for point in range(len(sizes) - 1, -1, -1):
        leads_on[owner[parents[point]]] |= leads_on[point]
    states = {0: ([0], 0)}
    for point, (sequence, begin) in enumerate(zip(parents, first, strict=True)):
        if leads_on[point]:
            actions = range(begin, begin + sizes[point])
            following = after(actions, *states[sequence])
            states |= zip(range(begin + 1, actions.stop + 1), following, strict=True)
    choices = np.flatnonzero(tree.sizes > 1)
    before = [states[parents[point]] for point in choices]
    count = [len(weights) for weights, _ in before]
    weight = np.fromiter((w for weights, _ in before for w in weights), np.int64)
    followed = np.repeat(np.array([last for _, last in before], dtype=np.int64), count)
    products = np.array(parent), np.array(factor)
    return _Memory(np.repeat(choices, count), weight, weight == followed, *products)
