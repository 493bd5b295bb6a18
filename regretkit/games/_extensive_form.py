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

    Terminals that end with the same sequences of all players count as one: their payoffs are
    added up, each times the probability of chance's moves on the way.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        What to call the game.

    Raises
    ------
    TypeError
        When ``tree`` is not a game tree.
    ValueError
        When a player forgets what it did or knew, with two histories that show it.

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
    """Last sequence of each player at each distinct end, read-only, ``(players, ends)``."""
    payoffs: NDArray[np.float64] = field(init=False)
    """Payoff of each player there, times chance's probability, read-only, ``(players, ends)``."""
    _movers: tuple[int, ...] = field(init=False)
    """The players who have a decision; the others have one strategy, which is 1."""
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
        at_ends = at_histories[:, terminals]
        del at_histories
        weights = reach_of_chance(self.tree)[terminals]
        dimensions = [domain.dimension for domain in self.domains]
        self.sequences, self.payoffs = merge_terminals(
            at_ends, weights, self.tree.payoffs, dimensions
        )

    @classmethod
    def from_history(
        cls, root: History, *, name: str | None = None, memory_limit: float | None = None
    ) -> "ExtensiveFormGame":
        """Walk a game from its first history and return it.

        Parameters
        ----------
        root
            The empty history.
        name
            What to call the game.
        memory_limit
            Bytes that building may take, by default all that are available.

        Raises
        ------
        ValueError
            When the game is not well formed, with the history that shows the fault.
        MemoryError
            When there are more histories than memory has room for.
        """
        return cls(GameTree.from_history(root, memory_limit=memory_limit), name=name)

    @classmethod
    def from_batch(
        cls, root: HistoryBatch, *, name: str | None = None, memory_limit: float | None = None
    ) -> "ExtensiveFormGame":
        """Expand a game level by level and return it.

        Parameters and errors are those of :meth:`from_history`, but ``root`` is the level of the
        empty history.
        """
        return cls(GameTree.from_batch(root, memory_limit=memory_limit), name=name)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.domains)

    @property
    def constant_sum(self) -> float | None:
        """What all players earn together, None where it depends on how the game ends.

        Equal up to rounding: a relative 1e-12 of the largest payoff.
        """
        return constant(self.tree.payoffs.sum(axis=1), self.tree.payoffs)

    def utility(
        self, player: int, profile: Sequence[Vector], payoff_of: int | None = None
    ) -> Vector:
        """Return what each sequence of ``player`` is worth while the others play ``profile``.

        The sum of payoffs over the ends of the game with that last sequence, each times the
        probability that chance and the others play to there, shape ``(dimension,)``; with
        ``of``, the payoffs of that player. The player's own entry of ``profile`` is not looked at.
        """
        check_player(player, self.players)
        strategies = as_profile(profile, self.domains, ignored_player=player)
        if payoff_of is not None:
            check_player(payoff_of, self.players)
        payer = player if payoff_of is None else payoff_of
        if self.players == 2:
            return self._payoff_rows(player, payer).utility(strategies[1 - player])
        terms = self.payoffs[payer]
        for other in self._movers:
            if other != player:
                terms = terms * strategies[other][self.sequences[other]]
        return sum_terms(self.sequences[player], terms, self.domains[player].dimension)

    def _payoff_rows(self, player: int, payer: int) -> PayoffRows:
        """Return what ``payer`` earns in the coordinates of ``player``, one of two players."""
        if (player, payer) not in self._rows:
            own, other = self.sequences[player], self.sequences[1 - player]
            dimensions = [self.domains[i].dimension for i in (player, 1 - player)]
            rows = payoff_rows(own, other, self.payoffs[payer], *dimensions)
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
