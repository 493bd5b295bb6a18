"""Named algorithms, a local rule, an order of play and an averaging; and ``solve``."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, cast, final

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Indices
from regretkit._util._validate import check_kind, did_you_mean, quote, whole_number
from regretkit.averaging import Averaging, HorizonPower, Linear, Power, Quadratic, Uniform
from regretkit.circuits import CFR, LocalRule, SharedStrategies
from regretkit.circuits._base import local_minimizer
from regretkit.estimators import Estimator, ExactUtility
from regretkit.estimators._named import sampling_estimator
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
from regretkit.play._callbacks import (
    AtGeometricSteps,
    Callback,
    StopAtGap,
    StopAtTime,
    as_callbacks,
)
from regretkit.play._orders import Alternating, Order
from regretkit.play._progress import shown_progress
from regretkit.play._self_play import SelfPlay
from regretkit.sets import DecisionTree, Simplices, StrategySet

Groups: TypeAlias = Sequence[Indices]
"""For each player, the number of the group of each of its decision points."""


@final
@frozen(init=False)
class Algorithm:
    """What a paper names: a local rule, an order of play, an averaging and a sampling.

    Parameters
    ----------
    local
        A rule: called with simplices, it returns a minimizer on them, as a leaf's class or a
        ``PerDecisionPoint`` does. Or the name of an algorithm, or an ``Algorithm``, whose order,
        averaging and sampling are the default of the others. Or a list of these, one for each
        player.
    order
        Who learns when; ``Alternating()`` by default.
    averaging
        How much each iteration counts; ``Uniform()`` by default, and where the algorithms of a list
        differ: averages approach an equilibrium if an iteration counts as much for all players.
    sampling
        How utilities are sampled, as ``solve`` takes it; None for exact ones, the default.

    Raises
    ------
    TypeError, ValueError
        When ``local`` is none of these, there is no algorithm or sampling of this name, or the
        algorithms of a list differ in their order or their sampling and none is given.

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

    CFR against CFR+:

    >>> Algorithm(["cfr", "cfr+"]).averaging
    Uniform()
    """

    local: LocalRule | tuple[LocalRule, ...]
    order: Order = field(kw_only=True)
    averaging: Averaging = field(kw_only=True)
    sampling: str | None = field(kw_only=True)

    def __init__(
        self,
        local: "AlgorithmLike",
        *,
        order: Order | None = None,
        averaging: Averaging | None = None,
        sampling: str | None = None,
    ) -> None:
        listed = isinstance(local, Sequence) and not isinstance(local, str)
        given: Any = local if listed else [local]
        parts = [_part(each) for each in given]
        if not parts:
            raise ValueError("algorithm must have one entry for each player, got none")
        rules: Any = tuple(rule for rule, _ in parts)
        if listed and any(isinstance(rule, tuple) for rule in rules):
            raise ValueError("an algorithm of a list must have one rule, got one by player")
        bases = [base for _, base in parts if base is not None]
        same = all(base.averaging == bases[0].averaging for base in bases)
        mixed = not bases or not same or len(bases) < len(parts)
        common = Uniform() if mixed else bases[0].averaging
        cast(Any, self).__attrs_init__(
            rules if listed else rules[0],
            order=_agreed([b.order for b in bases], order, "order", Alternating()),
            averaging=common if averaging is None else averaging,
            sampling=_agreed([b.sampling for b in bases], sampling, "sampling", None),
        )
        check_kind(self.order, Order, "order", "Alternating()")
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        if self.sampling is not None:
            sampling_estimator(self.sampling)  # refuses now what it does not know

    def minimizer(self, domain: StrategySet) -> RegretMinimizer:
        """Return a new minimizer on a player's set: CFR on a tree, the rule itself on simplices.

        Raises
        ------
        TypeError, ValueError
            When ``domain`` is neither, or each player has another rule.
        """
        if isinstance(self.local, tuple):
            raise ValueError("each player has its own rule here; use minimizers(game)")
        return _minimizer(self.local, domain)

    def minimizers(self, game: Game, groups: Groups | None = None) -> list[RegretMinimizer]:
        """Return a new minimizer for each player of a game.

        ``groups`` says, for each player, which decision points share a strategy, as
        ``SharedStrategies`` takes them.
        """
        players = len(game.domains)
        rules = self.local if isinstance(self.local, tuple) else (self.local,) * players
        if len(rules) != players:
            raise ValueError(
                f"algorithm must have one entry for each of the {players} players, got {len(rules)}"
            )
        if groups is not None:
            pairs = zip(rules, groups, strict=True)
            rules = tuple(SharedStrategies(rule, group) for rule, group in pairs)
        return [_minimizer(*pair) for pair in zip(rules, game.domains, strict=True)]

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
        """Return a run of this algorithm on a game, before its first iteration.

        ``estimator`` replaces the algorithm's ``sampling``, of which ``seed`` is the seed;
        ``groups`` is what ``minimizers`` takes.
        """
        return SelfPlay(
            game,
            self.minimizers(game, groups),
            order=self.order,
            averaging=self.averaging,
            estimator=self.estimator(seed) if estimator is None else estimator,
            horizon=horizon,
            engine=engine,
        )

    def estimator(self, seed: int | np.random.Generator = 0) -> Estimator:
        """Return a new estimator of utilities: exact ones, or samples drawn with this seed."""
        if self.sampling is None:
            return ExactUtility()
        return sampling_estimator(self.sampling, seed)


AlgorithmLike: TypeAlias = str | LocalRule | Algorithm | Sequence[str | LocalRule | Algorithm]
"""The name of an algorithm, a rule, an ``Algorithm``, or a list of these by player."""

Part = TypeVar("Part")


def _part(local: object) -> tuple[LocalRule | tuple[LocalRule, ...], Algorithm | None]:
    """Return the rule of one player, and the algorithm that it comes from, if any."""
    if isinstance(local, str):
        local = ALGORITHMS[_known(local)]
    if isinstance(local, Algorithm):
        return local.local, local
    if isinstance(local, RegretMinimizer) or not callable(local):
        hint = ""
        if isinstance(local, RegretMinimizer):
            hint = f"; each player needs its own: pass the class, {type(local).__name__}"
        raise TypeError(
            "algorithm must be a name, a rule's class, an Algorithm, or a list of these by player, "
            f"got {quote(local)}{hint}"
        )
    return cast(Any, local), None


def _agreed(parts: Sequence[Part], given: Part | None, name: str, default: Part) -> Part:
    """Return what is given, or what the algorithms of a list have in common."""
    if given is not None:
        return given
    if any(part != parts[0] for part in parts):
        shown = ", ".join(map(quote, parts))
        raise ValueError(
            f"algorithms differ in their {name}: {shown}; pass Algorithm(..., {name}=)"
        )
    return parts[0] if parts else default


def _minimizer(local: LocalRule, domain: StrategySet) -> RegretMinimizer:
    if isinstance(domain, DecisionTree):
        return CFR(domain, local)
    if isinstance(domain, Simplices):
        return local_minimizer(local, domain)
    raise TypeError(f"domain must be a DecisionTree or Simplices, got {quote(domain)}")


cfr = Algorithm(RegretMatching)
"""CFR: Zinkevich, Johanson, Bowling and Piccione (2007), here with alternating updates."""

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
        "mccfr": mccfr,
    }
)
"""The algorithms that have a name, by it."""


def named(algorithm: AlgorithmLike) -> Algorithm:
    """Return the algorithm of a name, a rule or a list by player; an algorithm as it is.

    A rule alone is played as in CFR: alternating updates, with the uniform average.

    Raises
    ------
    TypeError, ValueError
        As ``Algorithm``.

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


