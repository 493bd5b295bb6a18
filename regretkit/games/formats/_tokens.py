"""Tokens, headers, names and payoffs of both of Gambit's formats."""

import re
from collections.abc import Iterable
from itertools import islice
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from regretkit._util._files import read_file
from regretkit._util._validate import LARGEST, quote

Source: TypeAlias = str | PathLike[str]
"""The text of a game, or a ``pathlib.Path`` to a file."""

_TOKEN = re.compile(
    r"(?:\s++|//[^\r\n]*+|/\*.*?\*/)*+"  # white space and comments
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+"'  # a name, in which a backslash may precede any character
    r'|[{},"]'  # an unpaired quotation mark is a token of its own, for an error message
    r'|[^\s{},"]++'  # a word
    r"|\Z)",
    re.ASCII | re.DOTALL,
)
_NUMBER = re.compile(
    r"[-+]?(?:\d++(?:/\d++|(?:\.\d*+)?+(?:[eE][-+]?\d++)?+)|\.\d++(?:[eE][-+]?\d++)?+)", re.ASCII
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPED = re.compile(r'\\(["\\])')
_TO_ESCAPE = re.compile(r'"|\\(?=["\\]|\Z)')
_NOT_PLAIN = re.compile(r"[^ -\[\]-~]")


class Tokens:
    """The tokens of a text, one after another.

    A token is a name in quotation marks, a brace, a comma, or a word: a longest run of other
    characters. White space and comments separate tokens. A comment extends from ``//`` to the end
    of the line, or from ``/*`` to ``*/``, and begins only between tokens: ``1//2`` is one word.
    """

    current: str
    """The next token, empty at the end."""
    position: int
    """Number of tokens before the next one."""

    def __init__(self, source: Source) -> None:
        self._origin, self.text = _text_of(source)
        self._tokens = enumerate(map(itemgetter(1), _TOKEN.finditer(self.text)))
        self.advance()

    def advance(self) -> None:
        self.position, self.current = next(self._tokens)

    def error(self, message: str, position: int | None = None) -> ValueError:
        """Return an error with the line and the column of a token, by default the next one."""
        number = self.position if position is None else position
        start = next(islice(_TOKEN.finditer(self.text), number, None)).start(1)
        return ValueError(f"{self._origin}{_place(self.text, start)}: {message}")

    def unexpected(self, expected: str) -> ValueError:
        """Return an error that the next token is not the expected one."""
        if self.current.startswith("/*"):
            return self.error("a comment has no closing */")
        found = shortened(self.current) if self.current else "the end of the file"
        return self.error(f"expected {expected}, got {found}")

    def accept(self, symbol: str) -> bool:
        if self.current != symbol:
            return False
        self.advance()
        return True

    def expect(self, symbol: str, context: str) -> None:
        if not self.accept(symbol):
            raise self.unexpected(f"{quote(symbol)} {context}")

    def word(self, words: tuple[str, ...], expected: str) -> str:
        found = self.current
        if found not in words:
            raise self.unexpected(expected)
        self.advance()
        return found

    def at_name(self) -> bool:
        return self.current[:1] == '"'

    def name(self, meaning: str) -> str:
        """Read a name, and return it without quotation marks and escapes."""
        found = self.current
        if found == '"':
            raise self.error(f"{meaning} has no closing quotation mark")
        if found[:1] != '"':
            raise self.unexpected(f"{meaning}, in quotation marks")
        self.advance()
        return _ESCAPED.sub(r"\1", found[1:-1]) if "\\" in found else found[1:-1]

    def whole_number(self, meaning: str, *, signed: bool = False) -> int:
        """Read a number such as 12 or, if it may be signed, -12."""
        found = self.current
        digits = found.removeprefix("-") if signed else found
        if not (digits.isdigit() and digits.isascii()):
            raise self.unexpected(f"{meaning}, a number such as 1")
        self.advance()
        return int(found)

    def number(self, meaning: str) -> float:
        """Read a number such as -3, 1/3, .5 or 2.5e-1, and return the nearest double."""
        found = self.current
        if _NUMBER.fullmatch(found) is None:
            raise self.unexpected(f"{meaning}, a number such as -3, 1/3, .5 or 2.5e-1")
        numerator, _, denominator = found.partition("/")
        try:
            # Python rounds the quotient of two integers once, to the nearest double.
            value = int(numerator) / int(denominator) if denominator else float(found)
        except (ZeroDivisionError, OverflowError) as error:
            raise self.error(f"{meaning} is not a number: {shortened(found)}") from error
        if abs(value) > LARGEST:
            raise self.error(
                f"{meaning} must be at most {LARGEST:g} in size, got {shortened(found)}"
            )
        self.advance()
        return value


# Reading


def read_header(tokens: Tokens, form: str, version: str) -> tuple[str | None, int]:
    """Read the first line of a file, and return the title and the number of players."""
    tokens.word((form,), f"{form}, with which such a file begins")
    tokens.word((version,), f"{version}, the version of the format")
    tokens.word(("R", "D"), "R or D, the type of the numbers")
    title = tokens.name("the title")
    tokens.expect("{", "before the names of the players")
    start = tokens.position
    players = len(read_names(tokens, "the name of a player"))
    if not players:
        raise tokens.error("a game needs at least one player", start)
    return title or None, players


def read_names(tokens: Tokens, meaning: str) -> tuple[str, ...]:
    names = []
    while not tokens.accept("}"):
        if not tokens.at_name():
            raise tokens.unexpected(f"{meaning}, in quotation marks, or '}}'")
        names.append(tokens.name(meaning))
    return tuple(names)


def read_payoffs(tokens: Tokens, players: int) -> tuple[float, ...]:
    """Read the payoffs of all players, with optional commas, and the closing brace."""
    payoffs = []
    for player in range(1, players + 1):
        payoffs.append(tokens.number(f"the payoff of player {player}"))
        tokens.accept(",")
    tokens.expect("}", f"after the payoffs of {players} players")
    return tuple(payoffs)


def number_unnamed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Replace each empty name by its number, from 1."""
    return tuple(name or str(number) for number, name in enumerate(names, start=1))


def shortened(text: str) -> str:
    return quote(text) if len(text) <= 30 else f"{quote(text[:30])}..."


def _text_of(source: Source) -> tuple[str, str]:
    """Return a prefix for error messages, and the text without a byte order mark."""
    if isinstance(source, str):
        if source.lower().endswith((".efg", ".nfg")):
            raise ValueError(f"source must be the text of a game, got {source!r}; pass a Path")
        return "", source.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    if not isinstance(source, PathLike):
        raise TypeError(f"source must be a text or a pathlib.Path, got {quote(source)}")
    try:
        return f"{Path(source)}, ", read_file(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before, byte = error.object[: error.start].decode(), error.object[error.start]
        place = _place(before, len(before))
        raise ValueError(f"{Path(source)}, {place}: byte {byte:#04x} is not UTF-8") from error


def _place(text: str, position: int) -> str:
    line = 1 + len(_LINE_END.findall(text, 0, position))
    start = 1 + max(text.rfind(end, 0, position) for end in "\r\n")
    return f"line {line}, column {position - start + 1}"


# Writing


def write_header(form: str, title: str | None, players: int, *, for_gambit: bool) -> str:
    """Return the first line of a file, with players named by number."""
    title = _NOT_PLAIN.sub("?", title or "") if for_gambit else title or ""
    names = write_names((f"Player {1 + player}" for player in range(players)), for_gambit)
    return f"{form} R {_quoted(title)} {names}"


def write_name(name: str, for_gambit: bool) -> str:
    return _quoted(plain(name) if for_gambit else name)


def write_names(names: Iterable[str], for_gambit: bool) -> str:
    return f"{{ {' '.join(write_name(name, for_gambit) for name in names)} }}"


def write_number(number: float) -> str:
    """Return the shortest decimal without an exponent that rounds to ``number``."""
    # Gambit cannot read exponents with a plus sign.
    return np.format_float_positional(number, trim="-") if number else "0"


def plain(name: str) -> str:
    """Return a name of printable ASCII characters with single spaces, as Gambit requires."""
    return " ".join(_NOT_PLAIN.sub("?", name).split())


def _quoted(name: str) -> str:
    # Escape only backslashes that would otherwise start an escape.
    escaped = _TO_ESCAPE.sub(r"\\\g<0>", name)
    return f'"{escaped}"'
