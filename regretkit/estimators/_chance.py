"""Chance sampling: chance outcomes are drawn, all or the public ones, the rest enumerated."""

import abc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import as_generator, quote
from regretkit.estimators._estimator import Estimator
from regretkit.games import CHANCE, ExtensiveFormGame, Game, GameTree, GraphGame
from regretkit.games.tree._sequences import last_sequences, levels, reach_of_chance
from regretkit.sets import Simplices


class Split(NamedTuple):
    """What chance draws, and what of it is left open."""

    state: Indices
    """For each chance move, which draw decides about it; draws are numbered from 0."""
    kind: Indices
    """And what has to be drawn there; numbered through, those of a draw side by side."""
    probability: Vector
    """With which probability each kind is drawn."""


def chance_moves(tree: GameTree) -> Indices:
    """Return the histories that are chance's moves."""
    return 1 + np.flatnonzero(tree.player[tree.parent[1:]] == CHANCE)


def each_history(tree: GameTree) -> Split:
    """Let every chance history draw one of its moves."""
    moves = chance_moves(tree)
    _, state = np.unique(tree.parent[moves], return_inverse=True)
    return Split(state, np.arange(moves.size), tree.probability[moves])


def each_public_state(tree: GameTree) -> Split:
    """Let the chance histories of each public state share one draw, of the public outcome.

    Every player can tell the histories after one outcome from those after another.
    """
    moves = chance_moves(tree)
    public = _public_states(tree)
    pairs = np.stack([public[tree.parent[moves]], public[moves]])
    kinds, kind = np.unique(pairs, axis=1, return_inverse=True)
    _, state_of_kind = np.unique(kinds[0], return_inverse=True)
    kind = kind.ravel()
    # A draw is as probable as what may be drawn, by what chance alone does.
    drawn = segment_sum(kind, reach_of_chance(tree)[moves], kinds.shape[1])
    whole = segment_sum(state_of_kind, drawn, kinds.shape[1])[state_of_kind]
    probability = np.divide(drawn, whole, out=np.zeros(drawn.size), where=whole > 0.0)
    return Split(state_of_kind[kind], kind, probability)


def _public_states(tree: GameTree) -> Indices:
    """Return the number of each history's public state.

    Histories that some player cannot tell apart, or some of whose successors some player cannot
    tell apart, are in one public state.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    found = np.zeros(tree.histories, dtype=np.int64)
    used = 0
    for level in reversed([slice(0, 1), *levels(tree)]):
        # Histories, and things of which those that share one belong together
        histories, links, size = [], [], level.stop - level.start
        for player in range(tree.players):
            decisions = np.flatnonzero(tree.player[level] == player)
            histories.append(decisions)
            links.append(tree.information_set[level][decisions])
        begin, end = np.searchsorted(tree.parent, [level.start, level.stop])
        children = np.arange(max(begin, 1), end)
        histories.append(tree.parent[children] - level.start)
        links.append(found[children])
        total, ends = size, []
        for shared in links:
            numbers = np.unique(shared, return_inverse=True)[1]
            ends.append(total + numbers)
            total += int(numbers.max(initial=-1)) + 1
        row, column = np.concatenate(histories), np.concatenate(ends)
        graph = coo_array((np.ones(row.size), (row, column)), shape=(total, total))
        found[level] = used + connected_components(graph, directed=False)[1][:size]
        used = int(found[level].max()) + 1
    return found


@define(eq=False, init=False)
class ChanceDraws:
    """The chance moves of a game, flat: which of them lie before which terminal."""

    game: ExtensiveFormGame
    split: Split
    deals: Simplices
    """What may be drawn in each state, side by side."""
    levels: tuple[Indices, ...]
    """The moves, in the order in which they can come about."""
    previous: Indices
    """For each move, the chance move before it, -1 if none."""
    weight: Vector
    """How much more probable everything up to each move is than what was drawn for it."""
    last: Indices
    """For each terminal, the last chance move before it, -1 if none."""
    behind: Indices
    """How many histories have each move as their last one; the last entry, how many have none."""
    sequences: Indices
    """Last sequence of each player at each terminal, ``(players, terminals)``."""
    high: Vector
    """For each thing that may be drawn, the sum of the probabilities up to it; infinite for the
    last one of positive probability, which so gets the rounding error."""

    def __init__(self, game: ExtensiveFormGame, split: Split) -> None:
        self.game, self.split, tree = game, split, game.tree
        moves = chance_moves(tree)
        first = np.unique(split.kind, return_index=True)[1]
        self.deals = Simplices(np.bincount(split.state[first]))
        self.high = self.deals.cumulate(split.probability)
        possible = np.where(split.probability > 0.0, np.arange(self.high.size), -1)
        self.high[np.maximum.reduceat(possible, self.deals.first)] = np.inf

        last = np.full(tree.histories, -1)
        last[moves] = np.arange(moves.size)
        found = []
        for level in levels(tree):
            found.append(np.flatnonzero((level.start <= moves) & (moves < level.stop)))
            last[level] = np.where(last[level] < 0, last[tree.parent[level]], last[level])
        self.levels = tuple(level for level in found if level.size)
        self.previous = last[tree.parent[moves]]
        self.last = last[tree.terminals]
        self.behind = np.bincount(last % (moves.size + 1), minlength=moves.size + 1)
        self.sequences = last_sequences(tree)[:, tree.terminals]
        drawn = split.probability[split.kind]
        scale = np.divide(tree.probability[moves], drawn, out=np.zeros(moves.size), where=drawn > 0)
        self.weight = np.append(np.zeros(moves.size), 1.0)
        for moves in self.levels:
            self.weight[moves] = scale[moves] * self.weight[self.previous[moves]]

    def draw(self, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Return which moves can still come about after chance has drawn.

        The last entry stands for no move at all, which always can.
        """
        alive = np.zeros(self.previous.size + 1, dtype=np.bool_)
        alive[-1] = True
        happens = np.repeat(self.deals.sizes == 1, self.deals.sizes)
        for moves in self.levels:
            possible = moves[alive[self.previous[moves]]]
            states = np.unique(self.split.state[possible])
            self._draw(states[self.deals.sizes[states] > 1], happens, generator)
            alive[possible] = happens[self.split.kind[possible]]
        return alive

    def _draw(
        self, states: Indices, happens: NDArray[np.bool_], generator: np.random.Generator
    ) -> None:
        kinds = self.deals.coordinates(states)
        drawn = np.repeat(generator.random(states.size), self.deals.sizes[states])
        reached = drawn < self.high[kinds]
        # The first whose running sum lies above the draw: the one before is not above.
        opening = np.isin(kinds[1:], self.deals.first[states])
        happens[kinds[:1]] = reached[:1]
        happens[kinds[1:]] = reached[1:] & (~reached[:-1] | opening)

    def utility(self, alive: NDArray[np.bool_], player: int, profile: Sequence[Vector]) -> Vector:
        """Return the utility of a player over the terminals that can still come about."""
        terminals = np.flatnonzero(alive[self.last])
        value = self.game.tree.payoffs[terminals, player] * self.weight[self.last[terminals]]
        for opponent, strategy in enumerate(profile):
            if opponent != player:
                value = value * strategy[self.sequences[opponent, terminals]]
        sequences = self.sequences[player, terminals]
        return segment_sum(sequences, value, self.game.domains[player].dimension)


