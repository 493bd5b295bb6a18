"""Expected payoffs and local best responses, estimated by playing the game."""

import logging
import math
import time
from collections.abc import Hashable, Iterator, Sequence
from itertools import count
from statistics import NormalDist
from typing import TypeAlias, TypeVar, final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import ArrayLike

from regretkit._util._arrays import segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import (
    above_zero,
    as_generator,
    floats,
    quote,
    vector,
    whole_number,
)
from regretkit.games import (
    CHANCE,
    ExtensiveFormGame,
    Game,
    History,
    ImperfectRecallGame,
    NormalFormGame,
    Playable,
    Profile,
)
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games._behavioral import (
    BehavioralStrategyLike,
    ProfileLike,
    ValidatedStrategy,
    as_vector,
    as_vectors,
    behaviors,
    behaviors_in,
    is_behavior,
)
from regretkit.games._game import check_game, check_player, check_strategy
from regretkit.games.tree._history import actions_of, check_length, outcomes_of, payoffs_of
from regretkit.sets import DecisionTree

Action = TypeVar("Action", bound=Hashable)
Bounds: TypeAlias = tuple[float, float]

_log = logging.getLogger("regretkit")

_REPORT_AFTER = 10.0
"""Seconds of a local best response until the first report."""

_AT_ONCE = 1 << 16
"""Number of games played in one batch."""


