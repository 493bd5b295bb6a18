"""Estimators: what they are, the exact one, and the check that enumerates every sample of one."""

import abc
import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, cast

import numpy as np
from attrs import frozen

from regretkit._state import NOT_STATE, Stateful, attributes, attrs_fields
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, floats, quote, whole_number
from regretkit.checks import every_sample
from regretkit.checks._samples import MAX_SAMPLES
from regretkit.games import Game
from regretkit.games._game import as_profile, check_game
from regretkit.sets import DecisionTree


class Estimator(abc.ABC):
    """Returns a player's utility, exactly or on average.

    Examples
    --------
    >>> isinstance(ExactUtility(), Estimator)
    True
    """

    @abc.abstractmethod
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return an estimate of ``game.utility(player, profile)`` whose mean is exact."""

    def variance(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return the variance of each coordinate of ``utility(game, player, profile)``.

        It goes through every sample that there may be, and so takes long unless the game is small.
        Nothing is drawn, and nothing learned.

        Raises
        ------
        TypeError, ValueError
            When samples are drawn in a way that cannot be enumerated, or are too many.
        """
        return mean_and_variance(self, game, player, profile)[1]


@frozen
class ExactUtility(Estimator):
    """The exact utility, over every chance outcome and every action.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.games import matching_pennies
    >>> ExactUtility().utility(matching_pennies(), 0, [np.ones(2) / 2, np.array([1.0, 0.0])])
    array([ 1., -1.])
    """

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        return game.utility(player, profile)


_REPEATS = 32
"""Repetitions of the first sample, which must agree for enumeration to be possible."""

Result = TypeVar("Result")


def every_estimate(
    estimator: Estimator,
    game: Game,
    player: int,
    profile: Sequence[Vector],
    maximum: int = MAX_SAMPLES,
) -> Iterator[tuple[float, Vector]]:
    """Yield every estimate that may come next, with its probability; draw and learn nothing."""
    untouched = clone_with_rng(estimator, np.random.default_rng(0))
    dimension, name = game.domains[player].dimension, f"what {quote(estimator)}.utility returned"

    def sample(generator: np.random.Generator) -> Vector:
        clone = clone_with_rng(untouched, generator)
        utility = floats(clone.utility(game, player, profile), name)
        if utility.shape != (dimension,):
            raise ValueError(f"{name} has shape {utility.shape}, but must have ({dimension},)")
        _keep_derived(clone, untouched)
        return utility

    first, *repeated = (next(every_sample(sample))[1] for _ in range(_REPEATS))
    if not all(np.array_equal(first, utility, equal_nan=True) for utility in repeated):
        raise TypeError(
            f"{quote(estimator)} draws from something else than a numpy.random.Generator that is "
            "its attribute, and its samples cannot be enumerated; hold one, as in "
            "self.generator = numpy.random.default_rng(seed)"
        )
    yield from every_sample(sample, maximum)


def mean_and_variance(
    estimator: Estimator,
    game: Game,
    player: int,
    profile: Sequence[Vector],
    maximum: int = MAX_SAMPLES,
) -> tuple[Vector, Vector]:
    """Return the mean of all estimates that may come next, and their variance."""
    samples = every_estimate(estimator, game, player, profile, maximum)
    probabilities, estimates = map(np.array, zip(*samples, strict=True))
    mean: Vector = probabilities @ estimates
    return mean, probabilities @ (estimates - mean) ** 2


def clone_with_rng(thing: Result, generator: np.random.Generator) -> Result:
    """Return a copy that draws from ``generator``, and whose state is its own."""
    clone = copy.copy(thing)
    for name, value in [*attributes(thing)]:
        object.__setattr__(clone, name, _cloned(value, generator))
    return clone


def _cloned(value: object, generator: np.random.Generator) -> object:
    """Return a copy of what an attribute holds, in which ``generator`` replaces all others."""
    if isinstance(value, np.random.Generator):
        return generator
    if isinstance(value, Estimator | Stateful):
        return clone_with_rng(cast("object", value), generator)
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) is list:
        return [_cloned(item, generator) for item in value]
    if type(value) is tuple:
        return tuple(_cloned(item, generator) for item in value)
    if isinstance(value, dict):
        return {key: _cloned(item, generator) for key, item in value.items()}
    return value


def _keep_derived(source: object, target: object) -> None:
    """Take over what was only worked out for later, and is no part of the state."""
    derived = {field.name for field in attrs_fields(type(source)) if field.metadata == NOT_STATE}
    for name, value in [*attributes(source)]:
        if isinstance(value, Estimator | Stateful):
            _keep_derived(value, getattr(target, name))
        elif name in derived:
            object.__setattr__(target, name, value)


def assert_unbiased(
    game: Game,
    estimator: Estimator,
    *,
    profiles: Iterable[Sequence[Vector]] | None = None,
    tolerance: float = 1e-12,
    maximum: int = MAX_SAMPLES,
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
    maximum
        How many samples to go through at most, for each player and profile.

    Raises
    ------
    AssertionError
        When a mean is off; the message says of which player, and where.
    TypeError, ValueError
        When an argument is not a game or an estimator; when samples cannot be enumerated, are
        more than ``maximum``, or are not arrays of the player's dimension.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling
    >>> assert_unbiased(kuhn_poker(), ExternalSampling(np.random.default_rng(1)))
    """
    check_game(game)
    check_kind(estimator, Estimator, "estimator", "ExternalSampling(numpy.random.default_rng(1))")
    maximum = whole_number(maximum, "maximum", minimum=1)
    for profile in _interior(game) if profiles is None else profiles:
        strategies = [strategy.copy() for strategy in as_profile(profile, game.domains)]
        for strategy in strategies:
            strategy.setflags(write=False)
        for player, domain in enumerate(game.domains):
            mean, _ = mean_and_variance(estimator, game, player, strategies, maximum)
            exact = game.utility(player, strategies)
            _require_equal(player, "sequence", mean, exact, tolerance)
            if isinstance(domain, DecisionTree):
                behavior = domain.behavior(strategies[player])
                found, wanted = (domain.counterfactual(u, behavior)[1] for u in (mean, exact))
                _require_equal(player, "action", found, wanted, tolerance)


def _interior(game: Game) -> Iterator[list[Vector]]:
    """Yield profiles in which every action has positive probability."""
    generator = np.random.default_rng(1)
    for _ in range(2):
        corners = [d.best_response(generator.normal(size=d.dimension))[1] for d in game.domains]
        pairs = zip(game.domains, corners, strict=True)
        yield [0.6 * domain.relative_interior_point() + 0.4 * corner for domain, corner in pairs]


def _require_equal(player: int, kind: str, mean: Vector, exact: Vector, tolerance: float) -> None:
    error = np.abs(mean - exact)
    if not (error <= tolerance * max(1.0, float(np.abs(exact).max(initial=0.0)))).all():
        worst = int(np.argmax(np.where(np.isfinite(error), error, np.inf)))
        raise AssertionError(
            f"the estimate is biased: for player {player}, {kind} {worst} has utility "
            f"{exact[worst]}, but estimated as {mean[worst]} on average"
        )
