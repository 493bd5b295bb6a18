"""The file that a checkpoint is: numbers, texts and arrays, and a checksum over all of them.

A line says what it is, how long what follows should be, and the SHA-256 of that. Then comes a line
of JSON, in which ``{"<array>": [type, shape, offset]}`` stands for an array, and then the bytes of
all arrays. Nothing in it is ever run or unpickled.
"""

import hashlib
import inspect
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from regretkit._util._state import Stateful, attributes, parts
from regretkit._util._validate import quote, shorten
from regretkit.estimators._baselines import Baseline
from regretkit.games import ExtensiveFormGame, NormalFormGame, fingerprint
from regretkit.sets import StrategySet

Plain: TypeAlias = (
    "bool | int | float | str | NDArray[np.generic] | Sequence[Plain] | Mapping[str, Plain] | None"
)

MAGIC = b"regretkit checkpoint "
VERSION = 1

_HEAD = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")
_ARRAY = "<array>"
_LARGEST = 2**128
"""Whole numbers are below this; those of generators' states are the largest."""
_TYPE = re.compile(r"[<>|][biuf][1248]")
"""Truth values, whole numbers and floats, in either order of bytes."""


def packed(content: Mapping[str, Plain]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file that holds ``content``, piece by piece.

    Raises
    ------
    TypeError
        When something in it is neither a number, a text, an array, nor made of those.
    """
    arrays = _Arrays()
    manifest = json.dumps(_encoded(content, arrays, "content")).encode("ascii") + b"\n"
    body: list[bytes | memoryview] = [manifest, *(array.data for array in arrays.held)]
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    length = len(manifest) + arrays.size
    yield MAGIC + f"{VERSION} {length:020d} {digest.hexdigest()}\n".encode("ascii")
    yield from body


class _Arrays:
    """Arrays that lie one behind the other in a file."""

    def __init__(self) -> None:
        self.held: list[NDArray[np.uint8]] = []
        self.size = 0

    def add(self, array: NDArray[np.generic]) -> list[object]:
        """Take an array in, and return what the manifest says about it."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.held.append(flat)
        self.size += flat.size
        return [array.dtype.str, list(array.shape), self.size - flat.size]


def _encoded(value: object, arrays: _Arrays, where: str) -> object:
    if isinstance(value, np.ndarray) and _TYPE.fullmatch(value.dtype.str):
        return {_ARRAY: arrays.add(value)}
    if isinstance(value, dict) and value.keys() != {_ARRAY}:
        return {
            _text(key, where): _encoded(item, arrays, f"{where}[{key!r}]")
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_encoded(item, arrays, f"{where}[{n}]") for n, item in enumerate(value)]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(
        f"{where} is {quote(value)}, which a checkpoint cannot hold: it holds numbers, texts, "
        "arrays of numbers, and lists and dicts of them"
    )


def _text(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {quote(key)}, but keys in a checkpoint must be texts")
    return key


# And back


def unpacked(data: bytes, what: str) -> dict[str, Any]:
    """Return the content of a file, whose arrays are read-only views of ``data``.

    Raises
    ------
    ValueError
        When it is no checkpoint, of another version, cut off, or not what was written.
    """
    start = _start(data, what)
    try:
        end = data.index(b"\n", start)
        arrays = _Read(memoryview(data)[end + 1 :])
        content = _decoded(json.loads(data[start:end]), arrays)
        if arrays.end != len(arrays.data):
            raise ValueError("there are bytes that belong to no array")
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{what} is not what regretkit writes: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{what} is not what regretkit writes: it holds {type(content).__name__}")
    return content


def _start(data: bytes, what: str) -> int:
    """Return where the first line ends, which says what should follow."""
    begin = MAGIC + b"%d " % VERSION
    head = _HEAD.match(data, len(begin))
    if not data.startswith(begin) or head is None:
        raise ValueError(f"{what} {_fault_of_head(data)}")
    length, there = int(head[1]), len(data) - head.end()
    digest = hashlib.sha256(memoryview(data)[head.end() :]).hexdigest()
    right = digest.encode("ascii") == head[2]
    if right and there == length:
        return head.end()
    if there < length and not right:
        raise ValueError(
            f"{what} is truncated: it has {there} of {length} bytes behind its first line; use "
            "another copy"
        )
    raise ValueError(
        f"{what} was altered: the {there} bytes behind its first line do not have the length and "
        "the checksum that stand there; use another copy"
    )


def _fault_of_head(data: bytes) -> str:
    if not data.startswith(MAGIC[: len(data)]):
        return f"is no checkpoint of regretkit: it begins with {data[: len(MAGIC)]!r}"
    version, space, rest = data[len(MAGIC) :].partition(b" ")
    if space and version.isdigit() and int(version) != VERSION:
        return (
            f"has version {int(version)} of the format, but this is read: {VERSION}; use the "
            "regretkit that wrote it"
        )
    if b"\n" not in data and len(rest) < 20 + 1 + 64 + 1:
        return f"is truncated: it ends after {len(data)} bytes, within its first line"
    return "was altered: its first line is not what was written; use another copy"


class _Read:
    """The bytes of arrays, and how far they have been read.

    Each array begins where the one before it ends. Otherwise a small file could hold the same
    bytes as many arrays, and have each of them copied.
    """

    def __init__(self, data: memoryview) -> None:
        self.data, self.end = data, 0

    def take(self, offset: int, size: int) -> memoryview:
        """Return the next bytes."""
        if offset != self.end or offset + size > len(self.data):
            raise ValueError(f"an array of {size} bytes cannot begin at {offset}")
        self.end += size
        return self.data[offset : self.end]


def _decoded(value: object, arrays: _Read) -> object:
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return _array(value[_ARRAY], arrays)
        return {key: _decoded(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item, arrays) for item in value]
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise ValueError("a whole number has more than 128 bits")
    return value


def _array(said: Any, arrays: _Read) -> NDArray[np.generic]:
    kind, shape, offset = said
    if not _TYPE.fullmatch(kind) or not all(type(n) is int and n >= 0 for n in [offset, *shape]):
        raise ValueError(f"{quote(said)} is no array")
    dtype, count = np.dtype(kind), math.prod(shape)
    data = arrays.take(offset, count * dtype.itemsize)
    flat = np.frombuffer(data, dtype) if count else np.empty(0, dtype)
    # In the order of bytes of this machine
    return flat.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


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
