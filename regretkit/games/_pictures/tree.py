"""A game tree as SVG: histories, what leads to them, and who cannot tell which ones apart."""

import itertools
from collections.abc import Iterator

from regretkit.games._pictures import svg
from regretkit.games._pictures.layout import BOX, FAN, LANE, PAD, Layout
from regretkit.games.game_tree import GameTree
from regretkit.games.history import CHANCE

_ASIDE = 5.0
"""So far above or below the edge that comes in, a dashed line leaves a box."""


def tree_svg(tree: GameTree, name: str) -> str:
    """Return the drawing of a tree, from left to right, an end of the game a line."""
    layout = Layout(tree)
    body = [*_edges(layout), *_chance(layout), *_information_sets(layout), *_ends(layout)]
    chance = bool((tree.player == CHANCE).any())
    size = layout.right, layout.bottom
    return svg.page(name, body, size, players=tree.players, chance=chance)


def _edges(layout: Layout) -> Iterator[str]:
    parents = layout.tree.parent.tolist()
    yield f'<g class="edges" fill="none" stroke="{svg.PALE}">'
    for history in range(1, layout.tree.histories):
        parent, y = parents[history], layout.y[history]
        start, level = layout.left(parent) + layout.width[parent], layout.depth[history]
        fan, end = layout.labels[level] - FAN, layout.left(history)
        yield (
            f'<path d="M{start:.1f} {layout.y[parent]:.1f}H{fan:.1f}L{fan + FAN - PAD:.1f} {y:.1f}'
            f'H{end:.1f}"/>'
        )
    yield "</g>"
    yield '<g class="actions">'
    for history in range(1, layout.tree.histories):
        x, y = layout.labels[layout.depth[history]], layout.y[history] - 8.0
        yield svg.text(x, y, layout.edges[history])
    yield "</g>"


def _chance(layout: Layout) -> Iterator[str]:
    for history in range(layout.tree.histories):
        if layout.tree.player[history] == CHANCE:
            yield _box(layout, history, "chance")


def _box(layout: Layout, history: int, kind: str) -> str:
    x, y, width = layout.left(history), layout.y[history], layout.width[history]
    color = svg.color_of(int(layout.tree.player[history]))
    caption = svg.text(x + width / 2, y, layout.captions[history], fill="white", anchor="middle")
    return (
        f'<g class="{kind}"><rect x="{x:.1f}" y="{y - BOX / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX:g}" rx="{BOX / 2:g}" fill="{color}"/>{caption}</g>'
    )


def _information_sets(layout: Layout) -> Iterator[str]:
    tree = layout.tree
    for (player, number), histories in layout.sets.items():
        yield (
            f'<g class="information-set" data-player="{player}" data-number="{number}" '
            f'data-label="{svg.escaped(tree.labels[player][number])}">'
        )
        actions = ", ".join(tree.actions[player][number])
        about = f"player {player}, {tree.labels[player][number]}: {actions}"
        yield f"<title>{svg.escaped(about)}</title>"
        if len(histories) > 1:
            path = _joined(layout, (player, number), sorted(histories, key=lambda i: layout.y[i]))
            yield (
                f'<path class="joined" d="{path}" fill="none" stroke="{svg.color_of(player)}" '
                'stroke-width="1.4" stroke-dasharray="4 3"/>'
            )
        for history in histories:
            yield _box(layout, history, "history")
        yield "</g>"


def _joined(layout: Layout, key: tuple[int, int], histories: list[int]) -> str:
    """Return the dashed line through the histories of an information set, from top to bottom."""
    pairs = itertools.pairwise(histories)
    if key not in layout.lanes:
        return "".join(_bow(layout, one, other) for one, other in pairs)
    x, lane = layout.left(histories[0]), layout.lane(key, histories[0])
    bend, path = LANE / 2, ""
    for one, other in pairs:
        top, bottom = layout.y[one] + _ASIDE, layout.y[other] - _ASIDE
        path += (
            f"M{x:.1f} {top:.1f}H{lane + bend:.1f}Q{lane:.1f} {top:.1f} {lane:.1f} {top + bend:.1f}"
            f"V{bottom - bend:.1f}Q{lane:.1f} {bottom:.1f} {lane + bend:.1f} {bottom:.1f}H{x:.1f}"
        )
    return path


def _bow(layout: Layout, one: int, other: int) -> str:
    """Return a bow over whatever stands between two histories of different length."""
    ends = []
    for history in sorted((one, other), key=layout.left):
        ends.append((layout.left(history) + layout.width[history] / 2, layout.y[history]))
    (x, y), (last_x, last_y) = ends
    above = min(y, last_y) - BOX
    y, last_y = y - BOX / 2, last_y - BOX / 2
    return (
        f"M{x:.1f} {y:.1f}C{x:.1f} {above:.1f} {last_x:.1f} {above:.1f} {last_x:.1f} {last_y:.1f}"
    )


def _ends(layout: Layout) -> Iterator[str]:
    tree = layout.tree
    yield '<g class="payoffs">'
    for history, earned in zip(tree.terminals.tolist(), tree.payoffs.tolist(), strict=True):
        yield svg.payoffs(layout.left(history) + 4.0, layout.y[history], earned)
    yield "</g>"
