"""Games as graphs, in which histories with equal continuations are one node."""

import copy
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field

from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._extensive_form import TreeGame
from regretkit.games._game import Game, as_profile
from regretkit.games._profile import Profile
from regretkit.games.tree._build import CUT, Rows, built, checked_columns, paid_at, players_of
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL, History, path_text
from regretkit.games.tree._rules import Batch, Objects, Rules
from regretkit.sets import Simplices

_CACHE_SIZE = 1_024
"""Largest number of cached sampled parts."""


class Edges(NamedTuple):
    """Edges, ordered by source."""

    source: Indices
    child: Indices
    mover: Indices
    """The acting player, -1 for chance."""
    place: Indices
    """Index of the probability in the concatenated behaviors of all players and chance."""


@define(eq=False, repr=False, init=False)
class GraphGame(Game[Simplices]):
    """A game in which histories with equal continuations are one node of a graph.

    Continuations are equal if their information sets, actions, chance probabilities and payoffs
    are equal. In games of limited memory, such as Dudo in which players observe the last claims
    only, there are far fewer nodes than histories.

    A strategy is a behavior: a distribution for each information set. The utility of an action a
    of an information set I is counterfactual, as in the game's tree:

        w(n)  =  sum over paths to n of the product of chance's and the others' probabilities
        u(a)  =  sum over nodes n of I of w(n) V(child of n after a)

    with V the expected payoff. One forward pass computes w and one backward pass V, so the cost is
    linear in the number of edges, not of paths. ``SelfPlay`` on such a game is fixed-strategy
    iteration CFR (FSICFR). Under perfect recall this is CFR. Under imperfect recall no regret bound
    holds: evaluate the result by ``to_tree_profile`` and an exact best response, or by sampled
    play. Payoffs are not linear in behaviors, so this class has no best response.

    Attributes
    ----------
    player
        The acting player of each node, ``CHANCE`` or ``TERMINAL``, shape ``(nodes,)``.
    information_set
        Number of the acting player's information set, -1 without one, shape ``(nodes,)``.
    levels
        Number of nodes before each level, and in total, shape ``(levels + 1,)``. Node 0 is the
        root. The level of a node is the length of the longest path to it.
    edges
        The edges, ordered by source.
    payoffs
        Payoffs of the terminal nodes, 0 at others, shape ``(players, nodes)``.

    Examples
    --------
    >>> from regretkit import RegretMatching, SelfPlay
    >>> from regretkit.games import Dudo
    >>> from regretkit.play import Simultaneous
    >>> GraphGame.from_rules(Dudo(memory=1))
    <GraphGame: 873 nodes in 16 levels, 72 + 72 information sets>
    >>> GraphGame.from_rules(Dudo(sides=3))  # of 1,147 histories
    <GraphGame: 582 nodes in 10 levels, 96 + 96 information sets>
    >>> game = GraphGame.from_rules(Dudo(sides=3, memory=1))
    >>> players = [RegretMatching(simplices) for simplices in game.domains]
    >>> run = SelfPlay(game, players, order=Simultaneous()).run(300)
    >>> run.average[1, "3:2x3"].round(2)  # to claim two ones, or to doubt that there are two threes
    array([0., 1.])

    References
    ----------
    Neller and Hnath (2011), "Approximating optimal Dudo play with fixed-strategy iteration
    counterfactual regret minimization", Advances in Computer Games. Neller and Lanctot (2013), "An
    introduction to counterfactual regret minimization", section 5.
    """

    player: Indices
    information_set: Indices
    levels: Indices
    edges: Edges
    payoffs: Vector
    domains: tuple[Simplices, ...]
    name: str | None
    _probabilities: Vector
    """Zeros for the players, then chance's probabilities, then a 1 for sampled outcomes."""
    _firsts: Indices
    """Index of the first probability of each player, and of chance."""
    _passes: list[slice]
    """The edges from all nodes of each level."""
    _chance_levels: int
    """Number of levels up to the last one at which chance moves."""
    _parts: "dict[tuple[int, ...], GraphGame]" = field(factory=dict)
    """Cache of ``sample_chance``, by the sampled outcomes."""

    linear = False

    def __init__(self, tree: GameTree, node: Indices, name: str | None = None) -> None:
        """Merge the histories of a tree with equal ``node``, numbered from 0."""
        _, first, node = np.unique(node, return_index=True, return_inverse=True)
        begin = np.searchsorted(tree.parent, np.arange(tree.histories + 1))
        counts, start = np.diff(begin)[first], begin[:-1][first]
        order, levels = _topological(int(node[0]), counts, node[expand_ranges(start, counts)])
        first, counts, start = first[order], counts[order], start[order]
        edges = expand_ranges(start, counts)
        names = zip(tree.sizes, tree.labels, tree.actions, strict=True)
        self.domains = tuple(Simplices(n, labels=sets, actions=each) for n, sets, each in names)
        self.name, self._parts = name, {}
        self.player, self.information_set = tree.player[first], tree.information_set[first]
        source = np.repeat(np.arange(order.size), counts)
        mover = self.player[source]
        self._firsts = np.cumsum([0, *(simplices.dimension for simplices in self.domains)])
        index = np.empty(source.size, dtype=np.int64)
        for player, simplices in enumerate(self.domains):
            moves = np.flatnonzero(mover == player)
            sets = self.information_set[source[moves]]
            index[moves] = self._firsts[player] + simplices.first[sets] + tree.action[edges[moves]]
        chance = np.flatnonzero(mover == CHANCE)
        index[chance] = self._firsts[-1] + np.arange(chance.size)
        zeros, drawn = np.zeros(self._firsts[-1]), tree.probability[edges[chance]]
        self._probabilities = np.concatenate([zeros, drawn, [1.0]])
        ends, payoffs = self.player == TERMINAL, np.zeros((len(self.domains), order.size))
        payoffs[:, ends] = tree.payoffs[np.searchsorted(tree.terminals, first[ends])].T
        child = np.argsort(order)[node[edges]]
        self._arrange(Edges(source, child, mover, index), levels, payoffs)

    def _arrange(self, edges: Edges, levels: Indices, payoffs: Vector) -> None:
        self.edges, self.levels, self.payoffs = edges, levels, payoffs
        cuts = np.searchsorted(edges.source, levels).tolist()
        self._passes = [slice(start, stop) for start, stop in pairwise(cuts) if stop > start]
        by_chance = [bool((edges.mover[level] == CHANCE).any()) for level in self._passes]
        self._chance_levels = max(np.flatnonzero(by_chance).tolist(), default=-1) + 1

    @classmethod
    def from_rules(cls, rules: Rules, *, name: str | None = None) -> "GraphGame":
        """Build the graph of a game from its rules, merging histories with equal ``Rules.state``.

        A check compares two histories of each node, and their children. It cannot detect that
        ``state`` lacks a value if only later moves depend on this value.
        """
        return cls(*_distinct(rules), name)

    @classmethod
    def from_history(
        cls,
        root: History,
        state: Callable[[Any], Hashable] | None = None,
        *,
        name: str | None = None,
    ) -> "GraphGame":
        """Build the graph of a game from its empty history, as ``from_rules`` does.

        ``state`` maps a history to a key. Histories with equal keys must have equal continuations.
        By default it is the history's method ``state()``.
        """
        return cls(*_distinct(Objects(root, state)), name)

    @classmethod
    def from_tree(cls, tree: GameTree, *, name: str | None = None) -> "GraphGame":
        """Merge exactly the histories of a tree that have equal continuations.

        If all players observe and remember all actions, these are only terminals and subtrees
        without decisions.
        """
        if not isinstance(tree, GameTree):
            raise TypeError(f"tree must be a GameTree, got {quote(tree)}; pass game.tree")
        return cls(tree, _equal_continuations(tree), name)

    @property
    def nodes(self) -> int:
        """Number of nodes, including terminal ones."""
        return self.player.size

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.nodes

    @property
    def deals(self) -> bool:
        """Whether chance has a move."""
        return bool((self.player == CHANCE).any())

    def _outcomes(self) -> Vector:
        return self.payoffs[:, self.player == TERMINAL]

    def _drawn(self, strategies: Sequence[Vector]) -> Vector:
        """Return the probability of each edge."""
        probabilities = self._probabilities.copy()
        probabilities[: self._firsts[-1]] = np.concatenate(strategies)
        return probabilities[self.edges.place]

    def _reach(self, factors: Vector) -> Vector:
        """Return, for each node, the sum over all paths to it of the products of factors."""
        reach = np.zeros(self.nodes)
        reach[0] = 1.0
        # w(child) += factor * w(source): levels are topologically sorted, so w(source) is final.
        for edges in self._passes:
            source, child = self.edges.source[edges], self.edges.child[edges]
            np.add.at(reach, child, factors[edges] * reach[source])
        return reach

    def _values(self, payoff_of: int, drawn: Vector) -> Vector:
        """Return the expected payoff of a player at each node."""
        values: Vector = self.payoffs[payoff_of].copy()
        for edges in reversed(self._passes):
            terms = drawn[edges] * values[self.edges.child[edges]]
            np.add.at(values, self.edges.source[edges], terms)
        return values

    def _by_action(self, player: int, of_nodes: Vector, of_children: Vector | float) -> Vector:
        """Return, for each action, the sum over its edges of the product of both nodes' values."""
        moves = np.flatnonzero(self.edges.mover == player)
        terms = of_nodes[self.edges.source[moves]]
        if isinstance(of_children, np.ndarray):
            terms = terms * of_children[self.edges.child[moves]]
        action = self.edges.place[moves] - self._firsts[player]
        return segment_sum(action, terms, self.domains[player].dimension)

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        drawn = self._drawn(strategies)
        reach = self._reach(np.where(self.edges.mover == player, 1.0, drawn))
        return self._by_action(player, reach, self._values(payoff_of, drawn))

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        drawn = self._drawn(strategies)
        return np.array([self._values(player, drawn)[0] for player in range(self.players)])

    def realization(self, player: int, strategy: Vector) -> Vector:
        """Return the weight of each action in averages.

            w(a)  =  sum over paths to nodes of the information set of
                     (probability of the player's and chance's moves on the path) b(a)

        An average strategy is the sum of these weights, divided by their sum over the actions.
        """
        ones = [np.ones(simplices.dimension) for simplices in self.domains]
        ones[player] = strategy
        return self._by_action(player, self._reach(self._drawn(ones)), 1.0) * strategy

    def sample_chance(self, generator: np.random.Generator) -> "GraphGame":
        """Sample one outcome at each reachable chance node, and return the reachable part.

        Utilities on the part are unbiased estimates of those on the whole graph.
        """
        edges, reachable = self.edges, np.zeros(self.nodes, dtype=np.bool_)
        reachable[0] = True
        sampled, kept = list[int](), list[Indices]()
        for depth, level in enumerate(self._passes):
            # Below the last chance level the outcomes determine the part, which may be cached.
            if depth == self._chance_levels and tuple(sampled) in self._parts:
                break
            numbers = np.arange(level.start, level.stop)[reachable[edges.source[level]]]
            by_chance = edges.mover[numbers] == CHANCE
            outcomes = numbers[by_chance]
            drawn = _draw(edges.source[outcomes], self._chance(outcomes), generator)
            sampled += drawn.tolist()
            kept.append(np.sort(np.append(numbers[~by_chance], outcomes[drawn])))
            reachable[edges.child[kept[-1]]] = True
        key = tuple(sampled)
        if key not in self._parts:
            if len(self._parts) >= _CACHE_SIZE:
                self._parts.clear()
            self._parts[key] = self._part(np.flatnonzero(reachable), np.concatenate(kept))
        return self._parts[key]

    def _chance(self, edges: Indices) -> Vector:
        return self._probabilities[self.edges.place[edges]]

    def _part(self, nodes: Indices, edges: Indices) -> "GraphGame":
        """Return the graph of these nodes and edges, with probability 1 for chance's edges."""
        part = copy.copy(self)
        part.player, part.information_set = self.player[nodes], self.information_set[nodes]
        part._parts = {}
        source, child, mover, place = (column[edges] for column in self.edges)
        certain = self._probabilities.size - 1
        place = np.where(mover == CHANCE, certain, place)
        source, child = np.searchsorted(nodes, source), np.searchsorted(nodes, child)
        levels = np.searchsorted(nodes, self.levels)
        part._arrange(Edges(source, child, mover, place), levels, self.payoffs[:, nodes])
        return part

    def to_tree_profile(self, profile: Sequence[Vector], game: TreeGame[Any]) -> Profile:
        """Return these behaviors as a profile of the game's tree, for evaluation.

        Under imperfect recall, the result is a profile of ``game.refinement`` that is constant on
        each original information set.

        Parameters
        ----------
        profile
            A behavior for each player.
        game
            The same game with a tree. Its information sets must have the same labels.

        Examples
        --------
        >>> from regretkit.games import Dudo, GameTree, ImperfectRecallGame
        >>> rules = Dudo(sides=2, memory=1)
        >>> graph = GraphGame.from_rules(rules)
        >>> game = ImperfectRecallGame(GameTree.from_rules(rules))
        >>> uniform = [simplices.uniform() for simplices in graph.domains]
        >>> game.refinement.value(graph.to_tree_profile(uniform, game))
        array([ 0.125, -0.125])
        """
        target, behaviors = game.refinement, as_profile(profile, self.domains)
        coarse, strategies = game.coarse_information_set, list[Vector]()
        for player, (sets, domain) in enumerate(zip(self.domains, target.domains, strict=True)):
            numbers = _numbers_by_label(sets, game.tree.labels[player])
            numbers = numbers if coarse is None else numbers[coarse[player]]
            if not np.array_equal(sets.sizes[numbers], domain.sizes):
                raise ValueError(f"game and this graph have different actions for player {player}")
            strategies.append(domain.sequence_form(behaviors[player][sets.coordinates(numbers)]))
        return Profile(strategies, target.domains, target)

    def __repr__(self) -> str:
        sets = " + ".join(str(simplices.blocks) for simplices in self.domains)
        return (
            f"<{self.name or 'GraphGame'}: {self.nodes} nodes in {self.levels.size - 1} levels, "
            f"{sets} information sets>"
        )


