"""What tests draw from: leaves with their naive twins, adversaries, random trees and states."""

import math
from functools import partial

import attrs
import naive
import numpy as np

import regretkit as rk

INF = math.inf
DISCOUNTS = [(1.5, 0.0), (1.5, -INF), (1.0, 1.0), (INF, 0.0), (-INF, -INF), (0.5, 2.0)]

# Every leaf that learns from regret, next to the same rule in plain Python.
LEAVES = {
    "rm": (rk.RegretMatching, naive.RegretMatching),
    "rm+": (rk.RegretMatchingPlus, naive.RegretMatchingPlus),
    "linear": (rk.LinearRegretMatching, naive.LinearRegretMatching),
    "prm": (rk.PredictiveRegretMatching, naive.PredictiveRegretMatching),
    "prm+": (rk.PredictiveRegretMatchingPlus, naive.PredictiveRegretMatchingPlus),
    "hedge": (partial(rk.Hedge, rate=0.3), partial(naive.Hedge, rate=0.3)),
    "optimistic": (partial(rk.OptimisticHedge, rate=0.3), partial(naive.OptimisticHedge, rate=0.3)),
}
for _alpha, _beta in DISCOUNTS:
    LEAVES[f"drm({_alpha:g},{_beta:g})"] = (
        partial(rk.DiscountedRegretMatching, alpha=_alpha, beta=_beta),
        partial(naive.DiscountedRegretMatching, alpha=_alpha, beta=_beta),
    )

MAKERS = {name: leaf for name, (leaf, _) in LEAVES.items()}
PREDICTIVE = {name: MAKERS[name] for name in ("prm", "prm+", "optimistic")}


# Adversaries: called with the strategy they will hurt, the iteration (from 1) and a generator


def random(strategy, t, generator):
    """Draw every coordinate, some better than others in the mean."""
    return generator.normal(size=strategy.size) + np.linspace(-0.5, 0.5, strategy.size)


def alternating(strategy, t, generator):
    """Favour even coordinates in two iterations of three, and odd ones in the third."""
    even = np.arange(strategy.size) % 2 == 0
    return np.where(even == (t % 3 != 0), 1.0, -1.0)


def sign_flipping(strategy, t, generator):
    """Keep a direction for ever longer, then turn it around."""
    return np.linspace(-1.0, 1.0, strategy.size) * (1.0 if int(math.log2(t)) % 2 else -1.0)


def drifting(strategy, t, generator):
    """Let the best coordinate wander slowly."""
    n = strategy.size
    return np.cos((t - 1) / 60.0 + 2.0 * np.pi * np.arange(n) / max(1, n))


def punishing(strategy, t, generator):
    """Give the least utility to what is played most, and a little more to one coordinate."""
    utility = -strategy
    utility[:1] += 0.3 * np.abs(strategy).max(initial=0.0)
    return utility


def flipping(strategy, t, generator):
    """Turn everything around in every iteration, so that the last one predicts the opposite."""
    return (-1.0) ** t * np.linspace(-1.0, 1.0, strategy.size)


def bursting(strategy, t, generator):
    """Draw from a distribution with neither a variance nor a mean."""
    return generator.standard_cauchy(size=strategy.size)


ADVERSARIES = {f.__name__: f for f in (random, alternating, sign_flipping, drifting)}
ADVERSARIES |= {"best-reply-punishing": punishing, "flipping": flipping, "bursting": bursting}


def play(player, adversary, iterations, generator):
    """Let ``player`` meet ``adversary``; return the strategies and the utilities."""
    strategies, utilities = [], []
    for t in range(1, iterations + 1):
        strategy = player.next_strategy()
        utility = adversary(strategy, t, generator)
        player.observe_utility(utility)
        strategies.append(strategy)
        utilities.append(utility)
    return np.array(strategies), np.array(utilities)


def meets(player, seed, iterations=60):
    """Let ``player`` meet all adversaries in turn; yield each strategy and utility, then learn."""
    generator = np.random.default_rng(seed)
    for t in range(1, iterations + 1):
        strategy = player.next_strategy()
        adversary = list(ADVERSARIES.values())[t % len(ADVERSARIES)]
        utility = adversary(strategy, t, generator)
        yield strategy, utility
        player.observe_utility(utility)


