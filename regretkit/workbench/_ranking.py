"""Rankings of algorithms over games, with tests of significance."""

import math
from collections.abc import Mapping
from statistics import median

import numpy as np
from attrs import frozen

from regretkit.display._style import number
from regretkit.workbench._comparison import Comparison

_LEAST = float(np.finfo(np.float64).eps)
"""Smaller gaps are rounding errors and count as equal."""
_DIGITS = 9
"""Decimal places at which logarithms of gaps are compared."""


@frozen
class Ranking:
    """Algorithms by their average ranks over games, with the tests of Demsar (2006).

    Examples
    --------
    >>> from regretkit.games import blotto, kuhn_poker, leduc_poker
    >>> from regretkit import compare
    >>> games = [blotto(), kuhn_poker(), leduc_poker()]
    >>> found = ranking(compare(games, ["cfr", "cfr+", "dcfr"], 100))
    >>> print(found)
    average rank  algorithm
            1.33  dcfr
            1.67  cfr+
            3.00  cfr
    3 algorithms by nash_conv on 3 games; Friedman test: statistic 4.67, p = 0.097
    Nemenyi test: ranks differ at level 0.05 where they are 1.91 apart
    """

    measure: str
    level: float
    """The level of significance."""
    games: tuple[str, ...]
    """The games with results of all algorithms."""
    ranks: Mapping[str, float]
    """The average rank of each algorithm, the best first. Rank 1 is the smallest gap."""
    statistic: float
    """Friedman's statistic, corrected for ties."""
    p_value: float
    """The p-value of the hypothesis that all algorithms are equal."""
    critical_difference: float
    """The least significant difference of average ranks, by Nemenyi's test."""

    def __str__(self) -> str:
        lines = ["average rank  algorithm"]
        lines += [f"{rank:12.2f}  {name}" for name, rank in self.ranks.items()]
        lines += [
            f"{len(self.ranks)} algorithms by {self.measure} on {len(self.games)} games; "
            f"Friedman test: statistic {self.statistic:.3g}, p = {self.p_value:.3g}",
            f"Nemenyi test: ranks differ at level {number(self.level)} where they are "
            f"{self.critical_difference:.3g} apart",
        ]
        return "\n".join(lines)


def ranking(results: Comparison, *, y: str | None = None, level: float = 0.05) -> Ranking:
    """Rank algorithms on every game, and test whether their average ranks differ.

    On each game, algorithms are ranked by the median over seeds of the last value. Gaps that agree
    in nine digits, or are both below 2e-16, share the mean rank. With k algorithms, n games and
    r[i, j] the rank of algorithm j on game i, Friedman's statistic is

        (k - 1) sum_j (sum_i r[i, j] - n (k + 1) / 2)^2  /  sum_ij (r[i, j] - (k + 1) / 2)^2

    If all algorithms are equal, its distribution is approximately chi-squared with k - 1 degrees of
    freedom. By Nemenyi's test, two average ranks differ significantly if their difference exceeds

        q sqrt(k (k + 1) / (6 n))

    with q the quantile of the studentized range, divided by sqrt(2). The tests assume that games
    are independent samples. Versions of one game are not.

    Parameters
    ----------
    results
        From ``Experiment.run`` or ``read_results``. Games that start at equilibrium or lack results
        of an algorithm are ignored.
    y
        The measure, smaller is better; by default the first one.
    level
        The level of significance, above 0 and below 1.

    Examples
    --------
    >>> from regretkit.games import blotto, kuhn_poker
    >>> from regretkit import compare
    >>> found = ranking(compare([kuhn_poker(), blotto()], ["cfr", "cfr+"], 100))
    >>> found.ranks["cfr+"], round(found.p_value, 3)
    (1.0, 0.157)

    References
    ----------
    Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", Journal of
    Machine Learning Research 7.
    """
    from scipy import stats

    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number above 0 and below 1, got {level}")
    y, names = results.measure(y=y), results.present()
    equal = results.at_equilibrium(y)
    lasts = {
        game: [median(columns[y][-1] for columns in curves[name]) for name in names]
        for game, curves in results.curves().items()
        if all(name in curves for name in names) and game not in equal
    }
    if len(names) < 2 or len(lasts) < 2:
        given = f"{len(names)} algorithms, and {len(lasts)} games with results of all"
        raise ValueError(f"a ranking needs at least two algorithms and two games, got {given}")
    values = np.log(np.maximum(np.array([*lasts.values()]), _LEAST))
    n, k = values.shape
    ranks = stats.rankdata(values.round(_DIGITS), axis=1)
    mean, spread = ranks.mean(axis=0), float(((ranks - (k + 1) / 2) ** 2).sum())
    squares = (k - 1) * float(((n * (mean - (k + 1) / 2)) ** 2).sum())
    statistic = squares / spread if spread else 0.0
    quantile = float(stats.studentized_range.ppf(1.0 - level, k, math.inf)) / math.sqrt(2.0)
    order = np.argsort(mean, kind="stable")
    return Ranking(
        measure=y,
        level=level,
        games=tuple(lasts),
        ranks={names[j]: float(mean[j]) for j in order},
        statistic=statistic,
        p_value=float(stats.chi2.sf(statistic, k - 1)),
        critical_difference=quantile * math.sqrt(k * (k + 1) / (6 * n)),
    )
