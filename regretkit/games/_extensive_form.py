"""Games in extensive form, of perfect or imperfect recall."""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import segment_sum, sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._adapters import TreeHistory
from regretkit.games._game import Domain, Game, as_profile
from regretkit.games.tree._build import Rows
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, History
from regretkit.games.tree._rules import Rules
from regretkit.games.tree._sequences import (
    PayoffRows,
    decision_trees,
    last_sequences,
    levels,
    merge_terminals,
    mixed,
    offsets,
    payoff_rows,
    reach_of_chance,
)
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from regretkit.games._graph import GraphGame
    from regretkit.games._profile import Profile

Name = TypeVar("Name")


class TreeGame(Game[Domain]):
    """A game given by its tree, of perfect or imperfect recall."""

    tree: GameTree

    @property
    def size(self) -> int:
        """Number of histories."""
        return self.tree.histories

    @property
    def deals(self) -> bool:
        """Whether chance has a move."""
        return bool((self.tree.player == CHANCE).any())

    def history(self) -> TreeHistory:
        """Return the empty history, to play the game along its tree."""
        return TreeHistory(self.tree)

    def _outcomes(self) -> Vector:
        return self.tree.payoffs.T


@define(eq=False, repr=False)
class ExtensiveFormGame(TreeGame[DecisionTree]):
    """An extensive-form game of perfect recall in sequence form.

    Player i's expected payoff, with s_j(z) the last sequence of player j at terminal z and c(z) the
    probability of chance's moves, is

        u_i(x)  =  sum over terminals z of  c(z) payoff_i(z) product over players j of x_j[s_j(z)]

    Terminals with equal last sequences of all players are merged: their terms c(z) payoff_i(z) are
    added at construction.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        Name of the game.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> game.domains[0]
    <DecisionTree: 6 decision points, 13 sequences>
    >>> always_uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> game.value(always_uniform)
    array([ 0.125, -0.125])

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """

    tree: GameTree
    name: str | None = field(default=None, kw_only=True)
    domains: tuple[DecisionTree, ...] = field(init=False)
    sequences: Indices = field(init=False)
    """Last sequence of each player at each merged terminal, shape ``(players, terminals)``."""
    payoffs: NDArray[np.float64] = field(init=False)
    """Payoffs times chance's probabilities at the merged terminals, ``(players, terminals)``."""
    _movers: tuple[int, ...] = field(init=False)
    """The players with a decision; any other player's strategy is the number 1."""
    _rows: dict[tuple[int, int], PayoffRows] = field(init=False, factory=dict)
    _merged: tuple[Indices, ...] | None = field(init=False, default=None)
    """For each player, the sequence here of each sequence before ``merged_by_symmetry``."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.tree, GameTree):
            raise TypeError(
                f"tree must be a GameTree, got {quote(self.tree)}; "
                "build one with GameTree.from_history(root)"
            )
        last, terminals = last_sequences(self.tree), self.tree.terminals
        self.domains = decision_trees(self.tree, last)
        self._movers = tuple(i for i, domain in enumerate(self.domains) if domain.dimension > 1)
        last = last[:, terminals]  # frees the sequences of all other histories
        weights = reach_of_chance(self.tree)[terminals]
        self.sequences, self.payoffs = merge_terminals(last, weights, self.tree.payoffs)

    @classmethod
    def from_rules(cls, rules: Rules, *, name: str | None = None) -> "ExtensiveFormGame":
        """Build a game from its rules; see ``GameTree.from_rules``."""
        return cls(GameTree.from_rules(rules), name=name)

    @classmethod
    def from_history(cls, root: History, *, name: str | None = None) -> "ExtensiveFormGame":
        """Build a game from its empty history; see ``GameTree.from_history``."""
        return cls(GameTree.from_history(root), name=name)

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the utility of each sequence of ``player``, shape ``(dimension,)``.

        g[s]  =  sum over terminals z whose last sequence is s of
                 c(z) payoff(z) product over the others j of x_j[s_j(z)]
        """
        if self.players == 2:
            return self._payoff_rows(player, payoff_of).utility(strategies[1 - player])
        terms = self.payoffs[payoff_of]
        for opponent in self._movers:
            if opponent != player:
                terms = terms * strategies[opponent][self.sequences[opponent]]
        return sum_terms(self.sequences[player], terms, self.domains[player].dimension)

    def _payoff_rows(self, player: int, payer: int) -> PayoffRows:
        """Return the payoffs of player ``payer`` as rows, one for each sequence of ``player``."""
        if (player, payer) not in self._rows:
            rows_of, columns_of = self.sequences[player], self.sequences[1 - player]
            dimensions = [self.domains[i].dimension for i in (player, 1 - player)]
            rows = payoff_rows(rows_of, columns_of, self.payoffs[payer], *dimensions)
            self._rows[player, payer] = rows
        return self._rows[player, payer]

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        reach = np.ones(self.sequences.shape[1])
        for strategy, last in zip(strategies, self.sequences, strict=True):
            reach *= strategy[last]
        # einsum, not @: it sums all rows in the same order, so zero-sum values sum to exactly 0.
        value: Vector = np.einsum("pe,e->p", self.payoffs, reach)
        return value

    def __repr__(self) -> str:
        points = " + ".join(str(domain.points) for domain in self.domains)
        return f"<{self.name or 'ExtensiveFormGame'}: {points} information sets>"


