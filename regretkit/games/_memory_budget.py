"""Checks of the size of a game against the available memory."""

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from mmap import PAGESIZE
from pathlib import Path

BYTES_A_HISTORY, BYTES_A_PLAYER = 100, 20
"""Peak memory of building a tree: bytes a history, plus bytes for each player of a history.

Rounded up from ``python -m benchmarks building``.
"""

_BYTES_AN_OUTCOME = 48
"""Peak memory of building the payoff matrices of two players, in bytes an outcome."""

_NUMBERED = 2**31 - 1
"""Largest number of histories, since trees number them with 32 bits."""

PLAY_BY_RULES = "play by the rules without a tree, as solve(load_rules(...), ...) does"
_PUBLIC_FORM = "state it as a public game, see regretkit.games.public"


def check_histories(
    histories: float,
    players: int,
    limit: float | None = None,
    about: str = "more than",
    slack: float = 1.0,
) -> None:
    """Raise a MemoryError if a tree takes more than ``slack`` times ``limit`` bytes.

    By default, ``limit`` is the available memory.
    """
    left = available() if limit is None else limit
    most = min(_NUMBERED, left / (BYTES_A_HISTORY + BYTES_A_PLAYER * players))
    if histories > slack * most:
        raise MemoryError(
            f"the game has {about} {_count(int(histories))} histories, and memory is left for "
            f"{_count(int(most))}; choose a smaller game, or {PLAY_BY_RULES}, or {_PUBLIC_FORM}"
        )


def check_payoffs(outcomes: int) -> None:
    """Raise a MemoryError if payoff matrices of this many outcomes do not fit into memory."""
    require(f"{_count(outcomes)} outcomes", min(outcomes, 10**18) * _BYTES_AN_OUTCOME)


def require(
    size: str,
    needed: float,
    hints: Sequence[str] = (),
    when: str = "while it is built",
    limit: float | None = None,
) -> None:
    """Raise a MemoryError if a game needs more bytes than ``limit``, by default the available."""
    left = available() if limit is None else limit
    if needed > left:
        problem = (
            f"the game has {size}, which take about {needed / 2**20:.4g} MiB of memory {when}, but "
            f"there are {left / 2**20:.4g} MiB; choose a smaller game"
        )
        raise MemoryError(", or ".join([problem, *hints]))


def _count(number: int) -> str:
    return f"10**{int(math.log10(number))}" if number >= 10**15 else f"{number:,}"


def available() -> float:
    """Return the available memory in bytes, infinity if unknown."""
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s*(\d+)", Path("/proc/meminfo").read_text())
        if found:
            return 1024.0 * int(found[1])
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        return float(PAGESIZE) * os.sysconf("SC_PHYS_PAGES")
    return math.inf
