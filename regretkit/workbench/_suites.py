"""Suites: named sets of games, as data."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import fields_dict, frozen

from regretkit._util._files import read_file
from regretkit._util._validate import did_you_mean, quote

_OURS = Path(__file__).with_name("suites.toml")


@frozen
class SuiteGame:
    """A game of a suite, and what is known of it.

    Examples
    --------
    >>> suite("classic")[0].value
    '-1/18'
    """

    game: str
    """The text that names it."""
    histories: int | None = None
    """How many its tree has, None in normal form or if unknown."""
    value: str | None = None
    """What player 0 gets in equilibrium, as a number or a fraction, where it is known."""
    source: str | None = None
    """Where sizes and the value are known from."""


def suite(name: str) -> tuple[SuiteGame, ...]:
    """Return the games of a suite.

    Parameters
    ----------
    name
        ``"smoke"``, ``"classic"``, ``"papers"``, ``"general-sum"`` or ``"last-iterate"``; or one in
        a file of one's own, as in ``"my_suites.toml:mine"``. There each game is a table
        ``[[mine]]`` with the text ``game``, and ``histories``, ``value`` and ``source`` if they are
        known; and a table with the text ``suite`` stands for all games of another suite.

    Raises
    ------
    TypeError, ValueError
        When there is no such suite or file, or it does not have this form.

    Examples
    --------
    >>> [each.game for each in suite("smoke")][:2]
    ['kuhn_poker', 'leduc_poker']
    """
    if not isinstance(name, str):
        raise TypeError(f"a suite is named by a text such as 'classic', got {quote(name)}")
    return _suite(name, ())


def suite_names() -> tuple[str, ...]:
    """Return the names of the library's suites."""
    return tuple(tomllib.loads(_OURS.read_text()))


def _suite(name: str, outer: tuple[str, ...]) -> tuple[SuiteGame, ...]:
    file, colon, own = name.rpartition(":")
    path = Path(file) if colon else _OURS
    try:
        suites = tomllib.loads(read_file(path).decode())
    except OSError as error:
        raise ValueError(f"suite {quote(name)}: cannot read {quote(file)}: {error}") from error
    except ValueError as error:  # no text, or no TOML
        raise ValueError(f"suite {quote(name)}: {file} is not in TOML: {error}") from error
    if own not in suites:
        hint = did_you_mean(own, suites) or ("" if colon else "; or name one as FILE.toml:NAME")
        raise ValueError(f"there is no suite {quote(name)}, only {', '.join(suites)}{hint}")
    if name in outer:
        raise ValueError(f"suite {quote(name)} contains itself, through {', '.join(outer)}")
    listed = suites[own]
    if not (isinstance(listed, list) and listed):
        raise ValueError(f"suite {quote(name)} has no games; write them as tables [[{own}]]")
    found: list[SuiteGame] = []
    for entry in listed:
        found += _entry(entry, name, file, outer)
    return tuple(found)


def _entry(entry: Any, name: str, file: str, outer: tuple[str, ...]) -> tuple[SuiteGame, ...]:
    if isinstance(entry, Mapping) and entry.keys() == {"suite"}:
        other = str(entry["suite"])
        local = file and ":" not in other and other not in suite_names()
        return _suite(f"{file}:{other}" if local else other, (*outer, name))
    kinds = {"game": str, "histories": int, "value": str, "source": str}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("game"), str):
        raise ValueError(f"suite {quote(name)}: an entry needs the text game, got {quote(entry)}")
    for key, value in entry.items():
        if key not in fields_dict(SuiteGame):
            told = f"only {', '.join(kinds)}{did_you_mean(key, kinds)}"
            raise ValueError(f"suite {quote(name)}: there is no {quote(key)} of a game, {told}")
        if not isinstance(value, kinds[key]):
            kind = "a text" if kinds[key] is str else "a whole number"
            raise ValueError(f"suite {quote(name)}: {key} must be {kind}, got {quote(value)}")
    return (SuiteGame(**entry),)
