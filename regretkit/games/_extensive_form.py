"""Extensive-form games of perfect recall, as flat arrays over sequences."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit._util._arrays import sum_terms
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._game import as_profile, check_player, constant
from regretkit.games._payoff_rows import PayoffRows, payoff_rows
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import History
from regretkit.games.tree._history_batch import HistoryBatch
from regretkit.games.tree._sequences import (
    decision_trees,
    last_sequences,
    merge_terminals,
    reach_of_chance,
)
from regretkit.sets import DecisionTree


@final
@define(eq=False, repr=False)
class ExtensiveFormGame:
    """An extensive-form game of perfect recall in sequence form.

    Terminals with the same last sequences of all players are merged: their payoffs are added,
    weighted by the probability of chance's moves.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        Name of the game.

    Raises
    ------
    TypeError
        When ``tree`` is not a game tree.
    ValueError
        When recall is imperfect, with two histories that show it.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> game.domains[0]
    <DecisionTree: 6 decision points, 13 sequences>
    >>> always_uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> game.value(always_uniform)
    array([ 0.125, -0.125])

    References
    ----------
    von Stengel (1996), "Efficient computation of behavior strategies", Games and Economic
    Behavior 14(2).
    """

    tree: GameTree
    name: str | None = field(default=None, kw_only=True)
    domains: tuple[DecisionTree, ...] = field(init=False)
    sequences: Indices = field(init=False)
    """Last sequence of each player at each merged terminal, shape ``(players, terminals)``."""
    payoffs: NDArray[np.float64] = field(init=False)
    """Payoffs times chance's probabilities at the merged terminals, ``(players, terminals)``."""
    _movers: tuple[int, ...] = field(init=False)
    """The players with a decision; the strategy of the others is the number 1."""
    _rows: dict[tuple[int, int], PayoffRows] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.tree, GameTree):
            raise TypeError(
                f"tree must be a GameTree, got {quote(self.tree)}; "
                "build one with GameTree.from_history(root)"
            )
        at_histories = last_sequences(self.tree)
        self.domains = decision_trees(self.tree, at_histories)
        self._movers = tuple(i for i, domain in enumerate(self.domains) if domain.dimension > 1)
        terminals = self.tree.terminals
        at_terminals = at_histories[:, terminals]
        del at_histories
        weights = reach_of_chance(self.tree)[terminals]
        dimensions = [domain.dimension for domain in self.domains]
        self.sequences, self.payoffs = merge_terminals(
            at_terminals, weights, self.tree.payoffs, dimensions
        )

    @classmethod
    def from_history(
        cls, root: History, *, name: str | None = None, memory_limit: float | None = None
    ) -> "ExtensiveFormGame":
        """Build a game from its rules; see :meth:`GameTree.from_history`."""
        return cls(GameTree.from_history(root, memory_limit=memory_limit), name=name)

    @classmethod
    def from_batch(
        cls, root: HistoryBatch, *, name: str | None = None, memory_limit: float | None = None
    ) -> "ExtensiveFormGame":
        """Build a game from its rules over batches; see :meth:`GameTree.from_batch`."""
        return cls(GameTree.from_batch(root, memory_limit=memory_limit), name=name)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.domains)

    @property
    def constant_sum(self) -> float | None:
        """The sum of all payoffs if it is constant up to 1e-12 of the largest payoff, else None."""
        return constant(self.tree.payoffs.sum(axis=1), self.tree.payoffs)

    def utility(
        self, player: int, profile: Sequence[Vector], payoff_of: int | None = None
    ) -> Vector:
        """Return the utility of each sequence of ``player``, shape ``(dimension,)``.

        That is the sum of payoffs over the terminals with this last sequence, weighted by the
        probability with which chance and the others reach them. See :meth:`Game.utility`.
        """
        check_player(player, self.players)
        strategies = as_profile(profile, self.domains, ignored_player=player)
        if payoff_of is not None:
            check_player(payoff_of, self.players)
        payer = player if payoff_of is None else payoff_of
        if self.players == 2:
            return self._payoff_rows(player, payer).utility(strategies[1 - player])
        terms = self.payoffs[payer]
        for opponent in self._movers:
            if opponent != player:
                terms = terms * strategies[opponent][self.sequences[opponent]]
        return sum_terms(self.sequences[player], terms, self.domains[player].dimension)

    def _payoff_rows(self, player: int, payer: int) -> PayoffRows:
        """Return the payoffs of ``payer`` by the sequences of ``player``, one of two players."""
        if (player, payer) not in self._rows:
            rows_of, columns_of = self.sequences[player], self.sequences[1 - player]
            dimensions = [self.domains[i].dimension for i in (player, 1 - player)]
            rows = payoff_rows(rows_of, columns_of, self.payoffs[payer], *dimensions)
            self._rows[player, payer] = rows
        return self._rows[player, payer]

    def value(self, profile: Sequence[Vector]) -> Vector:
        """Return the expected payoff of every player, shape ``(players,)``."""
        strategies = as_profile(profile, self.domains)
        reach = np.ones(self.sequences.shape[1])
        for strategy, last in zip(strategies, self.sequences, strict=True):
            reach *= strategy[last]
        # einsum and not @: with zero-sum payoffs the values then sum to exactly zero
        value: Vector = np.einsum("pe,e->p", self.payoffs, reach)
        return value

    def _repr_html_(self) -> str:
        from regretkit.display._html import game_html

        return game_html(self)

    def __repr__(self) -> str:
        points = " + ".join(str(domain.points) for domain in self.domains)
        return f"<{self.name or 'ExtensiveFormGame'}: {points} information sets>"
