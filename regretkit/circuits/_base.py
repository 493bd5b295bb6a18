"""Base classes of circuits, and checks of their parts."""

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
"""A function of simplices that returns a minimizer on them, such as a rule's class."""


is_minimizer = of_kind(RegretMinimizer, "RegretMatching(3)")


def as_minimizers(values: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return minimizers as a tuple, or raise a TypeError."""
    return sequence(values, RegretMinimizer, "minimizers", "RegretMatching(3)")


def local_minimizer(local: LocalRule, simplices: Simplices, name: str = "local") -> RegretMinimizer:
    """Return the minimizer that ``local`` builds on these simplices, after checks."""
    if isinstance(local, RegretMinimizer) or not callable(local):
        raise TypeError(must_be(name, "a rule's class, or a function of simplices", local))
    made = local(simplices)
    check_kind(made, RegretMinimizer, f"the result of {name}", "RegretMatching(3)")
    if made.domain != simplices:
        raise ValueError(
            f"{name} must play on {quote(simplices)}, got a minimizer on {quote(made.domain)}; "
            "pass PerDecisionPoint(rule) for a rule on one simplex"
        )
    return made


def check_distinct(minimizers: Iterable[RegretMinimizer]) -> None:
    """Raise a ValueError if one minimizer occurs twice, at any depth.

    It would be updated twice in an iteration.

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
                f"the same minimizer occurs twice: {quote(part)}; build one for each place"
            )
        seen.add(id(part))
        pending += [child for _, child in parts(part)]


def no_bound_by_block(rule: RegretMinimizer) -> str:
    """Return why a rule's regret may grow linearly in a block, empty if it cannot."""
    if not isinstance(rule.domain, Simplices) or rule.domain.blocks < 2:
        return ""
    if isinstance(rule, ConicBlackwell | ResponseBasedApproachability):
        return (
            f"{quote(rule)} bounds only the sum of the regrets of its decision points; pass "
            "PerDecisionPoint(rule)"
        )
    inner = (part for _, part in parts(rule) if isinstance(part, RegretMinimizer))
    return next(filter(None, map(no_bound_by_block, inner)), "")


@define(eq=False)
class Circuit(RegretMinimizer):
    """A minimizer that is built out of minimizers."""

    scale_free = True


@define(eq=False)
class SingleMinimizerCircuit(Circuit):
    """A circuit around one minimizer. By default its domain is that of the minimizer."""

    minimizer: RegretMinimizer = field(validator=is_minimizer)

    def __attrs_post_init__(self) -> None:
        self.domain = self.minimizer.domain

    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        minimizer = self.minimizer.on_domain(simplices)
        return None if minimizer is None else evolve(self, minimizer=minimizer)

    def _transform(self, strategy: Vector) -> Vector:
        """Return the circuit's strategy for the minimizer's, a new array, by default the same."""
        return strategy.copy()

    def _inner(self, utility: Vector) -> Vector:
        """Return the minimizer's utility for the circuit's utility, by default the same."""
        return utility

    def _propose(self) -> Vector:
        return self._transform(self.minimizer.next_strategy())

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer.observe_utility(self._inner(utility))

    def _expect(self, prediction: Vector) -> None:
        self.minimizer.expect_utility(self._inner(prediction))
