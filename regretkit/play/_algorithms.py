"""Algorithms, and the table of their names."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import numpy as np
from attrs import evolve, field, frozen

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import check_kind, did_you_mean, quote
from regretkit.circuits import (
    CFR,
    EFR,
    LocalRule,
    Regularized,
    SharedStrategy,
    linear_swap_regret,
    trigger_regret,
)
from regretkit.circuits._base import local_minimizer
from regretkit.estimators import Estimator, ExactUtility
from regretkit.estimators._mccfr import sampling_estimator
from regretkit.games import Game
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
    VolatilityAdaptiveRegretMatching,
)
from regretkit.play._averaging import (
    Averaging,
    Delayed,
    HorizonPower,
    Last,
    Linear,
    Power,
    Quadratic,
    Uniform,
)
from regretkit.play._orders import Alternating, Order, Simultaneous
from regretkit.play._self_play import SelfPlay
from regretkit.sets import DecisionDAG, Simplices, StrategySet

CircuitMaker: TypeAlias = Callable[..., RegretMinimizer]
"""Builds a minimizer on a player's set, from the set and a local rule, ``local=``."""

Groups: TypeAlias = Sequence[Indices]
"""For each player, the group number of each decision point."""


@frozen(init=False)
class Algorithm:
    """A local rule, an order of updates, an averaging scheme, a sampling and a circuit.

    Parameters
    ----------
    local
        A function of simplices that returns a minimizer on them, such as a rule's class or
        ``PerDecisionPoint``. Or an ``Algorithm`` or its name, which also sets the defaults of the
        other parameters. Or a list of these, one for each player.
    order
        The order of updates; ``Alternating()`` by default.
    averaging
        The averaging scheme; ``Uniform()`` by default. All players share one scheme, so a list of
        algorithms with different schemes also defaults to ``Uniform()``.
    sampling
        The sampling of utilities, as in ``solve``; None, the default, for exact utilities.
    circuit
        A function of a player's set and the rule, ``local=``, that returns the player's minimizer.
        The default is ``CFR``. In normal forms it is the rule itself.

    Examples
    --------
    CFR+ with a quadratic average:

    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> mine = Algorithm("cfr+", averaging=Quadratic())
    >>> mine == Algorithm(RegretMatchingPlus, averaging=Quadratic())
    True
    >>> solve(kuhn_poker(), mine, iterations=10).iteration
    10

    EFR with regret matching+:

    >>> from regretkit.circuits import EFR
    >>> solve(kuhn_poker(), Algorithm(RegretMatchingPlus, circuit=EFR), iterations=10).iteration
    10

    CFR against CFR+:

    >>> Algorithm(["cfr", "cfr+"]).averaging
    Uniform()
    """

    local: LocalRule | tuple[LocalRule, ...]
    order: Order = field(kw_only=True)
    averaging: Averaging = field(kw_only=True)
    sampling: str | None = field(kw_only=True)
    circuit: CircuitMaker = field(kw_only=True)

    def __init__(
        self,
        local: "AlgorithmLike",
        *,
        order: Order | None = None,
        averaging: Averaging | None = None,
        sampling: str | None = None,
        circuit: CircuitMaker | None = None,
    ) -> None:
        listed = isinstance(local, Sequence) and not isinstance(local, str)
        given: Any = local if listed else [local]
        parts = [_part(algorithm) for algorithm in given]
        if not parts:
            raise ValueError("algorithm must have one entry for each player, got an empty list")
        rules: Any = tuple(rule for rule, _ in parts)
        if listed and any(isinstance(rule, tuple) for rule in rules):
            raise ValueError("an algorithm in a list must have one rule, got one for each player")
        bases = [base for _, base in parts if base is not None]

        def agreed(name: str, value: object, default: object) -> Any:
            """Return the argument, or else the common value of the algorithms in a list."""
            values = [value] if value is not None else [getattr(base, name) for base in bases]
            if any(other != values[0] for other in values):
                shown = ", ".join(map(quote, values))
                raise ValueError(
                    f"algorithms differ in their {name}: {shown}; pass Algorithm(..., {name}=)"
                )
            return values[0] if values else default

        schemes = [Uniform() if base is None else base.averaging for _, base in parts]
        common = schemes[0] if all(scheme == schemes[0] for scheme in schemes) else Uniform()
        cast("Any", self).__attrs_init__(
            rules if listed else rules[0],
            order=agreed("order", order, Alternating()),
            averaging=common if averaging is None else averaging,
            sampling=agreed("sampling", sampling, None),
            circuit=agreed("circuit", circuit, CFR),
        )
        check_kind(self.order, Order, "order", "Alternating()")
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        if self.sampling is not None:
            sampling_estimator(self.sampling)  # checks the name

    def minimizer(self, domain: StrategySet) -> RegretMinimizer:
        """Return a new minimizer on a player's set, a decision tree or simplices."""
        if isinstance(self.local, tuple):
            raise ValueError("the algorithm has one rule for each player; use minimizers(game)")
        return _minimizer(self.circuit, self.local, domain)

    def minimizers(self, game: Game, groups: Groups | None = None) -> list[RegretMinimizer]:
        """Return a new minimizer for each player of a game.

        ``groups`` has, for each player, the group number of each decision point. Decision points of
        a group share a strategy, as in ``SharedStrategy``.
        """
        check_game(game)
        players = len(game.domains)
        rules = self.local if isinstance(self.local, tuple) else (self.local,) * players
        if len(rules) != players:
            raise ValueError(
                f"algorithm must have one entry for each of the {players} players, got {len(rules)}"
            )
        if groups is not None:
            if self.circuit is not CFR:
                raise ValueError(
                    f"circuit {quote(self.circuit)} does not support games of imperfect recall; "
                    "pass an algorithm of CFR, such as 'cfr+'"
                )
            shared = zip(rules, groups, strict=True)
            rules = tuple(partial(SharedStrategy, local=r, groups=g) for r, g in shared)
        pairs = zip(rules, game.domains, strict=True)
        return [_minimizer(self.circuit, *pair) for pair in pairs]

    def start(
        self,
        game: Game,
        *,
        estimator: Estimator | None = None,
        seed: int | np.random.Generator = 0,
        horizon: int | None = None,
        engine: str = "auto",
        groups: Groups | None = None,
    ) -> SelfPlay:
        """Return a new run of this algorithm on a game.

        ``seed`` is the seed of the algorithm's ``sampling``, and ``estimator`` replaces both.
        ``groups`` is as in ``minimizers``.
        """
        run = SelfPlay(
            game,
            self.minimizers(game, groups),
            order=self.order,
            averaging=self.averaging,
            estimator=self.estimator(seed) if estimator is None else estimator,
            horizon=horizon,
            engine=engine,
        )
        run.call = call_of(self, estimator)
        return run

    def estimator(self, seed: int | np.random.Generator = 0) -> Estimator:
        """Return a new estimator: exact utilities, or the algorithm's sampling with this seed."""
        if self.sampling is None:
            return ExactUtility()
        return sampling_estimator(self.sampling, seed)


