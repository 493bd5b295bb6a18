"""Self-play on a graph of states: strategies stay fixed while play passes over it, and back."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import define, field
from attrs.converters import optional

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import as_generator, check_kind, whole_number
from regretkit.circuits._base import LocalRule, local_minimizer
from regretkit.games import GameDAG, Profile
from regretkit.games._game_dag import SubDAG
from regretkit.minimizer import RegretMinimizer
from regretkit.play._averaging import Average, Averaging, Uniform
from regretkit.play._orders import Order, Simultaneous
from regretkit.play._run import interruptible


@define(eq=False)
class FixedStrategyIteration(Stateful):
    """Counterfactual regret minimization on a graph of states, FSICFR.

    Strategies stay fixed for an iteration. One pass forward adds up, for each state, the
    probabilities of all ways that lead to it; one pass backward gives the value of each state.
    Every state is looked at once, however many ways lead to it:

        w[s]   =  sum of the others' and chance's probabilities over all ways to s
        u[a]   =  sum of w[s] V[state after a in s] over the states s of a's information set

    These are the counterfactual utilities that a sweep of the tree gives, from which the local
    rules learn. So where nothing but terminals is merged, this is CFR to rounding. Averages weigh
    an iteration's strategy at an information set by the player's own and chance's probabilities,
    over all ways to its states.

    Where players forget, no regret bound says where this leads, as on the tree: what comes out is
    measured, by ``GameDAG.to_tree_profile`` and an exact best response, or by sampled play.

    Parameters
    ----------
    graph
        The game.
    local
        Called with each player's information sets as ``Simplices``, returns one minimizer for all
        of them: the class of any leaf, ``PerDecisionPoint`` or ``ByDecisionPoint``.
    order, averaging
        As ``SelfPlay`` takes them; by default players learn simultaneously.
    generator
        Draws what chance does, once an iteration, as the paper has it; without one, iterations
        sweep everything that chance may do.

    Attributes
    ----------
    iteration, visited
        Number of iterations so far, and of states visited in all passes forward.

    Raises
    ------
    TypeError, ValueError
        When ``graph`` is none, ``local`` makes no minimizer for its information sets, or another
        argument is of another kind.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import Dudo, GameDAG
    >>> graph = GameDAG.from_history(Dudo(sides=3, memory=1))
    >>> run = FixedStrategyIteration(graph, RegretMatching).run(300)
    >>> run.average[1, "3:2x3"].round(2)  # to claim two ones, or to doubt that there are two threes
    array([0., 1.])

    References
    ----------
    Neller and Hnath (2011), "Approximating optimal Dudo play with fixed-strategy iteration
    counterfactual regret minimization", Advances in Computer Games. Neller and Lanctot (2013), "An
    introduction to counterfactual regret minimization", section 5.
    """

    graph: GameDAG
    local: LocalRule
    order: Order = field(factory=Simultaneous, kw_only=True)
    averaging: Averaging = field(factory=Uniform, kw_only=True)
    generator: np.random.Generator | None = field(
        default=None, kw_only=True, repr=False, converter=optional(as_generator)
    )
    iteration: int = field(default=0, init=False)
    visited: int = field(default=0, init=False)
    minimizers: tuple[RegretMinimizer, ...] = field(init=False, repr=False)
    _averages: tuple[Average, ...] = field(init=False, repr=False)
    _part: SubDAG | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    _played: dict[int, Vector] = field(factory=dict, init=False, repr=False, metadata=NOT_STATE)
    """For each player that has learned in this iteration, what it played and how it came there."""

    def __attrs_post_init__(self) -> None:
        check_kind(self.graph, GameDAG, "graph", "GameDAG.from_tree(game.tree)")
        check_kind(self.order, Order, "order", "Simultaneous()")
        check_kind(self.averaging, Averaging, "averaging", "Uniform()")
        self.order.check_players(self.players)
        self.minimizers = tuple(
            local_minimizer(self.local, simplices) for simplices in self.graph.simplices
        )
        self._averages = tuple(Average(self.averaging) for _ in self.minimizers)

    def run(self, iterations: int) -> Self:
        """Play on for some iterations, and return the run.

        Raises
        ------
        TypeError, ValueError, RuntimeError, KeyboardInterrupt
            As ``SelfPlay.run``.
        """
        iterations = whole_number(iterations, "iterations", minimum=0)
        with interruptible() as interrupted:
            for _ in range(iterations):
                if interrupted():
                    break
                self._iterate()
        return self

    def _iterate(self) -> None:
        self._part = None if self.generator is None else self.graph.sample_chance(self.generator)
        self._played = {}
        asked = [self.strategy(player) for player in range(self.players)]
        self.order.iterate(self)
        for player, average in enumerate(self._averages):
            if player not in self._played:
                reach = self._utility(player, asked)[1]
                self._played[player] = reach * asked[player]
            average.add(self._played[player])
        self.iteration += 1

    def _utility(self, player: int, behaviors: Sequence[Vector]) -> tuple[Vector, Vector]:
        part = self.graph.full if self._part is None else self._part
        self.visited += part.nodes
        return self.graph.utility(player, behaviors, part)[:2]

    # The players, as an order of play sees them

    @property
    def players(self) -> int:
        """Number of players."""
        return self.graph.players

    def strategy(self, player: int) -> Vector:
        """Return a player's probabilities at all its information sets, read-only."""
        return self.minimizers[player].next_strategy()

    def profile(self) -> list[Vector]:
        """Return what all players would play now, in a list of which entries may be replaced."""
        return [minimizer.next_strategy() for minimizer in self.minimizers]

    def learn(self, player: int, profile: Sequence[Vector]) -> None:
        """Let a player observe the utilities of its actions at ``profile``."""
        strategy = self.strategy(player)
        behaviors = [strategy if at == player else other for at, other in enumerate(profile)]
        utility, reach = self._utility(player, behaviors)
        self._played.setdefault(player, reach * strategy)
        self.minimizers[player].observe_utility(utility)

    def expect(self, player: int, profile: Sequence[Vector] | None) -> None:
        """Predict the utilities of a player's actions at ``profile``, or zero without one."""
        minimizer = self.minimizers[player]
        if profile is None:
            minimizer.expect_utility(np.zeros(minimizer.dimension))
        else:
            minimizer.expect_utility(self._utility(player, profile)[0])

    # What came of it

    @property
    def current(self) -> Profile:
        """The next iteration's probabilities at each information set."""
        return Profile(self.profile(), self.graph.simplices)

    @property
    def average(self) -> Profile:
        """The average probabilities at each information set, uniform at those never reached.

        Raises
        ------
        ValueError
            When nothing was played yet.
        """
        pairs = zip(self.graph.simplices, self._averages, strict=True)
        averages = [simplices.normalize(average.strategy) for simplices, average in pairs]
        return Profile(averages, self.graph.simplices)
