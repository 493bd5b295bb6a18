"""Gambit's two text formats, read token by token into plain objects, for files known to be good."""

import itertools
import re
from fractions import Fraction

import numpy as np
from naive_games import Node

from regretkit.games import CHANCE, ExtensiveFormGame, NormalFormGame

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},"]+')


def read(path):
    """Return the game in a file."""
    text = path.read_bytes().decode("utf-8").replace("\r", "\n")
    tokens = Tokens(TOKENS.findall(text))
    form, _, _, _ = (next(tokens) for _ in range(4))
    if form == "EFG":
        players = len(tokens.group())
        tokens.string()
        root, _ = node(tokens, players, {}, {}, [Fraction(0)] * players)
        return ExtensiveFormGame.from_history(root)
    return normal_form(tokens)


class Tokens:
    def __init__(self, tokens):
        self.left = tokens[::-1]

    def __next__(self):
        return self.left.pop()

    def string(self):
        return next(self) if self.left and self.left[-1][0] == '"' else None

    def group(self):
        """Return what stands between braces, inner groups as lists; None if no brace is next."""
        if not self.left or self.left[-1] != "{":
            return None
        next(self)
        found = []
        while self.left[-1] != "}":
            found.append(self.group() if self.left[-1] == "{" else next(self))
        next(self)
        return found


def outcome(tokens, players, outcomes, earned):
    """Return what was earned so far and by this outcome."""
    number = next(tokens)
    tokens.string()
    payoffs = tokens.group()
    if payoffs is not None:
        outcomes[number] = [Fraction(p) for p in payoffs]
    payoffs = outcomes.get(number, [Fraction(0)] * players)
    return [a + b for a, b in zip(earned, payoffs, strict=True)]


def node(tokens, players, sets, outcomes, earned):
    """Return the next node with all that follows it."""
    kind, _ = next(tokens), tokens.string()
    if kind == "t":
        return Node(earned=tuple(map(float, outcome(tokens, players, outcomes, earned)))), None
    player = CHANCE if kind == "c" else int(next(tokens)) - 1
    label = player, next(tokens)
    tokens.string()
    listed = tokens.group()
    if listed is not None:
        sets[label] = listed
    earned = outcome(tokens, players, outcomes, earned)
    names = sets[label][::2] if kind == "c" else sets[label]
    chances = tuple(float(Fraction(p)) for p in sets[label][1::2]) if kind == "c" else ()
    # Names need not differ.
    children = {
        (i, name): node(tokens, players, sets, outcomes, earned)[0] for i, name in enumerate(names)
    }
    return Node(children, player, label, chances), None


def normal_form(tokens):
    players = len(tokens.group())
    listed = tokens.group()
    sizes = [len(entry) if isinstance(entry, list) else int(entry) for entry in listed]
    tokens.string()
    table = tokens.group()
    cells = tokens.left[::-1]
    if table is None:
        numbers = [
            [Fraction(x) for x in cells[i : i + players]] for i in range(0, len(cells), players)
        ]
    else:
        outcomes = [[Fraction(0)] * players] + [[Fraction(x) for x in entry[1:]] for entry in table]
        numbers = [outcomes[int(i)] for i in cells]
    payoffs = np.empty((players, *sizes))
    # The first player's strategies go fastest.
    for backwards, cell in zip(itertools.product(*map(range, sizes[::-1])), numbers, strict=True):
        payoffs[(slice(None), *backwards[::-1])] = [float(x) for x in cell]
    return NormalFormGame(payoffs)
