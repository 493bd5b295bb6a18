"""Results, a file of JSON for each run, named by what determines it, and rankings by them.

JSON needs no other package, keeps every bit of a number, and is read in 0.1 ms; a run has some
forty measurements, of which the schema of a columnar file would be larger than its columns.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from regretkit._util._errors import warn
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._validate import above_zero, must_be, quote
from regretkit.display._style import number
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
            waiting += [entry for name in sorted(part) for entry in (part[name], name)]
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
        raise DamagedError(f"{path} is damaged: {quote(str(error))}") from error
    if not isinstance(version, int):
        raise DamagedError(f"{path} is no result of an experiment, but a {quote(version)}")
    if version != FORMAT:
        raise ValueError(
            f"{path} was written by another version of regretkit, in format {quote(version)}, and "
            f"this one reads {FORMAT}; use that version, or another folder"
        )
    return dict(content)


class DamagedError(ValueError):
    """A file is no result, and its run is run again; another error is of another version."""


def refuse_other_version(folder: Path) -> None:
    """Refuse to write into a folder whose results are of another version."""
    for path in islice(folder.glob("*.json"), 1):  # which tells for all
        with suppress(OSError, DamagedError):
            _content(path)


def find_run(folder: Path, key: str) -> dict[str, list[Any]] | None:
    """Return what was measured of a run, None where its file is missing or damaged."""
    try:
        columns: dict[str, list[Any]] = _content(folder / f"{key}.json")["columns"]
    except FileNotFoundError:
        return None
    except DamagedError as error:
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
        except DamagedError as error:
            damaged.append(str(error))
            continue
        seed = content["seed"]
        place = content["game"], content["algorithm"], -1 if seed is None else seed
        if place not in newest or newest[place]["written"] < content["written"]:
            newest[place] = content
    if damaged:
        remaining = f"; and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        warn(f"{damaged[0]}{remaining}; left out")
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


_LEAST = float(np.finfo(np.float64).eps)
"""Smaller gaps are rounding errors, and equal."""
_DIGITS = 9
"""Those of logarithms that count."""


@frozen
class Ranking:
    """Algorithms by their average ranks over games, with the tests of Demsar (2006).

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, leduc_poker, matching_pennies
    >>> from regretkit.play import compare
    >>> games = [kuhn_poker(), leduc_poker(), matching_pennies()]
    >>> found = ranking(compare(games, ["cfr", "cfr+", "dcfr"], 100))
    >>> print(found)
    average rank  algorithm
            1.67  cfr+
            1.67  dcfr
            2.67  cfr
    3 algorithms by nash_conv on 3 games; Friedman test: statistic 3, p = 0.223
    Nemenyi test: ranks differ at level 0.05 where they are 1.91 apart
    Wilcoxon signed-rank tests, corrected by Holm: no two differ at level 0.05
    """

    measure: str
    level: float
    """The level of significance."""
    games: tuple[str, ...]
    """Those on which all algorithms were run."""
    ranks: Mapping[str, float]
    """The average rank of each algorithm, the best first; 1 is the smallest gap, ties share."""
    statistic: float
    """Friedman's, corrected for ties."""
    p_value: float
    """Of the hypothesis that all algorithms are alike."""
    critical_difference: float
    """Average ranks that are so far apart differ significantly by Nemenyi's test."""
    pairs: Mapping[tuple[str, str], float]
    """By Wilcoxon's test, a p-value for each two algorithms, corrected by Holm's method."""

    def __str__(self) -> str:
        pairs = [f"{a} < {b} (p = {p:.2g})" for (a, b), p in self.pairs.items() if p < self.level]
        told = ", ".join(pairs) or f"no two differ at level {number(self.level)}"
        return "\n".join(
            [
                "average rank  algorithm",
                *(f"{rank:12.2f}  {name}" for name, rank in self.ranks.items()),
                f"{len(self.ranks)} algorithms by {self.measure} on {len(self.games)} games; "
                f"Friedman test: statistic {self.statistic:.3g}, p = {self.p_value:.3g}",
                f"Nemenyi test: ranks differ at level {number(self.level)} where they are "
                f"{self.critical_difference:.3g} apart",
                f"Wilcoxon signed-rank tests, corrected by Holm: {told}",
            ]
        )

    def __repr__(self) -> str:
        return f"<Ranking of {len(self.ranks)} algorithms on {len(self.games)} games>"

    def groups(self) -> list[list[str]]:
        """Return the largest sets of neighbors that Nemenyi's test does not tell apart."""
        names, found = [*self.ranks], list[list[str]]()
        for first, best in enumerate(names):
            group = [
                name
                for name in names[first:]
                if self.ranks[name] - self.ranks[best] < self.critical_difference
            ]
            if len(group) > 1 and not (found and group[-1] == found[-1][-1]):
                found.append(group)
        return found


