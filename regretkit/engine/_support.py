"""Which runs the compiled engine supports."""

from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from regretkit._state import generators, with_parts
from regretkit._util._arrays import Selection
from regretkit._util._validate import LARGEST, quote
from regretkit.circuits import CFR, EFR, PhiRegret, Product, TriggerDeviations
from regretkit.circuits._deviations import LocalDeviations
from regretkit.estimators import ChanceSampling, ExactUtility
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games.public import PublicGame
from regretkit.minimizer import RegretMinimizer
from regretkit.play._orders import UpdateSchedule
from regretkit.play._self_play import SelfPlay
from regretkit.sets import Simplices, StrategySet
from regretkit.trace import UntraceableError, find_kernel
from regretkit.trace._rule import core_of

_TOTAL_PAYOFFS: WeakKeyDictionary[Game, float] = WeakKeyDictionary()


# Games, orders and estimators


def unsupported_traversal(run: SelfPlay) -> str | None:
    """Return why machine code cannot sample a run's game, or None."""
    if not isinstance(run.game, ExtensiveFormGame):
        return f"{quote(run.game)} is not in extensive form, and samples of it are drawn in Python"
    return None


def unsupported_run(run: SelfPlay) -> str | None:
    """Return why a run, apart from its minimizers, cannot be compiled, or None."""
    game, estimator = run.game, run.estimator
    if isinstance(estimator, TraversalEstimator | ChanceSampling):
        if not isinstance(game, ExtensiveFormGame):
            return unsupported_traversal(run)
        if estimator.generator in generators(run.order):
            return f"{quote(run.order)} and {quote(estimator)} draw from one generator, in turn"
    elif not isinstance(game, NormalFormGame | ExtensiveFormGame | PublicGame):
        return f"{quote(game)} is neither a normal-form nor an extensive-form nor a public game"
    elif not isinstance(estimator, ExactUtility):
        return f"{quote(estimator)} does not sweep the whole game"
    if run.order.schedule(run.players, 0) is None:
        return f"{quote(run.order)} does more in an iteration than update the players in turn"
    if could_overflow(game):
        return f"the payoffs of {quote(game)} are so large that utilities could overflow"
    return None


def could_overflow(game: NormalFormGame | ExtensiveFormGame | PublicGame) -> bool:
    """Return whether sums of a game's payoffs could overflow."""
    if game not in _TOTAL_PAYOFFS:
        with np.errstate(over="ignore"):
            _TOTAL_PAYOFFS[game] = float(np.abs(game.payoffs).sum())
    return _TOTAL_PAYOFFS[game] > LARGEST


def schedule_of(run: SelfPlay, count: int) -> UpdateSchedule:
    """Return the players to update in the next iterations."""
    turns = run.order.schedule(run.players, count)
    if turns is None:
        raise TypeError(f"{quote(run.order)} has no schedule of updates")
    return turns


# Rules


class PlacedRule(NamedTuple):
    """A rule and the decision points of a player that it plays."""

    rule: RegretMinimizer
    points: Selection
    """The decision points."""
    actions: Selection
    """The actions at these points."""


def unsupported_rules(run: SelfPlay) -> str | None:
    """Return why the minimizers of a run cannot be compiled, or None."""
    sampled = isinstance(run.estimator, TraversalEstimator)
    for player, minimizer in enumerate(run.minimizers):
        if sampled and local_deviations(minimizer) is not None:
            needs = "mixes deviations, and machine code then needs exact utilities"
            return f"minimizers[{player}]: {quote(minimizer)} {needs}"
        if sampled and core_of(minimizer) is not minimizer:
            needs = "is a circuit around a tree, and machine code then needs exact utilities"
            return f"minimizers[{player}]: {quote(minimizer)} {needs}"
        reason = unsupported_minimizer(minimizer, run.game.domains[player], exact=not sampled)
        if reason is not None:
            return f"minimizers[{player}]: {reason}"
        for rule in compiled_parts(minimizer):
            if sampled and not find_kernel(rule).traits.invariant_to_zero_utility:
                return (
                    f"minimizers[{player}]: {quote(rule)} changes at a zero utility, but samples "
                    "update it at visited decision points only"
                )
    return None


def unsupported_minimizer(
    minimizer: RegretMinimizer, domain: StrategySet, *, exact: bool
) -> str | None:
    """Return why a minimizer cannot be compiled, or None."""
    if minimizer.domain != domain:
        return f"{quote(minimizer)} plays on a part of its player's set"
    if any(getattr(part, "_tracker", None) is not None for part in with_parts(minimizer)):
        return f"{quote(minimizer)} is tracked by a ledger, which records every iteration"
    around = [] if core_of(minimizer) is minimizer else [minimizer]
    if around and local_deviations(minimizer) is not None:
        return f"{quote(minimizer)} is a circuit around a minimizer that mixes deviations"
    for part in [*around, *compiled_parts(minimizer)]:
        try:
            find_kernel(part, exact=exact)
        except UntraceableError as error:
            return f"{quote(part)} cannot be compiled: {error}"
    return None


def compiled_parts(minimizer: RegretMinimizer) -> list[RegretMinimizer]:
    """Return the rules that play a minimizer's decision points."""
    return [rule for rule, *_ in placed_rules(minimizer)]


def local_deviations(minimizer: RegretMinimizer) -> LocalDeviations | None:
    """Return the local deviations of a minimizer that mixes deviations, otherwise None."""
    core = core_of(minimizer)
    if isinstance(core, EFR):
        return core.local_deviations
    if learner_of(core) is core:
        return None
    return cast(TriggerDeviations, cast(PhiRegret, core).maps).local_deviations


def learner_of(minimizer: RegretMinimizer) -> RegretMinimizer:
    """Return the minimizer over trigger deviations, otherwise the core within circuits."""
    minimizer = core_of(minimizer)
    by_triggers = (
        isinstance(minimizer, PhiRegret)
        and isinstance(minimizer.maps, TriggerDeviations)
        and isinstance(minimizer.minimizer, CFR)
        and minimizer.steps is None
    )
    return cast(PhiRegret, minimizer).minimizer if by_triggers else minimizer


def learner_domain(minimizer: RegretMinimizer) -> StrategySet:
    """Return the set with a coordinate for each deviation of a minimizer."""
    learner = learner_of(minimizer)
    return learner.rule.domain if isinstance(learner, EFR) else learner.domain


def placed_rules(minimizer: RegretMinimizer) -> list[PlacedRule]:
    """Return the rules of a minimizer, each with its decision points.

    For a minimizer over deviations, these are points of the set of deviations.
    """
    learner = learner_of(minimizer)
    rule = learner.rule if isinstance(learner, CFR | EFR) else learner
    if isinstance(rule, Product) and isinstance(rule.domain, Simplices):
        layout = zip(rule.parts, rule._layout.blocks, rule._layout.coordinates, strict=True)
        return [
            PlacedRule(inner, blocks[points], coordinates[actions])
            for part, blocks, coordinates in layout
            for inner, points, actions in placed_rules(part)
        ]
    count = rule.domain.blocks if isinstance(rule.domain, Simplices) else 0
    return [PlacedRule(rule, slice(0, count), slice(0, rule.dimension))]
