# %% [markdown]
# # A rule of your own
#
# Regret matching plays each action in proportion to its positive regret.
# This notebook writes a rule that plays in proportion to the square of it.
# It checks the rule, and compares it with published rules on Kuhn poker.

# %%
# %pip install --quiet "regretkit[plot]"

# %%
import numpy as np
from attrs import define

import regretkit as rk
from regretkit import display
from regretkit.checks import check_minimizer
from regretkit.evaluation import solve_zero_sum
from regretkit.games import kuhn_poker
from regretkit.play import Algorithm, At, Linear, Recorder, geometric

# %% [markdown]
# ## The rule
#
# A `SimplexRule` has two methods: `_propose` returns a strategy, and `_learn` updates the state by a utility vector.
# `self.simplices` covers all decision points at once, so the same code runs on one of them or a million.


# %%
@define(eq=False)
class SquaredRegretMatching(rk.SimplexRule):
    regrets: np.ndarray = rk.state()

    def _propose(self) -> np.ndarray:
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** 2)

    def _learn(self, utility: np.ndarray, strategy: np.ndarray) -> None:
        self.regrets += self.simplices.regret(utility, strategy)


player = SquaredRegretMatching(3)
player.observe_utility([0.0, 3.0, 2.0])
player.next_strategy()

# %% [markdown]
# `check_minimizer` tests the contract of all minimizers. For example, regret must grow more slowly than the number of iterations.

# %%
check_minimizer(lambda: SquaredRegretMatching(3))

# %% [markdown]
# ## The game
#
# A game displays itself. Boxes are histories, in the color of the acting player, and dashed lines join the histories of an information set.

# %%
game = kuhn_poker()
game

# %%
print(f"value to player 0: {solve_zero_sum(game).value:.6f}, which is -1/18")

# %% [markdown]
# ## Play
#
# `CFR` uses one minimizer at each decision point.
# A rule with an averaging is an algorithm, like the named ones.

# %%
algorithms = {
    "CFR": "cfr",
    "CFR+": "cfr+",
    "squared regrets": Algorithm(SquaredRegretMatching, averaging=Linear()),
}
records, averages = {}, {}
for name, algorithm in algorithms.items():
    records[name] = Recorder(["nash_conv"])
    watch = At(geometric(1.2), records[name])
    averages[name] = rk.solve(game, algorithm, iterations=1_000, callbacks=[watch]).average
    print(f"{name:<15} NashConv {rk.nash_conv(game, averages[name]):.6f}")

# %%
axes = display.convergence(records, title="Kuhn poker")

# %% [markdown]
# ## The strategy
#
# With a jack, player 0 bluffs with a probability of at most 1/3. With a king it bets three times as often.

# %%
axes = display.heat_map(averages["squared regrets"], title="Average strategies")
