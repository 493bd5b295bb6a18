"""Chance sampling: draw the outcomes of chance, and enumerate the players' actions."""

from collections.abc import Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import as_generator, quote
from regretkit.estimators._estimator import Estimator
from regretkit.games import CHANCE, ExtensiveFormGame, Game, GraphGame
from regretkit.games.tree._sequences import last_sequences, levels
from regretkit.sets import Simplices


@define(eq=False, init=False)
class ChanceDraws:
    """The chance moves of a game in flat arrays. Moves of one chance history are adjacent."""

    game: ExtensiveFormGame
    deals: Simplices
    """The moves of each chance history."""
    levels: tuple[Indices, ...]
    """The moves by depth."""
    previous: Indices
    """For each move, the chance move before it, -1 if none."""
    last: Indices
    """For each terminal, the last chance move before it, -1 if none."""
    behind: Indices
    """For each move, the number of histories whose last chance move it is. A final entry counts the
    histories without chance moves."""
    sequences: Indices
    """Last sequence of each player at each terminal, shape ``(players, terminals)``."""
    high: Vector
    """For each move, the cumulative probability in its chance history. It is infinite at the last
    move of positive probability, which gets the rounding error."""
    _state: Indices
    """For each move, the number of its chance history."""

    def __init__(self, game: ExtensiveFormGame) -> None:
        self.game, tree = game, game.tree
        moves = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == CHANCE)
        _, self._state, sizes = np.unique(
            tree.parent[moves], return_inverse=True, return_counts=True
        )
        probability = tree.probability[moves]
        self.deals = Simplices(sizes)
        self.high = self.deals.cumulate(probability)
        possible = np.where(probability > 0.0, np.arange(self.high.size), -1)
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

    def draw(self, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Draw an outcome of each reachable chance history; return whether each move is reached.

        A final entry, for histories without chance moves, is True.
        """
        alive = np.zeros(self.previous.size + 1, dtype=np.bool_)
        alive[-1] = True
        happens = np.repeat(self.deals.sizes == 1, self.deals.sizes)
        for moves in self.levels:
            possible = moves[alive[self.previous[moves]]]
            states = np.unique(self._state[possible])
            self._draw(states[self.deals.sizes[states] > 1], happens, generator)
            alive[possible] = happens[possible]
        return alive

    def _draw(
        self, states: Indices, happens: NDArray[np.bool_], generator: np.random.Generator
    ) -> None:
        moves = self.deals.coordinates(states)
        drawn = np.repeat(generator.random(states.size), self.deals.sizes[states])
        reached = drawn < self.high[moves]
        # Inverse transform: the first move whose cumulative probability exceeds the draw.
        opening = np.isin(moves[1:], self.deals.first[states])
        happens[moves[:1]] = reached[:1]
        happens[moves[1:]] = reached[1:] & (~reached[:-1] | opening)

    def utility(self, alive: NDArray[np.bool_], player: int, profile: Sequence[Vector]) -> Vector:
        """Return a player's utility over the reached terminals."""
        terminals = np.flatnonzero(alive[self.last])
        value = self.game.tree.payoffs[terminals, player]
        for opponent, strategy in enumerate(profile):
            if opponent != player:
                value = value * strategy[self.sequences[opponent, terminals]]
        sequences = self.sequences[player, terminals]
        return segment_sum(sequences, value, self.game.domains[player].dimension)


@define(eq=False)
class ChanceSampling(Estimator, Stateful):
    """Draw one outcome at each chance history, and enumerate all actions of all players.

    With Z the terminals that the drawn outcomes allow, the estimate at sequence a is

        u[a]  =  sum over z in Z after a of  payoff(z) times the opponents' probabilities to play z

    It is unbiased, because z is in Z with its probability under chance. Only chance adds variance.
    In a ``GraphGame``, each chance node draws one outcome. The compiled engine supports this
    estimator.

    Parameters
    ----------
    generator
        A random generator, or its seed. Each call draws one number for each reached chance history
        with more than one outcome.

    Attributes
    ----------
    visited
        Number of visited histories in all calls.

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

    generator: np.random.Generator = field(converter=as_generator, repr=False)
    visited: int = field(default=0, init=False, repr=False)
    _draws: ChanceDraws | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    def draws(self, game: Game) -> ChanceDraws:
        """Return the chance moves of a game. Those of the last game are cached."""
        if self._draws is None or self._draws.game is not game:
            if not isinstance(game, ExtensiveFormGame):
                raise TypeError(
                    f"game must be in extensive form for chance sampling, got {quote(game)}"
                )
            self._draws = ChanceDraws(game)
        return self._draws

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if isinstance(game, GraphGame):
            part = game.sample_chance(self.generator)
            self.visited += part.nodes
            return part.utility(player, profile)
        draws = self.draws(game)
        alive = draws.draw(self.generator)
        self.visited += int(draws.behind[alive].sum())
        return draws.utility(alive, player, profile)
