"""Layout of a public game: contexts of chance, and the sequences of every type."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games.public._deal import Deal
from regretkit.games.public._tree import (
    Chance,
    Compare,
    Outcome,
    PublicTree,
    Table,
)
from regretkit.games.tree._history import CHANCE
from regretkit.sets import DecisionTree
from regretkit.sets._labels import LazySequence

Matrix: TypeAlias = NDArray[np.float64]

_TOLERANCE = 1e-9
"""Largest distance from 1 of the sum of chance's probabilities, for any type."""


class Context(NamedTuple):
    """The deal, conditional on chance's public outcomes so far."""

    probability: float
    """The product of ``Outcome.probability`` over the outcomes, divided by Z of the deal."""
    priors: tuple[Vector, Vector]
    """The weight of each type times the factors of the outcomes, 0 for impossible types."""
    alive: tuple[Indices, Indices]
    """The possible types: of positive weight, with a compatible type of the opponent."""
    symmetries: tuple[int, ...]
    """The numbers of the deal's symmetries that preserve the outcomes."""
    first: tuple[Indices, Indices]
    """The first type of each class. Symmetries exchange the possible types of a class."""
    places: tuple[Indices, Indices]
    """The class of each type, -1 for impossible types."""

    def mean(self, player: int, values: Vector) -> Vector:
        """Replace each type's value by the mean over its class."""
        if self.first[player].size == self.alive[player].size:
            return values
        places, mean = self.places[player][self.alive[player]], np.zeros_like(values)
        sums = np.bincount(places, values[self.alive[player]]) / np.bincount(places)
        mean[self.alive[player]] = sums[places]
        return mean


