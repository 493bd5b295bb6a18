"""How much memory there is, so that a game too large for it is refused before the machine swaps."""

import math
import os
from collections.abc import Iterator
from numbers import Real
from pathlib import Path
from typing import final

BYTES_A_HISTORY, BYTES_A_PLAYER = 100, 20
"""What a game takes at the peak of being built, for each history, and more for each player.

Measured, by benchmarks/building.py, and rounded up.
"""

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


@final
class Room:
    """The memory that building a game may take, ``limit`` bytes or what is available."""

    def __init__(self, limit: float | None) -> None:
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Real)):
            raise TypeError(f"memory_limit must be a number of bytes, got {limit!r}")
        if limit is not None and not limit > 0:
            raise ValueError(f"memory_limit must be a number of bytes above 0, got {limit!r}")
        self._limit = available() if limit is None else float(limit)
        self._hint = "" if limit else ", or pass memory_limit=math.inf to try all the same"
        self._before = resident()

    def check(self, histories: int, players: int = 2, *, more: bool = False) -> None:
        """Refuse a game of so many histories, or of more, where they do not fit."""
        self._check(histories, players, 0.0, more)

    def check_objects(self, histories: int) -> None:
        """Refuse to go on where the objects of a walk leave too little room for the arrays."""
        self._check(histories, 2, max(resident() - self._before, 0.0), more=True)

    def check_payoffs(self, outcomes: int) -> None:
        """Refuse a table of so many outcomes of two players where it does not fit."""
        needed = outcomes * _BYTES_AN_OUTCOME
        if needed > min(self._limit, _EVER):
            raise MemoryError(
                f"the game has {_count(outcomes)} outcomes, which take about {_size(needed)} of "
                f"memory while it is built, but there are {_size(self._limit)}; choose a smaller "
                "game"
            )

    def _check(self, histories: int, players: int, objects: float, more: bool) -> None:
        # As whole numbers, because some games are larger than floats can say
        needed = histories * (BYTES_A_HISTORY + BYTES_A_PLAYER * players) + int(objects)
        if needed > min(self._limit, _EVER):
            left = (
                f"there are {_size(self._limit)}" if self._limit < _EVER else "nobody has as much"
            )
            raise MemoryError(
                f"the game has {'more than ' * more}{_count(histories)} histories, which take "
                f"about {_size(needed)} of memory while it is built, but {left}; "
                f"choose a smaller game{self._hint}"
            )
        if histories > _NUMBERED:
            raise MemoryError(
                f"the game has {'more than ' * more}{_count(histories)} histories, but at most "
                f"{_NUMBERED:,} can be numbered; choose a smaller game"
            )


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


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"over 10**{int(math.log10(number))}"


def _size(number: float) -> str:
    """Return a number of bytes as people read it."""
    if number >= _EVER:
        return f"10**{int(math.log10(number))} bytes"
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"
