"""The base class of estimators, the exact one, and a check that enumerates all samples."""

import abc
import copy
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import frozen

from regretkit._state import NOT_STATE, Stateful, attributes, attrs_fields, leaves
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, floats, quote, whole_number
from regretkit.checks import every_sample
from regretkit.checks._samples import MAX_SAMPLES
from regretkit.games import Game
from regretkit.games._game import as_profile, check_game
from regretkit.sets import DecisionTree


class Estimator(abc.ABC):
    """Base class of estimators, which compute a player's utility exactly or from samples.

    Examples
    --------
    >>> isinstance(ExactUtility(), Estimator)
    True
    """

    @abc.abstractmethod
    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return an unbiased estimate of ``game.utility(player, profile)``."""

    def variance(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        """Return the variance of each coordinate of ``utility(game, player, profile)``.

        It enumerates all samples, which takes long unless the game is small. The state of the
        estimator does not change.
        """
        return mean_and_variance(self, game, player, profile)[1]


@frozen
class ExactUtility(Estimator):
    """The exact utility, the sum over all terminals.

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
"""Number of repetitions of the first sample, which agree if enumeration is possible."""


def every_estimate(
    estimator: Estimator,
    game: Game,
    player: int,
    profile: Sequence[Vector],
    maximum: int = MAX_SAMPLES,
) -> Iterator[tuple[float, Vector]]:
    """Yield each possible next estimate and its probability, without changing the estimator."""
    untouched = _copy(estimator, np.random.default_rng(0), game)
    dimension, name = game.domains[player].dimension, f"the result of {quote(estimator)}.utility"

    def sample(generator: np.random.Generator) -> Vector:
        clone = _copy(untouched, generator, game)
        utility = floats(clone.utility(game, player, profile), name)
        if utility.shape != (dimension,):
            raise ValueError(f"{name} must have shape ({dimension},), got {utility.shape}")
        for (part, key, _), (*_, value) in zip(_derived(untouched), _derived(clone), strict=True):
            object.__setattr__(part, key, value)
        return utility

    first, *repeated = (next(every_sample(sample))[1] for _ in range(_REPEATS))
    if not all(np.array_equal(first, utility, equal_nan=True) for utility in repeated):
        raise TypeError(
            f"samples of {quote(estimator)} cannot be enumerated: it must draw from an attribute, "
            "such as self.generator = numpy.random.default_rng(seed)"
        )
    yield from every_sample(sample, maximum)


def mean_and_variance(
    estimator: Estimator,
    game: Game,
    player: int,
    profile: Sequence[Vector],
    maximum: int = MAX_SAMPLES,
) -> tuple[Vector, Vector]:
    """Return the mean and the variance of the next estimate."""
    samples = every_estimate(estimator, game, player, profile, maximum)
    probabilities, estimates = map(np.array, zip(*samples, strict=True))
    mean: Vector = probabilities @ estimates
    return mean, probabilities @ (estimates - mean) ** 2


def _copy(estimator: Estimator, generator: np.random.Generator, game: Game) -> Estimator:
    """Return a copy that draws from ``generator``, and shares the game and its derived arrays."""
    memo: dict[int, object] = {id(game): game}
    memo |= {id(value): value for *_, value in _derived(estimator)}
    for part in _parts(estimator):
        for _, leaf in leaves(dict(attributes(part))):
            if isinstance(leaf, np.random.Generator):
                memo[id(leaf)] = generator
    return copy.deepcopy(estimator, memo)


def _parts(thing: object) -> Iterator[object]:
    """Yield an estimator and its parts at any depth."""
    yield thing
    for _, leaf in leaves(dict(attributes(thing))):
        if isinstance(leaf, Estimator | Stateful):
            yield from _parts(leaf)


def _derived(estimator: Estimator) -> Iterator[tuple[object, str, object]]:
    """Yield owner, name and value of each attribute that does not belong to the state."""
    for part in _parts(estimator):
        for each in attrs_fields(type(part)):
            if each.metadata == NOT_STATE:
                yield part, each.name, getattr(part, each.name)


def assert_unbiased(
    game: Game,
    estimator: Estimator,
    *,
    profiles: Iterable[Sequence[Vector]] | None = None,
    tolerance: float = 1e-12,
    maximum: int = MAX_SAMPLES,
) -> None:
    """Raise an ``AssertionError`` if an estimator is biased, for any player.

    The check enumerates all samples with their probabilities, and compares their mean with the
    exact utility of every sequence. In a tree it also compares the counterfactual utility of every
    action. The state of the estimator does not change.

    The code of an estimator may use its generator in two ways: compare results of ``random()`` with
    numbers, and draw single numbers with ``integers`` or ``choice``.

    Parameters
    ----------
    game
        A small game.
    estimator
        The estimator.
    profiles
        Profiles at which to check; by default two with positive probabilities of all actions.
    tolerance
        Largest error of a mean, relative to the maximum of 1 and the largest exact utility.
    maximum
        Largest number of samples for each player and profile.

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
    """Yield two profiles in which all actions have positive probabilities."""
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
            f"the estimator is biased: for player {player}, {kind} {worst} has utility "
            f"{exact[worst]}, but its mean estimate is {mean[worst]}"
        )
