"""CFR, and local rules for it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen, validators

from regretkit._regret_tracker import RegretBound
from regretkit._state import NOT_STATE, StateDict, parts
from regretkit._util._arrays import segment_sum
from regretkit._util._errors import warn
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind, of_kind, quote, whole_numbers
from regretkit.circuits._base import (
    Circuit,
    LocalRule,
    SingleMinimizerCircuit,
    local_minimizer,
    no_bound_by_block,
)
from regretkit.circuits._operations import ConvexHull, MinkowskiSum, Product
from regretkit.minimizer import RegretMinimizer, TrackerOf
from regretkit.minimizers import Point, RegretMatching, SimplexRule
from regretkit.sets import DecisionDAG, DecisionTree, Simplices, SimplicesLike, as_simplices
from regretkit.trace import UntraceableError, find_kernel


@define(eq=False)
class CFR(Circuit):
    """Counterfactual regret minimization on the sequence-form strategies of a decision tree.

    At every decision point j, a local minimizer plays a distribution b_j and observes the
    counterfactual utilities q of its actions:

        x[a]  =  b_j[a] x[parent of j]
        q[a]  =  u[a] + sum of <b_k, q_k> over the decision points k after a

    The regret is at most the sum of the local minimizers' positive regrets. ``circuit`` builds an
    equal circuit from convex hulls and Minkowski sums.

    On a ``DecisionDAG``, the inflow x[parent of j] is the sum over all parents of j. With r_j the
    positive regret at j,

        R  <=  max over y of  sum of (inflow of j in y) r_j  <=  sum of (largest inflow of j) r_j

    Parameters
    ----------
    tree
        The player's ``DecisionTree`` or ``DecisionDAG``.
    local
        A function of the tree's ``simplices`` that returns one minimizer for all decision points: a
        rule's class, a ``PerDecisionPoint`` or a ``ByDecisionPoint``.

    Attributes
    ----------
    rule
        The result of ``local``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> tree = DecisionTree([0, 2], [2, 2], labels=["first", "second"])
    >>> player = CFR(tree, RegretMatching)
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])
    >>> player["second"].strategy
    array([1., 0.])

    References
    ----------
    Zinkevich, Johanson, Bowling and Piccione (2007), "Regret minimization in games with
    incomplete information", NIPS. Farina, Kroer and Sandholm (2019), "Regret circuits:
    composability of regret minimizers", ICML, PMLR 97.
    """

    tree: DecisionDAG = field(validator=of_kind(DecisionDAG, "game.domains[0]"))
    local: LocalRule
    rule: RegretMinimizer = field(init=False, repr=False)
    _utilities: Vector | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        self.domain = self.tree
        self.rule = local_minimizer(self.local, self.tree.simplices)
        if reason := self.no_guarantee:
            warn(f"CFR has no regret bound here: {reason}")

    def __getitem__(self, label: str | int) -> "DecisionPoint":
        """Return a view of one decision point, by its label or its number."""
        number = self.tree.simplices.labels.find(label)
        block = self.tree.simplices.block(number)
        return DecisionPoint(
            label=self.tree.simplices.labels.block(number),
            actions=self.tree.simplices.labels.actions(number),
            strategy=self.rule.next_strategy()[block],
            utilities=None if self._utilities is None else self._utilities[block],
            state=_state_at(self.rule, number),
        )

    @property
    def no_guarantee(self) -> str:
        return no_bound_by_block(self.rule)

    def _regret_bound(self, tracker_of: TrackerOf) -> RegretBound:
        positive = np.maximum(tracker_of(self.rule).blocks, 0.0)
        statement, bound = "R <= sum over decision points of their positive R", positive.sum()
        if not isinstance(self.tree, DecisionTree):
            statement = "R <= largest sum over decision points of inflow times positive R"
            by_parent = np.repeat(positive, self.tree.parent_counts)
            weights = segment_sum(self.tree.parent_sequences, by_parent, self.tree.dimension)
            bound = self.tree.best_response(weights)[0]
        return RegretBound(statement, tracker_of(self).external, float(bound), exact=False)

    def _propose(self) -> Vector:
        return self.tree.sequence_form(self.rule.next_strategy())

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        _, self._utilities = self.tree.counterfactual(utility, self.rule.next_strategy())
        self._utilities.setflags(write=False)
        self.rule.observe_utility(self._utilities)

    def _expect(self, prediction: Vector) -> None:
        # The prediction at a decision point depends on the next strategies below it, which depend
        # on their predictions. Each pass makes one more level final, from the bottom.
        for _ in range(self.tree.depth):
            _, expected = self.tree.counterfactual(prediction, self.rule.next_strategy())
            self.rule.expect_utility(expected)

    def _value(self, utility: Vector) -> float:
        return self.tree.counterfactual(utility, self.rule.next_strategy())[0]

    def _restored(self) -> None:
        super()._restored()
        self._utilities = None


def _state_at(rule: RegretMinimizer, number: int) -> StateDict:
    """Return the state of a local minimizer at one of its decision points."""
    if isinstance(rule, Product):
        for part, blocks in zip(rule.parts, rule._layout.blocks, strict=True):
            if (place := np.flatnonzero(blocks == number)).size:
                return _state_at(part, int(place[0]))
    if not isinstance(rule, SimplexRule):
        return rule.state_dict()
    state: StateDict = {}
    for name, array in rule._learned().items():
        by_action = array.size == rule.dimension
        state[name] = array[rule.simplices.block(number)].copy() if by_action else array[number]
    return state


@frozen(eq=False)
class DecisionPoint:
    """The strategy and state of a ``CFR`` at one decision point.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = CFR(DecisionTree([0], [2], actions=[["fold", "call"]]), RegretMatching)
    >>> player[0].actions
    ('fold', 'call')
    """

    label: str
    """Name of the decision point, or its number if it has no name."""
    actions: tuple[str, ...]
    """Names of the actions."""
    strategy: Vector
    """The next distribution over the actions."""
    utilities: Vector | None
    """The last counterfactual utilities; None before the first, and after a restored state."""
    state: StateDict
    """The rule's arrays at the decision point; of a circuit, the state of all that it plays."""


