"""What a profile is worth, estimated by playing the game."""

from collections.abc import Hashable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from regretkit._typing import Indices, Vector
from regretkit._validate import quote, whole_number
from regretkit.evaluation.estimate import Estimate, check_bounds
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
from regretkit.games._behavioral import BehavioralStrategyLike, ValidatedStrategy, behaviors_in
from regretkit.games._game import as_strategies
from regretkit.games.tree._history import outcomes_of, payoffs_of

Action = TypeVar("Action", bound=Hashable)
Bounds: TypeAlias = tuple[float, float]

_AT_ONCE = 1 << 16
"""So many games are played side by side."""


def sampled_value(
    game: Playable,
    strategies: Sequence[BehavioralStrategyLike] | Sequence[Vector],
    samples: int,
    generator: np.random.Generator,
    *,
    bounds: Bounds | None = None,
) -> tuple[Estimate, ...]:
    """Estimate the expected payoff of every player by playing the game many times.

    Where the game has its tree in memory all games are played side by side, and
    :func:`expected_value` is the same without error. Where there are only rules, a game costs what
    it visits, and the tree may be of any size.

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
        Draws what chance and the players do.
    bounds
        The least and the most that a player may earn, for valid confidence intervals; by default
        those among all terminals, where these are in memory.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, ``strategies`` are not one for each player or do not say what to do
        where they come, ``samples`` is not a whole number, at least 1, ``generator`` is no numpy
        ``Generator``, or a payoff is outside ``bounds``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.games._behavioral import uniform_behavior
    >>> game = kuhn_poker()
    >>> generator = np.random.default_rng(1)
    >>> first, second = sampled_value(game, [uniform_behavior] * 2, 2_000, generator)
    >>> low, high = first.bernstein_interval(0.99)
    >>> low < 0.125 < high and second.mean == -first.mean
    True
    """
    samples = whole_number(samples, "samples", least=1)
    check_generator(generator)
    known = payoff_bounds(game)
    if isinstance(game, ImperfectRecallGame):
        game = game.refinement if isinstance(strategies, Profile) else game.tree
    vectors = _vectors(game, strategies)
    if vectors is not None and isinstance(game, ExtensiveFormGame):
        drawn = _on_tree(game, vectors, samples, generator)
    elif vectors is not None and isinstance(game, NormalFormGame):
        drawn = _on_table(game, vectors, samples, generator)
    else:
        drawn = _by_rules(as_history(game), behaviors_in(game, strategies), samples, generator)
    return estimates(drawn, known, bounds)


def estimates(
    drawn: Vector, known: tuple[Bounds, ...] | None, bounds: Bounds | None
) -> tuple[Estimate, ...]:
    """Return an estimate for each column of ``drawn``, between what is known or was said."""
    if bounds is not None:
        bounds = check_bounds(bounds, "bounds")
    return tuple(
        Estimate.of(own, bounds if bounds is not None or known is None else known[player])
        for player, own in enumerate(drawn.T)
    )


def check_generator(generator: np.random.Generator) -> None:
    """Refuse what is no numpy ``Generator``."""
    if not isinstance(generator, np.random.Generator):
        raise TypeError(
            f"generator must be a numpy Generator, got {quote(generator)}; "
            "pass numpy.random.default_rng(seed)"
        )


def _vectors(
    game: Playable, strategies: Sequence[BehavioralStrategyLike] | Sequence[Vector]
) -> list[Vector] | None:
    """Return vectors of the players' sets, None where strategies are something else."""
    if not isinstance(game, ExtensiveFormGame | NormalFormGame):
        return None
    if not isinstance(strategies, Sequence) or any(
        callable(own) or isinstance(own, dict) for own in strategies
    ):
        return None
    return as_strategies(game, strategies)  # type: ignore[arg-type]


# By the rules, one game after the other


def _by_rules(
    root: History, played: Sequence[ValidatedStrategy], samples: int, generator: np.random.Generator
) -> Vector:
    drawn = [play_out(root, played, generator) for _ in range(samples)]
    return np.array(drawn, dtype=np.float64).reshape(samples, -1)


