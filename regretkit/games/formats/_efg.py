"""Gambit's format of games in extensive form, ``.efg``."""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, repeat
from operator import add
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from regretkit._util._typing import Indices, Vector
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
    return game_from_tree(_tree(tokens, nodes), title)


# Nodes, in the prefix order of the file


class _InformationSet(NamedTuple):
    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    probabilities: tuple[float, ...]
    """Probabilities of chance's actions; empty for a player."""


class _Outcome(NamedTuple):
    label: str
    payoffs: tuple[float, ...]


class _Declarations(Generic[Declared]):
    """Information sets or outcomes in the order of their declarations."""

    def __init__(self, tokens: Tokens, kind: str, content: str) -> None:
        self.entries: list[Declared] = []
        self.index: dict[tuple[int, ...], int] = {}
        self._tokens, self._kind, self._content = tokens, kind, content

    def name(self, number: int, player: int | None = None) -> str:
        """Return the name of an entry for error messages."""
        if player is None:
            return f"{self._kind} {number}"
        owner = "chance" if player == CHANCE else f"player {1 + player}"
        return f"{self._kind} {number} of {owner}"

    def read(self, content: Callable[..., Declared], *key: int) -> int:
        """Read an entry, a declaration or only its number, and return its index.

        ``key`` is the number, and the player if entries belong to players. ``content`` reads a
        declaration after its label and the opening brace.
        """
        tokens, position, label = self._tokens, self._tokens.position - 1, ""
        index = self.index.get(key)
        if tokens.at_name():
            label = tokens.name(f"the name of the {self._kind}")
        elif tokens.current != "{":
            if index is None:
                raise tokens.error(
                    f"{self.name(*key)} is not declared; its first occurrence needs its "
                    f"{self._content}",
                    position,
                )
            return index
        tokens.expect("{", f"before the {self._content}")
        declared = content(label, *key)
        if index is None:
            index = self.index[key] = len(self.entries)
            self.entries.append(declared)
        elif declared != self.entries[index]:
            pairs = zip(self.entries[index], declared, strict=True)
            old, new = next((_shown(old), _shown(new)) for old, new in pairs if old != new)
            raise tokens.error(
                f"{self.name(*key)} was declared before with {old}, got {new}", position
            )
        return index


class _Nodes:
    """The nodes of a file, with the information sets and outcomes that they declare."""

    def __init__(self, tokens: Tokens, players: int) -> None:
        self.players = players
        self.information_sets: _Declarations[_InformationSet]
        self.information_sets = _Declarations(tokens, "information set", "actions")
        self.outcomes: _Declarations[_Outcome] = _Declarations(tokens, "outcome", "payoffs")
        self.outcomes.index[0,] = 0
        self.outcomes.entries.append(_Outcome("", (0.0,) * players))
        # One entry for each node: indices of information sets, -1 for none, and of outcomes
        self.information_set, self.outcome = array("q"), array("q")
        self.depth, self.position = array("q"), array("q")
        self._tokens = tokens

    def read(self) -> None:
        # For each node on the path to the next one, the number of children still to read
        missing = [1]
        while missing:
            missing[-1] -= 1
            self.depth.append(len(missing) - 1)
            self.position.append(self._tokens.position)
            kind = self._tokens.word(("c", "p", "t"), "the next node of the tree: c, p or t")
            self._tokens.name("the name of a node")
            index = -1
            if kind != "t":
                player = self._player() if kind == "p" else CHANCE
                number = self._tokens.whole_number("the number of the information set", signed=True)
                index = self.information_sets.read(self._information_set, number, player)
                missing.append(len(self.information_sets.entries[index].actions))
            self.information_set.append(index)
            self.outcome.append(self._read_outcome())
            while missing and not missing[-1]:
                missing.pop()
        if self._tokens.current:
            raise self._tokens.unexpected(f"the end of the file after all {len(self.depth)} nodes")

    def _player(self) -> int:
        position = self._tokens.position
        player = self._tokens.whole_number("the player")
        if not 1 <= player <= self.players:
            raise self._tokens.error(
                f"the player must be one of 1 to {self.players}, got {player}", position
            )
        return player - 1

    def _information_set(self, label: str, number: int, player: int) -> _InformationSet:
        start = self._tokens.position
        actions, probabilities = self._read_actions(player)
        if not actions:
            name = self.information_sets.name(number, player)
            raise self._tokens.error(f"{name} needs at least one action", start)
        return _InformationSet(player, number, label, actions, probabilities)

    def _read_outcome(self) -> int:
        """Read the number of an outcome, and its declaration if present; return its index."""
        tokens, position = self._tokens, self._tokens.position
        number = tokens.whole_number("the number of the outcome")
        if number == 0 and (tokens.at_name() or tokens.current == "{"):
            raise tokens.error("outcome 0 pays nothing; give only its number", position)
        return self.outcomes.read(self._outcome, number)

    def _outcome(self, label: str, _: int) -> _Outcome:
        return _Outcome(label, read_payoffs(self._tokens, self.players))

    def _read_actions(self, player: int) -> tuple[tuple[str, ...], tuple[float, ...]]:
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


