"""Named algorithms, a local rule, an order of play and an averaging; and ``solve``."""

from collections.abc import Iterable, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeAlias, final

import numpy as np
from attrs import evolve, field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import did_you_mean, quote, whole_number
from regretkit.averaging import Averaging, HorizonPower, Linear, Power, Quadratic, Uniform
from regretkit.circuits import CFR, LocalRule, SharedStrategies
from regretkit.circuits._base import local_minimizer
from regretkit.estimators import Estimator, ExactUtility
from regretkit.games import ExtensiveFormGame, Game, ImperfectRecallGame, NormalFormGame
from regretkit.games._game import check_game
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import (
    DiscountedRegretMatching,
    DiscountedRegretMatchingPlus,
    LinearRegretMatching,
    PredictiveDiscountedRegretMatchingPlus,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regretkit.minimizers.contrib import (
    AdaptiveAsymmetricRegretMatchingPlus,
    AsymmetricRegretMatchingPlus,
    HSDiscountedRegretMatching,
)
from regretkit.play._callbacks import AtGeometricSteps, Callback, StopAtGap, as_callbacks
from regretkit.play._orders import Alternating, Order
from regretkit.play._self_play import SelfPlay
from regretkit.sets import DecisionTree, Simplices, StrategySet

Groups: TypeAlias = Sequence[Indices]
"""For each player, the number of the group of each of its decision points."""


@final
@frozen
class Algorithm:
    """What a paper names: a local rule, an order of play and an averaging.

    Parameters
    ----------
    local
        Called with simplices, returns a minimizer on them: a leaf's class, or a
        ``PerDecisionPoint``.
    order
        Who learns when.
    averaging
        How much each iteration counts.

    Examples
    --------
    CFR+ with a quadratic average:

    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> mine = Algorithm(RegretMatchingPlus, averaging=Quadratic())
    >>> solve(kuhn_poker(), mine, iterations=10).iteration
    10
    """

    local: LocalRule
    order: Order = field(factory=Alternating, kw_only=True)
    averaging: Averaging = field(factory=Uniform, kw_only=True)

    def minimizer(self, domain: StrategySet) -> RegretMinimizer:
        """Return a new minimizer on a player's set: CFR on a tree, the rule itself on simplices.

        Raises
        ------
        TypeError
            When ``domain`` is neither.
        """
        if isinstance(domain, DecisionTree):
            return CFR(domain, self.local)
        if isinstance(domain, Simplices):
            return local_minimizer(self.local, domain)
        raise TypeError(f"domain must be a DecisionTree or Simplices, got {quote(domain)}")

    def minimizers(self, game: Game, groups: Groups | None = None) -> list[RegretMinimizer]:
        """Return a new minimizer for each player of a game.

        ``groups`` says, for each player, which decision points share a strategy, as
        ``SharedStrategies`` takes them.
        """
        if groups is None:
            return [self.minimizer(domain) for domain in game.domains]
        return [
            evolve(self, local=SharedStrategies(self.local, rule)).minimizer(domain)
            for domain, rule in zip(game.domains, groups, strict=True)
        ]

    def start(
        self,
        game: Game,
        *,
        estimator: Estimator | None = None,
        horizon: int | None = None,
        engine: str = "auto",
        groups: Groups | None = None,
    ) -> SelfPlay:
        """Return a run of this algorithm on a game, before its first iteration.

        ``groups`` is what ``minimizers`` takes.
        """
        return SelfPlay(
            game,
            self.minimizers(game, groups),
            order=self.order,
            averaging=self.averaging,
            estimator=ExactUtility() if estimator is None else estimator,
            horizon=horizon,
            engine=engine,
        )


cfr = Algorithm(RegretMatching)
"""CFR: Zinkevich, Johanson, Bowling and Piccione (2007), here with alternating updates."""

cfr_plus = Algorithm(RegretMatchingPlus, averaging=Linear())
"""CFR+: Tammelin (2014)."""

lcfr = Algorithm(LinearRegretMatching, averaging=Linear())
"""Linear CFR: Brown and Sandholm (2019)."""

dcfr = Algorithm(partial(DiscountedRegretMatching, alpha=1.5, beta=0.0), averaging=Power(2.0))
"""Discounted CFR with exponents 1.5, 0 and 2: Brown and Sandholm (2019)."""

pcfr_plus = Algorithm(PredictiveRegretMatchingPlus, averaging=Quadratic())
"""Predictive CFR+: Farina, Kroer and Sandholm (2021)."""

dcfr_plus = Algorithm(DiscountedRegretMatchingPlus, averaging=Power(4.0))
"""Discounted CFR+ with exponents 1.5 and 4: Xu et al. (2024)."""

pdcfr_plus = Algorithm(PredictiveDiscountedRegretMatchingPlus, averaging=Power(5.0))
"""Predictive discounted CFR+ with exponents 2.3 and 5: Xu et al. (2024)."""

sapcfr_plus = Algorithm(AsymmetricRegretMatchingPlus, averaging=Quadratic())
"""Simple asymmetric predictive CFR+, predictions weighted by 1/3: Meng et al. (2026)."""

apcfr_plus = Algorithm(AdaptiveAsymmetricRegretMatchingPlus, averaging=Quadratic())
"""Asymmetric predictive CFR+: Meng et al. (2026)."""

hs_pcfr_plus = Algorithm(PredictiveRegretMatchingPlus, averaging=HorizonPower(30.0))
"""Predictive CFR+ with a schedule for its average: Zhang, McAleer and Sandholm (2026).

It has to be told how many iterations are planned, and so has no place in ``ALGORITHMS``.
"""


def hs_dcfr(horizon: int, *, power: float = 30.0) -> Algorithm:
    """Return discounted CFR with schedules for its exponents and its average.

    Parameters
    ----------
    horizon
        Number of iterations planned, at least 1.
    power
        Where the exponent of the average starts: 15 or 30 in the paper.

    Raises
    ------
    TypeError, ValueError
        When ``horizon`` is not a whole number, at least 1, or ``power`` is not finite.

    Examples
    --------
    >>> from regretkit.evaluation import nash_conv
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> game = kuhn_poker()
    >>> run = solve(game, hs_dcfr(200), iterations=200)
    >>> nash_conv(game, run.average) < 0.02
    True

    References
    ----------
    Zhang, McAleer and Sandholm (2026), "Faster game solving via hyperparameter schedules", AAAI,
    arXiv:2404.09097; see ``HSDiscountedRegretMatching`` and ``HorizonPower``.
    """
    HSDiscountedRegretMatching(1, horizon=horizon)  # refuses a bad horizon now
    local = partial(HSDiscountedRegretMatching, horizon=horizon)
    return Algorithm(local, averaging=HorizonPower(power))


ALGORITHMS = MappingProxyType(
    {
        "cfr": cfr,
        "cfr+": cfr_plus,
        "lcfr": lcfr,
        "dcfr": dcfr,
        "pcfr+": pcfr_plus,
        "dcfr+": dcfr_plus,
        "pdcfr+": pdcfr_plus,
        "sapcfr+": sapcfr_plus,
        "apcfr+": apcfr_plus,
    }
)
"""The algorithms that have a name, by it."""


def named(algorithm: str | Algorithm) -> Algorithm:
    """Return the algorithm of a name; an algorithm is returned as it is.

    Raises
    ------
    TypeError
        When ``algorithm`` is neither.
    ValueError
        When there is none of this name.

    Examples
    --------
    >>> named("cfr+").averaging
    Linear()
    """
    if isinstance(algorithm, Algorithm):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm must be a name or an Algorithm, got {quote(algorithm)}")
    if algorithm not in ALGORITHMS:
        plain = algorithm.lower().replace("plus", "+").replace("_", "").replace("-", "")
        hint = did_you_mean(plain, ALGORITHMS)
        known = ", ".join(repr(name) for name in ALGORITHMS)
        raise ValueError(f"there is no algorithm {quote(algorithm)}, only {known}{hint}")
    return ALGORITHMS[algorithm]


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
        A name of ``ALGORITHMS``, such as ``"cfr+"``, or an ``Algorithm``.
    iterations
        How many at most.
    target_gap
        Stop once ``nash_conv`` of the average, the sum over players in units of payoff, is
        this small. It is measured at iterations that grow by a twentieth.
    estimator
        Returns the utilities that minimizers observe; exact ones by default.
    callbacks
        Called with the run after every iteration; a result that is ``True`` stops it.
    engine
        How to run it, as ``SelfPlay`` takes it.
    imperfect_recall
        Whether to accept a game of imperfect recall. The run plays its perfect-recall refinement,
        with one strategy for each original information set; there is no convergence guarantee.
        See ``ImperfectRecallGame``.

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
    imperfect = game if isinstance(game, ImperfectRecallGame) and imperfect_recall else None
    game = game if imperfect is None else imperfect.refinement
    check_game(game)
    if iterations is None and target_gap is None:
        raise ValueError("iterations and target_gap are both missing: pass one, or both")
    if iterations is not None:
        iterations = whole_number(iterations, "iterations", least=0)
    watching = as_callbacks(callbacks)
    if target_gap is not None:
        if imperfect is not None:
            raise ValueError(
                "target_gap has no meaning in games of imperfect recall: no gap is known to "
                "vanish, and finding a best response is NP-hard; pass iterations"
            )
        watching.append(AtGeometricSteps(StopAtGap(target_gap), ratio=1.05))
        if iterations is None:
            doubt = doubt_of_reaching(target_gap, game, chosen, estimator)
            if doubt is not None:
                raise ValueError(
                    f"target_gap alone could go on forever: {doubt}; pass iterations as well"
                )
    horizon = None if iterations is None else max(iterations, 1)
    run = chosen.start(
        game,
        estimator=estimator,
        horizon=horizon,
        engine=engine,
        groups=None if imperfect is None else imperfect.coarse_information_set,
    )
    return run.run(_EVER if iterations is None else iterations, callbacks=watching)


def doubt_of_reaching(
    target_gap: float, game: Game, algorithm: Algorithm, estimator: Estimator | None
) -> str | None:
    """Return why a target might never be reached, None where it is known to be."""
    if not any(algorithm is known for known in ALGORITHMS.values()):
        names = ", ".join(map(repr, ALGORITHMS))
        return f"only for {names} is it known that the gap vanishes, and this is another algorithm"
    if not (estimator is None or isinstance(estimator, ExactUtility)):
        return f"with {quote(estimator)}, utilities are not exact"
    if not (
        isinstance(game, NormalFormGame | ExtensiveFormGame)
        and game.players == 2
        and game.constant_sum is not None
    ):
        return (
            "only in two-player constant-sum games is the gap sure to vanish, and this is "
            f"{quote(game)}"
        )
    payoffs = game.payoffs if isinstance(game, NormalFormGame) else game.tree.payoffs
    least = _ROUNDING * float(np.abs(payoffs).max())
    if target_gap < least:
        return f"{quote(target_gap)} is below {least:g}, the rounding error of payoffs of this size"
    return None
