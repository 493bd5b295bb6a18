"""Subgames of public games."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regretkit._util._validate import must_be, quote
from regretkit.games._game import as_strategies, check_player
from regretkit.games._profile import Profile
from regretkit.games._subgames import check_gadget
from regretkit.games.public._deal import Deal
from regretkit.games.public._game import PublicGame
from regretkit.games.public._tree import Decision, Path, PublicTree, Table


class PublicSubgame(PublicGame):
    """A subgame of a public game of constant sum, to solve it again for one player.

    It has the nodes from ``root`` on, and types with the weights of ``game.reach`` there. So an
    endgame of poker from ranges and a pot, as ``hold_em`` builds it, is an ``unsafe`` subgame.

    With ``resolve``, the opponent's types have their weights in the deal. First the opponent
    follows, or terminates and earns ``game.ev(opponent, blueprint, root, best_response=True)``. The
    bound of ``Subgame`` holds. Other gadgets need ``game.to_tree()``.

    Parameters
    ----------
    game
        A public game.
    root
        The path to a decision or a move of chance. No outcome after it may have ``images``.
    blueprint, player
        As for ``Subgame``.
    gadget
        ``"resolve"`` or ``"unsafe"``.

    Examples
    --------
    A river after a turn:

    >>> from regretkit import solve
    >>> from regretkit.games import hold_em
    >>> turn = hold_em("Qs Jh 2h 8c", ("AA,KQs", "TT,AJs"), 100, 100, bets="a", raises="")
    >>> blueprint = solve(turn, "dcfr", iterations=20).average
    >>> river = PublicSubgame(turn, "/check/check/3d", blueprint, player=0)
    >>> better = river.glue(blueprint, solve(river, exact=True).profile)
    """

    game: PublicGame
    """The whole game."""
    player: int
    """The player to solve for."""
    gadget: str
    root: int
    """The first node, as a node of ``game.tree``."""
    weight: float
    """What is ``reach`` of a ``Subgame``."""

    def __init__(
        self,
        game: PublicGame,
        root: Path,
        blueprint: Sequence[ArrayLike],
        *,
        player: int,
        gadget: str = "resolve",
    ) -> None:
        if not isinstance(game, PublicGame):
            raise TypeError(must_be("game", "a PublicGame", game))
        check_player(player, 2)
        check_gadget(game, gadget, ("resolve", "unsafe"))
        strategies, opponent = as_strategies(game, blueprint), 1 - player
        self.game, self.player, self.gadget = game, player, gadget
        self.root = start = game.tree.find(root)
        layout, path, deal = game.layout, game.tree.path(start), game.deal
        if any(out and out.images for out in game.tree.outcome[start + 1 : layout.ends[start]]):
            raise ValueError(f"root must come after all merged outcomes, got {quote(root)}")
        context = layout.contexts[layout.context[start]]
        weights = [game.reach(i, strategies, path) for i in (0, 1)]
        node: Any = game.tree.nodes[start]
        if gadget == "resolve":
            weights[opponent] = context.priors[opponent]
            value = game.ev(opponent, strategies, path, best_response=True)
            earned = np.nan_to_num(value if opponent else value[:, np.newaxis])
            pair = np.broadcast_to(earned, deal.sizes)
            paid = np.array([pair, (game.constant_sum or 0.0) - pair])
            end = Table(paid[::-1] if opponent else paid)
            node = Decision(opponent, {"follow": node, "terminate": end})
        met = deal.meeting(0).sums(weights[1][np.newaxis]).free[0]
        self.weight = float(weights[0] @ met) * context.probability
        if not self.weight > 0.0:
            raise ValueError("the blueprint never reaches root")
        dealt = Deal(deal.types, weights=weights, cards=deal.cards, strengths=deal.strengths)
        name = f"{game.name or 'game'}, {gadget}"
        super().__init__(PublicTree(node), dealt, name=name)

    def glue(self, blueprint: Sequence[ArrayLike], solution: Sequence[ArrayLike]) -> Profile:
        """Return the blueprint with the strategy of ``player`` in a solution of this game."""
        strategies = list(as_strategies(self.game, blueprint))
        i, domain = self.player, self.game.domains[self.player]
        behavior = domain.behavior(strategies[i]).copy()
        played = self.domains[i].behavior(as_strategies(self, solution)[i])
        # The node after the first action of a node is the next one, and that of its number.
        shift = self.root - (self.gadget == "resolve")
        whole, own = self.game.layout, self.layout
        for node in np.flatnonzero(self.tree.player == i).tolist():
            for action in range(len(self.tree.names[node])):
                here = own.sequences(i, own.last[i, node + 1] + action)
                there = whole.sequences(i, whole.last[i, shift + node + 1] + action)
                behavior[there[here > 0] - 1] = played[here[here > 0] - 1]
        strategies[i] = domain.sequence_form(behavior)
        return Profile(strategies, self.game.domains, self.game)
