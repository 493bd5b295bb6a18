"""The cost of composition: minimizers and circuits compared with bare NumPy.

The versions by hand check and save nothing, track no bounds, and do not make cancellation exact.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from attrs import frozen

import regretkit as rk
from benchmarks.harness import Action, Figures, benchmark, best_times
from benchmarks.peers import CONTESTS
from benchmarks.runs import Vector, cfr_run, tree_game
from regretkit.circuits import (
    ExplorationMixture,
    LastIterateByAveraging,
    Restart,
    internal_maps,
)

# By hand


class RegretMatching:
    """Regret matching, or regret matching+, for one simplex or for the rows of a matrix."""

    def __init__(self, *shape: int, plus: bool = False) -> None:
        self.regrets, self.plus = np.zeros(shape), plus
        self.strategy: Vector = self.regrets

    def play(self) -> Vector:
        positive = np.maximum(self.regrets, 0.0)
        total = positive.sum(axis=-1, keepdims=True)
        if not total.all():
            positive = np.where(total > 0.0, positive, 1.0)
            total = positive.sum(axis=-1, keepdims=True)
        self.strategy = positive / total
        return self.strategy

    def learn(self, utility: Vector) -> None:
        value = (utility * self.strategy).sum(axis=-1, keepdims=True)
        self.regrets += utility - value
        if self.plus:
            np.maximum(self.regrets, 0.0, out=self.regrets)


class ConvexHull:
    def __init__(self, actions: int) -> None:
        self.members = [RegretMatching(actions), RegretMatching(actions, plus=True)]
        self.mixing = RegretMatching(2)

    def play(self) -> Vector:
        self.proposals = np.array([member.play() for member in self.members])
        mixture: Vector = self.mixing.play() @ self.proposals
        return mixture

    def learn(self, utility: Vector) -> None:
        self.mixing.learn(self.proposals @ utility)
        for member in self.members:
            member.learn(utility)


def stationary(matrix: Vector) -> Vector:
    """Return the distribution x with ``x = x M``."""
    equations = np.eye(len(matrix)) - matrix.T
    equations[-1] = 1.0
    return np.linalg.solve(equations, np.eye(len(matrix))[-1])


class SwapRegret:
    def __init__(self, actions: int) -> None:
        self.rows = RegretMatching(actions, actions)

    def play(self) -> Vector:
        self.strategy = stationary(self.rows.play())
        return self.strategy

    def learn(self, utility: Vector) -> None:
        self.rows.learn(self.strategy[:, None] * utility)


class InternalRegret:
    """Regret matching over the maps that replace one action a by another action b."""

    def __init__(self, actions: int) -> None:
        self.maps, self.actions = RegretMatching(actions * (actions - 1)), actions
        self.apart = ~np.eye(actions, dtype=bool)

    def play(self) -> Vector:
        matrix = np.zeros((self.actions, self.actions))
        matrix[self.apart] = self.maps.play()
        matrix += np.diag(1.0 - matrix.sum(axis=1))
        self.strategy = stationary(matrix)
        return self.strategy

    def learn(self, utility: Vector) -> None:
        gains = self.strategy[:, None] * (utility - utility[:, None])
        self.maps.learn(gains[self.apart])


class Objects:
    """A loop over one object for each decision point of a tree."""

    def __init__(self, tree: rk.DecisionTree) -> None:
        self.tree = tree
        self.points = [RegretMatching(n) for n in tree.simplices.sizes.tolist()]
        self.ends = np.cumsum(tree.simplices.sizes)[:-1]

    def play(self) -> Vector:
        self.behavior = np.concatenate([point.play() for point in self.points])
        return self.tree.sequence_form(self.behavior)

    def learn(self, utility: Vector) -> None:
        _, values = self.tree.counterfactual(utility, self.behavior)
        for point, own in zip(self.points, np.split(values, self.ends), strict=True):
            point.learn(own)


# Composed


class OwnRule(rk.RegretMinimizer):
    """Regret matching for one simplex, as a user writes it."""

    def __init__(self, actions: int) -> None:
        self.domain = rk.Simplices(actions)
        self.regrets = np.zeros(actions)

    def _propose(self) -> Vector:
        positive = np.maximum(self.regrets, 0.0)
        total = positive.sum()
        if total > 0.0:
            return positive / total  # type: ignore[no-any-return]
        return np.full(positive.size, 1.0 / positive.size)

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.regrets = self.regrets + (utility - utility @ strategy)


def hull(actions: int) -> rk.RegretMinimizer:
    members = [rk.RegretMatching(actions), rk.RegretMatchingPlus(actions)]
    return rk.ConvexHull(members, rk.RegretMatching)


def internal(actions: int) -> rk.RegretMinimizer:
    return rk.PhiRegret(rk.RegretMatching(actions * (actions - 1)), internal_maps(actions))


def objects(tree: rk.DecisionTree) -> rk.RegretMinimizer:
    return rk.CFR(tree, rk.PerDecisionPoint(OwnRule))


# Both


@frozen
class Row:
    """A minimizer, and its equivalent by hand."""

    composed: Callable[[], rk.RegretMinimizer]
    by_hand: Callable[[], RegretMatching | ConvexHull | SwapRegret | InternalRegret | Objects]
    floor: float
    """Largest acceptable ratio of times, composed over by hand."""
    goal: float


def leduc() -> rk.DecisionTree:
    return tree_game("leduc_poker").domains[0]


ROWS = {
    "RM(3)": Row(lambda: rk.RegretMatching(3), lambda: RegretMatching(3), 4.0, 2.5),
    "hull of RM(3) and RM+(3)": Row(lambda: hull(3), lambda: ConvexHull(3), 5.0, 3.0),
    "hull of RM(30) and RM+(30)": Row(lambda: hull(30), lambda: ConvexHull(30), 5.0, 3.0),
    **{
        f"SwapRegret({n}, RM)": Row(
            partial(rk.SwapRegret, n, rk.RegretMatching), partial(SwapRegret, n), floor, goal
        )
        for n, floor, goal in ((10, 5.0, 2.5), (30, 5.0, 2.5), (100, 3.0, 1.5))
    },
    "PhiRegret(RM, internal maps of 30)": Row(
        lambda: internal(30), lambda: InternalRegret(30), 8.0, 4.0
    ),
    "an object of one's own class at each of 468 points": Row(
        lambda: objects(leduc()), lambda: Objects(leduc()), 3.0, 2.0
    ),
}
Both: TypeAlias = tuple[Action, Action]


def iterations(row: Row) -> Both:
    """Return functions that run iterations of a row, composed and by hand, on equal utilities."""
    composed, by_hand = row.composed(), row.by_hand()
    utilities = np.random.default_rng(1).normal(size=(64, composed.dimension))

    def iterate_composed(times: int) -> None:
        for t in range(times):
            composed.next_strategy()
            composed.observe_utility(utilities[t % 64])

    def iterate_by_hand(times: int) -> None:
        for t in range(times):
            by_hand.play()
            by_hand.learn(utilities[t % 64])

    return iterate_composed, iterate_by_hand


@benchmark([*ROWS], head="minimizer")
def by_hand(name: str, quick: bool) -> Figures:
    """The time of one iteration, compared with the same mathematics by hand in NumPy.

    Microseconds of processor time for ``next_strategy`` and ``observe_utility`` with all checks,
    and by hand without checks. Both alternate, and the best turn of each counts.
    """
    composed, same = iterations(ROWS[name])
    best = best_times({"composed": composed, "by hand": same}, 3 if quick else 15)
    return {
        "composed, us": best["composed"] * 1e6,
        "by hand, us": best["by hand"] * 1e6,
        "ratio": best["composed"] / best["by hand"],
        "floor": ROWS[name].floor,
        "goal": ROWS[name].goal,
    }


# Circuits at decision points

RM = rk.RegretMatching


def nested(actions: int) -> rk.RegretMinimizer:
    """Return a convex hull of a restarted hull and a swap regret minimizer."""
    return rk.ConvexHull([Restart(hull(actions), every=10), rk.SwapRegret(actions, RM)], RM)


CIRCUITS: dict[str, Callable[[int], rk.RegretMinimizer]] = {
    "RM": RM,
    "hull of RM and RM+": hull,
    "swap regret by RM": partial(rk.SwapRegret, expert=RM),
    "last iterate of RM": lambda actions: LastIterateByAveraging(RM(actions)),
    "hull, nested": nested,
}


def each(make: Callable[[int], rk.RegretMinimizer], simplices: rk.Simplices) -> rk.RegretMinimizer:
    """Return a product of one object for each decision point."""
    return rk.Product([make(n) for n in simplices.sizes.tolist()])


@benchmark([*CIRCUITS], quick=["hull of RM and RM+"], head="at a decision point")
def circuits(name: str, quick: bool) -> Figures:
    """One circuit for all decision points of Leduc poker, compared with 936 objects.

    Milliseconds of an iteration of both players in NumPy. Both alternate, and the best turn counts.
    """
    game, make = tree_game("leduc_poker"), CIRCUITS[name]
    runs = {
        name: cfr_run(game, local, engine="numpy").run
        for name, local in (("each", partial(each, make)), ("once", rk.PerDecisionPoint(make)))
    }
    best = best_times(runs, 2 if quick else 10)
    return {
        "each, ms": 1e3 * best["each"],
        "at once, ms": 1e3 * best["once"],
        "ratio": best["each"] / best["once"],
    }


# Circuits around trees


class Magnet(rk.RegretMinimizer):
    """Pulls the strategies of CFR towards a reference point, which moves every 100 iterations."""

    def __init__(self, inner: rk.RegretMinimizer) -> None:
        self.inner, self.domain = inner, inner.domain
        self.reference = inner.domain.relative_interior_point()

    def _propose(self) -> Vector:
        return self.inner.next_strategy().copy()

    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.inner.observe_utility(utility - 0.01 * (strategy - self.reference))
        if (self.iteration + 1) % 100 == 0:
            self.reference = strategy.copy()


AROUND: dict[str, Callable[[rk.CFR], rk.RegretMinimizer]] = {
    "exploration": lambda cfr: ExplorationMixture(cfr, gamma=0.01),
    "last iterate": LastIterateByAveraging,
    "magnet": Magnet,
}


@benchmark([*CONTESTS], quick=["Kuhn poker"])
def around(title: str, quick: bool) -> Figures:
    """The cost of circuits around whole trees in compiled code, relative to CFR+ alone.

    The circuits are ``ExplorationMixture``, ``LastIterateByAveraging`` and a user's magnet. All
    alternate, and the best turn of each counts.
    """
    game = tree_game(CONTESTS[title].call)
    runs = {}
    for name, make in {"CFR+": lambda cfr: cfr, **AROUND}.items():
        players = [make(rk.CFR(tree, rk.RegretMatchingPlus)) for tree in game.domains]
        run = rk.SelfPlay(game, players, averaging=rk.play.Linear(), engine="compiled")
        runs[name] = run.run
    best = best_times(runs, 3) if quick else best_times(runs, 8, length=0.2)
    return {name: best[name] / best["CFR+"] for name in AROUND}
