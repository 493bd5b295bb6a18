"""What is watched while a game is built: its size so far and to come, its depth, and the time."""

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, final

from regretkit._util._errors import advised
from regretkit._util._validate import must_be
from regretkit.games._memory_budget import PLAY_BY_RULES, MemoryBudget, count_text
from regretkit.games.tree._history import CHANCE, History, actions_of, check_length, outcomes_of

_log = logging.getLogger("regretkit")

_LOOK_AFTER = 1.0
"""Seconds of building after which the size of the whole game is estimated."""

_SAMPLES, _SECONDS = 100, 1.0
"""Samples of a tree for an estimate of its size, and the seconds that they take at most."""

_CERTAIN = 1000.0
"""One over the probability with which a game is refused wrongly, at most."""

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
        self._of_all = ""

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
        if elapsed > _LOOK_AFTER and self._root is not None:
            root, self._root = self._root(), None
            self._check_estimate(histories, root)
        if elapsed > self._report_after:
            self._report_after = 2.0 * elapsed
            _log.warning("building a game: %s%s after %.0f seconds", size, self._of_all, elapsed)

    def report_end(self, histories: int) -> None:
        """Report that all histories of a large game are found, after which its tables are made."""
        if (elapsed := time.monotonic() - self._start) > _REPORT_AFTER:
            text = "building a game: all %s histories are found after %.0f seconds, tables follow"
            _log.warning(text, f"{histories:,}", elapsed)

    def _check_estimate(self, histories: int, root: History) -> None:
        """Refuse a game of which samples show that it is too large.

        Estimates are unbiased and above zero. Of a game of at most the largest size, the products
        of (1 + estimate / largest size) / 2 are a supermartingale that begins at 1, and reach
        1000 with probability 1/1000 at most, by Ville's inequality.
        """
        evidence, sizes, until = 1.0, list[float](), time.monotonic() + _SECONDS
        generator = random.Random(1)
        while evidence < _CERTAIN:
            if len(sizes) == _SAMPLES or time.monotonic() > until:
                self._of_all = f" of about {count_text(_mean(sizes))} in all"
                return
            sizes.append(estimated_size(root, generator, 2.0 * _CERTAIN * self._most, until))
            evidence *= (1.0 + sizes[-1] / self._most) / 2.0
        fits, estimate = self._most == self._largest, int(sum(sizes) / len(sizes))
        largest = "of which {} can be built" if fits else "and max_histories is {}"
        problem = (
            f"the game has {histories:,} histories so far and, by an estimate from samples of its "
            f"tree, about {count_text(estimate)} or more in all{self._claim}, "
            f"{largest.format(f'{int(self._most):,}')}; see that every play ends, "
            "or choose a smaller game"
        )
        raise advised(MemoryError if fits else ValueError, problem, PLAY_BY_RULES, joint=", or ")


def _as_seconds(limit: float | None) -> float:
    if limit is None:
        return math.inf
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(must_be("time_limit", "a number of seconds", limit))
    if not limit > 0:
        raise ValueError(must_be("time_limit", "a number of seconds above 0", limit))
    return float(limit)


def quick_estimate(root: History) -> int:
    """Return about how many histories a game has, with two digits, in a moment."""
    generator, until, sizes = random.Random(1), time.monotonic() + _SECONDS / 2, list[float]()
    while len(sizes) < _SAMPLES and (not sizes or time.monotonic() < until):
        sizes.append(estimated_size(root, generator))
    return _mean(sizes)


def _mean(sizes: Sequence[float]) -> int:
    """Return the mean with two digits."""
    return int(float(f"{sum(sizes) / max(len(sizes), 1):.2g}"))


def estimated_size(
    root: History, generator: random.Random, most: float = math.inf, until: float = math.inf
) -> float:
    """Return an unbiased estimate of the number of histories of a game.

    At each depth there is one history for each player and number of actions, with a weight: of the
    next histories of the same player and number of actions, one is drawn by their weights, and has
    the sum of them. It ends above ``most``, and at the time ``until``.

    Examples
    --------
    >>> from regretkit.games import as_history, load_rules
    >>> estimated_size(as_history(load_rules("liars_dice")), random.Random(1))
    294883.0

    References
    ----------
    Chen (1992), "Heuristic sampling: a method for predicting the performance of tree searching
    programs", SIAM Journal on Computing 21(2).
    """
    total, level = 1.0, {(0, 0): (1.0, root)}
    if root.is_terminal():
        return total
    while level and total <= most:
        following: dict[tuple[int, int], tuple[float, History]] = {}
        for weight, history in level.values():
            if time.monotonic() > until:
                return total
            for child in map(history.child, _moves(history)):
                total += weight
                if child.is_terminal():
                    continue
                kind = child.player(), len(_moves(child))
                sum_before, drawn = following.get(kind, (0.0, child))
                summed = sum_before + weight
                keep = generator.random() * summed < sum_before
                following[kind] = summed, drawn if keep else child
        level = following
    return total


def _moves(history: History) -> Sequence[Any]:
    if history.player() == CHANCE:
        return [outcome for outcome, _ in outcomes_of(history)]
    return actions_of(history)
