"""Where a public game's types decide: contexts of chance, and the sequences of every type."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games.public._deal import Deal
from regretkit.games.public._tree import Chance, Outcome, PublicTree
from regretkit.games.tree._history import CHANCE
from regretkit.sets import DecisionTree
from regretkit.sets._labels import LazySequence

Matrix: TypeAlias = NDArray[np.float64]

_TOLERANCE = 1e-9
"""Distance from 1 that the probabilities of chance may have, for any type."""


@final
class Context(NamedTuple):
    """What chance's public outcomes so far make of the deal."""

    probability: float
    """The part of their probability that does not depend on types, divided by Z."""
    priors: tuple[Vector, Vector]
    """The weight of each type times the factors of the outcomes; 0 for those that are dead."""
    alive: tuple[Indices, Indices]
    """The types that can still meet one of the opponent's."""


@final
@define(eq=False)
class Layout:
    """The contexts of a public tree's nodes, and the sequences of every type at each node.

    The last decision of a player before a node is a decision node and an action there, and
    numbered: number 0 is none. All types share this number, and each has its own sequence.
    """

    tree: PublicTree
    deal: Deal
    contexts: list[Context] = field(init=False)
    context: Indices = field(init=False)
    """The context of each node."""
    priors: tuple[Matrix, Matrix] = field(init=False)
    """The weight of each type in each context, shape ``(contexts, types)``,"""
    places: tuple[Indices, Indices] = field(init=False)
    """and where it stands among those that are alive there, -1 for others."""
    ends: Indices = field(init=False)
    """Where what follows each node ends: a node's are those from itself on, up to this one."""
    last: Indices = field(init=False)
    """The number of each player's last decision before each node, shape ``(2, nodes)``."""
    decisions: tuple[Indices, Indices] = field(init=False)
    """The decision nodes of each player, by how many of its own are before them, then in order."""
    first_point: tuple[Indices, Indices] = field(init=False)
    """For each of them the number of its first decision point, and last the number of all."""
    steps: tuple[Indices, Indices] = field(init=False)
    """For each last decision the sequence of the first type alive, the distance to the next one's,
    and the context there; zeros if none; shape ``(numbers, 3)``."""
    domains: tuple[DecisionTree, DecisionTree] = field(init=False)

    def __attrs_post_init__(self) -> None:
        tree = self.tree
        self.contexts, self.context = _contexts(tree, self.deal)
        self.priors = self._by_context([context.priors for context in self.contexts])
        self.places = self._by_context([tuple(map(_places, c.priors)) for c in self.contexts])
        actions = np.array([len(names) for names in tree.names])
        # The number of the last decision after action a of a node is firsts[node] + a.
        firsts = np.zeros_like(actions)
        for player in (0, 1):
            nodes = tree.player == player
            firsts[nodes] = 1 + np.cumsum(actions[nodes]) - actions[nodes]
        self.ends = np.arange(1, tree.player.size + 1)
        for node in range(tree.player.size - 1, 0, -1):
            before = tree.parent[node]
            self.ends[before] = max(self.ends[before], self.ends[node])
        self.last, depth = np.zeros((2, 2, tree.player.size), dtype=np.int64)
        edges = zip(tree.parent[1:].tolist(), tree.action[1:].tolist(), strict=True)
        for node, (before, action) in enumerate(edges, 1):
            self.last[:, node], depth[:, node] = self.last[:, before], depth[:, before]
            if (player := tree.player[before]) != CHANCE:
                self.last[player, node] = firsts[before] + action
                depth[player, node] += 1
        # A domain's levels are then slices of its decision points.
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
        """Return a player's first decision points, and steps."""
        nodes = self.decisions[player]
        context, count = self.context[nodes], actions[nodes]
        alive = (self.places[player] >= 0).sum(axis=1)[context]
        steps = np.zeros((1 + count.sum(), 3), dtype=np.int64)
        begin = 1 + np.cumsum(alive * count) - alive * count
        values = expand_ranges(begin, count), np.repeat(count, count), np.repeat(context, count)
        steps[expand_ranges(firsts[nodes], count)] = np.stack(values, axis=1)
        return np.cumsum(np.append(0, alive)), steps

    def _domain(self, player: int, actions: Indices) -> DecisionTree:
        nodes, first_point = self.decisions[player], self.first_point[player]
        parents = np.zeros(first_point[-1], dtype=np.int64)
        for node, begin, end in zip(nodes, first_point[:-1], first_point[1:], strict=True):
            alive = self.contexts[self.context[node]].alive[player]
            parents[begin:end] = self.sequences(player, self.last[player, node])[alive]
        return DecisionTree(
            read_only(parents),
            read_only(np.repeat(actions[nodes], np.diff(first_point))),
            labels=LazySequence(parents.size, partial(self.label, player)),
            actions=LazySequence(parents.size, partial(self._actions, player)),
        )

    def sequences(self, player: int, numbers: Indices | int) -> Indices:
        """Return the sequence of each type after last decisions, 0 if none, a row for each."""
        first, step, context = np.moveaxis(self.steps[player][numbers], -1, 0)
        places = self.places[player][context]
        sequences = first[..., np.newaxis] + step[..., np.newaxis] * places
        found: Indices = np.where(places >= 0, sequences, 0)
        return found

    def _at(self, player: int, point: int) -> tuple[int, int]:
        """Return the node and the type of a decision point."""
        at = int(np.searchsorted(self.first_point[player], point, side="right")) - 1
        node = int(self.decisions[player][at])
        alive = self.contexts[self.context[node]].alive[player]
        return node, int(alive[point - self.first_point[player][at]])

    def label(self, player: int, point: int) -> str:
        """Return the name of a decision point: a type and the public actions."""
        node, number = self._at(player, point)
        return f"{self.deal.types[player][number]} /{'/'.join(self.tree.path(node))}"

    def _actions(self, player: int, point: int) -> tuple[str, ...]:
        return self.tree.names[self._at(player, point)[0]]


