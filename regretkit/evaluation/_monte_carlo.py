"""Expected payoffs, estimated from sampled games."""

import math
from collections.abc import Hashable, Sequence
from itertools import count
from statistics import NormalDist
from typing import TypeAlias, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import (
    above_zero,
    as_generator,
    floats,
    must_be,
    quote,
    whole_number,
)
from regretkit.games import (
    CHANCE,
    ExtensiveFormGame,
    GameTree,
    History,
    ImperfectRecallGame,
    NormalFormGame,
    Playable,
    Profile,
)
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games._profile import (
    Behavior,
    ProfileLike,
    as_vectors,
    behaviors,
    is_behavior,
)
from regretkit.games.tree._history import actions_of, check_length, outcomes_of, payoffs_of

Action = TypeVar("Action", bound=Hashable)
Bounds: TypeAlias = tuple[float, float]

_AT_ONCE = 1 << 16
"""Number of games sampled in one batch."""


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
        """Return the estimate from independent samples.

        ``bounds`` are the least and the largest possible sample. Do not take them from the samples.
        """
        drawn: Vector = floats(samples, "samples")
        if drawn.ndim != 1 or not drawn.size or not np.isfinite(drawn).all():
            raise ValueError(f"samples must be one finite number or several, got {quote(samples)}")
        if bounds is not None:
            low, high = bounds = check_bounds(bounds, "bounds")
            if not low <= drawn.min() <= drawn.max() <= high:
                raise ValueError(
                    f"bounds must contain all samples, {drawn.min()} to {drawn.max()}, got {bounds}"
                )
        spread = float(drawn.var(ddof=1)) if drawn.size > 1 else math.nan
        return cls(float(drawn.mean()), spread, drawn.size, bounds)

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of the mean."""
        return math.sqrt(self.variance / self.samples)

    def normal_interval(self, confidence: float = 0.95) -> Bounds:
        """Return an interval that covers the mean with approximate probability ``confidence``.

            mean  -+  z sqrt(variance / n)

        with z the (1 + confidence) / 2 quantile of the normal distribution. Use it for many
        samples. It is unreliable for few samples and for rare large payoffs.
        """
        radius = NormalDist().inv_cdf(1.0 - self._tail(confidence)) * self.standard_error
        return self.mean - radius, self.mean + radius

    def bernstein_interval(self, confidence: float = 0.95) -> Bounds:
        """Return an interval that covers the mean with at least probability ``confidence``.

        With d = 1 - confidence and samples between a and b, it is the empirical Bernstein bound

            mean  -+  ( sqrt(2 variance ln(4 / d) / n)  +  7 (b - a) ln(4 / d) / (3 (n - 1)) )

        clipped to [a, b]. It holds for any number of samples and any distribution.

        References
        ----------
        Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization",
        COLT, theorem 4, applied to both sides.
        """
        tail = self._tail(confidence)
        if self.bounds is None:
            raise ValueError("a Bernstein interval needs bounds, the least and largest sample")
        low, high = self.bounds
        # Each side has a tail of d / 2, and theorem 4 takes ln(2 / tail) = ln(4 / d).
        scale = math.log(2.0 / tail)
        radius = math.sqrt(2.0 * self.variance * scale / self.samples)
        radius += 7.0 * (high - low) * scale / (3.0 * (self.samples - 1))
        return max(self.mean - radius, low), min(self.mean + radius, high)

    def _tail(self, confidence: float) -> float:
        above_zero(confidence, "confidence")
        if not confidence < 1.0:
            raise ValueError(f"confidence must be below 1, got {quote(confidence)}")
        if self.samples < 2:
            raise ValueError("a single sample has no variance estimate; draw more")
        return (1.0 - confidence) / 2.0

    def __str__(self) -> str:
        if self.samples < 2:
            return f"{self.mean:.6g}, of one sample"
        low, high = self.normal_interval()
        radius, texts = (high - low) / 2.0, [f"{v:.6g}" for v in (self.mean, low, high)]
        if 0.0 < radius < math.inf:  # two digits of the radius
            places = max(1 - math.floor(math.log10(radius)), 0)
            texts = [f"{round(v, places) + 0.0:.{places}f}" for v in (self.mean, low, high)]
        return f"{texts[0]} in about ({texts[1]}, {texts[2]}), of {self.samples:,} samples"


def check_bounds(bounds: Bounds, name: str) -> Bounds:
    """Require two finite numbers in order."""
    wanted = "two finite numbers in order, the least and the largest"
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError) as error:
        raise TypeError(must_be(name, wanted, bounds)) from error
    if not -math.inf < low <= high < math.inf:
        raise ValueError(must_be(name, wanted, bounds))
    return low, high


def sampled_value(
    game: Playable,
    strategies: ProfileLike,
    samples: int,
    generator: np.random.Generator | int,
    *,
    bounds: Bounds | None = None,
) -> tuple[Estimate, ...]:
    """Estimate the expected payoff of every player from sampled games.

    With a tree or a table in memory, games are sampled in batches. With rules alone, they are
    sampled one by one, and the tree may have any size.

    Parameters
    ----------
    game
        A game, its tree, or its rules: ``Rules`` or the empty ``History``.
    strategies
        A profile; or for each player a function from an information set and its actions to
        probabilities, or a mapping from information sets to probabilities.
    generator
        Draws the actions of chance and of the players. A seed makes a new one.
    bounds
        Least and largest payoff, for Bernstein intervals; by default those of the game, if known.

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
    samples = whole_number(samples, "samples", minimum=1)
    generator = as_generator(generator)
    known = payoff_bounds(game)
    if isinstance(game, ImperfectRecallGame):
        game = game.refinement if isinstance(strategies, Profile) else game.tree
    vectors = None
    plain = isinstance(strategies, Sequence) and not any(map(is_behavior, strategies))
    if plain and isinstance(game, ExtensiveFormGame | NormalFormGame):
        vectors = as_vectors(game, strategies)
    if isinstance(game, ExtensiveFormGame) and vectors is not None:
        drawn = _on_tree(game, vectors, samples, generator)
    elif isinstance(game, NormalFormGame) and vectors is not None:
        positive = [np.maximum(x, 0.0) for x in vectors]
        actions = [generator.choice(x.size, samples, p=x / x.sum()) for x in positive]
        drawn = np.moveaxis(game.payoffs, 0, -1)[tuple(actions)]
    else:
        root, played = as_history(game), behaviors(strategies, game)
        payoffs = [play_out(root, played, generator) for _ in range(samples)]
        drawn = np.array(payoffs, dtype=np.float64)
    return estimates(drawn, known, bounds)


