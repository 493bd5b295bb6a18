"""Monte Carlo CFR: estimators that traverse a sampled part of a game."""

import abc
from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import numpy as np
from attrs import define, field
from attrs.validators import optional
from typing_extensions import override

from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_generator, of_kind, quote
from regretkit.estimators._baselines import Baseline
from regretkit.estimators._estimator import Estimator
from regretkit.estimators.flat._action_sampling import (
    Choose,
    Decision,
    SamplingData,
    SamplingRule,
    follow_average,
    pick,
)
from regretkit.estimators.flat._flat_tree import (
    FlatTree,
    TraversalBuffers,
    flat_tree,
    traversal_buffers,
)
from regretkit.estimators.flat._traversal import Walk, walker
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.sets import DecisionTree, StrategySet

_NO_BASELINE = np.zeros((1, 1))
NONE = np.zeros(0)


class FlatGame(NamedTuple):
    """A game in flat arrays, and what its traversals write to."""

    game: ExtensiveFormGame
    tree: FlatTree
    buffers: TraversalBuffers
    behavior: Vector
    utility: Vector


@define(eq=False)
class TraversalEstimator(Estimator, Stateful):
    """Samples some actions of the updated player, and one of every other player and of chance.

    A subclass chooses among the player's own actions, and provides the data for that.

    Parameters
    ----------
    generator
        Draws, depth first, actions in their order.
    baseline
        Baseline values of histories, none by default.

    Attributes
    ----------
    visited
        Number of histories visited so far, first and last ones included; in normal form, of
        payoffs read.

    Raises
    ------
    TypeError, ValueError
        When ``generator`` is not a numpy ``Generator``, ``baseline`` is none, a parameter is out of
        range, or a game is neither in extensive nor in normal form.
    """

    generator: np.random.Generator = field(repr=False, validator=check_generator)
    baseline: Baseline | None = field(
        default=None,
        kw_only=True,
        validator=optional(of_kind(Baseline, "LearnedBaseline()")),
    )
    visited: int = field(default=0, init=False, repr=False)
    _flat_game: FlatGame | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    _walk: Walk | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    """The traversal as machine code, where an engine has compiled it."""

    @abc.abstractmethod
    def _choose(self) -> Choose:
        """Return what samples actions."""

    def _sampling_data(self, game: Game) -> SamplingData:
        """Return the arrays that this depends on and may write to, empty ones by default."""
        return NONE, NONE

    def _parameters(self) -> Sequence[float]:
        """Return the numbers that this depends on."""
        return ()

    @final
    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if isinstance(game, NormalFormGame):
            return self._in_normal_form(game, player, profile)
        _, tree, buffers, behavior, utility = flat = self.flat_game(game)
        behaviors(game.domains, profile, behavior)
        sequences = slice(*tree.sequences[player : player + 2].tolist())
        utility[sequences] = 0.0
        baseline = _NO_BASELINE
        if self.baseline is not None:
            baseline = self.baseline.baseline_values(flat.game, tree, behavior)
        walk = self._walk or walker(self._choose(), self.baseline is not None)
        data, parameters = self._sampling_data(game), np.array(self._parameters())
        arguments = (tree, behavior, utility, buffers, data, parameters, baseline)
        _, visited = walk(player, *arguments, self.generator)
        self.visited += int(visited)
        if self.baseline is not None:
            self.baseline.update(player, visited, buffers)
        return utility[sequences].copy()

    @final
    def flat_game(self, game: Game) -> FlatGame:
        """Return a game in flat arrays, or refuse it."""
        if self._flat_game is None or self._flat_game.game is not game:
            if not isinstance(game, ExtensiveFormGame):
                raise TypeError(
                    f"game must be in extensive or in normal form to be sampled, got {quote(game)}"
                )
            tree = flat_tree(game)
            size = int(tree.sequences[-1])
            buffers = traversal_buffers(tree, with_baseline=self.baseline is not None)
            behavior = np.concatenate([np.zeros(size), tree.chances])
            self._flat_game = FlatGame(game, tree, buffers, behavior, np.zeros(size))
        return self._flat_game

    @final
    def _in_normal_form(
        self, game: NormalFormGame, player: int, profile: Sequence[Vector]
    ) -> Vector:
        if self.baseline is not None:
            raise TypeError(
                f"{quote(self.baseline)} has values of histories, and {quote(game)} has none; "
                "leave the baseline out, or pass BanditFeedback(generator, baseline=...)"
            )
        begin = starts(game.domains)
        behavior, root = np.zeros(int(begin[-1])), int(begin[player])
        behaviors(game.domains, profile, behavior)
        utility, data = np.zeros(profile[player].size), self._sampling_data(game)
        size, sampled = utility.size, 0
        actions, probabilities = np.zeros(size, dtype=np.uint32), np.zeros(size)
        if self._choose() is follow_average:
            data[0][root] += 1.0

        def choose() -> None:
            nonlocal sampled
            decision = Decision(player, root, root + 1, size, 1.0, 1.0 / size)
            rule = SamplingRule(data, np.array(self._parameters()), self.generator)
            sampled = self._choose()(decision, behavior, actions, probabilities, rule)

        payoffs = payoffs_against_draws(game, player, profile, self.generator, choose)
        self.visited += sampled
        chosen = actions[:sampled]
        utility[chosen] = payoffs[chosen] / probabilities[:sampled]
        return utility


def payoffs_against_draws(
    game: NormalFormGame,
    player: int,
    profile: Sequence[Vector],
    generator: np.random.Generator,
    choose: Callable[[], None],
) -> Vector:
    """Return the payoffs of a player's actions against actions drawn by all others, in order.

    In the player's turn, ``choose`` is called, and may draw as well.
    """
    index: list[int | slice] = []
    for opponent, strategy in enumerate(profile):
        if opponent == player:
            choose()
            index.append(slice(None))
        else:
            index.append(pick(generator, strategy, 0, strategy.size))
    payoffs: Vector = game.payoffs[(player, *index)]
    return payoffs


def starts(domains: Sequence[StrategySet]) -> Indices:
    """Return where each player's sequences begin when concatenated, and where all end.

    Simplices count as a tree whose decision points all follow the empty sequence.
    """
    sizes = [d.dimension + (not isinstance(d, DecisionTree)) for d in domains]
    return np.cumsum([0, *sizes])


def behaviors(domains: Sequence[StrategySet], profile: Sequence[Vector], behavior: Vector) -> None:
    """Write all players' distributions, uniform at decision points that are never reached."""
    begin = starts(domains)
    for player, (domain, strategy) in enumerate(zip(domains, profile, strict=True)):
        distributions = behavior[begin[player] + 1 : begin[player + 1]]
        if isinstance(domain, DecisionTree):
            strategy = domain.behavior(strategy)
        distributions[...] = strategy
