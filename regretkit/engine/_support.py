"""Which runs the compiled engine supports."""

from collections.abc import Iterator
from typing import NamedTuple
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
from regretkit.play._self_play import SelfPlay
from regretkit.sets import Simplices, StrategySet
from regretkit.trace import UntraceableError, find_kernel
from regretkit.trace._rule import core_of

_TOTAL_PAYOFFS: WeakKeyDictionary[Game, float] = WeakKeyDictionary()


# Games, orders and estimators


def unsupported_run(run: SelfPlay) -> str | None:
    """Return why a run, apart from its minimizers, cannot be compiled, or None."""
    game, estimator = run.game, run.estimator
    if isinstance(estimator, TraversalEstimator | ChanceSampling):
        if not isinstance(game, ExtensiveFormGame):
            return f"{quote(game)} is not in extensive form, and samples of it are drawn in Python"
        if estimator.generator in generators(run.order):
            return f"{quote(run.order)} and {quote(estimator)} draw from one generator, in turn"
    elif not isinstance(game, NormalFormGame | ExtensiveFormGame | PublicGame):
        return f"{quote(game)} is neither a normal-form nor an extensive-form nor a public game"
    elif not isinstance(estimator, ExactUtility):
        return f"{quote(estimator)} does not sweep the whole game"
    if not run.order.is_scheduled(run.players):
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


# Rules


class PlacedRule(NamedTuple):
    """A rule and the decision points of a player that it plays."""

    rule: RegretMinimizer
    points: Selection
    """The decision points."""
    actions: Selection
    """The actions at these points."""


class Structure(NamedTuple):
    """A player's minimizer: circuits around the tree, a learner, and rules."""

    minimizer: RegretMinimizer
    core: RegretMinimizer
    """The minimizer within the circuits around the tree. Without circuits, ``minimizer``."""
    learner: RegretMinimizer
    """The minimizer over trigger deviations, otherwise ``core``."""
    deviations: LocalDeviations | None
    """The local deviations, if the minimizer mixes deviations."""
    rules: list[PlacedRule]
    """The rules with their decision points. With ``deviations``, these are points of the set of
    deviations."""

    @property
    def wrapped(self) -> bool:
        """Whether there are circuits around the tree."""
        return self.core is not self.minimizer

    @property
    def learned_domain(self) -> StrategySet:
        """The set on which the rules learn."""
        learner = self.learner
        return learner.rule.domain if isinstance(learner, EFR) else learner.domain


def structure_of(minimizer: RegretMinimizer) -> Structure:
    """Return the structure of a minimizer."""
    core = learner = core_of(minimizer)
    deviations = core.local_deviations if isinstance(core, EFR) else None
    if (
        isinstance(core, PhiRegret)
        and isinstance(core.maps, TriggerDeviations)
        and isinstance(core.minimizer, CFR)
        and core.steps is None
    ):
        learner, deviations = core.minimizer, core.maps.local_deviations
    rule = learner.rule if isinstance(learner, CFR | EFR) else learner
    return Structure(minimizer, core, learner, deviations, [*_placed(rule)])


def _placed(rule: RegretMinimizer) -> Iterator[PlacedRule]:
    """Yield a rule with all its points, or the rules of a product of rules with theirs."""
    if isinstance(rule, Product) and isinstance(rule.domain, Simplices):
        layout = zip(rule.parts, rule._layout.blocks, rule._layout.coordinates, strict=True)
        for part, blocks, coordinates in layout:
            for inner, points, actions in _placed(part):
                yield PlacedRule(inner, blocks[points], coordinates[actions])
    else:
        count = rule.domain.blocks if isinstance(rule.domain, Simplices) else 0
        yield PlacedRule(rule, slice(0, count), slice(0, rule.dimension))


def unsupported_rules(run: SelfPlay) -> str | None:
    """Return why the minimizers of a run cannot be compiled, or None."""
    sampled = isinstance(run.estimator, TraversalEstimator)
    for player, minimizer in enumerate(run.minimizers):
        if reason := _unsupported(structure_of(minimizer), run.game.domains[player], sampled):
            return f"minimizers[{player}]: {reason}"
    return None


def _unsupported(structure: Structure, domain: StrategySet, sampled: bool) -> str | None:
    minimizer, wrapped = structure.minimizer, structure.wrapped
    if sampled and structure.deviations is not None:
        return f"{quote(minimizer)} mixes deviations, and machine code then needs exact utilities"
    if sampled and wrapped:
        needs = "is a circuit around a tree, and machine code then needs exact utilities"
        return f"{quote(minimizer)} {needs}"
    if minimizer.domain != domain:
        return f"{quote(minimizer)} plays on a part of its player's set"
    if any(getattr(part, "_tracker", None) is not None for part in with_parts(minimizer)):
        return f"{quote(minimizer)} is tracked by a ledger, which records every iteration"
    if wrapped and structure.deviations is not None:
        return f"{quote(minimizer)} is a circuit around a minimizer that mixes deviations"
    for part in [minimizer] * wrapped + [rule for rule, *_ in structure.rules]:
        try:
            kernel = find_kernel(part, exact=not sampled)
        except UntraceableError as error:
            return f"{quote(part)} cannot be compiled: {error}"
        if sampled and not kernel.traits.invariant_to_zero_utility:
            return (
                f"{quote(part)} changes at a zero utility, but samples update it at visited "
                "decision points only"
            )
    return None
