"""Results: one JSON file for each run, with its identity and a digest of all bytes."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict

from regretkit._util._errors import warn
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit.workbench._comparison import ComparedRun, Comparison

_HEAD = b'{"digest": "%s",\n'
"""The first line of a file: the digest of all bytes after it."""
_RUN = ("game", "algorithm", "seed", "columns", "identity")


def key_of(identity: Mapping[str, Any]) -> str:
    """Return the file name of a run, without its ending."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def write_run(folder: Path, run: ComparedRun, begun: str, place: tuple[int, int]) -> None:
    """Write the file of a run, with the time of its experiment and its place there."""
    _write(folder, asdict(run) | {"begun": begun, "place": place})


def _write(folder: Path, content: dict[str, Any]) -> None:
    body = json.dumps(content, allow_nan=False).encode()[1:]
    head = _HEAD % hashlib.sha256(body).hexdigest().encode()
    replace_file(folder / f"{key_of(content['identity'])}.json", [head, body])


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a file, or raise a ValueError if it is damaged."""
    head, _, body = read_file(path).partition(b"\n")
    if head + b"\n" != _HEAD % hashlib.sha256(body).hexdigest().encode():
        raise ValueError(f"{path} is damaged, or not a result of this version of regretkit")
    content: dict[str, Any] = json.loads(b"{" + body)
    if content.keys() != {*_RUN, "begun", "place"} or key_of(content["identity"]) != path.stem:
        raise ValueError(f"{path} holds the result of another run")
    return content


def _run_of(content: Mapping[str, Any]) -> ComparedRun:
    return ComparedRun(*(content[name] for name in _RUN))


def find_run(
    folder: Path, names: tuple[str, str], identity: Mapping[str, Any]
) -> ComparedRun | None:
    """Return the run with an identity, or None if its file is missing or damaged.

    The file keeps the last names of the game and the algorithm.
    """
    try:
        content = _read(folder / f"{key_of(identity)}.json")
    except FileNotFoundError:
        return None
    except ValueError as error:
        warn(f"{error}; the run is repeated")
        return None
    if (content["game"], content["algorithm"]) != names:
        content["game"], content["algorithm"] = names
        _write(folder, content)
    return _run_of(content)


def read_results(folder: FilePath) -> Comparison:
    """Return the runs that ``Experiment.run`` wrote to a folder.

    Games and algorithms keep the order of their first experiment. You may copy files from other
    machines into the folder. Of several runs with the same game, algorithm and seed, such as after
    an edit of a rule, the newest is used. Damaged or renamed files are skipped with a warning.

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
    contents = list[dict[str, Any]]()
    for path in Path(folder).iterdir():
        if path.suffix == ".json" and not path.name.startswith("."):
            try:
                contents.append(_read(path))
            except ValueError as error:
                warn(f"{error}; skipped")

    def ordered(kind: str, axis: int) -> list[str]:
        found = sorted(contents, key=lambda c: (c["begun"], c["place"][axis], c[kind]))
        return list(dict.fromkeys(content[kind] for content in found))

    games, algorithms = ordered("game", 0), ordered("algorithm", 1)
    runs = map(_run_of, sorted(contents, key=lambda content: content["begun"]))
    newest = {(games.index(r.game), algorithms.index(r.algorithm), r.seed or 0): r for r in runs}
    return Comparison([newest[key] for key in sorted(newest)], algorithms=algorithms)
