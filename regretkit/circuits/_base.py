"""What circuits share: checks of their parts, and the base class of those around one minimizer."""

import abc
from collections.abc import Callable, Iterable
from typing import TypeAlias

from attrs import define, field, validators

from regretkit._state import Stateful, parts
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, must_be, of_kind, quote, sequence
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import ConicBlackwell, ResponseBasedApproachability
from regretkit.sets import Simplices

LocalRule: TypeAlias = Callable[[Simplices], RegretMinimizer]
"""Builds one minimizer for all decision points: a rule's class, or a ``PerDecisionPoint``."""


def as_minimizer(value: RegretMinimizer, name: str) -> RegretMinimizer:
    """Return ``value`` if it is a minimizer."""
    check_kind(value, RegretMinimizer, name, "RegretMatching(3)")
    return value


def as_minimizers(values: Iterable[RegretMinimizer], name: str) -> tuple[RegretMinimizer, ...]:
    """Return ``values`` as a tuple of minimizers."""
    return sequence(values, RegretMinimizer, name, as_minimizer)


def as_tuple(minimizers: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return several minimizers as a tuple; a converter of attrs fields."""
    return tuple(minimizers)


is_minimizer = of_kind(RegretMinimizer, "RegretMatching(3)")
are_minimizers = validators.deep_iterable(is_minimizer)


def local_minimizer(local: LocalRule, simplices: Simplices, name: str = "local") -> RegretMinimizer:
    """Return what ``local`` makes for these blocks."""
    if isinstance(local, RegretMinimizer) or not callable(local):
        raise TypeError(must_be(name, "a rule's class, or a function of simplices", local))
    made = as_minimizer(local(simplices), f"what {name} returned")
    return on_simplices(made, simplices, name)


def on_simplices(rule: RegretMinimizer, simplices: Simplices, name: str) -> RegretMinimizer:
    """Return ``rule`` if it plays on these simplices."""
    if rule.domain != simplices:
        raise ValueError(
            f"{name} must play on {quote(simplices)}, got a minimizer on {quote(rule.domain)}; "
            "a rule for one simplex goes in as PerDecisionPoint(rule)"
        )
    return rule


def check_distinct(minimizers: Iterable[RegretMinimizer]) -> None:
    """Refuse one object in two places, at any depth: it would learn twice in an iteration.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> check_distinct([RegretMatching(2), RegretMatching(2)])
    """
    seen: set[int] = set()
    pending: list[Stateful] = [*minimizers]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            raise ValueError(
                f"the same minimizer object, {quote(part)}, stands in two places and would learn "
                "twice in an iteration; build one for each, as in [make() for _ in range(n)]"
            )
        seen.add(id(part))
        pending += [child for _, child in parts(part)]


def no_bound_by_block(rule: RegretMinimizer) -> str:
    """Say why the regret of a rule may be large at some of its blocks, empty where it may not."""
    if not isinstance(rule.domain, Simplices) or rule.domain.blocks < 2:
        return ""
    if isinstance(rule, ConicBlackwell | ResponseBasedApproachability):
        return (
            f"{quote(rule)} bounds the sum of the regrets at its decision points, and not the "
            "regret at each; pass PerDecisionPoint(rule)"
        )
    inner = (part for _, part in parts(rule) if isinstance(part, RegretMinimizer))
    return next(filter(None, map(no_bound_by_block, inner)), "")


@define(eq=False)
class Circuit(RegretMinimizer):
    """A minimizer made of others."""

    scale_free = True


@define(eq=False)
class SingleMinimizerCircuit(Circuit):
    """A circuit around one minimizer."""

    minimizer: RegretMinimizer = field(validator=is_minimizer)

    @abc.abstractmethod
    def _transform(self, strategy: Vector) -> Vector:
        """Return what is played for the minimizer's strategy, a new array."""

    def _inner(self, utility: Vector) -> Vector:
        """Return what the minimizer learns from, the utility itself by default."""
        return utility

    def _propose(self) -> Vector:
        return self._transform(self.minimizer.next_strategy())

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer.observe_utility(self._inner(utility))

    def _expect(self, prediction: Vector) -> None:
        self.minimizer.expect_utility(self._inner(prediction))
