"""Files of self-play without a tree."""

import ast
import math
from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import quote, shorten
from regretkit.circuits._cfr import local_minimizer
from regretkit.games._game import ATOL
from regretkit.play._checkpoint_file import packed, unpacked
from regretkit.play._config import described, difference
from regretkit.play._infoset_records import Point
from regretkit.sets import Simplices

if TYPE_CHECKING:
    from regretkit.play._lazy_mccfr import LazyMCCFR

_KIND = "self-play without a tree"
_ENTRIES = {"kind", "built", "iteration", "roots", "estimator", "met", "makers"}
_COLUMNS = {"keys", "actions", "before", "via", "seen", "total", "learned"}


def save_points(run: "LazyMCCFR", path: FilePath) -> None:
    """Write a run into a file."""
    content: dict[str, Any] = {
        "kind": _KIND,
        "built": _built(run),
        "iteration": run.iteration,
        "makers": [maker.saved() for maker in run._unfolding.makers],
        "roots": list(run._roots),
        "estimator": run.estimator.state_dict(),
        "met": [_saved(list(own.values())) for own in run._unfolding.met],
    }
    replace_file(path, list(packed(content)))


def _built(run: "LazyMCCFR") -> dict[str, Any]:
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


def load_points(run: "LazyMCCFR", path: FilePath) -> None:
    """Restore a run that was built in the same way, which is not to be used where this fails."""
    what = str(path)
    content = unpacked(read_file(path), what)
    if content.get("kind") != _KIND:
        raise ValueError(f"{what} is a checkpoint of something else; load it as what wrote it")
    if content.keys() != _ENTRIES:
        raise ValueError(f"{what} is not what regretkit writes: something else is in it")
    found = difference(content["built"], _plain(_built(run)), "run")
    if found is not None:
        raise ValueError(f"{what} is of another run: {found}")
    try:
        _restore(run, content)
    except (TypeError, ValueError, RecursionError, MemoryError, SyntaxError) as error:
        raise ValueError(f"{what} does not fit this run: {shorten(str(error))}") from error


def _restore(run: "LazyMCCFR", content: dict[str, Any]) -> None:
    iteration, roots, met = content["iteration"], content["roots"], content["met"]
    if type(iteration) is not int or not 0 <= iteration < 2**62:
        raise ValueError("iteration must be a number of iterations")
    for name, rows in (("roots", roots), ("met", met), ("makers", content["makers"])):
        if not isinstance(rows, list) or len(rows) != run.players:
            raise ValueError(f"{name} must be a list with an entry for each player")
    if not all(type(root) is float and 0.0 <= root < math.inf for root in roots):
        raise ValueError("roots must be finite numbers, at least 0")
    for maker, saved in zip(run._unfolding.makers, content["makers"], strict=True):
        maker.restore(saved, most=iteration)
    points = [_points(run, player, saved, roots[player]) for player, saved in enumerate(met)]
    # Last, because the estimator is the caller's.
    run.estimator.load_state_dict(content["estimator"])
    run.iteration, run._roots = iteration, roots
    run._unfolding.met[:] = points


def _points(
    run: "LazyMCCFR", player: int, saved: dict[str, Any], root: float
) -> dict[Hashable, Point]:
    _check_columns(saved)
    points: list[Point] = []
    fields = (saved["keys"], saved["actions"], saved["before"].tolist(), saved["via"].tolist())
    for key, names, before, via in zip(*fields, strict=True):
        actions = ast.literal_eval(names)
        if not isinstance(actions, tuple) or not run._unfolding.makers[player].has(len(actions)):
            raise ValueError("actions must be tuples, of a size for which there is a template")
        if not -1 <= before < len(points):
            raise ValueError(f"an information set cannot come after number {before}")
        parent = points[before] if before >= 0 else None
        if not 0 <= via < (1 if parent is None else len(parent.actions)):
            raise ValueError(f"an information set cannot come after action {via}")
        place = ast.literal_eval(key), actions
        points.append(run._unfolding.makers[player].make(*place, parent, via))
    ends = [0, *accumulate(len(point.actions) for point in points)]
    if len(saved["total"]) != ends[-1]:
        raise ValueError("total must have a number for each action")
    totals, rest = saved["total"].tolist(), zip(saved["seen"], saved["learned"], strict=True)
    for point, (first, last), (seen, learned) in zip(points, pairwise(ends), rest, strict=True):
        point.total, point.seen = totals[first:last], float(seen)
        point.restore(learned)
        _check_point(point, root)
    met = {point.key: point for point in points}
    if len(met) < len(points):
        raise ValueError("information sets must differ")
    return met


def _check_columns(saved: object) -> None:
    """Refuse what is no table of information sets."""
    if not isinstance(saved, dict) or saved.keys() != _COLUMNS:
        raise ValueError(f"information sets must have the entries {sorted(_COLUMNS)}")
    lists = [saved[name] for name in ("keys", "actions", "learned")]
    if not all(isinstance(column, list) for column in lists):
        raise ValueError("keys, actions and learned must be lists")
    if not all(isinstance(text, str) for text in [*saved["keys"], *saved["actions"]]):
        raise ValueError("keys and actions must be texts")
    for name, kind in (("before", "i"), ("via", "i"), ("seen", "f"), ("total", "f")):
        column = saved[name]
        if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind != kind:
            raise ValueError(f"{name} must be a vector")
        if not np.isfinite(column).all() or (name in ("seen", "total") and (column < 0.0).any()):
            raise ValueError(f"{name} must hold finite numbers, and no negative sums")


def _check_point(point: Point, root: float) -> None:
    """Refuse sums that no strategies have, and a strategy that is no distribution."""
    reached = root if point.before is None else point.before.total[point.via]
    slack = ATOL * reached
    if point.seen > reached + slack or abs(math.fsum(point.total) - point.seen) > slack:
        raise ValueError(
            f"the sums of strategies at {quote(str(point.key), 60)} do not fit together"
        )
    if not Simplices(len(point.actions)).contains(point.strategy, atol=ATOL):
        raise ValueError(f"what is played at {quote(str(point.key), 60)} must be a distribution")


def _plain(built: dict[str, Any]) -> dict[str, Any]:
    """Return what a file would hold of it."""
    plain: dict[str, Any] = unpacked(b"".join(map(bytes, packed(built))), "this run")
    return plain
