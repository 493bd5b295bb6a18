"""Local best response: a lower bound of what a best response earns, for games of any size."""

from collections.abc import Hashable, Sequence
from typing import TypeAlias, final

import numpy as np
from attrs import define, field

from regretkit._arrays import total_by
from regretkit._typing import Vector
from regretkit._validate import quote, vector, whole_number
from regretkit.evaluation.estimate import Estimate
from regretkit.evaluation.sampled_play import (
    Bounds,
    check_generator,
    choices,
    estimates,
    pick,
    play_out,
)
from regretkit.games import Game, History, Playable
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games._behavioral import (
    BehavioralStrategyLike,
    ValidatedStrategy,
    behaviors,
    behaviors_in,
)
from regretkit.games._game import as_strategies, check_game, check_player, check_strategy
from regretkit.games.tree._history import payoffs_of
from regretkit.sets import DecisionTree

Belief: TypeAlias = list[tuple[History, float]]
"""Histories that may have happened, each with the probability that the others play to there."""


def local_best_response(
    game: Game,
    player: int,
    profile: Sequence[Vector],
    *,
    lookahead: int = 1,
    continuation: Vector | None = None,
) -> tuple[float, Vector]:
    """Return what a player earns by a greedy response to the others, and that response.

    At every information set the player takes what is best against everything that the others may
    hold, each weighted by how likely they are to play to there, as if from then on it played
    ``continuation``:

        q[a] = u[a] + sum of V over the decision points after a,    V[j] = <c_j, q_j>

    With ``lookahead`` d it takes itself to do its best at its next d decisions, which need not earn
    more. The value is in
    units of payoff, and never above that of :func:`best_response`, which is what it comes to once
    ``lookahead`` is as large as the tree is deep; with the player's own strategy for
    ``continuation`` it is never below what that strategy earns.

    Parameters
    ----------
    game
        A game whose ``player`` has a decision tree or a single decision.
    player
        Who responds.
    profile
        A strategy for each player.
    lookahead
        How many of its own decisions the player thinks ahead, at least 1.
    continuation
        What it takes itself to play after them, by default its own strategy in ``profile``.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, there is no such player, ``profile`` is not one strategy for each
        player, ``lookahead`` is not a whole number, at least 1, ``continuation`` is no strategy of
        the player, or the player's set is not made of decisions.

    Examples
    --------
    >>> from regretkit.evaluation import best_response
    >>> from regretkit.games import leduc_poker
    >>> game = leduc_poker()
    >>> uniform = [domain.interior_point() for domain in game.domains]
    >>> round(best_response(game, 0, uniform)[0], 4)
    2.0875
    >>> [round(local_best_response(game, 0, uniform, lookahead=d)[0], 4) for d in (1, 2)]
    [1.9167, 2.0875]

    References
    ----------
    Lisý and Bowling (2017), "Equilibrium approximation quality of current no-limit poker bots",
    AAAI workshop on computer poker, where ``continuation`` is to check and call until the end. Its
    text could not be checked; that no best response earns less is proven by what this is.
    """
    check_game(game)
    check_player(player, len(game.domains))
    lookahead = whole_number(lookahead, "lookahead", least=1)
    domain, strategies = game.domains[player], as_strategies(game, profile)
    utility = game.utility(player, strategies)
    own = strategies[player]
    if continuation is not None:
        own = vector(continuation, domain.dimension, "continuation")
        check_strategy(own, domain, player, "continuation")
    if not isinstance(domain, DecisionTree):
        return domain.best_response(utility)
    _, worth = domain.counterfactual(utility, domain.behavior(own))
    for _ in range(min(lookahead, domain.depth) - 1):
        best = domain.simplices.max(worth)
        worth = utility[1:] + total_by(domain.parent_sequence, best, domain.dimension)[1:]
    _, behavior = domain.simplices.best_response(worth)
    return domain.counterfactual(utility, behavior)[0], domain.sequence_form(behavior)


