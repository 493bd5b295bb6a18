"""Strategies in files of JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from regretkit._util._files import read_file, replace_file


def write_json(data: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write what a profile is as a dict, with a line for each information set."""
    replace_file(path, (line.encode("ascii") for line in _lines(data)))


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    head = {key: value for key, value in data.items() if key != "players"}
    yield f'{json.dumps(head)[:-1]}, "players": ['
    for player, records in enumerate(data["players"]):
        yield ", [" if player else "["
        for place, record in enumerate(records):
            yield f"{',' if place else ''}\n{json.dumps(record)}"
        yield "\n]"
    yield "]}\n"


def read_json(path: Path) -> object:
    """Return what is in a JSON file, or refuse it with the place of the first fault."""
    try:
        text = read_file(path).decode()
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}; this is no whole "
            "file of JSON"
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: byte {error.start} is not UTF-8, and so this is no file of JSON"
        ) from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply to be a strategy") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        twice, _ = Counter(names).most_common(1)[0]
        shown = ", ".join(ascii(name)[:40] for name in names[:4])
        raise ValueError(
            f"an entry {ascii(twice)[:40]} is there twice, beside {shown}; leave one out"
        )
    return entries


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is there, which is not a finite number")
