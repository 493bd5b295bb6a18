"""Exact answers about small games in fractions, by going through everything."""

import itertools
from fractions import Fraction

import numpy as np

from regretkit.games import ExtensiveFormGame, GameTree, NormalFormGame


def fractions(matrix):
    return [[Fraction(float(x)) for x in row] for row in np.asarray(matrix)]


def solution(rows, right):
    """Return what solves a square system of equations, or None where not exactly one thing does."""
    rows = [[*row, b] for row, b in zip(rows, right, strict=True)]
    n = len(rows)
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for i in range(n):
            if i != column:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


def equalizer(matrix):
    """Return the mixture of rows that earns the same in every column, or None."""
    ones = [Fraction(1)] * len(matrix)
    weights = solution([list(column) for column in zip(*matrix, strict=True)], ones)
    total = sum(weights) if weights else 0
    return [w / total for w in weights] if total else None


def value_of_matrix(matrix):
    """Return the value of a matrix game.

    Shapley and Snow (1950): once all payoffs are positive, some square part of the matrix is
    regular and its equalizing strategies are optimal in the whole.
    """
    A = fractions(matrix)
    shift = 1 - min(map(min, A))
    A = [[x + shift for x in row] for row in A]
    columns = [list(column) for column in zip(*A, strict=True)]
    for k in range(1, min(len(A), len(columns)) + 1):
        for chosen in itertools.combinations(range(len(A)), k):
            for against in itertools.combinations(range(len(columns)), k):
                part = [[A[i][j] for j in against] for i in chosen]
                x, y = equalizer(part), equalizer(list(zip(*part, strict=True)))
                if x is None or y is None or min(*x, *y) < 0:
                    continue
                minimum = min(_earned(x, [c[i] for i in chosen]) for c in columns)
                maximum = max(_earned(y, [row[j] for j in against]) for row in A)
                if minimum == maximum:
                    return minimum - shift
    raise AssertionError("Shapley and Snow are wrong")


def _earned(mixture, numbers):
    return sum(p * x for p, x in zip(mixture, numbers, strict=True))


def vertices(unequal, equal):
    """Yield the corners of ``{z >= 0, <row, z> <= 0 for unequal, <row, z> = 1 for equal rows}``.

    Each is where as many inequalities hold with equality as are needed to pin it down.
    """
    n = len(equal[0])
    bounds = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    for tight in itertools.combinations([*unequal, *bounds], n - len(equal)):
        right = [Fraction(1)] * len(equal) + [Fraction(0)] * len(tight)
        z = solution([*equal, *tight], right)
        if z and min(z) >= 0 and all(_earned(z, row) <= 0 for row in unequal):
            yield z


def deviations(game, coarse):
    """Return what a player gains in each outcome by each way to deviate, one row a way."""
    outcomes = list(np.ndindex(*game.payoffs.shape[1:]))
    rows = []
    for player, count in enumerate(game.payoffs.shape[1:]):
        for told, instead in itertools.product([None] if coarse else range(count), range(count)):
            row = []
            for outcome in outcomes:
                changed = list(outcome)
                if told in (None, outcome[player]):
                    changed[player] = instead
                payoff, changed_payoff = (
                    game.payoffs[(player, *outcome)],
                    game.payoffs[(player, *changed)],
                )
                row.append(Fraction(float(changed_payoff)) - Fraction(float(payoff)))
            if any(row):
                rows.append(row)
    return rows


def best_of_equilibria(game, weights, coarse):
    """Return the largest weighted payoff over all corners of the set of equilibria."""
    size = game.payoffs[0].size
    worth = [
        sum(
            Fraction(float(w)) * Fraction(float(payoffs[outcome]))
            for w, payoffs in zip(weights, game.payoffs, strict=True)
        )
        for outcome in np.ndindex(*game.payoffs.shape[1:])
    ]
    corners = vertices(deviations(game, coarse), [[Fraction(1)] * size])
    return max(_earned(mu, worth) for mu in corners)


# Trees

FIELDS = ["parent", "player", "information_set", "probability", "labels", "actions", "outcomes"]


def with_payoffs(game, payoffs):
    """Return the game of the same tree with other payoffs at its ends."""
    kept = {name: getattr(game.tree, name) for name in FIELDS}
    return ExtensiveFormGame(GameTree(**kept, payoffs=payoffs))


def pure_reduced(tree):
    """Return all pure strategies of a decision tree in sequence form, without repetitions."""
    chosen = itertools.product(*(np.eye(int(size)) for size in tree.sizes))
    behaviors = [np.concatenate([np.zeros(0), *rows]) for rows in chosen]
    return np.unique([tree.sequence_form(behavior) for behavior in behaviors], axis=0)


def reduced_normal_form(game):
    """Return the reduced normal form of an extensive-form game."""
    plans = [pure_reduced(tree) for tree in game.domains]
    letters = "abcdefgh"[: game.players]
    reached = [payoffs[:, last] for payoffs, last in zip(plans, game.sequences, strict=True)]
    terms = ",".join(f"{letter}e" for letter in letters)
    return NormalFormGame(
        np.einsum(f"pe,{terms}->p{''.join(letters)}", game.payoffs, *reached, optimize=True)
    )


# The solver


def careless(linprog):
    """Return the solver made worse: it leaves every constraint unmet by up to its tolerance."""

    def solve(*arguments, **keywords):
        solved = linprog(*arguments, **keywords)
        wrong = np.resize([-1e-10, 1e-10, -0.5e-10], solved.x.size)
        solved.x = solved.x + wrong
        solved.ineqlin.marginals = solved.ineqlin.marginals - wrong[: solved.ineqlin.marginals.size]
        return solved

    return solve
