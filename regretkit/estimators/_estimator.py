"""Estimators: what they are, the exact one, and the check that enumerates every sample of one.

Estimators only compare a drawn number with bounds. So a number that is not drawn yet can stand in
for it: each comparison is a fork, and taking every branch of every fork enumerates all samples.
"""

import abc
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._state import NOT_STATE, Stateful, attributes, attrs_fields
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, floats, quote, whole_number
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
            When samples are drawn in a way in which they cannot be gone through, or are too many.
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


MOST = 1_000_000
"""The largest number of samples that are enumerated."""
_REPEATS = 32
"""Repetitions of the first sample, which must agree for enumeration to be possible."""

Result = TypeVar("Result")


class _Forks:
    """The branch taken at each fork, and the probability of all of them."""

    def __init__(self, path: Sequence[tuple[int, int]]) -> None:
        self.path = list(path)
        """For each fork, which branch to take, and their number."""
        self.probability = 1.0
        self._passed = 0

    def take(self, probabilities: Sequence[float]) -> int:
        """Return which of several branches to take; at a new fork, the first one."""
        if self._passed == len(self.path):
            self.path.append((0, len(probabilities)))
        choice = self.path[self._passed][0]
        self._passed += 1
        self.probability *= probabilities[choice]
        return choice


class _Undrawn:
    """A number from 0 up to 1 of which it is only known on which side of some bounds it lies."""

    def __init__(self, forks: _Forks) -> None:
        self._forks, self._low, self._high = forks, 0.0, 1.0

    def __lt__(self, bound: float) -> bool:
        if not isinstance(bound, int | float | np.number):
            return NotImplemented
        if bound >= self._high:
            return True
        if not bound > self._low:
            return False
        share = (float(bound) - self._low) / (self._high - self._low)
        if self._forks.take([share, 1.0 - share]) == 0:
            self._high = float(bound)
            return True
        self._low = float(bound)
        return False

    def __ge__(self, bound: float) -> bool:
        return not self < bound

    # That it is equal to a bound has probability zero.
    __le__, __gt__ = __lt__, __ge__

    def __float__(self, *_: object, **__: object) -> float:
        raise TypeError(
            "to go through all samples, what generator.random() returns must only be compared "
            "with bounds, as in generator.random() < probability; write the estimator so"
        )

    __index__ = __array__ = __float__


class _Script(np.random.Generator):
    """A generator that takes the branches that it is told, instead of drawing."""

    def __init__(self, forks: _Forks) -> None:
        super().__init__(np.random.PCG64(0))
        self.forks = forks


def _random(script: _Script, size: Any = None, *_: object, **__: object) -> Any:
    if size is None:
        return _Undrawn(script.forks)
    numbers: NDArray[Any] = np.empty(size, dtype=object)
    for place in np.ndindex(numbers.shape):
        numbers[place] = _Undrawn(script.forks)
    return numbers


_SINGLE = "to go through all samples, draw one at a time, without size"


def _integers(script: _Script, low: Any, high: Any = None, size: Any = None, **_: object) -> int:
    if size is not None:
        raise TypeError(_SINGLE)
    first, last = (0, int(low)) if high is None else (int(low), int(high))
    return first + script.forks.take([1.0 / (last - first)] * (last - first))


def _choice(
    script: _Script, a: Any, size: Any = None, replace: Any = True, p: Any = None, **_: object
) -> Any:
    if size is not None:
        raise TypeError(_SINGLE)
    options = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
    even = np.full(len(options), 1.0 / len(options))
    probabilities = even if p is None else np.asarray(p, dtype=np.float64)
    possible = np.flatnonzero(probabilities > 0.0)
    return options[possible[script.forks.take(probabilities[possible].tolist())]]


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"samples drawn by generator.{name} cannot be gone through one by one; draw them by "
            "generator.random"
        )

    return refuse


_DRAWS = {"random": _random, "integers": _integers, "choice": _choice}

for _name in dir(np.random.Generator):
    if not (_name.startswith("_") or _name == "bit_generator"):
        setattr(_Script, _name, _DRAWS.get(_name) or _refuse(_name))


def every_sample(
    sample: Callable[[np.random.Generator], Result], maximum: int = MOST
) -> Iterator[tuple[float, Result]]:
    """Yield what ``sample`` returns for everything that a generator may draw, with probabilities.

    It is refused if it draws in a way in which samples cannot be gone through, or too many.
    """
    path: list[tuple[int, int]] = []
    for _ in range(maximum):
        forks = _Forks(path)
        result = sample(_Script(forks))
        yield forks.probability, result
        # The next path in lexicographic order
        path = forks.path
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1] = path[-1][0] + 1, path[-1][1]
    raise ValueError(
        f"there are more than {maximum:,} samples; take a smaller game, or more patience"
    )


def every_estimate(
    estimator: Estimator, game: Game, player: int, profile: Sequence[Vector], maximum: int = MOST
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
            "its attribute, and its samples cannot be gone through; hold one, as in "
            "self.generator = numpy.random.default_rng(seed)"
        )
    yield from every_sample(sample, maximum)


def mean_and_variance(
    estimator: Estimator, game: Game, player: int, profile: Sequence[Vector], maximum: int = MOST
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
    maximum: int = MOST,
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
        When the game or the estimator is none, samples are drawn in a way in which they cannot be
        gone through, are more than ``maximum``, or are not arrays of the player's dimension.

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