def sampled_local_best_response(
    game: Playable,
    player: int,
    strategies: Sequence[BehavioralStrategyLike] | Sequence[Vector],
    samples: int,
    generator: np.random.Generator,
    *,
    rollouts: int | None = 100,
    continuation: BehavioralStrategyLike | None = None,
    bounds: Bounds | None = None,
) -> Estimate:
    """Estimate what a player earns by a greedy response to the others, by playing the game.

    It is :func:`local_best_response` with a look-ahead of 1 for games of any size. The player goes
    through everything that the others may hold, each as likely as they are to play to there, and
    tries each of its actions by playing to the end ``rollouts`` times. What it decides at an
    information set it does there ever after, and so it has one strategy, which earns no more than a
    best response: the lower end of an interval around the estimate is a lower bound of that.

    Parameters
    ----------
    game
        A game, its tree, or its rules: a ``HistoryBatch`` or the empty ``History``. The
        player must have perfect recall.
    player
        Who responds.
    strategies
        The strategies of all players, as :func:`sampled_value` takes them.
    samples
        How many games to play, at least 1.
    generator
        Draws what chance and the players do, and what happens when an action is tried.
    rollouts
        How often to try each action; None to go through all that may follow, where it is little.
    continuation
        What the player takes itself to play afterwards, by default its own strategy.
    bounds
        The least and the most that the player may earn, as :func:`sampled_value` takes it.

    Raises
    ------
    TypeError, ValueError
        When there is no such player, or for the reasons of :func:`sampled_value`.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.games._behavioral import uniform_behavior
    >>> uniform, generator = [uniform_behavior] * 2, np.random.default_rng(1)
    >>> found = sampled_local_best_response(kuhn_poker(), 0, uniform, 2_000, generator)
    >>> low, high = found.bernstein_interval(0.99)
    >>> 0.125 < low < 0.5 < high  # uniform play earns 1/8, a best response 1/2
    True
    """
    samples = whole_number(samples, "samples", least=1)
    if rollouts is not None:
        rollouts = whole_number(rollouts, "rollouts", least=1)
    check_generator(generator)
    root, played = as_history(game), behaviors_in(game, strategies)
    check_player(player, len(played))
    later = list(played)
    if continuation is not None:
        later[player] = behaviors([continuation] * len(played))[player]
    response = _Response(root, player, played, later, rollouts, generator)
    drawn = np.array([[response.play()] for _ in range(samples)])
    known = payoff_bounds(game)
    own = None if known is None else known[player : player + 1]
    return estimates(drawn, own, bounds)[0]


@final
@define(eq=False)
class _Response:
    """A player that decides when it first comes to an information set."""

    root: History
    player: int
    played: Sequence[ValidatedStrategy]
    later: Sequence[ValidatedStrategy]
    rollouts: int | None
    generator: np.random.Generator
    _decided: dict[Hashable, tuple[int, Belief]] = field(factory=dict, init=False)
    """What to do at an information set, and what may have happened after it was done."""

    def play(self) -> float:
        """Play the game once, and return what the player earns."""
        history, belief = self.root, [(self.root, 1.0)]
        while not history.is_terminal():
            if history.player() == self.player:
                actions = list(history.actions())
                chosen, belief = self._decide(history.information_set(), actions, belief)
            else:
                actions, chances = choices(history, self.played)
                chosen = pick(chances, self.generator)
            history = history.child(actions[chosen])
        return payoffs_of(history)[self.player]

    def _decide(
        self, known: Hashable, actions: Sequence[Hashable], before: Belief
    ) -> tuple[int, Belief]:
        if known not in self._decided:
            belief = self._seen(before, known)
            if not belief:
                raise ValueError(
                    f"player {self.player} comes to {quote(str(known))}, which cannot follow what "
                    "it did and knew; a player that forgets has no local best response"
                )
            worth = [self._worth(belief, action) for action in actions]
            chosen = int(np.argmax(worth))
            after = [(history.child(actions[chosen]), weight) for history, weight in belief]
            self._decided[known] = chosen, after
        return self._decided[known]

    def _seen(self, before: Belief, known: Hashable) -> Belief:
        """Return what may have happened since, if this is what the player knows now."""
        found, waiting = [], before[::-1]
        while waiting:
            history, weight = waiting.pop()
            if history.is_terminal():
                continue
            if history.player() == self.player:
                if history.information_set() == known:
                    found.append((history, weight))
                continue
            actions, chances = choices(history, self.played)
            waiting += [
                (history.child(action), weight * chance)
                for action, chance in zip(actions, chances.tolist(), strict=True)
                if chance > 0.0
            ]
        return found

    def _worth(self, belief: Belief, action: Hashable) -> float:
        """Return what an action is worth, times a number that is the same for all actions."""
        if self.rollouts is None:
            return sum(w * self._expected(history.child(action)) for history, w in belief)
        weights = np.array([weight for _, weight in belief])
        total = 0.0
        for _ in range(self.rollouts):
            history, _ = belief[pick(weights, self.generator)]
            end = play_out(history.child(action), self.later, self.generator)
            total += end[self.player]
        return total

    def _expected(self, history: History) -> float:
        if history.is_terminal():
            return payoffs_of(history)[self.player]
        actions, chances = choices(history, self.later)
        expected = 0.0
        for action, chance in zip(actions, chances.tolist(), strict=True):
            if chance > 0.0:
                expected += chance * self._expected(history.child(action))
        return expected
