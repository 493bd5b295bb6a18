"""Game trees as flat arrays, of perfect or imperfect recall."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np
from attrs import define
from numpy.typing import ArrayLike, NDArray

from regretkit._util import _validate
from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._game import check_payoffs
from regretkit.games.tree._build import built
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    History,
    path_text,
)
from regretkit.games.tree._rules import Objects, Rules
from regretkit.sets._labels import LazySequence

Number = TypeVar("Number", bound=np.generic)

_SMALL = np.iinfo(np.int32)


@define(eq=False, repr=False, init=False)
class GameTree:
    """All histories of a game in breadth-first order, in flat read-only arrays.

    History 0 is the empty one. Shorter histories precede longer ones. The children of a history are
    contiguous, in the order of its actions. The information sets of each player are numbered from 0
    by first occurrence. Labels are for display and need not be unique.

    A tree may have imperfect recall; ``ExtensiveFormGame`` checks it. ``from_rules`` and
    ``from_history`` build trees. Whole numbers have 32 bits if these suffice. Arguments are copied
    unless they are read-only.

    Parameters
    ----------
    parent
        The parent of each history, -1 for the first, shape ``(histories,)``.
    player
        The acting player of each history, ``CHANCE`` (-1) or ``TERMINAL`` (-2), shape
        ``(histories,)``.
    information_set
        The acting player's information set, -1 without one, shape ``(histories,)``.
    probability
        Probability of the action that leads to each history if chance takes it, else 1, shape
        ``(histories,)``.
    payoffs
        Payoff of each player at each terminal history, shape ``(terminals, players)``.
    labels
        For each player, a name for each information set.
    actions
        For each player and each of its information sets, a name for each action.
    outcomes
        For each chance history, in order, a name for each outcome.

    Examples
    --------
    One player chooses between 1 and 2:

    >>> tree = GameTree(
    ...     parent=[-1, 0, 0], player=[0, -2, -2], information_set=[0, -1, -1],
    ...     probability=[1.0, 1.0, 1.0], payoffs=[[1.0], [2.0]],
    ...     labels=[["start"]], actions=[[["one", "two"]]],
    ... )
    >>> tree
    <GameTree: 3 histories, 2 terminals, 1 information sets>
    >>> tree.history_path(2)
    ('two',)
    """

    parent: Indices
    player: Indices
    information_set: Indices
    action: Indices
    """Index, at the parent, of the action that leads to each history, -1 for the first."""
    probability: Vector
    payoffs: Vector
    terminals: Indices
    """The terminal histories, in order, shape ``(terminals,)``."""
    labels: tuple[Sequence[str], ...]
    actions: tuple[Sequence[Sequence[str]], ...]
    outcomes: Sequence[Sequence[str]]
    sizes: tuple[Indices, ...]
    """For each player, the number of actions of each information set."""
    _chance: Indices
    """The histories at which chance acts."""

    def __init__(
        self,
        *,
        parent: Iterable[int],
        player: Iterable[int],
        information_set: Iterable[int],
        probability: ArrayLike,
        payoffs: ArrayLike,
        labels: Sequence[Sequence[str]],
        actions: Sequence[Sequence[Sequence[str]]],
        outcomes: Sequence[Sequence[str]] = (),
    ) -> None:
        self.parent = compact(parent, "parent")
        self.player = compact(player, "player")
        self.information_set = compact(information_set, "information_set")
        self.probability = _numbers(probability, "probability")
        self.payoffs = _numbers(payoffs, "payoffs")
        previous, numbers = self.parent[:-1], np.arange(1, self.parent.size)
        order = (self.parent[1:] < np.maximum(previous, 0)) | (self.parent[1:] >= numbers)
        if self.parent.size == 0 or self.parent[0] != -1 or order.any():
            raise ValueError(
                "parent must begin with -1, not decrease, and precede its children, got "
                f"{quote(self.parent.tolist())}"
            )
        self.terminals = compact(np.flatnonzero(self.player == TERMINAL), "terminals")
        self._chance = np.flatnonzero(self.player == CHANCE)
        self.labels = tuple(
            names if isinstance(names, LazySequence) else tuple(names) for names in labels
        )
        self.actions = tuple(map(_names_of_actions, actions))
        self.outcomes = _names_of_actions(outcomes)
        counts = np.bincount(self.parent[1:], minlength=self.histories)
        first = 1 + np.cumsum(counts) - counts
        self.action = compact(np.append(-1, numbers - first[self.parent[1:]]))
        self.sizes = tuple(map(read_only, _check_tree(self, counts)))

    @classmethod
    def from_rules(cls, rules: Rules, *, memory_limit: float | None = None) -> "GameTree":
        """Build the tree of a game from its rules, one batch of histories for each length.

        The rules compute labels and names of actions at each access.

        Parameters
        ----------
        rules
            The rules of the game.
        memory_limit
            Largest number of bytes to use, by default the available memory.

        Raises
        ------
        MemoryError
            If the tree does not fit. It is raised early, by an estimate from random plays.
        """
        return cls(**built(rules, memory_limit))

    @classmethod
    def from_history(cls, root: History, *, memory_limit: float | None = None) -> "GameTree":
        """Build the tree of a game from its empty history, as ``from_rules`` does.

        Labels are ``str`` of information sets and actions. Only the ``History`` objects of two
        successive lengths are in memory at a time.
        """
        arrays = built(Objects(root), memory_limit)
        for name in ("labels", "actions"):
            arrays[name] = list(map(tuple, arrays[name]))
        arrays["outcomes"] = shared(arrays["outcomes"])
        return cls(**arrays)

    @property
    def histories(self) -> int:
        """Number of histories, including terminal ones."""
        return self.parent.size

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.labels)

    @property
    def information_sets(self) -> tuple[int, ...]:
        """Number of information sets of each player."""
        return tuple(map(len, self.labels))

    @property
    def payoff_bounds(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest payoff of each player."""
        least, largest = self.payoffs.min(axis=0).tolist(), self.payoffs.max(axis=0).tolist()
        return tuple(zip(least, largest, strict=True))

    @property
    def depth(self) -> int:
        """Length of the longest history, chance's actions included."""
        depth, last = 0, self.histories - 1
        while last:
            depth, last = depth + 1, int(self.parent[last])
        return depth

    def history_path(self, history: int) -> tuple[str, ...]:
        """Return the names of the actions, chance's included, that lead to a history."""
        if not isinstance(history, int | np.integer):
            raise TypeError(f"history must be a number, got {quote(history)}")
        if not 0 <= history < self.histories:
            raise ValueError(f"history must be one of 0 to {self.histories - 1}, got {history}")
        path = []
        while (previous := int(self.parent[history])) >= 0:
            path.append(self._names(previous)[self.action[history]])
            history = previous
        return tuple(path[::-1])

    def _names(self, history: int) -> Sequence[str]:
        player = int(self.player[history])
        if player == CHANCE:
            return self.outcomes[int(np.searchsorted(self._chance, history))]
        return self.actions[player][int(self.information_set[history])]

    def _repr_html_(self) -> str:
        from regretkit.display._html import game_html

        return game_html(self)

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.information_sets))
        return (
            f"<GameTree: {self.histories} histories, {self.terminals.size} terminals, "
            f"{sets} information sets>"
        )


