"""What watches a run: callbacks, and what becomes of a rule that would end the program."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np

from regretkit._util._validate import quote

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

Callback: TypeAlias = Callable[["SelfPlay"], object]
"""Sees a run after an iteration; a result that is ``True`` stops the run.

A method ``next_call(run)`` returns the next iteration at which it needs to be called; a callback
without one is called after every iteration. Calls in between, for other callbacks, must do no harm.
"""


class _Run(Protocol):
    @property
    def iteration(self) -> int: ...


Run = TypeVar("Run", bound=_Run)


def next_look(run: Run, callbacks: Iterable[Callable[[Run], object]], end: int) -> int:
    """Return the next iteration at which a callback is due, ``end`` at the latest."""
    return min([end, *(_due(callback, run) for callback in callbacks)])


def _due(callback: Callable[[Run], object], run: Run) -> int:
    asked = getattr(callback, "next_call", None)
    return run.iteration + 1 if asked is None else max(int(asked(run)), run.iteration + 1)


def stopped(run: Run, callbacks: Iterable[Callable[[Run], object]]) -> bool:
    """Call all callbacks, without short-circuiting, and return whether one stops the run."""
    said = [callback(run) for callback in callbacks]
    return any(isinstance(word, bool | np.bool_) and word for word in said)


@contextmanager
def exits_as_errors() -> Iterator[None]:
    """Turn ``SystemExit`` of a rule into a RuntimeError: a rule that fails never ends the program.

    Callbacks are called outside of it, and may end the program.
    """
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"a rule tried to end the program with {quote(error)}") from error
