"""One minimizer over many decision points, in place of equal ones at each of them."""

import contextlib
import functools
import types
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from regretkit._state import Stateful, attributes, attrs_fields, generators, with_parts
from regretkit.circuits._base import BUILDS_PARTS
from regretkit.circuits._operations import Product
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices, StrategySet
from regretkit.trace import UntraceableError, find_kernel

_CACHES = ("_strategy", "_tracker")
"""Attributes that say nothing about how a minimizer plays."""


def merged(made: Sequence[RegretMinimizer], simplices: Simplices) -> RegretMinimizer:
    """Return a minimizer that plays as those that were made, one for each block.

    Those that play alike become one minimizer over all their blocks: with each of them, what
    ``on_domain`` returns is the same minimizer, and each of its parts plays block by block.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, minimizer in enumerate(made):
        alike.setdefault(_configuration(minimizer), []).append(number)
    groups: dict[Hashable, list[int]] = {}
    for configuration, numbers in alike.items():
        rule = _across_sizes(made[numbers[0]], configuration)
        if rule is None:
            groups |= {(configuration, number): [number] for number in numbers}
        else:
            groups.setdefault(rule, []).extend(numbers)
    blocks = sorted(map(sorted, groups.values()))
    players = [_over(made[numbers[0]], simplices, numbers) for numbers in blocks]
    return together(players, simplices, blocks)


def together(
    players: Sequence[RegretMinimizer], simplices: Simplices, blocks: Sequence[Sequence[int]]
) -> RegretMinimizer:
    """Return the product of minimizers, each of which plays some blocks; the only one itself."""
    if len(players) == 1:
        return players[0]
    in_order = [n for numbers in blocks for n in numbers] == list(range(simplices.blocks))
    coordinates = None if in_order else [simplices.coordinates(numbers) for numbers in blocks]
    return Product(players, coordinates)


def _over(minimizer: RegretMinimizer, simplices: Simplices, blocks: list[int]) -> RegretMinimizer:
    """Return a minimizer that plays some blocks as the one of the first plays it."""
    every = len(blocks) == simplices.blocks
    joined = minimizer.on_domain(simplices if every else simplices.select(blocks))
    return minimizer if joined is None or len(blocks) == 1 else joined


def _across_sizes(minimizer: RegretMinimizer, configuration: Hashable) -> Hashable | None:
    """Return what is equal for minimizers that play alike with any numbers of actions.

    None where this one is not known to be one block of a minimizer that plays many.
    """
    try:
        rebuilt = [minimizer.on_domain(Simplices(n)) for n in (minimizer.dimension, [2, 3])]
    except Exception:  # its arguments may fit its own set alone
        return None
    same_size, across_sizes = rebuilt
    if same_size is None or across_sizes is None or any(generators(minimizer)):
        return None
    if _configuration(same_size) != configuration:  # it has learned already, or was built otherwise
        return None
    parts = [part for circuit in (minimizer, across_sizes) for part in with_parts(circuit)]
    if not all(_plays_by_block(part) for part in parts if isinstance(part, RegretMinimizer)):
        return None
    return _configuration(across_sizes)


def _plays_by_block(part: RegretMinimizer) -> bool:
    """Return whether a minimizer is known to play each block as it would play it alone."""
    if part._couples_blocks():
        return False
    # Its parts are asked themselves.
    held = (x for _, x in attributes(part) if not isinstance(x, type | RegretMinimizer))
    if all(_is_trusted(type(value)) for value in (part, *held)):
        return True
    try:
        find_kernel(part)  # no kernel sees two blocks
    except UntraceableError:
        return False
    return True


def _is_trusted(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("regretkit", "numpy", "builtins", "functools")


# Configurations


def _configuration(value: object) -> Hashable:
    """Return something that is equal for objects of equal configuration and state alone."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, StrategySet):
        return value
    if isinstance(value, tuple | list):
        return tuple(map(_configuration, value))
    if isinstance(value, Mapping):
        return tuple((key, _configuration(item)) for key, item in value.items())
    if isinstance(value, Stateful) or type(value).__module__.startswith("regretkit."):
        fields = attrs_fields(type(value))
        builders = {f.name for f in fields if f.metadata == BUILDS_PARTS}
        left_out = builders.union(_CACHES)
        held = ((name, item) for name, item in attributes(value) if name not in left_out)
        return type(value), tuple((name, _configuration(item)) for name, item in held)
    return _argument(value)


def _argument(value: object, around: tuple[object, ...] = ()) -> Hashable:
    """Return the same of a number, a text or a function; all else is equal to itself alone.

    Functions of the same lines are equal if they refer to equal numbers, texts and functions.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return type(value), value
    inner = functools.partial(_argument, around=(*around, value))
    if isinstance(value, tuple):
        return tuple(map(inner, value))
    if isinstance(value, functools.partial):
        held = value.func, value.args, _items(value.keywords)
        return functools.partial, *map(inner, held)
    if isinstance(value, types.FunctionType) and not any(value is other for other in around):
        refers = value.__defaults__, _items(value.__kwdefaults__), _cells(value)
        return value.__code__, id(value.__globals__), *map(inner, refers)
    return "object", id(value)


def _cells(function: types.FunctionType) -> tuple[object, ...]:
    """Return what a function refers to in those around it."""
    cells = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # which is empty
            cells.append(cell.cell_contents)
    return tuple(cells)


def _items(named: Mapping[str, object] | None) -> tuple[object, ...]:
    return tuple((named or {}).items())
