# %% [markdown]
# # A game of your own
#
# A class states the rules of a game.
# This game is poker with one card for each player and one bet. It has hidden cards, bluffs and a known value.

# %%
# %pip install --quiet "regretkit[plot]"

# %%
from attrs import evolve, frozen

import regretkit as rk
from regretkit import display
from regretkit.evaluation import solve_zero_sum
from regretkit.games import CHANCE, ExtensiveFormGame
from regretkit.play import At, Recorder, geometric

# %% [markdown]
# ## The rules
#
# `History` lists seven methods: the end of the game, the acting player, chance, actions, successors, information sets and payoffs.
# Each player antes one chip. The first may bet another one, and then the second may call or fold.


# %%
@frozen
class OneCardPoker:
    ranks: int = 3
    cards: tuple[int, ...] = ()
    moves: tuple[str, ...] = ()

    def is_terminal(self) -> bool:
        return self.moves == ("check",) or len(self.moves) == 2

    def player(self) -> int:
        return CHANCE if len(self.cards) < 2 else len(self.moves)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        left = [card for card in range(self.ranks) if card not in self.cards]
        return [(card, 1.0 / len(left)) for card in left]

    def actions(self) -> list[str]:
        return ["check", "bet"] if self.player() == 0 else ["fold", "call"]

    def child(self, action: int | str) -> "OneCardPoker":
        if isinstance(action, int):
            return evolve(self, cards=(*self.cards, action))
        return evolve(self, moves=(*self.moves, action))

    def information_set(self) -> str:
        return f"card {self.cards[self.player()]}"

    def payoffs(self) -> list[float]:
        if self.moves == ("bet", "fold"):
            return [1.0, -1.0]
        won = (1.0 if self.moves == ("check",) else 2.0) * (
            1 if self.cards[0] > self.cards[1] else -1
        )
        return [won, -won]


# %% [markdown]
# ## The game
#
# `from_history` enumerates all histories. It raises an error for inconsistent rules, such as an information set with two lists of actions.

# %%
game = ExtensiveFormGame.from_history(OneCardPoker(), name="one-card poker")
game

# %% [markdown]
# ## Solve it
#
# A linear program computes the exact value, and CFR+ approximates it.

# %%
exact = solve_zero_sum(game)
record = Recorder(["nash_conv"])
run = rk.solve(game, "cfr+", iterations=2_000, callbacks=[At(geometric(1.2), record)])
print(f"exact value {exact.value:.6f}, of the average strategies {game.value(run.average)[0]:.6f}")

# %%
axes = display.convergence({"CFR+": record}, title="One-card poker")

# %% [markdown]
# ## Larger
#
# With more ranks the usual pattern of poker appears.
# Player 0 bets the best hands, bluffs with the worst, and checks the others. Player 1 calls with hands that beat the bluffs.

# %%
larger = ExtensiveFormGame.from_history(OneCardPoker(ranks=13), name="one-card poker, 13 ranks")
average = rk.solve(larger, "cfr+", iterations=2_000).average
print(f"NashConv {rk.nash_conv(larger, average):.5f}")

# %%
axes = display.heat_map(average, title="One-card poker, 13 ranks")
