"""Random numbers, many of them made at once."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Self, final

import numpy as np

_MANY = 512


@final
class Draws:
    """What ``generator.random()`` returns, call by call, several times faster.

    While one of these is in use the generator is ahead of what was drawn; after it, it is where
    calls would have left it.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._before: Any = None
        self._made: Iterator[float] = iter(())
        self.random: Callable[[], float] = chain.from_iterable(self._batches()).__next__

    def _batches(self) -> Iterator[Iterator[float]]:
        for many in repeat(_MANY):
            self._before = self._generator.bit_generator.state
            self._made = iter(self._generator.random(many).tolist())
            yield self._made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        left = len(list(self._made))
        if left:
            self._generator.bit_generator.state = self._before
            self._generator.random(_MANY - left)
