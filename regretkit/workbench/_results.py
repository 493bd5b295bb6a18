"""Results: one file of JSON for each run, whose name and digest tell whether it is what it was."""

import hashlib
import json
import math
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regretkit._util._errors import warn
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote
from regretkit.play import ComparedRun, Comparison

Identity: TypeAlias = dict[str, Any]
"""What determines a result: numbers, strings, and lists and dicts of them."""

_HEAD = b'{"digest": "%s",\n'
"""The first line; the digest is of all bytes behind it."""
_ENTRIES = {"game", "algorithm", "written", "identity", "columns"}


def key_of(identity: Identity) -> str:
    """Return the name of the file of a run, without its ending."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def command_of(identity: Identity) -> str:
    """Return how a shell plays a run again, built from its identity; empty for objects."""
    if not (identity["game"] and identity["algorithm"]):
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
    """Return what was measured, under these names of the game and the algorithm."""
    return ComparedRun(*names, identity["seed"], columns, command=command_of(identity))


def write_run(
    folder: Path, names: tuple[str, str], identity: Identity, columns: Mapping[str, list[Any]]
) -> None:
    """Write the file of a run, in one stroke."""
    content = {
        "game": names[0],
        "algorithm": names[1],
        "written": datetime.now(UTC).isoformat(),
        "identity": identity,
        "columns": columns,
    }
    body = json.dumps(content, allow_nan=False).encode()[1:]
    head = _HEAD % hashlib.sha256(body).hexdigest().encode()
    replace_file(folder / f"{key_of(identity)}.json", [head, body])


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a file, or raise a ValueError where it is not as it was written."""
    head, _, body = read_file(path).partition(b"\n")
    if head + b"\n" != _HEAD % hashlib.sha256(body).hexdigest().encode():
        raise ValueError(f"{path} is damaged, or no result of this version of regretkit")
    content: dict[str, Any] = json.loads(b"{" + body)
    if content.keys() != _ENTRIES or key_of(content["identity"]) != path.stem:
        raise ValueError(f"{path} holds the result of another run")
    return content


def find_run(folder: Path, identity: Identity) -> dict[str, list[Any]] | None:
    """Return what was measured of a run, None where its file is missing or damaged."""
    try:
        content = _read(folder / f"{key_of(identity)}.json")
    except FileNotFoundError:
        return None
    except ValueError as error:
        warn(f"{error}; it is run again")
        return None
    columns: dict[str, list[Any]] = content["columns"]
    return columns


def read_results(folder: FilePath) -> Comparison:
    """Return the runs in a results folder, which ``Experiment.run`` has written.

    Files of other machines may be copied there. Of several runs with the same game, algorithm and
    seed, as after an edit of a rule, the last written counts. A file that is damaged or was renamed
    is left out with a warning.

    Raises
    ------
    OSError
        When there is no such folder, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from regretkit.workbench import Experiment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Experiment("kuhn_poker", "cfr,cfr+", 100).run(folder, workers=0)
    ...     print(read_results(folder))  # doctest: +ELLIPSIS
    game        algorithm  iterations  seconds  nash_conv
    kuhn_poker  cfr               100  ...       0.0...
    kuhn_poker  cfr+              100  ...       0.00...  *
    """
    newest: dict[tuple[str, str, int], dict[str, Any]] = {}
    for path in sorted(Path(folder).iterdir(), key=str):  # paths themselves are compared slowly
        if path.suffix != ".json" or path.name.startswith("."):
            continue
        try:
            content = _read(path)
        except ValueError as error:
            warn(f"{error}; left out")
            continue
        seed = content["identity"]["seed"]
        place = content["game"], content["algorithm"], -1 if seed is None else seed
        if place not in newest or newest[place]["written"] < content["written"]:
            newest[place] = content
    return Comparison(
        [
            run_of((game, algorithm), content["identity"], content["columns"])
            for (game, algorithm, _), content in sorted(newest.items())
        ]
    )


def plain(value: object) -> float | int | None:
    """Return a measured number as JSON holds it."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise TypeError(f"measured {quote(value)}, which is no number")
    number = value.item() if isinstance(value, np.generic) else value
    if not math.isfinite(number):
        raise ValueError(f"measured {number}, which is no finite number")
    return int(number) if isinstance(number, bool | int) else float(number)


def algorithms_of(results: Comparison) -> list[str]:
    """Return the names of the algorithms, in the order of their runs."""
    return list(dict.fromkeys(run.algorithm for run in results.runs))


def measure_of(results: Comparison, x: str, y: str | None) -> str:
    """Return what is measured, or refuse results that lack it."""
    if not results.runs:
        raise ValueError("there are no runs to show")
    y = results.runs[0].measure if y is None else y
    for run in results.runs:
        for name in (x, y):
            if name not in run.columns:
                told = f"{run.algorithm} on {run.game} has no column {quote(name)}"
                raise ValueError(f"{told}, only {', '.join(run.columns)}")
    return y
