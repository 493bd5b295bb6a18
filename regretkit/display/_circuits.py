"""Minimizers and their parts: as an indented text, as nested boxes of HTML, and as a figure."""

import inspect
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from regretkit._state import Stateful, attrs_fields, parts
from regretkit._util._validate import check_kind
from regretkit.display._style import (
    axes_for,
    escaped,
    number,
    plain,
    require_matplotlib,
    shortened,
    style,
    text_size,
    width_of,
)
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import DecisionDAG, DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 12
"""Parts of one minimizer that are shown."""
_FEW = 5
"""Arrays of fewer numbers are shown."""
_BUILDERS = ("local", "expert", "make")
"""Arguments that build parts, which are shown themselves."""


@frozen
class Node:
    """A minimizer as it is shown."""

    role: str
    """What it is to the one around it, as ``members[0]``; empty at the top."""
    name: str
    """Its class, and hyperparameters that are not the default ones."""
    domain: str
    """The set on which it plays,"""
    dimension: int
    """and the dimension of that."""
    parts: tuple["Node", ...]

    @property
    def title(self) -> str:
        """Its role and its name."""
        return f"{self.role}: {self.name}" if self.role else self.name

    @property
    def place(self) -> str:
        """Its set, and the dimension."""
        return f"{self.domain}, dimension {self.dimension:,}"


def outline(minimizer: RegretMinimizer, role: str = "") -> Node:
    """Return what is shown of a minimizer and its parts; equal neighbors are shown as one."""
    inner = [outline(p, at) for at, p in parts(minimizer) if isinstance(p, RegretMinimizer)]
    grouped: list[Node] = []
    for _, group in groupby(inner, key=partial(evolve, role="")):
        alike = list(group)
        first, last = alike[0].role, alike[-1].role.rpartition("[")[2].rstrip("]")
        text = f"{first.rstrip(']')} to {last}], {len(alike):,} alike"
        grouped.append(evolve(alike[0], role=text if len(alike) > 1 else first))
    remaining = len(grouped) - _MOST
    if remaining > 1:
        hidden = Node("", f"... {remaining:,} more", "", 0, ())
        grouped = [*grouped[:_MOST], hidden]
    return Node(
        role.lstrip("_"),
        f"{type(minimizer).__name__}{_arguments(minimizer)}",
        _set(minimizer.domain),
        minimizer.dimension,
        tuple(grouped),
    )


def _arguments(minimizer: RegretMinimizer) -> str:
    """Return the hyperparameters in parentheses that are not the default ones."""
    shown = []
    made: dict[str, Any] = {f.name: f.default for f in attrs_fields(type(minimizer))}
    for name, parameter in inspect.signature(type(minimizer)).parameters.items():
        value, default = getattr(minimizer, name, parameter.default), parameter.default
        if not getattr(made.get(name), "takes_self", True):
            default = made[name].factory()  # an attrs.Factory
        text = "" if name in _BUILDERS else _value(value)
        if text and text != _value(default):
            shown.append(f"{name}={text}")
    return f"({', '.join(shown)})" if shown else ""


def _value(value: object) -> str:
    """Return a hyperparameter as text; nothing of parts and of sets."""
    if isinstance(value, Stateful | StrategySet | tuple | list) or value is None:
        return ""
    if isinstance(value, bool | str):
        return shortened(repr(value))
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape))
        return str(value.tolist()) if value.size < _FEW else f"array of {shape}"
    if isinstance(value, type | FunctionType):
        return value.__name__.replace("<lambda>", "function")
    return shortened(repr(value))


def _set(domain: StrategySet) -> str:
    if isinstance(domain, Simplices):
        if domain.blocks != 1:
            return f"{domain.blocks:,} simplices"
        return f"simplex of {domain.dimension:,} action{'s' * (domain.dimension != 1)}"
    if isinstance(domain, DecisionDAG):
        kind = "tree" if isinstance(domain, DecisionTree) else "DAG"
        return f"{kind} of {domain.points:,} decision point{'s' * (domain.points != 1)}"
    text = repr(domain)
    return text if len(text) <= 30 else type(domain).__name__


# Text


def circuit_text(minimizer: RegretMinimizer) -> str:
    """Return a line for each minimizer, indented below the one that it is a part of."""
    rows = list(_rows(outline(minimizer), 0))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _rows(node: Node, depth: int) -> Iterator[tuple[str, str, str]]:
    dimension = f"dimension {node.dimension:,}" if node.domain else ""
    yield "  " * depth + node.title, node.domain, dimension
    for part in node.parts:
        yield from _rows(part, depth + 1)


# HTML

_BOX = (
    "display: inline-block; vertical-align: top; margin: 3px; padding: 4px 8px; border-radius: 6px;"
    " border: 1px solid; text-align: left; line-height: 1.3; "
)
_CIRCUIT = "border-color: #0072B2; background: rgba(0, 114, 178, 0.07)"
_LEAF = "border-color: #009E73; background: rgba(0, 158, 115, 0.12)"


def circuit_html(minimizer: RegretMinimizer) -> str:
    """Return nested boxes: each minimizer holds those that it is made of."""
    return f'<div style="overflow-x: auto; white-space: nowrap">{_box(outline(minimizer))}</div>'


def _box(node: Node) -> str:
    small, look = 'style="font-size: 85%; opacity: 0.75"', _CIRCUIT if node.parts else _LEAF
    role = f"<div {small}>{escaped(node.role)}</div>" if node.role else ""
    place = f"<div {small}>{escaped(node.place)}</div>" if node.domain else ""
    inner = f"<div>{''.join(map(_box, node.parts))}</div>" if node.parts else ""
    title = f"<div><b>{escaped(node.name)}</b></div>"
    return f'<div style="{_BOX}{look}">{role}{title}{place}{inner}</div>'