@final
@frozen
class Estimate:
    """The mean of independent samples, with two kinds of confidence intervals.

    Examples
    --------
    >>> tosses = Estimate.of([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0], bounds=(-1.0, 1.0))
    >>> tosses.mean
    0.25
    >>> low, high = tosses.normal_interval(0.95)
    >>> round(low, 3), round(high, 3)
    (-0.467, 0.967)
    >>> tosses.bernstein_interval(0.95)  # too few samples for a bound
    (-1.0, 1.0)
    """

    mean: float
    """Mean of the samples."""
    variance: float
    """Unbiased sample variance; NaN for a single sample."""
    samples: int
    """Number of samples."""
    bounds: Bounds | None = None
    """Known lower and upper bounds of all samples, None if unknown."""

    @classmethod
    def of(cls, samples: ArrayLike, bounds: Bounds | None = None) -> "Estimate":
        """Return the estimate from some samples.

        Parameters
        ----------
        samples
            Independent samples, at least one.
        bounds
            Least and largest possible sample, known independently of the samples.
        """
        drawn: Vector = floats(samples, "samples")
        if drawn.ndim != 1 or not drawn.size or not np.isfinite(drawn).all():
            raise ValueError(
                f"samples must be finite numbers, at least one, got an array of shape {drawn.shape}"
            )
        if bounds is not None:
            bounds = check_bounds(bounds, "bounds")
            low, high = bounds
            if not low <= drawn.min() <= drawn.max() <= high:
                raise ValueError(
                    f"samples must lie within bounds, from {low} to {high}, but range from "
                    f"{drawn.min()} to {drawn.max()}; widen the bounds"
                )
        spread = float(drawn.var(ddof=1)) if drawn.size > 1 else math.nan
        return cls(float(drawn.mean()), spread, drawn.size, bounds)

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of the mean."""
        return math.sqrt(self.variance / self.samples)

    def normal_interval(self, confidence: float = 0.95) -> Bounds:
        """Return an interval that covers the mean with about probability ``confidence``.

            mean  -+  z sqrt(variance / n)

        with z the quantile of the normal distribution. It is an approximation for many samples,
        without a guarantee for few samples or rare large payoffs.
        """
        radius = NormalDist().inv_cdf(1.0 - self._tail(confidence)) * self.standard_error
        return self.mean - radius, self.mean + radius

    def bernstein_interval(self, confidence: float = 0.95) -> Bounds:
        """Return an interval that covers the mean with at least probability ``confidence``.

        With d = 1 - confidence, and samples between a and b, the empirical Bernstein bound:

            mean  -+  ( sqrt(2 variance ln(4 / d) / n)  +  7 (b - a) ln(4 / d) / (3 (n - 1)) )

        clipped to [a, b]. It holds for any number of samples and any distribution.

        References
        ----------
        Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization",
        COLT, theorem 4, applied to both sides.
        """
        tail = self._tail(confidence)
        if self.bounds is None:
            raise ValueError(
                "the bounds of the samples are unknown, without which no bound holds: give "
                "payoff_bounds, the least and the largest payoff"
            )
        low, high = self.bounds
        # A tail of d / 2 on either side; theorem 4 has the logarithm of 2 over its tail
        scale = math.log(2.0 / tail)
        radius = math.sqrt(2.0 * self.variance * scale / self.samples)
        radius += 7.0 * (high - low) * scale / (3.0 * (self.samples - 1))
        return max(self.mean - radius, low), min(self.mean + radius, high)

    def _tail(self, confidence: float) -> float:
        if isinstance(confidence, bool) or not isinstance(confidence, float | int):
            raise TypeError(f"confidence must be a number between 0 and 1, got {quote(confidence)}")
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {quote(confidence)}")
        if self.samples < 2:
            raise ValueError("a single sample has no variance estimate; draw more")
        return (1.0 - confidence) / 2.0

    def __str__(self) -> str:
        if self.samples < 2:
            return f"{self.mean:.6g}, of one sample"
        low, high = self.normal_interval()
        return f"{self.mean:.6g} in about ({low:.6g}, {high:.6g}), of {self.samples:,} samples"


def check_bounds(bounds: Bounds, name: str) -> Bounds:
    """Return the bounds if they are two finite numbers in order."""
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be two numbers, the least and the largest, got {quote(bounds)}"
        ) from error
    if not -math.inf < low <= high < math.inf:
        raise ValueError(f"{name} must be two finite numbers in order, got {quote(bounds)}")
    return low, high


def sampled_value(
    game: Playable,
    strategies: ProfileLike,
    samples: int,
    generator: np.random.Generator | int,
    *,
    bounds: Bounds | None = None,
) -> tuple[Estimate, ...]:
    """Estimate the expected payoff of every player by playing the game many times.

    With a tree in memory all games are played in batches, and ``expected_value`` gives the
    exact value. With rules alone the cost of a game is its length, and the tree may be of any
    size.

    Parameters
    ----------
    game
        A game, its tree, or its rules: a ``HistoryBatch`` or the empty ``History``.
    strategies
        A profile, or for each player a function of an information set and its actions that returns
        their probabilities, or a dict from information sets to such probabilities. A profile goes
        with the rules of its game as well: information sets are then found by their labels.
    samples
        How many games to play, at least 1.
    generator
        Draws the actions of chance and of the players; or its seed.
    bounds
        Least and largest payoff, for valid confidence intervals; by default those of all terminals,
        where these are in memory.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.games import uniform_behavior
    >>> game = kuhn_poker()
    >>> generator = np.random.default_rng(1)
    >>> first, second = sampled_value(game, [uniform_behavior] * 2, 2_000, generator)
    >>> low, high = first.bernstein_interval(0.99)
    >>> low < 0.125 < high and second.mean == -first.mean
    True
    """
    samples = whole_number(samples, "samples", least=1)
    generator = as_generator(generator)
    known = payoff_bounds(game)
    if isinstance(game, ImperfectRecallGame):
        game = game.refinement if isinstance(strategies, Profile) else game.tree
    vectors = _vectors(game, strategies)
    if vectors is not None and isinstance(game, ExtensiveFormGame):
        drawn = _on_tree(game, vectors, samples, generator)
    elif vectors is not None and isinstance(game, NormalFormGame):
        drawn = _on_table(game, vectors, samples, generator)
    else:
        root, played = as_history(game), behaviors_in(game, strategies)
        payoffs = [play_out(root, played, generator) for _ in range(samples)]
        drawn = np.array(payoffs, dtype=np.float64)
    return estimates(drawn, known, bounds)


def estimates(
    drawn: Vector, known: tuple[Bounds, ...] | None, bounds: Bounds | None
) -> tuple[Estimate, ...]:
    """Return an estimate for each column of ``drawn``, with given bounds or known ones."""
    if bounds is not None:
        bounds = check_bounds(bounds, "bounds")
    return tuple(
        Estimate.of(payoffs, bounds if bounds is not None or known is None else known[player])
        for player, payoffs in enumerate(drawn.T)
    )


def _vectors(game: Playable, strategies: ProfileLike) -> list[Vector] | None:
    """Return vectors of the players' sets, None if strategies are something else."""
    if not isinstance(game, ExtensiveFormGame | NormalFormGame):
        return None
    if not isinstance(strategies, Sequence) or any(map(is_behavior, strategies)):
        return None
    return as_vectors(game, strategies)


# By the rules, one game at a time


def play_out(
    history: History, played: Sequence[ValidatedStrategy], generator: np.random.Generator
) -> Sequence[float]:
    """Play from a history to a terminal, and return the payoffs of all players."""
    for moves in count():
        if history.is_terminal():
            break
        check_length(moves)
        actions, probabilities = choices(history, played)
        history = history.child(actions[pick(probabilities, generator)])
    payoffs = payoffs_of(history)
    if len(payoffs) != len(played):
        raise ValueError(
            f"strategies must be one for each of the {len(payoffs)} players, got {len(played)}"
        )
    return payoffs