def estimates(
    drawn: Vector, known: tuple[Bounds, ...] | None, bounds: Bounds | None
) -> tuple[Estimate, ...]:
    """Return an estimate for each column of ``drawn``, with ``bounds`` or else ``known``."""
    ranges = (known or (None,) * drawn.shape[1]) if bounds is None else (bounds,) * drawn.shape[1]
    return tuple(map(Estimate.of, drawn.T, ranges))


# Rules: one game at a time


def play_out(
    history: History, played: Sequence[Behavior], generator: np.random.Generator
) -> Sequence[float]:
    """Sample a terminal below a history, and return the payoffs of all players."""
    for moves in count():
        if history.is_terminal():
            break
        check_length(moves)
        actions, probabilities = choices(history, played)
        history = history.child(actions[pick(probabilities, generator)])
    payoffs = payoffs_of(history)
    if len(payoffs) != len(played):
        raise ValueError(f"strategies must have one per player, {len(payoffs)}, got {len(played)}")
    return payoffs


def choices(history: History[Action], played: Sequence[Behavior]) -> tuple[list[Action], Vector]:
    """Return the actions at a history, and their probabilities."""
    player = history.player()
    if player == CHANCE:
        outcomes = outcomes_of(history)
        return [action for action, _ in outcomes], np.array([chance for _, chance in outcomes])
    if not 0 <= player < len(played):
        raise ValueError(
            f"strategies must have one per player, got {len(played)}, but player {player} moves"
        )
    actions = list(actions_of(history))
    return actions, played[player](history.information_set(), actions)


def pick(probabilities: Vector, generator: np.random.Generator) -> int:
    """Draw the index of an action."""
    if probabilities.size == 1:
        return 0  # draws no random number
    sums = np.cumsum(probabilities)
    drawn = generator.random() * probabilities.sum()
    return min(int(np.searchsorted(sums, drawn, side="right")), sums.size - 1)


# Trees: batches


def _on_tree(
    game: ExtensiveFormGame,
    strategies: Sequence[Vector],
    samples: int,
    generator: np.random.Generator,
) -> Vector:
    tree, chances = game.tree, _chances(game, strategies)
    nodes = np.zeros(samples, dtype=tree.parent.dtype)
    for begun in range(0, samples, _AT_ONCE):
        batch = nodes[begun : begun + _AT_ONCE]
        unfinished = np.flatnonzero(tree.player[batch] >= CHANCE)
        while unfinished.size:
            batch[unfinished] = _children(tree, chances, batch[unfinished], generator)
            unfinished = unfinished[tree.player[batch[unfinished]] >= CHANCE]
    drawn: Vector = tree.payoffs[np.searchsorted(tree.terminals, nodes)]
    return drawn


def _chances(game: ExtensiveFormGame, strategies: Sequence[Vector]) -> Vector:
    """Return the probability of each history given its parent."""
    tree, chances = game.tree, game.tree.probability.copy()
    for player, (domain, strategy) in enumerate(zip(game.domains, strategies, strict=True)):
        behavior = domain.behavior(strategy)
        moved = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == player)
        first = domain.simplices.first[tree.information_set[tree.parent[moved]]]
        chances[moved] = behavior[first + tree.action[moved]]
    return chances


def _children(
    tree: GameTree, chances: Vector, nodes: Indices, generator: np.random.Generator
) -> Indices:
    """Draw a child of each history, by inversion over its children in order."""
    # In breadth-first order, the children of a history are contiguous. Subtract their
    # probabilities from a uniform number until it is negative, or until the last child.
    child = np.searchsorted(tree.parent, nodes, side="left")
    last = np.searchsorted(tree.parent, nodes, side="right") - 1
    remaining, undrawn = generator.random(nodes.size), np.arange(nodes.size)
    while undrawn.size:
        remaining[undrawn] -= chances[child[undrawn]]
        undrawn = undrawn[(remaining[undrawn] >= 0.0) & (child[undrawn] < last[undrawn])]
        child[undrawn] += 1
    return child
