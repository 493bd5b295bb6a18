"""Gaps of correlated play by their definition: every plan, every deviation, every outcome.

A mediator draws an iteration, and in it a plan for each player: an action at every information set.
A deviation is a function of a player's own plan. What it gains is added up over all joint plans.
"""

import itertools
import math

import numpy as np
import scipy.optimize
from naive_games import moves

from regretkit.games import CHANCE


def information_sets(root, player):
    """Return by information set its actions, and the sets and actions of the player on its way."""
    found = {}

    def visit(history, way):
        if history.is_terminal():
            return
        if history.player() == player:
            label = history.information_set()
            found.setdefault(label, (tuple(history.actions()), way))
            for action in history.actions():
                visit(history.child(action), (*way, (label, action)))
            return
        children = (
            [child for child, _ in history.chance_outcomes()]
            if history.player() == CHANCE
            else history.actions()
        )
        for action in children:
            visit(history.child(action), way)

    visit(root, ())
    return found


def plans(sets):
    """Return every choice of an action at each of some information sets."""
    return [
        dict(zip(sets, chosen, strict=True))
        for chosen in itertools.product(*(actions for actions, _ in sets.values()))
    ]


def at_or_after(sets, label):
    return {
        other: sets[other]
        for other in sets
        if other == label or label in [before for before, _ in sets[other][1]]
    }


def is_reached(sets, plan, label):
    """Say whether a plan of the player leads to one of its information sets."""
    return all(plan[before] == action for before, action in sets[label][1])


