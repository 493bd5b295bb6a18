"""The information sets and outcomes that an ``.efg`` file declares."""

from array import array
from collections.abc import Iterable
from typing import TypeAlias, final

from regretkit.games.history import CHANCE, CHANCE_TOLERANCE

Moves: TypeAlias = tuple[tuple[str, ...], tuple[float, ...]]
"""What may be done at an information set and, where chance acts, the probabilities of that."""


@final
class Declared:
    """What was declared so far, found by the numbers that the file gives.

    Everything has an index too, in the order in which it was declared.
    """

    def __init__(self, players: int) -> None:
        self.players = players
        self.sets: dict[int, dict[int, int]] = {player: {} for player in range(players)}
        """For each player, and ``CHANCE``, the index of each information set by its number."""
        self.sets[CHANCE] = {}
        self.owners = array("q")
        """Who acts at each information set."""
        self.moves: list[Moves] = []
        """What may be done at each information set."""
        self.sizes = array("q")
        """How many actions that is."""
        self.set_labels: list[str] = []
        self.outcomes = {0: 0}
        """The index of each outcome; in outcome 0 nobody earns anything."""
        self.outcome_labels = [""]
        self.payoffs = array("d", [0.0] * players)
        """Payoffs of all players in each outcome."""

    def add_set(self, player: int, number: int, label: str, moves: Moves) -> int:
        """Add an information set and return its index."""
        index = self.sets[player][number] = len(self.moves)
        self.owners.append(player)
        self.moves.append(moves)
        self.sizes.append(len(moves[0]))
        self.set_labels.append(label)
        return index

    def add_outcome(self, number: int, label: str, payoffs: Iterable[float]) -> int:
        """Add an outcome and return its index."""
        index = self.outcomes[number] = len(self.outcome_labels)
        self.outcome_labels.append(label)
        self.payoffs.extend(payoffs)
        return index

    def paid(self, outcome: int) -> list[float]:
        """Return what all players earn in an outcome."""
        return self.payoffs[outcome * self.players : (outcome + 1) * self.players].tolist()

    def labels(self) -> list[str]:
        """Return what to call each information set, by its number where it has no name."""
        labels = self.set_labels.copy()
        for numbers in self.sets.values():
            for number, index in numbers.items():
                labels[index] = labels[index] or str(number)
        return labels


def total_of(probabilities: Iterable[float]) -> float:
    """Return a sum, from left to right and rounded at each step as the check of the tree does.

    ``sum`` is more exact in some versions of Python, and so may say otherwise.
    """
    total = 0.0
    for probability in probabilities:
        total += probability
    return total


def is_one(total: float) -> bool:
    """Say whether probabilities with this sum are those of chance."""
    return abs(total - 1.0) <= CHANCE_TOLERANCE
