# %% [markdown]
# # Compose minimizers
#
# A circuit builds a minimizer for a large set from minimizers for smaller sets, and bounds its regret by theirs.
# This notebook builds a circuit, measures the regret of its parts, and shows that CFR is a circuit.

# %%
# %pip install --quiet "regretkit[plot]"

# %%
import matplotlib.pyplot as plt
import numpy as np

import regretkit as rk
from regretkit.circuits import ConvexHull, Product
from regretkit.evaluation import RegretLedger
from regretkit.games import kuhn_poker

# %% [markdown]
# ## A product and a hull
#
# A `Product` plays several sets at once. A `ConvexHull` mixes members on the same set.
# This player has two decisions. At the first it mixes regret matching with a fixed action, and at the second it plays Hedge.

# %%
hull = ConvexHull([rk.RegretMatching(3), rk.Point([0.0, 0.0, 1.0])], mixing=rk.RegretMatching(2))
second = rk.Hedge(2, rate=0.1)
player = Product([hull, second])
player

# %% [markdown]
# ## Regret of the parts
#
# A `RegretLedger` measures the regret of each part, and checks each part's theorem.

# %%
ledger, rng = RegretLedger(player, strict=True), np.random.default_rng(1)
iterations = np.arange(1, 1_001)
regrets = []
for _ in iterations:
    player.observe_utility(rng.uniform(0.0, 1.0, 5))
    regrets.append([ledger.external(part) for part in (player, hull, second)])

figure, axes = plt.subplots()
axes.plot(iterations, regrets, label=["product", "hull", "Hedge"])
axes.plot(iterations, np.sqrt(iterations), "k:", label="square root of the iterations")
axes.set(xlabel="iterations", ylabel="regret")
legend = axes.legend()

# %% [markdown]
# The regret of a product is exactly the sum of the regrets of its parts.

# %%
whole, first_part, second_part = regrets[-1]
print(f"{whole:.6f} = {first_part:.6f} + {second_part:.6f}")

# %% [markdown]
# ## CFR is a circuit
#
# A decision point of a tree is a hull over the continuations of its actions.
# An action is a product over the decision points that can follow it.
# `rk.circuit` builds these objects for the tree of a player. `rk.CFR` computes the same on arrays.

# %%
tree = kuhn_poker().domains[0]
circuit, cfr = rk.circuit(tree, rk.RegretMatching), rk.CFR(tree, rk.RegretMatching)
difference = 0.0
for _ in range(100):
    utility = rng.normal(size=tree.dimension)
    circuit.observe_utility(utility)
    cfr.observe_utility(utility)
    difference = max(difference, abs(circuit.next_strategy() - cfr.next_strategy()).max())
print(f"{tree.dimension} sequences, largest difference in 100 iterations: {difference:.1e}")

# %% [markdown]
# Another rule or circuit can replace regret matching at any decision point.
# Here player 0 plays a hull at every decision point, and self-play still converges.

# %%
game = kuhn_poker()


def mixture(actions):
    return ConvexHull([rk.RegretMatching(actions), rk.Hedge(actions, rate=0.1)], rk.RegretMatching)


players = [
    rk.CFR(game.domains[0], rk.PerDecisionPoint(mixture)),
    rk.CFR(game.domains[1], rk.RegretMatchingPlus),
]
run = rk.SelfPlay(game, players).run(500)
print(f"NashConv {run.nash_conv():.4f}")
