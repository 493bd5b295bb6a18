"""Enumeration of all samples of a random function, with their probabilities.

The function may only compare uniform numbers with bounds. Each comparison is a fork with two
branches, so all paths through the forks give all samples.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

MAX_SAMPLES = 1_000_000

Result = TypeVar("Result")


def every_sample(
    sample: Callable[[np.random.Generator], Result], maximum: int = MAX_SAMPLES
) -> Iterator[tuple[float, Result]]:
    """Yield the probability and the result of ``sample`` for each possible sample.

    Parameters
    ----------
    sample
        A function of a generator. It may compare numbers from ``generator.random`` with bounds, and
        draw single numbers with ``generator.integers`` and ``generator.choice``. Other draws raise
        a TypeError.
    maximum
        Largest number of samples.

    Examples
    --------
    >>> [*every_sample(lambda generator: generator.random() < 0.25)]
    [(0.25, True), (0.75, False)]
    """
    path: list[tuple[int, int]] = []
    for _ in range(maximum):
        forks = _Forks(path)
        result = sample(cast(np.random.Generator, _Script(forks)))
        yield forks.probability, result
        # The next path in lexicographic order
        path = forks.path
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1] = path[-1][0] + 1, path[-1][1]
    raise ValueError(f"there are more than {maximum:,} samples")


class _Forks:
    """A path through forks, and its probability."""

    def __init__(self, path: Sequence[tuple[int, int]]) -> None:
        self.path = list(path)
        """The branch at each fork, and the number of its branches."""
        self.probability = 1.0
        self._passed = 0

    def take(self, probabilities: Sequence[float]) -> int:
        """Return the branch at the next fork: that of the path, or the first at a new fork."""
        if self._passed == len(self.path):
            self.path.append((0, len(probabilities)))
        branch = self.path[self._passed][0]
        self._passed += 1
        self.probability *= probabilities[branch]
        return branch


class _Undrawn:
    """A uniform number in [0, 1) between known bounds."""

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

    # Equality with a bound has probability zero.
    __le__, __gt__ = __lt__, __ge__

    def __float__(self, *_: object, **__: object) -> float:
        raise TypeError(
            "numbers from generator.random() must only be compared with bounds, as in "
            "generator.random() < probability"
        )

    __index__ = __array__ = __float__


class _Script:
    """Replaces a generator: draws follow a path through the forks."""

    def __init__(self, forks: _Forks) -> None:
        self._forks = forks

    def random(self, size: Any = None) -> Any:
        if size is None:
            return _Undrawn(self._forks)
        numbers: NDArray[Any] = np.empty(size, dtype=object)
        for place in np.ndindex(numbers.shape):
            numbers[place] = _Undrawn(self._forks)
        return numbers

    def integers(self, low: int, high: int | None = None, size: None = None) -> Any:
        return self.choice(np.arange(low) if high is None else np.arange(low, high), size)

    def choice(self, a: Any, size: None = None, replace: bool = True, p: Any = None) -> Any:
        if size is not None:
            raise TypeError("to enumerate samples, draw one at a time, without size")
        options = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        even = np.full(len(options), 1.0 / len(options))
        probabilities = even if p is None else np.asarray(p, dtype=np.float64)
        possible = np.flatnonzero(probabilities > 0.0)
        return options[possible[self._forks.take(probabilities[possible].tolist())]]

    def __getattr__(self, name: str) -> NoReturn:
        error = AttributeError if name.startswith("_") else TypeError
        raise error(f"samples of generator.{name} cannot be enumerated; use generator.random")
