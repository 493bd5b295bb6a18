"""Games as trees of plain objects, and what is played in them found by naive recursion."""

import itertools
from collections import defaultdict

import numpy as np
from attrs import field, frozen

from regretkit.games import CHANCE


@frozen
class Node:
    """A history that knows the whole game behind it."""

    children: dict = field(factory=dict)
    acting: int = CHANCE
    label: object = None
    chances: tuple = ()
    earned: tuple = ()

    def is_terminal(self):
        return not self.children

    def player(self):
        return self.acting

    def chance_outcomes(self):
        return list(zip(self.children, self.chances, strict=True))

    def actions(self):
        return list(self.children)

    def child(self, action):
        return self.children[action]

    def information_set(self):
        return self.label

    def payoffs(self):
        return self.earned


def end(*payoffs):
    return Node(earned=payoffs)


def decision(player, label, **children):
    return Node(children, player, label)


def chance(probabilities, **children):
    return Node(children, chances=tuple(probabilities))


# Random games


def random_game(generator, players=2, depth=5, zero_sum=False):
    """Return a random game of perfect recall, with chance and shared information sets.

    It begins with a deal of which each player sees one of two signals. Each later move, by chance
    too, is seen by the other players, seen by half or not noticed at all. What a player knows is
    all it ever saw and did, in order: it forgets nothing.
    """
    turns = generator.integers(-1, players, size=depth)
    views = generator.choice(["nothing", "half", "all"], size=(depth, players))
    sizes = {}

    def grow(seen, level):
        if level == depth or generator.random() < 0.1:
            payoffs = generator.normal(size=players)
            return end(*payoffs[:-1], -payoffs[:-1].sum() if zero_sum else payoffs[-1])
        acting = int(turns[level])
        label = None if acting == CHANCE else seen[acting]
        count = sizes.setdefault((acting, label), int(generator.choice([1, 2, 2, 3])))
        children = {}
        for action in range(count):
            views_of_action = ["own" if p == acting else views[level, p] for p in range(players)]
            saw = [
                signal + _view(action, view)
                for signal, view in zip(seen, views_of_action, strict=True)
            ]
            children[action] = grow(saw, level + 1)
        chances = tuple(generator.dirichlet(np.ones(count))) if acting == CHANCE else ()
        return Node(children, acting, label, chances)

    signals = generator.integers(2, size=(4, players))
    deals = {f"deal {i}": grow([(int(s),) for s in signal], 0) for i, signal in enumerate(signals)}
    return Node(deals, chances=tuple(generator.dirichlet(np.ones(4))))


def _view(action, view):
    return {"nothing": (), "half": (f"h{action // 2}",), "all": (action,), "own": (f"me{action}",)}[
        view
    ]


def random_profile(generator, game):
    """Return a strategy for each player in sequence form, and the same by information set."""
    profile, behavior = [], {}
    for player, tree in enumerate(game.domains):
        simplices = tree.simplices
        weights = generator.exponential(size=simplices.dimension)
        weights[generator.random(simplices.dimension) < 0.2] = 0.0
        mixed = simplices.normalize(weights)
        profile.append(tree.sequence_form(mixed))
        for number, label in enumerate(game.tree.labels[player]):
            behavior[player, label] = mixed[simplices.block(number)]
    return profile, behavior


# What is played, by information set: ``behavior[player, label]`` holds probabilities


def uniform(game):
    """Return the profile in which every action is as likely as the others beside it."""
    return [domain.relative_interior_point() for domain in game.domains]


def moves(history, behavior):
    """Yield what may follow a history, with its probability."""
    if history.player() == CHANCE:
        yield from ((p, history.child(action)) for action, p in history.chance_outcomes())
    else:
        mixed = behavior[history.player(), str(history.information_set())]
        yield from zip(mixed, map(history.child, history.actions()), strict=True)


def expected_value(history, behavior):
    """Return what each player earns."""
    if history.is_terminal():
        return np.array(history.payoffs(), dtype=float)
    return sum(p * expected_value(child, behavior) for p, child in moves(history, behavior))


def utility(root, player, behavior, payoff_of=None):
    """Return what ends after each of a player's last actions, if it comes to there.

    The keys are an information set and the action there, and None where the player never acted.
    """
    worth = defaultdict(float)

    def visit(history, reach, last):
        if history.is_terminal():
            worth[last] += reach * history.payoffs()[player if payoff_of is None else payoff_of]
        elif history.player() == player:
            for action in history.actions():
                place = (str(history.information_set()), str(action))
                visit(history.child(action), reach, place)
        else:
            for p, child in moves(history, behavior):
                visit(child, reach * p, last)

    visit(root, 1.0, None)
    return worth


def best_value(weighted, player, behavior):
    """Return the most a player can still earn from histories that are reached with weights.

    With perfect recall an information set follows from one action before it, so that all of its
    histories are met together.
    """
    total, by_set = 0.0, defaultdict(list)
    waiting = list(weighted)
    while waiting:
        weight, history = waiting.pop()
        if history.is_terminal():
            total += weight * history.payoffs()[player]
        elif history.player() == player:
            by_set[history.information_set()].append((weight, history))
        else:
            waiting += [(weight * p, child) for p, child in moves(history, behavior)]
    for histories in by_set.values():
        total += max(
            best_value([(weight, h.child(action)) for weight, h in histories], player, behavior)
            for action in histories[0][1].actions()
        )
    return total


def nash_conv(root, behavior):
    value = expected_value(root, behavior)
    best = [best_value([(1.0, root)], player, behavior) for player in range(len(value))]
    return sum(best) - value.sum()


def pure_strategies(game, player):
    """Yield every way to choose one action at each of a player's information sets."""
    labels, actions = game.tree.labels[player], game.tree.actions[player]
    for chosen in itertools.product(*(range(len(names)) for names in actions)):
        yield {
            (player, label): np.eye(len(names))[choice]
            for label, names, choice in zip(labels, actions, chosen, strict=True)
        }


def last_sequences(tree):
    """Return each player's last sequence at each history, shape ``(players, histories)``."""
    first = [1 + np.cumsum(sizes) - sizes for sizes in tree.sizes]
    last = np.zeros((tree.players, tree.histories), int)
    for history in range(1, tree.histories):
        parent = tree.parent[history]
        player, point = tree.player[parent], tree.information_set[parent]
        last[:, history] = last[:, parent]
        if player != CHANCE:
            last[player, history] = first[player][point] + tree.action[history]
    return last


def kuhn_bets(alpha):
    """Return how often to bet or call where, in the equilibrium of Kuhn poker with ``alpha``.

    Kuhn (1950): alpha is how often player 0 bets the jack, from 0 to 1/3.
    """
    first = {"J": alpha, "Q": 0.0, "K": 3 * alpha, "Jpb": 0.0, "Qpb": alpha + 1 / 3, "Kpb": 1.0}
    return first | {"Jp": 1 / 3, "Qp": 0.0, "Kp": 1.0, "Jb": 0.0, "Qb": 1 / 3, "Kb": 1.0}
