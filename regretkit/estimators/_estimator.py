"""Estimators: what they are, the exact one, and the check that enumerates every sample of one."""

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

        It enumerates every sample, so it takes long unless the game is small. The estimator stays
        as it is.
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


def every_estimate(
    estimator: Estimator,
    game: Game,
    player: int,
    profile: Sequence[Vector],
    maximum: int = MAX_SAMPLES,
) -> Iterator[tuple[float, Vector]]:
    """Yield every estimate that may come next, with its probability; the estimator stays as is."""
    untouched = _copy(estimator, np.random.default_rng(0), game)
    dimension, name = game.domains[player].dimension, f"what {quote(estimator)}.utility returned"

    def sample(generator: np.random.Generator) -> Vector:
        clone = _copy(untouched, generator, game)
        utility = floats(clone.utility(game, player, profile), name)
        if utility.shape != (dimension,):
            raise ValueError(f"{name} has shape {utility.shape}, but must have ({dimension},)")
        for (part, key, _), (*_, value) in zip(_derived(untouched), _derived(clone), strict=True):
            object.__setattr__(part, key, value)
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


def _copy(estimator: Estimator, generator: np.random.Generator, game: Game) -> Estimator:
    """Return a copy that draws from ``generator``, and shares what is derived from the game."""
    memo: dict[int, object] = {id(game): game}
    memo |= {id(value): value for *_, value in _derived(estimator)}
    for part in _parts(estimator):
        for _, leaf in leaves(dict(attributes(part))):
            if isinstance(leaf, np.random.Generator):
                memo[id(leaf)] = generator
    return copy.deepcopy(estimator, memo)


def _parts(thing: object) -> Iterator[object]:
    """Yield an estimator, its parts, and theirs."""
    yield thing
    for _, leaf in leaves(dict(attributes(thing))):
        if isinstance(leaf, Estimator | Stateful):
            yield from _parts(leaf)


def _derived(estimator: Estimator) -> Iterator[tuple[object, str, object]]:
    """Yield each attribute that is no state: its owner, name and value."""
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
    """Raise ``AssertionError`` unless estimates are exact on average, for every player.

    This enumerates every sample of the estimator with its probability, and compares the mean with
    the game's own utilities: that of every sequence, and in a tree also the counterfactual utility
    of every action. The estimator stays as it is. Your own estimator may only compare the results
    of ``generator.random()`` with numbers, and take single numbers from ``generator.integers`` or
    ``generator.choice``.

    Parameters
    ----------
    game
        A small one.
    estimator
        The estimator.
    profiles
        The profiles; by default two in which every action has a positive probability.
    tolerance
        The largest error of the mean, in units of the largest exact utility or of 1, whichever is
        larger.
    maximum
        The largest number of samples for each player and profile.

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