AlgorithmLike: TypeAlias = str | LocalRule | Algorithm | Sequence[str | LocalRule | Algorithm]
"""The name of an algorithm, a rule, an ``Algorithm``, or a list of these, one for each player."""


def _part(local: object) -> tuple[LocalRule | tuple[LocalRule, ...], Algorithm | None]:
    """Return the rule of an argument, and its ``Algorithm``, None for a plain rule."""
    if isinstance(local, str):
        local = ALGORITHMS[_known(local)]
    if isinstance(local, Algorithm):
        return local.local, local
    if isinstance(local, RegretMinimizer) or local is CFR or not callable(local):
        raise TypeError(
            "algorithm must be a name, a rule's class, an Algorithm, or a list with one for each "
            f"player, got {quote(local)}"
        )
    return cast("Any", local), None


def _minimizer(circuit: CircuitMaker, local: LocalRule, domain: StrategySet) -> RegretMinimizer:
    if isinstance(domain, Simplices) and circuit is CFR:
        return local_minimizer(local, domain)
    if isinstance(domain, DecisionDAG | Simplices):
        return circuit(domain, local=local)
    raise TypeError(f"domain must be a DecisionTree or Simplices, got {quote(domain)}")


cfr = Algorithm(RegretMatching)
"""CFR: Zinkevich, Johanson, Bowling and Piccione (2007), with alternating updates."""

mccfr = Algorithm(RegretMatching, sampling="external")
"""Monte Carlo CFR by external sampling: Lanctot, Waugh, Zinkevich and Bowling (2009)."""

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

vad_cfr = Algorithm(VolatilityAdaptiveRegretMatching, averaging=Delayed(2.0, delay=500))
"""VAD-CFR, one weight for all decision points: Li, Schultz, Hennes and Lanctot (2026).

The average begins after 500 iterations.
"""


def _pulled(utility: Vector, strategy: Vector, reference: Vector) -> Vector:
    return utility - 1e-3 * (strategy - reference)


def _reward_transformation(domain: StrategySet, local: LocalRule) -> RegretMinimizer:
    return Regularized(_minimizer(CFR, local, domain), _pulled, every=100)


rtcfr_plus = Algorithm(RegretMatchingPlus, circuit=_reward_transformation, averaging=Last())
"""RTCFR+ with the constants of its code, 0.001 and 100, last iterates: Meng et al. (2025)."""

