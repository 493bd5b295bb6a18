# %% [markdown]
# # Sample a game
#
# An iteration of CFR goes through the whole game.
# Monte Carlo CFR (MCCFR) visits a few histories and estimates the rest without bias, so that early iterations are cheap and noisy.
# Which of them is better depends on how many histories you can visit.

# %%
import numpy as np

import regretkit as rk
from regretkit import display
from regretkit.games import kuhn_poker, leduc_poker
from regretkit.play import (
    AtGeometricSteps,
    ChanceSampling,
    ExactUtility,
    ExternalSampling,
    OutcomeSampling,
    Recorder,
)

# %% [markdown]
# ## Estimates are right on average
#
# Each estimator returns a player's utility vector with an error of mean zero; they differ in its variance, and in how much of the game they visit.

# %%
small = kuhn_poker()
uniform = [domain.relative_interior_point() for domain in small.domains]
exact = ExactUtility().utility(small, 0, uniform)
for kind in (ChanceSampling, ExternalSampling, OutcomeSampling):
    estimator = kind(np.random.default_rng(1))
    mean = np.mean([estimator.utility(small, 0, uniform) for _ in range(1_000)], axis=0)
    variance = estimator.variance(small, 0, uniform).sum()
    print(
        f"{kind.__name__:<17} visits {estimator.visited / 1_000:4.1f} histories, "
        f"variance {variance:5.2f}, error of the mean {abs(mean - exact).max():.3f}"
    )

# %% [markdown]
# ## Leduc poker
#
# Each run visits about as many histories as the exact one does in 30 iterations.

# %%
game = leduc_poker()
sweep = 2 * game.tree.histories  # by each player


def measured(estimator, iterations):
    """Return how NashConv falls with the histories visited."""
    record = Recorder(
        {
            "visited": lambda run: getattr(run.estimator, "visited", sweep * run.iteration),
            "nash_conv": lambda run: rk.nash_conv(run.game, run.average),
        }
    )
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    run = rk.SelfPlay(game, players, estimator=estimator)
    run.run(iterations, callbacks=[AtGeometricSteps(record, ratio=1.5)])
    return record


records = {
    "exact": measured(ExactUtility(), 30),
    "external": measured(ExternalSampling(np.random.default_rng(1)), 15_000),
    "outcome": measured(OutcomeSampling(np.random.default_rng(1)), 40_000),
}
for name, record in records.items():
    print(
        f"{name:<9} {record.values['visited'][-1]:>8} histories, NashConv {record.values['nash_conv'][-1]:.3f}"
    )

# %%
axes = display.convergence(records, x="visited", title="Leduc poker")

# %% [markdown]
# External sampling is ahead here: by the time exact CFR has done its first iterations, it has done thousands.
# Outcome sampling visits one history in each iteration, and pays for it with variance.
