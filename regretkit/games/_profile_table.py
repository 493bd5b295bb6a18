"""Strategies by information set, their records, and the JSON files that hold them."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util import _validate
from regretkit._util._files import read_file, replace_file
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, floats, quote
from regretkit.games._fingerprint import check_described, find_described, is_description
from regretkit.games._game import Game
from regretkit.sets import DecisionTree, Simplices, StrategySet

MOST = 60
"""Largest number of information sets of a player in a printed table."""

VERSION = 1
_FORMATS = {
    "regretkit strategy": ("game", "a game's tree; read it by Profile"),
    "regretkit strategy without a tree": (
        "parents",
        "play without a tree; read it by VisitedProfile",
    ),
}
"""For each format of files, an entry that others do not have, and whose strategies it holds."""
TREE, NO_TREE = _FORMATS
_RECORD_KEYS = {"information_set", "label", "actions", "probabilities"}

_ROUNDING = 1e-12
"""Probabilities whose sum is this close to 1 are kept unchanged, others divided by their sum."""


def blocks_of(domain: StrategySet) -> Simplices | None:
    """Return the simplices of a player's information sets, None on a set without any."""
    if isinstance(domain, DecisionTree):
        return domain.simplices
    return domain if isinstance(domain, Simplices) else None


def simplices_of(domain: StrategySet, player: int) -> Simplices:
    """Return the simplices of a player's information sets, or raise on a set without any."""
    simplices = blocks_of(domain)
    if simplices is None:
        raise ValueError(
            f"player {player} plays on {quote(domain)}, which has no information sets and so no "
            f"table; its vector is profile[{player}]"
        )
    return simplices


def behavior_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the distributions over actions at all information sets, concatenated."""
    return domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy


def strategy_of(behavior: Vector, domain: StrategySet) -> Vector:
    """Return the vector of a player's set with these distributions at its information sets."""
    return domain.sequence_form(behavior) if isinstance(domain, DecisionTree) else behavior


def reach_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the probability that a player's strategy reaches each of its information sets."""
    simplices = blocks_of(domain)
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    return np.ones(0 if simplices is None else simplices.blocks)


