"""Public games: a public tree, private types, and payoffs without a matrix."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field
from attrs.validators import instance_of
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import candidates, floats, must_be, quote
from regretkit.games._adapters import RulesHistory
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import Game, as_strategies, check_player, constant
from regretkit.games.public._deal import Deal
from regretkit.games.public._history import PublicRules
from regretkit.games.public._layout import Layout
from regretkit.games.public._terminal_utilities import TerminalUtilities
from regretkit.games.public._tree import (
    Chance,
    Compare,
    Decision,
    Free,
    Node,
    Outcome,
    Path,
    PublicTree,
    Table,
)
from regretkit.sets import DecisionTree


@define(eq=False, repr=False)
class PublicGame(Game[DecisionTree]):
    """A two-player game in which only the dealt types are private.

    A player has a decision point for each of its nodes in the public tree and each type that is
    possible there. A terminal maps the opponent's reach, a weight for each type, to the payoff of
    each own type. For ``Free`` and ``Compare`` this takes O(n) operations with n types, while the
    game tree has n^2 histories at the terminal.

    Parameters
    ----------
    tree
        The public actions and moves of chance.
    deal
        The private types.
    name
        Name of the game.

    Examples
    --------
    Kuhn poker with three cards:

    >>> from regretkit.games.public import Compare, Decision, Free
    >>> call = Decision(1, {"pass": Free(1), "bet": Compare(2, -2)})
    >>> answer = Decision(0, {"pass": Free(-1), "bet": Compare(2, -2)})
    >>> check = Decision(1, {"pass": Compare(1, -1), "bet": answer})
    >>> cards = np.arange(3)
    >>> deal = Deal(("JQK", "JQK"), cards=[cards[:, None]] * 2, strengths=[cards] * 2)
    >>> game = PublicGame(PublicTree(Decision(0, {"pass": check, "bet": call})), deal, name="Kuhn")
    >>> game
    <Kuhn: 6 + 6 decision points, 3 x 3 types>
    >>> game.domains[0].simplices.labels.block(5)
    'K /pass/bet'
    >>> game.value([domain.relative_interior_point() for domain in game.domains])
    array([ 0.125, -0.125])

    References
    ----------
    Johanson, Waugh, Bowling and Zinkevich (2011), "Accelerating best response calculation in large
    extensive games", IJCAI.
    """

    tree: PublicTree = field(validator=instance_of(PublicTree))
    deal: Deal = field(validator=instance_of(Deal))
    name: str | None = field(default=None, kw_only=True)
    domains: tuple[DecisionTree, ...] = field(init=False)
    layout: Layout = field(init=False)
    """The contexts of nodes, and the sequences of types."""
    _by_player: dict[int, TerminalUtilities] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for node in self.tree.terminals.tolist():
            terminal = self.tree.nodes[node]
            if isinstance(terminal, Compare):
                self.deal.meeting(0, terminal.order)
            elif isinstance(terminal, Table) and terminal.payoffs.shape[1:] != self.deal.sizes:
                raise ValueError(
                    f"payoffs of the table at {self.tree.place(node)} must have shape "
                    f"{self.deal.sizes}, got {terminal.payoffs.shape[1:]}"
                )
        self.layout = Layout(self.tree, self.deal)
        self.domains = self.layout.domains

    @property
    def payoffs(self) -> NDArray[np.float64]:
        """All possible payoffs of each player, shape ``(2, entries)``."""
        met = self.deal.pairs() > 0.0 if any(isinstance(t, Table) for t in self.tree.nodes) else ()
        paid: list[ArrayLike] = []
        for terminal in self.tree.nodes:
            if isinstance(terminal, Compare):
                paid.append(np.transpose([terminal.win, terminal.lose, terminal.tie]))
            elif isinstance(terminal, Table):
                paid.append(terminal.payoffs[:, met])
            elif isinstance(terminal, Free):
                paid.append(np.transpose([terminal.payoff]))
        return np.concatenate(paid, axis=1)

    @property
    def constant_sum(self) -> float | None:
        """The sum of both payoffs if it is constant up to 1e-12 of the largest payoff, else None.

        A rake makes it None.
        """
        payoffs = self.payoffs
        return constant(payoffs.sum(axis=0), payoffs)

    @property
    def size(self) -> int:
        """Number of nodes for each type of both players."""
        return len(self.tree.nodes) * sum(self.deal.sizes)

    @property
    def payoff_bounds(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest payoff of each player."""
        return tuple((float(paid.min()), float(paid.max())) for paid in self.payoffs)

    @property
    def deals(self) -> bool:
        """Whether chance has a move. It always deals the types."""
        return True

    def history(self) -> RulesHistory:
        """Return the empty history. Chance deals both types, then play follows the public tree."""
        return RulesHistory(PublicRules(self.layout))

    def _utility(self, player: int, strategies: Sequence[Vector], payoff_of: int) -> Vector:
        """Return the utility of each sequence of ``player``, shape ``(dimension,)``."""
        return self._terminal_utilities(player).utility(strategies[1 - player], payoff_of)

    def _terminal_utilities(self, player: int) -> TerminalUtilities:
        if player not in self._by_player:
            self._by_player[player] = TerminalUtilities(self.layout, player)
        return self._by_player[player]

    def _value(self, strategies: Sequence[Vector]) -> Vector:
        utilities = self._terminal_utilities(0)
        return np.array([strategies[0] @ utilities.utility(strategies[1], i) for i in (0, 1)])

    def to_tree(self) -> ExtensiveFormGame:
        """Return the same game as a game tree, with a history for each pair of types and node.

        Decision points have the same labels, in a different order.
        """
        name = self.name and f"{self.name}.to_tree()"
        rules = PublicRules(self.layout)
        return ExtensiveFormGame.from_rules(rules, name=name)

    # Types at a node

    def reach(self, player: int, profile: Sequence[ArrayLike], node: Path = ()) -> Vector:
        """Return the weight of each type of a player at a node, shape ``(types,)``.

        It is the type's weight in the deal, times the factors of chance's outcomes, times the
        probabilities of the player's own actions on the path. Impossible types have weight 0.
        """
        check_player(player, self.players)
        strategies = as_strategies(self, profile)
        start, image = self._find(node)
        return self._reach(player, strategies[player], start)[image[player]]

    def _find(self, path: Path) -> tuple[int, tuple[Indices, Indices]]:
        """Return the node at a path, and for each type there the type of which it is an image."""
        node, symmetries = self.tree.find_image(path)
        first, second = map(np.arange, self.deal.sizes)
        for number in symmetries:
            one, other = self.deal.symmetries[number]
            first, second = first[one], second[other]
        return node, (np.argsort(first), np.argsort(second))

    def _reach(self, player: int, strategy: Vector, node: int) -> Vector:
        layout = self.layout
        sequences = layout.sequences(player, layout.last[player, node])
        reach: Vector = layout.contexts[layout.context[node]].priors[player] * strategy[sequences]
        return reach

    def behavior(self, profile: Sequence[ArrayLike], node: Path = ()) -> NDArray[np.float64]:
        """Return the behavior of the acting player at a node, shape ``(types, actions)``.

        Impossible types have NaN. ``lock`` accepts this array.
        """
        strategies, (start, image) = as_strategies(self, profile), self._find(node)
        if (player := int(self.tree.player[start])) < 0:
            raise ValueError(f"node must be a decision, got {self.tree.place(start)}")
        layout = self.layout
        # In depth-first order, node start + 1 follows the first action.
        number = int(layout.last[player, start + 1])
        behavior = self.domains[player].behavior(strategies[player])
        alive = layout.contexts[layout.context[start]].alive[player]
        found = np.full((self.deal.sizes[player], len(self.tree.names[start])), np.nan)
        for action in range(found.shape[1]):
            found[alive, action] = behavior[layout.sequences(player, number + action)[alive] - 1]
        return found[image[player]]

    def ev(
        self,
        player: int,
        profile: Sequence[ArrayLike],
        node: Path = (),
        *,
        best_response: bool = False,
    ) -> Vector:
        """Return the expected payoff of each type of a player, given a node, shape ``(types,)``.

        The expectation is conditional on the node and on the player's type. It is NaN for a type
        that is impossible at the node, or without a compatible type of the opponent there. With
        ``best_response``, the player plays a best response from the node on.
        """
        [ev] = self.evs(player, profile, [node], best_response=best_response)
        return ev

    def evs(
        self,
        player: int,
        profile: Sequence[ArrayLike],
        nodes: Iterable[Path],
        *,
        best_response: bool = False,
    ) -> Sequence[Vector]:
        """Return ``ev`` at several nodes, by one pass over the tree."""
        check_player(player, self.players)
        strategies, found = as_strategies(self, profile), [*map(self._find, nodes)]
        layout, tree = self.layout, self.tree
        root = min((start for start, _ in found), default=0)
        if any(start >= layout.ends[root] for start, _ in found):
            root = 0
        values = self._terminal_utilities(player).values(strategies[1 - player], root)
        behavior = np.append(self.domains[player].behavior(strategies[player]), 0.0)
        if best_response:
            values[tree.player[root : root + len(values)] == player] = -np.inf
        for child in range(root + len(values) - 1, root, -1):
            parent = int(tree.parent[child])
            played = values[child - root]
            if tree.player[parent] == player and best_response:
                context = layout.contexts[layout.context[parent]]
                best, played = values[parent - root], context.mean(player, played)
                np.maximum(best, played, out=best)
                continue
            if tree.player[parent] == player:
                sequences = layout.sequences(player, layout.last[player, child])
                played = played * behavior[sequences - 1]
            values[parent - root] += played
        evs = list[Vector]()
        for start, image in found:
            context = layout.contexts[layout.context[start]]
            other = self._reach(1 - player, strategies[1 - player], start)
            met = self.deal.meeting(player).sums(other[np.newaxis]).free[0]
            weights = context.priors[player] * met * context.probability
            earned = context.mean(player, values[start - root])
            evs.append(_ratio(earned, weights)[image[player]])
        return evs

    def equity(
        self, player: int, node: Path = (), profile: Sequence[ArrayLike] | None = None
    ) -> Vector:
        """Return the probability that each type of a player wins a showdown, shape ``(types,)``.

        A tie counts 1/2. With a ``profile``, the opponent's types have the weights of ``reach``,
        otherwise those of the deal. The result is the mean over moves of chance after the node. It
        is NaN for an impossible type, or one without a compatible type of the opponent.

        Locked nodes count as decisions. Without a ``profile``, the equity is that of the game
        before ``lock``. With one, it includes the opponent's locks before the node.
        """
        check_player(player, self.players)
        strategies = None if profile is None else as_strategies(self, profile)
        (start, image), tree = self._find(node), self.tree.unlocked or self.tree
        contexts, context_of = self.layout.dealt
        orders: dict[int, set[str]] = {}  # for each move of chance, the strengths compared after it
        compared, starts = set(), {start: start}
        for at in range(start, self.layout.ends[start]):
            if at > start:
                starts[at] = at if tree.outcome[at] else starts[int(tree.parent[at])]
            if isinstance(terminal := tree.nodes[at], Compare):
                orders.setdefault(starts[at], set()).add(terminal.order)
                compared.add((int(context_of[at]), terminal.order))
        if not orders or any(len(names) > 1 for names in orders.values()):
            raise ValueError(
                f"equity needs one order of types after {self.tree.place(start)}, got "
                f"{'several' if orders else 'none'}"
            )
        won, met = np.zeros((2, self.deal.sizes[player]))
        start_context, shares = contexts[context_of[start]], np.ones(self.deal.sizes[1 - player])
        if strategies is not None:
            reach = self._reach(1 - player, strategies[1 - player], start)
            shares = np.nan_to_num(_ratio(reach, start_context.priors[1 - player]))
        for number, order in sorted(compared):
            context = contexts[number]
            reach = context.priors[1 - player] * shares
            sums = self.deal.meeting(player, order).sums(reach[np.newaxis])
            weight = context.probability * context.priors[player]
            won += weight * (sums.free[0] + sums.more[0]) / 2
            met += weight * sums.free[0]
        won, met = (start_context.mean(player, values) for values in (won, met))
        return _ratio(won, met)[image[player]]

    def lock(self, behaviors: Mapping[Path, ArrayLike | Mapping[str, ArrayLike]]) -> "PublicGame":
        """Return the game with fixed behaviors at some nodes.

        A locked node becomes a move of chance that depends on the player's type. A lock after an
        outcome with images also applies to the images, with permuted types.

        Parameters
        ----------
        behaviors
            For each node the probabilities of its actions, shape ``(actions,)``, or of each type
            and action, ``(types, actions)``. Or for each node a mapping from the name of each
            action to a probability, or to one for each type.
        """
        found = [(*self._find(path), behavior) for path, behavior in dict(behaviors).items()]
        locked = {at: (behavior, image) for at, image, behavior in found}
        if len(locked) < len(found):
            raise ValueError(
                f"behaviors must not have a node twice, also as an image, got {quote([*behaviors])}"
            )
        nodes: list[Any] = [*self.tree.nodes]
        following: list[dict[str, Node]] = [{} for _ in nodes]
        for at in reversed(range(len(nodes))):
            node, after = nodes[at], dict(reversed(following[at].items()))
            if at in locked:
                nodes[at] = self._locked(at, *locked[at], after)
            elif isinstance(node, Decision):
                nodes[at] = evolve(node, children=after)
            elif isinstance(node, Chance):
                outcomes = node.outcomes.items()
                nodes[at] = Chance({name: evolve(x, node=after[name]) for name, x in outcomes})
            if at:
                parent, action = self.tree.parent[at], self.tree.action[at]
                following[parent][self.tree.names[parent][action]] = nodes[at]
        tree = PublicTree(nodes[0])
        tree.unlocked = self.tree.unlocked or self.tree
        return evolve(self, tree=tree)

    def _locked(
        self,
        at: int,
        behavior: Any,
        image: tuple[Indices, Indices],
        following: Mapping[str, Node],
    ) -> Chance:
        if (player := int(self.tree.player[at])) < 0:
            raise ValueError(f"a locked node must be a decision, got {self.tree.place(at)}")
        name = f"the behavior at {self.tree.place(at)}"
        if isinstance(behavior, Mapping):
            if {*behavior} != {*following}:
                raise ValueError(must_be(name, f"of actions {candidates([*following])}", behavior))
            columns = [floats(behavior[action], name) for action in following]
            behavior = np.stack(np.broadcast_arrays(*columns), axis=-1)
        behavior, shape = floats(behavior, name), (self.deal.sizes[player], len(following))
        if behavior.shape not in (shape, shape[1:]):
            raise ValueError(f"{name} must have shape {shape[1:]} or {shape}, got {behavior.shape}")
        context = self.layout.contexts[self.layout.context[at]]
        alive = np.argsort(image[player])[context.alive[player]]
        full = np.zeros(shape)
        full[context.alive[player]] = np.broadcast_to(behavior, shape)[alive]
        played = full[context.alive[player]]
        right = (played >= 0.0).all(axis=1) & (np.abs(played.sum(axis=1) - 1.0) <= 1e-9)
        for i in np.flatnonzero(~right).tolist():
            raise ValueError(
                f"{name} must be at least 0 and sum to 1 for each type, got "
                f"{quote(played[i].tolist())} for {self.deal.types[player][alive[i]]}"
            )
        first = self.layout.first_types(player)[self.layout.context[at]]
        if not np.array_equal(full, full[first] * (first >= 0)[:, np.newaxis]):
            raise ValueError(
                f"{name} must be equal for types that symmetries of the deal exchange; otherwise "
                "lock the game without symmetries"
            )
        free = None
        return Chance(
            {
                name: Outcome(node, factors=(free, column) if player else (column, free))
                for column, (name, node) in zip(full.T, following.items(), strict=True)
            }
        )

    def __repr__(self) -> str:
        points = " + ".join(str(domain.points) for domain in self.domains)
        types = " x ".join(map(str, self.deal.sizes))
        return f"<{self.name or 'PublicGame'}: {points} decision points, {types} types>"


def _ratio(sums: Vector, weights: Vector) -> Vector:
    """Return ``sums / weights``, NaN where the weight is 0."""
    out = np.full(weights.size, np.nan)
    np.divide(sums, weights, out=out, where=weights > 0.0)
    return out