def shared(names: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return tuples of names, with equal tuples as one object to save memory."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [known.setdefault(each, each) for each in names]


def compact(value: Iterable[int], name: str = "value") -> Indices:
    """Return whole numbers as a read-only array, of 32 bits if these suffice."""
    if _is_settled(value, np.int32):
        return value
    array = _validate.whole_numbers(value, name)
    if _SMALL.min <= array.min(initial=0) and array.max(initial=0) <= _SMALL.max:
        return read_only(array.astype(np.int32))
    return array


def _numbers(value: ArrayLike, name: str) -> Vector:
    if _is_settled(value, np.float64):
        return value
    return read_only(_validate.floats(value, name).copy())


def _is_settled(value: object, dtype: type[Number]) -> TypeGuard[NDArray[Number]]:
    """Return whether ``value`` is an immutable array of this type, which needs no copy."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.base is None
        and not value.flags.writeable
    )


def _names_of_actions(names: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return names if isinstance(names, LazySequence) else tuple(map(tuple, names))


# Checks


def _check_tree(tree: GameTree, counts: Indices) -> list[Indices]:
    """Check a tree, given numbers of children, and return the sizes of information sets."""
    histories, terminals, players = tree.histories, tree.terminals.size, tree.players
    shapes = dict.fromkeys(("player", "information_set", "probability"), (histories,))
    for name, shape in {**shapes, "payoffs": (terminals, players)}.items():
        if getattr(tree, name).shape != shape:
            raise ValueError(
                f"{name} must have shape {shape} for {histories} histories, {terminals} terminals "
                f"and {players} players, got {getattr(tree, name).shape}"
            )
    if not players or len(tree.actions) != players:
        raise ValueError(
            f"labels and actions must have a list for each player, got {players} and "
            f"{len(tree.actions)}"
        )
    player, sets, chance = tree.player, tree.information_set, tree.player == CHANCE
    sizes, outside = list[Indices](), (player < TERMINAL) | (player >= players)
    _check((player == TERMINAL) != (counts == 0), "player", player, "is TERMINAL without children")
    _check(outside, "player", player, f"is 0 to {players - 1}, CHANCE (-1) or TERMINAL (-2)")
    _check((player < 0) != (sets < 0), "information_set", sets, "is -1 where no player acts")
    for i, (labels, actions) in enumerate(zip(tree.labels, tree.actions, strict=True)):
        own = player == i
        known = np.append(-1, np.maximum.accumulate(np.where(own, sets, -1)))
        _check(own & (sets > known[:-1] + 1), "information_set", sets, "counts by first occurrence")
        if not known[-1] + 1 == len(labels) == len(actions):
            raise ValueError(
                f"player {i} has {known[-1] + 1} information sets, but {len(labels)} labels and "
                f"{len(actions)} tuples of actions"
            )
        sizes.append(np.zeros(len(labels), dtype=np.int64))
        sizes[i][sets[own]] = counts[own]
        if not isinstance(actions, LazySequence):
            sizes[i][:] = [*map(len, actions)]
        expected = np.append(sizes[i], 0)[np.where(own, sets, -1)]
        _check(own & (expected != counts), "information_set", sets, "has the same actions anywhere")
    named = [*map(len, tree.outcomes)] if isinstance(tree.outcomes, tuple) else counts[chance]
    if not np.array_equal(named, counts[chance]):
        raise ValueError("outcomes must name the outcomes of each chance history, in order")

    # history_path needs the names of actions, which are valid from here on.
    def place(history: int) -> str:
        return path_text(tree.history_path(history))

    drawn = np.append(False, chance[tree.parent[1:]])
    _check(~drawn & (tree.probability != 1), "probability", tree.probability, "is 1 after players")
    source, chances = tree.parent[drawn], tree.probability[drawn]
    total = np.bincount(source, chances, minlength=histories)
    # Comparisons with NaN are false, so both conditions reject NaN.
    improper = source[~((chances >= 0.0) & (chances < np.inf))]
    wrong = np.flatnonzero(chance & ~(np.abs(total - 1.0) <= CHANCE_TOLERANCE))
    for node in np.append(improper, wrong).tolist()[:1]:
        raise ValueError(
            f"the probabilities of chance at {place(node)} must be at least 0 and sum to 1 within "
            f"{CHANCE_TOLERANCE:g}, got {quote(chances[source == node].tolist())}"
        )
    check_payoffs(tree.payoffs, lambda i: f"{place(int(tree.terminals[i[0]]))}, player {i[1]}")
    return sizes


def _check(wrong: NDArray[np.bool_], name: str, array: NDArray[Any], rule: str) -> None:
    """Raise a ValueError about the first wrong entry of an array."""
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name}[{i}] is {array[i]}, but {name} {rule}")
