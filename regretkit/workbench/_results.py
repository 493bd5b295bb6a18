"""Results that stay: a folder with a file of JSON for each run, named by what determines it.

JSON needs no other package, keeps every bit of a number, and is read in 0.1 ms; a run has some
forty measurements, of which the schema of a columnar file would be larger than its columns.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regretkit._util._errors import warn
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote
from regretkit.play import ComparedRun, Comparison

FORMAT = 1
Identity: TypeAlias = Mapping[str, Any]
"""What determines the result of a run; plain numbers, texts, and lists and dicts of them."""


def key_of(identity: Identity) -> str:
    """Return the name of the file of a run, without its ending."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def digest(value: object) -> str:
    """Return 32 hexadecimal digits that identify numbers, texts, arrays, and what holds them."""
    found = hashlib.sha256()
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += [each for name in sorted(part) for each in (part[name], name)]
            part = len(part)
        elif isinstance(part, list | tuple):
            waiting += part[::-1]
            part = [len(part)]
        elif isinstance(part, np.ndarray):
            found.update(np.ascontiguousarray(part).data)
            part = (part.dtype.str, part.shape)
        elif isinstance(part, np.generic):
            part = part.item()
        if isinstance(part, float) and part.is_integer():  # alpha=2 is alpha=2.0
            part = int(part)
        found.update(f"{type(part).__name__} {part!r};".encode(errors="surrogatepass"))
    return found.hexdigest()[:32]


def write_run(folder: Path, run: ComparedRun, identity: Identity) -> None:
    """Write the file of a run, in one stroke."""
    content = {
        "format": FORMAT,
        "written": datetime.now(UTC).isoformat(),
        "game": run.game,
        "algorithm": run.algorithm,
        "seed": run.seed,
        "command": run.command,
        "identity": identity,
        "columns": run.columns,
    }
    text = json.dumps(content, allow_nan=False)
    replace_file(folder / f"{key_of(identity)}.json", [text.encode()])


def _content(path: Path) -> dict[str, Any]:
    """Return the content of a file, or refuse one that is damaged or of another version."""
    try:
        content = json.loads(read_file(path))
        version = content["format"]
        if version == FORMAT:
            columns, texts = content["columns"], ("game", "algorithm", "written")
            whole = key_of(content["identity"]) == path.stem and columns["iteration"]
            whole = whole and all(isinstance(content[name], str) for name in texts)
            if not whole or len({*map(len, columns.values())}) > 1:
                raise ValueError("its content does not belong to its name")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {quote(str(error))}") from error
    if version != FORMAT:
        raise OtherVersionError(
            f"{path} was written by another version of regretkit, in format {quote(version)}, and "
            f"this one reads {FORMAT}; use that version, or another folder"
        )
    return dict(content)


class OtherVersionError(ValueError):
    """A file has the format of another version."""


def refuse_other_version(folder: Path) -> None:
    """Refuse to write into a folder whose results are of another version."""
    for path in islice(folder.glob("*.json"), 1):  # which tells for all
        try:
            _content(path)
        except OtherVersionError:
            raise
        except (OSError, ValueError):
            continue  # it is run again


def find_run(folder: Path, key: str) -> dict[str, list[Any]] | None:
    """Return what was measured of a run, None where its file is missing or damaged."""
    path = folder / f"{key}.json"
    try:
        columns: dict[str, list[Any]] = _content(path)["columns"]
    except FileNotFoundError:
        return None
    except OtherVersionError:
        raise
    except ValueError as error:
        warn(f"{error}; it is run again")
        return None
    return columns


def read_results(folder: FilePath) -> Comparison:
    """Return the runs in a results folder, which ``Experiment.run`` has written.

    Files of other people's machines may have been copied there. Of runs of the same game,
    algorithm and seed, as there are where a rule was edited in between, the last written counts.

    Raises
    ------
    OSError
        When there is no such folder, or it cannot be read.
    ValueError
        When a file is of another version. One that is damaged is left out, with a warning.

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
    damaged: list[str] = []
    for path in sorted(Path(folder).iterdir(), key=str):  # paths themselves are compared slowly
        if path.suffix != ".json" or path.name.startswith("."):
            continue
        try:
            content = _content(path)
        except OtherVersionError:
            raise
        except ValueError as error:
            damaged.append(str(error))
            continue
        seed = content["seed"]
        place = content["game"], content["algorithm"], -1 if seed is None else seed
        if place not in newest or newest[place]["written"] < content["written"]:
            newest[place] = content
    if damaged:
        more = f"; and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        warn(f"{damaged[0]}{more}; left out")
    names = ("game", "algorithm", "seed", "columns", "command")
    return Comparison(
        [
            ComparedRun(**{name: content[name] for name in names if name in content})
            for _, content in sorted(newest.items())
        ]
    )


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


def plain(value: object) -> float | int | None:
    """Return a measured number as JSON holds it, or refuse what is none."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise TypeError(f"measured {quote(value)}, which is no number")
    number = value.item() if isinstance(value, np.generic) else value
    if not math.isfinite(number):
        raise ValueError(f"measured {number}, which is no finite number")
    return int(number) if isinstance(number, bool | int) else float(number)
