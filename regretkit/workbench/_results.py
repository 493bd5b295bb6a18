"""Results: one JSON file for each run, with its identity and a digest of all bytes."""

import hashlib
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regretkit._util._errors import warn
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote
from regretkit.workbench._comparison import ComparedRun, Comparison

Identity: TypeAlias = dict[str, Any]
"""Everything that determines a result, as JSON data."""

_HEAD = b'{"digest": "%s",\n'
"""The first line of a file: the digest of all bytes after it."""
LABELS = "labels.txt"
"""Name of the file with the labels of algorithms."""
_ENTRIES = {"game", "algorithm", "place", "written", "identity", "columns"}


def key_of(identity: Identity) -> str:
    """Return the file name of a run, without its ending."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def command_of(identity: Identity) -> str:
    """Return the command that repeats a run; empty if its game or algorithm is an object."""
    if not (identity["game"] and identity["algorithm"] and identity["measures"]):
        return ""
    options = {
        "game": identity["game"],
        "iterations": identity["iterations"],
        "measures": ",".join(identity["measures"]),
        "sample": identity["sampling"],
        "gap": identity["target_gap"],
        "time": identity["time_limit"],
        "seeds": identity["seed"] and identity["seed"] + 1,
        "out": "again",
    }
    words = [f"--{name}={value}" for name, value in options.items() if value]
    words += ["--imperfect-recall"] * bool(identity["imperfect_recall"])
    return shlex.join(["regretkit", "bench", *words, "--", identity["algorithm"]])


def run_of(
    names: tuple[str, str], identity: Identity, columns: Mapping[str, list[Any]]
) -> ComparedRun:
    """Return a run, with the names of its game and its algorithm."""
    return ComparedRun(*names, identity["seed"], columns, command_of(identity))


def write_run(
    folder: Path,
    names: tuple[str, str],
    place: Sequence[Any],
    identity: Identity,
    columns: Mapping[str, list[Any]],
) -> None:
    """Write the file of a run; ``place`` is the experiment's time, and the run's place there."""
    content = {
        "game": names[0],
        "algorithm": names[1],
        "place": place,
        "written": datetime.now(UTC).isoformat(),
        "identity": identity,
        "columns": columns,
    }
    body = json.dumps(content, allow_nan=False).encode()[1:]
    head = _HEAD % hashlib.sha256(body).hexdigest().encode()
    replace_file(folder / f"{key_of(identity)}.json", [head, body])


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a file, or raise a ValueError if it is damaged."""
    head, _, body = read_file(path).partition(b"\n")
    if head + b"\n" != _HEAD % hashlib.sha256(body).hexdigest().encode():
        raise ValueError(f"{path} is damaged, or not a result of this version of regretkit")
    content: dict[str, Any] = json.loads(b"{" + body)
    if content.keys() != _ENTRIES or key_of(content["identity"]) != path.stem:
        raise ValueError(f"{path} holds the result of another run")
    return content


def find_run(folder: Path, names: tuple[str, str], identity: Identity) -> ComparedRun | None:
    """Return the run with an identity, or None if its file is missing or damaged."""
    try:
        return run_of(names, identity, _read(folder / f"{key_of(identity)}.json")["columns"])
    except FileNotFoundError:
        return None
    except ValueError as error:
        warn(f"{error}; the run is repeated")
        return None


def labels_in(folder: FilePath) -> dict[str, str]:
    """Return the label of each algorithm, from lines ``name=label`` in a results folder."""
    path = Path(folder, LABELS)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.rpartition("=") for line in lines if "=" in line)
    return {name: label for name, _, label in pairs}


def write_labels(folder: FilePath, labels: Mapping[str, str]) -> None:
    """Add labels to those in a results folder."""
    text = "".join(f"{name}={label}\n" for name, label in {**labels_in(folder), **labels}.items())
    Path(folder).mkdir(parents=True, exist_ok=True)
    replace_file(Path(folder, LABELS), [text.encode()])


def read_results(folder: FilePath) -> Comparison:
    """Return the runs that ``Experiment.run`` wrote to a folder.

    Games and algorithms keep the order of their first experiment. You may copy files from other
    machines into the folder. Of several runs with the same game, algorithm and seed, such as after
    an edit of a rule, the newest is used. Damaged or renamed files are skipped with a warning.
    Algorithms have the labels in ``labels.txt``, which the command line writes.

    Examples
    --------
    >>> import tempfile
    >>> from regretkit.workbench import Experiment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Experiment("kuhn_poker", "cfr+,cfr", 100).run(folder, workers=0)
    ...     print(read_results(folder))  # doctest: +ELLIPSIS
    game        algorithm  iterations  seconds  nash_conv
    kuhn_poker  cfr+              100  ...       0.00...  *
    kuhn_poker  cfr               100  ...       0.0...
    """
    contents, first = list[dict[str, Any]](), dict[tuple[str, str], Any]()
    for path in Path(folder).iterdir():
        if path.suffix == ".json" and not path.name.startswith("."):
            try:
                contents.append(_read(path))
            except ValueError as error:
                warn(f"{error}; skipped")
    for content in contents:
        begun, *places = content["place"]
        for kind, place in zip(("game", "algorithm"), places, strict=True):
            key = kind, content[kind]
            first[key] = min(first.get(key, (begun, place)), (begun, place))
    contents.sort(key=lambda content: content["written"])
    newest = {(c["game"], c["algorithm"], c["identity"]["seed"]): c for c in contents}

    def order(name: tuple[str, str, int | None]) -> Any:
        game, algorithm, seed = name
        return first["game", game], game, first["algorithm", algorithm], algorithm, seed or 0

    runs = [
        run_of(name[:2], newest[name]["identity"], newest[name]["columns"])
        for name in sorted(newest, key=order)
    ]
    algorithms = sorted((place, name) for (kind, name), place in first.items() if kind != "game")
    names = [name for _, name in algorithms]
    labels = {name: label for name, label in labels_in(folder).items() if name in names}
    return Comparison(runs, algorithms=names).only(labels=labels)


def plain(value: object) -> float | int | None:
    """Return a measured value as a number for JSON."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise TypeError(f"measures must return numbers, got {quote(value)}")
    number = value.item() if isinstance(value, np.generic) else value
    if not math.isfinite(number):
        raise ValueError(f"measures must return finite numbers, got {number}")
    return int(number) if isinstance(number, bool | int) else float(number)