def _known(name: str) -> str:
    if name.lower() not in ALGORITHMS:
        plain = name.lower().replace("plus", "+").replace("_", "").replace("-", "")
        known = ", ".join(map(repr, ALGORITHMS))
        raise ValueError(
            f"there is no algorithm {quote(name)}, only {known}{did_you_mean(plain, ALGORITHMS)}"
        )
    return name.lower()


_EVER = 2**62

_ROUNDING = 1e-12
"""Gaps smaller than this, relative to the largest payoff, are made of rounding."""


def solve(
    game: Game | ImperfectRecallGame,
    algorithm: AlgorithmLike | None = None,
    *,
    iterations: int | None = None,
    target_gap: float | None = None,
    time_limit: float | None = None,
    sampling: str | None = None,
    seed: int | np.random.Generator | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | Callable[[str], object] = False,
    engine: str = "auto",
    imperfect_recall: bool = False,
) -> SelfPlay:
    """Play a game with an algorithm and return the run.

    Of several limits, the first that is reached stops it.

    Parameters
    ----------
    game
        The game.
    algorithm
        A name of ``ALGORITHMS``, such as ``"cfr+"``; a rule, such as the class
        ``RegretMatchingPlus``; an ``Algorithm``; or a list of these, one for each player. By
        default ``"cfr+"``, and ``"lcfr"`` where utilities are sampled.
    iterations
        How many at most.
    target_gap
        Stop once ``nash_conv`` of the average, the sum over players in units of payoff, is
        this small. It is measured at iterations that grow by a twentieth.
    time_limit
        Stop after this number of seconds of play.
    sampling
        Sample utilities: ``"external"``, all actions but a player's own; ``"outcome"``, one play of
        the game; ``"chance"``, the chance moves. By default they are exact, and external for
        ``"mccfr"``.
    seed
        The seed of the samples, a whole number or a ``Generator``; 0 by default.
    estimator
        Returns the utilities that minimizers observe, instead of ``sampling`` and ``seed``.
    callbacks
        Called with the run after every iteration; a result that is ``True`` stops it.
    progress
        Whether to show progress on standard error; or a function to be called with a line of text
        about once a second.
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
        ``imperfect_recall`` is not set, a number is out of range, there is no limit, or
        ``target_gap`` alone without a guarantee that it is reached. In two-player constant-sum
        games, the algorithms of ``ALGORITHMS`` with exact utilities reach any gap above rounding.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> run = solve(game, "cfr+", target_gap=1e-3)
    >>> run.nash_conv() <= 1e-3
    True

    Each player with a rule of its own, and by samples:

    >>> run = solve(game, [RegretMatching, "cfr+"], iterations=100)
    >>> run = solve(game, "mccfr", sampling="outcome", seed=1, iterations=100)
    """
    chosen = _sampled(algorithm, sampling, seed, estimator)
    imperfect = game if isinstance(game, ImperfectRecallGame) and imperfect_recall else None
    game = game if imperfect is None else imperfect.refinement
    check_game(game)
    limits = _limits(iterations, target_gap, time_limit)
    if target_gap is not None:
        if imperfect is not None:
            raise ValueError(
                "target_gap has no meaning in games of imperfect recall: no gap is known to "
                "vanish, and finding a best response is NP-hard; pass iterations"
            )
        doubt = doubt_of_reaching(target_gap, game, chosen, estimator)
        if iterations is None and time_limit is None and doubt is not None:
            raise ValueError(
                f"target_gap alone could go on forever: {doubt}; pass iterations as well"
            )
    watching = [*as_callbacks(callbacks), *limits]
    run = chosen.start(
        game,
        estimator=estimator,
        seed=0 if seed is None else seed,
        horizon=None if iterations is None else max(iterations, 1),
        engine=engine,
        groups=None if imperfect is None else imperfect.coarse_information_set,
    )
    with shown_progress(progress, iterations, time_limit) as shown:
        return run.run(_EVER if iterations is None else iterations, callbacks=[*watching, *shown])


