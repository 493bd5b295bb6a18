"""Memory budget for building games: how large one is, counted or estimated, and may be."""

import logging
import math
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from mmap import PAGESIZE
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

from regretkit._util._validate import must_be
from regretkit.games.tree._history import CHANCE, History, actions_of, check_length, outcomes_of

BYTES_A_HISTORY, BYTES_A_PLAYER = 100, 20
"""Peak memory of building a game, for each history and for each player of each history.

Measured by ``python -m benchmarks building`` and rounded up.
"""

_BYTES_AN_OBJECT = 200
"""Additional memory of a walk with one object for each history."""


class TooManyHistoriesError(ValueError):
    """A game has more histories than ``max_histories``."""


PLAY_BY_RULES = "play by the rules without a tree, as solve(load_rules(...), ...) does"

_BYTES_AN_OUTCOME = 48
"""Peak memory of building a payoff matrix, for each outcome of two players."""

_EVER = 2.0**60
"""More bytes than any machine has."""

_NUMBERED = 2**31 - 1
"""Largest number of histories: their numbers have 32 bits."""

_cap: ContextVar[float] = ContextVar("_cap", default=math.inf)
"""The smallest limit of all enclosing ``memory_capped`` blocks, in bytes."""


@contextmanager
def memory_capped(limit: float | None) -> Iterator[None]:
    """Cap the memory, in bytes, of every game that is built within the block; None for no cap.

    A larger ``memory_limit`` of a game does not raise the cap. Blocks may be nested; the smallest
    limit holds.
    """
    previous = _cap.set(min(_cap.get(), _limit(limit, "memory_limit", "bytes")))
    try:
        yield
    finally:
        _cap.reset(previous)


class MemoryBudget:
    """The memory that building one game may take.

    At most ``limit`` bytes, by default what is available, and no more than the enclosing
    ``memory_capped`` blocks allow. Each check raises a MemoryError that states the size of the
    game and the memory it would take.
    A ``walked`` game is built with an object for each history.
    """

    def __init__(self, limit: float | None = None, *, walked: bool = False) -> None:
        given = available() if limit is None else _limit(limit, "memory_limit", "bytes")
        self._limit = min(given, _cap.get())
        raisable = limit is None and given <= _cap.get()
        self.hints = ["pass memory_limit=math.inf to try anyway"] * raisable
        self._before = resident()
        self._bytes = BYTES_A_HISTORY + _BYTES_AN_OBJECT * walked
        fit = self._limit / (self._bytes + 2 * BYTES_A_PLAYER)
        self.largest = min(fit, _NUMBERED)
        """Number of histories of two players that fit into memory and can be numbered."""

    def check_histories(
        self, histories: int, players: int = 2, *, extra: int = 0, growing: bool = False
    ) -> None:
        """Raise a MemoryError if these histories, or more, and ``extra`` bytes do not fit."""
        size = f"{count_text(histories, growing)} histories"
        # As integers, because some games are larger than the range of floats
        needed = histories * (self._bytes + BYTES_A_PLAYER * players) + extra
        numbered = histories <= _NUMBERED
        hints = [PLAY_BY_RULES, *(self.hints if numbered else [])]
        self.require(size, needed, hints)
        if not numbered:
            problem = f"the game has {size}, but at most {_NUMBERED:,} can be numbered"
            raise _too_large(problem, hints)

    def check_levels(self, widths: Iterable[int]) -> None:
        """Raise a MemoryError as soon as the first levels of a two-player tree do not fit.

        Labels are assumed to take a byte or more for each past action.
        """
        histories = names = 0
        for depth, width in enumerate(widths):
            histories += width
            names += width * depth
            self.check_histories(histories, extra=names, growing=True)

    def check_objects(self, histories: int) -> None:
        """Raise a MemoryError if the objects of a walk leave too little memory for the arrays."""
        taken = max(int(resident() - self._before), 0)
        self.check_histories(histories, extra=taken, growing=True)

    def check_payoffs(self, outcomes: int) -> None:
        """Raise a MemoryError if a payoff matrix of this many outcomes does not fit."""
        self.require(f"{count_text(outcomes)} outcomes", outcomes * _BYTES_AN_OUTCOME)

    def require(
        self, size: str, needed: int, hints: Sequence[str] = (), when: str = "while it is built"
    ) -> None:
        """Raise a MemoryError if a game of some size needs more bytes than it may."""
        if needed <= min(self._limit, _EVER):
            return
        known = self._limit < _EVER
        remaining = f"there are {_size(self._limit)}" if known else "no machine has as much"
        problem = f"the game has {size}, which take about {_size(needed)} of memory {when}, but "
        raise _too_large(problem + remaining, hints)


