"""Local rules for CFR that no leaf's class is: rules for one simplex, and different rules."""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import final

from attrs import field, frozen
from attrs.validators import is_callable

from regretkit._util._validate import quote
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.circuits._parts import as_part
from regretkit.circuits._product import Product
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import RegretMatching
from regretkit.sets import Simplices


@final
@frozen
class PerDecisionPoint:
    """Give every decision point a minimizer of its own, built from its number of actions.

    It is how a minimizer that only knows one simplex gets into CFR or swap regret: a product of
    one object for each decision point. A leaf over ``Simplices`` needs none and is faster
    alone.

    Parameters
    ----------
    make
        Called with a number of actions, returns a new minimizer on that simplex.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching
    >>> from regretkit.sets import DecisionTree
    >>> CFR(DecisionTree([0, 2], [2, 3]), PerDecisionPoint(RegretMatching)).rule.parts
    (RegretMatching(simplices=Simplices(2)), RegretMatching(simplices=Simplices(3)))
    """

    make: Callable[[int], RegretMinimizer] = field(validator=is_callable())

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return the product of one minimizer for each block."""
        if not simplices.blocks:
            return RegretMatching(simplices)  # who never decides needs no rule of their own
        made = [as_part(self.make(int(size)), "what make returned") for size in simplices.sizes]
        for number, (minimizer, size) in enumerate(zip(made, simplices.sizes, strict=True)):
            if minimizer.domain != Simplices(int(size)):
                raise ValueError(
                    f"make({size}) returned a minimizer on {quote(minimizer.domain)} for decision "
                    f"point {simplices.labels.block(number)}; return one on Simplices({size})"
                )
        return Product(made)


def _rules(value: Mapping[str | int, LocalRule]) -> Mapping[str | int, LocalRule]:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"rules must be a dict from labels or numbers to local rules, got {quote(value)}"
        )
    return dict(value)


@final
@frozen
class ByDecisionPoint:
    """Play different rules at different decision points.

    Decision points that share a rule and follow one another are played by one minimizer.

    Parameters
    ----------
    rules
        Local rules by the label of a decision point, or by its number.
    otherwise
        The local rule of all other decision points; without it, ``rules`` must name them all.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching, RegretMatchingPlus
    >>> from regretkit.sets import DecisionTree
    >>> tree = DecisionTree([0, 2], [2, 3], labels=["first", "second"])
    >>> local = ByDecisionPoint({"second": RegretMatching}, otherwise=RegretMatchingPlus)
    >>> CFR(tree, local).rule.parts
    (RegretMatchingPlus(simplices=Simplices(2)), RegretMatching(simplices=Simplices(3)))
    """

    rules: Mapping[str | int, LocalRule] = field(converter=_rules)
    otherwise: LocalRule | None = field(default=None, kw_only=True)

    def __call__(self, simplices: Simplices) -> RegretMinimizer:
        """Return the product of what each run of decision points is played by."""
        if not simplices.blocks:
            return RegretMatching(simplices)  # who never decides needs no rule of their own
        chosen = self.chosen(simplices)
        made = []
        for _, run in groupby(range(simplices.blocks), key=lambda number: id(chosen[number])):
            numbers = list(run)
            made.append(local_minimizer(chosen[numbers[0]], simplices.select(numbers)))
        return Product(made)

    def chosen(self, simplices: Simplices) -> list[LocalRule]:
        """Return the rule of each decision point."""
        named: dict[int, LocalRule] = {}
        for key, rule in self.rules.items():
            number = simplices.labels.find(key)
            if number in named:
                raise ValueError(
                    f"rules name decision point {number} twice, the second time as {quote(key)}"
                )
            named[number] = rule
        missing = [n for n in range(simplices.blocks) if n not in named]
        if missing and self.otherwise is None:
            raise ValueError(
                f"rules leave out decision point {quote(simplices.labels.block(missing[0]))} and "
                f"{len(missing) - 1} more; name them or pass otherwise"
            )
        return [named.get(n, self.otherwise) for n in range(simplices.blocks)]  # type: ignore[misc]
