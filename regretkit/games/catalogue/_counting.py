"""Counts the histories of a game without building its tree."""

import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

from regretkit.games.tree._history import CHANCE, History

_EXPANDED = 200_000
"""Largest number of histories that are created to count a level."""


class Countable(History, Protocol):
    """A history that knows which others have as many continuations."""

    def shape(self) -> Hashable:
        """Return a key; equal ones are followed by equally many histories of each length."""
        ...


def level_widths(root: Countable, length: int | None = None) -> Iterator[int]:
    """Yield the number of histories of each length, up to ``length`` if given.

    One history of each shape is expanded, and none of a level before the level is counted. Levels
    after one with more than ``_EXPANDED`` children to create are not counted.
    """
    examples, counts = {root.shape(): root}, Counter([root.shape()])
    actions: dict[Hashable, Sequence[Any]] = {}
    following: dict[Hashable, Counter[Hashable]] = {}
    yield 1
    for _ in range(sys.maxsize if length is None else length):
        for shape in counts.keys() - actions.keys():
            actions[shape] = _actions(examples[shape])
        width = sum(number * len(actions[shape]) for shape, number in counts.items())
        if not width:
            return
        yield width
        if sum(len(actions[shape]) for shape in counts.keys() - following.keys()) > _EXPANDED:
            return
        successors: Counter[Hashable] = Counter()
        for shape, number in counts.items():
            if shape not in following:
                children = [examples[shape].child(action) for action in actions[shape]]
                shapes = [child.shape() for child in children]
                following[shape] = Counter(shapes)
                for each, child in zip(shapes, children, strict=True):
                    examples.setdefault(each, child)
            for each, ways in following[shape].items():
                successors[each] += number * ways
        counts = successors


def _actions(history: History) -> Sequence[Any]:
    if history.is_terminal():
        return ()
    if history.player() == CHANCE:
        return [outcome for outcome, _ in history.chance_outcomes()]
    return history.actions()