def _too_large(problem: str, hints: Sequence[str]) -> MemoryError:
    """Return the error with hints of what to do beside choosing a smaller game."""
    return MemoryError(", or ".join([f"{problem}; choose a smaller game", *hints]))


def _limit(value: float | None, name: str, unit: str) -> float:
    """Return a limit, infinity where there is none."""
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(must_be(name, f"a number of {unit}", value))
    if not value > 0:
        raise ValueError(must_be(name, f"a number of {unit} above 0", value))
    return float(value)


def count_text(number: int, growing: bool = False) -> str:
    """Return a number for messages, one above 10**15 as a power of ten."""
    if number >= 10**15:
        return f"over 10**{int(math.log10(number))}"
    return f"{'more than ' * growing}{number:,}"


def _size(number: float) -> str:
    if number >= _EVER:
        return f"10**{int(math.log10(number))} bytes"
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"


def available() -> float:
    """Return the number of bytes that this process may still allocate, infinity if unknown.

    The smaller of the available memory of the machine (``/proc/meminfo``, else ``os.sysconf``) and
    of the limit on the address space.
    """
    free, limit = _numbers("/proc/meminfo", r"MemAvailable:\s*(\d+)"), math.inf
    if free:
        limit = 1024.0 * free[0]
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        limit = float(PAGESIZE) * os.sysconf("SC_PHYS_PAGES")
    with suppress(ImportError):
        import resource

        maximum, _ = resource.getrlimit(resource.RLIMIT_AS)
        if maximum != resource.RLIM_INFINITY:
            limit = min(limit, maximum - _taken(0))
    return limit


def resident() -> float:
    """Return the resident memory of this process in bytes, 0 if unknown."""
    return _taken(1)


def _taken(column: int) -> float:
    pages = _numbers("/proc/self/statm", r"\d+")
    return PAGESIZE * pages[column] if pages else 0.0


def _numbers(path: str, pattern: str) -> list[float]:
    """Return the numbers in a file that match a pattern, none if it cannot be read."""
    with suppress(OSError):
        return [float(number) for number in re.findall(pattern, Path(path).read_text())]
    return []


_log = logging.getLogger("regretkit")

_LOOK_AFTER = 1.0
"""Seconds of building after which the size of the whole game is estimated."""

_SAMPLES, _SECONDS = 100, 1.0
"""Samples of a tree for an estimate of its size, and the seconds that they take at most."""

_CERTAIN = 1000.0
"""One over the probability with which a game is refused wrongly, at most."""

_REPORT_AFTER = 10.0
"""Seconds of building until the first report; the time is doubled for each following one."""


class Growth:
    """Refuses and reports the growth of one game that is being built.

    It may take the memory of a budget, a time in seconds and ``maximum`` histories. ``root``
    returns the empty history, for an estimate of the size, and ``claim`` is what the game says of
    its own.
    """

    def __init__(
        self,
        budget: MemoryBudget,
        time_limit: float | None = None,
        root: Callable[[], History] | None = None,
        maximum: float = math.inf,
        claim: str = "",
    ) -> None:
        self._root = root
        self._seconds = _limit(time_limit, "time_limit", "seconds")
        self._largest, self._claim = budget.largest, claim
        self._most = min(maximum, self._largest)
        self._start = time.monotonic()
        self._report_after = _REPORT_AFTER
        self._of_all = ""

    def check(self, histories: int, depth: int) -> None:
        """Report a long build; raise an error if it takes too long or too much, or will.

        A MemoryError says that its estimated size does not fit, a ValueError that there are too
        many histories or too long ones, a TimeoutError that the time is over.
        """
        elapsed = time.monotonic() - self._start
        size = f"{histories:,} histories of up to {depth:,} moves"
        check_length(depth)
        if elapsed > self._seconds:
            raise TimeoutError(
                f"the game has {size} after {elapsed:.3g} seconds, and it is not built yet"
            )
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
        evidence, sizes = 1.0, list[float]()
        for size in _estimates(root, 2.0 * _CERTAIN * self._most, _SECONDS):
            sizes.append(size)
            evidence *= (1.0 + size / self._most) / 2.0
            if evidence >= _CERTAIN:
                raise self._refusal(histories, int(sum(sizes) / len(sizes)))
        self._of_all = f" of about {count_text(_mean(sizes))} in all"

    def _refusal(self, histories: int, estimate: int) -> Exception:
        fits = self._most == self._largest
        largest = "of which {} can be built" if fits else "and max_histories is {}"
        problem = (
            f"the game has {histories:,} histories so far and, by an estimate from samples of its "
            f"tree, about {count_text(estimate)} or more in all{self._claim}, "
            f"{largest.format(f'{int(self._most):,}')}; see that every play ends, "
            "or choose a smaller game"
        )
        return (MemoryError if fits else TooManyHistoriesError)(f"{problem}, or {PLAY_BY_RULES}")


