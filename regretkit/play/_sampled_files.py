"""Files of self-play without a tree."""

import ast
from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regretkit._files import FilePath, replace_file
from regretkit.circuits.cfr import local_minimizer
from regretkit.play._container import packed, unpacked
from regretkit.play._describing import described, difference
from regretkit.play._points import Point
from regretkit.sets import Simplices

if TYPE_CHECKING:
    from regretkit.play.sampled_self_play import SampledSelfPlay

_KIND = "self-play without a tree"


def save_points(run: "SampledSelfPlay", path: FilePath) -> None:
    """Write a run into a file."""
    content: dict[str, Any] = {
        "kind": _KIND,
        "built": _built(run),
        "iteration": run.iteration,
        "roots": list(run._roots),
        "estimator": run.estimator.state_dict(),
        "met": [_saved(list(own.values())) for own in run._unfolding.met],
    }
    replace_file(path, list(packed(content)))


def _built(run: "SampledSelfPlay") -> dict[str, Any]:
    """Return what must be the same when the file is read again."""
    return {
        "order": described(run.order),
        "averaging": described(run.averaging),
        "estimator": described(run.estimator),
        "rule": described(local_minimizer(run.rule, Simplices(2))),
        "horizon": run.horizon,
        "players": run.players,
    }


def _saved(points: Sequence[Point]) -> dict[str, Any]:
    """Return information sets in the order in which they were met."""
    numbers = {id(point): number for number, point in enumerate(points)}
    return {
        "keys": [_text(point.key) for point in points],
        "actions": [_text(point.actions) for point in points],
        "before": np.array([numbers.get(id(point.before), -1) for point in points], dtype=np.int64),
        "via": np.array([point.via for point in points], dtype=np.int64),
        "seen": np.array([point.seen for point in points]),
        "total": np.array([share for point in points for share in point.total]),
        "learned": [point.saved() for point in points],
    }


def _text(thing: Hashable) -> str:
    text = repr(thing)
    try:
        if ast.literal_eval(text) == thing:
            return text
    except (ValueError, SyntaxError):
        pass
    raise TypeError(
        f"{text} names an information set or an action, and a file can only hold names made of "
        "texts, numbers, truth values and tuples; let information_set and actions return such"
    )


def load_points(run: "SampledSelfPlay", path: FilePath) -> None:
    """Put a run back that was made the same way."""
    what = str(path)
    content = unpacked(Path(path).read_bytes(), what)
    if content.get("kind") != _KIND:
        raise ValueError(f"{what} is a checkpoint of something else; load it as what wrote it")
    found = difference(content["built"], _plain(_built(run)), "run")
    if found is not None:
        raise ValueError(f"{what} is of another run: {found}")
    run.iteration = int(content["iteration"])
    run._roots = [float(root) for root in content["roots"]]
    run.estimator.load_state_dict(content["estimator"])
    for player, saved in enumerate(content["met"]):
        run._unfolding.met[player] = _points(run, player, saved)


def _points(run: "SampledSelfPlay", player: int, saved: dict[str, Any]) -> dict[Hashable, Point]:
    points: list[Point] = []
    fields = (saved["keys"], saved["actions"], saved["before"].tolist(), saved["via"].tolist())
    for key, names, before, via in zip(*fields, strict=True):
        place = ast.literal_eval(key), player, ast.literal_eval(names)
        parent = points[before] if before >= 0 else None
        points.append(run._unfolding.maker.make(*place, parent, via))
    ends = [0, *accumulate(len(point.actions) for point in points)]
    totals, rest = saved["total"].tolist(), zip(saved["seen"], saved["learned"], strict=True)
    for point, (first, last), (seen, learned) in zip(points, pairwise(ends), rest, strict=True):
        point.total, point.seen = totals[first:last], float(seen)
        point.restore(learned)
    return {point.key: point for point in points}


def _plain(built: dict[str, Any]) -> dict[str, Any]:
    """Return what a file would hold of it."""
    plain: dict[str, Any] = unpacked(b"".join(map(bytes, packed(built))), "this run")
    return plain
