"""Strategies in files: JSON to be read again, and CSV for spreadsheets."""

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from regretkit._files import replace_file
from regretkit.games._strategy_rows import Row


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
        text = path.read_bytes().decode()
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
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an entry {twice!r} is there twice, beside {names[:4]}; leave one out")
    return entries


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is there, which is not a finite number")


def write_csv(
    rows: Iterable[tuple[object, ...]],
    path: str | PathLike[str],
    columns: tuple[str, ...] = Row._fields,
) -> None:
    """Write a line for each row, below one with the columns' names."""
    replace_file(path, map(_encoded, _written(rows, columns)))


def _written(rows: Iterable[tuple[object, ...]], columns: tuple[str, ...]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for cells in itertools.chain([columns], rows):
        writer.writerow(cells)
        if text.tell() > 2**16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _encoded(text: str) -> bytes:
    return text.encode(errors="backslashreplace")