def circuit(tree: DecisionTree, local: LocalRule) -> RegretMinimizer:
    """Build CFR as a circuit with one object for each decision point.

    With e_s the unit vector of sequence s,

        after(s)  =  {e_s}  +  sum of at(j) over the decision points j whose parent is s
        at(j)     =  hull of after(a) over the actions a of j, mixed by the local minimizer

    It plays the same strategies as ``CFR(tree, local)``, much more slowly. It serves as the
    definition of ``CFR``.

    Parameters
    ----------
    tree
        The player's decision tree.
    local
        A function of the simplex of one decision point that returns a minimizer on it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = circuit(DecisionTree([0, 2], [2, 2]), RegretMatching)
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """
    check_kind(tree, DecisionTree, "tree", "game.domains[0]")
    # Resolve the names in ByDecisionPoint on the whole tree: one simplex alone has other numbers.
    rules = local.chosen(tree.simplices) if isinstance(local, ByDecisionPoint) else None
    after: list[list[RegretMinimizer]] = [[Point(unit)] for unit in np.eye(tree.dimension)]

    def total(summands: list[RegretMinimizer]) -> RegretMinimizer:
        return MinkowskiSum(summands) if len(summands) > 1 else summands[0]

    for point in reversed(range(tree.points)):
        first, size = int(tree.first_sequence[point]), int(tree.sizes[point])
        members = [*map(total, after[first : first + size])]
        mixing = local_minimizer(rules[point] if rules else local, tree.simplices.select([point]))
        at = members[0] if size == 1 else ConvexHull(members, mixing)
        after[tree.parent_sequence[point]].insert(1, at)
    return total(after[0])


# Local rules