hs_pcfr_plus = Algorithm(PredictiveRegretMatchingPlus, averaging=HorizonPower(30.0))
"""Predictive CFR+ with a schedule for its average: Zhang, McAleer and Sandholm (2026).

It needs a horizon, so it is not in ``ALGORITHMS``.
"""


def hs_dcfr(horizon: int, *, power: float = 30.0) -> Algorithm:
    """Return discounted CFR with schedules for the exponents of its rule and its average.

    Parameters
    ----------
    horizon
        Planned number of iterations, at least 1.
    power
        Initial exponent of the average's weights: 15 or 30 in the paper.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> solve(kuhn_poker(), hs_dcfr(200), iterations=200).nash_conv() < 0.02
    True

    References
    ----------
    Zhang, McAleer and Sandholm (2026), "Faster game solving via hyperparameter schedules", AAAI,
    arXiv:2404.09097; see ``HSDiscountedRegretMatching`` and ``HorizonPower``.
    """
    HSDiscountedRegretMatching(1, horizon=horizon)  # checks the horizon
    local = partial(HSDiscountedRegretMatching, horizon=horizon)
    return Algorithm(local, averaging=HorizonPower(power))


_EFR = ("informed_cf", "bps", "cfps", "csps", "tips", "bhv")
"""Types of deviations that contain external ones. ``blind_cf`` also does, but is CFR."""


def _efr(deviations: str) -> Algorithm:
    """Return EFR: Morrill et al. (2021)."""
    circuit = partial(EFR, deviations=deviations)
    return Algorithm(RegretMatching, order=Simultaneous(), circuit=circuit)


linear_swap = Algorithm(RegretMatchingPlus, order=Simultaneous(), circuit=linear_swap_regret)
"""Linear swap regret by CFR over pairs: Zhang, Farina and Sandholm (2024), with RM+."""

efce = Algorithm(RegretMatchingPlus, order=Simultaneous(), circuit=trigger_regret)
"""Trigger regret by CFR over triggers: Farina, Celli, Marchesi and Gatti (2022), with RM+."""

efcce = evolve(efce, circuit=partial(trigger_regret, coarse=True))
"""Coarse trigger regret: Farina, Bianchi and Sandholm (2020), with RM+."""

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
        "vad-cfr": vad_cfr,
        "rtcfr+": rtcfr_plus,
        "mccfr": mccfr,
        **{f"efr-{name.replace('_', '-')}": _efr(name) for name in _EFR},
        "linear-swap": linear_swap,
        "efce": efce,
        "efcce": efcce,
    }
)
"""Algorithms by name."""


def named(algorithm: AlgorithmLike) -> Algorithm:
    """Return the ``Algorithm`` of a name, of a rule, or of a list with one for each player.

    A rule alone gives CFR: alternating updates, and the uniform average.

    Examples
    --------
    >>> named("cfr+").averaging
    Linear()
    >>> named(RegretMatching) == named("cfr")
    True
    """
    if isinstance(algorithm, Algorithm):
        return algorithm
    return ALGORITHMS[_known(algorithm)] if isinstance(algorithm, str) else Algorithm(algorithm)


def call_of(algorithm: Algorithm, estimator: object = None) -> dict[str, Any]:
    """Return the name, None if it has none, and the sampling of an algorithm, for files."""
    listed = isinstance(algorithm.local, tuple)
    rules: Any = algorithm.local if listed else (algorithm.local,)
    sampled = {name: evolve(known, sampling=None) for name, known in ALGORITHMS.items()}
    candidates = [[name for name, known in sampled.items() if known.local == x] for x in rules]
    wanted, found = evolve(algorithm, sampling=None), None
    for names in product(*candidates):
        with suppress(ValueError):  # their orders or circuits differ
            local: Any = [sampled[name] for name in names]
            if Algorithm(local if listed else local[0]) == wanted:
                found = [*names] if listed else names[0]
                break
    own = estimator is not None
    return {"algorithm": found, "sampling": algorithm.sampling, "own_estimator": own}


def without_tree(algorithm: Algorithm) -> LocalRule | tuple[LocalRule, ...]:
    """Return the rule of an algorithm, for runs without a tree."""
    if algorithm.circuit is not CFR:
        raise ValueError(
            f"circuit {quote(algorithm.circuit)} needs the game's tree; pass an algorithm of CFR, "
            "such as 'mccfr'"
        )
    return algorithm.local


def _known(name: str) -> str:
    """Return the name in lower case, as in ``ALGORITHMS``."""
    if name.lower() not in ALGORITHMS:
        raise ValueError(
            f"there is no algorithm {quote(name)}, only {', '.join(map(repr, ALGORITHMS))}"
            f"{did_you_mean(re.sub('[-_ ]', '', name.lower().replace('plus', '+')), ALGORITHMS)}"
        )
    return name.lower()