@define(eq=False)
class _DrawnChance(Estimator, Stateful):
    """Draws moves of chance, and goes through all actions of all players.

    Parameters
    ----------
    generator
        Draws the outcomes: one number for each draw with more than one outcome that can still
        occur, shorter histories first.

    Attributes
    ----------
    visited
        Number of histories that could still occur, over all calls so far.

    Raises
    ------
    TypeError
        When ``generator`` is not a numpy ``Generator``, or a game is not in extensive form.
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)
    visited: int = field(default=0, init=False, repr=False)
    _draws: ChanceDraws | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    @abc.abstractmethod
    def _draws_of(self, game: ExtensiveFormGame) -> ChanceDraws:
        """Return what is drawn in a game."""

    def draws(self, game: Game) -> ChanceDraws:
        """Return what is drawn in a game, kept until another game is asked for."""
        if self._draws is None or self._draws.game is not game:
            if not isinstance(game, ExtensiveFormGame):
                raise TypeError(
                    f"game must be in extensive form to sample its chance, got {quote(game)}"
                )
            self._draws = self._draws_of(game)
        return self._draws

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if isinstance(game, GraphGame):
            part = game.sample_chance(self.generator)
            self.visited += part.nodes
            return part.utility(player, profile)
        draws = self.draws(game)
        possible = draws.draw(self.generator)
        self.visited += int(draws.behind[possible].sum())
        return draws.utility(possible, player, profile)


@define(eq=False)
class ChanceSampling(_DrawnChance):
    """Draw one outcome at each chance history, and enumerate all actions of all players.

    Each chance history that can still occur draws one of its outcomes, anew at every call; in a
    ``GraphGame``, each chance node.
    Terminals that can still occur count with their payoff, all others with zero. The mean over
    draws is the exact utility, because a terminal remains with the probability that chance gives
    it.

    Its variance is that among chance's outcomes; the players' strategies add none to it. The
    compiled engine supports it, for every rule that it supports with exact utilities.

    Parameters
    ----------
    generator
        Draws the outcomes of chance.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = ChanceSampling(np.random.default_rng(1))
    >>> sampling.utility(game, 0, uniform).nonzero()[0]  # one card is dealt to player 0
    array([ 3,  4,  9, 10])

    References
    ----------
    Zinkevich, Johanson, Bowling and Piccione (2007), "Regret minimization in games with
    incomplete information", NIPS. Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo
    sampling for regret minimization in extensive games", NIPS.
    """

    def _draws_of(self, game: ExtensiveFormGame) -> ChanceDraws:
        return ChanceDraws(game, each_history(game.tree))


@define(eq=False)
class PublicChanceSampling(_DrawnChance):
    """Sample public chance outcomes, and enumerate private ones.

    In poker, the community cards are drawn, and all hands are played at once. What is public is
    found in the game's information sets: histories that some player cannot tell apart, now or
    later, are in one public state, and each of these makes one draw for all of its histories. A
    terminal that can still occur counts with its payoff times

        product over chance's moves before it of  (its probability) / (that of what was drawn)

    Its variance is that among public outcomes; neither private ones nor the players add any to it.
    A game in which no chance outcome is public is refused with a ``ValueError``.

    Parameters
    ----------
    generator
        Draws the outcomes of chance.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker
    >>> game = leduc_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = PublicChanceSampling(np.random.default_rng(1))
    >>> drawn = sampling.utility(game, 0, uniform)  # one card after each sequence of first bets
    >>> bool(sampling.visited < game.tree.histories / 4)
    True

    References
    ----------
    Johanson, Bard, Lanctot, Gibson and Bowling (2012), "Efficient Nash equilibrium approximation
    through Monte Carlo counterfactual regret minimization", AAMAS. Its text could not be checked;
    the mean is, sample by sample.
    """

    def _draws_of(self, game: ExtensiveFormGame) -> ChanceDraws:
        draws = ChanceDraws(game, each_public_state(game.tree))
        if (draws.deals.sizes == 1).all():
            raise ValueError(
                f"chance does nothing in {quote(game)} that every player sees; pass "
                "ChanceSampling(generator), which draws private outcomes as well"
            )
        return draws
