"""What is watched while a game is built: its size so far and to come, its depth, and the time."""

import logging
import math
import random
import time
from collections.abc import Callable
from numbers import Real
from typing import final

from regretkit._util._errors import advised
from regretkit._util._validate import must_be
from regretkit.games._memory_budget import MemoryBudget, count_text
from regretkit.games.tree._history import CHANCE, History, actions_of, check_length, outcomes_of

_log = logging.getLogger("regretkit")

_LOOK_AFTER = 1.0
"""Seconds of building after which the size of the whole game is estimated."""

_PLAYS, _SECONDS = 100, 1.0
"""Random plays of an estimate, and the seconds that they take at most."""

_CERTAIN = 1000.0
"""A game is refused if its estimated size is this many times the largest size.

The estimate is unbiased and above zero, so a game of at most the largest size is refused with
probability 1/1000 at most, by Markov's inequality.
"""

_REPORT_AFTER = 10.0
"""Seconds of building until the first report; the time is doubled for each following one."""


@final
class Growth:
    """Refuses and reports the growth of one game that is being built.

    Parameters
    ----------
    budget
        The memory that it may take.
    time_limit
        Seconds that building may take, or None for any number.
    root
        Returns the empty history, for the estimate of the size; without it none is made.
    most
        Largest number of histories.
    claim
        What the game says of its own size, for messages.
    """

    def __init__(
        self,
        budget: MemoryBudget,
        time_limit: float | None = None,
        root: Callable[[], History] | None = None,
        most: float = math.inf,
        claim: str = "",
    ) -> None:
        self._root = root
        self._seconds = _as_seconds(time_limit)
        self._largest, self._claim = budget.largest, claim
        self._most = min(most, self._largest)
        self._start = time.monotonic()
        self._report_after = _REPORT_AFTER

    def check(self, histories: int, depth: int) -> None:
        """Raise an error if the game is too large already, or will be; report it from time to time.

        Raises
        ------
        MemoryError
            When it does not fit into memory, or its estimated size does not.
        TimeoutError
            When the time is over.
        ValueError
            When histories are too long.
        """
        elapsed = time.monotonic() - self._start
        size = f"{histories:,} histories of up to {depth:,} moves"
        check_length(depth)
        if elapsed > self._seconds:
            problem = f"the game has {size} after {elapsed:.3g} seconds, and it is not built yet"
            raise advised(TimeoutError, problem, "pass a larger time_limit or a smaller game")
        if elapsed > self._report_after:
            self._report_after = 2.0 * elapsed
            _log.warning("building a game: %s after %.0f seconds", size, elapsed)
        if elapsed > _LOOK_AFTER and self._root is not None:
            root, self._root = self._root(), None
            self._check_estimate(histories, estimated_size(root, _CERTAIN * self._most))

    def _check_estimate(self, histories: int, estimate: float) -> None:
        if estimate < _CERTAIN * self._most:
            return
        fits = self._most == self._largest
        largest = "of which {} can be built" if fits else "and max_histories is {}"
        raise (MemoryError if fits else ValueError)(
            f"the game has {histories:,} histories so far and, by an estimate from {_PLAYS} random "
            f"plays, {count_text(int(estimate), more=True)} in all{self._claim}, "
            f"{largest.format(f'{int(self._most):,}')}; choose a smaller game, or learn without "
            "its tree, as LazyMCCFR does"
        )


def _as_seconds(limit: float | None) -> float:
    if limit is None:
        return math.inf
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(must_be("time_limit", "a number of seconds", limit))
    if not limit > 0:
        raise ValueError(must_be("time_limit", "a number of seconds above 0", limit))
    return float(limit)


def estimated_size(root: History, most: float) -> float:
    """Return an unbiased estimate of the number of histories of a game, or one above ``most``.

    The mean of 1 + c_1 + c_1 c_2 + ... over random plays, in which chance and the players avoid the
    end of the game while they can: c_t is the number of children at move t, of which the factors of
    later terms count those that are not terminal.

    Examples
    --------
    >>> from regretkit.games import as_history, kuhn_poker
    >>> round(estimated_size(as_history(kuhn_poker()), most=1e6))
    58

    References
    ----------
    Knuth (1975), "Estimating the efficiency of backtrack programs", Mathematics of Computation
    29(129).
    """
    generator, deadline, total = random.Random(1), time.monotonic() + _SECONDS, 0.0
    for _ in range(_PLAYS):
        history, weight = root, 1.0
        total += 1.0
        ended = root.is_terminal()
        while not ended and total <= most * _PLAYS and time.monotonic() < deadline:
            children = _children(history)
            total += weight * len(children)
            inner = [child for child in children if not child.is_terminal()]
            ended = not inner
            if inner:
                history, weight = generator.choice(inner), weight * len(inner)
    return total / _PLAYS


def _children(history: History) -> list[History]:
    if history.player() == CHANCE:
        return [history.child(outcome) for outcome, _ in outcomes_of(history)]
    return [history.child(action) for action in actions_of(history)]
