"""The law of estimators: what they say is right on average."""

from collections.abc import Iterable, Sequence

import numpy as np

from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, whole_number
from regretkit.estimators._enumeration import MOST, mean_and_variance
from regretkit.estimators._estimator import Estimator
from regretkit.games import Game
from regretkit.games._game import as_profile, check_game
from regretkit.sets import DecisionTree, StrategySet


def assert_unbiased(
    game: Game,
    estimator: Estimator,
    *,
    profiles: Iterable[Sequence[Vector]] | None = None,
    tolerance: float = 1e-12,
    most: int = MOST,
) -> None:
    """Raise ``AssertionError`` unless estimates are exact on average, for every player.

    This goes through every sample that the estimator may draw, each with its probability, and
    compares the mean with the game's own utilities: the utility of every sequence, and in a tree
    also the value of every action once there, the counterfactual utilities. It draws nothing, and
    the estimator stays as it is. An estimator of one's own can be looked at as well, as long as it
    only compares what ``generator.random()`` returns, or takes single numbers from
    ``generator.integers`` or ``generator.choice``.

    Parameters
    ----------
    game
        A small one.
    estimator
        The estimator.
    profiles
        What is played; by default two profiles in which every action has a positive probability.
    tolerance
        How far the mean may be off, in units of the largest exact utility or of 1, whichever is
        larger.
    most
        How many samples to go through at most, for each player and profile.

    Raises
    ------
    AssertionError
        When a mean is off; the message says of which player, and where.
    TypeError, ValueError
        When the game or the estimator is none, samples are drawn in a way in which they cannot be
        gone through, or are more than ``most``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling
    >>> assert_unbiased(kuhn_poker(), ExternalSampling(np.random.default_rng(1)))
    """
    check_game(game)
    check_kind(estimator, Estimator, "estimator", "ExternalSampling(numpy.random.default_rng(1))")
    most = whole_number(most, "most", least=1)
    for profile in _interior(game) if profiles is None else profiles:
        strategies = as_profile(profile, game.domains)
        for player in range(len(game.domains)):
            mean, _ = mean_and_variance(estimator, game, player, strategies, most)
            _compare(game, player, strategies, mean, tolerance)


def _interior(game: Game) -> list[list[Vector]]:
    """Return profiles in which every action has positive probability."""
    generator, profiles = np.random.default_rng(1), []
    for _ in range(2):
        profile = []
        for domain in game.domains:
            inner, (_, outer) = domain.relative_interior_point(), _corner(domain, generator)
            profile.append(0.6 * inner + 0.4 * outer)
        profiles.append(profile)
    return profiles


def _corner(domain: StrategySet, generator: np.random.Generator) -> tuple[float, Vector]:
    return domain.best_response(generator.normal(size=domain.dimension))


def _compare(
    game: Game, player: int, profile: Sequence[Vector], mean: Vector, tolerance: float
) -> None:
    exact, domain = game.utility(player, profile), game.domains[player]
    _require(player, "sequence", mean, exact, tolerance)
    if isinstance(domain, DecisionTree):
        behavior = domain.behavior(profile[player])
        below = [domain.counterfactual(worth, behavior)[1] for worth in (mean, exact)]
        _require(player, "action", below[0], below[1], tolerance)


def _require(player: int, what: str, mean: Vector, exact: Vector, tolerance: float) -> None:
    off = np.abs(mean - exact)
    unit = max(1.0, float(np.abs(exact).max(initial=0.0)))
    if not (off <= tolerance * unit).all():
        worst = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        raise AssertionError(
            f"the estimate is biased: for player {player}, {what} {worst} has utility "
            f"{exact[worst]}, but estimated as {mean[worst]} on average"
        )
