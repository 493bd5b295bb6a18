"""A game as a graph of states: histories that go on alike are one state, come to by many ways."""

from collections.abc import Callable, Hashable, Sequence
from typing import final

import numpy as np
from attrs import define

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._adapters import Playable, as_history
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._imperfect_recall import ImperfectRecallGame
from regretkit.games._profile import Profile
from regretkit.games.dag._build import Merged, in_levels, merged_history, merged_tree
from regretkit.games.dag._build_levels import merged_levels
from regretkit.games.dag._passes import Edges, Part
from regretkit.games.dag._sampling import Draws
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL, History
from regretkit.sets import Simplices


@final
@define(eq=False, repr=False, init=False)
class GameDAG:
    """A game whose histories are put together where they go on alike.

    Histories with the same information sets, actions and payoffs from then on are one state, which
    is come to in many ways. Where players remember little, as in Dudo with the last claims only,
    there are far fewer states than histories: their number grows with what is remembered and not
    with the number of ways to get there.

    States are numbered level by level, state 0 being the beginning; a level is as long as the
    longest way to its states. Everything is in flat arrays, so that a pass over the graph takes a
    few array operations for each level.

    Examples
    --------
    >>> from regretkit.games import dudo_history
    >>> GameDAG.from_history(dudo_history(memory=1))
    <GameDAG: 873 states in 16 levels, 72 + 72 information sets>
    >>> GameDAG.from_history(dudo_history(sides=3))  # of 1,147 histories
    <GameDAG: 582 states in 10 levels, 96 + 96 information sets>

    References
    ----------
    Neller and Hnath (2011), "Approximating optimal Dudo play with fixed-strategy iteration
    counterfactual regret minimization", Advances in Computer Games. Neller and Lanctot (2013), "An
    introduction to counterfactual regret minimization", section 5.
    """

    player: Indices
    """Who acts in each state: a player, ``CHANCE``, or ``TERMINAL`` at an end."""
    information_set: Indices
    """Number of the acting player's information set, -1 where none acts."""
    simplices: tuple[Simplices, ...]
    """The information sets of each player side by side, with their names."""
    levels: Indices
    """How many states come before each level, and in all, shape ``(levels + 1,)``."""
    full: Part
    """The graph, ready for passes."""
    _chances: Vector
    """Concatenated probabilities: a buffer for those of players, chance's, and a 1."""
    _firsts: Indices
    """Where each player's begin, and chance's."""
    _edges_before: Indices
    """How many moves come before those of each state, and in all."""
    _draws: Draws

    def __init__(self, merged: Merged) -> None:
        order, self.levels = in_levels(merged)
        states = [merged.states[number] for number in order]
        players = max((len(state.payoffs) for state in states), default=0)
        if len(merged.labels) > players:
            raise ValueError(
                f"player {len(merged.labels) - 1} acts, but payoffs() has {players} numbers; "
                "players are numbered from 0, and each needs a payoff"
            )
        names = list(zip(merged.labels, merged.actions, strict=True))
        names += [([], [])] * (players - len(names))
        self.simplices = tuple(
            Simplices([len(own) for own in actions], labels=labels, actions=actions)
            for labels, actions in names
        )
        self.player = np.array([state.player for state in states])
        self.information_set = np.array([state.information_set for state in states])
        self._edges_before = np.cumsum([0, *(len(state.children) for state in states)])
        place = np.argsort(order)
        child = place[np.array([c for state in states for c in state.children], dtype=np.int64)]
        drawn = [chance for state in states for chance in state.chances]
        dimensions = [own.dimension for own in self.simplices]
        self._firsts = np.cumsum([0, *dimensions])
        self._chances = np.concatenate([np.zeros(sum(dimensions)), drawn, [1.0]])
        payoffs = np.zeros((players, len(states)))
        for number, state in enumerate(states):
            if state.player == TERMINAL:
                payoffs[:, number] = state.payoffs
        self.full = Part(self._edges(child), self.levels, payoffs)
        self._draws = Draws(self.full, self.player, self.levels, self._edges_before, self._chances)

    @classmethod
    def from_history(
        cls, game: Playable, state: Callable[[History], Hashable] | None = None
    ) -> "GameDAG":
        """Walk a game from its first history, each state once.

        Parameters
        ----------
        game
            The empty history, or any other argument of :func:`as_history`.
        state
            Called with a history, returns what of the past still matters: two histories for which
            it is equal must have equal continuations, information sets included. By default the
            history's own method ``state()``, or a level's ``state(at)``, which returns a row of
            numbers for each of those histories.

        Raises
        ------
        TypeError
            When ``game`` is none, or there is no ``state``.
        ValueError
            When two histories of one state can be seen to differ, an information set has different
            actions, or states come back. The first two histories of a state are compared with all
            that follows at once, and others without: a ``state`` that forgets what only matters
            for some, and much later, may pass.
        """
        root = as_history(game)
        if state is None and root is not game and callable(getattr(game, "state", None)):
            return cls(merged_levels(game))  # type: ignore[arg-type]
        if state is None:
            state = getattr(type(root), "state", None)
        if not callable(state):
            raise TypeError(
                f"state must be a function of a history, got {quote(state)}, and {quote(root)} has "
                "no method state() of its own; return what of the past still matters"
            )
        return cls(merged_history(root, state))

    @classmethod
    def from_tree(cls, tree: GameTree) -> "GameDAG":
        """Merge all histories of a tree that have equal continuations, and no others.

        The graph is the smallest possible. If all players observe and remember all actions, only
        terminals and subtrees without decisions are merged.

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
        return cls(merged_tree(tree))

    @property
    def states(self) -> int:
        """Number of states, ends of the game included."""
        return self.player.size

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.simplices)

    def utility(
        self, player: int, behaviors: Sequence[Vector], part: Part | None = None
    ) -> tuple[Vector, Vector, float]:
        """Return the counterfactual utilities of a player, its reach of actions, and its value.

        All players play ``behaviors``, the player itself included after each of its actions. The
        utility of an action is the sum, over all states of its information set, of the
        probability with which chance and the other players reach the state, on all paths, times
        the expected payoff of the action there; these are the counterfactual utilities of the
        tree, of shape ``(dimension,)``. The reach of an action is the sum over all paths of the
        probabilities of the player's own moves and chance's.

        Parameters
        ----------
        player
            Whose actions.
        behaviors
            For each player the probabilities of its actions, those of one information set after
            those of the other.
        part
            What chance has left, by :meth:`sample_chance`; by default the whole graph.
        """
        probabilities = self._chances.copy()
        for first, behavior in zip(self._firsts, behaviors, strict=False):
            probabilities[first : first + behavior.size] = behavior
        on, first = self.full if part is None else part, int(self._firsts[player])
        return on.counterfactual(player, probabilities, first, self.simplices[player].dimension)

    def sample_chance(self, generator: np.random.Generator) -> Part:
        """Draw once what chance does in each state that may then be come to.

        What is left of the graph gives utilities whose mean are those of the whole. It is kept for
        when chance draws the same again.
        """
        return self._draws.draw(generator)

    def to_tree_profile(
        self, behaviors: Sequence[Vector], game: ExtensiveFormGame | ImperfectRecallGame
    ) -> Profile:
        """Return the profile of a game's tree with the behaviors of this graph, for evaluation.

        For imperfect recall, a profile of ``game.refinement``, constant on each original
        information set.

        Parameters
        ----------
        behaviors
            As :meth:`utility` takes them.
        game
            The game of this graph with its tree: information sets have the same names there.

        Raises
        ------
        TypeError
            When ``game`` is no game in extensive form.
        ValueError
            When an information set of the game is none of this graph, or its name is not unique.

        Examples
        --------
        >>> from regretkit.games import GameTree, ImperfectRecallGame, dudo_history
        >>> root = dudo_history(sides=2, memory=1)
        >>> graph = GameDAG.from_history(root)
        >>> game = ImperfectRecallGame(GameTree.from_history(root))
        >>> profile = graph.to_tree_profile([own.uniform() for own in graph.simplices], game)
        >>> game.refinement.value(profile)
        array([ 0.125, -0.125])
        """
        if isinstance(game, ImperfectRecallGame):
            played, kinds = game.refinement, game.coarse_information_set
        elif isinstance(game, ExtensiveFormGame):
            played, kinds = game, tuple(np.arange(own.points) for own in game.domains)
        else:
            raise TypeError(f"game must be a game in extensive form, got {quote(game)}")
        unfolded = []
        for player, (own, domain) in enumerate(zip(self.simplices, played.domains, strict=True)):
            here = _places(own, game.tree.labels[player])[kinds[player]]
            if not np.array_equal(own.sizes[here], domain.sizes):
                raise ValueError(f"game has other actions for player {player} than this graph")
            unfolded.append(domain.sequence_form(behaviors[player][own.coordinates(here)]))
        return Profile(unfolded, played.domains, played)

    def _edges(self, child: Indices) -> Edges:
        """Return all moves, and where their probabilities stand."""
        counts = np.diff(self._edges_before)
        source = np.repeat(np.arange(self.states), counts)
        mover, number = self.player[source], self.information_set[source]
        offset = np.arange(source.size) - self._edges_before[source]
        place = np.empty(source.size, dtype=np.int64)
        for player, own in enumerate(self.simplices):
            here = np.flatnonzero(mover == player)
            place[here] = self._firsts[player] + own.first[number[here]] + offset[here]
        chance = np.flatnonzero(mover == CHANCE)
        place[chance] = self._firsts[-1] + np.arange(chance.size)
        return Edges(source, child, mover, place)

    def __repr__(self) -> str:
        sets = " + ".join(str(own.blocks) for own in self.simplices)
        return (
            f"<GameDAG: {self.states} states in {self.levels.size - 1} levels, "
            f"{sets} information sets>"
        )


def _places(own: Simplices, labels: Sequence[str]) -> Indices:
    """Return the numbers of a player's information sets by their names in a tree."""
    names = [own.labels.block(number) for number in range(own.blocks)]
    if names == list(labels):
        return np.arange(own.blocks)
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise ValueError("information sets of this graph share a name; give them different ones")
    missing = [label for label in labels if label not in numbers]
    if missing:
        raise ValueError(
            f"game has information set {quote(missing[0])}, which this graph does not have; pass "
            "the game with the same rules, and what players remember"
        )
    return np.array([numbers[label] for label in labels], dtype=np.int64)
