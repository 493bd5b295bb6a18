# %% [markdown]
# # Sample a game
#
# An iteration of CFR visits the whole game.
# Monte Carlo CFR (MCCFR) visits a few histories and estimates the utilities without bias. Its iterations are cheap and noisy.
# The better choice depends on the number of histories that you can visit.

# %%
# %pip install --quiet "regretkit[plot]"

# %%
import numpy as np

import regretkit as rk
from regretkit import display
from regretkit.games import kuhn_poker, leduc_poker
from regretkit.play import (
    At,
    ChanceSampling,
    ExactUtility,
    ExternalSampling,
    OutcomeSampling,
    Recorder,
    geometric,
)

# %% [markdown]
# ## Unbiased estimates
#
# Each estimator returns a player's utility vector with an error of mean zero.
# Estimators differ in variance, and in the number of histories that they visit.

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
# Each run visits about as many histories as exact CFR in 30 iterations.

# %%
game = leduc_poker()


def visited(run):
    """Return how many histories a run has visited."""
    return getattr(run.estimator, "visited", 2 * game.tree.histories * run.iteration)


records = {}
settings = {
    "exact": {"iterations": 30},
    "external": {"iterations": 15_000, "sampling": "external", "seed": 1},
    "outcome": {"iterations": 40_000, "sampling": "outcome", "seed": 1},
}
for name, setting in settings.items():
    records[name] = Recorder({"visited": visited, "nash_conv": "nash_conv"})
    watch = At(geometric(1.5), records[name])
    run = rk.solve(game, "cfr", callbacks=[watch], **setting)
    print(f"{name:<9} {visited(run):>7} histories, NashConv {run.nash_conv():.3f}")

# %%
axes = display.convergence(records, x="visited", title="Leduc poker")

# %% [markdown]
# External sampling has the smallest gap: exact CFR has done a few iterations where it has done thousands.
# Outcome sampling follows one path in each iteration, and has a larger variance.
