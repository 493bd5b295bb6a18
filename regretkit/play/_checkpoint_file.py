"""Checkpoint files: the algorithm and the state of a run.

A file is an ``.npz`` archive, followed by the SHA-256 of the archive. Its array ``head`` is JSON,
with ``{"<array>": "n"}`` in place of the array named n. Reading a file runs and unpickles nothing.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import fields, frozen
from numpy.typing import NDArray

from regretkit._state import Stateful, attributes, with_parts
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote, shorten
from regretkit.games import fingerprint, load, load_rules, names
from regretkit.play._callbacks import begin

_VERSION = 2
_ARRAY = "<array>"
_DIGEST = 32
"""Number of bytes of a SHA-256."""

Arrays = dict[str, NDArray[np.generic]]


@frozen
class SavedRun:
    """The content of a checkpoint."""

    path: str
    game: Mapping[str, str | None]
    """The game's name and fingerprint."""
    call: Mapping[str, Any] | None
    """The name and sampling of the run's algorithm; None for a run built from parts."""
    options: Mapping[str, Any]
    """The numbers and strings among the arguments of the run's constructor."""
    parts: Sequence[str]
    """Class names of the run and its parts."""
    seconds: float
    callbacks: Sequence[str]
    """Class names of the saved callbacks."""
    state: Mapping[str, Any]

    @classmethod
    def of(cls, run: Any, path: FilePath, callbacks: Iterable[object]) -> "SavedRun":
        """Return the content of a checkpoint of a run and callbacks."""
        run.check_whole()
        game = run.game
        name = getattr(game, "name", None) or repr(getattr(game, "rules", game))
        saved = [callback for callback in callbacks if isinstance(callback, Stateful)]
        return cls(
            path=str(path),
            game={"name": str(name), "fingerprint": fingerprint(game)},
            call=run.call,
            options=_options(run),
            parts=_parts(run),
            seconds=run.seconds,
            callbacks=[type(callback).__qualname__ for callback in saved],
            state={"run": run.state_dict(), "callbacks": [each.state_dict() for each in saved]},
        )

    def write(self) -> None:
        """Write the file atomically."""
        arrays: Arrays = {}
        content = {field.name: getattr(self, field.name) for field in fields(type(self))[1:]}
        head = json.dumps({"version": _VERSION, "content": _flat(content, arrays)})
        file = io.BytesIO()
        np.savez(file, head=np.frombuffer(head.encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        data = file.getbuffer()
        replace_file(self.path, [data, hashlib.sha256(data).digest()])

    @classmethod
    def read(cls, path: FilePath) -> "SavedRun":
        """Read and verify a file."""
        data = memoryview(read_file(path))
        if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
            raise ValueError(f"{path} is not a checkpoint of regretkit, or is damaged")
        try:
            with np.load(io.BytesIO(data[:-_DIGEST]), allow_pickle=False) as archive:
                arrays = dict(archive)
            head = json.loads(arrays.pop("head").tobytes())
            if head["version"] != _VERSION:
                raise ValueError(f"its format has version {head['version']}, not {_VERSION}")
            return cls(path=str(path), **_whole(head["content"], arrays))
        except Exception as error:  # arbitrary bytes can raise errors of any class
            raise ValueError(f"cannot read {path}: {shorten(str(error))}") from error

    def find_game(self) -> Any:
        """Return the game of the catalogue with the name in the file."""
        name = self.game["name"] or ""
        if name.partition("(")[0] not in names():  # load() would also read a file of this name
            raise ValueError(
                f"the game {quote(name)} of {self.path} is not in the catalogue; pass game"
            )
        return load_rules(name) if self.without_tree else load(name)

    @property
    def without_tree(self) -> bool:
        """Whether the run is ``Sampled``."""
        return "SelfPlay" not in self.parts

    def build(self, make: Callable[..., Any], callbacks: Iterable[object], **given: Any) -> Any:
        """Return a run that ``make`` builds, with the state of the file."""
        run = make(**{**self.options, **given})
        if (found := fingerprint(run.game)) != self.game["fingerprint"]:
            raise ValueError(
                f"{self.path} has the game {quote(self.game['name'])} with fingerprint "
                f"{self.game['fingerprint']}, got {quote(run.game)} with {found}"
            )
        if (parts := _parts(run)) != self.parts:
            raise ValueError(f"{self.path} has {', '.join(self.parts)}, not {', '.join(parts)}")
        saved: list[Any] = [each for each in callbacks if isinstance(each, Stateful)]
        kinds = [type(callback).__qualname__ for callback in saved]
        if kinds and kinds != self.callbacks:
            raise ValueError(f"{self.path} has the callbacks {self.callbacks}, not {kinds}")
        begin(saved, run)  # creates the parts of measures, whose state is loaded next
        try:
            run.load_state_dict(self.state["run"])
            for callback, state in zip(saved, self.state["callbacks"], strict=False):
                callback.load_state_dict(state)
            run.seconds = float(self.seconds)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path} does not fit this run: {shorten(str(error))}") from error
        return run


def _parts(run: Any) -> list[str]:
    """Return the class names of a run and its parts; raise a TypeError if one cannot be saved."""
    parts = {name: getattr(run, name) for name in ("order", "averaging", "estimator")}
    for name, part in parts.items():
        draws = any(isinstance(value, np.random.Generator) for _, value in attributes(part))
        if draws and not isinstance(part, Stateful):
            raise TypeError(f"{name} has a random generator and must be Stateful: {quote(part)}")
    rules = [part for minimizer in getattr(run, "minimizers", ()) for part in with_parts(minimizer)]
    classes = [type(part).__qualname__ for part in (run, *rules, *parts.values())]
    return [*dict.fromkeys([*classes, *getattr(run, "rule_names", ())])]


def _options(run: Any) -> dict[str, Any]:
    """Return the constructor's arguments that are numbers, strings or None."""
    given = {field.alias: getattr(run, field.name) for field in fields(type(run)) if field.init}
    return {name: value for name, value in given.items() if isinstance(value, int | str | None)}


def _flat(value: Any, arrays: Arrays) -> Any:
    """Return a value for JSON, and move its arrays to ``arrays``."""
    if isinstance(value, np.ndarray):
        name = f"{len(arrays)}"
        arrays[name] = value
        return {_ARRAY: name}
    if isinstance(value, dict):
        return {key: _flat(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_flat(item, arrays) for item in value]
    return value


def _whole(value: Any, arrays: Arrays) -> Any:
    """Invert ``_flat``."""
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {key: _whole(item, arrays) for key, item in value.items()}
    return [_whole(item, arrays) for item in value] if isinstance(value, list) else value
