"""What circuits share: checks of their parts, and the base class of those around one minimizer."""

import abc
import sys
from collections.abc import Callable, Iterable, Set
from typing import Any, TypeAlias

from attrs import Attribute, define, field

from regretkit._state import Stateful, parts
from regretkit._util import _validate
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be, quote
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import ConicBlackwell, ResponseBasedApproachability
from regretkit.sets import DecisionTree, Simplices

Minimizers: TypeAlias = tuple[RegretMinimizer, ...]

LocalRule: TypeAlias = Callable[[Simplices], RegretMinimizer]
"""Builds one minimizer for all decision points: a rule's class, or a ``PerDecisionPoint``."""

_FRAMES = 8
"""Open calls, of those that Python allows at once, that a level of a circuit takes at most."""


def as_minimizer(value: RegretMinimizer, name: str) -> RegretMinimizer:
    """Return ``value`` if it is a minimizer."""
    if not isinstance(value, RegretMinimizer):
        raise TypeError(must_be(name, "a RegretMinimizer", value))
    return value


def is_minimizer(_: object, attribute: "Attribute[RegretMinimizer]", value: object) -> None:
    """Require a minimizer; a validator of attrs fields."""
    as_minimizer(value, attribute.name)  # type: ignore[arg-type]


def as_tuple(values: Iterable[RegretMinimizer]) -> Minimizers:
    """Return several values as a tuple, and anything else as it is, for a validator to refuse."""
    iterable = isinstance(values, Iterable) and not isinstance(values, RegretMinimizer | Set)
    return tuple(values) if iterable else values  # type: ignore[return-value]


def as_minimizers(values: Iterable[RegretMinimizer], name: str) -> Minimizers:
    """Return ``values`` as a tuple of minimizers."""
    return _validate.sequence(values, RegretMinimizer, name, as_minimizer)


def are_minimizers(_: object, attribute: "Attribute[Any]", value: Minimizers) -> None:
    """Require several minimizers; a validator of attrs fields."""
    as_minimizers(value, attribute.name)


def local_minimizer(local: LocalRule, simplices: Simplices, name: str = "local") -> RegretMinimizer:
    """Return what ``local`` makes for these blocks."""
    if isinstance(local, RegretMinimizer) or not callable(local):
        raise TypeError(must_be(name, "a rule's class, or a function of simplices", local))
    made = local(simplices)
    return on_simplices(as_minimizer(made, f"what {name} returned"), simplices, name)


def on_simplices(rule: RegretMinimizer, simplices: Simplices, name: str) -> RegretMinimizer:
    """Return ``rule`` if it plays on these simplices."""
    if rule.domain != simplices:
        raise ValueError(
            f"{name} must play on {quote(simplices)}, got a minimizer on {quote(rule.domain)}; "
            "a rule for one simplex goes in as PerDecisionPoint(rule)"
        )
    return rule


def check_tree(value: object, kinds: Any = DecisionTree) -> None:
    """Require the tree of one player."""
    if not isinstance(value, kinds):
        raise TypeError(must_be("tree", "a DecisionTree", value, "pass game.domains[0]"))


def check_function(value: object, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(must_be(name, "a function", value))


def check_distinct(minimizers: Iterable[RegretMinimizer]) -> None:
    """Refuse one object in two places, at any depth, and a circuit too deep to be called.

    Raises
    ------
    ValueError
        When one object would learn twice in an iteration, or parts are nested too deep.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> check_distinct([RegretMatching(2), RegretMatching(2)])
    """
    seen: set[int] = set()
    pending: list[tuple[Stateful, int]] = [(minimizer, 1) for minimizer in minimizers]
    while pending:
        part, depth = pending.pop()
        if id(part) in seen:
            raise ValueError(
                f"the same minimizer object, {quote(part)}, stands in two places and would learn "
                "twice in an iteration; build one for each, as in [make() for _ in range(n)]"
            )
        seen.add(id(part))
        check_depth(depth)
        pending += [(child, depth + 1) for _, child in parts(part)]


def check_depth(depth: int) -> None:
    """Refuse a circuit that is nested deeper than Python lets functions call each other."""
    if depth * _FRAMES > sys.getrecursionlimit():
        raise ValueError(
            f"parts are nested {depth} levels deep, too deep for Python's recursion limit of "
            f"{sys.getrecursionlimit()}; raise it with sys.setrecursionlimit, or play trees by CFR"
        )


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
class TreeCircuit(Circuit):
    """A circuit that plays behavioral strategies, and learns from counterfactual utilities."""

    rule: RegretMinimizer = field(init=False, repr=False)

    @abc.abstractmethod
    def _play_points(self) -> Vector:
        """Return the coming behavioral strategy."""

    @abc.abstractmethod
    def _learn_points(self, values: Vector) -> None:
        """Learn from the counterfactual utilities of all actions."""


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
