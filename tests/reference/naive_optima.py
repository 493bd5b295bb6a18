"""Optimal correlated equilibria of trees, over all joint plans and over relevant pairs."""

import itertools

import numpy as np
from naive_correlation import at_or_after, information_sets, payoff_of_plans, plans
from naive_games import last_sequences
from scipy.optimize import linprog


def deviations(sets, concept):
    """Yield what a plan recommends at a trigger, and each way to continue after it."""
    if concept == "nfcce":
        yield from (({}, plan) for plan in plans(sets))
        return
    for label, (actions, way) in sets.items():
        told = [{}] if concept == "efcce" else [{label: action} for action in actions]
        for recommended, plan in itertools.product(told, plans(at_or_after(sets, label))):
            yield {**dict(way), **recommended}, plan


def best_over_plans(root, players, weights, concept):
    """Return the largest weighted payoff over all equilibria, by one variable a joint plan."""
    sets = [information_sets(root, player) for player in range(players)]
    joints = list(itertools.product(*map(plans, sets)))
    place = {tuple(tuple(plan.values()) for plan in joint): n for n, joint in enumerate(joints)}
    paid = np.array([payoff_of_plans(root, joint) for joint in joints])
    rows = set()
    for player in range(players):
        for told, instead in deviations(sets[player], concept):
            row = np.zeros(len(joints))
            for number, joint in enumerate(joints):
                if told.items() <= joint[player].items():
                    changed = list(joint)
                    changed[player] = {**joint[player], **instead}
                    other = place[tuple(tuple(plan.values()) for plan in changed)]
                    row[number] = paid[other, player] - paid[number, player]
            rows.add(tuple(row.tolist()))
    return _maximum(paid @ weights, np.array(sorted(rows)), np.ones((1, len(joints))))


def team_value(root, players, opponent):
    """Return what a team guarantees by a distribution over its joint plans."""
    sets = [information_sets(root, player) for player in range(players)]
    members = [player for player in range(players) if player != opponent]
    rows = []
    for replies in plans(sets[opponent]):
        row = []
        for joint in itertools.product(*(plans(sets[player]) for player in members)):
            chosen = dict(zip(members, joint, strict=True)) | {opponent: replies}
            row.append(payoff_of_plans(root, chosen)[members].sum())
        rows.append(row)
    paid = np.unique(rows, axis=0)
    earned = np.hstack([-paid, np.ones((len(paid), 1))])
    total = np.append(np.ones(paid.shape[1]), 0.0)[None]
    return _maximum(np.append(np.zeros(paid.shape[1]), 1.0), earned, total, free=1)


def _maximum(objective, unequal, equal, free=0):
    """Maximize over ``unequal z <= 0``, and ``equal z`` 1 in the first row, 0 in the others."""
    bounded = objective.size - free
    solved = linprog(
        -objective,
        A_ub=unequal,
        b_ub=np.zeros(unequal.shape[0]),
        A_eq=equal,
        b_eq=np.eye(1, equal.shape[0])[0],
        bounds=[(0.0, None)] * bounded + [(None, None)] * free,
        method="highs-ds",
    )
    assert solved.status == 0, solved.message
    return -solved.fun


# By sequences


class Sequences:
    """A player's decision tree as lists."""

    def __init__(self, domain):
        self.parents = domain.parent_sequence.tolist()
        pairs = zip(domain.first_sequence.tolist(), domain.sizes.tolist(), strict=True)
        self.blocks = [range(first, first + size) for first, size in pairs]
        self.point_of = {s: j for j, block in enumerate(self.blocks) for s in block}

    def after(self, sequence):
        return [j for j, parent in enumerate(self.parents) if parent == sequence]

    def path(self, s):
        return {s} | self.path(self.parents[self.point_of[s]]) if s else set()

    def triggers(self, concept):
        """Yield for each what was told, the points from there on, and what is played otherwise."""
        points = range(len(self.parents))
        if concept == "nfcce":
            yield 0, {*points}, {*self.point_of}
            return
        for j, block in enumerate(self.blocks):
            later = {k for k in points if k == j or self.path(self.parents[k]) & {*block}}
            for told in block if concept == "efce" else [self.parents[j]]:
                kept = {told} if concept == "efce" else {*block}
                yield told, later, {s for s in self.point_of if self.path(s) & kept}

    def first(self, points):
        return [j for j in points if self.point_of.get(self.parents[j]) not in points]


def terminals(game):
    """Return the last sequences of all players at each terminal, and its weighted payoffs."""
    tree = game.tree
    last = zip(*last_sequences(tree)[:, tree.terminals].tolist(), strict=True)
    reach = tree.probability.copy()
    for history in range(1, tree.histories):
        reach[history] *= reach[tree.parent[history]]
    paid = reach[tree.terminals, None] * tree.payoffs
    return list(zip(last, paid.tolist(), strict=True))


def gaps(game, probability, concept):
    """Return what the best single trigger of each player gains, by ``probability`` of sequences."""
    found, ends = [], terminals(game)
    for player, tree in enumerate(map(Sequences, game.domains)):

        def earned(s, told, player=player):
            sequences = [
                ([*z[:player], told, *z[player + 1 :]], u) for z, u in ends if z[player] == s
            ]
            return sum(probability(z) * u[player] for z, u in sequences)

        def best_from(j, told, tree=tree, earned=earned):
            return max(
                earned(s, told) + sum(best_from(k, told) for k in tree.after(s))
                for s in tree.blocks[j]
            )

        gains = (
            sum(best_from(j, told) for j in tree.first(later)) - sum(earned(s, s) for s in followed)
            for told, later, followed in tree.triggers(concept)
        )
        found.append(max(gains, default=0.0))
    return found