# Figures


class CircuitFigure:
    """The positions of the boxes of minimizers, in points, y downwards.

    A box stands right of the one that it is a part of, and amid its own parts.
    """

    def __init__(self, node: Node) -> None:
        self.size = text_size()
        self.boxes: list[tuple[Node, int, float]] = []
        self.edges: list[tuple[int, int]] = []
        self.height = 0.0
        self._add(node, 0)
        levels = max(level for _, level, _ in self.boxes) + 1
        self.widths = [0.0] * levels
        for node, level, _ in self.boxes:
            widest = max(width_of(text, self.size, "bold") for text in self.lines(node))
            self.widths[level] = max(self.widths[level], widest + 1.6 * self.size)
        gap = 3.0 * self.size
        lefts = np.cumsum([0.0, *(width + gap for width in self.widths[:-1])])
        self.lefts: list[float] = lefts.tolist()
        self.width = self.lefts[-1] + self.widths[-1]

    def lines(self, node: Node) -> list[str]:
        """Return the lines of text in a box."""
        role = [plain(node.role)] if node.role else []
        place = [plain(node.place, 60)] if node.domain else []
        return [*role, plain(node.name, 60), *place]

    def _add(self, node: Node, level: int) -> int:
        """Place a node below all before it, and return its number."""
        at, top = len(self.boxes), self.height
        self.boxes.append((node, level, 0.0))
        numbers = [self._add(part, level + 1) for part in node.parts]
        own = self.size * (1.35 * len(self.lines(node)) + 1.9)
        if not numbers:
            self.height += own
        self.height = max(self.height, top + own)  # a box may be taller than its parts
        ends = [self.boxes[n][2] for n in (numbers or [at])]
        middle = (ends[0] + ends[-1]) / 2.0 if numbers else top + own / 2.0
        self.boxes[at] = node, level, middle
        self.edges += [(at, child) for child in numbers]
        return at

    def draw(self, ax: "Axes") -> None:
        """Draw the boxes; a unit of the axes is a point."""
        import matplotlib as mpl
        from matplotlib.patches import FancyBboxPatch

        color = mpl.rcParams["grid.color"]
        for parent, child in self.edges:
            (_, level, top), (_, _, y) = self.boxes[parent], self.boxes[child]
            start = self.lefts[level] + self.widths[level]
            end, bend = self.lefts[level + 1], start + 1.2 * self.size
            ax.plot([start, bend, bend, end], [top, top, y, y], color=color, zorder=0.5)
        for node, level, middle in self.boxes:
            lines, look = self.lines(node), style(0 if node.parts else 2)["color"]
            height = self.size * (1.35 * len(lines) + 0.8)
            corner, width = (self.lefts[level], middle - height / 2.0), self.widths[level]
            box = {"boxstyle": f"round,pad=0,rounding_size={0.5 * self.size}", "edgecolor": look}
            if node.domain:
                ax.add_patch(FancyBboxPatch(corner, width, height, facecolor=(look, 0.1), **box))
            first = middle - 0.675 * self.size * (len(lines) - 1)
            for index, line in enumerate(lines):
                is_name = line == plain(node.name, 60)
                place = corner[0] + 0.8 * self.size, first + 1.35 * self.size * index
                weight = "bold" if is_name and node.domain else "normal"
                size = self.size if is_name else 0.9 * self.size
                ax.text(*place, line, fontsize=size, weight=weight, va="center")


def draw_circuit(
    minimizer: RegretMinimizer,
    *,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what a minimizer is made of, from left to right.

    A box is a minimizer: its role in the one on its left, its class with the hyperparameters that
    are not the default ones, and the set on which it plays with the dimension. Circuits and leaves
    differ in color. Parts that are alike stand in one box.

    Parameters
    ----------
    minimizer
        Any.
    title, figsize, ax
        As in all figures, see ``display``.

    Raises
    ------
    TypeError
        When ``minimizer`` is none.

    Examples
    --------
    >>> from regretkit import CFR, ConvexHull, Hedge, RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> def hull(simplices):
    ...     members = [RegretMatching(simplices), Hedge(simplices, rate=0.1)]
    ...     return ConvexHull(members, mixing=RegretMatching)
    >>> player = CFR(kuhn_poker().domains[0], hull)
    >>> axes = draw_circuit(player)
    >>> print(player)
    CFR                             tree of 6 decision points  dimension 13
      rule: ConvexHull              6 simplices                dimension 12
        members[0]: RegretMatching  6 simplices                dimension 12
        members[1]: Hedge(rate=0.1) 6 simplices                dimension 12
        mixing: RegretMatching      6 simplices                dimension 12
    """
    require_matplotlib("display.draw_circuit")
    check_kind(minimizer, RegretMinimizer, "minimizer", "RegretMatching(3)")
    picture = CircuitFigure(outline(minimizer))
    size, heading = text_size(), None if title is None else plain(title, 80)
    margin = 2.4 * size * (heading is not None)
    width = max(picture.width, width_of(heading or "", 1.4 * size)) + 0.4 * size
    ax = axes_for(ax, figsize, ((width + 2.0 * size) / 72.0, (picture.height + margin) / 72.0))
    ax.set(xlim=(-0.2 * size, width), ylim=(picture.height, 0.0))
    picture.draw(ax)
    ax.set_axis_off()
    if heading is not None:
        ax.set_title(heading, loc="left")
    return ax