def play_out(
    history: History, played: Sequence[ValidatedStrategy], generator: np.random.Generator
) -> Sequence[float]:
    """Play from a history to a terminal, and return the payoffs of all players."""
    while not history.is_terminal():
        actions, chances = choices(history, played)
        history = history.child(actions[pick(chances, generator)])
    payoffs = payoffs_of(history)
    if len(payoffs) != len(played):
        raise ValueError(
            f"strategies must be one for each of the {len(payoffs)} players, got {len(played)}"
        )
    return payoffs


def choices(
    history: History[Action], played: Sequence[ValidatedStrategy]
) -> tuple[list[Action], Vector]:
    """Return what chance or a player may do at a history, and how likely each of it is."""
    player = history.player()
    if player == CHANCE:
        outcomes = outcomes_of(history)
        return [action for action, _ in outcomes], np.array([chance for _, chance in outcomes])
    if not 0 <= player < len(played):
        raise ValueError(
            f"player {player} acts, but strategies has {len(played)} entries; pass one for each"
        )
    actions = list(history.actions())
    return actions, played[player](history.information_set(), actions)


def pick(chances: Vector, generator: np.random.Generator) -> int:
    """Draw one of some actions, by their probabilities."""
    # No number is drawn where there is nothing to choose.
    if chances.size == 1:
        return 0
    drawn = generator.random() * chances.sum()
    return min(int(np.searchsorted(np.cumsum(chances), drawn, side="right")), chances.size - 1)


# Side by side


def _on_tree(
    game: ExtensiveFormGame,
    strategies: Sequence[Vector],
    samples: int,
    generator: np.random.Generator,
) -> Vector:
    played = [domain.behavior(own) for domain, own in zip(game.domains, strategies, strict=True)]
    ends = [
        _ends(game, played, min(_AT_ONCE, samples - begun), generator)
        for begun in range(0, samples, _AT_ONCE)
    ]
    place = np.searchsorted(game.tree.terminals, np.concatenate(ends))
    drawn: Vector = game.tree.payoffs[place]
    return drawn


def _ends(
    game: ExtensiveFormGame, played: Sequence[Vector], samples: int, generator: np.random.Generator
) -> Indices:
    """Return at which ends of the game that many games ended."""
    tree = game.tree
    at = np.zeros(samples, dtype=tree.parent.dtype)
    going = np.flatnonzero(tree.player[at] >= CHANCE)
    while going.size:
        at[going] = _children(game, played, at[going], generator)
        going = going[tree.player[at[going]] >= CHANCE]
    return at


def _children(
    game: ExtensiveFormGame, played: Sequence[Vector], at: Indices, generator: np.random.Generator
) -> Indices:
    """Draw a child of each history: go on to the next one for as long as chance says so."""
    tree = game.tree
    # Histories stand in breadth-first order: the children of one side by side.
    child = np.searchsorted(tree.parent, at, side="left")
    last = np.searchsorted(tree.parent, at, side="right") - 1
    left, going = generator.random(at.size), np.arange(at.size)
    while going.size:
        left[going] -= _probability(tree, game, played, at[going], child[going])
        going = going[(left[going] >= 0.0) & (child[going] < last[going])]
        child[going] += 1
    return child


def _probability(
    tree: GameTree, game: ExtensiveFormGame, played: Sequence[Vector], at: Indices, child: Indices
) -> Vector:
    chances, mover = tree.probability[child], tree.player[at]
    for player, (domain, own) in enumerate(zip(game.domains, played, strict=True)):
        here = np.flatnonzero(mover == player)
        first = domain.simplices.first[tree.information_set[at[here]]]
        chances[here] = own[first + tree.action[child[here]]]
    return chances


def _on_table(
    game: NormalFormGame, strategies: Sequence[Vector], samples: int, generator: np.random.Generator
) -> Vector:
    chosen = []
    for own in strategies:
        sums = np.cumsum(own)
        drawn = np.searchsorted(sums, generator.random(samples) * sums[-1], side="right")
        chosen.append(np.minimum(drawn, own.size - 1))
    payoffs: Vector = game.payoffs[(slice(None), *chosen)].T
    return payoffs
