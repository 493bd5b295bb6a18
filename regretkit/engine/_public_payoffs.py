"""Payoffs of public games, in arrays for machine code."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import as_uint32
from regretkit._util._typing import Indices, UInt32Array, Vector
from regretkit.games.public import PublicGame
from regretkit.games.public._layout import Layout
from regretkit.games.public._terminal_utilities import Group

LANES = 8
"""Columns of the opponent's reach in one vector."""


class Groups(NamedTuple):
    """The begin of each group's levels, types and so on, and their number."""

    levels: UInt32Array
    own: UInt32Array
    """Types of the player."""
    other: UInt32Array
    """Types of the opponent."""
    columns: UInt32Array
    free: UInt32Array
    """Columns without comparison of types."""
    segments: UInt32Array
    table: UInt32Array


class Steps(NamedTuple):
    """The sequences of a player's types: type i has ``first + step * place[i]``."""

    first: UInt32Array
    """The sequence of the first type."""
    step: UInt32Array
    """The distance between the sequences of types."""
    places: UInt32Array
    """The first type's entry in ``PublicPayoffs.places``."""
    priors: UInt32Array
    """The first type's entry in ``PublicPayoffs.priors``."""


class PublicPayoffs(NamedTuple):
    """The payoffs at the terminals of a public game, in groups with one order of types.

    A column is a last decision of the opponent in a context, as in ``Group``. Columns with
    comparison of types come first. Their number, and that of all columns, are rounded up to
    multiples of ``LANES``. A segment
    has the terminals of a group with the same last decision of the player, in one context.
    """

    groups: Groups
    group_offsets: UInt32Array
    """First group of each player, and the number of groups."""
    pays_ties: UInt32Array
    """For each group, whether a tie pays other than the mean of win and loss."""
    table: Vector
    """Payoffs of the player's types against the opponent's, for groups with a table."""
    own_level: UInt32Array
    """For each strength, the number of the player's types up to it."""
    other_level: UInt32Array
    """For each strength, the number of the opponent's types up to it."""
    own: UInt32Array
    """The player's types by increasing strength, for each group."""
    other: UInt32Array
    """The opponent's types by increasing strength, for each group."""
    columns: Steps
    """The sequences of the opponent's types, for each column."""
    segments: Steps
    """The sequences of the player's types, for each segment."""
    segment_begin: UInt32Array
    """First terminal of each segment, and the number of terminals."""
    column_of_terminal: UInt32Array
    """The column of each terminal, within its group."""
    factors: Vector
    """Factors of ``free``, ``more`` and ``tie``, and the sum of their magnitudes; shape
    ``(terminals, 4)``."""
    types: UInt32Array
    """Number of types of each player."""
    read_cards: UInt32Array
    """The two cards of each type of player 0, then of player 1, shape ``(types, 2)``. Missing cards
    are a card that is never added."""
    added_cards: UInt32Array
    """The same cards. Missing cards are a card that is never read."""
    twins: UInt32Array
    """The opponent's type with the same cards, or the number of its types, for each type."""
    places: UInt32Array
    """The place of each type among the types alive, for each context and player; otherwise 0."""
    priors: Vector
    """The prior weight of each type, for each context and player; 0 for types not alive."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""
    reach: Vector
    """Workspace: the reach of the opponent's types, in lanes."""
    by_card: Vector
    """Workspace: sums of reach by card, in lanes."""
    below: Vector
    """Workspace: sums below and up to each type, in lanes; shape ``(2, types * LANES)``."""
    sums: Vector
    """Workspace: ``free``, ``more`` and ``tie`` of a group, shape ``(3, columns * types)``."""
    total: Vector
    """Workspace: the total reach in each column."""
    earned: Vector
    """Workspace: the utility of each type in a segment."""


class _Part(NamedTuple):
    """One group of a player; columns, levels and types are numbered within the group."""

    pays_ties: bool
    table: Vector
    levels: Indices
    own: Indices
    other: Indices
    columns: Indices
    free: int
    """The first column without comparison of types."""
    segments: Indices
    begin: Indices
    """First terminal of each segment."""
    column_of_terminal: Indices
    factors: NDArray[np.float64]


