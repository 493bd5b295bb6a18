"""Gambit's two formats, read from a text or a file."""

import codecs
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypeVar

from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.formats._efg_tree import game_tree
from regretkit.games.formats._header import comment, header
from regretkit.games.formats._nfg_body import normal_form
from regretkit.games.formats._scanner import Scanner, fault, shown
from regretkit.games.imperfect_recall import ImperfectRecallGame, playable
from regretkit.games.normal_form import NormalFormGame

Source: TypeAlias = str | PathLike[str]
"""A string is the text of a game; a :class:`~pathlib.Path` says in which file it stands."""

Read = TypeVar("Read")


def read_efg(source: Source) -> ExtensiveFormGame | ImperfectRecallGame:
    """Return the game in extensive form that is written in Gambit's format ``.efg``.

    All of the format's grammar is read: whole, decimal and rational numbers, with exponents too,
    each as the double next to it; names in quotation marks; comments, also from ``//`` to the end
    of a line and from ``/*`` to ``*/``; information sets and outcomes that are declared once and
    then only named by their number, which may be negative for information sets; outcomes at inner
    nodes, whose payoffs are added up along the way. The title becomes the name of the game,
    information sets and actions keep their labels, and what has none is called by its number in
    the file.

    Parameters
    ----------
    source
        The text of the game, or a :class:`~pathlib.Path` to a file in UTF-8.

    Raises
    ------
    TypeError
        When ``source`` is neither a string nor a path.
    OSError
        When the file cannot be read.
    ValueError
        When the text is no such game, with the line and the column of the first fault.

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
    >>> read_efg('EFG 2 R "Empty" { "Nobody" }')
    Traceback (most recent call last):
    ...
    ValueError: line 1, column 29: expected the next node of the tree: c, p or t, got the end ...

    References
    ----------
    The Gambit project, "Game representation formats", gambitproject.readthedocs.io.
    """
    return _read(source, _extensive_form)


def read_nfg(source: Source) -> NormalFormGame:
    """Return the game in normal form that is written in Gambit's format ``.nfg``.

    Both of the format's forms are read, the one that lists payoffs and the one that lists
    outcomes. Numbers, names and comments are those of :func:`read_efg`.

    Parameters
    ----------
    source
        The text of the game, or a :class:`~pathlib.Path` to a file in UTF-8.

    Raises
    ------
    TypeError
        When ``source`` is neither a string nor a path.
    OSError
        When the file cannot be read.
    ValueError
        When the text is no such game, with the line and the column of the first fault.

    Examples
    --------
    The strategies of the first player vary fastest:

    >>> game = read_nfg('NFG 1 R "Pick" { "Row" "Column" } { 2 3 } 1 0 2 0 3 0 4 0 5 0 6 0')
    >>> game.payoffs[0]
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """
    return _read(source, _normal_form)


def read_game(path: PathLike[str]) -> ExtensiveFormGame | ImperfectRecallGame | NormalFormGame:
    """Return the game in a file, whichever of the two formats it begins with."""
    return _read(path, _either)


def _read(source: Source, parse: Callable[[str], Read]) -> Read:
    if isinstance(source, str) and source.lower().endswith((".efg", ".nfg")):
        raise ValueError(
            f"source must be the text of a game or a pathlib.Path, got {shown(source)}; "
            "pass a pathlib.Path for a file"
        )
    if isinstance(source, str):
        return _parsed(source, parse)
    if not isinstance(source, PathLike):
        raise TypeError(f"source must be a text or a pathlib.Path, got {source!r}")
    path = Path(source)
    try:
        return _parsed(_decoded(path.read_bytes()), parse)
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from error


def _parsed(text: str, parse: Callable[[str], Read]) -> Read:
    return parse(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))


def _decoded(data: bytes) -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise fault(
            before,
            len(before),
            f"byte {data[error.start]:#04x} is not UTF-8; a game file is text, save it as UTF-8",
        ) from error


def _extensive_form(text: str) -> ExtensiveFormGame | ImperfectRecallGame:
    scanner = Scanner(text)
    head = header(scanner, "EFG", "2")
    comment(scanner)
    return playable(game_tree(scanner, head.players), head.title)


def _normal_form(text: str) -> NormalFormGame:
    return normal_form(Scanner(text))


def _either(text: str) -> ExtensiveFormGame | ImperfectRecallGame | NormalFormGame:
    scanner = Scanner(text)
    kind = scanner.word(("EFG", "NFG"), "EFG or NFG, with which a game file begins")
    return _extensive_form(text) if kind == "EFG" else _normal_form(text)
