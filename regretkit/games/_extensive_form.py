"""Games in extensive form, of perfect or imperfect recall."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import segment_sum, sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._adapters import TreeHistory
from regretkit.games._game import Domain, Game, as_profile, constant
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
    from regretkit.games._profile import Profile

Name = TypeVar("Name")


class TreeGame(Game[Domain]):
    """A game with a tree, of perfect or imperfect recall."""

    tree: GameTree

    @property
    def constant_sum(self) -> float | None:
        """The sum of all payoffs if it is constant up to 1e-12 of the largest payoff, else None."""
        return constant(self.tree.payoffs.sum(axis=1), self.tree.payoffs)

    @property
    def size(self) -> int:
        """Number of histories."""
        return self.tree.histories

    @property
    def payoff_bounds(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest payoff of each player."""
        return self.tree.payoff_bounds

    @property
    def deals(self) -> bool:
        """Whether chance has a move."""
        return bool((self.tree.player == CHANCE).any())

    def history(self) -> TreeHistory:
        """Return the empty history, from which the game can be played along its tree."""
        return TreeHistory(self.tree)


@define(eq=False, repr=False)
class ExtensiveFormGame(TreeGame[DecisionTree]):
    """An extensive-form game of perfect recall in sequence form.

    Terminals with the same last sequences of all players are merged: their payoffs are added,
    weighted by the probability of chance's moves.

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
    """The players with a decision; the strategy of the others is the number 1."""
    _rows: dict[tuple[int, int], PayoffRows] = field(init=False, factory=dict)
    _merged: tuple[Indices, ...] | None = field(init=False, default=None)
    """For each player, the sequence of the whole game's sequences, see ``merged_by_symmetry``."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.tree, GameTree):
            raise TypeError(
                f"tree must be a GameTree, got {quote(self.tree)}; "
                "build one with GameTree.from_history(root)"
            )
        last, terminals = last_sequences(self.tree), self.tree.terminals
        self.domains = decision_trees(self.tree, last)
        self._movers = tuple(i for i, domain in enumerate(self.domains) if domain.dimension > 1)
        last = last[:, terminals]  # and no longer those of all histories
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

        That is the sum of payoffs over the terminals with this last sequence, weighted by the
        probability with which chance and the others reach them.
        """
        if self.players == 2:
            return self._payoff_rows(player, payoff_of).utility(strategies[1 - player])
        terms = self.payoffs[payoff_of]
        for opponent in self._movers:
            if opponent != player:
                terms = terms * strategies[opponent][self.sequences[opponent]]
        return sum_terms(self.sequences[player], terms, self.domains[player].dimension)

    def _payoff_rows(self, player: int, payer: int) -> PayoffRows:
        """Return the payoffs of ``payer`` by the sequences of ``player``, one of two players."""
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
        # einsum and not @: with zero-sum payoffs the values then sum to exactly zero
        value: Vector = np.einsum("pe,e->p", self.payoffs, reach)
        return value

    def __repr__(self) -> str:
        points = " + ".join(str(domain.points) for domain in self.domains)
        return f"<{self.name or 'ExtensiveFormGame'}: {points} information sets>"


@define(eq=False, repr=False)
class ImperfectRecallGame(TreeGame[Simplices]):
    """A game of imperfect recall: it has histories, but no sequence form.

    Payoffs are not linear in the strategies of a player who forgets. So players choose behaviors, a
    distribution for each information set, as in a ``GraphGame``, and utilities are counterfactual.
    No regret bound holds for what ``SelfPlay`` makes of them, and there are no best responses here.

    ``solve(game, ..., imperfect_recall=True)`` plays ``refinement``, the perfect-recall
    refinement, with strategies shared within each original information set: the same CFR, in all
    engines. ``coarsen`` maps the result to a strategy of this game. Without the switch it raises a
    ValueError that names an information set which violates perfect recall.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        Name of the game.

    Examples
    --------
    A driver reaches two exits and cannot tell them apart:

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
    """An information set that violates perfect recall, with two of its histories."""
    coarse_information_set: tuple[Indices, ...] | None = field(init=False)
    """For each player, the information set of this game to which each one of ``refinement``
    belongs."""
    domains: tuple[Simplices, ...] = field(init=False)
    _refinement: ExtensiveFormGame = field(init=False)
    _coarse: tuple[Indices, ...] = field(init=False)
    """For each player and action of ``refinement``, the number of the action here."""
    _dealt: tuple[Vector, ...] = field(init=False)
    """And the sum of chance's probabilities over the histories of its information set."""

    linear = False

    def __attrs_post_init__(self) -> None:
        try:
            ExtensiveFormGame(self.tree)
        except ValueError as error:
            text = str(error)
            if len(text) > 2_000:  # of very long histories
                text = f"{text[:1_000]} ... {text[-1_000:]}"
            self.recall_violation = text
        else:
            raise ValueError("tree has perfect recall; pass it to ExtensiveFormGame")
        tree, coarse = _perfect_recall_refinement(self.tree)
        self.coarse_information_set = coarse
        self._refinement = ExtensiveFormGame(tree, name=self.name)
        names = zip(self.tree.sizes, self.tree.labels, self.tree.actions, strict=True)
        self.domains = tuple(Simplices(n, labels=sets, actions=each) for n, sets, each in names)
        pairs = zip(self.domains, coarse, strict=True)
        self._coarse = tuple(domain.coordinates(numbers) for domain, numbers in pairs)
        reach, players = reach_of_chance(tree), range(self.players)
        acting = [np.flatnonzero(tree.player == player) for player in players]
        by_set = [
            segment_sum(tree.information_set[own], reach[own], numbers.size)
            for own, numbers in zip(acting, coarse, strict=True)
        ]
        self._dealt = tuple(map(np.repeat, by_set, tree.sizes))

    @property
    def refinement(self) -> ExtensiveFormGame:
        """The coarsest perfect-recall refinement.

        Information sets are split by their player's past actions and information sets, and keep
        their labels.
        """
        return self._refinement

    def coarsen(self, profile: Sequence[Vector]) -> "Profile":
        """Return a profile of ``refinement`` that is constant on each original information set.

        The distribution on an original information set is the average of those on its parts,
        weighted by the player's reach of each part, and uniform if no part is reached. Averages
        over time may differ between the parts.

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
          exit  leave 0.6662  go on 0.3338

        Leaving with probability 1/3 is optimal; counterfactual regret minimization evaluates each
        exit as if the driver reached it with probability 1.
        """
        from regretkit.games._profile import Profile  # which imports all games

        domains = self._refinement.domains
        merged = [
            own.normalize(segment_sum(places, strategy[1:], own.dimension))
            for own, places, strategy in zip(
                self.domains, self._coarse, as_profile(profile, domains), strict=True
            )
        ]
        return Profile(self._unfolded(merged), domains, self._refinement)

    def _unfolded(self, strategies: Sequence[Vector]) -> list[Vector]:
        """Return behaviors as strategies of the refinement."""
        parts = zip(self._refinement.domains, strategies, self._coarse, strict=True)
        return [domain.sequence_form(behavior[places]) for domain, behavior, places in parts]

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the counterfactual utility of each action, the sum over the parts of its set."""
        profile, places = self._unfolded(strategies), self._coarse[player]
        utility = self._refinement._utility(player, profile, payoff_of)
        domain = self._refinement.domains[player]
        _, parts = domain.counterfactual(utility, strategies[player][places])
        return segment_sum(places, parts, self.domains[player].dimension)

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        return self._refinement._value(self._unfolded(strategies))

    def realization(self, player: int, strategy: Vector) -> Vector:
        """Return the weight of each action: its probability times those of the player before it.

        That is the sum, over the histories of the information set, of the probabilities of the
        player's and chance's moves. Averages add these up, and divide by their sums.
        """
        places = self._coarse[player]
        reached = self._refinement.domains[player].sequence_form(strategy[places])[1:]
        return segment_sum(places, self._dealt[player] * reached, strategy.size)

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.tree.information_sets))
        name = self.name or "ImperfectRecallGame"
        return f"<{name}: {sets} information sets, imperfect recall>"


def game_from_tree(
    tree: GameTree, name: str | None = None
) -> ExtensiveFormGame | ImperfectRecallGame:
    """Return the game of a tree, an ``ImperfectRecallGame`` where recall is imperfect."""
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError:
        return ImperfectRecallGame(tree, name=name)


def refined_information_sets(tree: GameTree) -> tuple[Indices, tuple[Indices, ...]]:
    """Split each information set by its player's past actions and information sets.

    Returns the new information set of each history, and for each player the old one to which each
    new one belongs.
    """
    parts: list[dict[tuple[int, int], int]] = [{} for _ in range(tree.players)]
    information_set = np.full(tree.histories, -1, dtype=np.int64)
    # Each player's last action: the number of its new information set and the action, as one number
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
            keys = zip(
                tree.information_set[members].tolist(), last[player, members].tolist(), strict=True
            )
            information_set[members] = [numbers.setdefault(key, len(numbers)) for key in keys]
    coarse = (np.array([key[0] for key in numbers], dtype=np.int64) for numbers in parts)
    return information_set, tuple(coarse)


def _perfect_recall_refinement(tree: GameTree) -> tuple[GameTree, tuple[Indices, ...]]:
    """Return the refinement, and for each player the old information set of each new one."""
    information_set, coarse = refined_information_sets(tree)
    refinement = GameTree(
        parent=tree.parent,
        player=tree.player,
        information_set=information_set,
        action=tree.action,
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
"""The largest part of the information sets that may be left."""
_DIGITS = 40
"""Binary digits in which payoffs must agree."""
_MERGED: WeakKeyDictionary[ExtensiveFormGame, ExtensiveFormGame | None] = WeakKeyDictionary()
"""The result for each game, so that each is computed once."""


def merged_by_symmetry(game: ExtensiveFormGame) -> ExtensiveFormGame | None:
    """Return a game of two players with far fewer information sets, or None.

    Information sets get the same colour unless their actions, in order, differ in the colours of
    the sequences before them, of the information sets after them, or of what they earn against
    which sequences of the opponent. This partition is equitable: against strategies that are equal
    on it so are utilities, and then so is a best response. So an equilibrium of the small game is
    one of the game, where each sequence has the probability of its colour. The tree of the small
    game is that of the whole game.

    References
    ----------
    Grohe, Kersting, Mladenov and Selman (2014), "Dimension reduction via colour refinement", ESA.
    """
    if game not in _MERGED:
        _MERGED[game] = _refined(game)
    return _MERGED[game]


def _refined(game: ExtensiveFormGame) -> ExtensiveFormGame | None:
    if not (game.tree.player == CHANCE).any():
        return None  # for actions that differ in their number are different
    trees, entries = game.domains, np.flatnonzero(game.payoffs[0])
    last = game.sequences[:, entries]
    digits, exponent = np.frexp(game.payoffs[0, entries])
    value = np.ldexp(np.round(np.ldexp(digits, _DIGITS)), exponent).view(np.uint64)
    points, classes = [tree.sizes.astype(np.uint64) for tree in trees], 0
    first = [np.repeat(tree.simplices.first, tree.sizes).astype(np.uint64) for tree in trees]
    # By the number of an action at its decision point, from 1
    actions = [mixed(np.arange(1, 1 + own.size, dtype=np.uint64) - own) for own in first]
    while True:
        of_sequence = [
            np.append(np.uint64(0), mixed(np.repeat(color, tree.sizes) + number))
            for tree, number, color in zip(trees, actions, points, strict=True)
        ]
        for player, tree in enumerate(trees):
            earned = mixed(value + of_sequence[1 - player][last[1 - player]])
            totals = _sums(tree.parent_sequence, mixed(points[player]), tree.dimension)
            told = mixed(_sums(last[player], earned, tree.dimension) + mixed(totals))[1:]
            total = np.add.reduceat(mixed(told + actions[player]), tree.simplices.first)
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
    """Merge information sets, given the first of each colour and the colour of each."""
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
    """Return the sum of hashes in each place, modulo 2^64."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, places, hashes)
    return total
