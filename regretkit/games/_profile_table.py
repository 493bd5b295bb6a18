"""Profiles as tables of the actions at each information set, as records and as JSON files."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from regretkit._util import _validate
from regretkit._util._files import read_file, replace_file
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._fingerprint import check_described, find_described, is_description
from regretkit.games._game import ATOL, Game
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    from regretkit.games._profile import Profile

MOST = 60
"""Largest number of information sets of a player in a printed table."""

FORMAT, VERSION = "regretkit strategy", 1
_KEYS = {"format", "version", "game", "players"}
_RECORD_KEYS = {"information_set", "label", "actions", "probabilities"}

_ROUNDING = 1e-12
"""Probabilities whose sum is this close to 1 are kept unchanged, others divided by their sum."""


class Row(NamedTuple):
    """One action at one information set."""

    player: int
    information_set: int
    label: str | None
    action: str
    probability: float
    reach: float
    """Probability that the player's strategy reaches the information set."""


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


def reach_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the probability that a player's strategy reaches each of its information sets."""
    simplices = blocks_of(domain)
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    return np.ones(0 if simplices is None else simplices.blocks)


def never_reached(strategy: Vector, domain: StrategySet) -> Indices:
    """Return the information sets that a player's strategy does not reach."""
    return np.flatnonzero(reach_of(strategy, domain) == 0.0)


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return the label of an information set, None if they have no labels."""
    return simplices.labels.block(number) if simplices.labels.named else None


def rows(profile: "Profile") -> Iterator[Row]:
    """Yield a row for each action of each information set of each player."""
    for player, domain in enumerate(profile.domains):
        simplices = simplices_of(domain, player)
        behavior = behavior_of(profile[player], domain)
        reach = reach_of(profile[player], domain).tolist()
        for number in range(simplices.blocks):
            label, block = label_of(simplices, number), behavior[simplices.block(number)]
            pairs = zip(simplices.labels.actions(number), block.tolist(), strict=True)
            for action, probability in pairs:
                yield Row(player, number, label, action, probability, reach[number])


def table(player: int, strategy: Vector, domain: StrategySet) -> Iterator[str]:
    """Yield the lines of a player's printed strategy."""
    yield f"player {player}"
    simplices = blocks_of(domain)
    if simplices is None:
        yield f"  {strategy}"
        return
    behavior = behavior_of(strategy, domain)
    unreached = set(never_reached(strategy, domain).tolist())
    shown = range(min(simplices.blocks, MOST))
    names = [printable(label_of(simplices, number) or "") for number in shown]
    width = max(map(len, names), default=0)
    for number, name in zip(shown, names, strict=True):
        actions = map(printable, simplices.labels.actions(number))
        pairs = zip(actions, behavior[simplices.block(number)], strict=True)
        played = "  ".join(f"{action} {probability:.4f}" for action, probability in pairs)
        flag = "  (never reached)" if number in unreached else ""
        yield f"  {name:<{width}}  {played}{flag}"
    if simplices.blocks > MOST:
        yield f"  ... {simplices.blocks - MOST} more information sets"


