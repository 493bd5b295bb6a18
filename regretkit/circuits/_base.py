"""What circuits share: checks of their parts, and the base class of those around one minimizer."""

import abc
from collections.abc import Callable, Iterable
from typing import TypeAlias

from attrs import define, evolve, field

from regretkit._state import Stateful, parts
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind, must_be, of_kind, quote, sequence
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import ConicBlackwell, ResponseBasedApproachability
from regretkit.sets import Simplices

LocalRule: TypeAlias = Callable[[Simplices], RegretMinimizer]
"""Builds one minimizer for all decision points: a rule's class, or a ``PerDecisionPoint``."""


is_minimizer = of_kind(RegretMinimizer, "RegretMatching(3)")


def as_minimizers(values: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return minimizers as a tuple; a converter of attrs fields."""
    return sequence(values, RegretMinimizer, "minimizers", "RegretMatching(3)")


def local_minimizer(local: LocalRule, simplices: Simplices, name: str = "local") -> RegretMinimizer:
    """Return what ``local`` makes for these blocks."""
    if isinstance(local, RegretMinimizer) or not callable(local):
        raise TypeError(must_be(name, "a rule's class, or a function of simplices", local))
    made = local(simplices)
    check_kind(made, RegretMinimizer, f"the result of {name}", "RegretMatching(3)")
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
                f"the same minimizer, {quote(part)}, is in two places and would learn twice in an "
                "iteration; build one for each"
            )
        seen.add(id(part))
        pending += [child for _, child in parts(part)]


def no_bound_by_block(rule: RegretMinimizer) -> str:
    """Return why a rule's regret may be large in some of its blocks, empty where it may not."""
    if not isinstance(rule.domain, Simplices) or rule.domain.blocks < 2:
        return ""
    if isinstance(rule, ConicBlackwell | ResponseBasedApproachability):
        return (
            f"{quote(rule)} bounds the sum of the regrets at its decision points, and not each; "
            "pass PerDecisionPoint(rule)"
        )
    inner = (part for _, part in parts(rule) if isinstance(part, RegretMinimizer))
    return next(filter(None, map(no_bound_by_block, inner)), "")


@define(eq=False)
class Circuit(RegretMinimizer):
    """A minimizer made of others."""

    scale_free = True


@define(eq=False)
class SingleMinimizerCircuit(Circuit):
    """A circuit around one minimizer, by default on the minimizer's domain."""

    minimizer: RegretMinimizer = field(validator=is_minimizer)

    def __attrs_post_init__(self) -> None:
        self.domain = self.minimizer.domain

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        minimizer = self.minimizer.on_domain(simplices)
        return None if minimizer is None else evolve(self, minimizer=minimizer)

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
