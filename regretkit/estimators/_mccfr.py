"""What estimators have in common that walk through a part of a game."""

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
from regretkit.estimators.flat._action_sampling import Choose, Notes, follow_average, pick
from regretkit.estimators.flat._flat_tree import (
    FlatTree,
    TraversalBuffers,
    flat_tree,
    traversal_buffers,
)
from regretkit.estimators.flat._traversal import Walk, walker
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.sets import DecisionTree, StrategySet

_NO_GUESSES = np.zeros((1, 1))
NONE = np.zeros(0)


class FlatGame(NamedTuple):
    """A game laid out for walking."""

    game: ExtensiveFormGame
    flat: FlatTree
    desk: TraversalBuffers
    behavior: Vector
    utility: Vector


@define(eq=False)
class TraversalEstimator(Estimator, Stateful):
    """Follows some of a player's own actions, and one of every other player's.

    A subclass chooses among the own ones, and provides the data that this needs.
    """

    generator: np.random.Generator = field(repr=False, validator=check_generator)
    baseline: Baseline | None = field(
        default=None,
        kw_only=True,
        validator=optional(of_kind(Baseline, "LearnedBaseline()")),
    )
    visited: int = field(default=0, init=False, repr=False)
    _laid: FlatGame | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    _walk: Walk | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    """The traversal as machine code, where an engine has compiled it."""

    @abc.abstractmethod
    def _choose(self) -> Choose:
        """Return what chooses."""

    @abc.abstractmethod
    def _notes(self, game: Game) -> Notes:
        """Return the arrays that it goes by, and may write to."""

    def _numbers(self) -> Sequence[float]:
        """Return the numbers that it goes by."""
        return ()

    @final
    @override
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if isinstance(game, NormalFormGame):
            return self._in_normal_form(game, player, profile)
        laid = self.laid(game)
        behaviors(game.domains, profile, laid.behavior)
        own = slice(*laid.flat.sequences[player : player + 2].tolist())
        laid.utility[own] = 0.0
        guesses = _NO_GUESSES
        if self.baseline is not None:
            guesses = self.baseline.guesses(laid.game, laid.flat, laid.behavior)
        walk = self._walk or walker(self._choose(), self.baseline is not None)
        known = (laid.flat, laid.behavior, laid.utility, laid.desk, self._notes(game))
        numbers = np.array(self._numbers())
        _, visited = walk(player, *known, numbers, guesses, self.generator)
        self.visited += visited
        if self.baseline is not None:
            self.baseline.learn(player, visited, laid.desk)
        return laid.utility[own].copy()

    @final
    def laid(self, game: Game) -> FlatGame:
        """Return a game laid out for walking, or refuse it."""
        if self._laid is None or self._laid.game is not game:
            if not isinstance(game, ExtensiveFormGame):
                raise TypeError(
                    f"game must be in extensive or in normal form to be sampled, got {quote(game)}"
                )
            flat = flat_tree(game)
            size = int(flat.sequences[-1])
            desk = traversal_buffers(flat, trailing=self.baseline is not None)
            weights = np.concatenate([np.zeros(size), flat.chances])
            self._laid = FlatGame(game, flat, desk, weights, np.zeros(size))
        return self._laid

    @final
    def _in_normal_form(
        self, game: NormalFormGame, player: int, profile: Sequence[Vector]
    ) -> Vector:
        if self.baseline is not None:
            raise TypeError(
                f"{quote(self.baseline)} guesses what histories are worth, and {quote(game)} has "
                "none; leave the baseline out, or pass BanditFeedback(generator, baseline=...)"
            )
        begin = starts(game.domains)
        behavior, own = np.zeros(int(begin[-1])), int(begin[player])
        behaviors(game.domains, profile, behavior)
        worth, notes = np.zeros(profile[player].size), self._notes(game)
        follow, share, followed = np.zeros(worth.size, dtype=np.uint32), np.zeros(worth.size), 0
        if self._choose() is follow_average:
            notes[0][own] += 1.0

        def choose() -> None:
            nonlocal followed
            here = (player, own, own + 1, worth.size, 1.0, 1.0 / worth.size)
            known = (notes, np.array(self._numbers()), self.generator)
            followed = self._choose()(here, behavior, follow, share, known)

        payoffs = against_draws(game, player, profile, self.generator, choose)
        self.visited += followed
        worth[follow[:followed]] = payoffs[follow[:followed]] / share[:followed]
        return worth


def against_draws(
    game: NormalFormGame,
    player: int,
    profile: Sequence[Vector],
    generator: np.random.Generator,
    follow: Callable[[], None],
) -> Vector:
    """Return what a player's actions earn against what all others draw, in the players' order.

    When it is the player's turn, ``follow`` is called, and may draw as well.
    """
    place: list[int | slice] = []
    for other, strategy in enumerate(profile):
        if other == player:
            follow()
            place.append(slice(None))
        else:
            place.append(pick(generator, strategy, 0, strategy.size))
    against: Vector = game.payoffs[(player, *place)]
    return against


def starts(domains: Sequence[StrategySet]) -> Indices:
    """Return where each player's sequences begin when they lie end to end, and where all end.

    Simplices count as a tree whose decision points all follow the empty sequence.
    """
    sizes = [d.dimension + (not isinstance(d, DecisionTree)) for d in domains]
    return np.cumsum([0, *sizes])


def behaviors(domains: Sequence[StrategySet], profile: Sequence[Vector], behavior: Vector) -> None:
    """Write all players' distributions, uniform at decision points that are never reached."""
    begin = starts(domains)
    for player, (domain, strategy) in enumerate(zip(domains, profile, strict=True)):
        own = behavior[begin[player] + 1 : begin[player + 1]]
        own[...] = domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy
