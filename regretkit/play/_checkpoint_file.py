"""Checkpoint files: their format, how a run is described in them, and how it is restored.

A file is an ``.npz`` archive: a member of JSON, in which ``{"<array>": [type, *shape]}`` stands for
the next array of that type, and for each type one array of all numbers. The archive's comment is
the SHA-256 of everything before it. Nothing in a file is ever run or unpickled.
"""

import hashlib
import inspect
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray
from typing_extensions import Buffer

from regretkit._state import Stateful, attributes, parts
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote, shorten
from regretkit.estimators import Estimator
from regretkit.estimators._baselines import Baseline
from regretkit.games import ExtensiveFormGame, Game, History, NormalFormGame, fingerprint
from regretkit.games._fingerprint import check_described, find_described, is_description
from regretkit.games.public import PublicGame
from regretkit.minimizer import RegretMinimizer
from regretkit.play._averaging import Averaging
from regretkit.play._callbacks import Callback, as_callbacks
from regretkit.play._orders import Order
from regretkit.sets import StrategySet

if TYPE_CHECKING:
    from regretkit.play._lazy_mccfr import LazyMCCFR
    from regretkit.play._self_play import SelfPlay

# The format

Plain: TypeAlias = (
    "bool | int | float | str | NDArray[np.generic] | Sequence[Plain] | Mapping[str, Plain] | None"
)
Arrays: TypeAlias = dict[str, list[NDArray[np.generic]]]

VERSION = 1

_MANIFEST = "regretkit.json"
"""The first member, whose name stands behind 30 bytes of the archive."""
_DIGEST = 64
"""Number of hexadecimal digits of a checksum."""
_ARRAY = "<array>"
_LARGEST = 2**128
"""Whole numbers are below this; those of generators' states are the largest."""
_PIECE = 2**17
"""Numbers that are written at a time."""
_TYPE = re.compile(r"[biuf][1248]")
"""Truth values, whole numbers and floats."""


def packed(content: Mapping[str, Plain]) -> bytes:
    """Return a file that holds ``content``: numbers, texts, arrays, and what is made of those."""
    return b"".join(pieces(content))


def pieces(content: Mapping[str, Plain]) -> Iterator[bytes]:
    """Yield such a file in pieces, so that no second copy of large arrays is in memory."""
    arrays: Arrays = {}
    manifest = {"version": VERSION, "content": _encoded(content, arrays, "content")}
    file, digest = _Pieces(), hashlib.sha256()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(manifest))
        for kind, held in arrays.items():
            with archive.open(f"{kind}.npy", "w", force_zip64=True) as member:
                shape = (sum(array.size for array in held),)
                header = {"descr": held[0].dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, header)
                for array in held:
                    for begin in range(0, array.size, _PIECE):
                        member.write(array[begin : begin + _PIECE].tobytes())
                        digest.update(piece := file.taken())
                        yield piece
        archive.comment = bytes(_DIGEST)
    digest.update(piece := file.taken()[:-_DIGEST])
    yield piece
    yield digest.hexdigest().encode()


class _Pieces(io.RawIOBase):
    """A file that is written from one end to the other, and taken away in pieces."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        self._held.append(bytes(data))
        return len(self._held[-1])

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        piece = b"".join(self._held)
        self._held.clear()
        return piece


def _encoded(value: object, arrays: Arrays, place: str) -> object:
    if isinstance(value, np.ndarray) and _TYPE.fullmatch(value.dtype.str[1:]):
        kind = value.dtype.str[1:]
        arrays.setdefault(kind, []).append(np.ascontiguousarray(value, kind).ravel())
        return {_ARRAY: [kind, *value.shape]}
    if isinstance(value, dict) and value.keys() != {_ARRAY}:
        keys = [key for key in value if not isinstance(key, str)]
        if keys:
            raise TypeError(
                f"{place} has the key {quote(keys[0])}, but keys in a checkpoint must be texts"
            )
        return {key: _encoded(item, arrays, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item, arrays, f"{place}[{n}]") for n, item in enumerate(value)]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(
        f"{place} is {quote(value)}, which a checkpoint cannot hold: it holds numbers, texts, "
        "arrays of numbers, and lists and dicts of them"
    )


def unpacked(data: bytes | memoryview, source: str) -> dict[str, Any]:
    """Return the content of a file, or refuse what is not exactly what was written."""
    name = _MANIFEST.encode()
    begin = bytes(data[: 30 + len(name)])
    if begin.startswith(b"regretkit checkpoint "):
        raise ValueError(
            f"{source} has a format of earlier versions of regretkit; use the one that wrote it"
        )
    if not (b"PK\3\4".startswith(begin[:4]) and name.startswith(begin[30:])):
        raise ValueError(
            f"{source} is no checkpoint of regretkit: it begins with {quote(begin[:20])}"
        )
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).hexdigest().encode() != data[-_DIGEST:]:
        raise ValueError(
            f"{source} is truncated or was altered: its {len(data)} bytes do not have the checksum "
            "at their end; use another copy"
        )
    try:
        manifest, arrays = _members(data)
        version = manifest["version"]
        content = _decoded(manifest["content"], arrays) if version == VERSION else {}
        if version == VERSION and any(array.size for array in arrays.values()):
            raise ValueError("there are numbers that belong to no array")
        if not isinstance(content, dict):
            raise TypeError(f"it holds {type(content).__name__}")
    except Exception as error:  # of any class: these may be any bytes
        problem = shorten(str(error))
        raise ValueError(f"{source} is not what regretkit writes: {problem}") from error
    if version != VERSION:
        raise ValueError(
            f"{source} has version {quote(version)} of the format, but this is read: {VERSION}; "
            "use the regretkit that wrote it"
        )
    return content


def _members(data: bytes | memoryview) -> tuple[Any, dict[str, NDArray[np.generic]]]:
    """Return the manifest, and the array of each type."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        # A small file must not become large.
        members = archive.zip.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > len(data):
            raise ValueError("its members are larger than they are in the file")
        manifest = json.loads(archive[_MANIFEST])
        arrays = {kind: archive[kind] for kind in archive.files if kind != _MANIFEST}
    for kind, array in arrays.items():
        if not _TYPE.fullmatch(kind) or array.dtype.str[1:] != kind or array.ndim != 1:
            raise ValueError(f"{quote(kind)} is not an array of numbers")
        arrays[kind] = array.astype(kind, copy=False)  # in the order of bytes of this machine
    return manifest, arrays


def _decoded(value: object, arrays: dict[str, NDArray[np.generic]]) -> object:
    """Replace what stands for arrays; each number belongs to one array."""
    if isinstance(value, dict) and value.keys() == {_ARRAY}:
        kind, *shape = value[_ARRAY]
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"{quote(shape)} is no shape")
        size = math.prod(shape)
        numbers, arrays[kind] = arrays[kind][:size], arrays[kind][size:]
        return numbers.reshape(shape)
    if isinstance(value, dict):
        return {key: _decoded(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item, arrays) for item in value]
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise ValueError("a whole number has more than 128 bits")
    return value


# Descriptions

_KIND = "<kind>"
_GENERATOR = "numpy.random.Generator"
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
    if isinstance(thing, np.generic):
        return cast(Plain, thing.item())
    if thing is None or isinstance(thing, bool | int | float | str | np.ndarray):
        return thing
    if isinstance(thing, tuple | list):
        return [described(item) for item in thing]
    if isinstance(thing, dict):
        return {str(key): described(item) for key, item in thing.items()}
    if isinstance(thing, StrategySet):
        return repr(thing)
    if isinstance(thing, NormalFormGame | ExtensiveFormGame | PublicGame):
        return fingerprint(thing)
    if isinstance(thing, np.random.Generator):
        return {_KIND: _GENERATOR, "bits": type(thing.bit_generator).__name__}
    if callable(thing) and not isinstance(thing, Stateful):
        return "a function"
    try:
        built_from = {*inspect.signature(type(thing)).parameters}
    except ValueError:
        return {_KIND: kind_of(thing)}  # without a signature
    built_from |= {name.partition("[")[0].lstrip("_") for name, _ in parts(thing)}
    held = [(name.lstrip("_"), value) for name, value in attributes(thing)]
    return {
        _KIND: kind_of(thing),
        **{name: described(value) for name, value in held if name in built_from},
    }


def difference(saved: object, current: object, place: str) -> str | None:
    """Say where two descriptions first differ, and how; None if they do not."""
    pairs: list[tuple[str, object, object]] | None = None
    if isinstance(saved, dict) and isinstance(current, dict):
        kinds = saved.get(_KIND), current.get(_KIND)
        if saved.keys() == current.keys() and _are_equal(*kinds):
            pairs = [(f"{place}.{name}", saved[name], current[name]) for name in current]
    elif isinstance(saved, list) and isinstance(current, list):
        if len(saved) == len(current):
            pairs = [(f"{place}[{n}]", saved[n], current[n]) for n in range(len(current))]
    elif _are_equal(saved, current):
        pairs = []
    if pairs is not None:
        found = (difference(given, expected, name) for name, given, expected in pairs)
        return next(filter(None, found), None)
    return (
        f"{place} was {shown(saved)} when the checkpoint was written, but is {shown(current)} now"
    )


def _are_equal(saved: object, current: object) -> bool:
    if isinstance(saved, np.ndarray) or isinstance(current, np.ndarray):
        return type(saved) is type(current) and np.array_equal(cast(Any, saved), cast(Any, current))
    return bool(saved == current or (saved != saved and current != current))


def shown(description: object, depth: int = 3) -> str:
    """Return a description as messages show it."""
    if isinstance(description, dict) and _KIND in description:
        arguments = ", ".join(
            f"{name}={shown(value, depth - 1) if depth else '...'}"
            for name, value in description.items()
            if name != _KIND
        )
        return shorten(f"{description[_KIND]}({arguments})")
    return quote(description, 60)


def rebuilt(description: object, base: type) -> object:
    """Build again what is described, where it is of this library; None where it is not."""
    known = {kind.__qualname__: kind for kind in subclasses(base) if _is_ours(kind)}
    if not isinstance(description, dict) or description.get(_KIND) not in known:
        return None
    arguments = {name: _argument(value) for name, value in description.items() if name != _KIND}
    return known[description[_KIND]](**arguments)


def subclasses(base: type) -> Iterator[type]:
    """Yield everything that is built on a class, however far from it."""
    kinds: Sequence[type[object]] = base.__subclasses__()
    for kind in kinds:
        yield kind
        yield from subclasses(kind)


def _argument(value: object) -> object:
    if not isinstance(value, dict) or _KIND not in value:
        return value
    if value[_KIND] != _GENERATOR:
        part = rebuilt(value, Baseline)
        if part is None:
            raise ValueError(f"{shown(value)} is not one of regretkit's; pass what it is a part of")
        return part
    if value["bits"] not in _BITS:
        raise ValueError(f"there is no generator of {quote(value['bits'])}; pass what it draws for")
    return np.random.Generator(getattr(np.random, value["bits"])())


# Runs

Run = TypeVar("Run", bound="SelfPlay")
Built = TypeVar("Built", bound="SelfPlay | LazyMCCFR")

PARTS = {"order": Order, "averaging": Averaging, "estimator": Estimator}
_ENTRIES = {"game", "built", "callbacks", "state"}
_BUILT = {*PARTS, "minimizers", "horizon", "engine"}
_BUILT_BY_RULES = {*PARTS, "rules", "horizon"}
"""Of a run without a tree."""


class RunOptions(TypedDict, total=False):
    """What need not be taken from a file, and the callbacks whose state is restored with a run."""

    order: Order
    averaging: Averaging
    estimator: Estimator
    engine: str
    callbacks: Iterable[Callback]


@define(eq=False)
class _Whole(Stateful):
    """A run and its callbacks; their states are restored together or not at all."""

    run: "SelfPlay | None"
    callbacks: Sequence[Stateful]


def write_run(
    path: FilePath,
    game: Mapping[str, str | None],
    built: Mapping[str, Any],
    state: Mapping[str, Any],
    callbacks: Iterable[Callable[..., object]],
) -> None:
    """Write what makes a run, its state, and what callbacks have written down, into a file."""
    watching = _stateful(callbacks)
    for place, item in _written(tuple(watching), "callbacks"):
        leaf = item is None or isinstance(item, bool | int | float | str | np.generic)
        if not leaf and not (isinstance(item, np.ndarray) and item.dtype != object):
            raise TypeError(
                f"{place} is {shown(item)}, which a checkpoint cannot hold; write down numbers, "
                "texts or arrays, or leave this callback out"
            )
    content: dict[str, Any] = {
        "game": game,
        "built": built,
        "callbacks": [kind_of(callback) for callback in watching],
        "state": {"run": state, **_Whole(None, watching).state_dict()},
    }
    replace_file(path, pieces(content))


def built_parts(run: object) -> dict[str, Any]:
    """Describe the order, the averaging and the estimator of a run, or refuse one without state."""
    for name in PARTS:
        part = getattr(run, name)
        draws = any(isinstance(held, np.random.Generator) for _, held in attributes(part))
        if draws and not isinstance(part, Stateful):
            raise TypeError(
                f"{name} draws at random, but {quote(part)} has no state that could be saved, and "
                "so this run cannot be; let its class derive from regretkit.play.Stateful"
            )
    return {name: described(getattr(run, name)) for name in PARTS}


def _stateful(callbacks: Iterable[Callable[..., object]]) -> list[Stateful]:
    watching: list[object] = [*as_callbacks(callbacks)]
    return [callback for callback in watching if isinstance(callback, Stateful)]


def _written(value: object, place: str) -> Iterator[tuple[str, object]]:
    """Yield the items of lists that callbacks and their parts hold, each with its place."""
    if isinstance(value, list):
        yield from ((f"{place}[{number}]", item) for number, item in enumerate(value))
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _written(item, f"{place}[{number}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _written(item, f"{place}[{key!r}]")
    elif isinstance(value, Stateful):
        for name, item in attributes(value):
            yield from _written(item, f"{place}.{name}")


@frozen
class SavedRun:
    """What was read from a file."""

    path: str
    size: int
    """Number of bytes of the file."""
    game: Mapping[str, str | None]
    built: Mapping[str, Any]
    callbacks: Sequence[str]
    state: dict[str, Any]

    @classmethod
    def read(cls, path: FilePath) -> "SavedRun":
        """Read a file, or refuse it."""
        data = read_file(path)
        content = unpacked(data, str(path))
        if content.keys() != _ENTRIES or not _is_saved(**content):
            raise ValueError(f"{path} is not what regretkit writes: something else is in it")
        return cls(str(path), len(data), **content)

    @property
    def by_rules(self) -> bool:
        """Whether it is of a run without a tree."""
        return "rules" in self.built

    def require(self, *, by_rules: bool) -> None:
        """Refuse a run of the other kind."""
        if self.by_rules != by_rules:
            kind = "LazyMCCFR" if self.by_rules else "SelfPlay"
            raise ValueError(
                f"{self.path} is a checkpoint of something else; load it by {kind}.load"
            )

    def find_game(self) -> Game:
        """Return the game by its name."""
        return find_described(self.game, self.path, self.size)

    def check_game(self, game: Game | History) -> None:
        """Refuse another game."""
        check_described(game, self.game, self.path)

    def difference(self, built: Mapping[str, object]) -> str | None:
        """Say where parts were built otherwise than those that were saved."""
        found = (difference(self.built[name], part, name) for name, part in built.items())
        return next(filter(None, found), None)

    def start(
        self,
        kind: type[Run],
        game: Game,
        minimizers: Sequence[RegretMinimizer],
        options: RunOptions,
    ) -> Run:
        """Return a run of what is given and what was saved, at the iteration of the file."""
        self.require(by_rules=False)
        engine = options.get("engine", self.built["engine"])
        run: Run = self.build(partial(kind, game, minimizers, engine=engine), game, **options)
        self._restore(run, _stateful(options.get("callbacks", ())))
        return run

    def build(self, make: Callable[..., Built], game: Game | History, **given: Any) -> Built:
        """Return a run of what is given and what was saved, before its first iteration."""
        self.check_game(game)
        built = {name: given.get(name) or self.part(name) for name in PARTS}
        try:
            run = make(horizon=given.get("horizon") or self.built["horizon"], **built)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.path} is of a run that cannot be built: {shorten(str(error))}"
            ) from error
        wrong = self.difference(run._built())
        if wrong is not None:
            raise ValueError(f"{self.path} is of another run: {wrong}; build it as it was")
        return run

    def part(self, name: str) -> Any:
        """Build the order, the averaging or the estimator again."""
        try:
            part = rebuilt(self.built[name], PARTS[name])
        except Exception as error:  # of any class, which got any arguments
            raise ValueError(
                f"{self.path} has {name} that cannot be built: {shorten(str(error))}"
            ) from error
        if part is None:
            raise ValueError(
                f"{self.path} was written with the {name} {shown(self.built[name])}, which is not "
                f"one of regretkit's; pass {name}"
            )
        return part

    def restore_callbacks(self, callbacks: Iterable[Callable[..., object]]) -> None:
        """Give callbacks back what they had written down."""
        watching = _stateful(callbacks)
        self._check_callbacks(watching)
        if watching:
            state = {"callbacks": self.state.get("callbacks")}
            _Whole(None, watching).load_state_dict(cast(Any, state))

    def _check_callbacks(self, watching: Sequence[Stateful]) -> None:
        kinds = [kind_of(callback) for callback in watching]
        if kinds and kinds != self.callbacks:
            raise ValueError(
                f"{self.path} holds what callbacks {self.callbacks} have written down, but those "
                f"passed are {kinds}; pass the same ones, or none"
            )

    def _restore(self, run: "SelfPlay", watching: Sequence[Stateful]) -> None:
        self._check_callbacks(watching)
        state = dict(self.state)
        if not watching:
            state.pop("callbacks", None)
        whole = _Whole(run, watching)
        try:
            whole.load_state_dict(state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path} does not fit this run: {shorten(str(error))}") from error


def _is_saved(game: object, built: Any, callbacks: object, state: object) -> bool:
    if not isinstance(built, dict) or built.keys() not in (_BUILT, _BUILT_BY_RULES):
        return False
    horizon = built["horizon"]
    return (
        is_description(game)
        and isinstance(callbacks, list)
        and all(isinstance(callback, str) for callback in callbacks)
        and isinstance(state, dict)
        and (horizon is None or (type(horizon) is int and 1 <= horizon < 2**63))
    )
