"""What a callback is."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from regretkit.play.self_play import SelfPlay

Callback: TypeAlias = Callable[["SelfPlay"], object]
"""Sees a run after an iteration; a result that is ``True`` stops the run.

Where it has a method ``due(run)``, that returns the next iteration at which it wants to be called;
otherwise it is called after every one. It may be called in between too, where others look.
"""


def next_look(run: "SelfPlay", callbacks: Iterable[Callback], end: int) -> int:
    """Return the next iteration at which somebody wants to see a run, ``end`` at the latest."""
    return min([end, *(_due(callback, run) for callback in callbacks)])


def _due(callback: Callback, run: "SelfPlay") -> int:
    asked = getattr(callback, "due", None)
    return run.iteration + 1 if asked is None else max(int(asked(run)), run.iteration + 1)


def stopped(run: "SelfPlay", callbacks: Iterable[Callback]) -> bool:
    """Call all of them, whatever the first ones say, and say whether one stops the run."""
    said = [callback(run) for callback in callbacks]
    return any(isinstance(word, bool | np.bool_) and word for word in said)
