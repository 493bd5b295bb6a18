"""Utilities of a public game, linear in the opponent's reach, for many terminals at once."""

from collections.abc import Iterator

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import RESOLUTION, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit.games.public._layout import Layout, Matrix
from regretkit.games.public._tree import Compare, Free, Table


@define(eq=False)
class Group:
    """Terminals that compare the same strengths, or share a table, for one player.

    Terminals with the same last decision of the opponent and the same context have the same reach
    of the opponent, which is a column.
    """

    order: str | None
    """The name of the compared strengths, or None."""
    table: Matrix | None
    """The payoffs of each payer, 0 for incompatible types, ``(2, types, other types)``, or None."""
    last: Indices
    """The opponent's last decision of each column."""
    context: Indices
    """The context of each column."""
    terminals: Indices
    """The terminal nodes, sorted by the player's last decision, then by context."""
    column: Indices
    """The column of each terminal."""
    factors: NDArray[np.float64]
    """Coefficients of ``Sums.free``, ``more`` and ``tie`` in the payoff of each payer, times
    chance's probability, shape ``(2, 3, terminals)``."""
    begin: Indices
    """Offsets of the groups of terminals with equal last decision of the player and context."""


@define(eq=False)
class TerminalUtilities:
    """The utilities of one player."""

    layout: Layout
    player: int
    groups: list[Group] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.groups = list(_groups(self.layout, self.player))

    def utility(self, strategy: Vector, payer: int) -> Vector:
        """Return the utility of every sequence, given the opponent's strategy."""
        layout, player = self.layout, self.player
        utility = np.zeros(layout.domains[player].dimension)
        for group in self.groups:
            paid, bound = self.paid(group, strategy, payer)
            sizes = np.diff(group.begin, append=group.terminals.size)
            earned = paid[group.begin]
            for k in range(1, int(sizes.max())):  # sum in the order of ``segment_sum``
                longer = np.flatnonzero(sizes > k)
                earned[longer] += paid[group.begin[longer] + k]
            segment = np.repeat(np.arange(sizes.size), sizes)
            bound = RESOLUTION * segment_sum(segment, bound, sizes.size)
            earned[np.abs(earned) <= bound[:, np.newaxis]] = 0.0
            first = group.terminals[group.begin]
            earned *= layout.priors[player][layout.context[first]]
            sequences = layout.sequences(player, layout.last[player, first])
            # np.add.at is eight times as fast on flat arrays.
            np.add.at(utility, sequences.ravel(), earned.ravel())
        return utility

    def paid(self, group: Group, strategy: Vector, payer: int) -> tuple[Matrix, Vector]:
        """Return the payoff of each type at each terminal, and a bound on the terms of its sum.

        The payoff includes the opponent's reach, but not the type's own weight.
        """
        layout, other = self.layout, 1 - self.player
        reach = strategy[layout.sequences(other, group.last)]
        reach *= layout.priors[other][group.context]
        free, more, tie = group.factors[payer][:, :, np.newaxis]
        if group.table is not None:
            by_table, total = _by_table(group.table[payer], reach)
            return free * by_table[group.column], np.abs(free[:, 0]) * total[group.column]
        sums = layout.deal.meeting(self.player, group.order).sums(reach)
        total = np.abs(group.factors[payer]).sum(axis=0) * sums.total[group.column]
        paid = free * sums.free[group.column]
        if group.order is not None:
            paid += more * sums.more[group.column]
            if tie.any():
                paid += tie * sums.tie[group.column]
        return paid, total

    def values(self, strategy: Vector, start: int) -> Matrix:
        """Return the payoff of each type at the nodes of a subtree, shape ``(nodes, types)``.

        It is weighted by the type's own weight and the opponent's reach, and 0 at inner nodes.
        """
        layout, player = self.layout, self.player
        end = int(layout.ends[start])
        values = np.zeros((end - start, layout.deal.sizes[player]))
        for group in self.groups:
            rows = np.flatnonzero((group.terminals >= start) & (group.terminals < end))
            if rows.size:
                paid, _ = self.paid(group, strategy, player)
                nodes = group.terminals[rows]
                priors = layout.priors[player][layout.context[nodes]]
                values[nodes - start] = paid[rows] * priors
        return values


def _by_table(table: Matrix, reach: Matrix) -> tuple[Matrix, Vector]:
    """Return the payoffs summed over the opponent's types, and a bound on the terms."""
    sums = np.array([(table.T * row[:, np.newaxis]).sum(axis=0) for row in reach])
    total = np.abs(table).max() * reach.cumsum(axis=1)[:, -1]
    sums[np.abs(sums) <= RESOLUTION * total[:, np.newaxis]] = 0.0
    return sums, total


def _groups(layout: Layout, player: int) -> Iterator[Group]:
    """Yield the groups of a player, in the order of their first terminals."""
    tree = layout.tree
    own, other = layout.last[player], layout.last[1 - player]
    members: dict[str | Table | None, list[int]] = {}
    compared: dict[tuple[int, int] | int, str] = {}
    for node in tree.terminals.tolist():
        if isinstance(terminal := tree.nodes[node], Compare):
            context = int(layout.context[node])
            compared.setdefault((int(other[node]), context), terminal.order)
            compared.setdefault(context, terminal.order)
    for node in tree.terminals.tolist():
        terminal, context = tree.nodes[node], int(layout.context[node])
        key: str | Table | None = terminal if isinstance(terminal, Table) else None
        if isinstance(terminal, Compare):
            key = terminal.order
        elif isinstance(terminal, Free):
            # A fold joins the group of a showdown with the same column, else of the same context.
            key = compared.get((int(other[node]), context), compared.get(context))
        members.setdefault(key, []).append(node)
    for key, nodes in members.items():
        table: Matrix | None = None
        if isinstance(key, Table):
            table = key.payoffs * layout.deal.pairs()
            table = table.transpose(0, 2, 1) if player else table
        chosen = sorted(nodes, key=lambda node: (own[node], layout.context[node]))
        terminals = np.array(chosen)
        columns, column = np.unique(
            np.stack([other[terminals], layout.context[terminals]]), axis=1, return_inverse=True
        )
        keys = np.stack([own[terminals], layout.context[terminals]])
        new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        yield Group(
            order=None if isinstance(key, Table) else key,
            table=table,
            last=columns[0],
            context=columns[1],
            terminals=terminals,
            column=column.reshape(-1),
            factors=np.stack([_factors(layout, player, node) for node in chosen], axis=-1),
            begin=np.flatnonzero(new),
        )


def _factors(layout: Layout, player: int, node: int) -> NDArray[np.float64]:
    """Return the coefficients of ``Sums.free``, ``more`` and ``tie`` at a terminal, ``(2, 3)``."""
    terminal = layout.tree.nodes[node]
    factors = np.zeros((2, 3))
    if isinstance(terminal, Compare):
        win, lose, tie = map(np.array, (terminal.win, terminal.lose, terminal.tie))
        # win, lose or tie = (win + lose)/2 free + (win - lose)/2 more + (tie - (win + lose)/2) tie.
        factors[:, 0] = (win + lose) / 2
        # ``win`` refers to player 0: for player 1, ``more`` has the opposite sign.
        factors[:, 1] = (lose - win if player else win - lose) / 2
        factors[:, 2] = tie - (win + lose) / 2
    else:
        factors[:, 0] = terminal.payoff if isinstance(terminal, Free) else 1.0
    factors *= layout.contexts[layout.context[node]].probability
    return factors