@define(eq=False, repr=False)
class ImperfectRecallGame(TreeGame[Simplices]):
    """A game of imperfect recall, in behavioral strategies.

    A strategy is a behavior: a distribution for each information set, as in a ``GraphGame``.
    Payoffs are not linear in behaviors, and utilities are counterfactual. ``SelfPlay`` has no
    regret bound here, and best responses are not available.

    ``solve(game, ..., imperfect_recall=True)`` runs the same CFR in all engines: on ``refinement``,
    with one shared strategy for each original information set. ``coarsen`` maps the result to a
    strategy of this game. Without the option, ``solve`` raises a ValueError that names an
    information set which violates perfect recall.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        Name of the game.

    Examples
    --------
    A driver passes two exits and cannot distinguish them:

    >>> from regretkit.games import read_efg
    >>> game = read_efg('''EFG 2 R "Absent-minded driver" { "Driver" }
    ...     p "" 1 1 "exit" { "leave" "go on" } 0 t "" 1 "first" { 0 }
    ...     p "" 1 1 0 t "" 2 "second" { 4 } t "" 3 "missed" { 1 }''')
    >>> game
    <Absent-minded driver: 1 information sets, imperfect recall>
    >>> game.recall_violation
    "imperfect recall: player 0 cannot tell the empty history from 'go on', ..."
    >>> leaving = np.array([1 / 3, 2 / 3])
    >>> game.value([leaving]).round(4), game.utility(0, [leaving]).round(4)
    (array([1.3333]), array([4., 3.]))

    References
    ----------
    Piccione and Rubinstein (1997), "On the interpretation of decision problems with imperfect
    recall", Games and Economic Behavior 20(1).
    """

    tree: GameTree
    name: str | None = field(default=None, kw_only=True)
    recall_violation: str | None = field(init=False)
    """Description of an information set that violates perfect recall, with two histories."""
    coarse_information_set: tuple[Indices, ...] = field(init=False)
    """For each player, the number of the original set of each refined information set."""
    domains: tuple[Simplices, ...] = field(init=False)
    _refinement: ExtensiveFormGame = field(init=False)

    linear = False

    def __attrs_post_init__(self) -> None:
        try:
            ExtensiveFormGame(self.tree)
        except ValueError as error:
            self.recall_violation = str(error)
        else:
            raise ValueError("tree has perfect recall; pass it to ExtensiveFormGame")
        tree, self.coarse_information_set = _perfect_recall_refinement(self.tree)
        self._refinement = ExtensiveFormGame(tree, name=self.name)
        names = zip(self.tree.sizes, self.tree.labels, self.tree.actions, strict=True)
        self.domains = tuple(Simplices(n, labels=sets, actions=each) for n, sets, each in names)

    @cached_property
    def _graph(self) -> "GraphGame":
        """The game as a graph with a node for each history."""
        from regretkit.games._graph import GraphGame  # avoids a cycle of imports

        return GraphGame(self.tree, np.arange(self.tree.histories))

    @property
    def refinement(self) -> ExtensiveFormGame:
        """The perfect-recall refinement.

        It splits information sets by their player's past actions and information sets, and keeps
        the labels.
        """
        return self._refinement

    def coarsen(self, profile: Sequence[Vector]) -> "Profile":
        """Return the profile of ``refinement`` averaged within each original information set.

        At an original information set I with parts J the distribution is

            b(I)  =  sum over J of r(J) b(J)  /  sum over J of r(J)

        with r the player's reach, and uniform if every r(J) is 0. The result is constant on I; a
        run's average need not be.

        Examples
        --------
        >>> from regretkit import solve
        >>> from regretkit.games import read_efg
        >>> driver = read_efg('''EFG 2 R "Absent-minded driver" { "Driver" }
        ...     p "" 1 1 "exit" { "leave" "go on" } 0 t "" 1 "first" { 0 }
        ...     p "" 1 1 0 t "" 2 "second" { 4 } t "" 3 "missed" { 1 }''')
        >>> run = solve(driver, "cfr", iterations=1_000, imperfect_recall=True)
        >>> print(driver.coarsen(run.average))
        player 0
          exit  leave 0.6662  go on 0.3338

        Leaving with probability 1/3 is optimal. CFR misses it, since counterfactual utilities
        assume that the driver reaches each exit with probability 1.
        """
        from regretkit.games._profile import Profile  # avoids a cycle of imports

        domains, played = self._refinement.domains, list[Vector]()
        strategies = zip(as_profile(profile, domains), self.coarse_information_set, strict=True)
        for own, domain, (strategy, sets) in zip(self.domains, domains, strategies, strict=True):
            places = own.coordinates(sets)
            behavior = own.normalize(segment_sum(places, strategy[1:], own.dimension))
            played.append(domain.sequence_form(behavior[places]))
        return Profile(played, domains, self._refinement)

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        return self._graph._utility(player, strategies, payoff_of)

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        return self._graph._value(strategies)

    def realization(self, player: int, strategy: Vector) -> Vector:
        """Return the weight of each action in averages; see ``GraphGame.realization``."""
        return self._graph.realization(player, strategy)

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.tree.information_sets))
        name = self.name or "ImperfectRecallGame"
        return f"<{name}: {sets} information sets, imperfect recall>"


