"""The Sheriff game: a smuggler offers bribes to a sheriff, who may inspect the cargo."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import number, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register, rules_of
from regretkit.games.tree._history import TERMINAL

_ANSWERS = "pass", "inspect"
_COUNTED = 60
"""Limit on the rounds that are counted; no memory holds the tree of more, unless bribes are 0."""


@register
def sheriff(
    items: int = 10,
    bribe: int = 2,
    rounds: int = 2,
    value: float = 5.0,
    penalty: float = 1.0,
    compensation: float = 1.0,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return the Sheriff game, a benchmark for correlated equilibria in trees.

    Player 0, the smuggler, loads from 0 to ``items`` illegal items, unseen. Then, for a number of
    rounds, it offers a bribe from 0 to ``bribe``, and player 1, the sheriff, answers whether it
    would inspect the cargo (``inspect``) or not (``pass``); only the last round counts. Without an
    inspection n items earn ``n * value`` for the smuggler, which pays the bribe to the sheriff.
    With one, it pays ``n * penalty`` to the sheriff instead; if there is no item, the sheriff pays
    ``compensation`` to it.

    An information set is named by the player, for the smuggler also by its items, and by past
    moves: at ``0:3:2 pass 1`` the smuggler has loaded 3 items.

    Parameters
    ----------
    items
        Largest number of items, at least 0.
    bribe
        Largest bribe, at least 0.
    rounds
        Number of rounds, at least 1.
    value
        What the smuggler earns for each item that is not found.
    penalty
        What it pays for each item that is found.
    compensation
        What the sheriff pays for an inspection in vain.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> sheriff(items=2, bribe=1, rounds=1).tree
    <GameTree: 22 histories, 12 terminals, 4 + 2 information sets>

    References
    ----------
    Farina, Ling, Fang and Sandholm (2019), "Correlation in extensive-form games: saddle-point
    formulation and benchmarks", NeurIPS. The default parameters are its baseline.
    """
    root = sheriff_history(items, bribe, rounds, value, penalty, compensation)
    MemoryBudget(memory_limit).check_histories(root.histories)
    parameters = "items", "bribe", "rounds", "value", "penalty", "compensation"
    name = call_text(sheriff, **{name: getattr(root, name) for name in parameters})
    start = _SheriffBatch(root, 0, np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))
    return ExtensiveFormGame.from_batch(start, name=name, memory_limit=memory_limit)


@rules_of("sheriff")
def sheriff_history(
    items: int = 10,
    bribe: int = 2,
    rounds: int = 2,
    value: float = 5.0,
    penalty: float = 1.0,
    compensation: float = 1.0,
) -> "SheriffHistory":
    return SheriffHistory(
        whole_number(items, "items", least=0),
        whole_number(bribe, "bribe", least=0),
        whole_number(rounds, "rounds", least=1),
        number(value, "value"),
        number(penalty, "penalty"),
        number(compensation, "compensation"),
    )


@final
@frozen
class SheriffHistory:
    items: int
    bribe: int
    rounds: int
    value: float
    penalty: float
    compensation: float
    loaded: int | None = None
    """The number of items, None before they are loaded."""
    moves: tuple[str, ...] = ()
    """Offers and answers in turn."""

    @property
    def histories(self) -> int:
        """Number of histories of the whole game."""
        following = 2 * (self.bribe + 1)  # rounds after each
        rounds: list[int] = [following**past for past in range(min(self.rounds, _COUNTED) + 1)]
        offers = (self.bribe + 1) * sum(rounds[:-1])
        return 1 + (self.items + 1) * (sum(rounds) + offers)

    def is_terminal(self) -> bool:
        return len(self.moves) == 2 * self.rounds

    def player(self) -> int:
        return len(self.moves) % 2

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> Sequence[str]:
        if self.player() == 1:
            return _ANSWERS
        most = self.items if self.loaded is None else self.bribe
        return [str(quantity) for quantity in range(most + 1)]

    def child(self, action: str) -> "SheriffHistory":
        if self.loaded is None:
            return evolve(self, loaded=int(action))
        return evolve(self, moves=(*self.moves, action))

    def information_set(self) -> str:
        if self.loaded is None:
            return "0:"
        own = f"{self.loaded}:" if self.player() == 0 else ""
        return f"{self.player()}:{own}{' '.join(self.moves)}"

    def payoffs(self) -> Sequence[float]:
        items, (offer, answer) = self.loaded or 0, self.moves[-2:]
        if answer == "pass":
            return items * self.value - int(offer), float(offer)
        paid = items * self.penalty if items else -self.compensation
        return -paid, paid


@final
@frozen(eq=False)
class _SheriffBatch:
    """A batch of histories of ``length`` moves, the first of which loads the items."""

    rules: SheriffHistory
    """The empty history, which has the parameters."""
    length: int
    loaded: Indices
    """The number of items, 0 before they are loaded."""
    moves: Indices
    """Offers and answers in turn, as digits of a number after a first 1."""

    def player(self) -> Indices:
        over = self.length > 2 * self.rules.rounds
        mover = TERMINAL if over else int(self.length > 0 and self.length % 2 == 0)
        return np.full(self.loaded.size, mover)

    @property
    def _radix(self) -> int:
        """Of the digits of offers: with 1, there would be none."""
        return max(2, self.rules.bribe + 1)

    @property
    def _choices(self) -> int:
        if self.length == 0:
            return self.rules.items + 1
        return self.rules.bribe + 1 if self.length % 2 else 2

    def actions(self, rows: Indices) -> NDArray[np.bool_]:
        return np.ones((rows.size, self._choices), dtype=np.bool_)

    def child(self, rows: Indices, action: Indices) -> "_SheriffBatch":
        if self.length == 0:
            return _SheriffBatch(self.rules, 1, action, self.moves[rows])
        moves = self.moves[rows] * (self._radix if self.length % 2 else 2) + action
        return _SheriffBatch(self.rules, self.length + 1, self.loaded[rows], moves)

    def probability(self, rows: Indices, action: Indices) -> Vector:
        return np.ones(rows.size)

    def information_set(self, rows: Indices) -> Indices:
        """Return the moves as a number, for the smuggler with its items, 0 before the first."""
        if self.length == 0:
            return np.zeros(rows.size, dtype=np.int64)
        moves = self.moves[rows]
        return moves * (self.rules.items + 1) + self.loaded[rows] if self.length % 2 else moves

    def payoffs(self, rows: Indices) -> Vector:
        rules, loaded = self.rules, self.loaded[rows]
        offers, answers = np.divmod(self.moves[rows], 2)
        paid = np.where(loaded > 0, loaded * rules.penalty, -rules.compensation)
        offer = offers % self._radix + 0.0
        smuggler = np.where(answers == 0, loaded * rules.value - offer, -paid)
        return np.stack([smuggler, np.where(answers == 0, offer, paid)], axis=1)

    def action_name(self, player: int, action: int) -> str:
        return _ANSWERS[action] if player == 1 else str(action)

    def label(self, player: int, information_set: int) -> str:
        moves, loaded = information_set, ""
        if player == 0:
            moves, items = divmod(information_set, self.rules.items + 1)
            loaded = f"{items}:" if moves else ""
        names: list[str] = []
        answered = player == 0
        while moves > 1:
            moves, move = divmod(moves, 2 if answered else self._radix)
            names.append(_ANSWERS[move] if answered else str(move))
            answered = not answered
        return f"{player}:{loaded}{' '.join(reversed(names))}"