def same_play(
    first, second, seed=1, iterations=60, atol=0.0, told=None, seen=lambda utility: utility
):
    """Require the same strategies of two players that observe and expect the same.

    They expect ``told`` in every iteration, or "sometimes" another random utility. The second one
    observes and expects what ``seen`` makes of it.
    """
    generator, adversaries = np.random.default_rng(seed), list(ADVERSARIES.values())
    for t in range(1, iterations + 1):
        if told is not None and (not isinstance(told, str) or t % 4 == 0):
            coming = generator.normal(size=first.dimension) if isinstance(told, str) else told
            first.expect_utility(coming)
            second.expect_utility(seen(coming))
        strategy = first.next_strategy()
        np.testing.assert_allclose(strategy, second.next_strategy(), rtol=0.0, atol=atol)
        utility = adversaries[t % len(adversaries)](strategy, t, generator)
        first.observe_utility(utility)
        second.observe_utility(seen(utility))


def apart(make):
    """Return a local rule of one object for each decision point."""
    return lambda simplices: rk.Product([make(n) for n in simplices.sizes.tolist()])


def parts_of(player):
    """Yield a minimizer and all its parts, at any depth."""
    yield player
    fields = [field.name for field in attrs.fields(type(player))]
    for name in {*fields, *vars(player)}:
        held = getattr(player, name, None)
        for part in held if isinstance(held, tuple | list) else [held]:
            if isinstance(part, rk.RegretMinimizer):
                yield from parts_of(part)


def regret(domain, history):
    earned = math.fsum(float(u @ x) for x, u in history)
    return domain.best_response(sum(u for _, u in history))[0] - earned


def train(player, generator, iterations=20):
    """Show ``player`` random utilities, and return it."""
    for utility in generator.normal(size=(iterations, player.dimension)):
        player.observe_utility(utility)
    return player


def random_tree(generator, points=None, **names):
    """Return a tree of random shape: some points have a single action, levels are interleaved."""
    points = int(generator.integers(1, 12)) if points is None else points
    sizes = generator.integers(1, 5, size=points).tolist()
    parents = []
    for j in range(points):
        previous = 1 + sum(sizes[:j])
        # Half of the time after one of the last sequences, so that some trees are deep.
        recent = max(0, previous - 4) if generator.random() < 0.5 else 0
        parents.append(int(generator.integers(recent, previous)))
    return rk.DecisionTree(parents, sizes, **names)


def random_dag(generator, points=None):
    """Return a DAG of random shape: a decision point has one to three parents."""
    points = int(generator.integers(1, 8)) if points is None else points
    sizes = generator.integers(1, 4, size=points)
    previous = 1 + np.cumsum(sizes) - sizes
    parents = [
        generator.choice(n, size=min(n, generator.integers(1, 4)), replace=False) for n in previous
    ]
    return rk.sets.DecisionDAG(parents, sizes)


def unrolled(dag):
    """Return the tree of all paths through a DAG, and the DAG's coordinate of each of its own."""
    listed = np.split(dag.parent_sequences, np.cumsum(dag.parent_counts)[:-1])
    parents, points, coordinates = [], [], [0]
    for point, sequences in enumerate(listed):
        own = range(dag.first_sequence[point], dag.first_sequence[point] + dag.sizes[point])
        for place in [p for p, c in enumerate(coordinates) if c in sequences]:
            parents.append(place)
            points.append(point)
            coordinates.extend(own)
    return rk.DecisionTree(parents, dag.sizes[points]), np.array(coordinates), np.array(points)


def labelled_tree(generator, points=None):
    """Return a random tree whose decision points are called "point 0", "point 1", ..."""
    points = int(generator.integers(1, 12)) if points is None else points
    return random_tree(generator, points, labels=[f"point {j}" for j in range(points)])


def random_behavior(generator, simplices):
    """Return a strategy that plays some actions never, and some almost never."""
    weights = generator.exponential(size=simplices.dimension) ** 4
    weights[generator.random(simplices.dimension) < 0.2] = 0.0
    return simplices.normalize(weights)