def printable(text: str) -> str:
    """Return text with escapes for control characters, surrogates and the like."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


# Records and JSON files


def as_dict(profile: "Profile", game: Mapping[str, str | None]) -> dict[str, Any]:
    """Return a profile as plain dicts, lists, strings and numbers."""
    players = [
        list(_records(profile[player], domain, player))
        for player, domain in enumerate(profile.domains)
    ]
    return {"format": FORMAT, "version": VERSION, "game": dict(game), "players": players}


def _records(strategy: Vector, domain: StrategySet, player: int) -> Iterator[dict[str, Any]]:
    simplices, behavior = simplices_of(domain, player), behavior_of(strategy, domain)
    for number in range(simplices.blocks):
        yield {
            "information_set": number,
            "label": label_of(simplices, number),
            "actions": list(simplices.labels.actions(number)),
            "probabilities": behavior[simplices.block(number)].tolist(),
        }


# Reading


def game_of(data: object, what: str) -> Game:
    """Return the registered game that a file names."""
    opened = _opened(data, what)
    return find_described(opened["game"], what, len(repr(opened["players"])))


def strategies(data: object, game: Game, what: str) -> list[Vector]:
    """Return the strategies in a result of :func:`as_dict`."""
    opened = _opened(data, what)
    check_described(game, opened["game"], what)
    players = opened["players"]
    if not isinstance(players, list) or len(players) != len(game.domains):
        raise ValueError(
            f"{what}: players must be a list of {len(game.domains)}, got {_shown(players)}"
        )
    return [
        _strategy(records, domain, player, f"{what}: players[{player}]")
        for player, (records, domain) in enumerate(zip(players, game.domains, strict=True))
    ]


def _opened(data: object, what: str) -> dict[str, Any]:
    """Return the entries of a profile, checked."""
    top = _entries(data, _KEYS, what)
    if top["format"] != FORMAT:
        raise ValueError(
            f"{what} must have the format {quote(FORMAT)}, got {_shown(top['format'])}"
        )
    if top["version"] != VERSION or isinstance(top["version"], bool):
        raise ValueError(
            f"{what} has version {_shown(top['version'])} of the format, but only "
            f"{VERSION} can be read; use the version of regretkit that wrote it"
        )
    if not is_description(top["game"]):
        raise ValueError(
            f"{what}: game must have a name and a fingerprint, both texts, got "
            f"{_shown(top['game'])}"
        )
    return top


def _strategy(records: object, domain: StrategySet, player: int, where: str) -> Vector:
    simplices = simplices_of(domain, player)
    if not isinstance(records, list):
        raise ValueError(f"{where} must be a list of information sets, got {_shown(records)}")
    behavior = np.full(simplices.dimension, np.nan)
    read = np.zeros(simplices.blocks, dtype=np.bool_)
    for place, entry in enumerate(records):
        path = f"{where}[{place}]"
        record = _entries(entry, _RECORD_KEYS, path)
        number = _number(record["information_set"], simplices, path)
        path = f"{path}, information set {_name_of(simplices, number)}"
        if read[number]:
            raise ValueError(f"{path} is a duplicate; remove it")
        read[number] = True
        _check_names(record, simplices, number, path)
        size = int(simplices.sizes[number])
        behavior[simplices.block(number)] = _distribution(record["probabilities"], size, path)
    if not read.all():
        missing = [_name_of(simplices, int(number)) for number in np.flatnonzero(~read)[:6]]
        more = int(np.count_nonzero(~read)) - len(missing)
        raise ValueError(
            f"{where} lacks the information sets {', '.join(missing)}"
            f"{f' and {more} more' if more else ''}; give each a distribution over its actions"
        )
    return domain.sequence_form(behavior) if isinstance(domain, DecisionTree) else behavior


def _number(value: object, simplices: Simplices, where: str) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and 0 <= value < simplices.blocks):  # type: ignore[operator]
        raise ValueError(
            f"{where} is of an unknown information set, {_shown(value)}; their numbers go from 0 "
            f"to {simplices.blocks - 1}"
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def _check_names(record: Mapping[str, Any], simplices: Simplices, number: int, where: str) -> None:
    label, actions = label_of(simplices, number), list(simplices.labels.actions(number))
    if record["label"] != label:
        raise ValueError(
            f"{where} has the label {_shown(record['label'])}, but must have {quote(label)}"
        )
    if record["actions"] != actions:
        known = _validate.candidates(actions)
        raise ValueError(
            f"{where} has the actions {_shown(record['actions'])}, but must have [{known}]"
        )


def _distribution(value: object, size: int, where: str) -> Vector:
    if not isinstance(value, list) or len(value) != size:
        raise ValueError(f"{where} must have {size} probabilities, got {_shown(value)}")
    for probability in value:
        number = isinstance(probability, int | float) and not isinstance(probability, bool)
        # Comparisons with NaN are false.
        if not (number and 0.0 <= probability <= 1.0 + ATOL):
            raise ValueError(
                f"{where} must have probabilities from 0 to 1, got {_shown(probability)}"
            )
    total = math.fsum(value)
    if not abs(total - 1.0) <= ATOL:
        raise ValueError(
            f"{where} has probabilities that must sum to 1 within {ATOL:g}, but sum to "
            f"{quote(total)}"
        )
    distribution = np.array(value, dtype=np.float64)
    return distribution if abs(total - 1.0) <= _ROUNDING else distribution / total


def _entries(value: object, keys: set[str], where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != keys:
        held = sorted(map(str, value)) if isinstance(value, dict) else value
        raise ValueError(f"{where} must have the entries {sorted(keys)}, got {_shown(held)}")
    return value


def _name_of(simplices: Simplices, number: int) -> str:
    label = label_of(simplices, number)
    return str(number) if label is None else f"{number} ({label!r})"


def _shown(value: object) -> str:
    return quote(value, 60)


# Files


def write_json(data: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write the dict of a profile, with a line for each information set."""
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
        raise ValueError(
            f"{path}: byte {error.start} is not UTF-8, so this is no JSON file"
        ) from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply to be a strategy") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        twice, _ = Counter(names).most_common(1)[0]
        shown = ", ".join(ascii(name)[:40] for name in names[:4])
        raise ValueError(f"an entry {ascii(twice)[:40]} is a duplicate, beside {shown}; remove it")
    return entries


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
