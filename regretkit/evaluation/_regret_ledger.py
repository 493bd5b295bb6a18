"""The regret ledger: exact regrets of all nodes of a circuit, and checks of their bounds."""

from collections.abc import Iterator

from attrs import define, field

from regretkit._regret_tracker import LARGEST, RegretBound, RegretTracker
from regretkit._state import Stateful, parts
from regretkit._util._validate import must_be, positive, quote, truth
from regretkit.circuits import PhiRegret
from regretkit.minimizer import RegretMinimizer


@define(eq=False, repr=False)
class RegretLedger:
    """Tracks the exact regret of a minimizer and all its parts, from the next iteration on.

    Each circuit bounds its regret by the regrets of its parts, and ``check`` verifies the bounds.
    Memory does not grow with iterations. Internal and swap regret need a number for each pair of
    actions of a decision. They are tracked from the top down, up to 10,000,000 pairs in total.

    Parameters
    ----------
    subject
        A minimizer, or a run with ``minimizers``.
    strict
        Call ``check`` after each iteration of the top minimizers. It is slower than an iteration.
    rtol
        Tolerance for rounding in a bound, relative to the sum of all absolute values added.

    Examples
    --------
    >>> from regretkit import Product, RegretMatching
    >>> player = Product([RegretMatching(2), RegretMatching(3)])
    >>> ledger = RegretLedger(player)
    >>> player.observe_utility([1.0, 0.0, 0.0, 0.0, 3.0])
    >>> ledger.external(player)
    2.5
    >>> print(ledger)
    node        external  internal  swap  bound
    top              2.5       1.5   2.5  R = sum of the parts' R
      parts[0]       0.5       0.5   0.5
      parts[1]         2         1     2

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """

    subject: object
    strict: bool = field(default=False, validator=truth, kw_only=True)
    rtol: float = field(default=1e-9, validator=positive, kw_only=True)
    _nodes: dict[str, RegretMinimizer] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._nodes = dict(_nodes(self.subject))
        taken = [name for name, node in self._nodes.items() if node._tracker is not None]
        if taken:
            raise ValueError(f"{taken[0]} has another ledger; detach that one first")
        left = LARGEST
        for name, node in self._nodes.items():
            joint = isinstance(node, PhiRegret)
            node._tracker = tracker = RegretTracker(node.domain, left, joint)
            left -= tracker.pairs * bool(tracker.products)
            if self.strict and "." not in name:
                node._tracker.then = self.check

    def detach(self) -> None:
        """Stop tracking; recorded sums are lost."""
        for node in self._nodes.values():
            node._tracker = None

    def tracker(self, minimizer: RegretMinimizer) -> RegretTracker:
        """Return the tracker of the subject or of one of its parts."""
        tracker = minimizer._tracker
        if tracker is None or not any(node is minimizer for node in self._nodes.values()):
            raise ValueError(f"{quote(minimizer)} is not tracked by this ledger")
        return tracker

    def external(self, minimizer: RegretMinimizer) -> float:
        """Return the external regret of a node, over the iterations in this ledger."""
        return self.tracker(minimizer).external

    def internal(self, minimizer: RegretMinimizer) -> float:
        """Return the internal regret of a node on simplices, summed over blocks."""
        return self.tracker(minimizer).internal

    def swap(self, minimizer: RegretMinimizer) -> float:
        """Return the swap regret of a node on simplices, summed over blocks."""
        return self.tracker(minimizer).swap

    def regret_bounds(self) -> dict[str, RegretBound]:
        """Return the bound of each circuit, by the name of its node."""
        found = {name: node._regret_bound(self.tracker) for name, node in self._nodes.items()}
        return {name: bound for name, bound in found.items() if bound is not None}

    def check(self) -> None:
        """Raise ``AssertionError`` if a bound is violated by more than rounding."""
        for name, bound in self.regret_bounds().items():
            node = self._nodes[name]
            own = [part for _, part in parts(node) if isinstance(part, RegretMinimizer)]
            allowed = self.rtol * sum(self.tracker(member).size for member in (node, *own))
            for row in (bound, *bound.also):
                if not row.gap <= allowed:
                    raise AssertionError(
                        f"{name}, {quote(node)}, violates {quote(row.statement)}: its regret is "
                        f"{row.regret!r}, and the bound is {row.bound!r}"
                    )

    def _table(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Return the rows of a table, and a note for each node without internal regret."""
        rows: list[tuple[str, ...]] = [("node", "external", "internal", "swap", "bound")]
        omissions, bounds = [], self.regret_bounds()
        for name, node in self._nodes.items():
            tracker, bound = self.tracker(node), bounds.get(name)
            label = "  " * name.count(".") + name.rpartition(".")[2]
            swaps = [tracker.internal, tracker.swap] if tracker.on_simplices else []
            numbers = [f"{regret:.6g}" for regret in (tracker.external, *swaps)]
            numbers += [""] * (3 - len(numbers))
            stated = [part.statement for part in (bound, *bound.also)] if bound else []
            rows.append((label, *numbers, ", and ".join(stated)))
            if tracker.pairs and not tracker.products:
                omissions.append(
                    f"internal and swap regret of {name} are not tracked: "
                    f"{tracker.pairs:,} pairs of actions, of at most {tracker.most_pairs:,}"
                )
        return rows, omissions

    def _repr_html_(self) -> str:
        from regretkit.display._html import table
        from regretkit.display._style import escaped

        (header, *rows), omissions = self._table()
        return table(rows, header) + "".join(f"<p>{escaped(text)}</p>" for text in omissions)

    def __str__(self) -> str:
        rows, omissions = self._table()
        first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join([name.ljust(first), *map(str.rjust, numbers, widths), stated]).rstrip()
            for name, *numbers, stated in rows
        ]
        return "\n".join([*lines, *omissions])

    def __repr__(self) -> str:
        return f"<RegretLedger of {len(self._nodes)} minimizers>"


def _nodes(subject: object) -> Iterator[tuple[str, RegretMinimizer]]:
    players = [("top", subject)]
    if not isinstance(subject, RegretMinimizer):
        several = getattr(subject, "minimizers", [subject])
        players = [(f"player {i}", minimizer) for i, minimizer in enumerate(several)]
    for name, minimizer in players:
        if not isinstance(minimizer, RegretMinimizer):
            raise TypeError(must_be("subject", "a minimizer or a run of several", subject))
        yield from _below(name, minimizer)


def _below(name: str, node: Stateful) -> Iterator[tuple[str, RegretMinimizer]]:
    if isinstance(node, RegretMinimizer):
        yield name, node
    for part, subtree in parts(node):
        yield from _below(f"{name}.{part}", subtree)
