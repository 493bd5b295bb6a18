"""How things were built, in numbers and texts, so that a file can say it and can be held to it."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np

from regretkit._util._state import Stateful, attributes, parts
from regretkit._util._validate import quote, shorten
from regretkit.estimators._baselines import Baseline
from regretkit.games import ExtensiveFormGame, NormalFormGame, fingerprint
from regretkit.play._checkpoint_file import Plain
from regretkit.sets import StrategySet

_KIND = "<kind>"
_GENERATOR = "Generator (own)"
_BITS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
"""NumPy's sources of random bits, each of which is built without arguments."""


def kind_of(thing: object) -> str:
    """Return the name of an object's class, marked if it is not one of the library's."""
    name = type(thing).__qualname__
    return name if _is_ours(type(thing)) else f"{name} (own)"


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "regretkit"


def described(thing: object) -> Plain:
    """Return how something was built: its class, its constructor's arguments, and its parts.

    What it has learned is no part of that. Functions all look the same; what they built does not.
    """
    if thing is None or isinstance(thing, bool | int | float | str | np.ndarray):
        return thing
    if isinstance(thing, tuple | list):
        return [described(item) for item in thing]
    if isinstance(thing, dict):
        return {str(key): described(item) for key, item in thing.items()}
    word = _in_a_word(thing)
    if word is not None:
        return word
    return {_KIND: kind_of(thing), **{name: described(held) for name, held in _built_from(thing)}}


def _in_a_word(thing: object) -> bool | int | float | str | None:
    if isinstance(thing, np.generic):
        return thing.item()  # type: ignore[no-any-return]
    if isinstance(thing, StrategySet):
        return repr(thing)
    if isinstance(thing, NormalFormGame | ExtensiveFormGame):
        return fingerprint(thing)
    return "a function" if callable(thing) and not isinstance(thing, Stateful) else None


def _built_from(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, np.random.Generator):
        yield "bits", type(thing.bit_generator).__name__
        return
    try:
        arguments = {*inspect.signature(type(thing)).parameters}
    except ValueError:
        return  # without a signature
    own = {name.partition("[")[0] for name, _ in parts(thing)}
    for name, value in attributes(thing):
        if name in own or name.lstrip("_") in arguments:
            yield name.lstrip("_"), value


def difference(saved: object, mine: object, where: str) -> str | None:
    """Say where two descriptions first differ, and how; None if they do not."""
    if isinstance(saved, dict) and isinstance(mine, dict):
        if saved.keys() == mine.keys() and _are_equal(saved.get(_KIND), mine.get(_KIND)):
            pairs = ((f"{where}.{name}", saved[name], mine[name]) for name in mine)
            return _first(pairs)
    elif isinstance(saved, list) and isinstance(mine, list):
        if len(saved) == len(mine):
            pairs = ((f"{where}[{n}]", saved[n], mine[n]) for n in range(len(mine)))
            return _first(pairs)
    elif isinstance(saved, np.ndarray) and isinstance(mine, np.ndarray):
        if np.array_equal(saved, mine):
            return None
    elif _are_equal(saved, mine):
        return None
    return f"{where} was {shown(saved)} when the checkpoint was written, but is {shown(mine)} now"


def _are_equal(saved: object, mine: object) -> bool:
    if isinstance(saved, np.ndarray) or isinstance(mine, np.ndarray):
        return False
    return bool(saved == mine or (saved != saved and mine != mine))


def _first(pairs: Iterable[tuple[str, object, object]]) -> str | None:
    return next((found for w, x, y in pairs if (found := difference(x, y, w))), None)


def shown(description: object, depth: int = 3) -> str:
    """Return a description as messages show it."""
    if isinstance(description, dict) and _KIND in description:
        own = ", ".join(
            f"{k}={shown(v, depth - 1) if depth else '...'}"
            for k, v in description.items()
            if k != _KIND
        )
        return shorten(f"{description[_KIND]}({own})")
    return quote(description, 60)


def rebuilt(description: object, base: type) -> object:
    """Build again what is described, where it is of this library; None where it is not."""
    known = {kind.__qualname__: kind for kind in _kinds(base) if _is_ours(kind)}
    if not isinstance(description, dict) or description.get(_KIND) not in known:
        return None
    arguments = {name: _argument(value) for name, value in description.items() if name != _KIND}
    return known[cast(str, description[_KIND])](**arguments)


def _kinds(base: type) -> Iterator[type]:
    """Yield everything that is built on a class, however far from it."""
    subclasses: Sequence[type[object]] = base.__subclasses__()
    for kind in subclasses:
        yield kind
        yield from _kinds(kind)


def _argument(value: object) -> object:
    if isinstance(value, dict) and value.get(_KIND, _GENERATOR) != _GENERATOR:
        part = rebuilt(value, Baseline)
        if part is None:
            raise ValueError(f"{shown(value)} is not one of regretkit's; pass what it is a part of")
        return part
    if not (isinstance(value, dict) and value.get(_KIND) == _GENERATOR):
        return value
    if value.get("bits") not in _BITS:
        raise ValueError(
            f"there is no generator of {quote(value.get('bits'))}; pass what it draws for"
        )
    return np.random.Generator(getattr(np.random, cast(str, value["bits"]))())


def holds_chance(thing: object) -> bool:
    """Say whether something draws at random, and has no state in which that could be saved."""
    if isinstance(thing, Stateful):
        return False
    return any(isinstance(value, np.random.Generator) for _, value in attributes(thing))