def _contexts(tree: PublicTree, deal: Deal) -> tuple[list[Context], Indices]:
    """Return the contexts that occur, and that of each node."""
    # By a power of two, which rounds nothing, so that sums of weights do not overflow
    first, second = (weights * 2.0 ** -np.ceil(np.log2(weights.sum())) for weights in deal.weights)
    total = float(first @ deal.meeting(0).sums(second[np.newaxis]).free[0])
    if not total > 0.0:
        raise ValueError("deal has no types that can meet; give some types other cards or weights")
    contexts = [_context(deal, 1 / total, (first, second))]
    context = np.zeros(tree.player.size, dtype=np.int64)
    # Outcomes of equal factors share a context, however many lines of play they follow.
    known: dict[tuple[int, object], int] = {}
    checked: set[tuple[int, object]] = set()
    for node, before in enumerate(tree.parent.tolist()):
        outcome = tree.outcome[node]
        if outcome is None:
            context[node] = context[before] if node else 0
            continue
        key = int(context[before]), _key(outcome)
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
                _check_sum(deal, contexts[key[0]], outcomes, tree.path(at))
    return contexts, context


def _key(outcome: Outcome) -> tuple[object, ...]:
    factors = (None if factor is None else factor.tobytes() for factor in outcome.factors)
    return outcome.probability, *factors


def _context(deal: Deal, probability: float, priors: tuple[Vector, Vector]) -> Context:
    def alive(player: int) -> NDArray[np.bool_]:
        met = deal.meeting(player).sums(priors[1 - player][np.newaxis]).free[0]
        living: NDArray[np.bool_] = (priors[player] * probability > 0.0) & (met > 0.0)
        return living

    first, second = alive(0), alive(1)
    return Context(
        probability,
        (np.where(first, priors[0], 0.0), np.where(second, priors[1], 0.0)),
        (np.flatnonzero(first), np.flatnonzero(second)),
    )


def _places(prior: Vector) -> Indices:
    alive = prior > 0.0
    places: Indices = np.where(alive, np.cumsum(alive) - 1, -1)
    return places


def _following(
    deal: Deal, before: Context, outcome: Outcome, tree: PublicTree, node: int
) -> Context:
    priors = []
    for player, factors in enumerate(outcome.factors):
        prior = before.priors[player]
        if factors is not None and factors.shape != prior.shape:
            raise ValueError(
                f"factors[{player}] of outcome {quote('/' + '/'.join(tree.path(node)))} has shape "
                f"{factors.shape}, but player {player} has {prior.size} types; pass one for each"
            )
        priors.append(prior if factors is None else prior * factors)
    return _context(deal, before.probability * outcome.probability, (priors[0], priors[1]))


def _check_sum(
    deal: Deal, context: Context, outcomes: Sequence[Outcome], path: tuple[str, ...]
) -> None:
    """Raise a ValueError unless probabilities sum to 1 for all types that can meet.

    A sum over the opponent's types with random weights is right only if all its terms are.
    """
    weights = context.priors[1] * np.random.default_rng(1).uniform(1, 2, deal.sizes[1])
    meeting = deal.meeting(0)
    wanted = meeting.sums(weights[np.newaxis]).free[0]
    found = np.zeros_like(wanted)
    for outcome in outcomes:
        first, second = (1.0 if factors is None else factors for factors in outcome.factors)
        met = meeting.sums((weights * second)[np.newaxis]).free[0]
        found += outcome.probability * first * met
    alive = context.alive[0]
    wrong = alive[np.abs(found[alive] / wanted[alive] - 1.0) > _TOLERANCE]
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"the probabilities of chance at {quote('/' + '/'.join(path))} sum to about "
            f"{found[i] / wanted[i]:.6g} for type {quote(deal.types[0][i])} of player 0, not to 1; "
            "correct probability or factors"
        )
