"""CFR+ on rivers and turns in plain NumPy: a walk of the public tree with vectors over hands.

A baseline for benchmarks: one rule, depth first, one terminal after the other. It uses only
regretkit's description of the game.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from regretkit.games.public import Chance, Decision, Free, PublicGame

Vector: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[Any]
Step: TypeAlias = Callable[[tuple[str, ...], Vector, list[Vector], Vector], Vector]

NOTHING = 2.0**-44
"""Sums below this share of the total reach are rounding errors of zero."""


class Sums:
    """Sums over the opponent's hands that each own hand can meet."""

    def __init__(self, own: Places, other: Places, mine: Places, theirs: Places) -> None:
        """Sort the opponent's hands by strength: all hands, and the hands with each card."""
        self.own, self.hand, card = own, np.repeat(np.arange(len(other)), 2), other.ravel()
        self.order = np.argsort(theirs, kind="stable")
        self.below, self.upto = (
            np.searchsorted(theirs[self.order], mine, side) for side in ("left", "right")
        )
        self.held = np.lexsort((theirs[self.hand], card))
        # Positions of (card, strength) in the sorted list of hands, as single search keys
        levels = np.unique(np.concatenate([mine, theirs]))
        keys = (card * (len(levels) + 1) + np.searchsorted(levels, theirs)[self.hand])[self.held]
        first = own * (len(levels) + 1)
        rank = np.searchsorted(levels, mine)[:, np.newaxis]
        self.begin, self.end = (np.searchsorted(keys, first + add) for add in (0, len(levels)))
        self.weaker, self.as_strong = (
            np.searchsorted(keys, first + rank, side) for side in ("left", "right")
        )
        same = {tuple(hand): place for place, hand in enumerate(other.tolist())}
        self.twin = np.array([same.get(tuple(hand), len(other)) for hand in own.tolist()])

    def __call__(self, reach: Vector) -> tuple[Vector, Vector]:
        """Return the reach of all compatible hands, and of weaker minus stronger ones.

        By inclusion and exclusion: all hands, minus those with either own card, plus those with
        both, which were subtracted twice.
        """
        ranked = np.append(0.0, np.cumsum(reach[self.order]))
        by_card = np.append(0.0, np.cumsum(reach[self.hand[self.held]]))
        before, total = by_card[self.begin], ranked[-1]
        each = total - (by_card[self.end] - before).sum(axis=1)
        below = ranked[self.below] - (by_card[self.weaker] - before).sum(axis=1)
        upto = ranked[self.upto] - (by_card[self.as_strong] - before).sum(axis=1)
        free, more = each + np.append(reach, 0.0)[self.twin], below + upto - each
        minimum = NOTHING * total
        return np.where(free <= minimum, 0.0, free), np.where(np.abs(more) <= minimum, 0.0, more)


@define(eq=False)
class VectorForm:
    """A run of CFR+ with alternating updates and an average with weights 1, 2, ..."""

    game: PublicGame
    iteration: int = 0
    regrets: dict[tuple[str, ...], Vector] = field(factory=dict)
    totals: dict[tuple[str, ...], Vector] = field(factory=dict)
    _sums: dict[tuple[int, str], Sums] = field(factory=dict)

    def run(self, iterations: int) -> None:
        """Run iterations."""
        for _ in range(iterations):
            self.iteration += 1
            for player in (0, 1):
                self._walk(self.game.tree.nodes[0], (), player, *self._dealt(player), self._learn)

    def gap(self) -> float:
        """Return NashConv of the average, for games without rake."""
        total = 0.0
        for player in (0, 1):
            own, other = self._dealt(player)
            best = self._walk(self.game.tree.nodes[0], (), player, own, other, self._respond)
            total += float(self.game.deal.weights[player] @ best)
        return total

    def _dealt(self, player: int) -> tuple[Vector, Vector]:
        """Return the own reach, and the opponent's normalized with the weights of the deal."""
        own, other = self.game.deal.weights[player], self.game.deal.weights[1 - player]
        met = self._sums_at(player, next(iter(self.game.deal.strengths)))(other)[0]
        return np.ones(own.size), other / (own @ met)

    def _sums_at(self, player: int, order: str) -> Sums:
        if (player, order) not in self._sums:
            cards, strengths = self.game.deal.cards, self.game.deal.strengths[order]
            other = 1 - player
            sums = Sums(cards[player], cards[other], strengths[player], strengths[other])
            self._sums[player, order] = sums
        return self._sums[player, order]

    def _walk(
        self, node: Any, path: tuple[str, ...], player: int, own: Vector, other: Vector, step: Step
    ) -> Vector:
        """Return the counterfactual value of each hand of a player at a node."""
        if isinstance(node, Chance):
            return self._dealt_card(node, path, player, own, other, step)
        if not isinstance(node, Decision):
            return self._earned(node, player, other)
        mine = node.player == player
        played = self._played(path, len(node.children), (own if mine else other).size, step)
        values = [
            self._walk(child, (*path, name), player, own * column, other, step)
            if mine
            else self._walk(child, (*path, name), player, own, other * column, step)
            for (name, child), column in zip(node.children.items(), played, strict=True)
        ]
        return step(path, own, values, played) if mine else np.add.reduce(values)

    def _dealt_card(
        self,
        node: Chance,
        path: tuple[str, ...],
        player: int,
        own: Vector,
        other: Vector,
        step: Step,
    ) -> Vector:
        value = np.zeros(own.size)
        for name, outcome in node.outcomes.items():
            mine, theirs = (np.asarray(outcome.factors[i]) for i in (player, 1 - player))
            reach = other * theirs * outcome.probability
            value += mine * self._walk(outcome.node, (*path, name), player, own, reach, step)
        return value

    def _earned(self, node: Any, player: int, other: Vector) -> Vector:
        """Return the counterfactual value of each hand at a fold or a showdown."""
        free, more = self._sums_at(player, getattr(node, "order", self._any()))(other)
        if isinstance(node, Free):
            win = lose = node.payoff[player]
        else:
            win, lose = (pay[player] for pay in (node.win, node.lose)[:: 1 - 2 * player])
        earned: Vector = (win - lose) / 2 * more + (win + lose) / 2 * free
        return earned

    def _any(self) -> str:
        return next(iter(self.game.deal.strengths))

    def _played(self, path: tuple[str, ...], actions: int, hands: int, step: Step) -> Vector:
        """Return the current or average strategy, shape ``(actions, hands)``."""
        if path not in self.regrets:
            self.regrets[path], self.totals[path] = np.zeros((2, actions, hands))
        weights = self.totals[path] if step == self._respond else self.regrets[path]
        total = weights.sum(axis=0)
        return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / actions)

    def _learn(
        self, path: tuple[str, ...], own: Vector, values: list[Vector], played: Vector
    ) -> Vector:
        earned = np.stack(values)
        value: Vector = (played * earned).sum(axis=0)
        regrets = self.regrets[path]
        np.maximum(regrets + earned - value, 0.0, out=regrets)
        self.totals[path] += self.iteration * own * played
        return value

    def _respond(
        self, path: tuple[str, ...], own: Vector, values: list[Vector], played: Vector
    ) -> Vector:
        best: Vector = np.max(values, axis=0)
        return best
