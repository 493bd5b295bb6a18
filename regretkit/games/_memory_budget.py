"""Estimates of the size of a game, and checks against the available memory."""

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from mmap import PAGESIZE
from pathlib import Path

import numpy as np

from regretkit.games.tree._history import TERMINAL, check_length
from regretkit.games.tree._rules import Objects, Rules

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

_NUMBERS = 300_000
"""Largest number of entries of the widest column in a batch of random plays."""

_ENOUGH = 1e18
"""Number of histories at which counting stops, far beyond any memory."""


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


def estimated_size(rules: Rules, plays: int = 1_000) -> float:
    """Estimate the number of histories of a game by random plays.

    A play chooses each move uniformly among b_k legal ones at length k. The mean over plays of

        1  +  b_0  +  b_0 b_1  +  b_0 b_1 b_2  +  ...

    is an unbiased estimate. Counting stops at 1e18.

    References
    ----------
    Knuth (1975), "Estimating the efficiency of backtrack programs", Mathematics of Computation 29.
    """
    random, h = np.random.default_rng(1), rules.start()
    width = max(rules.moves(h)[0].size, sum(column.size for column in h.columns.values()))
    plays = plays // 10 if isinstance(rules, Objects) else min(plays, max(10, _NUMBERS // width))
    h = h[np.zeros(plays, dtype=np.int64)]
    weight, total = np.ones(plays), 1.0
    while total < _ENOUGH:
        check_length(h.length)
        player = np.broadcast_to(np.asarray(rules.player(h)), h.size)
        chosen = []
        for actor in np.unique(player[player != TERMINAL]).tolist():
            members = np.flatnonzero(player == actor)
            row, action = rules.moves(h[members])
            counts = np.bincount(row, minlength=members.size)
            pick = np.cumsum(counts) - counts + (random.random(members.size) * counts).astype(int)
            chosen.append((members, action[pick], weight[members] * counts))
        if not chosen:
            break
        members, action, weight = (np.concatenate(part) for part in zip(*chosen, strict=True))
        total += float(weight.sum()) / plays
        h = rules.child(h[members], action)
    return total


def _count(number: int) -> str:
    return f"10**{int(math.log10(number))}" if number >= 10**15 else f"{number:,}"


def available() -> float:
    """Return the number of bytes that this process may still allocate, infinity if unknown.

    This is the minimum of the machine's available memory (``/proc/meminfo``, else ``os.sysconf``)
    and the rest of the process's address space limit.
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
            pages = _numbers("/proc/self/statm", r"\d+")
            limit = min(limit, maximum - (PAGESIZE * pages[0] if pages else 0.0))
    return limit


def _numbers(path: str, pattern: str) -> list[float]:
    """Return the numbers in a file that match a pattern, an empty list if it is unreadable."""
    with suppress(OSError):
        return [float(number) for number in re.findall(pattern, Path(path).read_text())]
    return []