def _shown(value: object) -> str:
    return quote(list(value) if isinstance(value, tuple) else value, 60)


# The tree, in breadth-first order


def _tree(tokens: Tokens, nodes: _Nodes) -> GameTree:
    sets = nodes.information_sets.entries
    names = [number_unnamed(entry.actions) for entry in sets]
    # A stable sort of prefix order by depth is breadth-first order.
    depth = np.asarray(nodes.depth)
    order = np.argsort(depth.astype(np.min_scalar_type(depth.max())), kind="stable")
    index = np.asarray(nodes.information_set)[order]
    # At terminals, index -1 selects the appended last entry.
    children = np.array([*map(len, names), 0])[index]
    parent = np.append(-1, np.repeat(np.arange(order.size), children))
    player = np.array([*(entry.player for entry in sets), TERMINAL])[index]
    # Number each player's information sets by first occurrence.
    number = np.full(1 + len(sets), -1)
    labels: list[list[str]] = [[] for _ in range(nodes.players)]
    actions: list[list[tuple[str, ...]]] = [[] for _ in range(nodes.players)]
    for place in dict.fromkeys(index[player >= 0].tolist()):
        entry = sets[place]
        number[place] = len(labels[entry.player])
        labels[entry.player].append(entry.label or str(entry.number))
        actions[entry.player].append(names[place])
    acting = map(sets.__getitem__, index[index >= 0].tolist())
    probabilities = (entry.probabilities or repeat(1.0, len(entry.actions)) for entry in acting)
    return GameTree(
        parent=parent,
        player=player,
        information_set=number[index],
        probability=np.fromiter(chain([1.0], chain.from_iterable(probabilities)), np.float64),
        payoffs=_payoffs(tokens, nodes, order, parent, player == TERMINAL),
        labels=labels,
        actions=actions,
        outcomes=[names[place] for place in index[player == CHANCE]],
    )


def _payoffs(
    tokens: Tokens, nodes: _Nodes, order: Indices, parent: Indices, terminal: NDArray[np.bool_]
) -> Vector:
    """Return the payoffs at the terminals, the sums of the outcomes along each path."""
    outcome: Indices = np.asarray(nodes.outcome)[order]
    declared: Vector = np.array([entry.payoffs for entry in nodes.outcomes.entries])
    payoffs = declared[outcome[terminal]]
    if outcome[~terminal].any():
        parents = parent[1:].tolist()
        for player in range(nodes.players):
            # Node by node, not level by level: a deep tree may have as many levels as nodes.
            total = declared[outcome, player].tolist()
            for node, parent_node in enumerate(parents, start=1):
                total[node] += total[parent_node]
            payoffs[:, player] = np.array(total)[terminal]
    wrong = np.flatnonzero(~(np.abs(payoffs) <= LARGEST).all(axis=1))
    if wrong.size:
        raise tokens.error(
            f"the payoffs on the path to this terminal must sum to at most {LARGEST:g} in size, "
            f"got {payoffs[wrong[0]].tolist()}",
            nodes.position[order[terminal][wrong[0]]],
        )
    return payoffs


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
