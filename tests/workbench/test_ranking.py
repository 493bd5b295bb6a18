"""Rankings have the numbers of the paper that their tests are from, and their properties."""

import numpy as np
import pytest
from refusals import refusals
from scipy import stats

from regretkit.workbench import ComparedRun, Comparison, ranking

# Areas under curves of four versions of C4.5 on 14 data sets: Demsar (2006), table 6. On
# the one but last, he ranks the third before the fourth, which are equal to three digits.
DEMSAR = np.fromstring(
    """
    .763 .768 .771 .798   .599 .591 .590 .569   .954 .971 .968 .967   .628 .661 .654 .657
    .882 .888 .886 .898   .936 .931 .916 .931   .661 .668 .609 .685   .583 .583 .563 .625
    .775 .838 .866 .875   1    1    1    1      .940 .962 .965 .962   .619 .666 .614 .669
    .972 .981 .9751 .975  .957 .978 .946 .970
    """,
    sep=" ",
).reshape(14, 4)
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def comparison(gaps, names=NAMES):
    return Comparison(
        [
            ComparedRun(f"game {n}", name, None, {"iteration": [1, 2], "gap": [9.0, gap]})
            for n, row in enumerate(gaps)
            for name, gap in zip(names, row, strict=True)
        ]
    )


def test_the_worked_example_of_demsar_has_his_ranks_and_critical_differences():
    # Ratios of gaps are compared, so that exponentials have his differences.
    found = ranking(comparison(np.exp(-DEMSAR)))
    ranks = {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert list(found.ranks) == list(ranks)
    assert found.ranks == pytest.approx(ranks, abs=5e-4)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranking(comparison(np.exp(-DEMSAR)), level=0.10).critical_difference == pytest.approx(
        1.12, abs=0.005
    )
    # His statistic, 9.28, is without the correction for ties: three pairs, and once all four.
    ties = 1 - (3 * (2**3 - 2) + (4**3 - 4)) / (14 * (4**3 - 4))
    assert found.statistic * ties == pytest.approx(9.28, abs=0.005)


def test_critical_values_are_those_of_demsar_s_table_5():
    for count, q in {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164}.items():
        found = ranking(comparison(np.arange(1.0, 2 * count + 1).reshape(2, -1), range(count)))
        expected = q * np.sqrt(count * (count + 1) / 12)
        assert found.critical_difference == pytest.approx(expected, 4e-4)


def test_the_statistic_is_scipy_s_whose_ties_are_corrected():
    gaps = np.random.default_rng(0).integers(1, 5, (9, 4))
    found, reference = ranking(comparison(gaps)), stats.friedmanchisquare(*gaps.T)
    assert found.statistic == pytest.approx(reference.statistic)
    assert found.p_value == pytest.approx(reference.pvalue)
    assert sum(found.ranks.values()) == pytest.approx(4 * 5 / 2)
    # Units of payoff do not matter, nor the order of algorithms.
    scaled = ranking(comparison(gaps * np.geomspace(1e-3, 1e3, 9)[:, None]))
    turned = ranking(comparison(gaps[:, ::-1], NAMES[::-1]))
    for other in (scaled, turned):
        assert other.ranks == pytest.approx(found.ranks)
        assert other.p_value == pytest.approx(found.p_value)


def test_algorithms_that_are_alike_tie_and_gaps_of_rounding_do_too():
    found = ranking(comparison([[0.5] * 4, [0.0, 1e-17, -1e-18, 0.0]]))
    assert set(found.ranks.values()) == {2.5}
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_games_without_a_result_of_all_do_not_count_and_seeds_are_one_by_their_median():
    seeded = [
        ComparedRun("game 0", "C4.5", seed, {"iteration": [1], "gap": [gap]})
        for seed, gap in enumerate([0.1, 0.2, 9.0])
    ]
    runs = comparison([[0.3, 0.5], [0.1, 0.2], [0.3, 0.4]], NAMES[:2]).runs
    found = ranking(Comparison([*seeded, *runs[1:-1]]))
    assert found.games == ("game 0", "game 1")
    assert found.ranks == {"C4.5": 1.0, "C4.5+m": 2.0}


test_what_cannot_be_ranked_is_refused = refusals(
    (Comparison(), {}, "there are no runs to show"),
    (comparison([[1.0, 2.0]], NAMES[:2]), {}, "got 2 algorithms, and 1 games"),
    (comparison([[1.0], [2.0]], NAMES[:1]), {}, "got 1 algorithms, and 2 games"),
    (comparison(DEMSAR), {"level": 1.0}, "level must be a number above 0 and below 1"),
    (comparison(DEMSAR), {"level": 0.0}, "level must be"),
    (comparison(DEMSAR), {"y": "nash_conv"}, "has no column 'nash_conv'"),
    call=lambda results, options: ranking(results, **options),
    error=ValueError,
)
