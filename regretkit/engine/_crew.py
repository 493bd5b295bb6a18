"""Threads that run machine code together."""

import threading
from collections.abc import Callable
from typing import final

from regretkit.engine._gate import close, new_gate


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