def game_from_tree(
    tree: GameTree, name: str | None = None
) -> ExtensiveFormGame | ImperfectRecallGame:
    """Return an ``ExtensiveFormGame``, or an ``ImperfectRecallGame`` if recall is imperfect."""
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError:
        return ImperfectRecallGame(tree, name=name)


def refined_information_sets(tree: GameTree) -> tuple[Indices, tuple[Indices, ...]]:
    """Split each information set by its player's past actions and information sets.

    Returns the new information set of each history, and for each player the old information set
    of each new one.
    """
    parts = [Rows() for _ in range(tree.players)]
    information_set = np.full(tree.histories, -1, dtype=np.int64)
    # Each player's last action a at new information set i, encoded as i * actions + a, -1 if none
    actions = 1 + max((int(sizes.max(initial=0)) for sizes in tree.sizes), default=0)
    last = np.full((tree.players, tree.histories), -1, dtype=np.int64)
    for level in (slice(0, 1), *levels(tree)):
        if level.start:
            parent = tree.parent[level]
            last[:, level] = last[:, parent]
            moved = np.flatnonzero(tree.player[parent] >= 0)
            mover, previous = tree.player[parent[moved]], information_set[parent[moved]]
            last[mover, level.start + moved] = previous * actions + tree.action[level][moved]
        for player, numbers in enumerate(parts):
            members = level.start + np.flatnonzero(tree.player[level] == player)
            if members.size:
                columns = [tree.information_set[members], last[player, members]]
                information_set[members], _ = numbers.number(columns, members.size)
    none = np.empty((0, 1), dtype=np.int64)
    coarse = ((own.rows if own.rows.size else none)[:, 0] for own in parts)
    return information_set, tuple(own.astype(np.int64) for own in coarse)


def _perfect_recall_refinement(tree: GameTree) -> tuple[GameTree, tuple[Indices, ...]]:
    """Return the refined tree, and for each player the old information set of each new one."""
    information_set, coarse = refined_information_sets(tree)
    refinement = GameTree(
        parent=tree.parent,
        player=tree.player,
        information_set=information_set,
        probability=tree.probability,
        payoffs=tree.payoffs,
        labels=[_select(names, old) for names, old in zip(tree.labels, coarse, strict=True)],
        actions=[_select(names, old) for names, old in zip(tree.actions, coarse, strict=True)],
        outcomes=tree.outcomes,
    )
    return refinement, coarse


