"""The nodes of an ``.efg`` file read word by word, which finds the faults."""

from typing import TypeAlias, final

from regretkit.games.formats._efg_declared import Declared, Moves, is_one, total_of
from regretkit.games.formats._header import names, payoffs
from regretkit.games.formats._scanner import Scanner
from regretkit.games.history import CHANCE, CHANCE_TOLERANCE

Node: TypeAlias = tuple[int, int]
"""The index of the information set of a node, -1 where the game ends, and of its outcome."""


@final
class Careful:
    """Reads nodes with care, and adds to what is known what they declare."""

    def __init__(self, scanner: Scanner, known: Declared) -> None:
        self._scanner = scanner
        self._known = known

    def node(self) -> Node:
        """Read a node, and complain where there is none."""
        kind = self._scanner.word(("c", "p", "t"), "the next node of the tree: c, p or t")
        self._scanner.name("the name of a node")
        if kind == "t":
            return -1, self._outcome()
        return self._information_set(CHANCE if kind == "c" else self._player()), self._outcome()

    def _player(self) -> int:
        start = self._scanner.skip_space()
        player = self._scanner.whole("the player")
        if not 1 <= player <= self._known.players:
            raise self._scanner.fault(
                f"the player must be one of 1 to {self._known.players}, got {player}", start
            )
        return player - 1

    def _information_set(self, player: int) -> int:
        scanner, known = self._scanner, self._known
        start = scanner.skip_space()
        number = scanner.whole("the number of the information set", signed=True)
        index = known.sets[player].get(number)
        if scanner.comes('"'):
            label, moves = self._moves(player, number)
            if index is None:
                return known.add_set(player, number, label, moves)
            before = known.set_labels[index], *known.moves[index]
            if (label, *moves) != before:
                raise scanner.fault(
                    f"{_called(player, number)} was declared before, with "
                    f"{_changed(before, (label, *moves))}; say the same, or only the number",
                    start,
                )
        if index is None:
            raise scanner.fault(
                f"{_called(player, number)} is not declared yet; give its name and its actions "
                "where it first occurs",
                start,
            )
        return index

    def _moves(self, player: int, number: int) -> tuple[str, Moves]:
        """Read the name of an information set and its actions."""
        scanner = self._scanner
        label = scanner.name("the name of the information set")
        scanner.symbol("{", "before the actions")
        start = scanner.skip_space()
        moves = self._chances() if player == CHANCE else (names(scanner, "an action"), ())
        if not moves[0]:
            raise scanner.fault(f"{_called(player, number)} needs at least one action", start)
        return label, moves

    def _chances(self) -> Moves:
        """Read what chance may do, each with its probability."""
        scanner, start = self._scanner, self._scanner.position
        actions, probabilities = [], []
        while not scanner.take("}"):
            actions.append(scanner.name("an action of chance"))
            place = scanner.skip_space()
            probabilities.append(scanner.number("the probability of the action"))
            if probabilities[-1] < 0.0:
                raise scanner.fault("a probability must be at least 0", place)
        total = total_of(probabilities)
        if actions and not is_one(total):
            raise scanner.fault(
                f"the probabilities of chance sum to {total:.12g}, not to 1 within "
                f"{CHANCE_TOLERANCE:g}",
                start,
            )
        return tuple(actions), tuple(probabilities)

    def _outcome(self) -> int:
        scanner, known = self._scanner, self._known
        start = scanner.skip_space()
        number = scanner.whole("the number of the outcome")
        index = known.outcomes.get(number)
        if scanner.comes('"'):
            label = scanner.name("the name of the outcome")
            scanner.symbol("{", "before the payoffs")
            paid = payoffs(scanner, known.players)
            if number == 0:
                raise scanner.fault("outcome 0 pays nothing, and has no name and no payoffs", start)
            if index is None:
                return known.add_outcome(number, label, paid)
            before = known.outcome_labels[index], known.paid(index)
            if (label, paid) != before:
                raise scanner.fault(
                    f"outcome {number} was declared before, with {_changed(before, (label, paid))}"
                    "; say the same, or only the number",
                    start,
                )
        if index is None:
            raise scanner.fault(
                f"outcome {number} is not declared yet; give its name and its payoffs where it "
                "first occurs",
                start,
            )
        return index


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