def is_too_large(error: object) -> bool:
    """Return whether an error says that a game has more histories than fit or than are allowed."""
    return isinstance(error, MemoryError | TooManyHistoriesError)


def quick_estimate(root: History) -> int:
    """Return about how many histories a game has, with two digits, in a moment."""
    return _mean([*_estimates(root, math.inf, _SECONDS / 2)])


def _mean(sizes: Sequence[float]) -> int:
    """Return the mean with two digits."""
    return int(float(f"{sum(sizes) / len(sizes):.2g}"))


def _estimates(root: History, maximum: float, seconds: float) -> Iterator[float]:
    """Yield estimates of the size of a game from samples of its tree."""
    generator, deadline = random.Random(1), time.monotonic() + seconds
    for _ in range(_SAMPLES):
        yield estimated_size(root, generator, maximum, deadline)
        if time.monotonic() > deadline:
            return


def estimated_size(
    root: History, generator: random.Random, maximum: float = math.inf, deadline: float = math.inf
) -> float:
    """Return an unbiased estimate of the number of histories of a game.

    At each depth there is one history for each player and number of actions, with a weight: of the
    next histories of the same player and number of actions, one is drawn by their weights, and has
    the sum of them. It ends above ``maximum``, and at the time ``deadline``.

    References
    ----------
    Chen (1992), "Heuristic sampling: a method for predicting the performance of tree searching
    programs", SIAM Journal on Computing 21(2).
    """
    total, level = 1.0, {(0, 0): (1.0, root)}
    while level and total <= maximum:
        following: dict[tuple[int, int], tuple[float, History]] = {}
        for weight, history in level.values():
            if time.monotonic() > deadline:
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
    if history.is_terminal():
        return ()
    if history.player() == CHANCE:
        return [outcome for outcome, _ in outcomes_of(history)]
    return actions_of(history)


_EXPANDED = 200_000
"""Largest number of histories that are created to count a level."""


class Countable(History, Protocol):
    """A history that knows which others have as many continuations."""

    def shape(self) -> Hashable:
        """Return a key; equal ones are followed by equally many histories of each length."""
        ...


def level_widths(root: Countable, length: int | None = None) -> Iterator[int]:
    """Yield the number of histories of each length, up to ``length`` if given.

    One history of each shape is expanded, and none of a level before the level is counted. Levels
    after one with more than ``_EXPANDED`` children to create are not counted.
    """
    examples, counts = {root.shape(): root}, Counter([root.shape()])
    actions: dict[Hashable, Sequence[Any]] = {}
    following: dict[Hashable, Counter[Hashable]] = {}
    yield 1
    for _ in range(sys.maxsize if length is None else length):
        for shape in counts.keys() - actions.keys():
            actions[shape] = _moves(examples[shape])
        width = sum(number * len(actions[shape]) for shape, number in counts.items())
        if not width:
            return
        yield width
        if sum(len(actions[shape]) for shape in counts.keys() - following.keys()) > _EXPANDED:
            return
        successors: Counter[Hashable] = Counter()
        for shape, number in counts.items():
            if shape not in following:
                following[shape] = Counter()
                for child in map(examples[shape].child, actions[shape]):
                    key = child.shape()
                    examples.setdefault(key, child)
                    following[shape][key] += 1
            for key, ways in following[shape].items():
                successors[key] += number * ways
        counts = successors
