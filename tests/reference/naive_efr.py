"""EFR (Morrill et al. 2021) in plain loops: a list of weights at each decision point, top down.

A weight is a tuple of sequences, whose last actions a player was recommended; its value is the
product of their probabilities. Nothing here uses the library, or elimination for a fixed point.
"""

import itertools
import math

# For each type: how weights go on after an action, the maps of the last weight, those of others
TYPES = {
    "blind_cf": ("counterfactual", "external", "external"),
    "informed_cf": ("counterfactual", "internal", "internal"),
    "blind_action": ("action", "external", "external"),
    "informed_action": ("action", "internal", "internal"),
    "bps": ("partial", "external", "external"),
    "cfps": ("partial", "internal", "internal"),
    "csps": ("causal", "internal", "external"),
    "tips": ("causal", "internal", "internal"),
    "bhv": ("behavioral", "internal", "internal"),
    "custom": ("behavioral", "internal", "external"),
}


class EFR:
    """One player, who plays on a tree of decision points in sequence form."""

    def __init__(self, parents, sizes, deviations):
        self.parents, self.sizes = list(parents), list(sizes)
        self.memory, self.last_maps, self.other_maps = TYPES[deviations]
        self.actions, self.owner = [], {0: None}
        for j, size in enumerate(self.sizes):
            first = len(self.owner)
            self.actions.append(list(range(first, first + size)))
            self.owner.update(dict.fromkeys(self.actions[j], j))
        self.deviations = [self.deviations_at(j) for j in range(len(self.sizes))]
        self.regrets = [[0.0] * len(found) for found in self.deviations]

    def weights_at(self, j):
        """Return the weights at a decision point, and which of them is the last one."""
        sequence = self.parents[j]
        before = self.owner[sequence]
        if before is None:
            return [()], ()
        weights, last = self.weights_at(before)
        actions = self.actions[before]
        if len(actions) == 1:  # nothing to remember
            return weights, last
        if self.memory == "counterfactual":
            return [()], ()
        followed = (*last, sequence)
        if self.memory == "action":
            return [followed], followed
        if self.memory == "partial":
            return [*weights, followed], followed
        if self.memory == "causal":
            return [*weights, *((*last, action) for action in actions)], followed
        return [(*weight, action) for weight in weights for action in actions], followed

    def deviations_at(self, j):
        """Return pairs of a weight and a map, which is a dict from actions to actions."""
        weights, last = self.weights_at(j)
        actions, found = self.actions[j], []
        for weight in weights:
            if (self.last_maps if weight == last else self.other_maps) == "external":
                maps = [dict.fromkeys(actions, to) for to in actions]
            else:
                pairs = itertools.permutations(actions, 2)
                maps = [{a: to if a == origin else a for a in actions} for origin, to in pairs]
            found += [(weight, change) for change in maps]
        return found if len(actions) > 1 else []

    def play(self):
        """Return the behavior of the coming iteration, by sequence."""
        behavior = {}
        for j, actions in enumerate(self.actions):
            rates = {(a, b): 0.0 for a in actions for b in actions}
            for regret, (weight, change) in zip(self.regrets[j], self.deviations[j], strict=True):
                flow = max(regret, 0.0) * math.prod(behavior[sequence] for sequence in weight)
                for origin, to in change.items():
                    rates[origin, to] += flow
            behavior.update(stationary(actions, rates))
        return behavior

    def sequence_form(self, behavior):
        strategy = [1.0]
        for j, actions in enumerate(self.actions):
            strategy += [behavior[action] * strategy[self.parents[j]] for action in actions]
        return strategy

    def gains(self, behavior, utility):
        """Return what each deviation gains at each decision point, in counterfactual utilities."""
        values = list(utility)
        found = [[] for _ in self.sizes]
        for j in reversed(range(len(self.sizes))):
            earned = sum(behavior[action] * values[action] for action in self.actions[j])
            for weight, change in self.deviations[j]:
                changed = sum(behavior[origin] * values[to] for origin, to in change.items())
                probability = math.prod(behavior[sequence] for sequence in weight)
                found[j].append(probability * (changed - earned))
            values[self.parents[j]] += earned
        return found

    def learn(self, utility):
        gains = self.gains(self.play(), utility)
        for regrets, gained in zip(self.regrets, gains, strict=True):
            regrets[:] = [regret + more for regret, more in zip(regrets, gained, strict=True)]


def stationary(states, rates):
    """Return the mean of the stationary distributions of closed classes, by spanning trees.

    The share of a state is the sum, over all trees that lead from the others of its class to it, of
    the products of their rates (Markov chain tree theorem).
    """
    reach = {a: reachable(a, states, rates) for a in states}
    closed = {frozenset(reach[a]) for a in states if all(a in reach[b] for b in reach[a])}
    shares = dict.fromkeys(states, 0.0)
    for members in closed:
        trees = {root: weight_of_trees(root, sorted(members), rates) for root in members}
        for state, weight in trees.items():
            shares[state] = weight / sum(trees.values()) / len(closed)
    return shares


def reachable(state, states, rates):
    found, pending = {state}, [state]
    while pending:
        origin = pending.pop()
        new = [to for to in states if rates[origin, to] > 0.0 and to not in found]
        found.update(new)
        pending += new
    return found


def weight_of_trees(root, members, rates):
    others = [state for state in members if state != root]
    total = 0.0
    for targets in itertools.product(members, repeat=len(others)):
        parent = dict(zip(others, targets, strict=True))
        if all(leads_to(root, state, parent) for state in others):
            total += math.prod(rates[edge] for edge in parent.items())
    return total


def leads_to(root, state, parent):
    for _ in parent:
        if state == root:
            return True
        state = parent[state]
    return state == root
