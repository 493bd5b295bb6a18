"""Memory budget for building games."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from pathlib import Path
from typing import Never, final

from regretkit._util._errors import advised
from regretkit._util._validate import quote

BYTES_A_HISTORY, BYTES_A_PLAYER = 100, 20
"""What a game takes at the peak of being built, for each history, and more for each player.

Measured, by benchmarks/building.py, and rounded up.
"""

_BYTES_AN_OBJECT = 200
"""What the objects and names of a walk take beyond that, for each history."""

_BYTES_AN_OUTCOME = 48
"""What a table of payoffs takes at the peak of being built, for each outcome of two players."""

_EVER = 2.0**60
"""More bytes than any machine has; they are never tried."""

_NUMBERED = 2**31 - 1
"""As many as numbers of 32 bits tell apart."""

_GROUPS = {
    "": ("/sys/fs/cgroup", "memory.max", "memory.current"),
    "memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Where Linux says what a group of processes may use, by the name of the controller."""


_cap: ContextVar[float] = ContextVar("_cap", default=math.inf)
"""The least limit of all enclosing :func:`memory_capped` blocks, in bytes."""


@contextmanager
def memory_capped(limit: float | None) -> Iterator[None]:
    """Cap the memory of every game that is built within the block.

    The cap also holds where a game is asked for with a larger ``memory_limit``, so that a call of
    a game that comes from elsewhere cannot raise its own budget. Blocks may be nested; the least
    limit holds.

    Parameters
    ----------
    limit
        Number of bytes, above 0, or None for no cap.

    Raises
    ------
    TypeError
        When ``limit`` is not a number.
    ValueError
        When ``limit`` is not above 0.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> with memory_capped(2**20):
    ...     kuhn_poker(players=6)
    Traceback (most recent call last):
    MemoryError: the game has 1,944,020 histories, which take about ... ...
    """
    before = _cap.set(min(_cap.get(), math.inf if limit is None else _as_limit(limit)))
    try:
        yield
    finally:
        _cap.reset(before)


@final
class MemoryBudget:
    """The memory that building one game may take.

    At most ``limit`` bytes, by default what is available, and no more than the enclosing
    :func:`memory_capped` blocks allow. Each check raises a MemoryError that states the size of the
    game and the memory it would take.

    Parameters
    ----------
    limit
        Number of bytes, above 0, or None for what is available.
    walked
        Whether the game is built with an object for each history.

    Raises
    ------
    TypeError
        When ``limit`` is not a number.
    ValueError
        When ``limit`` is not above 0.
    """

    def __init__(self, limit: float | None = None, *, walked: bool = False) -> None:
        own = available() if limit is None else _as_limit(limit)
        self._limit = min(own, _cap.get())
        raisable = limit is None and own <= _cap.get()
        self._hint = "pass memory_limit=math.inf to try all the same" if raisable else ""
        self._before = resident()
        self._bytes = BYTES_A_HISTORY + _BYTES_AN_OBJECT * walked

    def check_histories(self, histories: int, players: int = 2, *, more: bool = False) -> None:
        """Refuse a tree of this many histories, or of ``more``, where it does not fit."""
        self._check(histories, players, 0, more)

    def check_levels(self, levels: Iterable[tuple[int, int]]) -> None:
        """Refuse a tree of two players as soon as its first levels do not fit.

        Each pair ``(width, number)`` stands for the next ``number`` lengths, of which ``width``
        histories have each. Information sets are named by what was done, a byte or more a move.
        """
        depth = histories = names = 0
        for width, number in levels:
            histories += width * number
            names += width * (number * depth + number * (number - 1) // 2)
            depth += number
            self._check(histories, 2, names, more=True)

    def check_objects(self, histories: int) -> None:
        """Refuse to continue where the objects of a walk leave too little room for the arrays."""
        self._check(histories, 2, max(int(resident() - self._before), 0), more=True)

    def check_payoffs(self, outcomes: int) -> None:
        """Refuse a payoff matrix of this many outcomes of two players where it does not fit."""
        needed = outcomes * _BYTES_AN_OUTCOME
        if needed > min(self._limit, _EVER):
            self._refuse("outcomes", outcomes, needed, more=False, hint="")

    def _check(self, histories: int, players: int, others: int, more: bool) -> None:
        # As whole numbers, because some games are larger than floats can say
        needed = histories * (self._bytes + BYTES_A_PLAYER * players) + others
        if needed > min(self._limit, _EVER):
            hint = self._hint if histories <= _NUMBERED else ""
            self._refuse("histories", histories, needed, more=more, hint=hint)
        if histories > _NUMBERED:
            raise MemoryError(
                f"the game has {_count(histories, more)} histories, but at most "
                f"{_NUMBERED:,} can be numbered; choose a smaller game"
            )

    def _refuse(self, what: str, number: int, needed: int, *, more: bool, hint: str) -> Never:
        limit = self._limit
        left = f"there are {_size(limit)}" if limit < _EVER else "no machine has as much"
        problem = (
            f"the game has {_count(number, more)} {what}, which take about "
            f"{_size(needed)} of memory while it is built, but {left}; choose a smaller game"
        )
        raise advised(MemoryError, problem, hint, joint=", or ") if hint else MemoryError(problem)


def _as_limit(limit: float) -> float:
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"memory_limit must be a number of bytes, got {quote(limit)}")
    if not limit > 0:
        raise ValueError(f"memory_limit must be a number of bytes above 0, got {quote(limit)}")
    return float(limit)


def available() -> float:
    """Return how many bytes this process may still take, infinity where nothing says so.

    The least of what the machine has left, by ``/proc/meminfo`` or all its memory by
    ``os.sysconf``; what the control group has left; and what the limit on the address space leaves.
    """
    return min(_of_machine(), *_of_groups(), _of_process())


def resident() -> float:
    """Return how many bytes of memory this process holds, 0 where nothing says so."""
    return _page() * _statm(1)


def _of_machine() -> float:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return _page() * float(_sysconf("SC_PHYS_PAGES")) or math.inf


def _of_groups() -> Iterator[float]:
    for line in _text("/proc/self/cgroup").splitlines():
        _, name, path = line.split(":", 2)
        if name in _GROUPS:
            root, limit, usage = _GROUPS[name]
            here = Path(root + path)
            for folder in (here, *here.parents):
                most, used = _text(folder / limit).strip(), _text(folder / usage).strip()
                if most.isdigit() and used.isdigit():
                    yield float(most) - float(used) + _reclaimable(folder)


def _reclaimable(folder: Path) -> float:
    """Return the bytes of files that a group has read and that would make way."""
    for line in _text(folder / "memory.stat").splitlines():
        if line.startswith("inactive_file "):
            return float(line.split()[1])
    return 0.0


def _of_process() -> float:
    try:
        import resource
    except ImportError:
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if most == resource.RLIM_INFINITY else most - _page() * _statm(0)


def _statm(field: int) -> float:
    """Return a number of pages that Linux counts for this process."""
    fields = _text("/proc/self/statm").split()
    return float(fields[field]) if fields else 0.0


def _page() -> float:
    return float(_sysconf("SC_PAGE_SIZE"))


def _sysconf(name: str) -> int:
    try:
        return os.sysconf(name)
    except (AttributeError, ValueError, OSError):
        return 0


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _count(number: int, more: bool) -> str:
    if number >= 10**15:
        return f"over 10**{int(math.log10(number))}"
    return f"{'more than ' * more}{number:,}"


def _size(number: float) -> str:
    """Return a number of bytes as people read it."""
    if number >= _EVER:
        return f"10**{int(math.log10(number))} bytes"
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"