def choices(
    history: History[Action], played: Sequence[ValidatedStrategy]
) -> tuple[list[Action], Vector]:
    """Return the actions at a history, and their probabilities."""
    player = history.player()
    if player == CHANCE:
        outcomes = outcomes_of(history)
        return [action for action, _ in outcomes], np.array([chance for _, chance in outcomes])
    if not 0 <= player < len(played):
        raise ValueError(
            f"player {player} acts, but strategies has {len(played)} entries; pass one for each"
        )
    actions = list(actions_of(history))
    return actions, played[player](history.information_set(), actions)


def pick(probabilities: Vector, generator: np.random.Generator) -> int:
    """Draw one of some actions, by their probabilities."""
    # A single action takes no random number.
    if probabilities.size == 1:
        return 0
    sums = np.cumsum(probabilities)
    drawn = generator.random() * probabilities.sum()
    return min(int(np.searchsorted(sums, drawn, side="right")), sums.size - 1)


# In batches


def _on_tree(
    game: ExtensiveFormGame,
    strategies: Sequence[Vector],
    samples: int,
    generator: np.random.Generator,
) -> Vector:
    tree, pairs = game.tree, zip(game.domains, strategies, strict=True)
    played = [domain.behavior(strategy) for domain, strategy in pairs]
    nodes = np.zeros(samples, dtype=tree.parent.dtype)
    for begun in range(0, samples, _AT_ONCE):
        batch = nodes[begun : begun + _AT_ONCE]
        unfinished = np.flatnonzero(tree.player[batch] >= CHANCE)
        while unfinished.size:
            batch[unfinished] = _children(game, played, batch[unfinished], generator)
            unfinished = unfinished[tree.player[batch[unfinished]] >= CHANCE]
    drawn: Vector = tree.payoffs[np.searchsorted(tree.terminals, nodes)]
    return drawn


def _children(
    game: ExtensiveFormGame,
    played: Sequence[Vector],
    nodes: Indices,
    generator: np.random.Generator,
) -> Indices:
    """Draw a child of each history, by inversion over its children in order."""
    tree = game.tree
    # In breadth-first order, the children of a history are contiguous.
    child = np.searchsorted(tree.parent, nodes, side="left")
    last = np.searchsorted(tree.parent, nodes, side="right") - 1
    remaining, undrawn = generator.random(nodes.size), np.arange(nodes.size)
    while undrawn.size:
        remaining[undrawn] -= _probability(game, played, nodes[undrawn], child[undrawn])
        undrawn = undrawn[(remaining[undrawn] >= 0.0) & (child[undrawn] < last[undrawn])]
        child[undrawn] += 1
    return child


def _probability(
    game: ExtensiveFormGame, played: Sequence[Vector], nodes: Indices, child: Indices
) -> Vector:
    tree = game.tree
    probabilities, mover = tree.probability[child], tree.player[nodes]
    for player, (domain, behavior) in enumerate(zip(game.domains, played, strict=True)):
        turns = np.flatnonzero(mover == player)
        first = domain.simplices.first[tree.information_set[nodes[turns]]]
        probabilities[turns] = behavior[first + tree.action[child[turns]]]
    return probabilities


def _on_table(
    game: NormalFormGame, strategies: Sequence[Vector], samples: int, generator: np.random.Generator
) -> Vector:
    played = [np.maximum(strategy, 0.0) for strategy in strategies]
    index: list[slice | Indices] = [slice(None)]
    index += [generator.choice(x.size, samples, p=x / x.sum()) for x in played]
    payoffs: Vector = game.payoffs[tuple(index)].T
    return payoffs


# Local best response

Belief: TypeAlias = list[tuple[History, float]]
"""Histories that may have happened, each with the probability that the others play to there."""


