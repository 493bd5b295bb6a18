"""The nodes of an ``.efg`` file, one after the other."""

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias, final

from regretkit._validate import LARGEST
from regretkit.games.formats._header import names, payoffs
from regretkit.games.formats._scanner import (
    NUMBER,
    TEXT,
    WHOLE,
    Scanner,
    compiled,
    nearest,
    unescaped,
)
from regretkit.games.history import CHANCE, CHANCE_TOLERANCE

Node: TypeAlias = tuple[int, int]
"""The index of what is done at a node, -1 where the game ends, and that of its outcome."""

_ACTIONS = rf"({TEXT})\s*+\{{((?:\s*+{TEXT})++)\s*+\}}"
_CHANCES = rf"({TEXT})\s*+\{{((?:\s*+{TEXT}\s*+{NUMBER})++)\s*+\}}"
_PAYOFFS = rf"({TEXT})\s*+\{{((?:\s*+{NUMBER}\s*+,?+)++)\s*+\}}"
_OWN = rf"p\s*+{TEXT}\s*+(({WHOLE})\s*+({WHOLE})(?:\s*+{_ACTIONS})?+)"
_BY_CHANCE = rf"c\s*+{TEXT}\s*+(({WHOLE})(?:\s*+{_CHANCES})?+)"
_OUTCOME = rf"(({WHOLE})(?:\s*+{_PAYOFFS})?+)"
_NODE = rf"\s*+(?:t\s*+{TEXT}|{_OWN}|{_BY_CHANCE})\s*+{_OUTCOME}"


class InformationSet(NamedTuple):
    """What a file says of an information set, or of what chance does."""

    player: int
    """Who acts, or ``CHANCE``."""
    number: int
    label: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]
    """Of the actions, where chance acts."""