def _select(names: Sequence[Name], numbers: Indices) -> list[Name]:
    return [names[number] for number in numbers.tolist()]


Hashes: TypeAlias = NDArray[np.uint64]

_LARGEST_PART = 0.8
"""Largest fraction of information sets left at which merging is worthwhile."""
_DIGITS = 40
"""Number of binary digits in which equal payoffs must agree."""


def merged_by_symmetry(game: ExtensiveFormGame) -> ExtensiveFormGame | None:
    """Merge information sets of a two-player game by colour refinement; None if few are equal.

    Two information sets have the same colour if, action by action, they agree in the colours of
    the preceding sequence and of the following information sets, and in the payoffs against each
    colour of the opponent's sequences. This partition is equitable: against a strategy that is
    constant on colours, utilities are constant on colours, and so is some best response. An
    equilibrium of the merged game is therefore an equilibrium of the game, in which each sequence
    has the probability of its colour. The merged game keeps the tree of the game.

    References
    ----------
    Grohe, Kersting, Mladenov and Selman (2014), "Dimension reduction via colour refinement", ESA.
    """
    if not (game.tree.player == CHANCE).any():
        return None  # without chance no merging: colours distinguish an action's number
    trees, entries = game.domains, np.flatnonzero(game.payoffs[0])
    last = game.sequences[:, entries]
    # Round mantissas, so that payoffs which differ by rounding errors have equal bits.
    digits, exponent = np.frexp(game.payoffs[0, entries])
    value = np.ldexp(np.round(np.ldexp(digits, _DIGITS)), exponent).view(np.uint64)
    points, classes = [tree.sizes.astype(np.uint64) for tree in trees], 0
    first = [np.repeat(tree.simplices.first, tree.sizes).astype(np.uint64) for tree in trees]
    # A hash of each action's number at its decision point, from 1
    actions = [mixed(np.arange(1, 1 + own.size, dtype=np.uint64) - own) for own in first]
    # Colours are hashes: a sum of hashes modulo 2^64 does not depend on the order of its terms.
    while True:
        of_sequence = [
            np.append(np.uint64(0), mixed(np.repeat(color, tree.sizes) + number))
            for tree, number, color in zip(trees, actions, points, strict=True)
        ]
        for player, tree in enumerate(trees):
            earned = mixed(value + of_sequence[1 - player][last[1 - player]])
            totals = _sums(tree.parent_sequence, mixed(points[player]), tree.dimension)
            color = mixed(_sums(last[player], earned, tree.dimension) + mixed(totals))[1:]
            total = np.add.reduceat(mixed(color + actions[player]), tree.simplices.first)
            preceding = of_sequence[player][tree.parent_sequence]
            points[player] = mixed(mixed(total + points[player]) + preceding)
        coarser, classes = classes, sum(np.unique(color).size for color in points)
        if classes > _LARGEST_PART * sum(tree.points for tree in trees):
            return None
        if classes == coarser:
            break
    found = [np.unique(color, return_index=True, return_inverse=True)[1:] for color in points]
    return _merged(game, found)


def _merged(game: ExtensiveFormGame, kinds: list[tuple[Indices, Indices]]) -> ExtensiveFormGame:
    """Merge information sets, given for each player the first of each colour and all colours."""
    trees, groups = [], []
    for tree, (first, color) in zip(game.domains, kinds, strict=True):
        order = np.argsort(first)
        kept, kind = first[order], np.argsort(order)[color]
        begin = offsets(tree.sizes[kept])[kind] - tree.simplices.first
        groups.append(
            np.append(0, 1 + np.arange(tree.dimension - 1) + np.repeat(begin, tree.sizes))
        )
        trees.append(DecisionTree(groups[-1][tree.parent_sequence[kept]], tree.sizes[kept]))
    small = copy.copy(game)
    small.domains, small._rows, small._merged = tuple(trees), {}, tuple(groups)
    merged = np.array([own[last] for own, last in zip(groups, game.sequences, strict=True)])
    ones = np.ones(merged.shape[1])
    small.sequences, small.payoffs = merge_terminals(merged, ones, game.payoffs.T)
    return small


def _sums(places: Indices, hashes: Hashes, size: int) -> Hashes:
    """Return the sum of the hashes at each place, modulo 2^64."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, places, hashes)
    return total
