"""Slow and obvious: what the library computes, written once more in plain Python.

Nothing here uses the library, numpy, or a clever identity. Vectors are lists of floats.
"""

import itertools
import math


def total(numbers):
    """Add up from left to right; since Python 3.12 its own ``sum`` of floats is cleverer."""
    result = 0.0
    for number in numbers:
        result += number
    return result


def dot(left, right):
    return total(a * b for a, b in zip(left, right, strict=True))


def positive(numbers):
    return [max(number, 0.0) for number in numbers]


def add(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]


def regret(utility, strategy):
    earned = dot(utility, strategy)
    return [u - earned for u in utility]


def in_proportion(numbers):
    numbers = positive(numbers)
    total = sum(numbers)
    if total == 0.0:
        return [1.0 / len(numbers)] * len(numbers)
    return [number / total for number in numbers]


def softmax(numbers):
    top = max(numbers)
    weights = [math.exp(number - top) for number in numbers]
    return [weight / sum(weights) for weight in weights]


def project(numbers):
    """Find by bisection the level at which what stands out above it sums to one."""
    low, high = min(numbers) - 1.0, max(numbers)
    for _ in range(200):
        level = (low + high) / 2
        if sum(positive([number - level for number in numbers])) > 1.0:
            low = level
        else:
            high = level
    return positive([number - high for number in numbers])


# Rules over one simplex


class RegretMatching:
    """Play in proportion to ``basis(v)``; v is what was expected, or the last regret."""

    start = 0.0
    predictive = False

    def __init__(self, actions, **parameters):
        vars(self).update(parameters)
        self.t, self.R = 1, [self.start] * actions
        self.last, self.v = [1.0 / actions] * actions, [0.0] * actions

    def play(self):
        return in_proportion(self.basis(self.v))

    def basis(self, v):
        return add(self.R, v)

    def expect(self, utility):
        if self.predictive:
            self.v = regret(utility, self.last)

    def learn(self, utility):
        self.last = self.play()
        g = regret(utility, self.last)
        self.update(g)
        self.v = g if self.predictive else [0.0] * len(g)
        self.t += 1

    def update(self, g):
        self.R = add(self.R, g)


class RegretMatchingPlus(RegretMatching):
    def update(self, g):
        self.R = positive(add(self.R, g))


class LinearRegretMatching(RegretMatching):
    def update(self, g):
        self.R = add(self.R, [self.t * gained for gained in g])


class DiscountedRegretMatching(RegretMatching):
    def update(self, g):
        self.R = [self.factor(old) * old + new for old, new in zip(self.R, g, strict=True)]

    def factor(self, old):
        s, exponent = self.t - 1, self.alpha if old > 0.0 else self.beta
        if math.isinf(exponent):
            return float(exponent > 0.0)
        return s**exponent / (s**exponent + 1.0) if s else 1.0


class PredictiveRegretMatching(RegretMatching):
    predictive = True


class PredictiveRegretMatchingPlus(RegretMatchingPlus):
    predictive = True


class Hedge:
    """Hedge as in the texts: over utilities, where the library accumulates regrets."""

    predictive = False

    def __init__(self, actions, rate):
        self.rate, self.earned, self.expected = rate, [0.0] * actions, [0.0] * actions

    def play(self):
        return softmax([self.rate * total for total in add(self.earned, self.expected)])

    def expect(self, utility):
        self.expected = list(utility)

    def learn(self, utility):
        self.earned = add(self.earned, utility)
        if self.predictive:
            self.expected = list(utility)


class OptimisticHedge(Hedge):
    predictive = True


# Trees: a decision point is (number, [what follows each action]), and what follows is a list of
# decision points. Coordinate 0 of a sequence-form vector is the empty sequence.


def nested(parent_sequence, sizes):
    """Return the decision points that come first, each with all that follows it."""
    first = [1 + sum(sizes[:j]) for j in range(len(sizes))]

    def subtree(sequence):
        return [place(j) for j, parent in enumerate(parent_sequence) if parent == sequence]

    def place(j):
        return j, [subtree(first[j] + a) for a in range(sizes[j])]

    return subtree(0)


class CFR:
    """One rule for each decision point; strategies and utilities are in sequence form."""

    def __init__(self, parent_sequence, sizes, make):
        self.sizes = list(sizes)
        self.roots = nested(list(parent_sequence), self.sizes)
        self.rules = [make(size) for size in self.sizes]

    def sequence(self, j, action):
        return 1 + sum(self.sizes[:j]) + action

    def play(self):
        return sequence_form(self.roots, self.sizes, [rule.play() for rule in self.rules])

    def learn(self, utility):
        """Teach every rule its counterfactual utilities, and return them by decision point."""
        local = [rule.play() for rule in self.rules]
        _, worths = counterfactual(self.roots, self.sizes, local, utility)
        for rule, worth in zip(self.rules, worths, strict=True):
            rule.learn(worth)
        return worths


def sequence_form(roots, sizes, behavior):
    strategy = [0.0] * (1 + sum(sizes))
    strategy[0] = 1.0

    def visit(points, reach):
        for j, followers in points:
            for action, following in enumerate(followers):
                sequence = 1 + sum(sizes[:j]) + action
                strategy[sequence] = reach * behavior[j][action]
                visit(following, strategy[sequence])

    visit(roots, 1.0)
    return strategy


def counterfactual(roots, sizes, behavior, utility):
    """Return the value of ``behavior`` and, by decision point, the value of each action."""
    worths = [None] * len(sizes)

    def value(point):
        j, followers = point
        start = 1 + sum(sizes[:j])
        worths[j] = [
            utility[start + action] + sum(value(child) for child in following)
            for action, following in enumerate(followers)
        ]
        return dot(behavior[j], worths[j])

    return utility[0] + sum(value(point) for point in roots), worths


def pure_strategies(parent_sequence, sizes):
    """Yield the sequence form of every deterministic choice at every decision point."""
    roots = nested(list(parent_sequence), list(sizes))
    for choice in itertools.product(*map(range, sizes)):
        behavior = [
            [float(a == chosen) for a in range(n)] for n, chosen in zip(sizes, choice, strict=True)
        ]
        yield sequence_form(roots, sizes, behavior)


# Regrets of a history, a list of pairs (strategy, utility)


def external_regret(history):
    earned = math.fsum(dot(x, u) for x, u in history)
    actions = range(len(history[0][0]))
    return max(math.fsum(u[a] for _, u in history) for a in actions) - earned


def regret_against(history, moves):
    """Return what would have been gained by playing ``moves[a]`` wherever a was played."""
    gains = (x[a] * (u[b] - u[a]) for x, u in history for a, b in enumerate(moves))
    return math.fsum(gains)


def swap_regret(history):
    actions = range(len(history[0][0]))
    return max(regret_against(history, f) for f in itertools.product(actions, repeat=len(actions)))


def internal_regret(history):
    n = len(history[0][0])
    pairs = itertools.permutations(range(n), 2)
    return max(regret_against(history, [b if i == a else i for i in range(n)]) for a, b in pairs)
