"""Gambit's format of games in extensive form, ``.efg``."""

import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, repeat
from operator import add
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from regretkit._util._validate import LARGEST, quote
from regretkit.games._extensive_form import ExtensiveFormGame, ImperfectRecallGame, game_from_tree
from regretkit.games._game import tree_hint
from regretkit.games.formats._tokens import (
    Source,
    Tokens,
    number_unnamed,
    plain,
    read_header,
    read_names,
    read_payoffs,
    write_header,
    write_name,
    write_names,
    write_number,
)
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, CHANCE_TOLERANCE, TERMINAL

ExtensiveForm: TypeAlias = ExtensiveFormGame | ImperfectRecallGame | GameTree

Key = TypeVar("Key", bound=Hashable)
Declared = TypeVar("Declared", "_InformationSet", "_Outcome")


def read_efg(source: Source) -> ExtensiveFormGame | ImperfectRecallGame:
    """Read a game in extensive form in Gambit's format ``.efg``.

    The function reads the whole grammar of the format:

    - numbers are integers, decimals or fractions, converted to the nearest double
    - comments extend from ``//`` to the end of the line, or from ``/*`` to ``*/``
    - information sets and outcomes are declared once, then referred to by number
    - numbers of information sets may be negative
    - outcomes at inner nodes add their payoffs along each path

    The title becomes the name of the game. Information sets and actions keep their labels; those
    without a label are named by number.

    Parameters
    ----------
    source
        The text of the game, or a ``pathlib.Path`` to a file in UTF-8.

    Examples
    --------
    >>> game = read_efg('''EFG 2 R "Trust me" { "Giver" "Taker" }
    ...     p "" 1 1 "give?" { "keep" "give" } 0
    ...     t "" 1 "kept" { 1, 0 }
    ...     p "" 2 1 "share?" { "share" "run" } 0
    ...     t "" 2 "shared" { 3/2, 3/2 }
    ...     t "" 3 "gone" { 0, 3 }''')
    >>> game
    <Trust me: 1 + 1 information sets>
    >>> game.tree.labels
    (('give?',), ('share?',))
    >>> read_efg('EFG 2 R "Empty" { "Player 1" }')
    Traceback (most recent call last):
    ...
    ValueError: line 1, column 31: expected the next node of the tree: c, p or t, got the end ...

    References
    ----------
    The Gambit project, "Game representation formats", gambitproject.readthedocs.io.
    """
    return parse_efg(Tokens(source))


def parse_efg(tokens: Tokens) -> ExtensiveFormGame | ImperfectRecallGame:
    """Read the tokens of a game in extensive form, up to the end of the file."""
    title, players = read_header(tokens, "EFG", "2")
    if tokens.at_name():
        tokens.name("the description of the game")
    nodes = _Nodes(tokens, players)
    nodes.read()
    return game_from_tree(nodes.tree(), title)


class _InformationSet(NamedTuple):
    place: int
    """Number of earlier declarations."""
    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]
    """Probabilities of chance's actions; empty for a player."""


class _Outcome(NamedTuple):
    place: int
    label: str
    payoffs: tuple[float, ...]


