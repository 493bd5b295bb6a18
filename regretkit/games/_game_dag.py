"""Game DAGs: histories with equal continuations are one node; reach and values on them."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from attrs import define
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._adapters import Playable, RulesHistory, as_history
from regretkit.games._dag_build import NodeTable, nodes_of, nodes_of_tree, topological_levels
from regretkit.games._extensive_form import ExtensiveFormGame, ImperfectRecallGame
from regretkit.games._game import as_profile
from regretkit.games._profile import Profile
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL, History
from regretkit.games.tree._rules import KeyedObjects, Rules
from regretkit.sets import Simplices

_CACHE_SIZE = 1_024
"""Largest number of sampled parts that are cached."""


class Edges(NamedTuple):
    """Edges, ordered by source."""

    source: Indices
    child: Indices
    mover: Indices
    """The acting player, -1 for chance."""
    place: Indices
    """Index of the probability in the concatenated behaviors of all players and chance."""


@define(eq=False, init=False)
class SubDAG:
    """A DAG, or the part of it that sampled outcomes of chance leave reachable.

    Nodes are numbered level by level, and every edge leads to a later level; ``levels`` is the
    number of nodes before each level, and in total.
    """

    edges: Edges
    nodes: int
    payoffs: Vector
    """Payoffs, 0 at nodes that are not terminal, shape ``(players, nodes)``."""
    _levels: list[slice]
    """The edges from all nodes of each level."""
    _edges_of: dict[int, tuple[Indices, Indices]]
    """For each player, its edges and the action of each."""

    def __init__(self, edges: Edges, levels: Indices, payoffs: Vector) -> None:
        self.edges, self.payoffs, self._edges_of = edges, payoffs, {}
        self.nodes = payoffs.shape[1]
        cuts = np.searchsorted(edges.source, levels).tolist()
        self._levels = [slice(start, stop) for start, stop in pairwise(cuts) if stop > start]

    def reach_probabilities(self, player: int, probabilities: Vector) -> tuple[Vector, Vector]:
        """Return the reach probabilities of each node by a player's opponents and by the player.

        Both are sums over all paths to the node, of the products of the opponents' and chance's
        probabilities, and of the player's and chance's.
        """
        drawn, mover = probabilities[self.edges.place], self.edges.mover
        factors = (
            np.where(mover == player, 1.0, drawn),
            np.where((mover == player) | (mover < 0), drawn, 1.0),
        )
        reach = np.zeros((2, self.nodes))
        reach[:, 0] = 1.0
        for level in self._levels:
            source, child = self.edges.source[level], self.edges.child[level]
            for own, factor in zip(reach, factors, strict=True):
                np.add.at(own, child, factor[level] * own[source])
        return reach[0], reach[1]

    def values(self, player: int, probabilities: Vector) -> Vector:
        """Return the expected payoff of a player at each node."""
        drawn = probabilities[self.edges.place]
        values: Vector = self.payoffs[player].copy()
        for level in reversed(self._levels):
            terms = drawn[level] * values[self.edges.child[level]]
            np.add.at(values, self.edges.source[level], terms)
        return values

    def counterfactual(
        self, player: int, probabilities: Vector, first: int, dimension: int
    ) -> tuple[Vector, Vector, float]:
        """Return a player's counterfactual utilities, its reach of actions, and its value.

            u[a]  =  sum over nodes n of (opponents' reach of n) (value of the child of n after a)

        The reach of an action sums the player's reach of the same nodes; both have shape
        ``(dimension,)``. The player's probabilities begin at index ``first``.
        """
        if player not in self._edges_of:
            moves = np.flatnonzero(self.edges.mover == player)
            self._edges_of[player] = moves, self.edges.place[moves] - first
        moves, action = self._edges_of[player]
        opponents, reach = self.reach_probabilities(player, probabilities)
        values = self.values(player, probabilities)
        source = self.edges.source[moves]
        utility = segment_sum(
            action, opponents[source] * values[self.edges.child[moves]], dimension
        )
        return utility, segment_sum(action, reach[source], dimension), float(values[0])


@define(eq=False, repr=False, init=False)
class GameDAG:
    """A directed acyclic graph in which histories with equal continuations are one node.

    Continuations are equal if information sets, actions, chance and payoffs are. In games of
    limited memory, such as Dudo with the last claims only, there are far fewer nodes than
    histories.

    Nodes are numbered level by level, node 0 being the root; the level of a node is the length of
    the longest path to it. A pass over the graph takes a few array operations for each level.

    Examples
    --------
    >>> from regretkit.games import Dudo
    >>> GameDAG.from_history(Dudo(memory=1))
    <GameDAG: 873 nodes in 16 levels, 72 + 72 information sets>
    >>> GameDAG.from_history(Dudo(sides=3))  # of 1,147 histories
    <GameDAG: 582 nodes in 10 levels, 96 + 96 information sets>

    References
    ----------
    Neller and Hnath (2011), "Approximating optimal Dudo play with fixed-strategy iteration
    counterfactual regret minimization", Advances in Computer Games. Neller and Lanctot (2013), "An
    introduction to counterfactual regret minimization", section 5.
    """

    player: Indices
    """The acting player of each node, ``CHANCE`` or ``TERMINAL``."""
    information_set: Indices
    """Number of the acting player's information set, -1 without one."""
    simplices: tuple[Simplices, ...]
    """The information sets of each player as a product of simplices, with their names."""
    levels: Indices
    """Number of nodes before each level, and in total, shape ``(levels + 1,)``."""
    full: SubDAG
    """The whole graph, for passes."""
    _probabilities: Vector
    """Concatenated: zeros for the players', chance's, and a 1 for sampled outcomes in a part."""
    _firsts: Indices
    """The index of each player's first probability, and of chance's."""
    _edges_before: Indices
    """Number of edges before those of each node, and in total."""
    _last_chance: int
    """The last chance node, -1 without one."""
    _parts: dict[tuple[int, ...], SubDAG]
    """The parts that sampled outcomes of chance leave, cached."""

    def __init__(self, table: NodeTable) -> None:
        order, self.levels = topological_levels(table)
        nodes = [table.nodes[number] for number in order]
        players = max((len(node.payoffs) for node in nodes), default=0)
        if len(table.labels) > players:
            raise ValueError(
                f"player {len(table.labels) - 1} acts, but payoffs() has {players} numbers; "
                "players are numbered from 0, and each needs a payoff"
            )
        names = list(zip(table.labels, table.actions, strict=True))
        names += [([], [])] * (players - len(names))
        self.simplices = tuple(
            Simplices([len(names) for names in actions], labels=labels, actions=actions)
            for labels, actions in names
        )
        self.player = np.array([node.player for node in nodes])
        self.information_set = np.array([node.information_set for node in nodes])
        self._edges_before = np.cumsum([0, *(len(node.children) for node in nodes)])
        place = np.argsort(order)
        child = place[np.array([c for node in nodes for c in node.children], dtype=np.int64)]
        drawn = [probability for node in nodes for probability in node.probabilities]
        dimensions = [simplices.dimension for simplices in self.simplices]
        self._firsts = np.cumsum([0, *dimensions])
        self._probabilities = np.concatenate([np.zeros(sum(dimensions)), drawn, [1.0]])
        payoffs = np.zeros((players, len(nodes)))
        for number, node in enumerate(nodes):
            if node.player == TERMINAL:
                payoffs[:, number] = node.payoffs
        self.full = SubDAG(self._edges(child), self.levels, payoffs)
        self._last_chance = max(np.flatnonzero(self.player == CHANCE).tolist(), default=-1)
        self._parts = {}

    @classmethod
    def from_history(
        cls,
        game: Playable,
        state: Callable[[History], Hashable] | None = None,
        *,
        memory_limit: float | None = None,
    ) -> "GameDAG":
        """Build the graph of a game from its rules, visiting each node once.

        Parameters
        ----------
        game
            The empty history, or any other argument of ``as_history``.
        state
            Called with a history, returns a key: histories with equal keys must have equal
            continuations, including information sets. By default the history's method ``state()``,
            or the rules' method ``state(h)``, which returns columns.
        memory_limit
            Largest number of bytes that building may take, by default all that are available.

        Raises
        ------
        TypeError
            When ``game`` is no game, or there is no ``state``.
        ValueError
            When two histories with equal keys differ, an information set has different actions, or
            keys repeat along a path. Children are compared for the first two histories of each
            node only, so a ``state`` that ignores what matters much later may pass unnoticed.
            Also when a history has more than 20,000 moves.
        MemoryError
            When the graph does not fit into memory.
        """
        game = game.rules if isinstance(game, RulesHistory) and state is None else game
        if state is None and isinstance(game, Rules) and hasattr(game, "state"):
            return cls(nodes_of(game, memory_limit))
        root = as_history(game)
        if state is None:
            state = getattr(type(root), "state", None)
        if not callable(state):
            raise TypeError(
                f"state must be a function of a history, got {quote(state)}, and {quote(root)} has "
                "no method state(); return a key that is equal for equal continuations"
            )
        return cls(nodes_of(KeyedObjects(root, state), memory_limit))

    @classmethod
    def from_tree(cls, tree: GameTree) -> "GameDAG":
        """Merge all histories of a tree that have equal continuations, and no others.

        If all players observe and remember all actions, only terminals and subtrees without
        decisions are merged.

        Raises
        ------
        TypeError
            When ``tree`` is not a game tree.
        """
        if not isinstance(tree, GameTree):
            raise TypeError(
                f"tree must be a GameTree, got {quote(tree)}; pass game.tree, or the rules to "
                "GameDAG.from_history"
            )
        return cls(nodes_of_tree(tree))

    @property
    def nodes(self) -> int:
        """Number of nodes, including terminal ones."""
        return self.player.size

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.simplices)

    def utility(
        self, player: int, behaviors: Sequence[Vector], part: SubDAG | None = None
    ) -> tuple[Vector, Vector, float]:
        """Return the counterfactual utilities of a player, its reach of actions, and its value.

        The utility of an action is the sum, over all nodes of its information set, of the
        probability with which chance and the other players reach the node, on all paths, times
        the expected payoff after the action; these are the counterfactual utilities of the tree,
        of shape ``(dimension,)``. The reach of an action is the sum over all paths of the
        probabilities of the player's moves and chance's.

        Parameters
        ----------
        player
            Whose actions.
        behaviors
            For each player the concatenated distributions of all information sets.
        part
            A part of the graph, from ``sample_chance``; by default the whole graph.
        """
        probabilities = self._probabilities.copy()
        behaviors = as_profile(behaviors, self.simplices)
        for first, behavior in zip(self._firsts, behaviors, strict=False):
            probabilities[first : first + behavior.size] = behavior
        first, passes = int(self._firsts[player]), self.full if part is None else part
        return passes.counterfactual(player, probabilities, first, self.simplices[player].dimension)

    def sample_chance(self, generator: np.random.Generator) -> SubDAG:
        """Sample one outcome at each reachable chance node, and return the reachable part.

        Utilities on the part are unbiased estimates of those on the whole graph. Parts are cached.
        """
        reachable = np.zeros(self.nodes, dtype=np.bool_)
        reachable[0] = True
        drawn: list[int] = []
        kept: list[Indices] = []
        for start, stop in pairwise(self.levels.tolist()):
            if start > self._last_chance:
                break
            kept.append(self._sample_level(reachable, slice(start, stop), generator, drawn))
            reachable[self.full.edges.child[kept[-1]]] = True
        key = tuple(drawn)
        if key not in self._parts:
            if len(self._parts) >= _CACHE_SIZE:
                self._parts.clear()
            self._parts[key] = self._part(reachable, kept)
        return self._parts[key]

    def _sample_level(
        self,
        reachable: NDArray[np.bool_],
        level: slice,
        generator: np.random.Generator,
        drawn: list[int],
    ) -> Indices:
        """Return the remaining edges of a level, one for each chance node."""
        nodes = level.start + np.flatnonzero(reachable[level])
        chance = nodes[self.player[nodes] == CHANCE]
        made = np.empty(chance.size, dtype=np.int64)
        for place, node in enumerate(chance.tolist()):
            first, end = self._edges_before[node : node + 2].tolist()
            sums = np.cumsum(self._probabilities[self.full.edges.place[first:end]])
            number = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
            made[place] = first + min(number, end - first - 1)
        drawn += made.tolist()
        return np.sort(np.append(self._edges_from(nodes[self.player[nodes] != CHANCE]), made))

    def _edges_from(self, nodes: Indices) -> Indices:
        first = self._edges_before[nodes]
        return expand_ranges(first, self._edges_before[nodes + 1] - first)

    def _part(self, reachable: NDArray[np.bool_], kept: list[Indices]) -> SubDAG:
        for start, stop in list(pairwise(self.levels.tolist()))[len(kept) :]:
            kept.append(self._edges_from(start + np.flatnonzero(reachable[start:stop])))
            reachable[self.full.edges.child[kept[-1]]] = True
        chosen = np.concatenate(kept)
        edges = Edges(*(entries[chosen] for entries in self.full.edges))
        nodes = np.flatnonzero(reachable)
        certain = self._probabilities.size - 1
        renumbered = Edges(
            source=np.searchsorted(nodes, edges.source),
            child=np.searchsorted(nodes, edges.child),
            mover=edges.mover,
            place=np.where(edges.mover == CHANCE, certain, edges.place),
        )
        levels = np.searchsorted(nodes, self.levels)
        return SubDAG(renumbered, levels, self.full.payoffs[:, nodes])

    def to_tree_profile(
        self, behaviors: Sequence[Vector], game: ExtensiveFormGame | ImperfectRecallGame
    ) -> Profile:
        """Return the profile of a game's tree with these behaviors, for evaluation.

        For imperfect recall, a profile of ``game.refinement``, constant on each original
        information set.

        Parameters
        ----------
        behaviors
            As ``utility`` takes them.
        game
            The game of this graph with its tree, whose information sets have the same labels.

        Raises
        ------
        TypeError
            When ``game`` is no game in extensive form.
        ValueError
            When an information set is missing in this graph, or its label is not unique.

        Examples
        --------
        >>> from regretkit.games import Dudo, GameTree, ImperfectRecallGame
        >>> rules = Dudo(sides=2, memory=1)
        >>> graph = GameDAG.from_history(rules)
        >>> game = ImperfectRecallGame(GameTree.from_rules(rules))
        >>> uniform = [simplices.uniform() for simplices in graph.simplices]
        >>> profile = graph.to_tree_profile(uniform, game)
        >>> game.refinement.value(profile)
        array([ 0.125, -0.125])
        """
        if isinstance(game, ImperfectRecallGame):
            target, coarse = game.refinement, game.coarse_information_set
        elif isinstance(game, ExtensiveFormGame):
            target, coarse = game, tuple(np.arange(tree.points) for tree in game.domains)
        else:
            raise TypeError(f"game must be a game in extensive form, got {quote(game)}")
        behaviors, strategies = as_profile(behaviors, self.simplices), []
        for player, (sets, domain) in enumerate(zip(self.simplices, target.domains, strict=True)):
            numbers = _numbers_by_label(sets, game.tree.labels[player])[coarse[player]]
            if not np.array_equal(sets.sizes[numbers], domain.sizes):
                raise ValueError(f"game has other actions for player {player} than this graph")
            strategies.append(domain.sequence_form(behaviors[player][sets.coordinates(numbers)]))
        return Profile(strategies, target.domains, target)

    def _edges(self, child: Indices) -> Edges:
        """Return all edges, with the indices of their probabilities."""
        counts = np.diff(self._edges_before)
        source = np.repeat(np.arange(self.nodes), counts)
        mover, number = self.player[source], self.information_set[source]
        offset = np.arange(source.size) - self._edges_before[source]
        place = np.empty(source.size, dtype=np.int64)
        for player, sets in enumerate(self.simplices):
            moves = np.flatnonzero(mover == player)
            place[moves] = self._firsts[player] + sets.first[number[moves]] + offset[moves]
        chance = np.flatnonzero(mover == CHANCE)
        place[chance] = self._firsts[-1] + np.arange(chance.size)
        return Edges(source, child, mover, place)

    def __repr__(self) -> str:
        sets = " + ".join(str(simplices.blocks) for simplices in self.simplices)
        return (
            f"<GameDAG: {self.nodes} nodes in {self.levels.size - 1} levels, "
            f"{sets} information sets>"
        )


def _numbers_by_label(sets: Simplices, labels: Sequence[str]) -> Indices:
    """Return the numbers of a player's information sets by their labels in a tree."""
    names = [sets.labels.block(number) for number in range(sets.blocks)]
    if names == list(labels):
        return np.arange(sets.blocks)
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise ValueError("information sets of this graph share a name; give them different ones")
    missing = [label for label in labels if label not in numbers]
    if missing:
        raise ValueError(
            f"game has information set {quote(missing[0])}, which this graph does not have; pass "
            "the game with the same rules and the same memory"
        )
    return np.array([numbers[label] for label in labels], dtype=np.int64)