def _sampled(
    algorithm: AlgorithmLike | None,
    sampling: str | None,
    seed: object,
    estimator: Estimator | None,
) -> Algorithm:
    """Return the algorithm with its sampling, or refuse what contradicts."""
    if estimator is not None:
        for name, value in (("sampling", sampling), ("seed", seed)):
            if value is not None:
                raise ValueError(
                    f"estimator says how to sample, got {name}={quote(value)} as well; leave one "
                    "out"
                )
    if algorithm is None:
        exact = sampling is None and (estimator is None or isinstance(estimator, ExactUtility))
        algorithm = default_algorithm(sampled=not exact)
    chosen = named(algorithm)
    chosen = chosen if sampling is None else Algorithm(chosen, sampling=sampling)
    if seed is not None and chosen.sampling is None:
        raise ValueError(
            f"seed is {quote(seed)}, but nothing is drawn at random without a sampling: pass "
            "sampling='external', or leave it out"
        )
    return chosen


def default_algorithm(*, sampled: bool) -> str:
    """Return the name of the algorithm that does well with exact or with sampled utilities.

    By samples, linear CFR has the smaller gaps: in Leduc poker after 10,000 iterations of external
    sampling its NashConv is 0.42, that of CFR 0.61 and that of CFR+ 0.68.
    """
    return "lcfr" if sampled else "cfr+"


def _limits(
    iterations: int | None, target_gap: float | None, time_limit: float | None
) -> list[Callback]:
    """Return the callbacks that stop a run, or refuse limits."""
    if iterations is None and target_gap is None and time_limit is None:
        raise ValueError(
            "iterations, target_gap and time_limit are all missing: pass one, or several"
        )
    if iterations is not None:
        whole_number(iterations, "iterations", least=0)
    limits: list[Callback] = []
    if target_gap is not None:
        limits.append(AtGeometricSteps(StopAtGap(target_gap), ratio=1.05))
    if time_limit is not None:
        limits.append(StopAtTime(time_limit))
    return limits


def doubt_of_reaching(
    target_gap: float, game: Game, algorithm: Algorithm, estimator: Estimator | None
) -> str | None:
    """Return why a target might never be reached, None where it is known to be."""
    if algorithm.sampling is not None and estimator is None:
        estimator = algorithm.estimator()
    parts = algorithm.order, algorithm.averaging
    if not any(
        algorithm.local is known.local and parts == (known.order, known.averaging)
        for known in ALGORITHMS.values()
    ):
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
