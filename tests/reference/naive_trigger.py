"""Trigger regret in 60 digits, one number at a time, as the definition of a trigger has it.

Where sums cancel, 60 digits say so: what is below 1e-45 is zero, so that no tie is broken.
"""

from decimal import Decimal, localcontext

import numpy as np

ZERO, ONE, ROUNDING = Decimal(0), Decimal(1), Decimal("1e-45")


def settled(number):
    return ZERO if abs(number) < ROUNDING else number


def chances(regrets, keys):
    """Return what regret matching plays, by key."""
    total = sum((regrets[key] for key in keys), ZERO)
    return {key: regrets[key] / total if total else ONE / len(keys) for key in keys}


class Player:
    """Regret matching+ over the triggers of a tree, and over what follows each."""

    def __init__(self, tree):
        self.parent, self.size = tree.parent_sequence.tolist(), tree.dimension
        sizes = zip(tree.first_sequence.tolist(), tree.sizes.tolist(), strict=True)
        self.actions = [list(range(first, first + size)) for first, size in sizes]
        self.point = {a: j for j, actions in enumerate(self.actions) for a in actions}
        self.triggers = list(self.point)
        self.after = {
            k: [j for j in range(tree.points) if self.point[k] in self.points_to(j)]
            for k in self.triggers
        }
        self.regrets = dict.fromkeys(self.triggers, ZERO)
        for k in self.triggers:
            for j in self.after[k]:
                self.regrets.update({(k, a): ZERO for a in self.actions[j]})

    def points_to(self, j):
        """Return the decision points on the way to one, itself included."""
        found = [j]
        while self.parent[found[-1]]:
            found.append(self.point[self.parent[found[-1]]])
        return found

    def play(self):
        """Return the fixed point of the mixture of deviations."""
        self.shares = chances(self.regrets, self.triggers)
        mixture = {}
        for k in self.triggers:
            for j in self.after[k]:
                self.shares |= chances(self.regrets, [(k, a) for a in self.actions[j]])
                before = (k, self.parent[j]) if j != self.point[k] else None
                reach = mixture[before] if before else self.shares[k]
                mixture |= {(k, a): reach * self.shares[k, a] for a in self.actions[j]}
        self.x = [ONE] + [ZERO] * (self.size - 1)
        for j, actions in enumerate(self.actions):
            if not (reach := self.x[self.parent[j]]):
                continue
            rates = {}
            for a in actions:
                others = [k for k in self.triggers if j in self.after[k] and self.point[k] != j]
                arriving = sum((self.x[k] * mixture[k, a] for k in others), ZERO) / reach
                rates |= {(b, a): arriving + mixture[b, a] for b in actions}
            for a, share in stationary(actions, rates).items():
                self.x[a] = reach * share
        return self.x

    def learn(self, utility):
        gains = {}
        for k in self.triggers:
            values = {}
            for j in reversed(self.after[k]):
                earned = {}
                for a in self.actions[j]:
                    following = [values[i] for i in self.after[k] if self.parent[i] == a]
                    earned[k, a] = self.x[k] * utility[a] + sum(following, ZERO)
                values[j] = self.update(earned)
            kept = [a for a in self.point if k in self.way(a)]
            followed = sum((utility[a] * self.x[a] for a in kept), ZERO)
            gains[k] = values[self.point[k]] - followed
        self.update(gains)

    def way(self, a):
        """Return the sequences on the way to one, itself included."""
        return [a, *(self.parent[j] for j in self.points_to(self.point[a]))]

    def update(self, earned):
        value = sum((self.shares[key] * what for key, what in earned.items()), ZERO)
        for key, what in earned.items():
            self.regrets[key] = max(ZERO, settled(self.regrets[key] + settled(what - value)))
        return value


def stationary(states, rates):
    """Return the mean of the stationary distributions of the closed classes."""
    reach = {pair: pair[0] == pair[1] or rates[pair] > 0 for pair in rates}
    for k in states:
        reach = {(a, b): reach[a, b] or (reach[a, k] and reach[k, b]) for a, b in rates}
    closed = {
        tuple(b for b in states if reach[a, b])
        for a in states
        if all(reach[b, a] for b in states if reach[a, b])
    }
    shares = dict.fromkeys(states, ZERO)
    for states_of in closed:
        matrix = {(a, b): rates[a, b] for a in states_of for b in states_of}
        for number, k in reversed([*enumerate(states_of)][1:]):
            lower = states_of[:number]
            leaving = sum((matrix[k, b] for b in lower), ZERO)
            for a in lower:
                matrix[a, k] /= leaving
                for b in lower:
                    matrix[a, b] += matrix[a, k] * matrix[k, b]
        visits = {states_of[0]: ONE}
        for k in states_of[1:]:
            visits[k] = sum((visits[a] * matrix[a, k] for a in visits), ZERO)
        for a in states_of:
            shares[a] = visits[a] / sum(visits.values()) / len(closed)
    return shares


def trajectory(game, iterations):
    """Return the strategies of all players in each iteration of simultaneous play."""
    payoffs = [[Decimal(float(paid)) for paid in row] for row in game.payoffs]
    ends, played = game.sequences.T.tolist(), []
    with localcontext() as context:
        context.prec = 60
        players = [Player(tree) for tree in game.domains]
        for _ in range(iterations):
            profile = [player.play() for player in players]
            played.append([np.array([float(weight) for weight in x]) for x in profile])
            for i, player in enumerate(players):
                utility = [ZERO] * player.size
                for end, paid in zip(ends, payoffs[i], strict=True):
                    for other, x in enumerate(profile):
                        paid *= x[end[other]] if other != i else ONE
                    utility[end[i]] += paid
                player.learn([settled(number) for number in utility])
    return played
