"""Local best responses: exact, and estimated from sampled games."""

import math
import time
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
from attrs import define, field

from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Vector
from regretkit._util._validate import above_zero, as_generator, quote, vector, whole_number
from regretkit.evaluation._monte_carlo import (
    Bounds,
    Estimate,
    choices,
    estimates,
    pick,
    play_out,
)
from regretkit.games import Game, History, Playable
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games._game import check_game, check_player, check_strategy
from regretkit.games._profile import (
    Behavior,
    BehavioralStrategyLike,
    ProfileLike,
    as_vector,
    as_vectors,
    behaviors,
)
from regretkit.games.tree._history import actions_of, payoffs_of
from regretkit.sets import DecisionTree

Belief: TypeAlias = list[tuple[History, float]]
"""Possible histories, each with the probability that chance and the opponents play to it."""


def local_best_response(
    game: Game,
    player: int,
    profile: ProfileLike,
    *,
    lookahead: int = 1,
    continuation: Vector | BehavioralStrategyLike | None = None,
) -> tuple[float, Vector]:
    """Return the value of a greedy response to the opponents, and the response.

    At every decision point j the player takes the action with the largest q[a], assuming that it
    plays the continuation c afterwards. With u the utility against the opponents,

        q[a] = u[a] + sum of V over the decision points after a,    V[j] = <c_j, q_j>

    With ``lookahead`` d, V is the maximum of q_j at the next d - 1 decisions. A larger d may lower
    the value. The value is at most that of ``best_response``, with equality if d is the depth of
    the tree. If c is the player's own strategy, the value is at least that of this strategy.

    Parameters
    ----------
    game
        A game whose ``player`` has a decision tree or a single decision.
    lookahead
        Number d of own decisions to optimize, at least 1.
    continuation
        Strategy c assumed after them, by default the player's own in ``profile``.

    Examples
    --------
    >>> from regretkit.evaluation import best_response
    >>> from regretkit.games import Profile, leduc_poker
    >>> game = leduc_poker()
    >>> uniform = Profile.uniform(game)
    >>> round(best_response(game, 0, uniform)[0], 4)
    2.0875
    >>> [round(local_best_response(game, 0, uniform, lookahead=d)[0], 4) for d in (1, 2)]
    [1.9167, 2.0875]

    References
    ----------
    Lisý and Bowling (2017), "Equilibrium approximation quality of current no-limit poker bots",
    AAAI workshop on computer poker, where ``continuation`` is to check and call until the end.
    """
    check_game(game)
    check_player(player, len(game.domains))
    lookahead = whole_number(lookahead, "lookahead", minimum=1)
    domain, strategies = game.domains[player], as_vectors(game, profile)
    utility = game.utility(player, strategies)
    assumed = strategies[player]
    if continuation is not None:
        assumed = vector(as_vector(continuation, domain, player), domain.dimension, "continuation")
        check_strategy(assumed, domain, player, "continuation")
    if not isinstance(domain, DecisionTree):
        return domain.best_response(utility)
    _, values = domain.counterfactual(utility, domain.behavior(assumed))
    for _ in range(min(lookahead, domain.depth) - 1):
        best = domain.simplices.max(values)
        values = utility[1:] + segment_sum(domain.parent_sequence, best, domain.dimension)[1:]
    _, behavior = domain.simplices.best_response(values)
    return domain.counterfactual(utility, behavior)[0], domain.sequence_form(behavior)