@frozen
class PerDecisionPoint:
    """A local rule with an independent minimizer at each decision point.

    If possible, one minimizer plays all decision points, which is much faster. The conditions are:
    ``make`` also supports ``Simplices``; the rule can be traced, or is a circuit of such rules that
    treats blocks separately; and the parameters do not depend on the number of actions. Otherwise
    the result is a ``Product`` of one minimizer for each decision point.

    Parameters
    ----------
    make
        A function of a number of actions that returns a new minimizer on that simplex.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching, RegretMatchingPlus
    >>> from regretkit.circuits import ConvexHull
    >>> from regretkit.sets import DecisionTree
    >>> def hull(actions):
    ...     members = [RegretMatching(actions), RegretMatchingPlus(actions)]
    ...     return ConvexHull(members, RegretMatching)
    >>> tree = DecisionTree([0, 2], [2, 3])
    >>> CFR(tree, PerDecisionPoint(hull)).rule.mixing
    RegretMatching(simplices=Simplices([2] * 2))
    """

    make: Callable[[int], RegretMinimizer] = field(validator=validators.is_callable())

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return a minimizer on all blocks."""
        if not simplices.blocks:
            return RegretMatching(simplices)  # of dimension 0
        if (rule := self._at_once(simplices)) is not None:
            return rule
        alone = [Simplices(n) for n in simplices.sizes.tolist()]
        made = [local_minimizer(lambda s: self.make(s.dimension), s, "make") for s in alone]
        return Product(made)

    def _at_once(self, simplices: Simplices) -> RegretMinimizer | None:
        """Return one minimizer for all blocks, None if it may differ from a product."""
        make: Callable[[Any], RegretMinimizer] = self.make
        try:
            rule = make(simplices)
            if rule.domain != simplices or not _plays_by_block(rule):
                return None
            # Parameters such as a rate may depend on the number of actions.
            sizes = {*simplices.sizes.tolist()}
            equal = all(_shown(make(n)) == _shown(rule.on_domain(Simplices(n))) for n in sizes)
        except Exception:  # make supports only numbers, and may raise any error
            return None
        return rule if equal else None


def _shown(rule: RegretMinimizer | None) -> str:
    """Return the text of a minimizer and its state, for comparisons."""
    return "" if rule is None else f"{rule!r} {rule.state_dict()!r}"


def _plays_by_block(rule: RegretMinimizer) -> bool:
    """Return whether a minimizer provably plays each block as if it were the only one."""
    try:
        find_kernel(rule)  # a kernel runs on one block at a time
    except UntraceableError:
        inner = [part for _, part in parts(rule) if isinstance(part, RegretMinimizer)]
        return isinstance(rule, Circuit) and bool(inner) and all(map(_plays_by_block, inner))
    return True


@frozen
class ByDecisionPoint:
    """A local rule with different rules at different decision points.

    Decision points with the same rule share one minimizer.

    Parameters
    ----------
    rules
        Local rules by the label of a decision point, or by its number.
    otherwise
        The local rule of all other decision points, required if ``rules`` omits some.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching, RegretMatchingPlus
    >>> from regretkit.sets import DecisionTree
    >>> tree = DecisionTree([0, 2], [2, 3], labels=["first", "second"])
    >>> local = ByDecisionPoint({"second": RegretMatching}, otherwise=RegretMatchingPlus)
    >>> CFR(tree, local).rule.parts
    (RegretMatchingPlus(simplices=Simplices(2)), RegretMatching(simplices=Simplices(3)))
    """

    rules: Mapping[str | int, LocalRule]
    otherwise: LocalRule | None = field(default=None, kw_only=True)

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return the product of a minimizer for each rule."""
        if not simplices.blocks:
            return RegretMatching(simplices)  # of dimension 0
        chosen = self.chosen(simplices)
        blocks: dict[int, list[int]] = {}
        for number, rule in enumerate(chosen):
            blocks.setdefault(id(rule), []).append(number)
        made = [local_minimizer(chosen[own[0]], simplices.select(own)) for own in blocks.values()]
        coordinates = [*map(simplices.coordinates, blocks.values())]
        return made[0] if len(made) == 1 else Product(made, coordinates)

    def chosen(self, simplices: Simplices) -> list[LocalRule]:
        """Return the rule of each decision point."""
        named = {simplices.labels.find(key): rule for key, rule in self.rules.items()}
        if len(named) < len(self.rules):
            raise ValueError(f"rules name a decision point twice: {quote([*self.rules])}")
        missing = [n for n in range(simplices.blocks) if n not in named]
        if missing and self.otherwise is None:
            names = quote([*map(simplices.labels.block, missing)])
            raise ValueError(f"rules must name decision points {names}; or pass otherwise")
        return [named.get(n, self.otherwise) for n in range(simplices.blocks)]  # type: ignore[misc]


@define(eq=False, init=False)
class SharedStrategy(SingleMinimizerCircuit):
    """Play the same distribution at all decision points of a group.

    With y the minimizer's strategy, one distribution for each group, and k(j) the group of block j,

        x_j  =  y_k(j),    utility of the minimizer at k  =  sum of u_j over the blocks j of group k

    Parameters
    ----------
    simplices
        A sequence with one number of actions for each block, or ``Simplices``.
    local
        A function of simplices, one for each group, that returns a minimizer on them.
    groups
        The number of each block's group, shape ``(blocks,)``.

    Attributes
    ----------
    minimizer
        The result of ``local``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = SharedStrategy([2, 2], RegretMatching, groups=[0, 0])
    >>> player.observe_utility([3.0, 0.0, 0.0, 1.0])
    >>> player.next_strategy()
    array([1., 0., 1., 0.])

    As a local rule of CFR:

    >>> from functools import partial
    >>> from regretkit import CFR, DecisionTree
    >>> shared = partial(SharedStrategy, local=RegretMatching, groups=[0, 0])
    >>> CFR(DecisionTree([0, 2], [2, 2]), shared).rule.minimizer
    RegretMatching(simplices=Simplices(2))

    Notes
    -----
    The regret against strategies that are constant on each group equals the minimizer's regret.
    """

    groups: Indices = field(init=False)
    _place: Indices = field(init=False, repr=False, metadata=NOT_STATE)
    """The minimizer's coordinate for each coordinate of the circuit."""

    def __init__(self, simplices: SimplicesLike, local: LocalRule, groups: Iterable[int]) -> None:
        simplices, self.groups = as_simplices(simplices), whole_numbers(groups, "groups")
        if self.groups.size != simplices.blocks:
            raise ValueError(
                f"groups must have one number for each of the {simplices.blocks} decision points, "
                f"got {self.groups.size}"
            )
        _, first, group_of = np.unique(self.groups, return_index=True, return_inverse=True)
        shared = simplices.select(first)
        if (shared.sizes[group_of] != simplices.sizes).any():
            raise ValueError("groups must not mix decision points of different numbers of actions")
        super().__init__(local_minimizer(local, shared))
        self.domain, self._place = simplices, shared.coordinates(group_of)

    @property
    def no_guarantee(self) -> str:
        return "its comparators are constant on each group"

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        return None

    def _transform(self, strategy: Vector) -> Vector:
        return strategy[self._place]

    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(self._inner(utility))

    def _inner(self, utility: Vector) -> Vector:
        return segment_sum(self._place, utility, self.minimizer.dimension)
