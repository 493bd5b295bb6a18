"""Payoffs of public games in arrays laid out for machine code."""

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
"""Columns of the opponent's reach that are summed at once."""


class Groups(NamedTuple):
    """Where what each group has begins, and where that of the last one ends."""

    levels: UInt32Array
    own: UInt32Array
    """Types of the player,"""
    other: UInt32Array
    """and of the opponent."""
    columns: UInt32Array
    free: UInt32Array
    """Columns in which types are not compared."""
    segments: UInt32Array
    table: UInt32Array


class Steps(NamedTuple):
    """Where the numbers of a player's types stand."""

    first: UInt32Array
    """The sequence of the first type,"""
    step: UInt32Array
    """the distance from one type to the next,"""
    places: UInt32Array
    """and where places"""
    priors: UInt32Array
    """and priors of the types begin."""


class PublicPayoffs(NamedTuple):
    """What the terminals of a public game pay, in groups of one order of types.

    ``Group`` says what columns are. Here those in which types are compared come first, and all are
    filled up to a multiple of ``LANES``. A segment has the terminals of a group
    with the same last decision of the player, in one context.
    """

    groups: Groups
    group_offsets: UInt32Array
    """First group of each player, and the number of all of them."""
    pays_ties: UInt32Array
    """For each group, whether ties pay anything but the mean of win and lose."""
    table: Vector
    """What the player's types are paid against each of the opponent's, for groups with a table."""
    own_level: UInt32Array
    """For each strength where the player's types begin that are stronger, counted from the group's
    first,"""
    other_level: UInt32Array
    """and where the opponent's do."""
    own: UInt32Array
    """The player's types by strength, for each group."""
    other: UInt32Array
    """The opponent's."""
    columns: Steps
    """Of the opponent's types, for each column."""
    segments: Steps
    """Of the player's types, for each segment."""
    segment_begin: UInt32Array
    """Where the terminals of each segment begin, and the number of all of them."""
    column_of_terminal: UInt32Array
    """The column of each terminal, counted from the group's first."""
    factors: Vector
    """What is paid for ``free``, ``more`` and ``tie``, and the sum of their magnitudes; shape
    ``(terminals, 4)``."""
    types: UInt32Array
    """Number of types of each player."""
    read_cards: UInt32Array
    """The two cards of each type of player 0, then player 1; a card without types if it has fewer;
    shape ``(types, 2)``."""
    added_cards: UInt32Array
    """The same, with a card that no type reads."""
    twins: UInt32Array
    """The opponent's type of the same cards, or one past the last, for each type."""
    places: UInt32Array
    """For each context and player, where each type stands among those alive, else 0."""
    priors: Vector
    """The weight of each type there, 0 for others."""
    negligible: Vector
    """For each player, the largest utility that may be rounding of terms that cancel."""
    reach: Vector
    """Workspace for the reach of the opponent's types, in lanes,"""
    by_card: Vector
    """for its sums by card, in lanes,"""
    below: Vector
    """for sums below and up to each type, in lanes; shape ``(2, types * LANES)``,"""
    sums: Vector
    """for ``free``, ``more`` and ``tie`` of a group, shape ``(3, columns * types)``,"""
    total: Vector
    """for the total of each column,"""
    earned: Vector
    """and for what each type earns in a segment."""


class _Part(NamedTuple):
    """One group of a player, with columns, levels and types counted from its own first."""

    pays_ties: bool
    table: Vector
    levels: Indices
    own: Indices
    other: Indices
    columns: Indices
    free: int
    """The first column in which types are not compared."""
    segments: Indices
    begin: Indices
    """Where the terminals of each segment begin."""
    column_of_terminal: Indices
    factors: NDArray[np.float64]


def public_payoffs(game: PublicGame, sequence: Indices, negligible: Vector) -> PublicPayoffs:
    """Return the payoffs of a public game whose players' sequences have these numbers."""
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
    """Return numbers of player 0, then of player 1, context by context, and zeros."""
    return np.pad(np.ravel(np.concatenate(of_players, axis=1)), (0, maximum))


def _segment_begin(parts: Sequence[_Part]) -> UInt32Array:
    """Return where the terminals of all segments begin, those of all groups numbered in order."""
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
    # Columns that are compared, and then the others, some of which fill up their lanes
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
    """Return the first sequence, its distance to the next, and begins of places and priors.

    Types have neighbouring points of one range, hence sequences at one distance.
    """
    steps, (ahead, behind) = layout.steps[player][last], layout.deal.sizes
    begin = np.stack([steps[:, 2], context]) * (ahead + behind) + (ahead if player else 0)
    # Where no type is alive, a step may lead past the last sequence, and nothing reads it.
    first = number[player][np.minimum(steps[:, 0], number[player].size - 1)]
    return np.column_stack([first, (steps[:, 1] > 0).astype(np.int64), *begin])


def _two_cards(cards: Sequence[Indices], absent: int) -> UInt32Array:
    held = np.concatenate(cards)
    missing = np.full((len(held), 2 - held.shape[1]), absent)
    return as_uint32(np.column_stack([held, missing]))