def sampled_local_best_response(
    game: Playable,
    player: int,
    strategies: ProfileLike,
    samples: int,
    generator: np.random.Generator | int,
    *,
    rollouts: int | None = 100,
    continuation: BehavioralStrategyLike | None = None,
    bounds: Bounds | None = None,
    time_limit: float | None = None,
) -> Estimate:
    """Estimate the value of a greedy response to the opponents from sampled games.

    This is ``local_best_response`` with a look-ahead of 1, for games of any size. At an information
    set, the player enumerates the possible histories with the opponents' probabilities of playing
    to them. It evaluates each action by ``rollouts`` games, and repeats its decision in all later
    games, so it has one strategy. The lower end of a confidence interval is a lower bound on the
    value of a best response.

    Parameters
    ----------
    game
        A game, its tree, or its rules: ``Rules`` or the empty ``History``. The player must
        have perfect recall.
    strategies
        The strategies of all players, as for ``sampled_value``.
    generator
        Draws the actions of chance and of the players, also in rollouts. A seed makes a new one.
    rollouts
        Number of games for each action. None enumerates all continuations instead.
    continuation
        Strategy assumed after the action, by default the player's own.
    bounds
        The player's least and largest payoff, as for ``sampled_value``.
    time_limit
        Seconds after which no new game begins.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.games import uniform_behavior
    >>> uniform, generator = [uniform_behavior] * 2, np.random.default_rng(1)
    >>> found = sampled_local_best_response(kuhn_poker(), 0, uniform, 2_000, generator)
    >>> low, high = found.bernstein_interval(0.99)
    >>> 0.125 < low < 0.5 < high  # uniform play earns 1/8, a best response 1/2
    True
    """
    whole_number(player, "player", minimum=0)
    samples = whole_number(samples, "samples", minimum=1)
    if rollouts is not None:
        rollouts = whole_number(rollouts, "rollouts", minimum=1)
    if time_limit is not None:
        above_zero(time_limit, "time_limit")
    generator = as_generator(generator)
    root, played = as_history(game), behaviors(strategies, game)
    check_player(player, len(played))
    remaining = list(played)
    if continuation is not None:
        remaining[player] = behaviors([continuation] * len(played))[player]
    response = _Response(root, player, played, remaining, rollouts, generator)
    begun, drawn = time.monotonic(), [[response.play()]]
    while len(drawn) < samples and time.monotonic() - begun <= (time_limit or math.inf):
        drawn.append([response.play()])
    known = payoff_bounds(game)
    return estimates(np.array(drawn), known and known[player : player + 1], bounds)[0]


@define(eq=False)
class _Response:
    """A response that fixes its action at the first visit of an information set."""

    root: History
    player: int
    played: Sequence[Behavior]
    later: Sequence[Behavior]
    rollouts: int | None
    generator: np.random.Generator
    _decided: dict[Hashable, tuple[int, Belief]] = field(factory=dict, init=False)
    """For each information set, the chosen action and the belief after it."""

    def play(self) -> float:
        """Sample one game, and return the player's payoff."""
        history, belief = self.root, [(self.root, 1.0)]
        while not history.is_terminal():
            if history.player() == self.player:
                actions = list(actions_of(history))
                chosen, belief = self._decide(history.information_set(), actions, belief)
            else:
                actions, probabilities = choices(history, self.played)
                chosen = pick(probabilities, self.generator)
            history = history.child(actions[chosen])
        return payoffs_of(history)[self.player]

    def _decide(
        self, known: Hashable, actions: Sequence[Hashable], previous: Belief
    ) -> tuple[int, Belief]:
        if known not in self._decided:
            belief = self._consistent(previous, known)
            if not belief:
                raise ValueError(
                    f"player {self.player} must have perfect recall, but {quote(str(known))} does "
                    "not follow from its earlier actions and observations"
                )
            values = [self._value(belief, action) for action in actions]
            chosen = int(np.argmax(values))
            next_belief = [(history.child(actions[chosen]), weight) for history, weight in belief]
            self._decided[known] = chosen, next_belief
        return self._decided[known]

    def _consistent(self, previous: Belief, known: Hashable) -> Belief:
        """Return the descendants of a belief in an information set, with their weights."""
        found, pending = [], previous[::-1]
        while pending:
            history, weight = pending.pop()
            if history.is_terminal():
                continue
            if history.player() == self.player:
                if history.information_set() == known:
                    found.append((history, weight))
                continue
            pending += [(child, weight * chance) for child, chance in _next(history, self.played)]
        return found

    def _value(self, belief: Belief, action: Hashable) -> float:
        """Return the value of an action, up to a factor that all actions share."""
        if self.rollouts is None:
            return sum(w * self._expected(history.child(action)) for history, w in belief)
        weights = np.array([weight for _, weight in belief])
        total = 0.0
        for _ in range(self.rollouts):
            history, _ = belief[pick(weights, self.generator)]
            payoffs = play_out(history.child(action), self.later, self.generator)
            total += payoffs[self.player]
        return total

    def _expected(self, history: History) -> float:
        if history.is_terminal():
            return payoffs_of(history)[self.player]
        return sum(chance * self._expected(child) for child, chance in _next(history, self.later))


def _next(history: History, played: Sequence[Behavior]) -> Belief:
    """Return the children of a history with positive probability."""
    actions, probabilities = choices(history, played)
    pairs = zip(actions, probabilities.tolist(), strict=True)
    return [(history.child(action), chance) for action, chance in pairs if chance > 0.0]