def public_payoffs(game: PublicGame, sequence: Indices, negligible: Vector) -> PublicPayoffs:
    """Return the payoffs of a public game, given the numbers of all sequences."""
    layout, deal = game.layout, game.deal
    by_player = [game._terminal_utilities(player).groups for player in (0, 1)]
    number = sequence[: game.domains[0].dimension], sequence[game.domains[0].dimension :]
    parts = [
        _part(layout, player, group, number)
        for player, groups in enumerate(by_player)
        for group in groups
    ]
    maximum, columns = max(deal.sizes), max(len(part.columns) for part in parts)
    cards = 1 + max(held.max(initial=-1) for held in deal.cards)

    def joined(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    own_level, other_level = map(as_uint32, joined("levels").T)
    return PublicPayoffs(
        groups=_groups(parts),
        group_offsets=as_uint32(np.cumsum([0, *map(len, by_player)])),
        pays_ties=as_uint32(np.array([part.pays_ties for part in parts], dtype=np.int64)),
        table=joined("table"),
        own_level=own_level,
        other_level=other_level,
        own=as_uint32(joined("own")),
        other=as_uint32(joined("other")),
        columns=Steps._make(map(as_uint32, joined("columns").T)),
        segments=Steps._make(map(as_uint32, joined("segments").T)),
        segment_begin=_segment_begin(parts),
        column_of_terminal=as_uint32(joined("column_of_terminal")),
        factors=joined("factors"),
        types=as_uint32(np.array(deal.sizes)),
        read_cards=_two_cards(deal.cards, cards),
        added_cards=_two_cards(deal.cards, cards + 1),
        twins=as_uint32(np.concatenate([deal.meeting(player).twin for player in (0, 1)])),
        places=as_uint32(_by_context(layout.places, maximum).clip(min=0)),
        priors=_by_context(layout.priors, maximum),
        negligible=negligible,
        reach=np.zeros((maximum + 1) * LANES),
        by_card=np.zeros((cards + 2) * LANES),
        below=np.zeros((2, maximum * LANES)),
        sums=np.zeros((3, columns * maximum)),
        total=np.zeros(columns),
        earned=np.zeros(maximum),
    )


def _groups(parts: Sequence[_Part]) -> Groups:
    names = set(Groups._fields) - {"free"}
    sizes = {name: [len(getattr(part, name)) for part in parts] for name in names}
    begins = {name: np.cumsum([0, *counts]) for name, counts in sizes.items()}
    free = begins["columns"][:-1] + np.array([part.free for part in parts])
    return Groups(free=as_uint32(free), **{n: as_uint32(begin) for n, begin in begins.items()})


def _by_context(of_players: Sequence[Any], maximum: int) -> Any:
    """Concatenate numbers by context, first player 0's, then player 1's; add zeros at the end."""
    return np.pad(np.ravel(np.concatenate(of_players, axis=1)), (0, maximum))


def _segment_begin(parts: Sequence[_Part]) -> UInt32Array:
    """Return the first terminal of each segment of all groups, and the number of terminals."""
    terminals = np.cumsum([0, *(part.column_of_terminal.size for part in parts)])
    begins = [part.begin + start for part, start in zip(parts, terminals, strict=False)]
    return as_uint32(np.concatenate([*begins, terminals[-1:]]))


def _part(layout: Layout, player: int, group: Group, number: Sequence[Indices]) -> _Part:
    deal, other = layout.deal, 1 - player
    own_strength, other_strength = (np.zeros(deal.sizes[i]) for i in (player, other))
    if group.order is not None:
        strengths = deal.strengths[group.order]
        own_strength, other_strength = strengths[player], strengths[other]
    union = np.unique(np.concatenate([own_strength, other_strength]))
    ends = [
        np.searchsorted(np.sort(strength), union, side="right")
        for strength in (own_strength, other_strength)
    ]
    factors = group.factors[player].T
    table = np.empty(0)
    if group.table is not None:
        table = np.ravel(group.table[player])
    # Columns with comparison, then the others, the first of which complete the vectors
    compared = np.zeros(group.last.size, dtype=bool)
    compared[group.column[factors[:, 1:].any(axis=1)]] = True
    count = int(compared.sum())
    free, width = (-(-number // LANES) * LANES for number in (count, compared.size))
    position = np.where(compared, np.cumsum(compared), count + np.cumsum(~compared)) - 1
    columns = np.zeros((width, 4), dtype=np.int64)
    columns[:, 3] = len(layout.contexts) * sum(deal.sizes)  # zeros
    columns[position] = _steps(layout, other, group.last, group.context, number)
    ahead = group.terminals[group.begin]
    segments = _steps(layout, player, layout.last[player, ahead], layout.context[ahead], number)
    return _Part(
        pays_ties=bool(factors[:, 2].any()),
        table=table,
        levels=np.column_stack(ends),
        own=np.argsort(own_strength, kind="stable"),
        other=deal.meeting(player, group.order).order,
        columns=columns,
        free=free,
        segments=segments,
        begin=group.begin,
        column_of_terminal=position[group.column],
        factors=np.column_stack([factors, np.abs(group.factors[player]).sum(axis=0)]),
    )


def _steps(
    layout: Layout, player: int, last: Indices, context: Indices, number: Sequence[Indices]
) -> NDArray[np.int64]:
    """Return the fields of ``Steps``: types have contiguous points of one range."""
    steps, (ahead, behind) = layout.steps[player][last], layout.deal.sizes
    begin = np.stack([steps[:, 2], context]) * (ahead + behind) + (ahead if player else 0)
    # If no type is alive, a step may exceed the last sequence, but is never used.
    first = number[player][np.minimum(steps[:, 0], number[player].size - 1)]
    return np.column_stack([first, (steps[:, 1] > 0).astype(np.int64), *begin])


def _two_cards(cards: Sequence[Indices], absent: int) -> UInt32Array:
    held = np.concatenate(cards)
    missing = np.full((len(held), 2 - held.shape[1]), absent)
    return as_uint32(np.column_stack([held, missing]))