@final
class Nodes:
    """The nodes of a file, and the information sets and outcomes that they declare.

    Files are long, and say the same again and again. The pattern of a node finds the pieces of
    text that matter. A piece that was understood before is looked up, most others are noted in
    haste, and whatever is left is read with care, word by word, which finds the faults.
    """

    def __init__(self, scanner: Scanner, players: int) -> None:
        self.sets: list[InformationSet] = []
        self.payoffs = array("d", [0.0] * players)
        """Payoffs of all players in outcome 0, in which nobody earns anything, and the others."""
        self._outcome_labels = [""]
        self._scanner = scanner
        self._players = players
        self._own_numbers = {str(1 + player): player for player in range(players)}
        self._set_numbers: dict[tuple[int, int], int] = {}
        self._outcome_numbers: dict[int, int] = {0: 0}
        # What pieces of text were found to mean
        self._seen_sets: dict[str | None, int | None] = {None: -1}
        self._seen_outcomes: dict[str, int | None] = {}
        self._seen_actions: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {}

    def __iter__(self) -> Iterator[Node]:
        """Yield one node after the other, until somebody stops asking."""
        scanner, match = self._scanner, compiled(_NODE).match
        seen_sets, seen_outcomes = self._seen_sets, self._seen_outcomes
        while True:
            found = match(scanner.text, scanner.position)
            if found is None:
                yield self._node()
                continue
            own, by_chance, outcome = found.group(1, 6, 10)
            done, end = seen_sets.get(own or by_chance), seen_outcomes.get(outcome)
            if done is None:
                done = seen_sets[own or by_chance] = self._hasty_set(found)
            if end is None:
                end = seen_outcomes[outcome] = self._hasty_outcome(*found.group(11, 12, 13))
            if done is None or end is None:
                done, end = self._node()
                self._remember(found, done, end)
            scanner.position = found.end()
            yield done, end

    def position(self, start: int, number: int) -> int:
        """Return where a node stands, given where the first one does."""
        self._scanner.position = start
        for _ in zip(range(number), self, strict=False):
            pass
        return self._scanner.skip_space()

    def _remember(self, found: re.Match[str], done: int, end: int) -> None:
        """Note what the pieces of a node mean that was read with care."""
        own, by_chance, outcome = found.group(1, 6, 10)
        self._seen_sets[own or by_chance] = done
        self._seen_outcomes[outcome] = end
        actions = found[5] or found[9]
        if actions:
            self._seen_actions[actions] = self.sets[done][3:]

    def _hasty_set(self, found: re.Match[str]) -> int | None:
        """Note a new information set whose actions were seen at others."""
        player, number, label, actions = found.group(2, 3, 4, 5)
        if player is None:
            number, label, actions = found.group(7, 8, 9)
        known = self._seen_actions.get(actions)
        if known is None or len(number) > 18:
            return None
        acting = CHANCE if player is None else self._own_numbers.get(player)
        if acting is None or (acting, int(number)) in self._set_numbers:
            return None
        return self._add_set(InformationSet(acting, int(number), unescaped(label[1:-1]), *known))

    def _hasty_outcome(self, number: str, label: str | None, numbers: str) -> int | None:
        """Note a new outcome."""
        if label is None or len(number) > 18 or int(number) in self._outcome_numbers:
            return None
        if "," in numbers:
            numbers = numbers.replace(",", " ")
        try:
            paid = list(map(float, numbers.split()))
        except ValueError:
            paid = list(map(nearest, numbers.split()))
        # NaN is in no order with anything, and fails here too.
        if len(paid) != self._players or not all(
            [-LARGEST <= payoff <= LARGEST for payoff in paid]
        ):
            return None
        return self._add_outcome(int(number), unescaped(label[1:-1]), paid)

    def _add_set(self, declared: InformationSet) -> int:
        self._set_numbers[declared[:2]] = len(self.sets)
        self.sets.append(declared)
        return len(self.sets) - 1

    def _add_outcome(self, number: int, label: str, payoffs: Iterable[float]) -> int:
        self._outcome_numbers[number] = len(self._outcome_labels)
        self._outcome_labels.append(label)
        self.payoffs.extend(payoffs)
        return len(self._outcome_labels) - 1

    # With care

    def _node(self) -> Node:
        """Read a node with care, and complain where it is none."""
        kind = self._scanner.word(("c", "p", "t"), "the next node of the tree: c, p or t")
        self._scanner.name("the name of a node")
        if kind == "t":
            return -1, self._outcome()
        return self._information_set(CHANCE if kind == "c" else self._player()), self._outcome()

    def _player(self) -> int:
        start = self._scanner.skip_space()
        player = self._scanner.whole("the player")
        if not 1 <= player <= self._players:
            raise self._scanner.fault(
                f"the player must be one of 1 to {self._players}, got {player}", start
            )
        return player - 1

    def _information_set(self, player: int) -> int:
        scanner, start = self._scanner, self._scanner.skip_space()
        number = scanner.whole("the number of the information set")
        known = self._set_numbers.get((player, number))
        if scanner.comes('"'):
            declared = self._declared(player, number)
            if known is None:
                return self._add_set(declared)
            if declared != self.sets[known]:
                raise scanner.fault(
                    f"{_called(player, number)} was declared before, with "
                    f"{_changed(self.sets[known][2:], declared[2:])}; say the same, or only the "
                    "number",
                    start,
                )
        if known is None:
            raise scanner.fault(
                f"{_called(player, number)} is not declared yet; give its name and its actions "
                "where it first occurs",
                start,
            )
        return known

    def _declared(self, player: int, number: int) -> InformationSet:
        """Read the name of an information set and its actions."""
        scanner = self._scanner
        label = scanner.name("the name of the information set")
        scanner.symbol("{", "before the actions")
        start = scanner.skip_space()
        if player == CHANCE:
            actions, probabilities = self._chances()
        else:
            actions, probabilities = names(scanner, "an action"), ()
        if not actions:
            raise scanner.fault(f"{_called(player, number)} needs at least one action", start)
        return InformationSet(player, number, label, actions, probabilities)

    def _chances(self) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Read what chance may do, each with its probability."""
        scanner, start = self._scanner, self._scanner.position
        actions, probabilities = [], []
        while not scanner.take("}"):
            actions.append(scanner.name("an action of chance"))
            place = scanner.skip_space()
            probabilities.append(scanner.number("the probability of the action"))
            if probabilities[-1] < 0.0:
                raise scanner.fault("a probability must be at least 0", place)
        total = sum(probabilities)
        if actions and abs(total - 1.0) > CHANCE_TOLERANCE:
            raise scanner.fault(
                f"the probabilities of chance sum to {total:.12g}, not to 1 within "
                f"{CHANCE_TOLERANCE:g}",
                start,
            )
        return tuple(actions), tuple(probabilities)

    def _outcome(self) -> int:
        scanner, start = self._scanner, self._scanner.skip_space()
        number = scanner.whole("the number of the outcome")
        known = self._outcome_numbers.get(number)
        if scanner.comes('"'):
            label = scanner.name("the name of the outcome")
            scanner.symbol("{", "before the payoffs")
            paid = payoffs(scanner, self._players)
            if number == 0:
                raise scanner.fault("outcome 0 pays nothing, and has no name and no payoffs", start)
            if known is None:
                return self._add_outcome(number, label, paid)
            before = self._outcome_labels[known], self._paid(known)
            if (label, paid) != before:
                raise scanner.fault(
                    f"outcome {number} was declared before, with {_changed(before, (label, paid))}"
                    "; say the same, or only the number",
                    start,
                )
        if known is None:
            raise scanner.fault(
                f"outcome {number} is not declared yet; give its name and its payoffs where it "
                "first occurs",
                start,
            )
        return known

    def _paid(self, outcome: int) -> list[float]:
        return self.payoffs[outcome * self._players : (outcome + 1) * self._players].tolist()


def _called(player: int, number: int) -> str:
    whose = "of chance" if player == CHANCE else f"of player {player + 1}"
    return f"information set {number} {whose}"


def _changed(before: tuple[object, ...], declared: tuple[object, ...]) -> str:
    """Say what was otherwise in an earlier declaration."""
    pairs = zip(before, declared, strict=True)
    was, came = next((was, came) for was, came in pairs if was != came)
    return f"{_cut(was)} and not {_cut(came)}"


def _cut(value: object) -> str:
    text = str(list(value)) if isinstance(value, tuple) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