class _States:
    """The states of the histories that the builder visits, in order.

    The builder continues two histories of each state, so that ``_distinct`` can compare them, and
    one terminal history.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules, self._nodes = rules, Rows()
        self._states: dict[int, Rows] = {}
        self._visits = np.empty(0, dtype=np.int64)
        self.nodes: list[Indices] = []
        """The node of each history, an array for each batch."""

    def acting(self, h: Batch) -> Indices:
        """Return the players of a batch, ``CUT`` at histories of a state that was visited."""
        player = players_of(self._rules, h)
        state = np.empty(player.size, dtype=np.int64)
        for actor in np.unique(player).tolist():
            members = np.flatnonzero(player == actor)
            part = h[members]
            if actor == TERMINAL:  # + 0.0 turns -0.0 into 0.0
                columns = list((paid_at(self._rules, part) + 0.0).view(np.int64).T)
            else:
                columns = checked_columns(self._rules.state(part), part.size, "state()")
            known = self._states.setdefault(actor, Rows())
            state[members] = known.number(columns, part.size)[0]
        node, new = self._nodes.number([player, state], player.size)
        self.nodes.append(node)
        self._visits = np.append(self._visits, np.zeros(new.size, dtype=np.int64))
        # Number of earlier histories of the same node
        order = np.argsort(node, kind="stable")
        before = np.empty(node.size, dtype=np.int64)
        before[order] = np.arange(node.size) - np.searchsorted(node[order], node[order])
        before += self._visits[node]
        np.add.at(self._visits, node, 1)
        return np.where(before < np.where(player == TERMINAL, 1, 2), player, CUT)


def _distinct(rules: Rules) -> tuple[GameTree, Indices]:
    """Return a tree without repeated continuations, and the node of each history."""
    states = _States(rules)
    arrays = built(rules, acting=states.acting)
    cut = arrays["player"] == CUT
    arrays["player"] = np.where(cut, TERMINAL, arrays["player"])
    ends = arrays["player"] == TERMINAL
    payoffs = np.zeros((np.count_nonzero(ends), arrays["payoffs"].shape[1]))
    payoffs[~cut[ends]] = arrays["payoffs"]
    whole: dict[str, Any] = arrays | {"payoffs": payoffs}
    tree = GameTree(**whole)
    node = np.concatenate(states.nodes)
    # Compare the second history of each node with the first: information set and edges.
    first = np.unique(node, return_index=True)[1]
    begin = np.searchsorted(tree.parent, np.arange(tree.histories + 1))
    begin, counts = begin[:-1], np.diff(begin)
    second = np.setdiff1d(np.flatnonzero(~cut), first)
    former = first[node[second]]
    equal = (counts[second] == counts[former]) & (
        tree.information_set[second] == tree.information_set[former]
    )
    if equal.all():
        edges = [expand_ranges(begin[each], counts[each]) for each in (second, former)]
        same = (node[edges[0]] == node[edges[1]]) & (
            tree.probability[edges[0]] == tree.probability[edges[1]]
        )
        equal[np.repeat(np.arange(second.size), counts[second])[~same]] = False
    for i in np.flatnonzero(~equal).tolist()[:1]:
        paths = (path_text(tree.history_path(int(each[i]))) for each in (former, second))
        raise ValueError(f"{' and '.join(paths)} have equal states, but different continuations")
    return tree, node


def _equal_continuations(tree: GameTree) -> Indices:
    """Return a number for each history, equal where continuations are identical."""
    numbers: dict[Hashable, int] = {}
    node = np.empty(tree.histories, dtype=np.int64)
    begin = np.searchsorted(tree.parent, np.arange(tree.histories + 1))
    paid = np.zeros((tree.histories, tree.players))
    paid[tree.terminals] = tree.payoffs
    for history in reversed(range(tree.histories)):
        children = slice(*begin[history : history + 2].tolist())
        key = (
            int(tree.player[history]),
            int(tree.information_set[history]),
            node[children].tobytes(),
            tree.probability[children].tobytes(),
            tuple(paid[history].tolist()),
        )
        node[history] = numbers.setdefault(key, len(numbers))
    return node


def _topological(root: int, counts: Indices, child: Indices) -> tuple[Indices, Indices]:
    """Return the nodes ordered by the longest path to them, and the offsets of the levels.

    ``child`` are the children of all nodes, ``counts[i]`` of node ``i``, concatenated.
    """
    begin = np.cumsum(counts) - counts
    missing = np.bincount(child, minlength=counts.size)
    level, levels = np.array([root]), list[Indices]()
    while level.size and not missing[root]:
        levels.append(level)
        following, parents = np.unique(
            child[expand_ranges(begin[level], counts[level])], return_counts=True
        )
        missing[following] -= parents
        level = following[missing[following] == 0]
    order = np.concatenate([np.empty(0, dtype=np.int64), *levels])
    if order.size < counts.size:
        raise ValueError(
            f"{counts.size - order.size} states lie on a cycle or after one; along a history all "
            "states must differ"
        )
    return order, np.cumsum([0, *map(len, levels)])


def _draw(group: Indices, probability: Vector, generator: np.random.Generator) -> Indices:
    """Draw one entry of each group, where groups are contiguous, and return the indices."""
    begin = np.flatnonzero(np.diff(group, prepend=-1))
    chosen = np.empty(begin.size, dtype=np.int64)
    for i, (start, stop) in enumerate(pairwise([*begin.tolist(), group.size])):
        sums = np.cumsum(probability[start:stop])
        number = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
        chosen[i] = start + min(number, stop - start - 1)
    return chosen


def _numbers_by_label(sets: Simplices, labels: Sequence[str]) -> Indices:
    """Return the numbers of a player's information sets by their labels in a tree."""
    names = [sets.labels.block(number) for number in range(sets.blocks)]
    if names == list(labels):
        return np.arange(sets.blocks)
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise ValueError("information sets of this graph must have distinct labels")
    missing = [label for label in labels if label not in numbers]
    if missing:
        raise ValueError(
            f"this graph has no information set {quote(missing[0])} of the game; pass the game "
            "with the same rules and the same memory"
        )
    return np.array([numbers[label] for label in labels], dtype=np.int64)
