"""Where the histories of a small game go on paper: left to right, an end a line."""

from collections import defaultdict
from fractions import Fraction
from typing import final

import numpy as np
from attrs import define, field

from regretkit.games._pictures import svg
from regretkit.games.game_tree import GameTree
from regretkit.games.history import CHANCE, TERMINAL

LINE = 26.0
"""From one end of the game down to the next one."""
BOX = 19.0
"""Height of the box of a history."""
LANE = 7.0
"""From one vertical line that joins an information set to the next one."""
FAN = 34.0
"""Across which the edges from one history part."""
PAD = 8.0


@final
@define(eq=False)
class Layout:
    """Positions of everything in the drawing of a game tree.

    Every end of the game has a line of its own, and what comes before it is in the middle of what
    comes after: so no two histories of one length are closer than a line. Histories of one length
    stand in a column, as wide as the widest of them; left of it is room for the names of the
    actions, and for vertical lines that join information sets.
    """

    tree: GameTree
    depth: list[int] = field(init=False)
    """Length of each history."""
    y: list[float] = field(init=False)
    """Height of the middle of each history."""
    width: list[float] = field(init=False)
    """Width of each history's box, or of its payoffs."""
    captions: list[str] = field(init=False)
    """What stands in each history's box; nothing where the game ends."""
    edges: list[str] = field(init=False)
    """What is done to come to each history; nothing for the first one."""
    sets: dict[tuple[int, int], list[int]] = field(init=False)
    """The histories of each information set, by its player and number."""
    lanes: dict[tuple[int, int], int] = field(init=False)
    """Which vertical line joins an information set whose histories stand in one column."""
    columns: list[float] = field(init=False)
    """The left of each column."""
    labels: list[float] = field(init=False)
    """Where the names of the actions begin that lead to each column."""
    right: float = field(init=False)
    bottom: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        tree = self.tree
        self.depth = _depths(tree)
        self.y = _heights(tree)
        self.captions = [_caption(tree, history) for history in range(tree.histories)]
        self.edges = [_edge(tree, history) for history in range(tree.histories)]
        ends = dict(zip(tree.terminals.tolist(), tree.payoffs.tolist(), strict=True))
        self.width = [
            svg.payoffs_width(ends[i]) if i in ends else svg.width_of(caption) + 2 * PAD
            for i, caption in enumerate(self.captions)
        ]
        self.sets = _information_sets(tree)
        self.lanes = self._assign_lanes()
        self._place_columns()
        self.bottom = LINE * tree.terminals.size

    def left(self, history: int) -> float:
        """Return where a history begins."""
        return self.columns[self.depth[history]]

    def lane(self, key: tuple[int, int], history: int) -> float:
        """Return where the vertical line of an information set stands."""
        return self.left(history) - LANE * (self.lanes[key] + 1.5)

    def _assign_lanes(self) -> dict[tuple[int, int], int]:
        """Give information sets that overlap in a column lines of their own, short ones inside."""
        lanes: dict[tuple[int, int], int] = {}
        taken: dict[int, list[list[tuple[float, float]]]] = defaultdict(list)
        spans = []
        for key, histories in self.sets.items():
            depths, heights = {self.depth[i] for i in histories}, [self.y[i] for i in histories]
            if len(histories) > 1 and len(depths) == 1:
                spans.append((max(heights) - min(heights), min(heights), depths.pop(), key))
        for length, top, depth, key in sorted(spans):
            column, bottom = taken[depth], top + length
            free = (
                number
                for number, lane in enumerate(column)
                if all(bottom < above or below < top for above, below in lane)
            )
            lanes[key] = next(free, len(column))
            if lanes[key] == len(column):
                column.append([])
            column[lanes[key]].append((top, bottom))
        return lanes

    def _place_columns(self) -> None:
        levels = range(max(self.depth) + 1)
        widths, names, lanes = ([0.0 for _ in levels] for _ in range(3))
        for history, level in enumerate(self.depth):
            widths[level] = max(widths[level], self.width[history])
            names[level] = max(names[level], svg.width_of(self.edges[history]))
        for (player, number), lane in self.lanes.items():
            level = self.depth[self.sets[player, number][0]]
            lanes[level] = max(lanes[level], LANE * (lane + 1.5))
        self.columns, self.labels, x = [], [], 0.0
        for level in levels:
            self.labels.append(x + FAN)
            x += FAN + names[level] + lanes[level] + PAD if level else lanes[level]
            self.columns.append(x)
            x += widths[level]
        self.right = x


def _information_sets(tree: GameTree) -> dict[tuple[int, int], list[int]]:
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    acting = zip(tree.player.tolist(), tree.information_set.tolist(), strict=True)
    for history, (player, number) in enumerate(acting):
        if player >= 0:
            found[player, number].append(history)
    return dict(sorted(found.items()))


def _depths(tree: GameTree) -> list[int]:
    depths = [0]
    for parent in tree.parent[1:].tolist():
        depths.append(depths[parent] + 1)
    return depths


def _heights(tree: GameTree) -> list[float]:
    parents = tree.parent.tolist()
    ends = (tree.player == TERMINAL).astype(int).tolist()
    for history in range(tree.histories - 1, 0, -1):
        ends[parents[history]] += ends[history]
    # The line on which each history's first end stands; children come in order.
    first, used = [0] * tree.histories, [0] * tree.histories
    for history in range(1, tree.histories):
        parent = parents[history]
        first[history] = first[parent] + used[parent]
        used[parent] += ends[history]
    heights = [LINE * (line + 0.5) for line in first]
    lowest = heights.copy()
    for history in range(tree.histories - 1, 0, -1):
        parent = parents[history]
        if used[parent]:  # the last child, which comes first on the way back
            lowest[parent], used[parent] = heights[history], 0
        heights[parent] = heights[history]
        if tree.action[history] == 0:
            heights[parent] = (heights[history] + lowest[parent]) / 2
    return heights


def _caption(tree: GameTree, history: int) -> str:
    player = int(tree.player[history])
    if player == TERMINAL:
        return ""
    if player == CHANCE:
        return "chance"
    number = int(tree.information_set[history])
    return f"{player}: {svg.shortened(tree.labels[player][number]) or f'number {number}'}"


def _edge(tree: GameTree, history: int) -> str:
    if history == 0:
        return ""
    name = svg.shortened(tree.history_path(history)[-1])
    if tree.player[tree.parent[history]] != CHANCE:
        return name
    return f"{name}  {probability(float(tree.probability[history]))}"


def probability(value: float) -> str:
    """Return a probability as a fraction, where it is one of small numbers."""
    fraction = Fraction(value).limit_denominator(1_000)
    near = np.isclose(float(fraction), value, rtol=1e-12, atol=0.0)
    return str(fraction) if near else f"{value:.4g}"
