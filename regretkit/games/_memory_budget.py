"""Memory budget for building games."""

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import PAGESIZE
from numbers import Real
from pathlib import Path
from typing import final

from regretkit._util._errors import advised
from regretkit._util._validate import must_be

BYTES_A_HISTORY, BYTES_A_PLAYER = 100, 20
"""Peak memory of building a game, for each history and for each player of each history.

Measured by ``python -m benchmarks building`` and rounded up.
"""

_BYTES_AN_OBJECT = 200
"""Additional memory of a walk with one object for each history."""

LEARN = "learn an equilibrium, as solve(game, 'efce', ...) does"
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
    previous = _cap.set(min(_cap.get(), math.inf if limit is None else _as_limit(limit)))
    try:
        yield
    finally:
        _cap.reset(previous)


@final
class MemoryBudget:
    """The memory that building one game may take.

    At most ``limit`` bytes, by default what is available, and no more than the enclosing
    ``memory_capped`` blocks allow. Each check raises a MemoryError that states the size of the
    game and the memory it would take.
    A ``walked`` game is built with an object for each history.
    """

    def __init__(self, limit: float | None = None, *, walked: bool = False) -> None:
        given = available() if limit is None else _as_limit(limit)
        self._limit = min(given, _cap.get())
        raisable = limit is None and given <= _cap.get()
        self._hint = "pass memory_limit=math.inf to try anyway" if raisable else ""
        self._before = resident()
        self._bytes = BYTES_A_HISTORY + _BYTES_AN_OBJECT * walked

    @property
    def largest(self) -> float:
        """Number of histories of two players that fit into memory and can be numbered."""
        return min(self._limit / (self._bytes + 2 * BYTES_A_PLAYER), _NUMBERED)

    def check_histories(self, histories: int, players: int = 2, *, more: bool = False) -> None:
        """Raise a MemoryError if a tree of this many histories, or of ``more``, does not fit."""
        self._check(histories, players, 0, more)

    def check_levels(self, widths: Iterable[int]) -> None:
        """Raise a MemoryError as soon as the first levels of a two-player tree do not fit.

        Labels are assumed to take a byte or more for each past action.
        """
        histories = names = 0
        for depth, width in enumerate(widths):
            histories += width
            names += width * depth
            self._check(histories, 2, names, more=True)

    def check_objects(self, histories: int) -> None:
        """Raise a MemoryError if the objects of a walk leave too little memory for the arrays."""
        self._check(histories, 2, max(int(resident() - self._before), 0), more=True)

    def check_payoffs(self, outcomes: int) -> None:
        """Raise a MemoryError if a payoff matrix of this many outcomes does not fit."""
        self._require(f"{count_text(outcomes)} outcomes", outcomes * _BYTES_AN_OUTCOME)

    def check_plans(self, sequences: int, needed: int) -> None:
        """Raise a MemoryError if a DAG of correlated plans of ``needed`` bytes does not fit."""
        size, hints = f"more than {count_text(sequences)} sequences of correlated plans", [LEARN]
        self._require(size, needed, [*hints, *([self._hint] if self._hint else [])])

    def _check(self, histories: int, players: int, extra: int, more: bool) -> None:
        size = f"{count_text(histories, more)} histories"
        # As integers, because some games are larger than the range of floats
        needed = histories * (self._bytes + BYTES_A_PLAYER * players) + extra
        hints = [PLAY_BY_RULES, *([self._hint] if self._hint and histories <= _NUMBERED else [])]
        self._require(size, needed, hints)
        if histories > _NUMBERED:
            problem = f"the game has {size}, but at most {_NUMBERED:,} can be numbered"
            raise _too_large(problem, hints)

    def _require(self, size: str, needed: int, hints: Sequence[str] = ()) -> None:
        limit = self._limit
        if needed <= min(limit, _EVER):
            return
        remaining = f"there are {_size(limit)}" if limit < _EVER else "no machine has as much"
        problem = (
            f"the game has {size}, which take about {_size(needed)} of memory while it is built, "
            f"but {remaining}"
        )
        raise _too_large(problem, hints)


def _too_large(problem: str, hints: Sequence[str]) -> MemoryError:
    """Return the error with hints of what to do beside choosing a smaller game."""
    problem = f"{problem}; choose a smaller game"
    if not hints:
        return MemoryError(problem)
    return advised(MemoryError, problem, ", or ".join(hints), joint=", or ")


def _as_limit(limit: float) -> float:
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(must_be("memory_limit", "a number of bytes", limit))
    if not limit > 0:
        raise ValueError(must_be("memory_limit", "a number of bytes above 0", limit))
    return float(limit)


def count_text(number: int, more: bool = False) -> str:
    """Return a number for messages, one above 10**15 as a power of ten."""
    if number >= 10**15:
        return f"over 10**{int(math.log10(number))}"
    return f"{'more than ' * more}{number:,}"


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
    free = _numbers("/proc/meminfo", r"MemAvailable:\s*(\d+)")
    if free:
        left = 1024.0 * free[0]
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        left = float(PAGESIZE) * os.sysconf("SC_PHYS_PAGES")
    else:
        left = math.inf
    return min(left, _of_process())


def resident() -> float:
    """Return the resident memory of this process in bytes, 0 if unknown."""
    pages = _numbers("/proc/self/statm", r"\d+")
    return PAGESIZE * pages[1] if pages else 0.0


def _of_process() -> float:
    try:
        import resource
    except ImportError:
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _numbers("/proc/self/statm", r"\d+") or [0.0]
    return math.inf if most == resource.RLIM_INFINITY else most - PAGESIZE * pages[0]


def _numbers(path: str | Path, pattern: str) -> list[float]:
    """Return the numbers in a file that match a pattern, none if it cannot be read."""
    return [float(number) for number in re.findall(pattern, _text(path))]


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
