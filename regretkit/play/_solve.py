"""From a game and the name of an algorithm to a run, in one call."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regretkit._util._validate import quote, whole_number
from regretkit.estimators import Estimator, ExactUtility
from regretkit.games import ExtensiveFormGame, Game, ImperfectRecallGame, NormalFormGame
from regretkit.games._game import check_game
from regretkit.play._algorithms import ALGORITHMS, Algorithm, named
from regretkit.play._callbacks import AtGeometricSteps, Callback, StopAtGap
from regretkit.play._checks import as_callbacks
from regretkit.play._self_play import SelfPlay

_EVER = 2**62

_ROUNDING = 1e-12
"""Gaps smaller than this, relative to the largest payoff, are made of rounding."""


def solve(
    game: Game | ImperfectRecallGame,
    algorithm: str | Algorithm = "cfr+",
    *,
    iterations: int | None = None,
    target_gap: float | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
    engine: str = "auto",
    imperfect_recall: bool = False,
) -> SelfPlay:
    """Play a game with an algorithm and return the run.

    Parameters
    ----------
    game
        The game.
    algorithm
        A name of ``ALGORITHMS``, such as ``"cfr+"``, or an :class:`Algorithm`.
    iterations
        How many at most.
    target_gap
        Stop once :func:`nash_conv` of the average, the sum over players in units of payoff, is
        this small. It is measured at iterations that grow by a twentieth.
    estimator
        Says what strategies are worth; exactly by default.
    callbacks
        Called with the run after every iteration; a result that is ``True`` stops it.
    engine
        How to run it, as :class:`SelfPlay` takes it.
    imperfect_recall
        Whether to accept a game of imperfect recall. The run plays its perfect-recall refinement,
        with one strategy for each original information set; there is no convergence guarantee.
        See :class:`ImperfectRecallGame`.

    Raises
    ------
    TypeError, ValueError
        When the game or the algorithm is none, the game is of imperfect recall and
        ``imperfect_recall`` is not set, a number is out of range, there is neither ``iterations``
        nor ``target_gap``, or ``target_gap`` alone without a guarantee that it is reached. In
        two-player constant-sum games, the algorithms of ``ALGORITHMS`` with exact utilities reach
        any gap above rounding.

    Examples
    --------
    >>> from regretkit.evaluation import nash_conv
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> run = solve(game, "cfr+", target_gap=1e-3)
    >>> nash_conv(game, run.average) <= 1e-3
    True
    """
    chosen = named(algorithm)
    forgetful = game if isinstance(game, ImperfectRecallGame) and imperfect_recall else None
    game = game if forgetful is None else forgetful.refinement
    check_game(game)
    if iterations is None and target_gap is None:
        raise ValueError("iterations and target_gap are both missing: pass one, or both")
    if iterations is not None:
        iterations = whole_number(iterations, "iterations", least=0)
    watching = as_callbacks(callbacks)
    if target_gap is not None:
        if forgetful is not None:
            raise ValueError(
                "target_gap has no meaning in games of imperfect recall: no gap is known to "
                "vanish, and finding a best response is NP-hard; pass iterations"
            )
        watching.append(AtGeometricSteps(StopAtGap(target_gap), ratio=1.05))
        if iterations is None:
            _check_reached(target_gap, game, chosen, estimator)
    horizon = None if iterations is None else max(iterations, 1)
    run = chosen.start(
        game,
        estimator=estimator,
        horizon=horizon,
        engine=engine,
        kinds=None if forgetful is None else forgetful.coarse_information_set,
    )
    return run.run(_EVER if iterations is None else iterations, callbacks=watching)


def _check_reached(
    target_gap: float, game: Game, algorithm: Algorithm, estimator: Estimator | None
) -> None:
    doubt = doubt_of_reaching(target_gap, game, algorithm, estimator)
    if doubt is not None:
        raise ValueError(f"target_gap alone could go on forever: {doubt}; pass iterations as well")


def doubt_of_reaching(
    target_gap: float, game: Game, algorithm: Algorithm, estimator: Estimator | None
) -> str | None:
    """Return why a target might never be reached, None where it is known to be."""
    if not any(algorithm is known for known in ALGORITHMS.values()):
        names = ", ".join(map(repr, ALGORITHMS))
        return f"only for {names} is it known that the gap vanishes, and this is another algorithm"
    if not (estimator is None or isinstance(estimator, ExactUtility)):
        return f"with {quote(estimator)}, utilities are not exact"
    payoffs = _payoffs_of(game)
    if payoffs is None:
        return (
            "only in two-player constant-sum games is the gap sure to vanish, and this is "
            f"{quote(game)}"
        )
    least = _ROUNDING * float(np.abs(payoffs).max())
    if target_gap < least:
        return f"{quote(target_gap)} is below {least:g}, the rounding error of payoffs of this size"
    return None


def _payoffs_of(game: Game) -> NDArray[np.float64] | None:
    """Return the payoffs of a two-player constant-sum game, None of any other."""
    if not isinstance(game, NormalFormGame | ExtensiveFormGame):
        return None
    if game.players != 2 or game.constant_sum is None:
        return None
    return game.payoffs if isinstance(game, NormalFormGame) else game.tree.payoffs
