"""Monte Carlo CFR with and without baselines: Schmid et al. (2019).

The paper uses Leduc poker. Its baselines are by information set and action; here they are by
history. The average here is the exact average of all strategies.
"""

from statistics import fmean, variance

import numpy as np
from rebuild import Found, Paper, times

from regretkit import solve
from regretkit.games import leduc_poker
from regretkit.play import LearnedBaseline, OutcomeSampling

PLAIN, LEARNED = "Outcome sampling", "Outcome sampling, baseline"
PLUS, PLUS_LEARNED = "CFR+, outcome sampling", "CFR+, outcome sampling, baseline"


def faster(found: Found) -> tuple[bool, str]:
    """Compare the histories visited to the last gap without a baseline."""
    ratios = {}
    for game in found.games():
        gap = found.last(game, PLAIN)
        visited = [found.needed(game, name, gap, "visited") for name in (PLAIN, LEARNED)]
        ratios[game] = visited[0] / visited[1]
    return ratios["Leduc poker"] >= 10.0, f"times fewer histories: {times(ratios)}"


def with_plus(found: Found) -> tuple[bool, str]:
    """Compare sampled CFR+ with sampled CFR, each with a baseline, and CFR+ without."""
    with_baseline = {g: found.last(g, LEARNED) / found.last(g, PLUS_LEARNED) for g in found.games()}
    without = {g: found.last(g, PLAIN) / found.last(g, PLUS) for g in found.games()}
    told = f"{times(with_baseline)}; without a baseline: {times(without)}"
    return with_baseline["Leduc poker"] > 1.0, f"gap of CFR over that of CFR+: {told}"


def variances(found: Found, draws: int = 1_000) -> tuple[bool, str]:
    """Compare the variance of the sampled value of a strategy of Leduc poker."""
    del found  # a question about one strategy
    game, spread = leduc_poker(), {}
    profile = solve(game, "cfr+", iterations=50).average
    for name, baseline in ((PLAIN, None), (LEARNED, LearnedBaseline())):
        estimator = OutcomeSampling(np.random.default_rng(0), baseline=baseline)
        for _ in range(20 * draws if baseline else 0):
            estimator.utility(game, 0, profile)
        values = [float(estimator.utility(game, 0, profile) @ profile[0]) for _ in range(draws)]
        spread[name] = variance(values, fmean(values))
    ratio = spread[PLAIN] / spread[LEARNED]
    return ratio >= 1e3, f"the variance is {ratio:.3g} times as large without a baseline"


PAPER = Paper(
    name="variance",
    source='Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling (2019), "Variance reduction in '
    "Monte Carlo counterfactual regret minimization (VR-MCCFR) for extensive form games using "
    'baselines", AAAI, arXiv:1809.03057',
    games={"Kuhn poker": "kuhn_poker", "Leduc poker": "leduc_poker"},
    algorithms={
        "External sampling": "mccfr",
        PLAIN: "cfr(sampling=outcome)",
        LEARNED: "cfr(sampling=outcome-baseline)",
        PLUS: "cfr+(sampling=outcome)",
        PLUS_LEARNED: "cfr+(sampling=outcome-baseline)",
    },
    iterations=1_000_000,
    seeds=3,
    drawn=("visited", "nash_conv"),
    says={
        "A baseline speeds outcome sampling up by an order of magnitude.": faster,
        "The variance decreases by three orders of magnitude.": variances,
        "With a baseline, CFR+ is faster than CFR with samples too.": with_plus,
    },
    small=(["Kuhn poker", "Leduc poker"], 300),
)

if __name__ == "__main__":
    PAPER.main()
