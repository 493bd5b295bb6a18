"""What keeps a run from being compiled, and whether it should be."""

from functools import cache
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._util._state import generators
from regretkit._util._validate import LARGEST, quote
from regretkit.estimators import ExactUtility, LearnedBaseline
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.play._self_play import SelfPlay

_LONG = 1.0
"""Seconds."""

_SIZES: WeakKeyDictionary[Game, float] = WeakKeyDictionary()


def in_the_way(run: SelfPlay) -> str | None:
    """Return what about a run, its rules aside, cannot be compiled, and why; None if all can."""
    game = run.game
    if not isinstance(game, NormalFormGame | ExtensiveFormGame):
        return f"{quote(game)} is neither a normal-form nor an extensive-form game"
    if not isinstance(run.estimator, ExactUtility):
        return f"{quote(run.estimator)} does not sweep the whole game"
    return _order_or_size(run, game)


def in_the_way_of_walks(run: SelfPlay) -> str | None:
    """Return why no machine code can draw a run's samples, None if it can."""
    if not isinstance(run.game, ExtensiveFormGame):
        return f"{quote(run.game)} is not in extensive form, and samples of it are drawn in Python"
    return None


def in_the_way_of_samples(run: SelfPlay, sampler: TraversalEstimator) -> str | None:
    """Return what about a run, its rules aside, keeps it from being sampled in machine code."""
    if not isinstance(run.game, ExtensiveFormGame):
        return in_the_way_of_walks(run)
    if not isinstance(sampler.baseline, LearnedBaseline | None):
        return f"{quote(sampler.baseline)} sweeps the whole game"
    if sampler.generator in generators(run.order):
        return f"{quote(run.order)} and {quote(sampler)} draw from one generator, in turn"
    return _order_or_size(run, run.game)


def _order_or_size(run: SelfPlay, game: NormalFormGame | ExtensiveFormGame) -> str | None:
    if run.order.schedule(run.players, 0) is None:
        return f"{quote(run.order)} does more in an iteration than to let players learn in turn"
    if _size(game) > LARGEST:
        return f"the payoffs of {quote(game)} are so large that utilities could overflow"
    return None


def is_long(run: SelfPlay, iterations: int) -> bool:
    """Say whether that many iterations take so long in NumPy that loading machine code pays.

    It depends on the run alone, and neither on the machine nor on the clock, so that the same run
    goes the same way each time.
    """
    sequences = sum(domain.dimension for domain in run.game.domains)
    entries = getattr(run.game, "payoffs", np.empty(0)).size
    seconds = run.players * 5e-5 + sequences * 1e-7 + entries * 1e-8
    return iterations * seconds > _LONG


def _size(game: NormalFormGame | ExtensiveFormGame) -> float:
    if game not in _SIZES:
        with np.errstate(over="ignore"):
            _SIZES[game] = float(np.abs(game.payoffs).sum())
    return _SIZES[game]


@cache
def without_numba() -> str | None:
    """Say that there is no compiler; None if there is one."""
    try:
        import numba  # it takes a while, and many runs do without
    except Exception as error:  # a library that it loads may be missing, or be another one's
        return f"Numba, which makes machine code, cannot be imported ({error})"
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return "Numba is told to make no machine code, by NUMBA_DISABLE_JIT"
    return None
