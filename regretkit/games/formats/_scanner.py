"""Reading a text piece by piece; what does not fit is refused by line and column."""

import math
import re
from functools import cache
from typing import final

from regretkit._validate import LARGEST

TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A name in quotation marks, in which a backslash may stand before one of them."""

ENDS = r'(?![^\s{}",])'
"""What keeps a number or a word from running into the next one."""

WHOLE = rf"\d++{ENDS}"
"""A number such as 12."""

SIGNED = rf"-?+{WHOLE}"
"""A number such as 12 or -12."""

NUMBER = (
    r"[-+]?+(?:\d++(?:/\d++|(?:\.\d*+)?+(?:[eE][-+]?+\d++)?+)|\.\d++(?:[eE][-+]?+\d++)?+)" + ENDS
)
"""A number such as -3, 1/3, .5 or 2.5e-1."""

_SPACE = r"\s*+"
_WORD = r'[^\s{}",]++'
_LINE_END = r"\r\n|\r|\n"
_ESCAPED = r'\\(["\\])'
_NOT_CODE = (
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<text>"?+)'
    r"|//[^\r\n]*+"
    r"|/\*(?:[^*]++|\*(?!/))*+(?P<remark>\*/)?+"
)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when it is first needed: importing should cost nothing."""
    return re.compile(pattern, re.ASCII | re.DOTALL)


@final
class Scanner:
    """A text, and the position up to which it has been read.

    White space separates, and is skipped; so are remarks, from ``//`` to the end of the line and
    from ``/*`` to ``*/``.
    """

    def __init__(self, text: str) -> None:
        # Blanks take the place of remarks, so that everything else stays where it was.
        marked = "//" in text or "/*" in text
        self.text = compiled(_NOT_CODE).sub(_blank, text) if marked else text
        self.position = 0

    def fault(self, message: str, position: int | None = None) -> ValueError:
        """Return the error to raise, with the line and the column that show it."""
        return fault(self.text, self.position if position is None else position, message)

    def unexpected(self, wanted: str) -> ValueError:
        """Return the error to raise where something else stands than what is wanted."""
        self.skip_space()
        return self.fault(f"expected {wanted}, got {self._found()}")

    def skip_space(self) -> int:
        """Go on to the next thing that is no white space, and return where it stands."""
        self.position = self._end(_SPACE)
        return self.position

    def at_end(self) -> bool:
        """Say whether nothing is left."""
        return self.skip_space() == len(self.text)

    def comes(self, start: str) -> bool:
        """Say whether ``start`` comes next."""
        return self.text.startswith(start, self.skip_space())

    def take(self, symbol: str) -> bool:
        """Read a symbol where it comes next, and say whether it did."""
        found = self.comes(symbol)
        self.position += len(symbol) * found
        return found

    def symbol(self, symbol: str, wanted: str) -> None:
        """Read a symbol."""
        if not self.take(symbol):
            raise self.unexpected(f"{symbol!r} {wanted}")

    def word(self, words: tuple[str, ...], wanted: str) -> str:
        """Read one of some words."""
        found = compiled(_WORD).match(self.text, self.skip_space())
        if found is None or found[0] not in words:
            raise self.unexpected(wanted)
        self.position = found.end()
        return found[0]

    def name(self, wanted: str) -> str:
        """Read a name in quotation marks."""
        if self.comes('"') and compiled(TEXT).match(self.text, self.position) is None:
            raise self.fault(f"{wanted} has no closing quotation mark")
        found = self._read(TEXT, f"{wanted}, in quotation marks")
        return unescaped(found[1:-1])

    def whole(self, wanted: str, *, signed: bool = False) -> int:
        """Read a number such as 12 or, where it may have a sign, -12."""
        start = self.skip_space()
        found = self._read(SIGNED if signed else WHOLE, f"{wanted}, a number such as 1")
        try:
            return int(found)
        except ValueError as error:
            raise self.fault(f"{wanted} has too many digits: {len(found)}", start) from error

    def number(self, wanted: str) -> float:
        """Read a number such as -3, 1/3, .5 or 2.5e-1, and return the double next to it."""
        start = self.skip_space()
        found = self._read(NUMBER, f"{wanted}, a number such as -3, 1/3, .5 or 2.5e-1")
        value = nearest(found)
        if not abs(value) <= LARGEST:
            raise self.fault(_too_large(found, wanted), start)
        return value

    def _read(self, pattern: str, wanted: str) -> str:
        found = compiled(pattern).match(self.text, self.skip_space())
        if found is None:
            raise self.unexpected(wanted)
        self.position = found.end()
        return found[0]

    def _end(self, pattern: str) -> int:
        found = compiled(pattern).match(self.text, self.position)
        return self.position if found is None else found.end()

    def _found(self) -> str:
        """Return what comes next, as messages show it."""
        if self.position == len(self.text):
            return "the end of the file"
        end = max(self._end(TEXT), self._end(_WORD), self.position + 1)
        return shown(self.text[self.position : end])


def fault(text: str, position: int, message: str) -> ValueError:
    """Return the error to raise, with the line and the column of a position in a text."""
    line, start = 1, 0
    for end in compiled(_LINE_END).finditer(text, 0, position):
        line, start = line + 1, end.end()
    return ValueError(f"line {line}, column {position - start + 1}: {message}")


def nearest(number: str) -> float:
    """Return the double next to a number, NaN where it is none and infinity beyond all doubles."""
    numerator, slash, denominator = number.partition("/")
    try:
        # The quotient of two whole numbers is rounded once.
        return int(numerator) / int(denominator) if slash else float(number)
    except OverflowError:
        return math.inf
    except (ZeroDivisionError, ValueError):
        return math.nan


def unescaped(text: str) -> str:
    """Return what stands between quotation marks without the backslashes that were put there."""
    return compiled(_ESCAPED).sub(r"\1", text) if "\\" in text else text


def shown(text: str) -> str:
    """Return a piece of a text as messages show it, cut where it is long."""
    return repr(text) if len(text) <= 30 else f"{text[:30]!r}..."


def _too_large(number: str, wanted: str) -> str:
    if re.fullmatch(r".*/0+", number):
        return f"{wanted} must not be divided by 0, got {shown(number)}"
    if math.isnan(nearest(number)):
        return f"{wanted} has too many digits: {len(number)}"
    return f"{wanted} must be at most {LARGEST:g} in size, got {shown(number)}"


def _blank(found: re.Match[str]) -> str:
    """Return blanks of the same length for a remark, and names as they are."""
    piece = found[0]
    if piece[0] == '"':
        if not found["text"]:
            raise fault(found.string, found.start(), "a name has no closing quotation mark")
        return piece
    if piece[1] == "*" and not found["remark"]:
        raise fault(found.string, found.start(), "a remark has no closing */")
    return re.sub(r"[^\r\n]", " ", piece)
