"""``solve``: run an algorithm on a game in one call."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

import numpy as np
from attrs import evolve

from regretkit._util._validate import quote, whole_number
from regretkit.estimators import Estimator, ExactUtility
from regretkit.evaluation import ExactSolution, finish, solve_zero_sum
from regretkit.games import (
    ExtensiveFormGame,
    Game,
    History,
    ImperfectRecallGame,
    NormalFormGame,
    Rules,
)
from regretkit.games._extensive_form import merged_by_symmetry
from regretkit.games._game import check_game, check_recall
from regretkit.games.public import PublicGame
from regretkit.play._algorithms import (
    Algorithm,
    AlgorithmLike,
    call_of,
    named,
    without_tree,
)
from regretkit.play._callbacks import (
    At,
    Callback,
    StopAtGap,
    StopAtTime,
    as_callbacks,
    geometric,
)
from regretkit.play._self_play import SelfPlay

if TYPE_CHECKING:
    from regretkit.play._sampled import Sampled

RulesLike: TypeAlias = History | Rules
"""A game given by its rules, without a tree."""


_FINISHED = 4_500
"""Number of sequences from which ``finish`` is faster (``python -m benchmarks finish``)."""
_ITERATIONS = 12_000
"""Largest number of iterations before the linear program, which takes about as long."""
_ROUNDING = 1e-12
"""Largest gap, relative to the range of payoffs, that counts as rounding error."""


@overload
def solve(
    game: Game | ImperfectRecallGame,
    algorithm: AlgorithmLike | None = None,
    iterations: int | None = None,
    *,
    target_gap: float | None = None,
    time_limit: float | None = None,
    sampling: str | None = None,
    seed: int | np.random.Generator | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | Callable[[str], object] = False,
    engine: str = "auto",
    imperfect_recall: bool = False,
) -> SelfPlay: ...
@overload
def solve(
    game: RulesLike,
    algorithm: AlgorithmLike | None = None,
    iterations: int | None = None,
    *,
    time_limit: float | None = None,
    sampling: str | None = None,
    seed: int | np.random.Generator | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | Callable[[str], object] = False,
    engine: str = "auto",
) -> "Sampled": ...
@overload
def solve(
    game: Game,
    algorithm: AlgorithmLike | None = None,
    *,
    exact: Literal[True],
    time_limit: float | None = None,
    engine: str = "auto",
) -> ExactSolution: ...
def solve(
    game: Game | ImperfectRecallGame | RulesLike,
    algorithm: AlgorithmLike | None = None,
    iterations: int | None = None,
    *,
    target_gap: float | None = None,
    time_limit: float | None = None,
    sampling: str | None = None,
    seed: int | np.random.Generator | None = None,
    estimator: Any = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | Callable[[str], object] = False,
    engine: str = "auto",
    imperfect_recall: bool = False,
    exact: bool = False,
) -> "SelfPlay | Sampled | ExactSolution":
    """Run an algorithm on a game and return the run.

    The run stops at the first limit that it reaches.

    Parameters
    ----------
    game
        A game, or the rules of a game as in ``Sampled``. A run on rules builds no tree, uses
        external sampling by default, and has no gap.
    algorithm
        A name of ``ALGORITHMS``, such as ``"cfr+"``; a rule, such as the class
        ``RegretMatchingPlus``; an ``Algorithm``; or a list of these, one for each player. The
        default is ``"cfr+"``, or ``"lcfr"`` with sampled utilities.
    iterations
        Largest number of iterations, at least 0.
    target_gap
        Stop once ``nash_conv`` of the average is at most this number, positive, in units of payoff.
        The run measures it at iterations that grow by 5 %.
    time_limit
        Stop after the iteration in which this number of seconds passes, callbacks excluded.
    sampling
        How to sample utilities: ``"external"`` samples chance and the opponents' actions;
        ``"outcome"`` samples one terminal history; ``"outcome-baseline"`` adds a
        ``LearnedBaseline``; ``"chance"`` samples chance alone. By default utilities are exact,
        except for ``"mccfr"``, which uses external sampling.
    seed
        Seed of the samples, a whole number or a ``Generator``; 0 by default.
    estimator
        Computes the utilities. It replaces ``sampling`` and ``seed``.
    callbacks
        Functions of the run, called after every iteration. A result ``True`` stops the run.
    progress
        Whether to show progress on standard error; or a function, called with a line of text about
        once a second.
    engine
        ``"auto"``, ``"compiled"`` or ``"numpy"``, as in ``SelfPlay``.
    imperfect_recall
        Whether to accept an ``ImperfectRecallGame``. The run plays its perfect-recall refinement,
        with one strategy for each original information set, without a convergence guarantee.
    exact
        Return an ``ExactSolution`` instead of a run: an equilibrium of a two-player constant-sum
        game, exact up to rounding. ``solve_zero_sum`` solves normal forms and trees of less than
        4,500 sequences. For larger trees, ``finish`` runs DCFR, or PDCFR+ in games without chance,
        for at most 12,000 iterations; if it fails, ``solve_zero_sum`` follows. Only ``finish`` is
        used for public games, and if you pass an algorithm, an engine or a time limit. Then the
        default time limit is one minute.

    Notes
    -----
    In two-player constant-sum games, the algorithms of ``ALGORITHMS`` with exact utilities reach
    any gap above rounding. In other games the run may never reach ``target_gap``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> run = solve(game, "cfr+", target_gap=1e-3)
    >>> run.nash_conv() <= 1e-3
    True

    A rule for each player, and sampled utilities:

    >>> run = solve(game, [RegretMatching, "cfr+"], iterations=100)
    >>> run = solve(game, "mccfr", sampling="outcome", seed=1, iterations=100)

    An exact solution:

    >>> solve(game, exact=True).value * 18
    -1.0

    The rules of a game, whose tree would have 43 billion histories:

    >>> from regretkit.games import LiarsDice
    >>> solve(LiarsDice(dice=2), seed=1, iterations=1)
    <Sampled: 1 iterations, ... information sets>
    """
    from regretkit.games._adapters import has_rules_alone  # not at the top: it takes time to load

    if exact:
        refused = iterations, target_gap, sampling, seed, estimator, callbacks or None
        return _solve_exactly(game, algorithm, time_limit, engine, refused)
    by_rules = has_rules_alone(game)
    imperfect = game if isinstance(game, ImperfectRecallGame) and imperfect_recall else None
    chosen = _sampled(algorithm, sampling, seed, estimator, by_rules)
    if not (by_rules or imperfect):
        check_recall(cast("Game", game))
    if iterations is None and target_gap is None and time_limit is None:
        raise ValueError("pass iterations, target_gap or time_limit")
    if iterations is not None:
        whole_number(iterations, "iterations", minimum=0)
    watching = as_callbacks(callbacks)
    watching += [] if time_limit is None else [StopAtTime(time_limit)]
    horizon = None if iterations is None else max(iterations, 1)
    options: Any = {"estimator": estimator, "seed": 0 if seed is None else seed, "horizon": horizon}
    options["engine"] = engine
    if by_rules:
        refuse_tree(target_gap=target_gap, imperfect_recall=imperfect_recall)
        by_samples = start_by_rules(cast("RulesLike", game), chosen, **options)
        return by_samples.run(iterations, callbacks=watching, progress=progress)
    if imperfect is not None and target_gap is not None:
        raise ValueError("target_gap does not support games of imperfect recall; pass iterations")
    watching += [] if target_gap is None else [At(geometric(1.05), StopAtGap(target_gap))]
    game = cast("Game", game if imperfect is None else imperfect.refinement)
    groups = None if imperfect is None else imperfect.coarse_information_set
    run = chosen.start(game, groups=groups, **options)
    return run.run(iterations, callbacks=watching, progress=progress)


def _solve_exactly(
    game: Any, algorithm: Any, time_limit: float | None, engine: str, refused: tuple[object, ...]
) -> ExactSolution:
    if any(value is not None for value in refused):
        raise ValueError("exact=True supports only algorithm, time_limit and engine")
    check_game(game)
    small = None
    if isinstance(game, ExtensiveFormGame) and game.players == 2 and game.constant_sum is not None:
        small = merged_by_symmetry(game)
    played = game if small is None else small
    if algorithm is None and time_limit is None and engine == "auto":
        solution = _solve_by_size(played)
    else:
        run = named(algorithm or likely_first(played)).start(played, engine=engine)
        solution = finish(run, time_limit=60.0 if time_limit is None else time_limit)
    if small is None:
        return solution
    whole = [x[own] for x, own in zip(solution.profile, small._merged or (), strict=True)]
    return ExactSolution.of(game, whole, f"{solution.method}, symmetries merged")


def _solve_by_size(game: NormalFormGame | ExtensiveFormGame | PublicGame) -> ExactSolution:
    """Return an exact solution by the method that is faster for the size of the game."""
    sequences = sum(domain.dimension for domain in game.domains)
    small = not isinstance(game, PublicGame) and sequences < _FINISHED
    if isinstance(game, NormalFormGame) or small:
        return solve_zero_sum(cast("ExtensiveFormGame", game))
    run = named(likely_first(game)).start(game)
    if isinstance(game, PublicGame):
        return finish(run)
    solution = finish(run, time_limit=1e9, iterations=_ITERATIONS)
    exact = solution.gap <= _ROUNDING * float(np.ptp(game.tree.payoffs[:, 0]))
    if exact:
        return solution
    try:
        return solve_zero_sum(game)
    except MemoryError:
        return evolve(solution, method=f"{solution.method}, linear program out of memory")


def likely_first(game: Game) -> str:
    """Return the algorithm that usually finds the support of an equilibrium first.

    In benchmarks it is DCFR in games with chance moves, and PDCFR+ in others.
    """
    return "dcfr" if game.deals else "pdcfr+"


def start_by_rules(
    game: RulesLike,
    algorithm: Algorithm,
    *,
    estimator: Any = None,
    seed: Any = 0,
    **options: Any,
) -> "Sampled":
    """Return a new run without a tree."""
    from regretkit.play._sampled import Sampled  # not at the top: few runs need it

    refuse_tree(sampling="chance" if algorithm.sampling == "chance" else None)
    sampler: Any = algorithm.estimator(seed) if estimator is None else estimator
    order, averaging = algorithm.order, algorithm.averaging
    run = Sampled(
        game, without_tree(algorithm), sampler, order=order, averaging=averaging, **options
    )
    run.call = call_of(algorithm, estimator)
    return run


def refuse_tree(**given: object) -> None:
    """Raise a ValueError for arguments that need a tree."""
    for name, value in given.items():
        if value:
            raise ValueError(f"{name}={quote(value)} needs the game's tree")


def _sampled(
    algorithm: AlgorithmLike | None,
    sampling: str | None,
    seed: object,
    estimator: Estimator | None,
    by_rules: bool,
) -> Algorithm:
    """Return the algorithm with its sampling, after a check of the arguments."""
    if by_rules and sampling is None and estimator is None:
        sampling = named(algorithm or "mccfr").sampling or "external"
    if estimator is not None and (sampling is not None or seed is not None):
        raise ValueError("pass either estimator, or sampling and seed")
    if algorithm is None:
        exact = sampling is None and (estimator is None or isinstance(estimator, ExactUtility))
        algorithm = default_algorithm(sampled=not exact)
    chosen = named(algorithm)
    chosen = chosen if sampling is None else Algorithm(chosen, sampling=sampling)
    if seed is not None and chosen.sampling is None:
        raise ValueError("seed needs a sampling, such as sampling='external'")
    return chosen


def default_algorithm(*, sampled: bool) -> str:
    """Return the name of the default algorithm for exact or sampled utilities."""
    # NashConv in Leduc poker after 10,000 iterations of external sampling: linear CFR 0.42,
    # CFR 0.61, CFR+ 0.68.
    return "lcfr" if sampled else "cfr+"