def ranking(results: Comparison, *, y: str | None = None, level: float = 0.05) -> Ranking:
    """Rank algorithms on every game, and test whether their average ranks differ.

    On each game, algorithms are ranked by the median over seeds of what was measured last, with
    equal ranks for ties: gaps equal to nine digits, or both below 2e-16. With k algorithms, n games
    and r[i, j] the rank of algorithm j on game i, Friedman's statistic is

        (k - 1) sum_j (sum_i r[i, j] - n (k + 1) / 2)^2  /  sum_ij (r[i, j] - (k + 1) / 2)^2

    which has about the distribution chi-squared with k - 1 degrees of freedom if all algorithms are
    alike. Average ranks differ by Nemenyi's test where they are apart by

        q sqrt(k (k + 1) / (6 n))

    with q the quantile of the studentized range over sqrt(2). Two algorithms are compared as well
    by Wilcoxon's test, of the ratios of their gaps, for units of payoff differ between games; its
    p-values are corrected by Holm's method.

    The tests take games as independent samples. Many versions of one game are not.

    Parameters
    ----------
    results
        What ``Experiment.run`` or ``read_results`` returned. Games on which an algorithm has no
        result do not count.
    y
        The measure, of which less is better; by default the first one.
    level
        The level of significance, above 0 and below 1.

    Raises
    ------
    ValueError
        When there are no runs, fewer than two algorithms, or fewer than two games on which all of
        them were run; or the level is out of range.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker, matching_pennies
    >>> from regretkit.play import compare
    >>> found = ranking(compare([kuhn_poker(), matching_pennies()], ["cfr", "cfr+"], 100))
    >>> found.ranks["cfr+"], round(found.p_value, 3)
    (1.25, 0.317)

    References
    ----------
    Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", Journal of
    Machine Learning Research 7.
    """
    from scipy import stats

    above_zero(level, "level")
    if level >= 1.0:
        raise ValueError(must_be("level", "a number above 0 and below 1", level, "pass 0.05"))
    y, names = measure_of(results, "iteration", y), algorithms_of(results)
    lasts = {
        game: [median(columns[y][-1] for columns in curves[name]) for name in names]
        for game, curves in results.curves().items()
        if all(name in curves for name in names)
    }
    if len(names) < 2 or len(lasts) < 2:
        told = f"there are {len(names)} algorithms, and {len(lasts)} games with results of all"
        raise ValueError(f"a ranking is of two algorithms on two games at least; {told}")
    values = np.log(np.maximum(np.array([*lasts.values()]), _LEAST))
    n, k = values.shape
    ranks = stats.rankdata(values.round(_DIGITS), axis=1)
    mean, spread = ranks.mean(axis=0), float(((ranks - (k + 1) / 2) ** 2).sum())
    squares = (k - 1) * float(((n * (mean - (k + 1) / 2)) ** 2).sum())
    statistic = squares / spread if spread else 0.0
    quantile = float(stats.studentized_range.ppf(1.0 - level, k, math.inf)) / math.sqrt(2.0)
    order = np.argsort(mean, kind="stable")
    found = {
        (names[a], names[b]): _wilcoxon((values[:, a] - values[:, b]).round(_DIGITS))
        for a, b in itertools.combinations(order, 2)
    }
    return Ranking(
        measure=y,
        level=level,
        games=tuple(lasts),
        ranks={names[j]: float(mean[j]) for j in order},
        statistic=statistic,
        p_value=float(stats.chi2.sf(statistic, k - 1)),
        critical_difference=quantile * math.sqrt(k * (k + 1) / (6 * n)),
        pairs=dict(zip(found, _holm([*found.values()]), strict=True)),
    )


def _wilcoxon(differences: Any) -> float:
    """Return a p-value, in which half of the ranks of zero differences count on either side."""
    from scipy.stats import wilcoxon

    if not differences.any():
        return 1.0
    tested: Any = wilcoxon(differences, zero_method="zsplit", method="approx")
    return float(tested.pvalue)


def _holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number: times ``m``, ``m - 1``, ..., never falling."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    raised = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * factors), 1.0)
    corrected = np.empty_like(raised)
    corrected[order] = raised
    return [float(p) for p in corrected]