def thresholded(behavior: Vector, simplices: Simplices, minimum: float) -> Vector:
    """Return distributions without actions less probable than ``minimum`` and than another."""
    limit = np.minimum(simplices.max(behavior), minimum)
    kept = np.where(behavior >= simplices.repeat(limit), behavior, 0.0)
    # Distributions that lose no action stay bitwise identical.
    unchanged = simplices.repeat(simplices.sum((kept != behavior).astype(np.float64))) == 0.0
    return np.where(unchanged, behavior, simplices.normalize(kept))


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return the label of an information set, None if they have no labels."""
    return simplices.labels.block(number) if simplices.labels.named else None


# Records and JSON files


def record_of(
    number: int, label: str | None, actions: Iterable[str], probabilities: list[float]
) -> dict[str, Any]:
    """Return what a file holds of an information set."""
    return {
        "information_set": number,
        "label": label,
        "actions": list(actions),
        "probabilities": probabilities,
    }


# Reading


def strategies(data: object, game: Game | None, source: str) -> tuple[list[Vector], Game]:
    """Return the strategies in a result of ``Profile.to_dict``, and their game."""
    opened = entries_of(data, TREE, source)
    described, players = opened["game"], opened["players"]
    fits = is_description(described)
    expect(fits, f"{source}: game", "have a name and a fingerprint, both texts", described)
    if game is None:
        game = find_described(described, source, len(repr(players)))
    else:
        check_described(game, described, source)
    fits = isinstance(players, list) and len(players) == len(game.domains)
    expect(fits, f"{source}: players", f"be a list of {len(game.domains)}", players)
    played = []
    for player, (records, domain) in enumerate(zip(players, game.domains, strict=True)):
        simplices, place = simplices_of(domain, player), f"{source}: players[{player}]"
        played.append(strategy_of(behavior_in(records, simplices, place), domain))
    return played, game


def expect(fits: bool, place: str, wanted: str, value: object) -> None:
    """Raise a ValueError unless a value in a file fits."""
    if not fits:
        raise ValueError(f"{place} must {wanted}, got {quote(value, 60)}")


def entries_of(data: Any, kind: str, source: str) -> dict[str, Any]:
    """Return the entries of a file of one format."""
    for name, (entry, told) in _FORMATS.items():
        if name != kind and isinstance(data, dict) and entry in data:
            raise ValueError(f"{source} holds strategies of {told}")
    top = _entries(data, {"format", "version", "players", _FORMATS[kind][0]}, source)
    expect(top["format"] == kind, source, f"have the format {quote(kind)}", top["format"])
    if top["version"] != VERSION or isinstance(top["version"], bool):
        raise ValueError(
            f"{source} has version {quote(top['version'], 60)} of the format, but only "
            f"{VERSION} can be read; use the version of regretkit that wrote it"
        )
    return top


def _entries(value: Any, keys: set[str], place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != keys:
        held = sorted(map(str, value)) if isinstance(value, dict) else value
        expect(False, place, f"have the entries {sorted(keys)}", held)
    entries: dict[str, Any] = value
    return entries


def behavior_in(records: Any, simplices: Simplices, context: str) -> Vector:
    """Return the distributions in a file, by information set."""
    expect(isinstance(records, list), context, "be a list of information sets", records)
    behavior = np.full(simplices.dimension, np.nan)
    read, last = np.zeros(simplices.blocks, dtype=np.bool_), simplices.blocks - 1
    for place, entry in enumerate(records):
        path = f"{context}[{place}]"
        record = _entries(entry, _RECORD_KEYS, path)
        number = record["information_set"]
        whole = isinstance(number, int) and not isinstance(number, bool)
        known = whole and 0 <= number <= last
        expect(known, path, f"be of an information set from 0 to {last}", number)
        if read[number]:
            name = _name_of(simplices, number)
            raise ValueError(f"{path}, information set {name} is a duplicate; remove it")
        read[number] = True
        label, actions = label_of(simplices, number), list(simplices.labels.actions(number))
        probabilities = record["probabilities"]
        if (record["label"], record["actions"]) == (label, actions) and _is_exact(
            probabilities, len(actions)
        ):
            behavior[simplices.block(number)] = probabilities
            continue
        path = f"{path}, information set {_name_of(simplices, number)}"
        expect(record["label"] == label, path, f"have the label {quote(label)}", record["label"])
        wanted = f"have the actions [{_validate.candidates(actions)}]"
        expect(record["actions"] == actions, path, wanted, record["actions"])
        behavior[simplices.block(number)] = _distribution(probabilities, len(actions), path)
    if not read.all():
        missing = [_name_of(simplices, int(number)) for number in np.flatnonzero(~read)[:6]]
        unread = int(np.count_nonzero(~read)) - len(missing)
        raise ValueError(
            f"{context} lacks the information sets {', '.join(missing)}"
            f"{f' and {unread} more' if unread else ''}; give each a distribution over its actions"
        )
    return behavior


def _is_exact(value: Any, size: int) -> bool:
    """Return whether these are a distribution that ``_distribution`` leaves unchanged."""
    numbers = isinstance(value, list) and len(value) == size and {*map(type, value)} == {float}
    return numbers and min(value) >= 0.0 and abs(math.fsum(value) - 1.0) <= _ROUNDING


def _distribution(value: Any, size: int, place: str) -> Vector:
    fits = isinstance(value, list) and len(value) == size
    expect(fits, place, f"have {size} probabilities", value)
    for probability in value:
        number = isinstance(probability, int | float) and not isinstance(probability, bool)
        # Comparisons with NaN are false.
        proper = number and 0.0 <= probability <= 1.0 + ATOL
        expect(proper, place, "have probabilities from 0 to 1", probability)
    total = math.fsum(value)
    wanted = f"have probabilities that sum to 1 within {ATOL:g}"
    expect(abs(total - 1.0) <= ATOL, place, wanted, total)
    distribution = np.array(value, dtype=np.float64)
    return distribution if abs(total - 1.0) <= _ROUNDING else distribution / total


def distribution(value: ArrayLike, actions: Sequence[str], place: str) -> Vector:
    """Return the probabilities of some actions, checked."""
    numbers = floats(value, place).tolist()
    listed = numbers if isinstance(numbers, list) else [numbers]
    if len(listed) != len(actions) or any(isinstance(number, list) for number in listed):
        raise ValueError(
            f"{place} must have {len(actions)} probabilities, of the actions "
            f"{_validate.candidates(actions)}, got {quote(value, 60)}"
        )
    return _distribution(listed, len(actions), place)


def _name_of(simplices: Simplices, number: int) -> str:
    label = label_of(simplices, number)
    return str(number) if label is None else f"{number} ({label!r})"


# Files


def write_json(
    head: Mapping[str, Any], players: Iterable[Iterable[object]], path: str | PathLike[str]
) -> None:
    """Write a file with a line for each information set of each player."""
    replace_file(path, _lines(json.dumps(head), players))


def _lines(head: str, players: Iterable[Iterable[object]]) -> Iterator[bytes]:
    yield f'{head[:-1]}, "players": ['.encode("ascii")
    for player, records in enumerate(players):
        yield b", [" if player else b"["
        for number, record in enumerate(records):
            yield f"{',' if number else ''}\n{json.dumps(record)}".encode("ascii")
        yield b"\n]"
    yield b"]}\n"


def read_json(path: Path) -> object:
    """Return the value in a JSON file; errors give the place of the first fault."""
    try:
        text = read_file(path).decode()
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}; this is no complete "
            "JSON file"
        ) from error
    except UnicodeDecodeError as error:
        problem = f"{path}: byte {error.start} is not UTF-8, so this is no JSON file"
        raise ValueError(problem) from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply to be a strategy") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        repeated, _ = Counter(names).most_common(1)[0]
        shown = ", ".join(ascii(name)[:40] for name in names[:4])
        raise ValueError(
            f"an entry {ascii(repeated)[:40]} is a duplicate, beside {shown}; remove it"
        )
    return entries


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