class _Nodes:
    """The nodes of a file, in prefix order, with the information sets that they declare."""

    def __init__(self, tokens: Tokens, players: int) -> None:
        self._tokens, self._players = tokens, players
        nothing = (0.0,) * players
        self._sets: dict[tuple[int, int], _InformationSet] = {}
        self._outcomes = {0: _Outcome(0, "", nothing)}
        # For each node its depth and the place of its information set, -1 at terminals
        self._depth, self._place = array("q"), array("q")
        self._payoffs: list[tuple[float, ...]] = []
        """The payoffs of each terminal, the sums of the outcomes along its path."""

    def read(self) -> None:
        """Read all nodes, up to the end of the file."""
        tokens, nothing = self._tokens, self._outcomes[0].payoffs
        # For each node on the path to the next one: children still to read, and sum of outcomes
        missing, totals = [1], [nothing]
        while missing:
            missing[-1] -= 1
            self._depth.append(len(missing) - 1)
            start, place, actions = tokens.position, -1, 0
            kind = tokens.word(("c", "p", "t"), "the next node of the tree: c, p or t")
            tokens.name("the name of a node")
            if kind != "t":
                own = self._information_set(self._player() if kind == "p" else CHANCE)
                place, actions = own.place, len(own.actions)
            self._place.append(place)
            paid = self._outcome().payoffs
            if totals[-1] is not nothing:
                paid = tuple(map(add, totals[-1], paid))
            if actions:
                missing.append(actions)
                totals.append(paid)
                continue
            if max(map(abs, paid)) > LARGEST:
                raise tokens.error(
                    f"the payoffs on the path to this terminal must sum to at most {LARGEST:g} in "
                    f"size, got {list(paid)}",
                    start,
                )
            self._payoffs.append(paid)
            while missing and not missing[-1]:
                missing.pop()
                totals.pop()
        if tokens.current:
            raise tokens.unexpected(f"the end of the file after all {len(self._depth)} nodes")

    def _player(self) -> int:
        start = self._tokens.position
        player = self._tokens.whole_number("the player")
        if not 1 <= player <= self._players:
            raise self._tokens.error(
                f"the player must be one of 1 to {self._players}, got {player}", start
            )
        return player - 1

    def _information_set(self, player: int) -> _InformationSet:
        """Read the number of an information set, and its declaration if present."""
        number = self._tokens.whole_number("the number of the information set", signed=True)
        name = f"{number} of {'chance' if player == CHANCE else f'player {1 + player}'}"

        def content(label: str) -> _InformationSet:
            start = self._tokens.position
            actions, probabilities = self._actions(player)
            if not actions:
                raise self._tokens.error(f"information set {name} needs at least one action", start)
            return _InformationSet(len(self._sets), player, number, label, actions, probabilities)

        return self._declared(
            self._sets, (player, number), "information set", name, "actions", content
        )

    def _outcome(self) -> _Outcome:
        """Read the number of an outcome, and its declaration if present."""
        tokens, start = self._tokens, self._tokens.position
        number = tokens.whole_number("the number of the outcome")
        if number == 0 and (tokens.at_name() or tokens.current == "{"):
            raise tokens.error("outcome 0 pays nothing; give only its number", start)

        def content(label: str) -> _Outcome:
            return _Outcome(len(self._outcomes), label, read_payoffs(tokens, self._players))

        return self._declared(self._outcomes, number, "outcome", str(number), "payoffs", content)

    def _declared(
        self,
        known: dict[Key, Declared],
        key: Key,
        kind: str,
        name: str,
        parts: str,
        content: Callable[[str], Declared],
    ) -> Declared:
        """Return the entry of a number, and read its declaration if present.

        ``content`` reads a declaration after its label and the opening brace.
        """
        tokens, start, label = self._tokens, self._tokens.position - 1, ""
        if tokens.at_name():
            label = tokens.name(f"the name of the {kind}")
        elif tokens.current != "{":
            if key not in known:
                raise tokens.error(
                    f"{kind} {name} is not declared; its first occurrence needs its {parts}", start
                )
            return known[key]
        tokens.expect("{", f"before the {parts}")
        declared = content(label)
        entry = known.setdefault(key, declared)
        for old, new in zip(entry[1:], declared[1:], strict=True):
            if old != new:
                raise tokens.error(
                    f"{kind} {name} was declared before with {_shown(old)}, got {_shown(new)}",
                    start,
                )
        return entry

    def _actions(self, player: int) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Read actions up to the closing brace, for chance with their probabilities."""
        tokens, start = self._tokens, self._tokens.position
        if player != CHANCE:
            return read_names(tokens, "an action"), ()
        actions, probabilities = [], []
        while not tokens.accept("}"):
            actions.append(tokens.name("an action of chance"))
            position = tokens.position
            probabilities.append(tokens.number("the probability of the action"))
            if probabilities[-1] < 0.0:
                raise tokens.error("a probability must be at least 0", position)
        # Round at each step, as GameTree does. `sum` compensates rounding since Python 3.12.
        total = reduce(add, probabilities, 0.0)
        if actions and abs(total - 1.0) > CHANCE_TOLERANCE:
            raise tokens.error(
                f"the probabilities of chance sum to {total:.12g}, not to 1 within "
                f"{CHANCE_TOLERANCE:g}",
                start,
            )
        return tuple(actions), tuple(probabilities)

    def tree(self) -> GameTree:
        """Return the tree of the nodes."""
        sets = list(self._sets.values())
        names = [number_unnamed(entry.actions) for entry in sets]
        # A stable sort of prefix order by depth is breadth-first order.
        depth = np.asarray(self._depth)
        order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
        place = np.asarray(self._place)[order]
        # At terminals, place -1 selects the appended last entry.
        children = np.array([*map(len, names), 0])[place]
        # Number each player's information sets by first occurrence.
        number = np.full(1 + len(sets), -1)
        labels: list[list[str]] = [[] for _ in range(self._players)]
        actions: list[list[tuple[str, ...]]] = [[] for _ in range(self._players)]
        player = np.array([*(entry.player for entry in sets), TERMINAL])[place]
        for i in dict.fromkeys(place[player >= 0].tolist()):
            entry = sets[i]
            number[i] = len(labels[entry.player])
            labels[entry.player].append(entry.label or str(entry.number))
            actions[entry.player].append(names[i])
        acting = map(sets.__getitem__, place[place >= 0].tolist())
        drawn = (entry.probabilities or repeat(1.0, len(entry.actions)) for entry in acting)
        terminal = np.cumsum(np.asarray(self._place) < 0) - 1  # of each node in prefix order
        return GameTree(
            parent=np.append(-1, np.repeat(np.arange(order.size), children)),
            player=player,
            information_set=number[place],
            probability=np.fromiter(chain([1.0], chain.from_iterable(drawn)), np.float64),
            payoffs=np.array(self._payoffs)[terminal[order[place < 0]]],
            labels=labels,
            actions=actions,
            outcomes=[names[i] for i in place[player == CHANCE]],
        )


def _shown(value: object) -> str:
    return quote(list(value) if isinstance(value, tuple) else value, 60)


# Writing


def write_efg(game: ExtensiveForm, *, for_gambit: bool = False) -> str:
    """Return the text of a game in extensive form in Gambit's format ``.efg``.

    ``read_efg`` returns the same game: the same tree with bitwise identical numbers, the same name
    and the same labels. Players are named by number.

    Gambit requires probabilities that sum to exactly 1. The function writes them as fractions with
    this sum that round to the doubles of the game, if there are any.

    Parameters
    ----------
    game
        The game, or its tree.
    for_gambit
        Whether to change games that Gambit 16 cannot read: question marks replace characters that
        are not printable ASCII, numbers distinguish duplicate labels of a player, and probabilities
        are divided by their sum if it is not exactly 1.

    Examples
    --------
    >>> from regretkit.games import read_efg
    >>> game = read_efg('''EFG 2 R "Toss" { "Caller" }
    ...     c "" 1 "coin" { "heads" .5 "tails" .5 } 0
    ...     p "" 1 1 "call" { "heads" "tails" } 0  t "" 1 "" { 1 }  t "" 2 "" { 0 }
    ...     p "" 1 1 "call" { "heads" "tails" } 0  t "" 2 "" { 0 }  t "" 1 "" { 1 }''')
    >>> print(write_efg(game), end="")
    EFG 2 R "Toss" { "Player 1" }
    ""
    c "" 1 "" { "heads" 1/2 "tails" 1/2 } 0
    p "" 1 1 "call" { "heads" "tails" } 0
    t "" 1 "" { 1 }
    t "" 2 "" { 0 }
    p "" 1 1 0
    t "" 2
    t "" 1
    """
    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        tree, name = game.tree, game.name
    elif isinstance(game, GameTree):
        tree, name = game, None
    else:
        raise TypeError(
            f"game must be in extensive form, got {quote(game)}"
            f"{tree_hint(game) or '; use write_nfg for normal form'}"
        )
    header = write_header("EFG 2", name, tree.players, for_gambit=for_gambit)
    return "\n".join([header, '""', *_lines(tree, for_gambit)]) + "\n"


def _lines(tree: GameTree, for_gambit: bool) -> Iterator[str]:
    """Yield a line for each history, in prefix order, with declarations at the first use."""
    labels = [_distinct(names) if for_gambit else names for names in tree.labels]
    first = np.searchsorted(tree.parent, np.arange(tree.histories + 1)).tolist()
    # The number of each history's information set, or of the chance history or terminal
    numbers: list[int] = tree.information_set.tolist()
    for kind in (CHANCE, TERMINAL):
        for number, history in enumerate(np.flatnonzero(tree.player == kind).tolist()):
            numbers[history] = number
    declared: set[tuple[int, int]] = set()
    outcomes: dict[tuple[float, ...], int] = {}
    waiting = [0]
    while waiting:
        history = waiting.pop()
        children = range(first[history], first[history + 1])
        waiting.extend(reversed(children))
        player, number = int(tree.player[history]), numbers[history]
        declaration = ""
        if player == TERMINAL:
            payoffs = tuple(tree.payoffs[number].tolist())
            if payoffs not in outcomes:
                outcomes[payoffs] = 1 + len(outcomes)
                declaration = f' "" {{ {", ".join(map(write_number, payoffs))} }}'
            yield f't "" {outcomes[payoffs]}{declaration}'
        elif player == CHANCE:
            drawn = tree.probability[children.start : children.stop].tolist()
            names = (write_name(name, for_gambit) for name in tree.outcomes[number])
            actions = map("{} {}".format, names, _chance_numbers(drawn, for_gambit))
            yield f'c "" {1 + number} "" {{ {" ".join(actions)} }} 0'
        else:
            if (player, number) not in declared:
                declared.add((player, number))
                label = write_name(labels[player][number], for_gambit)
                declaration = f" {label} {write_names(tree.actions[player][number], for_gambit)}"
            yield f'p "" {1 + player} {1 + number}{declaration} 0'


def _chance_numbers(probabilities: Sequence[float], for_gambit: bool) -> Iterable[object]:
    """Return numbers that round to ``probabilities`` and sum to exactly 1, if there are any.

    It tries simple fractions such as 1/3, then p + s ulp(p) with s = (1 - sum p) / sum ulp(p). If
    both fail, it returns p / sum p for Gambit, and p otherwise.
    """
    from fractions import Fraction  # slow to import

    exact = list(map(Fraction, probabilities))
    # Fractions in [0, 1] with denominators up to 2^26 differ by at least 2^-52, more than rounding.
    simple = [number.limit_denominator(2**26) for number in exact]
    spacing = [Fraction(math.ulp(number)) if number else Fraction(0) for number in probabilities]
    share = (1 - sum(exact)) / sum(spacing)
    moved = [number + share * width for number, width in zip(exact, spacing, strict=True)]
    for candidates in (simple, moved):
        if sum(candidates) == 1 and list(map(float, candidates)) == list(probabilities):
            return candidates
    if for_gambit:
        return [number / sum(exact) for number in exact]
    return map(write_number, probabilities)


def _distinct(labels: Sequence[str]) -> list[str]:
    """Return plain labels, with numbers appended to duplicates except empty labels."""
    names = list(map(plain, labels))
    taken, found = {""}, []
    for number, name in enumerate(names, start=1):
        while name in taken and names[number - 1]:
            name = f"{names[number - 1]} {number}"
            number += len(names)
        taken.add(name)
        found.append(name)
    return found
