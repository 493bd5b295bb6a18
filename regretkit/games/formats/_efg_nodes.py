"""The nodes of an ``.efg`` file, one after the other."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import final

from regretkit._validate import LARGEST
from regretkit.games.formats._efg_careful import Careful, Node
from regretkit.games.formats._efg_declared import Declared, Moves, is_one, total_of
from regretkit.games.formats._scanner import (
    NUMBER,
    SIGNED,
    TEXT,
    WHOLE,
    Scanner,
    compiled,
    nearest,
    unescaped,
)
from regretkit.games.history import CHANCE

_ACTIONS = rf"({TEXT})\s*+\{{((?:\s*+{TEXT})++)\s*+\}}"
_CHANCES = rf"({TEXT})\s*+\{{((?:\s*+{TEXT}\s*+{NUMBER})++)\s*+\}}"
_PAYOFFS = rf"({TEXT})\s*+\{{((?:\s*+{NUMBER}\s*+,?+)++)\s*+\}}"
_OWN = rf"p\s*+{TEXT}\s*+(({WHOLE})\s*+({SIGNED})(?:\s*+{_ACTIONS})?+)"
_BY_CHANCE = rf"c\s*+{TEXT}\s*+(({SIGNED})(?:\s*+{_CHANCES})?+)"
_OUTCOME = rf'(({WHOLE})(?:\s*+{_PAYOFFS}|(?!\s*+")))'
# Where no node stands, nothing is found: no text is passed over in search of the next one.
_NODE = rf"\s*+(?:t\s*+{TEXT}|{_OWN}|{_BY_CHANCE})\s*+{_OUTCOME}|"
_NAMED = rf'"({TEXT[1:-1]})"'

_DIGITS = 1_000
"""Numbers that are longer than this are read with care; Python takes no more than some."""

_MANY = 10_000
"""So many lists of actions are remembered; where there are more, few come again."""


@final
class Nodes:
    """The nodes of a file, and the information sets and outcomes that they declare.

    Files are long, and say the same again and again. The pattern of a node finds the pieces of
    text that matter. A piece that came before is looked up, most others are understood in haste,
    and whatever is left is read with care, word by word, which finds the faults.
    """

    def __init__(self, scanner: Scanner, players: int) -> None:
        self.declared = Declared(players)
        self._scanner = scanner
        self._careful = Careful(scanner, self.declared)
        self._own_numbers = {str(1 + player): player for player in range(players)}
        # What pieces of text were found to mean that came more than once
        self._seen_sets: dict[str | None, int | None] = {None: -1}
        self._seen_outcomes: dict[str, int | None] = {"0": 0}
        self._seen_moves: dict[str, Moves] = {}

    def __iter__(self) -> Iterator[Node]:
        """Yield one node after the other, until somebody stops asking."""
        scanner, seen_sets, seen_outcomes = self._scanner, self._seen_sets, self._seen_outcomes
        while True:
            for found in compiled(_NODE).finditer(scanner.text, scanner.position):
                own, by_chance, outcome = found.group(1, 6, 10)
                if outcome is None:
                    break
                at, end = seen_sets.get(own or by_chance), seen_outcomes.get(outcome)
                if at is None:
                    at = self._hasty_set(found)
                if end is None:
                    end = self._hasty_outcome(*found.group(10, 11, 12, 13))
                if at is None or end is None:
                    scanner.position = found.start()
                    at, end = self._careful.node()
                    seen_sets[own or by_chance], seen_outcomes[outcome] = at, end
                scanner.position = found.end()
                yield at, end
            yield self._careful.node()

    def position(self, start: int, number: int) -> int:
        """Return where a node stands, given where the first one does."""
        found = compiled(_NODE).finditer(self._scanner.text, start)
        self._scanner.position = next(islice(found, number, None)).start()
        return self._scanner.skip_space()

    # In haste

    def _hasty_set(self, found: re.Match[str]) -> int | None:
        player, digits, label, actions = found.group(2, 3, 4, 5)
        if player is None:
            digits, label, actions = found.group(7, 8, 9)
        owner = CHANCE if player is None else self._own_numbers.get(player)
        if owner is None or len(digits) > _DIGITS:
            return None
        declared, number = self.declared, int(digits)
        known = declared.sets[owner].get(number)
        if actions is not None:
            label = unescaped(label[1:-1])
            moves = self._seen_moves.get(actions) or self._hasty_moves(actions, player is None)
            if moves is None:
                return None
            if known is None:
                return declared.add_set(owner, number, label, moves)
            if (label, moves) != (declared.set_labels[known], declared.moves[known]):
                return None
        self._seen_sets[found[1] or found[6]] = known
        return known

    def _hasty_moves(self, text: str, by_chance: bool) -> Moves | None:
        # What stands in quotation marks, and what stands between that
        pieces = text.split('"')
        if "\\" in text:
            pieces = list(map(unescaped, compiled(_NAMED).split(text)))
        probabilities = tuple(map(nearest, pieces[2::2])) if by_chance else ()
        # NaN is in no order with anything, and fails both.
        if by_chance and not (min(probabilities) >= 0.0 and is_one(total_of(probabilities))):
            return None
        moves = tuple(pieces[1::2]), probabilities
        if len(self._seen_moves) < _MANY:
            self._seen_moves[text] = moves
        return moves

    def _hasty_outcome(self, piece: str, digits: str, label: str | None, paid: str) -> int | None:
        if len(digits) > _DIGITS:
            return None
        declared, number = self.declared, int(digits)
        known = declared.outcomes.get(number)
        if label is not None:
            label, numbers = unescaped(label[1:-1]), self._hasty_payoffs(paid)
            if numbers is None or number == 0:
                return None
            if known is None:
                return declared.add_outcome(number, label, numbers)
            if (label, numbers) != (declared.outcome_labels[known], declared.paid(known)):
                return None
        self._seen_outcomes[piece] = known
        return known

    def _hasty_payoffs(self, text: str) -> list[float] | None:
        numbers = text.replace(",", " ").split()
        paid = list(map(nearest if "/" in text else float, numbers))
        # NaN is in no order with anything, and fails here too.
        small = sum(map(abs, paid)) <= LARGEST
        return paid if small and len(paid) == self.declared.players else None
