"""Strategies by information set: distributions, printed tables and files."""

import json
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._files import read_file
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, candidates, floats, quote
from regretkit.games._adapters import InformationSet, distinct
from regretkit.sets import DecisionTree, Simplices, StrategySet

MOST = 60
"""Largest number of information sets of a player in a printed table."""

_ZERO, _ZEROS = 0.00005, 3
"""Smallest probability that does not print as 0.0000; most such zeros in one row of a table."""

_WIDTH, _NAME = 80, 30
"""Characters in a line of a printed table, and in the longest name that shares its line."""

_ROUNDING = 1e-12
"""Distance of a sum of probabilities from 1 up to which they are not normalized."""

_RECORD = {"information_set", "label", "actions", "probabilities"}


def blocks_of(domain: StrategySet) -> Simplices | None:
    """Return the simplices of a player's information sets, None if the set has none."""
    if isinstance(domain, DecisionTree):
        return domain.simplices
    return domain if isinstance(domain, Simplices) else None


def simplices_of(domain: StrategySet, player: int) -> Simplices:
    """Return ``blocks_of``, or raise a ValueError if the set has no information sets."""
    simplices = blocks_of(domain)
    if simplices is None:
        raise ValueError(
            f"player {player} plays on {quote(domain)}, which has no information sets; use "
            f"profile[{player}]"
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
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    simplices = blocks_of(domain)
    return np.ones(0 if simplices is None else simplices.blocks)


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return the label of an information set, None if they have no labels."""
    return simplices.labels.block(number) if simplices.labels.named else None


def vector_of(
    behavior_at: Callable[[Hashable, Sequence[Hashable]], Vector], domain: StrategySet, player: int
) -> Vector:
    """Evaluate a behavioral strategy at every information set, and return it as a vector."""
    simplices = simplices_of(domain, player)
    behavior = np.empty(simplices.dimension)
    for number in range(simplices.blocks):
        information_set = InformationSet(number, label_of(simplices, number) or "")
        actions = distinct(simplices.labels.actions(number))
        behavior[simplices.block(number)] = behavior_at(information_set, actions)
    return strategy_of(behavior, domain)


def thresholded(behavior: Vector, simplices: Simplices, minimum: float) -> Vector:
    """Set probabilities below ``min(minimum, largest of the block)`` to 0, and normalize."""
    limit = np.minimum(simplices.max(behavior), minimum)
    kept = np.where(behavior >= simplices.repeat(limit), behavior, 0.0)
    # Distributions that lose no action stay bitwise identical.
    unchanged = simplices.repeat(simplices.sum((kept != behavior).astype(np.float64))) == 0.0
    return np.where(unchanged, behavior, simplices.normalize(kept))


def distribution(value: ArrayLike, actions: Sequence[str], place: str) -> Vector:
    """Return the probabilities of these actions, or raise a ValueError unless they sum to 1."""
    probabilities = floats(value, place)
    if probabilities.shape != (len(actions),):
        raise ValueError(
            f"{place} must have {len(actions)} probabilities, of the actions "
            f"{candidates(actions)}, got {quote(value, 60)}"
        )
    total = math.fsum(probabilities)
    if not (probabilities.min() >= 0.0 and abs(total - 1.0) <= ATOL):  # nor NaN
        raise ValueError(
            f"{place} must have probabilities from 0 to 1 that sum to 1 within {ATOL:g}, got "
            f"{quote(value, 60)}"
        )
    return probabilities if abs(total - 1.0) <= _ROUNDING else probabilities / total


# Printed tables


def shown_actions(
    actions: Sequence[str], probabilities: Vector
) -> tuple[list[tuple[str, float]], int]:
    """Return the actions that a table shows, and the number of omitted actions."""
    pairs = list(zip(actions, probabilities.tolist(), strict=True))
    played = [pair for pair in pairs if pair[1] >= _ZERO]
    zeros = len(pairs) - len(played)
    return (played, zeros) if played and zeros > _ZEROS else (pairs, 0)


def table_lines(rows: Sequence[tuple[str, list[tuple[str, float]], str]]) -> Iterator[str]:
    """Yield the lines of a table with rows of a name, actions with probabilities, and a note."""
    width = max((len(name) for name, *_ in rows if len(name) <= _NAME), default=0)
    widths = [len(action) for _, pairs, _ in rows for action, _ in pairs]
    column = max((size for size in widths if size <= _NAME), default=0)
    for name, pairs, note in rows:
        items = [f"{action:<{column}} {probability:.4f}" for action, probability in pairs]
        line, indent = f"  {name:<{width}}", " " * (2 + width)
        if len(name) > width:
            yield line
            line = indent
        for item in [*items, note] if note else items:
            if len(line) + 2 + len(item) > _WIDTH and len(line) > len(indent):
                yield line
                line = indent
            line += f"  {item}"
        yield line


# Reading


def behavior_in(records: Any, simplices: Simplices, place: str) -> Vector:
    """Return the distributions in the records of a file, concatenated."""
    if not isinstance(records, list) or len(records) != simplices.blocks:
        raise ValueError(f"{place} must be a list of {simplices.blocks} information sets")
    behavior = np.empty(simplices.dimension)
    for number, record in enumerate(records):
        at, actions = f"{place}[{number}]", simplices.labels.actions(number)
        if not isinstance(record, dict) or record.keys() != _RECORD:
            raise ValueError(f"{at} must have the entries {sorted(_RECORD)}")
        known = {"information_set": number, "label": label_of(simplices, number)}
        for name, value in {**known, "actions": list(actions)}.items():
            if record[name] != value:
                raise ValueError(
                    f"{at}: {name} must be {quote(value, 60)}, got {quote(record[name], 60)}"
                )
        behavior[simplices.block(number)] = distribution(record["probabilities"], actions, at)
    return behavior


def visited_tree(records: Any, parents: Any, place: str) -> DecisionTree:
    """Return the decision tree of the visited information sets in a file."""
    try:
        labels, actions = [row["label"] for row in records], [row["actions"] for row in records]
        tree = DecisionTree(parents, list(map(len, actions)), labels=labels, actions=actions)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{place} and its parents are no decision tree: {error}") from error
    if len(set(labels)) < len(labels):
        raise ValueError(f"{place} must have distinct labels")
    return tree


def read_json(path: Path) -> object:
    """Return the value in a JSON file. Errors give the file, the line and the column."""
    try:
        return json.loads(read_file(path).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
