"""Threads that run machine code together."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import final

from regretkit._typing import Indices, Vector
from regretkit.engine._gate import close, new_gate

_AGAIN = 32
"""Every so many calls, what has been slower gets another try,"""
_LITTLE = 8
"""with this part of the call's iterations."""


@final
class Crew:
    """Runs one function in several threads at once, the caller's among them.

    The threads live as long as a call takes: a process that has none can be forked, and ended, at
    any time, and what takes so long that several processors are wanted can wait for them.
    """

    def __init__(self, share: Callable[..., None], size: int) -> None:
        self._share, self._size = share, size

    def run(self, *arguments: object) -> None:
        """Let each thread call the function with its number, a gate and the arguments."""
        gate = new_gate()
        errors: list[BaseException] = []

        def work(part: int) -> None:
            try:
                self._share(part, gate, *arguments)
            except BaseException as error:
                errors.append(error)
                close(gate)

        helpers = [
            threading.Thread(target=work, args=(part,), name=f"regretkit-{part}", daemon=True)
            for part in range(1, self._size)
        ]
        try:
            for helper in helpers:
                helper.start()
            work(0)
        except BaseException:
            close(gate)
            raise
        finally:
            for helper in helpers:
                if helper.ident is not None:
                    helper.join()
        if errors:
            raise errors[0]  # the others only found the gate closed


@final
class Quicker:
    """Runs iterations in whichever of two ways has been quicker, where both do the same.

    Threads gain from each other only as long as all of them have a processor, and a machine is
    busy at one time and not at another: so both ways are tried again and again.
    """

    def __init__(self, shared: Callable[..., None], alone: Callable[..., None]) -> None:
        self.shared, self.alone = shared, alone
        self._seconds = [0.0, 0.0]
        self._calls = 0

    def __call__(
        self, together: bool, turns: Indices, numbers: Vector, weights: Vector, *rest: object
    ) -> None:
        """Run the iterations of ``turns``; if there are none, make both ways ready."""
        if turns.shape[0] == 0:
            for way in (self.shared, self.alone):
                way(together, turns, numbers, weights, *rest)
        for which, part in self._plan(turns.shape[0]):
            way = (self.shared, self.alone)[which]
            began = time.perf_counter()
            way(together, turns[part], numbers[part], weights[part], *rest)
            self._seconds[which] = (time.perf_counter() - began) / turns[part].shape[0]

    def _plan(self, iterations: int) -> Iterator[tuple[int, slice]]:
        """Yield which way to run which iterations."""
        self._calls += iterations > 0
        quicker = int(self._seconds[0] > self._seconds[1])
        tried = -(-iterations // _LITTLE) if self._calls % _AGAIN == 0 else 0
        if tried:
            yield 1 - quicker, slice(tried)
        if tried < iterations:
            yield quicker, slice(tried, iterations)