class Definition:
    """The joint distribution of plans that some iterations of play make.

    ``iterations`` has pairs of a weight and the behavior of all players, by player and label. With
    ``dtype=object`` all is computed in fractions, where the game and the iterations are.
    """

    def __init__(self, root, players, iterations, dtype=float):
        self.root, self.iterations = root, iterations
        self.sets = [information_sets(root, player) for player in range(players)]
        self.plans = [plans(sets) for sets in self.sets]
        shape = [len(own) for own in self.plans]
        self.payoffs = np.zeros((*shape, players), dtype)
        for index in np.ndindex(*shape):
            chosen = [self.plans[player][number] for player, number in enumerate(index)]
            self.payoffs[index] = payoff_of_plans(root, chosen)
        self.joint = np.zeros(shape, dtype)
        self.total = sum(weight for weight, _ in iterations)
        for weight, behavior in iterations:
            product = np.full((), weight / self.total)
            for player in range(players):
                product = np.multiply.outer(product, self.of_plans(player, behavior))
            self.joint += product
        self.earned = [self.earned_instead(player) for player in range(players)]

    def of_plans(self, player, behavior):
        """Return the probability of each plan of a player, who draws at each set by itself."""
        return np.array(
            [
                math.prod(
                    behavior[player, str(label)][self.sets[player][label][0].index(action)]
                    for label, action in plan.items()
                )
                for plan in self.plans[player]
            ]
        )

    def earned_instead(self, player):
        """Return what plan q earns where plan p was drawn, ``K[p, q]``."""
        size = len(self.plans[player])
        joint = np.moveaxis(self.joint, player, 0).reshape(size, -1)
        payoffs = np.moveaxis(self.payoffs[..., player], player, 0).reshape(size, -1)
        return joint @ payoffs.T

    def gain(self, player, deviation):
        """Return what a player gains by playing ``deviation(p)`` for each plan p."""
        number = {tuple(plan.values()): i for i, plan in enumerate(self.plans[player])}
        instead = [number[tuple(deviation(plan).values())] for plan in self.plans[player]]
        earned = self.earned[player]
        return (earned[range(len(instead)), instead] - np.diag(earned)).sum()

    def nfcce(self, player):
        return max(self.gain(player, lambda _, fixed=fixed: fixed) for fixed in self.plans[player])

    def nfce(self, player):
        earned = self.earned[player]
        return (earned.max(axis=1) - np.diag(earned)).sum()

    def triggers(self, player, *, coarse):
        """Return all information sets, or if not coarse all pairs of one and a recommendation."""
        sets = self.sets[player]
        return [
            (label, action)
            for label, (actions, _) in sets.items()
            for action in ([None] if coarse else actions)
        ]

    def continuations(self, player, trigger):
        """Return what each pure continuation after a trigger gains, and the continuation."""
        sets = self.sets[player]
        return [
            (self.gain(player, lambda plan, q=q: triggered(sets, plan, {trigger: q})), q)
            for q in plans(at_or_after(sets, trigger[0]))
        ]

    def continuation(self, player, trigger):
        """Return the best of all pure continuations after a trigger, and what it gains."""
        return max(self.continuations(player, trigger), key=lambda pair: pair[0])

    def largest(self, player, *, coarse):
        """Return what the best trigger deviation gains."""
        triggers = self.triggers(player, coarse=coarse)
        return max((self.continuation(player, trigger)[0] for trigger in triggers), default=0.0)

    def all_at_once(self, player, *, coarse):
        """Return what the player gains that may deviate at any triggers, each by its own way."""
        best = {k: self.continuation(player, k)[1] for k in self.triggers(player, coarse=coarse)}
        chosen = itertools.chain.from_iterable(
            itertools.combinations(best, count) for count in range(len(best) + 1)
        )
        sets = self.sets[player]
        return max(
            self.gain(
                player, lambda plan, some=some: triggered(sets, plan, {k: best[k] for k in some})
            )
            for some in chosen
        )

    def linear(self, player):
        """Return what the best matrix gains that sends every plan, in sequence form, to a strategy.

        The unknowns are all entries of the matrix A; for each vertex v, A v satisfies ``E x = e``
        and ``x >= 0``.
        """
        sets = self.sets[player]
        sequences = [None, *((label, a) for label in sets for a in sets[label][0])]
        number = {sequence: i for i, sequence in enumerate(sequences)}
        vertices = np.array(
            [
                [
                    s is None or (plan[s[0]] == s[1] and is_reached(sets, plan, s[0]))
                    for s in sequences
                ]
                for plan in self.plans[player]
            ],
            dtype=float,
        )
        n = len(sequences)
        E = np.zeros((1 + len(sets), n))
        E[0, 0] = 1.0
        for row, (label, (actions, way)) in enumerate(sets.items(), start=1):
            E[row, number[way[-1] if way else None]] -= 1.0
            for action in actions:
                E[row, number[label, action]] += 1.0
        sums = np.zeros((n, n))
        for weight, behavior in self.iterations:
            x = self.of_plans(player, behavior) @ vertices
            sums += weight / self.total * np.outer(self.utility(player, behavior, number), x)
        distinct = np.unique(vertices, axis=0)
        found = scipy.optimize.linprog(
            -sums.ravel(),
            A_ub=np.vstack([-np.kron(np.eye(n), v) for v in distinct]),
            b_ub=np.zeros(n * len(distinct)),
            A_eq=np.vstack([np.kron(E, v) for v in distinct]),
            b_eq=np.tile(np.eye(1, len(E))[0], len(distinct)),
            bounds=(None, None),
        )
        assert found.status == 0, found.message
        return -found.fun - np.trace(sums)

    def utility(self, player, behavior, number):
        """Return what ends after each sequence, if the player plays to there."""
        worth = np.zeros(len(number))

        def visit(history, reach, last):
            if history.is_terminal():
                worth[number[last]] += reach * history.payoffs()[player]
            elif history.player() == player:
                for action in history.actions():
                    visit(history.child(action), reach, (history.information_set(), action))
            else:
                for probability, child in moves(history, behavior):
                    visit(child, reach * probability, last)

        visit(self.root, 1.0, None)
        return worth


def triggered(sets, plan, deviations):
    """Return what is played of a plan by a player that deviates after some triggers.

    ``deviations`` maps triggers to continuations. The player follows its plan; at an information
    set that has a trigger for what the plan says there, it goes over to the continuation, for good.
    """
    played = dict(plan)
    for label in sorted(sets, key=lambda label: len(sets[label][1])):
        before = [set_before for set_before, _ in sets[label][1]]
        for trigger in (label, None), (label, plan[label]):
            followed = all(
                (earlier, told) not in deviations
                for earlier in before
                for told in (None, plan[earlier])
            )
            if trigger in deviations and followed and is_reached(sets, plan, label):
                played |= deviations[trigger]
    return played


def payoff_of_plans(history, chosen):
    """Return what each player earns where each plays a plan."""
    if history.is_terminal():
        return np.array(history.payoffs())
    if history.player() == CHANCE:
        return sum(
            p * payoff_of_plans(history.child(action), chosen)
            for action, p in history.chance_outcomes()
        )
    action = chosen[history.player()][history.information_set()]
    return payoff_of_plans(history.child(action), chosen)
