"""Minimizers and their parts as indented text, nested HTML boxes, and figures."""

import inspect
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import evolve, frozen

from regretkit._state import Stateful, attrs_fields, parts
from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind
from regretkit.display._style import (
    aligned,
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
"""Most parts of a minimizer to show."""
_FEW = 5
"""Arrays with fewer numbers are shown."""
_BUILDERS = ("local", "expert", "make")
"""Arguments that build parts."""


@frozen
class Node:
    """The displayed facts of a minimizer."""

    role: str
    """The name in its circuit, as ``members[0]``; empty at the top."""
    name: str
    """The class, with hyperparameters that differ from their defaults."""
    domain: str
    dimension: int
    parts: tuple["Node", ...]

    @property
    def place(self) -> str:
        """The set, with its dimension."""
        return f"{self.domain}, dimension {self.dimension:,}"


def outline(minimizer: RegretMinimizer, role: str = "") -> Node:
    """Return the node of a minimizer; equal adjacent parts become one node."""
    inner = [outline(p, at) for at, p in parts(minimizer) if isinstance(p, RegretMinimizer)]
    grouped: list[Node] = []
    for _, group in groupby(inner, key=partial(evolve, role="")):
        equal = list(group)
        first, last = equal[0].role, equal[-1].role.rpartition("[")[2].rstrip("]")
        text = f"{first.rstrip(']')} to {last}], {len(equal):,} equal"
        grouped.append(evolve(equal[0], role=text if len(equal) > 1 else first))
    if len(grouped) > _MOST + 1:
        hidden = Node("", f"... {len(grouped) - _MOST:,} more", "", 0, ())
        grouped = [*grouped[:_MOST], hidden]
    return Node(
        role.lstrip("_"),
        f"{type(minimizer).__name__}{_arguments(minimizer)}",
        _set(minimizer.domain),
        minimizer.dimension,
        tuple(grouped),
    )


def _arguments(minimizer: RegretMinimizer) -> str:
    """Return the hyperparameters that differ from their defaults, in parentheses."""
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
    """Return a hyperparameter as text, or an empty string for parts and sets."""
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
    """Return a line for each minimizer, with parts indented below their circuit."""
    return "\n".join(aligned([*_rows(outline(minimizer), 0)]))


def _rows(node: Node, depth: int) -> Iterator[tuple[str, str, str]]:
    dimension = f"dimension {node.dimension:,}" if node.domain else ""
    title = f"{node.role}: {node.name}" if node.role else node.name
    yield "  " * depth + title, node.domain, dimension
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
    """Return nested HTML boxes: each circuit contains its parts."""
    return f'<div style="overflow-x: auto; white-space: nowrap">{_box(outline(minimizer))}</div>'


def _box(node: Node) -> str:
    small, look = 'style="font-size: 85%; opacity: 0.75"', _CIRCUIT if node.parts else _LEAF
    role = f"<div {small}>{escaped(node.role)}</div>" if node.role else ""
    place = f"<div {small}>{escaped(node.place)}</div>" if node.domain else ""
    inner = f"<div>{''.join(map(_box, node.parts))}</div>" if node.parts else ""
    title = f"<div><b>{escaped(node.name)}</b></div>"
    return f'<div style="{_BOX}{look}">{role}{title}{place}{inner}</div>'


# Figures


class _Box(NamedTuple):
    """A minimizer in a figure, in points, y downwards."""

    node: Node
    level: int
    lines: list[str]
    middle: float
    parts: list[float]
    """The middles of the parts, on the next level."""


def _place(node: Node, level: int, top: float, size: float, boxes: list[_Box]) -> float:
    """Append the boxes of a node and its parts below ``top``, and return their bottom."""
    role = [plain(node.role)] if node.role else []
    place = [plain(node.place, 60)] if node.domain else []
    lines, first, bottom = [*role, plain(node.name, 60), *place], len(boxes), top
    for part in node.parts:
        bottom = _place(part, level + 1, bottom, size, boxes)
    own = size * (1.35 * len(lines) + 1.9)
    parts = [box.middle for box in boxes[first:] if box.level == level + 1]
    middle = (parts[0] + parts[-1]) / 2.0 if parts else top + own / 2.0
    boxes.append(_Box(node, level, lines, middle, parts))
    return max(bottom, top + own)  # a box may be taller than its parts


def _draw(ax: "Axes", boxes: list[_Box], lefts: Vector, widths: Vector, size: float) -> None:
    """Draw boxes; a unit of the axes is a point."""
    import matplotlib as mpl
    from matplotlib.patches import FancyBboxPatch

    rounded = f"round,pad=0,rounding_size={0.5 * size}"
    for node, level, lines, middle, inner in boxes:
        left, width = lefts[level], widths[level]
        start, bend = left + width, left + width + 1.2 * size
        for y in inner:
            path = [start, bend, bend, lefts[level + 1]], [middle, middle, y, y]
            ax.plot(*path, color=mpl.rcParams["grid.color"], zorder=0.5)
        look, height = style(0 if node.parts else 2)["color"], size * (1.35 * len(lines) + 0.8)
        if node.domain:
            box: Any = {"boxstyle": rounded, "edgecolor": look, "facecolor": (look, 0.1)}
            ax.add_patch(FancyBboxPatch((left, middle - height / 2.0), width, height, **box))
        first = middle - 0.675 * size * (len(lines) - 1)
        for index, line in enumerate(lines):
            is_name = index == bool(node.role)
            weight = "bold" if is_name and node.domain else "normal"
            place, letters = (left + 0.8 * size, first + 1.35 * size * index), 0.9 + 0.1 * is_name
            ax.text(*place, line, fontsize=letters * size, weight=weight, va="center")


def draw_circuit(
    minimizer: RegretMinimizer,
    *,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a minimizer and its parts, from left to right.

    A box is a minimizer. It shows the role in the circuit on its left, the class with the
    hyperparameters that differ from their defaults, and the set with its dimension. Circuits and
    rules differ in color. Equal adjacent parts share one box.

    Parameters
    ----------
    minimizer
        Any minimizer.
    title, figsize, ax
        See ``display``.

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
    boxes, size = list[_Box](), text_size()
    height = _place(outline(minimizer), 0, 0.0, size, boxes)
    widths = np.zeros(max(box.level for box in boxes) + 1)
    for box in boxes:
        widest = max(width_of(line, size, "bold") for line in box.lines)
        widths[box.level] = max(widths[box.level], widest + 1.6 * size)
    lefts = np.cumsum(widths + 3.0 * size) - widths - 3.0 * size
    heading = None if title is None else plain(title, 80)
    margin = 2.4 * size * (heading is not None)
    width = max(lefts[-1] + widths[-1], width_of(heading or "", 1.4 * size)) + 0.4 * size
    ax = axes_for(ax, figsize, ((width + 2.0 * size) / 72.0, (height + margin) / 72.0))
    ax.set(xlim=(-0.2 * size, width), ylim=(height, 0.0))
    _draw(ax, boxes, lefts, widths, size)
    ax.set_axis_off()
    if heading is not None:
        ax.set_title(heading, loc="left")
    return ax
