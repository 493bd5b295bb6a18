# %% [markdown]
# # Correlated equilibria
#
# In games of several players, or of payoffs that are not opposed, small regret does not lead to a Nash equilibrium.
# The *joint* play approaches a correlated equilibrium: a coarse one with small external regret, and a finer one with small swap regret.

# %%
# %pip install --quiet "regretkit[plot]"

# %%
import matplotlib.pyplot as plt
import numpy as np

import regretkit as rk
from regretkit import display
from regretkit.evaluation import CorrelatedPlay, best_correlated_equilibrium
from regretkit.games import chicken, shapley_game
from regretkit.play import At, Recorder, Simultaneous, geometric

# %% [markdown]
# ## Shapley's game
#
# Player 0 wins if both choose the same action. Player 1 wins if it chooses the next one.
# Strategies therefore cycle.

# %%
NAMES = "player 0", "player 1"
game = shapley_game()
game


# %%
def learn(rule):
    """Return the history of play, its gaps over iterations, and the strategies."""
    players = [rule(3), rule(3)]
    players[0].observe_utility([1.0, 0.0, 0.0])  # from uniform play they would never move
    play = CorrelatedPlay(game)
    gaps = Recorder({"gap": lambda run: play.gap("ce")})
    path = Recorder(
        {player: lambda run, i=i: run.last_profile[i].copy() for i, player in enumerate(NAMES)}
    )
    run = rk.SelfPlay(game, players, order=Simultaneous())
    run.run(5_000, callbacks=[play, path, At(geometric(1.2), gaps)])
    return play, gaps, path


rules = {
    "regret matching": rk.RegretMatching,
    "swap regret": lambda n: rk.SwapRegret(n, rk.RegretMatching),
}
learned = {name: learn(rule) for name, rule in rules.items()}

# %% [markdown]
# ## Two gaps
#
# `CorrelatedPlay.gap("cce")` is a player's largest gain from committing to one action in advance.
# `CorrelatedPlay.gap("ce")` is the largest gain from a rule such as "if rock is recommended, play paper".
# A negative gap is a loss.

# %%
for name, (play, _, _) in learned.items():
    print(f"{name:<16} coarse {play.gap('cce'):.4f}   correlated {play.gap('ce'):.4f}")

# %%
axes = display.convergence(
    {name: gaps for name, (_, gaps, _) in learned.items()}, title="Gap to correlated equilibrium"
)

# %% [markdown]
# Neither pair of strategies converges. Those of regret matching cycle along the border, and the others pass near the center.
# The joint play converges.

# %%
axes = display.simplex(
    {name: path.values["player 0"] for name, (_, _, path) in learned.items()},
    title="Player 0, Shapley's game",
)

# %% [markdown]
# ## The joint distribution of play

# %%
figure, panels = plt.subplots(1, 2, figsize=(7.0, 3.2), layout="constrained")
for panel, (name, (_, _, path)) in zip(panels, learned.items(), strict=True):
    joint = np.mean([np.outer(*both) for both in zip(*path.values.values(), strict=True)], axis=0)
    image = panel.imshow(joint, vmin=0.0, vmax=0.3, cmap="Blues")
    panel.set(title=name, xlabel="player 1", ylabel="player 0", xticks=range(3), yticks=range(3))
bar = figure.colorbar(image, ax=panels, label="probability")

# %% [markdown]
# ## The best one
#
# Regret minimization finds some equilibrium. A linear program over all outcomes finds the one with the largest welfare.
# In chicken it pays more than every symmetric Nash equilibrium.

# %%
best = best_correlated_equilibrium(chicken())
print(best.distribution.round(3))
print("payoffs", best.payoffs.round(3))
