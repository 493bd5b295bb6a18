"""Public games one history at a time: the types are dealt, and then the public tree is played."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import evolve, field, frozen

from regretkit._util._typing import Vector
from regretkit.games._adapters import InformationSet
from regretkit.games.public._game import PublicGame
from regretkit.games.public._to_tree import payoffs_at
from regretkit.games.public._tree import Chance
from regretkit.games.tree._history import CHANCE, TERMINAL


@final
@frozen
class PublicHistory:
    """A history of a public game."""

    game: PublicGame = field(eq=False, repr=False)
    types: tuple[int, ...] = ()
    """The types that were dealt, player 0's first."""
    node: int = 0
    """Where the play is in the public tree, once both are."""

    def is_terminal(self) -> bool:
        return self.player() == TERMINAL

    def player(self) -> int:
        return CHANCE if len(self.types) < 2 else int(self.game.tree.player[self.node])

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        node = self.game.tree.nodes[self.node]
        if len(self.types) == 2 and isinstance(node, Chance):
            names, probabilities = list[str](), []
            for main, outcome in node.outcomes.items():
                for name in (main, *outcome.images):
                    pairs = zip(outcome.factors, self.child(name).types, strict=True)
                    factors = [1.0 if factor is None else float(factor[i]) for factor, i in pairs]
                    names.append(name)
                    probabilities.append(outcome.probability * factors[0] * factors[1])
            weights = np.array(probabilities)
        else:
            names, weights = [*self.game.deal.types[len(self.types)]], self._weights()
        possible = np.flatnonzero(weights)
        shares = (weights / weights.sum())[possible].tolist()
        return [(names[i], share) for i, share in zip(possible, shares, strict=True)]

    def _weights(self) -> Vector:
        """Return the weights of the types that may be dealt next."""
        first, second = self.game.layout.contexts[0].priors
        met: Vector = self.game.deal.meeting(0).sums(second[np.newaxis]).free[0]
        if self.types:
            met, first = self.game.deal.pairs(np.array(self.types))[0], second
        weights: Vector = first * met
        return weights

    def actions(self) -> tuple[str, ...]:
        return self.game.tree.names[self.node]

    def child(self, action: str) -> "PublicHistory":
        if len(self.types) < 2:
            dealt = self.game.deal.types[len(self.types)].index(action)
            return evolve(self, types=(*self.types, dealt))
        types, node = self.types, self.game.tree.nodes[self.node]
        for outcome in node.outcomes.values() if isinstance(node, Chance) else ():
            if (
                action in outcome.images
            ):  # as if the outcome of which it is the image had been dealt
                mapped = zip(self.game.deal.symmetries[outcome.images[action]], types, strict=True)
                types = tuple(int(np.flatnonzero(p == i)[0]) for p, i in mapped)
        return evolve(self, types=types, node=self.game.tree.child(self.node, action))

    def information_set(self) -> InformationSet:
        layout, player = self.game.layout, self.player()
        at = int(np.flatnonzero(layout.decisions[player] == self.node)[0])
        place = layout.places[player][layout.context[self.node], self.types[player]]
        point = int(layout.first_point[player][at] + place)
        return InformationSet(point, layout.label(player, point))

    def payoffs(self) -> Sequence[float]:
        history = np.array([[self.node, *self.types]])
        payoffs: list[float] = payoffs_at(self.game.layout, history)[0].tolist()
        return payoffs