def local_best_response(
    game: Game,
    player: int,
    profile: ProfileLike,
    *,
    lookahead: int = 1,
    continuation: Vector | BehavioralStrategyLike | None = None,
) -> tuple[float, Vector]:
    """Return the value of a greedy response to the others, and the response.

    At every information set the player takes the best action against the possible histories,
    weighted by the others' probabilities of playing to them, assuming ``continuation`` afterwards:

        q[a] = u[a] + sum of V over the decision points after a,    V[j] = <c_j, q_j>

    With ``lookahead`` d it optimizes over its next d decisions, which may lower the value. That
    is in units of payoff and at most that of ``best_response``, to which it is equal if
    ``lookahead`` is the depth of the tree; with the player's own strategy for ``continuation`` it
    is at least the value of that strategy.

    Parameters
    ----------
    game
        A game whose ``player`` has a decision tree or a single decision.
    player
        Who responds.
    profile
        A strategy for each player.
    lookahead
        Number of own decisions to optimize over, at least 1.
    continuation
        Strategy assumed after them, by default the player's own in ``profile``.

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
    AAAI workshop on computer poker, where ``continuation`` is to check and call until the end. Its
    text could not be checked; the lower bound holds for any strategy.
    """
    check_game(game)
    check_player(player, len(game.domains))
    lookahead = whole_number(lookahead, "lookahead", least=1)
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
    """Estimate the value of a greedy response to the others, by playing the game.

    It is ``local_best_response`` with a look-ahead of 1 for games of any size. The player
    enumerates the possible histories, weighted by the others' probabilities of playing to them, and
    evaluates each of its actions by ``rollouts`` plays to the end. It keeps its decision at an
    information set for all later games, and so has one strategy, whose value is at most that of a
    best response: the lower end of an interval around the estimate is a lower bound of it.

    The logger ``regretkit`` reports how far it is; fewer ``rollouts`` take less time.

    Parameters
    ----------
    game
        A game, its tree, or its rules: a ``HistoryBatch`` or the empty ``History``. The player must
        have perfect recall.
    player
        Who responds.
    strategies
        The strategies of all players, as ``sampled_value`` takes them.
    samples
        How many games to play, at least 1.
    generator
        Draws the actions of chance and of the players, also in rollouts; or its seed.
    rollouts
        Number of plays for each action; None to enumerate all continuations instead.
    continuation
        Strategy assumed after the action, by default the player's own.
    bounds
        The least and the most that the player may earn, as ``sampled_value`` takes it.
    time_limit
        Seconds after which no further game is begun: the estimate is of fewer games then, of one
        at least.

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
    samples = whole_number(samples, "samples", least=1)
    if rollouts is not None:
        rollouts = whole_number(rollouts, "rollouts", least=1)
    if time_limit is not None:
        above_zero(time_limit, "time_limit")
    generator = as_generator(generator)
    root, played = as_history(game), behaviors_in(game, strategies)
    check_player(player, len(played))
    later = list(played)
    if continuation is not None:
        later[player] = behaviors([continuation] * len(played))[player]
    response = _Response(root, player, played, later, rollouts, generator)
    drawn = np.array([[response.play()] for _ in _reported(samples, time_limit)])
    known = payoff_bounds(game)
    return estimates(drawn, known and known[player : player + 1], bounds)[0]


def _reported(samples: int, seconds: float | None) -> Iterator[int]:
    """Yield numbers until the time is over, and report those so far where they take long."""
    began, due = time.monotonic(), _REPORT_AFTER
    for played in range(samples):
        yield played
        if (elapsed := time.monotonic() - began) > due:
            due = 2.0 * elapsed
            so_far = f"{played + 1} of {samples} samples after {elapsed:.0f} seconds"
            _log.warning("local best response: %s", so_far)
        if seconds is not None and elapsed > seconds:
            return


@final
@define(eq=False)
class _Response:
    """A response that decides at its first visit of an information set."""

    root: History
    player: int
    played: Sequence[ValidatedStrategy]
    later: Sequence[ValidatedStrategy]
    rollouts: int | None
    generator: np.random.Generator
    _decided: dict[Hashable, tuple[int, Belief]] = field(factory=dict, init=False)
    """For each information set, the chosen action and the belief after it."""

    def play(self) -> float:
        """Play the game once, and return the player's payoff."""
        history, belief = self.root, [(self.root, 1.0)]
        while not history.is_terminal():
            if history.player() == self.player:
                actions = list(actions_of(history))
                chosen, belief = self._decide(history.information_set(), actions, belief)
            else:
                actions, chances = choices(history, self.played)
                chosen = pick(chances, self.generator)
            history = history.child(actions[chosen])
        return payoffs_of(history)[self.player]

    def _decide(
        self, known: Hashable, actions: Sequence[Hashable], previous: Belief
    ) -> tuple[int, Belief]:
        if known not in self._decided:
            belief = self._consistent(previous, known)
            if not belief:
                raise ValueError(
                    f"player {self.player} reaches {quote(str(known))}, which cannot follow its "
                    "earlier actions and observations; a local best response needs perfect recall"
                )
            values = [self._value(belief, action) for action in actions]
            chosen = int(np.argmax(values))
            next_belief = [(history.child(actions[chosen]), weight) for history, weight in belief]
            self._decided[known] = chosen, next_belief
        return self._decided[known]

    def _consistent(self, previous: Belief, known: Hashable) -> Belief:
        """Return the histories at an information set that follow a belief."""
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
        """Return the value of an action, times a number that is the same for all actions."""
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


def _next(history: History, played: Sequence[ValidatedStrategy]) -> Belief:
    """Return the histories that may follow at once, with their probabilities."""
    actions, chances = choices(history, played)
    pairs = zip(actions, chances.tolist(), strict=True)
    return [(history.child(action), chance) for action, chance in pairs if chance > 0.0]