@define(eq=False)
class Layout:
    """The contexts of a public tree's nodes, and the sequences of every type at each node.

    A player's *last decision* before a node is a pair of a decision node and an action. These pairs
    are numbered from 1; 0 means none. A last decision and a class of types determine a sequence.
    """

    tree: PublicTree
    deal: Deal
    contexts: list[Context] = field(init=False)
    context: Indices = field(init=False)
    """The context of each node."""
    dealt: tuple[list[Context], Indices] = field(init=False)
    """``contexts`` and ``context`` of the tree without locks."""
    priors: tuple[Matrix, Matrix] = field(init=False)
    """The weight of each type in each context, shape ``(contexts, types)``."""
    places: tuple[Indices, Indices] = field(init=False)
    """The class of each type in each context, -1 for impossible types."""
    ends: Indices = field(init=False)
    """The end of each node's subtree: node i has the subtree ``range(i, ends[i])``."""
    last: Indices = field(init=False)
    """The number of each player's last decision before each node, shape ``(2, nodes)``."""
    decisions: tuple[Indices, Indices] = field(init=False)
    """The decision nodes of each player, sorted by the number of own decisions before them."""
    first_point: tuple[Indices, Indices] = field(init=False)
    """The first decision point of each node in ``decisions``, and the total number at the end."""
    steps: tuple[Indices, Indices] = field(init=False)
    """For each last decision, the sequence of the first class, the distance between sequences of
    successive classes, and the context; zeros for none; shape ``(numbers, 3)``."""
    domains: tuple[DecisionTree, DecisionTree] = field(init=False)

    def __attrs_post_init__(self) -> None:
        tree = self.tree
        self.dealt = self.contexts, self.context = _contexts(tree, self.deal)
        if tree.unlocked is not None:
            self.dealt = _contexts(tree.unlocked, self.deal)
        self.priors = self._by_context([context.priors for context in self.contexts])
        self.places = self._by_context([context.places for context in self.contexts])
        actions = np.array([len(names) for names in tree.names])
        # The number of the last decision after action a of a node is firsts[node] + a.
        firsts = np.zeros_like(actions)
        for player in (0, 1):
            nodes = tree.player == player
            firsts[nodes] = 1 + np.cumsum(actions[nodes]) - actions[nodes]
        self.ends = np.arange(1, tree.player.size + 1)
        for node in range(tree.player.size - 1, 0, -1):
            parent = tree.parent[node]
            self.ends[parent] = max(self.ends[parent], self.ends[node])
        self.last, depth = np.zeros((2, 2, tree.player.size), dtype=np.int64)
        edges = zip(tree.parent[1:].tolist(), tree.action[1:].tolist(), strict=True)
        for node, (parent, action) in enumerate(edges, 1):
            self.last[:, node], depth[:, node] = self.last[:, parent], depth[:, parent]
            if (player := tree.player[parent]) != CHANCE:
                self.last[player, node] = firsts[parent] + action
                depth[player, node] += 1
        # Sorted by depth, the levels of a domain are slices of its decision points.
        decisions = [np.flatnonzero(tree.player == player) for player in (0, 1)]
        order = [np.argsort(depth[p, nodes], kind="stable") for p, nodes in enumerate(decisions)]
        self.decisions = decisions[0][order[0]], decisions[1][order[1]]
        begins = [self._begins(player, actions, firsts) for player in (0, 1)]
        self.first_point, self.steps = (begins[0][0], begins[1][0]), (begins[0][1], begins[1][1])
        self.domains = self._domain(0, actions), self._domain(1, actions)

    def _by_context(self, arrays: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
        first, second = zip(*arrays, strict=True)
        return np.array(first), np.array(second)

    def _begins(self, player: int, actions: Indices, firsts: Indices) -> tuple[Indices, Indices]:
        """Return ``first_point`` and ``steps`` of a player."""
        nodes = self.decisions[player]
        context, count = self.context[nodes], actions[nodes]
        alive = 1 + self.places[player].max(axis=1)[context]
        steps = np.zeros((1 + count.sum(), 3), dtype=np.int64)
        begin = 1 + np.cumsum(alive * count) - alive * count
        values = expand_ranges(begin, count), np.repeat(count, count), np.repeat(context, count)
        steps[expand_ranges(firsts[nodes], count)] = np.stack(values, axis=1)
        return np.cumsum(np.append(0, alive)), steps

    def _domain(self, player: int, actions: Indices) -> DecisionTree:
        nodes, first_point = self.decisions[player], self.first_point[player]
        parents = np.zeros(first_point[-1], dtype=np.int64)
        for node, begin, end in zip(nodes, first_point[:-1], first_point[1:], strict=True):
            types = self.contexts[self.context[node]].first[player]
            parents[begin:end] = self.sequences(player, self.last[player, node])[types]
        return DecisionTree(
            read_only(parents),
            read_only(np.repeat(actions[nodes], np.diff(first_point))),
            labels=LazySequence(parents.size, partial(self.label, player)),
            actions=LazySequence(parents.size, partial(self._actions, player)),
        )

    def sequences(self, player: int, numbers: Indices | int) -> Indices:
        """Return the sequence of each type after last decisions, ``(numbers, types)``, or 0."""
        first, step, context = np.moveaxis(self.steps[player][numbers], -1, 0)
        places = self.places[player][context]
        sequences = first[..., np.newaxis] + step[..., np.newaxis] * places
        found: Indices = np.where(places >= 0, sequences, 0)
        return found

    def first_types(self, player: int) -> Indices:
        """Return the first type of each type's class, ``(contexts, types)``, -1 if impossible."""
        rows = [
            np.append(context.first[player], -1)[context.places[player]]
            for context in self.contexts
        ]
        return np.array(rows)

    def _at(self, player: int, point: int) -> tuple[int, int]:
        """Return the node and the first type of a decision point."""
        at = int(np.searchsorted(self.first_point[player], point, side="right")) - 1
        node = int(self.decisions[player][at])
        types = self.contexts[self.context[node]].first[player]
        return node, int(types[point - self.first_point[player][at]])

    def label(self, player: int, point: int) -> str:
        """Return the label of a decision point: a type and the public actions."""
        node, number = self._at(player, point)
        return f"{self.deal.types[player][number]} /{'/'.join(self.tree.path(node))}"

    def _actions(self, player: int, point: int) -> tuple[str, ...]:
        return self.tree.names[self._at(player, point)[0]]


def _contexts(tree: PublicTree, deal: Deal) -> tuple[list[Context], Indices]:
    """Return the distinct contexts, and the context of each node."""
    # Scale weights by a power of two, without rounding, so that their sums cannot overflow.
    first, second = (weights * 2.0 ** -np.ceil(np.log2(weights.sum())) for weights in deal.weights)
    total = float(first @ deal.meeting(0).sums(second[np.newaxis]).free[0])
    if not total > 0.0:
        raise ValueError("deal has no compatible types of positive weight")
    every = tuple(range(len(deal.symmetries)))
    contexts = [_context(deal, 1 / total, (first, second), every)]
    context = np.zeros(tree.player.size, dtype=np.int64)
    # Equal outcomes share a context, even after different actions.
    known: dict[tuple[int, object], int] = {}
    checked: set[tuple[int, object]] = set()
    for node, parent in enumerate(tree.parent.tolist()):
        outcome = tree.outcome[node]
        if outcome is None:
            context[node] = context[parent] if node else 0
            continue
        key = int(context[parent]), _key(outcome)
        if key not in known:
            known[key] = len(contexts)
            contexts.append(_following(deal, contexts[key[0]], outcome, tree, node))
        context[node] = known[key]
    for at, chance in enumerate(tree.nodes):
        if isinstance(chance, Chance):
            outcomes = tuple(chance.outcomes.values())
            key = int(context[at]), tuple(map(_key, outcomes))
            if key not in checked:
                checked.add(key)
                _check_sum(deal, contexts[key[0]], outcomes, tree.place(at))
    _check_paid(tree, deal, contexts, context)
    return contexts, context


def _check_paid(tree: PublicTree, deal: Deal, contexts: Sequence[Context], at: Indices) -> None:
    """Raise a ValueError if a symmetry of a context changes payoffs."""
    checked = set[tuple[str | Table, int]]()
    for node in tree.terminals.tolist():
        terminal = tree.nodes[node]
        paid = terminal.order if isinstance(terminal, Compare) else terminal
        if not isinstance(paid, str | Table):
            continue
        for number in contexts[int(at[node])].symmetries:
            if (paid, number) not in checked and not _preserves_payoffs(deal, paid, number):
                raise ValueError(
                    f"symmetries[{number}] of the deal changes payoffs at {tree.place(node)}; omit "
                    "it, or pass symmetries of the outcome before"
                )
            checked.add((paid, number))


def _preserves_payoffs(deal: Deal, paid: str | Table, number: int) -> bool:
    """Return whether a symmetry preserves a table, or the strengths of this name."""
    first, second = deal.symmetries[number]
    if isinstance(paid, Table):
        table = paid.payoffs * deal.pairs()
        return np.array_equal(table[:, first[:, np.newaxis], second], table)
    one, other = deal.strengths[paid]
    return np.array_equal(one[first], one) and np.array_equal(other[second], other)


def _key(outcome: Outcome) -> tuple[object, ...]:
    factors = (None if factor is None else factor.tobytes() for factor in outcome.factors)
    return outcome.probability, *factors, *outcome.images.items(), outcome.symmetries


def _context(
    deal: Deal, probability: float, priors: tuple[Vector, Vector], symmetries: tuple[int, ...]
) -> Context:
    def of(player: int) -> tuple[Vector, Indices, Indices, Indices]:
        met = deal.meeting(player).sums(priors[1 - player][np.newaxis]).free[0]
        permutations = [deal.symmetries[number][player] for number in symmetries]
        minimum = np.min([np.arange(met.size), *permutations], axis=0)
        living = ((priors[player] * probability > 0.0) & (met > 0.0))[minimum]
        first, inverse = np.unique(minimum[living], return_inverse=True)
        places = np.full(met.size, -1)
        places[living] = inverse
        return np.where(living, priors[player], 0.0), np.flatnonzero(living), first, places

    (p, a, f, i), (q, b, g, j) = of(0), of(1)
    return Context(probability, (p, q), (a, b), symmetries, (f, g), (i, j))


def _following(
    deal: Deal, context: Context, outcome: Outcome, tree: PublicTree, node: int
) -> Context:
    priors = list[Vector]()
    for prior, factors in zip(context.priors, outcome.factors, strict=True):
        if factors is not None and factors.shape != prior.shape:
            raise ValueError(
                f"factors of outcome {tree.place(node)} must have shape {prior.shape}, got "
                f"{factors.shape}"
            )
        priors.append(prior if factors is None else prior * factors)
    fixed = tuple(i for i in context.symmetries if _fixes(deal, i, outcome.factors))
    kept = fixed if outcome.symmetries is None else outcome.symmetries
    known, images = context.symmetries, [*outcome.images.values()]
    if not ({*images} <= {*known} and {*kept} <= {*fixed} and deal.is_group(kept)):
        raise ValueError(
            f"symmetries and images of outcome {tree.place(node)} must be among symmetries "
            f"{quote(known)} of the deal, and symmetries a group that preserves factors, got "
            f"{quote(kept)} and {quote(outcome.images)}"
        )
    # Orbit-stabilizer theorem: |images and itself| |symmetries of the outcome| = |symmetries|
    if (1 + len(images)) * deal.order(kept) != deal.order(known):
        raise ValueError(
            f"images of outcome {tree.place(node)} must be all its images under symmetries "
            f"{quote(known)} of the deal, got {quote(outcome.images)}"
        )
    probability = context.probability * outcome.probability * (1 + len(outcome.images))
    return _context(deal, probability, (priors[0], priors[1]), kept)


def _fixes(deal: Deal, number: int, factors: tuple[Vector | None, Vector | None]) -> bool:
    pairs = zip(factors, deal.symmetries[number], strict=True)
    return all(f is None or np.array_equal(f[permutation], f) for f, permutation in pairs)


def _check_sum(deal: Deal, context: Context, outcomes: Sequence[Outcome], place: str) -> None:
    """Raise a ValueError unless probabilities sum to 1 for all compatible types.

    The check takes linear time: it sums over the opponent's types with random weights. If a term is
    wrong, the sum is wrong with probability 1.
    """
    weights = context.priors[1] * np.random.default_rng(1).uniform(1, 2, deal.sizes[1])
    meeting = deal.meeting(0)
    wanted = meeting.sums(weights[np.newaxis]).free[0]
    found = np.zeros_like(wanted)
    for outcome in outcomes:
        for image in (None, *outcome.images.values()):
            first, second = _factors(deal, outcome, image)
            met = meeting.sums((weights * second)[np.newaxis]).free[0]
            found += outcome.probability * first * met
    alive = context.alive[0]
    for i in alive[np.abs(found[alive] / wanted[alive] - 1.0) > _TOLERANCE].tolist():
        raise ValueError(
            f"the probabilities of chance at {place} must sum to 1 for each pair of types, got "
            f"about {found[i] / wanted[i]:.6g} for type {quote(deal.types[0][i])} of player 0"
        )


def _factors(deal: Deal, outcome: Outcome, image: int | None) -> tuple[Vector, Vector]:
    """Return the factors of an outcome, or of its image under a symmetry."""
    found = [
        np.ones(size) if f is None else f
        for size, f in zip(deal.sizes, outcome.factors, strict=True)
    ]
    if image is not None:
        found = [f[np.argsort(p)] for f, p in zip(found, deal.symmetries[image], strict=True)]
    return found[0], found[1]
